//! The index that `ls --index` keeps.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use hsaco::db::index::Index;
use hsaco_tests::program::{Ran, hsaco_command, run};
use hsaco_tests::{fixture, fixtures_dir, scratch_dir};

fn ls(arguments: &[&str], index: Option<&Path>, inputs: &Path) -> Ran {
    let mut command = hsaco_command();
    command.arg("ls").args(arguments);
    if let Some(index) = index {
        command.arg("--index").arg(index);
    }
    run(command.arg(inputs))
}

fn same(one: &Ran, other: &Ran) {
    assert_eq!(String::from_utf8_lossy(&one.stdout), String::from_utf8_lossy(&other.stdout));
    assert_eq!((&one.stderr, one.code), (&other.stderr, other.code));
}

/// A copy of some fixtures, written long enough ago to be trusted.
fn tree(folder: &Path) {
    fs::create_dir_all(folder.join("deep")).unwrap();
    for (name, to) in [
        ("host.so", "a.so"),
        ("host-compressed.so", "deep/b.so"),
        ("s1.gfx942.co", "deep/c"),
        ("s1.gfx942.co", "same"),
        ("lds.o", "d.o"),
        ("manifest.txt", "notes.txt"),
    ] {
        copy(name, &folder.join(to));
    }
}

fn copy(name: &str, to: &Path) {
    fs::copy(fixture(name), to).unwrap();
    let before = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(to).unwrap().set_modified(before).unwrap();
}

/// Row C17 of docs/kerneldb.md.
#[test]
fn answers_are_those_of_ls_before_and_after() {
    let folder = scratch_dir();
    let index = folder.path().join("index");
    for arguments in [
        &[][..],
        &["--long"],
        &["--format", "json"],
        &["-k", "plain", "--no-demangle"],
        &["-t", "gfx1100", "--long"],
        &["--object", "0"],
        &["--device", "gfx942:xnack-", "--format", "json"],
    ] {
        let plain = ls(arguments, None, &fixtures_dir());
        for _ in 0..2 {
            same(&ls(arguments, Some(&index), &fixtures_dir()), &plain);
        }
    }
}

/// Row C17 of docs/kerneldb.md.
#[test]
fn the_second_run_opens_no_object() {
    let folder = scratch_dir();
    let (index, files) = (folder.path().join("index"), folder.path().join("tree"));
    tree(&files);
    let first = ls(&["--format", "json"], Some(&index), &files);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert_eq!(Index::from_bytes(&fs::read(&index).unwrap()).unwrap().len(), 5);
    // Content changed behind the back of the stamp is not seen: nothing was opened.
    let changed = files.join("same");
    let modified = fs::metadata(&changed).unwrap().modified().unwrap();
    let size = usize::try_from(fs::metadata(&changed).unwrap().len()).unwrap();
    fs::write(&changed, vec![0; size]).unwrap();
    File::options().write(true).open(&changed).unwrap().set_modified(modified).unwrap();
    same(&ls(&["--format", "json"], Some(&index), &files), &first);
    // Content that changed and says so is.
    copy("mangled.co", &changed);
    let plain = ls(&["--format", "json"], None, &files);
    assert_ne!(plain.stdout, first.stdout);
    same(&ls(&["--format", "json"], Some(&index), &files), &plain);
}

/// Row C17 of docs/kerneldb.md.
#[test]
fn content_is_known_whatever_the_path() {
    let folder = scratch_dir();
    let (index, files) = (folder.path().join("index"), folder.path().join("tree"));
    tree(&files);
    ls(&[], Some(&index), &files);
    let known = fs::read(&index).unwrap();
    fs::rename(files.join("a.so"), files.join("z.so")).unwrap();
    let plain = ls(&[], None, &files);
    same(&ls(&[], Some(&index), &files), &plain);
    let [before, after] =
        [known, fs::read(&index).unwrap()].map(|it| Index::from_bytes(&it).unwrap().len());
    assert_eq!(before, after);
}

/// Row C17 of docs/kerneldb.md.
#[test]
fn a_truncated_or_changed_index_is_made_anew() {
    let folder = scratch_dir();
    let (index, files) = (folder.path().join("index"), folder.path().join("tree"));
    tree(&files);
    let first = ls(&[], Some(&index), &files);
    let whole = fs::read(&index).unwrap();
    for bytes in [&whole[..0], &whole[..7], &whole[..whole.len() / 2], &whole[..whole.len() - 1]] {
        fs::write(&index, bytes).unwrap();
        let again = ls(&[], Some(&index), &files);
        assert_eq!((&again.stdout, again.code), (&first.stdout, Some(0)));
        assert_eq!(again.stderr.contains("made anew"), !bytes.is_empty(), "{}", again.stderr);
        assert_eq!(fs::read(&index).unwrap(), whole);
    }
    let other = fs::read(fixture("s1.gfx942.co")).unwrap();
    fs::write(&index, &other).unwrap();
    assert_eq!(ls(&[], Some(&index), &files).code, Some(2));
    assert_eq!(fs::read(&index).unwrap(), other);
}

/// Row C17 of docs/kerneldb.md.
#[test]
fn writers_at_once_leave_an_index() {
    let folder = scratch_dir();
    let (index, files) = (folder.path().join("index"), folder.path().join("tree"));
    tree(&files);
    let plain = ls(&["--long"], None, &files);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| same(&ls(&["--long"], Some(&index), &files), &plain));
        }
    });
    Index::from_bytes(&fs::read(&index).unwrap()).unwrap();
    same(&ls(&["--long"], Some(&index), &files), &plain);
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "a temporary file is left");
}

/// Row C17 of docs/kerneldb.md.
#[test]
fn nothing_is_written_unless_asked_for() {
    let folder = scratch_dir();
    let files = folder.path().join("tree");
    tree(&files);
    let count = || fs::read_dir(&files).unwrap().count();
    let before = count();
    let mut command = hsaco_command();
    run(command.args(["ls", "."]).current_dir(&files));
    assert_eq!(count(), before);
}
