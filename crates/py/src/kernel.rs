//! `hsaco.Kernel` and `hsaco.Block`.

use std::collections::BTreeSet;
use std::sync::Arc;

use hsaco::analysis::{BlockId, Cfg, Code, Exit, Function, LiveCounts};
use hsaco::bytes::{Error, ErrorKind, Id};
use hsaco::container::{WalkOptions, entries};
use hsaco::db;
use hsaco::draw::Graph;
use hsaco::dwarf::Spelling;
use hsaco::kernarg::{Blob, Declaration, DirectLayout, EntryState, Wave, spell};
use hsaco::object::CodeObject;
use hsaco::object::metadata::Argument;
use hsaco_describe::body::Body;
use hsaco_describe::resources::{self, Resources};
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::compact::{self, CompactLayout};
use crate::error;
use crate::handle::{Kernel, Object, Of, hash_of};
use crate::instruction;
use crate::layout::{self, Launch, Layout};
use crate::pickle::{self, Additions, Reduced};
use crate::record::{dict, parsed, record};
use crate::sequence::sequence;

/// The kernels of objects, one object after the other.
pub(crate) fn of_objects(
    py: Python<'_>,
    objects: Vec<Arc<db::Object>>,
) -> PyResult<Bound<'_, PyAny>> {
    let end = |sum: &mut usize, object: &Arc<db::Object>| {
        *sum += object.kernel_count();
        Some(*sum)
    };
    let ends: Vec<usize> = objects.iter().scan(0, end).collect();
    let length = ends.last().copied().unwrap_or(0);
    sequence(py, length, move |_, index| {
        let at = ends.partition_point(|end| *end <= index);
        let before = at.checked_sub(1).and_then(|it| ends.get(it)).copied().unwrap_or(0);
        Ok(objects.get(at).and_then(|it| it.kernel(index - before)).map(Kernel))
    })
}

impl Kernel {
    fn raised(&self, py: Python<'_>, error: &Error) -> PyErr {
        error::raised(py, self.0.object().file(), error)
    }

    /// What registers hold when it begins, or that this is unknown.
    fn begins(&self, py: Python<'_>) -> PyResult<EntryState> {
        let processor = self.0.object().target_id().map(|it| it.processor);
        let tables = self.tables(py)?;
        let found = processor.map(|it| layout::entry(it, &tables.kernel()));
        let found = found.transpose().map_err(|error| self.raised(py, &error))?;
        found.flatten().ok_or_else(|| self.raised(py, &no_tables(&self.0)))
    }

    /// What `describe` makes of the kernel's object.
    fn described(
        &self,
        py: Python<'_>,
        describe: impl FnOnce(&ObjectItem<'_, '_>, &mut Trouble) -> Option<serde_json::Result<String>>
        + Send,
    ) -> PyResult<String> {
        let text = self.detached(py, |kernel| {
            let data = kernel.object().data()?;
            let entry = entries(&data, &WalkOptions::default()).next().transpose()?;
            let mut trouble = Trouble::default();
            let text = entry.and_then(|entry| {
                describe(&ObjectItem::new(0, &entry, &mut trouble), &mut Trouble::default())
            });
            text.ok_or_else(|| no_tables(kernel))
        })?;
        text.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// What is found out about the kernel's code.
    fn of_code<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Code<'_>, &Function<'_>) -> serde_json::Result<T> + Send,
    ) -> PyResult<T> {
        let found = self.detached(py, |kernel| {
            let data = kernel.object().data()?;
            let code = Code::of(&CodeObject::parse(&data)?)?;
            let tables = kernel.tables()?;
            let function = code.kernel(&tables.kernel()).ok_or_else(|| no_tables(kernel))?;
            Ok(look(&code, function))
        })?;
        found.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn tables(&self, py: Python<'_>) -> PyResult<db::Tables<'_>> {
        self.0.tables().map_err(|error| self.raised(py, &error))
    }

    /// Does what may decode, while other threads run.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&db::IndexedKernel) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&self.0)).map_err(|error| self.raised(py, &error))
    }
}

#[pymethods]
impl Kernel {
    /// Its mangled name.
    #[getter]
    fn name(&self) -> String {
        self.0.name().to_string()
    }

    /// Its name as people read it.
    #[getter]
    fn demangled(&self) -> String {
        self.0.readable_name()
    }

    /// The code object that it is in.
    #[getter]
    fn object(&self) -> Object {
        Object(Arc::clone(self.0.object()))
    }

    /// The target of its object.
    #[getter]
    fn target(&self) -> &str {
        self.0.object().target()
    }

    /// The address of its first instruction.
    #[getter]
    fn entry(&self) -> Option<u64> {
        self.0.entry()
    }

