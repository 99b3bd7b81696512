//! Every pair of code before and after that is known of comgr's and rocjitsu's rewriting, by its name: each in an object of
//! its own, through all rules, placement and the validator. Where what comes out is not what comgr made, the pair says why.
//!
//! The lines of a pair are the example of that name in `crates/patch/src/rule`; its bytes, where they were written
//! down, stand here.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "helpers of tests fail them"
)]

use std::fmt::Write as _;

use hsaco::object::CodeObject;
use hsaco::patch::rule::ExampleOutcome;
use hsaco::patch::{Example, JumpKind, Options, Placement, RuleSet, Stage, Verdict};
use hsaco_tests::gfx1250::{self, NewKernel, TEXT, kernel, object};
use hsaco_tests::rewritten::{Rewritten as Run, hex, patcher_by, text};

const DS: &str = "ds_load_2addr_b32 v[0:1], v2 offset0:1 offset1:3";
const DS_AFTER: [&str; 3] =
    ["ds_load_b32 v0, v2 offset:4", "ds_load_b32 v1, v2 offset:12", "s_wait_dscnt 0x0"];
const TENSOR: &str = "tensor_load_to_lds s[0:3], s[4:11]";
const CLEAR: &str = "s_pack_hh_b32_b16 s4, 0, s4";
/// More than a branch reaches.
const FAR: &str = ".rept 40000 v_mov_b32_e32 v50, v51";

fn assemble(lines: &str) -> Vec<u8> {
    gfx1250::assemble(gfx1250::assembler().unwrap(), lines).unwrap()
}

/// Runs the examples of a name and those that vary it; `bytes` are in the first one before and after.
fn pair(name: &str, bytes: Option<(&str, &str)>) {
    let name = name.to_uppercase();
    let is_asked = |example: &&Example| {
        let varied = example.name.strip_prefix(&name);
        varied.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let of_set = |set: &'static RuleSet| {
        let rules = set.rules().iter().filter(|rule| rule.stage != Stage::Entry);
        let examples = rules.flat_map(|rule| rule.examples).filter(is_asked);
        examples.map(move |example| (set, example)).collect::<Vec<_>>()
    };
    let mut examples: Vec<_> = RuleSet::all().iter().flat_map(of_set).collect();
    examples.sort_by_key(|(_, example)| example.name.len());
    assert!(!examples.is_empty(), "no example {name}");
    let codes: Vec<_> = examples.iter().map(|(set, example)| holds(set, example)).collect();
    if let Some((before, after)) = bytes {
        let (old, new) = &codes[0];
        assert!(old.contains(before), "{name}: no {before} in {old}");
        assert!(new.contains(after), "{name}: no {after} in {new}");
    }
}

/// Runs one example of a set: its bytes before and after.
fn holds(set: &'static RuleSet, example: &Example) -> (String, String) {
    let mut options = Options::default();
    (example.options)(&mut options);
    let (sgprs, vgprs) = example.registers;
    let (sgprs, vgprs) = (sgprs.into(), vgprs.into());
    let kernel = NewKernel { sgprs, vgprs, ..kernel("k", example.before).unwrap() };
    let patcher = patcher_by(set, &options);
    let run = Run::by(&patcher, object(std::slice::from_ref(&kernel)).unwrap());
    let expected = match example.after {
        ExampleOutcome::Refused(reason) => {
            assert!(run.refusal().contains(reason), "{}: {}", example.name, run.refusal());
            kernel.code.clone()
        }
        ExampleOutcome::Same => {
            assert!(run.manifest.records.is_empty(), "{}: {:?}", example.name, run.manifest);
            kernel.code.clone()
        }
        ExampleOutcome::Code(lines) => {
            assert_eq!(run.manifest.verdict, Verdict::Changed, "{:?}", run.manifest.remarks);
            assemble(&format!("{lines}\ns_endpgm"))
        }
    };
    let code = run.executed(TEXT, kernel.code.len() as u64);
    assert_eq!(hex(&code), hex(&expected), "{}: {:?}", example.name, text(&code));
    (hex(&kernel.code), hex(&code))
}

