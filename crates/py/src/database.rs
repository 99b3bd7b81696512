//! `hsaco.Database`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hsaco::bytes::{Error, ErrorKind, Str};
use hsaco::db::{self, Content, Data, Wanted, Which};
use hsaco_files::FileError;
use hsaco_files::input::{Input, Unopened, inputs, stored_inputs};
use pyo3::exceptions::{PyIsADirectoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView, PyRange};

use crate::error;
use crate::filter::Filter;
use crate::handle::{Kernel, Object};
use crate::kernel;
use crate::pickle::{self, Additions, Reduced};
use crate::record::{dict, record};
use crate::sequence::sequence;

/// The kernels of many files: indexed by name, decoded when they are first asked for.
///
/// Of files only what is asked for is read, when it is asked for; a file that is not as it was when it was added is an error.
/// All methods may be called from any thread.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Database {
    kernels: db::Database,
    additions: Arc<Additions>,
    problems: Mutex<Vec<Problem>>,
}

/// What could not be read, and in which file.
struct Problem {
    file: String,
    what: What,
}

enum What {
    Unopened(FileError),
    Broken(Error),
}

impl Problem {
    fn exception(&self, py: Python<'_>) -> PyErr {
        match &self.what {
            What::Unopened(error) => error::unopened(&self.file, error),
            What::Broken(error) => error::raised(py, &self.file, error),
        }
    }
}

impl From<Unopened> for Problem {
    fn from(Unopened { name, error }: Unopened) -> Self {
        Problem { file: name, what: What::Unopened(error) }
    }
}

/// What bytes without a name are called.
const UNNAMED: &str = "<bytes>";

/// Where code comes from.
pub(crate) enum Source {
    Path(OsString),
    Bytes(PyBackedBytes),
}

impl Source {
    /// The one file that it stands for.
    pub(crate) fn read(self) -> PyResult<Input> {
        let path = match self {
            Source::Bytes(bytes) => return Ok(Input::from_bytes(UNNAMED, bytes.to_vec())),
            Source::Path(path) => path,
        };
        if Path::new(&path).is_dir() {
            return Err(PyIsADirectoryError::new_err(path));
        }
        let missing = || PyValueError::new_err("there is no such file");
        let input = inputs(&[path]).next().ok_or_else(missing)?;
        input.map_err(|it| error::unopened(&it.name, &it.error))
    }

    pub(crate) fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = source.extract::<PyBackedBytes>() {
            return Ok(Source::Bytes(bytes));
        }
        if source.is_instance_of::<PyMemoryView>() {
            let bytes = source.py().get_type::<PyBytes>().call1((source,))?;
            return Ok(Source::Bytes(bytes.extract()?));
        }
        let not_a_source =
            |_| PyTypeError::new_err("expected a path or bytes that hold AMD GPU code");
        let path: PathBuf = source.extract().map_err(not_a_source)?;
        // What the command takes for standard input is a file here.
        let path = if path.as_os_str() == "-" { PathBuf::from("./-") } else { path };
        Ok(Source::Path(path.into_os_string()))
    }
}

impl<'py> IntoPyObject<'py> for &Source {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(match self {
            Source::Path(path) => path.into_pyobject(py)?.into_any(),
            Source::Bytes(bytes) => bytes.into_pyobject(py)?.into_any(),
        })
    }
}

/// What adding brought.
#[derive(Default)]
struct Added {
    objects: Vec<Arc<db::Object>>,
    problems: Vec<Problem>,
    /// Why a file of a directory brought nothing.
    passed_over: Option<Error>,
}

impl Added {
    fn take(&mut self, file: &str, is_found: bool, result: Result<db::Added, Error>) {
        let problem = |error: Error| Problem { file: file.to_owned(), what: What::Broken(error) };
        match result {
            Ok(added) => {
                self.objects.extend(added.objects);
                self.problems.extend(added.problems.into_iter().map(problem));
            }
            Err(error) if is_found && is_no_code(&error) => {
                self.passed_over.get_or_insert(error);
            }
            Err(error) => self.problems.push(problem(error)),
        }
    }
}

