//! `hsaco.Device`: kernels on the CPU.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use hsaco::emu::{self, CallArgument, Limits, Outcome};
use hsaco::isa::TargetId;
use hsaco::kernarg::{Float, Launch, Value, ValueType};
use hsaco::load::{Executable, Freeze};
use hsaco::object::metadata::ValueKind;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyTuple};

use crate::error;
use crate::layout::{Layout, buffer_bytes, view};
use crate::pickle::{self, Reduced};
use crate::record::{dict, record};

/// Where the first object is loaded, and how far the next executable is behind it.
const BASE: u64 = 0x7d00_0000_0000;
const STRIDE: u64 = 1 << 36;

/// A device that runs kernels on the CPU, with so many bytes of memory.
///
/// `page_slack` lets kernels read past the end of a buffer within its last page of 4 KiB, as HIP's allocations do. All
/// methods may be called from any thread; kernels of one device run one after the other.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Device {
    device: Mutex<State>,
    target: String,
    memory: u64,
    page_slack: bool,
}

struct State {
    device: emu::Device,
    base: u64,
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (target, *, memory = 1 << 32, page_slack = false))]
    fn new(py: Python<'_>, target: &str, memory: u64, page_slack: bool) -> PyResult<Self> {
        let target = TargetId::of_device(target).map_err(|error| error::target(py, &error))?;
        let mut device = emu::Device::new(target, memory);
        if page_slack {
            device.memory = device.memory.with_page_slack();
        }
        let state = State { device, base: BASE };
        let target = target.to_string();
        Ok(Self { device: Mutex::new(state), target, memory, page_slack })
    }

    /// What it is.
    #[getter]
    fn target(&self) -> &str {
        &self.target
    }

    /// Loads a file, or bytes, that holds GPU code, or several of them as one executable; objects that the device does
    /// not run are left out.
    #[pyo3(signature = (*sources))]
    fn load(slf: &Bound<'_, Self>, sources: &Bound<'_, PyTuple>) -> PyResult<Program> {
        let py = slf.py();
        let this = slf.get();
        let mut executable = Executable::new(None);
        for source in sources {
            let options = dict!(py, device: &this.target);
            let database = py.import("hsaco")?.call_method("open", (source,), Some(&options))?;
            for object in database.getattr("objects")?.try_iter()? {
                let object = object?;
                let name: String = object.getattr("file")?.extract()?;
                let data: Vec<u8> = object.getattr("data")?.extract()?;
                let loaded = executable.load(&name, data);
                loaded.map_err(|error| error::loading(py, &error))?;
            }
        }
        let executable = py.detach(|| -> Result<_, Failure> {
            let mut state = this.lock();
            let freeze = Freeze { base: state.base, fix_resources: true };
            executable.freeze(freeze).map_err(Failure::Linking)?;
            state.base += STRIDE;
            state.device.load(&executable).map_err(Failure::Running)?;
            Ok(executable)
        });
        let executable = executable.map_err(|it| it.raise(py, None))?;
        let (device, sources) = (slf.clone().unbind(), sources.clone().unbind());
        Ok(Program { device, executable: Arc::new(executable), sources })
    }

    /// Pickled as a new device of the kind.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        pickle::by(py, "device", (&self.target, self.memory, self.page_slack))
    }

    fn __repr__(&self) -> String {
        format!("<hsaco.Device {}>", self.target)
    }
}

impl Device {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What goes wrong where Python is not at hand.
enum Failure {
    Linking(hsaco::load::Errors),
    Running(emu::Error),
    Launching(hsaco::bytes::Error),
}

impl Failure {
    fn raise(self, py: Python<'_>, executable: Option<&Executable<'_>>) -> PyErr {
        match self {
            Self::Linking(errors) => error::linking(py, &errors),
            Self::Running(error) => error::running(py, &error, executable),
            Self::Launching(error) => error::raised(py, "", &error),
        }
    }
}

/// What a device has loaded: kernels by name.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Program {
    device: Py<Device>,
    executable: Arc<Executable<'static>>,
    sources: Py<PyTuple>,
}

