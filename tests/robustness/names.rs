//! Names that are commands to terminals, ends of lines or no text at all: none of it reaches an output for people.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hsaco_tests::program::{Ran, hsaco_command, run, sh};
use hsaco_tests::scratch_dir;

/// What is compiled, and what its names are made of afterwards: as many bytes.
const SOURCE: &str = "
typedef int (*Function)(int);
__attribute__((noinline)) int helper_name_that_is_replaced_by_another_one_0(int x) { return x * 3; }
Function pointer_name_that_is_replaced_by_another_one_ = helper_name_that_is_replaced_by_another_one_0;
extern __attribute__((visibility(\"default\"))) int external_name_that_is_replaced_by_another_one(int);
__attribute__((amdgpu_kernel, visibility(\"protected\")))
void kernel_name_that_is_replaced_by_another_one_0(__attribute__((address_space(1))) int *argument_name_that_is_replaced_by_another_one, int n) {
  for (int i = 0; i < n; i++)
    argument_name_that_is_replaced_by_another_one[i] = helper_name_that_is_replaced_by_another_one_0(i)
      + pointer_name_that_is_replaced_by_another_one_(n) + external_name_that_is_replaced_by_another_one(i);
}
";
const NAMES: [&str; 5] = [
    "helper_name_that_is_replaced_by_another_one_0",
    "pointer_name_that_is_replaced_by_another_one_",
    "external_name_that_is_replaced_by_another_one",
    "kernel_name_that_is_replaced_by_another_one_0",
    "argument_name_that_is_replaced_by_another_one",
];
/// An escape, an end of a line that an annotation would follow, a title, C1, bidi, what XML forbids, what is not UTF-8.
const HOSTILE: &[u8] =
    b"\x1b[31m\n::error::x\r\x1b]0;t\x07\xc2\x9b2J\xe2\x80\xae\xe2\x81\xa6\xef\xbf\xbe\xff\x7f<&\">{%\\|";

fn hostile_object(dir: &Path) -> PathBuf {
    fs::write(dir.join("o.c"), SOURCE).unwrap();
    sh(
        dir,
        "clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O1 -g -fvisibility=hidden \
         -Wl,--unresolved-symbols=ignore-all o.c -o o.co",
    );
    let mut bytes = fs::read(dir.join("o.co")).unwrap();
    for (number, name) in NAMES.iter().enumerate() {
        let mut new = HOSTILE.to_vec();
        new.resize(name.len() - 1, b'z');
        new.push(b'0' + u8::try_from(number).unwrap());
        let places: Vec<_> = (0..bytes.len() - name.len())
            .filter(|&at| bytes[at..].starts_with(name.as_bytes()))
            .collect();
        assert!(!places.is_empty(), "{name}");
        for at in places {
            bytes[at..at + name.len()].copy_from_slice(&new);
        }
    }
    let path = dir.join("hostile.co");
    fs::write(&path, bytes).unwrap();
    path
}

fn verbs(path: &Path, dir: &Path) -> Vec<Vec<OsString>> {
    let words = |line: &str| -> Vec<OsString> {
        line.split(' ')
            .map(|word| match word {
                "FILE" => path.into(),
                "OUT" => dir.join("out").into(),
                word => word.into(),
            })
            .collect()
    };
    [
        "ls FILE",
        "info FILE",
        "symbols FILE",
        "size FILE",
        "cfg FILE",
        "cfg FILE --instructions",
        "cfg FILE --format dot",
        "cfg FILE --format svg",
        "calls FILE",
        "calls FILE --format dot",
        "calls FILE --together",
        "args FILE",
        "kernarg FILE",
        "kernarg pack FILE -k .",
        "resources FILE",
        "lines FILE",
        "lines FILE --inlines",
        "source FILE",
        "query FILE --class memory",
        "diff FILE FILE",
        "load FILE",
        "load FILE --no-fix-resources",
        "link FILE -o OUT",
        "extract FILE -o OUT",
        "extract FILE --list",
        "patch FILE --dry-run",
        "patch FILE --count entries -o OUT",
        "check FILE --notes",
        "check FILE --code --notes",
        "check FILE --code --notes --all-devices",
        "check FILE --code --notes --format github",
        "check FILE --code --notes --format junit",
        "check FILE --code --notes --format markdown",
    ]
    .iter()
    .map(|line| words(line))
    .collect()
}

fn colored(arguments: &[OsString]) -> Ran {
    let mut command = hsaco_command();
    run(command.env_remove("NO_COLOR").args(arguments).args(["--color", "always"]))
}

/// Every command to a terminal that is in a text, but ends of lines, tabs and, where allowed, colours.
fn commands(text: &str, colors: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (at, letter) in text.char_indices() {
        let is_color = letter == '\x1b' && colors && {
            let rest = text[at + 1..]
                .trim_start_matches(['[', ';', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            text[at + 1..].starts_with('[') && rest.starts_with('m')
        };
        let is_bad = letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if is_bad && !is_color {
            found.push(text[at..].chars().take(20).collect());
        }
    }
    found
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn names_tell_a_terminal_nothing() {
    let dir = scratch_dir();
    let path = hostile_object(dir.path());
    let mut wrong = Vec::new();
    for arguments in verbs(&path, dir.path()) {
        let plain = run(hsaco_command().args(&arguments));
        for (ran, colors) in [(plain, false), (colored(&arguments), true)] {
            let what = format!("{:?} {colors}", &arguments[..]);
            assert!(matches!(ran.code, Some(0..=3)), "{what}: {:?} {}", ran.code, ran.stderr);
            for (stream, text) in [("stdout", ran.text()), ("stderr", &ran.stderr)] {
                if let Some(command) = commands(text, colors).first() {
                    wrong.push(format!("{what} {stream}: command {command:?}"));
                }
                if let Some(line) = text.lines().find(|it| it.starts_with("::error::x")) {
                    wrong.push(format!("{what} {stream}: a line {line:?}"));
                }
                if text.contains("\x1b[31m\u{fffd}::error") || text.contains("\x1b[31m\n::error") {
                    wrong.push(format!("{what} {stream}: a colour"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn formats_for_programs_can_be_read_whatever_names_are() {
    let dir = scratch_dir();
    let path = hostile_object(dir.path());
    let out = dir.path().join("answer.xml");
    for verb in
        [&["cfg", "--format", "svg"][..], &["check", "--code", "--notes", "--format", "junit"]]
    {
        let ran = run(hsaco_command().args(verb).arg(&path).arg("-o").arg(&out));
        assert!(matches!(ran.code, Some(0 | 1)), "{verb:?}: {}", ran.stderr);
        let parse = "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])";
        let ran = run(Command::new("python3").args(["-c", parse]).arg(&out));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{verb:?}");
    }
    for verb in [
        "ls",
        "info",
        "symbols",
        "size",
        "cfg",
        "calls",
        "args",
        "kernarg",
        "resources",
        "lines",
        "query",
        "load",
        "check",
    ] {
        let mut arguments = vec![verb, "--format", "json"];
        arguments.extend((verb == "query").then_some(["--class", "memory"]).into_iter().flatten());
        let ran = run(hsaco_command().args(&arguments).arg(&path));
        let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert!(answer.is_object(), "{verb}");
        // Programs get the name itself.
        let holds = ran.text().contains(r"\u001b[31m\n::error::x\r\u001b]0;t\u0007");
        assert!(holds || !matches!(verb, "ls" | "info" | "calls"), "{verb}: {}", ran.text());
    }
}
