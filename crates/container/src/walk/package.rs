//! Packages: members of zip files, of archives in memory, and of compressed archives, which are read one at a time.

use hsaco_bytes::{Error, ErrorKind, Result};

use super::{Entries, Node, Otherwise, Work, with_part};
use crate::Container;
use crate::package::{PREFIX, Source as _, Stream, is_worthwhile};
use crate::region::RegionKind;
use crate::rpm::Rpm;
use crate::sequence::{self, Sequence};
use crate::trail::{Trail, TrailStep};
use crate::zip::{self, Storage};

/// A member of a zip file that waits to be unpacked.
pub(super) struct PackedMember<'a> {
    /// The member as it is stored, with the trail of what is in it.
    node: Node<'a>,
    member: zip::Member,
    codec: hsaco_compress::Codec,
}

/// The members of an archive within a compressed stream.
pub(super) struct Members<'a> {
    stream: Stream<'a>,
    sequence: Sequence,
    container: Container,
    /// What the stream holds, as a place; its bytes are in no memory.
    node: Node<'a>,
    /// How much was unpacked when that was last counted.
    charged: u64,
}

impl PackedMember<'_> {
    /// Whether its zip file is in no payload.
    pub(super) fn is_outside(&self) -> bool {
        self.node.payload.is_none()
    }
}

impl<'a> Entries<'a> {
    pub(super) fn open_zip(&mut self, node: &Node<'a>) {
        let size = node.data.len() as u64;
        let Some((trail, region)) = self.enter(node, Container::Zip, 0, size) else { return };
        let mut work = Vec::new();
        for member in zip::members(&node.data) {
            match member {
                Ok(member) if member.name.ends_with('/') => {}
                Ok(member) => self.zip_member(node, &trail, region, member, &mut work),
                Err(error) => work.push(node.error(error)),
            }
        }
        self.push_all(work);
    }

    fn zip_member(
        &self,
        node: &Node<'a>,
        trail: &Trail,
        region: usize,
        member: zip::Member,
        work: &mut Vec<Work<'a>>,
    ) {
        let size = member.data.end - member.data.start;
        let part = match node.part(member.data.start, size, "zip member") {
            Ok(part) => part,
            Err(error) => return work.push(node.error(error)),
        };
        let trail = with_part(node, trail, member.name.clone());
        let part = Node { trail, id: None, otherwise: Otherwise::Ignore, region, ..part };
        match member.storage {
            Storage::Packed(codec) => {
                work.push(Work::Unpack(Box::new(PackedMember { node: part, member, codec })));
            }
            Storage::Stored => {
                if is_worthwhile(&part.data, size) && self.options.hash.covers(size) {
                    work.extend(wrong_checksum(&member, &part.data).map(|it| part.error(it)));
                }
                work.push(Work::Judge(part));
            }
        }
    }

    /// Unpacks a member of a zip file, unless its first bytes say that there is no device code in it.
    pub(super) fn unpack(&mut self, packed: &PackedMember<'a>) {
        let PackedMember { node, member, .. } = packed;
        match self.unpacked(packed) {
            Err(error) => {
                // The place is that of the bytes as they are stored.
                let error = Error::new(error.kind(), "zip member", error.detail()).at(0);
                self.stack.push(node.error(error));
            }
            Ok(None) => {}
            Ok(Some(content)) => {
                let wrong = self.options.hash.covers(content.len() as u64);
                let wrong = wrong.then(|| wrong_checksum(member, &content)).flatten();
                let region =
                    self.note_region(Some(node.region), &node.data, node.base, RegionKind::Packed);
                let place = format!("in the decompressed {}", path_of(&node.trail));
                let trail = node.trail.clone();
                let inner = self.payload_node(content, place, trail, region, Otherwise::Ignore);
                let wrong = wrong.map(|error| inner.error(error));
                self.stack.push(Work::Judge(inner));
                self.stack.extend(wrong);
            }
        }
    }