#[pymethods]
impl Program {
    /// The names of its kernels.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        let kernels = self.executable.symbols().filter(|it| it.kernel().is_some());
        kernels.map(|it| it.name().to_string()).collect()
    }

    /// The kernel of a name: mangled or readable.
    fn __getitem__(slf: &Bound<'_, Self>, name: &str) -> PyResult<LoadedKernel> {
        let (py, this) = (slf.py(), slf.get());
        if this.executable.symbol(name).and_then(|it| it.kernel()).is_none() {
            return Err(error::no_symbol(py, name));
        }
        let kernel = py.detach(|| emu::LoadedKernel::find(&this.executable, name));
        let kernel = kernel.map_err(|it| error::running(py, &it, None))?;
        Ok(LoadedKernel {
            program: slf.clone().unbind(),
            device: this.device.clone_ref(py),
            executable: Arc::clone(&this.executable),
            layout: Layout::new(kernel.layout.clone()),
            kernel,
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        pickle::by(py, "program", (&self.device, &self.sources))
    }

    fn __repr__(&self) -> String {
        format!("<hsaco.Program: {}>", self.kernels().join(", "))
    }
}

/// A kernel that can be called.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct LoadedKernel {
    program: Py<Program>,
    device: Py<Device>,
    executable: Arc<Executable<'static>>,
    layout: Layout,
    kernel: emu::LoadedKernel,
}

/// An argument, ready for the device.
enum Ready {
    Bytes(Vec<u8>),
    Buffer(Vec<u8>),
}

/// Prints what kernels print.
struct Standard;

impl emu::Host for Standard {
    fn print(&self, text: &[u8], is_error: bool) {
        let written = match is_error {
            true => std::io::stderr().write_all(text),
            false => std::io::stdout().write_all(text).and_then(|()| std::io::stdout().flush()),
        };
        // A closed output is no error of the kernel.
        drop(written);
    }
}

#[pymethods]
impl LoadedKernel {
    /// Its name, as the linker knows it.
    #[getter]
    fn name(&self) -> &str {
        &self.kernel.name
    }

    /// Runs it with a value for each argument, by position or by name.
    ///
    /// What has a buffer (numpy arrays, bytearrays) is copied to the device where the kernel takes a pointer, and what
    /// can be written to is copied back afterwards. Numbers become what the argument's type says. `grid` counts
    /// workgroups, `workgroup` work-items, as a number or as one for each dimension.
    #[pyo3(signature = (*args, grid, workgroup, dynamic_lds = 0, threads = 1, seed = 0,
                        max_instructions = 1 << 36, **kwargs))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        grid: Sizes,
        workgroup: Sizes,
        dynamic_lds: u32,
        threads: usize,
        seed: u64,
        max_instructions: u64,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(py, args, kwargs)?;
        let mut ready = Vec::new();
        for (position, value) in given.iter().enumerate() {
            ready.push(self.ready(py, position, value)?);
        }
        let [grid, workgroup] = same_length(grid.list(), workgroup.list());
        let limits = Limits { instructions: max_instructions, seed, ..Limits::default() };
        let ran = py.detach(|| {
            let launch = Launch::of_workgroups(&grid, &workgroup).map_err(Failure::Launching)?;
            let launch = launch.with_dynamic_lds(dynamic_lds);
            self.run(&mut ready, launch, limits, threads.clamp(1, 1024)).map_err(Failure::Running)
        });
        // What the kernel has written before it stopped is there as well.
        for (value, ready) in given.iter().zip(&ready) {
            if let Ready::Buffer(bytes) = ready {
                write_back(py, value, bytes)?;
            }
        }
        let outcome = ran.map_err(|it| it.raise(py, Some(&self.executable)))?;
        let fields = dict!(py, instructions: outcome.instructions, waves: outcome.waves);
        let fidelity = PyDict::new(py);
        for (mnemonic, (kind, count)) in &outcome.mnemonics {
            fidelity.set_item(*mnemonic, (kind.name(), *count))?;
        }
        fields.set_item("mnemonics", fidelity)?;
        record("Outcome", &fields)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        pickle::by(py, "loaded", (&self.program, &self.kernel.name))
    }

    fn __repr__(&self) -> String {
        format!("<hsaco.LoadedKernel {}>", self.kernel.name)
    }
}

