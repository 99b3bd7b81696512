//! The third stage: where replacements go, and how control gets there and back.
//!
//! In place where they fit. Else in padding behind the function that nothing reaches, else in a pool behind the
//! object: by `s_branch` where that reaches, else by an address in a pair of scalar registers, for which
//! neighbours of the site may have to move too; else by way of padding anywhere near; else by way of an island, for which
//! other instructions within reach move. Nothing else moves.

mod allocation;
mod padding;
mod replacement;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hsaco_analysis::Function;
use hsaco_bytes::{Error, ErrorKind};
use hsaco_isa::model::VgprMsb;
use hsaco_object::CodeObject;

use crate::bytes::CodeBytes;
use crate::dialect::Dialect;
use crate::jump::{self, JumpKind};
use crate::manifest::{Change, Placement, Record, Stub};
use crate::plan::{COUNTER, Planned, Prologue, Window};
use crate::refusal::{Refusal, RefusalKind};
use crate::remark::Remarks;
use crate::scratch::ScratchRegisters;
use crate::survey::{KernelId, Survey};
use crate::view::View;
use allocation::allocation;
use padding::Padding;
use replacement::{Body, Crossing, crossing, pair_register};
use room::{Occupied, Taken, host, widened};

pub(crate) use allocation::Allocation;

/// What a stub takes, and what kernels start at a multiple of.
const STUB: usize = 256;

/// Where everything goes that was planned.
#[derive(Default)]
pub(crate) struct Placed {
    pub(crate) records: Vec<Record>,
    /// What runs before kernels, by their numbers.
    pub(crate) stubs: BTreeMap<KernelId, Stub>,
    /// What kernels have to allocate, by their numbers.
    pub(crate) allocations: BTreeMap<KernelId, Allocation>,
    /// Kernels whose own code changes.
    pub(crate) touched: BTreeSet<KernelId>,
    /// Where the pool will be, and how many bytes of it are code.
    pub(crate) pool: (u64, u64),
    /// Counters: what each counts, and where it is.
    pub(crate) counters: Vec<(u64, u64)>,
    /// Bytes for counters.
    pub(crate) counter_space: u64,
}

/// Where what is appended to an object will be: on the page behind all that has an address.
///
/// # Errors
/// When there is no room for it below the end of all addresses.
fn pool_base(object: &CodeObject<'_>, reach: u64) -> hsaco_bytes::Result<u64> {
    /// No code is larger, as instructions' offsets are of 32 bits.
    const ROOM: u64 = 1 << 33;
    const ALLOC: u64 = 2;
    let elf = object.elf();
    let sections = elf.sections().iter().filter(|it| it.flags & ALLOC != 0);
    let sections = sections.map(|it| it.address.saturating_add(it.size));
    let segments = elf.loads().map(|it| it.address.saturating_add(it.memory_size));
    let end = sections.chain(segments).max().unwrap_or(0);
    let base = end.checked_next_multiple_of(hsaco_object::write::PAGE);
    let start = elf.loads().map(|it| it.address).min().unwrap_or(0);
    let is_within = |base: &u64| base.checked_add(ROOM).is_some() && base - start < reach;
    base.filter(is_within).ok_or_else(|| {
        let detail = format!("the object ends at {end:#x}, and nothing can be put behind it");
        Error::new(ErrorKind::Unsupported, "patch", detail)
    })
}

/// Puts replacements in their places, function by function.
pub(crate) struct Placer<'p, 'a> {
    survey: &'p Survey<'a>,
    /// Where the counters will be, which come before the pool.
    counters: u64,
    /// Where the pool will be.
    base: u64,
    /// Bytes of code in the pool so far.
    pool_size: usize,
    /// Padding of the object, once something is to be placed.
    padding: Option<Padding>,
    placed: Placed,
}

/// What of a function was placed.
pub(crate) struct PlacedFunction<'p> {
    pub(crate) records: &'p [Record],
    pub(crate) stub: Option<&'p Stub>,
}