    /// How many bytes of code it has.
    #[getter]
    fn size(&self) -> Option<usize> {
        self.0.code_size()
    }

    /// Its code.
    #[getter]
    fn code<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if self.0.code_size().is_none() {
            return Ok(None);
        }
        let code = self.detached(py, db::IndexedKernel::code)?;
        Ok(Some(PyBytes::new(py, code.as_ref())))
    }

    /// What it needs of a device; None is "not known".
    #[getter]
    fn resources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let needs = self.0.resources().map_err(|error| self.raised(py, &error))?;
        Ok(dict!(py,
            vgprs: needs.vgprs,
            agprs: needs.agprs,
            sgprs: needs.sgprs,
            lds: needs.lds,
            scratch: needs.scratch,
            kernarg_size: needs.kernarg_size,
            wavefront_size: needs.wavefront_size,
            max_workgroup_size: needs.max_workgroup_size,
        ))
    }

    /// Its arguments, as its metadata has them, hidden ones included; None if it has no metadata.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let tables = self.tables(py)?;
        let kernel = tables.kernel();
        let Some(metadata) = kernel.metadata() else { return Ok(None) };
        let metadata = metadata.decode().map_err(|error| self.raised(py, &error))?;
        let arguments = metadata.arguments().into_iter().flatten();
        let argument = |it: Result<Argument<'_>, Error>| {
            argument(py, &it.map_err(|error| self.raised(py, &error))?)
        };
        arguments.map(argument).collect::<PyResult<_>>().map(Some)
    }

    /// Its arguments with their types: the metadata joined with the debug information, hidden arguments included.
    ///
    /// Names of types are kept, or replaced by what they stand for; `keywords` writes `struct` and the like before them.
    #[pyo3(signature = (*, resolve_typedefs=false, keywords=false))]
    fn typed_arguments<'py>(
        &self,
        py: Python<'py>,
        resolve_typedefs: bool,
        keywords: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let spelling = Spelling { resolve_typedefs, keywords };
        let arguments = self.detached(py, db::IndexedKernel::arguments)?;
        let described = py.detach(|| serde_json::to_string(&spell(&arguments, spelling)));
        let text = described.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let module = py.import(pyo3::intern!(py, "hsaco._records"))?;
        module.getattr(pyo3::intern!(py, "typed_arguments"))?.call1((text,))
    }

    /// Where metadata and debug information contradict each other about its arguments, in words.
    #[getter]
    fn argument_disagreements(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let found = self.detached(py, db::IndexedKernel::arguments)?;
        Ok(found.disagreements.iter().map(ToString::to_string).collect())
    }

    /// Where the bytes of its arguments go; an error where that is not known, and only prepacked buffers will do.
    #[getter]
    fn layout(&self, py: Python<'_>) -> PyResult<Layout> {
        self.detached(py, layout::of_kernel)
    }

    /// Its arguments for a runtime that packs: bindings and constants. `marker_seen` is the caller's word that the object carries a
    /// marker of such a runtime; without it arguments are the caller's to pack, and this is an error.
    #[pyo3(signature = (*, marker_seen=false))]
    fn compact(&self, py: Python<'_>, marker_seen: bool) -> PyResult<CompactLayout> {
        self.detached(py, |kernel| compact::of_kernel(kernel, marker_seen))
    }

    /// Checks a prepacked buffer against the size of the segment alone, which is all that is known of a kernel without metadata;
    /// `layout.check` knows its arguments.
    fn check_prepacked<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = layout::buffer_bytes(buffer)?;
        let declared = self.detached(py, |kernel| Declaration::of(&kernel.tables()?.kernel()))?;
        let segment = declared.size.and_then(|it| u32::try_from(it).ok());
        let accepted = DirectLayout::new(segment).prepacked(Blob::from(&bytes[..]));
        layout::prepacked(py, &accepted.map_err(|error| self.raised(py, &error))?)
    }

    /// What registers hold when it begins.
    #[getter]
    fn entry_registers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        layout::entry_registers(py, &self.begins(py)?)
    }

    /// The values of registers when one wave of a launch begins, and those of a lane; None where only the driver knows.
    #[pyo3(signature = (
        launch, kernarg=None, *, workgroup=[0; 3], wave=0, lane=0, cluster=[1; 3], kernarg_address=None,
        dispatch_ptr=None, queue_ptr=None, dispatch_id=None, private_segment_size=None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn entry_values<'py>(
        &self,
        py: Python<'py>,
        launch: &Launch,
        kernarg: Option<Vec<u8>>,
        workgroup: [u32; 3],
        wave: u32,
        lane: u32,
        cluster: [u32; 3],
        kernarg_address: Option<u64>,
        dispatch_ptr: Option<u64>,
        queue_ptr: Option<u64>,
        dispatch_id: Option<u64>,
        private_segment_size: Option<u32>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let kernarg = kernarg.unwrap_or_default();
        let wave = Wave {
            launch: &launch.0,
            workgroup,
            wave,
            cluster,
            dispatch_ptr,
            queue_ptr,
            kernarg_address,
            kernarg: &kernarg,
            dispatch_id,
            private_segment_size,
        };
        layout::entry_values(py, &self.begins(py)?, &wave, lane)
    }

    /// Its instructions, in the order of their addresses. Decodes it, the first time.
    #[getter]
    fn instructions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.detached(py, |kernel| Ok(kernel.instructions()?.len()))?;
        instruction::sequence_of(py, Of::Kernel(self.0.clone()), 0..count)
    }

    /// Its blocks, in the order of their addresses; the first is the entry. Decodes it, the first time.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.detached(py, |kernel| Ok(kernel.blocks()?.blocks().len()))?;
        let kernel = self.0.clone();
        sequence(py, count, move |_, index| Ok(Block { kernel: kernel.clone(), index }))
    }

    /// The source lines that its code comes from, inlined ones included: files and lines, sorted.
    #[getter]
    fn lines(&self, py: Python<'_>) -> PyResult<Vec<(String, u32)>> {
        self.detached(py, |kernel| {
            let mut lines = BTreeSet::new();
            for instruction in kernel.instructions()? {
                let Some(location) = instruction.location()? else { continue };
                lines.extend(location.line.map(|line| (location.file.to_owned(), line)));
            }
            Ok(lines.into_iter().collect())
        })
    }

    /// What it needs with all that it calls, what it is given, and its occupancy: the keys of docs/json.md's `resources`.
    ///
    /// `what_if` is other amounts ("vgprs=-10,lds=-4K"), `curve` the waves for every amount, `peak` where the most registers are
    /// live, `mix` what its instructions are.
    #[pyo3(signature = (*, what_if=None, curve=false, peak=false, mix=false))]
    fn needs<'py>(
        &self,
        py: Python<'py>,
        what_if: Option<&str>,
        curve: bool,
        peak: bool,
        mix: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let what_if = what_if.map(str::parse).transpose().map_err(PyValueError::new_err)?;
        let options = resources::Options { what_if, curve, peak, mix };
        let name = self.name();
        let text = self.described(py, |item, trouble| {
            let wanted = KernelSelection::new(std::slice::from_ref(&name));
            let found = Resources::with(item, &wanted, &options, trouble);
            found.kernels.iter().find(|it| it.name == name).map(serde_json::to_string)
        })?;
        parsed(py, text)
    }

    /// Its loops, outer ones first, with the instructions and live registers of each: the keys of `loops[]` in docs/json.md's `source`.
    fn loops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.of_code(py, |code, function| {
            let debug = code.debug().ok();
            serde_json::to_string(&Body::new(code, function).loops(debug.as_ref()))
        })?;
        parsed(py, text)
    }

    /// How many registers are live before each of its instructions; None where that cannot be known.
    fn live_registers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let counts =
            self.of_code(py, |code, function| Ok(Body::new(code, function).live().to_vec()))?;
        let row = |it: &LiveCounts| {
            record("LiveRegisters", &dict!(py, vgprs: it.vgprs, agprs: it.agprs, sgprs: it.sgprs))
        };
        counts.iter().map(row).collect()
    }

    /// Its control flow as a picture.
    #[getter]
    fn graph<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (svg, dot) = self.of_code(py, |code, function| {
            let graph = Graph::new(&code.decoder(function), code.functions(), function);
            Ok((graph.to_svg(false), graph.to_dot(true)))
        })?;
        record("Graph", &dict!(py, svg: svg, dot: dot))
    }

    fn _digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        pickle::kernel_digest(py, &self.0)
    }

    /// Pickled as what was added to its database, and where it is in there.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        let (object, index) = (self.0.object(), self.0.number());
        let additions = Additions::of(py, object)?;
        let digest = self._digest(py)?;
        pickle::by(py, "kernel", (additions, object.file(), object.number(), index, digest))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import(pyo3::intern!(slf.py(), "hsaco._html"))?;
        module.call_method1("kernel", (slf,))
    }

    /// A row for a table: what it is, where it is, what it needs.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let object = self.0.object();
        let row = dict!(py,
            name: self.name(),
            demangled: self.demangled(),
            file: object.file(),
            object: object.number(),
            target: object.target(),
            entry: self.entry(),
            size: self.size(),
        );
        row.update(self.resources(py)?.as_mapping())?;
        Ok(row)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0, 0)
    }

    fn __repr__(&self) -> String {
        let object = self.0.object();
        let (name, file, number) = (self.demangled(), object.file(), object.number());
        format!("<Kernel {name}: {file}#{number}, {}>", object.target())
    }
}

