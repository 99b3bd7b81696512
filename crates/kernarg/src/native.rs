//! The native projection: the caller owns packing, and every argument is where the metadata has it.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_object::metadata::{OwnedValueKind, ValueKind};

use crate::declaration::{Declaration, Declared};
use crate::hash::{Hasher, LayoutHash};
use crate::hidden::{HiddenBlock, HiddenField, Unsupplied};
use crate::launch::Launch;
use crate::prepacked::{Blob, Prepacked};
use crate::types::{Datum, ValueType};
use crate::value::Value;
use crate::{CONTEXT, UNSTATED_ALIGNMENT, range};

/// Where the arguments of a kernel are in its segment, byte for byte as the metadata has them.
///
/// ```
/// use hsaco_kernarg::{Declaration, Declared, NativeLayout, Value};
/// use hsaco_object::metadata::ValueKind;
/// let layout = NativeLayout::new(&Declaration::new(12, vec![
///     Declared::new(0, 8, ValueKind::GlobalBuffer).named("out"),
///     Declared::new(8, 4, ValueKind::ByValue).named("n"),
/// ]))?;
/// let mut segment = [0xfd; 12];
/// layout.pack(&[Value::Pointer(0x1122), 7_u32.into()], None, &mut segment)?;
/// assert_eq!(segment, [0x22, 0x11, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
/// let mut again = [0; 12];
/// layout.pack_named(&[("n", 7_u32.into()), ("out", Value::Pointer(0x1122))], None, &mut again)?;
/// assert_eq!(segment, again);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// The compact projection is another type, with other offsets, and cannot be passed for this one:
///
/// ```compile_fail,E0308
/// fn packs_natively(_: &NativeLayout) {}
/// fn mistake(compact: &CompactLayout) {
///     packs_natively(compact);
/// }
/// ```
///
/// Nor can an argument of one be taken for an argument of the other:
///
/// ```compile_fail,E0308
/// use hsaco_kernarg::{NativeLayout, ArgumentSlot, ConstantSpan};
/// fn offset(span: &ConstantSpan) -> u32 { span.target }
/// fn mistake(layout: &NativeLayout) -> u32 {
///     offset(&layout.parameters()[0])
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NativeLayout {
    parameters: Vec<ArgumentSlot>,
    hidden: HiddenBlock,
    size: u32,
    alignment: u32,
    required: u32,
}

/// One argument of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ArgumentSlot {
    /// Its name, if the file has one.
    pub name: Option<Box<str>>,
    /// Where it begins in the segment.
    pub offset: u32,
    /// Its size.
    pub size: u32,
    /// What it holds.
    pub kind: OwnedValueKind,
    /// Its type, as far as the file says.
    pub ty: ValueType,
}

impl ArgumentSlot {
    fn new(argument: &Declared, size: u32) -> Result<Self> {
        let name = || argument.name.as_deref().unwrap_or("an argument").to_owned();
        let (offset, size) = range(argument.offset, argument.size, size, name)?;
        let said = argument.type_name.as_deref().and_then(ValueType::from_word);
        let ty = match argument.kind {
            ValueKind::GlobalBuffer | ValueKind::DynamicSharedPointer if matches!(size, 4 | 8) => {
                ValueType::Pointer { size }
            }
            _ => said.filter(|ty| ty.size() == size).unwrap_or(ValueType::unknown(size)),
        };
        let (name, kind) = (argument.name.clone(), argument.kind.clone());
        Ok(Self { name, offset, size, kind, ty })
    }

    /// Where it ends.
    pub fn end(&self) -> u32 {
        self.offset.saturating_add(self.size)
    }

    /// Its name, or its number where it has none.
    fn label(&self, position: usize) -> String {
        match &self.name {
            Some(name) => format!("argument {position} ({name})"),
            None => format!("argument {position}"),
        }
    }

    fn accept(&self, position: usize, value: &Value<'_>) -> Result<()> {
        let takes = match value {
            Value::Pointer(_) => matches!(self.kind, ValueKind::GlobalBuffer | ValueKind::ByValue),
            Value::SharedPointer(_) => {
                matches!(self.kind, ValueKind::DynamicSharedPointer | ValueKind::ByValue)
            }
            Value::Bytes(_) => true,
            _ => self.kind == ValueKind::ByValue,
        };
        if takes && value.size() == self.size as usize {
            return Ok(());
        }
        Err(self.refuse(position, value, takes))
    }

