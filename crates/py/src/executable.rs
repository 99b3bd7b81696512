//! `hsaco.Executable`.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hsaco::load::{self, CallTarget, Errors, Freeze, FunctionRef, ObjectId, Symbol};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use crate::error;
use crate::pickle::{self, Reduced};
use crate::record::{dict, record};

type Record<'py> = PyResult<Bound<'py, PyAny>>;
type Records<'py> = PyResult<Vec<Bound<'py, PyAny>>>;

/// Code objects that belong together: loaded in any order, frozen, asked. All methods may be called from any thread.
///
/// A question sees the state of the moment it was asked; a change meanwhile is made to a copy.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Executable {
    executable: RwLock<Arc<load::Executable<'static>>>,
    device: Option<String>,
    /// How it came to be, for pickles: names of methods and their arguments.
    steps: Mutex<Vec<(&'static str, Py<PyTuple>)>>,
}

impl Executable {
    /// What there is now. Other threads run while one has to wait for a change.
    fn now(&self, py: Python<'_>) -> Arc<load::Executable<'static>> {
        py.detach(|| Arc::clone(&self.executable.read().unwrap_or_else(PoisonError::into_inner)))
    }

    fn note(&self, step: &'static str, arguments: Bound<'_, PyTuple>) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push((step, arguments.unbind()));
    }

    /// Changes it, while other threads run.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut load::Executable<'static>) -> T + Send,
    ) -> T {
        py.detach(|| {
            let mut now = self.executable.write().unwrap_or_else(PoisonError::into_inner);
            change(Arc::make_mut(&mut now))
        })
    }
}

#[pymethods]
impl Executable {
    /// For a device such as `gfx942:sramecc+:xnack-`, or for whatever its objects are for.
    #[new]
    #[pyo3(signature = (device = None))]
    fn new(py: Python<'_>, device: Option<&str>) -> PyResult<Self> {
        let target = device.map(|it| it.parse().map_err(|error| error::target(py, &error)));
        let executable = RwLock::new(Arc::new(load::Executable::new(target.transpose()?)));
        Ok(Self { executable, device: device.map(str::to_owned), steps: Mutex::default() })
    }

    /// Adds a code object; `name` is what messages call it, `base` where its address 0 is to be. Returns its number.
    #[pyo3(signature = (name, data, base = None))]
    #[expect(clippy::needless_pass_by_value, reason = "bytes come from Python as they are kept")]
    fn load(
        &self,
        py: Python<'_>,
        name: &str,
        data: PyBackedBytes,
        base: Option<u64>,
    ) -> PyResult<usize> {
        let step = (name, &data, base).into_pyobject(py)?;
        let data = data.to_vec();
        let loaded = self.change(py, |it| match base {
            Some(base) => it.load_at(name, data, base),
            None => it.load(name, data),
        });
        let loaded = loaded.map_err(|error| error::loading(py, &error))?;
        self.note("load", step);
        Ok(loaded.index())
    }

    /// Says where a function is that objects may call.
    fn define_function(&self, py: Python<'_>, name: &str, address: u64) -> PyResult<()> {
        let defined = self.change(py, |it| it.define_function(name, address));
        defined.map_err(|error| error::loading(py, &error))?;
        self.note("define_function", (name, address).into_pyobject(py)?);
        Ok(())
    }

    /// Says where a variable is that objects may refer to.
    #[pyo3(signature = (name, address, size = 0))]
    fn define_variable(&self, py: Python<'_>, name: &str, address: u64, size: u64) -> PyResult<()> {
        let defined = self.change(py, |it| it.define_variable(name, address, size));
        defined.map_err(|error| error::loading(py, &error))?;
        self.note("define_variable", (name, address, size).into_pyobject(py)?);
        Ok(())
    }

    /// Puts the objects together. Everything that is wrong is in one LinkError, and the executable is then as it was.
    #[pyo3(signature = (base = 0x1000, *, fix_resources = true))]
    fn freeze(&self, py: Python<'_>, base: u64, fix_resources: bool) -> PyResult<()> {
        let frozen = self.change(py, |it| it.freeze(Freeze { base, fix_resources }));
        frozen.map_err(|errors| error::linking(py, &errors))?;
        self.note("_freeze", (base, fix_resources).into_pyobject(py)?);
        Ok(())
    }