/// Whether a file is simply none of ours.
fn is_no_code(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotRecognised | ErrorKind::NotFound)
}

/// Which objects are wanted: those of a target, those that a device runs, or all.
fn wanted(py: Python<'_>, target: Option<&str>, device: Option<&str>) -> PyResult<Wanted> {
    let parse = |text: &str| text.parse().map_err(|error| error::target(py, &error));
    match (target, device) {
        (None, None) => Ok(Wanted::All),
        (Some(target), None) => parse(target).map(Wanted::Target),
        (None, Some(device)) => parse(device).map(Wanted::Device),
        (Some(_), Some(_)) => Err(PyValueError::new_err("target and device exclude each other")),
    }
}

impl Database {
    fn load(
        &self,
        source: Source,
        name: Option<String>,
        objects: Wanted,
        filter: Option<&Filter>,
    ) -> Added {
        let is_wanted = filter.map(|filter| |name: Str<'_>| filter.is_wanted(name));
        let kernels = is_wanted.as_ref().map(|it| it as &dyn Fn(Str<'_>) -> bool);
        let which = Which { objects, kernels };
        let add = |name: &str, content: Content| self.kernels.add_some(name, content, &which);
        let mut added = Added::default();
        match source {
            Source::Bytes(bytes) => {
                let name = name.unwrap_or_else(|| UNNAMED.to_owned());
                added.take(&name, false, add(&name, Data::new(bytes).into()));
            }
            Source::Path(path) => {
                for input in stored_inputs(&[path]) {
                    match input {
                        Ok(input) => {
                            let own = name.as_ref().filter(|_| !input.found);
                            let name = own.unwrap_or(&input.name).clone();
                            added.take(&name, input.found, add(&name, input.content));
                        }
                        Err(unopened) => added.problems.push(unopened.into()),
                    }
                }
            }
        }
        added
    }

    /// Keeps the problems; where they are all there is, raises the first.
    fn settle(&self, py: Python<'_>, added: Added, place: &str) -> PyResult<Vec<Object>> {
        if added.objects.is_empty() {
            let nothing = || {
                let detail = "no AMD GPU code object is in it";
                let error = || Error::new(ErrorKind::NotFound, "file", detail);
                error::raised(py, place, &added.passed_over.unwrap_or_else(error))
            };
            return Err(added.problems.first().map_or_else(nothing, |it| it.exception(py)));
        }
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.extend(added.problems);
        Ok(added.objects.into_iter().map(Object).collect())
    }
}

#[pymethods]
impl Database {
    /// An empty database.
    #[new]
    fn new() -> Self {
        let additions = Arc::new(Additions::default());
        let kernels = db::Database::carrying(Arc::<Additions>::clone(&additions));
        Database { kernels, additions, problems: Mutex::default() }
    }

    /// A database of the kernels of a file, a directory or bytes, or of several of them; see `add`.
    #[staticmethod]
    #[pyo3(signature = (sources, *, filter=None, target=None, device=None))]
    fn open(
        py: Python<'_>,
        sources: &Bound<'_, PyAny>,
        filter: Option<&Bound<'_, PyAny>>,
        target: Option<&str>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let database = Self::new();
        let add = |source: &Bound<'_, PyAny>| {
            database.add(py, source, None, filter, target, device).map(drop)
        };
        match Source::new(sources) {
            Ok(_) => add(sources)?,
            Err(not_a_source) => {
                let sources = sources.try_iter().map_err(|_| not_a_source)?;
                sources.into_iter().try_for_each(|source| add(&source?))?;
            }
        }
        Ok(database)
    }

    /// Adds every code object of a file, a directory of files, or bytes, and returns the objects.
    ///
    /// `filter` takes only some kernels: a regular expression that is searched for in the mangled and the readable
    /// name, or a function of the mangled name. `target` takes only objects of a target, features that it does not name
    /// being anything; `device` those that a device loads. Nothing is decoded.
    ///
    /// What is there already is not added again. A file that was changed since takes the place of what it was.
    #[pyo3(signature = (source, name=None, *, filter=None, target=None, device=None))]
    fn add(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        name: Option<String>,
        filter: Option<&Bound<'_, PyAny>>,
        target: Option<&str>,
        device: Option<&str>,
    ) -> PyResult<Vec<Object>> {
        let source = Source::new(source)?;
        let wanted = wanted(py, target, device)?;
        let place = match &source {
            Source::Path(path) => path.to_string_lossy().into_owned(),
            Source::Bytes(_) => name.clone().unwrap_or_default(),
        };
        let arguments = (&source, &name, filter, target, device).into_pyobject(py)?;
        let filter = filter.map(Filter::new).transpose()?;
        let added = py.detach(|| self.load(source, name, wanted, filter.as_ref()));
        filter.map_or(Ok(()), Filter::finish)?;
        let objects = self.settle(py, added, &place)?;
        self.additions.push(arguments);
        Ok(objects)
    }

    /// Pickled as what was added to it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        pickle::by(py, "database", (self.additions.tuple(py)?,))
    }

    /// All code objects, in the order in which they were added.
    #[getter]
    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let objects = self.kernels.objects();
        sequence(py, objects.len(), move |_, index| Ok(objects.get(index).cloned().map(Object)))
    }

