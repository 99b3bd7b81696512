//! A replacement as bytes, wherever it is put: its code, the jumps there and back, and its record.

use std::sync::Arc;

use hsaco_analysis::Focus;
use hsaco_isa::Inst;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{Register, RegisterFile, Special, VgprMsb};

use crate::dialect::Dialect;
use crate::jump::{self, JumpKind, NOP, VCC};
use crate::manifest::{Change, Placement, Record};
use crate::plan::{Branch, Window};
use crate::refusal::Refusal;
use crate::scratch::ScratchRegisters;
use crate::view::{Around, View};

/// A replacement that does not fit in place.
pub(super) struct Body<'a> {
    pub(super) window: &'a Window,
    pub(super) dialect: &'static Dialect,
    /// Where the site is, and its bytes.
    pub(super) site: u64,
    pub(super) old: Vec<u8>,
    pub(super) code: Vec<u8>,
    /// Where control goes on; nowhere if the wave ends.
    pub(super) next: Option<u64>,
    /// The conditional branch at its end, which leads elsewhere.
    pub(super) branch: Option<Branch>,
}

/// What far jumps of a site take.
pub(super) struct Crossing {
    /// The pair of scalar registers that holds the address.
    pub(super) pair: u16,
    /// The scalar register that keeps SCC, where it is needed and lost.
    pub(super) saved: Option<u16>,
    /// The registers that are taken beside the pair.
    pub(super) taken: Vec<Register>,
}

impl Crossing {
    /// The bytes that save SCC before a far jump.
    pub(super) fn save(&self, dialect: &Dialect) -> Vec<u32> {
        self.saved.map(|register| dialect.save_scc(register)).unwrap_or_default()
    }

    pub(super) fn restore(&self, dialect: &Dialect) -> Option<u32> {
        self.saved.map(|register| dialect.restore_scc(register))
    }

    /// Bytes of a jump at the site, and of what takes SCC back.
    pub(super) fn there_size(&self, dialect: &Dialect) -> usize {
        self.save(dialect).len() * 4 + dialect.far_size()
    }

    pub(super) fn site_size(&self, dialect: &Dialect) -> usize {
        self.there_size(dialect) + if self.saved.is_some() { 4 } else { 0 }
    }
}

impl<'a> Body<'a> {
    pub(super) fn new(view: &View<'_>, window: &'a Window) -> Self {
        let stream = view.stream();
        let mut old = Vec::new();
        (window.first..window.end())
            .filter_map(|it| stream.inst(it))
            .for_each(|it| it.encode(&mut old));
        let mut code = Vec::new();
        window.code.iter().for_each(|it| it.encode(&mut code));
        let ends = window.code.last().is_some_and(|it| it.flow() == Flow::End);
        let next = match window.branch {
            Some(branch) if !branch.is_conditional => Some(branch.target),
            Some(_) => Some(stream.address_of(window.end())),
            None => (!ends).then(|| stream.address_of(window.end())),
        };
        let branch = window.branch.filter(|it| it.is_conditional);
        let (site, dialect) = (stream.address_of(window.first), view.dialect());
        Body { window, dialect, site, old, code, next, branch }
    }

    /// Whether the code has room where it stood. A branch would have to stay where it is.
    pub(super) fn fits_in_place(&self) -> bool {
        self.window.branch.is_none()
            && self.window.fixups.is_empty()
            && self.code.len() <= self.old.len()
    }

    /// The code as it is at an address: addresses that it makes are distances from there.
    pub(super) fn placed(&self, at: u64) -> Vec<u8> {
        let mut code = self.code.clone();
        for (number, target) in &self.window.fixups {
            let before = self.window.code.iter().take(*number);
            let start: usize = before.map(Inst::len).sum();
            let first = code.get(start..).and_then(|it| it.first_chunk()).copied();
            let pair = self.dialect.address_pair(first.map_or(0, u32::from_le_bytes));
            let words = self.dialect.address(at.wrapping_add(start as u64), *target, pair);
            let place = code.get_mut(start..).into_iter().flatten();
            place.zip(jump::bytes(&words)).for_each(|(to, from)| *to = from);
        }
        code
    }

    /// Bytes of the branches at the end.
    pub(super) fn near_exits_size(&self) -> usize {
        let on = usize::from(self.next.is_some()) * 4;
        on + usize::from(self.branch.is_some()) * 4
    }

    /// The branches there and back, if all reach.
    pub(super) fn branches(&self, at: u64) -> Option<(u32, Vec<u8>)> {
        let there = self.dialect.near(self.site, at)?;
        let mut end = at.wrapping_add(self.code.len() as u64);
        let mut back = Vec::new();
        if let Some(Branch { word, target, .. }) = self.branch {
            back.push(self.dialect.near_like(word, end, target)?);
            end += 4;
        }
        if let Some(next) = self.next {
            back.push(self.dialect.near(end, next)?);
        }
        Some((there, jump::bytes(&back)))
    }

