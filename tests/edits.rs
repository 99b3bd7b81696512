//! Edits on every target: what clang compiles for it is counted in, inserted into, replaced in and made to call.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail them"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use hsaco::analysis::{Address, Cfg, Code, Stream, Values};
use hsaco::isa::Decoder;
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::effects::Flow;
use hsaco::isa::target::WaveSize;
use hsaco::object::CodeObject;
use hsaco::patch::{
    CodeEdit, KernelSetting, Manifest, Options, Patched, Patcher, Points, RuleSet, Verdict, set,
    verify_set,
};
use hsaco_tests::scratch_dir;

/// Kernels with loops, divergent branches, LDS, calls and scratch memory, and functions to call from them.
const SOURCE: &str = r#"
global unsigned hits[16];
__attribute__((noinline, used)) void probe(void) {
  __opencl_atomic_fetch_add((global volatile atomic_uint *)&hits[0], 1u, memory_order_relaxed, memory_scope_device);
}
__attribute__((noinline, used)) void given(constant unsigned *k, unsigned g, unsigned c) {
  __opencl_atomic_fetch_add((global volatile atomic_uint *)&hits[1], k[0] + g * c, memory_order_relaxed, memory_scope_device);
}
__attribute__((noinline)) float twice(float a, int n) {
  float r = a;
  for (int i = 0; i < n; i++) r = r * 2.0f + a;
  return r;
}
kernel void loops(global float *p, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  float acc = 0;
  for (int i = 0; i < n; i++) { if ((id ^ i) & 1) acc += p[i]; else acc -= p[i + id]; }
  p[id] = acc;
}
kernel void shared(global int *p) {
  local int t[256];
  int id = __builtin_amdgcn_workitem_id_x();
  t[id] = p[id];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  p[id] = t[255 - id] + __builtin_amdgcn_workgroup_id_x() + __builtin_amdgcn_workgroup_id_y();
}
kernel void calls(global float *p, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  p[id] = twice(p[id], n);
}
kernel void scratch(global int *p, int n) {
  volatile int a[64];
  for (int i = 0; i < 64; i++) a[i] = p[i];
  p[0] = a[n & 63];
}
"#;

/// Matrix products in accumulation registers.
const MATRIX: &str = r#"
typedef float f4 __attribute__((ext_vector_type(4)));
kernel void matrix(global f4 *p, float a, float b, int n) {
  f4 c = p[0];
  for (int i = 0; i < n; i++) c = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
  p[__builtin_amdgcn_workitem_id_x()] = c;
}
"#;

const TARGETS: [&str; 6] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

fn compile(folder: &Path, target: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let (input, output) = (folder.join("edits.cl"), folder.join("edits.co"));
    std::fs::write(&input, source).unwrap();
    let mut clang = Command::new("clang-22");
    let is_opencl = !flags.contains(&"-x");
    if is_opencl {
        clang.args(["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header"]);
    }
    clang.args(["-nogpulib", "-w", "--target=amdgcn-amd-amdhsa", &format!("-mcpu={target}")]);
    clang.args(flags);
    let status = clang.arg("-o").arg(&output).arg(&input).status().unwrap();
    assert!(status.success(), "{target} {flags:?}");
    std::fs::read(output).unwrap()
}

fn patcher() -> Patcher {
    Patcher::new(RuleSet::by_name("none").unwrap(), Options::default()).unwrap()
}

fn edited(file: &[u8], edit: CodeEdit) -> Patched {
    patcher().with_edits(vec![edit]).patch(file).unwrap()
}

/// The result of an edit, which LLVM decodes and the validator accepts.
fn held(what: &str, file: &[u8], edit: CodeEdit, folder: &Path) -> (Vec<u8>, Manifest) {
    let Patched { bytes, manifest } = edited(file, edit);
    assert_eq!(manifest.verdict, Verdict::Changed, "{what}: {:?}", manifest.remarks);
    let bytes = bytes.unwrap();
    assert_eq!(patcher().verify(file, &bytes, &manifest), [], "{what}");
    let path: PathBuf = folder.join("result.co");
    std::fs::write(&path, &bytes).unwrap();
    let listing = Command::new("llvm-objdump-22").arg("-d").arg(&path).output().unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    assert_eq!(manifest.pool.is_some(), listing.contains(".text.hsaco"), "{what}");
    for odd in ["<unknown>", ".long", ".byte"] {
        assert!(!listing.contains(odd), "{what}: {odd}");
    }
    check_ways(what, &bytes, &manifest);
    (bytes, manifest)
}

