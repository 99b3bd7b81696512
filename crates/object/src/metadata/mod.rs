//! What the compiler says of its kernels: the MessagePack notes of code objects V3 to V6.
//!
//! A linked object may carry thousands of notes, one for each input; [`Metadata`] is all of them
//! merged. Indexing reads two strings of each kernel; a [`Kernel`]'s other keys are read by
//! [`Kernel::decode`], its arguments only when [`KernelMetadata::arguments`] is iterated.

mod path;
mod schema;

pub use path::path_at;
pub use schema::verify;

use crate::error::Problems;
use crate::msgpack::{Array, Entry, Head, Map, Reader, Value, check_repeated};
use crate::note::{NT_AMDGPU_METADATA, Note, OWNER_AMDGPU};
use crate::{Error, Resources, Result, Str};

const CONTEXT: &str = "metadata";

/// Bytes that a kernel's map takes at least: nobody leaves out its name.
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
                    crate::ErrorKind::Mismatch,
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
        for _ in 0..count {
            match Kernel::skim(reader)? {
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
    /// Where `.args` begins and ends in `raw`: most of a map's bytes, passed over once.
    pub(crate) args: (u32, u32),
}

impl<'a> Kernel<'a> {
    /// Moves past one kernel map, keeping its names. The outer error stops the note, the inner one
    /// only this kernel.
    fn skim(reader: &mut Reader<'a>) -> Result<Result<Self>> {
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
        Ok(Ok(Self { name, symbol, raw, offset, args }))
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

    /// The kernel's symbol without `.kd`: what the entry point is called.
    pub fn base_name(&self) -> Str<'a> {
        match self.symbol {
            Some(symbol) => symbol.strip_suffix(".kd").unwrap_or(symbol),
            None => self.name,
        }
    }

    /// The map itself, every key of it.
    pub fn map(&self) -> Result<Map<'a>> {
        let value = Reader::new(self.raw, self.offset).value()?;
        value.as_map().ok_or_else(|| Error::malformed(CONTEXT, self.offset, "not a map"))
    }

    /// Reads every key but the arguments.
    pub fn decode(&self) -> Result<KernelMetadata<'a>> {
        let mut kernel = KernelMetadata::default();
        self.read_keys(|key, reader| {
            let offset = reader.offset();
            let value = match reader.position() == self.args.0 as usize {
                true => reader.value_until(self.args.1 as usize)?,
                false => reader.value()?,
            };
            kernel.read(&Entry { key, offset, value })
        })?;
        let unknown = kernel.unknown.iter().map(|it| (it.key, it.offset)).collect();
        check_repeated(unknown, CONTEXT)?;
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

/// The keys of one kernel map. `None` is "not said", never zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KernelMetadata<'a> {
    /// `.name`.
    pub name: Option<Str<'a>>,
    /// `.symbol`.
    pub symbol: Option<Str<'a>>,
    /// `.language`.
    pub language: Option<Str<'a>>,
    /// `.language_version`.
    pub language_version: Option<[u64; 2]>,
    /// `.kind`: normal, init or fini.
    pub kind: Option<Str<'a>>,
    /// `.vec_type_hint`.
    pub vec_type_hint: Option<Str<'a>>,
    /// `.device_enqueue_symbol`.
    pub device_enqueue_symbol: Option<Str<'a>>,
    /// `.kernarg_segment_size`.
    pub kernarg_segment_size: Option<u64>,
    /// `.kernarg_segment_align`.
    pub kernarg_segment_align: Option<u64>,
    /// `.group_segment_fixed_size`: static LDS.
    pub group_segment_fixed_size: Option<u64>,
    /// `.private_segment_fixed_size`: scratch of one work-item.
    pub private_segment_fixed_size: Option<u64>,
    /// `.wavefront_size`.
    pub wavefront_size: Option<u64>,
    /// `.sgpr_count`.
    pub sgpr_count: Option<u64>,
    /// `.vgpr_count`: on gfx90a and later CDNA, AGPRs included.
    pub vgpr_count: Option<u64>,
    /// `.agpr_count`.
    pub agpr_count: Option<u64>,
    /// `.sgpr_spill_count`.
    pub sgpr_spill_count: Option<u64>,
    /// `.vgpr_spill_count`.
    pub vgpr_spill_count: Option<u64>,
    /// `.max_flat_workgroup_size`.
    pub max_flat_workgroup_size: Option<u64>,
    /// `.reqd_workgroup_size`.
    pub reqd_workgroup_size: Option<[u64; 3]>,
    /// `.workgroup_size_hint`.
    pub workgroup_size_hint: Option<[u64; 3]>,
    /// `.max_num_workgroups_x` as compilers write it, `.max_num_work_groups_x` as it is documented.
    pub max_num_work_groups_x: Option<u64>,
    /// `.max_num_workgroups_y` as compilers write it, `.max_num_work_groups_y` as it is documented.
    pub max_num_work_groups_y: Option<u64>,
    /// `.max_num_workgroups_z` as compilers write it, `.max_num_work_groups_z` as it is documented.
    pub max_num_work_groups_z: Option<u64>,
    /// `.cluster_dims`.
    pub cluster_dims: Option<[u64; 3]>,
    /// `.uses_dynamic_stack`.
    pub uses_dynamic_stack: Option<bool>,
    /// `.workgroup_processor_mode`.
    pub workgroup_processor_mode: Option<bool>,
    /// `.uniform_work_group_size`.
    pub uniform_work_group_size: Option<bool>,
    /// Keys this crate has no name for, kept as they stand.
    pub unknown: Vec<Entry<'a>>,
    arguments: Option<Array<'a>>,
}

