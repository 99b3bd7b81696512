//! What an object holds: code, functions, kernels and what they allocate.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use hsaco_analysis::{
    Function, FunctionKind, Functions, RegisterSet, Stream, instructions, vgpr_msb_after,
};
use hsaco_bytes::{Id as _, IndexVec, ids};
use hsaco_isa::Processor;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{RegisterFile, VgprMsb};
use hsaco_isa::occupancy::Demand;
use hsaco_isa::target::WaveSize;
use hsaco_kernarg::EntryState;
use hsaco_object::descriptor::{Field, KernelDescriptor};
use hsaco_object::{CodeMap, CodeObject, Index, Kernel};

use crate::branch_target::{Branch, BranchTargets};
use crate::budget::{BANK, RegisterBudget};
use crate::option::Options;
use crate::tools::Kit;
use crate::view::{Surroundings, View};

/// What a descriptor says of denormals that are kept, read or written.
const FLUSH_NONE: u64 = 3;

/// One kernel, as far as rewriting needs it.
pub(crate) struct KernelFacts {
    pub(crate) name: String,
    pub(crate) entry: Option<u64>,
    pub(crate) has_metadata: bool,
    pub(crate) budget: RegisterBudget,
    /// Bytes of scratch memory of a lane.
    pub(crate) private_segment: u32,
    has_dynamic_stack: bool,
    /// Lines of 128 bytes that are fetched before the first instruction runs.
    pub(crate) prefetch: u64,
    /// Whether denormals of 16 bits are kept when it begins.
    keeps_denormals: bool,
}

/// What is known of all code of an object together.
struct Everywhere {
    /// One more than the highest scalar and vector register of any code, or that any kernel says it has.
    end: (u16, u16),
    /// Whether any instruction sets VGPR MSBs, or may.
    sets_msbs: bool,
}

/// An object and what is in it.
pub(crate) struct Survey<'a> {
    /// What reads and writes its instructions.
    pub(crate) kit: Kit,
    pub(crate) object: CodeObject<'a>,
    pub(crate) index: Index<'a>,
    pub(crate) kernels: IndexVec<KernelId, KernelFacts>,
    /// Ranges of code, by address.
    pub(crate) code: Vec<(u64, &'a [u8])>,
    /// Functions, and what stands between them.
    pub(crate) functions: Vec<Function<'a>>,
    everywhere: OnceCell<Everywhere>,
    direct: OnceCell<BranchTargets>,
    indirect: OnceCell<BranchTargets>,
    /// Kernels by entry.
    entries: BTreeMap<u64, KernelId>,
}

ids! {
    /// A kernel of an object, in the order of the object's index.
    pub(crate) struct KernelId;
}

impl<'a> Survey<'a> {
    pub(crate) fn new(object: CodeObject<'a>, kit: Kit) -> Self {
        let (processor, decoder) = (kit.processor(), kit.usual().decoder());
        let index = object.index();
        let mut limits = BTreeMap::new();
        let kernels: IndexVec<KernelId, KernelFacts> =
            index.kernels().iter().map(|it| facts(it, processor, &mut limits)).collect();
        let entries = kernels.enumerated().filter_map(|(id, it)| Some((it.entry?, id))).collect();
        let map = CodeMap::new(&object, &index);
        let ranges = map.ranges().iter().filter(|it| !it.bytes.is_empty());
        let code = ranges.map(|it| (it.address, it.bytes)).collect();
        let functions = Functions::new(&map, decoder).into_vec();
        Survey {
            kit,
            object,
            index,
            kernels,
            code,
            functions,
            everywhere: OnceCell::new(),
            direct: OnceCell::new(),
            indirect: OnceCell::new(),
            entries,
        }
    }

    /// The jumps of all code that name where they lead.
    pub(crate) fn direct(&self) -> &BranchTargets {
        let tools = self.kit.usual();
        self.direct
            .get_or_init(|| BranchTargets::direct(tools.decoder(), tools.signs(), &self.code))
    }