    #[cold]
    fn refuse(&self, position: usize, value: &Value<'_>, takes: bool) -> Error {
        let (label, kind) = (self.label(position), value.kind());
        let detail = match takes {
            true => format!("{label} has {} bytes, and {kind} has {}", self.size, value.size()),
            false => format!("{label} is {}, not {kind}", self.kind.name()),
        };
        Error::new(ErrorKind::Mismatch, CONTEXT, detail)
    }
}

impl NativeLayout {
    /// The layout that is declared.
    ///
    /// Arguments must be in order and not overlap, hidden ones come last, of their sizes and within the segment.
    /// Visible ones that end behind the segment make it longer.
    pub fn new(declaration: &Declaration) -> Result<Self> {
        let Some(arguments) = &declaration.arguments else {
            let detail =
                "the metadata does not say which arguments there are: prepacked buffers only";
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail));
        };
        let alignment = alignment(declaration.alignment)?;
        let mut parameters = Vec::with_capacity(arguments.len());
        let mut end = 0;
        for argument in arguments.iter().filter(|it| !it.kind.is_hidden()) {
            let parameter = ArgumentSlot::new(argument, u32::MAX)?;
            if parameter.offset < end {
                let detail = format!(
                    "{} begins at {}, and the one before it ends at {end}",
                    parameter.label(parameters.len()),
                    parameter.offset
                );
                return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
            }
            end = parameter.end();
            parameters.push(parameter);
        }
        let declared = declaration.size.map(segment_size).transpose()?;
        let segment = declared.map_or(u32::MAX, |size| size.max(end));
        let hidden = HiddenBlock::new(arguments, end, segment)?;
        let size = declared.unwrap_or_else(|| hidden.end()).max(end);
        Ok(Self { parameters, hidden, size, alignment, required: end })
    }

    /// The arguments of the source, in its order.
    pub fn parameters(&self) -> &[ArgumentSlot] {
        &self.parameters
    }

    /// The arguments that the runtime adds.
    pub fn hidden(&self) -> &[HiddenField] {
        self.hidden.fields()
    }

    /// Bytes of the segment.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What the segment's address must be a multiple of.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Bytes that a caller must bring: up to the end of the last argument of the source.
    pub fn required(&self) -> u32 {
        self.required
    }

    /// Where the caller's bytes end: at the first hidden argument, else with the segment.
    pub fn explicit_size(&self) -> u32 {
        self.hidden.base().unwrap_or(self.size)
    }

    /// Blocks of a kernarg ring that the segment takes.
    pub fn blocks(&self) -> Result<u32> {
        crate::launch::blocks(u64::from(self.size), u64::from(self.alignment))
    }

    /// Gives an argument a name that the metadata does not say, and a type of its size.
    pub fn describe(
        &mut self,
        position: usize,
        name: Option<&str>,
        ty: Option<ValueType>,
    ) -> Result<()> {
        let count = self.parameters.len();
        let Some(parameter) = self.parameters.get_mut(position) else {
            let detail = format!("argument {position} of {count}");
            return Err(Error::new(ErrorKind::NotFound, CONTEXT, detail));
        };
        if let Some(ty) = ty {
            if ty.size() != parameter.size {
                let (label, size) = (parameter.label(position), parameter.size);
                let detail = format!("{label} has {size} bytes, and its type has {}", ty.size());
                return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail));
            }
            parameter.ty = ty;
        }
        if parameter.name.is_none() {
            parameter.name = name.map(Into::into);
        }
        Ok(())
    }

    /// Packs values by position into the first [`size`](Self::size) bytes of `out`; all of them are written, and none
    /// behind them. Nothing is written where anything is wrong, and nothing is allocated where nothing is.
    pub fn pack(
        &self,
        values: &[Value<'_>],
        launch: Option<&Launch>,
        out: &mut [u8],
    ) -> Result<Unsupplied<'_>> {
        if values.len() != self.parameters.len() {
            let (given, wanted) = (values.len(), self.parameters.len());
            let detail = format!("{given} values for {wanted} arguments");
            return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail));
        }
        for (position, (parameter, value)) in self.parameters.iter().zip(values).enumerate() {
            parameter.accept(position, value)?;
        }
        let segment = self.segment(out)?;
        segment.fill(0);
        for (parameter, value) in self.parameters.iter().zip(values) {
            place(segment, parameter, value);
        }
        Ok(self.hidden.write(launch, segment))
    }

    /// Packs values by name, in any order; each argument must have one.
    pub fn pack_named(
        &self,
        values: &[(&str, Value<'_>)],
        launch: Option<&Launch>,
        out: &mut [u8],
    ) -> Result<Unsupplied<'_>> {
        for (at, (name, _)) in values.iter().enumerate() {
            self.position(name)?;
            if values.iter().take(at).any(|(other, _)| other == name) {
                let detail = format!("argument {name} is given twice");
                return Err(Error::new(ErrorKind::Ambiguous, CONTEXT, detail));
            }
        }
        let value_of = |position: usize, parameter: &ArgumentSlot| {
            let named = |it: &&(&str, Value<'_>)| parameter.name.as_deref() == Some(it.0);
            values.iter().find(named).map(|it| &it.1).ok_or_else(|| {
                let detail = format!("{} has no value", parameter.label(position));
                Error::new(ErrorKind::NotFound, CONTEXT, detail)
            })
        };
        for (position, parameter) in self.parameters.iter().enumerate() {
            parameter.accept(position, value_of(position, parameter)?)?;
        }
        let segment = self.segment(out)?;
        segment.fill(0);
        for (position, parameter) in self.parameters.iter().enumerate() {
            place(segment, parameter, value_of(position, parameter)?);
        }
        Ok(self.hidden.write(launch, segment))
    }

    /// Which argument has this name.
    pub fn position(&self, name: &str) -> Result<usize> {
        let named = |it: &ArgumentSlot| it.name.as_deref() == Some(name);
        let mut found = (0..).zip(&self.parameters).filter(|(_, it)| named(it)).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(position), None) => Ok(position),
            (Some(_), Some(_)) => {
                let detail = format!("several arguments are called {name}; give them by position");
                Err(Error::new(ErrorKind::Ambiguous, CONTEXT, detail))
            }
            (None, _) => {
                let names: Vec<_> =
                    self.parameters.iter().filter_map(|it| it.name.as_deref()).collect();
                let known = match names.is_empty() {
                    true => "no argument has a name, give them by position".to_owned(),
                    false => format!("there are {}", names.join(", ")),
                };
                let detail = format!("no argument is called {name}; {known}");
                Err(Error::new(ErrorKind::NotFound, CONTEXT, detail))
            }
        }
    }

    /// Replaces the value of one argument in a packed segment; one that does not fit leaves the old bytes.
    pub fn replace(&self, position: usize, value: &Value<'_>, segment: &mut [u8]) -> Result<()> {
        let count = self.parameters.len();
        let parameter = self.parameters.get(position).ok_or_else(|| {
            let detail = format!("argument {position} of {count}");
            Error::new(ErrorKind::NotFound, CONTEXT, detail)
        })?;
        parameter.accept(position, value)?;
        let segment = self.segment(segment)?;
        place(segment, parameter, value);
        Ok(())
    }

    /// The bytes of an argument's value, by its type.
    pub fn encode(&self, position: usize, value: &Datum) -> Result<Vec<u8>> {
        let parameter = self.parameters.get(position).ok_or_else(|| {
            let detail = format!("argument {position} of {}", self.parameters.len());
            Error::new(ErrorKind::NotFound, CONTEXT, detail)
        })?;
        parameter.ty.encode(value).map_err(|error| {
            let detail = format!("{}: {}", parameter.label(position), error.detail());
            Error::new(error.kind(), CONTEXT, detail)
        })
    }

    /// Each argument with its bytes in a packed segment, which must have all of them.
    pub fn unpack<'s>(
        &'s self,
        segment: &'s [u8],
    ) -> Result<impl Iterator<Item = (&'s ArgumentSlot, &'s [u8])>> {
        self.prepacked(Blob::from(segment))?;
        Ok(self.parameters.iter().filter_map(|parameter| {
            let bytes = segment.get(parameter.offset as usize..parameter.end() as usize)?;
            Some((parameter, bytes))
        }))
    }

    /// Each hidden argument with its bytes in a packed segment; those that it has not are left out.
    pub fn unpack_hidden<'s>(
        &'s self,
        segment: &'s [u8],
    ) -> impl Iterator<Item = (&'s HiddenField, &'s [u8])> {
        self.hidden().iter().filter_map(|field| {
            Some((field, segment.get(field.offset as usize..field.end() as usize)?))
        })
    }

    /// Accepts a buffer that the caller has packed: exactly when every byte of every visible argument is there.
    pub fn prepacked<'b>(&self, blob: Blob<'b>) -> Result<Prepacked<'b>> {
        let last =
            self.parameters.iter().enumerate().find(|(_, it)| u64::from(it.end()) > blob.length);
        if let Some((position, parameter)) = last {
            let detail = format!(
                "{} ends at {}, and the buffer has {} bytes of {}",
                parameter.label(position),
                parameter.end(),
                blob.length,
                self.required
            );
            return Err(Error::new(ErrorKind::Truncated, CONTEXT, detail));
        }
        Prepacked::new(blob, self.explicit_size(), self.size)
    }

    /// Writes an accepted buffer into the first [`size`](Self::size) bytes of `out`, with hidden arguments of this
    /// launch; padding is zero.
    pub fn write_prepacked(
        &self,
        buffer: &Prepacked<'_>,
        launch: Option<&Launch>,
        out: &mut [u8],
    ) -> Result<Unsupplied<'_>> {
        let bytes = buffer.explicit();
        if bytes.len() < self.required as usize || bytes.len() > self.explicit_size() as usize {
            let detail = "the buffer was accepted for another layout";
            return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail));
        }
        let segment = self.segment(out)?;
        segment.fill(0);
        segment.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        Ok(self.hidden.write(launch, segment))
    }

    /// Where addresses of global memory stand, for a caller that has to translate them: pointer arguments, and
    /// pointers in structures whose type is known.
    pub fn pointer_slots(&self) -> Vec<u32> {
        let mut slots = Vec::new();
        for parameter in &self.parameters {
            match parameter.kind {
                ValueKind::GlobalBuffer if parameter.size == 8 => slots.push(parameter.offset),
                ValueKind::ByValue => parameter.ty.pointers(parameter.offset, &mut slots),
                _ => {}
            }
        }
        slots
    }

    /// What tells layouts apart: the same for the same places and kinds, whatever names and types are known.
    pub fn hash(&self) -> LayoutHash {
        let mut hasher = Hasher::new("native");
        hasher.number(self.size);
        hasher.number(self.alignment);
        for parameter in &self.parameters {
            hasher.argument(parameter.offset, parameter.size, parameter.kind.name());
        }
        for field in self.hidden() {
            hasher.argument(field.offset, field.size, field.name());
        }
        hasher.finish()
    }

    /// Fails unless `recorded` is this layout's hash: bytes packed for another layout mean something else here.
    pub fn check_hash(&self, recorded: LayoutHash) -> Result<()> {
        let hash = self.hash();
        if hash == recorded {
            return Ok(());
        }
        let detail = format!("the buffer was packed for layout {recorded}, and this one is {hash}");
        Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail))
    }

    fn segment<'o>(&self, out: &'o mut [u8]) -> Result<&'o mut [u8]> {
        let available = out.len() as u64;
        out.get_mut(..self.size as usize)
            .ok_or_else(|| Error::truncated(CONTEXT, 0, u64::from(self.size), available))
    }
}

#[inline]
fn place(segment: &mut [u8], parameter: &ArgumentSlot, value: &Value<'_>) {
    if let Some(target) = segment.get_mut(parameter.offset as usize..parameter.end() as usize) {
        value.write(target);
    }
}

pub(crate) fn alignment(declared: Option<u64>) -> Result<u32> {
    let Some(alignment) = declared else { return Ok(UNSTATED_ALIGNMENT) };
    let power = Some(alignment).filter(|it| it.is_power_of_two());
    power.and_then(|it| u32::try_from(it).ok()).ok_or_else(|| {
        let detail = format!("an alignment of {alignment}, no power of two below 2^32");
        Error::new(ErrorKind::Malformed, CONTEXT, detail)
    })
}

pub(crate) fn segment_size(size: u64) -> Result<u32> {
    u32::try_from(size).map_err(|_| {
        let detail = format!("a segment of {size} bytes, more than 2^32 - 1");
        Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
    })
}
