//! Code without a file: bytes to instructions and back.

use std::sync::Arc;

use hsaco::db::{Data, Listing};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::{Assembler, Decoder, Processor, TargetId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::error;
use crate::handle::{Listed, Of};
use crate::instruction;

/// The instructions of code that stands at an address, for a target such as `gfx942`.
#[pyfunction]
#[pyo3(signature = (code, target, address=0))]
pub(crate) fn disassemble<'py>(
    py: Python<'py>,
    code: PyBackedBytes,
    target: &str,
    address: u64,
) -> PyResult<Bound<'py, PyAny>> {
    if u32::try_from(code.len()).is_ok_and(|it| address.checked_add(it.into()).is_none()) {
        return Err(PyValueError::new_err("the code reaches past the last address"));
    }
    let processor = processor(py, target)?;
    let decoder = Decoder::new(processor).map_err(|error| error::unsupported(py, error))?;
    let bytes = code.clone_ref(py);
    let listing = py.detach(|| Listing::decode(decoder, address, Data::new(bytes)));
    let count = listing.instructions().len();
    let listed = Listed { listing, code, target: target.to_owned(), address };
    instruction::sequence_of(py, Of::Listing(Arc::new(listed)), 0..count)
}

/// The encodings of lines of assembly, one instruction or `.long` and the like each, for a target such as `gfx942`.
///
/// ; and // begin comments. Raises AssemblyError for the first line that does not assemble.
#[pyfunction]
pub(crate) fn assemble(py: Python<'_>, text: &str, target: &str) -> PyResult<Vec<u8>> {
    let processor = processor(py, target)?;
    let made = py.detach(|| Assembler::new(processor, DecodeOptions::default()));
    let assembler = made.map_err(|error| error::unsupported(py, error))?;
    let mut code = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(statement) = assembler.line(line) {
            statement.map_err(|error| error::assembly(py, number, &error))?.encode(&mut code);
        }
    }
    Ok(code)
}

fn processor(py: Python<'_>, target: &str) -> PyResult<Processor> {
    let parsed = target.parse::<TargetId>();
    parsed.map(|it| it.processor).map_err(|error| error::target(py, &error))
}
