//! `hsaco.diff`: what is different between two files.

use std::convert::Infallible;

use hsaco::bytes::Str;
use hsaco::container::WalkOptions;
use hsaco::diff::{Detail, Group, What};
use hsaco::isa::TargetId;
use hsaco_describe::side::{Compared, Seen, Side, compare, each_pair, subject};
use hsaco_files::input::Input;
use hsaco_files::{KernelSelection, ObjectItem, ObjectSelection, Problem, Trouble, Visit, Walk};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::database::Source;
use crate::error;
use crate::record::parsed;

/// What is different between two files, or bytes: the `objects` of docs/json.md's `diff`, with a `kernels` of each; an empty list if nothing
/// is.
///
/// `target`, `device` and `kernels` choose what is compared. `code=False` leaves out instructions, `context` is how many to show around
/// those that differ. A file that cannot be read whole is an error.
#[pyfunction]
#[pyo3(signature = (old, new, *, target=None, device=None, kernels=Vec::new(), code=true, context=3))]
#[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
#[expect(clippy::needless_pass_by_value, reason = "sequences come from Python as vectors")]
pub(crate) fn diff<'py>(
    py: Python<'py>,
    old: &Bound<'py, PyAny>,
    new: &Bound<'py, PyAny>,
    target: Option<&str>,
    device: Option<&str>,
    kernels: Vec<String>,
    code: bool,
    context: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let device = device.map(TargetId::of_device).transpose();
    let device = device.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut objects = ObjectSelection::new(device, None);
    if let Some(target) = target {
        objects = objects.or_target(target).map_err(|it| error::target(py, &it))?;
    }
    let question = Question { objects, kernels: KernelSelection::new(&kernels), code, context };
    let (old, new) = (Source::new(old)?.read()?, Source::new(new)?.read()?);
    let answer = py.detach(|| question.answer(&old, &new));
    let answer = answer.map_err(|(file, it)| error::raised(py, &file, &it.error))?;
    if !question.objects.has_found() {
        return Err(error::nothing_compared(py, "no AMD GPU code object is in either file"));
    }
    if !question.kernels.is_all() && !question.kernels.has_found() {
        return Err(error::nothing_compared(py, "no kernel of such a name is in either file"));
    }
    let answer = answer.map_err(|error| PyValueError::new_err(error.to_string()))?;
    parsed(py, answer)
}

/// What is compared.
struct Question {
    objects: ObjectSelection,
    kernels: KernelSelection,
    code: bool,
    context: usize,
}

/// What is wrong with a file.
type Broken = (String, Problem);

impl Question {
    /// The objects that differ, as JSON.
    fn answer(&self, old: &Input, new: &Input) -> Result<serde_json::Result<String>, Broken> {
        let (mut a, mut b) = (self.side(old)?, self.side(new)?);
        let is_chosen = |name: Str<'_>| self.kernels.wants(name);
        let what = What {
            chosen: if self.kernels.is_all() { None } else { Some(&is_chosen) },
            functions: true,
            code: self.code,
        };
        let Compared { comparison, trouble, .. } = compare(&mut a, &mut b, what);
        for (input, trouble) in [old, new].into_iter().zip(trouble) {
            if let Some(problem) = trouble.into_iter().next() {
                return Err((input.name.clone(), problem));
            }
        }
        let detail = Detail { code: self.code, context: self.context };
        let needed = |group: &Group| comparison.needed(group);
        let pair = |group: &Group, items: Option<(&ObjectItem<'_, '_>, &ObjectItem<'_, '_>)>| {
            let subjects = items.map(|(a, b)| (subject(a), subject(b)));
            comparison.object(detail, group, subjects)
        };
        let mut rows = Vec::new();
        let Ok(()) = each_pair((&mut a, &mut b), comparison.groups(), needed, pair, |object| {
            if !object.is_empty() {
                rows.push(serde_json::to_string(&object));
            }
            Ok::<(), Infallible>(())
        });
        let rows: serde_json::Result<Vec<String>> = rows.into_iter().collect();
        Ok(rows.map(|it| format!("[{}]", it.join(","))))
    }

    /// A file, all of whose objects are seen once.
    fn side<'i>(&self, input: &'i Input) -> Result<Side<'i>, Broken> {
        let options = WalkOptions { hash: self.objects.hash_check(), ..WalkOptions::default() };
        let mut first = FirstWalk { kernels: &self.kernels, objects: Vec::new(), problem: None };
        if let Some(walk) = Walk::new(input, &options, &self.objects) {
            let Ok(_) = walk.run(&mut first);
        }
        match first.problem {
            Some(problem) => Err((input.name.clone(), problem)),
            None => Ok(Side::new(input, first.objects, options)),
        }
    }
}

struct FirstWalk<'w> {
    kernels: &'w KernelSelection,
    objects: Vec<Seen>,
    problem: Option<Problem>,
}

impl Visit for FirstWalk<'_> {
    type Row<'e> = Seen;
    type Error = Infallible;

    fn read(&self, item: &ObjectItem<'_, '_>, _: &mut Trouble) -> Result<Seen, Infallible> {
        Ok(Seen::new(item, self.kernels))
    }

    fn objects(&mut self, rows: Vec<Seen>) -> Result<(), Infallible> {
        self.objects.extend(rows);
        Ok(())
    }

    fn problem(&mut self, problem: &Problem) {
        self.problem.get_or_insert_with(|| problem.clone());
    }
}
