//! Rewriting: what an object becomes, whether the validator can fail, and what LLVM's tools make of the result.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "helpers of tests fail them"
)]

use std::fmt::Write as _;

use hsaco::bytes::number;
use hsaco::object::CodeObject;
use hsaco::patch::{
    CodeEdit, Digest, JumpKind, Manifest, Options, Patched, Patcher, Placement, Points, RuleSet,
    Verdict,
};
use hsaco_tests::gfx1250::{self, NewKernel as Kernel};
use hsaco_tests::program::{Ran, hsaco, hsaco_fine};
use hsaco_tests::rewritten::{
    self, changed, kernel, llvm_accepts, object, patch, patcher, refusal,
};

const MATRIX: &str = "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7]";
const INTEGER: &str = "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]";

/// The code at an address, as text.
fn text(file: &[u8], address: u64, size: u64) -> Vec<String> {
    let object = CodeObject::parse(file).unwrap();
    rewritten::text(object.elf().at_address(address, size).unwrap())
}

/// Capability 1.
#[test]
fn without_anything_to_do_the_file_is_itself() {
    let patched = patch(&object(&[kernel("plain", "s_nop 0\nv_mov_b32_e32 v0, v1")]));
    assert!(patched.bytes.is_none());
    let nothing = Verdict::Unchanged("no rule has anything to rewrite".to_owned());
    assert_eq!(patched.manifest.verdict, nothing);
}

/// Capability 5.
#[test]
fn every_broken_input_has_its_own_error() {
    let file = object(&[kernel("k", "s_clause 0x1")]);
    let error = |bytes: &[u8]| patcher(&Options::default()).patch(bytes).unwrap_err().to_string();
    assert_eq!(error(&file[..40]), "truncated: ELF header: 40 bytes of 64 (at offset 0x0)");
    let mut other = file.clone();
    other[18] = 62;
    assert!(error(&other).starts_with("not recognised: code object: machine 62"));
    let mut narrow = file.clone();
    narrow[4] = 1;
    assert!(error(&narrow).contains("(at offset 0x4)"), "{}", error(&narrow));
    let mut loose = file;
    loose[16] = 1;
    assert_eq!(error(&loose), "unsupported: patch: an object that is not linked");
}

/// Capability 6.
#[test]
fn an_object_without_code_stays() {
    let patched = patch(&object(&[]));
    let verdict = Verdict::Unchanged("it holds no code".to_owned());
    assert_eq!((patched.bytes, patched.manifest.verdict), (None, verdict));
}

/// Capability 7.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_is_for_a0_already_stays() {
    let with = |revision| Kernel { revision, ..kernel("k", "s_clause 0x1") };
    let other = |revision| Kernel { revision, ..kernel("other", "s_nop 0") };
    let done = patch(&object(&[other(Some("A0"))]));
    let verdict = Verdict::Unchanged("all kernels say that they are for A0".to_owned());
    assert_eq!((done.bytes.is_none(), done.manifest.verdict), (true, verdict));
    let mixed = patch(&object(&[with(Some("A0")), other(Some("B0"))]));
    assert_eq!(
        refusal(&mixed),
        "metadata: 1 of 2 kernels say that they are for A0, and the rules take B0"
    );
    let odd = patch(&object(&[with(Some("C7")), other(None)]));
    assert_eq!(refusal(&odd), "metadata: .gfx1250_revision of k is C7, neither A0 nor B0");
    // Who says nothing is taken at the caller's word.
    let (bytes, _) = changed(&object(&[with(None), other(None)]));
    assert_eq!(text(&bytes, 0x2000, 8), ["s_nop 0", "s_endpgm"]);
    let (bytes, manifest) = changed(&object(&[with(Some("B0")), other(Some("B0"))]));
    let settings: Vec<_> = manifest.kernels.iter().map(|it| &it.settings[0].new).collect();
    assert_eq!(settings, ["A0", "A0"]);
    llvm_accepts(&bytes);
}

