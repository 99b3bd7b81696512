//! The walk of [`entries`](crate::entries) with the regions that it comes through.

use hsaco_bytes::Error;

use crate::region::{EntryPlace, Region};
use crate::walk::traced_entries;
use crate::{Entry, WalkOptions};

/// What [`visit`] shows of a file.
pub trait RegionVisitor {
    /// A region; they come in the order of their numbers.
    fn region(&mut self, region: &Region<'_>);
    /// An entry in one of them.
    fn entry(&mut self, place: EntryPlace, entry: &Entry<'_>);
    /// Something that could not be read.
    fn error(&mut self, error: Error);
}

/// Shows everything that the walk of [`entries`](crate::entries) comes to.
///
/// ```
/// use hsaco_container::{Entry, WalkOptions, EntryPlace, Region, RegionVisitor, bundle, visit};
/// #[derive(Default)]
/// struct Count {
///     regions: usize,
///     entries: usize,
/// }
/// impl RegionVisitor for Count {
///     fn region(&mut self, _: &Region<'_>) {
///         self.regions += 1;
///     }
///     fn entry(&mut self, _: EntryPlace, _: &Entry<'_>) {
///         self.entries += 1;
///     }
///     fn error(&mut self, _: hsaco_bytes::Error) {}
/// }
/// let file = bundle::write(&[("hip-gfx90a", "abc"), ("hip-gfx942", "de")], 8);
/// let mut count = Count::default();
/// visit(&file, &WalkOptions::default(), &mut count);
/// assert_eq!((count.regions, count.entries), (2, 2));
/// ```
pub fn visit(data: &[u8], options: &WalkOptions, visitor: &mut dyn RegionVisitor) {
    let mut entries = traced_entries(data, options);
    loop {
        let step = entries.step();
        // At once: a region that waits would keep its payload.
        for region in entries.take_regions() {
            visitor.region(&region);
        }
        match step {
            Some(Some((place, Ok(entry)))) => visitor.entry(place, &entry),
            Some(Some((_, Err(error)))) => visitor.error(error),
            Some(None) => {}
            None => return,
        }
    }
}
