//! The program with broken and unusual input: how it ends, what it says, what it leaves alone.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::slice::from_ref;
use std::time::{Duration, Instant};

use hsaco::db::Database;
use hsaco::object::CodeObject;
use hsaco_tests::listing::{self, array};
use hsaco_tests::program::{Ran, hsaco, hsaco_command, hsaco_fine, run};
use hsaco_tests::random::Random;
use hsaco_tests::{fixture, fixtures_dir, scratch_dir};

use super::{fixtures, mutation};

fn ls(files: &[PathBuf], options: &[&str]) -> Ran {
    let options = options.iter().map(OsString::from);
    hsaco([OsString::from("ls")].into_iter().chain(options).chain(files.iter().map(Into::into)))
}

fn text_of(name: &str) -> String {
    hsaco_fine(["ls".into(), fixture(name).into_os_string()]).text().to_owned()
}

/// What is said of an answer that is whole.
const REMARK: &str = "hsaco: no line information; compile with -g or -gline-tables-only\n";

/// Ended by itself, and complained exactly when the exit code says so.
fn check_manners(ran: &Ran, what: &str) {
    assert!(matches!(ran.code, Some(0 | 2 | 3)), "{what}: {:?}\n{}", ran.code, ran.stderr);
    let is_silent = ran.stderr.is_empty() || (ran.code == Some(0) && ran.stderr == REMARK);
    assert_eq!(ran.code == Some(0), is_silent, "{what}: {}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
    for line in ran.stderr.lines() {
        assert!(line.starts_with("hsaco: "), "{what}: {line}");
    }
}

/// The same of a verb that may find something, which is an exit code of its own.
fn check_findings(ran: &Ran, what: &str) {
    match ran.code {
        Some(1) => assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr),
        _ => check_manners(ran, what),
    }
}

/// Verbs that look into code and debug information.
const ANALYSES: [&[&str]; 8] = [
    &["args"],
    &["calls"],
    &["cfg"],
    &["resources"],
    &["lines", "--inlines"],
    &["query", "--class", "memory"],
    &["disasm", "-l", "-S"],
    &["disasm", "--live"],
];

fn check_analyses(path: &Path, what: &str) {
    for verb in ANALYSES {
        let verb_arguments = verb.iter().map(OsString::from);
        let ran = hsaco(verb_arguments.chain([path.to_path_buf().into_os_string()]));
        check_findings(&ran, &format!("{} of {what}", verb.join(" ")));
    }
}

#[test]
fn analyses_of_mutated_files_end_with_a_known_exit_code() {
    let folder = scratch_dir();
    for (at, (name, bytes)) in fixtures().iter().enumerate() {
        let path = folder.path().join(format!("{at}-{name}"));
        fs::write(&path, mutation::mutate(bytes, &mut Random::new(2_000_000 + at as u64))).unwrap();
        check_analyses(&path, &format!("a mutation of {name}"));
    }
}

/// A kernel of which only the first instructions have addresses, and one that ends where addresses do.
#[test]
fn code_at_the_highest_addresses_is_looked_into() {
    let folder = scratch_dir();
    for name in ["lines.dwarf5.co", "short.co", "s1.gfx1250.co"] {
        let file = fs::read(fixture(name)).unwrap();
        let (entry, size) = {
            let object = CodeObject::parse(&file).unwrap();
            let kernel = object.index().kernels()[0];
            (kernel.entry().unwrap(), kernel.code_size().unwrap())
        };
        for end in [entry + 16, entry + size] {
            let path = folder.path().join(format!("{end:x}-{name}"));
            fs::write(&path, moved_up(file.clone(), end.wrapping_neg())).unwrap();
            check_analyses(&path, &format!("{name} moved up until {end:#x} is 0"));
            ask_database(fs::read(&path).unwrap());
        }
    }
}

/// Whatever can be asked of an object's kernels; nothing of the answers.
fn ask_database(file: Vec<u8>) {
    let database = Database::new();
    database.add("file", file).unwrap();
    for kernel in database.kernels() {
        let Ok(instructions) = kernel.instructions() else { continue };
        for it in instructions {
            let _ = (it.address(), it.text(), it.bytes(), it.branch_target(), it.location());
        }
        let _ = kernel.blocks();
    }
}

