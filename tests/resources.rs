//! What kernels need beside what they are given, and how many of their waves run at once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use hsaco::analysis::{Allocation, CallGraph, Code, demand};
use hsaco::object::CodeObject;
use hsaco_tests::program::{hsaco_fine, sh};
use hsaco_tests::{fixture, scratch_dir};

const COMPILE: &str = "clang-22 -x c --target=amdgcn-amd-amdhsa -nogpulib -O2";
const ASSEMBLE: &str = "llvm-mc-22 --triple=amdgcn-amd-amdhsa -filetype=obj";

const HEAD: &str = "
#define KERNEL(...) __attribute__((amdgpu_kernel, visibility(\"protected\") __VA_ARGS__)) void
#define GLOBAL __attribute__((address_space(1)))
#define NOINLINE __attribute__((noinline))
";

const CALLER: &str = "
extern __attribute__((visibility(\"default\"))) int extdev(int);
NOINLINE int between(int x) { return extdev(x + 1) * 2; }
KERNEL() far(GLOBAL int *out, int n) { out[0] = between(n); }
KERNEL() near(GLOBAL int *out, int n) { out[0] = extdev(n); }
KERNEL() apart(GLOBAL int *out, int n) { out[0] = n; }
";

/// An assembly function that writes v200, which neither compiler nor linker tells the kernels that call it.
const CALLEE: &str = "
.globl extdev
.p2align 8
.type extdev,@function
extdev:
  v_mov_b32 v200, v0
  v_add_u32 v0, v200, v200
  s_setpc_b64 s[30:31]
.size extdev, .-extdev
";

/// For each kernel what its descriptor allocates too little of, and the way to who needs it.
fn shortages(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let object = CodeObject::parse(&bytes).unwrap();
    let code = Code::of(&object).unwrap();
    let processor = code.processor();
    let graph = CallGraph::new(&code);
    let mut text = String::new();
    for kernel in object.index().kernels() {
        let allocation = Allocation::of(kernel, processor.generation()).unwrap();
        let entry = graph.function_at(kernel.entry().unwrap()).unwrap();
        let needs = graph.needs(entry, processor, allocation.wave);
        let name = |number: &usize| graph.functions()[*number].name.unwrap().to_string();
        let route: Vec<String> = needs.vgprs.route.iter().map(name).collect();
        for short in allocation.shortages(&needs) {
            let (what, allocated, needed) = (short.resource.name(), short.allocated, short.needed);
            let route = route.join(" > ");
            writeln!(
                text,
                "{}: {what}: {allocated} allocated, {needed} needed by {route}",
                kernel.name()
            )
            .unwrap();
        }
    }
    text
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_callee_that_needs_more_than_its_kernel_has_is_found() {
    let folder = scratch_dir();
    fs::write(folder.path().join("caller.c"), format!("{HEAD}{CALLER}")).unwrap();
    for (target, allocated) in
        [("gfx90a", 48), ("gfx942", 48), ("gfx1030", 48), ("gfx1201", 48), ("gfx1250", 48)]
    {
        let is_old = target.starts_with("gfx9");
        let callee =
            if is_old { CALLEE.to_owned() } else { CALLEE.replace("v_add_u32", "v_add_nc_u32") };
        fs::write(folder.path().join("callee.s"), callee).unwrap();
        sh(folder.path(), &format!("{COMPILE} -mcpu={target} -c caller.c -o caller.o"));
        sh(folder.path(), &format!("{ASSEMBLE} -mcpu={target} callee.s -o callee.o"));
        sh(folder.path(), "ld.lld-22 -shared caller.o callee.o -o linked.co");
        let expected = format!(
            "far: vgprs: {allocated} allocated, 201 needed by far > between > extdev\n\
             near: vgprs: {allocated} allocated, 201 needed by near > extdev\n"
        );
        assert_eq!(shortages(&folder.path().join("linked.co")), expected, "{target}");
    }
}

/// Functions that call functions, with arrays on their stacks.
const CALLS: &str = "
NOINLINE int leaf(int x) { return x * 3 + 1; }
NOINLINE int array(int x) { volatile int a[8]; a[x & 7] = x; return a[3] + 1; }
NOINLINE int middle(int x) { volatile int a[20]; a[x & 7] = x; return leaf(x) + array(x + a[2]); }
NOINLINE int many(GLOBAL int *p) {
  int v[60], sum = 0;
  for (int i = 0; i < 60; i++) v[i] = p[i];
  for (int i = 0; i < 60; i++) sum += v[i] * leaf(v[59 - i]);
  return sum;
}
static int (*const table[])(int) = {leaf, array, middle};
KERNEL() nested(GLOBAL int *out, int n) { out[0] = middle(n); }
KERNEL() wide(GLOBAL int *out) { out[0] = many(out); }
KERNEL() chosen(GLOBAL int *out, int n) { out[0] = table[n](n); }
";

/// Row C16 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn compiled_kernels_need_no_more_than_the_compiler_says_with_all_that_they_call() {
    let folder = scratch_dir();
    fs::write(folder.path().join("calls.c"), format!("{HEAD}{CALLS}")).unwrap();
    let (mut equal, mut all) = (0, 0);
    for target in ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
        for level in ["-O0", "-O1", "-O3"] {
            sh(folder.path(), &format!("{COMPILE} {level} -mcpu={target} -c calls.c -o calls.o"));
            sh(folder.path(), "ld.lld-22 -shared calls.o -o calls.co");
            let bytes = fs::read(folder.path().join("calls.co")).unwrap();
            let object = CodeObject::parse(&bytes).unwrap();
            let code = Code::of(&object).unwrap();
            let processor = code.processor();
            let graph = CallGraph::new(&code);
            for kernel in object.index().kernels() {
                let declared = kernel.resources(Some(processor.generation())).0;
                let function = graph.function_at(kernel.entry().unwrap()).unwrap();
                let needs = graph.needs(function, processor, code.usual_wave_size());
                assert!(needs.reach.functions.len() > 1);
                let needed = [&needs.vgprs, &needs.sgprs, &needs.scratch].map(|it| it.count);
                let given = [declared.vgprs, declared.sgprs, declared.scratch];
                // The stack of who knows whom is left to the runtime.
                let counted = if needs.reach.is_complete() { 3 } else { 2 };
                let pairs = needed.iter().zip(given).take(counted);
                for (need, given) in pairs {
                    let name = kernel.name();
                    assert!(
                        u64::from(*need) <= given.unwrap(),
                        "{target} {level} {name}: {needed:?} of {given:?}"
                    );
                }
                all += 1;
                equal += usize::from(Some(u64::from(needed[0])) == declared.vgprs);
            }
        }
    }
    println!("{equal} of {all} kernels use exactly as many vector registers as declared");
    assert!(equal * 10 >= all * 6, "{equal} of {all}");
}

/// Stacks of a size that only run time knows, and stacks of a known size.
const STACKS: &str = "
extern __attribute__((visibility(\"default\"))) int extdev(int);
__attribute__((visibility(\"protected\"))) int (*pointer)(int);
NOINLINE int leaf(int x) { return x * 3 + 1; }
NOINLINE int again(int x) { return x < 2 ? 1 : x * again(x - 1) + leaf(x); }
NOINLINE int any_size(int n) { volatile int a[n]; a[0] = n; return a[n / 2]; }
NOINLINE int fixed_size(int n) { volatile int a[9]; a[n & 7] = n; return a[n / 2 & 7]; }
KERNEL() array(GLOBAL int *out, int n) { volatile int a[n]; a[n / 2] = n; out[0] = a[1]; }
KERNEL() allocated(GLOBAL int *out, int n) {
  volatile int *a = __builtin_alloca(n); a[n / 8] = n; out[0] = a[1];
}
KERNEL() array_below(GLOBAL int *out, int n) { out[0] = any_size(n); }
KERNEL() recursive(GLOBAL int *out, int n) { out[0] = again(n); }
KERNEL() external(GLOBAL int *out, int n) { out[0] = extdev(n); }
KERNEL() indirect(GLOBAL int *out, int n) { out[0] = pointer(n); }
KERNEL() calls(GLOBAL int *out, int n) { out[0] = leaf(n); }
KERNEL() fixed(GLOBAL int *out, int n) { out[0] = fixed_size(n); }
KERNEL() none(GLOBAL int *out, int n) { out[0] = n; }
";

/// Whether the stack of each kernel grows, as the command says it.
fn dynamic_stacks(path: &Path) -> BTreeMap<String, bool> {
    let words = ["resources", "--format", "json"].map(OsString::from);
    let ran = hsaco_fine(words.into_iter().chain([path.into()]));
    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let kernels = answer["files"][0]["objects"][0]["kernels"].as_array().unwrap();
    let row = |kernel: &serde_json::Value| {
        let name = kernel["name"].as_str().unwrap().to_owned();
        (name, kernel["dynamic_stack"].as_bool().unwrap())
    };
    kernels.iter().map(row).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn stacks_that_grow_are_those_that_llvm_says() {
    let folder = scratch_dir();
    fs::write(folder.path().join("stacks.c"), format!("{HEAD}{STACKS}")).unwrap();
    for target in ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
        // Without optimisation LLVM knows no callee, and all that call are among them.
        for (level, growing) in [("-O0", 8), ("-O2", 6)] {
            sh(folder.path(), &format!("{COMPILE} {level} -mcpu={target} -c stacks.c -o stacks.o"));
            sh(folder.path(), "ld.lld-22 -shared stacks.o -o stacks.co");
            let notes = sh(folder.path(), "llvm-readelf-22 --notes stacks.co");
            // A kernel is four blanks in, an argument of one six.
            let values = |key: &str| {
                let key = format!("    {key}:");
                let lines = notes.lines().filter_map(move |line| line.strip_prefix(&key));
                lines.map(|it| it.trim().to_owned()).collect::<Vec<_>>()
            };
            let says = values(".uses_dynamic_stack").into_iter().map(|it| it == "true");
            let llvm: BTreeMap<String, bool> = values(".name").into_iter().zip(says).collect();
            assert_eq!(llvm.values().filter(|it| **it).count(), growing, "{llvm:?}");
            for file in ["stacks.o", "stacks.co"] {
                let ours = dynamic_stacks(&folder.path().join(file));
                assert_eq!(ours, llvm, "{target} {level} {file}");
            }
        }
    }
}

/// Before version 5 neither descriptor nor metadata say it: the code does, where there are calls.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn calls_show_that_stacks_grow_where_the_object_does_not_say_it() {
    let folder = scratch_dir();
    fs::write(folder.path().join("stacks.c"), format!("{HEAD}{STACKS}")).unwrap();
    for target in ["gfx90a", "gfx1030"] {
        let options = format!("-mcode-object-version=4 -mcpu={target}");
        sh(folder.path(), &format!("{COMPILE} {options} -c stacks.c -o stacks.o"));
        sh(folder.path(), "ld.lld-22 -shared stacks.o -o stacks.co");
        let stacks = dynamic_stacks(&folder.path().join("stacks.co"));
        for name in ["array_below", "recursive", "external", "indirect"] {
            assert!(stacks[name], "{target}: {name}");
        }
        for name in ["calls", "fixed", "none"] {
            assert!(!stacks[name], "{target}: {name}");
        }
    }
}

/// Kernels that differ in registers, LDS and workgroups: attributes, LDS bytes, live values.
const KERNELS: [(&str, u32, u32); 24] = [
    ("", 0, 1),
    ("", 0, 20),
    ("", 0, 40),
    ("", 0, 70),
    ("", 0, 120),
    ("", 0, 240),
    ("", 1024, 4),
    ("", 9000, 4),
    ("", 16384, 30),
    ("", 40000, 4),
    ("", 65536, 4),
    ("amdgpu_flat_work_group_size(1, 1024)", 9000, 4),
    ("amdgpu_flat_work_group_size(1, 1024)", 20000, 4),
    ("amdgpu_flat_work_group_size(1, 64)", 4096, 4),
    ("amdgpu_flat_work_group_size(1, 512)", 20000, 4),
    ("amdgpu_flat_work_group_size(1, 1024)", 0, 100),
    ("reqd_work_group_size(64, 1, 1)", 3000, 4),
    ("reqd_work_group_size(256, 1, 1)", 12000, 50),
    ("reqd_work_group_size(16, 16, 4)", 33000, 4),
    ("reqd_work_group_size(192, 1, 1)", 0, 4),
    ("amdgpu_num_vgpr(24)", 0, 60),
    ("amdgpu_waves_per_eu(2, 4)", 0, 10),
    ("amdgpu_num_sgpr(90)", 0, 4),
    ("amdgpu_waves_per_eu(1, 1)", 8192, 200),
];

/// An OpenCL kernel that keeps so many values of every lane alive at once.
fn kernel(number: usize, (attribute, lds, values): (&str, u32, u32)) -> String {
    let attribute = match attribute {
        "" => String::new(),
        attribute => format!("__attribute__(({attribute}))"),
    };
    let body = format!(
        "int item = __builtin_amdgcn_workitem_id_x(), v[{values}];
         for (int i = 0; i < {values}; i++) v[i] = in[item * {values} + i];
         __asm__ volatile(\"; all loaded\" ::: \"memory\");
         int sum = v[0];
         for (int i = 1; i < {values}; i++) sum = sum * v[i] + v[{values} - i];"
    );
    let exchange = match lds / 4 {
        0 => String::new(),
        words => format!(
            "local int memory[{words}];
             memory[item] = sum; __builtin_amdgcn_s_barrier(); sum = memory[item + 1];"
        ),
    };
    let registers = match attribute.contains("num_sgpr") {
        true => "__asm__ volatile(\"s_mov_b32 s80, 0\" ::: \"s80\");",
        false => "",
    };
    format!(
        "kernel {attribute} void kernel{number}(global int *out, global const int *in) {{
         {body} {exchange} {registers} out[item] = sum; }}\n"
    )
}

/// The `Occupancy` comments of an assembly file, by function.
fn occupancy_comments(assembly: &str) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    let mut function = String::new();
    for line in assembly.lines() {
        if let Some(name) =
            line.trim().strip_prefix(".globl").map(|it| it.split(';').next().unwrap())
        {
            function = name.trim().to_owned();
        }
        if let Some(waves) = line.trim().strip_prefix("; Occupancy: ") {
            found.insert(function.clone(), waves.trim().parse().unwrap());
        }
    }
    found
}

/// Row C16 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn occupancy_is_what_llvm_says() {
    let folder = scratch_dir();
    let source: String =
        KERNELS.iter().enumerate().map(|(number, parts)| kernel(number, *parts)).collect();
    fs::write(folder.path().join("kernels.cl"), source).unwrap();
    let (mut compared, mut different) = (0, BTreeSet::new());
    let mut wrong = Vec::new();
    for options in [
        "-mcpu=gfx803",
        "-mcpu=gfx900",
        "-mcpu=gfx908",
        "-mcpu=gfx90a",
        "-mcpu=gfx942",
        "-mcpu=gfx950",
        "-mcpu=gfx1010",
        "-mcpu=gfx1030",
        "-mcpu=gfx1030 -mcumode",
        "-mcpu=gfx1030 -mwavefrontsize64",
        "-mcpu=gfx1100",
        "-mcpu=gfx1151",
        "-mcpu=gfx1102 -mcumode",
        "-mcpu=gfx1201",
        "-mcpu=gfx1201 -mwavefrontsize64",
        "-mcpu=gfx1250",
    ] {
        let compile = "clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -nogpulib -O2";
        sh(folder.path(), &format!("{compile} {options} -S kernels.cl -o kernels.s"));
        let assemble = "clang-22 --target=amdgcn-amd-amdhsa -nogpulib";
        sh(folder.path(), &format!("{assemble} {options} -c kernels.s -o kernels.o"));
        sh(folder.path(), "ld.lld-22 -shared kernels.o -o kernels.co");
        let comments =
            occupancy_comments(&fs::read_to_string(folder.path().join("kernels.s")).unwrap());
        assert_eq!(comments.len(), KERNELS.len());
        let bytes = fs::read(folder.path().join("kernels.co")).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let processor = object.target().id().unwrap().processor;
        for kernel in object.index().kernels() {
            let demand = demand(kernel, processor.generation()).unwrap();
            let found = processor.limits().occupancy(&demand).unwrap();
            let said = comments[&kernel.name().to_string()];
            compared += 1;
            different.insert((said, demand.vgprs, demand.lds, demand.workgroup.clone().count()));
            if found.waves != said {
                wrong.push(format!(
                    "{options} {}: {} not {said}: {demand:?}",
                    kernel.name(),
                    found.waves
                ));
            }
        }
    }
    println!("{compared} kernels compared, {} of them different", different.len());
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// What `--what-if` answers for each kernel: waves.
fn what_if(object: &Path, change: &str) -> BTreeMap<String, u64> {
    let words = ["resources", "--what-if", change, "--format", "jsonl"];
    let ran = hsaco_fine(words.map(OsString::from).into_iter().chain([object.into()]));
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        (row["name"].as_str().unwrap().to_owned(), row["what_if_occupancy"].as_u64().unwrap())
    };
    String::from_utf8(ran.stdout).unwrap().lines().map(row).collect()
}

/// A kernel that keeps 180 values alive, with fewer registers and less LDS: `--what-if` says of the one that is compiled freely
/// what LLVM says of each that is compiled so.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_if_is_what_llvm_says_of_kernels_that_are_compiled_so() {
    let folder = scratch_dir();
    let compile = "clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -nogpulib -O2";
    let build = |target: &str, name: &str, parts: (&str, u32, u32)| {
        // What is volatile is loaded once, and so held in registers.
        let source = kernel(0, parts)
            .replace("global const int *in", "global const volatile int *in")
            .replace("for (", "\n#pragma unroll\nfor (");
        fs::write(folder.path().join("kernel.cl"), source).unwrap();
        sh(folder.path(), &format!("{compile} -mcpu={target} -S kernel.cl -o kernel.s"));
        sh(
            folder.path(),
            &format!(
                "clang-22 --target=amdgcn-amd-amdhsa -mcpu={target} -nogpulib kernel.s -o {name}"
            ),
        );
        let assembly = fs::read_to_string(folder.path().join("kernel.s")).unwrap();
        let bytes = fs::read(folder.path().join(name)).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let processor = object.target().id().unwrap().processor;
        let demand = demand(&object.index().kernels()[0], processor.generation()).unwrap();
        (demand, occupancy_comments(&assembly)["kernel0"])
    };
    let (mut compared, mut waves) = (0, BTreeSet::new());
    for target in ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
        let (free, _) = build(target, "free.co", ("amdgpu_waves_per_eu(1, 1)", 16384, 180));
        for (registers, lds) in [
            (128, 16384),
            (100, 16384),
            (84, 8192),
            (64, 12288),
            (48, 4096),
            (32, 16384),
            (24, 2048),
        ] {
            let attribute = format!("amdgpu_num_vgpr({registers})");
            let (bound, said) = build(target, "bound.co", (&attribute, lds, 180));
            assert!(bound.vgprs < free.vgprs, "{target} {bound:?}");
            let less = format!("vgprs=-{},lds=-{}", free.vgprs - bound.vgprs, free.lds - bound.lds);
            let same = format!("vgprs={},lds={}", bound.vgprs, bound.lds);
            for change in [less, same] {
                // Of code that spills, scalar registers change, too.
                let change = format!("{change},sgprs={}", bound.sgprs);
                let answer = what_if(&folder.path().join("free.co"), &change);
                assert_eq!(answer["kernel0"], u64::from(said), "{target} {change}");
                compared += 1;
            }
            waves.insert((target, said));
        }
    }
    println!("{compared} answers compared, {} different", waves.len());
    assert!(waves.len() > 20, "{waves:?}");
}

/// No number of waves is made up for what a device has not.
#[test]
fn what_if_says_what_the_device_has_too_little_of() {
    let answer = |change: &str, format: &str| {
        let object = fixture("s1.gfx942.co");
        let words = ["resources", "-k", "^foo$", "--what-if", change, "--format", format];
        let ran = hsaco_fine(words.map(OsString::from).into_iter().chain([object.into()]));
        String::from_utf8(ran.stdout).unwrap()
    };
    for (change, resource, most) in [
        ("vgprs=513", "vgprs", 512),
        ("sgprs=+200", "sgprs", 110),
        ("lds=64K,workgroup=1025", "workgroup", 1024),
        ("lds=65537,vgprs=512", "lds", 65536),
    ] {
        let text = answer(change, "text");
        let said = format!(": impossible, the device has at most {resource} {most}\n");
        assert!(text.contains(&said), "{change}: {text}");
        let row: serde_json::Value = serde_json::from_str(&answer(change, "jsonl")).unwrap();
        assert_eq!(
            (&row["what_if_occupancy"], &row["what_if_limiter"]),
            (&0.into(), &resource.into())
        );
        let json: serde_json::Value = serde_json::from_str(&answer(change, "json")).unwrap();
        let found = &json["files"][0]["objects"][0]["kernels"][0]["what_if"];
        assert_eq!(found["beyond"][0]["most"], most, "{change}: {found}");
        assert!(found["occupancy"].is_null(), "{change}: {found}");
    }
    let fine = answer("vgprs=1,workgroup=64", "text");
    assert!(
        fine.contains("what if: 1 VGPR, 39 SGPRs, 0 bytes of LDS, workgroups of 64: 8/8 waves"),
        "{fine}"
    );
}

/// A kernel with a number of VGPRs, which its descriptor rounds up.
fn with_vgprs(count: u32) -> String {
    format!(
        "
.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"
.text
.globl k
.p2align 8
.type k,@function
k: s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_next_free_vgpr {count}
.amdhsa_next_free_sgpr 8
.amdhsa_accum_offset {offset}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - {{.name: k, .symbol: k.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: {count}, .max_flat_workgroup_size: 256}}
...
.end_amdgpu_metadata
",
        offset = count.next_multiple_of(4)
    )
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn registers_to_free_are_counted_from_what_was_asked_for() {
    let folder = scratch_dir();
    for (count, waves, fewer) in
        [(70, 8, 6), (72, 8, 8), (65, 8, 1), (66, 8, 2), (97, 5, 1), (130, 4, 2), (136, 4, 8)]
    {
        fs::write(folder.path().join("k.s"), with_vgprs(count)).unwrap();
        sh(folder.path(), &format!("{ASSEMBLE} -mcpu=gfx942 k.s -o k.o"));
        sh(folder.path(), "ld.lld-22 -shared k.o -o k.co");
        let bytes = fs::read(folder.path().join("k.co")).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let processor = object.target().id().unwrap().processor;
        let kernel = object.index().kernels()[0];
        let demand = demand(&kernel, processor.generation()).unwrap();
        let next = processor.limits().occupancy(&demand).unwrap().next.unwrap();
        assert_eq!((next.waves, next.vgprs), (waves, fewer), "{count} VGPRs");
    }
}