/// Capability 8.
#[test]
fn results_are_told_apart() {
    let first = kernel("first", "s_clause 0x1");
    let file = object(&[first.clone(), kernel("second", "s_nop 0")]);
    let (_, manifest) = changed(&file);
    let names = |manifest: &Manifest| -> Vec<(String, &'static str)> {
        manifest.kernels.iter().map(|it| (it.name.clone(), it.verdict.name())).collect()
    };
    let expected = [("first".to_owned(), "changed"), ("second".to_owned(), "unchanged")];
    assert_eq!(names(&manifest), expected);
    let needs = "s_barrier_signal_isfirst -3\ns_cbranch_scc1 0";
    let refused = patch(&object(&[first, kernel("second", needs)]));
    let expected = [("first".to_owned(), "unchanged"), ("second".to_owned(), "refused")];
    assert_eq!(names(&refused.manifest), expected);
    assert!(refusal(&refused).starts_with("still-needed: SCC"));
}

/// Capability 32.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_trampoline_near_by_branches() {
    let file = object(&[kernel("k", &format!("{MATRIX}\ns_nop 1"))]);
    let (bytes, manifest) = changed(&file);
    let record = &manifest.records[0];
    assert_eq!((record.placement, record.jump), (Placement::Pool, JumpKind::Near));
    let body = record.body.as_ref().unwrap();
    let branch =
        |from: u64, to: u64| format!("s_branch {}", (to.wrapping_sub(from + 4) / 4) as u16);
    let there = branch(0x2000, body.address);
    assert_eq!(text(&bytes, 0x2000, 12), [there.as_str(), "s_nop 0", "s_nop 1"]);
    let scaled = MATRIX.replace("v_wmma_f32", "v_wmma_scale_f32") + ", 0, 0";
    let back = branch(body.address + 16, 0x2008);
    assert_eq!(text(&bytes, body.address, 20), [scaled, back]);
    llvm_accepts(&bytes);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn padding_behind_the_function_comes_first_and_that_of_others_never() {
    let sites = format!("{MATRIX}\ns_nop 1");
    let (bytes, manifest) = changed(&object(&[kernel("a", &sites), kernel("b", &sites)]));
    let places: Vec<_> = manifest.records.iter().map(|it| it.placement).collect();
    // Behind the last function fetching runs ahead, so its padding stays.
    assert_eq!(places, [Placement::Padding, Placement::Pool]);
    assert_eq!(manifest.records[0].body.as_ref().unwrap().address, 0x2010);
    llvm_accepts(&bytes);
}

/// Capability 33.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_trampoline_far_by_registers() {
    let lines = format!("{MATRIX}\ns_nop 1\ns_nop 2\n.rept 40000 s_mov_b32 s4, s5");
    let (bytes, manifest) = changed(&object(&[Kernel { sgprs: 8, ..kernel("k", &lines) }]));
    let record = &manifest.records[0];
    assert_eq!(
        (record.jump, record.pair.map(|it| it.to_string()).as_deref()),
        (JumpKind::Far, Some("s[0:1]"))
    );
    let body = record.body.as_ref().unwrap();
    let forward = text(&bytes, 0x2000, 16);
    assert_eq!(forward[0], "s_get_pc_i64 s[0:1]");
    assert_eq!(forward[1], format!("s_add_nc_u64 s[0:1], s[0:1], {:#x}", body.address - 0x2004));
    assert_eq!(forward[2], "s_set_pc_i64 s[0:1]");
    let code = text(&bytes, body.address, body.new.len() as u64);
    assert_eq!(&code[1..4], ["s_nop 1", "s_nop 2", "s_get_pc_i64 s[0:1]"]);
    assert!(!code.iter().chain(&forward).any(|line| line.contains("s_add_pc_i64")));
    llvm_accepts(&bytes);
}

