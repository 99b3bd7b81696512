//! Effects and control flow of compiled kernels.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use hsaco::analysis::{
    Address, CallGraph, Cfg, Code, Exit, Function, FunctionKind, Functions, RegisterSet, State,
    States, Stream, Values,
};
use hsaco::container::{EntryKind, WalkOptions, entries};
use hsaco::isa::Decoder;
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::effects::{Flow, Lanes};
use hsaco::isa::model::RegisterFile;
use hsaco::isa::target::WaveSize;
use hsaco::object::{CodeMap, CodeObject, Kernel};
use hsaco_tests::program::sh;
use hsaco_tests::{corpus_file, scratch_dir};

/// Libraries of the corpus, and every how-many-th object of each.
const LIBRARIES: [(&str, usize); 5] = [
    ("bitsandbytes/libbitsandbytes_rocm64.so", 1),
    ("bitsandbytes/libbitsandbytes_rocm72.so", 2),
    ("bitsandbytes/libbitsandbytes_rocm715.so", 1),
    ("debian/librocrand.so.1.1", 2),
    ("debian/librocsparse.so.0.1", 41),
];

fn triton_files() -> Vec<PathBuf> {
    let stamp = corpus_file("triton/fetched.txt");
    let files = fs::read_dir(stamp.parent().unwrap()).unwrap().map(|it| it.unwrap().path());
    files.filter(|it| it.extension().is_some_and(|it| it == "co")).collect()
}

/// Whether 16-bit operands name halves in an object: what leaves fewer words undecoded, halves if both do as well.
fn names_halves(object: &CodeObject<'_>, functions: &Functions<'_>) -> Option<bool> {
    let undecoded = |real_true16: bool| -> Option<usize> {
        let options = DecodeOptions { real_true16: Some(real_true16), ..DecodeOptions::default() };
        let decoder = Decoder::with_options(object.target().id()?.processor, options).ok()?;
        let words = |function: &Function<'_>| {
            function.decode(&decoder).steps().filter(|step| step.inst.is_none()).count()
        };
        Some(functions.as_slice().iter().map(words).sum())
    };
    Some(undecoded(true)? <= undecoded(false)?)
}

