//! State that instructions depend on beside registers: the upper bits of vector register numbers on
//! gfx1250, whether numbers are relative to M0 on gfx9, and whether all lanes are known to be enabled.

use std::borrow::Cow;
use std::ops::Range;

use hsaco_bytes::IndexVec;
use hsaco_isa::effects::{Flow, Lanes};
use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use crate::cfg::{BlockId, Cfg};
use crate::stream::Stream;

/// The bit of MODE that `s_set_gpr_idx_on` sets.
const GPR_INDEX_BIT: Range<u8> = 27..28;
/// Three sources and the destination.
const ALL_OPERANDS: u8 = 0xf;
/// The destination among the operands that may be relative.
pub(crate) const DESTINATION: u8 = 0x8;

/// What is known before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The upper bits of vector register numbers, if paths agree on them.
    pub msb: Option<VgprMsb>,
    /// Where `s_set_gpr_idx_on` may hold: the operands of vector computations to whose register M0 may be added, a
    /// bit for each of three sources and the destination.
    pub indexed: Option<u8>,
    /// Whether EXEC enables all lanes, known or assumed.
    pub lanes: Lanes,
}

impl State {
    fn meet(self, other: State) -> State {
        State {
            msb: if self.msb == other.msb { self.msb } else { None },
            indexed: match (self.indexed, other.indexed) {
                (Some(one), Some(other)) => Some(one | other),
                (one, other) => one.or(other),
            },
            lanes: if self.lanes == other.lanes { self.lanes } else { Lanes::Some },
        }
    }
}

/// The state before every block, by a forward walk over all paths.
#[derive(Clone, Debug)]
pub struct States<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
    assumed: Lanes,
    known: Cow<'a, KnownStates>,
}

/// What was worked out about the states of a function, without the function.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownStates {
    /// Whether any instruction makes register numbers relative to M0.
    has_index_mode: bool,
    /// Whether no instruction changes anything, so that it is everywhere as it was at the start.
    never_changes: bool,
    /// Whether callees are taken to follow the ABI.
    follows_abi: bool,
    /// None for blocks that are not reached.
    at_start: IndexVec<BlockId, Option<State>>,
}

