//! The walk through containers within containers, with an explicit stack of what is left to do.

mod package;
mod packed;
mod wanted;

use std::ops::Range;
use std::sync::Arc;

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::bundle::{self, Bundle};
use crate::ccob::{self, Ccob};
use crate::host::{self, Section};
use crate::offload_binary::{self, OffloadBinary};
use crate::region::{EntryPlace, Region, RegionKind};
use crate::trail::{Trail, TrailStep};
use crate::{Bytes, Container, Entry, EntryKind, WalkOptions, archive, host_coff, host_elf};
use packed::Packed;
pub use packed::{PackedBundle, PackedRange, UnpackedBundle};
pub use wanted::WantedTargets;

/// Compressed bundles within each other are no format of anyone's, and the way to make much of little.
const MAX_COMPRESSIONS: usize = 2;

/// How many bytes may be unpacked for each byte of the file, beyond one payload of the largest size. Libraries of many similar
/// kernels come to less than a hundred.
const MAX_RATIO: u64 = 256;

/// Every entry in `data`, in file order. What is damaged is an error in its place, and the walk
/// goes on with the rest.
///
/// Host files and archives without device code give nothing; bytes of no known format give one
/// [`NotRecognised`](ErrorKind::NotRecognised) error. A decompressed payload is let go of as soon
/// as the last of its entries is.
///
/// ```
/// use hsaco_bytes::ErrorKind;
/// use hsaco_container::{WalkOptions, entries};
/// let mut found = entries(b"#!/bin/sh\n", &WalkOptions::default());
/// assert_eq!(found.next().unwrap().unwrap_err().kind(), ErrorKind::NotRecognised);
/// assert!(found.next().is_none());
/// ```
pub fn entries<'a>(data: &'a [u8], options: &WalkOptions) -> Entries<'a> {
    Entries::new(data, options, None)
}

/// The same walk, which also keeps the regions that it comes through.
pub(crate) fn traced_entries<'a>(data: &'a [u8], options: &WalkOptions) -> Entries<'a> {
    Entries::new(data, options, Some(Vec::new()))
}

/// The iterator of [`entries`].
pub struct Entries<'a> {
    stack: Vec<Work<'a>>,
    options: WalkOptions,
    /// Bytes that may still be looked into, so that ranges which overlap cannot multiply work.
    budget: u64,
    /// The regions since they were last taken; `None` if the caller does not want them.
    regions: Option<Vec<Region<'a>>>,
    /// How many regions there have been.
    region_count: usize,
    /// Bytes that may still be unpacked, whatever from.
    unpackable: u64,
    /// How many payloads there have been.
    payload_count: usize,
    /// The payload of the entry that was yielded last.
    last_payload: Option<usize>,
    /// Bundles that were unpacked before the walk came to them.
    supplied: Vec<UnpackedBundle>,
    /// What compressed bundles are unpacked for; all of it if nothing is said.
    wanted: Option<&'a dyn WantedTargets>,
}