/// The error for a kernel of which neither metadata nor descriptor is there.
fn no_tables(kernel: &db::IndexedKernel) -> Error {
    let detail = format!("{} has no metadata and no descriptor", kernel.name());
    Error::new(ErrorKind::NotFound, "kernel", detail)
}

fn argument<'py>(py: Python<'py>, argument: &Argument<'_>) -> PyResult<Bound<'py, PyAny>> {
    let text = |it: Option<hsaco::bytes::Str<'_>>| it.map(|it| it.to_string());
    let fields = dict!(py,
        name: text(argument.name),
        type_name: text(argument.type_name),
        offset: argument.offset,
        size: argument.size,
        kind: argument.value_kind.name().to_string(),
        hidden: argument.value_kind.is_hidden(),
        value_type: text(argument.value_type),
        address_space: text(argument.address_space),
        access: text(argument.access),
        actual_access: text(argument.actual_access),
        align: argument.align,
        pointee_align: argument.pointee_align,
        is_const: argument.is_const,
        is_restrict: argument.is_restrict,
        is_volatile: argument.is_volatile,
        is_pipe: argument.is_pipe,
    );
    record("Argument", &fields)
}

/// Instructions of a kernel that run one after the other.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Block {
    kernel: db::IndexedKernel,
    index: usize,
}

