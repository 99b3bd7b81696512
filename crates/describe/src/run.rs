//! A run of a kernel on the emulator: which kernel, what it is given, and what came of it.
//!
//! ```
//! use hsaco_describe::run::place_arguments;
//! use hsaco_emu::{Device, Dispatch, LoadedKernel};
//! use hsaco_kernarg::{GivenArgument, Launch};
//! use hsaco_load::{Executable, Freeze};
//! # type Error = Box<dyn std::error::Error>;
//! let mut executable = Executable::new(None);
//! executable.load("run.co", std::fs::read("../../tests/fixtures/run.gfx942.co")?)?;
//! executable.freeze(Freeze::default())?;
//! let mut device = Device::new("gfx942".parse()?, 1 << 30);
//! device.load(&executable)?;
//!
//! let kernel = LoadedKernel::find(&executable, "reverse")?;
//! let launch = Launch::of_workgroups(&[1], &[64])?.with_dynamic_lds(256);
//! let launch = device.equip(launch, &kernel.layout)?;
//! let given: [GivenArgument; 1] = ["buf:u32[64]".parse()?];
//! let read = |file: &str| Ok::<_, Error>(std::fs::read(file)?);
//! let placed = place_arguments(&given, &kernel, &launch, &mut device, read)?;
//!
//! let dispatch = Dispatch::at(&mut device, &kernel.name, kernel.descriptor, launch, &placed.segment)?;
//! assert_eq!(dispatch.run()?.waves, 1);
//! let buffer = placed.buffers[&0];
//! assert_eq!(device.memory.read(buffer.address, buffer.size)?[..4], [63, 0, 0, 0]);
//! # Ok::<(), Error>(())
//! ```

mod fault;
mod row;
mod trace;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hsaco_bytes::TextError;
use hsaco_emu::{Device, Host, LoadedKernel};
use hsaco_files::KernelSelection;
use hsaco_kernarg::{ArgumentSpec, GivenArgument, Launch, Value};
use hsaco_load::Executable;
use hsaco_object::CodeObject;

pub use fault::{found_by_file, sanitizer_rule};
pub use row::{
    Answered, ErratumRow, ErrorRow, FidelityRow, Profile, ProfileRow, ReachedRow, Stopped,
    stop_message,
};
pub use trace::{Accessed, Trace, TraceLine, parse_addresses, parse_register, parse_workgroup};

/// The name of the only kernel that is wanted; one that is spelled out comes before those that a pattern fits.
///
/// # Errors
/// When there is none, or there are several.
pub fn kernel_name(
    executable: &Executable<'_>,
    wanted: &KernelSelection,
) -> Result<String, TextError> {
    let mut found = Vec::new();
    for object in executable.objects() {
        let object = CodeObject::parse(executable.object_bytes(object))?;
        for kernel in wanted.of(&object.index()) {
            found.push((wanted.names_exactly(kernel.name()), kernel.name().to_string()));
        }
    }
    if found.iter().any(|(is_exact, _)| *is_exact) {
        found.retain(|(is_exact, _)| *is_exact);
    }
    let asked = wanted.names().collect::<Vec<_>>().join("', '");
    match &found[..] {
        [(_, name)] => Ok(name.clone()),
        [] => Err(TextError::new(format!("no kernel fits '{asked}'; hsaco ls lists them"))),
        all => {
            let names: Vec<_> = all.iter().take(5).map(|it| it.1.as_str()).collect();
            let (count, names) = (all.len(), names.join(", "));
            Err(TextError::new(format!("{count} kernels fit '{asked}': {names}")))
        }
    }
}

/// Arguments that are on a device.
#[derive(Clone, Debug, Default)]
pub struct PlacedArguments {
    /// The bytes of the kernarg segment.
    pub segment: Vec<u8>,
    /// Buffers by the number of the argument.
    pub buffers: BTreeMap<usize, PlacedBuffer>,
}

/// A buffer in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedBuffer {
    /// Where it is.
    pub address: u64,
    /// Its bytes.
    pub size: usize,
    /// Whether it was said what it holds.
    pub is_filled: bool,
}

