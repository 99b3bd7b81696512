//! The engine of rewriting: placement, soundness, edits, debug information and what manifests say.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "helpers of tests fail them"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use hsaco::analysis::{Address, Cfg, Stream};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::model::VgprMsb;
use hsaco::isa::{Assembler, Processor};
use hsaco::object::CodeObject;
use hsaco::patch::{
    CodeEdit, JumpKind, KernelSetting, Options, Patched, Patcher, Placement, Points, RuleSet,
    Tools, set,
};
use hsaco_tests::gfx1250::{self, NewKernel, TEXT};
use hsaco_tests::program::{hsaco_fine, succeed};
use hsaco_tests::rewritten::{changed, changed_by, kernel, object, patch, patcher, refusal, text};
use hsaco_tests::{fixture, fixtures_dir, scratch_dir};
use serde_json::Value;

const MATRIX: &str = "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7]";
const DS: &str = "ds_load_2addr_b32 v[0:1], v2 offset0:1 offset1:3";
/// More than a branch reaches.
const FAR: &str = ".rept 40000 s_mov_b32 s4, s5";

/// A function that is no kernel, of these lines alone.
fn function(name: &str, lines: &str) -> NewKernel {
    let code = gfx1250::assemble(gfx1250::assembler().unwrap(), lines).unwrap();
    NewKernel { code, is_device: true, ..kernel(name, "") }
}

fn edited(file: &[u8], edit: CodeEdit) -> Patched {
    let set = RuleSet::by_name("none").unwrap();
    Patcher::new(set, Options::default()).unwrap().with_edits(vec![edit]).patch(file).unwrap()
}

fn tools() -> Tools {
    Tools::new(Processor::from_name("gfx1250").unwrap()).unwrap()
}

fn flow_of(lines: &str) -> Cfg {
    let tools = tools();
    let code = gfx1250::assemble(gfx1250::assembler().unwrap(), lines).unwrap();
    Cfg::new(tools.decoder(), &Stream::decode(tools.decoder(), TEXT, &code))
}

/// Capability 2.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_was_rewritten_reads_as_llvm_reads_it() {
    let file = std::fs::read(fixture("steppings.co")).unwrap();
    let (bytes, _) = changed(&file);
    let folder = scratch_dir();
    let path = folder.path().join("result.co");
    std::fs::write(&path, bytes).unwrap();
    // The file's name stands in both in the same way.
    let ours = hsaco_fine(["disasm".as_ref(), path.as_os_str()]);
    let path = path.to_str().unwrap();
    let theirs = succeed(folder.path(), "llvm-objdump-22", &["-d", path]);
    assert_eq!(ours.text().trim(), theirs.trim());
}

/// Capability 3.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_scale_source_that_is_not_read_may_be_anything() {
    let words = ".long 0xcc350000, 0x00026530, 0xcc330000, 0x04024110";
    let code = gfx1250::assemble(gfx1250::assembler().unwrap(), words).unwrap();
    let tools = tools();
    let inst = tools.decoder().decode(&code).unwrap();
    assert_eq!(inst.len(), code.len());
    let line = tools.decoder().text(&inst);
    assert!(line.starts_with("v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7]"), "{line}");
    let folder = scratch_dir();
    std::fs::write(folder.path().join("k.co"), object(&[kernel("k", words)])).unwrap();
    let listing = succeed(folder.path(), "llvm-objdump-22", &["-d", "k.co"]);
    assert!(listing.contains(".long"), "{listing}");
}

/// Capability 4.
#[test]
fn registers_are_shown_with_their_upper_bits() {
    let line = "v_wmma_f32_16x16x64_fp8_fp8 v[162:169], v[2:9], v[122:129], v[162:169]";
    let tools = tools();
    let mut text = Vec::new();
    tools.decoder().print_after(&tools.assemble(line).unwrap(), VgprMsb::new(1), &mut text);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("v[2:9] /*v[258:265]*/"), "{text}");
}

/// Capability 5.
#[test]
fn kernels_without_code_are_an_error() {
    let mut file = object(&[kernel("k", "s_clause 0x1")]);
    let (offset, row) = {
        let object = CodeObject::parse(&file).unwrap();
        let section = object.elf().section_named(".text").unwrap();
        (object.elf().header().section_headers, u64::from(section.index) * 64)
    };
    // Its flags: allocated, and no longer executable.
    file[(offset + row + 8) as usize] = 2;
    let error = patcher(&Options::default()).patch(&file).unwrap_err().to_string();
    assert_eq!(
        error,
        "not found: code: 1 kernels and 0 functions are named, and nothing is executable"
    );
}

