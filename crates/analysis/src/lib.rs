//! What AMD GPU code does.
//!
//! [`Code`] is the code of an object, with its functions; [`Stream`] is the instructions of one; [`Cfg`] is its blocks and
//! edges, with dominators and loops in [`Dominators`] and [`Loops`]; [`States`] is the upper bits of
//! vector register numbers on gfx1250, and where M0 is added to them; [`Liveness`] says which registers are still needed where,
//! [`LiveCounts`] how many.
//! [`CallGraph`] knows who calls whom, [`Needs`] what a kernel needs with all that it calls.
//! [`KernelArguments`] is what a kernel takes, with the [`Types`](hsaco_dwarf::Types) of its debug information.
//!
//! ```
//! use hsaco_analysis::{Cfg, Liveness, Stream};
//! use hsaco_isa::effects::Lanes;
//! use hsaco_isa::{Decoder, Processor};
//! // s_add_u32 s0, s1, s2; s_cbranch_scc1 -2; s_endpgm
//! let words = [0x8000_0201_u32, 0xbf85_fffe, 0xbf81_0000];
//! let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
//! let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
//! let stream = Stream::decode(&decoder, 0x1000, &bytes);
//! let cfg = Cfg::new(&decoder, &stream);
//! assert_eq!(cfg.blocks().len(), 2);
//! let entry = cfg.entry().unwrap();
//! assert_eq!(cfg.successors(entry).collect::<Vec<_>>(), cfg.blocks().ids().collect::<Vec<_>>());
//! let liveness = Liveness::new(&decoder, &stream, &cfg, Lanes::All);
//! assert_eq!(liveness.live_in(entry).to_string(), "s[1:2]");
//! # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::cast_possible_truncation, reason = "code of one function is shorter than 4 GiB")]

mod argument;
mod barrier;
mod block_effects;
mod call;
mod cfg;
mod closure;
mod code;
mod decoders;
mod dominator;
mod function;
mod hazard;
mod indirect;
mod live;
mod liveness;
mod metric;
mod natural_loop;
mod register_set;
mod resources;
mod state;
mod stream;
mod usage;
mod value;
mod wait;
mod waited;
mod work_item;

pub use argument::{Argument, Disagreement, KernelArguments, Source};
pub use barrier::{MissingBarrier, Unpaired, missing_barriers, unpaired_barriers};
pub use block_effects::{BlockEffects, Focus};
pub use call::{Call, CallGraph, CallKind, Callee, Evidence, Reach, Route};
pub use cfg::{Address, Block, BlockId, Cfg, Exit, Jump};
pub use closure::{Bounds, Closures};
pub use code::Code;
pub use decoders::{LENIENT, Reading, hardware_decoder};
pub use dominator::Dominators;
pub use function::{Function, FunctionKind, Functions};
pub use hazard::{TooClose, hazards};
pub use live::LiveCounts;
pub use liveness::{Liveness, LivenessMemo};
pub use metric::{Metric, Metrics};
pub use natural_loop::{Loop, LoopId, Loops};
pub use register_set::{RegisterSet, RegisterSets};
pub use resources::{Allocation, Need, Needs, Overlap, Resource, Shortage, demand};
pub use state::{State, States, vgpr_msb_after};
pub use stream::{Outlines, Step, Stream, first_instruction, instructions};
pub use usage::{StackFrame, Usage};
pub use value::Values;
pub use wait::{Certainty, MissingWait, Touch, missing_waits};
pub use waited::{Awaited, awaited};
pub use work_item::Workgroup;
