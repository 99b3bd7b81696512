//! What kernels need with all that they call, once it is known who is called.
//!
//! A compiler counts the registers of what it sees. A function that another object brings may need more, and nothing
//! in an object says how much: its code does. So the code of everything that a kernel reaches is decoded, and the
//! kernel's descriptor and metadata are raised to what that needs.

use std::collections::{HashMap, HashSet};

use hsaco_analysis::{
    Allocation, Bounds, CallGraph, Callee, Closures, Need, Needs, Resource, Usage,
};
use hsaco_bytes::Str;
use hsaco_isa::Processor;
use hsaco_isa::target::{AccVgprs, Generation, Limits, WaveSize};
use hsaco_object::Kernel as FileKernel;
use hsaco_object::descriptor::KernelDescriptor;
use hsaco_object::write::{KernelChange, Registers};

use crate::calls::Whole;
use crate::error::{Error, ErrorKind, Errors, refusal};
use crate::executable::Executable;
use crate::id::ObjectId;
use crate::object::{Entry, Kernel, Object, Place};
use crate::raise::{NamedShortage, Raise};

/// What was found out about all kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Propagation {
    pub(crate) raises: Vec<Raise>,
    /// What could not be found out.
    pub(crate) remarks: Vec<String>,
}

/// Finds the kernels of a frozen executable that have too little, and what they must have instead.
pub(crate) fn propagate(executable: &Executable<'_>) -> Result<Propagation, Errors> {
    if executable.objects.iter().all(|it| it.kernels.is_empty()) {
        return Ok(Propagation::default());
    }
    let whole = match Whole::new(executable) {
        Ok(whole) => whole,
        Err(errors) => {
            let remarks = vec![format!("what kernels need is not known: {errors}")];
            return Ok(Propagation { raises: Vec::new(), remarks });
        }
    };
    let Some(found) =
        whole.with_graph(|_, graph, processor| survey(executable, &whole, graph, processor))
    else {
        let remarks =
            vec!["what kernels need is not known: their code cannot be decoded".to_owned()];
        return Ok(Propagation { raises: Vec::new(), remarks });
    };
    found
}

fn survey(
    executable: &Executable<'_>,
    whole: &Whole,
    graph: &CallGraph<'_>,
    processor: Processor,
) -> Result<Propagation, Errors> {
    let mut found = Propagation::default();
    let mut errors = Vec::new();
    let mut screen = Screen::new(executable, whole, graph, processor);
    for (number, object) in executable.objects.iter().enumerate() {
        if object.kernels.is_empty() {
            continue;
        }
        let file = object.code_object()?;
        let index = file.index();
        let by_address: HashMap<u64, u32> =
            object.kernels.iter().map(|it| it.address).zip(0..).collect();
        for file_kernel in index.kernels() {
            let address = file_kernel.descriptor_address();
            let found_at = address.and_then(|it| by_address.get(&it).copied());
            let kernel = found_at.and_then(|at| Some((at, object.kernels.get(at as usize)?)));
            let Some((kernel_number, kernel)) = kernel else { continue };
            let survey = Survey { executable, whole, graph, processor, number, object, kernel };
            let Some(start) = survey.start() else { continue };
            let wave = kernel.info.allocation.wave;
            if screen.is_quiet(&survey, start, wave, file_kernel.descriptor()) {
                continue;
            }
            let needs = graph.needs(start, processor, wave);
            found.remarks.extend(survey.unseen(&needs, file_kernel.name()));
            found.remarks.extend(survey.unseen_stack(&needs, file_kernel.name()));
            found.remarks.extend(survey.own_overlap(&needs, file_kernel));
            let change = KernelChange::of(&file, file_kernel);
            let raised =
                survey.check_waves(&needs, file_kernel.name()).and_then(|()| match change {
                    Ok(change) => survey.raise(change, &needs, kernel_number, file_kernel.name()),
                    Err(_) => Ok(None),
                });
            match raised {
                Ok(raise) => found.raises.extend(raise),
                Err(error) => errors.push(error.in_object(&object.name)),
            }
        }
    }
    Errors::check(errors)?;
    found.remarks.sort();
    found.remarks.dedup();
    Ok(found)
}

