//! Where replacements go, and how control gets there and back.
//!
//! In place where they fit. Else in padding behind the function that nothing reaches, else in a pool behind the
//! object: by `s_branch` where that reaches, else by an address in a pair of scalar registers, for which
//! neighbours of the site may have to move too; else by way of padding anywhere near. Nothing else moves.

use std::sync::Arc;

use hsaco_analysis::Focus;
use hsaco_isa::{Flow, Inst, Register, RegisterFile, Special, VgprMsb};

use crate::bytes::Bytes;
use crate::gather::{Prologue, Window};
use crate::jump::{self, CODE_END, FAR, FAR_FORWARD, Jump, NOP, VCC};
use crate::lease::{Leases, SGPRS};
use crate::manifest::{Change, Placement, Record, Stub};
use crate::needs::Around;
use crate::padding::Padding;
use crate::refusal::{Refusal, RefusalKind};
use crate::view::View;

/// What a stub takes, and what kernels start at a multiple of.
const STUB: usize = 256;

/// Puts replacements in their places.
pub(crate) struct Placer {
    /// Where the pool will be.
    pub(crate) base: u64,
    pub(crate) pool: Vec<u8>,
    pub(crate) records: Vec<Record>,
    /// Padding of the object, once something is to be placed.
    pub(crate) padding: Option<Padding>,
}

/// A replacement that does not fit in place.
struct Body<'a> {
    window: &'a Window,
    /// Where the site is, and its bytes.
    site: u64,
    old: Vec<u8>,
    code: Vec<u8>,
    /// Where control goes on; nowhere if the wave ends.
    next: Option<u64>,
}

impl Placer {
    pub(crate) fn new(base: u64) -> Self {
        Placer { base, pool: Vec::new(), records: Vec::new(), padding: None }
    }

    /// Places all replacements of a function, which are in the order of their addresses.
    pub(crate) fn place(
        &mut self,
        view: &View<'_>,
        function: &Arc<str>,
        windows: &[Window],
    ) -> Result<(), (u64, &'static str, Refusal)> {
        let mut rest = windows;
        let mut free_from = 0;
        while let Some((window, others)) = rest.split_first() {
            let taken = self.place_first(view, function, free_from, rest).map_err(|refusal| {
                let (rule, address) = window.rules.first().copied().unwrap_or(("", 0));
                (address, rule, refusal)
            })?;
            rest = others.get(taken.windows.saturating_sub(1)..).unwrap_or_default();
            free_from = taken.end;
        }
        Ok(())
    }

    /// Places the first replacement, and those that its site has to take in.
    fn place_first(
        &mut self,
        view: &View<'_>,
        function: &Arc<str>,
        free_from: usize,
        windows: &[Window],
    ) -> Result<Taken, Refusal> {
        let Some(window) = windows.first() else { return Ok(Taken { windows: 0, end: 0 }) };
        let body = Body::new(view, window);
        let one = Taken { windows: 1, end: window.end() };
        if body.code.len() <= body.old.len() {
            self.records.push(body.in_place(function));
            return Ok(one);
        }
        if let Some(record) = self.in_padding(view, &body, function) {
            self.records.push(record);
            return Ok(one);
        }
        if let Some(record) = self.near(&body, function) {
            self.records.push(record);
            return Ok(one);
        }
        let (wide, taken) = widened(view, free_from, windows);
        let pair = free_pair(view, &wide);
        let body = Body::new(view, &wide);
        if let Ok(pair) = pair
            && body.old.len() >= FAR_FORWARD
        {
            let record = self.far(&body, function, pair);
            self.records.push(record);
            return Ok(taken);
        }
        // What was taken in to make room is of no use to branches.
        let body = Body::new(view, window);
        let record = self.by_padding(view, &body, function, pair.ok())?;
        self.records.push(record);
        Ok(one)
    }

