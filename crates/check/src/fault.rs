//! What is wrong with the instructions of a function: waits and barriers that are missing, and hazards.

use hsaco_analysis::{
    BlockId, Certainty, Cfg, MissingBarrier, MissingWait, Stream, TooClose, Touch, Unpaired,
    Workgroup, hazards, missing_barriers, missing_waits, unpaired_barriers,
};
use hsaco_isa::Decoder;
use hsaco_isa::effects::hazard::Unit;
use hsaco_isa::effects::{Access, Counter};

use crate::finding::Severity;

/// A fault at an instruction.
pub(crate) struct Fault {
    pub(crate) severity: Severity,
    pub(crate) address: u64,
    /// What the instruction is and what happens there.
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The faults of a function, by rule.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) waits: Vec<Fault>,
    pub(crate) hazards: Vec<Fault>,
}

impl Faults {
    pub(crate) fn of(decoder: &Decoder, stream: &Stream<'_>) -> Self {
        let cfg = &Cfg::new(decoder, stream);
        let listing = Listing { decoder, stream, cfg };
        let waits = missing_waits(decoder, stream, cfg);
        let hazards = hazards(decoder, stream, cfg);
        Faults {
            waits: waits.iter().map(|it| listing.wait(it)).collect(),
            hazards: hazards.iter().map(|it| listing.hazard(it)).collect(),
        }
    }
}

/// What is wrong with the barriers of the function that a kernel begins with; its workgroup is there if it is known.
pub(crate) fn barriers(
    decoder: &Decoder,
    stream: &Stream<'_>,
    group: Option<Workgroup>,
) -> Vec<Fault> {
    let cfg = &Cfg::new(decoder, stream);
    let listing = Listing { decoder, stream, cfg };
    let missing = group.map(|it| missing_barriers(decoder, stream, cfg, it)).unwrap_or_default();
    let unpaired = unpaired_barriers(decoder, stream, cfg);
    let mut all: Vec<Fault> = missing.iter().map(|it| listing.missing_barrier(it)).collect();
    all.extend(unpaired.iter().map(|(step, what)| listing.unpaired(*step, *what)));
    all
}

/// A function whose instructions are shown.
struct Listing<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
}

