//! Compressed bundles on the way of a walk, which may be unpacked before the walk comes to them: on every core.

use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, read_u16};

use super::wanted::{Row, WantedTargets, rows};
use super::{Entries, MAX_COMPRESSIONS, Node, Otherwise, Payload, Work, next_container};
use crate::ccob::Ccob;
use crate::md5::{digest, digest_both};
use crate::trail::Trail;
use crate::{Bytes, Container, Entry, EntryKind, WalkOptions};

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
    /// Its entries, if only some of them are unpacked.
    rows: Option<Vec<Row>>,
}

/// What a compressed bundle holds.
#[derive(Debug)]
pub struct UnpackedBundle {
    place: Place,
    content: Result<Unpacked>,
}

/// What was unpacked of a compressed bundle.
#[derive(Debug)]
enum Unpacked {
    /// Its payload, and whether that is what its hash says.
    Payload(Vec<u8>, Result<()>),
    /// Its entries, with their bytes if they are wanted.
    Entries(Vec<(Row, Vec<u8>)>),
}

/// A part of the payload of a compressed bundle.
///
/// ```
/// use hsaco_compress::Method;
/// use hsaco_container::{WalkOptions, bundle, ccob, entries};
/// let plain = bundle::write(&[("hip-gfx90a", b"abc")], 1);
/// let file = ccob::write(&plain, 3, Method::Zstd, 3)?;
/// let entry = entries(&file, &WalkOptions::default()).next().unwrap()?;
/// let packed = entry.packed.unwrap();
/// assert_eq!((packed.bundle.clone(), packed.part.clone()), (0..file.len() as u64, 66..69));
/// assert_eq!(packed.unpack(&file, 1 << 20)?, b"abc");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedRange {
    /// Where the compressed bundle is in the file.
    pub bundle: Range<u64>,
    /// Which bytes of its payload.
    pub part: Range<u64>,
}

impl PackedRange {
    /// The part, unpacked again from the compressed bundle. The payload is unpacked up to its end and not compared with its hash.
    ///
    /// # Errors
    /// When `bundle` is not that compressed bundle, is damaged, or unfolds to more than `cap` bytes.
    pub fn unpack(&self, bundle: &[u8], cap: u64) -> Result<Vec<u8>> {
        let parts = Ccob::parse(bundle)?.parts(bundle, std::slice::from_ref(&self.part), cap)?;
        Ok(parts.into_iter().next().unwrap_or_default())
    }
}

impl<'a> PackedBundle<'a> {
    fn new(
        place: Place,
        data: Bytes<'a>,
        header: Ccob,
        options: WalkOptions,
        wanted: Option<&dyn WantedTargets>,
    ) -> Self {
        // What is compared with its hash is unpacked whole.
        let wanted = wanted.filter(|_| !options.hash.covers(header.uncompressed_size));
        let rows = wanted.and_then(|it| rows(&header, &data, it, options.max_size));
        Self { place, data, header, options, rows }
    }
}

