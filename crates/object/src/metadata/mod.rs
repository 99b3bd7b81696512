//! What the compiler says of its kernels: the MessagePack notes of code objects V3 to V6.
//!
//! A linked object may carry thousands of notes, one for each input; [`Metadata`] is all of them
//! merged. Indexing reads two strings of each kernel; a [`Kernel`]'s other keys are read by
//! [`Kernel::decode`], its arguments only when [`KernelMetadata::arguments`] is iterated.

mod argument;
mod hidden;
mod kernel;
mod key;
mod path;
mod read;
mod schema;
mod value_kind;

pub use argument::{Argument, Place, Segment};
pub use hidden::Hidden;
pub use kernel::KernelMetadata;
pub use path::path_at;
pub use schema::{Broken, verify, verify_at};
pub use value_kind::{OwnedValueKind, ValueKind};

use hsaco_bytes::{Error, Problems, Result, Str};
use hsaco_elf::note::Note;

use crate::msgpack::{Entry, Head, Map, Reader};
use crate::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use crate::resources::Resources;

use key::Keys;
use read::{integer, integers, put, string, strings, take, twice};

const CONTEXT: &str = "metadata";

/// Least size of a kernel's map in bytes: every map has a name.
const SMALLEST_KERNEL: usize = 64;

/// The metadata of one code object, merged over its notes.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'a> {
    documents: usize,
    version: Option<(u64, u64)>,
    target: Option<Str<'a>>,
    printf: Vec<Str<'a>>,
    kernels: Vec<Kernel<'a>>,
    unknown: Vec<Entry<'a>>,
    problems: Problems,
}

impl<'a> Metadata<'a> {
    /// Merges the metadata notes among `notes`.
    pub fn from_notes(notes: impl IntoIterator<Item = Note<'a>>) -> Self {
        let mut merged = Self::default();
        for note in notes.into_iter().filter(|it| it.is(OWNER_AMDGPU, NT_AMDGPU_METADATA)) {
            merged.documents += 1;
            let mut reader = Reader::new(note.desc, note.desc_offset);
            let result = merged.read_root(&mut reader).and_then(|()| reader.finish());
            if let Err(error) = result {
                merged.problems.note(error);
            }
        }
        merged
    }

    /// How many notes were merged.
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// `amdhsa.version`, of the first note that has one.
    pub fn version(&self) -> Option<(u64, u64)> {
        self.version
    }

    /// `amdhsa.target`, of the first note that has one.
    pub fn target(&self) -> Option<Str<'a>> {
        self.target
    }

    /// `amdhsa.printf`: the format strings of all notes.
    pub fn printf(&self) -> &[Str<'a>] {
        &self.printf
    }

    /// `amdhsa.kernels`: the kernels of all notes.
    pub fn kernels(&self) -> &[Kernel<'a>] {
        &self.kernels
    }

    /// Root keys that are not AMD's own.
    pub fn unknown(&self) -> &[Entry<'a>] {
        &self.unknown
    }

    /// What was wrong with the notes; what could be read was.
    pub fn problems(&self) -> &[Error] {
        self.problems.as_slice()
    }

    fn read_root(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let start = reader.offset();
        let Head::Map(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, start, "the root is not a map"));
        };
        let mut seen: Vec<Str<'a>> = Vec::new();
        for _ in 0..count {
            let offset = reader.offset();
            let key = reader.key()?;
            if seen.contains(&key) {
                return Err(twice(key, offset));
            }
            // A root map has a handful of keys; a flood of them is not compared in full.
            if seen.len() < 64 {
                seen.push(key);
            }
            self.read_root_entry(key, reader)?;
        }
        Ok(())
    }

    fn read_root_entry(&mut self, key: Str<'a>, reader: &mut Reader<'a>) -> Result<()> {
        if key == "amdhsa.kernels" {
            return self.read_kernels(reader);
        }
        let offset = reader.offset();
        let entry = Entry { key, offset, value: reader.value()? };
        match key.as_bytes() {
            b"amdhsa.version" => {
                let [major, minor] = integers::<2>(&entry)?;
                self.merge_version((major, minor), offset);
            }
            b"amdhsa.target" => self.target = self.target.or(Some(string(&entry)?)),
            b"amdhsa.printf" => self.printf.extend(strings(&entry)?),
            _ => self.unknown.push(entry),
        }
        Ok(())
    }

    fn merge_version(&mut self, version: (u64, u64), offset: u64) {
        match self.version {
            Some(first) if first != version => self.problems.note(
                Error::new(
                    hsaco_bytes::ErrorKind::Mismatch,
                    CONTEXT,
                    format!("amdhsa.version is {version:?} here and {first:?} in an earlier note"),
                )
                .at(offset),
            ),
            _ => self.version = Some(version),
        }
    }

    fn read_kernels(&mut self, reader: &mut Reader<'a>) -> Result<()> {
        let start = reader.offset();
        let Head::Array(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, start, "amdhsa.kernels is not an array"));
        };
        // A count is no promise, but each kernel takes bytes of the file.
        self.kernels.reserve((count as usize).min(reader.left() / SMALLEST_KERNEL));
        for number in 0..count {
            match Kernel::skim(number, reader)? {
                Ok(kernel) => self.kernels.push(kernel),
                Err(error) => self.problems.note(error),
            }
        }
        Ok(())
    }
}

