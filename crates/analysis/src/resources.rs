//! What a kernel and all that it calls need, beside what the kernel is given.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use hsaco_isa::Processor;
use hsaco_isa::occupancy::Demand;
use hsaco_isa::target::{FlatScratch, Generation, WaveSize};
use hsaco_object::Kernel;
use hsaco_object::descriptor::{Field, KernelDescriptor};

use crate::call::{ANYBODY, CallGraph, CallKind, Reach, Route};
use crate::function::FunctionKind;
use crate::usage::Usage;

/// How much of a resource is needed, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// How much.
    pub count: u32,
    /// The way to the function that needs it.
    pub route: Route,
}

/// What a kernel and all that it reaches need.
///
/// The numbers are what the code shows, and so the least that is needed: code of other objects is not seen, nor is
/// memory behind computed addresses.
#[derive(Clone, Debug, Default)]
pub struct Needs<'a> {
    /// Vector registers.
    pub vgprs: Need,
    /// Accumulation registers.
    pub agprs: Need,
    /// Numbered scalar registers.
    pub sgprs: Need,
    /// Bytes of scratch of one lane: the frames of the functions on the deepest way.
    pub scratch: Need,
    /// The way to a function that accesses LDS.
    pub lds: Option<Route>,
    /// Whether the stack also grows by what only run time knows: recursion, arrays of any size.
    pub is_dynamic: bool,
    /// What is reached.
    pub reach: Reach<'a>,
}

impl Needs<'_> {
    /// How much of a resource is needed.
    #[must_use]
    pub fn of(&self, resource: Resource) -> &Need {
        match resource {
            Resource::Vgprs => &self.vgprs,
            Resource::Agprs => &self.agprs,
            Resource::Sgprs => &self.sgprs,
            Resource::Scratch => &self.scratch,
        }
    }
}

impl<'a> CallGraph<'a> {
    /// What a function and all that it reaches need, on that processor in waves of that size.
    #[must_use]
    pub fn needs(&self, start: usize, processor: Processor, wave: WaveSize) -> Needs<'a> {
        let reach = self.reach(start);
        let most = |of: fn(&Usage) -> u32| {
            let counted =
                reach.functions.iter().map(|number| (self.usage(*number).map_or(0, of), *number));
            // The nearest of those that need the most.
            let best = counted.reduce(|best, it| if it.0 > best.0 { it } else { best });
            let (count, number) = best.unwrap_or((0, start));
            Need { count, route: if count == 0 { Vec::new() } else { reach.route(number) } }
        };
        let mut usages = reach
            .functions
            .iter()
            .filter_map(|number| self.usage(*number).map(|usage| (*number, usage)));
        let (vgprs, agprs, sgprs) = (most(Usage::vgprs), most(Usage::agprs), most(Usage::sgprs));
        let lds =
            usages.clone().find(|(_, usage)| usage.lds).map(|(number, _)| reach.route(number));
        let is_dynamic =
            reach.is_recursive || usages.any(|(number, _)| self.has_dynamic_stack(number));
        let scratch = self.deepest(start, &reach, processor, wave);
        Needs { vgprs, agprs, sgprs, scratch, lds, is_dynamic, reach }
    }

    /// Whether a function raises the stack by what only run time knows.
    pub(crate) fn has_dynamic_stack(&self, function: usize) -> bool {
        self.usage(function).is_some_and(|usage| usage.frame.is_dynamic) && self.has_stack(function)
    }

    /// Whether s32 is the stack pointer of a function: in a kernel that calls nothing it is any register.
    fn has_stack(&self, function: usize) -> bool {
        let kind = self.functions().get(function).map(|function| function.kind);
        kind == Some(FunctionKind::Device) || !self.calls(function).is_empty()
    }

    /// Whether the stack of a function may be larger than its code shows: it makes addresses of its frame, and does
    /// not raise the stack by the size of it.
    #[must_use]
    pub fn has_hidden_stack(&self, function: usize) -> bool {
        let frame = self.usage(function).map(|usage| usage.frame);
        frame.is_some_and(|frame| frame.is_exposed && frame.raised == 0) && self.has_stack(function)
    }

    /// The way on which frames add up to the most.
    fn deepest(
        &self,
        start: usize,
        reach: &Reach<'a>,
        processor: Processor,
        wave: WaveSize,
    ) -> Need {
        let frame = |number: usize| self.frame(number, processor, wave);
        // Where calls lead back there is no deepest way; the shortest ones to each function have to do.
        let order = reach.order.as_ref().unwrap_or(&reach.functions);
        let mut depths: BTreeMap<usize, (u32, Option<usize>)> =
            BTreeMap::from([(start, (0, None))]);
        for caller in order.iter().copied() {
            let Some((depth, _)) = depths.get(&caller).copied() else { continue };
            for (callee, kind) in self.next(caller) {
                let raised = if kind == CallKind::Call { frame(caller).0 } else { 0 };
                let below = depth.saturating_add(raised);
                let is_new = depths.get(&callee).is_none_or(|(known, _)| below > *known);
                let may_change = !reach.is_recursive || !depths.contains_key(&callee);
                if is_new && may_change {
                    depths.insert(callee, (below, Some(caller)));
                }
            }
        }
        let totals = depths.iter().map(|(number, (depth, _))| {
            (depth.saturating_add(frame(*number).1), Reverse(*depth), *number)
        });
        let (count, _, mut at) = totals.max().unwrap_or((0, Reverse(0), start));
        let mut route = vec![at];
        while let Some((_, Some(from))) = depths.get(&at) {
            at = *from;
            route.push(at);
        }
        route.reverse();
        route.retain(|number| *number != ANYBODY);
        Need { count, route: if count == 0 { Vec::new() } else { route } }
    }

    /// Bytes of a lane by which a function raises the stack for those that it calls, and that it takes in all.
    pub(crate) fn frame(
        &self,
        function: usize,
        processor: Processor,
        wave: WaveSize,
    ) -> (u32, u32) {
        let Some(frame) = self.usage(function).map(|usage| usage.frame) else { return (0, 0) };
        let is_flat = frame.is_flat || processor.limits().flat_scratch == FlatScratch::Architected;
        let unit = if is_flat { 1 } else { wave.lanes() };
        let raised = if self.has_stack(function) { frame.raised / unit } else { 0 };
        let accessed = if is_flat || self.has_stack(function) { frame.accessed } else { 0 };
        (raised, raised.max(accessed))
    }
}

