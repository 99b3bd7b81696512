//! `hsaco.Object`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hsaco::db;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::handle::Object;
use crate::kernel;
use crate::pickle::{self, Additions, Reduced};
use crate::record::{dict, record};

#[pymethods]
impl Object {
    /// The name under which its file was added.
    #[getter]
    fn file(&self) -> &str {
        self.0.file()
    }

    /// Which object of the file it is, counted from 0.
    #[getter]
    fn number(&self) -> usize {
        self.0.number()
    }

    /// The target, such as `gfx90a:xnack-`.
    #[getter]
    fn target(&self) -> &str {
        self.0.target()
    }

    /// The id of its entry in a bundle.
    #[getter]
    fn entry_id(&self) -> Option<&str> {
        self.0.entry_id()
    }

    /// Its bytes.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.data());
        let bytes = bytes.map_err(|error| error::raised(py, self.0.file(), &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Its kernels.
    #[getter]
    fn kernels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kernel::of_objects(py, vec![Arc::clone(&self.0)])
    }

    /// Its device functions: code that a symbol names and no descriptor describes.
    #[getter]
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let function = |it: &db::DeviceFunction| {
            let demangled = crate::demangle(&it.name);
            let fields = dict!(py,
                name: &it.name,
                demangled: demangled,
                address: it.address,
                size: it.size,
            );
            record("Function", &fields)
        };
        self.0.functions().iter().map(function).collect()
    }

    /// What is wrong with its tables, as exceptions; the rest of them was read.
    #[getter]
    fn problems(&self, py: Python<'_>) -> Vec<PyErr> {
        self.0.problems().iter().map(|it| error::raised(py, self.0.file(), it)).collect()
    }

    fn _digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        pickle::object_digest(py, &self.0)
    }

    /// Pickled as what was added to its database, and where it is in there.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        let place = (self.0.file(), self.0.number());
        pickle::by(py, "object", (Additions::of(py, &self.0)?, place.0, place.1, self._digest(py)?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Arc::as_ptr(&self.0).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (file, number, target) = (self.0.file(), self.0.number(), self.0.target());
        format!("<Object {file}#{number}: {target}, {} kernels>", self.0.kernel_count())
    }
}