    /// Puts what is to run before a kernel into the pool, as far as a line's start; the pair of registers that its
    /// jump takes comes with it.
    pub(crate) fn stub(
        &mut self,
        view: &View<'_>,
        kernel: &str,
        prologue: &Prologue,
    ) -> Result<(Stub, u16), Refusal> {
        let mut taken = view.needs(Focus::Scalars).before(view, 0);
        for inst in &prologue.code {
            let effects = view.decoder().effects(inst, VgprMsb::default());
            effects.reads().chain(effects.writes()).for_each(|register| taken.insert(&register));
        }
        let found = Leases::new(taken, view.budget()).sgprs(2, 2);
        let pair = found.map(|it| it.first).or_else(|refusal| unset_pair(view).ok_or(refusal))?;
        let mut code = Vec::with_capacity(STUB);
        prologue.code.iter().for_each(|inst| inst.encode(&mut code));
        while !self.pool.len().is_multiple_of(STUB) {
            self.pool.extend(CODE_END.to_le_bytes());
        }
        let (address, way_on, entry) = (self.pool_end(), code.len(), view.stream().address());
        code.extend(jump::bytes(&jump::far(address + way_on as u64, entry, pair)));
        while code.len() < STUB {
            code.extend(CODE_END.to_le_bytes());
        }
        self.pool.extend_from_slice(&code);
        let (kernel, rule) = (kernel.to_owned(), prologue.rule.to_owned());
        let registers = pair_register(pair);
        Ok((Stub { kernel, rule, address, code, way_on, entry, pair: registers }, pair))
    }

    fn pool_end(&self) -> u64 {
        self.base.wrapping_add(self.pool.len() as u64)
    }

    fn in_padding(
        &mut self,
        view: &View<'_>,
        body: &Body<'_>,
        function: &Arc<str>,
    ) -> Option<Record> {
        if !view.is_closed() {
            return None;
        }
        let end = view.stream().address_of(view.stream().len());
        let size = body.code.len() + 4;
        let padding = self.padding.as_mut()?;
        let at = padding.behind(end, size)?;
        let (there, back) = body.branches(at)?;
        let old = padding.take(at, size);
        let mut record = body.record(function, Placement::Padding, Jump::Near, &[there]);
        let new = [body.placed(at), back.clone()].concat().into();
        record.body = Some(Change { address: at, old: old.into(), new });
        record.way_back = back.len();
        Some(record)
    }

    fn near(&mut self, body: &Body<'_>, function: &Arc<str>) -> Option<Record> {
        let at = self.pool_end();
        let (there, back) = body.branches(at)?;
        let mut record = body.record(function, Placement::Pool, Jump::Near, &[there]);
        self.add_body(&mut record, body, &back);
        Some(record)
    }

    fn far(&mut self, body: &Body<'_>, function: &Arc<str>, pair: u16) -> Record {
        let at = self.pool_end();
        let there = jump::far(body.site, at, pair);
        let back = body.far_back(at, pair);
        let mut record = body.record(function, Placement::Pool, Jump::Far, &there);
        record.pair = Some(pair_register(pair));
        self.add_body(&mut record, body, &back);
        record
    }

    /// By way of padding within reach: with a pair of registers one stretch of it is enough, without one
    /// branch follows branch.
    fn by_padding(
        &mut self,
        view: &View<'_>,
        body: &Body<'_>,
        function: &Arc<str>,
        pair: Option<u16>,
    ) -> Result<Record, Refusal> {
        let at = self.pool_end();
        let no_place = || {
            let detail = format!(
                "the pool is out of a branch's reach of {}, {}, and there is not enough padding on the way",
                view.place(body.window.first),
                if pair.is_some() {
                    "no neighbour may move"
                } else {
                    "no scalar registers are free"
                },
            );
            Refusal::new(RefusalKind::NoPlace, detail)
        };
        let padding = self.padding.as_mut().ok_or_else(no_place)?;
        let mark = padding.mark();
        if let Some(pair) = pair
            && let Some(gateway) = padding.near(body.site, FAR_FORWARD)
        {
            let there = jump::near(body.site, gateway).ok_or_else(no_place)?;
            let old = padding.take(gateway, FAR_FORWARD);
            let new = jump::bytes(&jump::far(gateway, at, pair));
            let back = body.far_back(at, pair);
            let mut record = body.record(function, Placement::Pool, Jump::Far, &[there]);
            record.pair = Some(pair_register(pair));
            record.relays.push(Change { address: gateway, old: old.into(), new: new.into() });
            self.add_body(&mut record, body, &back);
            return Ok(record);
        }
        let Some((there, mut relays, back)) = relays(padding, body, at) else {
            padding.reset(mark);
            return Err(no_place());
        };
        let mut record = body.record(function, Placement::Pool, Jump::Relay, &[there]);
        record.relays.append(&mut relays);
        self.add_body(&mut record, body, &back);
        Ok(record)
    }

    fn add_body(&mut self, record: &mut Record, body: &Body<'_>, back: &[u8]) {
        let address = self.pool_end();
        let new = [body.placed(address), back.to_vec()].concat();
        self.pool.extend_from_slice(&new);
        record.way_back = back.len();
        record.body = Some(Change { address, old: Bytes::default(), new: new.into() });
    }
}

