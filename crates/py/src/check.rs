//! `hsaco.check`.

use std::collections::BTreeMap;

use hsaco::check::{Checker, Device, Finding, LaunchFacts, Limit, Report, Rule};
use hsaco::container::Container;
use hsaco_files::input::inputs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::database::Source;
use crate::error;
use crate::record::{dict, record};

/// What would go wrong when a device loads and runs this: a list of findings, the worst not first but in the order of
/// objects and kernels. `limits` are the device's own, such as {"lds": 32768}: what it says of itself. Where there is nothing to look at, hsaco.Error is raised.
#[pyfunction]
#[pyo3(signature = (source, device=None, *, kernels=Vec::new(), limits=BTreeMap::new(), workgroup=None, grid=None, dynamic_lds=0, code=false, select=Vec::new(), ignore=Vec::new()))]
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
    limits: BTreeMap<String, u32>,
    workgroup: Option<[u32; 3]>,
    grid: Option<[u32; 3]>,
    dynamic_lds: u64,
    code: bool,
    select: Vec<String>,
    ignore: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = device.map(str::parse::<Device>).transpose();
    let mut device = device.map_err(|it| error::target(py, &it))?;
    for (name, value) in limits {
        limit(&mut device, &name, value)?;
    }
    let launch = LaunchFacts { workgroup, grid, dynamic_lds };
    let mut checker = if code { Checker::new().with_code() } else { Checker::new() };
    checker = kernels.into_iter().fold(checker, Checker::kernel);
    for name in &select {
        checker = checker.select(rule(name)?);
    }
    for name in &ignore {
        checker = checker.ignore(rule(name)?);
    }
    if !checker.has_rules() {
        return Err(PyValueError::new_err(
            "nothing is to be checked: no rule is left that could find something",
        ));
    }
    let source = Source::new(source)?;
    let reports =
        py.detach(|| reports(source, |bytes| checker.file(bytes, device.as_ref(), &launch)))?;
    if reports.iter().all(|it| is_vacuous(&checker, it)) {
        return Err(error::nothing_checked(py));
    }
    let rows = reports.iter().flat_map(|it| &it.findings).map(|finding| row(py, finding));
    let rows: Vec<Bound<'py, PyAny>> = rows.collect::<PyResult<_>>()?;
    let module = py.import(pyo3::intern!(py, "hsaco._records"))?;
    module.getattr(pyo3::intern!(py, "Findings"))?.call1((rows,))
}

/// A report of every file that the source stands for.
fn reports(source: Source, check: impl Fn(&[u8]) -> Report) -> PyResult<Vec<Report>> {
    let path = match source {
        Source::Bytes(bytes) => return Ok(vec![check(&bytes)]),
        Source::Path(path) => path,
    };
    let mut reports = Vec::new();
    for input in inputs(&[path]) {
        let input = input.map_err(|it| error::unopened(&it.name, &it.error))?;
        // What a folder holds besides device code is not the question.
        if !input.found || Container::detect(&input).is_some() {
            reports.push(check(&input));
        }
    }
    Ok(reports)
}

/// Whether nothing was found because nothing was looked at.
fn is_vacuous(checker: &Checker, report: &Report) -> bool {
    let is_done = report.objects > 0 && (report.kernels > 0 || !checker.names_kernels());
    report.findings.is_empty() && !is_done
}

/// Gives the device another limit.
fn limit(device: &mut Option<Device>, name: &str, value: u32) -> PyResult<()> {
    let names = || Limit::ALL.map(|(name, _)| name).join(", ");
    let known = Limit::ALL.into_iter().find(|it| it.0 == name);
    let (_, limit) = known.ok_or_else(|| {
        PyValueError::new_err(format!("no limit '{name}' of a device; there are {}", names()))
    })?;
    let device = device.as_mut();
    let device = device.ok_or_else(|| PyValueError::new_err("limits are those of a device"))?;
    device.set(limit, value);
    Ok(())
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