/// What is known of all functions at once: most kernels have what they need, and nothing is to be said of them.
struct Screen<'s, 'g> {
    closures: Closures<'s, 'g>,
    processor: Processor,
    /// The last object that each function reaches, and how far the first is from the last number there is.
    last: Vec<u32>,
    first: Vec<u32>,
    /// Whether it reaches what has to be told.
    is_told: Vec<bool>,
    /// Of each size of a wave: whether it reaches code for others, and what it needs.
    waves: [(WaveSize, Vec<bool>, Option<Bounds>); 2],
}

impl<'s, 'g> Screen<'s, 'g> {
    fn new(
        executable: &Executable<'_>,
        whole: &Whole,
        graph: &'s CallGraph<'g>,
        processor: Processor,
    ) -> Self {
        let closures = Closures::new(graph);
        let object = |function: usize| {
            let address = graph.functions().get(function).map_or(0, |it| it.address);
            whole.locate(address).map_or(0, |(object, _)| u32::try_from(object).unwrap_or(u32::MAX))
        };
        let calls_unseen = |function: usize| {
            let slots = graph.calls(function).iter().filter_map(|call| call.slot);
            slots.into_iter().any(|slot| whole.definition_at(slot).is_some())
        };
        let others = |wave: WaveSize| {
            let is_other = |it: &Object<'_>| {
                let mut sizes = it.kernels.iter().map(|it| it.info.allocation.wave);
                !it.kernels.is_empty() && sizes.all(|it| it != wave)
            };
            let objects: Vec<bool> = executable.objects.iter().map(is_other).collect();
            closures.any(|it| objects.get(object(it) as usize).copied().unwrap_or(false))
        };
        let waves = [WaveSize::Wave32, WaveSize::Wave64].map(|wave| (wave, others(wave), None));
        Screen {
            last: closures.most(object),
            first: closures.most(|it| u32::MAX - object(it)),
            is_told: closures.any(|it| calls_unseen(it) || graph.has_hidden_stack(it)),
            waves,
            closures,
            processor,
        }
    }

    /// Whether a kernel certainly has all that it needs.
    fn is_quiet(
        &mut self,
        survey: &Survey<'_, '_, '_>,
        start: usize,
        wave: WaveSize,
        descriptor: Option<KernelDescriptor>,
    ) -> bool {
        let Some((_, reaches_others, bounds)) = self.waves.iter_mut().find(|it| it.0 == wave)
        else {
            return false;
        };
        let bounds = bounds.get_or_insert_with(|| self.closures.bounds(self.processor, wave));
        let (Some(needs), Some(descriptor)) = (bounds.needs(start), descriptor) else {
            return false;
        };
        let is = |all: &[bool]| all.get(start).copied().unwrap_or(true);
        let own = u32::try_from(survey.number).unwrap_or(u32::MAX);
        let is_abroad =
            self.last.get(start) != Some(&own) || self.first.get(start) != Some(&(u32::MAX - own));
        let allocation = Allocation::new(descriptor, self.processor.generation());
        let is_told = is(&self.is_told) || is(reaches_others) || is_abroad && needs.is_dynamic;
        !is_told
            && allocation.overlap(&needs).is_none()
            && survey.shortages(&allocation, &needs, is_abroad).is_empty()
    }
}

/// One kernel, looked at.
struct Survey<'s, 'a, 'g> {
    executable: &'s Executable<'a>,
    whole: &'s Whole,
    graph: &'s CallGraph<'g>,
    processor: Processor,
    number: usize,
    object: &'s Object<'a>,
    kernel: &'s Kernel,
}