    /// The jumps of all functions through registers, as far as it is known where they lead.
    pub(crate) fn indirect(&self) -> &BranchTargets {
        let tools = self.kit.usual();
        self.indirect
            .get_or_init(|| BranchTargets::indirect(tools.decoder(), tools.signs(), &self.ranges()))
    }

    /// The jumps that lead to an address from one on and before another.
    pub(crate) fn branches_into(&self, start: u64, end: u64) -> impl Iterator<Item = Branch> {
        let indirect = self.indirect().within(start, end);
        self.direct().within(start, end).iter().chain(indirect).copied()
    }

    /// Whether code of others leads into the middle of a function, or a symbol names a place there: its own
    /// control flow does not show how it is entered then.
    fn is_entered_inside(&self, function: &Function<'_>) -> bool {
        let (start, end) = (function.address, function.end());
        let after = self.functions.partition_point(|it| it.address <= start);
        let is_named = self.functions.get(after).is_some_and(|it| it.address < end);
        let mut branches = self.branches_into(start.saturating_add(1), end);
        is_named || branches.any(|it| !(start..end).contains(&it.source))
    }

    /// Code that is in no function: what no symbol names and nothing ends.
    pub(crate) fn unnamed(&self) -> Vec<Function<'a>> {
        let mut found = Vec::new();
        for (start, code) in &self.code {
            let end = start.saturating_add(code.len() as u64);
            let mut covered = *start;
            let inside = self.functions.iter().filter(|it| (*start..end).contains(&it.address));
            let bounds = inside.map(|it| (it.address, it.end())).chain([(end, end)]);
            for (from, to) in bounds {
                if covered < from {
                    let range = (covered - start) as usize..(from - start) as usize;
                    let code = code.get(range).unwrap_or_default();
                    let kind = FunctionKind::Unnamed;
                    found.push(Function { name: None, kind, address: covered, code });
                }
                covered = covered.max(to);
            }
        }
        found
    }

    /// All code, each range of it once, by address: functions and what is in none. A function inside another is
    /// entered there, and looked at with it.
    pub(crate) fn ranges(&self) -> Vec<Function<'a>> {
        let mut all = self.functions.clone();
        all.extend(self.unnamed());
        all.sort_by_key(|function| function.address);
        let mut covered = 0;
        all.retain(|function| {
            let is_inside = function.address < covered && function.kind != FunctionKind::Unnamed;
            covered = covered.max(function.end());
            !is_inside
        });
        all
    }

    /// The kernel whose entry a function is.
    pub(crate) fn kernel_of(&self, function: &Function<'_>) -> Option<KernelId> {
        self.entries.get(&function.address).copied()
    }

    /// The kernels that may run a function: its own where that is all that runs it, else all.
    pub(crate) fn kernels_of(
        &self,
        function: &Function<'_>,
        is_alone: bool,
    ) -> impl Iterator<Item = KernelId> + Clone + use<> {
        let own = self.kernel_of(function).filter(|_| is_alone);
        let all = own.is_none().then(|| self.kernels.ids());
        own.into_iter().chain(all.into_iter().flatten())
    }

    /// What registers hold when the kernel of a function begins.
    pub(crate) fn entry_of(&self, function: &Function<'_>) -> Option<EntryState> {
        let kernel = self.index.kernels().get(self.kernel_of(function)?.index())?;
        EntryState::new(self.kit.processor(), &kernel.descriptor()?).ok()
    }

    /// A function, decoded, with all that the object says of it; `reserved` registers are not to be taken.
    pub(crate) fn view<'s>(
        &'s self,
        function: &Function<'_>,
        stream: Stream<'s>,
        options: &'s Options,
        reserved: RegisterSet,
    ) -> View<'s> {
        let budget = self.budget(function, &stream);
        let surroundings = Surroundings {
            kind: function.kind,
            budget,
            is_entered_inside: self.is_entered_inside(function),
            calls_keep_msbs: self.calls_keep_msbs(&stream),
            entry: self.entry_of(function),
            reserved,
            stack: self.stack(&self.kernels_of(function, budget.unused.is_none())),
            code: &self.code,
            starts_with_denormals: self.keeps_denormals(function),
        };
        View::new(self.kit.of(function), options, stream, surroundings)
    }

    /// What the kernels that may run a function allocate: its own, or all of them where it is called or calls.
    fn budget(&self, function: &Function<'_>, stream: &Stream<'_>) -> RegisterBudget {
        let calls = |flow| matches!(flow, Flow::Call | Flow::IndirectCall | Flow::IndirectJump);
        let is_alone = !stream.has_flow(calls);
        if let Some(kernel) = self.kernel_of(function).map(|it| &self.kernels[it])
            && is_alone
            && !self.is_entered_inside(function)
        {
            return kernel.budget;
        }
        let least = |of: fn(&RegisterBudget) -> u16| {
            self.kernels.iter().map(|it| of(&it.budget)).min().unwrap_or(0)
        };
        RegisterBudget {
            sgprs: least(|it| it.sgprs),
            max_sgprs: least(|it| it.max_sgprs),
            vgprs: least(|it| it.vgprs),
            max_vgprs: least(|it| it.max_vgprs),
            unused: Some(self.everywhere().end),
        }
    }

    /// Where a stack may begin that is behind all scratch memory of some kernels, or why none may.
    fn stack(&self, kernels: &(impl Iterator<Item = KernelId> + Clone)) -> Result<u32, String> {
        let kernels = || kernels.clone().map(|it| &self.kernels[it]);
        if let Some(kernel) = kernels().find(|it| it.has_dynamic_stack) {
            let name = &kernel.name;
            return Err(format!("how much scratch memory {name} has only run time knows"));
        }
        if let Some(kernel) = kernels().find(|it| !it.has_metadata) {
            return Err(format!("{} has no metadata to ask for scratch memory in", kernel.name));
        }
        let most = kernels().map(|it| it.private_segment).max().unwrap_or(0);
        most.checked_next_multiple_of(16).ok_or_else(|| "scratch memory is full".to_owned())
    }

    /// Whether denormals of 16 bits are kept when the kernels begin that may run a function.
    fn keeps_denormals(&self, function: &Function<'_>) -> bool {
        match self.kernel_of(function).map(|it| &self.kernels[it]) {
            Some(kernel) => kernel.keeps_denormals,
            None => self.kernels.iter().all(|kernel| kernel.keeps_denormals),
        }
    }

    /// Whether a function calls others, and no code of the object sets VGPR MSBs.
    fn calls_keep_msbs(&self, stream: &Stream<'_>) -> bool {
        let calls = |flow| matches!(flow, Flow::Call | Flow::IndirectCall);
        stream.has_flow(calls) && !self.everywhere().sets_msbs
    }

    fn everywhere(&self) -> &Everywhere {
        self.everywhere.get_or_init(|| self.look_everywhere())
    }

    fn look_everywhere(&self) -> Everywhere {
        let decoder = self.kit.usual().decoder();
        let none = Some(VgprMsb::default());
        let mut sets_msbs = false;
        let most = |of: fn(&RegisterBudget) -> u16| {
            self.kernels.iter().map(|it| of(&it.budget)).max().unwrap_or(0)
        };
        let (mut sgprs, mut vgprs) = (most(|it| it.sgprs.min(it.max_sgprs)), most(|it| it.vgprs));
        for (_, code) in &self.code {
            for inst in instructions(decoder, code).filter_map(|(_, inst)| inst) {
                // VGPR MSBs are not followed: none leads beyond what kernels allocate.
                let effects = decoder.effects(&inst, VgprMsb::default());
                effects.reads().chain(effects.writes()).for_each(|register| {
                    let end = register.first + u16::from(register.count.max(1));
                    match register.file {
                        RegisterFile::Sgpr => sgprs = sgprs.max(end),
                        RegisterFile::Vgpr => vgprs = vgprs.max(end),
                        _ => {}
                    }
                });
                sets_msbs |= inst.writes_mode() && vgpr_msb_after(decoder, none, &inst) != none;
            }
        }
        Everywhere { end: (sgprs, vgprs), sets_msbs }
    }

    /// The bytes at an address of the object's code.
    pub(crate) fn code_at(&self, address: u64) -> Option<&'a [u8]> {
        self.code.iter().find_map(|(start, code)| {
            code.get(usize::try_from(address.checked_sub(*start)?).ok()?..)
        })
    }
}

