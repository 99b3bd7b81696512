//! The rules: one file each, and one line in this table.

mod caller_duties;
mod descriptor_missing;
mod entry_invalid;
mod feature_mismatch;
mod generic_version;
mod grid_limit;
mod hazard;
mod kernarg_layout;
mod kernel_not_found;
mod lds_limit;
mod metadata_descriptor_mismatch;
mod metadata_invalid;
mod metadata_target_mismatch;
mod missing_barrier;
mod missing_wait;
mod no_section_headers;
mod no_symbol_table;
mod not_a_code_object;
mod not_linked;
mod not_loadable;
mod register_limit;
mod reserved_bits;
mod resource_closure;
mod scratch_needed;
mod target_mismatch;
mod truncated;
mod undecodable_code;
mod unknown_target;
mod unresolved_symbol;
mod unsupported_relocation;
mod user_sgprs;
mod wave_size;
mod waves_do_not_fit;
mod workgroup_limit;

use std::collections::BTreeSet;

use hsaco_bytes::{Error, ErrorKind};
use hsaco_isa::TargetId;

use crate::device::Device;
use crate::facts::KernelFacts;
use crate::fault::{Fault, Faults};
use crate::finding::{Finding, Findings, Severity, Subject};
use crate::nearest::nearest;
use crate::rule::{Check, Depth, Rule};

/// Declares the row of each rule; its page of `docs/rules` has to be there.
macro_rules! rules {
    ($($module:ident $name:literal $check:ident $severity:ident $needs:ident $summary:literal)*) => {
        /// Every rule about code objects, in the order in which they are checked.
        ///
        /// ```
        /// assert!(hsaco_check::RULES.iter().any(|rule| rule.name == "lds-limit"));
        /// ```
        pub static RULES: &[Rule] = &[$(rule($name, $severity, $needs, $summary, page!($name), $check($module::check)),)*];

        /// The names must differ.
        const _: () = assert!(are_distinct(&[$($name,)* BUDGET_NAME, REGRESSION_NAME]), "two rules have one name");
    };
}

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("../../rules/", $name, ".md"))
    };
}

use Check::{File, Kernel, KernelOn, Load, Object, ObjectOn};
use Depth::{Code, Descriptor, Header, Metadata};
use Severity::{Error as E, Note as N, Warning as W};

#[rustfmt::skip]
rules! {
    not_a_code_object            "not-a-code-object"            File     E Header     "not an ELF file of the HSA runtime"
    not_linked                   "not-linked"                   File     E Header     "the compiler's output, which no linker has seen"
    truncated                    "truncated"                    File     E Header     "tables or segments reach past the end of the file"
    unknown_target               "unknown-target"               ObjectOn E Header     "made for an unknown processor"
    target_mismatch              "target-mismatch"              ObjectOn E Header     "made for another processor than the device's"
    feature_mismatch             "feature-mismatch"             ObjectOn E Header     "xnack or sramecc set otherwise than on the device"
    generic_version              "generic-version"              ObjectOn E Header     "generic code of a version that the device does not run"
    no_section_headers           "no-section-headers"           Object   E Header     "no section headers, which the loader reads"
    no_symbol_table              "no-symbol-table"              Object   W Header     "no .symtab, where the loader looks for kernels"
    kernel_not_found             "kernel-not-found"             ObjectOn E Header     "no kernel has the name that was asked for"
    metadata_invalid             "metadata-invalid"             Object   E Metadata   "metadata that cannot be read, or breaks its format"
    metadata_target_mismatch     "metadata-target-mismatch"     Object   W Metadata   "metadata and header name different targets"
    unresolved_symbol            "unresolved-symbol"            Object   E Header     "a symbol that no object defines"
    unsupported_relocation       "unsupported-relocation"       Object   E Header     "a relocation that the loader does not apply"
    descriptor_missing           "descriptor-missing"           Kernel   E Descriptor "a kernel without a descriptor where the loader looks for it"
    entry_invalid                "entry-invalid"                Kernel   E Descriptor "a kernel that starts where no code can"
    reserved_bits                "reserved-bits"                Kernel   W Descriptor "bits set in a descriptor that must be zero"
    lds_limit                    "lds-limit"                    KernelOn E Descriptor "more LDS than a workgroup can have"
    register_limit               "register-limit"               KernelOn E Descriptor "more registers than a wave can have"
    waves_do_not_fit             "waves-do-not-fit"             KernelOn E Descriptor "a workgroup whose waves have too many registers to run together"
    workgroup_limit              "workgroup-limit"              KernelOn E Metadata   "a workgroup of a size that cannot be launched"
    wave_size                    "wave-size"                    Kernel   E Descriptor "waves of a size that the processor does not have"
    kernarg_layout               "kernarg-layout"               Kernel   W Metadata   "arguments that overlap, or leave their segment"
    user_sgprs                   "user-sgprs"                   KernelOn E Descriptor "scalar registers set up otherwise than announced"
    scratch_needed               "scratch-needed"               Kernel   N Descriptor "scratch memory that the caller must provide"
    grid_limit                   "grid-limit"                   KernelOn E Metadata   "a grid of a size that cannot be launched"
    metadata_descriptor_mismatch "metadata-descriptor-mismatch" Kernel   W Descriptor "metadata and descriptor say different things"
    caller_duties                "caller-duties"                Kernel   N Metadata   "what the caller must do besides launching"
    undecodable_code             "undecodable-code"             Kernel   E Code       "words that are no instructions of the processor"
    resource_closure             "resource-closure"             Kernel   E Code       "code that needs more than the kernel is given"
    missing_wait                 "missing-wait"                 Kernel   E Code       "a register that is used before it is loaded or stored"
    missing_barrier              "missing-barrier"              Kernel   W Code       "accesses of LDS by two waves that no barrier separates"
    hazard                       "hazard"                       Kernel   E Code       "instructions that stand too close together"
    not_loadable                 "not-loadable"                 Load     E Header     "what a loader refuses, and no other rule says"
}

