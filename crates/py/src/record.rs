//! Records: the dataclasses of `hsaco._records`, and values from JSON.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A Python dictionary of named values.
macro_rules! dict {
    ($py:expr, $($key:ident: $value:expr),* $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $(dict.set_item(pyo3::intern!($py, stringify!($key)), $value)?;)*
        dict
    }};
}
pub(crate) use dict;

/// Values of Python from JSON.
pub(crate) fn parsed<'py>(
    py: Python<'py>,
    text: impl IntoPyObject<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(pyo3::intern!(py, "json"))?.call_method1(pyo3::intern!(py, "loads"), (text,))
}

/// A record of a class, with these fields.
pub(crate) fn record<'py>(class: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let module = fields.py().import(pyo3::intern!(fields.py(), "hsaco._records"))?;
    module.getattr(class)?.call((), Some(fields))
}
