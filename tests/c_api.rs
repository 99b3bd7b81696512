//! The C API as its users have it: installed, found by pkg-config and CMake, under AddressSanitizer, misused.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../xtask/src/install/deb.rs"]
mod deb;
#[path = "../xtask/src/install/tree.rs"]
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use expect_test::{expect, expect_file};
use hsaco_tests::program::hsaco_binary;
use hsaco_tests::{fixture, fixtures_dir, scratch_dir, workspace_root};

/// An installation of what this test was built with, for all tests of this file.
static INSTALLED: LazyLock<Installed> = LazyLock::new(Installed::new);

struct Installed {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl Installed {
    fn new() -> Self {
        // One folder for all runs: nothing removes what is for all tests of a run.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-api");
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("it is ours");
        }
        let files =
            artifacts().install(&workspace_root(), &folder).expect("all of it can be installed");
        Self { folder, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn artifacts() -> tree::Artifacts {
    // Where cargo has put the libraries: beside this test.
    let test = std::env::current_exe().expect("a test has a path");
    let archive = test.with_file_name("libhsaco_c.a");
    tree::Artifacts { command: hsaco_binary().expect("the command is built"), archive }
}

fn root(name: &str) -> PathBuf {
    workspace_root().join(name)
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What a command prints that must succeed.
fn text(command: &mut Command) -> String {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).expect("it prints text")
}

/// What pkg-config says of the installation, and nothing else of the machine.
fn pkg_config(arguments: &str) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.args(arguments.split_whitespace());
    let said = text(command.env("PKG_CONFIG_LIBDIR", INSTALLED.path("lib/pkgconfig")));
    said.split_whitespace().map(str::to_owned).collect()
}

/// A program of C or C++ in the making.
fn compiler(source: &Path, flags: &[&str]) -> Command {
    let is_c = source.extension().is_some_and(|it| it == "c");
    let mut command = Command::new(if is_c { "cc" } else { "c++" });
    command.arg(if is_c { "-std=c99" } else { "-std=c++17" });
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic"]).args(flags).arg(source);
    command
}

/// Compiles a program against the shared library that pkg-config finds.
fn shared(source: &Path, package: &str, flags: &[&str], program: &Path) {
    let mut command = compiler(source, flags);
    command.args(pkg_config(&format!("--cflags --libs {package}")));
    command.arg(format!("-Wl,-rpath,{}", INSTALLED.path("lib").display()));
    text(command.arg("-o").arg(program));
}

/// The examples, and the programs of each: `NAME-c` and `NAME-cpp`.
const EXAMPLES: [&str; 5] = ["registration", "dispatch", "hotswap", "profiler", "loader"];

/// Runs an example in both languages, which must say the same; what they say.
fn says(programs: &Path, name: &str, arguments: &str) -> String {
    let [c, cpp] = ["c", "cpp"].map(|language| {
        let mut command = Command::new(programs.join(format!("{name}-{language}")));
        let output = run(command.args(files(arguments)));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
        let stdout = String::from_utf8(output.stdout).expect("it prints text");
        format!("{stdout}exit code {}\n", output.status.code().expect("no signal ended it"))
    });
    // C++ lists warnings beside what both say.
    match name {
        "registration" => assert!(cpp.ends_with(&c), "{cpp}"),
        _ => assert_eq!(c, cpp),
    }
    let said = format!("$ {name} {arguments}\n{c}\n");
    let folders = [(fixtures_dir(), "FIXTURES"), (programs.to_owned(), "PROGRAMS")];
    folders.iter().fold(said, |text, (path, word)| text.replace(&path.display().to_string(), word))
}

fn files(words: &str) -> Vec<OsString> {
    let word = |it: &str| match it.strip_prefix('@') {
        Some(name) => fixture(name).into_os_string(),
        None => it.into(),
    };
    words.split_whitespace().map(word).collect()
}

/// An object of which the second kernel needs more LDS than most devices have.
fn large_lds(folder: &Path) -> String {
    let source = "kernel void small(global int *out) { *out = 1; }\n\
        kernel void large(global int *out, int at) {\n\
            local volatile int tile[20000];\n\
            tile[at] = at;\n\
            *out = tile[at + 1];\n\
        }\n";
    let [cl, o, co] = ["lds.cl", "lds.o", "lds.co"].map(|it| folder.join(it));
    fs::write(&cl, source).expect("it can be written");
    let mut clang = Command::new("clang-22");
    clang.args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx950", "-nogpulib", "-O2", "-c"]);
    text(clang.arg(&cl).arg("-o").arg(&o));
    text(Command::new("ld.lld-22").arg("-shared").arg(&o).arg("-o").arg(&co));
    co.display().to_string()
}

/// Runs every example for what it is there for, and for what it refuses.
fn examples_run(programs: &Path) {
    let lds = large_lds(programs);
    let (b0, a0) = (
        "amdgcn-amd-amdhsa--gfx1250:gfx1250-b0-specific+",
        "amdgcn-amd-amdhsa--gfx1250:gfx1250-b0-specific-",
    );
    let output = programs.join("rewritten.co");
    let output = output.display();
    let commands = [
        ("registration", "gfx942 65536 @s1.gfx942.co ind".to_owned()),
        ("registration", format!("gfx950 163840 {lds} large")),
        ("registration", format!("gfx950 65536 {lds} large")),
        ("registration", format!("gfx950 65536 {lds} small")),
        ("registration", "gfx950 65536 @s1.gfx942.co ind".to_owned()),
        ("registration", "gfx942 65536 @s1.gfx942.co nope".to_owned()),
        ("registration", "gfx942 65536 @plain.bundle one".to_owned()),
        ("dispatch", "@run.gfx942.co @two-notes.co @s1.no-note.co @s1.gfx942.co".to_owned()),
        ("hotswap", format!("@steppings.co {b0} {a0} {output}")),
        ("hotswap", format!("{output} {b0} {a0} {output}.again")),
        ("hotswap", format!("@steppings.co {a0} {b0} {output}")),
        ("hotswap", format!("@s1.gfx942.co {b0} {a0} {output}")),
        (
            "profiler",
            "gfx942 @lines.dwarf5.co @host.so -- _Z10kernel_twoPfN3vec4PairIfEE nope".to_owned(),
        ),
        ("loader", "gfx942 @scale-user.co @scale-library.co".to_owned()),
        ("loader", "gfx942 @scale-user.co".to_owned()),
        ("loader", "gfx1100 @scale-user.co".to_owned()),
    ];
    let said = commands.iter().map(|(name, arguments)| says(programs, name, arguments));
    expect_file!["capi/examples.out"].assert_eq(&said.collect::<String>());
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_installation_is_complete() {
    let name = |it: &PathBuf| {
        let name = it.strip_prefix(&INSTALLED.folder).expect("it is in there");
        name.display().to_string()
    };
    let all: BTreeSet<String> = INSTALLED.files.iter().map(name).collect();
    let pages = |it: &&String| it.starts_with("share/man/man1/hsaco-");
    assert!(all.iter().filter(pages).count() > 20);
    let others: Vec<_> = all.iter().filter(|it| !pages(it)).map(String::as_str).collect();
    expect![[r#"
        bin/hsaco
        include/hsaco-kerneldb/include/kernelDB.h
        include/hsaco.h
        include/hsaco.hpp
        lib/cmake/hsaco/hsaco-config-version.cmake
        lib/cmake/hsaco/hsaco-config.cmake
        lib/libhsaco.a
        lib/libhsaco.so
        lib/libhsaco.so.1
        lib/libhsaco.so.1.0.1.0
        lib/pkgconfig/hsaco-kerneldb.pc
        lib/pkgconfig/hsaco.pc
        share/bash-completion/completions/hsaco
        share/doc/hsaco/LICENSE-APACHE
        share/doc/hsaco/LICENSE-MIT
        share/fish/vendor_completions.d/hsaco.fish
        share/man/man1/hsaco.1
        share/zsh/site-functions/_hsaco
    "#]]
    .assert_eq(&(others.join("\n") + "\n"));
    let version = text(Command::new(INSTALLED.path("bin/hsaco")).arg("--version"));
    assert_eq!(version, format!("hsaco {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(pkg_config("--modversion hsaco").join(""), env!("CARGO_PKG_VERSION"));
}

/// Making it runs the tour in the folder that it unpacks to.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_debian_package_is_complete_and_runs() {
    let dir = scratch_dir();
    let package = deb::make(&artifacts(), &workspace_root(), dir.path(), "none");
    let package = package.unwrap_or_else(|error| panic!("{error:#}"));
    let said = text(Command::new("dpkg-deb").arg("--contents").arg(package));
    let paths: BTreeSet<&str> = said
        .lines()
        .filter_map(|it| it.split_whitespace().nth(5)?.strip_prefix("./usr/"))
        .filter(|it| !it.is_empty() && !it.ends_with('/'))
        .collect();
    let installed = INSTALLED.files.iter().map(|it| {
        let name =
            it.strip_prefix(&INSTALLED.folder).expect("it is in there").display().to_string();
        if name.starts_with("share/man/") { name + ".gz" } else { name }
    });
    let installed: BTreeSet<String> = installed.collect();
    assert_eq!(paths, installed.iter().map(String::as_str).collect());
}

/// The functions of the header.
fn declared() -> BTreeSet<String> {
    let header = fs::read_to_string(root("crates/capi/include/hsaco.h")).expect("it is there");
    let code =
        header.lines().filter(|it| !it.trim_start().starts_with("//") && !it.starts_with(" *"));
    calls(&code.collect::<Vec<_>>().join("\n"))
}

/// What is called, or declared, of a text of C.
fn calls(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("hsaco_") {
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let rest = text.get(at..).unwrap_or_default();
        let name: String = rest.chars().take_while(|it| is_name(*it)).collect();
        let follows = rest.get(name.len()..).unwrap_or_default().trim_start();
        if follows.starts_with('(') && !text.get(..at).is_some_and(|it| it.ends_with(is_name)) {
            found.insert(name);
        }
    }
    found
}

#[test]
fn every_function_of_the_header_is_called() {
    let program = fs::read_to_string(root("tests/capi/every.c")).expect("it is there");
    // The macro for every kind of handle frees what it is given.
    let mut called = calls(&program);
    for line in program.lines().filter_map(|it| it.trim().strip_prefix("EVERY(")) {
        called.extend(line.split(", ").nth(1).map(|it| format!("{it}_free")));
    }
    let (declared, none) = (declared(), BTreeSet::<&String>::new());
    assert!(declared.len() > 120, "{}", declared.len());
    assert_eq!(declared.difference(&called).collect::<BTreeSet<_>>(), none);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn symbols_of_the_shared_library_have_versions() {
    let mut readelf = Command::new("llvm-readelf-22");
    let said = text(readelf.args(["--dyn-syms", "-W"]).arg(INSTALLED.path("lib/libhsaco.so")));
    let defined = said.lines().filter(|it| it.contains(" FUNC ") && !it.contains(" UND "));
    let defined: BTreeSet<String> =
        defined.filter_map(|it| it.split_whitespace().nth(7)).map(str::to_owned).collect();
    let wanted: BTreeSet<String> = declared().iter().map(|it| format!("{it}@@HSACO_1")).collect();
    assert_eq!(defined, wanted);
    let mut readelf = Command::new("llvm-readelf-22");
    let said = text(readelf.arg("-d").arg(INSTALLED.path("lib/libhsaco.so")));
    assert!(said.contains("Library soname: [libhsaco.so.1]"), "{said}");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn examples_build_by_pkg_config_and_run() {
    let dir = scratch_dir();
    for name in EXAMPLES {
        for (folder, end) in [("c", "c"), ("cpp", "cpp")] {
            let source = root("examples").join(folder).join(format!("{name}.{end}"));
            shared(&source, "hsaco", &[], &dir.path().join(format!("{name}-{end}")));
        }
    }
    examples_run(dir.path());
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn examples_build_by_cmake_and_run() {
    let dir = scratch_dir();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(root("examples")).arg("-B").arg(dir.path());
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", INSTALLED.folder.display()));
    text(&mut configure);
    text(Command::new("cmake").arg("--build").arg(dir.path()).args(["-j", "2"]));
    examples_run(dir.path());
    let mut program = Command::new(dir.path().join("registration-static"));
    let said = text(program.args(files("gfx942 65536 @s1.gfx942.co ind")));
    assert_eq!(said, "registered ind\n");
    let said = text(Command::new(dir.path().join("kerneldb")).args(files("@plain.bundle")));
    assert_eq!(said, "one\n");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_static_library_is_found_by_pkg_config() {
    let dir = scratch_dir();
    let program = dir.path().join("registration");
    let mut command = compiler(&root("examples/c/registration.c"), &[]);
    let flags = pkg_config("--static --cflags --libs hsaco");
    let archive = INSTALLED.path("lib/libhsaco.a").display().to_string();
    command.args(flags.iter().map(|it| if it == "-lhsaco" { &archive } else { it }));
    text(command.arg("-o").arg(&program));
    let said = text(Command::new(&program).args(files("gfx942 65536 @s1.gfx942.co ind")));
    assert_eq!(said, "registered ind\n");
}

/// What finds memory that is used wrongly, or not given back.
const SANITIZED: [&str; 3] = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn misuse_gives_statuses_under_sanitizers() {
    let dir = scratch_dir();
    for (name, package) in [("every.c", "hsaco"), ("kerneldb.cpp", "hsaco-kerneldb")] {
        let program = dir.path().join(name.replace('.', "-"));
        shared(&root("tests/capi").join(name), package, &SANITIZED, &program);
        let output = run(Command::new(&program).arg(fixtures_dir()));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all as it should be\n", "{name}");
        assert_eq!(output.status.code(), Some(0), "{name}");
    }
    for name in EXAMPLES {
        for (folder, end) in [("c", "c"), ("cpp", "cpp")] {
            let source = root("examples").join(folder).join(format!("{name}.{end}"));
            shared(&source, "hsaco", &SANITIZED, &dir.path().join(format!("{name}-{end}")));
        }
    }
    examples_run(dir.path());
}

/// How many instructions of a kernel come from each line, as llvm-symbolizer has it.
fn lines_of_kernel_two(listed: &str) -> Vec<String> {
    let code = listed.split("<_Z10kernel_twoPfN3vec4PairIfEE>:").nth(1).expect("it is listed");
    // Padding follows its end.
    let code = code.split_inclusive("s_endpgm").next().unwrap_or_default().to_owned()
        + code.split_once("s_endpgm").and_then(|(_, it)| it.lines().next()).unwrap_or_default();
    let address = |it: &str| Some(format!("0x{}", it.split("// ").nth(1)?.split(':').next()?));
    let mut symbolizer = Command::new("llvm-symbolizer-22");
    symbolizer.args(["--output-style=JSON", "--obj"]).arg(fixture("lines.dwarf5.co"));
    let answers = text(symbolizer.args(code.lines().filter_map(address)));
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let answers: Vec<serde_json::Value> = serde_json::from_str(&answers).expect("it is JSON");
    for answer in answers {
        let line = answer.pointer("/Symbol/0/Line").and_then(serde_json::Value::as_u64);
        *counts.entry(line.expect("it has a line")).or_default() += 1;
    }
    counts.iter().map(|(line, count)| format!("  line {line}: {count} instructions")).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_program_for_kerneldb_compiles_unchanged_and_is_right() {
    let dir = scratch_dir();
    let program = dir.path().join("kerneldb");
    shared(&root("examples/cpp/kerneldb.cpp"), "hsaco-kerneldb", &[], &program);
    let two = "kernel_two(float*, vec::Pair<float>)";
    let mut command = Command::new(&program);
    command.args(files("@lines.dwarf5.co @types.co @manifest.txt --"));
    let said =
        text(command.args([two, "shape::deep::in_namespace(shape::Point*, shape::Point, int)"]));
    let said = said.replace(&fixtures_dir().display().to_string(), "");
    expect_file!["capi/kerneldb.out"].assert_eq(&said);
    // Its text is llvm-objdump's.
    let listed = text(Command::new("llvm-objdump-22").arg("-d").arg(fixture("lines.dwarf5.co")));
    for line in said.lines().filter(|it| it.starts_with('\t')).take(2) {
        assert!(listed.lines().any(|it| it == line), "{line}");
    }
    let ours = said.split(two).nth(2).unwrap_or_default().lines();
    let ours = ours.filter(|it| it.starts_with("  line ")).map(|it| {
        let (line, rest) = it.split_once(" of ").expect("it says where");
        let count = rest.split(": ").nth(1).and_then(|it| it.split(',').next());
        format!("{line}: {}", count.expect("it says how many"))
    });
    assert_eq!(lines_of_kernel_two(&listed), ours.take(5).collect::<Vec<_>>());
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_agent_of_hsa_chooses_a_target() {
    let dir = scratch_dir();
    let program = dir.path().join("agent");
    shared(&root("tests/capi/agent.cpp"), "hsaco-kerneldb", &[], &program);
    let said = text(Command::new(&program).arg(fixture("plain.bundle")));
    let said = said.replace(&fixtures_dir().display().to_string(), "");
    expect![[r#"
        amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-: 1 kernels, the first is one, s_load_dwordx2
        amdgcn-amd-amdhsa--gfx1100: 1 kernels, the first is one, s_load_b64
        gfx942: 8 waves
        /plain.bundle: not found: file: no object that gfx906 runs is in it, only for gfx1100, gfx942
    "#]].assert_eq(&said);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn code_of_the_guide_compiles() {
    let guide = fs::read_to_string(root("docs/c.md")).expect("it is there");
    let dir = scratch_dir();
    let mut count = 0;
    for end in ["c", "cpp"] {
        for block in guide.split(&format!("```{end}\n")).skip(1) {
            let source = dir.path().join(format!("block{count}.{end}"));
            let code = block.split("```").next().unwrap_or_default();
            fs::write(&source, code).expect("it can be written");
            let mut command = compiler(&source, &["-fsyntax-only"]);
            text(command.args(pkg_config("--cflags hsaco")));
            count += 1;
        }
    }
    assert_eq!(count, 4);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn headers_stand_alone() {
    for (name, language, standard) in
        [("hsaco.h", "c", "c99"), ("hsaco.h", "c++", "c++11"), ("hsaco.hpp", "c++", "c++17")]
    {
        let mut command = Command::new(if language == "c" { "cc" } else { "c++" });
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]);
        command.arg(format!("-std={standard}")).args(["-include"]);
        command.arg(root("crates/capi/include").join(name)).args(["-x", language, "/dev/null"]);
        text(&mut command);
    }
}
