//! Replacements where there is hardly room: far pools, dense sites, no free registers, no padding, sites of one word.
//!
//! An object comes out rewritten or refused with the reason, never wrong: what runs is what runs where there is room.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail them"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use hsaco::object::CodeObject;
use hsaco::patch::{CodeEdit, JumpKind, Options, Patcher, Placement, Points, RuleSet, Verdict};
use hsaco_tests::gfx1250::{NewKernel, TEXT, kernel};
use hsaco_tests::rewritten::{Rewritten, llvm_accepts};
use hsaco_tests::{fixtures_dir, scratch_dir};

/// A site and what is next to it: of four bytes, of eight, of sixteen; one that becomes many instructions.
const SITES: [&str; 4] = [
    "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]\nv_add_f32_e32 v16, v0, v1",
    "ds_load_2addr_b32 v[2:3], v4 offset0:1 offset1:3",
    "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7]",
    "v_cvt_pk_fp8_f32 v0, v1, v2 clamp",
];
/// 40,000 words: more than a branch reaches.
const FILLER: &str = ".rept 40000 v_mov_b32_e32 v50, v51";

/// Reads every scalar register and VCC.
fn all_registers_live() -> String {
    let mut lines = String::new();
    (0..106).for_each(|it| writeln!(lines, "s_add_co_u32 s0, s0, s{it}").unwrap());
    lines + "s_mov_b64 s[2:3], vcc"
}

fn vgprs(lines: &str) -> NewKernel {
    NewKernel { vgprs: 64, sgprs: 106, ..kernel("k", lines).unwrap() }
}

/// Kernels behind the first, with and without padding between them.
fn followers(has_padding: bool) -> Vec<NewKernel> {
    let lines = if has_padding { "s_nop 0" } else { ".rept 63 s_nop 0" };
    let small = |name: &str| kernel(name, lines).unwrap();
    // To the last word of a line.
    let filler = |name: &str| kernel(name, ".rept 20031 s_nop 1").unwrap();
    vec![small("a"), filler("b"), small("c"), filler("d"), small("e")]
}

/// What runs, without the filler behind it.
fn code(run: &Rewritten, kernel: &NewKernel) -> Vec<String> {
    let mut lines = run.text(TEXT, kernel.code.len() as u64);
    lines.retain(|line| line != "v_mov_b32_e32 v50, v51");
    lines
}

/// All at once: each site, near or far, one or dense, with registers or without, with padding or without.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_site_in_every_place_is_routed_or_refused_and_never_wrong() {
    let mut outcomes = Vec::new();
    for (number, site) in SITES.iter().enumerate() {
        for (count, is_crowded) in [(1, false), (1, true), (40, false), (40, true)] {
            let live = if is_crowded { all_registers_live() } else { String::new() };
            let sites = format!("{site}\n").repeat(count) + &live;
            let roomy = vgprs(&sites);
            let near = Rewritten::of(std::slice::from_ref(&roomy));
            let expected = match near.manifest.verdict {
                // Without a scalar register some have no way at all.
                Verdict::Refused => {
                    assert!(near.refusal().starts_with("no-register: "), "{}", near.refusal());
                    continue;
                }
                _ => code(&near, &roomy),
            };
            for (is_far, has_padding) in [(true, false), (true, true), (false, false)] {
                let lines = if is_far && !has_padding {
                    format!("{sites}\ns_endpgm\n{FILLER}")
                } else {
                    sites.clone()
                };
                let mut kernels = vec![vgprs(&lines)];
                if has_padding || !is_far {
                    // Filled up to the next line.
                    let missing =
                        kernels[0].code.len().next_multiple_of(256) - kernels[0].code.len();
                    let nops = [0x00, 0x00, 0x80, 0xbf].repeat(missing / 4);
                    kernels[0].code.extend(nops);
                    let others = followers(has_padding);
                    kernels.extend(others.into_iter().take(if is_far { 5 } else { 1 }));
                }
                let run = Rewritten::of(&kernels);
                let what = format!(
                    "site {number}, {count} times, crowded: {is_crowded}, far: {is_far}, padding: {has_padding}"
                );
                if run.manifest.verdict == Verdict::Refused {
                    assert!(run.refusal().starts_with("no-place: "), "{what}: {}", run.refusal());
                    outcomes.push("refused");
                    continue;
                }
                let mut found = code(&run, &kernels[0]);
                found.truncate(expected.len());
                assert_eq!(found, expected, "{what}");
                let has_pair = run.manifest.records.iter().any(|it| it.pair.is_some());
                assert!(!is_crowded || !has_pair, "{what}");
                llvm_accepts(&run.after);
                let jumps = run.manifest.records.iter().map(|it| it.jump.name());
                outcomes.push(jumps.max().unwrap_or_default());
            }
        }
    }
    outcomes.sort_unstable();
    outcomes.dedup();
    assert_eq!(outcomes, ["far", "near", "refused", "relay"]);
}

