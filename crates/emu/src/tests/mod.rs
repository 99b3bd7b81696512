//! What crosses modules: every line of the table that says it runs has a function.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and its numbers are small"
)]

mod barrier;
mod buffer;
mod floats;
mod hardware;
mod integer;
mod lane;
mod lds;
mod machine;
mod memory;
mod quick;
mod revision;
mod small;
mod speed;

use crate::exec::lane as exec_lane;
use crate::exec::memory::{load, store, words};
use crate::exec::valu::dot::{self, Choice};
use crate::exec::valu::{self, bit3, carry, compare};
use crate::exec::{atomic, ds, float, salu};
use crate::generated::Op;
use crate::num::{Generation, Mode};
use crate::semantics::SEMANTICS;
use crate::semantics::{Semantics, Type};
use crate::step::Host;

/// Whether an operation is a function of registers.
fn is_function(op: Op) -> bool {
    let host = Host::detect();
    let unit = Generation::Gfx12;
    let any_dot = Choice { unit, clamps: false, saturates: false, signed: [false; 2] };
    let mode = Mode::decode(0x3f0, Generation::Gfx11);
    valu::find::<8>(op, host).is_some()
        || float::find_exact::<8>(op).is_some()
        || carry::find::<8>(op, host).is_some()
        || compare::find::<8>(op, &mode, host).is_some()
        || bit3::find::<8>(op).is_some()
        || exec_lane::find::<8>(op).is_some()
        || salu::find::<8>(op).is_some()
        || dot::find::<8>(op, any_dot, host).is_some()
        || matches!(op, Op::VMfma | Op::VSmfmac | Op::VWmma | Op::VSwmmac | Op::VCvtScaled)
        || matches!(op, Op::VPermPk16B6U4 | Op::VPermPk16B8U4 | Op::VMqsadU32U8)
}

/// Whether an operation accesses memory.
fn is_access(line: &Semantics) -> bool {
    let ty = line.inputs.first().copied().unwrap_or(Type::B32);
    match line.op {
        Op::Load => load::<8>(ty, false, Host::detect()).is_some(),
        Op::Store => store::<8>(ty).is_some(),
        Op::LoadAddtid => load::<8>(ty, false, Host::detect()).is_some(),
        Op::StoreAddtid => store::<8>(ty).is_some(),
        Op::Load2 | Op::Load2st64 | Op::Store2 | Op::Store2st64 | Op::Swap2 | Op::Swap2st64 => {
            ds::find::<8>(line.op, words(ty).unwrap_or(0)).is_some()
        }
        Op::SLoad => true,
        Op::SBufferLoad => true,
        Op::SStore | Op::SBufferStore => words(ty).is_some(),
        op => atomic::find::<8>(op, ty).is_some(),
    }
}

/// Whether `translate` knows an operation by name.
fn is_special(op: Op) -> bool {
    use Op::*;
    const FLOW: &[Op] = &[
        SBranch,
        SCbranchScc0,
        SCbranchScc1,
        SCbranchVccz,
        SCbranchVccnz,
        SCbranchExecz,
        SCbranchExecnz,
        SEndpgm,
        SEndpgmSaved,
        SCodeEnd,
        STrap,
        SSetpcB64,
        SSwappcB64,
        SAddPcI64,
        SCallB64,
        SBarrier,
        SBarrierWait,
        SBarrierSignal,
        SBarrierSignalIsfirst,
        SBarrierInit,
        SBarrierJoin,
        SBarrierLeave,
        SGetBarrierState,
        SSleep,
        SSleepVar,
    ];
    const STATE: &[Op] = &[
        SSetregB32,
        SSetregImm32B32,
        SRoundMode,
        SDenormMode,
        SSetVgprMsb,
        SSetGprIdxOn,
        SSetGprIdxIdx,
        SSetGprIdxMode,
        SSetGprIdxOff,
        SGetregB32,
        SGetpcB64,
        SMemtime,
        SSendmsgRtnB32,
        SSendmsgRtnB64,
        SSendmsg,
        SSethalt,
        SSetkill,
        SMovrelsB32,
        SMovrelsB64,
        SMovreldB32,
        SMovreldB64,
        SMovrelsd2B32,
    ];
    const OTHER: &[Op] = &[
        Nop,
        SNop,
        VNop,
        Cache,
        VIllegal,
        VPkAddF32,
        VPkMulF32,
        VPkFmaF32,
        VPkMovB32,
        VFmaMixF32,
        VFmaMixloF16,
        VFmaMixhiF16,
        VFmaMixF32Bf16,
        VFmaMixloBf16,
        VFmaMixhiBf16,
    ];
    const MEMORY: &[Op] = &[
        DsAppend,
        DsConsume,
        DsGwsInit,
        DsGwsBarrier,
        DsCondxchg32RtnB64,
        DsAtomicBarrierArriveRtnB64,
        DsAtomicAsyncBarrierArriveB64,
        LoadTr16,
        LoadTr8,
        LoadTr6,
        LoadTr4,
        LoadToLds,
        StoreFromLds,
        LoadToLdsAsync,
        StoreFromLdsAsync,
        LoadBlock,
        StoreBlock,
        LoadFormat,
        StoreFormat,
        TensorLoadToLds,
        TensorStoreFromLds,
    ];
    MEMORY.contains(&op) || FLOW.contains(&op) || STATE.contains(&op) || OTHER.contains(&op)
}

#[test]
fn every_line_that_runs_has_a_function() {
    let runs = SEMANTICS.iter().filter(|line| line.fidelity.runs());
    let without = runs.filter(|it| !is_function(it.op) && !is_access(it) && !is_special(it.op));
    let names: Vec<&str> = without.map(|it| it.mnemonic).collect();
    assert!(names.is_empty(), "no function for {}", names.join(" "));
}