impl Block {
    /// Looks at the block; the kernel is decoded by now.
    fn with<T>(&self, py: Python<'_>, look: impl FnOnce(&Cfg, BlockId) -> T) -> PyResult<T> {
        let cfg = self.kernel.blocks().map_err(|error| error::raised(py, "", &error))?;
        let block = cfg.blocks().id(self.index).ok_or_else(|| no_such(self.index))?;
        Ok(look(cfg, block))
    }

    fn address_of(&self, py: Python<'_>, instruction: usize) -> PyResult<u64> {
        let stream = self.kernel.stream().map_err(|error| error::raised(py, "", &error))?;
        Ok(stream.1.address_of(instruction))
    }

    fn others(&self, blocks: impl Iterator<Item = BlockId>) -> Vec<Block> {
        let kernel = || self.kernel.clone();
        blocks.map(|block| Block { kernel: kernel(), index: block.index() }).collect()
    }
}

fn no_such(index: usize) -> PyErr {
    pyo3::exceptions::PyIndexError::new_err(index)
}

#[pymethods]
impl Block {
    /// Which block of the kernel it is, counted from 0.
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    /// The kernel.
    #[getter]
    fn kernel(&self) -> Kernel {
        Kernel(self.kernel.clone())
    }

    /// The address of its first instruction.
    #[getter]
    fn start(&self, py: Python<'_>) -> PyResult<u64> {
        self.address_of(py, self.with(py, |cfg, block| cfg.blocks()[block].first)?)
    }

    /// The address behind its last instruction.
    #[getter]
    fn end(&self, py: Python<'_>) -> PyResult<u64> {
        self.address_of(py, self.with(py, |cfg, block| cfg.blocks()[block].end)?)
    }

    /// Its instructions.
    #[getter]
    fn instructions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let steps = self.with(py, |cfg, block| cfg.blocks()[block].steps())?;
        instruction::sequence_of(py, Of::Kernel(self.kernel.clone()), steps)
    }

    /// The blocks that may follow it.
    #[getter]
    fn successors(&self, py: Python<'_>) -> PyResult<Vec<Block>> {
        self.with(py, |cfg, block| self.others(cfg.successors(block)))
    }

    /// The blocks that it may follow.
    #[getter]
    fn predecessors(&self, py: Python<'_>) -> PyResult<Vec<Block>> {
        self.with(py, |cfg, block| self.others(cfg.predecessors(block)))
    }

    /// How it leaves the kernel, beside its successors: "end", "return", "outside", "unknown", or None.
    #[getter]
    fn exit(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        let name = |exit| match exit {
            Exit::End => "end",
            Exit::Return => "return",
            Exit::Outside(_) => "outside",
            Exit::Unknown => "unknown",
        };
        self.with(py, |cfg, block| cfg.blocks()[block].exit.map(name))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        pickle::by(py, "block", (self.kernel(), self.index))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.index == other.index && self.kernel == other.kernel
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.kernel, self.index)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (start, end) = (self.start(py)?, self.end(py)?);
        let next: Vec<usize> =
            self.with(py, |cfg, block| cfg.successors(block).map(Id::index).collect())?;
        Ok(format!("<Block {}: {start:#x}..{end:#x}, then {next:?}>", self.index))
    }
}