/// A kernel whose vector registers are all needed behind its first instruction.
fn crowded(vgprs: u64, workgroup: Option<u64>) -> NewKernel {
    let mut lines = "ds_store_addtid_b32 v8 offset:64\n".to_owned();
    (0..vgprs).for_each(|it| writeln!(lines, "v_add_f32_e32 v0, v0, v{it}").unwrap());
    NewKernel { vgprs, workgroup, ..kernel("k", &lines) }
}

/// Capability 38.
#[test]
fn counts_grow_by_a_byte_of_metadata() {
    let (bytes, manifest) = changed(&object(&[crowded(255, Some(256))]));
    let setting = &manifest.kernels[0].settings[0];
    let said = (setting.name.as_str(), setting.old.as_str(), setting.new.as_str());
    assert_eq!(said, (".vgpr_count", "255", "256"));
    let object = CodeObject::parse(&bytes).unwrap();
    assert_eq!(object.metadata().kernels()[0].decode().unwrap().vgpr_count, Some(256));
    assert!(object.problems().is_empty());
    let file = gfx1250::object(&[NewKernel { sgprs: 127, ..kernel("k", "s_nop 0") }]).unwrap();
    let setting: KernelSetting = "k.sgpr_count=128".parse().unwrap();
    let bytes = set(&file, &[setting]).unwrap().bytes.unwrap();
    let object = CodeObject::parse(&bytes).unwrap();
    assert_eq!(object.metadata().kernels()[0].decode().unwrap().sgpr_count, Some(128));
}

/// Capability 39.
#[test]
fn more_registers_only_where_workgroups_still_run() {
    let (bytes, manifest) = changed(&object(&[crowded(16, Some(256))]));
    let setting = &manifest.kernels[0].settings[0];
    let said = (setting.name.as_str(), setting.old.as_str(), setting.new.as_str());
    assert_eq!(said, (".vgpr_count", "16", "17"));
    let parsed = CodeObject::parse(&bytes).unwrap();
    let index = parsed.index();
    let descriptor = index.kernels()[0].descriptor().unwrap();
    assert_eq!(descriptor.vgprs(hsaco::isa::target::Generation::Gfx125), 32);
    // A workgroup of 1024 is 8 waves on each of four SIMDs, which have 128 of their 1024 registers each: with one more the
    // size that the kernel states would no longer fit.
    let (_, manifest) = changed(&object(&[crowded(127, Some(1024))]));
    assert_eq!(manifest.kernels[0].settings[0].new, "128");
    let full = patch(&object(&[crowded(128, Some(1024))]));
    let said = "no-register: none free of 1 vector registers below v128";
    assert!(refusal(&full).starts_with(said), "{}", refusal(&full));
    let (_, manifest) = changed(&object(&[crowded(128, Some(512))]));
    assert_eq!(manifest.kernels[0].settings[0].new, "129");
    // Who does not say how large workgroups are may have no more than he has.
    let silent = patch(&object(&[crowded(16, None)]));
    assert!(refusal(&silent).starts_with("no-register: "), "{}", refusal(&silent));
}

/// Capability 46.
#[test]
fn addresses_that_code_makes_are_known() {
    let tensile = "s_get_pc_i64 s[4:5]
        s_add_co_i32 s6, 0x18, 4
        s_add_co_u32 s4, s4, s6
        s_add_co_ci_u32 s5, s5, 0
        s_set_pc_i64 s[4:5]
        s_nop 0
        s_nop 1
        s_endpgm";
    let flow = flow_of(tensile);
    assert_eq!(flow.jumps()[0].target, Address::Known(TEXT + 4 + 0x18 + 4));
    let saved = "v_writelane_b32 v40, s30, 0
        v_writelane_b32 v40, s31, 1
        s_mov_b64 s[30:31], 0
        v_readlane_b32 s30, v40, 0
        v_readlane_b32 s31, v40, 1
        s_set_pc_i64 s[30:31]";
    assert_eq!(flow_of(saved).jumps()[0].target, Address::Return);
}

