//! What objects define: kernels, functions, variables; read from an object, or from an index of it.

use std::borrow::Cow;
use std::io;

use crate::source_name;
use hsaco_bytes::{Error, Str};
use hsaco_container::Container;
use hsaco_db::index::{KernelRecord, ObjectRecord, SymbolRecord};
use hsaco_elf::symbol::Symbol;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_isa::target::Generation;
use hsaco_object::{Index, Kernel, Resources};
use serde::Serialize;

/// An object, without what it defines.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectRow<'a> {
    /// Its number in the file.
    pub index: usize,
    /// The id of its entry in a container.
    pub entry_id: Option<&'a str>,
    /// The file that it is in, by its path in a package; nothing elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<Cow<'a, str>>,
    /// What that file is, by the name of the container.
    #[serde(skip)]
    pub member_container: &'a str,
    /// Where it is in the file, unless it was compressed.
    pub offset: Option<u64>,
    /// Its bytes.
    pub size: u64,
    /// Its target.
    pub target: Option<&'a str>,
    /// Of a code object.
    pub abi_version: Option<u8>,
    /// Of a code object for HSA.
    pub code_object_version: Option<u8>,
    /// What it is: `ET_DYN`, `bitcode`.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// `V6`, or the platform's name.
    #[serde(skip)]
    pub version: Option<String>,
}

impl<'a> ObjectRow<'a> {
    /// The row of an object.
    #[must_use]
    pub fn new(item: &'a ObjectItem<'_, '_>) -> Self {
        let object = item.object.as_ref();
        let hsa = object.filter(|it| it.is_hsa());
        Self {
            index: item.number,
            entry_id: item.entry.id.as_deref(),
            member: item.entry.trail.path().map(Cow::Owned),
            member_container: item
                .entry
                .trail
                .file_container()
                .unwrap_or(Container::CodeObject)
                .name(),
            offset: item.entry.offset,
            size: item.entry.data.len() as u64,
            target: item.target.as_deref(),
            abi_version: object.map(|it| it.elf().header().abi_version),
            code_object_version: hsa.and_then(|it| it.abi_version().code_object_version()),
            kind: item.kind_name(),
            version: item.version_name(),
        }
    }

    fn recorded(record: &'a ObjectRecord) -> Self {
        Self {
            index: record.number,
            entry_id: record.entry_id.as_deref(),
            member: record.member.as_ref().map(|(path, _)| path.into()),
            member_container: record.member.as_ref().map_or("", |(_, container)| container),
            offset: record.offset,
            size: record.size,
            target: record.target.as_deref(),
            abi_version: record.abi_version,
            code_object_version: record.code_object_version,
            kind: &record.kind,
            version: record.abi_version.map(|_| record.version.clone()),
        }
    }
}

/// What an index keeps of an object; what is wrong with it is noted.
pub fn record(item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> ObjectRecord {
    let row = ObjectRow::new(item);
    let mut record = ObjectRecord {
        number: row.index,
        entry_id: item.entry.id.clone(),
        member: row.member.map(|path| (path.into_owned(), row.member_container.to_owned())),
        offset: row.offset,
        size: row.size,
        target: item.target.clone(),
        kind: row.kind.to_owned(),
        version: row.version.unwrap_or_default(),
        abi_version: row.abi_version,
        code_object_version: row.code_object_version,
        ..ObjectRecord::default()
    };
    if let Some(object) = &item.object {
        record.generic_version = object.e_flags().generic_version();
        for (kernel, problem) in record.read(object) {
            match kernel {
                Some(kernel) => item.note_kernel(kernel.as_str().into(), problem, trouble),
                None => item.note(problem, trouble),
            }
        }
    }
    record
}

/// A kernel; what is not known is null.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRow<'a> {
    /// The mangled name.
    pub name: Cow<'a, str>,
    /// The name in the source.
    pub demangled: Cow<'a, str>,
    /// The name of the descriptor.
    pub symbol: Option<Cow<'a, str>>,
    /// The address of the descriptor.
    pub descriptor: Option<u64>,
    /// The address of the first instruction.
    pub entry: Option<u64>,
    /// Bytes of code.
    pub code_size: Option<u64>,
    /// Vector registers.
    pub vgprs: Option<u64>,
    /// Accumulation registers.
    pub agprs: Option<u64>,
    /// Scalar registers.
    pub sgprs: Option<u64>,
    /// Bytes of LDS.
    pub lds: Option<u64>,
    /// Bytes of scratch memory of a lane.
    pub scratch: Option<u64>,
    /// Bytes of arguments.
    pub kernarg_size: Option<u64>,
    /// Lanes of a wave.
    pub wavefront_size: Option<u64>,
    /// The most work-items of a workgroup.
    pub max_workgroup_size: Option<u64>,
}

/// Bytes that the JSON of a kernel with a name of this length is likely to take.
#[must_use]
pub fn likely_json_size(name: usize) -> usize {
    const WITHOUT_NAMES: usize = 240;
    const NAMES: usize = 4;
    WITHOUT_NAMES + NAMES * name
}

