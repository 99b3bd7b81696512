//! What kernels need with all that they call.

use hsaco::analysis::Resource;
use hsaco::load::{ErrorKind, Freeze};
use hsaco::object::CodeObject;

use super::sample::{S1, S5_A, TARGETS, frozen, loaded, object, s5_b};

/// Case F50.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_kernel_gets_the_registers_of_what_it_calls() {
    for target in TARGETS {
        let (a, b) = (object(target, S5_A), object(target, &s5_b(target)));
        let mut executable = loaded(&[("a", &a), ("b", &b)]);
        let before = executable.symbol("user").unwrap().kernel().unwrap();
        executable.freeze(Freeze::default()).unwrap();
        let after = executable.symbol("user").unwrap().kernel().unwrap();
        let [raise] = executable.raises() else { panic!("{target}: {:?}", executable.raises()) };
        assert!(raise.is_applied);
        let short = raise.shortages.iter().find(|it| it.resource == Resource::Vgprs).unwrap();
        assert_eq!((short.allocated, short.needed), (before.allocation.vgprs, 201), "{target}");
        assert_eq!(short.way, ["user", "extdev (b)"], "{target}");
        assert!(after.allocation.vgprs >= 201, "{target}: {after:?}");
        if matches!(target, "gfx90a" | "gfx942") {
            assert_eq!((before.allocation.vgprs, after.allocation.vgprs), (48, 208), "{target}");
            assert_eq!(
                (before.allocation.accum_offset, after.allocation.accum_offset),
                (Some(44), Some(204)),
                "{target}"
            );
        }
        let linked = executable.link().unwrap();
        let file = CodeObject::parse(&linked).unwrap();
        let generation = file.target().generation().unwrap();
        let kernel = file.index().kernels()[0];
        assert_eq!(
            kernel.descriptor().unwrap().vgprs(generation),
            after.allocation.vgprs,
            "{target}"
        );
        assert_eq!(kernel.metadata().unwrap().decode().unwrap().vgpr_count, Some(201), "{target}");
        let again = frozen(&[("linked", &linked.into())]);
        assert!(again.raises().is_empty(), "{target}: {:?}", again.raises());
        assert_eq!(again.symbol("user").unwrap().kernel(), Some(after));
    }
}

/// Case F50.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn without_fixing_the_kernel_is_only_reported() {
    let (a, b) = (object("gfx942", S5_A), object("gfx942", &s5_b("gfx942")));
    let mut executable = loaded(&[("a", &a), ("b", &b)]);
    let before = executable.symbol("user").unwrap().kernel().unwrap();
    executable.freeze(Freeze { fix_resources: false, ..Freeze::default() }).unwrap();
    assert_eq!(executable.symbol("user").unwrap().kernel(), Some(before));
    let [raise] = executable.raises() else { panic!("{:?}", executable.raises()) };
    assert!(!raise.is_applied);
    assert!(
        raise.to_string().contains("48 vgprs allocated, 201 needed by user -> extdev (b)"),
        "{raise}"
    );
}

/// Case F50.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_no_kernel_can_have_is_refused_with_the_way_to_it() {
    let callee = s5_b("gfx942").replace("v_mov_b32 v200, v0", "v_accvgpr_write_b32 a255, v255");
    let kernel = "// OpenCL