    fn unpacked(&mut self, packed: &PackedMember<'a>) -> Result<Option<Vec<u8>>> {
        let PackedMember { node, member, codec } = packed;
        let stream = Stream::new(*codec, node.data.clone())?;
        if !is_worthwhile(stream.prefix(), member.size) {
            return Ok(self.charge(node, stream.unpacked()).then_some(None).flatten());
        }
        let cap = self.options.max_size;
        if member.size > cap {
            let detail = format!("{} bytes uncompressed, {cap} allowed", member.size);
            return Err(Error::new(ErrorKind::LimitExceeded, "zip member", detail));
        }
        let most = member.size.min(self.unpackable);
        let content = stream.all(most)?;
        if !self.charge(node, content.len() as u64) {
            return Ok(None);
        }
        if content.len() as u64 != member.size {
            let more = if content.len() as u64 > member.size { "more" } else { "fewer" };
            let detail = format!("{} bytes announced, the stream holds {more}", member.size);
            return Err(Error::new(ErrorKind::Mismatch, "zip member", detail));
        }
        Ok(Some(content))
    }

    pub(super) fn open_sequence(&mut self, node: &Node<'a>, container: Container) {
        let size = node.data.len() as u64;
        let Some((trail, region)) = self.enter(node, container, 0, size) else { return };
        let members = sequence::members(container, &node.data).into_iter();
        let work = members.map(|member| {
            let opened = member.and_then(|member| {
                let part = node.part(member.offset, member.size, "archive member")?;
                Ok((part, member.name))
            });
            match opened {
                Ok((part, name)) => {
                    let trail = with_part(node, &trail, name);
                    let otherwise = Otherwise::Ignore;
                    Work::Judge(Node { trail, id: None, otherwise, region, ..part })
                }
                Err(error) => node.error(error),
            }
        });
        let work = work.collect();
        self.push_all(work);
    }

    pub(super) fn open_rpm(&mut self, node: &Node<'a>) {
        let size = node.data.len() as u64;
        let Some((trail, region)) = self.enter(node, Container::Rpm, 0, size) else { return };
        let opened = Rpm::parse(&node.data).and_then(|rpm| {
            let part = node.part(rpm.payload, size.saturating_sub(rpm.payload), "RPM payload")?;
            if Container::detect(&part.data).is_none() {
                let with = rpm.compressor.as_deref().unwrap_or("something unknown");
                let detail = format!("it is compressed with {with}, or damaged");
                let error = Error::new(ErrorKind::Unsupported, "RPM payload", detail);
                return Err(error.at(rpm.payload));
            }
            Ok(part)
        });
        self.stack.push(match opened {
            Ok(part) => {
                let otherwise = Otherwise::Ignore;
                Work::Judge(Node { trail, id: None, otherwise, region, ..part })
            }
            Err(error) => node.error(error),
        });
    }

    /// Something compressed: an archive, whose members are unpacked one after the other, or one file.
    pub(super) fn open_stream(&mut self, node: &Node<'a>, container: Container) {
        let size = node.data.len() as u64;
        let Some((trail, region)) = self.enter(node, container, 0, size) else { return };
        let Some(codec) = container.codec() else { return };
        let stream = match Stream::new(codec, node.data.clone()) {
            Ok(stream) => stream,
            Err(error) => return self.stack.push(node.error(error.at(0))),
        };
        let inner = Container::detect(stream.prefix());
        if let Some((container, sequence)) = inner.and_then(|it| Some((it, Sequence::of(it)?))) {
            return self.open_members(node, stream, container, sequence, trail, region);
        }
        if !is_worthwhile(stream.prefix(), u64::MAX) {
            return;
        }
        let cap = self.options.max_size.min(self.unpackable);
        match stream.all(cap) {
            Ok(content) if content.len() as u64 > cap => {
                let detail = format!("more than the {cap} bytes that are allowed");
                let error = Error::new(ErrorKind::LimitExceeded, "compressed stream", detail);
                self.stack.push(node.error(error.at(0)));
            }
            Ok(content) => {
                if self.charge(node, content.len() as u64) {
                    let place = stream_place(container, node);
                    let inner = self.payload_node(content, place, trail, region, Otherwise::Ignore);
                    self.stack.push(Work::Judge(inner));
                }
            }
            Err(error) => self.stack.push(node.error(error.at(0))),
        }
    }

