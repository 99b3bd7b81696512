//! Listings against `llvm-objdump -d`, byte for byte: how symbols, sections, data, zeros and branches
//! are laid out, whatever the instructions are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco_tests::program::{Ran, hsaco_command, run, sh};
use hsaco_tests::random::Random;
use hsaco_tests::{diff::diff, fixture, fixtures_dir, scratch_dir};

/// `hsaco disasm` in a folder.
fn disasm(folder: &Path, arguments: &[&str]) -> Ran {
    run(hsaco_command().arg("disasm").args(arguments).current_dir(folder))
}

fn objdump(folder: &Path, arguments: &[&str]) -> Ran {
    run(Command::new("llvm-objdump-22").arg("-d").args(arguments).current_dir(folder))
}

/// Both tools print the same; ours ends with `code`.
fn check_ending(folder: &Path, arguments: &[&str], code: i32) {
    let theirs = objdump(folder, arguments);
    assert_eq!(theirs.code, Some(0), "{arguments:?}: {}", theirs.stderr);
    let ours = disasm(folder, arguments);
    assert_eq!(ours.code, Some(code), "{arguments:?}: {}", ours.stderr);
    if ours.stdout != theirs.stdout {
        let [theirs, ours] =
            [theirs, ours].map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        panic!("{arguments:?}: {}", diff(&theirs, &ours));
    }
}

fn check(folder: &Path, arguments: &[&str]) {
    check_ending(folder, arguments, 0);
}

/// Both tools print the same. Where there is nothing in a range, llvm-objdump prints a warning and ends with 0; an empty
/// answer of ours ends with 2.
fn check_range(folder: &Path, arguments: &[&str]) {
    let is_empty = !disasm(folder, arguments).text().contains("Disassembly of section");
    check_ending(folder, arguments, if is_empty { 2 } else { 0 });
}

fn assemble(folder: &Path, name: &str, source: &str) {
    fs::write(folder.join(format!("{name}.s")), source).unwrap();
    sh(
        folder,
        &format!(
            "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj {name}.s -o {name}.o"
        ),
    );
}

/// Lists a source's object as it is, and linked.
fn check_named(source: &str) {
    check_forms(source, &["case.o", "case.co"]);
}

/// As well stripped, and without section headers.
fn check_source(source: &str) {
    check_forms(source, &["case.o", "case.co", "stripped.co", "bare.co"]);
}

