//! What a rule is.

use crate::facts::{FileFacts, KernelFacts, ObjectFacts};
use crate::finding::{Findings, Severity};

/// What a rule has to look at, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needs {
    /// The ELF header and its tables, symbols and relocations included.
    Header,
    /// The metadata notes.
    Metadata,
    /// Kernel descriptors.
    Descriptor,
    /// Instructions, which take far longer to look at than all the rest.
    Code,
}

impl Needs {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Needs::Header => "header",
            Needs::Metadata => "metadata",
            Needs::Descriptor => "descriptor",
            Needs::Code => "code",
        }
    }
}

/// One thing that can be wrong with a code object.
///
/// ```
/// use hsaco_check::{Needs, Rule, Severity};
/// let rule = Rule::by_name("lds-limit").unwrap();
/// assert_eq!((rule.severity, rule.needs), (Severity::Error, Needs::Descriptor));
/// assert!(rule.page.starts_with("# lds-limit\n"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Its name: kebab-case, and never given to another rule.
    pub name: &'static str,
    /// How bad its findings are at worst.
    pub severity: Severity,
    /// What it has to look at.
    pub needs: Needs,
    /// What it finds, in a few words.
    pub summary: &'static str,
    /// Its page of `docs/rules`: what it means, an example, how runtimes fail, how to fix it.
    pub page: &'static str,
    pub(crate) check: Check,
}

/// How a rule looks at things: once for a file, for an object, or for each of its kernels.
#[derive(Debug)]
pub(crate) enum Check {
    File(fn(&FileFacts<'_, '_>, &mut Findings)),
    Object(fn(&ObjectFacts<'_, '_>, &mut Findings)),
    Kernel(fn(&KernelFacts<'_, '_>, &mut Findings)),
    /// Once for the bytes of an object, when all other rules have spoken.
    Load(fn(&[u8], &mut Findings)),
    /// What the caller brings, see [`Budget`](crate::Budget).
    Budgets,
    /// What the caller compares, see [`REGRESSION`](crate::REGRESSION).
    Baseline,
}

impl Rule {
    /// Every rule, those behind budgets and baselines included.
    ///
    /// ```
    /// use hsaco_check::{RULES, Rule};
    /// assert_eq!(Rule::all().count(), RULES.len() + 2);
    /// ```
    pub fn all() -> impl Iterator<Item = &'static Rule> + Clone {
        crate::rules::all()
    }

    /// The rule of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Rule> {
        crate::rules::all().find(|rule| rule.name == name)
    }

    /// The names that are most like one that no rule has.
    #[must_use]
    pub fn nearest(name: &str) -> Vec<&'static str> {
        crate::nearest::nearest(name, crate::rules::all().map(|rule| rule.name))
    }
}