impl LoadedKernel {
    /// The values in the order of the arguments.
    fn given<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut all: Vec<_> = args.iter().map(Some).collect();
        let wanted = self.kernel.layout.parameters().len();
        let count = all.len() + kwargs.map_or(0, PyDictMethods::len);
        if count != wanted {
            return Err(error::mismatch(
                py,
                &format!("{} has {wanted} arguments, and {count} are given", self.kernel.name),
            ));
        }
        all.resize(wanted, None);
        for (name, value) in kwargs.into_iter().flatten() {
            let name: String = name.extract()?;
            let position = self.kernel.layout.position(&name);
            let position = position.map_err(|it| error::raised(py, "", &it))?;
            match all.get_mut(position) {
                Some(place @ None) => *place = Some(value),
                _ => return Err(error::mismatch(py, &format!("argument {name} is given twice"))),
            }
        }
        Ok(all.into_iter().flatten().collect())
    }

    fn ready(&self, py: Python<'_>, position: usize, value: &Bound<'_, PyAny>) -> PyResult<Ready> {
        let slot = self.kernel.layout.parameters().get(position);
        let is_number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>();
        if slot.is_some_and(|it| it.kind == ValueKind::GlobalBuffer) && !is_number {
            let view = view(value)?;
            if !view.getattr("c_contiguous")?.extract::<bool>()? {
                let what = format!("argument {position} is a buffer with gaps; copy it first");
                return Err(pyo3::exceptions::PyTypeError::new_err(what));
            }
            return Ok(Ready::Buffer(buffer_bytes(value)?));
        }
        // A type that nothing says follows from the value and the size.
        if let Some(ValueType::Opaque { size }) = slot.map(|it| &it.ty)
            && value.is_exact_instance_of::<PyFloat>()
        {
            let of = match size {
                2 => Some(Float::F16),
                4 => Some(Float::F32),
                8 => Some(Float::F64),
                _ => None,
            };
            let number = hsaco::kernarg::Datum::Float(value.extract()?);
            if let Some(Ok(bytes)) = of.map(|it| ValueType::Float(it).encode(&number)) {
                return Ok(Ready::Bytes(bytes));
            }
        }
        self.layout.value(py, position, value).map(Ready::Bytes)
    }

    fn run(
        &self,
        ready: &mut [Ready],
        launch: Launch,
        limits: Limits,
        threads: usize,
    ) -> emu::Result<Outcome> {
        let mut arguments: Vec<_> = ready
            .iter_mut()
            .map(|it| match it {
                Ready::Bytes(bytes) => CallArgument::Value(Value::Bytes(bytes)),
                Ready::Buffer(bytes) => CallArgument::Buffer(bytes),
            })
            .collect();
        let mut state = self.device.get().lock();
        state.device.call(&self.kernel, launch, &mut arguments, |dispatch| {
            let dispatch = dispatch.with_limits(limits).with_host(&Standard);
            let run = emu::Run::new(&dispatch, threads);
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(|| run.work());
                }
                run.work();
            });
            run.finish()
        })
    }
}

/// A size in one dimension, or in each.
#[derive(FromPyObject)]
enum Sizes {
    One(u32),
    Each(Vec<u32>),
}

impl Sizes {
    fn list(self) -> Vec<u32> {
        match self {
            Self::One(size) => vec![size],
            Self::Each(sizes) => sizes,
        }
    }
}

/// Two lists of sizes, with ones where one of them has fewer dimensions.
fn same_length(mut one: Vec<u32>, mut other: Vec<u32>) -> [Vec<u32>; 2] {
    let length = one.len().max(other.len());
    one.resize(length, 1);
    other.resize(length, 1);
    [one, other]
}

/// Puts what the device has left into what was given, if that can be written to.
fn write_back(py: Python<'_>, value: &Bound<'_, PyAny>, bytes: &[u8]) -> PyResult<()> {
    let view = view(value)?;
    if bytes.is_empty() || view.getattr("readonly")?.extract()? {
        return Ok(());
    }
    let view = view.call_method1("cast", ("B",))?;
    view.set_item(pyo3::types::PySlice::full(py), PyBytes::new(py, bytes))
}