/// One kernel map, of which only the two names have been read.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    pub(crate) name: Str<'a>,
    pub(crate) symbol: Option<Str<'a>>,
    pub(crate) raw: &'a [u8],
    pub(crate) offset: u64,
    /// How many kernels its note has before it.
    pub(crate) number: u32,
    /// Where `.args` begins and ends in `raw`: most of a map's bytes, passed over once.
    pub(crate) args: (u32, u32),
}

impl<'a> Kernel<'a> {
    /// Moves past one kernel map, keeping its names. The outer error stops the note, the inner one
    /// only this kernel.
    fn skim(number: u32, reader: &mut Reader<'a>) -> Result<Result<Self>> {
        let start = *reader;
        let offset = start.offset();
        let Head::Map(count) = reader.head()? else {
            *reader = start;
            reader.skip()?;
            return Ok(Err(Error::malformed(CONTEXT, offset, "a kernel is not a map")));
        };
        let (mut name, mut symbol, mut args) = (None, None, (0, 0));
        for _ in 0..count {
            match reader.key()?.as_bytes() {
                b".name" => name = reader.value()?.as_str(),
                b".symbol" => symbol = reader.value()?.as_str(),
                b".args" => {
                    let begins = reader.since(&start).len();
                    reader.skip()?;
                    let ends = reader.since(&start).len();
                    args = u32::try_from(begins).ok().zip(u32::try_from(ends).ok()).unwrap_or(args);
                }
                _ => reader.skip()?,
            }
        }
        let raw = reader.since(&start);
        let Some(name) = name.or(symbol) else {
            let detail = "a kernel has neither .name nor .symbol";
            return Ok(Err(Error::malformed(CONTEXT, offset, detail)));
        };
        Ok(Ok(Self { name, symbol, raw, offset, number, args }))
    }

