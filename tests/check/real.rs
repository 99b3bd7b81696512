//! Real libraries, each object against the device that it is for: nothing may be called an error.

use std::fs;

use hsaco::check::{Checker, Facts, LaunchFacts, Severity};
use hsaco::container::{Container, EntryKind, WalkOptions, entries};
use hsaco::isa::Processor;
use hsaco::isa::target::Generation;
use hsaco_tests::program::sh;
use hsaco_tests::{corpus_dir, corpus_file, scratch_dir};

/// Errors of every object in a file, with the number of objects.
fn errors(checker: &Checker, bytes: &[u8]) -> (usize, Vec<String>) {
    if Container::detect(bytes) == Some(Container::CodeObject) {
        return (1, of_object(checker, bytes));
    }
    let (mut objects, mut found) = (0, Vec::new());
    for entry in entries(bytes, &WalkOptions::default()) {
        let entry = entry.unwrap();
        if entry.kind == EntryKind::CodeObject {
            objects += 1;
            found.extend(of_object(checker, &entry.data));
        }
    }
    (objects, found)
}

fn of_object(checker: &Checker, bytes: &[u8]) -> Vec<String> {
    let report = checker.object(&Facts::read(bytes), None, &LaunchFacts::default());
    let errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
    errors.map(ToString::to_string).collect()
}

fn passes(checker: &Checker, file: &str, expected: usize) {
    let path = corpus_file(file);
    let (objects, found) = errors(checker, &fs::read(path).unwrap());
    assert_eq!(found, [""; 0], "{file}");
    assert!(objects >= expected, "{file}: {objects} objects");
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn libraries_have_no_errors() {
    let checker = Checker::new();
    for version in ["64", "70", "71", "714", "715", "72"] {
        passes(&checker, &format!("bitsandbytes/libbitsandbytes_rocm{version}.so"), 2);
    }
    passes(&checker, "debian/librocsparse.so.0.1", 777);
    passes(&checker, "debian/librocrand.so.1.1", 7);
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn triton_kernels_have_no_errors_code_included() {
    let Ok(files) = fs::read_dir(corpus_dir().join("triton")) else {
        return passes(&Checker::new(), "triton/add.gfx942.co", 1);
    };
    let checker = Checker::new().with_code();
    for file in
        files.map(|it| it.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "co"))
    {
        let (_, found) = errors(&checker, &fs::read(&file).unwrap());
        assert_eq!(found, [""; 0], "{}", file.display());
    }
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn code_of_a_library_has_no_errors() {
    passes(&Checker::new().with_code(), "bitsandbytes/libbitsandbytes_rocm64.so", 2);
}

/// Kernels of several kinds: LDS, scratch, calls, recursion, matrices of half precision, atomics.
const SOURCE: &str = "
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\"))) void
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define NOINLINE __attribute__((noinline))
__attribute__((loader_uninitialized)) static LOCAL float tile[256];
NOINLINE static int leaf(int x) { return x * 3 + 1; }
NOINLINE static int deep(int n) { return n < 2 ? 1 : deep(n - 1) + deep(n - 2); }
NOINLINE static int array(int x) { volatile int a[40]; a[x & 31] = x; return a[7]; }
static int (*const table[])(int) = {leaf, deep, array};
KERNEL copy(GLOBAL float *to, GLOBAL float *from) {
  unsigned id = __builtin_amdgcn_workitem_id_x();
  tile[id & 255] = from[id];
  __builtin_amdgcn_s_barrier();
  to[id] = tile[255 - (id & 255)];
}
KERNEL wide(GLOBAL float *out, GLOBAL float *in) {
  float v[96], sum = 0;
  for (int i = 0; i < 96; i++) v[i] = in[i * 64 + __builtin_amdgcn_workitem_id_x()];
  __builtin_amdgcn_s_barrier();
  for (int i = 0; i < 96; i++) sum += v[i] * v[95 - i];
  out[0] = sum;
}
KERNEL calls(GLOBAL int *out, int n) { out[0] = leaf(n) + array(n); }
KERNEL recursive(GLOBAL int *out, int n) { out[0] = deep(n); }
KERNEL chosen(GLOBAL int *out, int n) { out[0] = table[n](n); }
KERNEL count(GLOBAL int *out) { __atomic_fetch_add(out, 1, __ATOMIC_RELAXED); }
";

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_clang_compiles_at_every_level_has_no_errors() {
    let dir = scratch_dir();
    fs::write(dir.path().join("k.c"), SOURCE).unwrap();
    let checker = Checker::new().with_code();
    let processors = Processor::all().filter(|it| it.generation() >= Generation::Gfx9);
    let mut checked = 0;
    for processor in processors.map(Processor::name) {
        // Two levels of each, all of those that differ most.
        let all =
            ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];
        let levels = if all.contains(&processor) {
            &["-O0", "-O1", "-O2", "-O3"][..]
        } else {
            &["-O0", "-O2"]
        };
        for level in levels {
            sh(
                dir.path(),
                &format!(
                    "clang-22 -x c --target=amdgcn-amd-amdhsa -nogpulib -mcpu={processor} {level} k.c -o k.co"
                ),
            );
            let found = of_object(&checker, &fs::read(dir.path().join("k.co")).unwrap());
            assert_eq!(found, [""; 0], "{processor} {level}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}