fn decoder(object: &CodeObject<'_>) -> Decoder {
    Code::of(object).unwrap().usual_decoder().clone()
}

/// Every branch of every replacement leads to code of the original, or inside its own replacement.
fn check_ways(what: &str, bytes: &[u8], manifest: &Manifest) {
    let object = CodeObject::parse(bytes).unwrap();
    let decoder = decoder(&object);
    let Some(pool) = manifest.pool else { return };
    for record in &manifest.records {
        let Some(body) = &record.body else { continue };
        let stream = Stream::decode(&decoder, body.address, &body.new);
        let own = body.address..body.address + body.new.len() as u64;
        for step in 0..stream.len() {
            let Some(inst) = stream.inst(step) else { panic!("{what}: undecoded") };
            let Some(target) = inst.branch_target(stream.address_of(step)) else { continue };
            let is_old = !(pool.address..pool.address + pool.size).contains(&target);
            assert!(is_old || own.contains(&target), "{what}: a branch to {target:#x}");
        }
        // A conditional branch at the end of the site leads where it led.
        let old = Stream::decode(&decoder, record.site.address, &record.site.old);
        let last = old.len() - 1;
        let led = old.inst(last).unwrap().branch_target(old.address_of(last));
        if let Some(led) = led {
            let leads = (0..stream.len())
                .filter_map(|step| stream.inst(step)?.branch_target(stream.address_of(step)));
            assert!(
                leads.into_iter().any(|target| target == led),
                "{what}: nothing leads to {led:#x}"
            );
        }
    }
}

fn kernel_entry(file: &[u8], name: &str) -> u64 {
    let object = CodeObject::parse(file).unwrap();
    let index = object.index();
    index.kernels().iter().find(|it| it.name() == name).unwrap().entry().unwrap()
}

/// Counting, inserting and replacing, on every target and at both levels.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_clang_compiles_for_any_target_can_be_edited() {
    let folder = scratch_dir();
    for target in TARGETS {
        for (level, source, kernel) in
            [("-O0", SOURCE, "loops"), ("-O2", SOURCE, "loops"), ("-O0", DIRECT, "direct")]
        {
            let language: &[&str] = if kernel == "direct" { &["-x", "c", "-std=c11"] } else { &[] };
            let file = compile(folder.path(), target, source, &[&[level], language].concat());
            let at = kernel_entry(&file, kernel);
            let lines = vec!["s_nop 3".to_owned(), "s_nop 4".to_owned()];
            let edits = [
                CodeEdit::Count(Points::Blocks),
                CodeEdit::Count(Points::Entries),
                CodeEdit::Insert(at, lines.clone()),
                CodeEdit::Replace(at, lines),
            ];
            for edit in edits {
                let what = format!("{target} {level} {kernel} {edit:?}");
                held(&what, &file, edit, folder.path());
            }
            check_set(&format!("{target} {level} {kernel}"), &file, kernel);
        }
    }
}

/// A number of a kernel is set in descriptor and metadata, and the validator accepts that.
fn check_set(what: &str, file: &[u8], kernel: &str) {
    let settings: [KernelSetting; 1] = [format!("{kernel}.vgpr_count=77").parse().unwrap()];
    let Patched { bytes, manifest } = set(file, &settings).unwrap();
    let bytes = bytes.unwrap();
    assert_eq!(verify_set(file, &bytes, &manifest), [], "{what}");
    let object = CodeObject::parse(&bytes).unwrap();
    let index = object.index();
    let changed = index.kernels().iter().find(|it| it.name() == kernel).unwrap();
    assert_eq!(changed.metadata().unwrap().decode().unwrap().vgpr_count, Some(77), "{what}");
}

