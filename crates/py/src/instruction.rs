//! `hsaco.Instruction`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use hsaco::bytes::Error;
use hsaco::db;
use hsaco::dwarf::Frame;
use hsaco::isa::effects::{Access, Memory, Space};
use hsaco::isa::print::Words;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error;
use crate::handle::{Instruction, Kernel, Of, hash_of};
use crate::pickle::{self, Reduced};
use crate::record::{dict, record};
use crate::sequence::sequence;

/// Some instructions of something decoded.
pub(crate) fn sequence_of(
    py: Python<'_>,
    of: Of,
    indices: Range<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    sequence(py, indices.len(), move |_, index| {
        Ok(Instruction { of: of.clone(), index: indices.start + index })
    })
}

/// A place in the source, kept.
type Place = (String, Option<u32>, Option<u32>);

impl Instruction {
    /// Looks at it; what it is of is decoded by now.
    fn with<T>(&self, py: Python<'_>, look: impl FnOnce(db::Instruction<'_>) -> T) -> PyResult<T> {
        let found = match &self.of {
            Of::Kernel(kernel) => kernel.instruction(self.index),
            Of::Listing(listed) => Ok(listed.listing.instruction(self.index)),
        };
        let found = found.map_err(|error| self.raised(py, &error))?;
        let missing = || pyo3::exceptions::PyIndexError::new_err(self.index);
        found.map(look).ok_or_else(missing)
    }

    fn raised(&self, py: Python<'_>, error: &Error) -> PyErr {
        let file = match &self.of {
            Of::Kernel(kernel) => kernel.object().file(),
            Of::Listing(_) => "",
        };
        error::raised(py, file, error)
    }

    /// Where it comes from. Reads the source map of the object, the first time, while other threads run.
    fn place(&self, py: Python<'_>) -> PyResult<Option<Place>> {
        let Of::Kernel(kernel) = &self.of else { return Ok(None) };
        let place = py.detach(|| {
            let Some(instruction) = kernel.instruction(self.index)? else { return Ok(None) };
            let location = instruction.location()?;
            Ok(location.map(|it| (it.file.to_owned(), it.line, it.column)))
        });
        place.map_err(|error| self.raised(py, &error))
    }

    /// Lists what of its text is wanted.
    fn words(&self, py: Python<'_>, pick: fn(Words<'_>) -> Vec<&str>) -> PyResult<Vec<String>> {
        self.with(py, |it| {
            let (text, tokens) = it.tokens();
            pick(Words::of(&text, &tokens)).into_iter().map(str::to_owned).collect()
        })
    }
}

#[pymethods]
impl Instruction {
    /// Which instruction of its kernel it is, counted from 0.
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    /// The kernel that it is in; None of code that is no kernel's.
    #[getter]
    fn kernel(&self) -> Option<Kernel> {
        match &self.of {
            Of::Kernel(kernel) => Some(Kernel(kernel.clone())),
            Of::Listing(_) => None,
        }
    }