/// Capability 46.
#[test]
fn what_others_enter_in_the_middle_is_not_moved() {
    let far = kernel("far", &format!("{MATRIX}\nv_mov_b32_e32 v50, v51\ns_nop 1\n{FAR}"));
    let quiet = kernel("other", "s_nop 0");
    let (_, manifest) = changed(&object(&[quiet, far.clone()]));
    assert_eq!((manifest.records[0].site.old.len(), manifest.records[0].relays.len()), (16, 0));
    // A branch from the kernel before leads behind the instruction that goes: what follows stays.
    let words = (256 + 8 - 4) / 4;
    let entering = kernel("other", &format!("s_branch {words}"));
    let (bytes, manifest) = changed(&object(&[entering, far.clone()]));
    let record = &manifest.records[0];
    assert_eq!((record.site.address, record.site.old.len()), (TEXT + 256, 8));
    assert_eq!((record.jump, record.relays.len()), (JumpKind::Far, 1));
    // Who would have moved it is found out: the manifest of the one does not hold for the other.
    let (moved, other) = changed(&object(&[kernel("other", "s_nop 0"), far]));
    assert_ne!(moved, bytes);
    assert_ne!(patcher(&Options::default()).verify(&moved, &bytes, &other), []);
}

#[test]
fn padding_that_a_branch_leads_to_is_left_alone() {
    let own = kernel("first", &format!("{DS}\ns_cbranch_vccz 2"));
    let plain = kernel("first", &format!("{DS}\ns_cbranch_vccz 0"));
    let second = kernel("second", "s_nop 0");
    let placement = |kernels: &[NewKernel]| changed(&object(kernels)).1.records[0].placement;
    assert_eq!(placement(&[plain.clone(), second.clone()]), Placement::Padding);
    assert_eq!(placement(&[own, second]), Placement::Pool);
    // From another function, too: to the second word behind the first.
    let end = plain.code.len() as i64;
    let words = (end + 4 - 256 - 4) / 4;
    let other = kernel("second", &format!("s_branch {words}"));
    assert_eq!(placement(&[plain, other]), Placement::Pool);
}

/// Capability 47.
#[test]
fn what_is_left_is_found() {
    let file = object(&[kernel("k", "s_clause 0x1\ns_nop 3\ns_clause 0x2")]);
    let (mut bytes, mut manifest) = changed(&file);
    let record = manifest.records.pop().unwrap();
    let object = CodeObject::parse(&bytes).unwrap();
    let at = object.elf().file_offset(record.site.address).unwrap() as usize;
    bytes[at..at + 4].copy_from_slice(&record.site.old);
    let found = patcher(&Options::default()).verify(&file, &bytes, &manifest);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["residual: s_clause 0x2 is left of rule clause (at address 0x2008)"]);
}

#[test]
fn a_wait_that_waits_for_less_is_found() {
    let patcher = patcher(&Options { precise_waits: true, ..Options::default() });
    let lines =
        format!("ds_load_b32 v9, v8\n{DS}\ns_wait_dscnt 1\nv_mov_b32_e32 v10, v9\ns_wait_dscnt 0");
    let file = object(&[kernel("k", &lines)]);
    let (bytes, manifest) = changed_by(&patcher, &file);
    let wait = |number: &str| {
        gfx1250::assemble(gfx1250::assembler().unwrap(), &format!("s_wait_dscnt {number}")).unwrap()
    };
    let which = manifest.records.iter().position(|it| it.site.new == wait("2")).unwrap();
    for (number, holds) in [("2", true), ("1", true), ("3", false)] {
        let (mut bytes, mut manifest) = (bytes.clone(), manifest.clone());
        let record = &mut manifest.records[which];
        let at = CodeObject::parse(&bytes).unwrap().elf().file_offset(record.site.address).unwrap();
        record.site.new = wait(number).into();
        bytes[at as usize..at as usize + 4].copy_from_slice(&record.site.new);
        let found = patcher.verify(&file, &bytes, &manifest);
        assert_eq!(found.is_empty(), holds, "{number}: {found:?}");
        assert!(found.iter().all(|it| it.check == "waits"), "{found:?}");
    }
}

