//! Containers taken apart and put together, by `hsaco` alone and against clang-offload-bundler.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hsaco::container::bundle::{self, Bundle};
use hsaco::container::ccob::Ccob;
use hsaco::container::{Container, EntryKind, WalkOptions, entries};
use hsaco_tests::program::hsaco_command;
use hsaco_tests::{fixture, fixtures_dir, scratch_dir, workspace_root};
use serde_json::Value;

const BUNDLER: &str = "clang-offload-bundler-22";
const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const GFX942: &str = "hipv4-amdgcn-amd-amdhsa--gfx942";
const GFX1100: &str = "hipv4-amdgcn-amd-amdhsa--gfx1100";

fn hsaco<A: AsRef<OsStr>>(args: &[A]) -> Output {
    hsaco_command().args(args).output().unwrap()
}

/// Runs `hsaco`, which must succeed in silence on standard error.
fn run<A: AsRef<OsStr>>(args: &[A]) {
    let output = hsaco(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{}: {stderr}", output.status);
}

fn words<'a>(args: &[&'a dyn AsRef<OsStr>]) -> Vec<&'a OsStr> {
    args.iter().map(|it| (*it).as_ref()).collect()
}

fn extract(file: &Path, directory: &Path) {
    run(&words(&[&"extract", &file, &"-o", &directory]));
}

fn rebuild(directory: &Path, output: &Path) -> Vec<u8> {
    run(&words(&[&"bundle", &directory, &"-o", &output]));
    fs::read(output).unwrap()
}