impl Survey<'_, '_, '_> {
    /// The kernel's code among the functions of all objects.
    fn start(&self) -> Option<usize> {
        self.graph.function_at(self.whole.address(self.number, self.kernel.entry))
    }

    /// The functions that the kernel reaches in other objects, with those.
    fn abroad<'n>(&'n self, needs: &'n Needs<'_>) -> impl Iterator<Item = (usize, usize)> + 'n {
        needs.reach.functions.iter().filter_map(|function| {
            let address = self.graph.functions().get(*function)?.address;
            let (object, _) = self.whole.locate(address)?;
            (object != self.number).then_some((*function, object))
        })
    }

    /// Functions of an object whose kernels all have waves of another size were not compiled for this one.
    fn check_waves(&self, needs: &Needs<'_>, name: Str<'_>) -> Result<(), Error> {
        let wave = self.kernel.info.allocation.wave;
        for (function, object) in self.abroad(needs) {
            let Some(other) = self.executable.objects.get(object) else { continue };
            let sizes = || other.kernels.iter().map(|it| it.info.allocation.wave);
            if let Some(size) = sizes().next()
                && sizes().all(|it| it != wave)
            {
                let path = self.path(&needs.reach.route(function)).join(" -> ");
                let detail = format!(
                    "kernel `{name}` has waves of {}, and calls code of {} for waves of {}: {path}",
                    wave.lanes(),
                    other.name,
                    size.lanes()
                );
                return Err(refusal(ErrorKind::WaveSize, detail));
            }
        }
        Ok(())
    }

    /// Calls of functions that the caller defined: what they need is nowhere to be seen.
    fn unseen(&self, needs: &Needs<'_>, name: Str<'_>) -> Vec<String> {
        let calls = needs.reach.functions.iter().flat_map(|it| self.graph.calls(*it));
        let slots = calls
            .filter_map(|call| call.slot.filter(|_| !matches!(call.callee, Callee::Function(_))));
        let names = slots.filter_map(|slot| {
            let definition =
                self.executable.definitions.get(self.whole.definition_at(slot)? as usize)?;
            Some(self.executable.names.name(definition.name))
        });
        names
            .map(|callee| format!("kernel `{name}` calls `{callee}`, whose code is not here: what it needs is not known"))
            .collect()
    }

    /// Stack of other objects' functions that their code does not show: the kernel's compiler counted what it saw.
    fn unseen_stack(&self, needs: &Needs<'_>, name: Str<'_>) -> Vec<String> {
        let hidden = self.abroad(needs).filter(|(it, _)| self.graph.has_hidden_stack(*it));
        let mut remarks: Vec<String> = hidden
            .map(|(function, _)| {
                let (path, seen) = (self.path(&needs.reach.route(function)), needs.scratch.count);
                format!(
                    "kernel `{name}` reaches code that accesses its stack at computed addresses: {}: \
                     more than {seen} bytes of scratch may be needed",
                    path.join(" -> ")
                )
            })
            .collect();
        let is_abroad = self.abroad(needs).next().is_some();
        if is_abroad && needs.is_dynamic && !self.can_have_dynamic_stack() {
            remarks.push(format!(
                "kernel `{name}` needs a stack that grows by what only run time knows, which its code object version cannot say"
            ));
        }
        remarks
    }

    /// Whether descriptors of this version can ask for a stack of a size that only run time knows.
    fn can_have_dynamic_stack(&self) -> bool {
        self.object.flags.abi().code_object_version().unwrap_or(0) >= 5
    }

    fn path(&self, route: &[usize]) -> Vec<String> {
        let one = |function: &usize| {
            let function = self.graph.functions().get(*function)?;
            let name = function
                .name
                .map_or_else(|| format!("{:#x}", function.address), |it| it.to_string());
            let (object, _) = self.whole.locate(function.address)?;
            let other = self.executable.objects.get(object).filter(|_| object != self.number);
            Some(other.map_or(name.clone(), |other| format!("{name} ({})", other.name)))
        };
        route.iter().filter_map(one).collect()
    }

    fn raise(
        &self,
        mut change: KernelChange,
        needs: &Needs<'_>,
        number: u32,
        name: Str<'_>,
    ) -> Result<Option<Raise>, Error> {
        let generation = self.processor.generation();
        let allocation = Allocation::new(change.descriptor(), generation);
        let is_abroad = self.abroad(needs).next().is_some();
        let mut shortages = self.shortages(&allocation, needs, is_abroad);
        shortages.extend(self.overlap_of_objects(&allocation, needs));
        let needs_dynamic_stack = is_abroad
            && needs.is_dynamic
            && !allocation.has_dynamic_stack
            && self.can_have_dynamic_stack();
        if shortages.is_empty() && !needs_dynamic_stack {
            return Ok(None);
        }
        self.check_limits(&shortages, &change, needs, name)?;
        let refused = |error: hsaco_bytes::Error| {
            let detail = format!("kernel `{name}` cannot have what it needs: {}", error.detail());
            refusal(ErrorKind::Resources, format!("{detail}: {}", describe(&shortages)))
        };
        let registers = raised(change.registers(), &shortages, needs);
        let had = change.registers();
        if (registers.vgprs, registers.agprs) != (had.vgprs, had.agprs) {
            change.set_registers(registers).map_err(refused)?;
        } else if registers.sgprs != had.sgprs {
            change.set("sgpr_count", registers.sgprs.into()).map_err(refused)?;
        }
        if let Some(scratch) = needed(&shortages, Resource::Scratch) {
            let scratch = u64::from(scratch.next_multiple_of(16));
            change.set("private_segment_fixed_size", scratch).map_err(refused)?;
        }
        if needs_dynamic_stack {
            change.set("uses_dynamic_stack", 1).map_err(refused)?;
        }
        let descriptor = change.descriptor();
        let workgroup_limit = self.check_workgroup(&descriptor, generation, name, &shortages)?;
        Ok(Some(Raise {
            object: ObjectId(u32::try_from(self.number).unwrap_or(u32::MAX)),
            kernel: name.to_string(),
            needs_dynamic_stack,
            workgroup_limit,
            is_applied: false,
            number,
            address: self.kernel.address,
            descriptor,
            values: change.values().to_vec(),
            registers,
            shortages,
        }))
    }

    fn shortages(
        &self,
        allocation: &Allocation,
        needs: &Needs<'_>,
        is_abroad: bool,
    ) -> Vec<NamedShortage> {
        let short = allocation.shortages(needs);
        let mut found: Vec<NamedShortage> = short
            .iter()
            .map(|it| self.shortage(it.resource, it.allocated, it.needed, needs.of(it.resource)))
            .collect();
        let has =
            |found: &[NamedShortage], resource| found.iter().any(|it| it.resource == resource);
        // The runtime's guess of the stack is for what the compiler could not see, and this can be seen now.
        if is_abroad && !has(&found, Resource::Scratch) && needs.scratch.count > allocation.scratch
        {
            let (had, needed) = (allocation.scratch, needs.scratch.count);
            found.push(self.shortage(Resource::Scratch, had, needed, &needs.scratch));
        }
        let special = special_sgprs(self.processor.generation());
        if let Some(sgprs) = allocation.sgprs.filter(|_| is_abroad) {
            let needed = needs.sgprs.count.saturating_add(special);
            found.retain(|it| it.resource != Resource::Sgprs);
            if needs.sgprs.count != 0 && needed > sgprs {
                found.push(self.shortage(Resource::Sgprs, sgprs, needed, &needs.sgprs));
            }
        }
        found
    }

    /// Ordinary vector registers that are accumulation registers as well, where the code of one object uses the one
    /// kind and that of another the other: no compiler has seen both.
    fn overlap_of_objects(
        &self,
        allocation: &Allocation,
        needs: &Needs<'_>,
    ) -> Option<NamedShortage> {
        let overlap = allocation.overlap(needs).filter(|it| it.agprs > 0)?;
        let is_own = self.own_vgprs(needs) > overlap.accum_offset;
        let shortage = || {
            let (allocated, needed) = (overlap.accum_offset, overlap.vgprs);
            self.shortage(Resource::Vgprs, allocated, needed, &needs.vgprs)
        };
        (!is_own).then(shortage)
    }

    /// Such registers that the kernel's own object uses, perhaps on purpose: they stay as they are.
    fn own_overlap(&self, needs: &Needs<'_>, kernel: &FileKernel<'_>) -> Option<String> {
        let allocation = Allocation::of(kernel, self.processor.generation())?;
        let overlap = allocation.overlap(needs)?;
        let is_own = self.own_vgprs(needs) > overlap.accum_offset;
        is_own.then(|| format!("kernel `{}`: {overlap}", kernel.name()))
    }

    /// Vector registers that the kernel and what it reaches in its own object use.
    fn own_vgprs(&self, needs: &Needs<'_>) -> u32 {
        let abroad: HashSet<usize> = self.abroad(needs).map(|(function, _)| function).collect();
        let own = needs.reach.functions.iter().filter(|it| !abroad.contains(it));
        own.filter_map(|it| self.graph.usage(*it)).map(Usage::vgprs).max().unwrap_or(0)
    }

    fn shortage(
        &self,
        resource: Resource,
        allocated: u32,
        needed: u32,
        need: &Need,
    ) -> NamedShortage {
        NamedShortage { resource, allocated, needed, way: self.path(&need.route) }
    }

    /// Whether the processor has what is needed.
    fn check_limits(
        &self,
        shortages: &[NamedShortage],
        change: &KernelChange,
        needs: &Needs<'_>,
        name: Str<'_>,
    ) -> Result<(), Error> {
        let limits = self.processor.limits();
        let registers = raised(change.registers(), shortages, needs);
        let is_unified = limits.acc_vgprs == AccVgprs::Unified;
        let total = match is_unified {
            true => registers.vgprs.next_multiple_of(4).saturating_add(registers.agprs),
            false => registers.vgprs.max(registers.agprs),
        };
        let arch_limit = if is_unified { limits.max_vgprs / 2 } else { limits.max_vgprs };
        let special = special_sgprs(self.processor.generation());
        let rows = [
            (Resource::Vgprs, registers.vgprs, arch_limit),
            (Resource::Vgprs, total, limits.max_vgprs),
            (Resource::Sgprs, registers.sgprs, limits.max_sgprs.saturating_add(special)),
        ];
        for (resource, needed, limit) in rows {
            let is_asked = shortages.iter().any(|it| it.resource == resource);
            if is_asked && needed > limit {
                let detail = format!(
                    "kernel `{name}` needs {needed} {}, and {} has {limit}: {}",
                    resource.name(),
                    self.processor.name(),
                    describe(shortages)
                );
                return Err(refusal(ErrorKind::Resources, detail));
            }
        }
        Ok(())
    }

    /// The most work-items of a workgroup that fit now, where more were allowed.
    fn check_workgroup(
        &self,
        descriptor: &KernelDescriptor,
        generation: Generation,
        name: Str<'_>,
        shortages: &[NamedShortage],
    ) -> Result<Option<u64>, Error> {
        let allocation = Allocation::new(*descriptor, generation);
        let fits = fitting_workgroup(self.processor.limits(), &allocation);
        let required = self.kernel.required_workgroup;
        let required = required.map(|sizes| sizes.into_iter().fold(1, u64::saturating_mul));
        if let Some(required) = required.filter(|required| *required > fits) {
            let detail = format!(
                "kernel `{name}` is launched with {required} work-items, and with what it needs {fits} fit: {}",
                describe(shortages)
            );
            return Err(refusal(ErrorKind::Resources, detail));
        }
        Ok(Some(fits)
            .filter(|fits| self.kernel.info.max_workgroup_size.is_some_and(|most| most > *fits)))
    }
}