/// Every instruction of a kernel can be the place: branches lead where they led, and the program counter is read as it was.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn instructions_can_be_inserted_before_any_instruction() {
    let folder = scratch_dir();
    for target in TARGETS {
        let file = compile(folder.path(), target, SOURCE, &["-O2"]);
        let object = CodeObject::parse(&file).unwrap();
        let decoder = decoder(&object);
        for name in ["loops", "calls"] {
            let entry = kernel_entry(&file, name);
            let size = 64;
            let code = object.elf().at_address(entry, size * 4).unwrap();
            let stream = Stream::decode(&decoder, entry, code);
            for step in 0..stream.len() {
                let Some(inst) = stream.inst(step) else { continue };
                let address = stream.address_of(step);
                let edit = CodeEdit::Insert(address, vec!["s_nop 3".to_owned(); 2]);
                let Patched { bytes, manifest } = edited(&file, edit);
                let what = format!("{target} {name} {} at {address:#x}", decoder.text(&inst));
                assert_eq!(manifest.verdict, Verdict::Changed, "{what}: {:?}", manifest.remarks);
                let bytes = bytes.unwrap();
                assert_eq!(patcher().verify(&file, &bytes, &manifest), [], "{what}");
                check_ways(&what, &bytes, &manifest);
                if inst.mnemonic().contains("getpc") || inst.mnemonic().contains("get_pc") {
                    check_counter(&what, &decoder, &manifest, address + 4);
                }
                if inst.flow() == Flow::End {
                    break;
                }
            }
        }
    }
}

/// The replacement of an instruction that reads the program counter makes what that read.
fn check_counter(what: &str, decoder: &Decoder, manifest: &Manifest, value: u64) {
    let record = manifest.records.iter().find(|it| it.site.address + 4 == value).unwrap();
    let body = record.body.as_ref().unwrap();
    // A jump to what was made, so that values are worked out.
    let get = decoder.decode(&record.site.old).unwrap();
    let pair = (u32::from_le_bytes(get.bytes()[..4].try_into().unwrap()) >> 16 & 0x7f) as u8;
    let jump = [0x1d_u8, 0x20, 0x48]
        .map(|op| [pair, op, 0x80, 0xbe])
        .into_iter()
        .find(|bytes| decoder.decode(bytes).is_some_and(|it| it.flow() == Flow::IndirectJump));
    let code = body.new.len() - record.way_back;
    let bytes = [&body.new[..code], &jump.unwrap()[..]].concat();
    let stream = Stream::decode(decoder, body.address, &bytes);
    let cfg = Cfg::new(decoder, &stream);
    let values = Values::new(decoder, &stream, &cfg);
    assert_eq!(values.target(stream.len() - 1), Address::Known(value), "{what}");
}

/// Functions that clang compiled, which change EXEC, are called at entries and blocks, with arguments and without.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn functions_that_clang_compiled_are_called_on_any_target() {
    let folder = scratch_dir();
    for target in TARGETS {
        let file = compile(folder.path(), target, SOURCE, &["-O2"]);
        let calls = [
            (Points::Entries, "probe"),
            (Points::Blocks, "probe"),
            (Points::Entries, "given(kernarg, workgroup_id_x, 42)"),
            (Points::Entries, "given(0x123456789l, 7, 42)"),
        ];
        for (points, call) in calls {
            let what = format!("{target} {points:?} {call}");
            let edit = CodeEdit::Call(points, call.parse().unwrap());
            let (_, manifest) = held(&what, &file, edit, folder.path());
            check_lanes(&what, &file, &manifest);
        }
        let missing =
            edited(&file, CodeEdit::Call(Points::Entries, "given(kernarg)".parse().unwrap()));
        let (_, why) = missing.manifest.refusals().next().unwrap();
        assert!(why.detail.contains("`given` cannot be called: it takes v"), "{target}: {why}");
    }
}