/// Shared vector registers come in blocks of so many.
const SHARED_VGPR_GRANULE: u32 = 8;

/// What the descriptor of a kernel makes the hardware allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Vector registers of a lane, accumulation registers included where they share a file.
    pub vgprs: u32,
    /// The descriptor counts them in multiples of so many.
    pub vgpr_granule: u32,
    /// How many of them are accumulation registers, where they share a file.
    pub agprs: Option<u32>,
    /// Where accumulation registers begin, where they share a file.
    pub accum_offset: Option<u32>,
    /// Vector registers behind those, which the halves of a wave of 64 share (gfx10 and gfx11).
    pub shared_vgprs: u32,
    /// Whether the wave may ask for more vector registers while it runs.
    pub has_dynamic_vgprs: bool,
    /// Scalar registers of a wave; none where every wave has all of them.
    pub sgprs: Option<u32>,
    /// Bytes of LDS of a workgroup, without what the launch adds.
    pub lds: u32,
    /// Bytes of scratch of a lane.
    pub scratch: u32,
    /// Whether the runtime adds scratch for a stack of unknown depth.
    pub has_dynamic_stack: bool,
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// Whether a workgroup stays in one compute unit although it could spread over two.
    pub cu_mode: bool,
}

impl Allocation {
    /// What a kernel's descriptor says, or its header in code object V2; nothing where it has neither.
    #[must_use]
    pub fn of(kernel: &Kernel<'_>, generation: Generation) -> Option<Self> {
        if let Some(descriptor) = kernel.descriptor() {
            return Some(Self::new(descriptor, generation));
        }
        let header = kernel.v2_header()?;
        let descriptor = KernelDescriptor {
            compute_pgm_rsrc1: header.compute_pgm_rsrc1,
            compute_pgm_rsrc2: header.compute_pgm_rsrc2,
            group_segment_fixed_size: header.workgroup_group_segment_byte_size,
            private_segment_fixed_size: header.workitem_private_segment_byte_size,
            ..KernelDescriptor::default()
        };
        let has_dynamic_stack = header.is_dynamic_call_stack();
        Some(Allocation { has_dynamic_stack, ..Self::new(descriptor, generation) })
    }

