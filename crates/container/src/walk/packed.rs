//! Compressed bundles on the way of a walk, which may be unpacked before the walk comes to them: on every core.

use hsaco_bytes::{Error, ErrorKind, Result, read_u16};

use super::{Entries, MAX_COMPRESSIONS, Node, Otherwise, Work, next_container};
use crate::ccob::Ccob;
use crate::md5::{digest, digest_both};
use crate::trail::Trail;
use crate::{Bytes, Container, WalkOptions};

/// A compressed bundle that the walk has come to.
pub(super) struct Packed<'a> {
    /// What it lies in.
    pub(super) node: Node<'a>,
    /// Where it begins there.
    pub(super) position: usize,
    pub(super) header: Ccob,
    pub(super) trail: Trail,
    pub(super) region: usize,
}

/// Tells compressed bundles apart: the payload that one lies in, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    payload: Option<usize>,
    offset: u64,
}

/// A compressed bundle that a walk will come to.
///
/// ```
/// use hsaco_compress::Method;
/// use hsaco_container::{PackedBundle, WalkOptions, bundle, ccob, entries};
/// let plain = bundle::write(&[("hip-gfx90a", b"abc")], 1);
/// let file = ccob::write(&plain, 3, Method::Zstd, 3)?.repeat(2);
/// let mut walk = entries(&file, &WalkOptions::default());
/// let packed: Vec<PackedBundle<'_>> = walk.upcoming().collect();
/// assert_eq!(packed.iter().map(|it| it.size()).sum::<u64>(), 2 * plain.len() as u64);
/// walk.supply(PackedBundle::unpack(&packed));
/// assert_eq!(walk.count(), 2);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PackedBundle<'a> {
    place: Place,
    /// From its header on.
    data: Bytes<'a>,
    header: Ccob,
    options: WalkOptions,
}

/// What a compressed bundle holds, and whether that is what its hash says.
#[derive(Debug)]
pub struct UnpackedBundle {
    place: Place,
    payload: Result<Vec<u8>>,
    hash: Result<()>,
}

impl PackedBundle<'_> {
    /// How many bytes its header says that it holds.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.header.uncompressed_size
    }

    /// Where it begins in the file; none if it lies in another payload.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.place.payload.is_none().then_some(self.place.offset)
    }

    /// What each of some bundles holds. They are in memory together, and hashed two at a time.
    #[must_use]
    pub fn unpack(bundles: &[Self]) -> Vec<UnpackedBundle> {
        let unpack = |it: &Self| it.header.payload(&it.data, it.options.max_size);
        let payloads: Vec<_> = bundles.iter().map(unpack).collect();
        let hashes = Self::verify(bundles, &payloads);
        let all = bundles.iter().zip(payloads).zip(hashes);
        all.map(|((it, payload), hash)| UnpackedBundle { place: it.place, payload, hash }).collect()
    }

    /// Compares the hashes that are to be compared.
    fn verify(bundles: &[Self], payloads: &[Result<Vec<u8>>]) -> Vec<Result<()>> {
        let is_asked = |it: &Self, payload: &[u8]| it.options.hash.covers(payload.len() as u64);
        let mut hashes: Vec<Result<()>> = bundles.iter().map(|_| Ok(())).collect();
        let asked = bundles.iter().zip(payloads).zip(&mut hashes);
        let mut asked: Vec<_> = asked
            .filter_map(|((it, payload), hash)| Some((it, payload.as_deref().ok()?, hash)))
            .filter(|(it, payload, _)| is_asked(it, payload))
            .collect();
        for some in asked.chunks_mut(2) {
            match some {
                [(a, of_a, hash_a), (b, of_b, hash_b)] => {
                    let [digest_a, digest_b] = digest_both(of_a, of_b);
                    **hash_a = a.header.compare(&digest_a);
                    **hash_b = b.header.compare(&digest_b);
                }
                some => some
                    .iter_mut()
                    .for_each(|(it, payload, hash)| **hash = it.header.compare(&digest(payload))),
            }
        }
        hashes
    }
}