/// Packs what is given for a kernel; buffers are allocated and filled. `read` reads the files that some begin with.
///
/// # Errors
/// What is given does not fit the kernel, the device has no memory, or those of `read`.
pub fn place_arguments<E: From<TextError> + From<hsaco_emu::Error>>(
    given: &[GivenArgument],
    kernel: &LoadedKernel,
    launch: &Launch,
    device: &mut Device,
    read: impl Fn(&str) -> Result<Vec<u8>, E>,
) -> Result<PlacedArguments, E> {
    check_room(given, device.memory.left())?;
    let contents = contents(given, kernel, read)?;
    let (mut values, mut buffers) = (Vec::new(), BTreeMap::new());
    for (number, content) in contents.iter().enumerate() {
        values.push(match content {
            Content::Value(bytes) => Value::Bytes(bytes),
            Content::Buffer { bytes, is_filled } => {
                let address = device.memory.allocate(bytes.len() as u64)?;
                device.memory.write(address, bytes)?;
                let (size, is_filled) = (bytes.len(), *is_filled);
                buffers.insert(number, PlacedBuffer { address, size, is_filled });
                Value::Pointer(address)
            }
        });
    }
    Ok(PlacedArguments { segment: kernel.pack(&values, launch)?, buffers })
}

/// Whether all buffers fit the device: their bytes are made on the host first, which may have even less.
fn check_room(given: &[GivenArgument], left: u64) -> Result<(), TextError> {
    let size = |it: &GivenArgument| match &it.spec {
        ArgumentSpec::Buffer(buffer) => buffer.size() as u64,
        ArgumentSpec::Bytes(_) | ArgumentSpec::Number(_) => 0,
    };
    let sum = given.iter().map(size).fold(0, u64::saturating_add);
    if sum > left {
        let why = format!("buffers of {sum} bytes, and the device has {left} left");
        return Err(TextError::new(why));
    }
    Ok(())
}

/// What an argument is given, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Value(Vec<u8>),
    Buffer { bytes: Vec<u8>, is_filled: bool },
}

/// What the arguments of a kernel are given, in its order. `read` reads the files that buffers begin with.
pub(crate) fn contents<E: From<TextError>>(
    given: &[GivenArgument],
    kernel: &LoadedKernel,
    read: impl Fn(&str) -> Result<Vec<u8>, E>,
) -> Result<Vec<Content>, E> {
    let specs = in_order(given, kernel)?;
    let mut contents = Vec::new();
    for (number, (spec, slot)) in specs.iter().zip(kernel.layout.parameters()).enumerate() {
        contents.push(match spec {
            ArgumentSpec::Bytes(bytes) => Content::Value(bytes.to_vec()),
            ArgumentSpec::Number(given) => {
                if let Some(why) = given.mismatch(&slot.ty) {
                    let place = format!("argument {number} of {}", kernel.name);
                    return Err(TextError::new(why).within(&place).into());
                }
                Content::Value(given.bytes().to_vec())
            }
            ArgumentSpec::Buffer(buffer) => Content::Buffer {
                bytes: buffer.content(buffer.file().map(&read).transpose()?)?,
                is_filled: buffer.is_filled(),
            },
        });
    }
    Ok(contents)
}

/// What is given for each argument, in the order of the kernel.
///
/// # Errors
/// One is given twice, has no value, or is none of the kernel's.
fn in_order<'g>(
    given: &'g [GivenArgument],
    kernel: &LoadedKernel,
) -> Result<Vec<&'g ArgumentSpec>, TextError> {
    let parameters = kernel.layout.parameters();
    let name = &kernel.name;
    let counts =
        format!("{name} has {} arguments, and {} are given", parameters.len(), given.len());
    let mut specs: Vec<Option<&ArgumentSpec>> = vec![None; parameters.len()];
    let mut next = 0;
    for given in given {
        let at = match &given.name {
            Some(name) => kernel.layout.position(name)?,
            None => next,
        };
        next = at + 1;
        let place = specs.get_mut(at).ok_or_else(|| TextError::new(counts.as_str()))?;
        if place.replace(&given.spec).is_some() {
            return Err(TextError::new(format!("argument {at} of {name} is given twice")));
        }
    }
    if let Some(at) = specs.iter().position(Option::is_none) {
        let name = parameters.get(at).and_then(|it| it.name.as_deref());
        let name = name.map(|it| format!(" ({it})")).unwrap_or_default();
        return Err(TextError::new(format!("{counts}: argument {at}{name} has no value")));
    }
    Ok(specs.into_iter().flatten().collect())
}

/// Keeps what kernels print, and hands on what they say is an error.
#[derive(Debug)]
pub struct Printed<F> {
    text: Mutex<Vec<u8>>,
    error: F,
}

impl<F: Fn(&[u8])> Printed<F> {
    /// Nothing yet; `error` takes what goes to standard error.
    pub fn new(error: F) -> Self {
        Self { text: Mutex::default(), error }
    }

    /// What was printed.
    pub fn into_text(self) -> Vec<u8> {
        self.text.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Fn(&[u8]) + Sync> Host for Printed<F> {
    fn print(&self, text: &[u8], is_error: bool) {
        match is_error {
            true => (self.error)(text),
            false => self.text.lock().unwrap_or_else(PoisonError::into_inner).extend(text),
        }
    }
}