impl PackedBundle<'_> {
    /// How many bytes are in memory when it is unpacked, as its header or its table says.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.rows {
            None => self.header.uncompressed_size,
            Some(rows) => {
                rows.iter().filter(|it| it.is_wanted).map(Row::size).fold(0, u64::saturating_add)
            }
        }
    }

    /// Where it begins in the file; none if it lies in another payload.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.place.payload.is_none().then_some(self.place.offset)
    }

    /// What each of some bundles holds. They are in memory together, and hashed two at a time.
    #[must_use]
    pub fn unpack(bundles: &[Self]) -> Vec<UnpackedBundle> {
        let mut unpacked: Vec<_> = bundles.iter().map(Self::content).collect();
        Self::verify(bundles, &mut unpacked);
        let all = bundles.iter().zip(unpacked);
        all.map(|(it, content)| UnpackedBundle { place: it.place, content }).collect()
    }

    /// What it holds, whose hash was not looked at.
    fn content(&self) -> Result<Unpacked> {
        let Some(rows) = &self.rows else {
            let payload = self.header.payload(&self.data, self.options.max_size)?;
            return Ok(Unpacked::Payload(payload, Ok(())));
        };
        let is_packed = |it: &&Row| it.is_wanted && it.size() > 0;
        let parts: Vec<_> = rows.iter().filter(is_packed).map(|it| it.range.clone()).collect();
        let mut found = match parts.as_slice() {
            [] => Vec::new(),
            parts => self.header.parts(&self.data, parts, self.options.max_size)?,
        }
        .into_iter();
        let entry = |it: &Row| {
            let bytes = if is_packed(&it) { found.next() } else { None };
            (it.clone(), bytes.unwrap_or_default())
        };
        Ok(Unpacked::Entries(rows.iter().map(entry).collect()))
    }

    /// Compares the hashes that are to be compared.
    fn verify(bundles: &[Self], unpacked: &mut [Result<Unpacked>]) {
        let pairs = bundles.iter().zip(unpacked);
        let mut asked: Vec<_> = pairs
            .filter_map(|(it, unpacked)| match unpacked {
                Ok(Unpacked::Payload(payload, hash)) => Some((it, payload.as_slice(), hash)),
                _ => None,
            })
            .filter(|(it, payload, _)| it.options.hash.covers(payload.len() as u64))
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
    }
}

/// The compressed bundles that follow each other from one on.
struct Following<'a> {
    node: Node<'a>,
    next: Option<(usize, Ccob)>,
    options: WalkOptions,
    wanted: Option<&'a dyn WantedTargets>,
}

impl<'a> Iterator for Following<'a> {
    type Item = PackedBundle<'a>;

    fn next(&mut self) -> Option<PackedBundle<'a>> {
        let (position, header) = self.next.take()?;
        let node = &self.node;
        let end = position.saturating_add(usize::try_from(header.total_size).ok()?);
        let data = node.data.slice(position..end)?;
        self.next = following(&node.data, end);
        Some(PackedBundle::new(node.place_of(position), data, header, self.options, self.wanted))
    }
}

/// The next compressed bundle, if the next container is one whose header says how large it is.
fn following(data: &[u8], position: usize) -> Option<(usize, Ccob)> {
    let (position, container) = next_container(data, position)?;
    let rest = data.get(position..)?;
    let is_stated = container == Container::CompressedBundle && read_u16(rest, 4)? > 1;
    is_stated.then(|| Ccob::parse(rest).ok()).flatten().map(|header| (position, header))
}

impl<'a> Node<'a> {
    /// The answer for an entry that was not unpacked.
    fn unread(self) -> Work<'a> {
        let (place, payload) = (self.place(), self.payload_number());
        let (kind, data, trail) = (EntryKind::Unread, self.data, self.trail);
        let entry = Entry { id: self.id, kind, data, offset: None, packed: None, trail };
        Work::Answer(place, payload, Ok(entry))
    }
}

impl Node<'_> {
    fn place_of(&self, position: usize) -> Place {
        let offset = self.base.saturating_add(position as u64);
        Place { payload: self.payload_number(), offset }
    }
}