/// The most vector registers of kernels by what that depends on: many kernels have it alike.
type Limits = BTreeMap<(Option<u64>, Option<u64>, Option<u64>, u16), u16>;

fn facts(kernel: &Kernel<'_>, processor: Processor, limits: &mut Limits) -> KernelFacts {
    let generation = processor.generation();
    let said = kernel.resources(Some(generation)).0;
    let number = |value: Option<u64>| value.map_or(0, |it| u16::try_from(it).unwrap_or(u16::MAX));
    let descriptor = kernel.descriptor();
    let allocated = descriptor.map_or(0, |it| it.vgprs(generation));
    let total = u16::try_from(allocated).unwrap_or(u16::MAX).max(number(said.vgprs));
    let asked = (said.max_workgroup_size, said.wavefront_size, said.lds, total);
    let most = *limits.entry(asked).or_insert_with(|| most_vgprs(processor, &said, total));
    let accum_offset = descriptor.and_then(|it| it.accum_offset(generation));
    let (vgprs, max_vgprs) = match accum_offset {
        None => (total, most),
        Some(offset) => below_accumulators(total, most, number(Some(offset.into())), said.agprs),
    };
    let field = |name: &str| Some(descriptor?.value(Field::by_name(generation, name)?));
    KernelFacts {
        name: kernel.name().to_string(),
        entry: kernel.entry(),
        has_metadata: kernel.metadata().is_some(),
        budget: RegisterBudget {
            sgprs: number(said.sgprs),
            max_sgprs: number(Some(processor.limits().max_sgprs.into())),
            vgprs,
            max_vgprs,
            unused: None,
        },
        private_segment: said.scratch.map_or(0, |it| u32::try_from(it).unwrap_or(u32::MAX)),
        has_dynamic_stack: descriptor.is_none_or(KernelDescriptor::uses_dynamic_stack),
        prefetch: field("inst_pref_size").unwrap_or(0),
        keeps_denormals: field("float_denorm_mode_16_64") == Some(FLUSH_NONE),
    }
}

