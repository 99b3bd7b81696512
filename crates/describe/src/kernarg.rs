//! Where the bytes of kernels' arguments go, and prepacked buffers of them.

mod text;

use hsaco_bytes::hex::encode as hex;
use hsaco_bytes::{Error, SCHEMA_VERSION, TextError};
use hsaco_dwarf::DebugInfo;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_kernarg::{
    Arguments, Blob, Inference, KernelLayout, Launch, NativeLayout, Prepacked, UnpackedArgument,
    Value,
};
use hsaco_object::Kernel;
use serde::Serialize;

/// How arguments are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Options<'q> {
    /// Of which kernels.
    pub kernels: &'q KernelSelection,
    /// Whether arguments may be guessed.
    pub inference: Inference,
    /// Whether to say what registers hold when a kernel begins.
    pub registers: bool,
    /// Largest size that a debug section may unfold to.
    pub max_size: u64,
}

/// The layouts of an object's kernels.
#[derive(Debug, Default, Serialize)]
pub struct Layouts {
    /// By kernel.
    pub kernels: Vec<KernelLayout>,
}

impl Layouts {
    /// Lays out the arguments of all wanted kernels.
    pub fn new(item: &ObjectItem<'_, '_>, options: &Options<'_>, trouble: &mut Trouble) -> Self {
        let mut kernels = Vec::new();
        each_kernel(item, options, trouble, |kernel, arguments| {
            kernels.push(KernelLayout::new(kernel, &arguments, options.registers));
        });
        Self { kernels }
    }
}

/// Shows every wanted kernel of an object with its arguments; debug information that cannot be read is noted.
fn each_kernel(
    item: &ObjectItem<'_, '_>,
    options: &Options<'_>,
    trouble: &mut Trouble,
    mut show: impl FnMut(&Kernel<'_>, Arguments),
) {
    let Some(object) = &item.object else { return };
    let index = item.index(object, trouble);
    let kernels = options.kernels.of(&index);
    if kernels.is_empty() {
        return;
    }
    let debug = DebugInfo::open_capped(object, options.max_size);
    let opened = debug.as_ref().ok().map(|it| (it.map(), it.sections()));
    for kernel in kernels {
        show(kernel, Arguments::new(object, &index, kernel, opened, options.inference));
    }
    if let Err(error) = debug {
        item.note(error, trouble);
    }
}

/// A kernel whose arguments are packed or looked at.
#[derive(Debug)]
pub struct Subject {
    /// Its name.
    pub kernel: String,
    /// The target of its object.
    pub target: Option<String>,
    /// Its arguments.
    pub arguments: Arguments,
    place: String,
    is_exact: bool,
}

impl Subject {
    /// All kernels of an object that are wanted.
    pub fn all(
        item: &ObjectItem<'_, '_>,
        options: &Options<'_>,
        trouble: &mut Trouble,
    ) -> Vec<Self> {
        let mut found = Vec::new();
        each_kernel(item, options, trouble, |kernel, arguments| {
            found.push(Subject {
                kernel: kernel.name().to_string(),
                target: item.target.clone(),
                place: item.place(),
                is_exact: options.kernels.names_exactly(kernel.name()),
                arguments,
            });
        });
        found
    }

    /// The one kernel, if there is any: names that are exactly those asked for come first.
    ///
    /// # Errors
    /// When several kernels fit.
    pub fn only(mut found: Vec<Self>) -> Result<Option<Self>, TextError> {
        if found.len() > 1 && found.iter().any(|it| it.is_exact) {
            found.retain(|it| it.is_exact);
        }
        if found.len() > 1 {
            let places: Vec<_> =
                found.iter().map(|it| format!("{} in {}", it.kernel, it.place)).collect();
            let (shown, more) = places.split_at(places.len().min(5));
            let more =
                if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            return Err(TextError::new(format!(
                "several kernels fit: {}{more}; choose with -k, -t or --object",
                shown.join(", ")
            )));
        }
        Ok(found.pop())
    }

    /// Where the bytes of its arguments go.
    ///
    /// # Errors
    /// When that is not known, so that only prepacked buffers will do.
    pub fn layout(&self) -> Result<&NativeLayout, Error> {
        self.arguments.native.as_ref().map_err(Clone::clone)
    }

    /// Holds a buffer against its layout.
    #[must_use]
    pub fn check(&self, bytes: &[u8]) -> Checked<'_> {
        let native = self.arguments.native.as_ref();
        let accepted = match native {
            Ok(layout) => layout.prepacked(Blob::from(bytes)),
            Err(_) => self.arguments.direct.prepacked(Blob::from(bytes)),
        };
        let ok = accepted.as_ref().ok();
        let pointers = native.ok().filter(|_| ok.is_some()).map(|it| pointers(it, bytes));
        Checked {
            schema_version: SCHEMA_VERSION,
            kernel: &self.kernel,
            target: self.target.as_deref(),
            inferred_from: self.arguments.template.as_deref(),
            length: bytes.len(),
            accepted: ok.is_some(),
            refused: accepted.as_ref().err().map(ToString::to_string),
            padding: ok.map(Prepacked::padding),
            hidden: ok.map(Prepacked::hidden),
            surplus: ok.map(Prepacked::surplus),
            pointers: pointers.unwrap_or_default(),
        }
    }

    /// The values in a buffer.
    ///
    /// # Errors
    /// When its layout is not known, or the buffer is too short for it.
    pub fn unpack<'a>(&'a self, bytes: &'a [u8]) -> Result<Unpacked<'a>, Error> {
        Ok(Unpacked {
            schema_version: SCHEMA_VERSION,
            kernel: &self.kernel,
            target: self.target.as_deref(),
            inferred_from: self.arguments.template.as_deref(),
            arguments: self.layout()?.unpack_rows(bytes)?,
        })
    }

    /// The segment with these bytes of arguments, in their order, and with what a launch gives to hidden ones.
    ///
    /// # Errors
    /// When its layout is not known, or an argument has not the bytes that it should have.
    pub fn pack(
        &self,
        arguments: &[Vec<u8>],
        launch: Option<&Launch>,
    ) -> Result<Packed<'_>, Error> {
        let layout = self.layout()?;
        let values: Vec<_> = arguments.iter().map(|it| Value::Bytes(it)).collect();
        let mut segment = vec![0; layout.size() as usize];
        let left_zero = layout.pack(&values, launch, &mut segment)?.names().collect();
        Ok(Packed {
            schema_version: SCHEMA_VERSION,
            kernel: &self.kernel,
            target: self.target.as_deref(),
            size: layout.size(),
            hash: layout.hash().to_string(),
            inferred_from: self.arguments.template.as_deref(),
            bytes: hex(&segment),
            left_zero,
            segment,
        })
    }
}

