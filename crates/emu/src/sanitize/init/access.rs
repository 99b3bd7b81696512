//! Undefined bytes on their way between registers and memory.

use super::super::access::{In, Run, Touched};
use super::super::site::{Moves, Site, VectorAccess};
use super::super::{Here, Observer};
use super::origin::{Origin, Source};
use super::shadow::Bytes;
use crate::exec::memory::Part;
use crate::step::{Context, Step};
use crate::wave::Wave;

/// Registers that one access may load: two times four.
const MOST_WORDS: usize = 8;

/// What loads make of registers.
#[derive(Default)]
struct Loaded {
    masks: [Bytes; MOST_WORDS],
    is_any: bool,
    origin: Origin,
}

impl Observer<'_> {
    /// Looks at the registers that make addresses.
    pub(in super::super) fn check_address<const C: usize>(&mut self, site: &Site, wave: &Wave<C>) {
        let shadow = &self.group.waves[self.wave as usize].shadow;
        let lanes = wave.active;
        if lanes == 0 && !site.addresses.iter().all(|it| !it.is_vector) {
            return;
        }
        let wrong = site.addresses.iter().find(|it| shadow.is_undefined(**it, lanes)).copied();
        if let Some(span) = wrong {
            let origin = self.origin(site, Some(span));
            self.tell_undefined(self.here(site, 0), "is used as an address", origin);
        }
    }

    /// Undefined bytes of a place in memory, a bit each; four at most.
    fn bytes_at(&mut self, space: In, address: u64, count: u64) -> u8 {
        let count = count.min(4);
        match space {
            In::Device => self.undefined.bits(address, count),
            In::Lds => self.group.lds_shadow.bits(address, count),
            In::Scratch(lane) => {
                let scratch = &self.group.waves[self.wave as usize].shadow.scratch;
                (0..count).fold(0, |all, at| {
                    let address = address + at;
                    let word = scratch.get((address / 4) as usize);
                    let mask = word.map_or(0, |it| it[(address % 4) as usize]);
                    all | ((mask >> lane & 1) as u8) << at
                })
            }
        }
    }

    /// Makes bytes of a place in memory what bits say.
    fn set_bytes_at(&mut self, space: In, address: u64, count: u64, bits: u8, origin: Origin) {
        match space {
            In::Device => self.undefined.set_bits(address, count, bits),
            In::Lds => self.group.lds_shadow.set_bits(address, count, bits),
            In::Scratch(lane) => {
                let shadow = &mut self.group.waves[self.wave as usize].shadow;
                for at in 0..count {
                    let word = ((address + at) / 4) as usize;
                    let Some(it) = shadow.scratch.get_mut(word) else { continue };
                    let mask = &mut it[((address + at) % 4) as usize];
                    *mask = *mask & !(1 << lane) | u64::from(bits >> at & 1) << lane;
                    shadow.scratch_origins[word] = origin;
                }
            }
        }
    }

    fn origin_at(&mut self, site: &Site, run: &Run, address: u64) -> Origin {
        let source = match run.space {
            In::Device => Source::Memory(address),
            In::Lds => Source::Lds(address),
            In::Scratch(_) => {
                let shadow = &self.group.waves[self.wave as usize].shadow;
                let known = shadow.scratch_origins.get((address / 4) as usize).copied();
                match known {
                    Some(known) if known != Origin::NONE => return known,
                    _ => Source::Scratch(address),
                }
            }
        };
        self.origins.add(source, site.address)
    }

    /// Moves undefined bytes as an access of lanes does; before it runs, since loads may replace the address.
    pub(in super::super) fn move_lanes<const C: usize>(
        &mut self,
        site: &Site,
        access: VectorAccess,
        last: &Step<C>,
        touched: &Touched,
        wave: &Wave<C>,
        context: &Context<'_>,
    ) {
        match access.moves {
            Moves::Load => {
                let loaded = self.load_undefined(site, access, touched);
                self.put_loaded(site, access, &loaded, last, wave);
            }
            Moves::Store => self.store_undefined(site, access, last, touched),
            Moves::Atomic => {
                let loaded = self.load_undefined(site, access, touched);
                self.store_undefined(site, access, last, touched);
                if !site.writes.is_empty() {
                    self.put_loaded(site, access, &loaded, last, wave);
                }
            }
            Moves::ToLds => self.group.lds_shadow.define_all(context.lds.len()),
            Moves::Other => {
                for span in &site.writes {
                    self.shadow().define(*span, wave.active);
                }
                let scratch = &mut self.shadow().scratch;
                scratch.iter_mut().flatten().for_each(|mask| *mask &= !wave.active);
            }
        }
    }

    fn load_undefined(&mut self, site: &Site, access: VectorAccess, touched: &Touched) -> Loaded {
        let mut loaded = Loaded::default();
        let is_device = touched.runs.iter().all(|it| it.space == In::Device);
        if is_device && self.undefined.is_empty() {
            return loaded;
        }
        let words = access.bytes.map_or(1, |it| usize::from(it).div_ceil(4));
        for (number, run) in touched.runs.iter().enumerate() {
            let which = if access.is_double { number % 2 } else { 0 };
            for word in 0..words {
                let at = word as u64 * 4;
                let count = run.bytes.saturating_sub(at);
                let bits = self.bytes_at(run.space, run.address.wrapping_add(at), count);
                if bits == 0 {
                    continue;
                }
                if !loaded.is_any {
                    loaded.is_any = true;
                    loaded.origin = self.origin_at(site, run, run.address.wrapping_add(at));
                }
                let Some(masks) = loaded.masks.get_mut(which * words + word) else { continue };
                for (byte, mask) in masks.iter_mut().enumerate() {
                    *mask |= u64::from(bits >> byte & 1) << run.lane;
                }
            }
        }
        loaded
    }

    fn put_loaded<const C: usize>(
        &mut self,
        site: &Site,
        access: VectorAccess,
        loaded: &Loaded,
        last: &Step<C>,
        wave: &Wave<C>,
    ) {
        let active = wave.active;
        let shadow = self.shadow();
        for span in &site.writes {
            shadow.define(*span, active);
        }
        if !loaded.is_any {
            return;
        }
        let bytes = access.bytes.map_or(4, usize::from);
        for (at, masks) in loaded.masks.iter().enumerate() {
            if masks.iter().all(|it| *it == 0) {
                continue;
            }
            let register = usize::from(last.d) + at;
            let masks =
                if bytes < 4 { widened(*masks, Part::unpack(last.k)) } else { masks.map(Some) };
            for (byte, mask) in masks.iter().enumerate() {
                if let Some(mask) = mask {
                    shadow.set_byte(register, byte, active, *mask);
                }
            }
            shadow.vector_origins[register] = loaded.origin;
        }
    }

    fn store_undefined<const C: usize>(
        &mut self,
        site: &Site,
        access: VectorAccess,
        last: &Step<C>,
        touched: &Touched,
    ) {
        let all = touched.runs.iter().fold(0, |all, it| all | 1 << it.lane);
        let shadow = &self.group.waves[self.wave as usize].shadow;
        let wrong = site.data.iter().find(|it| shadow.is_undefined(**it, all)).copied();
        let is_device = touched.runs.iter().all(|it| it.space == In::Device);
        if wrong.is_none() && is_device && self.undefined.is_empty() {
            return;
        }
        let origin = wrong.map_or(Origin::NONE, |span| self.origin(site, Some(span)));
        let part = access.bytes.filter(|it| *it < 4).map(|_| Part::unpack(last.k));
        let shift = if part.is_some_and(|it| it.half == Some(true)) { 2 } else { 0 };
        let mut told = 0;
        for (number, run) in touched.runs.iter().enumerate() {
            let register = if access.is_double && number % 2 == 1 { last.b } else { last.a };
            let mut undefined = 0;
            for at in (0..run.bytes).step_by(4) {
                let shadow = &self.group.waves[self.wave as usize].shadow;
                let register = usize::from(register) + (at / 4) as usize;
                let count = (run.bytes - at).min(4);
                let bits = (0..count).fold(0, |all, byte| {
                    let mask = shadow.byte(register, byte as usize + shift);
                    all | ((mask >> run.lane & 1) as u8) << byte
                });
                undefined += u64::from(bits.count_ones());
                self.set_bytes_at(run.space, run.address.wrapping_add(at), count, bits, origin);
            }
            // What is undefined in part is padding, or the rest of a vector.
            if run.space == In::Device && undefined == run.bytes {
                told |= 1 << run.lane;
            }
        }
        if told != 0 {
            let here: Here<'_> = self.here(site, told);
            self.tell_undefined(here, "is stored", origin);
        }
    }

    /// A scalar load; the registers are those that it writes.
    pub(in super::super) fn load_scalars(&mut self, site: &Site, address: u64, bytes: u64) {
        for span in &site.writes {
            self.shadow().define(*span, u64::MAX);
        }
        if self.undefined.is_empty() {
            return;
        }
        let registers: Vec<usize> = site.writes.iter().flat_map(|it| it.registers()).collect();
        for (register, at) in registers.into_iter().zip((0..bytes).step_by(4)) {
            let address = address.wrapping_add(at);
            let bits = self.bytes_at(In::Device, address, (bytes - at).min(4));
            if bits != 0 {
                let origin = self.origins.add(Source::Memory(address), site.address);
                let bytes = [0, 1, 2, 3].map(|byte| if bits >> byte & 1 == 1 { 0xff } else { 0 });
                self.shadow().set_scalar(register, u32::from_le_bytes(bytes), origin);
            }
        }
    }
}

/// The bytes of a register that are undefined once less than a word is loaded into it; none where they are kept.
fn widened(loaded: Bytes, part: Part) -> [Option<u64>; 4] {
    let last = loaded[usize::from(part.bytes.clamp(1, 2)) - 1];
    let above = if part.is_signed { last } else { 0 };
    let byte = |at: usize| if at < usize::from(part.bytes) { loaded[at] } else { above };
    let kept = if part.clears { Some(0) } else { None };
    match part.half {
        None => [0, 1, 2, 3].map(|at| Some(byte(at))),
        Some(false) => [Some(byte(0)), Some(byte(1)), kept, kept],
        Some(true) => [kept, kept, Some(byte(0)), Some(byte(1))],
    }
}
