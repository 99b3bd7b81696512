//! Where answers go: devices that are full, files that are named twice, and selections that select nothing.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use hsaco_tests::program::{Ran, hsaco, hsaco_command, hsaco_fine};
use hsaco_tests::{fixture, scratch_dir};

fn words(line: &str, dir: &Path) -> Vec<OsString> {
    let word = |word: &str| match word.strip_prefix('@') {
        Some(name) => dir.join(name).into_os_string(),
        None if word == "FILE" => fixture("s1.gfx942.co").into_os_string(),
        None => word.into(),
    };
    line.split(' ').map(word).collect()
}

#[test]
fn a_full_device_is_an_error_of_every_verb() {
    let dir = scratch_dir();
    let lines = [
        "ls FILE",
        "info FILE",
        "notes FILE",
        "args FILE",
        "kernarg FILE",
        "disasm FILE",
        "lines FILE",
        "source FILE",
        "query FILE --class memory",
        "calls FILE",
        "resources FILE",
        "check FILE",
        "explain",
        "cfg FILE",
        "cfg FILE --format svg -k foo",
        "report FILE",
        "symbols FILE",
        "load FILE",
        "link FILE -o @linked",
        "diff FILE FILE --format json",
        "extract FILE -o @out",
        "extract FILE -o -",
        "patch FILE --set foo.vgpr_count=64 -o @patched",
        "rules",
        "generate bash",
        "generate man",
        "demo",
        "size FILE",
        "table FILE -o @dataset",
        "--help",
        "--version",
        "help",
        "ls --help",
        "ls FILE --format json",
        "info FILE --format json",
    ];
    for line in lines {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let ran: Ran =
            hsaco_command().args(words(line, dir.path())).stdout(full()).output().unwrap().into();
        assert!(matches!(ran.code, Some(1..=3)), "{line}: {:?}", ran.code);
        assert!(
            ran.stderr.contains("hsaco: ") || ran.stderr.contains("error"),
            "{line}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("panicked"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_full_standard_error_is_no_panic() {
    let dir = scratch_dir();
    let garbage = dir.path().join("garbage");
    fs::write(&garbage, b"\x7fELF and nothing else").unwrap();
    for line in [
        "ls @garbage",
        "ls @missing",
        "info @garbage",
        "disasm -k nosuchkernel FILE",
        "patch FILE --verify",
        "ls --nonsense",
        "diasm x",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = hsaco_command();
        command.args(words(line, dir.path())).stdout(Stdio::piped()).stderr(full);
        let code = command.output().unwrap().status.code();
        assert!(matches!(code, Some(1..=3)), "{line}: {code:?}");
    }
}

#[test]
fn one_file_is_not_written_for_two_things_nor_over_its_input() {
    let dir = scratch_dir();
    let at = |name: &str| dir.path().join(name);
    fs::copy(fixture("s1.gfx942.co"), at("in.co")).unwrap();
    fs::write(at("y"), "kept").unwrap();
    fs::hard_link(at("y"), at("hard")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(at("y"), at("soft")).unwrap();
    let set = "--set foo.vgpr_count=64";
    let conflicts = [
        format!("patch @in.co {set} -o @y --manifest @y"),
        format!("patch @in.co {set} -o @new --manifest @new"),
        format!("patch @in.co {set} -o @y --manifest @hard"),
        format!("patch @in.co {set} -o @y --manifest @soft"),
        format!(
            "patch @in.co {set} -o @new --manifest @../{}/new",
            dir.path().file_name().unwrap().display()
        ),
        format!("patch @in.co {set} -o @in.co"),
        format!("patch @in.co {set} -o @out --manifest @in.co"),
        "load @in.co -o @y --image @y".to_owned(),
        "link @in.co -o @in.co".to_owned(),
        "ls @in.co -o @in.co".to_owned(),
        "ls @in.co -o @y --index @y".to_owned(),
        "check @in.co -o @y --write-baseline @y".to_owned(),
        "extract @in.co --keep-target gfx942 -o @in.co".to_owned(),
    ];
    let before = fs::read(at("in.co")).unwrap();
    for line in conflicts {
        let ran = hsaco(words(&line, dir.path()));
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("named by both"), "{line}: {}", ran.stderr);
        assert_eq!(fs::read_to_string(at("y")).unwrap(), "kept", "{line}");
        assert!(fs::read(at("in.co")).unwrap() == before && !at("new").exists(), "{line}");
    }
    // Devices can be named as often as one likes.
    hsaco_fine(words(&format!("patch @in.co {set} -o /dev/null --manifest /dev/null"), dir.path()));
}

#[test]
fn a_misspelt_verb_is_suggested() {
    for (word, verb) in [
        ("diasm", "disasm"),
        ("disam", "disasm"),
        ("chekc", "check"),
        ("inof", "info"),
        ("lss", "ls"),
    ] {
        let ran = hsaco([word.into(), fixture("s1.gfx942.co").into_os_string()]);
        assert_eq!(ran.code, Some(2), "{word}");
        assert!(ran.stderr.contains(&format!("did you mean '{verb}'")), "{word}: {}", ran.stderr);
    }
    // A file of such a name is a file.
    let dir = scratch_dir();
    fs::copy(fixture("s1.gfx942.co"), dir.path().join("diasm")).unwrap();
    let ran: Ran = hsaco_command().current_dir(dir.path()).arg("diasm").output().unwrap().into();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let ran = hsaco(["nothing_like_a_verb"]);
    assert!(!ran.stderr.contains("did you mean"), "{}", ran.stderr);
}

#[test]
fn a_selection_that_selects_nothing_is_said() {
    let verbs = [
        "ls",
        "info",
        "notes",
        "args",
        "kernarg",
        "disasm",
        "lines",
        "source",
        "query --class memory",
        "calls",
        "resources",
        "cfg",
        "symbols",
        "size",
    ];
    for verb in verbs {
        for selection in ["-t gfx90a", "--object 7", "--device gfx1100", "--device mi250x"] {
            let line = format!("{verb} FILE {selection}");
            let ran = hsaco(words(&line, Path::new("")));
            assert_eq!(ran.code, Some(2), "{line}: {}", ran.stderr);
            assert!(ran.stderr.contains("no object fits"), "{line}: {}", ran.stderr);
        }
        let line = format!("{verb} FILE --device mi300x");
        let ran = hsaco(words(&line, Path::new("")));
        assert!(!ran.stderr.contains("no object fits"), "{line}: {}", ran.stderr);
    }
    let dir = scratch_dir();
    let ran = hsaco(words("extract FILE -t gfx90a -o @out", dir.path()));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn listing_a_kernel_shows_the_files_that_have_it() {
    let dir = scratch_dir();
    for name in ["s1.gfx942.co", "plain.bundle", "lds.o"] {
        fs::copy(fixture(name), dir.path().join(name)).unwrap();
    }
    let listed =
        hsaco_fine(["ls".into(), "-k".into(), "^foo$".into(), dir.path().as_os_str().to_owned()]);
    assert!(listed.text().contains("s1.gfx942.co"), "{}", listed.text());
    assert!(!listed.text().contains("lds.o"), "{}", listed.text());
    let ran =
        hsaco(["ls".into(), "-k".into(), "^nowhere$".into(), dir.path().as_os_str().to_owned()]);
    assert_eq!((ran.code, ran.text()), (Some(2), ""));
}

#[test]
fn explain_knows_rewriting_rules() {
    let explained = hsaco_fine(["explain", "tensor-mask"]);
    assert!(explained.text().starts_with("# tensor-mask"), "{}", explained.text());
    assert!(hsaco_fine(["explain"]).text().contains("tensor-mask"));
}

#[test]
fn check_says_that_an_object_runs() {
    for device in ["gfx942", "mi300x", "MI300X"] {
        let line = format!("check FILE --device {device}");
        let ran = hsaco(words(&line, Path::new("")));
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        assert!(ran.text().contains("runs on gfx942"), "{line}: {}", ran.text());
    }
}

#[cfg(unix)]
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_is_left_out_of_a_file_takes_no_room_on_disk() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = scratch_dir();
    let one = fs::read(fixture("s1.gfx942.co")).unwrap();
    // Two objects with a megabyte behind each, in a bundle that is part of a host file.
    let mut large = one.clone();
    large.resize(1 << 20, 0x55);
    let mut other = large.clone();
    other[48] = 0x3f; // gfx90a
    let entries = [
        ("host-x86_64-unknown-linux-gnu-", b"".as_slice()),
        ("hipv4-amdgcn-amd-amdhsa--gfx942", &large),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", &other),
    ];
    let bundle = hsaco::container::bundle::write(&entries, 4096);
    fs::write(dir.path().join("bundle"), bundle).unwrap();
    fs::write(
        dir.path().join("o.s"),
        ".section .hip_fatbin,\"a\",@progbits\n.p2align 12\n.incbin \"bundle\"\n",
    )
    .unwrap();
    hsaco_tests::program::sh(dir.path(), "clang-22 -target x86_64-linux-gnu -c o.s -o host.o");
    let ran = hsaco_fine(words("extract @host.o --keep-target gfx942 -o @small.o", dir.path()));
    assert!(
        ran.text().contains("1 of 2 objects") && ran.text().contains("saved"),
        "{}",
        ran.text()
    );
    let size = |name: &str| fs::metadata(dir.path().join(name)).unwrap();
    assert_eq!(size("small.o").len(), size("host.o").len());
    let saved = size("host.o").blocks() * 512 - size("small.o").blocks() * 512;
    assert!(saved > 900 << 10, "{saved} bytes saved");
    let listed = hsaco_fine(words("ls @small.o", dir.path()));
    assert!(listed.text().contains("gfx942") && !listed.text().contains("gfx90a"));
}