impl KernelRow<'_> {
    /// Appends the same JSON as the row serializes to, without a search of every key for what to escape.
    ///
    /// # Errors
    /// There is no memory.
    pub fn push_json(&self, json: &mut Vec<u8>) -> io::Result<()> {
        let texts = [
            ("{\"name\":", Some(&self.name)),
            (",\"demangled\":", Some(&self.demangled)),
            (",\"symbol\":", self.symbol.as_ref()),
        ];
        for (key, text) in texts {
            json.extend_from_slice(key.as_bytes());
            serde_json::to_writer(&mut *json, &text)?;
        }
        let numbers = [
            (",\"descriptor\":", self.descriptor),
            (",\"entry\":", self.entry),
            (",\"code_size\":", self.code_size),
            (",\"vgprs\":", self.vgprs),
            (",\"agprs\":", self.agprs),
            (",\"sgprs\":", self.sgprs),
            (",\"lds\":", self.lds),
            (",\"scratch\":", self.scratch),
            (",\"kernarg_size\":", self.kernarg_size),
            (",\"wavefront_size\":", self.wavefront_size),
            (",\"max_workgroup_size\":", self.max_workgroup_size),
        ];
        for (key, number) in numbers {
            json.extend_from_slice(key.as_bytes());
            serde_json::to_writer(&mut *json, &number)?;
        }
        json.push(b'}');
        Ok(())
    }
}

impl<'a> KernelRow<'a> {
    /// The row of a kernel, and what is wrong with its metadata.
    #[must_use]
    pub fn new(kernel: &Kernel<'a>, generation: Option<Generation>) -> (Self, Option<Error>) {
        let (resources, metadata) = kernel.resources(generation);
        let row = Self {
            symbol: kernel.descriptor_symbol().map(|it| it.name.to_str_lossy()),
            descriptor: kernel.descriptor_address(),
            entry: kernel.entry(),
            ..Self::known(kernel.name(), kernel.code_size(), &resources)
        };
        (row, metadata.err())
    }

    fn recorded(record: &'a KernelRecord) -> Self {
        let name = Str::new(&record.name);
        Self {
            symbol: record.symbol.as_deref().map(|name| Str::new(name).to_str_lossy()),
            descriptor: record.descriptor,
            entry: record.entry,
            ..Self::known(name, record.code_size, &record.resources)
        }
    }

    fn known(name: Str<'a>, code_size: Option<u64>, it: &Resources) -> Self {
        Self {
            name: name.to_str_lossy(),
            demangled: source_name(name),
            symbol: None,
            descriptor: None,
            entry: None,
            code_size,
            vgprs: it.vgprs,
            agprs: it.agprs,
            sgprs: it.sgprs,
            lds: it.lds,
            scratch: it.scratch,
            kernarg_size: it.kernarg_size,
            wavefront_size: it.wavefront_size,
            max_workgroup_size: it.max_workgroup_size,
        }
    }
}

/// A device function.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionRow<'a> {
    /// The mangled name.
    pub name: Cow<'a, str>,
    /// The name in the source.
    pub demangled: Cow<'a, str>,
    /// Where it is.
    pub address: u64,
    /// Bytes of code.
    pub size: u64,
}

/// A variable.
#[derive(Clone, Debug, Serialize)]
pub struct VariableRow<'a> {
    /// The mangled name.
    pub name: Cow<'a, str>,
    /// Where it is.
    pub address: u64,
    /// In bytes.
    pub size: u64,
}

/// What follows the kernels of an object.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Others<'a> {
    /// Those that kernels may call.
    pub functions: Vec<FunctionRow<'a>>,
    /// Those in global memory.
    pub variables: Vec<VariableRow<'a>>,
}

/// An object and what it defines, read from its bytes or from an index.
#[derive(Clone, Copy, Debug)]
pub enum Contents<'c, 'e> {
    /// An object that was opened.
    Read(&'c ObjectItem<'e, 'c>, &'c Index<'e>),
    /// An object that an index knows.
    Recorded(&'c ObjectRecord),
}

/// A kernel of [`Contents`].
#[derive(Clone, Copy, Debug)]
pub enum Listed<'c, 'e> {
    /// Of an object that was opened.
    Read(&'c Kernel<'e>, Option<Generation>),
    /// Of an object that an index knows.
    Recorded(&'c KernelRecord),
}

/// A symbol of [`Contents`]: its name, address and size.
pub type Named<'c> = (Str<'c>, u64, u64);

/// Lists of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolList {
    /// Device functions.
    Functions,
    /// Variables in global memory.
    Variables,
    /// Variables in LDS.
    LdsVariables,
    /// What other objects have.
    Externals,
}

impl<'c, 'e> Contents<'c, 'e> {
    /// The object.
    #[must_use]
    pub fn head(self) -> ObjectRow<'c> {
        match self {
            Self::Read(item, _) => ObjectRow::new(item),
            Self::Recorded(record) => ObjectRow::recorded(record),
        }
    }

    /// Notes what is wrong with a kernel, if anything is. What an index knows was noted when it was made.
    pub fn note(self, kernel: Str<'_>, error: Option<Error>, trouble: &mut Trouble) {
        if let (Self::Read(item, _), Some(error)) = (self, error) {
            item.note_kernel(kernel, error, trouble);
        }
    }

