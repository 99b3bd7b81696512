//! The objects of the command line in one executable: what `link` and `load` begin with.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use hsaco::bytes::memory;
use hsaco::container::{Container, Trail};
use hsaco::db::Wanted;
use hsaco::isa::TargetId;
pub(crate) use hsaco::load::SymbolRow;
use hsaco::load::{Error, ErrorKind, Errors, Executable};

use crate::args::{Inputs, ObjectFilter};
use crate::report::{self, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};

/// What objects are put together with.
#[derive(clap::Args, Default)]
pub(crate) struct Together {
    /// A function that is already loaded, and where
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = parse_definition)]
    define: Vec<(String, u64)>,
    /// A variable that is already loaded, and where
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = parse_definition)]
    define_variable: Vec<(String, u64)>,
    /// Only report kernels that need more than they have with all that they call
    #[arg(long)]
    pub(crate) no_fix_resources: bool,
}

/// Reads `0x7f0000000000` or `4096`.
pub(crate) fn parse_address(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "expected an address such as 0x7f0000000000".to_owned())
}

pub(crate) fn parse_definition(text: &str) -> Result<(String, u64), String> {
    let (name, address) = text.rsplit_once('=').ok_or("expected NAME=ADDRESS")?;
    Ok((name.to_owned(), parse_address(address)?))
}

/// The wanted objects of all inputs, and how reading them went. `places` says where the objects of some files are
/// to be, by the file's name.
pub(crate) fn read(
    inputs: &Inputs,
    filter: &ObjectFilter,
    together: &Together,
    places: &[(String, u64)],
) -> Result<(Executable<'static>, Status)> {
    let parse =
        |text: &String| text.parse::<TargetId>().with_context(|| format!("--device {text}"));
    let device = filter.device.as_ref().map(parse).transpose()?;
    let mut executable = Executable::new(device);
    for (name, address) in &together.define {
        executable.define_function(name, *address)?;
    }
    for (name, address) in &together.define_variable {
        executable.define_variable(name, *address, 0)?;
    }
    let mut loader = Loader {
        executable,
        device,
        places,
        file: String::new(),
        is_container: false,
        status: Status::Fine,
        loaded: 0,
        candidates: Vec::new(),
        passed_over: BTreeSet::new(),
    };
    // Of a container a device takes what it runs. An object that stands alone and is for another device is told.
    let filter = ObjectFilter { device: None, ..filter.clone() };
    let mut status = scan::run(inputs, &filter, Verify::All, &mut loader)?;
    status.note(loader.status);
    Ok((loader.executable, status))
}

/// Loads objects as they are found.
struct Loader<'p> {
    executable: Executable<'static>,
    device: Option<TargetId>,
    places: &'p [(String, u64)],
    file: String,
    /// Whether the file may hold several objects.
    is_container: bool,
    status: Status,
    loaded: usize,
    /// Objects of a container that the device runs, of which it takes the closest of each bundle.
    candidates: Vec<Candidate>,
    /// The targets of those that it does not run.
    passed_over: BTreeSet<String>,
}

/// An object of a file.
struct Candidate {
    number: usize,
    target: Option<TargetId>,
    trail: Trail,
    bytes: Vec<u8>,
}