fn pointers(layout: &NativeLayout, bytes: &[u8]) -> Vec<PointerRow> {
    let slot = |offset: u32| {
        let bytes = bytes.get(offset as usize..)?.first_chunk()?;
        Some(PointerRow { offset, value: u64::from_le_bytes(*bytes) })
    };
    layout.pointer_slots().into_iter().filter_map(slot).collect()
}

/// What is to be said of a prepacked buffer.
#[derive(Debug, Serialize)]
pub struct Checked<'a> {
    schema_version: u32,
    /// The kernel it is for.
    pub kernel: &'a str,
    target: Option<&'a str>,
    /// The kernel whose arguments were taken: a guess.
    pub inferred_from: Option<&'a str>,
    /// Bytes of the buffer.
    pub length: usize,
    /// Whether every byte of every visible argument is there.
    pub accepted: bool,
    /// Why it is not accepted.
    pub refused: Option<String>,
    /// Bytes of padding that the buffer leaves out.
    pub padding: Option<u32>,
    /// Bytes where hidden arguments are.
    pub hidden: Option<u64>,
    /// Bytes behind the segment.
    pub surplus: Option<u64>,
    /// Where pointers are, and which.
    pub pointers: Vec<PointerRow>,
}

/// A pointer in a buffer.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PointerRow {
    /// Where it is.
    pub offset: u32,
    /// What it points to.
    pub value: u64,
}

/// The values in a prepacked buffer.
#[derive(Debug, Serialize)]
pub struct Unpacked<'a> {
    schema_version: u32,
    kernel: &'a str,
    target: Option<&'a str>,
    /// The kernel whose arguments were taken: a guess.
    pub inferred_from: Option<&'a str>,
    /// In the order of the segment.
    pub arguments: Vec<UnpackedArgument<'a>>,
}

/// A segment that was packed.
#[derive(Debug, Serialize)]
pub struct Packed<'a> {
    schema_version: u32,
    /// The kernel it is for.
    pub kernel: &'a str,
    target: Option<&'a str>,
    size: u32,
    hash: String,
    /// The kernel whose arguments were taken: a guess.
    pub inferred_from: Option<&'a str>,
    /// The segment, in hexadecimal.
    pub bytes: String,
    /// Hidden arguments that nothing supplies.
    pub left_zero: Vec<&'a str>,
    /// The segment.
    #[serde(skip)]
    pub segment: Vec<u8>,
}