impl<'a> Entries<'a> {
    /// The same walk, for which compressed bundles are unpacked as far as these targets want: other entries for AMD GPUs are
    /// [`Unread`](EntryKind::Unread), judged by their ids alone. What is not unpacked is not checked. A payload that is
    /// compared with its hash is unpacked whole, and so is one that is not simply a bundle.
    ///
    /// ```
    /// use hsaco_compress::Method;
    /// use hsaco_container::{EntryKind, HashCheck, WalkOptions, WantedTargets, bundle, ccob, entries};
    /// struct Gfx942;
    /// impl WantedTargets for Gfx942 {
    ///     fn may_want(&self, target: &str) -> bool {
    ///         target.starts_with("gfx942")
    ///     }
    /// }
    /// let ids = ["hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4-amdgcn-amd-amdhsa--gfx1100"];
    /// let file = ccob::write(&bundle::write(&ids.map(|id| (id, b"?")), 1), 3, Method::Zstd, 3)?;
    /// let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
    /// let kinds: Result<Vec<_>, _> =
    ///     entries(&file, &options).only(&Gfx942).map(|it| it.map(|it| it.kind)).collect();
    /// assert_eq!(kinds?, [EntryKind::Unknown, EntryKind::Unread]);
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    #[must_use]
    pub fn only(self, wanted: &'a dyn WantedTargets) -> Self {
        Self { wanted: Some(wanted), ..self }
    }

