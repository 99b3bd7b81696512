//! Entries of compressed bundles that are passed over: a bundle's table says which are for targets that are not wanted.

use std::ops::Range;

use hsaco_isa::target::EntryId;

use crate::bundle::Bundle;
use crate::ccob::Ccob;

/// So much of a payload is unpacked to read its table: it has room for more than a thousand entries.
const HEAD: u64 = 64 << 10;

/// The targets whose entries are worth unpacking.
pub trait WantedTargets: Sync {
    /// Whether code may be wanted of which an entry's id says that it is for this target.
    fn may_want(&self, target: &str) -> bool;
}

/// An entry of a compressed bundle.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: String,
    /// Where it is in the payload.
    pub(super) range: Range<u64>,
    pub(super) is_wanted: bool,
}

impl Row {
    pub(super) fn size(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }
}

/// The entries of a compressed bundle, if some of them need not be unpacked. `None` where all of it has to be: to be wanted,
/// or to find out what it is.
pub(super) fn rows(
    header: &Ccob,
    data: &[u8],
    wanted: &dyn WantedTargets,
    cap: u64,
) -> Option<Vec<Row>> {
    let size = header.uncompressed_size;
    let head = (size <= cap).then(|| header.start(data, size.min(HEAD)).ok())??;
    let (bundle, damage) = Bundle::read(&head);
    // What lies behind the last entry may be another bundle.
    if damage.is_some() || bundle.extent() != size {
        return None;
    }
    let row = |entry: &crate::bundle::BundleEntry<'_>| {
        let id = entry.id.to_str_lossy().into_owned();
        let is_in_header = entry.size > 0 && entry.offset < bundle.header_size;
        let range = entry.offset..entry.offset.checked_add(entry.size)?;
        let is_wanted = !is_of_another_target(&id, wanted);
        (!is_in_header).then_some(Row { id, range, is_wanted })
    };
    let rows: Vec<Row> = bundle.entries.iter().map(row).collect::<Option<_>>()?;
    let is_worth_it = rows.iter().any(|it| !it.is_wanted && it.size() > 0);
    (is_worth_it && are_apart(&rows)).then_some(rows)
}

/// Whether an id says that the entry is code for an AMD GPU which is not wanted.
fn is_of_another_target(id: &str, wanted: &dyn WantedTargets) -> bool {
    EntryId::parse(id)
        .is_some_and(|it| it.is_amd() && !it.target.is_empty() && !wanted.may_want(it.target))
}

/// Whether the wanted entries follow each other.
fn are_apart(rows: &[Row]) -> bool {
    let mut ends = 0;
    rows.iter().filter(|it| it.is_wanted && it.size() > 0).all(|it| {
        let follows = it.range.start >= ends;
        ends = it.range.end;
        follows
    })
}