/// Every scalar register and VCC are read behind what comes before.
fn all_scalars_live() -> String {
    let mut lines = String::new();
    (0..106).step_by(2).for_each(|it| {
        writeln!(lines, "s_or_b64 s[0:1], s[0:1], s[{it}:{}]", it + 1).unwrap();
    });
    lines + "s_or_b64 s[0:1], s[0:1], vcc"
}

#[test]
fn without_registers_branch_follows_branch() {
    let live = all_scalars_live();
    let hazard =
        "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]\nv_add_f32_e32 v16, v0, v1";
    for (site, size) in [(MATRIX, 8), (hazard, 4)] {
        let mut first = NewKernel { sgprs: 106, ..kernel("first", &format!("{site}\n{live}")) };
        // What does not end has no padding behind it.
        first.code.extend([0x00, 0x00, 0x80, 0xbf]);
        let mut kernels = vec![first];
        for number in 0..3 {
            kernels.push(kernel(&format!("filler{number}"), ".rept 25000 s_nop 1"));
        }
        kernels.push(kernel("last", "s_nop 0"));
        let (bytes, manifest) = changed(&object(&kernels));
        let record = &manifest.records[0];
        assert_eq!(
            (record.site.old.len(), record.jump, record.pair),
            (size, JumpKind::Relay, None)
        );
        // Two on the way there and two on the way back, each within a branch's reach of the next.
        assert_eq!(record.relays.len(), 4);
        let body = record.body.as_ref().unwrap();
        let text = text(&body.new);
        assert!(!text.iter().any(|line| line.contains("_pc_")), "{text:?}");
        let tools = tools();
        let object = CodeObject::parse(&bytes).unwrap();
        let follow = |mut at: u64| {
            for _ in 0..3 {
                let word = object.elf().at_address(at, 4).unwrap();
                at = tools.decoder().decode(word).unwrap().branch_target(at).unwrap();
            }
            at
        };
        assert_eq!(follow(record.site.address), body.address);
        let back = body.address + (body.new.len() - record.way_back) as u64;
        assert_eq!(follow(back), record.site.address + size as u64);
        // Without padding on the way it is refused, and says why.
        let lines = format!("{site}\n{live}\n.rept 40000 s_mov_b32 s4, s5");
        let alone = patch(&self::object(&[NewKernel { sgprs: 106, ..kernel("k", &lines) }]));
        let why = refusal(&alone);
        assert!(why.starts_with("no-place: the pool at 0x"), "{why}");
        assert!(
            why.contains("a far jump needs registers that are free there: none free of"),
            "{why}"
        );
    }
}

/// A site of one word that branches and their targets enclose, in code without padding that is longer than a branch
/// reaches: others move to make room for a far jump.
#[test]
fn a_site_whose_neighbours_may_not_move_is_reached_by_an_island() {
    let lines = format!("s_cbranch_scc0 1\ns_nop 5\ns_cbranch_scc1 0\n{FAR}");
    let file = object(&[kernel("k", &lines)]);
    let insert = CodeEdit::Insert(TEXT + 4, vec!["s_nop 6".to_owned()]);
    let Patched { bytes, manifest } = edited(&file, insert);
    assert!(bytes.is_some(), "{}", refusal(&edited(&file, CodeEdit::Count(Points::Entries))));
    let [site, host] = manifest.records.as_slice() else { panic!("{:?}", manifest.records) };
    assert_eq!((site.site.address, site.jump.name()), (TEXT + 4, "far"));
    let [island] = site.relays.as_slice() else { panic!("{:?}", site.relays) };
    let inside = host.site.address..host.site.address + host.site.new.len() as u64;
    assert!(inside.contains(&island.address), "{:#x} of {inside:x?}", island.address);
    let offset = (island.address - host.site.address) as usize;
    assert_eq!(host.site.new[offset..offset + island.new.len()], island.new[..]);
    assert_eq!(text(host.code()), text(&host.site.old));
    assert_eq!(text(site.code()), ["s_nop 6", "s_nop 5"]);
}