enum Work<'a> {
    /// Find out what these bytes are.
    Judge(Node<'a>),
    /// Look for the next bundle or offload binary from a position on.
    Scan { node: Node<'a>, position: usize, found: bool },
    /// Unpack a compressed bundle.
    Packed(Box<Packed<'a>>),
    /// Unpack a member of a zip file.
    Unpack(Box<package::PackedMember<'a>>),
    /// Read the next member of a compressed archive.
    Members(Box<package::Members<'a>>),
    /// An answer that waits for its turn, and the payload it is from.
    Answer(EntryPlace, Option<usize>, Result<Entry<'a>>),
}

/// Something that was decompressed.
#[derive(Clone)]
struct Payload {
    number: usize,
    /// Where in the file that is, for messages.
    place: Arc<str>,
    /// The compressed bundle of the file that it is the payload of, if it is one.
    bundle: Option<Range<u64>>,
}

/// A range of bytes and how the walk came to it.
#[derive(Clone)]
struct Node<'a> {
    data: Bytes<'a>,
    /// Where the range begins: in the payload if there is one, else in the outermost bytes.
    base: u64,
    /// The payload that this is part of.
    payload: Option<Payload>,
    trail: Trail,
    id: Option<String>,
    otherwise: Otherwise,
    /// The region around the range.
    region: usize,
}

/// What to do with bytes of no known format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Otherwise {
    Refuse,
    Keep,
    Ignore,
}

impl<'a> Node<'a> {
    /// The part at `offset`, as a node of its own.
    fn part(&self, offset: u64, size: u64, context: &'static str) -> Result<Self> {
        hsaco_bytes::slice(&self.data, offset, size, context)?;
        let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
        let data = range.and_then(|(start, size)| self.data.slice(start..start + size));
        let data = data.unwrap_or_else(|| Bytes::from([].as_slice()));
        Ok(Self { data, base: self.base.saturating_add(offset), ..self.clone() })
    }

    fn from(&self, position: usize) -> &[u8] {
        self.data.get(position..).unwrap_or_default()
    }

    fn offset(&self) -> Option<u64> {
        self.payload.is_none().then_some(self.base)
    }

    /// Whether the bytes are a file: the outermost, or a member of something.
    fn is_file(&self) -> bool {
        self.otherwise == Otherwise::Ignore || self.trail.depth() == 0
    }

    fn payload_number(&self) -> Option<usize> {
        self.payload.as_ref().map(|it| it.number)
    }

    /// Where it is in the payload of a compressed bundle of the file.
    fn packed_range(&self) -> Option<PackedRange> {
        let bundle = self.payload.as_ref()?.bundle.clone()?;
        let part = self.base..self.base.saturating_add(self.data.len() as u64);
        Some(PackedRange { bundle, part })
    }

    fn place(&self) -> EntryPlace {
        EntryPlace { region: self.region, base: self.base }
    }

    fn entry(self, kind: EntryKind) -> Work<'a> {
        let (offset, place, payload) = (self.offset(), self.place(), self.payload_number());
        let packed = self.packed_range();
        let entry = Entry { id: self.id, kind, data: self.data, offset, packed, trail: self.trail };
        Work::Answer(place, payload, Ok(entry))
    }

    /// An error in this node, told from the outermost bytes or, failing that, from the payload.
    fn error(&self, error: Error) -> Work<'a> {
        let error = error.rebased(self.base);
        let place = match (&self.payload, self.trail.path()) {
            (Some(payload), _) => Some(payload.place.to_string()),
            (None, Some(path)) => Some(format!("in {path}")),
            (None, None) => None,
        };
        let error = match place {
            None => error,
            Some(place) => {
                let detail = format!("{}, {place}", error.detail());
                let told = Error::new(error.kind(), error.context(), detail);
                match error.offset() {
                    Some(offset) => told.at(offset),
                    None => told,
                }
            }
        };
        Work::Answer(self.place(), self.payload_number(), Err(error))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((_, answer)) = self.step()? {
                return Some(answer);
            }
        }
    }
}

impl<'a> Entries<'a> {
    fn new(data: &'a [u8], options: &WalkOptions, regions: Option<Vec<Region<'a>>>) -> Self {
        let ratio = MAX_RATIO.saturating_mul(data.len() as u64);
        let mut walk = Self {
            stack: Vec::new(),
            options: *options,
            budget: 0,
            regions,
            region_count: 0,
            unpackable: ratio.saturating_add(options.max_size),
            payload_count: 0,
            last_payload: None,
            supplied: Vec::new(),
            wanted: None,
        };
        walk.add_budget(data.len());
        let data = Bytes::from(data);
        let region = walk.note_region(None, &data, 0, RegionKind::File);
        walk.stack.push(Work::Judge(Node {
            data,
            base: 0,
            payload: None,
            trail: Trail::default(),
            id: None,
            otherwise: Otherwise::Refuse,
            region,
        }));
        walk
    }

    /// Does one piece of work, which may come to an answer, and its place; `None` at the end.
    pub(crate) fn step(&mut self) -> Option<Option<(EntryPlace, Result<Entry<'a>>)>> {
        match self.stack.pop()? {
            Work::Answer(place, payload, answer) => {
                self.last_payload = payload;
                return Some(Some((place, answer)));
            }
            Work::Judge(node) => self.judge(node),
            Work::Packed(packed) => self.open_packed(*packed),
            Work::Unpack(member) => self.unpack(&member),
            Work::Members(members) => self.next_member(members),
            Work::Scan { node, position, found } => self.scan(node, position, found),
        }
        Some(None)
    }

    /// The regions that the walk has come to since this was last asked.
    pub(crate) fn take_regions(&mut self) -> Vec<Region<'a>> {
        self.regions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps a region if the caller wants them, and returns its number.
    fn note_region(
        &mut self,
        outer: Option<usize>,
        data: &Bytes<'a>,
        base: u64,
        kind: RegionKind,
    ) -> usize {
        if let Some(regions) = &mut self.regions {
            regions.push(Region { outer, data: data.clone(), base, kind });
        }
        self.region_count += 1;
        self.region_count - 1
    }

