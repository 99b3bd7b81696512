//! Bytes, headers, descriptors and metadata.

use std::ops::Range;

use hsaco_object::Kernel;
use hsaco_object::descriptor::Field;

use super::Case;
use crate::arrivals::Arrival;
use crate::manifest::Setting;
use crate::release::Walk;

/// Fields of descriptors that follow from keys of the metadata.
const FOLLOWS: [(&str, &str); 5] = [
    ("private_segment_fixed_size", ".private_segment_fixed_size"),
    ("enable_private_segment", ".private_segment_fixed_size"),
    ("granulated_workitem_vgpr_count", ".vgpr_count"),
    ("granulated_wavefront_sgpr_count", ".sgpr_count"),
    ("accum_offset", ".vgpr_count"),
];

impl Case<'_, '_> {
    pub(super) fn layout(&mut self) {
        let sizes = (self.old.object.data().len() as u64, self.new.object.data().len() as u64);
        if sizes != self.manifest.sizes {
            let (old, new) = self.manifest.sizes;
            self.found("bytes", None, format!("sizes are {sizes:?}, not ({old}, {new})"));
        }
        if let Some(error) = self.new.object.problems().first() {
            self.found("elf", None, error.to_string());
        }
        self.changes();
        self.unchanged_bytes();
        self.segments();
        self.kernels();
    }

    /// What the manifest says was and is there.
    fn changes(&mut self) {
        let (old, new) = (self.old.object.elf(), self.new.object.elf());
        let mut wrong = Vec::new();
        let mut walk = Walk::new(self.release);
        for change in self.manifest.changes() {
            walk.at(old.file_offset(change.address).unwrap_or(0) as usize);
            let size = change.new.len() as u64;
            if !change.old.is_empty() && old.at_address(change.address, size) != Some(&change.old) {
                wrong.push((change.address, "the original does not hold what the manifest says"));
            }
            if new.at_address(change.address, size) != Some(&change.new) {
                wrong.push((change.address, "the result does not hold what the manifest says"));
            }
        }
        for stub in &self.manifest.stubs {
            let size = stub.code.len() as u64;
            if self.new.object.elf().at_address(stub.address, size) != Some(&stub.code) {
                wrong.push((stub.address, "the result does not hold what the manifest says"));
            }
        }
        for (address, detail) in wrong {
            self.found("bytes", address, detail);
        }
    }

    /// Every byte that the manifest does not list is as it was, at its offset.
    fn unchanged_bytes(&mut self) {
        let elf = self.old.object.elf();
        let header = elf.header();
        let table = |at: u64, size: u16, count: usize| at..at + u64::from(size) * count as u64;
        let mut changed: Vec<Range<u64>> = vec![
            0..64,
            table(header.program_headers, header.program_header_size, elf.segments().len()),
            table(header.section_headers, header.section_header_size, elf.sections().len()),
        ];
        for change in self.manifest.changes().filter(|change| !change.old.is_empty()) {
            let start = elf.file_offset(change.address).unwrap_or(u64::MAX);
            changed.push(start..start.saturating_add(change.old.len() as u64));
        }
        let settled = |number: usize| {
            self.manifest.kernels.get(number).is_some_and(|it| !it.settings.is_empty())
        };
        let kernels = self.old.index.kernels().iter().enumerate();
        for (_, kernel) in kernels.filter(|(number, _)| settled(*number)) {
            let address = kernel.descriptor_symbol().map_or(u64::MAX, |it| it.value);
            let start = elf.file_offset(address).unwrap_or(u64::MAX);
            changed.push(start..start.saturating_add(64));
        }
        if (0..self.manifest.kernels.len()).any(settled) {
            let notes = elf.sections().iter().filter(|it| it.kind == hsaco_object::elf::SHT_NOTE);
            changed.extend(notes.map(|it| it.offset..it.offset + it.file_size()));
            let notes = elf.segments().iter().filter(|it| it.kind == hsaco_object::elf::PT_NOTE);
            changed.extend(notes.map(|it| it.offset..it.offset.saturating_add(it.file_size)));
        }
        changed.sort_by_key(|range| range.start);
        let (old, new) = (self.old.object.data(), self.new.object.data());
        let end = old.len() as u64;
        let mut at = 0;
        let mut differing = None;
        let mut walk = Walk::new(self.release);
        for range in changed.into_iter().chain(std::iter::once(end..end)) {
            if at < range.start {
                let same = at as usize..range.start.min(end) as usize;
                let (left, right) = (old.get(same.clone()), new.get(same.clone()));
                if left != right {
                    let pairs = left.unwrap_or_default().iter().zip(right.unwrap_or_default());
                    let first = pairs.take_while(|(left, right)| left == right).count();
                    differing = differing.or(Some(same.start + first));
                }
            }
            at = at.max(range.end);
            walk.at(at.min(end) as usize);
        }
        if let Some(offset) = differing {
            let detail =
                format!("a byte that the manifest does not list differs (at offset {offset:#x})");
            self.found("bytes", None, detail);
        }
    }