impl<'a> KernelMetadata<'a> {
    /// `.args`, or `None` when the kernel does not say.
    pub fn arguments(&self) -> Option<impl Iterator<Item = Result<Argument<'a>>> + use<'a>> {
        let args = self.arguments?;
        Some(args.located().map(|item| {
            let (offset, value) = item?;
            Argument::read(offset, value)
        }))
    }

    fn read(&mut self, entry: &Entry<'a>) -> Result<()> {
        match entry.key.as_bytes() {
            b".name" => put(&mut self.name, entry, string),
            b".symbol" => put(&mut self.symbol, entry, string),
            b".language" => put(&mut self.language, entry, string),
            b".language_version" => put(&mut self.language_version, entry, integers),
            b".kind" => put(&mut self.kind, entry, string),
            b".vec_type_hint" => put(&mut self.vec_type_hint, entry, string),
            b".device_enqueue_symbol" => put(&mut self.device_enqueue_symbol, entry, string),
            b".kernarg_segment_size" => put(&mut self.kernarg_segment_size, entry, integer),
            b".kernarg_segment_align" => put(&mut self.kernarg_segment_align, entry, integer),
            b".group_segment_fixed_size" => put(&mut self.group_segment_fixed_size, entry, integer),
            b".private_segment_fixed_size" => {
                put(&mut self.private_segment_fixed_size, entry, integer)
            }
            b".wavefront_size" => put(&mut self.wavefront_size, entry, integer),
            b".sgpr_count" => put(&mut self.sgpr_count, entry, integer),
            b".vgpr_count" => put(&mut self.vgpr_count, entry, integer),
            b".agpr_count" => put(&mut self.agpr_count, entry, integer),
            b".sgpr_spill_count" => put(&mut self.sgpr_spill_count, entry, integer),
            b".vgpr_spill_count" => put(&mut self.vgpr_spill_count, entry, integer),
            b".max_flat_workgroup_size" => put(&mut self.max_flat_workgroup_size, entry, integer),
            b".reqd_workgroup_size" => put(&mut self.reqd_workgroup_size, entry, integers),
            b".workgroup_size_hint" => put(&mut self.workgroup_size_hint, entry, integers),
            b".max_num_workgroups_x" | b".max_num_work_groups_x" => {
                put(&mut self.max_num_work_groups_x, entry, integer)
            }
            b".max_num_workgroups_y" | b".max_num_work_groups_y" => {
                put(&mut self.max_num_work_groups_y, entry, integer)
            }
            b".max_num_workgroups_z" | b".max_num_work_groups_z" => {
                put(&mut self.max_num_work_groups_z, entry, integer)
            }
            b".cluster_dims" => put(&mut self.cluster_dims, entry, cluster_dims),
            b".uses_dynamic_stack" => put(&mut self.uses_dynamic_stack, entry, flag),
            b".workgroup_processor_mode" => put(&mut self.workgroup_processor_mode, entry, flag),
            b".uniform_work_group_size" => put(&mut self.uniform_work_group_size, entry, flag),
            b".args" => put(&mut self.arguments, entry, array),
            _ => {
                self.unknown.push(*entry);
                Ok(())
            }
        }
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Argument<'a> {
    /// `.offset` in the kernarg segment.
    pub offset: u64,
    /// `.size` in bytes.
    pub size: u64,
    /// `.value_kind`.
    pub value_kind: ValueKind<'a>,
    /// `.name`.
    pub name: Option<Str<'a>>,
    /// `.type_name`.
    pub type_name: Option<Str<'a>>,
    /// `.value_type`, which LLVM no longer writes.
    pub value_type: Option<Str<'a>>,
    /// `.address_space`.
    pub address_space: Option<Str<'a>>,
    /// `.access`.
    pub access: Option<Str<'a>>,
    /// `.actual_access`.
    pub actual_access: Option<Str<'a>>,
    /// `.pointee_align`.
    pub pointee_align: Option<u64>,
    /// `.align` or `.alignment`, which some producers write.
    pub align: Option<u64>,
    /// `.is_const`.
    pub is_const: Option<bool>,
    /// `.is_restrict`.
    pub is_restrict: Option<bool>,
    /// `.is_volatile`.
    pub is_volatile: Option<bool>,
    /// `.is_pipe`.
    pub is_pipe: Option<bool>,
    /// Keys this crate has no name for, kept as they stand.
    pub unknown: Vec<Entry<'a>>,
}

impl<'a> Argument<'a> {
    /// Reads one argument in one pass and without an allocation: layouts are made of them while a launch waits.
    fn read(at: u64, value: Value<'a>) -> Result<Self> {
        let map = value.as_map().ok_or_else(|| {
            let kind = value.kind_name();
            Error::malformed(CONTEXT, at, format!("an argument is {kind}, not a map"))
        })?;
        let (mut offset, mut size, mut value_kind) = (None, None, None);
        let mut argument = Self::unsaid();
        for entry in map.iter() {
            let entry = entry?;
            match entry.key.as_bytes() {
                b".offset" => put(&mut offset, &entry, integer),
                b".size" => put(&mut size, &entry, integer),
                b".value_kind" => put(&mut value_kind, &entry, kind),
                _ => argument.read_detail(&entry),
            }?;
        }
        if !argument.unknown.is_empty() {
            let unknown = argument.unknown.iter().map(|it| (it.key, it.offset)).collect();
            check_repeated(unknown, CONTEXT)?;
        }
        let missing = |key| Error::malformed(CONTEXT, at, format!("an argument has no {key}"));
        argument.offset = offset.ok_or_else(|| missing(".offset"))?;
        argument.size = size.ok_or_else(|| missing(".size"))?;
        argument.value_kind = value_kind.ok_or_else(|| missing(".value_kind"))?;
        Ok(argument)
    }

