//! Budgets: what the kernels of a project may use.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_analysis::{Metric, Metrics};

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};
use crate::question::Question;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Relation {
    AtMost,
    AtLeast,
    Equal,
}

/// One limit that kernels are held to.
///
/// ```
/// use hsaco_check::Budget;
/// let budget: Budget = "lds <= 64K".parse()?;
/// assert_eq!(budget.to_string(), "lds <= 65536");
/// assert_eq!(
///     "vgprs < 128".parse::<Budget>().unwrap_err().to_string(),
///     "'vgprs < 128' is no budget: write METRIC <= N, METRIC >= N or METRIC = N",
/// );
/// # Ok::<(), hsaco_check::ParseBudgetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    metric: Metric,
    relation: Relation,
    value: u64,
}

/// A budget that cannot be read; its text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBudgetError(String);

impl fmt::Display for ParseBudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseBudgetError {}

impl FromStr for Budget {
    type Err = ParseBudgetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let relations = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("==", Relation::Equal),
            ("=", Relation::Equal),
        ];
        let split = relations
            .into_iter()
            .find_map(|(sign, relation)| Some((text.split_once(sign)?, relation)));
        let Some(((name, value), relation)) = split else {
            let forms = "METRIC <= N, METRIC >= N or METRIC = N";
            return Err(ParseBudgetError(format!("'{text}' is no budget: write {forms}")));
        };
        Ok(Budget { metric: metric(name.trim())?, relation, value: number(value.trim())? })
    }
}

fn metric(name: &str) -> Result<Metric, ParseBudgetError> {
    Metric::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Metric::ALL.iter().map(|it| it.name()).collect();
        ParseBudgetError(format!("'{name}' cannot be counted: use {}", names.join(", ")))
    })
}

/// A number, with K for 1024 and M for its square.
fn number(text: &str) -> Result<u64, ParseBudgetError> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    let value = digits.trim().parse::<u64>().ok().and_then(|value| value.checked_mul(unit));
    value.ok_or_else(|| ParseBudgetError(format!("'{text}' is no number such as 128 or 64K")))
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::AtMost => "<=",
            Relation::AtLeast => ">=",
            Relation::Equal => "=",
        };
        write!(f, "{} {relation} {}", self.metric.name(), self.value)
    }
}

/// What a kernel uses, on the processor that it is for.
///
/// ```
/// use hsaco_analysis::Metric;
/// use hsaco_check::{Checker, LaunchFacts};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let report = Checker::new().with_measures().file(&file, None, &LaunchFacts::default());
/// let foo = report.measures.iter().find(|it| it.kernel == "foo").unwrap();
/// assert_eq!(foo.get(Metric::Lds), Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measures {
    /// The number of its object in the container, counted from 0; none where the file is the object.
    pub object: Option<usize>,
    /// The kernel, by its mangled name.
    pub kernel: String,
    /// What is known, each metric once.
    pub values: Vec<(Metric, u64)>,
}

impl Measures {
    pub(crate) fn new(facts: &KernelFacts<'_, '_>) -> Self {
        let limits = facts.object.processor().map(hsaco_isa::Processor::limits);
        let metrics = Metrics::of(facts.kernel, facts.object.generation(), limits);
        let value = |metric: &Metric| Some((*metric, metrics.get(*metric)?));
        let values = Metric::ALL.iter().filter_map(value).collect();
        Self { object: None, kernel: facts.kernel.name().to_string(), values }
    }

    /// The value of a metric, if it is known.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<u64> {
        self.values.iter().find(|(it, _)| *it == metric).map(|(_, value)| *value)
    }
}

/// A budget and the kernels that it is for.
pub(crate) struct KernelBudget {
    pub(crate) budget: Budget,
    /// Whether there was such a kernel.
    pub(crate) is_used: AtomicBool,
    pub(crate) applies: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl fmt::Debug for KernelBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelBudget({})", self.budget)
    }
}

impl KernelBudget {
    pub(crate) fn check(
        &self,
        facts: &KernelFacts<'_, '_>,
        question: &Question<'_>,
        findings: &mut Findings,
    ) {
        let applies = (self.applies)(&facts.kernel.name().to_str_lossy())
            || facts.source_name().is_some_and(&self.applies);
        if !applies {
            return;
        }
        self.is_used.store(true, Ordering::Relaxed);
        let Budget { metric, relation, value } = self.budget;
        let (metric_name, field) = (metric.name(), metric.field());
        let subject = || match field.starts_with('.') {
            true => facts.metadata_field(field),
            false => facts.absent_field(field),
        };
        let generation = facts.object.generation();
        let metrics = Metrics::of(facts.kernel, generation, question.register_limits);
        let Some(found) = metrics.get(metric) else {
            let message = format!("{metric_name} is not known, and the budget is {}", self.budget);
            return findings.warning(subject(), message, "compile with metadata that says it");
        };
        let keeps = match relation {
            Relation::AtMost => found <= value,
            Relation::AtLeast => found >= value,
            Relation::Equal => found == value,
        };
        if !keeps {
            let by = found.abs_diff(value);
            let side = if found > value { "over" } else { "under" };
            let message =
                format!("{metric_name} is {found}, {by} {side} the budget of {}", self.budget);
            let help = "make the kernel smaller, or raise its budget";
            findings.exceeds(Severity::Error, subject(), message, help, by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read() {
        let read = |text: &str| text.parse::<Budget>().map(|it| it.to_string());
        assert_eq!(read("vgprs<=128").unwrap(), "vgprs <= 128");
        assert_eq!(read(" spills = 0 ").unwrap(), "spills = 0");
        assert_eq!(read("occupancy >= 2").unwrap(), "occupancy >= 2");
        assert_eq!(read("scratch == 1M").unwrap(), "scratch = 1048576");
    }

    #[test]
    fn errors_say_what_is_meant() {
        let fault = |text: &str| text.parse::<Budget>().unwrap_err().to_string();
        assert_eq!(
            fault("waves >= 2"),
            "'waves' cannot be counted: use vgprs, agprs, sgprs, spills, lds, scratch, kernarg, \
             code, occupancy"
        );
        assert_eq!(fault("lds <= many"), "'many' is no number such as 128 or 64K");
        assert_eq!(
            fault("lds <= 99999999999999999999K"),
            "'99999999999999999999K' is no number such as 128 or 64K"
        );
    }
}
