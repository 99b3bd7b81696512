//! Every kind of error that stops a program, with what it says.

use crate::support::{How, Kernel};
use expect_test::{Expect, expect};
use hsaco_emu::{Device, ErrorKind, Limits};
use hsaco_object::descriptor::KernelDescriptor;

/// What a program stops with; addresses of its code as offsets.
fn stops(kernel: &mut Kernel, arguments: &[u64], how: How, kind: ErrorKind, says: &Expect) {
    let error = kernel.run(arguments, how).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let at = error.location().unwrap();
    let offset = format!("code+{:#x}", at.address.wrapping_sub(kernel.code));
    says.assert_eq(&error.to_string().replace(&format!("{:#x}", at.address), &offset));
}

#[test]
fn reading_past_the_end_of_a_buffer() {
    // Lane n reads word n.
    let code = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v0, 2, v0
        global_load_dword v1, v0, s[4:5]
        s_endpgm";
    let mut kernel = Kernel::new("gfx942", code);
    let buffer = kernel.buffer(40);
    let says = format!("4 bytes at {:#x} are outside of every allocation", buffer + 40);
    let error = kernel.run(&[buffer], How::default()).unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::OutOfBounds, says.as_str()));
    let at = error.location().unwrap();
    assert_eq!((at.lanes, at.wave, at.workgroup), (1 << 10, 0, [0; 3]));
    assert_eq!(at.instruction, "global_load_dword v1, v0, s[4:5]");
    assert_eq!(at.address, kernel.code + 20);
    let registers = error.registers().unwrap();
    assert_eq!(registers.exec, u64::MAX);
    assert_eq!(registers.scalars[4..6], [buffer as u32, (buffer >> 32) as u32]);
    assert_eq!(registers.vectors[0][10], 40);
    assert!(registers.to_string().contains("v0[8]    00000020 00000024"), "{registers}");
}

#[test]
fn the_last_page_may_be_read_if_asked_for_and_never_written() {
    let load = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32_e32 v0, 0
        global_load_dword v1, v0, s[4:5] offset:40
        s_endpgm";
    let mut kernel = Kernel::new("gfx942", load);
    kernel.device.memory =
        std::mem::replace(&mut kernel.device.memory, hsaco_emu::Memory::new(0)).with_page_slack();
    let buffer = kernel.buffer(40);
    kernel.run(&[buffer], How::default()).unwrap();
    assert!(kernel.run(&[buffer + 4096], How::default()).is_err());
    let mut kernel =
        Kernel::new("gfx942", &load.replace("load_dword v1, v0,", "store_dword v0, v0,"));
    let buffer = kernel.buffer(40);
    let error = kernel.run(&[buffer], How::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfBounds);
}

#[test]
fn an_atomic_at_an_odd_address() {
    let code = "s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32_e32 v0, 2
        v_mov_b32_e32 v1, 1
        s_mov_b64 exec, 0x30
        global_atomic_add v0, v1, s[4:5]
        s_endpgm";
    let mut kernel = Kernel::new("gfx942", code);
    let buffer = kernel.buffer(64);
    let error = kernel.run(&[buffer], How::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misaligned);
    assert_eq!(error.location().unwrap().lanes, 1 << 4);
}