    /// All kernels, in the order in which they were added.
    #[getter]
    fn kernels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kernel::of_objects(py, self.kernels.objects())
    }

    /// The only kernel of a name: mangled or readable, with or without `.kd`.
    ///
    /// `target` and `device` choose between objects as `add` does; of several a device takes the closest. Raises
    /// NotFoundError, a KeyError, if there is none, and Error of kind "ambiguous" if there are several.
    #[pyo3(signature = (name, *, target=None, device=None))]
    fn kernel(
        &self,
        py: Python<'_>,
        name: &str,
        target: Option<&str>,
        device: Option<&str>,
    ) -> PyResult<Kernel> {
        let wanted = wanted(py, target, device)?;
        let found = py.detach(|| self.kernels.kernel_for(name, wanted));
        found.map(Kernel).map_err(|error| error::lookup(py, &error))
    }

    /// All kernels of a name, in any spelling; the same name in several objects is as many kernels.
    fn kernels_named(&self, py: Python<'_>, name: &str) -> Vec<Kernel> {
        py.detach(|| self.kernels.kernels_named(name)).into_iter().map(Kernel).collect()
    }

    /// Where the code of a source line is: objects, each with a range of addresses. A path matches if it ends in
    /// `file`.
    #[pyo3(signature = (file, line, column=None))]
    fn code_of_line<'py>(
        &self,
        py: Python<'py>,
        file: &str,
        line: u32,
        column: Option<u32>,
    ) -> PyResult<Vec<(Object, Bound<'py, PyRange>)>> {
        let found = py.detach(|| self.kernels.code_of_line(file, line, column));
        let found = found.map_err(|error| error::raised(py, "", &error))?;
        let with_range = |(object, range): (Arc<db::Object>, std::ops::Range<u64>)| {
            let [start, end] = [range.start, range.end].map(isize::try_from);
            Ok((Object(object), PyRange::new(py, start?, end?)?))
        };
        found.into_iter().map(with_range).collect()
    }

    /// What was decoded so far.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counts = self.kernels.counts();
        let fields = dict!(py,
            decoded_kernels: counts.decoded_kernels,
            decoded_instructions: counts.decoded_instructions,
            decoded_bytes: counts.decoded_bytes,
        );
        record("Counts", &fields)
    }

    /// What could not be read of the files that were added, as exceptions; the rest of them was.
    #[getter]
    fn problems(&self, py: Python<'_>) -> Vec<PyErr> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.iter().map(|it| it.exception(py)).collect()
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import(pyo3::intern!(slf.py(), "hsaco._html"))?;
        module.call_method1("database", (slf,))
    }

    fn __repr__(&self) -> String {
        let objects = self.kernels.objects();
        let kernels: usize = objects.iter().map(|it| it.kernel_count()).sum();
        format!("<Database: {} objects, {kernels} kernels>", objects.len())
    }
}