fn manifest(directory: &Path) -> Option<Value> {
    let mut paths = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path());
    let path = paths.find(|it| it.to_string_lossy().ends_with(".hsaco.json"))?;
    Some(serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Where the bundles of a manifest are.
fn ranges(manifest: &Value) -> Vec<std::ops::Range<usize>> {
    let bundles = manifest["bundles"].as_array().unwrap().iter();
    let range = |it: &Value| number(&it["offset"])..number(&it["offset"]) + number(&it["size"]);
    bundles.map(range).collect()
}

/// The device code in a file: id, content and place.
fn objects(data: &[u8]) -> Vec<(String, Vec<u8>, Option<u64>)> {
    let entries = entries(data, &WalkOptions::default()).map(Result::unwrap);
    let objects = entries.filter(|it| it.kind != EntryKind::Host);
    objects.map(|it| (it.id.unwrap_or_default(), it.data.to_vec(), it.offset)).collect()
}

fn contents(data: &[u8]) -> Vec<(String, Vec<u8>)> {
    objects(data).into_iter().map(|(id, data, _)| (id, data)).collect()
}

fn container_fixtures() -> Vec<PathBuf> {
    let files = fs::read_dir(fixtures_dir()).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<_> = files.filter(|it| it.is_file()).collect();
    files.retain(|it| Container::detect(&fs::read(it).unwrap()).is_some());
    files.sort();
    files
}

#[test]
fn every_container_comes_back() {
    let mut rebuilt = Vec::new();
    for file in container_fixtures() {
        let scratch = scratch_dir();
        let directory = scratch.path().join("objects");
        extract(&file, &directory);
        let original = fs::read(&file).unwrap();
        let Some(manifest) = manifest(&directory) else { continue };
        let ranges = ranges(&manifest);
        let expected = if original.starts_with(b"CCOB") || original.starts_with(b"__CLANG") {
            original
        } else {
            // All fixtures have their bundles in one section.
            original[ranges[0].start..ranges[ranges.len() - 1].end].to_vec()
        };
        let actual = rebuild(&directory, &scratch.path().join("again"));
        assert!(actual == expected, "{}", file.display());
        rebuilt.push(file.file_name().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(
        rebuilt,
        [
            "aligned.bundle",
            "back-to-back.bundle",
            "host-compressed.so",
            "host.a",
            "host.dll",
            "host.obj",
            "host.so",
            "mixed.bundle",
            "plain.bundle",
            "plain.tar",
            "zlib-v2.bundle",
            "zstd-v2.bundle",
            "zstd-v3.bundle",
        ]
    );
}

#[test]
fn every_object_is_written_as_it_is() {
    for file in container_fixtures() {
        let scratch = scratch_dir();
        let output = hsaco(&words(&[
            &"extract",
            &file,
            &"--no-manifest",
            &"--format",
            &"json",
            &"-o",
            &scratch.path(),
        ]));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let written = answer["files"][0]["objects"].as_array().unwrap();
        let expected = objects(&fs::read(&file).unwrap());
        assert_eq!(written.len(), expected.len(), "{}", file.display());
        for (row, (_, data, _)) in written.iter().zip(&expected) {
            let path = row["file"].as_str().unwrap();
            assert!(fs::read(path).unwrap() == *data, "{path}");
        }
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), expected.len());
    }
}

#[test]
fn what_is_changed_is_packed_again() {
    for name in ["plain.bundle", "aligned.bundle", "mixed.bundle", "zlib-v2.bundle", "host.so"] {
        let scratch = scratch_dir();
        let directory = scratch.path().join("objects");
        extract(&fixture(name), &directory);
        let before = contents(&fs::read(fixture(name)).unwrap());
        let manifest = manifest(&directory).unwrap();
        let changed = manifest["bundles"][0]["entries"][1]["file"].as_str().unwrap();
        let path = directory.join(changed);
        let longer = [fs::read(&path).unwrap(), vec![7; 5000]].concat();
        fs::write(&path, &longer).unwrap();
        let after = rebuild(&directory, &scratch.path().join("again"));
        let mut expected = before;
        expected[0].1 = longer;
        assert_eq!(contents(&after), expected, "{name}");
        if matches!(name, "aligned.bundle" | "host.so") {
            let places = objects(&after).into_iter().map(|(_, _, offset)| offset.unwrap());
            assert!(places.into_iter().all(|it| it % 4096 == 0), "{name}");
        }
    }
}

#[test]
fn what_is_changed_at_equal_size_moves_nothing() {
    let scratch = scratch_dir();
    let directory = scratch.path().join("objects");
    extract(&fixture("plain.bundle"), &directory);
    let path = directory.join("plain.1.gfx1100.co");
    let mut content = fs::read(&path).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(&path, content).unwrap();
    let mut expected = fs::read(fixture("plain.bundle")).unwrap();
    *expected.last_mut().unwrap() ^= 1;
    assert_eq!(rebuild(&directory, &scratch.path().join("again")), expected);
}

#[test]
fn host_code_gaps_and_tails_come_back() {
    let object = fs::read(fixture("s1.gfx942.co")).unwrap();
    let mut file = bundle::write(&[(HOST, b"host".as_slice()), (GFX942, &object)], 4096);
    file[4000] = 9;
    file.extend_from_slice(&[0; 100]);
    file.extend_from_slice(b"end");
    let scratch = scratch_dir();
    let (source, directory) = (scratch.path().join("odd.bundle"), scratch.path().join("objects"));
    fs::write(&source, &file).unwrap();
    extract(&source, &directory);
    assert_eq!(rebuild(&directory, &scratch.path().join("again")), file);
}

#[test]
fn a_bundle_in_a_bundle_comes_back() {
    let inner = fs::read(fixture("plain.bundle")).unwrap();
    let file = bundle::write(&[(GFX942, inner.as_slice()), (GFX1100, b"BC\xc0\xde")], 8);
    let scratch = scratch_dir();
    let (source, directory) = (scratch.path().join("nested.bundle"), scratch.path().join("out"));
    fs::write(&source, &file).unwrap();
    extract(&source, &directory);
    assert_eq!(rebuild(&directory, &scratch.path().join("again")), file);
}

fn bundler(environment: &[(&str, &str)], args: &[String]) {
    let mut command = Command::new(BUNDLER);
    let output = command.envs(environment.iter().copied()).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What clang-offload-bundler makes of an empty host and two objects.
fn theirs(directory: &Path, version: &str, options: &[&str]) -> Vec<u8> {
    let (empty, output) = (directory.join("empty"), directory.join("theirs"));
    fs::write(&empty, "").unwrap();
    let mut args = vec!["-type=o".to_owned(), format!("-targets={HOST},{GFX942},{GFX1100}")];
    for input in [&empty, &fixture("s1.gfx942.co"), &fixture("s1.gfx1100.co")] {
        args.push(format!("-input={}", input.display()));
    }
    args.push(format!("-output={}", output.display()));
    args.extend(options.iter().map(ToString::to_string));
    bundler(&[("COMPRESSED_BUNDLE_FORMAT_VERSION", version)], &args);
    fs::read(output).unwrap()
}

fn ours(directory: &Path, options: &[&str]) -> Vec<u8> {
    let (one, two) = (fixture("s1.gfx942.co"), fixture("s1.gfx1100.co"));
    let output = directory.join("ours");
    let mut args = words(&[&"bundle", &one, &two, &"-o", &output]);
    args.extend(options.iter().map(OsStr::new));
    run(&args);
    fs::read(output).unwrap()
}

fn s1_objects() -> [(String, Vec<u8>); 2] {
    [(GFX942, "s1.gfx942.co"), (GFX1100, "s1.gfx1100.co")]
        .map(|(id, name)| (id.to_owned(), fs::read(fixture(name)).unwrap()))
}

#[test]
fn unchanged_bundles_are_not_compressed_again() {
    for (method, level) in [("--compress=zstd", "19"), ("--compress=zlib", "1")] {
        let scratch = scratch_dir();
        let usual = ours(scratch.path(), &[method]);
        let packed = ours(scratch.path(), &[method, "--level", level]);
        assert_ne!(packed, usual);
        let directory = scratch.path().join("objects");
        extract(&scratch.path().join("ours"), &directory);
        assert_eq!(rebuild(&directory, &scratch.path().join("again")), packed, "{method}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn plain_bundles_are_those_of_the_bundler() {
    let scratch = scratch_dir();
    for align in ["1", "16", "4096"] {
        let theirs = theirs(scratch.path(), "", &[&format!("-bundle-align={align}")]);
        assert!(ours(scratch.path(), &["--align", align]) == theirs, "{align}");
    }
    let theirs = theirs(scratch.path(), "", &[]);
    assert!(ours(scratch.path(), &[]) == theirs, "by default");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_bundler_unpacks_what_we_pack() {
    let forms: [&[&str]; 6] = [
        &[],
        &["--align", "4096"],
        &["--compress"],
        &["--compress=zlib"],
        &["--compress=zstd", "--bundle-version", "2", "--level", "19"],
        &["--compress=zlib", "--bundle-version", "2"],
    ];
    for options in forms {
        let scratch = scratch_dir();
        ours(scratch.path(), options);
        let [one, two] = ["one", "two"].map(|it| scratch.path().join(it));
        bundler(
            &[],
            &[
                "-type=o".to_owned(),
                "-unbundle".to_owned(),
                format!("-targets={GFX942},{GFX1100}"),
                format!("-input={}", scratch.path().join("ours").display()),
                format!("-output={}", one.display()),
                format!("-output={}", two.display()),
            ],
        );
        let unpacked = [one, two].map(|it| fs::read(it).unwrap());
        assert!(unpacked == s1_objects().map(|(_, data)| data), "{options:?}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn we_unpack_what_the_bundler_packs() {
    let scratch = scratch_dir();
    for version in ["2", "3"] {
        let packed = theirs(scratch.path(), version, &["-compress"]);
        assert_eq!(Ccob::parse(&packed).unwrap().version.to_string(), version);
        let (file, directory) = (scratch.path().join("theirs"), scratch.path().join(version));
        extract(&file, &directory);
        for (name, (_, data)) in
            ["theirs.0.gfx942.co", "theirs.1.gfx1100.co"].iter().zip(s1_objects())
        {
            assert!(fs::read(directory.join(name)).unwrap() == data, "{version} {name}");
        }
        assert_eq!(rebuild(&directory, &scratch.path().join("again")), packed);
    }
}

fn prune(name: &str, keep: &str, output: &Path) -> Vec<u8> {
    let output_text = output.as_os_str();
    run(&words(&[&"extract", &"--keep-target", &keep, &fixture(name), &"-o", &output_text]));
    fs::read(output).unwrap()
}

#[test]
fn pruned_host_files_keep_every_other_byte() {
    for name in ["host.so", "host-compressed.so", "host.dll", "host.obj"] {
        let scratch = scratch_dir();
        let original = fs::read(fixture(name)).unwrap();
        let pruned = prune(name, "gfx942", &scratch.path().join("pruned"));
        assert_eq!(pruned.len(), original.len(), "{name}");
        extract(&fixture(name), &scratch.path().join("objects"));
        let ranges = ranges(&manifest(&scratch.path().join("objects")).unwrap());
        for (at, (before, after)) in original.iter().zip(&pruned).enumerate() {
            let in_bundle = ranges.iter().any(|it| it.contains(&at));
            assert!(in_bundle || before == after, "{name}: byte {at:#x}");
        }
        let kept: Vec<_> =
            objects(&original).into_iter().filter(|(id, ..)| id.ends_with("gfx942")).collect();
        assert!(objects(&pruned) == kept, "{name}");
    }
}

#[test]
fn dropped_code_is_zero() {
    let scratch = scratch_dir();
    let pruned = prune("host.so", "gfx11*", &scratch.path().join("pruned"));
    let original = fs::read(fixture("host.so")).unwrap();
    for (id, data, offset) in objects(&original) {
        let start = usize::try_from(offset.unwrap()).unwrap();
        let now = &pruned[start..start + data.len()];
        if id.ends_with("gfx942") {
            assert!(now.iter().all(|&byte| byte == 0));
        } else {
            assert!(now == data);
        }
    }
}

#[test]
fn pruned_bundles_get_smaller() {
    for name in ["plain.bundle", "aligned.bundle", "back-to-back.bundle", "mixed.bundle"] {
        let scratch = scratch_dir();
        let original = fs::read(fixture(name)).unwrap();
        let pruned = prune(name, "gfx1100", &scratch.path().join("pruned"));
        let mut kept = contents(&original);
        kept.retain(|(id, _)| id.ends_with("gfx1100"));
        assert_eq!(contents(&pruned), kept, "{name}");
        assert!(pruned.len() < original.len(), "{name}");
    }
    let scratch = scratch_dir();
    let pruned = prune("zlib-v2.bundle", "gfx942", &scratch.path().join("pruned"));
    let before = Ccob::parse(&fs::read(fixture("zlib-v2.bundle")).unwrap()).unwrap();
    let after = Ccob::parse(&pruned).unwrap();
    assert_eq!((after.version, after.method), (before.version, before.method));
    let plain = after.payload(&pruned, 1 << 20).unwrap();
    after.verify(&plain).unwrap();
    let ids: Vec<_> =
        Bundle::parse(&plain).unwrap().entries.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(ids, [HOST, "hip-amdgcn-amd-amdhsa--gfx942"]);
}

#[test]
fn keeping_everything_changes_nothing() {
    for name in ["mixed.bundle", "host.so", "host-compressed.so", "host.a", "offloading.bin"] {
        let scratch = scratch_dir();
        let pruned = prune(name, "gfx*", &scratch.path().join("pruned"));
        assert!(pruned == fs::read(fixture(name)).unwrap(), "{name}");
    }
}

#[test]
fn truncated_and_broken_files_never_crash() {
    let scratch = scratch_dir();
    let (file, directory) = (scratch.path().join("cut"), scratch.path().join("objects"));
    let original = fs::read(fixture("plain.bundle")).unwrap();
    for length in [0, 10, 40, 100, 200, 4251, 5000, original.len() - 1] {
        fs::write(&file, &original[..length]).unwrap();
        let output = hsaco(&words(&[&"extract", &file, &"-o", &directory]));
        assert_eq!(output.status.code(), Some(2), "{length}");
        assert_eq!(directory.join("cut.0.gfx942.co").is_file(), length >= 4251, "{length}");
        assert!(!directory.join("cut.hsaco.json").exists());
    }
}

#[test]
fn hostile_manifests_do_no_harm() {
    let scratch = scratch_dir();
    extract(&fixture("plain.bundle"), scratch.path());
    let path = scratch.path().join("plain.hsaco.json");
    let good: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let huge = Value::from(u64::MAX);
    // Where contents go is only a wish: they are laid out anew where it cannot be granted.
    for (pointer, code) in [
        ("/bundles/0/plain_size", 0),
        ("/bundles/0/alignment", 0),
        ("/bundles/0/entries/1/offset", 0),
        ("/bundles/0/before/size", 2),
        ("/after/size", 2),
        ("/schema_version", 2),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = huge.clone();
        fs::write(&path, bad.to_string()).unwrap();
        let output = hsaco(&words(&[&"bundle", &path, &"-o", &scratch.path().join("out")]));
        assert_eq!(output.status.code(), Some(code), "{pointer}");
    }
}

#[test]
fn where_nothing_can_be_written_is_told() {
    let (object, nowhere) = (fixture("s1.gfx942.co"), fixture("s1.gfx942.co").join("out"));
    let attempts: [&[&dyn AsRef<OsStr>]; 5] = [
        &[&"extract", &object],
        &[&"extract", &"--keep-target", &"gfx942", &object],
        &[&"bundle", &object],
        &[&"generate", &"man"],
        &[&"generate", &"bash"],
    ];
    for attempt in attempts {
        let mut args = words(attempt);
        args.extend(words(&[&"-o", &nowhere]));
        let output = hsaco(&args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let expected = format!("hsaco: {}: ", nowhere.display());
        assert!(stderr.starts_with(&expected) && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
fn the_demo_shows_fixtures() {
    for (demo, original) in [
        ("demo.co", "mangled.co"),
        ("demo.bundle", "zstd-v3.bundle"),
        ("demo.so", "host-compressed.so"),
        ("apply.co", "scale-user.co"),
        ("library.co", "scale-library.co"),
        ("run.co", "run.gfx942.co"),
    ] {
        let demo = workspace_root().join("crates/cli/demo").join(demo);
        assert!(fs::read(demo).unwrap() == fs::read(fixture(original)).unwrap(), "{original}");
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let scratch = scratch_dir();
    run(&words(&[&"generate", &"man", &"-o", &scratch.path()]));
    let main = fs::read_to_string(scratch.path().join("hsaco.1")).unwrap();
    let pages = fs::read_dir(scratch.path()).unwrap().map(|it| it.unwrap().file_name());
    for page in pages.filter(|it| it != "hsaco.1") {
        let name = page.to_str().unwrap().trim_end_matches(".1").replace('-', "\\-");
        assert!(main.contains(&name), "{name}");
        let text = fs::read_to_string(scratch.path().join(&page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS") && text.contains(".SH DESCRIPTION"), "{name}");
    }
    assert!(scratch.path().join("hsaco-extract.1").is_file());
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = hsaco(&["generate", shell]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("keep-target"), "{shell}");
    }
}