impl<'p, 'a> Placer<'p, 'a> {
    /// With so many bytes for counters, and a pool behind them.
    ///
    /// # Errors
    /// When there is no room behind the object.
    pub(crate) fn new(survey: &'p Survey<'a>, counter_space: u64) -> hsaco_bytes::Result<Self> {
        let counters = pool_base(&survey.object, survey.kit.usual().dialect().reach())?;
        let base = counters + counter_space.next_multiple_of(hsaco_object::write::PAGE);
        let placed = Placed { counter_space, ..Placed::default() };
        Ok(Placer { survey, counters, base, pool_size: 0, padding: None, placed })
    }

    /// Where the next counter goes.
    pub(crate) fn next_counter(&self) -> u64 {
        self.counters + self.placed.counters.len() as u64 * COUNTER
    }

    /// Places all that is wanted of a function; what has no place is refused.
    pub(crate) fn add(
        &mut self,
        function: &Function<'_>,
        planned: &Planned<'_>,
        remarks: &mut Remarks,
    ) -> PlacedFunction<'_> {
        let Planned { view, name, requests } = planned;
        let kernel = self.survey.kernel_of(function);
        if !requests.windows.is_empty() || requests.prologue.is_some() {
            self.placed.touched.extend(kernel);
        }
        self.placed.counters.extend(&requests.counters);
        let before = self.placed.records.len();
        if let Err((address, rule, refusal)) = self.place(view, name, &requests.windows) {
            remarks.refuse(rule, name, address, refusal);
        }
        let (_, records) = self.placed.records.split_at(before);
        let mut allocation = allocation(requests, records);
        if let (Some(prologue), Some(kernel)) = (&requests.prologue, kernel) {
            match self.stub(view, name, prologue) {
                Ok(stub) => {
                    allocation.join(Allocation::of(&[stub.pair]));
                    self.placed.stubs.insert(kernel, stub);
                }
                Err(refusal) => remarks.refuse(prologue.rule, name, function.address, refusal),
            }
        }
        if let Err(refusal) = self.allocate(function, view, allocation) {
            let window = requests.windows.first().and_then(|it| it.rules.first().copied());
            let (rule, address) = window.unwrap_or(("", function.address));
            remarks.refuse(rule, name, address, refusal);
        }
        let (_, records) = self.placed.records.split_at(before);
        PlacedFunction { records, stub: kernel.and_then(|it| self.placed.stubs.get(&it)) }
    }

    /// Everything that was placed, by address.
    pub(crate) fn finish(self) -> Placed {
        let mut placed = self.placed;
        placed.pool = (self.base, self.pool_size as u64);
        let records = &mut placed.records;
        if !records.is_sorted_by_key(|record| record.site.address) {
            records.sort_by_key(|record| record.site.address);
        }
        placed
    }

    /// Has every kernel that may run a function allocate so much.
    fn allocate(
        &mut self,
        function: &Function<'_>,
        view: &View<'_>,
        allocation: Allocation,
    ) -> Result<(), Refusal> {
        for kernel in self.survey.kernels_of(function, view.budget().unused.is_none()) {
            let facts = &self.survey.kernels[kernel];
            if !facts.has_metadata
                && (allocation.sgprs != 0 || allocation.vgprs > facts.budget.vgprs)
            {
                let detail = format!(
                    "kernel {} has no metadata, so neither .sgpr_count nor .vgpr_count can say that it needs more",
                    facts.name
                );
                return Err(Refusal::new(RefusalKind::Metadata, detail));
            }
            self.placed.allocations.entry(kernel).or_default().join(allocation);
        }
        Ok(())
    }

    /// Places all replacements of a function, which are in the order of their addresses.
    fn place(
        &mut self,
        view: &View<'_>,
        function: &Arc<str>,
        windows: &[Window],
    ) -> Result<(), (u64, &'static str, Refusal)> {
        if !windows.is_empty() {
            self.padding.get_or_insert_with(|| Padding::new(self.survey));
        }
        let mut rest = windows;
        let mut free_from = 0;
        let mut occupied = Occupied::default();
        windows.iter().for_each(|it| occupied.add(it.first..it.end()));
        let mut stranded = Vec::new();
        while let Some((window, others)) = rest.split_first() {
            let taken = self.place_first(view, function, free_from, rest).unwrap_or_else(|why| {
                stranded.push((window, why));
                Taken { windows: 1, first: window.first, end: window.end() }
            });
            occupied.add(taken.first..taken.end);
            rest = others.get(taken.windows.saturating_sub(1)..).unwrap_or_default();
            free_from = taken.end;
        }
        for (window, why) in stranded {
            let (rule, address) = window.rules.first().copied().unwrap_or(("", 0));
            let placed = self.by_island(view, function, window, why, &mut occupied);
            placed.map_err(|refusal| (address, rule, refusal))?;
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
    ) -> Result<Taken, Stranded> {
        let Some(window) = windows.first() else {
            return Ok(Taken { windows: 0, first: 0, end: 0 });
        };
        let body = Body::new(view, window);
        let one = Taken { windows: 1, first: window.first, end: window.end() };
        if body.fits_in_place() {
            self.placed.records.push(body.in_place(function));
            return Ok(one);
        }
        if let Some(record) = self.in_padding(view, &body, function) {
            self.placed.records.push(record);
            return Ok(one);
        }
        if let Some(record) = self.near(&body, function) {
            self.placed.records.push(record);
            return Ok(one);
        }
        let dialect = view.dialect();
        let mut size = dialect.far_size();
        let (mut wide, mut taken) = widened(view, free_from, windows, size);
        let mut crossing = crossing(view, &wide);
        // Where SCC is to be kept, there is more to put in the site.
        if let Ok(found) = &crossing
            && found.saved.is_some()
        {
            size = found.site_size(dialect);
            (wide, taken) = widened(view, free_from, windows, size);
            crossing = self::crossing(view, &wide);
        }
        let movable = Body::new(view, &wide).old.len();
        if let Ok(crossing) = &crossing
            && movable >= crossing.site_size(dialect)
            && let Some(record) = self.far(&Body::new(view, &wide), function, crossing)
        {
            self.placed.records.push(record);
            return Ok(taken);
        }
        // What was taken in to make room is of no use to branches.
        let crossing = self::crossing(view, window);
        let record = self.by_padding(&body, function, crossing.as_ref().ok());
        self.placed.records.push(record.ok_or(Stranded { crossing, movable, size })?);
        Ok(one)
    }

    /// Puts what is to run before a kernel into the pool, as far as a line's start.
    fn stub(
        &mut self,
        view: &View<'_>,
        kernel: &str,
        prologue: &Prologue,
    ) -> Result<Stub, Refusal> {
        let dialect = view.dialect();
        let mut taken = view.live_scalars_before(0);
        for inst in &prologue.code {
            let effects = view.decoder().effects(inst, VgprMsb::default());
            effects.reads().chain(effects.writes()).for_each(|register| taken.insert(&register));
        }
        let found = ScratchRegisters::new(taken, view.budget()).sgprs(2, 2);
        let pair = found
            .map(|it| it.first)
            .or_else(|refusal| view.budget().unset_pair().ok_or(refusal))?;
        let mut code = Vec::with_capacity(STUB);
        prologue.code.iter().for_each(|inst| inst.encode(&mut code));
        self.pool_size = self.pool_size.next_multiple_of(STUB);
        let (address, way_on, entry) = (self.pool_end(), code.len(), view.stream().address());
        code.extend(jump::bytes(&dialect.far(address + way_on as u64, entry, pair)));
        while code.len() < STUB {
            code.extend(dialect.pad.to_le_bytes());
        }
        self.pool_size += code.len();
        let (kernel, rule) = (kernel.to_owned(), prologue.rule.to_owned());
        let registers = pair_register(pair);
        Ok(Stub { kernel, rule, address, code, way_on, entry, pair: registers })
    }

    fn pool_end(&self) -> u64 {
        self.base.wrapping_add(self.pool_size as u64)
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
        let size = body.code.len() + body.near_exits_size();
        let padding = self.padding.as_mut()?;
        let at = padding.behind(end, size)?;
        let (there, back) = body.branches(at)?;
        let old = padding.take(at, size);
        let mut record = body.record(function, Placement::Padding, JumpKind::Near, &[there]);
        let new = [body.placed(at), back.clone()].concat().into();
        record.body = Some(Change { address: at, old: old.into(), new });
        record.way_back = back.len();
        Some(record)
    }

    fn near(&mut self, body: &Body<'_>, function: &Arc<str>) -> Option<Record> {
        let at = self.pool_end();
        let (there, back) = body.branches(at)?;
        let mut record = body.record(function, Placement::Pool, JumpKind::Near, &[there]);
        self.add_body(&mut record, body, None, &back);
        Some(record)
    }

    /// By a far jump in the site itself, which has room for it.
    fn far(&mut self, body: &Body<'_>, function: &Arc<str>, crossing: &Crossing) -> Option<Record> {
        let at = self.pool_end();
        let there = body.far_there(body.site, at, crossing);
        let landing = match crossing.saved {
            Some(_) => Some(body.site + body.old.len() as u64 - 4),
            None => body.next,
        };
        let back = body.far_exits(at, crossing, landing)?;
        let mut record = body.record(function, Placement::Pool, JumpKind::Far, &there);
        body.add_crossing(&mut record, crossing);
        self.add_body(&mut record, body, crossing.restore(body.dialect), &back);
        Some(record)
    }

    /// By way of padding within reach: with a pair of registers one range of it is enough, without one
    /// branch follows branch.
    fn by_padding(
        &mut self,
        body: &Body<'_>,
        function: &Arc<str>,
        crossing: Option<&Crossing>,
    ) -> Option<Record> {
        let padding = self.padding.as_mut()?;
        let mark = padding.mark();
        if let Some(crossing) = crossing {
            let size = body.gateway_size(crossing);
            let at = padding.near(body.dialect, body.site, size);
            let record = at.and_then(|at| self.through_gateway(body, function, crossing, at));
            if let (Some(at), Some(mut record)) = (at, record) {
                let old = self.padding.as_mut()?.take(at, size);
                record.relays.iter_mut().for_each(|relay| relay.old = old.as_slice().into());
                return Some(record);
            }
        }
        let at = self.pool_end();
        let padding = self.padding.as_mut()?;
        let Some((there, mut relays, back)) = relays(padding, body, at) else {
            padding.reset(mark);
            return None;
        };
        let mut record = body.record(function, Placement::Pool, JumpKind::Relay, &[there]);
        record.relays.append(&mut relays);
        self.add_body(&mut record, body, None, &back);
        Some(record)
    }

    /// By a branch to a far jump at `gateway`, which is the record's one relay; what was there is not in it yet.
    fn through_gateway(
        &mut self,
        body: &Body<'_>,
        function: &Arc<str>,
        crossing: &Crossing,
        gateway: u64,
    ) -> Option<Record> {
        let (at, dialect) = (self.pool_end(), body.dialect);
        let there = dialect.near(body.site, gateway)?;
        let mut new = jump::bytes(&body.far_there(gateway, at, crossing));
        let landing = match crossing.restore(dialect) {
            None => body.next,
            Some(_) if body.old.len() >= 8 => Some(body.site + body.old.len() as u64 - 4),
            Some(restore) => {
                let pad = gateway + new.len() as u64;
                new.extend(jump::bytes(&[restore, dialect.near(pad + 4, body.next?)?]));
                Some(pad)
            }
        };
        let back = body.far_exits(at, crossing, landing)?;
        let mut record = body.record(function, Placement::Pool, JumpKind::Far, &[there]);
        body.add_crossing(&mut record, crossing);
        record.relays.push(Change { address: gateway, old: CodeBytes::default(), new: new.into() });
        self.add_body(&mut record, body, crossing.restore(dialect), &back);
        Some(record)
    }

    /// By a far jump on an island: instructions within reach move into the pool to make room for it.
    fn by_island(
        &mut self,
        view: &View<'_>,
        function: &Arc<str>,
        window: &Window,
        why: Stranded,
        occupied: &mut Occupied,
    ) -> Result<(), Refusal> {
        let body = Body::new(view, window);
        let Ok(crossing) = &why.crossing else { return Err(why.refusal(view, &body, self.base)) };
        let size = body.gateway_size(crossing);
        let Some(host) = host(view, occupied, &body, size) else {
            return Err(why.refusal(view, &body, self.base));
        };
        let host_body = Body::new(view, &host.window);
        let moved = self.far(&host_body, function, &host.crossing);
        let gateway = host_body.site + host.crossing.there_size(body.dialect) as u64;
        let arrived = self.through_gateway(&body, function, crossing, gateway);
        let (Some(mut moved), Some(mut arrived)) = (moved, arrived) else {
            return Err(why.refusal(view, &body, self.base));
        };
        occupied.add(host.window.first..host.window.end());
        let start = (gateway - host_body.site) as usize;
        let mut site = moved.site.new.to_vec();
        for relay in &mut arrived.relays {
            let range = start..start + relay.new.len();
            relay.old = host_body.old.get(range.clone()).unwrap_or_default().into();
            site.get_mut(range).into_iter().for_each(|it| it.copy_from_slice(&relay.new));
        }
        moved.site.new = site.into();
        self.placed.records.extend([moved, arrived]);
        Ok(())
    }

    fn add_body(
        &mut self,
        record: &mut Record,
        body: &Body<'_>,
        restore: Option<u32>,
        back: &[u8],
    ) {
        let address = self.pool_end();
        let mut new = jump::bytes(restore.as_slice());
        new.extend(body.placed(address + new.len() as u64));
        new.extend(back);
        self.pool_size += new.len();
        record.way_back = back.len();
        record.body = Some(Change { address, old: CodeBytes::default(), new: new.into() });
    }
}