/// 1,200 sites, all of them far from the pool: each leads there and back, and in between runs what has to.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn twelve_hundred_dense_far_sites() {
    for (site, distance) in [(SITES[1], 1), (SITES[2], 2), (SITES[0], 1), (SITES[3], 0)] {
        let plain = "v_mov_b32_e32 v60, v61\n".repeat(distance);
        let sites = format!("{site}\n{plain}").repeat(1200) + "s_nop 1\ns_nop 1\ns_nop 1";
        let few = format!("{site}\n{plain}").repeat(3);
        let (near, far) = (vgprs(&few), vgprs(&format!("{sites}\ns_endpgm\n{FILLER}")));
        let near = code(&Rewritten::of(std::slice::from_ref(&near)), &near);
        let period = &near[..near.len() / 3];
        let run = Rewritten::of(std::slice::from_ref(&far));
        assert_eq!(run.manifest.verdict, Verdict::Changed, "{:?}", run.manifest.remarks.first());
        let found = code(&run, &far);
        assert_eq!(found.len(), 1200 * period.len() + 5, "{:?}", &found[..8]);
        assert!(found.chunks_exact(period.len()).take(1200).all(|it| it == period));
        assert!(run.manifest.records.iter().all(|it| it.jump == JumpKind::Far));
        assert!(run.manifest.records.iter().all(|it| it.placement == Placement::Pool));
        llvm_accepts(&run.after);
    }
}

/// Runs a tool; whether it succeeded, and what it said.
fn run(tool: &str, arguments: &[&str], files: &[&Path]) -> (bool, String) {
    let output = Command::new(tool).args(arguments).args(files).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), String::from_utf8(output.stdout).unwrap() + &error)
}

fn succeed(tool: &str, arguments: &[&str], files: &[&Path]) {
    let (is_fine, said) = run(tool, arguments, files);
    assert!(is_fine, "{tool} {arguments:?}: {said}");
}

/// What llvm-dwarfdump finds wrong with an object, by its own exit code and words; where tables stand does not count.
fn dwarf_verified(folder: &Path, file: &[u8]) -> (bool, String) {
    let path = folder.join("verified.co");
    std::fs::write(&path, file).unwrap();
    let (is_clean, said) = run("llvm-dwarfdump-22", &["--verify"], &[&path]);
    let without_offset = |line: &str| match (line.find("[0x"), line.find(']')) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &line[..start], &line[end..]),
        _ => line.to_owned(),
    };
    (is_clean, said.lines().map(without_offset).collect::<Vec<_>>().join("\n"))
}

/// A kernel with lines and frames, as LLVM's assembler makes them.
fn with_debug_information(folder: &Path, lines: &str, dwarf: &str) -> Vec<u8> {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx1250\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         .cfi_sections .debug_frame\n.cfi_startproc\n{lines}.cfi_endproc\n.size k, .-k\n\
         .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 64\n.amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n\
         .amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx1250\namdhsa.kernels:\n\
         \x20 - .name: k\n    .symbol: k.kd\n    .sgpr_count: 32\n    .vgpr_count: 64\n    .wavefront_size: 32\n\
         \x20   .max_flat_workgroup_size: 256\n    .kernarg_segment_size: 0\n    .kernarg_segment_align: 8\n\
         \x20   .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n...\n.end_amdgpu_metadata\n"
    );
    let (text, loose, linked) = (folder.join("k.s"), folder.join("k.o"), folder.join("k.co"));
    std::fs::write(&text, source).unwrap();
    let version = format!("-dwarf-version={dwarf}");
    let flags =
        ["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-g", "-filetype=obj", &version, "-o"];
    succeed("llvm-mc-22", &flags, &[&loose, &text]);
    succeed("ld.lld-22", &["-shared", "-o"], &[&linked, &loose]);
    std::fs::read(linked).unwrap()
}

/// Objects with debug information, each site near and far, alone and dense: as clean as before, lines and frames
/// included.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn debug_information_is_as_clean_as_before() {
    let folder = scratch_dir();
    let folder = folder.path();
    let filler = ".rept 40000\nv_mov_b32_e32 v50, v51\n.endr\n";
    let all = SITES.join("\n");
    let cases = SITES.iter().copied().chain([all.as_str()]);
    for (site, count, is_far) in cases
        .flat_map(|site| [(site, 1, false), (site, 40, false), (site, 1, true), (site, 1200, true)])
    {
        let what = format!("{count} of {site}, far: {is_far}");
        let sites = format!("{site}\ns_nop 1\ns_nop 2\n").repeat(count);
        let filler = if is_far { filler } else { "" };
        let dwarf = if count == 1 { "5" } else { "4" };
        let before = with_debug_information(folder, &format!("{sites}s_endpgm\n{filler}"), dwarf);
        let rewritten = Rewritten::with(&Options::default(), before);
        assert_eq!(rewritten.manifest.verdict, Verdict::Changed, "{what}");
        let verified = dwarf_verified(folder, &rewritten.before);
        assert!(verified.0, "{what}: {}", verified.1);
        assert_eq!(verified, dwarf_verified(folder, &rewritten.after), "{what}");
        llvm_accepts(&rewritten.after);
    }
}