/// Calls with each code object of a file.
fn each_object(path: &Path, every: usize, mut visit: impl FnMut(&CodeObject<'_>)) {
    let bytes = fs::read(path).unwrap();
    let objects = entries(&bytes, &WalkOptions::default()).map(Result::unwrap);
    for entry in objects.filter(|it| it.kind == EntryKind::CodeObject).step_by(every) {
        visit(&CodeObject::parse(&entry.data).unwrap());
    }
}

/// Calls with each kernel of a file: object, functions, decoder, kernel, function.
fn each_kernel(
    path: &Path,
    every: usize,
    mut visit: impl FnMut(&CodeObject<'_>, &Decoder, &Kernel<'_>, &Function<'_>),
) {
    each_object(path, every, |object| {
        let Some(processor) = object.target().id().map(|id| id.processor) else { return };
        let Ok(plain) = Decoder::new(processor) else { return };
        let functions = Functions::new(&CodeMap::new(object, &object.index()), &plain);
        let real_true16 = names_halves(object, &functions);
        let decoder = |wave_size: WaveSize| {
            let options = DecodeOptions {
                real_true16,
                wave_size: Some(wave_size),
                ..DecodeOptions::default()
            };
            Decoder::with_options(processor, options).unwrap()
        };
        let (narrow, wide) = (decoder(WaveSize::Wave32), decoder(WaveSize::Wave64));
        for kernel in object.index().kernels() {
            let function = kernel.entry().and_then(|entry| functions.at(entry)).unwrap();
            assert_eq!(function.kind, FunctionKind::Kernel);
            let wave_size = kernel.resources(object.target().generation()).0.wavefront_size;
            let decoder = if wave_size == Some(32) { &narrow } else { &wide };
            visit(object, decoder, kernel, function);
        }
    });
}

fn each_corpus_kernel(
    mut visit: impl FnMut(&CodeObject<'_>, &Decoder, &Kernel<'_>, &Function<'_>),
) {
    for file in triton_files() {
        each_kernel(&file, 1, &mut visit);
    }
    for (name, every) in LIBRARIES {
        let file = corpus_file(name);
        each_kernel(&file, every, &mut visit);
    }
}

/// The registers that reachable instructions name.
fn mentioned(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> RegisterSet {
    let states = States::new(decoder, stream, cfg, Lanes::All);
    let mut set = RegisterSet::default();
    for block in cfg.reverse_post_order() {
        let mut state: State = states.before_block(*block);
        for index in cfg.blocks()[*block].steps() {
            if let Some(inst) = stream.inst(index) {
                let effects = decoder.effects(&inst, state.msb.unwrap_or_default());
                for lanes in [Lanes::All, Lanes::Some] {
                    let replaced = effects.writes().filter(|it| effects.is_overwritten(it, lanes));
                    assert!(replaced.eq(effects.overwrites(lanes)), "{}", decoder.text(&inst));
                }
                effects.reads().chain(effects.writes()).for_each(|register| set.insert(&register));
            }
            state = states.after(state, index);
        }
    }
    set
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn registers_are_within_what_the_metadata_declares() {
    let (mut kernels, mut leaves, mut equal, mut wrong) = (0, 0, 0, Vec::new());
    each_corpus_kernel(|object, decoder, kernel, function| {
        let declared = kernel.resources(object.target().generation()).0;
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let set = mentioned(decoder, &stream, &cfg);
        let used = |file| set.highest(file).map_or(0, |highest| u64::from(highest) + 1);
        let (vgprs, agprs, sgprs) =
            (used(RegisterFile::Vgpr), used(RegisterFile::Agpr), used(RegisterFile::Sgpr));
        let declared_agprs = declared.agprs.unwrap_or(0);
        let unified = object.target().id().is_some_and(|id| {
            id.processor.limits().acc_vgprs == hsaco::isa::target::AccVgprs::Unified
        });
        let declared_vgprs = declared.vgprs.unwrap() - if unified { declared_agprs } else { 0 };
        if vgprs > declared_vgprs || agprs > declared_agprs || sgprs > declared.sgprs.unwrap() {
            wrong.push(format!(
                "{} {}: v{vgprs} a{agprs} s{sgprs}, declared {declared:?}",
                object.target().id().unwrap(),
                kernel.name()
            ));
        }
        kernels += 1;
        let calls =
            |inst: &hsaco::isa::Inst| matches!(inst.flow(), Flow::Call | Flow::IndirectCall);
        if !stream.steps().any(|step| step.inst.as_ref().is_some_and(calls)) {
            leaves += 1;
            equal += usize::from(
                vgprs == declared_vgprs || agprs > 0 && vgprs.next_multiple_of(4) == declared_vgprs,
            );
        }
    });
    println!(
        "{kernels} kernels; {equal} of {leaves} leaves use exactly as many vector registers as declared"
    );
    assert!(
        wrong.is_empty(),
        "{} of {kernels}: {}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert!(equal * 100 >= leaves * 95, "{equal} of {leaves}");
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn registers_of_all_that_a_kernel_calls_are_within_what_the_metadata_declares() {
    let (mut kernels, mut callers, mut wrong) = (0, 0, Vec::new());
    let mut check = |object: &CodeObject<'_>| {
        let Ok(code) = Code::of(object) else { return };
        let processor = code.processor();
        let graph = CallGraph::new(&code);
        for kernel in object.index().kernels() {
            let declared = kernel.resources(object.target().generation()).0;
            let function = graph.function_at(kernel.entry().unwrap()).unwrap();
            let needs = graph.needs(function, processor, code.usual_wave_size());
            let agprs = declared.agprs.unwrap_or(0);
            let unified = processor.limits().acc_vgprs == hsaco::isa::target::AccVgprs::Unified;
            let vgprs = declared.vgprs.unwrap() - if unified { agprs } else { 0 };
            let given = [vgprs, agprs, declared.sgprs.unwrap(), declared.scratch.unwrap()];
            let needed = [&needs.vgprs, &needs.agprs, &needs.sgprs, &needs.scratch];
            kernels += 1;
            callers += usize::from(needs.reach.functions.len() > 1);
            if needed.iter().zip(given).any(|(need, given)| u64::from(need.count) > given) {
                let target = object.target().id().unwrap();
                wrong.push(format!("{target} {}: {needs:?}, declared {declared:?}", kernel.name()));
            }
        }
    };
    for file in triton_files() {
        each_object(&file, 1, &mut check);
    }
    for (name, every) in LIBRARIES {
        let file = corpus_file(name);
        each_object(&file, every, &mut check);
    }
    println!("{kernels} kernels, {callers} of which call functions");
    assert!(
        wrong.is_empty(),
        "{} of {kernels}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(9)].join("\n")
    );
}

/// Row C7 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn blocks_tile_functions_and_start_at_targets() {
    let (mut kernels, mut instructions, mut unknown) = (0, 0, 0);
    each_corpus_kernel(|_, decoder, kernel, function| {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        kernels += 1;
        instructions += stream.len();
        let mut next = 0;
        for block in cfg.blocks() {
            assert_eq!(block.first, next, "{}", kernel.name());
            assert!(block.end > block.first);
            next = block.end;
        }
        assert_eq!(next, stream.len());
        assert_eq!(stream.address_of(next), function.end());
        let leaders: BTreeSet<usize> = cfg.blocks().iter().map(|block| block.first).collect();
        let mut expected = BTreeSet::from([0]);
        for index in 0..stream.len() {
            let Some(inst) = stream.inst(index) else {
                expected.insert(index + 1);
                continue;
            };
            if matches!(inst.flow(), Flow::Branch | Flow::ConditionalBranch) {
                let target = inst.branch_target(stream.address_of(index)).unwrap();
                expected.insert(stream.index_of(target).unwrap());
            }
            if matches!(
                inst.flow(),
                Flow::Branch
                    | Flow::ConditionalBranch
                    | Flow::IndirectJump
                    | Flow::End
                    | Flow::Return
            ) {
                expected.insert(index + 1);
            }
        }
        expected.remove(&stream.len());
        expected.extend(cfg.jumps().iter().filter_map(|jump| match jump.target {
            Address::Known(address) => stream.index_of(address),
            _ => None,
        }));
        assert_eq!(leaders, expected, "{}", kernel.name());
        let reached = cfg.reverse_post_order().iter().map(|block| cfg.blocks()[*block].exit);
        unknown +=
            reached.filter(|exit| matches!(exit, Some(Exit::Unknown | Exit::Outside(_)))).count();
    });
    println!("{kernels} kernels, {instructions} instructions, {unknown} blocks go who knows where");
    assert_eq!(unknown, 0);
}

const CALLS: &str = "
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel)) void
__attribute__((noinline)) int helper(int x) { return x * x + 3; }
int (*pointer)(int) = helper;
__attribute__((noinline)) int tail(int x) { return helper(x + 1); }
KERNEL direct(GLOBAL int *p, int n) { *p = helper(n); }
KERNEL through_tail(GLOBAL int *p, int n) { *p = tail(n); }
KERNEL indirect(GLOBAL int *p) { *p = pointer(*p); }
KERNEL repeated(GLOBAL int *p, int n) { for (int i = 0; i < n; i++) p[i] = helper(i); }
";

/// What the indirect jumps and calls of each function go to.
fn targets(object: &CodeObject<'_>, decoder: &Decoder) -> String {
    let functions = Functions::new(&CodeMap::new(object, &object.index()), decoder);
    let name = |address: u64| {
        functions.at(address).and_then(|it| it.name).map_or("?".to_owned(), |it| it.to_string())
    };
    let mut lines = Vec::new();
    for function in functions.as_slice() {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let values = Values::new(decoder, &stream, &cfg);
        for block in cfg.reverse_post_order() {
            for index in cfg.blocks()[*block].steps() {
                let what = match stream.inst(index).unwrap().flow() {
                    Flow::IndirectCall => "calls",
                    Flow::IndirectJump => "jumps to",
                    _ => continue,
                };
                let target = match values.target(index) {
                    Address::Known(address) => name(address),
                    Address::Loaded(_) => "what memory holds".to_owned(),
                    other => format!("{other:?}"),
                };
                lines.push(format!("{} {what} {target}\n", name(function.address)));
            }
        }
    }
    lines.sort();
    lines.concat()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn materialised_addresses_are_found_on_every_generation() {
    let folder = scratch_dir();
    fs::write(folder.path().join("calls.c"), CALLS).unwrap();
    for target in ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
        sh(
            folder.path(),
            &format!(
                "clang-22 -x c -target amdgcn-amd-amdhsa -mcpu={target} -nogpulib -O2 -mllvm -enable-ipra=0 calls.c -o {target}.co"
            ),
        );
        let bytes = fs::read(folder.path().join(format!("{target}.co"))).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let decoder = Decoder::new(object.target().id().unwrap().processor).unwrap();
        expect![[r#"
            direct calls helper
            helper jumps to Return
            indirect calls what memory holds
            repeated calls helper
            tail jumps to helper
            through_tail calls tail
        "#]]
        .assert_eq(&targets(&object, &decoder));
    }
}
