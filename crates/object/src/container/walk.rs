//! The walk through containers within containers, with an explicit stack of what is left to do.

use super::bundle::{self, Bundle};
use super::ccob::{self, Ccob};
use super::host::{self, Section};
use super::offload_binary::{self, OffloadBinary};
use super::trail::{Step, Trail};
use super::{Bytes, Container, ELF_MAGIC, Entry, EntryKind, Options};
use super::{archive, host_coff, host_elf};
use crate::{Error, ErrorKind, Result};

/// Compression within compression is no format of anyone's, and the way to make much of little.
const MAX_COMPRESSIONS: usize = 2;

/// Every entry in `data`, in file order. What is damaged is an error in its place, and the walk
/// goes on with the rest.
///
/// Host files and archives without device code give nothing; bytes of no known format give one
/// [`NotRecognised`](ErrorKind::NotRecognised) error. A decompressed payload is let go of as soon
/// as the last of its entries is.
///
/// ```
/// use hsaco_object::{ErrorKind, container::{Options, entries}};
/// let mut found = entries(b"#!/bin/sh\n", &Options::default());
/// assert_eq!(found.next().unwrap().unwrap_err().kind(), ErrorKind::NotRecognised);
/// assert!(found.next().is_none());
/// ```
pub fn entries<'a>(data: &'a [u8], options: &Options) -> Entries<'a> {
    let node = Node {
        data: Bytes::from(data),
        base: 0,
        payload: None,
        trail: Trail::default(),
        id: None,
        otherwise: Otherwise::Refuse,
    };
    let mut walk = Entries { stack: Vec::new(), options: *options, budget: 0 };
    walk.add_budget(data.len());
    walk.stack.push(Work::Judge(node));
    walk
}

/// The iterator of [`entries`].
pub struct Entries<'a> {
    stack: Vec<Work<'a>>,
    options: Options,
    /// Bytes that may still be looked into, so that ranges which overlap cannot multiply work.
    budget: u64,
}

enum Work<'a> {
    /// Find out what these bytes are.
    Judge(Node<'a>),
    /// Look for the next bundle or offload binary from a position on.
    Scan { node: Node<'a>, position: usize, found: bool },
    /// An answer that waits for its turn.
    Answer(Result<Entry<'a>>),
}

/// A range of bytes and how the walk came to it.
#[derive(Clone)]
struct Node<'a> {
    data: Bytes<'a>,
    /// Where the range begins: in the payload if there is one, else in the outermost bytes.
    base: u64,
    /// Where the compressed bundle is whose payload this is part of.
    payload: Option<u64>,
    trail: Trail,
    id: Option<String>,
    otherwise: Otherwise,
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
        crate::bytes::slice(&self.data, offset, size, context)?;
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

    fn entry(self, kind: EntryKind) -> Work<'a> {
        let offset = self.offset();
        Work::Answer(Ok(Entry { id: self.id, kind, data: self.data, offset, trail: self.trail }))
    }

    /// An error in this node, told from the outermost bytes or, failing that, from the payload.
    fn error(&self, error: Error) -> Work<'a> {
        let error = error.rebased(self.base);
        Work::Answer(Err(match self.payload {
            None => error,
            Some(at) => {
                let detail = format!(
                    "{}, in the decompressed payload of the compressed bundle at {at:#x}",
                    error.detail()
                );
                let told = Error::new(error.kind(), error.context(), detail);
                match error.offset() {
                    Some(offset) => told.at(offset),
                    None => told,
                }
            }
        }))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.stack.pop()? {
                Work::Answer(answer) => return Some(answer),
                Work::Judge(node) => self.judge(node),
                Work::Scan { node, position, found } => self.scan(node, position, found),
            }
        }
    }
}

impl<'a> Entries<'a> {
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