    /// Where it stands.
    #[getter]
    fn address(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |it| it.address())
    }

    /// How many bytes it has.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |it| it.bytes().len())
    }

    /// Its bytes.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |it| PyBytes::new(py, it.bytes()))
    }

    /// Its name as it is printed, such as `v_add_f32_e32`; `.long` of a word that is no instruction.
    #[getter]
    fn mnemonic(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |it| it.full_mnemonic())
    }

    /// Its name without the suffix of its encoding, such as `v_add_f32`.
    #[getter]
    fn base_mnemonic(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |it| it.mnemonic())
    }

    /// Its operands, as they are printed.
    #[getter]
    fn operands(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.words(py, |it| it.operands)
    }

    /// What follows its operands, such as `offset:16`.
    #[getter]
    fn modifiers(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.words(py, |it| it.modifiers)
    }

    /// Its text, as llvm-objdump prints it.
    #[getter]
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |it| it.text())
    }

    /// What memory it reads or writes; None if it does not.
    #[getter]
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(memory) = self.with(py, |it| it.memory())? else { return Ok(None) };
        let fields = dict!(py,
            space: space(memory.space),
            access: access(memory.access),
            width: memory.bytes,
            lds: memory.lds.map(access),
        );
        record("Memory", &fields).map(Some)
    }

    /// Where it branches to, if it says so itself.
    #[getter]
    fn branch_target(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |it| it.branch_target())
    }

    /// The source file that it comes from; None where nothing says.
    #[getter]
    fn file(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.place(py)?.map(|(file, ..)| file))
    }

    /// The source line that it comes from, from 1; None where nothing says.
    #[getter]
    fn line(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.place(py)?.and_then(|(_, line, _)| line))
    }

    /// The column in that line, from 1; None where nothing says.
    #[getter]
    fn column(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.place(py)?.and_then(|(.., column)| column))
    }

    /// The functions that it is in, those inlined first, each with the place there.
    #[getter]
    fn frames<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Of::Kernel(kernel) = &self.of else { return Ok(Vec::new()) };
        let frames = py.detach(|| match kernel.instruction(self.index)? {
            Some(instruction) => instruction.frames(),
            None => Ok(Vec::new()),
        });
        let frames = frames.map_err(|error| self.raised(py, &error))?;
        frames.iter().map(|it| frame(py, it)).collect()
    }

    /// A row for a table.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self.with(py, |it| it.memory())?;
        let (text, tokens) = self.with(py, |it| it.tokens())?;
        let words = Words::of(&text, &tokens);
        let of_memory = |get: fn(Memory) -> &'static str| memory.map(get);
        let (file, line, column) = match self.place(py)? {
            Some((file, line, column)) => (Some(file), line, column),
            None => (None, None, None),
        };
        Ok(dict!(py,
            kernel: self.kernel().map(|it| it.0.name().to_string()),
            address: self.address(py)?,
            size: self.size(py)?,
            bytes: self.bytes(py)?.call_method0("hex")?,
            mnemonic: words.mnemonic,
            operands: words.operands,
            modifiers: words.modifiers,
            text: &text,
            memory_space: of_memory(|it| space(it.space)),
            memory_access: of_memory(|it| access(it.access)),
            memory_width: memory.and_then(|it| it.bytes),
            branch_target: self.branch_target(py)?,
            file: file,
            line: line,
            column: column,
        ))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        match &self.of {
            Of::Kernel(kernel) => {
                pickle::by(py, "instruction", (Kernel(kernel.clone()), self.index))
            }
            Of::Listing(it) => {
                pickle::by(py, "listed", (&it.code, &it.target, it.address, self.index))
            }
        }
    }

    fn __eq__(&self, other: &Self) -> bool {
        let is_same = match (&self.of, &other.of) {
            (Of::Kernel(one), Of::Kernel(other)) => one == other,
            (Of::Listing(one), Of::Listing(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        is_same && self.index == other.index
    }

    fn __hash__(&self) -> u64 {
        match &self.of {
            Of::Kernel(kernel) => hash_of(kernel, self.index),
            Of::Listing(listing) => {
                let mut hasher = DefaultHasher::new();
                (Arc::as_ptr(listing), self.index).hash(&mut hasher);
                hasher.finish()
            }
        }
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Instruction {:#x}: {}>", self.address(py)?, self.text(py)?))
    }
}

fn frame<'py>(py: Python<'py>, frame: &Frame<'_>) -> PyResult<Bound<'py, PyAny>> {
    let function = frame.function.as_deref();
    let place = frame.location.as_ref();
    let fields = dict!(py,
        function: function,
        demangled: function.map(crate::demangle),
        file: place.map(|it| it.file),
        line: place.and_then(|it| it.line),
        column: place.and_then(|it| it.column),
    );
    record("Frame", &fields)
}

fn space(space: Space) -> &'static str {
    match space {
        Space::Scalar => "scalar",
        Space::Global => "global",
        Space::Flat => "flat",
        Space::Buffer => "buffer",
        Space::Lds => "lds",
        Space::Scratch => "scratch",
        Space::Image => "image",
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
    }
}