/// Scalar registers behind the numbered ones: VCC, and what memory instructions use.
fn special_sgprs(generation: Generation) -> u32 {
    match generation {
        Generation::Gfx6 => 2,
        Generation::Gfx7 => 4,
        Generation::Gfx8 | Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => 6,
        _ => 0,
    }
}

fn needed(shortages: &[NamedShortage], resource: Resource) -> Option<u32> {
    shortages.iter().find(|it| it.resource == resource).map(|it| it.needed)
}

/// The registers that a kernel must have. Where one kind of vector registers is raised, the other must have room for
/// what code uses, too: the metadata of assembly need not say it.
fn raised(registers: Registers, shortages: &[NamedShortage], needs: &Needs<'_>) -> Registers {
    let is_short = |resource| needed(shortages, resource).is_some();
    let raise = |had: u32, resource| had.max(needed(shortages, resource).unwrap_or(0));
    let vector = |had: u32, resource| match is_short(Resource::Vgprs) || is_short(Resource::Agprs) {
        true => had.max(needs.of(resource).count),
        false => had,
    };
    Registers {
        vgprs: vector(registers.vgprs, Resource::Vgprs),
        agprs: vector(registers.agprs, Resource::Agprs),
        sgprs: raise(registers.sgprs, Resource::Sgprs),
    }
}

