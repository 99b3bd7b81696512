//! Putting changed code objects back where they were found.
//!
//! An object of the same size takes its own place, and so does one that padding leaves room for. One
//! that grew makes its container grow, and that the one around it, up to the file; each is written
//! so that what was not replaced is found with the same bytes. A compressed bundle is compressed
//! again.
//!
//! ```
//! use std::collections::BTreeMap;
//! use hsaco_container::{WalkOptions, bundle::{self, Bundle}, put_back};
//! let file = bundle::write(&[("hip-gfx90a", "abc"), ("hip-gfx942", "de")], 8);
//! let new = BTreeMap::from([(0, b"longer than it was".to_vec())]);
//! let file = put_back(&file, &WalkOptions::default(), new)?;
//! let bundle = Bundle::parse(&file)?;
//! assert_eq!(bundle.content(&file, &bundle.entries[0])?, b"longer than it was");
//! assert_eq!(bundle.content(&file, &bundle.entries[1])?, b"de");
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```

mod archive;
mod coff;
mod host;
mod pe;
mod slot;
mod zip;

use std::collections::{BTreeMap, BTreeSet};

use hsaco_bytes::{Error, ErrorKind, Result, memory, read_u16, read_u32, read_u64, slice};
use hsaco_compress::Method;

use crate::ccob::{self, Ccob};
use crate::walk::traced_entries;
use crate::{Bytes, Container, Region, RegionKind, WalkOptions};

const CONTEXT: &str = "putting back";

/// What bundles in a section are aligned to.
const PAGE: u64 = 4096;

/// The file with new contents for some of its entries, which are numbered as
/// [`entries`](super::entries) yields them, errors counted too.
///
/// # Errors
/// When there is no such entry, when the file cannot be read as far as that, or when an object grew
/// in a container that cannot: a host file of 32 bits or without section headers, a Windows image that is signed or has no
/// room for another section header.
pub fn put_back(
    data: &[u8],
    options: &WalkOptions,
    mut new: BTreeMap<usize, Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut walk = traced_entries(data, options);
    let mut changes: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    let mut regions = Regions::default();
    let mut number = 0;
    while let Some(step) = walk.step() {
        regions.add(walk.take_regions());
        let Some((place, answer)) = step else { continue };
        if let Some(new) = new.remove(&number) {
            let old = answer?.data;
            // What is as it was need not be compressed again.
            if *old != *new {
                let old = old.len() as u64;
                let change = Change { start: place.base, old, new, moves: Vec::new() };
                changes.entry(place.region).or_default().push(change);
                regions.need(place.region);
            }
        }
        number += 1;
        if walk.is_outside() {
            regions.let_go();
        }
    }
    if let Some((missing, _)) = new.first_key_value() {
        let detail = format!("entry {missing}, and there are {number}");
        return Err(Error::new(ErrorKind::NotFound, CONTEXT, detail));
    }
    // A region has a larger number than the one around it.
    while let Some((number, mut list)) = changes.pop_last() {
        let Some(region) = regions.get(number) else { break };
        list.iter_mut().for_each(|it| it.start = it.start.saturating_sub(region.base));
        list.sort_by_key(|it| it.start);
        let (bytes, moves) = rewritten(region, list)?;
        let Some(outer) = region.outer else { return Ok(bytes) };
        let start = if matches!(region.kind, RegionKind::Payload) {
            regions.get(outer).map_or(0, |it| it.base)
        } else {
            region.base
        };
        let change = Change { start, old: region.data.len() as u64, new: bytes, moves };
        changes.entry(outer).or_default().push(change);
    }
    memory::copy(data, CONTEXT)
}

/// The regions of a file. Those that were decompressed are kept only where something in them changes.
#[derive(Default)]
struct Regions<'a> {
    list: Vec<Region<'a>>,
    needed: BTreeSet<usize>,
    /// Those up to here were let go of, unless they are needed.
    checked: usize,
}

impl<'a> Regions<'a> {
    fn get(&self, number: usize) -> Option<&Region<'a>> {
        self.list.get(number)
    }

    fn add(&mut self, mut regions: Vec<Region<'a>>) {
        self.list.append(&mut regions);
    }

    /// Keeps a region, and those around it.
    fn need(&mut self, number: usize) {
        let mut next = Some(number);
        while let Some(number) = next.filter(|number| self.needed.insert(*number)) {
            next = self.get(number).and_then(|region| region.outer);
        }
    }

    /// Lets go of bytes in which nothing has changed, when the walk has left all payloads.
    fn let_go(&mut self) {
        let start = std::mem::replace(&mut self.checked, self.list.len());
        let Some(list) = self.list.get_mut(start..) else { return };
        for (number, region) in (start..).zip(list) {
            if !self.needed.contains(&number) && region.data.borrowed().is_none() {
                region.data = Bytes::from([].as_slice());
            }
        }
    }
}

/// New bytes for a range of a region.
struct Change {
    /// Where the range begins, in the region.
    start: u64,
    old: u64,
    new: Vec<u8>,
    /// Old and new offsets of things in the range, to adjust pointers to them.
    moves: Moves,
}

/// Old and new offsets.
type Moves = Vec<(u64, u64)>;

impl Change {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.old)
    }

    fn fits(&self) -> bool {
        self.new.len() as u64 <= self.old
    }
}

/// The bytes of a region after the changes in it.
fn rewritten(region: &Region<'_>, changes: Vec<Change>) -> Result<(Vec<u8>, Moves)> {
    let data: &[u8] = &region.data;
    let bytes = match &region.kind {
        RegionKind::File | RegionKind::Payload => splice(data, changes)?.0,
        RegionKind::Section(_) => {
            let (mut bytes, moves) = splice(data, changes)?;
            // What follows a section stays where it is.
            let size = bytes.len().max(data.len());
            memory::resize(&mut bytes, size, CONTEXT)?;
            return Ok((bytes, moves));
        }
        RegionKind::Container(Container::CompressedBundle) => compressed(data, changes)?,
        RegionKind::Container(Container::Bundle) => slot::bundle(data, changes)?,
        RegionKind::Container(Container::OffloadBinary) => slot::offload_binary(data, changes)?,
        RegionKind::Container(Container::Archive) => archive::archive(data, changes)?,
        RegionKind::Container(Container::HostElf) => host::elf(data, changes)?,
        RegionKind::Container(Container::HostCoff) => coff::object(data, changes)?,
        RegionKind::Container(Container::HostPe) => pe::image(data, changes)?,
        RegionKind::Container(
            container @ (Container::CodeObject | Container::Tar | Container::Cpio),
        ) => in_place(data, &changes, container.name())?,
        RegionKind::Container(Container::Zip) => zip::zip(data, changes)?,
        // The zip file around it compresses it.
        RegionKind::Packed => changes.into_iter().next_back().map(|it| it.new).unwrap_or_default(),
        RegionKind::Container(
            container @ (Container::Rpm
            | Container::Gzip
            | Container::Xz
            | Container::Zstd
            | Container::Bzip2),
        ) => {
            let detail = format!(
                "what is in {} {} is not written back",
                article(*container),
                container.title()
            );
            return Err(unsupported(detail).at(region.base));
        }
    };
    Ok((bytes, Vec::new()))
}

fn article(container: Container) -> &'static str {
    if container == Container::Rpm || container == Container::Xz { "an" } else { "a" }
}

/// Changes that fit, for a container in which nothing can grow.
fn in_place(data: &[u8], changes: &[Change], name: &str) -> Result<Vec<u8>> {
    let mut bytes = memory::copy(data, CONTEXT)?;
    for change in changes {
        if !change.fits() {
            let detail = format!(
                "{} bytes where {} were, in {name}: it cannot grow",
                change.new.len(),
                change.old
            );
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(change.start));
        }
        overwrite(&mut bytes, change.start, change.old, &change.new)?;
    }
    Ok(bytes)
}

/// Writes new bytes over old ones, and zeroes over what is left of those.
fn overwrite(bytes: &mut [u8], start: u64, old: u64, new: &[u8]) -> Result<()> {
    let missing = || Error::truncated(CONTEXT, start, old, 0);
    let start = usize::try_from(start).map_err(|_| missing())?;
    let old = usize::try_from(old).map_err(|_| missing())?;
    let place = bytes.get_mut(start..).and_then(|it| it.get_mut(..old)).ok_or_else(missing)?;
    let (head, rest) = place.split_at_mut_checked(new.len()).ok_or_else(missing)?;
    head.copy_from_slice(new);
    rest.fill(0);
    Ok(())
}

macro_rules! getter {
    ($name:ident, $read:ident, $int:ty) => {
        /// Reads one little-endian integer of a host file.
        fn $name(bytes: &[u8], at: u64) -> Result<$int> {
            let missing = || Error::truncated(CONTEXT, at, size_of::<$int>() as u64, 0);
            let index = usize::try_from(at).map_err(|_| missing())?;
            $read(bytes, index).ok_or_else(missing)
        }
    };
}

getter!(get_u16, read_u16, u16);
getter!(get_u32, read_u32, u32);
getter!(get_u64, read_u64, u64);

/// Writes one little-endian integer of 32 bits.
fn put_u32(bytes: &mut [u8], at: u64, value: u64) -> Result<()> {
    let value = u32::try_from(value).map_err(|_| {
        Error::new(ErrorKind::LimitExceeded, CONTEXT, "more than 4 GiB in a Windows file").at(at)
    })?;
    overwrite(bytes, at, 4, &value.to_le_bytes())
}

fn unsupported(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, CONTEXT, detail)
}

/// Bytes with ranges replaced. What comes after a range stays at its offset if padding before it
/// gives way; else it moves by whole pages, so that its alignment is what it was.
fn splice(data: &[u8], changes: Vec<Change>) -> Result<(Vec<u8>, Moves)> {
    let mut out = Vec::new();
    memory::reserve(&mut out, data.len(), CONTEXT)?;
    let mut moves = Vec::new();
    let mut copied = 0;
    for change in changes {
        let gap = slice(data, copied, change.start.saturating_sub(copied), CONTEXT)?;
        if change.start < copied {
            let detail = "two entries share bytes, and one of them changed";
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(change.start));
        }
        moves.push((copied, fill(&mut out, gap, copied, change.start)?));
        moves.push((change.start, out.len() as u64));
        copied = change.end();
        memory::append(&mut out, &change.new, CONTEXT)?;
    }
    let tail = slice(data, copied, (data.len() as u64).saturating_sub(copied), CONTEXT)?;
    if !tail.is_empty() {
        moves.push((copied, fill(&mut out, tail, copied, data.len() as u64)?));
    }
    Ok((out, moves))
}

/// Puts the bytes between two changes, which ended at `from` and go on at `to`; answers where they are
/// now.
fn fill(out: &mut Vec<u8>, gap: &[u8], from: u64, to: u64) -> Result<u64> {
    let end = out.len() as u64;
    let is_padding = gap.iter().all(|&byte| byte == 0);
    if end <= from {
        memory::resize(out, index(from)?, CONTEXT)?;
        memory::append(out, gap, CONTEXT)?;
        return Ok(from);
    }
    if end <= to && is_padding {
        memory::resize(out, index(to)?, CONTEXT)?;
        return Ok(from);
    }
    let mut place = end;
    if !is_padding {
        place = congruent(end, from)?;
        memory::resize(out, index(place)?, CONTEXT)?;
        memory::append(out, gap, CONTEXT)?;
    }
    let start = congruent(out.len() as u64, to)?;
    memory::resize(out, index(start)?, CONTEXT)?;
    Ok(place)
}

/// The next offset that is in its page where another one is in its own.
fn congruent(offset: u64, like: u64) -> Result<u64> {
    let ahead = like.wrapping_sub(offset) % PAGE;
    offset.checked_add(ahead).ok_or_else(too_large)
}

fn index(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| too_large())
}

fn too_large() -> Error {
    Error::new(ErrorKind::LimitExceeded, CONTEXT, "more bytes than there can be")
}

fn compressed(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let header = Ccob::parse(data)?;
    let Some(change) = changes.into_iter().next_back() else { return memory::copy(data, CONTEXT) };
    let level = match header.method {
        Method::Zlib => 6,
        Method::Zstd => 3,
    };
    ccob::write(&change.new, header.version, header.method, level)
}