    /// The trail into a container that begins at `position` of the node, or `None` (and an error in
    /// the stack) when that is too deep.
    fn enter(
        &mut self,
        node: &Node<'a>,
        container: Container,
        position: u64,
        size: u64,
    ) -> Option<Trail> {
        if !self.spend(node, size) {
            return None;
        }
        let limit = self.options.max_depth;
        if node.trail.depth() >= limit {
            let detail = format!("{} inside {limit} containers: {}", container.name(), node.trail);
            let error = Error::new(ErrorKind::LimitExceeded, "nesting", detail).at(position);
            self.stack.push(node.error(error));
            return None;
        }
        let offset = node.offset().map(|base| base.saturating_add(position));
        Some(node.trail.with(Step { container, part: None, offset }))
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
        match (Container::detect(&node.data), node.otherwise) {
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
        let Some(trail) = self.enter(node, Container::Archive, 0, node.data.len() as u64) else {
            return;
        };
        let members = match archive::members(&node.data) {
            Ok(members) => members,
            Err(error) => return self.stack.push(node.error(error)),
        };
        let work = members.map(|member| {
            let member = member.and_then(|member| {
                let part = node.part(member.offset, member.size, "archive member")?;
                Ok((part, member.name))
            });
            match member {
                Ok((part, name)) => Work::Judge(Node {
                    trail: with_part(node, &trail, name),
                    id: None,
                    otherwise: Otherwise::Ignore,
                    ..part
                }),
                Err(error) => node.error(error),
            }
        });
        let work = work.collect();
        self.push_all(work);
    }

    fn open_host(&mut self, node: &Node<'a>, container: Container, sections: Vec<Section>) {
        let Some(trail) = self.enter(node, container, 0, node.data.len() as u64) else { return };
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
            let trail = with_part(node, &trail, section.name);
            let is_entry = id.is_some();
            let part = Node { trail, id, otherwise: Otherwise::Keep, ..part };
            // A fat binary may also be one code object, with no bundle around it.
            work.push(if is_entry || part.data.starts_with(ELF_MAGIC) {
                Work::Judge(part)
            } else {
                Work::Scan { node: part, position: 0, found: false }
            });
        }
        self.push_all(work);
    }

    /// A host ELF with its section table stripped off: bundles are found by their magic.
    fn open_sectionless(&mut self, node: &Node<'a>) {
        let Some(trail) = self.enter(node, Container::HostElf, 0, node.data.len() as u64) else {
            return;
        };
        let node = Node { trail, id: None, ..node.clone() };
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
        self.stack.push(Work::Scan { node, position, found: true });
        self.push_all(work);
    }

    fn scan_bundle(&mut self, node: Node<'a>, position: usize) {
        let rest = node.from(position);
        let (bundle, damage) = Bundle::read(rest);
        let extent = bundle.readable_extent(rest.len() as u64);
        let Some(trail) = self.enter(&node, Container::Bundle, position as u64, extent) else {
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
        let Some(trail) = self.enter(&node, Container::OffloadBinary, position as u64, size) else {
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
        let Some(trail) = self.enter(&node, Container::CompressedBundle, position as u64, size)
        else {
            return;
        };
        let work = match self.payload(&node, position, &header, trail) {
            Ok(work) => work,
            Err(error) => vec![node.error(error.rebased(position as u64))],
        };
        let next = position.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        self.continue_scan(node, next, work);
    }

    /// The decompressed payload as a node, after what is wrong with its hash.
    fn payload(
        &mut self,
        node: &Node<'a>,
        position: usize,
        header: &Ccob,
        trail: Trail,
    ) -> Result<Vec<Work<'a>>> {
        if trail.count(Container::CompressedBundle) > MAX_COMPRESSIONS {
            let detail = format!("compressed more than {MAX_COMPRESSIONS} times over: {trail}");
            return Err(Error::new(ErrorKind::LimitExceeded, "compressed bundle", detail).at(0));
        }
        let payload = header.payload(node.from(position), self.options.max_size)?;
        let mut work = Vec::new();
        if self.options.hash.covers(payload.len() as u64)
            && let Err(error) = header.verify(&payload)
        {
            work.push(node.error(error.rebased(position as u64)));
        }
        self.add_budget(payload.len());
        work.push(Work::Judge(Node {
            data: Bytes::from(payload),
            base: 0,
            payload: Some(node.base.saturating_add(position as u64)),
            trail,
            id: None,
            otherwise: Otherwise::Refuse,
        }));
        Ok(work)
    }
}

/// The trail with the part of its innermost container that is followed.
fn with_part(node: &Node<'_>, trail: &Trail, part: String) -> Trail {
    let step = trail.innermost().cloned();
    step.map_or_else(Trail::default, |step| node.trail.with(Step { part: Some(part), ..step }))
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