impl<'a> States<'a> {
    /// Works them out. A kernel or function starts with no upper bits. Under [`Lanes::All`] all lanes
    /// are assumed to be enabled everywhere; under [`Lanes::Some`] where the code itself enables them.
    ///
    /// ```
    /// use hsaco_analysis::{Cfg, States, Stream};
    /// use hsaco_isa::effects::Lanes;
    /// use hsaco_isa::{Decoder, Processor};
    /// // s_set_vgpr_msb 0x41; v_mov_b32 v0, v1; s_endpgm
    /// let words = [0xbf86_0041_u32, 0x7e00_0301, 0xbfb0_0000];
    /// let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    /// let decoder = Decoder::new(Processor::from_name("gfx1250").unwrap())?;
    /// let stream = Stream::decode(&decoder, 0, &bytes);
    /// let cfg = Cfg::new(&decoder, &stream);
    /// let states = States::new(&decoder, &stream, &cfg, Lanes::All);
    /// assert_eq!(states.before(1).msb.map(|msb| msb.bits()), Some(0x41));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn new(decoder: &'a Decoder, stream: &'a Stream<'a>, cfg: &'a Cfg, assumed: Lanes) -> Self {
        let known = KnownStates { at_start: cfg.blocks().filled(None), ..KnownStates::default() };
        Self::work_out(decoder, stream, cfg, assumed, known)
    }

    /// The same under [`Lanes::All`], where callees follow the ABI: they return with no upper bits.
    pub(crate) fn by_abi(decoder: &'a Decoder, stream: &'a Stream<'a>, cfg: &'a Cfg) -> Self {
        let at_start = cfg.blocks().filled(None);
        let known = KnownStates { at_start, follows_abi: true, ..KnownStates::default() };
        Self::work_out(decoder, stream, cfg, Lanes::All, known)
    }

    fn work_out(
        decoder: &'a Decoder,
        stream: &'a Stream<'a>,
        cfg: &'a Cfg,
        assumed: Lanes,
        known: KnownStates,
    ) -> Self {
        let mut states = States { decoder, stream, cfg, assumed, known: Cow::Owned(known) };
        let mut insts = stream.insts();
        let has_index_mode = decoder.has_gpr_index_mode()
            && stream.writes_mode()
            && insts.clone().any(|inst| states.indexed_after(None, &inst).is_some());
        let never_changes = !has_index_mode
            && stream.is_whole()
            && !states.may_change_bits()
            && (assumed == Lanes::All || !insts.any(|inst| states.enables_lanes(&inst)));
        let known = states.known.to_mut();
        (known.has_index_mode, known.never_changes) = (has_index_mode, never_changes);
        let entry = State { msb: Some(VgprMsb::new(0)), indexed: None, lanes: assumed };
        if never_changes {
            cfg.reverse_post_order().iter().for_each(|block| {
                states.lower(*block, entry);
            });
            return states;
        }
        let mut changed = cfg.entry().is_some_and(|block| states.lower(block, entry));
        while changed {
            changed = false;
            for block in cfg.reverse_post_order() {
                let Some(end) = states.at_end(*block) else { continue };
                for next in cfg.successors(*block) {
                    changed |= states.lower(next, end);
                }
            }
        }
        states
    }

    /// The same from what was worked out before.
    pub(crate) fn known(
        decoder: &'a Decoder,
        stream: &'a Stream<'a>,
        cfg: &'a Cfg,
        assumed: Lanes,
        known: &'a KnownStates,
    ) -> Self {
        States { decoder, stream, cfg, assumed, known: Cow::Borrowed(known) }
    }

    /// What was worked out, to come back to.
    pub(crate) fn into_known(self) -> KnownStates {
        self.known.into_owned()
    }

    /// What is known before a block; before one that is not reached, what is always known.
    #[must_use]
    pub fn before_block(&self, block: BlockId) -> State {
        self.known.at_start[block].unwrap_or_else(|| self.unknown())
    }

    /// What is known before an instruction.
    #[must_use]
    pub fn before(&self, step: usize) -> State {
        let Some(block) = self.cfg.block_of(step) else { return self.unknown() };
        let first = self.cfg.blocks()[block].first;
        (first..step).fold(self.before_block(block), |state, index| self.after(state, index))
    }

    /// What is known after an instruction, from what is known before it.
    #[must_use]
    pub fn after(&self, state: State, step: usize) -> State {
        if self.known.never_changes {
            return state;
        }
        let Some(inst) = self.stream.inst(step) else { return self.unknown() };
        let returns = matches!(inst.flow(), Flow::Call | Flow::IndirectCall);
        State {
            msb: match self.known.follows_abi && returns {
                true => Some(VgprMsb::new(0)),
                false => vgpr_msb_after(self.decoder, state.msb, &inst),
            },
            indexed: match self.known.has_index_mode {
                true => self.indexed_after(state.indexed, &inst),
                false => None,
            },
            lanes: self.lanes_after(state.lanes, &inst),
        }
    }

    /// Whether the numbers of vector registers are relative to M0 anywhere.
    #[must_use]
    pub fn has_index_mode(&self) -> bool {
        self.known.has_index_mode
    }

    /// Whether the state at the end of a block is that at its start.
    pub(crate) fn never_change(&self) -> bool {
        self.known.never_changes
            || self.assumed == Lanes::All
                && !self.decoder.has_vgpr_msb()
                && !self.known.has_index_mode
    }

    /// Whether any instruction may set upper bits of register numbers.
    fn may_change_bits(&self) -> bool {
        let leaves = |flow| matches!(flow, Flow::Call | Flow::IndirectCall | Flow::Trap);
        self.decoder.has_vgpr_msb() && (self.stream.writes_mode() || self.stream.has_flow(leaves))
    }

    /// Most processors have no upper bits.
    fn unknown(&self) -> State {
        State {
            msb: (!self.decoder.has_vgpr_msb()).then_some(VgprMsb::new(0)),
            indexed: self.known.has_index_mode.then_some(ALL_OPERANDS),
            lanes: self.assumed,
        }
    }

    fn at_end(&self, block: BlockId) -> Option<State> {
        let start = self.known.at_start[block]?;
        let steps = self.cfg.blocks()[block].steps();
        Some(steps.fold(start, |state, index| self.after(state, index)))
    }

    /// Takes another path to a block into account; whether that changed what is known.
    fn lower(&mut self, block: BlockId, state: State) -> bool {
        let place = &mut self.known.to_mut().at_start[block];
        let after = place.map_or(state, |known| known.meet(state));
        place.replace(after) != Some(after)
    }

    /// Bits 12 to 15 of M0 say which operands are relative, and bit 27 of MODE whether any is.
    fn indexed_after(&self, indexed: Option<u8>, inst: &Inst) -> Option<u8> {
        let effects = self.decoder.effects(inst, VgprMsb::default());
        let writes_m0 = || {
            let m0 = RegisterFile::Special(Special::M0);
            effects.writes().any(|register| register.file == m0)
        };
        if !inst.writes_mode() && (indexed.is_none() || !writes_m0()) {
            return indexed;
        }
        let operands = |name| {
            let number =
                number(self.decoder, inst, name).map(|number| number.cast_unsigned() as u8);
            Some(number.map_or(ALL_OPERANDS, |number| number & ALL_OPERANDS))
        };
        match inst.mnemonic() {
            "s_set_gpr_idx_on" => operands("src1"),
            "s_set_gpr_idx_off" => None,
            "s_set_gpr_idx_mode" => indexed.and(operands("simm16")),
            "s_set_gpr_idx_idx" => indexed,
            name if name.starts_with("s_setreg") => match inst.hwreg_field() {
                Some(field) if field.is_of_mode(&GPR_INDEX_BIT) => Some(ALL_OPERANDS),
                _ => indexed,
            },
            _ if writes_m0() => indexed.map(|_| ALL_OPERANDS),
            _ => indexed,
        }
    }

    fn lanes_after(&self, lanes: Lanes, inst: &Inst) -> Lanes {
        if self.assumed == Lanes::All {
            return Lanes::All;
        }
        if matches!(inst.flow(), Flow::Call | Flow::IndirectCall) {
            return Lanes::Some;
        }
        let effects = self.decoder.effects(inst, VgprMsb::default());
        match effects.writes().filter_map(|register| exec_part(&register)).next() {
            None => lanes,
            // In waves of 32 lanes the upper half does not count.
            Some(Special::ExecHi) if self.decoder.is_wave32() => lanes,
            Some(part)
                if self.sets_all(inst) && (part == Special::Exec || self.decoder.is_wave32()) =>
            {
                Lanes::All
            }
            Some(_) => Lanes::Some,
        }
    }

    /// Whether an instruction may enable all lanes.
    fn enables_lanes(&self, inst: &Inst) -> bool {
        !inst.is_vector_alu() && self.sets_all(inst)
    }

    fn sets_all(&self, inst: &Inst) -> bool {
        matches!(inst.mnemonic(), "s_mov_b64" | "s_mov_b32")
            && self.decoder.operand(inst, "src0") == Some(OperandValue::Integer(-1))
    }
}

