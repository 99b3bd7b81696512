//! What the library reports, as exceptions of `hsaco._errors`.

use hsaco::bytes::{Error, ErrorKind};
use hsaco::isa::assembler::AsmError;
use hsaco::isa::decoder::UnsupportedProcessor;
use hsaco::isa::target::ParseTargetError;
use hsaco_files::FileError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// An error of the library; `place` names the file it is in, or nothing.
pub(crate) fn raised(py: Python<'_>, place: &str, error: &Error) -> PyErr {
    exception(py, "Error", place, error)
}

/// An error of a question for something by name: what is not there is also a `KeyError`.
pub(crate) fn lookup(py: Python<'_>, error: &Error) -> PyErr {
    let class = if error.kind() == ErrorKind::NotFound { "NotFoundError" } else { "Error" };
    exception(py, class, "", error)
}

fn exception(py: Python<'_>, class: &str, place: &str, error: &Error) -> PyErr {
    let message = match place {
        "" => error.to_string(),
        place => format!("{place}: {error}"),
    };
    let kind = error.kind().name().replace(' ', "-");
    new(py, class, (message, kind, error.offset()))
}

/// A target that is no target.
pub(crate) fn target(py: Python<'_>, error: &ParseTargetError) -> PyErr {
    new(py, "Error", (error.to_string(), "not-recognised", error.offset()))
}

/// A check that looked at nothing.
pub(crate) fn nothing_checked(py: Python<'_>) -> PyErr {
    let message = "nothing was checked: there is no such object or kernel";
    new(py, "Error", (message, "not-found"))
}

/// A comparison of nothing.
pub(crate) fn nothing_compared(py: Python<'_>, message: &str) -> PyErr {
    new(py, "Error", (message, "not-found"))
}

/// A processor without instruction tables.
pub(crate) fn unsupported(py: Python<'_>, error: UnsupportedProcessor) -> PyErr {
    new(py, "Error", (error.to_string(), "unsupported"))
}

/// A line that does not assemble.
pub(crate) fn assembly(py: Python<'_>, line: usize, error: &AsmError) -> PyErr {
    let column = error.column() + 1;
    new(py, "AssemblyError", (format!("{line}:{column}: {error}"), line, column))
}

/// An object that does not load.
pub(crate) fn loading(py: Python<'_>, error: &hsaco::load::Error) -> PyErr {
    new(py, "Error", (error.to_string(), error.kind().name(), error.offset()))
}

/// Objects that do not go together.
pub(crate) fn linking(py: Python<'_>, errors: &hsaco::load::Errors) -> PyErr {
    match PyList::new(py, errors.iter().map(|it| loading(py, it).into_value(py))) {
        Ok(list) => new(py, "LinkError", (errors.to_string(), list)),
        Err(error) => error,
    }
}

/// A kernel that stopped, with where it was; the source line is the executable's.
pub(crate) fn running(
    py: Python<'_>,
    error: &hsaco::emu::Error,
    executable: Option<&hsaco::load::Executable<'_>>,
) -> PyErr {
    let Some(at) = error.location() else {
        return new(py, "Error", (error.to_string(), error.kind().name()));
    };
    let frames = executable.and_then(|it| it.source(at.address).ok()).unwrap_or_default();
    let line = frames.first().and_then(|it| Some((it.file.clone()?, it.line?)));
    let mut message = error.to_string();
    if let Some((file, line)) = &line {
        message += &format!(" at {file}:{line}");
    }
    let (file, line) = line.unzip();
    let registers = error.registers().map(ToString::to_string);
    let place = (at.kernel.clone(), at.address, at.instruction.clone());
    let wave = (at.workgroup, at.wave, at.lanes);
    new(py, "KernelError", (message, error.kind().name(), place, wave, file, line, registers))
}

/// A file that should be rewritten and cannot be.
pub(crate) fn refused(py: Python<'_>, refusals: &[String], manifest: Bound<'_, PyAny>) -> PyErr {
    new(py, "PatchError", (refusals.join("\n"), manifest))
}

/// Arguments that do not fit.
pub(crate) fn mismatch(py: Python<'_>, message: &str) -> PyErr {
    new(py, "Error", (message, "mismatch"))
}

/// A symbol that is not there.
pub(crate) fn no_symbol(py: Python<'_>, name: &str) -> PyErr {
    new(py, "NotFoundError", (format!("no symbol has the name '{name}'"),))
}

/// A file that could not be opened.
pub(crate) fn unopened(name: &str, error: &FileError) -> PyErr {
    match error.system().and_then(|it| Some((it.raw_os_error()?, it.kind()))) {
        Some((number, kind)) => PyOSError::new_err((number, kind.to_string(), name.to_owned())),
        None => PyOSError::new_err(format!("{name}: {error}")),
    }
}

fn new<'py>(py: Python<'py>, class: &str, args: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("hsaco._errors").and_then(|it| it.getattr(class)?.call1(args));
    made.map_or_else(|error| error, PyErr::from_value)
}
