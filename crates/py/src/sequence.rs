//! Sequences whose items are made on access: `hsaco._sequence.LazySequence`.

use pyo3::BoundObject as _;
use pyo3::prelude::*;
use pyo3::types::PyRange;

type Get = dyn Fn(Python<'_>, usize) -> PyResult<Py<PyAny>> + Send + Sync;

/// Makes the item of a number.
#[pyclass(frozen, module = "hsaco")]
struct Getter(Box<Get>);

#[pymethods]
impl Getter {
    fn __call__(&self, py: Python<'_>, index: usize) -> PyResult<Py<PyAny>> {
        (self.0)(py, index)
    }
}

/// A sequence of `length` items.
pub(crate) fn sequence<T>(
    py: Python<'_>,
    length: usize,
    get: impl Fn(Python<'_>, usize) -> PyResult<T> + Send + Sync + 'static,
) -> PyResult<Bound<'_, PyAny>>
where
    T: for<'py> IntoPyObject<'py, Error: Into<PyErr>>,
{
    let get = move |py: Python<'_>, index| {
        let item = get(py, index)?.into_pyobject(py).map_err(Into::into)?;
        Ok(item.into_any().into_bound().unbind())
    };
    let indices = PyRange::new(py, 0, isize::try_from(length)?)?;
    let class = py.import(pyo3::intern!(py, "hsaco._sequence"))?.getattr("LazySequence")?;
    class.call1((Getter(Box::new(get)), indices))
}
