//! The third stage: where replacements go, and how control gets there and back.
//!
//! In place where they fit. Else in padding behind the function that nothing reaches, else in a pool behind the
//! object: by `s_branch` where that reaches, else by an address in a pair of scalar registers, for which
//! neighbours of the site may have to move too; else by way of padding anywhere near; else by way of an island, for which
//! other instructions within reach move. Nothing else moves.

mod padding;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use hsaco_analysis::{Focus, Function};
use hsaco_isa::{Flow, Inst, Register, RegisterFile, Special, VgprMsb};
use hsaco_object::{CodeObject, Error, ErrorKind};

use crate::bytes::Bytes;
use crate::dialect::Dialect;
use crate::jump::{self, Jump, NOP, VCC};
use crate::manifest::{Change, Placement, Record, Stub};
use crate::plan::{Branch, COUNTER, Planned, Prologue, Requests, Window};
use crate::refusal::{Refusal, RefusalKind};
use crate::remark::Remarks;
use crate::scratch::ScratchRegisters;
use crate::survey::Survey;
use crate::view::{Around, View};
use padding::Padding;

/// What a stub takes, and what kernels start at a multiple of.
const STUB: usize = 256;

/// Where everything goes that was planned.
#[derive(Default)]
pub(crate) struct Placed {
    pub(crate) records: Vec<Record>,
    /// What runs before kernels, by their numbers.
    pub(crate) stubs: BTreeMap<usize, Stub>,
    /// What kernels have to allocate, by their numbers.
    pub(crate) allocations: BTreeMap<usize, Allocation>,
    /// Kernels whose own code changes.
    pub(crate) touched: BTreeSet<usize>,
    /// Where the pool will be, and how many bytes of it are code.
    pub(crate) pool: (u64, u64),
    /// Counters: what each counts, and where it is.
    pub(crate) counters: Vec<(u64, u64)>,
    /// Bytes for counters.
    pub(crate) counter_space: u64,
}

/// What replacements have a kernel allocate: one more than the highest scalar and vector register that they name, and
/// bytes of scratch memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Allocation {
    pub(crate) sgprs: u16,
    pub(crate) vgprs: u16,
    pub(crate) private_segment: u32,
}

impl Allocation {
    /// What some registers take.
    fn of(registers: &[Register]) -> Self {
        let end = |file: RegisterFile| {
            let of_file = registers.iter().filter(|it| it.file == file);
            of_file.map(|it| it.first + u16::from(it.count.max(1))).max().unwrap_or(0)
        };
        let (sgprs, vgprs) = (end(RegisterFile::Sgpr), end(RegisterFile::Vgpr));
        Allocation { sgprs, vgprs, private_segment: 0 }
    }

    fn join(&mut self, other: Self) {
        self.sgprs = self.sgprs.max(other.sgprs);
        self.vgprs = self.vgprs.max(other.vgprs);
        self.private_segment = self.private_segment.max(other.private_segment);
    }
}

/// Where what is appended to an object will be: on the page behind all that has an address.
///
/// # Errors
/// When there is no room for it below the end of all addresses.
fn pool_base(object: &CodeObject<'_>, reach: u64) -> hsaco_object::Result<u64> {
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
    pool: Vec<u8>,
    /// Padding of the object, once something is to be placed.
    padding: Option<Padding>,
    placed: Placed,
}

/// What of a function was placed.
pub(crate) struct PlacedFunction<'p> {
    pub(crate) records: &'p [Record],
    pub(crate) stub: Option<&'p Stub>,
}

/// A replacement that does not fit in place.
struct Body<'a> {
    window: &'a Window,
    dialect: &'static Dialect,
    /// Where the site is, and its bytes.
    site: u64,
    old: Vec<u8>,
    code: Vec<u8>,
    /// Where control goes on; nowhere if the wave ends.
    next: Option<u64>,
    /// The conditional branch at its end, which leads elsewhere.
    branch: Option<Branch>,
}

/// What far jumps of a site take.
struct Crossing {
    /// The pair of scalar registers that holds the address.
    pair: u16,
    /// The scalar register that keeps SCC, where it is needed and lost.
    saved: Option<u16>,
    /// The registers that are taken beside the pair.
    taken: Vec<Register>,
}

impl Crossing {
    /// The bytes that save SCC before a far jump.
    fn save(&self, dialect: &Dialect) -> Vec<u32> {
        self.saved.map(|register| dialect.save_scc(register)).unwrap_or_default()
    }

    fn restore(&self, dialect: &Dialect) -> Option<u32> {
        self.saved.map(|register| dialect.restore_scc(register))
    }

    /// Bytes of a jump at the site, and of what takes SCC back.
    fn there_size(&self, dialect: &Dialect) -> usize {
        self.save(dialect).len() * 4 + dialect.far_size()
    }

    fn site_size(&self, dialect: &Dialect) -> usize {
        self.there_size(dialect) + if self.saved.is_some() { 4 } else { 0 }
    }
}