/// The compressed bundles that follow each other from one on.
struct Following<'a> {
    node: Node<'a>,
    next: Option<(usize, Ccob)>,
    options: WalkOptions,
}

impl<'a> Iterator for Following<'a> {
    type Item = PackedBundle<'a>;

    fn next(&mut self) -> Option<PackedBundle<'a>> {
        let (position, header) = self.next.take()?;
        let (node, options) = (&self.node, self.options);
        let end = position.saturating_add(usize::try_from(header.total_size).ok()?);
        let data = node.data.slice(position..end)?;
        self.next = following(&node.data, end);
        Some(PackedBundle { place: node.place_of(position), data, header, options })
    }
}

/// The next compressed bundle, if the next container is one whose header says how large it is.
fn following(data: &[u8], position: usize) -> Option<(usize, Ccob)> {
    let (position, container) = next_container(data, position)?;
    let rest = data.get(position..)?;
    let is_stated = container == Container::CompressedBundle && read_u16(rest, 4)? > 1;
    is_stated.then(|| Ccob::parse(rest).ok()).flatten().map(|header| (position, header))
}

impl Node<'_> {
    fn place_of(&self, position: usize) -> Place {
        let offset = self.base.saturating_add(position as u64);
        Place { payload: self.payload_number(), offset }
    }
}

impl<'a> Entries<'a> {
    /// The compressed bundles that come next, which [`supply`](Self::supply) takes unpacked; none if an entry or something
    /// else comes before them, or the next was supplied.
    pub fn upcoming(&mut self) -> impl Iterator<Item = PackedBundle<'a>> + use<'a> {
        self.advance();
        let packed = match self.stack.last() {
            Some(Work::Packed(packed)) if !self.is_supplied(packed) => Some(packed),
            _ => None,
        };
        let options = self.options;
        packed
            .map(|it| Following {
                node: it.node.clone(),
                next: Some((it.position, it.header)),
                options,
            })
            .into_iter()
            .flatten()
    }

    /// Takes bundles that were unpacked, for when the walk comes to them.
    pub fn supply(&mut self, bundles: impl IntoIterator<Item = UnpackedBundle>) {
        self.supplied.extend(bundles);
    }

    /// Does the work that neither answers nor unpacks.
    fn advance(&mut self) {
        while let Some(Work::Judge(_) | Work::Scan { .. }) = self.stack.last() {
            self.step();
        }
    }

    /// True when what comes next is in a compressed bundle that was supplied.
    pub fn is_supplied_next(&mut self) -> bool {
        self.advance();
        matches!(self.stack.last(), Some(Work::Packed(packed)) if self.is_supplied(packed))
    }

    fn is_supplied(&self, packed: &Packed<'a>) -> bool {
        let place = packed.node.place_of(packed.position);
        self.supplied.iter().any(|it| it.place == place)
    }

    pub(super) fn open_packed(&mut self, packed: Packed<'a>) {
        let (node, position) = (packed.node.clone(), packed.position);
        match self.payload(packed) {
            Ok(work) => self.push_all(work),
            Err(error) => self.stack.push(node.error(error.rebased(position as u64))),
        }
    }