/// Reads every scalar register and VCC.
fn all_registers_live() -> String {
    let mut lines = String::new();
    for register in 0..106 {
        writeln!(lines, "s_add_co_u32 s0, s0, s{register}").unwrap();
    }
    lines + "s_mov_b64 s[2:3], vcc"
}

/// Capability 35.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn without_a_free_register_branches_or_a_refusal() {
    let live = all_registers_live();
    let lines = format!("{MATRIX}\n{live}\n.rept 40000 s_mov_b32 s4, s5");
    let crowded = Kernel { sgprs: 106, ..kernel("k", &lines) };
    let alone = patch(&object(std::slice::from_ref(&crowded)));
    assert!(refusal(&alone).starts_with("no-place: "), "{}", refusal(&alone));
    // With padding on the way, branch follows branch.
    let filler = kernel("filler", ".rept 20000 s_nop 1");
    let near = kernel("near", "s_nop 0");
    let short = Kernel { code: kernel("k", &format!("{MATRIX}\n{live}")).code, ..crowded };
    let mut kernels = vec![short, near.clone(), filler.clone(), near.clone(), filler, near];
    for (number, kernel) in kernels.iter_mut().enumerate() {
        kernel.name = format!("k{number}");
    }
    // The padding behind the function itself holds it: take that away.
    kernels[0].code.extend([0x00, 0x00, 0x80, 0xbf]);
    let file = object(&kernels);
    let (bytes, manifest) = changed(&file);
    let record = &manifest.records[0];
    assert!(record.pair.is_none());
    assert!(matches!(record.jump, JumpKind::Near | JumpKind::Relay));
    llvm_accepts(&bytes);
}

/// Capability 36.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn dense_far_sites() {
    let sites = format!("{MATRIX}\nv_mov_b32_e32 v50, v51\nv_mov_b32_e32 v50, v52\n").repeat(1200);
    let lines = format!("{sites}\n.rept 40000 s_mov_b32 s4, s5");
    let (bytes, manifest) = changed(&object(&[kernel("k", &lines)]));
    assert_eq!(manifest.records.len(), 1200);
    assert!(manifest.records.iter().all(|record| record.jump == JumpKind::Far));
    llvm_accepts(&bytes);
    // Side by side they move together.
    let lines = format!("{}\n.rept 40000 s_mov_b32 s4, s5", format!("{MATRIX}\n").repeat(1200));
    let (bytes, manifest) = changed(&object(&[kernel("k", &lines)]));
    assert_eq!(manifest.records.len(), 600);
    llvm_accepts(&bytes);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn sites_of_four_bytes_are_routed() {
    let near = format!("{INTEGER}\nv_add_f32_e32 v16, v0, v1");
    let (bytes, manifest) = changed(&object(&[kernel("k", &near)]));
    let record = &manifest.records[0];
    assert_eq!((record.site.old.len(), record.jump), (4, JumpKind::Near));
    llvm_accepts(&bytes);
    let far = format!("{near}\n.rept 40000 s_mov_b32 s4, s5");
    let (bytes, manifest) = changed(&object(&[kernel("k", &far)]));
    assert_eq!(manifest.records[0].jump, JumpKind::Far);
    llvm_accepts(&bytes);
}

/// Capability 37.
#[test]
fn nothing_that_was_there_moves() {
    let file = object(&[kernel("k", MATRIX)]);
    let (bytes, manifest) = changed(&file);
    let (old, new) = (CodeObject::parse(&file).unwrap(), CodeObject::parse(&bytes).unwrap());
    let loads = |object: &CodeObject<'_>| -> Vec<_> {
        object.elf().loads().map(|it| (it.address, it.offset, it.memory_size)).collect()
    };
    let (before, after) = (loads(&old), loads(&new));
    assert!(before.iter().all(|it| after.contains(it)));
    let pool = manifest.pool.unwrap();
    assert!(pool.address.is_multiple_of(4096) && pool.offset.is_multiple_of(4096));
    let section = new.elf().section_named(".text.hsaco").unwrap();
    assert_eq!((section.address, section.size), (pool.address, pool.size));
    for section in old.elf().sections().iter().filter(|it| it.address != 0) {
        let same = new.elf().section(section.index).unwrap();
        assert_eq!((section.address, section.name), (same.address, same.name));
    }
}