    /// What a pickle does.
    fn _freeze(&self, py: Python<'_>, base: u64, fix_resources: bool) -> PyResult<()> {
        self.freeze(py, base, fix_resources)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let steps: Vec<_> = steps.iter().map(|(name, it)| (*name, it.clone_ref(py))).collect();
        pickle::by(py, "executable", (self.device.as_deref(), steps))
    }

    /// Whether nothing can be added any more.
    #[getter]
    fn frozen(&self, py: Python<'_>) -> bool {
        self.now(py).is_frozen()
    }

    /// The target that all objects together are for.
    #[getter]
    fn target(&self, py: Python<'_>) -> Option<String> {
        self.now(py).target().map(|it| it.to_string())
    }

    /// The names of the objects, in the order in which they were loaded.
    #[getter]
    fn objects(&self, py: Python<'_>) -> Vec<String> {
        let now = self.now(py);
        now.objects().map(|it| now.object_name(it).to_owned()).collect()
    }

    /// Every symbol.
    #[getter]
    fn symbols<'py>(&self, py: Python<'py>) -> Records<'py> {
        let now = self.now(py);
        now.symbols().map(|it| symbol_record(py, &now, &it)).collect()
    }

    /// The symbol of a name: mangled or readable, with or without `.kd`.
    fn symbol<'py>(&self, py: Python<'py>, name: &str) -> Record<'py> {
        let now = self.now(py);
        match now.symbol(name) {
            Some(symbol) => symbol_record(py, &now, &symbol),
            None => Err(error::no_symbol(py, name)),
        }
    }

    /// What memory holds, segment by segment; nothing before freezing.
    #[getter]
    fn segments<'py>(&self, py: Python<'py>) -> Records<'py> {
        let now = self.now(py);
        let images = now.objects().filter_map(|it| Some((it, now.image(it)?)));
        let segments = images.flat_map(|(object, image)| {
            image.segments.iter().map(move |segment| (object, segment))
        });
        let one = |(object, segment): (ObjectId, &load::MemorySegment)| {
            let fields = dict!(py,
                object: now.object_name(object),
                address: segment.address,
                size: segment.size,
                permissions: segment.permissions().replace(' ', ""),
                data: PyBytes::new(py, &segment.bytes),
            );
            record("Segment", &fields)
        };
        segments.map(one).collect()
    }

    /// Every relocation that was applied.
    #[getter]
    fn relocations<'py>(&self, py: Python<'py>) -> Records<'py> {
        let now = self.now(py);
        let one = |it: load::AppliedRelocation<'_>| {
            let fields = dict!(py,
                object: now.object_name(it.object),
                place: it.place,
                type: it.kind.to_string(),
                symbol: it.symbol.map(|symbol| symbol.to_string()),
                provider: it.provider.map(|object| now.object_name(object)),
                addend: it.addend,
                value: it.value,
                static_: it.is_static,
            );
            record("Relocation", &fields)
        };
        now.relocations().map(one).collect()
    }

    /// Kernels that need more than they were compiled to have, with what each lacks.
    #[getter]
    fn raises<'py>(&self, py: Python<'py>) -> Records<'py> {
        let now = self.now(py);
        let one = |it: &load::Raise| {
            let shortfalls = it.shortages.iter().map(|short| {
                let fields = dict!(py,
                    resource: short.resource.name(),
                    allocated: short.allocated,
                    needed: short.needed,
                    path: short.way.clone(),
                );
                record("Shortfall", &fields)
            });
            let fields = dict!(py,
                kernel: &it.kernel,
                object: now.object_name(it.object),
                applied: it.is_applied,
                shortfalls: shortfalls.collect::<PyResult<Vec<_>>>()?,
                dynamic_stack: it.needs_dynamic_stack,
                workgroup_limit: it.workgroup_limit,
            );
            record("Raise", &fields)
        };
        now.raises().iter().map(one).collect()
    }

    /// What could not be found out about what kernels need.
    #[getter]
    fn remarks(&self, py: Python<'_>) -> Vec<String> {
        self.now(py).remarks().to_vec()
    }

    /// Every call, across objects; of one whose callee is not known, such as through a table, the functions that it may go
    /// to. Decodes all code.
    fn calls<'py>(&self, py: Python<'py>) -> Records<'py> {
        let now = self.now(py);
        let calls = py.detach(|| now.calls()).map_err(|errors| error::linking(py, &errors))?;
        let name =
            |it: &FunctionRef| it.name.clone().unwrap_or_else(|| format!("{:#x}", it.address));
        let object = |it: &FunctionRef| now.object_name(it.object).to_owned();
        // Calls share their candidates, of which there may be many.
        let of_unknown = calls.iter().find(|it| !it.candidates.is_empty());
        let of_unknown = of_unknown.map(|it| it.candidates.as_ref()).unwrap_or_default();
        let shared = [
            PyTuple::new(py, of_unknown.iter().map(name))?,
            PyTuple::new(py, of_unknown.iter().map(object))?,
        ];
        let none = [PyTuple::empty(py), PyTuple::empty(py)];
        let one = |edge: &load::CallEdge| {
            let [candidates, candidate_objects] =
                if edge.candidates.is_empty() { &none } else { &shared };
            let (callee, callee_object) = match &edge.callee {
                CallTarget::Function(callee) => (Some(name(callee)), Some(object(callee))),
                CallTarget::Defined(name) => (Some(name.clone()), None),
                CallTarget::Unknown => (None, None),
            };
            let fields = dict!(py,
                caller: name(&edge.caller),
                caller_object: object(&edge.caller),
                site: edge.site,
                kind: edge.kind.name(),
                callee: callee,
                callee_object: callee_object,
                evidence: edge.evidence.name(),
                candidates: candidates,
                candidate_objects: candidate_objects,
                crosses_objects: edge.crosses_objects(),
            );
            record("Call", &fields)
        };
        calls.iter().map(one).collect()
    }

    /// What is at an address of memory: (object, address there, symbol or None, distance from its start).
    fn locate(&self, py: Python<'_>, address: u64) -> Option<(String, u64, Option<String>, u64)> {
        let now = self.now(py);
        let found = now.locate(address)?;
        let object = now.object_name(found.object).to_owned();
        let symbol = found.symbol.map(|(symbol, _)| symbol.name().to_string());
        Some((object, found.object_address, symbol, found.symbol.map_or(0, |it| it.1)))
    }

    /// All objects as one code object.
    fn link<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let now = self.now(py);
        let linked = py.detach(|| now.link());
        linked.map(|it| PyBytes::new(py, &it)).map_err(|errors: Errors| error::linking(py, &errors))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let names = self.objects(py);
        let state = if self.frozen(py) { "frozen" } else { "open" };
        format!("<hsaco.Executable {state}: {}>", names.join(", "))
    }
}