    /// An argument of which nothing is said yet.
    fn unsaid() -> Self {
        Self {
            offset: 0,
            size: 0,
            value_kind: ValueKind::ByValue,
            name: None,
            type_name: None,
            value_type: None,
            address_space: None,
            access: None,
            actual_access: None,
            pointee_align: None,
            align: None,
            is_const: None,
            is_restrict: None,
            is_volatile: None,
            is_pipe: None,
            unknown: Vec::new(),
        }
    }

    /// Reads a key that need not be there.
    fn read_detail(&mut self, entry: &Entry<'a>) -> Result<()> {
        match entry.key.as_bytes() {
            b".name" => put(&mut self.name, entry, string),
            b".type_name" => put(&mut self.type_name, entry, string),
            b".value_type" => put(&mut self.value_type, entry, string),
            b".address_space" => put(&mut self.address_space, entry, string),
            b".access" => put(&mut self.access, entry, string),
            b".actual_access" => put(&mut self.actual_access, entry, string),
            b".pointee_align" => put(&mut self.pointee_align, entry, integer),
            b".align" | b".alignment" => put(&mut self.align, entry, integer),
            b".is_const" => put(&mut self.is_const, entry, flag),
            b".is_restrict" => put(&mut self.is_restrict, entry, flag),
            b".is_volatile" => put(&mut self.is_volatile, entry, flag),
            b".is_pipe" => put(&mut self.is_pipe, entry, flag),
            _ => {
                self.unknown.push(*entry);
                Ok(())
            }
        }
    }
}

/// What packing arguments takes of a kernel's map. `None` is "not said", never zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Segment<'a> {
    /// `.kernarg_segment_size`.
    pub size: Option<u64>,
    /// `.kernarg_segment_align`.
    pub alignment: Option<u64>,
    /// `.args`.
    pub arguments: Option<Vec<Place<'a>>>,
}

/// Where an argument is, and what it holds: an [`Argument`] without what only its reader wants to know.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Place<'a> {
    /// `.offset` in the kernarg segment.
    pub offset: u64,
    /// `.size` in bytes.
    pub size: u64,
    /// `.value_kind`.
    pub value_kind: ValueKind<'a>,
    /// `.name`.
    pub name: Option<Str<'a>>,
    /// `.type_name`.
    pub type_name: Option<Str<'a>>,
    /// `.value_type`, which LLVM no longer writes.
    pub value_type: Option<Str<'a>>,
}

