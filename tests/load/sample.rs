//! The samples of the tests, made once for each target.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use hsaco::load::{Executable, Freeze};
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

pub(crate) const TARGETS: [&str; 5] = ["gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250"];

pub(crate) const HEAD: &str = "
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\"))) void
#define GLOBAL __attribute__((address_space(1)))
#define NOINLINE __attribute__((noinline))
#define DEFAULT __attribute__((visibility(\"default\")))
#define HIDDEN __attribute__((visibility(\"hidden\")))
#define WEAK __attribute__((weak))
";

/// S1: a function, a pointer to it, a kernel that calls it, one that does nothing, one that calls the pointer.
pub(crate) const S1: &str = "
NOINLINE int helper(int x) { return x * 3 + 1; }
__attribute__((visibility(\"protected\"))) int (*pointer)(int) = helper;
KERNEL foo(GLOBAL int *out, int n, long offset) { out[offset] = helper(n); }
KERNEL none(void) {}
KERNEL ind(GLOBAL int *out) { out[0] = pointer(1); }
";

/// S2: a tail call, and a function of another object.
pub(crate) const S2: &str = "
extern DEFAULT int extdev(int);
static NOINLINE int helper(int x) { return x * 3 + 1; }
static NOINLINE int tail(int x) { return helper(x + 1); }
KERNEL foo(GLOBAL int *out, int n) { out[0] = tail(n); out[1] = extdev(n); }
";

/// S3: a kernel that needs a function and a variable, and an object that has them.
pub(crate) const S3_A: &str = "
extern DEFAULT int extdev(int);
extern DEFAULT GLOBAL int extvar;
KERNEL user(GLOBAL int *out, int n) { out[0] = extdev(n) + extvar; }
";
pub(crate) const S3_B: &str = "
DEFAULT GLOBAL int extvar = 42;
static NOINLINE int inner(int x) { return x * 3; }
DEFAULT NOINLINE int extdev(int x) { return inner(x) + extvar; }
";

/// S4: one kernel.
pub(crate) const S4: &str = "KERNEL NAME(GLOBAL int *out) { out[0] = 1; }";

/// S5: a kernel that needs a function, which is written in assembly and uses v200.
pub(crate) const S5_A: &str = "
extern DEFAULT int extdev(int);
KERNEL user(GLOBAL int *out, int n) { out[0] = extdev(n); }
";

pub(crate) fn s5_b(target: &str) -> String {
    let back = if target == "gfx1250" { "s_set_pc_i64" } else { "s_setpc_b64" };
    format!(
        ".text\n.globl extdev\n.p2align 8\n.type extdev,@function\nextdev:\n v_mov_b32 v200, v0\n \
         v_mov_b32 v0, v200\n {back} s[30:31]\n.Lend:\n.size extdev, .Lend-extdev\n"
    )
}

/// What a source becomes: `ld.lld -shared` of it, made once.
pub(crate) fn object(target: &str, source: &str) -> Arc<Vec<u8>> {
    built(target, source, "-shared")
}

/// The same with other options of the linker.
pub(crate) fn built(target: &str, source: &str, link: &str) -> Arc<Vec<u8>> {
    type Made = Mutex<HashMap<[String; 3], Arc<Vec<u8>>>>;
    static MADE: OnceLock<Made> = OnceLock::new();
    let key = [target, source, link].map(str::to_owned);
    let made = MADE.get_or_init(Made::default);
    if let Some(bytes) = made.lock().unwrap().get(&key) {
        return Arc::clone(bytes);
    }
    let dir = scratch_dir();
    compile(dir.path(), target, source, "sample");
    sh(dir.path(), &format!("ld.lld-22 {link} sample.o -o sample.co"));
    let bytes = Arc::new(fs::read(dir.path().join("sample.co")).unwrap());
    made.lock().unwrap().insert(key, Arc::clone(&bytes));
    bytes
}

/// Compiles C or what says that it is OpenCL, or assembles what begins like assembly, to `NAME.o`.
pub(crate) fn compile(dir: &Path, target: &str, source: &str, name: &str) {
    if source.starts_with('.') {
        fs::write(dir.join(format!("{name}.s")), source).unwrap();
        let mc = "llvm-mc-22 --triple=amdgcn-amd-amdhsa -filetype=obj";
        sh(dir, &format!("{mc} -mcpu={target} {name}.s -o {name}.o"));
    } else if source.starts_with("// OpenCL") {
        fs::write(dir.join(format!("{name}.cl")), source).unwrap();
        let cc = "clang-22 -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -nogpulib -O2 -Qn -c";
        sh(dir, &format!("{cc} -mcpu={target} {name}.cl -o {name}.o"));
    } else {
        fs::write(dir.join(format!("{name}.c")), format!("{HEAD}{source}")).unwrap();
        let cc = "clang-22 -x c --target=amdgcn-amd-amdhsa -nogpulib -O2 -Qn -c";
        sh(dir, &format!("{cc} -mcpu={target} {name}.c -o {name}.o"));
    }
}

/// An executable with these objects, not frozen yet.
pub(crate) fn loaded(objects: &[(&str, &Arc<Vec<u8>>)]) -> Executable<'static> {
    let mut executable = Executable::new(None);
    for (name, bytes) in objects {
        executable.load(name, bytes.to_vec()).unwrap();
    }
    executable
}

/// The same, frozen.
pub(crate) fn frozen(objects: &[(&str, &Arc<Vec<u8>>)]) -> Executable<'static> {
    let mut executable = loaded(objects);
    executable.freeze(Freeze::default()).unwrap();
    executable
}

/// The eight bytes at an address.
pub(crate) fn word(executable: &Executable<'_>, address: u64) -> u64 {
    let object = executable.locate(address).unwrap().object;
    let bytes = executable.image(object).unwrap().bytes_at(address, 8).unwrap();
    u64::from_le_bytes(bytes.try_into().unwrap())
}