/// The upper bits of vector register numbers after an instruction, from those before it: none where they are unknown.
///
/// ```
/// use hsaco_analysis::vgpr_msb_after;
/// use hsaco_isa::model::VgprMsb;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx1250").unwrap())?;
/// let none = Some(VgprMsb::new(0));
/// // s_set_vgpr_msb 0x41
/// let set = decoder.decode(&[0x41, 0x00, 0x86, 0xbf]).unwrap();
/// assert_eq!(vgpr_msb_after(&decoder, none, &set), Some(VgprMsb::new(0x41)));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[must_use]
pub fn vgpr_msb_after(decoder: &Decoder, before: Option<VgprMsb>, inst: &Inst) -> Option<VgprMsb> {
    match inst.flow() {
        _ if !decoder.has_vgpr_msb() => before,
        Flow::Call | Flow::IndirectCall | Flow::Trap => None,
        _ if !inst.writes_mode() => before,
        _ if inst.vgpr_msb().is_some() => inst.vgpr_msb(),
        _ if inst.mnemonic().starts_with("s_setreg") => mode_field(decoder, before, inst),
        _ => before,
    }
}

/// The VGPR MSBs after `s_setreg`: nothing where it sets some of them, or to what is not known.
fn mode_field(decoder: &Decoder, msb: Option<VgprMsb>, inst: &Inst) -> Option<VgprMsb> {
    let field = inst.hwreg_field()?;
    if !field.is_of_mode(&VgprMsb::MODE_BITS) {
        return msb;
    }
    let value = match decoder.operand(inst, "imm")? {
        OperandValue::Number(value) => value,
        OperandValue::Literal32(value) => value.into(),
        _ => return None,
    };
    let (bits, own) = (field.bits(), VgprMsb::MODE_BITS);
    let covers = bits.start <= own.start && bits.end >= own.end;
    covers.then(|| VgprMsb::from_mode((value >> (own.start - bits.start)).cast_unsigned() as u8))
}

fn number(decoder: &Decoder, inst: &Inst, name: &str) -> Option<i64> {
    match decoder.operand(inst, name)? {
        OperandValue::Number(number) => Some(number),
        _ => None,
    }
}

fn exec_part(register: &Register) -> Option<Special> {
    match register.file {
        RegisterFile::Special(part @ (Special::Exec | Special::ExecLo | Special::ExecHi)) => {
            Some(part)
        }
        _ => None,
    }
}