/// Why a replacement has found no place by itself.
struct Stranded {
    crossing: Result<Crossing, Refusal>,
    /// Bytes that may move at the site.
    movable: usize,
    /// Bytes that a far jump takes there.
    size: usize,
}

impl Stranded {
    /// All that is missing.
    fn refusal(self, view: &View<'_>, body: &Body<'_>, pool: u64) -> Refusal {
        let place = view.place(body.window.first);
        let mut detail = format!("the pool at {pool:#x} is out of a branch's reach of {place}");
        match self.crossing {
            Err(refusal) => {
                detail.push_str(&format!(
                    "; a far jump needs registers that are free there: {}; branches from padding to padding do not lead there either",
                    refusal.detail
                ));
            }
            Ok(crossing) => {
                let Stranded { movable, size, .. } = self;
                let closed = match view.is_closed() {
                    true => "may move there",
                    false => {
                        "may move there, as it is not known where all jumps of the function lead"
                    }
                };
                detail.push_str(&format!(
                    "; a far jump takes {size} bytes, and {movable} {closed}; neither {} bytes of padding are within reach, nor do the nearest instructions leave {} bytes if they move",
                    body.gateway_size(&crossing),
                    body.gateway_size(&crossing) + view.dialect().far_size(),
                ));
                if let (Some(_), Some(branch)) = (crossing.saved, body.branch) {
                    detail.push_str(&format!(
                        "; and SCC, which far jumps lose, is needed at {:#x} where the branch leads",
                        branch.target
                    ));
                }
            }
        }
        Refusal::new(RefusalKind::NoPlace, detail)
    }
}

