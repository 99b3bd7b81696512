//! `hsaco.Layout`, `hsaco.Launch`, packets, and what registers hold when a kernel begins.

use std::collections::HashMap;

use hsaco::bytes::{Error, ErrorKind};
use hsaco::db::IndexedKernel;
use hsaco::isa::Processor;
use hsaco::kernarg::{
    ArgumentSlot, Blob, Datum, Declaration, Declared, DispatchPacket, EntryState, Float,
    HiddenField, NativeLayout, Packet, PacketNeeds, Prepacked, Value, ValueType, Wave,
};
use hsaco::object;
use hsaco::object::metadata::{Hidden, ValueKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyTuple};

use crate::error;
use crate::handle::Kernel;
use crate::pickle::{self, Reduced};
use crate::record::{dict, record};

/// How deep lists and members of a value may be nested.
const MAX_DEPTH: usize = 32;

/// How a kernel is launched: work-items in all and of a workgroup, one number for each dimension.
///
/// `hidden` has values of hidden arguments by their names, such as `{"heap_v1": 0x1000}`.
#[pyclass(frozen, module = "hsaco", from_py_object)]
#[derive(Clone)]
pub(crate) struct Launch(pub(crate) hsaco::kernarg::Launch);

fn raised(py: Python<'_>, error: &Error) -> PyErr {
    error::raised(py, "", error)
}

#[pymethods]
impl Launch {
    #[new]
    #[pyo3(signature = (work_items, workgroup, *, dynamic_lds=0, hidden=None))]
    #[expect(clippy::needless_pass_by_value, reason = "sequences come from Python as vectors")]
    fn new(
        py: Python<'_>,
        work_items: Vec<u32>,
        workgroup: Vec<u32>,
        dynamic_lds: u32,
        hidden: Option<HiddenValues>,
    ) -> PyResult<Self> {
        let launch = hsaco::kernarg::Launch::new(&work_items, &workgroup);
        Self::with(py, launch, dynamic_lds, hidden)
    }

    /// A grid of so many whole workgroups.
    #[staticmethod]
    #[pyo3(signature = (grid, workgroup, *, dynamic_lds=0, hidden=None))]
    #[expect(clippy::needless_pass_by_value, reason = "sequences come from Python as vectors")]
    fn of_workgroups(
        py: Python<'_>,
        grid: Vec<u32>,
        workgroup: Vec<u32>,
        dynamic_lds: u32,
        hidden: Option<HiddenValues>,
    ) -> PyResult<Self> {
        let launch = hsaco::kernarg::Launch::of_workgroups(&grid, &workgroup);
        Self::with(py, launch, dynamic_lds, hidden)
    }

    /// Work-items in all; 1 in dimensions that are not used.
    #[getter]
    fn work_items(&self) -> [u32; 3] {
        self.0.work_items()
    }

    /// Work-items of a workgroup; 1 in dimensions that are not used.
    #[getter]
    fn workgroup(&self) -> [u16; 3] {
        self.0.workgroup()
    }

    /// Dimensions of the grid.
    #[getter]
    fn dimensions(&self) -> u8 {
        self.0.dimensions()
    }

    /// Bytes of LDS on top of what the kernel declares.
    #[getter]
    fn dynamic_lds(&self) -> u32 {
        self.0.dynamic_lds()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        let used = usize::from(self.0.dimensions());
        let work_items = self.0.work_items().into_iter().take(used).collect();
        let workgroup = self.0.workgroup().into_iter().take(used).map(u32::from).collect();
        let sizes: [Vec<u32>; 2] = [work_items, workgroup];
        let known = |it: &Hidden| Some((it.name(), self.0.hidden_value(*it)?));
        let hidden: HashMap<_, _> = Hidden::ALL.iter().filter_map(known).collect();
        pickle::by(py, "launch", (sizes, self.0.dynamic_lds(), hidden))
    }

    fn __repr__(&self) -> String {
        format!("Launch({:?}, {:?})", self.0.work_items(), self.0.workgroup())
    }
}

/// Values of hidden arguments by their names.
type HiddenValues = std::collections::BTreeMap<String, u64>;

impl Launch {
    fn with(
        py: Python<'_>,
        launch: Result<hsaco::kernarg::Launch, Error>,
        dynamic_lds: u32,
        hidden: Option<HiddenValues>,
    ) -> PyResult<Self> {
        let mut launch = launch.map_err(|it| raised(py, &it))?.with_dynamic_lds(dynamic_lds);
        for (name, value) in hidden.unwrap_or_default() {
            let kind = Hidden::from_name(&name).ok_or_else(|| {
                let detail = format!("no hidden argument is called {name}");
                raised(py, &Error::new(ErrorKind::NotFound, "launch", detail))
            })?;
            launch = launch.with_hidden(kind, value).map_err(|it| raised(py, &it))?;
        }
        Ok(Self(launch))
    }
}

