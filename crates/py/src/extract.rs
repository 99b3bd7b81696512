//! `hsaco.keep_targets`: a file with the code of fewer targets.

use hsaco::bytes::{Error, ErrorKind};
use hsaco::container::{Entry, WalkOptions, entries};
use hsaco_files::input::Input;
use hsaco_files::{EntryItem, FileError, ObjectSelection, Pruning, Trouble, is_kept};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::database::Source;
use crate::error;

/// The bytes of a file that has only the code of these targets, as `hsaco extract --keep-target` writes it: bundles get smaller; in
/// libraries nothing moves; a wheel's RECORD says what is left.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "sequences come from Python as vectors")]
pub(crate) fn keep_targets<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    targets: Vec<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    if targets.is_empty() {
        return Err(PyValueError::new_err("expected at least one target to keep"));
    }
    let mut selection = ObjectSelection::default();
    for target in &targets {
        selection = selection.or_target(target).map_err(|it| error::target(py, &it))?;
    }
    let input = Source::new(source)?.read()?;
    let pruned = py.detach(|| pruned(&input, &selection));
    match pruned {
        Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
        Err(Failure::Broken(error)) => Err(error::raised(py, &input.name, &error)),
        Err(Failure::Impossible(error)) => {
            let error = Error::new(ErrorKind::Unsupported, "file", error.to_string());
            Err(error::raised(py, "", &error))
        }
    }
}

/// Why a file cannot be pruned.
enum Failure {
    Broken(Error),
    Impossible(FileError),
}

fn pruned(input: &Input, selection: &ObjectSelection) -> Result<Vec<u8>, Failure> {
    let options = WalkOptions::default();
    let (mut pruning, mut objects) = (Pruning::default(), 0);
    for entry in entries(input, &options) {
        // What cannot be read cannot be kept.
        let entry = entry.map_err(Failure::Broken)?;
        let number = entry.is_object().then_some(objects);
        objects += usize::from(number.is_some());
        let item = EntryItem::new(number, &entry, selection, &mut Trouble::default());
        pruning.entry(&item);
    }
    if pruning.kept == 0 {
        let detail = "nothing in it is for the targets that are to be kept";
        return Err(Failure::Broken(Error::new(ErrorKind::NotFound, "file", detail)));
    }
    let keep = |entry: &Entry<'_>| is_kept(entry, selection);
    let file = pruning.finish(input, &keep, options.max_size).map_err(Failure::Impossible)?;
    file.bytes().map_err(Failure::Impossible)
}