/// The branch at the site, those on the way there and back, and the one at the body's end.
fn relays(padding: &mut Padding, body: &Body<'_>, at: u64) -> Option<(u32, Vec<Change>, Vec<u8>)> {
    if body.branch.is_some() {
        return None;
    }
    let mut relays = Vec::new();
    let there = chain(padding, body.dialect, body.site, at, &mut relays)?;
    let back = match body.next {
        None => Vec::new(),
        Some(next) => {
            let end = at.wrapping_add(body.code.len() as u64);
            jump::bytes(&[chain(padding, body.dialect, end, next, &mut relays)?])
        }
    };
    Some((there, relays, back))
}

/// The branch at `from` that is the first of those that lead to `to`.
fn chain(
    padding: &mut Padding,
    dialect: &Dialect,
    from: u64,
    to: u64,
    relays: &mut Vec<Change>,
) -> Option<u32> {
    let mut stops = Vec::new();
    let mut at = from;
    while dialect.near(at, to).is_none() {
        let stop = padding.towards(dialect, at, to)?;
        let old = padding.take(stop, 4);
        stops.push((stop, old));
        at = stop;
    }
    let targets = stops.iter().map(|(stop, _)| *stop).chain([to]);
    let sources = std::iter::once(from).chain(stops.iter().map(|(stop, _)| *stop));
    let branches: Option<Vec<u32>> =
        sources.zip(targets).map(|(from, to)| dialect.near(from, to)).collect();
    let branches = branches?;
    let (first, others) = branches.split_first()?;
    relays.extend(stops.into_iter().zip(others).map(|((address, old), branch)| Change {
        address,
        old: old.into(),
        new: jump::bytes(&[*branch]).into(),
    }));
    Some(*first)
}
