//! `hsaco.patch` and `hsaco.verify_patch`.

use hsaco::bytes::{Error, ErrorKind};
use hsaco::container::WalkOptions;
use hsaco::object::CodeObject;
use hsaco::patch::{
    self as rewriting, Digest, EditRequest, FileManifest, KernelSetting, PatchReport, PatchedFile,
    PatchedObject, Patcher, RuleSet,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::database::Source;
use crate::error;
use crate::record::{dict, parsed, record};

/// Rewrites every code object of a file, or of bytes, and puts them back where they were: all that is wanted, or nothing. The result is
/// verified before it is handed out.
///
/// `rules` is a rule set, "gfx1250-b0-to-a0" unless there are edits, with `options` such as "entry-stub"; `edits` are pairs of "replace", "insert",
/// "count" or "call" and what `hsaco patch` takes for it ("0x1900=s_nop 0"); `settings` are numbers of kernels, such as
/// "foo.vgpr_count=77", which stand alone. Raises PatchError if something should be rewritten and cannot be.
#[pyfunction]
#[pyo3(signature = (source, rules=None, *, options=Vec::new(), edits=Vec::new(), settings=Vec::new()))]
#[expect(clippy::needless_pass_by_value, reason = "sequences come from Python as vectors")]
pub(crate) fn patch<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    rules: Option<&str>,
    options: Vec<String>,
    edits: Vec<(String, String)>,
    settings: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let file = Source::new(source)?.read()?;
    let job = match settings.is_empty() {
        true => Job::Rules(patcher(py, rules, &options, &file, &edits)?),
        false if edits.is_empty() && options.is_empty() && rules.is_none() => {
            Job::Settings(parse_all(&settings)?)
        }
        false => {
            let detail = "settings stand alone: rules and edits are another call";
            return Err(PyValueError::new_err(detail));
        }
    };
    let report = py.detach(|| job.run(&file)).map_err(|it| error::raised(py, "", &it))?;
    let manifest = parsed(py, &report.manifest)?;
    let Some(bytes) = &report.bytes else {
        return Err(error::refused(py, &report.refusals, manifest));
    };
    let fields = dict!(py,
        changed: report.is_changed,
        data: PyBytes::new(py, bytes),
        manifest: manifest,
        summary: &report.summary,
    );
    record("Patched", &fields)
}

/// What is to be done.
enum Job {
    Rules(Patcher),
    Settings(Vec<KernelSetting>),
}

impl Job {
    fn run(&self, file: &[u8]) -> Result<PatchReport, Error> {
        let options = WalkOptions::default();
        let patched = match self {
            Job::Rules(patcher) => PatchedFile::new(patcher, file, &options)?,
            Job::Settings(settings) => {
                PatchedObject::alone(Digest::of(file), rewriting::set(file, settings)?).into()
            }
        };
        PatchReport::new(patched, file, &options)
    }
}

fn patcher(
    py: Python<'_>,
    rules: Option<&str>,
    options: &[String],
    file: &[u8],
    edits: &[(String, String)],
) -> PyResult<Patcher> {
    let default = if edits.is_empty() { "gfx1250-b0-to-a0" } else { "none" };
    let rules = rules.unwrap_or(default);
    let set = RuleSet::by_name(rules).ok_or_else(|| {
        let known: Vec<_> = RuleSet::all().iter().map(RuleSet::name).collect();
        PyValueError::new_err(format!("no rule set '{rules}'; there are {}", known.join(", ")))
    })?;
    let mut chosen = rewriting::Options::default();
    for name in options {
        chosen.set(name).map_err(PyValueError::new_err)?;
        if rewriting::Options::rule_of(name).is_none_or(|rule| set.rule(rule).is_none()) {
            let detail = format!("no rule of {rules} has an option '{name}'");
            return Err(PyValueError::new_err(detail));
        }
    }
    let raised = |it| error::raised(py, "", &it);
    let patcher = Patcher::new(set, chosen).map_err(raised)?;
    if edits.is_empty() {
        return Ok(patcher);
    }
    let requests = edits.iter().map(|(kind, edit)| EditRequest::parse(kind, edit));
    let requests: Vec<_> = requests.collect::<Result<_, _>>().map_err(PyValueError::new_err)?;
    // Addresses are those of one object.
    let object = CodeObject::parse(file).map_err(raised)?;
    Ok(patcher.with_edits(EditRequest::edits(&requests, &object).map_err(raised)?))
}

fn parse_all(settings: &[String]) -> PyResult<Vec<KernelSetting>> {
    settings.iter().map(|it| it.parse().map_err(PyValueError::new_err)).collect()
}

/// What does not hold of a rewritten file, its original and its manifest, believing neither; an empty list if all does.
#[pyfunction]
pub(crate) fn verify_patch(
    py: Python<'_>,
    original: &Bound<'_, PyAny>,
    result: &Bound<'_, PyAny>,
    manifest: &Bound<'_, PyAny>,
) -> PyResult<Vec<String>> {
    let [original, result] = [Source::new(original)?.read()?, Source::new(result)?.read()?];
    let manifest: String = py.import("json")?.call_method1("dumps", (manifest,))?.extract()?;
    let found = py.detach(|| {
        let manifest = FileManifest::parse(manifest.as_bytes(), &original)
            .map_err(|it| Error::new(ErrorKind::Malformed, "manifest", it.to_string()))?;
        manifest.verify(&original, &result, &WalkOptions::default())
    });
    let found = found.map_err(|it| error::raised(py, "", &it))?;
    Ok(found.iter().map(|it| it.finding.to_string()).collect())
}