/// Where the bytes of a kernel's arguments go.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Layout(NativeLayout, Origin);

/// Whose arguments they are.
enum Origin {
    Kernel(IndexedKernel),
    Declared(Segment),
    /// A kernel's on a device, which hands out no layout.
    Device,
}

/// The layout of a kernel, with what the debug information says of its arguments.
pub(crate) fn of_kernel(kernel: &IndexedKernel) -> Result<Layout, Error> {
    let mut layout = NativeLayout::new(&Declaration::of(&kernel.tables()?.kernel())?)?;
    hsaco::kernarg::describe(&mut layout, &kernel.arguments()?);
    Ok(Layout(layout, Origin::Kernel(kernel.clone())))
}

/// A segment that the caller declares.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    size: u64,
    alignment: u64,
    arguments: Vec<DeclaredArgument>,
}

/// Offset, size, kind and perhaps name of an argument.
type DeclaredArgument = (u64, u64, String, Option<String>);

impl Segment {
    pub(crate) fn declaration(&self) -> Declaration {
        let argument = |(offset, size, kind, name): &DeclaredArgument| {
            let kind = ValueKind::from_name(kind.as_str().into()).to_owned();
            let declared = Declared::new(*offset, *size, kind);
            match name {
                Some(name) => declared.named(name),
                None => declared,
            }
        };
        let mut declaration =
            Declaration::new(self.size, self.arguments.iter().map(argument).collect());
        declaration.alignment = Some(self.alignment).filter(|it| *it != 0);
        declaration
    }
}

/// What is odd about a prepacked buffer that was accepted.
pub(crate) fn prepacked<'py>(
    py: Python<'py>,
    accepted: &Prepacked<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let (padding, hidden, surplus) = (accepted.padding(), accepted.hidden(), accepted.surplus());
    record("Prepacked", &dict!(py, padding: padding, hidden: hidden, surplus: surplus))
}

#[pymethods]
impl Layout {
    /// The layout of arguments that the caller declares, for kernels of which no metadata says: of a segment of `size` bytes,
    /// (offset, size, kind, name) of each, where the kind is as metadata call it ("global_buffer", "by_value") and the name may be
    /// None. An alignment of 0 is one that nothing says.
    #[staticmethod]
    #[pyo3(signature = (size, arguments, *, alignment=0))]
    fn declare(
        py: Python<'_>,
        size: u64,
        arguments: Vec<DeclaredArgument>,
        alignment: u64,
    ) -> PyResult<Self> {
        let segment = Segment { size, alignment, arguments };
        let layout = NativeLayout::new(&segment.declaration()).map_err(|it| raised(py, &it))?;
        Ok(Self(layout, Origin::Declared(segment)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        match &self.1 {
            Origin::Kernel(kernel) => pickle::by(py, "layout", (Kernel(kernel.clone()),)),
            Origin::Declared(Segment { size, alignment, arguments }) => {
                pickle::by(py, "declared", (*size, *alignment, arguments.clone()))
            }
            Origin::Device => Err(PyTypeError::new_err("a layout of a device is not pickled")),
        }
    }

    /// Bytes of the segment.
    #[getter]
    fn size(&self) -> u32 {
        self.0.size()
    }

    /// What the segment's address must be a multiple of.
    #[getter]
    fn alignment(&self) -> u32 {
        self.0.alignment()
    }

    /// Bytes that a caller must bring: up to the end of the last argument of the source.
    #[getter]
    fn required(&self) -> u32 {
        self.0.required()
    }

    /// What tells layouts apart: 32 hexadecimal digits.
    #[getter]
    fn hash(&self) -> String {
        self.0.hash().to_string()
    }

    /// Where addresses of global memory stand.
    #[getter]
    fn pointer_slots(&self) -> Vec<u32> {
        self.0.pointer_slots()
    }

    /// The arguments of the source.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let parameter = |it: &ArgumentSlot| {
            let ty = it.ty.to_string();
            place(py, it.name.as_deref(), it.offset, it.size, it.kind.name(), Some(&ty))
        };
        self.0.parameters().iter().map(parameter).collect()
    }

