//! `not-loadable`: what a loader refuses, as far as no other rule has said it.
//!
//! It asks the loader itself, so that a check never passes what loading does not.

use hsaco_load::{Error, ErrorKind};

use crate::facts::Facts;
use crate::finding::{Findings, Subject};

pub(super) fn check(facts: &Facts<'_>, findings: &mut Findings) {
    let Some(errors) = facts.refusals() else { return };
    // A processor that is not known here may be known to the device's loader: `unknown-target` judges that.
    let is_untold = |error: &&Error| {
        error.kind() != ErrorKind::UnknownTarget && !findings.has_error_of(closer(error.kind()))
    };
    let untold: Vec<&Error> = errors.iter().filter(is_untold).collect();
    for error in untold {
        let subject = Subject::field(error.kind().name()).at(error.offset());
        let message = format!("the loader refuses it: {}", error.detail());
        let help = error.help().unwrap_or("link it again, with ld.lld -shared");
        findings.error(subject, message, help);
    }
}

/// The rules that say such a thing with more particulars.
fn closer(kind: ErrorKind) -> &'static [&'static str] {
    match kind {
        ErrorKind::NotLinked => &["not-linked"],
        ErrorKind::NotHsa => &["not-a-code-object"],
        ErrorKind::Unreadable => {
            &["not-a-code-object", "truncated", "unsupported-relocation", "metadata-invalid"]
        }
        ErrorKind::BadSegment => &["not-a-code-object", "truncated"],
        ErrorKind::BadDescriptor => &["descriptor-missing"],
        ErrorKind::BadEntry => &["entry-invalid"],
        ErrorKind::BadRelocation | ErrorKind::UnsupportedRelocation => &["unsupported-relocation"],
        ErrorKind::UndefinedSymbol => &["unresolved-symbol"],
        _ => &[],
    }
}
