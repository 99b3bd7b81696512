//! What a rule is.

use crate::facts::{Facts, KernelFacts, ObjectFacts};
use crate::finding::{Findings, Severity};
use crate::question::Question;

/// How deep a rule has to look into an object, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// The ELF header and its tables, symbols and relocations included.
    Header,
    /// The metadata notes.
    Metadata,
    /// Kernel descriptors.
    Descriptor,
    /// Instructions, which take far longer to look at than all the rest.
    Code,
}

impl Depth {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Depth::Header => "header",
            Depth::Metadata => "metadata",
            Depth::Descriptor => "descriptor",
            Depth::Code => "code",
        }
    }
}

/// One thing that can be wrong with a code object.
///
/// ```
/// use hsaco_check::{Depth, Rule, Severity};
/// let rule = Rule::by_name("lds-limit").unwrap();
/// assert_eq!((rule.severity, rule.needs), (Severity::Error, Depth::Descriptor));
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
    pub needs: Depth,
    /// What it finds, in a few words.
    pub summary: &'static str,
    /// Its page of `docs/rules`: what it means, an example, how runtimes fail, how to fix it.
    pub page: &'static str,
    pub(crate) check: Check,
}

/// How a rule looks at things: once for a file, for an object, or for each of its kernels. Where device and launch do
/// not matter it does not see them.
#[derive(Debug)]
pub(crate) enum Check {
    File(fn(&Facts<'_>, &mut Findings)),
    Object(fn(&ObjectFacts<'_>, &mut Findings)),
    ObjectOn(fn(&ObjectFacts<'_>, &Question<'_>, &mut Findings)),
    Kernel(fn(&KernelFacts<'_, '_>, &mut Findings)),
    KernelOn(fn(&KernelFacts<'_, '_>, &Question<'_>, &mut Findings)),
    /// Once for the bytes of an object, when all other rules have spoken.
    Load(fn(&Facts<'_>, &mut Findings)),
    /// What the caller brings, see [`Budget`](crate::Budget).
    Budgets,
    /// What a run finds, see [`SANITIZERS`](crate::SANITIZERS).
    Run,
    /// What the caller compares, see [`REGRESSION`](crate::REGRESSION).
    Baseline,
}