impl<'p, 'a> Placer<'p, 'a> {
    /// With so many bytes for counters, and a pool behind them.
    ///
    /// # Errors
    /// When there is no room behind the object.
    pub(crate) fn new(survey: &'p Survey<'a>, counter_space: u64) -> hsaco_object::Result<Self> {
        let counters = pool_base(&survey.object, survey.kit.usual().dialect().reach())?;
        let base = counters + counter_space.next_multiple_of(hsaco_object::write::PAGE);
        let placed = Placed { counter_space, ..Placed::default() };
        Ok(Placer { survey, counters, base, pool: Vec::new(), padding: None, placed })
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
        let records = self.placed.records.get(before..).unwrap_or_default();
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
        let records = self.placed.records.get(before..).unwrap_or_default();
        PlacedFunction { records, stub: kernel.and_then(|it| self.placed.stubs.get(&it)) }
    }

    /// Everything that was placed, by address.
    pub(crate) fn finish(self) -> Placed {
        let mut placed = self.placed;
        placed.pool = (self.base, self.pool.len() as u64);
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
            if let Some(facts) = self.survey.kernels.get(kernel)
                && !facts.has_metadata
                && (allocation.sgprs != 0 || allocation.vgprs > facts.vgprs)
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
        let mut occupied: Vec<Range<usize>> = windows.iter().map(|it| it.first..it.end()).collect();
        let mut stranded = Vec::new();
        while let Some((window, others)) = rest.split_first() {
            let taken = self.place_first(view, function, free_from, rest).unwrap_or_else(|why| {
                stranded.push((window, why));
                Taken { windows: 1, first: window.first, end: window.end() }
            });
            occupied.push(taken.first..taken.end);
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
        while !self.pool.len().is_multiple_of(STUB) {
            self.pool.extend(dialect.pad.to_le_bytes());
        }
        let (address, way_on, entry) = (self.pool_end(), code.len(), view.stream().address());
        code.extend(jump::bytes(&dialect.far(address + way_on as u64, entry, pair)));
        while code.len() < STUB {
            code.extend(dialect.pad.to_le_bytes());
        }
        self.pool.extend_from_slice(&code);
        let (kernel, rule) = (kernel.to_owned(), prologue.rule.to_owned());
        let registers = pair_register(pair);
        Ok(Stub { kernel, rule, address, code, way_on, entry, pair: registers })
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
        let size = body.code.len() + body.near_exits_size();
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
        let mut record = body.record(function, Placement::Pool, Jump::Far, &there);
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
        let mut record = body.record(function, Placement::Pool, Jump::Relay, &[there]);
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
        let mut record = body.record(function, Placement::Pool, Jump::Far, &[there]);
        body.add_crossing(&mut record, crossing);
        record.relays.push(Change { address: gateway, old: Bytes::default(), new: new.into() });
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
        occupied: &mut Vec<Range<usize>>,
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
        occupied.push(host.window.first..host.window.end());
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
        self.pool.extend_from_slice(&new);
        record.way_back = back.len();
        record.body = Some(Change { address, old: Bytes::default(), new: new.into() });
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

/// Instructions that move to make room for an island.
struct Host {
    window: Window,
    crossing: Crossing,
}

/// How many places are looked at for an island, the nearest first: each takes a walk over live registers, and where the
/// nearest have no registers free the others rarely have.
const HOSTS_TRIED: usize = 16;

/// The nearest instructions within a branch's reach that may move and leave so many bytes beside their own far jump.
fn host(view: &View<'_>, occupied: &[Range<usize>], body: &Body<'_>, size: usize) -> Option<Host> {
    if !view.is_closed() {
        return None;
    }
    let (stream, dialect) = (view.stream(), view.dialect());
    let mut blocks: Vec<&hsaco_analysis::Block> = view.cfg().blocks().iter().collect();
    blocks.sort_by_key(|block| stream.address_of(block.first).abs_diff(body.site));
    let rules = &body.window.rules;
    let mut tried = 0;
    blocks.into_iter().find_map(|block| {
        let mut first = block.first;
        while first < block.end && tried < HOSTS_TRIED {
            let wanted = dialect.far_size() + size;
            let Some(window) = movable(view, occupied, first..block.end, wanted, rules) else {
                first += 1;
                continue;
            };
            let start = stream.address_of(window.first);
            if dialect.near(body.site, start + dialect.far_size() as u64).is_none() {
                first += 1;
                continue;
            }
            tried += 1;
            if let Ok(crossing) = crossing(view, &window) {
                let wanted = crossing.site_size(dialect) + size;
                let window = movable(view, occupied, first..block.end, wanted, rules)?;
                let crossing = self::crossing(view, &window).ok()?;
                let room = stream.address_of(window.end()) - stream.address_of(window.first);
                if crossing.site_size(dialect) + size <= room as usize {
                    return Some(Host { window, crossing });
                }
            }
            first = window.end();
        }
        None
    })
}

/// Instructions from the first of a range on that may move together and have so many bytes.
fn movable(
    view: &View<'_>,
    occupied: &[Range<usize>],
    range: Range<usize>,
    size: usize,
    rules: &[(&'static str, u64)],
) -> Option<Window> {
    let stream = view.stream();
    let mut code = Vec::new();
    let mut bytes = 0;
    for step in range.clone() {
        let is_free = occupied.iter().all(|it| !it.contains(&step));
        let inst = stream.inst(step).filter(|it| is_free && may_move(it, false))?;
        bytes += inst.len();
        code.push(inst);
        if bytes >= size {
            break;
        }
    }
    (bytes >= size).then(|| Window::new(range.start, code.len(), code, rules.to_vec()))
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

/// How much of a list of windows was placed.
struct Taken {
    windows: usize,
    first: usize,
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
    fn fits_in_place(&self) -> bool {
        self.window.branch.is_none()
            && self.window.fixups.is_empty()
            && self.code.len() <= self.old.len()
    }

    /// The code as it is at an address: addresses that it makes are distances from there.
    fn placed(&self, at: u64) -> Vec<u8> {
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
    fn near_exits_size(&self) -> usize {
        let on = usize::from(self.next.is_some()) * 4;
        on + usize::from(self.branch.is_some()) * 4
    }

    /// The branches there and back, if all reach.
    fn branches(&self, at: u64) -> Option<(u32, Vec<u8>)> {
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
    fn far_there(&self, from: u64, to: u64, crossing: &Crossing) -> Vec<u32> {
        let mut words = crossing.save(self.dialect);
        let from = from.wrapping_add(words.len() as u64 * 4);
        words.extend(self.dialect.far(from, to, crossing.pair));
        words
    }

    /// The far jumps at the end of a body that is at an address; nothing where they would lose SCC.
    fn far_exits(&self, at: u64, crossing: &Crossing, landing: Option<u64>) -> Option<Vec<u8>> {
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
    fn gateway_size(&self, crossing: &Crossing) -> usize {
        let landing = if crossing.saved.is_some() && self.old.len() < 8 { 8 } else { 0 };
        crossing.there_size(self.dialect) + landing
    }

    /// Takes note of the registers that far jumps take, and takes SCC back at the end of the site.
    fn add_crossing(&self, record: &mut Record, crossing: &Crossing) {
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
            scratch_registers: self.window.scratch_registers.clone(),
            pair: None,
        }
    }
}

fn pair_register(pair: u16) -> Register {
    let (file, first) = match pair {
        VCC => (RegisterFile::Special(Special::Vcc), 0),
        _ => (RegisterFile::Sgpr, pair),
    };
    Register { file, first, count: 2, half: None }
}

/// A window that has taken in its neighbours, and other windows with them, until a far jump fits in its place.
fn widened(view: &View<'_>, free_from: usize, windows: &[Window], size: usize) -> (Window, Taken) {
    let stream = view.stream();
    let mut wide =
        windows.first().cloned().unwrap_or_else(|| Window::new(0, 0, Vec::new(), Vec::new()));
    let mut taken = 1;
    let room = |wide: &Window| stream.address_of(wide.end()) - stream.address_of(wide.first);
    let Some(block) = view.cfg().block_of(wide.first).and_then(|it| view.cfg().blocks().get(it))
    else {
        let (first, end) = (wide.first, wide.end());
        return (wide, Taken { windows: taken, first, end });
    };
    while view.is_closed() && room(&wide) < size as u64 && wide.end() < block.end {
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
                wide.scratch_registers.extend(&next.scratch_registers);
                taken += 1;
            }
            None => {
                wide.code.extend(stream.inst(wide.end()));
                wide.count += 1;
            }
        }
    }
    while view.is_closed()
        && room(&wide) < size as u64
        && wide.first > block.first.max(free_from)
        && let Some(before) = stream.inst(wide.first - 1).filter(|it| may_move(it, false))
    {
        wide.fixups.iter_mut().for_each(|fixup| fixup.0 += 1);
        wide.code.insert(0, before);
        wide.first -= 1;
        wide.count += 1;
    }
    let (first, end) = (wide.first, wide.end());
    (wide, Taken { windows: taken, first, end })
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

/// What far jumps there and back take: dead scalar registers.
fn crossing(view: &View<'_>, window: &Window) -> Result<Crossing, Refusal> {
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

/// What the replacements of a function take.
fn allocation(requests: &Requests, records: &[Record]) -> Allocation {
    let mut all = Allocation { private_segment: requests.private_segment, ..Allocation::default() };
    let pairs: Vec<Register> = records.iter().filter_map(|record| record.pair).collect();
    all.join(Allocation::of(&pairs));
    requests.windows.iter().for_each(|window| all.join(Allocation::of(&window.scratch_registers)));
    all
}