    /// The decompressed payload as a node, after what is wrong with its hash.
    fn payload(&mut self, packed: Packed<'a>) -> Result<Vec<Work<'a>>> {
        let UnpackedBundle { payload, hash, .. } = self.unpacked_bundle(&packed)?;
        let Packed { node, position, trail, region, .. } = packed;
        let payload = payload?;
        let wrong = hash.err().map(|error| node.error(error.rebased(position as u64)));
        if !self.charge(&node, payload.len() as u64) {
            return Ok(Vec::new());
        }
        let at = node.base.saturating_add(position as u64);
        let place = format!("in the decompressed payload of the compressed bundle at {at:#x}");
        let place = match node.trail.path() {
            Some(path) => format!("{place} of {path}"),
            None => place,
        };
        let node = self.payload_node(payload, place, trail, region, Otherwise::Refuse);
        Ok(wrong.into_iter().chain([Work::Judge(node)]).collect())
    }

    /// What a bundle holds: what was supplied of it, or what it is unpacked to now.
    fn unpacked_bundle(&mut self, packed: &Packed<'a>) -> Result<UnpackedBundle> {
        let Packed { node, position, header, trail, .. } = packed;
        if trail.count(Container::CompressedBundle) > MAX_COMPRESSIONS {
            let detail = format!("compressed more than {MAX_COMPRESSIONS} times over: {trail}");
            return Err(Error::new(ErrorKind::LimitExceeded, "compressed bundle", detail).at(0));
        }
        let place = node.place_of(*position);
        if let Some(at) = self.supplied.iter().position(|it| it.place == place) {
            return Ok(self.supplied.swap_remove(at));
        }
        let data = node.data.slice(*position..node.data.len());
        let data = data.unwrap_or_else(|| Bytes::from([].as_slice()));
        let bundle = PackedBundle { place, data, header: *header, options: self.options };
        let missing = || Error::new(ErrorKind::NotFound, "compressed bundle", "not unpacked");
        PackedBundle::unpack(&[bundle]).pop().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use hsaco_compress::Method;

    use super::*;
    use crate::{HashCheck, bundle, ccob, entries};

    const ID: &str = "hipv4-amdgcn-amd-amdhsa--gfx942";

    /// Bundles of different contents, the second of which is damaged; between them lies something else.
    fn file() -> Vec<u8> {
        let mut file = Vec::new();
        for number in 0..5_u8 {
            let plain = bundle::write(&[(ID, &[b'a' + number; 100][..])], 1);
            let mut packed =
                ccob::write(&plain, 2 + u16::from(number % 2), Method::Zstd, 3).unwrap();
            if number == 1 {
                packed[24] ^= 1;
            }
            file.extend(packed);
            file.extend([0; 3]);
            if number == 2 {
                file.extend(bundle::write(&[(ID, b"plain".as_slice())], 1));
            }
        }
        file
    }

    fn lines(walk: Entries<'_>) -> Vec<String> {
        let line = |it: Result<crate::Entry<'_>>| match it {
            Ok(entry) => format!("{} {:?} {}", entry.data.len(), entry.data.first(), entry.trail),
            Err(error) => error.to_string(),
        };
        walk.map(line).collect()
    }

    #[test]
    fn what_is_supplied_is_what_the_walk_finds_by_itself() {
        let file = file();
        for hash in [HashCheck::Always, HashCheck::UpTo(0)] {
            let options = WalkOptions { hash, ..WalkOptions::default() };
            let expected = lines(entries(&file, &options));
            let wrong = expected.iter().filter(|it| it.contains("its hash is")).count();
            assert_eq!(wrong, usize::from(hash == HashCheck::Always));
            let mut walk = entries(&file, &options);
            let packed: Vec<_> = walk.upcoming().collect();
            assert_eq!(packed.len(), 3, "up to the plain bundle");
            walk.supply(PackedBundle::unpack(&packed));
            assert!(walk.is_supplied_next() && walk.upcoming().next().is_none());
            assert_eq!(lines(walk), expected);
        }
    }

    #[test]
    fn bundles_whose_headers_do_not_say_their_size_are_not_looked_for() {
        let plain = bundle::write(&[(ID, b"abc".as_slice())], 1);
        let file = ccob::write(&plain, 1, Method::Zlib, 6).unwrap().repeat(3);
        let mut walk = entries(&file, &WalkOptions::default());
        assert_eq!(walk.upcoming().count(), 1);
        assert_eq!(walk.count(), 3);
    }
}