    /// What was mapped is mapped as it was, and the pool besides.
    fn segments(&mut self) {
        let key = |it: &hsaco_object::elf::Segment| {
            (it.address, it.offset, it.file_size, it.memory_size, it.flags)
        };
        let new: Vec<_> = self.new.object.elf().loads().map(key).collect();
        let missing = self.old.object.elf().loads().map(key).find(|it| !new.contains(it));
        if let Some((address, ..)) = missing {
            self.found("elf", address, "a segment is not mapped as it was");
        }
        let mut ranges: Vec<(u64, u64)> =
            new.iter().map(|it| (it.0, it.0.saturating_add(it.3))).collect();
        ranges.sort_unstable();
        if let Some(pair) = ranges.windows(2).find(|pair| matches!(pair, [a, b] if a.1 > b.0)) {
            let address = pair.last().map(|it| it.0);
            self.found("elf", address, "two segments overlap");
        }
        let Some(pool) = self.manifest.pool else { return };
        let wanted = (pool.address, pool.offset, pool.size);
        let found = self
            .new
            .object
            .elf()
            .loads()
            .find(|it| (it.address, it.offset, it.file_size) == wanted);
        if !found.is_some_and(hsaco_object::elf::Segment::is_executable) {
            self.found("elf", pool.address, "the pool is no executable segment");
        }
    }

    /// Every byte of the pool is listed, or keeps prefetching inside.
    pub(super) fn pool(&mut self) {
        let Some(pool) = self.manifest.pool else { return };
        let dialect = self.kit.usual().dialect();
        let pad = dialect.pad.to_le_bytes();
        let bytes = self.new.object.elf().at_address(pool.address, pool.size).unwrap_or_default();
        let mut listed: Vec<(u64, u64)> = self
            .manifest
            .changes()
            .filter(|it| (pool.address..pool.address + pool.size).contains(&it.address))
            .map(|it| (it.address, it.address + it.new.len() as u64))
            .chain(
                self.manifest
                    .stubs
                    .iter()
                    .map(|it| (it.address, it.address + it.code.len() as u64)),
            )
            .collect();
        listed.sort_unstable();
        let end = pool.address + pool.size;
        let mut at = pool.address;
        let mut stray = None;
        for (start, stop) in listed.into_iter().chain([(end, end)]) {
            if start < at {
                stray = stray.or(Some((start, "two replacements overlap")));
            }
            let gap =
                bytes.get((at - pool.address) as usize..(start.max(at) - pool.address) as usize);
            let words = gap.unwrap_or_default().chunks_exact(4);
            if words.into_iter().any(|word| word != pad) {
                stray = stray.or(Some((at, "code that the manifest does not list")));
            }
            at = at.max(stop);
        }
        if let Some((address, detail)) = stray {
            self.found("pool", address, detail);
        }
        let lines = self.new.kernels.iter().map(|kernel| kernel.prefetch).max().unwrap_or(0);
        let guard = pool.guard as usize;
        let tail =
            bytes.len().checked_sub(guard).and_then(|at| bytes.get(at..)).unwrap_or_default();
        let is_guard = tail.chunks_exact(4).all(|word| word == pad);
        if pool.guard < dialect.guard.max(lines * 128) || !is_guard {
            self.found(
                "prefetch",
                pool.address,
                "the pool ends too soon for what is fetched ahead",
            );
        }
    }