    /// The compressed bundles that come next, which [`supply`](Self::supply) takes unpacked; none if an entry or something
    /// else comes before them, or the next was supplied.
    pub fn upcoming(&mut self) -> impl Iterator<Item = PackedBundle<'a>> + use<'a> {
        self.advance();
        let packed = match self.stack.last() {
            Some(Work::Packed(packed)) if !self.is_supplied(packed) => Some(packed),
            _ => None,
        };
        let (options, wanted) = (self.options, self.wanted);
        packed
            .map(|it| Following {
                node: it.node.clone(),
                next: Some((it.position, it.header)),
                options,
                wanted,
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

    /// What the bundle holds as work, after what is wrong with its hash.
    fn payload(&mut self, packed: Packed<'a>) -> Result<Vec<Work<'a>>> {
        let unpacked = self.unpacked_bundle(&packed)?.content?;
        let Packed { node, position, header, trail, region } = packed;
        let size = match &unpacked {
            Unpacked::Payload(payload, _) => payload.len(),
            Unpacked::Entries(entries) => entries.iter().map(|(_, bytes)| bytes.len()).sum(),
        };
        if !self.charge(&node, size as u64) {
            return Ok(Vec::new());
        }
        let at = node.base.saturating_add(position as u64);
        let place = format!("in the decompressed payload of the compressed bundle at {at:#x}");
        let place = match node.trail.path() {
            Some(path) => format!("{place} of {path}"),
            None => place,
        };
        let (content, wrong, entries) = match unpacked {
            Unpacked::Payload(content, hash) => (content, hash.err(), None),
            Unpacked::Entries(entries) => (Vec::new(), None, Some(entries)),
        };
        let wrong = wrong.map(|error| node.error(error.rebased(position as u64)));
        let bundle = node.payload.is_none().then(|| at..at.saturating_add(header.total_size));
        let mut node = self.payload_node(content, place, trail, region, Otherwise::Refuse);
        node.payload = node.payload.map(|it| Payload { bundle, ..it });
        Ok(match entries {
            None => wrong.into_iter().chain([Work::Judge(node)]).collect(),
            Some(entries) => self.some_entries(&node, entries),
        })
    }

    /// The entries of a bundle that was not unpacked whole.
    fn some_entries(&mut self, node: &Node<'a>, entries: Vec<(Row, Vec<u8>)>) -> Vec<Work<'a>> {
        let Some((trail, region)) = self.enter(node, Container::Bundle, 0, 0) else {
            return Vec::new();
        };
        let mut work = Vec::with_capacity(entries.len());
        for (row, bytes) in entries {
            self.add_budget(bytes.len());
            let is_unread = !row.is_wanted && row.size() > 0;
            let part = Node {
                data: Bytes::from(bytes),
                base: row.range.start,
                payload: node.payload.clone(),
                trail: trail.clone(),
                id: Some(row.id),
                otherwise: Otherwise::Keep,
                region,
            };
            work.push(if is_unread { part.unread() } else { Work::Judge(part) });
        }
        work
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
        let bundle = PackedBundle::new(place, data, *header, self.options, self.wanted);
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

    struct Target(&'static str);

    impl WantedTargets for Target {
        fn may_want(&self, target: &str) -> bool {
            target == self.0
        }
    }

    const UNCHECKED: WalkOptions =
        WalkOptions { max_size: 4 << 30, max_depth: 8, hash: HashCheck::UpTo(0) };
    const IDS: [&str; 4] = [
        "host-x86_64-unknown-linux-gnu-",
        "hipv4-amdgcn-amd-amdhsa--gfx90a",
        "hipv4-amdgcn-amd-amdhsa--gfx942",
        "hipv4-nvptx64-nvidia-cuda--sm_70",
    ];

    /// Bytes that hardly compress.
    fn noise(seed: u32, size: usize) -> Vec<u8> {
        let numbers = std::iter::successors(Some(seed), |it| {
            Some(it.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
        });
        numbers.skip(1).map(|it| it.to_be_bytes()[0]).take(size).collect()
    }

    fn contents() -> [Vec<u8>; 4] {
        [noise(1, 10), noise(2, 200_000), noise(3, 300_000), noise(4, 20)]
    }

    fn several_targets() -> Vec<u8> {
        let entries: Vec<_> = IDS.into_iter().zip(contents()).collect();
        bundle::write(&entries, 4096)
    }

    fn pack(plain: &[u8]) -> Vec<u8> {
        ccob::write(plain, 3, Method::Zstd, 3).unwrap()
    }

    #[test]
    fn what_is_wanted_is_as_in_the_whole_and_the_rest_is_unread() {
        let plain = several_targets();
        for (version, method) in [(1, Method::Zlib), (2, Method::Zstd), (3, Method::Zlib)] {
            let packed = ccob::write(&plain, version, method, 3).unwrap();
            let file = [packed.as_slice(), &[0; 8], &packed].concat();
            let whole: Vec<_> = entries(&file, &UNCHECKED).map(Result::unwrap).collect();
            for target in ["gfx90a", "gfx942", "gfx1100"] {
                let wanted = Target(target);
                let mut walk = entries(&file, &UNCHECKED).only(&wanted);
                if target == "gfx942" {
                    let upcoming: Vec<_> = walk.upcoming().collect();
                    assert_eq!(upcoming[0].size(), 10 + 300_000 + 20);
                    walk.supply(PackedBundle::unpack(&upcoming));
                }
                let some: Vec<_> = walk.map(Result::unwrap).collect();
                assert_eq!(some.len(), whole.len());
                for (some, whole) in some.iter().zip(&whole) {
                    assert_eq!((&some.id, &some.trail), (&whole.id, &whole.trail));
                    assert_eq!(some.is_object(), whole.is_object());
                    let is_other = whole.named_target() != Some(target) && whole.is_object();
                    match is_other {
                        true => {
                            assert_eq!((some.kind, some.data.len()), (EntryKind::Unread, 0));
                        }
                        false => assert_eq!(some, whole),
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_is_unpacked_again() {
        let packed = pack(&several_targets());
        let (start, file) = (packed.len() + 8, [packed.as_slice(), &[0; 8], &packed].concat());
        for options in [UNCHECKED, WalkOptions::default()] {
            let wanted = Target("gfx942");
            let found: Vec<_> =
                entries(&file, &options).only(&wanted).map(Result::unwrap).collect();
            let packed = found[6].packed.clone().unwrap();
            assert_eq!(packed.bundle, start as u64..file.len() as u64);
            assert_eq!(packed.unpack(&file[start..], 1 << 20).unwrap(), contents()[2]);
            assert!(packed.unpack(&file[start..], 1000).is_err());
            assert!(packed.unpack(&file[start + 1..], 1 << 20).is_err());
        }
    }

    /// A hash is compared with all of a payload, so that is unpacked.
    #[test]
    fn what_is_compared_with_its_hash_is_unpacked_whole() {
        let mut file = pack(&several_targets());
        file[24] ^= 1;
        let wanted = Target("gfx90a");
        let texts = |hash| lines(entries(&file, &WalkOptions { hash, ..UNCHECKED }).only(&wanted));
        assert!(texts(HashCheck::Always)[0].contains("its hash is"));
        assert!(texts(HashCheck::Always)[3].starts_with("300000 "));
        assert!(texts(HashCheck::UpTo(1000))[2].starts_with("0 "));
    }

    #[test]
    fn damage_before_the_end_of_what_is_wanted_is_seen_and_other_damage_is_not() {
        let file = pack(&several_targets());
        let read = |file: &[u8], target| {
            let wanted = Target(target);
            let found: Vec<_> = entries(file, &UNCHECKED).only(&wanted).collect();
            found.into_iter().find_map(|it| match it {
                Ok(entry) if entry.named_target() == Some(target) => Some(Ok(entry.data.to_vec())),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
        };
        let [_, first, second, _] = contents();
        let damaged = |at: usize| {
            let mut file = file.clone();
            file[at..at + 8].fill(0xff);
            file
        };
        // Noise is stored as it is: what is damaged is another byte of the content, or the header of a block.
        let behind = damaged(file.len() - 100_000);
        assert_eq!(read(&behind, "gfx90a").unwrap().unwrap(), first);
        assert_ne!(read(&behind, "gfx942").unwrap().ok(), Some(second));
        // A frame that is cut is always seen: its blocks say where they end.
        for length in [file.len() - 1, file.len() - 100_000, 100, 40] {
            for target in ["gfx90a", "gfx942"] {
                let cut = read(&file[..length], target);
                assert!(matches!(cut, Some(Err(_))), "{target} {length}");
            }
        }
        // So is a frame that is not as long as the header says, where the header says it.
        for at in [16, 32, 36, 40] {
            assert!(!matches!(read(&damaged(at), "gfx90a"), Some(Ok(it)) if it != first), "{at}");
        }
    }

    /// Bundles of which not all is entries, or whose wanted entries lie within each other, are read whole.
    #[test]
    fn unusual_bundles_are_unpacked_whole() {
        let plain = several_targets();
        let twice = [plain.clone(), plain.clone()].concat();
        let mut within = plain.clone();
        // The table's third row, where the second is.
        let rows = 32 + 24 + IDS[0].len();
        let second = within[rows..rows + 16].to_vec();
        let third = rows + 24 + IDS[1].len();
        within[third..third + 16].copy_from_slice(&second);
        let both = [IDS[2], IDS[2]].map(|id| (id, vec![7; 100_000]));
        let mut overlapping = bundle::write(&both, 1);
        let (first, second) = (32, 32 + 24 + IDS[2].len());
        let start = overlapping[first..first + 8].to_vec();
        overlapping[second..second + 8].copy_from_slice(&start);
        for plain in [twice, overlapping, b"no bundle at all".repeat(1000), within] {
            let file = pack(&plain);
            let wanted = Target("gfx942");
            let whole = lines(entries(&file, &UNCHECKED));
            let some = lines(entries(&file, &UNCHECKED).only(&wanted));
            let read = |it: &&String| !it.starts_with("0 ");
            assert!(some.iter().filter(read).all(|it| whole.contains(it)), "{some:?} {whole:?}");
            assert_eq!(some.len(), whole.len());
        }
    }

    #[test]
    fn no_prefix_and_no_changed_byte_of_what_is_read_in_part_panics() {
        let entries_of = IDS.map(|id| (id, noise(7, 40)));
        let file = pack(&bundle::write(&entries_of, 8));
        let wanted = Target("gfx90a");
        for length in 0..file.len() {
            lines(entries(&file[..length], &UNCHECKED).only(&wanted));
        }
        for at in 0..file.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut broken = file.clone();
                broken[at] ^= flip;
                lines(entries(&broken, &UNCHECKED).only(&wanted));
            }
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