#[test]
fn no_instruction() {
    let mut kernel = Kernel::new("gfx942", "s_nop 0\n.long 4294967295\ns_endpgm");
    let says = expect![
        "illegal-instruction: no instruction at code+0x4 (kernel kernel, at code+0x4, workgroup 0,0,0, wave 0)"
    ];
    stops(&mut kernel, &[], How::default(), ErrorKind::IllegalInstruction, &says);
    let mut kernel = Kernel::new("gfx1100", "v_illegal");
    let error = kernel.run(&[], How { items: 32, ..How::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IllegalInstruction);
}

#[test]
fn running_off_the_end_of_the_code() {
    let mut kernel = Kernel::new("gfx942", "s_nop 0");
    let error = kernel.run(&[], How::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IllegalInstruction);
    assert_eq!(error.location().unwrap().address, kernel.code + 4);
}

#[test]
fn a_trap() {
    let mut kernel = Kernel::new("gfx942", "s_mov_b64 exec, 7\ns_trap 2\ns_endpgm");
    let says = expect![
        "trap: the program aborted itself (kernel kernel, at code+0x4 `s_trap 2`, workgroup 0,0,0, wave 0, lanes 0x7)"
    ];
    stops(&mut kernel, &[], How::default(), ErrorKind::Trap, &says);
}

/// Lane n divides by n less 3.
const DIVISIONS: &str = "v_and_b32_e32 v0, 0x3ff, v0
    v_subrev_u32_e32 v0, 3, v0
    v_cvt_f32_i32_e32 v0, v0
    v_rcp_iflag_f32_e32 v1, v0
    v_rcp_f32_e32 v1, v0
    s_endpgm";

#[test]
fn a_division_by_zero() {
    let run = |exceptions: u32| {
        let ask = |it: &mut KernelDescriptor| it.compute_pgm_rsrc2 |= exceptions;
        Kernel::with("gfx942", DIVISIONS, ask).run(&[], How::default())
    };
    // Unless the kernel asks for it, infinity is what comes out.
    assert!(run(0).is_ok());
    let [integers, floats] = [1 << 30, 1 << 26].map(|it| run(it).unwrap_err());
    for (error, instruction) in
        [(integers, "v_rcp_iflag_f32_e32 v1, v0"), (floats, "v_rcp_f32_e32 v1, v0")]
    {
        let at = error.location().unwrap();
        assert_eq!((at.lanes, at.instruction.as_str()), (1 << 3, instruction));
        assert_eq!(error.kind(), ErrorKind::Trap);
        assert_eq!(error.detail(), "a division by zero, which the kernel asks to trap");
    }
    // Results that are not exact.
    assert_eq!(run(1 << 29).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_barrier_that_not_all_waves_reach() {
    // Waves of gfx12 signal and wait apart: here all wait, and the first has not signalled.
    let code = "v_and_b32_e32 v0, 0x3ff, v0
        v_readfirstlane_b32 s4, v0
        s_cmp_eq_u32 s4, 0
        s_cbranch_scc1 @wait
        s_barrier_signal -1
        wait:
        s_barrier_wait 0xffff
        s_endpgm";
    let mut kernel = Kernel::new("gfx1201", code);
    let says = expect![
        "barrier: 3 of 3 waves wait at a barrier that not all of them have signalled (kernel kernel, at code+0x18 `s_barrier_wait 0xffff`, workgroup 0,0,0, wave 0, lanes 0xffffffff)"
    ];
    stops(&mut kernel, &[], How { items: 96, ..How::default() }, ErrorKind::Barrier, &says);
}

#[test]
fn a_loop_without_end() {
    let mut kernel = Kernel::new("gfx1100", "s_nop 0\ns_branch 65534\ns_endpgm");
    let limits = Limits { instructions: 1000, ..Limits::default() };
    let how = How { items: 32, limits, ..How::default() };
    let says = expect![
        "limit: the limit of 1000 instructions is reached (kernel kernel, at code+0x0 `s_nop 0`, workgroup 0,0,0, wave 0, lanes 0xffffffff)"
    ];
    stops(&mut kernel, &[], how, ErrorKind::Limit, &says);
}

#[test]
fn a_budget_of_memory() {
    let device = Device::new("gfx942".parse().unwrap(), 100);
    let error = device.memory.allocate(101).unwrap_err();
    assert_eq!(error.to_string(), "memory: no memory for 101 bytes");
    // Scratch memory counts too: 2 GiB for each lane.
    let mut kernel =
        Kernel::with("gfx942", "s_endpgm", |it| it.private_segment_fixed_size = 1 << 31);
    let error = kernel.run(&[], How::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
}

#[test]
fn what_is_not_emulated() {
    let mut kernel =
        Kernel::new("gfx1100", "image_load v[0:3], v[0:1], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D");
    let error = kernel.run(&[], How { items: 32, ..How::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.location().is_some());
}