    /// True while the walk stands inside the decompressed payload of the entry that it yielded last, so that the next entry
    /// comes from it or after it. A caller that keeps entries knows here when to let them go: when this turns false, the next
    /// payload may be decompressed.
    pub fn in_payload(&self) -> bool {
        let next = match self.stack.last() {
            Some(Work::Judge(node) | Work::Scan { node, .. }) => node.payload_number(),
            Some(Work::Packed(packed)) => packed.node.payload_number(),
            Some(Work::Answer(_, payload, Ok(_))) => *payload,
            _ => None,
        };
        next.is_some() && next == self.last_payload
    }

    /// True when what comes next is in no payload that has been decompressed.
    pub(crate) fn is_outside(&self) -> bool {
        match self.stack.last() {
            Some(Work::Judge(node) | Work::Scan { node, .. }) => node.payload.is_none(),
            Some(Work::Packed(packed)) => packed.node.payload.is_none(),
            Some(Work::Unpack(member)) => member.is_outside(),
            Some(Work::Answer(_, payload, _)) => payload.is_none(),
            Some(Work::Members(_)) | None => true,
        }
    }

    /// A payload that was decompressed from something at `place`, as a node with a region of its own.
    fn payload_node(
        &mut self,
        content: Vec<u8>,
        place: String,
        trail: Trail,
        region: usize,
        otherwise: Otherwise,
    ) -> Node<'a> {
        self.add_budget(content.len());
        let data = Bytes::from(content);
        let region = self.note_region(Some(region), &data, 0, RegionKind::Payload);
        self.payload_count += 1;
        let number = self.payload_count;
        let payload = Some(Payload { number, place: place.into(), bundle: None });
        Node { data, base: 0, payload, trail, id: None, otherwise, region }
    }

    /// Where the content of a stream would be that is never all in memory.
    fn unseen_node(&mut self, place: String, trail: Trail, region: usize) -> Node<'a> {
        self.payload_count += 1;
        let number = self.payload_count;
        let payload = Some(Payload { number, place: place.into(), bundle: None });
        let (data, otherwise) = (Bytes::from([].as_slice()), Otherwise::Ignore);
        Node { data, base: 0, payload, trail, id: None, otherwise, region }
    }

    /// Counts bytes that were unpacked; false (and an error instead of all other work) when there are too many in all.
    fn charge(&mut self, node: &Node<'a>, size: u64) -> bool {
        if let Some(left) = self.unpackable.checked_sub(size) {
            self.unpackable = left;
            return true;
        }
        let detail = "it unpacks to so much more than its own size that the walk would not end in reasonable time";
        self.stack.clear();
        let error = Error::new(ErrorKind::LimitExceeded, "container", detail).at(0);
        self.stack.push(node.error(error));
        false
    }

    fn add_budget(&mut self, size: usize) {
        // Every level of nesting looks at a byte twice at most: in its region, and in its container.
        let levels = (self.options.max_depth as u64).saturating_add(1).saturating_mul(2);
        self.budget = self.budget.saturating_add(levels.saturating_mul(size as u64 + 64));
    }

    fn spend(&mut self, node: &Node<'a>, size: u64) -> bool {
        if let Some(left) = self.budget.checked_sub(size) {
            self.budget = left;
            return true;
        }
        let detail = "its parts overlap so much that the walk would not end in reasonable time";
        self.stack.clear();
        self.stack
            .push(node.error(Error::new(ErrorKind::LimitExceeded, "container", detail).at(0)));
        false
    }

    /// Work in the order given, which the stack takes in reverse.
    fn push_all(&mut self, mut work: Vec<Work<'a>>) {
        work.reverse();
        self.stack.append(&mut work);
    }

    /// The trail into a container that begins at `position` of the node and its region's number, or
    /// `None` (and an error in the stack) when that is too deep.
    fn enter(
        &mut self,
        node: &Node<'a>,
        container: Container,
        position: u64,
        size: u64,
    ) -> Option<(Trail, usize)> {
        if !self.spend(node, size) {
            return None;
        }
        if self.is_too_deep(node, &node.trail, container, position) {
            return None;
        }
        let offset = node.offset().map(|base| base.saturating_add(position));
        let trail = node.trail.with(TrailStep { container, part: None, offset });
        let base = node.base.saturating_add(position);
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        let whole = node.data.slice(start..end.min(node.data.len()));
        let data = whole.unwrap_or_else(|| Bytes::from([].as_slice()));
        let kind = RegionKind::Container(container);
        Some((trail, self.note_region(Some(node.region), &data, base, kind)))
    }

    /// True (and an error in the stack) when a container would lie in too many others.
    fn is_too_deep(
        &mut self,
        node: &Node<'a>,
        trail: &Trail,
        container: Container,
        position: u64,
    ) -> bool {
        let limit = self.options.max_depth;
        let is_too_deep = trail.depth() >= limit;
        if is_too_deep {
            let detail = format!("{} inside {limit} containers: {trail}", container.name());
            let error = Error::new(ErrorKind::LimitExceeded, "nesting", detail).at(position);
            self.stack.push(node.error(error));
        }
        is_too_deep
    }

    fn judge(&mut self, node: Node<'a>) {
        if node.id.as_ref().is_some_and(|id| bundle::is_host_id(id.as_bytes())) {
            self.stack.push(node.entry(EntryKind::Host));
            return;
        }
        match EntryKind::detect(&node.data) {
            EntryKind::Unknown => {}
            EntryKind::Empty if node.otherwise == Otherwise::Ignore => return,
            EntryKind::Empty if node.otherwise == Otherwise::Refuse => return self.refuse(&node),
            kind => {
                self.stack.push(node.entry(kind));
                return;
            }
        }
        // Other vendors compress what they put into sections: that is code of theirs, and no file of anyone's.
        let container =
            Container::detect(&node.data).filter(|it| node.is_file() || !it.holds_files());
        match (container, node.otherwise) {
            (Some(container), _) => self.open(node, container),
            (None, Otherwise::Keep) => self.stack.push(node.entry(EntryKind::Unknown)),
            (None, Otherwise::Refuse) => self.refuse(&node),
            (None, Otherwise::Ignore) => {}
        }
    }

    fn refuse(&mut self, node: &Node<'a>) {
        let start = node.data.get(..node.data.len().min(8)).unwrap_or_default();
        let detail = match start {
            [] => "no bytes at all".to_owned(),
            _ => {
                let hex: Vec<_> = start.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{} bytes that begin with {}", node.data.len(), hex.join(" "))
            }
        };
        let error = Error::new(ErrorKind::NotRecognised, "file format", detail).at(0);
        self.stack.push(node.error(error));
    }

    fn open(&mut self, node: Node<'a>, container: Container) {
        match container {
            Container::Bundle | Container::CompressedBundle | Container::OffloadBinary => {
                self.stack.push(Work::Scan { node, position: 0, found: false });
            }
            Container::CodeObject => self.stack.push(node.entry(EntryKind::CodeObject)),
            Container::Archive => self.open_archive(&node),
            Container::Zip => self.open_zip(&node),
            Container::Tar | Container::Cpio => self.open_sequence(&node, container),
            Container::Rpm => self.open_rpm(&node),
            Container::Gzip | Container::Xz | Container::Zstd | Container::Bzip2 => {
                self.open_stream(&node, container);
            }
            Container::HostElf => {
                match host_elf::device_sections(&node.data) {
                    Ok(Some(sections)) => self.open_host(&node, container, sections),
                    Ok(None) => self.open_sectionless(&node),
                    Err(error) => self.stack.push(node.error(error)),
                };
            }
            Container::HostPe | Container::HostCoff => {
                let read = match container {
                    Container::HostPe => host_coff::image_sections,
                    _ => host_coff::object_sections,
                };
                match read(&node.data) {
                    Ok(sections) => self.open_host(&node, container, sections),
                    Err(error) => self.stack.push(node.error(error)),
                }
            }
        }
    }

    fn open_archive(&mut self, node: &Node<'a>) {
        let Some((trail, region)) = self.enter(node, Container::Archive, 0, node.data.len() as u64)
        else {
            return;
        };
        let work = archive::members(&node.data).into_iter().map(|member| {
            let opened = member.and_then(|member| {
                let part = node.part(member.offset, member.size, "archive member")?;
                Ok((part, member.name))
            });
            match opened {
                Ok((part, name)) => Work::Judge(Node {
                    trail: with_part(node, &trail, name),
                    id: None,
                    otherwise: Otherwise::Ignore,
                    region,
                    ..part
                }),
                Err(error) => node.error(error),
            }
        });
        let work = work.collect();
        self.push_all(work);
    }

    fn open_host(&mut self, node: &Node<'a>, container: Container, sections: Vec<Section>) {
        let Some((trail, region)) = self.enter(node, container, 0, node.data.len() as u64) else {
            return;
        };
        let mut work = Vec::new();
        for section in sections {
            let part = match node.part(section.offset, section.size, "section with device code") {
                Ok(part) => part,
                Err(error) => {
                    work.push(node.error(error));
                    continue;
                }
            };
            let id = host::entry_id(&section.name).map(str::to_owned);
            let kind = RegionKind::Section(section.name.clone());
            let region = self.note_region(Some(region), &part.data, part.base, kind);
            let trail = with_part(node, &trail, section.name);
            let is_entry = id.is_some();
            let part = Node { trail, id, otherwise: Otherwise::Keep, region, ..part };
            // A fat binary may also be one code object, with no bundle around it.
            work.push(if is_entry || part.data.starts_with(&hsaco_elf::MAGIC) {
                Work::Judge(part)
            } else {
                Work::Scan { node: part, position: 0, found: false }
            });
        }
        self.push_all(work);
    }

    /// A host ELF with its section table stripped off: bundles are found by their magic.
    fn open_sectionless(&mut self, node: &Node<'a>) {
        let Some((trail, region)) = self.enter(node, Container::HostElf, 0, node.data.len() as u64)
        else {
            return;
        };
        let node = Node { trail, id: None, region, ..node.clone() };
        // Only the long magic is sure enough to look for among code and data.
        if let Some(position) = find(&node.data, 0, bundle::MAGIC) {
            self.stack.push(Work::Scan { node, position, found: true });
        }
    }

    fn scan(&mut self, node: Node<'a>, position: usize, found: bool) {
        if position == 0 && !self.spend(&node, node.data.len() as u64) {
            return;
        }
        let Some((position, container)) = next_container(&node.data, position) else {
            let blank = node.data.iter().all(|&byte| byte == 0);
            if !found && !blank {
                self.refuse(&node);
            }
            return;
        };
        match container {
            Container::Bundle => self.scan_bundle(node, position),
            Container::CompressedBundle => self.scan_compressed(node, position),
            _ => self.scan_offload_binary(node, position),
        }
    }

    /// Leaves the rest of the region for later, then the work, so that the work comes first.
    fn continue_scan(&mut self, node: Node<'a>, position: usize, work: Vec<Work<'a>>) {
        if position < node.data.len() {
            self.stack.push(Work::Scan { node, position, found: true });
        }
        self.push_all(work);
    }

    fn scan_bundle(&mut self, node: Node<'a>, position: usize) {
        let rest = node.from(position);
        let (bundle, damage) = Bundle::read(rest);
        let extent = bundle.readable_extent(rest.len() as u64);
        let Some((trail, region)) = self.enter(&node, Container::Bundle, position as u64, extent)
        else {
            return;
        };
        let mut work = Vec::new();
        for entry in &bundle.entries {
            let content = bundle.content(rest, entry).and_then(|content| {
                let offset = (position as u64).saturating_add(entry.offset);
                // An empty entry may be anywhere; its place must not matter.
                let offset =
                    if content.is_empty() { offset.min(node.data.len() as u64) } else { offset };
                node.part(offset, entry.size, "offload bundle entry")
            });
            work.push(match content {
                Ok(part) => Work::Judge(Node {
                    trail: trail.clone(),
                    id: Some(entry.id.to_str_lossy().into_owned()),
                    otherwise: Otherwise::Keep,
                    region,
                    ..part
                }),
                Err(error) => node.error(error.rebased(position as u64)),
            });
        }
        work.extend(damage.map(|error| node.error(error.rebased(position as u64))));
        let next = position.saturating_add(usize::try_from(extent).unwrap_or(usize::MAX));
        self.continue_scan(node, next, work);
    }

    fn scan_offload_binary(&mut self, node: Node<'a>, position: usize) {
        let rest = node.from(position);
        // A size that can be trusted leads to the next one even when the content cannot.
        let size = match OffloadBinary::header(rest) {
            Ok((_, size)) => size,
            Err(error) => {
                let work = vec![node.error(error.rebased(position as u64))];
                let next = position + offload_binary::MAGIC.len();
                return self.continue_scan(node, next, work);
            }
        };
        let Some((trail, region)) =
            self.enter(&node, Container::OffloadBinary, position as u64, size)
        else {
            return;
        };
        let work = match OffloadBinary::parse(rest) {
            Ok(binary) => binary
                .images
                .iter()
                .map(|image| {
                    let offset = (position as u64).saturating_add(image.offset);
                    match node.part(offset, image.size, "offload binary image") {
                        Ok(part) => Work::Judge(Node {
                            trail: trail.clone(),
                            id: image.id(),
                            otherwise: Otherwise::Keep,
                            region,
                            ..part
                        }),
                        Err(error) => node.error(error),
                    }
                })
                .collect(),
            Err(error) => vec![node.error(error.rebased(position as u64))],
        };
        let next = position.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        self.continue_scan(node, next, work);
    }

    fn scan_compressed(&mut self, node: Node<'a>, position: usize) {
        let rest = node.from(position);
        let header = match Ccob::parse(rest) {
            Ok(header) => header,
            Err(error) => {
                // A stream that could be followed for a while need not be followed again.
                let followed = error.offset().and_then(|offset| usize::try_from(offset).ok());
                let step = followed.unwrap_or(0).max(ccob::MAGIC.len());
                let work = vec![node.error(error.rebased(position as u64))];
                return self.continue_scan(node, position.saturating_add(step), work);
            }
        };
        let size = header.total_size;
        let Some((trail, region)) =
            self.enter(&node, Container::CompressedBundle, position as u64, size)
        else {
            return;
        };
        let packed = Packed { node: node.clone(), position, header, trail, region };
        let next = position.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        self.continue_scan(node, next, vec![Work::Packed(Box::new(packed))]);
    }
}