fn fitting_workgroup(limits: &Limits, allocation: &Allocation) -> u64 {
    let waves = limits.waves_with_vgprs(allocation.wave, allocation.vgprs).unwrap_or(0);
    let units = if limits.wgp_mode && !allocation.cu_mode { 2 } else { 1 };
    let all = u64::from(waves) * u64::from(limits.simds_per_cu) * units;
    (all * u64::from(allocation.wave.lanes())).min(limits.max_workgroup.into())
}

fn describe(shortages: &[NamedShortage]) -> String {
    let one = |it: &NamedShortage| {
        let (resource, path) = (it.resource.name(), it.way.join(" -> "));
        format!("{} {resource} allocated, {} needed by {path}", it.allocated, it.needed)
    };
    shortages.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl std::fmt::Display for Raise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kernel `{}`: {}", self.kernel, describe(&self.shortages))?;
        if self.needs_dynamic_stack {
            let separator = if self.shortages.is_empty() { "" } else { "; " };
            write!(f, "{separator}its stack grows by what only run time knows")?;
        }
        if let Some(limit) = self.workgroup_limit {
            write!(f, "; at most {limit} work-items of a workgroup fit")?;
        }
        Ok(())
    }
}

/// The symbols in which LLVM leaves the numbers of a kernel, with what these are now.
fn numbers(raise: &Raise) -> [(String, u64); 3] {
    let kernel = &raise.kernel;
    [
        (format!("{kernel}.num_vgpr"), raise.registers.vgprs.into()),
        (format!("{kernel}.num_agpr"), raise.registers.agprs.into()),
        (format!("{kernel}.private_seg_size"), raise.descriptor.private_segment_fixed_size.into()),
    ]
}

/// Gives kernels what they need.
pub(crate) fn apply(executable: &mut Executable<'_>, found: Propagation, is_fixed: bool) {
    let generation = executable.target().map(|it| it.processor.generation());
    let Propagation { mut raises, remarks } = found;
    for raise in &mut raises {
        raise.is_applied = is_fixed;
        let object = executable.objects.get_mut(raise.object.index());
        let (true, Some(generation), Some(object)) = (is_fixed, generation, object) else {
            continue;
        };
        if let Some(kernel) = object.kernels.get_mut(raise.number as usize) {
            *kernel = kernel.described(raise.descriptor, generation);
        }
        for (name, value) in numbers(raise) {
            let name = executable.names.find(Str::from(name.as_str()));
            let is_it =
                |it: &&mut Entry| Some(it.name) == name && matches!(it.place, Place::Number(_));
            if let Some(entry) = object.symbols.iter_mut().find(is_it) {
                entry.place = Place::Number(value);
            }
        }
    }
    if let Some(frozen) = &mut executable.frozen {
        for raise in raises.iter().filter(|it| it.is_applied) {
            raise.write(&mut frozen.images);
        }
        frozen.raises = raises;
        frozen.remarks = remarks;
    }
}
