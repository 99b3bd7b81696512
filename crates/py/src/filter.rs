//! Which kernels are wanted, as Python says it.

use std::sync::Mutex;

use hsaco::bytes::Str;
use hsaco::demangle::demangle;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A pattern that is searched for in both spellings of a name, or a function that is asked about the mangled one.
pub(crate) struct Filter {
    ask: Py<PyAny>,
    is_pattern: bool,
    failure: Mutex<Option<PyErr>>,
}

impl Filter {
    /// A filter of a regular expression, compiled or not, or of a function.
    pub(crate) fn new(filter: &Bound<'_, PyAny>) -> PyResult<Self> {
        let compiled = match filter.cast::<PyString>() {
            Ok(pattern) => filter.py().import("re")?.call_method1("compile", (pattern,))?,
            Err(_) => filter.clone(),
        };
        let search = compiled.getattr_opt("search")?;
        let is_pattern = search.is_some();
        let ask = search.unwrap_or(compiled).unbind();
        Ok(Filter { ask, is_pattern, failure: Mutex::new(None) })
    }

    /// Whether a kernel is wanted. What Python raises is kept for [`finish`](Self::finish).
    pub(crate) fn is_wanted(&self, name: Str<'_>) -> bool {
        Python::attach(|py| {
            let spellings =
                [Some(name.to_string()), demangle(name.as_bytes()).filter(|_| self.is_pattern)];
            let mut answers = spellings.iter().flatten().map(|it| self.ask(py, it));
            answers.any(|answer| answer.unwrap_or_else(|error| self.fail(error)))
        })
    }

    fn ask(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.ask.bind(py).call1((name,))?.is_truthy()
    }

    fn fail(&self, error: PyErr) -> bool {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(error);
        }
        false
    }

    /// Raises what Python raised.
    pub(crate) fn finish(self) -> PyResult<()> {
        match self.failure.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}