/// What compilers make, with code inserted at every block: whatever llvm-dwarfdump says, it says of both.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn debug_information_of_compilers_is_as_clean_as_before() {
    let folder = scratch_dir();
    let folder = folder.path();
    let sources = fixtures_dir().join("src");
    let hip = [
        "-x",
        "hip",
        "--cuda-device-only",
        "--offload-arch=gfx1250",
        "-nogpulib",
        "-nogpuinc",
        "-nostdinc",
        "--no-gpu-bundle-output",
        "-cuid=1",
        "-Wno-everything",
    ];
    let c = ["-x", "c", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-nogpulib"];
    // Flags of the compiler, and of the linker where the compiler has not linked.
    let cases: [(&str, &[&str], Option<&str>); 12] = [
        ("lines.hip", &["-O0", "-gdwarf-5"], None),
        ("types.hip", &["-O0", "-gdwarf-5"], None),
        ("s1.c", &["-O0", "-gdwarf-5"], Some("-shared")),
        ("lines.hip", &["-O2", "-gdwarf-5"], None),
        ("lines.hip", &["-O2", "-gdwarf-4"], None),
        ("lines.hip", &["-O1", "-gdwarf-5"], None),
        ("lines.hip", &["-O2", "-gline-tables-only"], None),
        ("types.hip", &["-O2", "-gdwarf-5", "-fdebug-types-section"], None),
        ("types.hip", &["-O1", "-gdwarf-4"], None),
        ("s1.c", &["-O2", "-gdwarf-5"], Some("-shared")),
        ("s1.c", &["-O1", "-gdwarf-4"], Some("--compress-debug-sections=zstd")),
        ("s1.c", &["-O2", "-gdwarf-5"], Some("--compress-debug-sections=zlib")),
    ];
    let counters = || vec![CodeEdit::Count(Points::Blocks)];
    let none = RuleSet::by_name("none").unwrap();
    let patcher = Patcher::new(none, Options::default()).unwrap().with_edits(counters());
    for (source, flags, link) in cases {
        let what = format!("{source} {flags:?} {link:?}");
        let language = if link.is_some() { &c[..] } else { &hip[..] };
        let (mut made, linked) = (folder.join("made.o"), folder.join("made.co"));
        let flags: Vec<&str> = language.iter().chain(flags).copied().chain(["-c", "-o"]).collect();
        succeed("clang-22", &flags, &[&made, &sources.join(source)]);
        if let Some(flag) = link {
            succeed("ld.lld-22", &["-shared", flag, "-o"], &[&linked, &made]);
            made = linked;
        }
        let before = std::fs::read(&made).unwrap();
        let patched = patcher.patch(&before).unwrap();
        let after =
            patched.bytes.unwrap_or_else(|| panic!("{what}: {:?}", patched.manifest.remarks));
        assert_eq!(patcher.verify(&before, &after, &patched.manifest), [], "{what}");
        assert!(
            patched.manifest.records.iter().any(|it| it.placement == Placement::Pool),
            "{what}"
        );
        assert_eq!(dwarf_verified(folder, &before), dwarf_verified(folder, &after), "{what}");
        let addresses = code_addresses(&before);
        assert_eq!(
            symbolized(folder, &before, &addresses),
            symbolized(folder, &after, &addresses),
            "{what}"
        );
    }
}

/// The addresses of all words of all functions.
fn code_addresses(file: &[u8]) -> Vec<String> {
    let object = CodeObject::parse(file).unwrap();
    let index = object.index();
    let kernels = index.kernels().iter().filter_map(|it| Some((it.entry()?, it.code_size()?)));
    let functions = index.functions().iter().map(|it| (it.value, it.size));
    let words = kernels.chain(functions).flat_map(|(start, size)| (start..start + size).step_by(4));
    words.map(|address| format!("{address:#x}")).collect()
}

/// What llvm-symbolizer says of addresses.
fn symbolized(folder: &Path, file: &[u8], addresses: &[String]) -> String {
    let path = folder.join("symbolized.co");
    std::fs::write(&path, file).unwrap();
    let mut command = Command::new("llvm-symbolizer-22");
    let output = command.arg("--obj").arg(&path).args(addresses).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

/// Whatever is refused is refused whole: no part of an object is rewritten.
#[test]
fn one_site_without_a_place_stops_the_object() {
    let lines = format!("{}\n{}\ns_endpgm\n{FILLER}", SITES[2], all_registers_live());
    let run = Rewritten::of(&[vgprs(&lines), kernel("other", "s_clause 0x1").unwrap()]);
    assert!(run.refusal().starts_with("no-place: "), "{}", run.refusal());
    assert_eq!(run.before, run.after);
    let names: Vec<_> = run.manifest.kernels.iter().map(|it| it.verdict.name()).collect();
    assert_eq!(names, ["refused", "unchanged"]);
}
