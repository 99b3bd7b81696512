//! Pickles: a thing is pickled as what makes it again, a function of `hsaco._pickle` and its arguments.

use std::sync::{Mutex, PoisonError};

use hsaco::db;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error;

/// What Python's `__reduce__` gives.
pub(crate) type Reduced<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)>;

/// By a function of `hsaco._pickle`, called with these arguments.
pub(crate) fn by<'py, A>(py: Python<'py>, function: &str, arguments: A) -> Reduced<'py>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
{
    let function = py.import(pyo3::intern!(py, "hsaco._pickle"))?.getattr(function)?;
    Ok((function, arguments.into_pyobject(py)?))
}

/// How a database came to hold what it holds: arguments of its `add`, which its objects lead back to.
#[derive(Default)]
pub(crate) struct Additions(Mutex<Vec<Py<PyTuple>>>);

impl Additions {
    pub(crate) fn push(&self, arguments: Bound<'_, PyTuple>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(arguments.unbind());
    }

    pub(crate) fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<_> = all.iter().map(|it| it.clone_ref(py)).collect();
        PyTuple::new(py, all)
    }

    /// Those of the database that an object is in.
    pub(crate) fn of<'py>(py: Python<'py>, object: &db::Object) -> PyResult<Bound<'py, PyTuple>> {
        object.carried::<Self>().map_or_else(|| Ok(PyTuple::empty(py)), |it| it.tuple(py))
    }
}

/// What tells an object from others: its bytes, and which of its kernels are in the database.
pub(crate) fn object_digest<'py>(
    py: Python<'py>,
    object: &std::sync::Arc<db::Object>,
) -> PyResult<Bound<'py, PyBytes>> {
    let digest = py.detach(|| {
        let mut parts = object.data()?.into_owned();
        object.kernels().for_each(|it| parts.extend_from_slice(it.name().as_bytes()));
        Ok(db::index::key_of(&parts))
    });
    let digest = digest.map_err(|error| error::raised(py, object.file(), &error))?;
    Ok(PyBytes::new(py, &digest))
}

/// What tells a kernel from others: its name, its code and what it needs.
pub(crate) fn kernel_digest<'py>(
    py: Python<'py>,
    kernel: &db::IndexedKernel,
) -> PyResult<Bound<'py, PyBytes>> {
    let digest = py.detach(|| {
        let mut parts = kernel.name().as_bytes().to_vec();
        if kernel.code_size().is_some() {
            parts.extend_from_slice(kernel.code()?.as_ref());
        }
        parts.extend(format!("{:?} {:?}", kernel.entry(), kernel.resources()?).bytes());
        Ok(db::index::key_of(&parts))
    });
    let digest = digest.map_err(|error| error::raised(py, kernel.object().file(), &error))?;
    Ok(PyBytes::new(py, &digest))
}
