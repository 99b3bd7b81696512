//! `hsaco.CompactLayout`: bindings and constants, for runtimes that pack.

use hsaco::db::IndexedKernel;
use hsaco::kernarg::{AbiMarker, CompactLayout as Compact, Declaration};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::handle::Kernel;
use crate::layout::{Launch, buffer_bytes, hidden_parameter};
use crate::pickle::{self, Reduced};
use crate::record::{dict, record};

/// How a runtime that packs copies addresses and constants into a kernel's segment.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct CompactLayout {
    layout: Compact,
    kernel: IndexedKernel,
}

/// The compact layout of a kernel; `marker_seen` is the caller's word that its object is for a runtime that packs.
pub(crate) fn of_kernel(
    kernel: &IndexedKernel,
    marker_seen: bool,
) -> Result<CompactLayout, hsaco::bytes::Error> {
    let declared = Declaration::of(&kernel.tables()?.kernel())?;
    let layout = Compact::new(&declared, marker_seen.then(AbiMarker::seen))?;
    Ok(CompactLayout { layout, kernel: kernel.clone() })
}

#[pymethods]
impl CompactLayout {
    /// Bytes of the segment.
    #[getter]
    fn size(&self) -> u32 {
        self.layout.segment_size()
    }

    /// What the segment's address must be a multiple of.
    #[getter]
    fn alignment(&self) -> u32 {
        self.layout.segment_alignment()
    }

    /// For each binding, by ordinal, the word of 8 bytes that its address goes to.
    #[getter]
    fn bindings(&self) -> Vec<u32> {
        self.layout.bindings().iter().map(|it| it.word).collect()
    }

    /// Where constants go: (place in the segment, place in the run of constants, bytes).
    #[getter]
    fn spans(&self) -> Vec<(u32, u32, u32)> {
        self.layout.spans().iter().map(|it| (it.target, it.source, it.length)).collect()
    }

    /// Bytes of constants that a caller must bring.
    #[getter]
    fn constant_size(&self) -> u32 {
        self.layout.constant_size()
    }

    /// The arguments that the runtime adds.
    #[getter]
    fn hidden<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.layout.hidden_arguments().iter().map(|it| hidden_parameter(py, it)).collect()
    }

    /// What tells layouts apart, never that of a native one: 32 hexadecimal digits.
    #[getter]
    fn hash(&self) -> String {
        self.layout.hash().to_string()
    }

    /// Packs addresses and constants, exactly as many as the kernel takes.
    #[pyo3(signature = (bindings, constants, launch=None))]
    #[expect(clippy::needless_pass_by_value, reason = "sequences come from Python as vectors")]
    fn pack<'py>(
        &self,
        py: Python<'py>,
        bindings: Vec<u64>,
        constants: &Bound<'py, PyAny>,
        launch: Option<&Launch>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let constants = buffer_bytes(constants)?;
        let mut segment = vec![0; self.layout.segment_size() as usize];
        let launch = launch.map(|it| &it.0);
        let report = self.layout.pack(&bindings, &constants, launch, &mut segment);
        let report = report.map_err(|it| error::raised(py, "", &it))?;
        let left_zero: Vec<_> = report.names().collect();
        record("Packed", &dict!(py, data: PyBytes::new(py, &segment), left_zero: left_zero))
    }

    /// The addresses and constants of a packed segment.
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        buffer: &Bound<'py, PyAny>,
    ) -> PyResult<(Vec<u64>, Bound<'py, PyBytes>)> {
        let found = self.layout.unpack(&buffer_bytes(buffer)?);
        let (bindings, constants) = found.map_err(|it| error::raised(py, "", &it))?;
        Ok((bindings, PyBytes::new(py, &constants)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py> {
        pickle::by(py, "compact", (Kernel(self.kernel.clone()),))
    }

    fn __repr__(&self) -> String {
        let (bindings, constants) = (self.layout.bindings().len(), self.layout.constant_size());
        format!("<CompactLayout: {bindings} bindings, {constants} bytes of constants>")
    }
}