    /// No jump that the manifest does not list leads into a replacement, a branch on the way to one or the middle of
    /// a site, from wherever.
    pub(super) fn strangers(&mut self) {
        let tools = self.kit.usual();
        let mut listed: Vec<(u64, u64)> = self
            .manifest
            .changes()
            .map(|it| (it.address, it.address + it.new.len() as u64))
            .collect();
        listed.sort_unstable();
        let is_listed = |at: u64| {
            let after = listed.partition_point(|(start, _)| *start <= at);
            after.checked_sub(1).and_then(|it| listed.get(it)).is_some_and(|(_, end)| at < *end)
        };
        // Jumps through registers are where they were; those of replacements are looked at with them.
        let (direct, indirect) = (self.new.direct(tools), self.old.indirect(tools));
        let mut found = None;
        for record in &self.manifest.records {
            let size = (record.site.new.len() as u64).saturating_sub(1);
            let site = std::iter::once((record.site.address + 1, size));
            let others = record.body.iter().chain(&record.relays);
            for (start, size) in site.chain(others.map(|it| (it.address, it.new.len() as u64))) {
                let arrivals = direct.within(start, start + size).iter();
                let mut arrivals = arrivals.chain(indirect.within(start, start + size));
                let is_stranger =
                    |it: &&Arrival| !is_listed(it.source) && self.is_instruction(it.source);
                found = found.or(arrivals.find(is_stranger).map(|it| it.source));
            }
        }
        if let Some(at) = found {
            let detail = "a jump that the manifest does not list leads into a replacement";
            self.found("pool", at, detail);
        }
    }

    /// A constant may look like a branch; only instructions count.
    fn is_instruction(&self, address: u64) -> bool {
        let function =
            self.new.functions.iter().find(|it| (it.address..it.end()).contains(&address));
        function.is_none_or(|it| it.decode(self.kit.of(it).decoder()).index_of(address).is_some())
    }

    /// A field of the descriptor that differs and should not.
    fn descriptor_differs(
        &self,
        old: &Kernel<'_>,
        new: &Kernel<'_>,
        settings: &[Setting],
    ) -> Option<&'static str> {
        let (old, new) = (old.descriptor()?, new.descriptor()?);
        let generation = self.kit.processor().generation();
        let is_listed = |name: &str| settings.iter().any(|it| it.name == name);
        let fields = Field::all(generation);
        let field = fields.filter(|it| old.value(it) != new.value(it)).find(|it| {
            let follows = FOLLOWS.iter().any(|(field, key)| it.name == *field && is_listed(key));
            !follows && !is_listed(it.name)
        });
        let moved = old.kernel_code_entry_byte_offset != new.kernel_code_entry_byte_offset;
        let entry = (moved && !is_listed("entry")).then_some("entry");
        field.map(|it| it.name).filter(|it| !it.contains("entry")).or(entry)
    }

    /// Descriptors and metadata differ in what the manifest lists only, and agree.
    fn kernels(&mut self) {
        let generation = self.kit.processor().generation();
        let mut wrong = Vec::new();
        let pairs = self.old.index.kernels().iter().zip(self.new.index.kernels());
        for (number, (old, new)) in pairs.enumerate() {
            let settings = self.manifest.kernels.get(number).map_or(&[][..], |it| &it.settings);
            if old.name() != new.name() {
                wrong.push(format!("kernel {number} was {} and is {}", old.name(), new.name()));
                continue;
            }
            let (before, after) =
                (old.resources(Some(generation)).0, new.resources(Some(generation)).0);
            let said = [
                (".sgpr_count", before.sgprs, after.sgprs),
                (".vgpr_count", before.vgprs, after.vgprs),
                (".group_segment_fixed_size", before.lds, after.lds),
                (".private_segment_fixed_size", before.scratch, after.scratch),
            ];
            wrong.extend(self.descriptor_differs(old, new, settings).map(|field| {
                format!("{field} of kernel {number} differs and is not in the manifest")
            }));
            for (name, old, new) in said {
                let listed = settings.iter().find(|it| it.name == name);
                let text = |it: Option<u64>| it.map(|it| it.to_string()).unwrap_or_default();
                let is_right = match listed {
                    Some(it) => (&it.old, &it.new) == (&text(old), &text(new)),
                    None => old == new,
                };
                if !is_right {
                    wrong.push(format!("{name} of kernel {number} is not as the manifest says"));
                }
            }
            if let (Some(descriptor), Some(said)) = (new.descriptor(), after.vgprs)
                && u64::from(descriptor.vgprs(generation)) < said
                && before.vgprs != after.vgprs
            {
                wrong.push(format!(
                    "kernel {number} says {said} vector registers and allocates fewer"
                ));
            }
        }
        if self.old.index.kernels().len() != self.new.index.kernels().len() {
            wrong.push("the number of kernels differs".to_owned());
        }
        for detail in wrong {
            self.found("metadata", None, detail);
        }
    }
}