    /// The arguments that the runtime adds.
    #[getter]
    fn hidden<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.hidden().iter().map(|it| hidden_parameter(py, it)).collect()
    }

    /// Packs values: a sequence by position, or a mapping by name.
    ///
    /// Numbers, truth values, lists and mappings become what the argument's type says; anything with a buffer (bytes,
    /// numpy's scalars and arrays) is taken as it is, and must have the argument's size.
    #[pyo3(signature = (values, launch=None))]
    fn pack<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
        launch: Option<&Launch>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.values(py, values)?;
        let values: Vec<_> = bytes.iter().map(|it| Value::Bytes(it)).collect();
        let mut segment = vec![0; self.0.size() as usize];
        let report = self.0.pack(&values, launch.map(|it| &it.0), &mut segment);
        let report = report.map_err(|it| raised(py, &it))?;
        let left_zero: Vec<_> = report.names().collect();
        record("Packed", &dict!(py, data: PyBytes::new(py, &segment), left_zero: left_zero))
    }

    /// The values in a packed buffer, which must have all of them: those of the source, then the hidden ones.
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let bytes = buffer_bytes(buffer)?;
        let arguments = self.0.unpack(&bytes).map_err(|it| raised(py, &it))?;
        let mut all = Vec::new();
        for (parameter, bytes) in arguments {
            let value = to_python(py, &parameter.ty.decode(bytes))?;
            all.push(unpacked(
                py,
                parameter.name.as_deref(),
                parameter.offset,
                parameter.kind.name(),
                value,
            )?);
        }
        for (field, bytes) in self.0.unpack_hidden(&bytes) {
            let value = to_python(py, &ValueType::unknown(field.size).decode(bytes))?;
            all.push(unpacked(py, None, field.offset, field.name(), value)?);
        }
        Ok(all)
    }

    /// Checks a prepacked buffer, and says what is odd about it; one without every argument is an error.
    fn check<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = buffer_bytes(buffer)?;
        prepacked(py, &self.0.prepacked(Blob::from(&bytes[..])).map_err(|it| raised(py, &it))?)
    }

    fn __repr__(&self) -> String {
        let (size, count) = (self.0.size(), self.0.parameters().len());
        format!("<Layout: {count} arguments in {size} bytes, {}>", self.0.hash())
    }
}

/// An argument that the runtime adds.
pub(crate) fn hidden_parameter<'py>(
    py: Python<'py>,
    it: &HiddenField,
) -> PyResult<Bound<'py, PyAny>> {
    place(py, None, it.offset, it.size, it.name(), None)
}

fn place<'py>(
    py: Python<'py>,
    name: Option<&str>,
    offset: u32,
    size: u32,
    kind: &str,
    ty: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = dict!(py, name: name, offset: offset, size: size, kind: kind);
    fields.set_item("type", ty)?;
    record("Parameter", &fields)
}

fn unpacked<'py>(
    py: Python<'py>,
    name: Option<&str>,
    offset: u32,
    kind: &str,
    value: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    record("Unpacked", &dict!(py, name: name, offset: offset, kind: kind, value: value))
}

impl Layout {
    /// The bytes of every argument, in their order.
    fn values(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
        let wrong =
            |kind, detail: String| raised(py, &Error::new(kind, "kernel arguments", detail));
        let count = self.0.parameters().len();
        let mut all: Vec<Option<Vec<u8>>> = vec![None; count];
        if let Ok(named) = values.cast::<PyDict>() {
            for (name, value) in named {
                let name: String = name.extract()?;
                let position = self.0.position(&name).map_err(|it| raised(py, &it))?;
                if let Some(place) = all.get_mut(position) {
                    *place = Some(self.value(py, position, &value)?);
                }
            }
        } else {
            let given: Vec<Bound<'_, PyAny>> = values.try_iter()?.collect::<PyResult<_>>()?;
            if given.len() != count {
                let detail = format!("{} values for {count} arguments", given.len());
                return Err(wrong(ErrorKind::Mismatch, detail));
            }
            for (position, (place, value)) in all.iter_mut().zip(&given).enumerate() {
                *place = Some(self.value(py, position, value)?);
            }
        }
        let missing = |(at, parameter): (usize, &ArgumentSlot)| {
            let name = parameter.name.as_deref().unwrap_or("without a name");
            wrong(ErrorKind::NotFound, format!("argument {at} ({name}) has no value"))
        };
        let parameters = self.0.parameters().iter().enumerate();
        all.into_iter().zip(parameters).map(|(it, at)| it.ok_or_else(|| missing(at))).collect()
    }

