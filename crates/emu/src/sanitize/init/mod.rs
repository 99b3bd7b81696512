//! Values that were never written, told where they matter: in an address, a branch, or a store to memory.
//!
//! Registers, LDS, scratch memory and memory have a shadow that says which bytes (bits, of scalars) are undefined. What an
//! instruction makes of undefined operands is found by running it with several values in their place: what comes out
//! differently is undefined. So lanes that cross, halves, masks and modifiers need no rules of their own.

mod access;
mod origin;
mod shadow;

use hsaco_isa::effects::Flow;

pub(super) use self::origin::Origins;
use self::origin::{Origin, Source};
pub(super) use self::shadow::{Lds, Shadow, Undefined};
use super::fault::{Event, Fault};
use super::site::{Site, Span};
use super::{FaultKind, Here, Observer};
use crate::error::StopLocation;
use crate::step::{self, Context, Step};
use crate::wave::{self, Vector, Wave, scalar};

const HELP: &str = "write it on every path before it is read";

/// Bytes that stand in for undefined ones: what is small, large, negative and no number, as integers and floats.
const PATTERNS: [u8; 5] = [0x00, 0xff, 0x7f, 0xfe, 0x80];

/// How an undefined operand shows in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Bit by bit, as it is moved or masked.
    Exact,
    /// All of a register.
    Whole,
    /// All of a half.
    Half,
}

impl Spread {
    pub(super) fn of(mnemonic: &str) -> Self {
        const MOVES: [&str; 40] = [
            "mov",
            "cndmask",
            "and",
            "or",
            "xor",
            "not",
            "bfi",
            "perm",
            "alignb",
            "lshl",
            "lshr",
            "ashr",
            "bfe",
            "pack",
            "readlane",
            "readfirstlane",
            "writelane",
            "permlane",
            "swap",
            "accvgpr",
            "or3",
            "xor3",
            "bfrev",
            "brev",
            "bpermute",
            "permute",
            "swizzle",
            "andn1",
            "andn2",
            "orn1",
            "orn2",
            "nand",
            "nor",
            "xnor",
            "cselect",
            "cmov",
            "wqm",
            "bitset0",
            "bitset1",
            "sext",
        ];
        let mut words = mnemonic.split('_').skip(1).filter(|it| *it != "dual");
        let first = words.next().unwrap_or_default();
        let is_packed = first == "pk";
        let first = if is_packed { words.next().unwrap_or_default() } else { first };
        // `v_lshl_add_u32` is a sum.
        let adds = mnemonic.contains("_add_") || mnemonic.contains("_sub_");
        if MOVES.iter().any(|it| first.starts_with(it)) && !adds {
            Self::Exact
        } else if is_packed && mnemonic.ends_with("16") {
            Self::Half
        } else {
            Self::Whole
        }
    }

    fn over(self, bits: u32) -> u32 {
        match self {
            Self::Exact => bits,
            Self::Whole => 0_u32.wrapping_sub(u32::from(bits != 0)),
            Self::Half => {
                let half = |mask: u32| if bits & mask == 0 { 0 } else { mask };
                half(0xffff) | half(0xffff_0000)
            }
        }
    }
}

/// What registers hold, kept while an instruction is tried.
struct Saved<const C: usize> {
    vectors: Vec<(usize, Vector<C>)>,
    scalars: Vec<(usize, u32)>,
    scc: bool,
}

impl<const C: usize> Saved<C> {
    fn new(site: &Site, wave: &Wave<C>) -> Self {
        let of = |is_vector| {
            let spans = site.reads.iter().chain(&site.writes);
            spans.filter(move |it| it.is_vector == is_vector).flat_map(|it| it.registers())
        };
        Self {
            vectors: of(true).filter_map(|at| Some((at, *wave.v.get(at)?))).collect(),
            scalars: of(false).filter_map(|at| Some((at, *wave.s.get(at)?))).collect(),
            scc: wave.scc,
        }
    }

    fn restore(&self, wave: &mut Wave<C>) {
        for (at, vector) in &self.vectors {
            wave.v[*at] = *vector;
        }
        for (at, scalar) in &self.scalars {
            wave.s[*at] = *scalar;
        }
        wave.scc = self.scc;
        wave.sync_exec();
    }
}