/// The branch at the site, those on the way there and back, and the one at the body's end.
fn relays(padding: &mut Padding, body: &Body<'_>, at: u64) -> Option<(u32, Vec<Change>, Vec<u8>)> {
    let mut relays = Vec::new();
    let there = chain(padding, body.site, at, &mut relays)?;
    let back = match body.next {
        None => Vec::new(),
        Some(next) => {
            let end = at.wrapping_add(body.code.len() as u64);
            jump::bytes(&[chain(padding, end, next, &mut relays)?])
        }
    };
    Some((there, relays, back))
}

/// The branch at `from` that is the first of those that lead to `to`.
fn chain(padding: &mut Padding, from: u64, to: u64, relays: &mut Vec<Change>) -> Option<u32> {
    let mut stops = Vec::new();
    let mut at = from;
    while jump::near(at, to).is_none() {
        let stop = padding.towards(at, to)?;
        let old = padding.take(stop, 4);
        stops.push((stop, old));
        at = stop;
    }
    let targets = stops.iter().map(|(stop, _)| *stop).chain([to]);
    let sources = std::iter::once(from).chain(stops.iter().map(|(stop, _)| *stop));
    let branches: Option<Vec<u32>> =
        sources.zip(targets).map(|(from, to)| jump::near(from, to)).collect();
    let branches = branches?;
    let (first, others) = branches.split_first()?;
    relays.extend(stops.into_iter().zip(others).map(|((address, old), branch)| Change {
        address,
        old: old.into(),
        new: jump::bytes(&[*branch]).into(),
    }));
    Some(*first)
}

/// How much of a list of windows was placed.
struct Taken {
    windows: usize,
    end: usize,
}

impl<'a> Body<'a> {
    fn new(view: &View<'_>, window: &'a Window) -> Self {
        let stream = view.stream();
        let mut old = Vec::new();
        (window.first..window.end())
            .filter_map(|it| stream.inst(it))
            .for_each(|it| it.encode(&mut old));
        let mut code = Vec::new();
        window.code.iter().for_each(|it| it.encode(&mut code));
        let ends = window.code.last().is_some_and(|it| it.flow() == Flow::End);
        let next = (!ends).then(|| stream.address_of(window.end()));
        Body { window, site: stream.address_of(window.first), old, code, next }
    }

