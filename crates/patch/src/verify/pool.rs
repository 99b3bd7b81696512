//! The pool, and jumps that lead to what was placed.

use super::Case;
use crate::branch_target::Branch;

impl Case<'_, '_> {
    /// Every byte of the pool is listed, or keeps prefetching inside.
    pub(super) fn pool(&mut self) {
        let Some(pool) = self.manifest.pool else { return };
        let dialect = self.old.kit.usual().dialect();
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
        let (direct, indirect) = (self.new.direct(), self.old.indirect());
        let mut found = None;
        for record in &self.manifest.records {
            let size = (record.site.new.len() as u64).saturating_sub(1);
            let site = std::iter::once((record.site.address + 1, size));
            let others = record.body.iter().chain(&record.relays);
            for (start, size) in site.chain(others.map(|it| (it.address, it.new.len() as u64))) {
                let branches = direct.within(start, start + size).iter();
                let mut branches = branches.chain(indirect.within(start, start + size));
                let is_stranger =
                    |it: &&Branch| !is_listed(it.source) && self.is_instruction(it.source);
                found = found.or(branches.find(is_stranger).map(|it| it.source));
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
        function
            .is_none_or(|it| it.decode(self.old.kit.of(it).decoder()).index_of(address).is_some())
    }
}