    pub(crate) fn new(layout: NativeLayout) -> Self {
        Self(layout, Origin::Device)
    }

    /// The bytes of one argument.
    pub(crate) fn value(
        &self,
        py: Python<'_>,
        position: usize,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<u8>> {
        let ty = self.0.parameters().get(position).map(|it| &it.ty);
        let datum = from_python(value, ty, 0).map_err(|error| {
            let wrong = PyTypeError::new_err(format!("argument {position}: {}", error.value(py)));
            wrong.set_cause(py, Some(error));
            wrong
        })?;
        self.0.encode(position, &datum).map_err(|it| raised(py, &it))
    }
}

/// A value of Python; one with a buffer is its bytes, which must be of the type's kind where both say one.
fn from_python(value: &Bound<'_, PyAny>, ty: Option<&ValueType>, depth: usize) -> PyResult<Datum> {
    if depth > MAX_DEPTH {
        return Err(PyTypeError::new_err("nested too deep"));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Datum::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Datum::Integer(value.extract()?));
    }
    // numpy's double is a float too, and says its size.
    if value.is_exact_instance_of::<PyFloat>() {
        return Ok(Datum::Float(value.extract()?));
    }
    if let Ok(members) = value.cast::<PyDict>() {
        let member = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name: String = name.extract()?;
            let inner = ty.and_then(|ty| member_type(ty, &name));
            let value = from_python(&value, inner, depth + 1)?;
            Ok((name, value))
        };
        return Ok(Datum::Record(members.iter().map(member).collect::<PyResult<_>>()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let of = ty.and_then(|ty| match ty {
            ValueType::Array { of, .. } => Some(&**of),
            _ => None,
        });
        let items = value.try_iter()?.map(|it| from_python(&it?, of, depth + 1));
        return Ok(Datum::List(items.collect::<PyResult<_>>()?));
    }
    let view = view(value)?;
    check_format(&view, ty)?;
    Ok(Datum::Bytes(view.call_method0("tobytes")?.extract()?))
}

fn member_type<'t>(ty: &'t ValueType, name: &str) -> Option<&'t ValueType> {
    match ty {
        ValueType::Record(record) => {
            record.members.iter().find(|it| it.name.as_deref() == Some(name)).map(|it| &it.ty)
        }
        _ => None,
    }
}

/// What a value shows of its memory, without a copy. The buffer protocol itself is not in the stable ABI of 3.9.
pub(crate) fn view<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let memoryview = value.py().import("builtins")?.getattr("memoryview")?;
    memoryview.call1((value,)).map_err(|_| {
        let name = value.get_type().name().map_or_else(|_| "?".to_owned(), |it| it.to_string());
        PyTypeError::new_err(format!("{name} is no number, list or mapping, and has no buffer"))
    })
}

/// Fails where the buffer holds numbers of one kind and the type is numbers of another.
fn check_format(view: &Bound<'_, PyAny>, ty: Option<&ValueType>) -> PyResult<()> {
    let format: String = view.getattr("format")?.extract().unwrap_or_default();
    let mut element = ty;
    while let Some(ValueType::Array { of, .. }) = element {
        element = Some(of);
    }
    let wanted = match (format.trim_start_matches(['<', '=', '@']), element) {
        ("b" | "h" | "i" | "l" | "q" | "H" | "I" | "L" | "Q", Some(ValueType::Float(float))) => {
            float.name()
        }
        (
            "e" | "f" | "d",
            Some(ValueType::Integer { .. } | ValueType::Bool | ValueType::Pointer { .. }),
        ) => "a whole number",
        ("e", Some(ValueType::Float(Float::Bf16))) => "bf16",
        _ => return Ok(()),
    };
    Err(PyTypeError::new_err(format!("a buffer of format '{format}' for {wanted}")))
}

pub(crate) fn buffer_bytes(buffer: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match (buffer.cast::<PyBytes>(), buffer.cast::<PyByteArray>()) {
        (Ok(bytes), _) => Ok(bytes.as_bytes().to_vec()),
        (_, Ok(bytes)) => Ok(bytes.to_vec()),
        _ => view(buffer)?.call_method0("tobytes")?.extract(),
    }
}

fn to_python<'py>(py: Python<'py>, value: &Datum) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Datum::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Datum::Integer(value) => value.into_pyobject(py)?.into_any(),
        Datum::Float(value) => PyFloat::new(py, *value).into_any(),
        Datum::List(items) => {
            let items = items.iter().map(|it| to_python(py, it)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Datum::Record(members) => {
            let all = PyDict::new(py);
            for (name, value) in members {
                all.set_item(name, to_python(py, value)?)?;
            }
            all.into_any()
        }
        Datum::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        _ => py.None().into_bound(py),
    })
}

