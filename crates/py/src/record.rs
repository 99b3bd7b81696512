//! Records: the dataclasses of `hsaco._records`.

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

/// A record of a class, with these fields.
pub(crate) fn record<'py>(class: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let module = fields.py().import(pyo3::intern!(fields.py(), "hsaco._records"))?;
    module.getattr(class)?.call((), Some(fields))
}