    /// A far jump from somewhere to a place, with SCC saved where it has to be.
    pub(super) fn far_there(&self, from: u64, to: u64, crossing: &Crossing) -> Vec<u32> {
        let mut words = crossing.save(self.dialect);
        let from = from.wrapping_add(words.len() as u64 * 4);
        words.extend(self.dialect.far(from, to, crossing.pair));
        words
    }

    /// The far jumps at the end of a body that is at an address; nothing where they would lose SCC.
    pub(super) fn far_exits(
        &self,
        at: u64,
        crossing: &Crossing,
        landing: Option<u64>,
    ) -> Option<Vec<u8>> {
        let prefix = if crossing.saved.is_some() { 4 } else { 0 };
        let end = at.wrapping_add(self.code.len() as u64 + prefix);
        let Some(landing) = landing else { return Some(Vec::new()) };
        if self.window.branch.is_some() && crossing.saved.is_some() {
            return None;
        }
        let Some(Branch { word, target, .. }) = self.branch else {
            return Some(jump::bytes(&self.far_there(end, landing, crossing)));
        };
        let on = self.far_there(end + 4, landing, crossing);
        let taken = end + 4 + on.len() as u64 * 4;
        let mut words = vec![self.dialect.near_like(word, end, taken)?];
        words.extend(on);
        words.extend(self.far_there(taken, target, crossing));
        Some(jump::bytes(&words))
    }

    /// Bytes of a far jump beside the site, and of what takes SCC back where the site has no room for it.
    pub(super) fn gateway_size(&self, crossing: &Crossing) -> usize {
        let landing = if crossing.saved.is_some() && self.old.len() < 8 { 8 } else { 0 };
        crossing.there_size(self.dialect) + landing
    }

    /// Takes note of the registers that far jumps take, and takes SCC back at the end of the site.
    pub(super) fn add_crossing(&self, record: &mut Record, crossing: &Crossing) {
        record.pair = Some(pair_register(crossing.pair));
        record.scratch_registers.extend(&crossing.taken);
        let Some(restore) = crossing.restore(self.dialect) else { return };
        let mut site = record.site.new.to_vec();
        if site.len() < 8 {
            return;
        }
        let last = site.len() - 4;
        site.get_mut(last..).into_iter().for_each(|it| it.copy_from_slice(&restore.to_le_bytes()));
        record.site.new = site.into();
    }

    pub(super) fn in_place(&self, function: &Arc<str>) -> Record {
        let mut record = self.record(function, Placement::InPlace, JumpKind::None, &[]);
        let mut new = self.code.clone();
        new.extend(record.site.new.get(..self.old.len() - new.len()).unwrap_or_default());
        record.site.new = new.into();
        record
    }

    /// The record of a site that begins with these words; `s_nop` follows.
    pub(super) fn record(
        &self,
        function: &Arc<str>,
        placement: Placement,
        jump: JumpKind,
        words: &[u32],
    ) -> Record {
        let mut new = jump::bytes(words);
        while new.len() < self.old.len() {
            new.extend(NOP.to_le_bytes());
        }
        Record {
            rules: self.window.rules.clone(),
            function: Arc::clone(function),
            site: Change { address: self.site, old: self.old.as_slice().into(), new: new.into() },
            placement,
            jump,
            body: None,
            way_back: 0,
            relays: Vec::new(),
            scratch_registers: self.window.scratch_registers.clone(),
            pair: None,
        }
    }
}

pub(super) fn pair_register(pair: u16) -> Register {
    let (file, first) = match pair {
        VCC => (RegisterFile::Special(Special::Vcc), 0),
        _ => (RegisterFile::Sgpr, pair),
    };
    Register { file, first, count: 2, half: None }
}

/// What far jumps there and back take: dead scalar registers.
pub(super) fn crossing(view: &View<'_>, window: &Window) -> Result<Crossing, Refusal> {
    let around = Around { view, first: window.first, last: window.end() - 1 };
    let mut scratch = ScratchRegisters::around(around);
    for inst in &window.code {
        let effects = view.decoder().effects(inst, VgprMsb::default());
        let (writes, reads) = effects.scalars();
        writes.chain(reads).for_each(|register| scratch.avoid(&register));
    }
    let pair = match scratch.sgprs(2, 2) {
        Ok(pair) => pair.first,
        Err(_) => scratch.vcc().map(|_| VCC)?,
    };
    let (mut saved, mut taken) = (None, Vec::new());
    if view.dialect().loses_scc() {
        let file = RegisterFile::Special(Special::Scc);
        let scc = Register { file, first: 0, count: 1, half: None };
        if around.needed(Focus::Scalars).contains(&scc) {
            let register = scratch.sgprs(1, 1)?;
            saved = Some(register.first);
            taken.push(register);
        } else {
            taken.push(scc);
        }
    }
    Ok(Crossing { pair, saved, taken })
}