extern __attribute__((visibility(\"default\"))) int extdev(int);
__attribute__((reqd_work_group_size(1024, 1, 1)))
kernel void user(global int *out, int n) { out[0] = extdev(n); }";
    let mut executable =
        loaded(&[("a", &object("gfx942", kernel)), ("b", &object("gfx942", &callee))]);
    let errors = executable.freeze(Freeze::default()).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors}");
    assert_eq!(errors[0].kind(), ErrorKind::Resources);
    let text = errors[0].to_string();
    assert!(
        text.contains("`user`") && text.contains("extdev (b)") && text.contains("256"),
        "{text}"
    );
    assert!(!executable.is_frozen());
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_callee_that_raises_the_stack_gets_it() {
    let library = "
static NOINLINE int inner(int x) { return x * 5; }
DEFAULT NOINLINE int extdev(int x) { volatile int a[100]; a[x & 63] = x; return inner(a[3]) + 1; }";
    for target in TARGETS {
        let mut executable =
            loaded(&[("a", &object(target, S5_A)), ("b", &object(target, library))]);
        let before = executable.symbol("user").unwrap().kernel().unwrap();
        assert_eq!(
            (before.allocation.scratch, before.allocation.has_dynamic_stack),
            (0, true),
            "{target}"
        );
        executable.freeze(Freeze::default()).unwrap();
        let after = executable.symbol("user").unwrap().kernel().unwrap();
        assert!(after.allocation.scratch >= 400, "{target}: {after:?}");
        let linked = executable.link().unwrap();
        let file = CodeObject::parse(&linked).unwrap();
        let said = file.index().kernels()[0].metadata().unwrap().decode().unwrap();
        assert_eq!(
            said.private_segment_fixed_size,
            Some(after.allocation.scratch.into()),
            "{target}"
        );
    }
}

/// Case F50.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn stack_that_the_code_does_not_show_is_remarked() {
    let library = "DEFAULT NOINLINE int extdev(int x) { volatile int a[64]; a[x & 63] = x; return a[(x >> 6) & 63]; }";
    for target in TARGETS {
        let executable = frozen(&[("a", &object(target, S5_A)), ("b", &object(target, library))]);
        let [remark] = executable.remarks() else { panic!("{target}: {:?}", executable.remarks()) };
        let expected = "kernel `user` reaches code that accesses its stack at computed addresses: \
                        user -> extdev (b): more than ";
        assert!(remark.starts_with(expected), "{target}: {remark}");
        assert!(
            executable.symbol("user").unwrap().kernel().unwrap().allocation.has_dynamic_stack,
            "{target}"
        );
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn compiled_kernels_that_have_enough_are_left_alone() {
    for target in TARGETS {
        let library = "DEFAULT NOINLINE int extdev(int x) { return x * 7; }";
        for objects in [&[S1][..], &[S5_A, library]] {
            let objects: Vec<_> = objects.iter().map(|it| object(target, it)).collect();
            let named: Vec<_> = ["a", "b"].into_iter().zip(&objects).collect();
            let executable = frozen(&named);
            assert!(executable.raises().is_empty(), "{target}: {:?}", executable.raises());
            assert!(executable.remarks().is_empty(), "{target}: {:?}", executable.remarks());
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn waves_of_two_sizes_do_not_call_each_other() {
    let library = "
__attribute__((target(\"wavefrontsize64\"))) KERNEL other(GLOBAL int *out) { out[0] = 1; }
DEFAULT NOINLINE int extdev(int x) { return x; }";
    let mut executable =
        loaded(&[("a", &object("gfx1100", S5_A)), ("b", &object("gfx1100", library))]);
    let errors = executable.freeze(Freeze::default()).unwrap_err();
    assert_eq!(errors[0].kind(), ErrorKind::WaveSize);
    assert!(errors[0].to_string().contains("waves of 32"), "{errors}");
}

/// A kernel that uses accumulation registers and calls what another object brings.
fn accumulating(target: &str) -> String {
    format!(
        "// OpenCL
extern __attribute__((visibility(\"default\"))) int extdev(int);
kernel void user(global int *out, int n) {{
  __asm__ volatile(\"v_accvgpr_write_b32 a99, 0\" ::: \"a99\"); // {target}
  out[0] = extdev(n);
}}"
    )
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_callee_of_another_object_does_not_share_registers_with_the_kernels_agprs() {
    for target in ["gfx90a", "gfx942"] {
        // Above the kernel's accum_offset, and not above all that it has.
        let callee = s5_b(target).replace("v200", "v100");
        let (a, b) = (object(target, &accumulating(target)), object(target, &callee));
        let mut executable = loaded(&[("a", &a), ("b", &b)]);
        let before = executable.symbol("user").unwrap().kernel().unwrap();
        assert!(
            before.allocation.accum_offset < Some(101) && before.allocation.vgprs > 101,
            "{target}: {before:?}"
        );
        executable.freeze(Freeze::default()).unwrap();
        let after = executable.symbol("user").unwrap().kernel().unwrap();
        assert_eq!(after.allocation.accum_offset, Some(104), "{target}");
        assert!(after.allocation.vgprs >= 104 + 100, "{target}: {after:?}");
    }
}