    /// The code as it is at an address: constants of addresses that it makes are distances from there.
    fn placed(&self, at: u64) -> Vec<u8> {
        let mut code = self.code.clone();
        for (number, target) in &self.window.fixups {
            let before = self.window.code.iter().take(*number);
            let start: usize = before.map(Inst::len).sum();
            let distance = target.wrapping_sub(at.wrapping_add(start as u64 + 4));
            let constant = code.get_mut(start + 8..start + 16).into_iter().flatten();
            constant.zip(distance.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
        code
    }

    /// The branches there and back, if both reach.
    fn branches(&self, at: u64) -> Option<(u32, Vec<u8>)> {
        let there = jump::near(self.site, at)?;
        let end = at.wrapping_add(self.code.len() as u64);
        let back = match self.next {
            Some(next) => jump::bytes(&[jump::near(end, next)?]),
            None => Vec::new(),
        };
        Some((there, back))
    }

    fn far_back(&self, at: u64, pair: u16) -> Vec<u8> {
        let end = at.wrapping_add(self.code.len() as u64);
        self.next.map(|next| jump::bytes(&jump::far(end, next, pair))).unwrap_or_default()
    }

    fn in_place(&self, function: &Arc<str>) -> Record {
        let mut record = self.record(function, Placement::InPlace, Jump::None, &[]);
        let mut new = self.code.clone();
        new.extend(record.site.new.get(..self.old.len() - new.len()).unwrap_or_default());
        record.site.new = new.into();
        record
    }

    /// The record of a site that begins with these words; `s_nop` follows.
    fn record(
        &self,
        function: &Arc<str>,
        placement: Placement,
        jump: Jump,
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
            leases: self.window.leases.clone(),
            pair: None,
        }
    }
}

/// The most scalar registers that a launch fills.
const LAUNCHED: u16 = 34;

/// A pair of scalar registers that holds nothing when a kernel begins, whatever its code is.
fn unset_pair(view: &View<'_>) -> Option<u16> {
    let first = view.budget().sgprs.max(LAUNCHED).next_multiple_of(2);
    (first..SGPRS).step_by(2).find(|pair| *pair != 102)
}

/// Whether a pair of scalar registers holds nothing when a kernel begins.
pub(crate) fn is_unset(view: &View<'_>, pair: u16) -> bool {
    pair >= view.budget().sgprs.max(LAUNCHED)
}

fn pair_register(pair: u16) -> Register {
    let (file, first) = match pair {
        VCC => (RegisterFile::Special(Special::Vcc), 0),
        _ => (RegisterFile::Sgpr, pair),
    };
    Register { file, first, count: 2, half: None }
}

/// A window that has taken in its neighbours, and other windows with them, until a far jump fits in its place.
fn widened(view: &View<'_>, free_from: usize, windows: &[Window]) -> (Window, Taken) {
    let stream = view.stream();
    let mut wide = windows.first().cloned().unwrap_or_else(|| Window {
        first: 0,
        count: 0,
        code: Vec::new(),
        rules: Vec::new(),
        leases: Vec::new(),
        fixups: Vec::new(),
    });
    let mut taken = 1;
    let room = |wide: &Window| stream.address_of(wide.end()) - stream.address_of(wide.first);
    let Some(block) = view.cfg().block_of(wide.first).and_then(|it| view.cfg().blocks().get(it))
    else {
        let end = wide.end();
        return (wide, Taken { windows: taken, end });
    };
    while view.is_closed() && room(&wide) < FAR_FORWARD as u64 && wide.end() < block.end {
        let next = windows.get(taken).filter(|next| next.first == wide.end());
        let is_movable = (wide.end()..next.map_or(wide.end() + 1, Window::end)).all(|step| {
            step < block.end
                && stream.inst(step).is_some_and(|it| may_move(&it, step + 1 == block.end))
        });
        if !is_movable {
            break;
        }
        match next {
            Some(next) => {
                let before = wide.code.len();
                wide.fixups.extend(next.fixups.iter().map(|(at, to)| (at + before, *to)));
                wide.code.extend(&next.code);
                wide.count += next.count;
                wide.rules.extend(&next.rules);
                wide.leases.extend(&next.leases);
                taken += 1;
            }
            None => {
                wide.code.extend(stream.inst(wide.end()));
                wide.count += 1;
            }
        }
    }
    while view.is_closed()
        && room(&wide) < FAR_FORWARD as u64
        && wide.first > block.first.max(free_from)
        && let Some(before) = stream.inst(wide.first - 1).filter(|it| may_move(it, false))
    {
        wide.fixups.iter_mut().for_each(|fixup| fixup.0 += 1);
        wide.code.insert(0, before);
        wide.first -= 1;
        wide.count += 1;
    }
    let end = wide.end();
    (wide, Taken { windows: taken, end })
}

/// Whether an instruction does the same elsewhere; the end of the wave does, if nothing has to follow it.
fn may_move(inst: &Inst, is_last: bool) -> bool {
    let name = inst.mnemonic();
    let flows = match inst.flow() {
        Flow::Next => true,
        Flow::End => is_last,
        _ => false,
    };
    // What reads the program counter, and what groups the instructions after it.
    let is_bound = name.contains("_pc")
        || name.contains("getpc")
        || matches!(name, "s_clause" | "s_delay_alu");
    flows && !is_bound
}

/// A pair of scalar registers that nobody needs on the way there and back.
fn free_pair(view: &View<'_>, window: &Window) -> Result<u16, Refusal> {
    let mut leases = Leases::around(Around { view, first: window.first, last: window.end() - 1 });
    for inst in &window.code {
        let effects = view.decoder().effects(inst, VgprMsb::default());
        let (writes, reads) = effects.scalars();
        writes.chain(reads).for_each(|register| leases.avoid(&register));
    }
    if let Ok(pair) = leases.sgprs(2, 2) {
        return Ok(pair.first);
    }
    leases.vcc().map(|_| VCC)
}

/// The scalar registers of a list of registers, as one more than the highest, and the vector registers.
pub(crate) fn extent(registers: &[Register], pair: Option<u16>) -> (u16, u16) {
    let end = |file: RegisterFile| {
        let of_file = registers.iter().filter(|it| it.file == file);
        of_file.map(|it| it.first + u16::from(it.count.max(1))).max().unwrap_or(0)
    };
    let pair = pair.filter(|pair| *pair != VCC).map_or(0, |pair| pair + 2);
    (end(RegisterFile::Sgpr).max(pair), end(RegisterFile::Vgpr))
}

const _: () = assert!(FAR_FORWARD <= FAR);
