//! One object of a file, and what is wrong with it.

use hsaco_bytes::{Error, ErrorKind, Str};
use hsaco_container::{Entry, EntryKind};
use hsaco_elf::{ELFOSABI_AMDGPU_HSA, ELFOSABI_AMDGPU_MESA3D, ELFOSABI_AMDGPU_PAL, file_type_name};
use hsaco_object::{CodeObject, Index};

use crate::select::ObjectSelection;

/// What is wrong with a part of a file.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The part; empty for all of the file.
    pub place: String,
    /// What is wrong.
    pub error: Error,
}

/// What is wrong with one object, found on whichever thread read it.
#[derive(Debug, Default)]
pub struct Trouble(Vec<Problem>);

impl Trouble {
    /// Notes what is wrong with the part that `place` names.
    pub fn note(&mut self, place: String, error: Error) {
        self.0.push(Problem { place, error });
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what another part of the work found.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

impl IntoIterator for Trouble {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// One entry that holds device code.
#[derive(Debug)]
pub struct ObjectItem<'e, 'a> {
    /// Its number in the file.
    pub number: usize,
    /// The entry.
    pub entry: &'e Entry<'a>,
    /// The code object, unless the entry is something else, such as bitcode.
    pub object: Option<CodeObject<'e>>,
    /// The target: of the object, else of the entry's id.
    pub target: Option<String>,
}

impl ObjectItem<'_, '_> {
    /// Where the object is, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.target {
            Some(target) => format!("object {} ({target})", self.number),
            None => format!("object {}", self.number),
        }
    }

    /// The name of what the entry holds: `ET_DYN`, `bitcode`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match &self.object {
            Some(object) => file_type_name(object.elf().header().e_type).unwrap_or("unknown"),
            None => self.entry.kind.name(),
        }
    }

    /// The version of a code object: `V6`, or the platform's name for objects that have no such version.
    #[must_use]
    pub fn version_name(&self) -> Option<String> {
        let object = self.object.as_ref()?;
        Some(match object.elf().header().os_abi {
            ELFOSABI_AMDGPU_HSA => object.abi_version().to_string(),
            ELFOSABI_AMDGPU_PAL => "PAL".to_owned(),
            ELFOSABI_AMDGPU_MESA3D => "Mesa".to_owned(),
            other => format!("OS ABI {other}"),
        })
    }

    /// An error of the object, as seen from the file.
    #[must_use]
    pub fn located(&self, error: Error) -> Error {
        match self.entry.offset {
            Some(offset) => error.rebased(offset),
            None => error,
        }
    }

    /// Notes what is wrong with the object.
    pub fn note(&self, error: Error, trouble: &mut Trouble) {
        trouble.note(self.place(), self.located(error));
    }

    /// Notes what is wrong with one of its kernels.
    pub fn note_kernel(&self, kernel: Str<'_>, error: Error, trouble: &mut Trouble) {
        trouble.note(format!("{}: kernel {kernel}", self.place()), self.located(error));
    }

    /// What the object defines; what is wrong with either is noted.
    pub fn index<'o>(&self, object: &CodeObject<'o>, trouble: &mut Trouble) -> Index<'o> {
        let index = object.index();
        for problem in object.problems().iter().chain(index.problems()) {
            self.note(problem.clone(), trouble);
        }
        index
    }
}

impl<'e, 'a> ObjectItem<'e, 'a> {
    /// Reads the headers of an entry that holds device code.
    pub fn new(number: usize, entry: &'e Entry<'a>, trouble: &mut Trouble) -> Self {
        let mut item = Self { number, entry, object: None, target: None };
        match item.parse() {
            Ok(Some(object)) => {
                item.target = Some(object.target().to_string());
                item.object = Some(object);
                return item;
            }
            Ok(None) => {}
            Err(error) => item.note(error, trouble),
        }
        item.target = entry.named_target().map(str::to_owned);
        item
    }

    /// The code object, or `None` where the entry is something else that is known.
    fn parse(&self) -> hsaco_bytes::Result<Option<CodeObject<'e>>> {
        match self.entry.kind {
            EntryKind::CodeObject => CodeObject::parse(&self.entry.data).map(Some),
            EntryKind::Unknown => {
                let detail = "neither ELF nor bitcode";
                Err(Error::new(ErrorKind::NotRecognised, "entry", detail).at(0))
            }
            _ => Ok(None),
        }
    }

    /// Whether a selection has it.
    #[must_use]
    pub fn is_wanted(&self, selection: &ObjectSelection) -> bool {
        match &self.object {
            Some(object) => selection.wants(self.number, object),
            None => {
                let text = self.target.as_deref().unwrap_or_default();
                selection.wants_target(self.number, text.parse().ok(), text, 0)
            }
        }
    }
}