/// The addresses of segments, sections and symbols, with a number added.
fn moved_up(mut file: Vec<u8>, by: u64) -> Vec<u8> {
    let number = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let half = |file: &[u8], at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let add = |file: &mut Vec<u8>, at: usize| {
        let sum = number(file, at).wrapping_add(by);
        file[at..at + 8].copy_from_slice(&sum.to_le_bytes());
    };
    let table = |file: &[u8], at: usize| usize::try_from(number(file, at)).unwrap();
    for row in 0..half(&file, 56) {
        let at = table(&file, 32) + row * 56;
        add(&mut file, at + 16);
    }
    for row in 0..half(&file, 60) {
        let at = table(&file, 40) + row * 64;
        let kind = file[at + 4];
        if number(&file, at + 16) != 0 {
            add(&mut file, at + 16);
        }
        if matches!(kind, 2 | 11) {
            let (start, size) = (table(&file, at + 24), table(&file, at + 32));
            (start + 24..start + size).step_by(24).for_each(|symbol| add(&mut file, symbol + 8));
        }
    }
    file
}

#[test]
fn mutated_files_end_with_a_known_exit_code() {
    let folder = scratch_dir();
    let fixtures = fixtures();
    for at in 0..36 {
        let (name, bytes) = &fixtures[at % fixtures.len()];
        let path = folder.path().join(format!("{at}-{name}"));
        fs::write(&path, mutation::mutate(bytes, &mut Random::new(1_000_000 + at as u64))).unwrap();
        for verb in ["ls", "info", "notes", "disasm"] {
            for format in ["text", "json"] {
                let arguments =
                    [verb.into(), "--format".into(), format.into(), path.clone().into_os_string()];
                let ran = hsaco(arguments);
                check_manners(&ran, &format!("{verb} of mutation {at} of {name}"));
                if format == "json" {
                    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
                    assert_eq!(listing::keys(&answer), ["files", "schema_version"]);
                }
            }
        }
    }
}