impl<'a> Place<'a> {
    /// Bytes that an argument's map takes at least.
    const SMALLEST: usize = 24;

    fn read_all(reader: &mut Reader<'a>) -> Result<Vec<Self>> {
        let at = reader.offset();
        let Head::Array(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, at, ".args is not an array"));
        };
        // A count is no promise, but each argument takes bytes of the file.
        let mut places = Vec::with_capacity((count as usize).min(reader.left() / Self::SMALLEST));
        for _ in 0..count {
            places.push(Self::read(reader)?);
        }
        Ok(places)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let at = reader.offset();
        let Head::Map(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, at, "an argument is not a map"));
        };
        let (mut offset, mut size, mut value_kind) = (None, None, None);
        let (mut name, mut type_name, mut value_type) = (None, None, None);
        for _ in 0..count {
            let key = reader.key()?;
            match key.as_bytes() {
                b".offset" => take(&mut offset, key, reader, integer),
                b".size" => take(&mut size, key, reader, integer),
                b".value_kind" => take(&mut value_kind, key, reader, kind),
                b".name" => take(&mut name, key, reader, string),
                b".type_name" => take(&mut type_name, key, reader, string),
                b".value_type" => take(&mut value_type, key, reader, string),
                _ => reader.skip(),
            }?;
        }
        let missing = |key| Error::malformed(CONTEXT, at, format!("an argument has no {key}"));
        Ok(Self {
            offset: offset.ok_or_else(|| missing(".offset"))?,
            size: size.ok_or_else(|| missing(".size"))?,
            value_kind: value_kind.ok_or_else(|| missing(".value_kind"))?,
            name,
            type_name,
            value_type,
        })
    }
}

macro_rules! value_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What an argument holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ValueKind<'a> {
            $($(#[$doc])* $variant,)*
            /// A kind this crate has no name for.
            Other(Str<'a>),
        }

        impl ValueKind<'static> {
            /// Every kind that has a name.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        impl<'a> ValueKind<'a> {
            /// The kind of this name.
            pub fn from_name(name: Str<'a>) -> Self {
                match name.as_bytes() {
                    $(bytes if bytes == $name.as_bytes() => Self::$variant,)*
                    _ => Self::Other(name),
                }
            }

            /// The name in the metadata.
            pub fn name(self) -> Str<'a> {
                match self {
                    $(Self::$variant => Str::new($name.as_bytes()),)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}

value_kinds! {
    /// The bytes themselves.
    ByValue = "by_value",
    /// A pointer to global memory.
    GlobalBuffer = "global_buffer",
    /// A pointer to LDS whose size the launch decides.
    DynamicSharedPointer = "dynamic_shared_pointer",
    /// A sampler.
    Sampler = "sampler",
    /// An image.
    Image = "image",
    /// An OpenCL pipe.
    Pipe = "pipe",
    /// An OpenCL queue.
    Queue = "queue",
    /// A hidden slot that is not used.
    HiddenNone = "hidden_none",
    /// OpenCL global offset, x.
    HiddenGlobalOffsetX = "hidden_global_offset_x",
    /// OpenCL global offset, y.
    HiddenGlobalOffsetY = "hidden_global_offset_y",
    /// OpenCL global offset, z.
    HiddenGlobalOffsetZ = "hidden_global_offset_z",
    /// OpenCL printf buffer.
    HiddenPrintfBuffer = "hidden_printf_buffer",
    /// Host call buffer.
    HiddenHostcallBuffer = "hidden_hostcall_buffer",
    /// OpenCL default queue.
    HiddenDefaultQueue = "hidden_default_queue",
    /// OpenCL completion action.
    HiddenCompletionAction = "hidden_completion_action",
    /// Multi-grid synchronisation.
    HiddenMultigridSyncArg = "hidden_multigrid_sync_arg",
    /// Number of whole workgroups, x.
    HiddenBlockCountX = "hidden_block_count_x",
    /// Number of whole workgroups, y.
    HiddenBlockCountY = "hidden_block_count_y",
    /// Number of whole workgroups, z.
    HiddenBlockCountZ = "hidden_block_count_z",
    /// Workgroup size, x.
    HiddenGroupSizeX = "hidden_group_size_x",
    /// Workgroup size, y.
    HiddenGroupSizeY = "hidden_group_size_y",
    /// Workgroup size, z.
    HiddenGroupSizeZ = "hidden_group_size_z",
    /// Size of the last, partial workgroup, x.
    HiddenRemainderX = "hidden_remainder_x",
    /// Size of the last, partial workgroup, y.
    HiddenRemainderY = "hidden_remainder_y",
    /// Size of the last, partial workgroup, z.
    HiddenRemainderZ = "hidden_remainder_z",
    /// Number of grid dimensions.
    HiddenGridDims = "hidden_grid_dims",
    /// Device heap.
    HiddenHeapV1 = "hidden_heap_v1",
    /// Size of dynamic LDS.
    HiddenDynamicLdsSize = "hidden_dynamic_lds_size",
    /// High half of the private aperture.
    HiddenPrivateBase = "hidden_private_base",
    /// High half of the shared aperture.
    HiddenSharedBase = "hidden_shared_base",
    /// Queue pointer.
    HiddenQueuePtr = "hidden_queue_ptr",
}

impl ValueKind<'_> {
    /// True for arguments that the runtime supplies and the caller never sees.
    pub fn is_hidden(self) -> bool {
        self.name().as_bytes().starts_with(b"hidden_")
    }
}

/// Fills a place once: a key that stands twice is an error.
fn put<'a, T>(
    slot: &mut Option<T>,
    entry: &Entry<'a>,
    read: fn(&Entry<'a>) -> Result<T>,
) -> Result<()> {
    match slot.replace(read(entry)?) {
        None => Ok(()),
        Some(_) => Err(twice(entry.key, entry.offset)),
    }
}

/// Reads the value at the cursor into a place that is filled once.
fn take<'a, T>(
    slot: &mut Option<T>,
    key: Str<'a>,
    reader: &mut Reader<'a>,
    read: fn(&Entry<'a>) -> Result<T>,
) -> Result<()> {
    let offset = reader.offset();
    put(slot, &Entry { key, offset, value: reader.value()? }, read)
}

fn twice(key: Str<'_>, offset: u64) -> Error {
    Error::malformed(CONTEXT, offset, format!("key '{key}' twice"))
}

#[cold]
fn wrong(entry: &Entry<'_>, expected: &str) -> Error {
    let found = entry.value.kind_name();
    Error::malformed(CONTEXT, entry.offset, format!("{} is {found}, not {expected}", entry.key))
}

fn string<'a>(entry: &Entry<'a>) -> Result<Str<'a>> {
    entry.value.as_str().ok_or_else(|| wrong(entry, "a string"))
}