/// Capability 38.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn metadata_grows() {
    // Every register up to s125 in name only; the pair takes two more, and VCC counts.
    let lines = format!("{MATRIX}\ns_nop 1\ns_nop 2\n.rept 40000 s_mov_b32 s4, s5");
    let file = object(&[Kernel { sgprs: 1, ..kernel("k", &lines) }]);
    let (bytes, manifest) = changed(&file);
    let setting = &manifest.kernels[0].settings[0];
    assert_eq!(
        (setting.name.as_str(), setting.old.as_str(), setting.new.as_str()),
        (".sgpr_count", "1", "4")
    );
    let said = CodeObject::parse(&bytes).unwrap().metadata().kernels()[0].decode().unwrap();
    assert_eq!(said.sgpr_count, Some(4));
    llvm_accepts(&bytes);
}

/// Capability 40.
#[test]
fn fetching_ahead_stays_inside() {
    let (_, manifest) = changed(&object(&[Kernel { prefetch: 10, ..kernel("k", MATRIX) }]));
    let pool = manifest.pool.unwrap();
    assert_eq!((pool.guard, pool.size), (1280, 1280 + 20));
}

/// Capability 41.
#[test]
fn trampolines_have_names() {
    let (bytes, _) = changed(&object(&[kernel("k", MATRIX)]));
    let object = CodeObject::parse(&bytes).unwrap();
    let names: Vec<String> = object
        .symbol_table()
        .unwrap()
        .unwrap()
        .iter()
        .flatten()
        .map(|it| it.name.to_string())
        .collect();
    assert!(names.contains(&"k.vop3px-wrap.2000".to_owned()), "{names:?}");
}

/// Capabilities 44 and 45.
#[test]
fn runs_agree() {
    let lines = format!("s_clause 0x1\n{MATRIX}\ns_nop 1\n{INTEGER}\nv_add_f32_e32 v16, v0, v1");
    let file = object(&[kernel("a", &lines), kernel("b", &lines)]);
    let (expected, _) = changed(&file);
    let patcher = patcher(&Options::default());
    let patcher: &Patcher = &patcher;
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..8).map(|_| scope.spawn(|| patcher.patch(&file).unwrap().bytes)).collect();
        for run in runs {
            assert_eq!(run.join().unwrap().as_deref(), Some(expected.as_slice()));
        }
    });
}

/// Capability 31.
#[test]
fn kernels_begin_with_a_stub() {
    let options = Options { entry_stub: true, ..Options::default() };
    let patcher = patcher(&options);
    // The second kernel begins with a word that is no instruction.
    let odd = Kernel { prefetch: 10, ..kernel("odd", ".long 0xffffffff") };
    let file = object(&[kernel("k", "s_mov_b32 s4, 0"), odd]);
    let Patched { bytes, manifest } = patcher.patch(&file).unwrap();
    let bytes = bytes.unwrap();
    assert_eq!(patcher.verify(&file, &bytes, &manifest), []);
    assert_eq!(manifest.stubs.len(), 2, "{:?}", manifest.remarks);
    // Of code that does not decode, nothing is known to be free but what no launch fills.
    let pairs: Vec<_> = manifest.stubs.iter().map(|stub| stub.pair.to_string()).collect();
    assert_eq!(pairs, ["s[2:3]", "s[34:35]"]);
    let stub = &manifest.stubs[0];
    assert!(stub.address.is_multiple_of(256));
    let code = text(&bytes, stub.address, 36);
    assert_eq!(code[0], "global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE");
    assert_eq!(code[1], "v_nop");
    let object = CodeObject::parse(&bytes).unwrap();
    assert_eq!(object.index().kernels()[0].entry(), Some(stub.address));
    assert!(patcher.patch(&bytes).unwrap().bytes.is_none());
}