/// The vector registers of a kernel that has one file for them and for accumulation registers, and how many of them it
/// may have: accumulation registers stay behind them, and instructions name no more than 256.
fn below_accumulators(total: u16, most: u16, accum_offset: u16, agprs: Option<u64>) -> (u16, u16) {
    let above = match agprs {
        // All of it is vector registers.
        Some(0) => return (total.min(BANK), most.min(BANK)),
        Some(agprs) => u16::try_from(agprs).unwrap_or(u16::MAX),
        None => return (accum_offset, accum_offset),
    };
    let most = most.saturating_sub(above) / 4 * 4;
    (accum_offset, most.min(BANK).max(accum_offset))
}

/// How many vector registers a kernel may have and still run its largest workgroup. One that does not say how
/// large that is may have no more than it has.
fn most_vgprs(processor: Processor, said: &hsaco_object::Resources, vgprs: u16) -> u16 {
    let limits = processor.limits();
    let size = said.max_workgroup_size.and_then(|size| u32::try_from(size).ok());
    let lanes = said.wavefront_size.and_then(|lanes| u32::try_from(lanes).ok());
    let wave = lanes.and_then(WaveSize::from_lanes).or(limits.wave_sizes().next());
    let (Some(size), Some(wave)) = (size, wave) else { return vgprs };
    let Some(rules) = limits.vgprs(wave) else { return vgprs };
    let lds = u32::try_from(said.lds.unwrap_or(0)).unwrap_or(u32::MAX);
    let fits = |vgprs: u32| {
        let demand = Demand { vgprs, lds, workgroup: size..=size, ..Demand::new(wave) };
        limits.occupancy(&demand).is_some_and(|found| found.workgroups > 0)
    };
    let step = rules.encoding_granule.max(1);
    let most = (1..=limits.max_vgprs / step).rev().map(|it| it * step).find(|it| fits(*it));
    most.and_then(|most| u16::try_from(most).ok()).unwrap_or(vgprs).max(vgprs)
}