impl Visit for Loader<'_> {
    type Row<'e> = Found;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.file.clone_from(&file.input.name);
        self.is_container = file.container != Some(Container::CodeObject);
        self.loaded = 0;
        self.candidates.clear();
        self.passed_over.clear();
        Ok(())
    }

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Self::Row<'e>> {
        let Some(object) = &item.object else {
            if item.entry.kind == hsaco::container::EntryKind::Bitcode {
                let kind = hsaco::bytes::ErrorKind::Unsupported;
                let detail = "it is not compiled yet";
                trouble.note(item.place(), hsaco::bytes::Error::new(kind, "bitcode", detail));
            }
            return Ok(Found::Nothing);
        };
        let target = object.target().id();
        let wanted = self.wanted();
        if self.is_container && !wanted.takes(target, object.e_flags().generic_version()) {
            return Ok(Found::ForAnother(object.target().to_string()));
        }
        Ok(Found::Object(Candidate {
            number: item.number,
            target,
            trail: item.entry.trail.clone(),
            bytes: memory::copy(object.data(), "code object")?,
        }))
    }

    fn object(&mut self, found: Self::Row<'_>) -> Result<()> {
        match found {
            Found::Nothing => {}
            Found::ForAnother(target) => _ = self.passed_over.insert(target),
            Found::Object(object) if self.device.is_some() => self.candidates.push(object),
            Found::Object(object) => self.load(object),
        }
        Ok(())
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        let candidates = std::mem::take(&mut self.candidates);
        let are_of_one_bundle = |one: &Candidate, other: &Candidate| one.trail == other.trail;
        let chosen = self.wanted().closest(candidates, |it| it.target, are_of_one_bundle);
        chosen.into_iter().for_each(|object| self.load(object));
        if self.loaded > 0 || error.is_some() {
            return Ok(());
        }
        match self.device {
            Some(device) if !self.passed_over.is_empty() => {
                let targets: Vec<_> = self.passed_over.iter().map(String::as_str).collect();
                let targets = targets.join(", ");
                report::error(&format!(
                    "{}: no object that {device} runs is in it, only for {targets}",
                    self.file
                ));
                self.status.note(Status::Findings);
            }
            _ => {
                report::error(&format!("{}: holds no object to load", self.file));
                self.status.note(Status::Unreadable);
            }
        }
        Ok(())
    }
}

/// What an entry of a file is.
enum Found {
    Nothing,
    Object(Candidate),
    /// An object that the device does not run: its target.
    ForAnother(String),
}

impl Loader<'_> {
    fn wanted(&self) -> Wanted {
        self.device.map_or(Wanted::All, Wanted::Device)
    }

    fn load(&mut self, object: Candidate) {
        let name = match self.is_container {
            true => format!("{}[{}]", self.file, object.number),
            false => self.file.clone(),
        };
        let place = self.places.iter().find(|(file, _)| *file == self.file);
        let loaded = match place {
            Some((_, base)) => self.executable.load_at(&name, object.bytes, *base),
            None => self.executable.load(&name, object.bytes),
        };
        self.loaded += 1;
        if let Err(error) = loaded {
            self.refused(&error);
        }
    }

    fn refused(&mut self, error: &Error) {
        report::error(&error.to_string());
        if self.is_container && error.kind() == ErrorKind::TargetMismatch {
            report::error(&format!("{}: choose one target with --target or --device", self.file));
        }
        self.status.note(status_of(error.kind()));
    }
}

/// What an error makes of the exit code.
pub(crate) fn status_of(kind: ErrorKind) -> Status {
    match kind {
        ErrorKind::UnsupportedRelocation | ErrorKind::UnsupportedMetadata => Status::Unsupported,
        ErrorKind::Unreadable
        | ErrorKind::NotLinked
        | ErrorKind::NotHsa
        | ErrorKind::UnknownTarget
        | ErrorKind::BadSegment
        | ErrorKind::BadSymbol
        | ErrorKind::BadDescriptor
        | ErrorKind::BadEntry
        | ErrorKind::BadRelocation => Status::Unreadable,
        _ => Status::Findings,
    }
}

/// Tells all errors, and what they make of the exit code.
pub(crate) fn tell(errors: &Errors) -> Status {
    let mut status = Status::Fine;
    for error in errors.iter() {
        report::error(&error.to_string());
        status.note(status_of(error.kind()));
    }
    status
}

/// What kernels needed, as text has it.
pub(crate) fn needs_lines(executable: &Executable<'_>) -> Vec<String> {
    let raised = executable.raises().iter().map(|raise| {
        let done = if raise.is_applied { "raised" } else { "short" };
        format!("{done}: {}: {raise}", executable.object_name(raise.object))
    });
    raised.chain(executable.remarks().iter().map(|it| format!("unknown: {it}"))).collect()
}
