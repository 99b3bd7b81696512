//! Where two objects differ, and at which addresses waves are looked at.

use std::collections::BTreeSet;

use hsaco_analysis::Code;
use hsaco_patch::Manifest;

/// Code that was replaced. Addresses are those of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewrittenSite {
    /// Where waves come to it, in the result.
    pub address: u64,
    /// Where they go on, in both objects.
    pub end: u64,
    /// The names of the rules that had it replaced.
    pub rules: Vec<String>,
    /// The function that it is in.
    pub function: String,
    /// The instruction that was replaced; the first one in the function for what runs before it.
    pub instruction: u64,
    /// Where the replacement stands: in place, padding, pool, stub.
    pub placement: &'static str,
}

impl RewrittenSite {
    /// The sites that a manifest lists.
    #[must_use]
    pub fn of_manifest(manifest: &Manifest) -> Vec<Self> {
        let records = manifest.records.iter().map(|record| Self {
            address: record.site.address,
            end: record.site.address + record.site.old.len() as u64,
            rules: names(record.rules.iter().map(|it| it.0)),
            function: record.function.to_string(),
            instruction: record.rules.first().map_or(record.site.address, |it| it.1),
            placement: record.placement.name(),
        });
        let stubs = manifest.stubs.iter().map(|stub| Self {
            address: stub.address,
            end: stub.entry,
            rules: vec![stub.rule.clone()],
            function: stub.kernel.clone(),
            instruction: stub.entry,
            placement: "stub",
        });
        records.chain(stubs).collect()
    }

    /// The stretches of instructions that are not the same in two objects, where there is no manifest.
    #[must_use]
    pub fn between(original: &Code<'_>, result: &Code<'_>) -> Vec<Self> {
        let mut sites = Vec::new();
        for function in original.functions().as_slice() {
            let stream = original.stream(function);
            let mut open: Option<Self> = None;
            for (index, step) in stream.steps().enumerate() {
                let (address, bytes) = (stream.address_of(index), stream.bytes(index));
                let size = bytes.len() as u64;
                let now = result.object().elf().at_address(address, size);
                // What ends in a replaced instruction belongs to it.
                if now == Some(bytes) && step.inst.is_some() {
                    sites.extend(open.take());
                    continue;
                }
                let new = || Self {
                    address,
                    end: address,
                    rules: Vec::new(),
                    function: function.name.map(|it| it.to_string()).unwrap_or_default(),
                    instruction: address,
                    placement: "in-place",
                };
                open.get_or_insert_with(new).end = address + size;
            }
            sites.extend(open);
        }
        sites
    }

    /// Whether an instruction of the original belongs to it.
    #[must_use]
    pub fn covers(&self, address: u64) -> bool {
        (self.instruction..self.end.max(self.instruction + 1)).contains(&address)
    }
}

fn names<'n>(rules: impl Iterator<Item = &'n str>) -> Vec<String> {
    rules.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}
