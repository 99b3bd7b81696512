//! Where the walk is in a file.

use crate::{Bytes, Container};

/// Bytes that the walk looks into: the file, a payload, a container or a section of a host file.
/// The first one is the file, and each has its place in their order as its number.
pub struct Region<'a> {
    /// The region around it; the file has none, and a payload that of the compressed bundle.
    pub outer: Option<usize>,
    /// Its bytes.
    pub data: Bytes<'a>,
    /// Where it begins: in the payload that it is part of, else in the file.
    pub base: u64,
    /// What it is.
    pub kind: RegionKind,
}

/// What a region is.
pub enum RegionKind {
    /// The whole file.
    File,
    /// What a compressed bundle holds.
    Payload,
    /// A container.
    Container(Container),
    /// A section of a host file, by its name.
    Section(String),
}

/// Where an entry was found.
#[derive(Clone, Copy)]
pub struct Place {
    /// The number of the region around it.
    pub region: usize,
    /// Where it begins: in the payload that it is part of, else in the file.
    pub base: u64,
}