    /// What a descriptor says.
    ///
    /// ```
    /// use hsaco_analysis::Allocation;
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::KernelDescriptor;
    /// let descriptor = KernelDescriptor { compute_pgm_rsrc1: 5, ..KernelDescriptor::default() };
    /// assert_eq!(Allocation::new(descriptor, Generation::Gfx940).vgprs, 48);
    /// ```
    #[must_use]
    pub fn new(descriptor: KernelDescriptor, generation: Generation) -> Self {
        let lanes = descriptor.wavefront_size(generation);
        let field = |name| {
            let value = Field::by_name(generation, name).map_or(0, |it| descriptor.value(it));
            u32::try_from(value).unwrap_or(0)
        };
        Allocation {
            vgprs: descriptor.vgprs(generation),
            vgpr_granule: descriptor.vgpr_granule(generation),
            agprs: descriptor.agprs(generation),
            accum_offset: descriptor.accum_offset(generation),
            shared_vgprs: SHARED_VGPR_GRANULE * field("shared_vgpr_count"),
            has_dynamic_vgprs: field("enable_dynamic_vgpr") != 0,
            sgprs: descriptor.sgprs(generation),
            lds: descriptor.group_segment_fixed_size,
            scratch: descriptor.private_segment_fixed_size,
            has_dynamic_stack: descriptor.uses_dynamic_stack(),
            wave: WaveSize::from_lanes(lanes).unwrap_or(WaveSize::Wave64),
            cu_mode: !descriptor.is_wgp_mode(generation),
        }
    }

    /// What of this is not enough for what code needs.
    ///
    /// Where both kinds of vector registers share a file, a number of an ordinary one may be anywhere in it: those at
    /// or above `accum_offset` are accumulation registers as well, see [`overlap`](Self::overlap).
    #[must_use]
    pub fn shortages(&self, needs: &Needs<'_>) -> Vec<Shortage> {
        let vgprs = (!self.has_dynamic_vgprs).then(|| self.vgprs.saturating_add(self.shared_vgprs));
        let agprs = self.agprs.unwrap_or(self.vgprs);
        let scratch = (!self.has_dynamic_stack).then_some(self.scratch);
        let rows = [
            (Resource::Vgprs, vgprs),
            (Resource::Agprs, Some(agprs)),
            (Resource::Sgprs, self.sgprs),
            (Resource::Scratch, scratch),
        ];
        let short = rows.into_iter().filter_map(|(resource, limit)| {
            let (allocated, needed) = (limit?, needs.of(resource).count);
            let way = || needs.of(resource).route.clone();
            (needed > allocated).then(|| Shortage { resource, allocated, needed, way: way() })
        });
        short.collect()
    }

    /// How many vector registers were asked for: as many as the metadata declares, if the descriptor's count is that
    /// rounded up; else the descriptor's.
    fn asked_for(&self, declared: Option<u64>) -> u32 {
        let is_rounded =
            |count: &u32| *count <= self.vgprs && self.vgprs - count < self.vgpr_granule;
        let declared = declared.and_then(|count| u32::try_from(count).ok());
        declared.filter(is_rounded).unwrap_or(self.vgprs)
    }

    /// Vector registers that code uses by both of their numbers: allocated, and at or above `accum_offset`.
    #[must_use]
    pub fn overlap(&self, needs: &Needs<'_>) -> Option<Overlap> {
        let accum_offset = self.accum_offset?;
        let vgprs = needs.vgprs.count;
        let is_above = vgprs > accum_offset && vgprs <= self.vgprs;
        is_above.then_some(Overlap { accum_offset, vgprs, agprs: needs.agprs.count })
    }
}

/// Ordinary vector registers at or above `accum_offset`, where accumulation registers begin. Code may do that on
/// purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Where accumulation registers begin.
    pub accum_offset: u32,
    /// Ordinary vector registers that code uses, counted up to the highest.
    pub vgprs: u32,
    /// Accumulation registers that it uses, counted up to the highest; 0 where it uses none.
    pub agprs: u32,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overlap { accum_offset, vgprs, agprs } = *self;
        let range = |kind: char, first: u32, after: u32| match after - first {
            1 => format!("{kind}{first}"),
            _ => format!("{kind}{first} to {kind}{}", after - 1),
        };
        let used = range('v', accum_offset, vgprs);
        let same = range('a', 0, vgprs - accum_offset);
        write!(
            f,
            "code uses {used}, and accum_offset is {accum_offset}: the same registers as {same}"
        )?;
        match agprs {
            0 => f.write_str("; it uses no AGPR"),
            1 => f.write_str("; it uses a0, too"),
            _ => write!(f, "; it uses AGPRs up to a{}, too", agprs - 1),
        }
    }
}

/// A resource of which code can need more than its kernel is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they say it")]
pub enum Resource {
    Vgprs,
    Agprs,
    Sgprs,
    Scratch,
}