/// The trail with the part of its innermost container that is followed.
fn with_part(node: &Node<'_>, trail: &Trail, part: String) -> Trail {
    let step = trail.innermost().cloned();
    step.map_or_else(Trail::default, |step| node.trail.with(TrailStep { part: Some(part), ..step }))
}

/// The next place at or after `position` where a bundle or an offload binary begins.
fn next_container(data: &[u8], position: usize) -> Option<(usize, Container)> {
    let kinds: [(&[u8], Container); 3] = [
        (bundle::MAGIC, Container::Bundle),
        (ccob::MAGIC, Container::CompressedBundle),
        (offload_binary::MAGIC, Container::OffloadBinary),
    ];
    let mut position = position;
    loop {
        let rest = data.get(position..)?;
        position += rest.iter().position(|byte| matches!(byte, b'_' | b'C' | 0x10))?;
        let rest = data.get(position..)?;
        if let Some(&(_, kind)) = kinds.iter().find(|(magic, _)| rest.starts_with(magic)) {
            return Some((position, kind));
        }
        position += 1;
    }
}

fn find(data: &[u8], position: usize, magic: &[u8]) -> Option<usize> {
    let mut position = position;
    loop {
        let rest = data.get(position..)?;
        position += rest.iter().position(|byte| magic.first() == Some(byte))?;
        if data.get(position..)?.starts_with(magic) {
            return Some(position);
        }
        position += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::tests::build as build_archive;
    use crate::host_elf::tests::build as build_elf;
    use hsaco_compress::Method;

    const ID: &str = "hipv4-amdgcn-amd-amdhsa--gfx942";
    const HOST: (&str, &[u8]) = ("host-x86_64-unknown-linux-gnu-", b"");
    const CODE: &[u8] = b"\x7fELF\x02\x01\x01@\x04\0\0\0\0\0\0\0\x03\0\xe0\0rest of it";

    /// One line for each entry or error.
    fn walk(data: &[u8], options: &WalkOptions) -> Vec<String> {
        let line = |found: Result<Entry<'_>>| match found {
            Ok(entry) => {
                let id = entry.id.unwrap_or_default();
                let place = entry.offset.map_or("-".to_owned(), |offset| offset.to_string());
                let size = entry.data.len();
                format!("{} {id} {place}+{size} {}", entry.kind.name(), entry.trail)
            }
            Err(error) => error.to_string(),
        };
        entries(data, options).map(line).collect()
    }

    fn check(data: &[u8], expected: &[&str]) {
        assert_eq!(walk(data, &WalkOptions::default()), expected);
    }

    fn ccob(payload: &[u8], version: u16, method: Method) -> Vec<u8> {
        ccob::write(payload, version, method, 3).unwrap()
    }

    #[test]
    fn single_code_objects_and_modules() {
        check(CODE, &["code_object  0+30 "]);
        check(b"BC\xc0\xde", &["bitcode  0+4 "]);
        check(b"\xde\xc0\x17\x0b", &["bitcode  0+4 "]);
        check(b"\x03\x02\x23\x07", &["spirv  0+4 "]);
        check(b"", &["not recognised: file format: no bytes at all (at offset 0x0)"]);
        check(b"\x7fELF", &["truncated: ELF header: 4 bytes of 16 (at offset 0x0)"]);
    }

    #[test]
    fn plain_and_compressed_bundles_mixed_with_any_padding() {
        let plain = bundle::write(&[HOST, (ID, CODE)], 1);
        let mut section = Vec::new();
        let mut expected = Vec::new();
        let forms = [(1, Method::Zlib), (1, Method::Zstd), (2, Method::Zlib), (3, Method::Zstd)];
        for (padding, (version, method)) in (1..).zip(forms) {
            section.extend_from_slice(&plain);
            section.resize(section.len() + padding, 0);
            section.extend(ccob(&plain, version, method));
            section.resize(section.len() + 4 - padding, 0xcc);
            expected.extend([("bundle", true), ("compressed_bundle > bundle", false)]);
        }
        let file = build_elf(2, false, &[(".hip_fatbin", &section)]);
        let found: Vec<_> = entries(&file, &WalkOptions::default())
            .map(Result::unwrap)
            .skip(1)
            .step_by(2)
            .collect();
        assert_eq!(found.len(), expected.len());
        for (entry, (trail, placed)) in found.iter().zip(expected) {
            assert_eq!(entry.trail.to_string(), format!("elf(.hip_fatbin) > {trail}"));
            assert_eq!(&*entry.data, CODE);
            assert_eq!(entry.offset.is_some(), placed);
            assert_eq!(entry.data.borrowed().is_some(), placed);
        }
    }

    #[test]
    fn a_magic_inside_an_entry_is_not_followed() {
        let inner = [b"data: ".as_slice(), bundle::MAGIC, b"CCOB"].concat();
        let file = bundle::write(&[(ID, inner.as_slice())], 1);
        check(&file, &[&format!("unknown {ID} 87+34 bundle")]);
    }

    #[test]
    fn nested_containers() {
        let inner = ccob(&bundle::write(&[(ID, CODE)], 8), 3, Method::Zstd);
        let outer = bundle::write(&[HOST, ("hip-wrapped", &inner)], 64);
        let object = build_elf(1, true, &[(".hip_fatbin", &outer)]);
        let file = build_archive(&[("notes.txt/", b"text"), ("a.o/", &object)]);
        let trail = "archive(a.o) > elf(.hip_fatbin) > bundle";
        let code = format!("code_object {ID} -+30 {trail} > compressed_bundle > bundle");
        assert_eq!(walk(&file, &WalkOptions::default())[1..], [code]);
        let shallow = WalkOptions { max_depth: 3, ..WalkOptions::default() };
        let refusal = format!(
            "limit exceeded: nesting: compressed_bundle inside 3 containers: {trail} (at offset 0x138)"
        );
        assert_eq!(walk(&file, &shallow)[1..], [refusal]);
    }

    #[test]
    fn host_files_without_device_code_give_nothing() {
        check(&build_elf(2, false, &[(".text", b"code")]), &[]);
        check(&build_elf(2, false, &[(".hip_fatbin", &[0; 64])]), &[]);
        check(&build_archive(&[("a/", b"text")]), &[]);
        check(b"!<arch>\n", &[]);
    }

    #[test]
    fn the_id_of_an_object_section() {
        let name = format!("__CLANG_OFFLOAD_BUNDLE__{ID}");
        let file = build_elf(2, false, &[(&name, CODE), ("__CLANG_OFFLOAD_BUNDLE__host-x-", &[0])]);
        check(
            &file,
            &[
                &format!("code_object {ID} 64+30 elf({name})"),
                "host host-x- 94+1 elf(__CLANG_OFFLOAD_BUNDLE__host-x-)",
            ],
        );
    }

    /// As Intel's compiler writes them: a frame of zstd, and what pads it.
    #[test]
    fn a_compressed_section_of_another_vendor_is_an_entry() {
        let id = "sycl-spir64-unknown-unknown-";
        let name = format!("__CLANG_OFFLOAD_BUNDLE__{id}");
        let frame = [zstd(&[7; 100]), vec![0xff; 8]].concat();
        let size = frame.len();
        let section = build_elf(2, false, &[(&name, &frame)]);
        check(&section, &[&format!("unknown {id} 64+{size} elf({name})")]);
        check(&bundle::write(&[(ID, frame)], 1), &[&format!("unknown {ID} 87+{size} bundle")]);
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        hsaco_compress::compress(Method::Zstd, data, 3).unwrap()
    }

    #[test]
    fn the_walk_goes_on_after_damage() {
        let good = bundle::write(&[(ID, CODE)], 1);
        let mut bad_hash = ccob(&good, 3, Method::Zstd);
        bad_hash[24] ^= 1;
        let mut bad_stream = ccob(&good, 2, Method::Zlib);
        bad_stream[30] ^= 0xff;
        let mut bad_entry = bundle::write(&[(ID, CODE), ("hip-second", b"x")], 1);
        bad_entry[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        let unknown_version = b"CCOB\x09\0\0\0".to_vec();
        let file = [bad_hash, bad_stream, bad_entry, unknown_version, good].concat();
        let found = walk(&file, &WalkOptions::default());
        let kinds: Vec<_> =
            found.iter().map(|line| line.split([' ', ':']).next().unwrap()).collect();
        assert_eq!(kinds[0], "mismatch");
        assert_eq!(kinds[1], "code_object");
        assert!(matches!(kinds[2], "malformed" | "mismatch" | "truncated"), "{found:?}");
        assert_eq!(kinds[3..], ["truncated", "unknown", "unsupported", "code_object"], "{found:?}");
    }

    #[test]
    fn errors_in_a_payload_say_so() {
        let mut plain = bundle::write(&[(ID, CODE)], 1);
        plain.truncate(100);
        let file = [vec![0; 16], ccob(&plain, 3, Method::Zstd)].concat();
        let file = build_elf(2, false, &[(".hip_fatbin", &file)]);
        check(
            &file,
            &[
                "truncated: offload bundle entry: 13 bytes of 30, in the decompressed payload of the \
               compressed bundle at 0x50 (at offset 0x57)",
            ],
        );
    }

    #[test]
    fn overlapping_entries_do_not_multiply_work() {
        // Ten entries that all are the rest of the file, which again is such a bundle, and so on.
        let mut file = CODE.to_vec();
        for _ in 0..7 {
            let entries = vec![("hip-x", b"".as_slice()); 10];
            let mut outer = bundle::write(&entries, 1);
            let (start, size) = (outer.len() as u64, file.len() as u64);
            for row in 0..10 {
                let at = 32 + row * 29;
                outer[at..at + 8].copy_from_slice(&start.to_le_bytes());
                outer[at + 8..at + 16].copy_from_slice(&size.to_le_bytes());
            }
            outer.extend(file);
            file = outer;
        }
        let found = walk(&file, &WalkOptions::default());
        assert!(found.len() < 2000, "{}", found.len());
        assert!(found.last().unwrap().starts_with("limit exceeded: container: its parts overlap"));
    }

    #[test]
    fn payloads_are_let_go_of() {
        let one = ccob(&bundle::write(&[(ID, CODE)], 1), 3, Method::Zstd);
        let file = [one.clone(), one].concat();
        let mut found = entries(&file, &WalkOptions::default());
        let first = found.next().unwrap().unwrap();
        let kept = first.data.clone();
        drop(first);
        assert_eq!(&*kept, CODE);
        assert_eq!(kept.shares(), 1);
        assert!(found.next().is_some());
    }

    #[test]
    fn prefixes_and_flipped_bytes_never_panic() {
        let plain = bundle::write(&[HOST, (ID, CODE)], 16);
        let packed = ccob(&plain, 3, Method::Zstd);
        let old = ccob(&plain, 1, Method::Zlib);
        let section = [plain.as_slice(), &packed, &old].concat();
        let object = build_elf(2, false, &[(".hip_fatbin", &section)]);
        let file = build_archive(&[("a.o/", &object), ("b/", &plain)]);
        let options = WalkOptions { max_size: 1 << 20, ..WalkOptions::default() };
        for length in 0..file.len() {
            walk(&file[..length], &options);
        }
        for at in 0..file.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut broken = file.clone();
                broken[at] ^= flip;
                walk(&broken, &options);
            }
        }
    }
}