/// EXEC is at the end what it was at the start: its halves come back from where they were saved.
fn check_lanes(what: &str, file: &[u8], manifest: &Manifest) {
    let object = CodeObject::parse(file).unwrap();
    let decoder = decoder(&object);
    for record in &manifest.records {
        let code = record.code();
        let stream = Stream::decode(&decoder, 0, code);
        let text: Vec<String> = stream.insts().map(|inst| decoder.text(&inst)).collect();
        for half in ["exec_lo", "exec_hi"] {
            let saved = text.iter().find_map(|line| {
                line.strip_prefix("s_mov_b32 ")?.strip_suffix(&format!(", {half}"))
            });
            let restored = text
                .iter()
                .rev()
                .find_map(|line| line.strip_prefix(&format!("s_mov_b32 {half}, ")));
            assert_eq!(saved, restored, "{what} {half}: {text:#?}");
        }
        if record.rules[0].0 == "call" && !code.is_empty() {
            assert!(text.iter().any(|line| line.contains(", exec_lo")), "{what}: {text:#?}");
        }
    }
}

/// A function that keeps its variables in memory has its stack behind what kernels have there.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn functions_with_a_stack_are_called_on_any_target() {
    let folder = scratch_dir();
    for target in TARGETS {
        let split = compile(folder.path(), target, SOURCE, &["-O0"]);
        let direct = compile(folder.path(), target, DIRECT, &["-O0", "-x", "c", "-std=c11"]);
        let given = "given(kernarg, workgroup_id_x, 42)";
        let calls = [
            (&split, Points::Entries, given),
            (&split, Points::Blocks, "probe"),
            (&direct, Points::Entries, "probe"),
            (&direct, Points::Blocks, "probe"),
        ];
        for (file, points, call) in calls {
            let what = format!("{target} {points:?} {call}");
            let edit = CodeEdit::Call(points, call.parse().unwrap());
            let (bytes, manifest) = held(&what, file, edit, folder.path());
            check_scratch(&what, &bytes, &manifest);
        }
        let edit = CodeEdit::Call(Points::Blocks, "probe".into());
        let (_, manifest) = held(target, &direct, edit, folder.path());
        assert!(manifest.records.len() > 4, "{target}: {}", manifest.records.len());
        check_set_up(target, &direct, &manifest);
    }
}