/// Where a word does not decode, that is the reason, and not a guess.
#[test]
fn words_that_do_not_decode_are_named_as_the_reason() {
    let mut hidden = kernel("k", "s_set_vgpr_msb 0x41\ns_nop 0\nv_add_f32_e32 v0, v1, v2");
    hidden.code[4..8].copy_from_slice(&0xffff_ffff_u32.to_le_bytes());
    let refused = edited(&object(&[hidden]), CodeEdit::Count(Points::Address(TEXT + 8)));
    let why = refusal(&refused);
    assert!(why.contains(&format!("the word at {:#x} does not decode", TEXT + 4)), "{why}");
    assert!(!why.contains("paths lead here"), "{why}");
}

#[test]
fn a_kernel_without_metadata_cannot_say_that_it_needs_more() {
    let silent = NewKernel {
        is_listed: false,
        ..kernel("k", &format!("{MATRIX}\ns_nop 1\ns_nop 2\n{FAR}"))
    };
    let refused = patch(&object(&[silent]));
    assert!(
        refusal(&refused).starts_with("metadata: kernel k has no metadata"),
        "{}",
        refusal(&refused)
    );
}

#[test]
fn functions_are_called_with_what_is_needed_saved() {
    let probe = function(
        "probe",
        "v_mov_b32_e32 v1, 1\ns_mov_b32 s3, 1\ns_cmp_eq_u32 s3, 0\ns_set_pc_i64 s[30:31]",
    );
    let lines = "s_cmp_eq_u32 s2, 0
        v_add_f32_e32 v0, v1, v2
        s_cselect_b32 s4, s3, s5
        s_mov_b32 s6, s4";
    let file = object(&[kernel("k", lines), probe.clone()]);
    let call = |name: &str| CodeEdit::Call(Points::Address(TEXT + 4), name.into());
    let Patched { bytes, manifest } = edited(&file, call("probe"));
    assert!(bytes.is_some(), "{:?}", manifest.remarks);
    let record = &manifest.records[0];
    assert_eq!(record.rules[0].0, "call");
    let text = text(record.code());
    let expected =
        ["s_wait_idle", "s_cselect_b32 s1, 1, 0", "v_mov_b32_e32 v0, v1", "s_mov_b32 s0, s3"];
    assert_eq!(text.len(), 4 + 3 + 1 + 3 + 1, "{text:#?}");
    assert_eq!(text[0], expected[0]);
    assert!(text[1].starts_with("s_cselect_b32"), "{text:#?}");
    assert!(text[4].starts_with("s_get_pc_i64"), "{text:#?}");
    assert!(text[6].starts_with("s_swap_pc_i64 s[30:31], "), "{text:#?}");
    assert_eq!(text[7], "s_wait_idle");
    assert!(text[10].starts_with("s_cmp_lg_u32"), "{text:#?}");
    assert_eq!(text[11], "v_add_f32_e32 v0, v1, v2");
    // It leads to the function.
    let tools = tools();
    let body = record.body.as_ref().unwrap();
    let stream = Stream::decode(tools.decoder(), body.address, &body.new);
    let cfg = Cfg::new(tools.decoder(), &stream);
    let values = hsaco::analysis::Values::new(tools.decoder(), &stream, &cfg);
    assert_eq!(values.target(6), Address::Known(TEXT + 256));
    // The kernel has the registers that the function has.
    let settings: Vec<&str> =
        manifest.kernels[0].settings.iter().map(|it| it.new.as_str()).collect();
    assert_eq!(settings, ["34"]);
    let refused = |function: NewKernel| {
        refusal(&edited(&object(&[kernel("k", lines), function]), call("probe")))
    };
    assert!(refusal(&edited(&file, call("nobody"))).contains("the object has no such function"));
    let lds = self::function("probe", "ds_load_b32 v1, v2\ns_set_pc_i64 s[30:31]");
    assert!(refused(lds).contains("it uses LDS"));
    let more = self::function("probe", "s_mov_b32 s3, s4\ns_set_pc_i64 s[30:31]");
    assert!(refused(more).contains("it takes s4, which it is not given"));
    let ends = self::function("probe", "s_endpgm");
    assert!(refused(ends).contains("it does more than run to its return"));
}

/// The fixture of steppings with lines of its own source, by LLVM's assembler.
fn with_lines(folder: &Path) -> PathBuf {
    std::fs::copy(fixtures_dir().join("src/steppings.s"), folder.join("steppings.s")).unwrap();
    let assemble = ["--triple=amdgcn-amd-amdhsa", "-mcpu=gfx1250", "-g", "-filetype=obj"];
    let assemble: Vec<&str> =
        assemble.into_iter().chain(["steppings.s", "-o", "steppings.o"]).collect();
    succeed(folder, "llvm-mc-22", &assemble);
    succeed(folder, "ld.lld-22", &["-shared", "steppings.o", "-o", "lines.co"]);
    folder.join("lines.co")
}