/// What a placer that errs would write: the manifest errs with the file.
#[test]
fn mistakes_that_the_manifest_repeats_are_found_too() {
    let patcher = patcher(&Options::default());
    let file = object(&[kernel("k", &format!("{MATRIX}\ns_nop 1"))]);
    let (bytes, manifest) = changed(&file);
    let object = CodeObject::parse(&bytes).unwrap();
    let body = manifest.records[0].body.clone().unwrap();
    let offset = object.elf().file_offset(body.address).unwrap() as usize;
    let with = |at: usize, new: &[u8]| {
        let (mut bytes, mut manifest) = (bytes.clone(), manifest.clone());
        bytes[offset + at..offset + at + new.len()].copy_from_slice(new);
        let body = manifest.records[0].body.as_mut().unwrap();
        body.new[at..at + new.len()].copy_from_slice(new);
        let findings = patcher.verify(&file, &bytes, &manifest);
        findings.first().map(ToString::to_string).unwrap_or_default()
    };
    let assembler = gfx1250::assembler().unwrap();
    let line = |line: &str| gfx1250::assemble(assembler, line).unwrap();
    // The way back leads elsewhere.
    assert!(with(16, &line("s_branch 3")).starts_with("flow: the replacement does not lead back"));
    // A register that was not leased.
    let clobber =
        [line("s_mov_b32 s5, 0"), line("s_nop 0"), line("s_nop 0"), line("s_nop 0")].concat();
    assert!(
        with(0, &clobber).starts_with("state: s5 is written and was not"),
        "{}",
        with(0, &clobber)
    );
    // SCC, the upper bits of registers, EXEC.
    let nops = line(".rept 3 s_nop 0");
    let first = |text: &str| with(0, &[line(text), nops.clone()].concat());
    assert!(
        first("s_cmp_eq_u32 s0, s1").starts_with("state: src_scc is written"),
        "{}",
        first("s_cmp_eq_u32 s0, s1")
    );
    assert!(
        first("s_set_vgpr_msb 1").starts_with("state: mode is written"),
        "{}",
        first("s_set_vgpr_msb 1")
    );
    assert!(first("s_mov_b32 exec_lo, 0").starts_with("state: exec_lo is written"));
    // What has to be rewritten once more.
    let again = [line(MATRIX), line(".rept 2 s_nop 0")].concat();
    assert!(with(0, &again).starts_with("residual: "), "{}", with(0, &again));
    // Work that is still under way.
    let load = [line("ds_load_b64 v[0:1], v2"), line(".rept 2 s_nop 0")].concat();
    assert!(with(0, &load).starts_with("state: "), "{}", with(0, &load));
}