    /// `.name`.
    pub fn name(&self) -> Str<'a> {
        self.name
    }

    /// `.symbol`: the descriptor's symbol.
    pub fn symbol(&self) -> Option<Str<'a>> {
        self.symbol
    }

    /// Where the map begins in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The keys that lead to the map in its note: `amdhsa.kernels[3]`.
    pub fn path(&self) -> String {
        format!("amdhsa.kernels[{}]", self.number)
    }

    /// The kernel's symbol without `.kd`: what the entry point is called.
    pub fn base_name(&self) -> Str<'a> {
        match self.symbol {
            Some(symbol) => symbol.strip_suffix(".kd").unwrap_or(symbol),
            None => self.name,
        }
    }

    /// The bytes of the map.
    pub fn bytes(&self) -> &'a [u8] {
        self.raw
    }

    /// The map itself, every key of it.
    pub fn map(&self) -> Result<Map<'a>> {
        let value = Reader::new(self.raw, self.offset).value()?;
        value.as_map().ok_or_else(|| Error::malformed(CONTEXT, self.offset, "not a map"))
    }

    /// Reads every key but the arguments.
    pub fn decode(&self) -> Result<KernelMetadata<'a>> {
        let mut kernel = KernelMetadata::default();
        let mut keys = Keys::new(kernel::KEYS);
        self.read_keys(|key, reader| {
            let offset = reader.offset();
            let row = keys.find(key, offset)?;
            let value = match reader.position() == self.args.0 as usize {
                true => reader.value_until(self.args.1 as usize)?,
                false => reader.value()?,
            };
            let entry = Entry { key, offset, value };
            match row {
                Some(row) => (row.read)(&mut kernel, &entry)?,
                None => kernel.unknown.push(entry),
            }
            Ok(())
        })?;
        keys.check_unknown(&kernel.unknown)?;
        Ok(kernel)
    }

    /// Reads the numbers that say what the kernel needs of a device, and passes over the rest.
    pub(crate) fn resources(&self) -> Result<Resources> {
        let mut resources = Resources::default();
        self.read_keys(|key, reader| {
            if reader.position() == self.args.0 as usize {
                reader.seek(self.args.1 as usize);
                return Ok(());
            }
            let Some(place) = resources.place(key) else {
                return reader.skip();
            };
            let offset = reader.offset();
            let entry = Entry { key, offset, value: reader.value()? };
            put(place, &entry, integer)
        })?;
        Ok(resources)
    }

    /// Reads what packing arguments takes, in one pass over the map: a launch may be waiting for it.
    pub fn segment(&self) -> Result<Segment<'a>> {
        let mut segment = Segment::default();
        self.read_keys(|key, reader| match key.as_bytes() {
            b".kernarg_segment_size" => take(&mut segment.size, key, reader, integer),
            b".kernarg_segment_align" => take(&mut segment.alignment, key, reader, integer),
            b".args" if segment.arguments.is_some() => Err(twice(key, reader.offset())),
            b".args" => {
                segment.arguments = Some(Place::read_all(reader)?);
                Ok(())
            }
            _ => reader.skip(),
        })?;
        Ok(segment)
    }

    /// Shows every key, with the cursor at its value.
    fn read_keys(
        &self,
        mut read: impl FnMut(Str<'a>, &mut Reader<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = Reader::new(self.raw, self.offset);
        let Head::Map(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, self.offset, "not a map"));
        };
        for _ in 0..count {
            let key = reader.key()?;
            read(key, &mut reader)?;
        }
        Ok(())
    }
}