fn strings<'a>(entry: &Entry<'a>) -> Result<Vec<Str<'a>>> {
    let items = array(entry)?;
    items.iter().map(|it| it?.as_str().ok_or_else(|| wrong(entry, "strings"))).collect()
}

fn integer(entry: &Entry<'_>) -> Result<u64> {
    entry.value.as_u64().ok_or_else(|| wrong(entry, "a non-negative integer"))
}

fn array<'a>(entry: &Entry<'a>) -> Result<Array<'a>> {
    entry.value.as_array().ok_or_else(|| wrong(entry, "an array"))
}

fn integers<const N: usize>(entry: &Entry<'_>) -> Result<[u64; N]> {
    let expected = || wrong(entry, &format!("an array of {N} non-negative integers"));
    let items = array(entry)?.iter().map(|it| it?.as_u64().ok_or_else(expected));
    let items = items.collect::<Result<Vec<_>>>()?;
    items.try_into().map_err(|_| expected())
}

/// A boolean, or the integer 0 or 1 that LLVM writes for some.
fn flag(entry: &Entry<'_>) -> Result<bool> {
    match entry.value {
        Value::Bool(value) => Ok(value),
        Value::UInt(0) | Value::Int(0) => Ok(false),
        Value::UInt(1) | Value::Int(1) => Ok(true),
        _ => Err(wrong(entry, "a boolean, 0 or 1")),
    }
}

fn cluster_dims(entry: &Entry<'_>) -> Result<[u64; 3]> {
    let dims = integers(entry)?;
    match dims.iter().all(|dim| (1..=255).contains(dim)) {
        true => Ok(dims),
        false => {
            let detail = format!(".cluster_dims is {dims:?}; each must be 1 to 255");
            Err(Error::malformed(CONTEXT, entry.offset, detail))
        }
    }
}

fn kind<'a>(entry: &Entry<'a>) -> Result<ValueKind<'a>> {
    string(entry).map(ValueKind::from_name)
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
            ".uniform_work_group_size is an integer, not a boolean, 0 or 1"
        );
        let dims =
            |dims: &[i64]| [(".cluster_dims", dims.iter().map(|&it| Tree::from(it)).collect())];
        assert_eq!(decode(&dims(&[2, 1, 1])), Ok(()));
        assert!(refused(&dims(&[1, 1])).contains("array of 3"));
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
        assert_eq!(ValueKind::ALL.len(), 31);
        for &kind in ValueKind::ALL {
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