/// What came out of an instruction.
struct Results<const C: usize> {
    vectors: Vec<Vector<C>>,
    scalars: Vec<u32>,
    scc: bool,
}

impl<const C: usize> Results<C> {
    fn new(site: &Site, wave: &Wave<C>) -> Self {
        let of = |is_vector| {
            let spans = site.writes.iter().filter(move |it| it.is_vector == is_vector);
            spans.flat_map(|it| it.registers())
        };
        Self {
            vectors: of(true).filter_map(|at| wave.v.get(at).copied()).collect(),
            scalars: of(false).filter_map(|at| wave.s.get(at).copied()).collect(),
            scc: wave.scc,
        }
    }
}

/// Which bits of results depend on undefined operands.
struct Depends<const C: usize> {
    vectors: Vec<Vector<C>>,
    scalars: Vec<u32>,
    scc: bool,
}

impl<const C: usize> Depends<C> {
    fn new(first: &Results<C>) -> Self {
        Self {
            vectors: vec![Vector::ZERO; first.vectors.len()],
            scalars: vec![0; first.scalars.len()],
            scc: false,
        }
    }

    fn compare(&mut self, one: &Results<C>, other: &Results<C>, lanes: u64) {
        for ((all, one), other) in self.vectors.iter_mut().zip(&one.vectors).zip(&other.vectors) {
            for lane in wave::lanes(lanes).take_while(|lane| *lane < C * 8) {
                all.set_lane(lane, all.lane(lane) | one.lane(lane) ^ other.lane(lane));
            }
        }
        for ((all, one), other) in self.scalars.iter_mut().zip(&one.scalars).zip(&other.scalars) {
            *all |= one ^ other;
        }
        self.scc |= one.scc != other.scc;
    }
}