impl Resources {
    /// Where the number of a key goes, if it says what a kernel needs of a device.
    fn place(&mut self, key: Str<'_>) -> Option<&mut Option<u64>> {
        Some(match key.as_bytes() {
            b".vgpr_count" => &mut self.vgprs,
            b".agpr_count" => &mut self.agprs,
            b".sgpr_count" => &mut self.sgprs,
            b".group_segment_fixed_size" => &mut self.lds,
            b".private_segment_fixed_size" => &mut self.scratch,
            b".kernarg_segment_size" => &mut self.kernarg_size,
            b".wavefront_size" => &mut self.wavefront_size,
            b".max_flat_workgroup_size" => &mut self.max_workgroup_size,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value as Tree;

    fn map(entries: &[(&str, Tree)]) -> Tree {
        Tree::Map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    fn encode(tree: &Tree) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, tree).unwrap();
        bytes
    }

    fn document(kernels: Vec<Tree>) -> Vec<u8> {
        let version = Tree::Array(vec![1.into(), 2.into()]);
        encode(&map(&[("amdhsa.kernels", Tree::Array(kernels)), ("amdhsa.version", version)]))
    }

    fn note(desc: &[u8]) -> Note<'_> {
        let owner = Str::from(OWNER_AMDGPU);
        Note { owner, kind: NT_AMDGPU_METADATA, desc, offset: 0, desc_offset: 0 }
    }

    fn named(extra: &[(&str, Tree)]) -> Tree {
        let names = [(".name", Tree::from("k")), (".symbol", Tree::from("k.kd"))];
        map(&[&names, extra].concat())
    }

    fn decode(extra: &[(&str, Tree)]) -> std::result::Result<(), String> {
        let bytes = document(vec![named(extra)]);
        let metadata = Metadata::from_notes([note(&bytes)]);
        assert_eq!(metadata.problems(), []);
        let kernel = metadata.kernels()[0].decode().map_err(|error| error.detail().to_owned())?;
        match kernel.arguments() {
            Some(mut arguments) => arguments
                .try_for_each(|it| it.map(|_| ()))
                .map_err(|error| error.detail().to_owned()),
            None => Ok(()),
        }
    }

    fn argument(extra: &[(&str, Tree)]) -> std::result::Result<(), String> {
        let required =
            [(".offset", 0.into()), (".size", 8.into()), (".value_kind", "by_value".into())];
        decode(&[(".args", Tree::Array(vec![map(&[&required, extra].concat())]))])
    }

    #[test]
    fn notes_are_merged_and_unknown_keys_kept() {
        let first = document(vec![named(&[(".custom", 7.into())])]);
        let second = document(vec![map(&[(".name", "other".into())])]);
        let metadata = Metadata::from_notes([note(&first), note(&second)]);
        assert_eq!((metadata.documents(), metadata.version()), (2, Some((1, 2))));
        let names: Vec<_> =
            metadata.kernels().iter().map(|it| it.base_name().to_string()).collect();
        assert_eq!(names, ["k", "other"]);
        let kernel = metadata.kernels()[0].decode().unwrap();
        assert_eq!(kernel.unknown[0].key, ".custom");
        assert_eq!(kernel.vgpr_count, None);
        assert!(kernel.arguments().is_none());
    }

    #[test]
    fn values_that_break_the_rules_are_named() {
        assert_eq!(decode(&[(".uniform_work_group_size", 1.into())]), Ok(()));
        let refused = |extra: &[(&str, Tree)]| decode(extra).unwrap_err();
        assert_eq!(
            refused(&[(".uniform_work_group_size", 2.into())]),
            ".uniform_work_group_size is 2, not a boolean, 0 or 1"
        );
        let dims =
            |dims: &[i64]| [(".cluster_dims", dims.iter().map(|&it| Tree::from(it)).collect())];
        assert_eq!(decode(&dims(&[2, 1, 1])), Ok(()));
        assert_eq!(refused(&dims(&[1, 1])), ".cluster_dims is an array of 2, not of 3 integers");
        assert!(refused(&dims(&[0, 1, 1])).contains("1 to 255"));
        assert!(refused(&dims(&[256, 1, 1])).contains("1 to 255"));
        assert_eq!(
            refused(&[(".vgpr_count", "two".into())]),
            ".vgpr_count is a string, not a non-negative integer"
        );
        assert_eq!(
            refused(&[(".vgpr_count", 1.into()), (".vgpr_count", 2.into())]),
            "key '.vgpr_count' twice"
        );
        assert_eq!(refused(&[(".x", 1.into()), (".x", 2.into())]), "key '.x' twice");
    }

    #[test]
    fn arguments_are_held_to_their_rules_when_asked_for() {
        assert_eq!(argument(&[]), Ok(()));
        assert_eq!(argument(&[(".is_const", true.into()), (".mystery", 1.into())]), Ok(()));
        assert_eq!(argument(&[(".offset", 8.into())]), Err("key '.offset' twice".to_owned()));
        let lonely = decode(&[(".args", Tree::Array(vec![map(&[(".size", 8.into())])]))]);
        assert_eq!(lonely, Err("an argument has no .offset".to_owned()));
    }

    #[test]
    fn of_two_spellings_the_second_is_kept_as_it_stands() {
        let required = [
            (".offset", 0.into()),
            (".size", 8.into()),
            (".value_kind", "by_value".into()),
            (".align", 8.into()),
            (".alignment", 16.into()),
        ];
        let bytes = document(vec![named(&[
            (".args", Tree::Array(vec![map(&required)])),
            (".max_num_workgroups_x", 2.into()),
            (".max_num_work_groups_x", 3.into()),
        ])]);
        let metadata = Metadata::from_notes([note(&bytes)]);
        let kernel = metadata.kernels()[0].decode().unwrap();
        assert_eq!(kernel.max_num_work_groups_x, Some(2));
        assert_eq!(kernel.unknown[0].key, ".max_num_work_groups_x");
        let first = kernel.arguments().unwrap().next().unwrap().unwrap();
        assert_eq!(first.align, Some(8));
        let unknown: Vec<_> = first.unknown.iter().map(|it| (it.key, it.value.as_u64())).collect();
        assert_eq!(unknown, [(".alignment".into(), Some(16))]);
        assert_eq!(
            argument(&[(".align", 8.into()), (".align", 8.into())]),
            Err("key '.align' twice".to_owned())
        );
    }

    #[test]
    fn an_argument_that_cannot_be_read_does_not_hide_the_next() {
        let good =
            map(&[(".offset", 0.into()), (".size", 8.into()), (".value_kind", "by_value".into())]);
        let bad = map(&[(".offset", "x".into()), (".size", 8.into())]);
        let bytes = document(vec![named(&[(".args", Tree::Array(vec![bad, 1.into(), good]))])]);
        let metadata = Metadata::from_notes([note(&bytes)]);
        let kernel = metadata.kernels()[0].decode().unwrap();
        let read = kernel.arguments().unwrap();
        let read: Vec<_> = read.map(|it| it.map_err(|it| it.detail().to_owned())).collect();
        assert_eq!(
            read[0].as_ref().unwrap_err(),
            ".offset is a string, not a non-negative integer"
        );
        assert_eq!(read[1].as_ref().unwrap_err(), "an argument is an integer, not a map");
        assert_eq!(read[2].as_ref().unwrap().size, 8);
        assert_eq!(read.len(), 3);
    }

    /// What packing reads is what everybody else reads, and it refuses the same.
    #[test]
    fn places_are_those_of_the_arguments() {
        let argument = |extra: &[(&str, Tree)]| {
            let required =
                [(".offset", 8.into()), (".size", 4.into()), (".value_kind", "by_value".into())];
            map(&[&required, extra].concat())
        };
        let details =
            [(".name", "n".into()), (".type_name", "int".into()), (".is_const", true.into())];
        let args =
            Tree::Array(vec![argument(&details), argument(&[(".value_type", "i32".into())])]);
        let bytes = document(vec![named(&[
            (".kernarg_segment_size", 12.into()),
            (".kernarg_segment_align", 8.into()),
            (".args", args),
        ])]);
        let metadata = Metadata::from_notes([note(&bytes)]);
        let kernel = metadata.kernels()[0];
        let segment = kernel.segment().unwrap();
        assert_eq!((segment.size, segment.alignment), (Some(12), Some(8)));
        let decoded = kernel.decode().unwrap();
        let slow: Vec<_> = decoded.arguments().unwrap().map(Result::unwrap).collect();
        let fast = segment.arguments.unwrap();
        assert_eq!(fast.len(), 2);
        for (fast, slow) in fast.iter().zip(&slow) {
            assert_eq!(
                (fast.offset, fast.size, fast.value_kind),
                (slow.offset, slow.size, slow.value_kind)
            );
            assert_eq!((fast.name, fast.type_name), (slow.name, slow.type_name));
            assert_eq!(fast.value_type, slow.value_type);
        }
        let refused = |args: Tree| {
            let bytes = document(vec![named(&[(".args", args)])]);
            let metadata = Metadata::from_notes([note(&bytes)]);
            metadata.kernels()[0].segment().unwrap_err().detail().to_owned()
        };
        let twice = argument(&[(".offset", 8.into())]);
        assert_eq!(refused(Tree::Array(vec![twice])), "key '.offset' twice");
        let lonely = map(&[(".size", 8.into())]);
        assert_eq!(refused(Tree::Array(vec![lonely])), "an argument has no .offset");
        assert_eq!(refused(1.into()), ".args is not an array");
        assert_eq!(refused(Tree::Array(vec![1.into()])), "an argument is not a map");
    }

    #[test]
    fn all_value_kinds_have_their_names() {
        assert_eq!(ValueKind::all().count(), 31);
        for kind in ValueKind::all() {
            assert_eq!(ValueKind::from_name(kind.name()), kind);
            assert_eq!(kind.is_hidden(), kind.name().to_string().starts_with("hidden_"));
        }
        let unknown = ValueKind::from_name("hidden_cluster_count_x".into());
        assert_eq!(unknown, ValueKind::Other("hidden_cluster_count_x".into()));
    }

    #[test]
    fn a_broken_note_does_not_hide_the_others() {
        let good = document(vec![named(&[])]);
        let broken = [document(vec![map(&[(".name", "early".into())])]), vec![0]].concat();
        let metadata = Metadata::from_notes([note(&broken), note(b"\xa1x"), note(&good)]);
        assert_eq!(metadata.kernels().len(), 2);
        let problems: Vec<_> = metadata.problems().iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 2);
        assert!(problems[0].contains("1 bytes after the end"));
        assert!(problems[1].contains("the root is not a map"));
    }
}