const BUDGET_NAME: &str = "budget";
const REGRESSION_NAME: &str = "regression";

/// The rule behind budgets, which are the caller's own.
pub static BUDGET: Rule = rule(
    BUDGET_NAME,
    E,
    Descriptor,
    "more than the project's budget",
    page!("budget"),
    Check::Budgets,
);

/// The rule behind comparisons with a baseline or with another file: kernels that need more than they did. A check of one
/// object does not find it.
pub static REGRESSION: Rule = rule(
    REGRESSION_NAME,
    E,
    Descriptor,
    "a kernel that takes more of the device than it did",
    page!("regression"),
    Check::Baseline,
);

/// The rules behind `hsaco run --sanitize`, which finds them while a kernel runs. A check does not find them.
#[rustfmt::skip]
pub static SANITIZERS: &[Rule] = &[
    rule("sanitize-memory", E, Code, "an access outside of memory, LDS or scratch memory", page!("sanitize-memory"), Check::Run),
    rule("sanitize-init", E, Code, "a value that was never written decides something", page!("sanitize-init"), Check::Run),
    rule("sanitize-wait", E, Code, "a register that an outstanding operation holds", page!("sanitize-wait"), Check::Run),
    rule("sanitize-race", E, Code, "accesses of two waves that nothing orders", page!("sanitize-race"), Check::Run),
    rule("sanitize-barrier", E, Code, "a barrier that waves do not reach together", page!("sanitize-barrier"), Check::Run),
    rule("sanitize-hazard", E, Code, "instructions that follow each other too closely", page!("sanitize-hazard"), Check::Run),
];

/// Every rule, those of budgets, baselines and runs included.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().chain([&BUDGET, &REGRESSION]).chain(SANITIZERS)
}

impl Rule {
    /// Every rule, those behind budgets, baselines and runs included.
    ///
    /// ```
    /// use hsaco_check::{RULES, Rule, SANITIZERS};
    /// assert_eq!(Rule::all().count(), RULES.len() + SANITIZERS.len() + 2);
    /// ```
    pub fn all() -> impl Iterator<Item = &'static Rule> + Clone {
        all()
    }

    /// Whether it is about what a run finds, and never about an object alone.
    #[must_use]
    pub fn is_of_runs(&self) -> bool {
        matches!(self.check, Check::Run)
    }

    /// The rule of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Rule> {
        all().find(|rule| rule.name == name)
    }

    /// The names that are most like one that no rule has.
    #[must_use]
    pub fn nearest(name: &str) -> Vec<&'static str> {
        nearest(name, all().map(|rule| rule.name))
    }
}

