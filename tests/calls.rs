//! Call graphs of compiled and hand-written code, on every generation.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use hsaco::analysis::{CallGraph, Callee, Code, FunctionKind};
use hsaco::object::CodeObject;
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

const TARGETS: [&str; 11] = [
    "gfx900", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200",
    "gfx1201", "gfx1250",
];

const HEAD: &str = "
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\"))) void
#define GLOBAL __attribute__((address_space(1)))
#define NOINLINE __attribute__((noinline))
#define DEFAULT __attribute__((visibility(\"default\")))
";

/// A function, a pointer to it, a kernel that calls it, one that calls the pointer, one that calls nothing.
const DIRECT: &str = "
NOINLINE int helper(int x) { return x * 3 + 1; }
__attribute__((visibility(\"protected\"))) int (*pointer)(int) = helper;
KERNEL foo(GLOBAL int *out, int n, long offset) { out[offset] = helper(n); }
KERNEL none(void) {}
KERNEL ind(GLOBAL int *out) { out[0] = pointer(1); }
";

/// A tail call, and a function that another object has.
const OUTSIDE: &str = "
extern DEFAULT int extdev(int);
static NOINLINE int helper(int x) { return x * 3 + 1; }
static NOINLINE int tail(int x) { return helper(x + 1); }
KERNEL foo(GLOBAL int *out, int n) { out[0] = tail(n); out[1] = extdev(n); }
";

/// Functions that call others and come back, recursion, choices, tables, functions behind the GOT.
const MANY: &str = "
NOINLINE int leaf(int x) { return x * 3 + 1; }
NOINLINE int array(int x) { volatile int a[8]; a[x & 7] = x; return a[3] + 1; }
NOINLINE int middle(int x) { volatile int a[20]; a[x & 7] = x; return leaf(x) + array(x + a[2]); }
NOINLINE int again(int x) { return x < 2 ? 1 : x * again(x - 1) + leaf(x); }
DEFAULT NOINLINE int shared(int x) { return x - 7; }
NOINLINE int handed_on(int x) { return x / 5; }
static int (*const table[])(int) = {leaf, array};
KERNEL nested(GLOBAL int *out, int n) { out[0] = middle(n); }
KERNEL recursive(GLOBAL int *out, int n) { out[0] = again(n); }
KERNEL repeated(GLOBAL int *out, int n) { for (int i = 0; i < n; i++) out[i] = leaf(i) + shared(i); }
KERNEL by_table(GLOBAL int *out, int n) { out[0] = table[n](n); }
KERNEL hands_on(GLOBAL long *out) { *out = (long)handed_on; }
";

/// Every call of an object: caller, kind, callee, evidence.
fn edges(object: &CodeObject<'_>) -> String {
    let code = Code::of(object).unwrap();
    let graph = CallGraph::new(&code);
    let name = |number: usize| match graph.functions()[number].name {
        Some(name) => name.to_string(),
        None => format!("{:#x}", graph.functions()[number].address),
    };
    let mut lines = Vec::new();
    for number in 0..graph.functions().len() {
        for call in graph.calls(number) {
            let callee = match call.callee {
                Callee::Function(callee) => name(callee),
                Callee::External(external) => format!("external {external}"),
                Callee::Address(address) => format!("{address:#x}"),
                Callee::Unknown => {
                    let names: Vec<String> =
                        graph.callees_of(call).iter().map(|it| name(*it)).collect();
                    format!("one of {names:?}")
                }
            };
            let (kind, evidence) = (call.kind.name(), call.evidence.name());
            let got = if call.slot.is_some() { ", loaded" } else { "" };
            lines.push(format!("{}: {kind} {callee}, by {evidence}{got}\n", name(number)));
        }
        let reach = graph.reach(number);
        if graph.functions()[number].kind == FunctionKind::Kernel && reach.is_recursive {
            lines.push(format!("{}: recursive\n", name(number)));
        }
    }
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// Builds an object, and shows the edges before linking, linked, and linked with relocations kept.
fn build(folder: &Path, name: &str, target: &str, options: &str) -> [String; 3] {
    let object = format!("{name}.{target}.o");
    let compile = "clang-22 -x c --target=amdgcn-amd-amdhsa -nogpulib -O2";
    sh(folder, &format!("{compile} -mcpu={target} {options} -c {name}.c -o {object}"));
    sh(folder, &format!("ld.lld-22 -shared {object} -o linked.co"));
    sh(folder, &format!("ld.lld-22 -shared --emit-relocs {object} -o kept.co"));
    [object.as_str(), "linked.co", "kept.co"].map(|file| {
        let bytes = fs::read(folder.join(file)).unwrap();
        edges(&CodeObject::parse(&bytes).unwrap())
    })
}

/// What is worked out without relocations is exact with them. Before linking no pointer has an address.
fn check(name: &str, source: &str, options: &str, expected: &str) {
    let folder = scratch_dir();
    fs::write(folder.path().join(format!("{name}.c")), format!("{HEAD}{source}")).unwrap();
    let exact = expected
        .replace("data_flow", "static_relocation")
        .replace("dynamic_relocation", "static_relocation");
    for target in TARGETS {
        let [before, linked, kept] = build(folder.path(), name, target, options);
        assert_eq!(linked, expected, "{name} for {target}");
        assert_eq!(kept, exact, "{name} for {target}, relocations kept");
        // The GOT, which counts as a place where addresses are kept, is made by the linker.
        let unlinked = exact.replace(", loaded", "").replace("\"shared\", ", "");
        assert_eq!(before, unlinked, "{name} for {target}, not linked");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn direct_calls_and_calls_through_pointers_are_found() {
    let expected = "\
foo: call helper, by data_flow
ind: call one of [\"helper\"], by address_taken, loaded
";
    check("direct", DIRECT, "", expected);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn tail_calls_and_external_functions_are_found() {
    let expected = "\
foo: call external extdev, by dynamic_relocation, loaded
foo: call tail, by data_flow
tail: tail_call helper, by data_flow
";
    check("outside", OUTSIDE, "", expected);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn nested_recursive_and_chosen_calls_are_found() {
    let expected = "\
again: call again, by data_flow
again: call leaf, by data_flow
by_table: call one of [\"leaf\", \"array\", \"shared\", \"handed_on\"], by address_taken
middle: call array, by data_flow
middle: call leaf, by data_flow
nested: call middle, by data_flow
recursive: call again, by data_flow
recursive: recursive
repeated: call leaf, by data_flow
repeated: call shared, by dynamic_relocation, loaded
";
    check("many", MANY, "", expected);
    check("many", MANY, "-mllvm -enable-ipra=0", expected);
    // Before linking, all of many sections begin at zero.
    check("many", MANY, "-ffunction-sections", expected);
}

/// Sections that are not loaded name functions too: debug information, and the sizes of stacks.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn sections_that_are_not_loaded_take_no_address_of_a_function() {
    let folder = scratch_dir();
    fs::write(folder.path().join("many.c"), format!("{HEAD}{MANY}")).unwrap();
    for target in ["gfx90a", "gfx1030", "gfx1250"] {
        let plain = build(folder.path(), "many", target, "");
        for options in ["-g", "-gdwarf-4", "-g -gz", "-gsplit-dwarf", "-fstack-size-section"] {
            let named = build(folder.path(), "many", target, options);
            assert_eq!(named, plain, "{target} with {options}");
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn calls_are_found_without_symbols() {
    let folder = scratch_dir();
    fs::write(folder.path().join("many.c"), format!("{HEAD}{MANY}")).unwrap();
    for target in TARGETS {
        build(folder.path(), "many", target, "");
        let graph = |file: &str| {
            let bytes = fs::read(folder.path().join(file)).unwrap();
            let object = CodeObject::parse(&bytes).unwrap();
            let graph = CallGraph::new(&Code::of(&object).unwrap());
            let calls = |number: usize| -> Vec<String> {
                graph.calls(number).iter().map(|call| format!("{call:?}")).collect()
            };
            let all = graph.functions().iter().enumerate();
            all.map(|(at, function)| (function.address, calls(at))).collect::<Vec<_>>()
        };
        let whole = graph("linked.co");
        sh(folder.path(), "llvm-strip-22 linked.co");
        assert_eq!(graph("linked.co"), whole, "{target}");
    }
}

/// A call whose distance is in the instruction, for each generation.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn encoded_calls_are_found() {
    let folder = scratch_dir();
    for target in TARGETS {
        let call = if target == "gfx1250" { "s_call_i64" } else { "s_call_b64" };
        let source = format!(
            ".globl caller\n.protected caller\n.globl callee\n.protected callee\n.p2align 8\n.type caller,@function\ncaller:\n {call} s[30:31], callee\n s_endpgm\n\
             .size caller, .-caller\n.p2align 2\n.type callee,@function\ncallee:\n s_branch caller\n\
             .size callee, .-callee\n"
        );
        fs::write(folder.path().join("call.s"), source).unwrap();
        let assemble = "llvm-mc-22 --triple=amdgcn-amd-amdhsa -filetype=obj";
        sh(folder.path(), &format!("{assemble} -mcpu={target} call.s -o call.o"));
        sh(folder.path(), "ld.lld-22 -shared call.o -o call.co");
        sh(folder.path(), "ld.lld-22 -shared --emit-relocs call.o -o kept.co");
        for (file, evidence) in [
            ("call.o", "static_relocation"),
            ("call.co", "encoding"),
            ("kept.co", "static_relocation"),
        ] {
            let bytes = fs::read(folder.path().join(file)).unwrap();
            let found = edges(&CodeObject::parse(&bytes).unwrap());
            let expected = format!(
                "callee: tail_call caller, by {evidence}\ncaller: call callee, by {evidence}\n"
            );
            assert_eq!(found, expected, "{file} for {target}");
        }
    }
}