/// Whether LLVM finds nothing wrong with the debug information of a file.
fn verifies(path: &Path) -> bool {
    let mut command = Command::new("llvm-dwarfdump-22");
    command.arg("--verify").arg(path).output().unwrap().status.success()
}

fn symbolized(folder: &Path, file: &str, address: u64) -> Vec<String> {
    let text =
        succeed(folder, "llvm-symbolizer-22", &[format!("--obj={file}"), format!("{address:#x}")]);
    text.lines().map(str::to_owned).collect()
}

/// Capability 42.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn replacements_have_the_lines_of_what_they_replace() {
    let folder = scratch_dir();
    let folder = folder.path();
    let path = with_lines(folder);
    let file = std::fs::read(&path).unwrap();
    let (bytes, manifest) = changed(&file);
    let result = folder.join("result.co");
    std::fs::write(&result, &bytes).unwrap();
    assert!(verifies(&path) && verifies(&result));
    let places: Vec<Placement> = manifest.records.iter().map(|it| it.placement).collect();
    assert!(
        places.contains(&Placement::Padding) && places.contains(&Placement::Pool),
        "{places:?}"
    );
    for record in &manifest.records {
        let Some(body) = &record.body else { continue };
        let before = symbolized(folder, "lines.co", record.site.address);
        for at in [body.address, body.address + body.new.len() as u64 - 4] {
            let after = symbolized(folder, "result.co", at);
            assert_eq!(before[1], after[1], "{before:?} {after:?}");
            assert!(after[1].contains("steppings.s:"), "{after:?}");
        }
    }
    // Edits are given by line, too.
    let line = 1 + std::fs::read_to_string(folder.join("steppings.s"))
        .unwrap()
        .lines()
        .position(|line| line == "s_sleep 1")
        .unwrap();
    let insert = format!("steppings.s:{line}=s_nop 7");
    let said = hsaco_fine(["patch", "--dry-run", "--insert", &insert, path.to_str().unwrap()]);
    let sleep = manifest.records.iter().map(|it| it.site.address).max().unwrap();
    assert!(said.text().contains(": edit ("), "{}", said.text());
    assert!(said.text().contains("changed: 1 places"), "{} {sleep:#x}", said.text());
}

/// Capability 43.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn replacements_have_frames() {
    let folder = scratch_dir();
    let folder = folder.path();
    std::fs::copy(fixtures_dir().join("src/s1.c"), folder.join("s1.c")).unwrap();
    let compile = ["-x", "c", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-O2", "-g", "-c"];
    let compile: Vec<&str> =
        compile.into_iter().chain(["-mcpu=gfx1250", "s1.c", "-o", "s1.o"]).collect();
    succeed(folder, "clang-22", &compile);
    succeed(folder, "ld.lld-22", &["-shared", "s1.o", "-o", "s1.co"]);
    let file = std::fs::read(folder.join("s1.co")).unwrap();
    let entry = CodeObject::parse(&file).unwrap().index().kernels()[0].entry().unwrap();
    let insert = CodeEdit::Insert(entry, vec!["s_nop 7".to_owned(); 80]);
    let Patched { bytes, manifest } = edited(&file, insert);
    std::fs::write(folder.join("result.co"), bytes.unwrap()).unwrap();
    let body = manifest.records[0].body.as_ref().unwrap();
    assert_eq!(manifest.records[0].placement, Placement::Pool);
    let frames =
        succeed(folder, "llvm-dwarfdump-22", &["--debug-frame", "--eh-frame", "result.co"]);
    let range = format!("pc={:08x}...{:08x}", body.address, body.address + body.new.len() as u64);
    assert!(frames.contains(&range), "{range}: {frames}");
    assert_eq!(verifies(&folder.join("s1.co")), verifies(&folder.join("result.co")));
}