/// A compressed bundle (header version 3, zstd) that says how much it unfolds to.
fn compressed_bundle(claim: u64, stream: &[u8]) -> Vec<u8> {
    let mut bytes = b"CCOB\x03\0\x01\0".to_vec();
    bytes.extend((32 + stream.len() as u64).to_le_bytes());
    bytes.extend(claim.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(stream);
    bytes
}

/// A zstd frame of zeros: blocks of 128 KiB, four bytes for each.
fn zeros(size: u64) -> Vec<u8> {
    const BLOCK: u32 = 128 << 10;
    let mut frame = b"\x28\xb5\x2f\xfd\xe0".to_vec();
    frame.extend(size.to_le_bytes());
    let blocks = size / u64::from(BLOCK);
    for block in 1..=blocks {
        let header = u32::from(block == blocks) | 1 << 1 | BLOCK << 3;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// Runs `hsaco ls` in 256 MiB of address space, where the system can say so.
fn ls_in_little_memory(file: &Path, options: &[&str]) -> Ran {
    let command = hsaco_command();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -v 262144; exec \"$@\"", "sh"]).arg(command.get_program());
    run(limited.env("NO_COLOR", "1").arg("ls").args(options).arg(file).stdin(Stdio::null()))
}

#[test]
#[cfg(unix)]
fn bombs_are_refused_quickly_and_in_little_memory() {
    let folder = scratch_dir();
    let bomb = zeros(1 << 30);
    assert!(bomb.len() < 64 << 10);
    let cases: [(&str, Vec<u8>, &[&str], &str); 5] = [
        ("5 GiB claimed", compressed_bundle(5 << 30, &zeros(1 << 20)), &[], "limit exceeded: "),
        (
            "1 GiB of zeros",
            compressed_bundle(1 << 30, &bomb),
            &["--max-size", "64M"],
            "limit exceeded: ",
        ),
        ("1 GiB said to be 1 MiB", compressed_bundle(1 << 20, &bomb), &[], "mismatch: "),
        ("1 MiB said to be 1 GiB", compressed_bundle(1 << 30, &zeros(1 << 20)), &[], "mismatch: "),
        ("no stream", compressed_bundle(1 << 30, &[]), &[], ""),
    ];
    for (name, bytes, options, error) in cases {
        let path = folder.path().join("bomb");
        fs::write(&path, bytes).unwrap();
        let start = Instant::now();
        let ran = ls_in_little_memory(&path, options);
        assert!(start.elapsed() < Duration::from_secs(5), "{name}: {:?}", start.elapsed());
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        let expected = format!("hsaco: {}: {error}", path.display());
        assert!(ran.stderr.starts_with(&expected), "{name}: {}", ran.stderr);
        check_manners(&ran, name);
    }
}

#[test]
fn standard_input_is_a_file() {
    let mut child = hsaco_command()
        .args(["ls", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = fs::read(fixture("s1.gfx942.co")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let path = fixture("s1.gfx942.co").display().to_string();
    assert_eq!(ran.text(), text_of("s1.gfx942.co").replace(&path, "-"));
}

#[test]
fn a_bare_file_is_listed() {
    let ran = hsaco_fine([fixture("two-notes.co").into_os_string()]);
    assert_eq!(ran.text(), text_of("two-notes.co"));
}

/// A directory stands for the files in it that hold GPU code; what does not is no error there.
#[test]
fn a_directory_is_searched() {
    let ran = ls(&[fixtures_dir()], &["--format=json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let files = listing::parse(&ran);
    let paths: Vec<_> = files.iter().map(|it| PathBuf::from(listing::text(it, "path"))).collect();
    let names: Vec<_> = paths.iter().map(|it| it.strip_prefix(fixtures_dir()).unwrap()).collect();
    let expected: Vec<_> = fixtures().into_iter().map(|(name, _)| PathBuf::from(name)).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, names);
    assert_eq!(names, expected);
}

#[test]
fn uris_name_a_part_of_a_file() {
    let host = fixture("host.so");
    let files = listing::files(&fixtures_dir(), &["host.so".to_owned()]);
    let object = &array(&files[0], "objects")[1];
    let (offset, size) = (&object["offset"], &object["size"]);
    for uri in [
        format!("file://{}#offset={offset}&size={size}", host.display()),
        format!("file://{}?offset={offset}&size={size}", host.display()),
    ] {
        let ran = ls(&[PathBuf::from(&uri)], &["--format=json"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{uri}");
        let answer = listing::parse(&ran);
        let [part] = array(&answer[0], "objects") else { panic!("{uri}: not one object") };
        for key in ["size", "target", "abi_version", "kernels", "functions", "variables"] {
            assert_eq!(part[key], object[key], "{uri}: {key}");
        }
        assert_eq!(
            (&answer[0]["container"], &part["entry_id"]),
            (&"code_object".into(), &serde_json::Value::Null)
        );
    }
    for (uri, error) in [
        (format!("file://{}#offset=0&size=99999999", host.display()), "the URI asks for more"),
        ("memory://1#offset=0&size=64".to_owned(), "the memory of a process is not read"),
    ] {
        let ran = ls(&[PathBuf::from(&uri)], &[]);
        check_manners(&ran, &uri);
        assert!(ran.code == Some(2) && ran.stderr.contains(error), "{uri}: {}", ran.stderr);
    }
}

/// Files that cannot be read are named, and the others are listed all the same.
#[test]
fn bad_files_do_not_stop_the_good() {
    let folder = scratch_dir();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "no code in here\n").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("cut"), &fs::read(fixture("s1.gfx942.co")).unwrap()[..40]).unwrap();
    let good = [fixture("s1.gfx942.co"), fixture("two-notes.co")];
    let files =
        [&good[..1], &[path("missing"), path("text"), path("empty"), path("cut")], &good[1..]];
    let ran = ls(&files.concat(), &["--format=json"]);
    assert_eq!(ran.code, Some(2));
    check_manners(&ran, "bad among good");
    let answers = listing::parse(&ran);
    let rows: Vec<_> = answers
        .iter()
        .map(|it| {
            let name = Path::new(listing::text(it, "path")).file_name().unwrap();
            let kernels: usize =
                array(it, "objects").iter().map(|it| array(it, "kernels").len()).sum();
            (name.to_str().unwrap(), it["error"].is_string(), kernels)
        })
        .collect();
    let expected = [
        ("s1.gfx942.co", false, 3),
        ("missing", true, 0),
        ("text", true, 0),
        ("empty", true, 0),
        ("cut", true, 0),
        ("two-notes.co", false, 2),
    ];
    assert_eq!(rows, expected);
    let complaints: Vec<_> = ran.stderr.lines().map(str::to_owned).collect();
    for (line, name) in complaints.iter().zip(["missing", "text", "empty", "cut"]) {
        assert!(line.starts_with(&format!("hsaco: {}: ", path(name).display())), "{line}");
    }
    assert_eq!(complaints.len(), 4, "{complaints:?}");
    let text = ls(&files.concat(), &[]);
    assert_eq!((text.code, text.stderr), (Some(2), ran.stderr));
    assert!(text.stdout.starts_with(text_of("s1.gfx942.co").as_bytes()));
    assert!(text.stdout.ends_with(text_of("two-notes.co").as_bytes()));
}

/// A reader of the answer may stop reading: `hsaco ls … | head -1`.
#[test]
fn a_closed_pipe_is_no_failure() {
    let files = vec![fixture("host.so").into_os_string(); 100];
    for format in ["text", "json"] {
        for verb in ["ls", "info", "notes", "disasm"] {
            let mut child = hsaco_command()
                .args([verb, "--format", format])
                .args(&files)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            drop(child.stdout.take());
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{verb} {format}");
        }
    }
}

#[test]
fn colour_is_asked_for_or_absent() {
    let file = fixture("s1.gfx942.co");
    let plain = text_of("s1.gfx942.co");
    let colored = ls(from_ref(&file), &["--color", "always"]);
    assert!(colored.text().contains("\x1b["));
    assert_eq!(without_escapes(colored.text()), plain);
    assert_eq!(ls(from_ref(&file), &["--color", "never"]).text(), plain);
    let bare = run(hsaco_command().env_remove("NO_COLOR").arg("ls").arg(&file));
    assert_eq!(bare.text(), plain, "no terminal, no colour");
    let json = ls(&[file], &["--color", "always", "--format", "json"]);
    assert_eq!(listing::parse(&json).len(), 1);
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[test]
fn usage_errors_end_with_2() {
    for arguments in [
        vec!["ls"],
        vec!["ls", "--no-such-option", "x"],
        vec!["ls", "-t", "gfx9999", "x"],
        vec!["ls", "--device", "gfx90a:nonsense+", "x"],
        vec!["ls", "--max-size", "4X", "x"],
    ] {
        let ran = hsaco(arguments.clone());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{arguments:?}");
    }
}

const INFO_KEYS: [&str; 21] = [
    "abi_version",
    "code_object_version",
    "e_flags",
    "e_flags_text",
    "entry_id",
    "generic_version",
    "index",
    "kernels",
    "metadata",
    "notes",
    "offset",
    "os_abi",
    "problems",
    "relocations",
    "sections",
    "segments",
    "size",
    "symbol_source",
    "symbols",
    "target",
    "type",
];

/// Every verb's JSON has the keys that it is documented to have, for every kind of file.
#[test]
fn json_has_its_keys_for_every_fixture() {
    let paths: Vec<_> = fixtures().iter().map(|(name, _)| fixture(name)).collect();
    assert_eq!(listing::parse(&ls(&paths, &["--format=json"])).len(), paths.len());
    for (verb, expected) in
        [("info", INFO_KEYS.as_slice()), ("notes", ["index", "notes", "target"].as_slice())]
    {
        let options = [verb, "--format=json"].map(OsString::from);
        let ran = hsaco_fine(options.into_iter().chain(paths.iter().map(Into::into)));
        let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(answer["schema_version"], 1);
        assert_eq!(array(&answer, "files").len(), paths.len());
        for file in array(&answer, "files") {
            assert_eq!(
                listing::keys(file),
                ["container", "error", "objects", "other_entries", "path"]
            );
            for object in array(file, "objects") {
                // Bitcode has no headers to speak of.
                let is_code = verb == "notes" || object["type"] != "bitcode";
                // Where it is in a package, if it is in one.
                let mut own = listing::keys(object);
                own.retain(|it| *it != "member");
                assert!(!is_code || own == expected, "{object}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_links_stay_what_they_are() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    let expected = text_of("steppings.co");
    let scratch = scratch_dir();
    let list_to = |path: &Path| {
        let file = fixture("steppings.co").into_os_string();
        hsaco_fine(["ls".into(), file, "-o".into(), path.as_os_str().to_owned()]);
    };
    let pipe = scratch.path().join("pipe");
    assert!(run(std::process::Command::new("mkfifo").arg(&pipe)).code == Some(0));
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe)
    });
    list_to(&pipe);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(reader.join().unwrap().unwrap(), expected);
    let (file, link) = (scratch.path().join("file"), scratch.path().join("link"));
    fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    list_to(&link);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
}