const fn rule(
    name: &'static str,
    severity: Severity,
    needs: Depth,
    summary: &'static str,
    page: &'static str,
    check: Check,
) -> Rule {
    Rule { name, severity, needs, summary, page, check }
}

const fn are_distinct(mut names: &[&str]) -> bool {
    while let [first, rest @ ..] = names {
        let mut others = rest;
        while let [other, more @ ..] = others {
            if are_equal(first.as_bytes(), other.as_bytes()) {
                return false;
            }
            others = more;
        }
        names = rest;
    }
    true
}

const fn are_equal(mut one: &[u8], mut other: &[u8]) -> bool {
    loop {
        match (one, other) {
            ([], []) => return true,
            ([a, one_rest @ ..], [b, other_rest @ ..]) if *a == *b => {
                (one, other) = (one_rest, other_rest);
            }
            _ => return false,
        }
    }
}

/// Tells the faults of the code that a kernel reaches.
fn tell_faults(
    rule: &'static str,
    facts: &KernelFacts<'_, '_>,
    findings: &mut Findings,
    of_rule: impl Fn(&Faults) -> &[Fault],
) {
    let Some(code) = facts.object.code() else { return };
    code.faults(facts.kernel, rule, of_rule, |function, fault| {
        tell(facts, function, fault, findings);
    });
}

/// Tells a fault of a function.
fn tell(facts: &KernelFacts<'_, '_>, function: &str, fault: &Fault, findings: &mut Findings) {
    let subject = Subject {
        address: Some(fault.address),
        field: Some(".text".into()),
        ..facts.subject().at(facts.object.object.elf().file_offset(fault.address))
    };
    let message = format!("in {function}: {}", fault.message);
    findings.add(fault.severity, subject, message, fault.help.clone());
}

pub(crate) const KERNEL_NOT_FOUND: &str = "kernel-not-found";

/// The rule that other objects of an executable may satisfy: its findings have the symbol as their field.
pub const UNRESOLVED_SYMBOL: &str = "unresolved-symbol";

/// What is wrong with bytes that are no code object, nor anything that holds one.
pub(crate) fn unreadable(error: &Error) -> Finding {
    let rule = match error.kind() {
        ErrorKind::Truncated => "truncated",
        _ => "not-a-code-object",
    };
    let subject = Subject::field(error.context()).at(error.offset());
    let (message, help) = match rule {
        "truncated" => truncated::describe(error),
        _ => not_a_code_object::describe(error),
    };
    Finding { rule, severity: Severity::Error, subject, message, help, excess: None }
}

/// What to say of a container that holds nothing for a device: if the processor is there, settings are the matter.
pub(crate) fn none_fits(device: &Device, targets: &[TargetId]) -> Finding {
    let wanted = device.target.processor;
    let fits = |target: &TargetId| {
        target.processor == wanted || wanted.generic() == Some(target.processor)
    };
    let is_there = targets.iter().any(fits);
    let names: BTreeSet<String> = targets.iter().map(ToString::to_string).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let message = match targets.len() {
        1 => format!("the only object is for {names}, and the device is {}", device.name),
        count => {
            format!("none of the {count} objects runs on {}: they are for {names}", device.name)
        }
    };
    Finding {
        rule: if is_there { "feature-mismatch" } else { "target-mismatch" },
        severity: Severity::Error,
        subject: Subject::field("e_flags"),
        message,
        help: match is_there {
            true => format!("compile for {}", device.name),
            false => target_mismatch::advice(wanted),
        },
        excess: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_open_with_their_name_and_have_every_part() {
        for rule in all() {
            let lines: Vec<&str> = rule.page.lines().collect();
            assert_eq!(lines[0], format!("# {}", rule.name));
            for part in ["## Example", "## What happens today", "## How to fix it"] {
                assert!(lines.contains(&part), "{}: no {part}", rule.name);
            }
        }
    }

    #[test]
    fn names_are_kebab_case() {
        for rule in all() {
            assert!(
                rule.name.bytes().all(|it| it.is_ascii_lowercase() || it == b'-'),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn equal_names_are_told() {
        assert!(are_distinct(&["a", "b", "ab"]));
        assert!(!are_distinct(&["a", "b", "a"]));
    }
}