/// A kernel that is the function of its body also where nothing is optimised.
const DIRECT: &str = r"
__attribute__((address_space(1))) unsigned hits[16];
__attribute__((noinline, used)) void probe(void) {
  __scoped_atomic_fetch_add(&hits[0], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
__attribute__((amdgpu_kernel)) void direct(__attribute__((address_space(1))) float *p, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  float acc = 0;
  for (int i = 0; i < n; i++) { if ((id ^ i) & 1) acc += p[i]; else acc -= p[i + id]; }
  p[id] = acc;
}
";

/// Kernels ask for more scratch memory than they had.
fn check_scratch(what: &str, bytes: &[u8], manifest: &Manifest) {
    let object = CodeObject::parse(bytes).unwrap();
    for (kernel, record) in object.index().kernels().iter().zip(&manifest.kernels) {
        let scratch = kernel.metadata().unwrap().decode().unwrap().private_segment_fixed_size;
        let named = record.settings.iter().find(|it| it.name == ".private_segment_fixed_size");
        let named = named.unwrap();
        assert_eq!(scratch.unwrap().to_string(), named.new, "{what}");
        assert!(named.new.parse::<u64>().unwrap() > named.old.parse().unwrap(), "{what}");
    }
}

/// Where a kernel sets up scratch memory, a call before that does what the kernel does, and no other call does.
fn check_set_up(what: &str, file: &[u8], manifest: &Manifest) {
    let object = CodeObject::parse(file).unwrap();
    let decoder = decoder(&object);
    let entry = kernel_entry(file, "direct");
    let code = object.elf().at_address(entry, 64).unwrap();
    let text = |code: &[u8]| -> Vec<String> {
        Stream::decode(&decoder, 0, code).insts().map(|inst| decoder.text(&inst)).collect()
    };
    let made = |line: &&String| {
        line.starts_with("s_add_u32 s0, s0,") || line.starts_with("s_add_u32 flat_scratch_lo,")
    };
    let sets = |line: &&String| line.contains("HW_REG_FLAT_SCR");
    let prologue = text(code);
    let expected: Vec<&String> = prologue.iter().filter(made).collect();
    let is_set_up = ["gfx90a", "gfx1030"].contains(&what);
    assert_eq!(!expected.is_empty(), is_set_up, "{what}: {prologue:#?}");
    for record in &manifest.records {
        let body = text(record.code());
        let is_first = record.site.address == entry;
        let found: Vec<&String> = body.iter().filter(made).collect();
        let wanted = if is_first { expected.clone() } else { Vec::new() };
        assert_eq!(found, wanted, "{what} {:#x}: {body:#?}", record.site.address);
        let setregs = if is_first { prologue.iter().filter(sets).count() } else { 0 };
        assert_eq!(body.iter().filter(sets).count(), setregs, "{what}");
    }
}

/// A kernel that has no scratch memory set up is not given any.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_kernel_without_scratch_memory_that_would_have_to_set_it_up_is_refused() {
    let folder = scratch_dir();
    let kept = "(void) { private *kept = (private *)__builtin_alloca(4); *kept = 0;";
    let private = "typedef volatile __attribute__((address_space(5))) int private;";
    let without = [private, &DIRECT.replace("(void) {", kept)].concat();
    for target in ["gfx90a", "gfx1030"] {
        let file = compile(folder.path(), target, &without, &["-O2", "-x", "c", "-std=c11"]);
        let refused = edited(&file, CodeEdit::Call(Points::Entries, "probe".into()));
        let (_, why) = refused.manifest.refusals().next().unwrap();
        let said = "`probe` uses a stack: kernels of";
        assert!(why.detail.starts_with(said), "{target}: {why}");
        assert!(why.detail.ends_with("the kernel does not ask for it"), "{target}: {why}");
    }
}

/// Accumulation registers stay where the code finds them, and matrix instructions have read their operands.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn accumulation_registers_are_not_run_into() {
    let folder = scratch_dir();
    for target in ["gfx90a", "gfx942"] {
        for level in ["-O2", "-O0"] {
            let file = compile(folder.path(), target, MATRIX, &[level]);
            let what = format!("{target} {level}");
            let (bytes, manifest) =
                held(&what, &file, CodeEdit::Count(Points::Blocks), folder.path());
            let object = CodeObject::parse(&bytes).unwrap();
            let kernel = object.index().kernels()[0];
            let generation = object.target().generation().unwrap();
            let descriptor = kernel.descriptor().unwrap();
            let offset = descriptor.accum_offset(generation).unwrap();
            let leases = manifest.records.iter().flat_map(|it| &it.scratch_registers);
            let vectors = leases.filter(|it| it.to_string().starts_with('v'));
            let most = vectors.map(|it| u32::from(it.first) + u32::from(it.count)).max().unwrap();
            assert!(most <= offset, "{what}: {most} of {offset}");
            let said = kernel.metadata().unwrap().decode().unwrap();
            let agprs = said.agpr_count.unwrap_or(0);
            assert!(
                u64::from(descriptor.vgprs(generation)) >= u64::from(offset) + agprs.min(1),
                "{what}"
            );
        }
    }
}

/// Waves of 64 lanes where 32 are usual, and kernels of both sizes in one object.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn waves_of_both_sizes_are_edited() {
    let folder = scratch_dir();
    for target in ["gfx1030", "gfx1100", "gfx1201"] {
        let file = compile(folder.path(), target, SOURCE, &["-O2", "-mwavefrontsize64"]);
        let what = format!("{target} wave64");
        let (_, manifest) = held(&what, &file, CodeEdit::Count(Points::Blocks), folder.path());
        check_lanes(&what, &file, &manifest);
        let options =
            DecodeOptions { wave_size: Some(WaveSize::Wave64), ..DecodeOptions::default() };
        let processor = CodeObject::parse(&file).unwrap().target().id().unwrap().processor;
        let decoder = Decoder::with_options(processor, options).unwrap();
        let stream = Stream::decode(&decoder, 0, manifest.records[0].code());
        let text: Vec<String> = stream.insts().map(|inst| decoder.text(&inst)).collect();
        assert!(text.iter().any(|line| line == "s_mov_b32 exec_hi, 0"), "{what}: {text:#?}");
    }
}