impl Resource {
    /// The name to show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Resource::Vgprs => "vgprs",
            Resource::Agprs => "agprs",
            Resource::Sgprs => "sgprs",
            Resource::Scratch => "scratch",
        }
    }
}

/// Less of a resource than code needs: the kernel does not do what it says. `W` is how functions on the way are told:
/// by their numbers in the call graph, or by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage<W = Route> {
    /// Of what.
    pub resource: Resource,
    /// How much the descriptor allocates.
    pub allocated: u32,
    /// How much the code needs.
    pub needed: u32,
    /// The way to the function that needs it, from the kernel on.
    pub way: W,
}

/// What a kernel takes of a device: what its descriptor allocates, with workgroups as its metadata allows them. Vector
/// registers are counted as they were asked for, before the descriptor's count was rounded up.
///
/// ```no_run
/// # fn example(kernel: &hsaco_object::Kernel<'_>, processor: hsaco_isa::Processor) -> Option<()> {
/// let demand = hsaco_analysis::demand(kernel, processor.generation())?;
/// println!("{} waves on each SIMD", processor.limits().occupancy(&demand)?.waves);
/// # Some(()) }
/// ```
#[must_use]
pub fn demand(kernel: &Kernel<'_>, generation: Generation) -> Option<Demand> {
    let allocation = Allocation::of(kernel, generation)?;
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let (declared, _) = kernel.resources(Some(generation));
    let required = kernel.metadata().and_then(|it| it.decode().ok()?.reqd_workgroup_size);
    let workgroup = match required {
        Some(sizes) => {
            let size = number(sizes.into_iter().fold(1, u64::saturating_mul));
            size..=size
        }
        None => 1..=number(declared.max_workgroup_size.unwrap_or(1024)),
    };
    Some(Demand {
        wave: allocation.wave,
        vgprs: allocation.asked_for(declared.vgprs),
        sgprs: declared.sgprs.map(number).or(allocation.sgprs).unwrap_or(0),
        lds: allocation.lds,
        workgroup,
        cu_mode: allocation.cu_mode,
    })
}

#[cfg(test)]
mod tests {
    use hsaco_object::CodeObject;

    use super::*;
    use crate::code::Code;

    fn check(bytes: &[u8], test: impl Fn(&CallGraph<'_>, Needs<'_>, Allocation, &str)) {
        let object = CodeObject::parse(bytes).unwrap();
        let code = Code::of(&object).unwrap();
        let graph = CallGraph::new(&code);
        for kernel in object.index().kernels() {
            let allocation = Allocation::of(kernel, code.processor().generation()).unwrap();
            let function = graph.function_at(kernel.entry().unwrap()).unwrap();
            let needs = graph.needs(function, code.processor(), allocation.wave);
            test(&graph, needs, allocation, &kernel.name().to_string());
        }
    }

    #[test]
    fn a_function_that_needs_more_than_its_kernel_has_is_found_with_the_way_to_it() {
        let bytes = include_bytes!("../../../tests/fixtures/short.co");
        check(bytes, |graph, needs, allocation, name| {
            let [short] = &allocation.shortages(&needs)[..] else { panic!("{name}") };
            assert_eq!((short.resource, short.allocated, short.needed), (Resource::Vgprs, 48, 201));
            let names = short.way.iter().map(|it| graph.functions()[*it].name.unwrap());
            let names: Vec<String> = names.map(|it| it.to_string()).collect();
            assert_eq!(names.first().map(String::as_str), Some(name));
            assert_eq!(names.last().map(String::as_str), Some("needs_more"));
            assert_eq!(names.len(), if name == "far" { 3 } else { 2 });
        });
    }

    #[test]
    fn compiled_kernels_have_what_they_need() {
        let bytes = include_bytes!("../../../tests/fixtures/s1.gfx942.co");
        check(bytes, |_, needs, allocation, name| {
            assert_eq!(allocation.shortages(&needs), []);
            assert_eq!(needs.reach.is_complete(), name != "ind");
            assert!(!needs.is_dynamic && needs.lds.is_none());
        });
    }

    #[test]
    fn a_kernel_of_the_second_version_has_a_header_that_says_it() {
        let bytes = include_bytes!("../../../tests/fixtures/v2.co");
        let object = CodeObject::parse(bytes).unwrap();
        let generation = object.target().generation().unwrap();
        let index = object.index();
        let allocation = Allocation::of(&index.kernels()[0], generation).unwrap();
        assert_eq!(allocation.wave, WaveSize::Wave64);
    }
}