/// Whether a value has the shape of another: the same keys, and values of the same kinds; what may be null says so.
fn has_shape(value: &Value, shape: &Value, at: &str) {
    match (value, shape) {
        (Value::Object(value), Value::Object(shape)) => {
            let keys = |map: &serde_json::Map<String, Value>| -> Vec<String> {
                let mut keys: Vec<String> = map.keys().cloned().collect();
                keys.sort();
                keys
            };
            assert_eq!(keys(value), keys(shape), "{at}");
            for (key, value) in value {
                has_shape(value, &shape[key], &format!("{at}.{key}"));
            }
        }
        (Value::Array(values), Value::Array(shape)) => {
            values.iter().for_each(|value| has_shape(value, &shape[0], &format!("{at}[]")));
        }
        (Value::Null, Value::Array(shape)) if shape.len() == 2 => {}
        (value, Value::Array(shape)) if shape.len() == 2 => has_shape(value, &shape[0], at),
        (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)) => {}
        _ => panic!("{at}: {value} is not as {shape}"),
    }
}

/// Capability 51.
#[test]
fn the_manifest_has_a_schema() {
    // A list of one is a list of such; a list of two is the first of them, or null.
    let change = r#"{"address": 0, "old": "", "new": ""}"#;
    let remark =
        r#"[{"rule": "", "function": "", "address": 0, "kind": ["", null], "detail": ""}]"#;
    let shape = format!(
        r#"{{"schema_version": 1, "rule_set": ["", null], "options": [""], "result": "", "reason": ["", null],
        "size_before": 0, "size_after": 0, "sha256_before": "", "sha256_after": "",
        "pool": [{{"address": 0, "offset": 0, "size": 0, "guard": 0}}, null],
        "sites": [{{"function": "", "rules": [{{"rule": "", "address": 0}}], "address": 0, "old": "", "new": "",
            "placement": "", "jump": "", "body": [{change}, null], "way_back": 0, "relays": [{change}],
            "leases": [""], "jump_registers": ["", null]}}],
        "stubs": [{{"kernel": "", "rule": "", "address": 0, "code": "", "way_on": 0, "entry": 0, "jump_registers": ""}}],
        "counters": [{{"site": 0, "address": 0}}], "counter_space": 0,
        "kernels": [{{"name": "", "result": "", "reason": ["", null],
            "settings": [{{"name": "", "old": "", "new": ""}}]}}],
        "refusals": {remark}, "kept": {remark}}}"#
    );
    let shape: Value = serde_json::from_str(&shape).unwrap();
    let file = fixture("steppings.co");
    let file = file.to_str().unwrap();
    for options in [&["--option", "entry-stub"][..], &["--count", "entries"], &[]] {
        let words = ["patch", "--dry-run", "--format", "json", file].into_iter();
        let said = hsaco_fine(words.chain(options.iter().copied()));
        let value: Value = serde_json::from_str(said.text()).unwrap();
        has_shape(&value, &shape, "manifest");
        assert_eq!((&value["schema_version"], &value["result"]), (&1.into(), &"changed".into()));
    }
}

/// LLVM 22 does not name halves of registers in code for gfx1250, but the hardware has them: v5.h is part of v5, and no v133.
#[test]
fn halves_of_registers_are_needed_as_the_registers_that_they_are_of() {
    let options = DecodeOptions { real_true16: Some(true), ..DecodeOptions::default() };
    let assembler = Assembler::new(Processor::from_name("gfx1250").unwrap(), options).unwrap();
    let lines = "v_mov_b32_e32 v5, 0x12340000
        s_nop 0
        v_add_f16_e32 v1.l, v5.h, v2.l
        global_store_b128 v[6:7], v[0:3], off
        global_store_b32 v[6:7], v4, off
        s_endpgm";
    let code = gfx1250::assemble(&assembler, lines).unwrap();
    let file = object(&[NewKernel { code, vgprs: 8, ..kernel("k", "s_nop 0") }]);
    let Patched { bytes, manifest } = edited(&file, CodeEdit::Count(Points::Address(TEXT + 8)));
    assert!(bytes.is_some(), "{:?}", manifest.remarks);
    let leases: Vec<String> = manifest
        .records
        .iter()
        .flat_map(|it| &it.scratch_registers)
        .map(ToString::to_string)
        .collect();
    assert!(leases.iter().any(|it| it.starts_with('v')), "{leases:?}");
    assert!(!leases.contains(&"v5".to_owned()), "{leases:?}");
}