/// A test for each name; bytes that it begins with, or has, before and after.
macro_rules! pairs {
    ($($(#[$why:meta])* $name:ident $(: $before:literal => $after:literal)?;)*) => {
        $($(#[$why])* #[test] fn $name() {
            #[allow(unused_mut, unused_assignments, reason = "most have none")]
            let mut bytes = None;
            $(bytes = Some(($before, $after));)?
            pair(stringify!($name), bytes);
        })*
    };
}

pairs! {
    ip1: "7cc019ee 00000000 02000000" => "7c0005ee 00000000 02000000";
    ip2: "7c001aee" => "7c4005ee";
    ip3: "7c401aee" => "7cc005ee";
    ip4: "7c801aee" => "7cc017ee";
    ip5: "7cc01aee" => "7c0018ee";
    ip6: "7c001bee" => "7c4018ee";
    ip7: "7c401bee" => "7c8018ee";
    ip8: "04001aee" => "044005ee";
    ip9: "08401aee 08006900 0c400000" => "08c005ee 08006900 0c400000";
    ip10: "0a801aee" => "0ac017ee";
    ip11;
    /// Not comgr's: with XNACK a load that is tried again reads M0 again, so its translation has to be over before M0
    /// is restored (rocm-systems 10202). A register that is dead is taken before one above the kernel's count.
    cw1;
    cl1: "010085bf" => "000080bf";
    /// As comgr's last version: that one scope in a clause is safe was never settled.
    cl2: "010085bf" => "000080bf";
    /// Not comgr's by default: only the cluster's barrier is affected (rocjitsu), and `s_barrier_signal` leaves SCC as it
    /// was, so others stay. BA1-every is comgr's, on request.
    ba1: "c14f80be" => "c14f80be";
    /// Not comgr's where SCC is read afterwards, which it took no heed of: BA2-needed is refused.
    ba2: "c34f80be" => "c34e80be";
    ba3;
    ds1;
    ds2;
    ds3;
    ds4;
    ds5;
    ds6;
    ds7;
    ds8;
    ds9;
    ds10;
    /// Not comgr's, which fails: a copy in free registers breaks the cycle. Two exchanges with one place are refused.
    ds11;
    /// Not comgr's, which fails: what does not fit the offset is added to the address.
    ds12;
    /// With `s_wait_xcnt` before the switch, which comgr lacks: an access that is tried again would be so under other banks.
    ds13: "410086bf" => "814186bf";
    /// As comgr's, but the hint's second instruction moves too: one place holds the whole window.
    ds14;
    ds15;
    at1: "" => "05001fd7 c1000100 050020d7 c10a0200 820a0a30 7d0a0a4a ff0a0a36 ffff0f00 8000d8d8 05000005";
    at2;
    /// comgr took a register above the kernel's; one that is dead costs no occupancy.
    at3;
    tn1: "" => "8004049a 010071d0 0000007c 00047c7c";
    /// comgr saved in a register above the kernel's; s12 is dead here.
    tn2;
    tn3;
    tn4;
    tn5;
    tn7: "04ff048b fffff7ff" => "04ff048b 0000f7ff";
    tn8;
    tn9;
    tn11;
    tn12;
    /// On B0 comgr cleared without a choice where `.cluster_dims` make one workgroup; the choice is right for these too.
    tn13;
    /// Not comgr's two products of 64 columns, of which the second read the first's result for its B: one product with scales of one
    /// has nothing in between.
    ws1;
    /// Not comgr's, for the same reason: one product, with the modifier.
    ws2;
    /// Not comgr's, which rounded the sum to 16 bits twice: it is made in 32 bits and rounded once.
    ws3;
    ws4;
    /// With the prefix of scales that A0's trap handler wants, which comgr put there in a later pass.
    ws5;
    /// The same. comgr's own test (WS6-comgr) overwrote what its second half read: here that half comes first.
    ws6;
    /// Not comgr's: one product needs no switch of banks.
    ws7;
    ws8;
    ws9: "100081cc 0031421c" => "000035cc 80000104 100033cc 0031420c";
    ws10;
    hz1;
    hz2;
    hz3;
    hz4;
    hz5;
    ss1: "000035cc 30650200 000033cc 10410204" => "000035cc 30650204 000033cc 10410204";
    /// Not comgr's seven instructions for each gather: `v_perm_b32` is one. B is copied only where its numbers may be infinite.
    sc1;
    sc2;
    /// Not comgr's, which fails: two halves of 16 rows.
    sc3;
    /// Not comgr's way through halves, which rounds twice, saturates whatever MODE says and takes VCC; for EM2 to EM9 too.
    em1;
    em2: "05c069d7 060f0202" => "";
    em3;
    em4;
    em5;
    em6;
    em7;
    em8;
    em9;
    vw1: "100033cc 00114204" => "000035cc 80000104 100033cc 00114204";
    vw2;
    vw3;
    sh1: "010082bf" => "000080bf";
    sh2: "010082bf" => "000080bf";
    sh3: "000082bf 420082bf" => "000080bf 000080bf";
    sh4;
}

/// In a kernel that has all scalar registers none is taken.
#[test]
fn ip12() {
    pair("ip12", Some(("04001aee", "044005ee")));
    let lines = "cluster_load_b64 v[0:1], v2, s[4:5]";
    let run = Run::of(&[NewKernel { sgprs: 106, ..kernel("k", lines).unwrap() }]);
    assert_eq!(run.setting(0, ".sgpr_count"), None);
    assert!(run.manifest.records[0].scratch_registers.is_empty());
}

/// `s_nop`s that a branch leads to are code: the body goes to the pool.
#[test]
fn ds16() {
    let nops = ".rept 16 s_nop 0";
    let lines = format!("{DS}\ns_cbranch_vccz 3\ns_endpgm\n{nops}");
    let last = kernel("last", "s_nop 0").unwrap();
    let full = kernel("k", &format!("{lines}\n.rept 43 v_nop")).unwrap();
    assert_eq!(full.code.len(), 256);
    let run = Run::of(&[full, last.clone()]);
    assert_eq!(run.manifest.records[0].placement, Placement::Pool);
    assert_eq!(run.text(TEXT, 8), DS_AFTER);
    // The branch leads to the second word behind the kernel's end.
    let lines = format!("{DS}\ns_cbranch_vccz 2");
    let run = Run::of(&[kernel("k", &lines).unwrap(), last.clone()]);
    assert_eq!(run.manifest.records[0].placement, Placement::Pool);
    assert_eq!(run.text(TEXT, 8), DS_AFTER);
    // Nor where the branch is in another function.
    let into = kernel("into", "s_cbranch_vccz 65477").unwrap();
    let run = Run::of(&[kernel("k", DS).unwrap(), into]);
    let way_in = TEXT + 256 + 4 - 4 * (0x10000 - 65477);
    let body = run.manifest.records[0].body.as_ref().unwrap();
    let taken = body.address..body.address + body.new.len() as u64;
    assert!(!taken.contains(&way_in), "{way_in:#x} in {taken:x?}");
    // Where no branch leads there, what is behind the kernel is taken.
    let run = Run::of(&[kernel("k", DS).unwrap(), last]);
    assert_eq!(run.manifest.records[0].placement, Placement::Padding);
}

/// The padding behind another kernel is never taken, and `s_nop`s in one are code.
#[test]
fn ds17() {
    let full = kernel("full", &format!("{DS}\n.rept 61 v_nop")).unwrap();
    assert_eq!(full.code.len(), 256);
    let nops = kernel("nops", ".rept 16 s_nop 0").unwrap();
    let last = kernel("last", "s_nop 0").unwrap();
    let run = Run::of(&[full, nops, last]);
    assert_eq!(run.manifest.records[0].placement, Placement::Pool);
    assert_eq!(run.text(TEXT, 8), DS_AFTER);
}

#[test]
fn ds18() {
    let lines = format!("{DS}\n{FAR}");
    let run = Run::of(&[NewKernel { sgprs: 0, ..kernel("k", &lines).unwrap() }]);
    let record = &run.manifest.records[0];
    assert_eq!(
        (record.jump, record.pair.map(|it| it.to_string()).as_deref()),
        (JumpKind::Far, Some("s[0:1]"))
    );
    assert_eq!(run.setting(0, ".sgpr_count"), Some(("0", "4")));
    assert_eq!(run.text(TEXT, 32)[..3], DS_AFTER);
}

/// Without a free register branch follows branch.
#[test]
fn ds19() {
    let mut lines = DS.to_owned();
    for register in 0..106 {
        write!(lines, "\ns_add_co_u32 s0, s0, s{register}").unwrap();
    }
    // No padding behind it.
    lines += "\ns_mov_b64 s[2:3], vcc\n.rept 18 s_nop 1";
    let crowded = NewKernel { sgprs: 106, ..kernel("k0", &lines).unwrap() };
    assert!(crowded.code.len().is_multiple_of(256));
    let filler = |name| kernel(name, ".rept 20000 s_nop 1").unwrap();
    let near = |name| kernel(name, "s_nop 0").unwrap();
    let kernels =
        [crowded, near("k1"), filler("k2"), near("k3"), filler("k4"), near("k5"), filler("k6")];
    let run = Run::of(&kernels);
    let record = &run.manifest.records[0];
    assert_eq!((record.jump, record.pair), (JumpKind::Relay, None));
    assert!(!record.relays.is_empty());
    let code = [run.text(TEXT, 8), text(&record.body.as_ref().unwrap().new)].concat();
    assert!(!code.iter().any(|line| line.contains("s_set_pc")), "{code:?}");
    assert_eq!(run.text(TEXT, 8), DS_AFTER);
}

/// Without padding it goes to the pool.
#[test]
fn at4() {
    let run = Run::of(&[kernel("k", "ds_load_addtid_b32 v5 offset:128").unwrap()]);
    let record = &run.manifest.records[0];
    assert_eq!((record.placement, record.jump), (Placement::Pool, JumpKind::Near));
    let body = record.body.as_ref().unwrap();
    // The site is a branch there and an `s_nop`; the body ends in a branch back.
    let there = (body.address - (TEXT + 4)) / 4;
    assert_eq!(text(&record.site.new), [format!("s_branch {there}"), "s_nop 0".to_owned()]);
    let end = body.address + body.new.len() as u64;
    let back = ((TEXT + 8).wrapping_sub(end) / 4) as u16;
    assert_eq!(text(&body.new).last(), Some(&format!("s_branch {back}")));
    let expected = "05001fd7 c1000100 050020d7 c10a0200 820a0a30 7d0a0a4a ff0a0a36 ffff0f00 8000d8d8 05000005 0000b0bf";
    assert_eq!(hex(&run.executed(TEXT, 12)), expected);
}

/// comgr's later version fails too: a store without a free register is refused.
#[test]
fn at5() {
    // All registers are read later, and the workgroup leaves no room for more.
    let mut lines = "ds_store_addtid_b32 v8 offset:64".to_owned();
    for register in 0..128 {
        write!(lines, "\nv_add_nc_u32_e32 v8, v8, v{register}").unwrap();
    }
    lines += "\nglobal_store_b32 v0, v8, s[2:3]";
    let full = NewKernel { vgprs: 128, workgroup: Some(1024), ..kernel("k", &lines).unwrap() };
    let run = Run::of(&[NewKernel { workgroup: None, ..full }]);
    assert_eq!(run.refusal(), "no-register: none free of 1 vector registers below v128");
}

/// A symbol without a size: the code up to the next one is the kernel's.
#[test]
fn tn6() {
    let run = Run::of(&[NewKernel { symbol_size: Some(0), ..kernel("k", TENSOR).unwrap() }]);
    assert_eq!(run.text(TEXT, 16), [CLEAR, TENSOR, "s_endpgm"]);
    assert_eq!(hex(&run.executed(TEXT, 12))[..8], *"8004049a");
}

/// What one kernel makes of its register says nothing of another's.
#[test]
fn tn10() {
    let built = format!("s_and_b32 s4, s4, 0xfff7ffff\n{TENSOR}");
    let run = Run::of(&[kernel("a", &built).unwrap(), kernel("b", TENSOR).unwrap()]);
    assert_eq!(run.text(TEXT, 24), ["s_and_b32 s4, s4, 0xfff70000", TENSOR, "s_endpgm"]);
    assert_eq!(hex(&run.executed(TEXT, 8)), "04ff048b 0000f7ff");
    assert_eq!(run.text(TEXT + 256, 16), [CLEAR, TENSOR, "s_endpgm"]);
}

/// Where the pool is far its neighbours move with the load. comgr took 20 bytes, with the `s_mov_b64` before; a distance that is
/// positive takes 16, and what follows is taken in first.
#[test]
fn tn14() {
    let window = format!("s_mov_b64 vcc, -1\n{TENSOR}\ns_endpgm");
    let lines = format!("{window}\n{FAR}");
    let far = NewKernel { sgprs: 14, ..kernel("k", &lines).unwrap() };
    let run = Run::of(std::slice::from_ref(&far));
    let record = &run.manifest.records[0];
    assert_eq!(
        (record.jump, record.pair.map(|it| it.to_string()).as_deref()),
        (JumpKind::Far, Some("s[12:13]"))
    );
    let site = text(&record.site.new);
    assert_eq!(record.site.address, TEXT + 4);
    let distance = record.body.as_ref().unwrap().address - (TEXT + 8);
    let jump = [
        "s_get_pc_i64 s[12:13]".to_owned(),
        format!("s_add_nc_u64 s[12:13], s[12:13], {distance:#x}"),
        "s_set_pc_i64 s[12:13]".to_owned(),
    ];
    assert_eq!(site, jump);
    assert_eq!(run.text(TEXT, 20), ["s_mov_b64 vcc, -1", CLEAR, TENSOR, "s_endpgm"]);
    assert_eq!(run.setting(0, ".sgpr_count"), Some(("14", "16")));
    // Who says nothing of the kernel's registers cannot have it say more.
    let run = Run::of(&[NewKernel { is_listed: false, ..far }]);
    assert!(run.refusal().contains(".sgpr_count"), "{}", run.refusal());
}

fn with_stubs(kernels: &[NewKernel]) -> Run {
    let options = Options { entry_stub: true, ..Options::default() };
    Run::with(&options, object(kernels).unwrap())
}

const PREFIX: [&str; 2] = ["global_prefetch_b8 v0, s[0:1] scope:SCOPE_SE", "v_nop"];

fn entry_kernels() -> [NewKernel; 3] {
    let kernel = |name, lines| NewKernel { sgprs: 8, ..kernel(name, lines).unwrap() };
    [kernel("a", "s_mov_b32 s4, 0"), kernel("b", ".long 0xffffffff"), kernel("c", "v_nop")]
}

#[test]
fn en1() {
    let run = Run::of(&entry_kernels());
    assert_eq!(run.before, run.after);
    let nothing = Verdict::Unchanged("no rule has anything to rewrite".to_owned());
    assert_eq!(run.manifest.verdict, nothing);
}

/// A pair that is dead at the entry is taken before one above the kernel's count, as comgr had it (8 to 10).
#[test]
fn en2() {
    let run = with_stubs(&entry_kernels());
    let object = CodeObject::parse(&run.after).unwrap();
    let names: Vec<String> = object
        .symbol_table()
        .unwrap()
        .unwrap()
        .iter()
        .flatten()
        .map(|it| it.name.to_string())
        .collect();
    assert_eq!(run.manifest.stubs.len(), 3);
    for (stub, kernel) in run.manifest.stubs.iter().zip(["a", "b", "c"]) {
        assert_eq!((stub.kernel.as_str(), stub.code.len()), (kernel, 256));
        assert!(names.contains(&format!("{kernel}.stub")), "{names:?}");
        assert_eq!(text(&stub.code)[..2], PREFIX);
        assert_eq!(text(&stub.code)[2], format!("s_get_pc_i64 {}", stub.pair));
        let found = object.index().kernels().iter().find(|it| it.name() == kernel).unwrap().entry();
        assert_eq!(found, Some(stub.address));
        assert!(stub.address.is_multiple_of(256));
    }
    let pairs: Vec<_> = run.manifest.stubs.iter().map(|it| it.pair.to_string()).collect();
    assert_eq!(pairs, ["s[2:3]", "s[34:35]", "s[2:3]"]);
}

/// A second run leaves the object as it is; so does one that has other things to do.
#[test]
fn en3() {
    let first = with_stubs(&entry_kernels());
    let options = Options { entry_stub: true, ..Options::default() };
    let second = Run::with(&options, first.after.clone());
    assert_eq!(first.after, second.after);
    assert_eq!(second.manifest.stubs, []);
}

/// Not comgr's, which fails: it wanted a pair above the kernel's count, and there is one that is dead.
#[test]
fn en4() {
    let run = with_stubs(&[NewKernel { sgprs: 105, ..kernel("k", "s_mov_b32 s4, 0").unwrap() }]);
    assert_eq!(run.manifest.stubs[0].pair.to_string(), "s[2:3]");
    assert_eq!(run.setting(0, ".sgpr_count"), None);
    // Where nothing is known to be dead, and none is above, it is refused as comgr did.
    let odd = kernel("k", ".long 0xffffffff").unwrap();
    let run = with_stubs(&[NewKernel { sgprs: 105, ..odd }]);
    assert_eq!(run.refusal(), "no-register: none free of 2 scalar registers (of 106)");
}

/// Not comgr's, which moved the kernel's code to make room: nothing moves, so a single kernel has a stub too.
#[test]
fn en5() {
    let run = with_stubs(&[kernel("k", "s_mov_b32 s4, 0").unwrap()]);
    assert_eq!(run.manifest.stubs.len(), 1);
    assert_eq!(text(&run.manifest.stubs[0].code)[..2], PREFIX);
    let (before, after) =
        (CodeObject::parse(&run.before).unwrap(), CodeObject::parse(&run.after).unwrap());
    let code = |object: &CodeObject<'_>| object.elf().at_address(TEXT, 8).unwrap().to_vec();
    assert_eq!(code(&before), code(&after));
}

#[test]
fn en6() {
    let lines = format!("{}\ns_mov_b32 s4, 0", PREFIX.join("\n"));
    let run = with_stubs(&[kernel("k", &lines).unwrap()]);
    assert_eq!(run.before, run.after);
}

/// Both halves of a product of 32 rows have the prefix.
#[test]
fn vw4() {
    let lines = "v_wmma_f32_32x16x128_f4 v[64:79], v[0:15], v[2:9], 1.0";
    let run = Run::of(&[NewKernel { vgprs: 80, ..kernel("k", lines).unwrap() }]);
    let code = run.executed(TEXT, 8);
    let expected = "000035cc 80000104 406033cc 0005ca03 000035cc 80000104 486033cc 0805ca03";
    assert_eq!(hex(&code), expected);
}

/// The names, by the last number of each family.
const NAMES: [(&str, usize); 14] = [
    ("ip", 12),
    ("cw", 1),
    ("cl", 2),
    ("ba", 3),
    ("ds", 19),
    ("at", 5),
    ("tn", 14),
    ("ws", 10),
    ("hz", 5),
    ("sc", 3),
    ("en", 6),
    ("em", 10),
    ("vw", 4),
    ("sh", 4),
];

/// Each name is that of a test here, or of a proof.
#[test]
fn every_pair_is_a_test() {
    let here = include_str!("pairs.rs");
    let proofs = include_str!("proofs/e5m3.rs");
    for (family, last) in NAMES {
        for number in 1..=last {
            let name = format!("{family}{number}");
            let starts = ["", "fn "].map(|word| format!("{word}{name}"));
            let is_row = |line: &str| {
                let rest = line.trim().strip_prefix(starts[0].as_str());
                rest.is_some_and(|rest| rest.starts_with([':', ';']))
            };
            let is_test = |line: &str| line == format!("{}() {{", starts[1]);
            let is_proof = proofs.contains(&format!("/// Pair {},", name.to_uppercase()));
            assert!(here.lines().any(|line| is_row(line) || is_test(line)) || is_proof, "{name}");
        }
    }
}

/// Words that shipped kernels have: no dimension, no mask of data, no fifth address; LLVM refuses them.
#[test]
fn tensor_loads_as_they_ship_are_rewritten_and_keep_their_words() {
    for policy in ["00000000", "00100000", "00200000", "00500000", "7c100000"] {
        for groups in ["7c7c2420", "302c2420"] {
            let words = |first: &str| format!(".long {first}, {policy}, {groups}");
            for first in ["d0310000", "d0710001", "d0310001", "d0710000"] {
                let load = words(first);
                let kernel = NewKernel { sgprs: 64, ..kernel("k", &load).unwrap() };
                let run = Run::with(&Options::default(), object(&[kernel]).unwrap());
                assert_eq!(run.manifest.verdict, Verdict::Changed, "{load}: {:?}", run.manifest);
                let expected =
                    assemble(&format!("s_pack_hh_b32_b16 s36, 0, s36\n{load}\ns_endpgm"));
                let code = run.executed(TEXT, expected.len() as u64 - 4);
                assert_eq!(hex(&code), hex(&expected), "{load}");
            }
            let store = words("d0314000");
            let kernel = NewKernel { sgprs: 64, ..kernel("k", &store).unwrap() };
            let run = Run::with(&Options::default(), object(&[kernel]).unwrap());
            assert!(run.manifest.records.is_empty(), "{store}: {:?}", run.manifest);
        }
    }
}