/// What registers hold when a kernel begins.
pub(crate) fn entry(
    processor: Processor,
    kernel: &object::Kernel<'_>,
) -> Result<Option<EntryState>, Error> {
    kernel.descriptor().map(|it| EntryState::new(processor, &it)).transpose()
}

/// The registers, one record each.
pub(crate) fn entry_registers<'py>(
    py: Python<'py>,
    entry: &EntryState,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let row = |it: &hsaco::kernarg::EntryRegister| {
        let fields = dict!(py,
            register: it.register.to_string(),
            low_bit: it.bits.map(|it| it.0),
            bits: it.bits.map(|it| it.1),
            holds: it.holds.name(),
        );
        record("EntryRegister", &fields)
    };
    entry.registers().iter().map(row).collect()
}

/// The values of one wave's registers, and of one lane's; None where only the driver knows.
pub(crate) fn entry_values<'py>(
    py: Python<'py>,
    entry: &EntryState,
    wave: &Wave<'_>,
    lane: u32,
) -> PyResult<Bound<'py, PyDict>> {
    entry.check(wave, lane).map_err(|it| raised(py, &it))?;
    let values = PyDict::new(py);
    for (register, value) in entry.scalar_values(wave) {
        values.set_item(register.to_string(), value)?;
    }
    for (register, value) in entry.vector_values(wave, lane).unwrap_or_default() {
        values.set_item(register.to_string(), value)?;
    }
    Ok(values)
}

/// The 64 bytes of an AQL packet that launches a kernel, held to every rule.
#[pyfunction]
#[pyo3(signature = (
    launch, kernel_object, kernarg_address=0, *, completion_signal=0, static_lds=0, private_segment=0,
    lds_limit=u32::MAX, max_workgroup=1024,
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn dispatch_packet<'py>(
    py: Python<'py>,
    launch: &Launch,
    kernel_object: u64,
    kernarg_address: u64,
    completion_signal: u64,
    static_lds: u32,
    private_segment: u32,
    lds_limit: u32,
    max_workgroup: u32,
) -> PyResult<Bound<'py, PyBytes>> {
    let needs = PacketNeeds {
        static_lds,
        lds_limit,
        max_workgroup,
        private_segment,
        kernel_object,
        kernarg_address,
        completion_signal,
        ..PacketNeeds::default()
    };
    let packet = DispatchPacket::new(&launch.0, &needs).map_err(|it| raised(py, &it))?;
    Ok(PyBytes::new(py, &packet.to_bytes()))
}

/// What an AQL packet says, and under "problems" which rules it breaks.
#[pyfunction]
pub(crate) fn decode_packet<'py>(
    py: Python<'py>,
    packet: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let bytes = buffer_bytes(packet)?;
    let bytes: &[u8; Packet::SIZE] = bytes.as_slice().try_into().map_err(|_| {
        let (needed, available) = (Packet::SIZE as u64, bytes.len() as u64);
        raised(py, &Error::truncated("AQL packet", 0, needed, available))
    })?;
    let (packet, wrong) = Packet::decode(bytes);
    let all = dict!(py, problems: wrong.iter().map(ToString::to_string).collect::<Vec<_>>());
    all.set_item("type", packet.name())?;
    match &packet {
        Packet::Dispatch(it) => {
            let fields = dict!(py,
                fences: it.fences.to_string(),
                dimensions: it.dimensions,
                workgroup: it.workgroup.to_vec(),
                grid: it.grid.to_vec(),
                private_segment: it.private_segment,
                group_segment: it.group_segment,
                kernel_object: it.kernel_object,
                kernarg_address: it.kernarg_address,
                completion_signal: it.completion_signal,
            );
            all.update(fields.as_mapping())?;
        }
        Packet::BarrierAnd(it) | Packet::BarrierOr(it) => {
            let fields = dict!(py,
                fences: it.fences.to_string(),
                signals: it.signals.to_vec(),
                completion_signal: it.completion_signal,
            );
            all.update(fields.as_mapping())?;
        }
        Packet::Agent(it) => {
            let fields = dict!(py,
                fences: it.fences.to_string(),
                function: it.function,
                return_address: it.return_address,
                arguments: it.arguments.to_vec(),
                completion_signal: it.completion_signal,
            );
            all.update(fields.as_mapping())?;
        }
        _ => {}
    }
    Ok(all)
}
