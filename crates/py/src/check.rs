//! `hsaco.check`.

use hsaco::check::{Checker, Device, Finding, Launch, Rule};
use hsaco_cli::input::inputs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::database::Source;
use crate::error;
use crate::record::{dict, record};

/// What would go wrong when a device loads and runs this: a list of findings, the worst not first but in the order of
/// objects and kernels.
#[pyfunction]
#[pyo3(signature = (source, device=None, *, kernels=Vec::new(), workgroup=None, grid=None, dynamic_lds=0, code=false, select=Vec::new(), ignore=Vec::new()))]
#[allow(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "keywords of a Python function, which come as vectors"
)]
pub(crate) fn check<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    device: Option<&str>,
    kernels: Vec<String>,
    workgroup: Option<[u32; 3]>,
    grid: Option<[u32; 3]>,
    dynamic_lds: u64,
    code: bool,
    select: Vec<String>,
    ignore: Vec<String>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut checker = Checker::new().launch(Launch { workgroup, grid, dynamic_lds });
    if let Some(device) = device {
        let device: Device = device.parse().map_err(|it| error::target(py, &it))?;
        checker = checker.device(device);
    }
    checker = if code { checker.with_code() } else { checker };
    checker = kernels.into_iter().fold(checker, Checker::kernel);
    for name in &select {
        checker = checker.select(rule(name)?);
    }
    for name in &ignore {
        checker = checker.ignore(rule(name)?);
    }
    let source = Source::new(source)?;
    let findings = py.detach(|| found(&checker, source))?;
    findings.iter().map(|finding| row(py, finding)).collect()
}

/// Every finding of every file that the source stands for.
fn found(checker: &Checker, source: Source) -> PyResult<Vec<Finding>> {
    let path = match source {
        Source::Bytes(bytes) => return Ok(checker.file(&bytes).findings),
        Source::Path(path) => path,
    };
    let mut findings = Vec::new();
    for input in inputs(&[path]) {
        let input = input.map_err(|it| error::unopened(&it.name, &it.error))?;
        findings.extend(checker.file(&input).findings);
    }
    Ok(findings)
}

fn rule(name: &str) -> PyResult<&'static Rule> {
    Rule::by_name(name).ok_or_else(|| {
        let nearest = Rule::nearest(name).join(", ");
        PyValueError::new_err(format!("no rule '{name}'; nearest: {nearest}"))
    })
}

fn row<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyAny>> {
    let subject = &finding.subject;
    let fields = dict!(py,
        rule: finding.rule,
        severity: finding.severity.name(),
        object: subject.object,
        kernel: subject.kernel.as_deref(),
        field: subject.field.as_deref(),
        offset: subject.offset,
        address: subject.address,
        message: finding.message.as_str(),
        help: finding.help.as_str(),
        text: finding.to_string(),
    );
    record("Finding", &fields)
}