impl Listing<'_> {
    /// An instruction and where it stands.
    fn show(&self, step: usize) -> String {
        let inst = self.stream.inst(step);
        let text = inst.map_or_else(|| "?".to_owned(), |inst| self.decoder.text(&inst));
        format!("{text} at {:#x}", self.stream.address_of(step))
    }

    fn wait(&self, missing: &MissingWait) -> Fault {
        let (user, operation) = (self.show(missing.step), self.show(missing.operation));
        let (counter, value) = (missing.counter.name(), missing.value);
        let register = missing.register;
        let what = match missing.touch {
            Touch::Read => format!("reads {register} before {operation} has written it"),
            Touch::Write => format!("writes {register}, which {operation} is still to write"),
            Touch::WriteSource => format!("writes {register}, which {operation} is still to read"),
        };
        let (severity, where_) = self.paths(&missing.certainty);
        let message = format!("{user} {what}: no wait for {counter} {value}{where_}");
        let wait = wait_for(missing.counter, value);
        let help = format!("put {wait} before {:#x}", self.stream.address_of(missing.step));
        Fault { severity, address: self.stream.address_of(missing.step), message, help }
    }

    fn hazard(&self, close: &TooClose) -> Fault {
        let (second, first) = (self.show(close.step), self.show(close.first));
        let (hazard, needed) = (close.demand.hazard, close.demand.needed);
        let register = close.demand.register.map(|it| format!(" ({it})")).unwrap_or_default();
        let (severity, where_) = self.paths(&close.certainty);
        let message = format!(
            "{second} follows {first} by {} of {needed} {}{register}: {} ({}){where_}",
            close.distance,
            hazard.unit.name(),
            hazard.what,
            hazard.name,
        );
        let more = needed.saturating_sub(close.distance);
        let address = self.stream.address_of(close.step);
        let help = match hazard.unit {
            Unit::WaitStates => format!("put {} before {address:#x}", nops(more)),
            Unit::Computations => format!("put {more} v_nop before {address:#x}"),
            Unit::RealComputations => {
                format!("put a v_mov_b32 of a register to itself before {address:#x}")
            }
        };
        Fault { severity, address, message, help }
    }

    fn missing_barrier(&self, missing: &MissingBarrier) -> Fault {
        let (second, first) = (self.show(missing.step), self.show(missing.first));
        let [before, after] = missing.accesses.map(|it| match it {
            Access::Load => "load",
            Access::Store => "store",
            Access::Atomic => "update",
        });
        let ([earlier, later], byte) = (missing.waves, missing.byte);
        let message = format!(
            "{second} {after}s byte {byte:#x} of LDS in wave {later}, which {first} {before}s in wave {earlier}, and there is \
             a way between the two without a barrier"
        );
        let address = self.stream.address_of(missing.step);
        let help = format!(
            "put a barrier on the way from {:#x} to {address:#x}",
            self.stream.address_of(missing.first)
        );
        Fault { severity: Severity::Warning, address, message, help }
    }

    fn unpaired(&self, step: usize, what: Unpaired) -> Fault {
        let (what, help) = match what {
            Unpaired::Wait => (
                "waits for a barrier that was not signalled on some path",
                "put s_barrier_signal -1 before it",
            ),
            Unpaired::Signal => (
                "signals a barrier again that was not waited for on some path",
                "put s_barrier_wait -1 before it",
            ),
            Unpaired::End => (
                "ends without having waited for the barrier that was signalled on some path",
                "put s_barrier_wait -1 before it",
            ),
        };
        Fault {
            severity: Severity::Warning,
            address: self.stream.address_of(step),
            message: format!("{} {what}", self.show(step)),
            help: help.to_owned(),
        }
    }

    /// How bad it is, and on which path.
    fn paths(&self, certainty: &Certainty) -> (Severity, String) {
        match certainty {
            Certainty::Always => (Severity::Error, String::new()),
            Certainty::OnPath(blocks) => (Severity::Warning, self.path(blocks)),
            Certainty::ByAddress => {
                let why = ", which counts it by what the address turns out to be";
                (Severity::Warning, why.to_owned())
            }
            Certainty::ByOrder => {
                let why = ", and loads need not be written in the order in which they are issued";
                (Severity::Warning, why.to_owned())
            }
            Certainty::Unless(doubt) => (Severity::Warning, format!(", unless {}", doubt.name())),
        }
    }

    /// A path by the addresses of its blocks; of a long one, the ends.
    fn path(&self, blocks: &[BlockId]) -> String {
        const MOST: usize = 8;
        let address = |block: &BlockId| {
            format!("{:#x}", self.stream.address_of(self.cfg.blocks()[*block].first))
        };
        let mut all: Vec<String> = blocks.iter().map(address).collect();
        if all.len() > MOST {
            all.splice(MOST / 2..all.len() - MOST / 2, ["...".to_owned()]);
        }
        format!(", on the path {}", all.join(" > "))
    }
}

/// As many wait states, in text.
fn nops(states: u8) -> String {
    const MOST: u8 = 8;
    let whole = (0..states / MOST).map(|_| MOST);
    let parts = whole.chain((!states.is_multiple_of(MOST)).then_some(states % MOST));
    let parts: Vec<String> = parts.map(|part| format!("s_nop {}", part - 1)).collect();
    parts.join(" and ")
}

/// The instruction that waits for a counter.
fn wait_for(counter: Counter, value: u8) -> String {
    match counter {
        Counter::Vmcnt | Counter::Expcnt | Counter::Lgkmcnt => {
            format!("s_waitcnt {}({value})", counter.name())
        }
        Counter::Vscnt => format!("s_waitcnt_vscnt null, {value:#x}"),
        _ => format!("s_wait_{} {value:#x}", counter.name()),
    }
}
