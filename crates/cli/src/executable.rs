//! The objects of the command line in one executable: what `link` and `load` begin with.

use anyhow::Result;
use hsaco::bytes::number;
use hsaco::container::Container;
use hsaco::load::{ErrorKind, Errors, Executable};
use hsaco_describe::executable::{Found, Loader, Refused};

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
    number::parse(text).ok_or_else(|| "expected an address such as 0x7f0000000000".to_owned())
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
    let device = filter.device()?;
    let mut executable = Executable::new(device);
    for (name, address) in &together.define {
        executable.define_function(name, *address)?;
    }
    for (name, address) in &together.define_variable {
        executable.define_variable(name, *address, 0)?;
    }
    let loader = Loader::new(executable, device, places);
    let mut visitor = Loading { loader, status: Status::Fine };
    // Of a container a device takes what it runs. An object that stands alone and is for another device is told.
    let filter = ObjectFilter { device: None, ..filter.clone() };
    let mut status = scan::run(inputs, &filter, Verify::Unpacked, &mut visitor)?;
    status.note(visitor.status);
    Ok((visitor.loader.executable, status))
}

/// Loads objects as they are found, and tells what is refused.
struct Loading<'p> {
    loader: Loader<'p>,
    status: Status,
}

impl Visit for Loading<'_> {
    type Row<'e> = Found;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let is_container = file.container != Some(Container::CodeObject);
        self.loader.begin(&file.input.name, is_container);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Found> {
        Ok(self.loader.find(item, trouble)?)
    }

    fn object(&mut self, found: Found) -> Result<()> {
        let refused = self.loader.take(found);
        self.tell(refused);
        Ok(())
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        let refused = self.loader.end(error.is_some());
        self.tell(refused);
        Ok(())
    }
}

impl Loading<'_> {
    fn tell(&mut self, refused: impl IntoIterator<Item = Refused>) {
        for refused in refused {
            report::error(&refused.to_string());
            self.status.note(match &refused {
                Refused::Object { error, .. } => status_of(error.kind()),
                Refused::NothingFor { .. } => Status::Findings,
                Refused::NoObject { .. } => Status::Unreadable,
            });
            if let Refused::Object { container: Some(file), error } = refused
                && error.kind() == ErrorKind::TargetMismatch
            {
                report::error(&format!("{file}: choose one target with --target or --device"));
            }
        }
    }
}

/// What an error makes of the exit code.
fn status_of(kind: ErrorKind) -> Status {
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