    fn open_members(
        &mut self,
        node: &Node<'a>,
        stream: Stream<'a>,
        container: Container,
        sequence: Sequence,
        trail: Trail,
        region: usize,
    ) {
        if self.is_too_deep(node, &trail, container, 0) {
            return;
        }
        let outer = trail.innermost().map_or(container, |step| step.container);
        let place = stream_place(outer, node);
        // The content is in no memory: the node says where it would be.
        let node = self.unseen_node(place, trail, region);
        let members = Members { stream, sequence, container, node, charged: 0 };
        self.stack.push(Work::Members(Box::new(members)));
    }

    /// Reads the next member of a compressed archive. No other is in memory when it is.
    pub(super) fn next_member(&mut self, mut members: Box<Members<'a>>) {
        let read = members.read(self.options.max_size, self.unpackable);
        let unpacked = members.stream.unpacked();
        let new = unpacked - members.charged;
        members.charged = unpacked;
        if !self.charge(&members.node, new) {
            return;
        }
        match read {
            Ok(None) => {}
            Err(error) => self.stack.push(members.node.error(error)),
            Ok(Some((name, content))) => {
                let work = content.map(|content| self.streamed_member(&members, name, content));
                self.stack.push(Work::Members(members));
                self.stack.extend(work);
            }
        }
    }

    fn streamed_member(
        &mut self,
        members: &Members<'a>,
        name: String,
        content: Result<Vec<u8>>,
    ) -> Work<'a> {
        let node = &members.node;
        match content {
            Ok(content) => {
                let step =
                    TrailStep { container: members.container, part: Some(name), offset: None };
                let trail = node.trail.with(step);
                let place = format!("in the decompressed {}", path_of(&trail));
                let region = node.region;
                let inner = self.payload_node(content, place, trail, region, Otherwise::Ignore);
                Work::Judge(inner)
            }
            Err(error) => node.error(error),
        }
    }
}

/// A member's name and, if it may hold device code, its content.
type Read = (String, Option<Result<Vec<u8>>>);

impl Members<'_> {
    /// Reads a member that may have `cap` bytes, of at most `left` that may still be unpacked.
    fn read(&mut self, cap: u64, left: u64) -> Result<Option<Read>> {
        let Some(head) = self.sequence.next(&mut self.stream)? else {
            // What follows is padding; the checksums behind it tell whether everything was right.
            self.stream.skip(left.saturating_add(1))?;
            return Ok(None);
        };
        let start = self.stream.position();
        let mut content = self.stream.take(head.size.min(PREFIX))?;
        let is_worthwhile = is_worthwhile(&content, head.size);
        let rest = (head.size - content.len() as u64).min(left.saturating_add(1));
        let too_large = is_worthwhile && head.size > cap;
        if is_worthwhile && !too_large {
            self.stream.append(&mut content, rest)?;
        } else {
            self.stream.skip(rest)?;
        }
        let there = self.stream.position() - start;
        if there < head.size && there <= left {
            return Err(sequence::cut_short(self.container, &head.name, start, head.size, there));
        }
        self.stream.skip(head.padding)?;
        let content = match (is_worthwhile, too_large) {
            (false, _) => None,
            (true, false) => Some(Ok(content)),
            (true, true) => {
                let detail = format!("{}: {} bytes, {cap} allowed", head.name, head.size);
                let error = Error::new(ErrorKind::LimitExceeded, "archive member", detail);
                Some(Err(error.at(start)))
            }
        };
        Ok(Some((head.name, content)))
    }
}

fn wrong_checksum(member: &zip::Member, content: &[u8]) -> Option<Error> {
    let found = crc32fast::hash(content);
    let detail = format!("a checksum of {found:08x}, the directory says {:08x}", member.checksum);
    let error = Error::new(ErrorKind::Mismatch, "zip member", detail).at(0);
    (found != member.checksum).then_some(error)
}

fn path_of(trail: &Trail) -> String {
    trail.path().unwrap_or_default()
}

fn stream_place(container: Container, node: &Node<'_>) -> String {
    let place = format!("in the decompressed {} at {:#x}", container.title(), node.base);
    match node.trail.path() {
        Some(path) => format!("{place} of {path}"),
        None => place,
    }
}