#[test]
fn a_byte_that_no_manifest_lists_is_found() {
    let patcher = patcher(&Options::default());
    let file = object(&[kernel("k", &format!("{MATRIX}\ns_nop 1"))]);
    let (bytes, manifest) = changed(&file);
    let object = CodeObject::parse(&bytes).unwrap();
    let offset = object.elf().file_offset(0x2008).unwrap() as usize;
    let mut broken = bytes.clone();
    broken[offset] ^= 1;
    let findings = patcher.verify(&file, &broken, &manifest);
    assert_eq!(findings[0].check, "bytes");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn numbers_of_kernels_are_set_in_both_places() {
    let file = object(&[kernel("k", "s_nop 0")]);
    let setting = "k.vgpr_count=200".parse().unwrap();
    let patched = hsaco::patch::set(&file, &[setting]).unwrap();
    let bytes = patched.bytes.unwrap();
    let object = CodeObject::parse(&bytes).unwrap();
    let kernel = object.index().kernels()[0];
    assert_eq!(kernel.metadata().unwrap().decode().unwrap().vgpr_count, Some(200));
    assert_eq!(kernel.descriptor().unwrap().vgprs(hsaco::isa::target::Generation::Gfx125), 208);
    assert!("k.vgpr_count".parse::<hsaco::patch::KernelSetting>().is_err());
    let unknown = "other.vgpr_count=1".parse().unwrap();
    let error = hsaco::patch::set(&file, &[unknown]).unwrap_err();
    assert_eq!(error.to_string(), "not found: kernel: other");
    llvm_accepts(&bytes);
}

/// What a caller asks for, without rules.
fn edited(file: &[u8], edits: Vec<CodeEdit>) -> Patched {
    let none = RuleSet::by_name("none").unwrap();
    Patcher::new(none, Options::default()).unwrap().with_edits(edits).patch(file).unwrap()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn instructions_are_replaced_and_inserted() {
    let file = object(&[kernel("k", "s_mov_b32 s4, 0\nv_mov_b32_e32 v0, v1")]);
    let replaced =
        edited(&file, vec![CodeEdit::Replace(0x2000, vec!["s_mov_b32 s4, 1".to_owned()])]);
    assert_eq!(text(&replaced.bytes.unwrap(), 0x2000, 8)[0], "s_mov_b32 s4, 1");
    let lines = vec!["s_mov_b32 s5, 0x12345".to_owned(), "s_nop 3".to_owned()];
    let inserted = edited(&file, vec![CodeEdit::Insert(0x2004, lines)]);
    let body = inserted.manifest.records[0].body.as_ref().unwrap();
    let code = text(inserted.bytes.as_ref().unwrap(), body.address, 16);
    assert_eq!(code, ["s_mov_b32 s5, 0x12345", "s_nop 3", "v_mov_b32_e32 v0, v1"]);
    llvm_accepts(inserted.bytes.as_ref().unwrap());
    let nowhere = edited(&file, vec![CodeEdit::Insert(0x2002, vec!["s_nop 0".to_owned()])]);
    assert_eq!(refusal(&nowhere), "control-flow: no instruction begins there");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn counters_count_at_entries_and_blocks() {
    let lines = "v_mov_b32_e32 v5, v6\ns_cbranch_scc1 1\nv_mov_b32_e32 v5, v7\nv_mov_b32_e32 v8, v5\nds_store_b32 v8, v5";
    let file = object(&[kernel("k", lines)]);
    for (points, count) in [(Points::Entries, 1), (Points::Blocks, 3)] {
        let patched = edited(&file, vec![CodeEdit::Count(points)]);
        assert_eq!(patched.manifest.verdict, Verdict::Changed, "{:?}", patched.manifest.remarks);
        assert_eq!(patched.manifest.counters.len(), count);
        let bytes = patched.bytes.unwrap();
        // The address that the code makes is the counter's.
        for (record, (site, counter)) in
            patched.manifest.records.iter().zip(&patched.manifest.counters)
        {
            assert_eq!(record.site.address, *site);
            let body = record.body.as_ref().unwrap();
            let code = text(&bytes, body.address, body.new.len() as u64);
            let distance = code[1].rsplit(' ').next().unwrap();
            let distance = match distance.strip_prefix('-') {
                Some(digits) => number::parse(digits).unwrap().wrapping_neg(),
                None => number::parse(distance).unwrap(),
            };
            assert_eq!((body.address + 4).wrapping_add(distance), *counter);
        }
        llvm_accepts(&bytes);
    }
}

#[test]
fn an_object_at_the_end_of_all_addresses_is_an_error() {
    const LOAD: [u8; 4] = [1, 0, 0, 0];
    let mut file = object(&[kernel("k", "ds_load_2addr_b32 v[2:3], v4 offset0:1 offset1:3")]);
    let start = usize::from(file[32]);
    let count = usize::from(file[56]);
    let headers = file[start..].chunks_exact_mut(56).take(count);
    let last = headers.filter(|header| header[..4] == LOAD).last().unwrap();
    let address = u64::from_le_bytes(last[16..24].try_into().unwrap());
    last[40..48].copy_from_slice(&(u64::MAX - address - 0x300).to_le_bytes());
    let set = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
    let error = Patcher::new(set, Options::default()).unwrap().patch(&file).unwrap_err();
    assert!(error.to_string().contains("nothing can be put behind it"), "{error}");
}

/// A fixture that the command has patched, with its result and manifest in a folder.
struct OnDisk {
    folder: hsaco_tests::TempDir,
    original: String,
}

impl OnDisk {
    fn new(original: String, arguments: &[&str]) -> OnDisk {
        let disk = OnDisk { folder: hsaco_tests::scratch_dir(), original };
        let (result, manifest) = (disk.path("result"), disk.path("manifest"));
        let words = ["patch", &disk.original, "-o", &result, "--manifest", &manifest];
        hsaco_fine(words.iter().chain(arguments));
        disk
    }

    fn of_fixture(name: &str, arguments: &[&str]) -> OnDisk {
        OnDisk::new(hsaco_tests::fixture(name).to_str().unwrap().to_owned(), arguments)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn verify(&self, original: &str, result: &str) -> Ran {
        hsaco(["patch", "--verify", original, result, &self.path("manifest")])
    }

    /// What is said of the result with one bit flipped.
    fn verify_flipped(&self, at: usize) -> Ran {
        let mut bytes = self.read("result");
        bytes[at] ^= 1;
        std::fs::write(self.path("flipped"), bytes).unwrap();
        self.verify(&self.original, &self.path("flipped"))
    }
}

#[test]
fn another_file_than_the_manifests_is_told_by_its_digest_before_anything_else() {
    let disk = OnDisk::of_fixture("steppings.co", &[]);
    let manifest = String::from_utf8(disk.read("manifest")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let digest = Digest::of(&disk.read("result")).to_string();
    assert_eq!(manifest["sha256_after"], digest);
    let before = Digest::of(&std::fs::read(&disk.original).unwrap()).to_string();
    assert_eq!(manifest["sha256_before"], before);
    let holds = disk.verify(&disk.original, &disk.path("result"));
    assert_eq!((holds.code, holds.stderr.as_str()), (Some(0), ""));
    let swapped = disk.verify(&disk.original, &disk.original);
    let wrong = format!(
        "digest: the result is not the file that this manifest describes: SHA-256 {before} instead of {digest}"
    );
    assert_eq!(swapped.code, Some(1));
    assert!(swapped.stderr.lines().next().unwrap().ends_with(&wrong), "{}", swapped.stderr);
    let other = disk.verify(&disk.path("result"), &disk.path("result"));
    assert!(other.stderr.contains("the original is not the file that this manifest"));
}

#[test]
fn the_command_names_a_flipped_bit() {
    let disk = OnDisk::of_fixture("steppings.co", &[]);
    let flags = disk.verify_flipped(0x30);
    let said = "bytes: file header (e_flags): 48 instead of 49 (at offset 0x30)";
    assert_eq!((flags.code, flags.stderr.contains(said)), (Some(1), true), "{}", flags.stderr);
}

/// A bundle of an object that rules rewrite and one that they do not, in a folder, patched.
fn patched_bundle(folder: &std::path::Path, options: &[&str]) -> OnDisk {
    let bundle = folder.join("bundle").to_str().unwrap().to_owned();
    let fixture = |name| hsaco_tests::fixture(name).to_str().unwrap().to_owned();
    let (first, second) = (fixture("steppings.co"), fixture("s1.gfx942.co"));
    let words = ["bundle", &first, &second, "-o", &bundle];
    hsaco_fine(words.iter().chain(options));
    OnDisk::new(bundle, &[])
}

#[test]
fn a_flipped_bit_around_the_objects_of_a_file_is_found() {
    let folder = hsaco_tests::scratch_dir();
    let disk = patched_bundle(folder.path(), &[]);
    let holds = disk.verify(&disk.original, &disk.path("result"));
    assert_eq!((holds.code, holds.stderr.as_str()), (Some(0), ""));
    let result = disk.read("result");
    let elf = |after: usize| {
        let found = result[after..].windows(4).position(|it| it == b"\x7fELF");
        after + found.unwrap()
    };
    // In the bundle's table, in the object that changed, in the one that did not.
    let (first, second) = (elf(0), elf(elf(0) + 4));
    let parts =
        [(33, "bundle entry header"), (first + 0x30, "e_flags"), (second + 0x30, "e_flags")];
    for (at, part) in parts {
        let said = disk.verify_flipped(at);
        assert_eq!(said.code, Some(1), "{at:#x}");
        let place = format!("(at offset {at:#x})");
        let is_named = |line: &str| line.contains(part) && line.contains(&place);
        assert!(said.stderr.lines().any(is_named), "{at:#x}: {}", said.stderr);
    }
}

#[test]
fn compressed_bundles_can_be_verified() {
    let folder = hsaco_tests::scratch_dir();
    let disk = patched_bundle(folder.path(), &["--compress"]);
    let holds = disk.verify(&disk.original, &disk.path("result"));
    assert_eq!((holds.code, holds.stderr.as_str()), (Some(0), ""));
    let size = disk.read("result").len();
    for at in [4, 20, 30, size / 2, size - 1] {
        assert_eq!(disk.verify_flipped(at).code, Some(1), "{at:#x}");
    }
}

#[test]
fn a_manifest_of_unknown_rules_is_an_error_that_names_them() {
    let disk = OnDisk::of_fixture("steppings.co", &[]);
    let manifest = String::from_utf8(disk.read("manifest")).unwrap();
    for (known, unknown, error) in [
        ("\"rule\":\"clause\"", "\"rule\":\"claws\"", "rule `claws` is none that this hsaco knows"),
        (
            "gfx1250-b0-to-a0",
            "vendor-rules",
            "rule set `vendor-rules` is none that this hsaco knows",
        ),
        ("\"options\":[]", "\"options\":[\"guess\"]", "no option `guess`"),
        (
            "\"schema_version\":1",
            "\"schema_version\":9",
            "a manifest of version 9; this hsaco knows 1",
        ),
        ("\"result\":", "\"objects\":", "no manifest of a code object"),
        ("\"sha256_before\":", "\"sha1_before\":", "it has no digests: an older hsaco wrote it"),
    ] {
        assert!(manifest.contains(known), "{known}");
        std::fs::write(disk.path("manifest"), manifest.replace(known, unknown)).unwrap();
        let said = disk.verify(&disk.original, &disk.path("result"));
        assert_eq!((said.code, said.stderr.contains(error)), (Some(2), true), "{}", said.stderr);
    }
}

/// The manifest says what it likes: the result still has to be right.
#[test]
fn a_size_that_no_file_has_is_an_error_and_no_allocation() {
    let file = object(&[kernel("k", &format!("{MATRIX}\ns_nop 1"))]);
    let (bytes, manifest) = changed(&file);
    let patcher = patcher(&Options::default());
    let huge = Manifest { counter_space: u64::MAX / 2, ..manifest.clone() };
    assert_eq!(patcher.verify(&file, &bytes, &huge)[0].check, "manifest");
    let mut huge = manifest;
    huge.pool.as_mut().unwrap().size = u64::MAX / 2;
    assert_eq!(patcher.verify(&file, &bytes, &huge)[0].check, "manifest");
}