impl Observer<'_> {
    fn shadow(&mut self) -> &mut Shadow {
        &mut self.group.waves[self.wave as usize].shadow
    }

    /// Runs an instruction that has to do with registers only.
    pub(super) fn run_with_shadow<const C: usize>(
        &mut self,
        site: &Site,
        steps: &[Step<C>],
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Option<u16> {
        let lane = site.lane.map(|it| it.mask(wave));
        let lanes = match lane {
            Some(lane) => lane,
            None if site.is_masked && !site.crosses_lanes => wave.active,
            None => u64::MAX,
        };
        let written = match lane {
            Some(lane) => lane,
            None if site.is_masked => wave.active,
            None => u64::MAX,
        };
        let shadow = &self.group.waves[self.wave as usize].shadow;
        let undefined = site.reads.iter().find(|it| shadow.is_undefined(**it, lanes)).copied();
        let is_undefined = undefined.is_some() || shadow.scc && site.reads_scc;
        if !is_undefined || !site.is_repeatable {
            let stopped = step::run(steps, wave, context);
            if site.is_indexed {
                self.shadow().define_all(written);
            }
            for span in &site.writes {
                self.shadow().define(*span, written);
            }
            if site.writes_scc {
                self.shadow().scc = false;
            }
            return stopped;
        }
        let origin = self.origin(site, undefined);
        let depends = self.try_out(site, lanes, steps, wave, context);
        let stopped = step::run(steps, wave, context);
        self.put(site, &depends, [lanes, written], origin);
        stopped
    }

    /// Runs an instruction with several values for what is undefined in some lanes.
    fn try_out<const C: usize>(
        &mut self,
        site: &Site,
        lanes: u64,
        steps: &[Step<C>],
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) -> Depends<C> {
        let saved = Saved::new(site, wave);
        let patterns = if site.spread == Spread::Exact { &PATTERNS[..2] } else { &PATTERNS[..] };
        let mut first: Option<(Results<C>, Depends<C>)> = None;
        for pattern in patterns {
            self.shadow().fill(site, wave, lanes, *pattern);
            step::run(steps, wave, context);
            wave.stop = false;
            let results = Results::new(site, wave);
            saved.restore(wave);
            match &mut first {
                None => {
                    let depends = Depends::new(&results);
                    first = Some((results, depends));
                }
                Some((one, depends)) => depends.compare(one, &results, lanes),
            }
        }
        first.map_or_else(
            || Depends { vectors: Vec::new(), scalars: Vec::new(), scc: false },
            |it| it.1,
        )
    }

    /// Makes results undefined that depend on what is, in the lanes that it is about.
    fn put<const C: usize>(
        &mut self,
        site: &Site,
        depends: &Depends<C>,
        [lanes, written]: [u64; 2],
        origin: Origin,
    ) {
        let shadow = &mut self.group.waves[self.wave as usize].shadow;
        let (mut vectors, mut scalars) = (depends.vectors.iter(), depends.scalars.iter());
        let mut masks_lanes = 0;
        for span in &site.writes {
            for at in span.registers() {
                if span.is_vector {
                    let Some(bits) = vectors.next() else { continue };
                    for lane in wave::lanes(lanes).take_while(|lane| *lane < C * 8) {
                        let bits = bits.lane(lane);
                        let is_written = written >> lane & 1 == 1;
                        let bits = if is_written { site.spread.over(bits) } else { bits };
                        shadow.set_lane(at, lane, bits);
                    }
                    shadow.vector_origins[at] = origin;
                } else {
                    let Some(bits) = scalars.next() else { continue };
                    // Masks of lanes depend on each lane by itself.
                    let spread = if site.is_masked { Spread::Exact } else { site.spread };
                    let bits = spread.over(*bits);
                    if (usize::from(scalar::EXEC)..usize::from(scalar::EXEC) + 2).contains(&at) {
                        masks_lanes |= bits;
                    } else {
                        shadow.set_scalar(at, bits, origin);
                    }
                }
            }
        }
        if site.writes_scc {
            (shadow.scc, shadow.scc_origin) = (depends.scc, origin);
        }
        if masks_lanes != 0 {
            self.tell_undefined(self.here(site, 0), "decides which lanes run", origin);
        }
    }

    /// Where an undefined operand comes from.
    fn origin(&mut self, site: &Site, span: Option<Span>) -> Origin {
        let layout = self.observed.layout;
        let shadow = &self.group.waves[self.wave as usize].shadow;
        match span {
            None => shadow.scc_origin,
            Some(span) => match shadow.origin(span) {
                Origin::NONE => {
                    let name = span.name(layout);
                    self.origins.add(Source::Register(name), site.address)
                }
                known => known,
            },
        }
    }

    /// Looks at what a branch depends on.
    pub(super) fn check_branch<const C: usize>(&mut self, site: &Site, wave: &Wave<C>) {
        let shadow = &self.group.waves[self.wave as usize].shadow;
        let (is_undefined, origin) = match site.flow {
            Flow::ConditionalBranch if site.reads_scc => (shadow.scc, shadow.scc_origin),
            Flow::ConditionalBranch => {
                let vcc =
                    site.reads.iter().find(|it| it.registers().start == usize::from(scalar::VCC));
                let Some(vcc) = vcc else { return };
                let bits = shadow.pair(usize::from(scalar::VCC), C == 8);
                // One lane that is certain is enough.
                let known = wave.lane_mask(scalar::VCC) & !bits;
                (bits != 0 && known == 0, shadow.origin(*vcc))
            }
            Flow::IndirectCall | Flow::IndirectJump => {
                let target = site.reads.iter().find(|it| shadow.is_undefined(**it, u64::MAX));
                (target.is_some(), target.map_or(Origin::NONE, |it| shadow.origin(*it)))
            }
            _ => return,
        };
        if is_undefined {
            self.tell_undefined(self.here(site, 0), "decides a branch", origin);
        }
    }

    /// Tells that an undefined value matters.
    fn tell_undefined(&self, here: Here<'_>, what: &str, origin: Origin) {
        let kind = FaultKind::Init;
        let (source, address) = self.origins.get(origin);
        self.sanitizer.faults.add((kind, here.site.address, address), || Fault {
            kind,
            is_certain: true,
            at: self.location(here),
            message: format!("{source} was never written, and {what}"),
            before: (address != 0 && address != here.site.address).then(|| Event {
                what: "first read by",
                at: StopLocation {
                    address,
                    instruction: self.text_at(address),
                    lanes: 0,
                    ..self.location(here)
                },
            }),
            help: HELP.to_owned(),
            times: 1,
        });
    }
}
