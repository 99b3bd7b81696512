//! One file of a data set, for engines that have many.
#![expect(
    clippy::needless_pass_by_value,
    reason = "sequences come from Python as vectors and sets"
)]

use std::collections::HashSet;
use std::ffi::OsString;

use hsaco::container::{Container, WalkOptions};
use hsaco_describe::dataset::{self, Scan};
use hsaco_files::input::inputs;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A file as `scan_file` answers it: digest, why it could not be opened, and the tables contents, objects and kernels as Parquet.
type Scanned<'py> = (
    Option<String>,
    Option<String>,
    Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>)>,
);

/// What a file holds, as the rows of a data set: the digest of its content, why it could not be opened, and the tables
/// `contents`, `objects` and `kernels` as Parquet. There are no tables of a content that is in `known`. Nothing of a file that is
/// of no format that holds device code.
#[pyfunction]
#[pyo3(signature = (path, known))]
pub(crate) fn scan_file<'py>(
    py: Python<'py>,
    path: OsString,
    known: HashSet<String>,
) -> PyResult<Option<Scanned<'py>>> {
    let scanned = py.detach(|| scan(path, &known));
    let Some((digest, tables)) = (match scanned {
        Ok(scanned) => scanned,
        Err(error) => return Ok(Some((None, Some(error), None))),
    }) else {
        return Ok(None);
    };
    let tables = tables.map(|scan| parquet(py, &scan)).transpose()?;
    Ok(Some((Some(digest), None, tables)))
}

/// The digest of a file, and what it holds unless that is known; an error is why it could not be opened.
fn scan(path: OsString, known: &HashSet<String>) -> Result<Option<(String, Option<Scan>)>, String> {
    let Some(input) = inputs(&[path]).next() else { return Ok(None) };
    let input = input.map_err(|unopened| unopened.error.to_string())?;
    if Container::detect(&input).is_none() {
        return Ok(None);
    }
    let digest = dataset::digest(&input);
    let scan =
        (!known.contains(&digest)).then(|| dataset::scan(&input, &digest, &WalkOptions::default()));
    Ok(Some((digest, scan)))
}

fn parquet<'py>(
    py: Python<'py>,
    scan: &Scan,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let [objects, kernels, contents] = scan.tables().map(|(table, rows)| {
        let bytes = dataset::to_parquet(table, rows)?;
        Ok(PyBytes::new(py, &bytes))
    });
    let fail = |error: std::io::Error| PyErr::from(error);
    Ok((contents.map_err(fail)?, objects.map_err(fail)?, kernels.map_err(fail)?))
}