fn symbol_record<'py>(
    py: Python<'py>,
    executable: &load::Executable<'_>,
    symbol: &Symbol<'_>,
) -> Record<'py> {
    let object = |it: &Symbol<'_>| it.object().map(|it| executable.object_name(it).to_owned());
    let provider = symbol.provider().filter(|it| it.id() != symbol.id());
    let kernel = symbol.kernel();
    let code = symbol.code();
    // Before freezing the address of code in memory is unknown.
    let code_address = code.filter(|_| executable.is_frozen()).map(|it| it.0);
    let fields = dict!(py,
        name: symbol.name().to_string(),
        demangled: symbol.readable_name(),
        symbol: symbol.symbol_name().to_string(),
        kind: symbol.kind().name(),
        object: object(symbol),
        value: symbol.value(),
        address: symbol.address(),
        size: symbol.size(),
        align: symbol.align(),
        const_: symbol.is_const(),
        definition: symbol.is_definition(),
        exported: symbol.is_exported(),
        binding: symbol.binding().name(),
        visibility: symbol.visibility().name(),
        provider: provider.and_then(|it| object(&it)),
        code_address: code_address,
        code_size: code.map(|it| it.1),
        kernarg_size: kernel.map(|it| it.kernarg_size),
        kernarg_align: kernel.map(|it| it.kernarg_align),
        group_size: kernel.map(|it| it.allocation.lds),
        private_size: kernel.map(|it| it.allocation.scratch),
        dynamic_stack: kernel.map(|it| it.allocation.has_dynamic_stack),
        wavefront_size: kernel.map(|it| it.allocation.wave.lanes()),
        vgprs: kernel.map(|it| it.allocation.vgprs),
    );
    record("Symbol", &fields)
}