    /// The wanted kernels.
    #[must_use]
    pub fn kernels(self, selection: &KernelSelection) -> Vec<Listed<'c, 'e>> {
        match self {
            Self::Read(item, index) => {
                let generation = item.object.as_ref().and_then(|it| it.target().generation());
                let kernels = selection.of(index).into_iter();
                kernels.map(|it| Listed::Read(it, generation)).collect()
            }
            Self::Recorded(record) => {
                let wanted = |it: &&KernelRecord| selection.wants(Str::new(&it.name));
                record.kernels.iter().filter(wanted).map(Listed::Recorded).collect()
            }
        }
    }

    /// How many kernels are wanted.
    #[must_use]
    pub fn count(self, selection: &KernelSelection) -> usize {
        match self {
            Self::Read(_, index) if selection.is_all() => index.kernels().len(),
            Self::Recorded(record) if selection.is_all() => record.kernels.len(),
            _ => self.kernels(selection).len(),
        }
    }

    /// How many symbols a list has.
    #[must_use]
    pub fn symbol_count(self, list: SymbolList) -> usize {
        match self {
            Self::Read(_, index) => symbols(index, list).len(),
            Self::Recorded(record) => symbol_records(record, list).len(),
        }
    }

    /// The symbols of a list.
    #[must_use]
    pub fn symbols(self, list: SymbolList) -> Vec<Named<'c>>
    where
        'e: 'c,
    {
        match self {
            Self::Read(_, index) => {
                symbols(index, list).iter().map(|it| (it.name, it.value, it.size)).collect()
            }
            Self::Recorded(record) => {
                let row = |it: &'c SymbolRecord| (Str::new(&it.name), it.address, it.size);
                symbol_records(record, list).iter().map(row).collect()
            }
        }
    }

    /// Functions and variables.
    #[must_use]
    pub fn others(self) -> Others<'c>
    where
        'e: 'c,
    {
        let function = |(name, address, size): Named<'c>| FunctionRow {
            name: name.to_str_lossy(),
            demangled: source_name(name),
            address,
            size,
        };
        let variable = |(name, address, size): Named<'c>| VariableRow {
            name: name.to_str_lossy(),
            address,
            size,
        };
        Others {
            functions: self.symbols(SymbolList::Functions).into_iter().map(function).collect(),
            variables: self.symbols(SymbolList::Variables).into_iter().map(variable).collect(),
        }
    }
}

fn symbols<'i, 'e>(index: &'i Index<'e>, list: SymbolList) -> &'i [Symbol<'e>] {
    match list {
        SymbolList::Functions => index.functions(),
        SymbolList::Variables => index.variables(),
        SymbolList::LdsVariables => index.lds_variables(),
        SymbolList::Externals => index.externals(),
    }
}

fn symbol_records(record: &ObjectRecord, list: SymbolList) -> &[SymbolRecord] {
    match list {
        SymbolList::Functions => &record.functions,
        SymbolList::Variables => &record.variables,
        SymbolList::LdsVariables => &record.lds_variables,
        SymbolList::Externals => &record.externals,
    }
}

impl<'c, 'e: 'c> Listed<'c, 'e> {
    /// The mangled name.
    #[must_use]
    pub fn name(self) -> Str<'c> {
        match self {
            Self::Read(kernel, _) => kernel.name(),
            Self::Recorded(record) => Str::new(&record.name),
        }
    }

    /// Bytes of code.
    #[must_use]
    pub fn code_size(self) -> Option<u64> {
        match self {
            Self::Read(kernel, _) => kernel.code_size(),
            Self::Recorded(record) => record.code_size,
        }
    }

    /// What it takes, and what is wrong with its metadata.
    #[must_use]
    pub fn resources(self) -> (Resources, Option<Error>) {
        match self {
            Self::Read(kernel, generation) => {
                let (resources, metadata) = kernel.resources(generation);
                (resources, metadata.err())
            }
            Self::Recorded(record) => (record.resources, None),
        }
    }

    /// The whole row, and what is wrong with its metadata.
    #[must_use]
    pub fn row(self) -> (KernelRow<'c>, Option<Error>) {
        match self {
            Self::Read(kernel, generation) => KernelRow::new(kernel, generation),
            Self::Recorded(record) => (KernelRow::recorded(record), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_the_same_json_either_way() {
        let row = KernelRow {
            name: "quote\"tab\t".into(),
            demangled: "Stra\u{df}e".into(),
            symbol: None,
            descriptor: Some(u64::MAX),
            entry: None,
            code_size: Some(1),
            vgprs: Some(2),
            agprs: Some(3),
            sgprs: Some(4),
            lds: Some(5),
            scratch: Some(6),
            kernarg_size: Some(7),
            wavefront_size: Some(8),
            max_workgroup_size: Some(9),
        };
        let mut json = Vec::new();
        row.push_json(&mut json).unwrap();
        assert_eq!(json, serde_json::to_vec(&row).unwrap());
    }
}