fn check_forms(source: &str, forms: &[&str]) {
    let folder = scratch_dir();
    let folder = folder.path();
    assemble(folder, "case", source);
    sh(folder, "ld.lld-22 -shared --noinhibit-exec case.o -o case.co");
    sh(folder, "llvm-strip-22 case.co -o stripped.co");
    sh(folder, "llvm-strip-22 --strip-sections case.co -o bare.co");
    for file in forms {
        check(folder, &[file]);
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn functions_and_labels() {
    check_source(
        r#"
        .globl kernel
        .type kernel,@function
        kernel:
            s_branch label
            s_branch "odd name"
            s_branch "quote\"back\\slash"
            s_branch "a@b"
            s_branch $plain.name_1
            s_cbranch_scc0 helper
            s_cbranch_scc1 10
            s_cbranch_vccz kernel
            s_cbranch_execnz 0x7fff
            s_cbranch_execz 0x8000
        label:
            s_nop 1
        "odd name":
            s_nop 2
        "quote\"back\\slash":
            s_nop 3
        "a@b":
            s_nop 4
        $plain.name_1:
            s_endpgm
        .size kernel, .-kernel
        .type helper,@function
        helper:
            s_nop 0
            s_branch kernel
            s_branch label
            s_endpgm
        "#,
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn several_names_for_one_address() {
    check_source(
        r"
        .globl zeta, alpha, data_z
        .protected zeta, alpha, data_z, middle
        .weak middle
        .type zeta,@function
        .type alpha,@function
        .type data_z,@object
        .type middle,@function
        zeta: alpha: middle: data_z:
            s_nop 0
            s_branch zeta
            s_branch untyped_b
        untyped_b: untyped_a:
        .type typed,@function
        typed:
            s_branch -3
            s_endpgm
        .type data_1,@object
        .type data_2,@object
        data_2: data_1:
            .long 0xc4000000, 0xd3000000
        .type function_behind,@function
        function_behind:
            s_branch data_1
            s_branch -3
            s_endpgm
        ",
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn code_before_the_first_symbol() {
    check_source(
        "s_nop 0\n s_branch 4\n .globl f\n .type f,@function\n f: s_nop 1\n s_branch -4\n s_endpgm\n",
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn no_symbol_and_no_code() {
    check_source("s_nop 0\n s_branch 0\n s_branch 1000\n s_endpgm\n");
    check_source(".data\n .globl variable\n variable: .long 1\n");
    check_source("");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn bytes_that_are_no_instruction() {
    for tail in ["", ".byte 1", ".byte 1, 2", ".byte 1, 2, 3"] {
        check_source(&format!(
            ".globl f\n .type f,@function\n f: .long 0xc4000000, 0xd3000000\n {tail}\n"
        ));
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn runs_of_zeros() {
    check_source(
        r"
        .globl f
        .type f,@function
        f:  .zero 8
            s_nop 0
            .zero 12
            s_nop 0
            .zero 11
            .byte 0xc4
            .zero 16
        g:  .zero 8
            s_endpgm
            .zero 100
        ",
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn data_in_code() {
    let mut source = ".globl f\n .type f,@function\n f: s_endpgm\n".to_owned();
    for size in 1..20 {
        writeln!(source, ".type data{size},@object\n data{size}:").unwrap();
        for byte in 0..size {
            writeln!(source, ".byte {}", (byte * 37 + 20) % 256).unwrap();
        }
    }
    source.push_str(".type zeros,@object\n zeros: .zero 32\n .p2align 2, 0xc4\n .type g,@function\n g: s_endpgm\n");
    check_named(&source);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn descriptors_in_code() {
    let descriptor = "
        .long 16, 32, 64, 0
        .quad 64
        .zero 20
        .long 1, 0x00af0000, 0x84
        .short 0x18, 0
        .long 0
    ";
    check_named(&format!(
        ".p2align 8\n .globl k.kd\n .type k.kd,@object\n k.kd: {descriptor}\n .type k,@function\n \
         k: s_endpgm\n s_nop 0\n .type odd.kd,@object\n odd.kd: {descriptor}\n .type g,@function\n \
         g: s_endpgm\n .type long.kd,@object\n .p2align 6\n long.kd: {descriptor}\n .zero 8\n"
    ));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn sections_of_every_kind() {
    check_source(
        r#"
        .globl f, g, h, variable
        .type f,@function
        .type g,@function
        .type h,@function
        f:  s_branch g
            s_branch f
            s_endpgm
        .section .text.second,"ax",@progbits
            s_nop 0
            s_branch 2
        g:  s_branch f
            s_branch 0x3fff
            s_endpgm
        .section empty,"ax",@progbits
        .section unloaded,"x",@progbits
        h:  s_branch h
            s_endpgm
        .section nothing,"ax",@nobits
            .zero 64
        .section "odd name","ax",@progbits
            s_branch 0x7000
            s_branch 0x9000
        .data
        variable: .quad 1
        .set absolute, 16
        "#,
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn names_without_a_place() {
    check_source(
        r"
        .globl absolute, undefined
        .set absolute, 16
        .set negative, -64
        .quad undefined
        s_branch 0x8000
        s_branch 0xff00
        s_branch 0x7fff
        ",
    );
}

/// Symbols and words in unusual places.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn whatever_the_assembler_takes() {
    for seed in 0..24 {
        check_source(&random_source(&mut Random::new(seed)));
    }
}

fn assemble_for(folder: &Path, processor: &str, source: &str) {
    fs::write(folder.join("case.s"), source).unwrap();
    let line = format!(
        "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu={processor} -filetype=obj case.s -o case.o"
    );
    sh(folder, &line);
}

/// Loops over halves of waves are branches: a label is their operand, a function's name stands behind them.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn targets_of_loops_over_halves_of_waves_are_named() {
    let folder = scratch_dir();
    for processor in ["gfx1010", "gfx1030", "gfx1100"] {
        let source = "
            .type f,@function
            f:
            s_subvector_loop_begin s0, behind
            v_mov_b32 v0, v1
            s_subvector_loop_end s0, -2
            behind:
            s_subvector_loop_end s1, f
            s_call_b64 s[2:3], f
            s_endpgm";
        assemble_for(folder.path(), processor, source);
        check(folder.path(), &["case.o"]);
        let listing = disasm(folder.path(), &["case.o"]);
        let listing = String::from_utf8_lossy(&listing.stdout);
        assert!(listing.contains("s_subvector_loop_begin s0, behind"), "{listing}");
        assert_eq!(listing.matches("<f+0x4>").count(), 1, "{listing}");
    }
}

/// Words that no compiler makes, with what LLVM remarks on them, whether it takes or refuses them. It dies of some: what
/// stands beside these is not compared.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn random_words_and_what_llvm_remarks_on_them() {
    const OBJECTS: u64 = 6;
    let folder = scratch_dir();
    let folder = folder.path();
    let mut remarks = 0;
    for processor in [
        "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030",
        "gfx1100", "gfx1150", "gfx1200", "gfx1250",
    ] {
        let mut compared = 0;
        for seed in 0..OBJECTS {
            let mut random = Random::new(seed);
            let mut source = String::from(".type f,@function\nf:\n");
            for _ in 0..500 {
                writeln!(source, ".long {:#x}", random_word(&mut random)).unwrap();
            }
            assemble_for(folder, processor, &source);
            let theirs = objdump(folder, &["case.o"]);
            if theirs.code.is_none() {
                continue;
            }
            compared += 1;
            check(folder, &["case.o"]);
            let listing = String::from_utf8_lossy(&theirs.stdout);
            let words = listing.lines().filter(|it| it.contains(".long"));
            remarks += words.filter(|it| it.contains("Warning")).count();
        }
        assert!(compared > OBJECTS / 2, "{processor}: LLVM died of all but {compared}");
    }
    assert!(remarks > 10, "{remarks} words that are refused with a remark");
}

/// LLVM has no three trap registers in a row: it takes, and speaks of, eight.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn remarks_name_the_tuples_that_llvm_has() {
    let folder = scratch_dir();
    let words = ".type f,@function\nf:\n.long 0xf782bdd3, 0x86e8d8f4, 0xf782bdd3, 0x866858f4\n";
    assemble_for(folder.path(), "gfx1200", words);
    check(folder.path(), &["case.o"]);
    let listing = String::from_utf8(disasm(folder.path(), &["case.o"]).stdout).unwrap();
    assert_eq!(listing.matches("TTMP_256").count(), 2, "{listing}");
}

/// Ranges of registers that s_set_vgpr_msb moves, up to v1023 and past it: what is not there is not named.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn registers_past_the_last_are_not_named() {
    let folder = scratch_dir();
    let mut source = String::from(".type f,@function\nf:\n");
    for msb in 0..256 {
        writeln!(source, "s_set_vgpr_msb {msb}").unwrap();
        source.push_str(
            "ds_load_b128 v[254:257], v255
            ds_load_b128 v[252:255], v219
            ds_store_b64 v255, v[254:255]
            ds_store_b128 v0, v[254:257]
            v_add_f64_e64 v[254:255], v[252:253], v[2:3]
            v_mov_b32_e32 v255, v254
            v_wmma_f32_16x16x32_bf16 v[254:261], v[246:253], v[248:255], v[250:257]\n",
        );
    }
    assemble_for(folder.path(), "gfx1250", &source);
    check(folder.path(), &["case.o"]);
    let listing = String::from_utf8(disasm(folder.path(), &["case.o"]).stdout).unwrap();
    assert!(listing.contains("/*v[1020:1023]*/") && !listing.contains("/*v[1022:1025]*/"));
}

/// Often one whose scalar operands may be misaligned. LLVM dies of literals in encodings of gfx8 and gfx9 that have none:
/// no operand of nine bits is one.
fn random_word(random: &mut Random) -> u32 {
    const TOPS: [u32; 14] =
        [0xbd, 0xbe, 0xbb, 0xb9, 0x80, 0x87, 0x90, 0xe0, 0xe8, 0xf0, 0xf4, 0xf7, 0xc4, 0xc6];
    loop {
        let mut word = random.bits() as u32;
        if random.below(3) == 0 {
            word = word & 0xff_ffff | random.pick(&TOPS) << 24;
        }
        if [0, 9, 18].iter().all(|at| word >> at & 0x1ff != 0xff) {
            return word;
        }
    }
}

fn random_source(random: &mut Random) -> String {
    let kinds = ["@function", "@object", "@notype", "@function"];
    let mut source = String::new();
    for section in 0..3 {
        writeln!(source, ".section .text.{section},\"ax\",@progbits").unwrap();
        for number in 0..random.below(60) {
            if random.below(3) == 0 {
                let name = format!("{}{section}_{number}", random.pick(&["a", "Z", "m."]));
                let kind = random.pick(&kinds);
                writeln!(source, ".type {name},{kind}\n{name}:").unwrap();
                if random.below(2) == 0 {
                    writeln!(source, ".globl {name}").unwrap();
                }
            }
            match random.below(6) {
                0 => writeln!(source, ".zero {}", 8 + 4 * random.below(4)).unwrap(),
                1 => writeln!(source, ".long 0xc4000000").unwrap(),
                2 => writeln!(source, "s_nop {}", random.below(8)).unwrap(),
                3 => writeln!(source, ".long 0xbf82{:04x}", random.below(0x10000)).unwrap(),
                _ => writeln!(source, ".long {:#x}", 0xbf84_0000 + random.below(30)).unwrap(),
            }
        }
    }
    source
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn fixtures() {
    check(&fixtures_dir(), &["odd-names.co"]);
    check(&fixtures_dir(), &["v2.co"]);
}

const FLAGS_SOURCE: &str = r#"
    .globl f, g, alias
    .type f,@function
    .type g,@function
    .type alias,@function
    f:  s_nop 0
    inner:
        s_nop 1
        s_branch inner
        s_endpgm
    g: alias:
        s_nop 2
        s_endpgm
    .type data,@object
    data: .quad 1, 2
    .section .text.more,"ax",@progbits
    .type h,@function
    h:  s_endpgm
"#;

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn flags() {
    let folder = scratch_dir();
    let folder = folder.path();
    assemble(folder, "case", FLAGS_SOURCE);
    sh(folder, "ld.lld-22 -shared -Ttext=0x1900 case.o -o case.co");
    for flag in [
        "--no-leading-addr",
        "--no-show-raw-insn",
        "--disassemble-symbols=f",
        "--disassemble-symbols=g",
        "--disassemble-symbols=g,alias,data",
        "--disassemble-symbols=inner,h",
        "--start-address=0x1908",
        "--start-address=6404",
        "--stop-address=0x1908",
        "--stop-address=0x1918",
        "--stop-address=0x191c",
        "--start-address=0x191c",
        "--mattr=-real-true16",
        "--mattr=+wavefrontsize64",
    ] {
        check_range(folder, &[flag, "case.co"]);
        check_range(folder, &[flag, "case.o"]);
    }
    check(folder, &["--start-address=0x1904", "--stop-address=0x1910", "case.co"]);
    check(folder, &["--start-address=0x1904", "--disassemble-symbols=f,h", "case.co"]);
    check_range(folder, &["--start-address=0x100000", "case.co"]);
    check_ending(folder, &["--disassemble-symbols=f,nowhere", "case.co"], 2);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn standard_input() {
    let piped = |command: &mut Command| {
        run(command.arg("-").stdin(fs::File::open(fixture("odd-names.co")).unwrap())).stdout
    };
    let theirs = piped(Command::new("llvm-objdump-22").arg("-d"));
    let ours = piped(hsaco_command().arg("disasm"));
    assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
}

/// A kernel is shown with the labels inside it, wherever it is.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn kernels_with_labels() {
    let folder = scratch_dir();
    let folder = folder.path();
    let kernel = |name: &str| {
        format!(
            ".section .text.{name},\"ax\",@progbits\n .globl {name}\n .p2align 8\n \
             .type {name},@function\n {name}: s_branch inside_{name}\n inside_{name}: s_endpgm\n \
             .size {name}, .-{name}\n .type after_{name},@function\n after_{name}: s_endpgm\n \
             .amdhsa_kernel {name}\n .amdhsa_next_free_vgpr 1\n .amdhsa_next_free_sgpr 1\n \
             .amdhsa_accum_offset 4\n .end_amdhsa_kernel\n"
        )
    };
    assemble(folder, "case", &[kernel("one"), kernel("two")].concat());
    sh(folder, "ld.lld-22 -shared case.o -o case.co");
    for file in ["case.o", "case.co"] {
        let ran = disasm(folder, &["-k", "two", file]);
        let names: Vec<_> = ran.text().lines().filter(|it| it.ends_with(">:")).collect();
        let names: Vec<_> =
            names.iter().filter_map(|it| it.split_once(' ')).map(|it| it.1).collect();
        assert_eq!(names, ["<two>:", "<inside_two>:"], "{file}");
    }
}

/// More functions than one thread takes at a time, and one that is longer than a buffer.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn long_listings_come_in_order() {
    let folder = scratch_dir();
    let folder = folder.path();
    let mut source = String::new();
    for number in 0..4000 {
        writeln!(
            source,
            ".protected f{number}\n.globl f{number}\n.type f{number},@function\nf{number}:"
        )
        .unwrap();
        writeln!(
            source,
            ".fill {}, 4, 0xbf800007\n s_branch f{}\n s_endpgm",
            number % 50,
            number - number.min(10)
        )
        .unwrap();
    }
    source.push_str(
        ".globl long\n .type long,@function\nlong: .fill 30000, 4, 0xbf800003\n s_branch 0xffff\n",
    );
    assemble(folder, "case", &source);
    sh(folder, "ld.lld-22 -shared case.o -o case.co");
    check(folder, &["case.co"]);
    check(folder, &["case.o"]);
    let json = disasm(folder, &["--format", "json", "case.co"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let functions = json.pointer("/files/0/objects/0/functions").unwrap().as_array().unwrap();
    assert_eq!(functions.len(), 4001);
    let last = functions.last().unwrap();
    assert_eq!(last["name"], "long");
    assert_eq!(last["instructions"].as_array().unwrap().len(), 30001);
    assert_eq!(
        last["instructions"][30000]["branch_target"],
        last["instructions"][30000]["address"]
    );
}

/// An object in a container is listed as it is when it stands alone.
#[test]
fn containers() {
    let folder = scratch_dir();
    let folder = folder.path();
    for container in ["plain.bundle", "zstd-v3.bundle", "host.so", "host.a"] {
        let path = fixture(container);
        let path = path.to_str().unwrap();
        let extracted =
            run(hsaco_command().args(["extract", path, "-o", container]).current_dir(folder));
        assert_eq!(extracted.code, Some(0), "{}", extracted.stderr);
        let mut objects: Vec<_> = fs::read_dir(folder.join(container))
            .unwrap()
            .map(|it| it.unwrap().path().to_str().unwrap().to_owned())
            .filter(|it| it.ends_with(".co"))
            .collect();
        objects.sort();
        let together = disasm(folder, &[path]);
        let mut apart = Vec::new();
        for object in objects {
            apart.extend(disasm(folder, &[&object]).stdout);
        }
        let code_only = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).into_owned();
            text.lines().filter(|it| !it.contains("file format")).collect::<Vec<_>>().join("\n")
        };
        assert!(!apart.is_empty());
        assert_eq!(code_only(&together.stdout), code_only(&apart), "{container}");
    }
}

/// Source places and lines between the instructions. The sources stand under another folder than the one they were
/// compiled in.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn source_lines_stand_between_instructions() {
    let folder = fixtures_dir();
    let sources = format!("--prefix={}", folder.display());
    for form in ["dwarf5", "dwarf4", "tables", "zlib", "zstd"] {
        let file = format!("lines.{form}.co");
        check(&folder, &["-l", &file]);
        check(&folder, &["-S", &file]);
        check(&folder, &["-l", "-S", &sources, &file]);
        check(&folder, &["-S", &sources, "--prefix-strip=1", &file]);
        let two = "--disassemble-symbols=_Z4slowf,_Z10kernel_twoPfN3vec4PairIfEE";
        check(&folder, &["-l", "-S", &sources, two, &file]);
    }
    check(&folder, &["-l", "-S", "s1.gfx942.co"]);
    check(&folder, &["-l", "mangled.co"]);
}

/// Not linked, with code in several sections that all begin at zero: LLVM takes the names of functions from data that has
/// the same offset, so only places are compared.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn source_lines_of_objects_that_are_not_linked() {
    let folder = fixture("");
    let [theirs, ours] =
        [objdump(&folder, &["-l", "lines.o"]), disasm(&folder, &["-l", "lines.o"])]
            .map(|it| placed(it.text()));
    assert!(ours.iter().filter(|it| it.0.contains(".hip:")).count() > 50);
    assert_eq!(ours, theirs);
}

/// Each instruction with the place that was shown last before it.
fn placed(listing: &str) -> Vec<(String, String)> {
    let mut place = String::new();
    let mut all = Vec::new();
    for line in listing.lines() {
        match line.strip_prefix("; ") {
            Some(text) if !text.ends_with("():") => text.clone_into(&mut place),
            None if line.contains("// ") => all.push((place.clone(), line.to_owned())),
            _ => {}
        }
    }
    all
}

/// One function is listed without reading about the others, unless that matters.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn each_function_alone() {
    let folder = fixture("");
    for file in ["lines.dwarf5.co", "flow.co", "odd-names.co", "external.co", "short.co"] {
        let bytes = fs::read(fixture(file)).unwrap();
        let object = hsaco::object::CodeObject::parse(&bytes).unwrap();
        let symbols = object.symbol_table().unwrap().unwrap();
        let names = symbols.iter().map(|it| it.unwrap().name.to_string());
        for name in names.filter(|it| !it.is_empty() && !it.contains([',', ' ', '.'])) {
            let ran = objdump(&folder, &[&format!("--disassemble-symbols={name}"), file]);
            if !ran.text().contains("Disassembly of section") {
                continue;
            }
            check(&folder, &["-l", &format!("--disassemble-symbols={name}"), file]);
        }
    }
}

/// Each unit of a program may have a function of its own that is called the same.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn functions_of_one_name() {
    let folder = scratch_dir();
    let folder = folder.path();
    for number in ["1", "2"] {
        let source = ".type same,@function\nsame: s_nop N\ns_endpgm\n.size same, .-same\n\
                      .globl fN\n.type fN,@function\nfN: s_nop N\ns_endpgm\n.size fN, .-fN\n";
        assemble(folder, number, &source.replace('N', number));
    }
    sh(folder, "ld.lld-22 -shared 1.o 2.o -o case.co");
    check(folder, &["--disassemble-symbols=same", "case.co"]);
    check(folder, &["--disassemble-symbols=f1", "case.co"]);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn source_lines_of_triton_kernels_stand_between_instructions() {
    let stamp = hsaco_tests::corpus_file("triton/fetched.txt");
    let folder = stamp.parent().unwrap();
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    files.retain(|it| it.ends_with(".co"));
    files.sort();
    for file in files.iter().step_by(5) {
        check(folder, &["-l", "-S", file]);
    }
}

const TWO_SECTIONS: &str = "
    .section .text.first,\"ax\",@progbits
    .globl first
    .p2align 8
    .type first,@function
first:
    v_mov_b32 v1, s0
    v_add_u32 v1, v1, v0
    s_endpgm
.Lfirst:
    .size first, .Lfirst-first
    .section .text.second,\"ax\",@progbits
    .globl second
    .p2align 8
    .type second,@function
second:
    v_mov_b32 v5, v4
    v_add_u32 v5, v5, v3
    v_add_u32 v5, v5, s9
    s_endpgm
.Lsecond:
    .size second, .Lsecond-second
";

/// The counts of all instructions.
fn live_counts(listing: &str) -> Vec<&str> {
    let lines = listing.lines().filter(|line| line.contains("// 0"));
    lines.filter_map(|line| Some(line.split_once('\t')?.0)).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn registers_live_in_sections_that_begin_at_zero() {
    let folder = scratch_dir();
    assemble(folder.path(), "two", TWO_SECTIONS);
    sh(folder.path(), "ld.lld-22 -shared two.o -o two.co");
    let [apart, linked] = ["two.o", "two.co"].map(|name| disasm(folder.path(), &["--live", name]));
    let counts = live_counts(apart.text());
    let expected = ["1 0 1", "2 0 0", "0 0 0", "2 0 1", "2 0 1", "1 0 1", "0 0 0"];
    let words = |counts: &str| counts.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(counts.iter().map(|it| words(it)).collect::<Vec<_>>(), expected);
    assert_eq!(counts, live_counts(linked.text()));
}
