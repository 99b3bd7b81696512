//! Tables of rules, checked by the compiler.

use super::{GFX1250_B0_STRICT, GFX1250_B0_TO_A0, RewriteRule, Stage, Trigger};

/// Rules in the order in which they are asked.
///
/// Made by a `const` function, so that a table that breaks its rules does not compile. This one does:
///
/// ```
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// const ONE: RewriteRule = RewriteRule {
///     name: "one",
///     summary: "",
///     stage: Stage::Site,
///     requirement: Requirement::Required,
///     trigger: Trigger::Opcodes(&["s_nop"]),
///     look: |_| Answer::NotMine,
///     residual: |_| false,
///     examples: &[Example::same("1", "s_nop 0")],
///     page: "# one",
/// };
/// const TWO: RewriteRule = RewriteRule { name: "two", trigger: Trigger::Opcodes(&["s_clause"]), ..ONE };
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[ONE, TWO]);
/// assert_eq!(SET.rules().len(), 2);
/// ```
///
/// Two rules of one name do not:
///
/// ```compile_fail
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// # const ONE: RewriteRule = RewriteRule {
/// #     name: "one",
/// #     summary: "",
/// #     stage: Stage::Site,
/// #     requirement: Requirement::Required,
/// #     trigger: Trigger::Opcodes(&["s_nop"]),
/// #     look: |_| Answer::NotMine,
/// #     residual: |_| false,
/// #     examples: &[Example::same("1", "s_nop 0")],
/// #     page: "# one",
/// # };
/// const TWO: RewriteRule = RewriteRule { trigger: Trigger::Opcodes(&["s_clause"]), ..ONE };
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[ONE, TWO]);
/// assert_eq!(SET.rules().len(), 2);
/// ```
///
/// Nor two that claim one instruction:
///
/// ```compile_fail
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// # const ONE: RewriteRule = RewriteRule {
/// #     name: "one",
/// #     summary: "",
/// #     stage: Stage::Site,
/// #     requirement: Requirement::Required,
/// #     trigger: Trigger::Opcodes(&["s_nop"]),
/// #     look: |_| Answer::NotMine,
/// #     residual: |_| false,
/// #     examples: &[Example::same("1", "s_nop 0")],
/// #     page: "# one",
/// # };
/// const TWO: RewriteRule = RewriteRule { name: "two", trigger: Trigger::Opcodes(&["s_clause", "s_nop"]), ..ONE };
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[ONE, TWO]);
/// assert_eq!(SET.rules().len(), 2);
/// ```
///
/// Nor rules out of the order of their stages:
///
/// ```compile_fail
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// # const ONE: RewriteRule = RewriteRule {
/// #     name: "one",
/// #     summary: "",
/// #     stage: Stage::Site,
/// #     requirement: Requirement::Required,
/// #     trigger: Trigger::Opcodes(&["s_nop"]),
/// #     look: |_| Answer::NotMine,
/// #     residual: |_| false,
/// #     examples: &[Example::same("1", "s_nop 0")],
/// #     page: "# one",
/// # };
/// const TWO: RewriteRule = RewriteRule { name: "two", stage: Stage::Entry, trigger: Trigger::Entry, ..ONE };
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[TWO, ONE]);
/// assert_eq!(SET.rules().len(), 2);
/// ```
///
/// Nor a rule without examples:
///
/// ```compile_fail
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// # const ONE: RewriteRule = RewriteRule {
/// #     name: "one",
/// #     summary: "",
/// #     stage: Stage::Site,
/// #     requirement: Requirement::Required,
/// #     trigger: Trigger::Opcodes(&["s_nop"]),
/// #     look: |_| Answer::NotMine,
/// #     residual: |_| false,
/// #     examples: &[Example::same("1", "s_nop 0")],
/// #     page: "# one",
/// # };
/// const TWO: RewriteRule = RewriteRule { name: "two", trigger: Trigger::Opcodes(&["s_clause"]), examples: &[], ..ONE };
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[ONE, TWO]);
/// assert_eq!(SET.rules().len(), 2);
/// ```
///
/// Nor one without a page:
///
/// ```compile_fail
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// # const ONE: RewriteRule = RewriteRule {
/// #     name: "one",
/// #     summary: "",
/// #     stage: Stage::Site,
/// #     requirement: Requirement::Required,
/// #     trigger: Trigger::Opcodes(&["s_nop"]),
/// #     look: |_| Answer::NotMine,
/// #     residual: |_| false,
/// #     examples: &[Example::same("1", "s_nop 0")],
/// #     page: "# one",
/// # };
/// const TWO: RewriteRule = RewriteRule { name: "two", trigger: Trigger::Opcodes(&["s_clause"]), page: "", ..ONE };
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[ONE, TWO]);
/// assert_eq!(SET.rules().len(), 2);
/// ```
///
/// Nor one that does not say what it leaves behind:
///
/// ```compile_fail
/// # use hsaco_patch::{Answer, Example, Requirement, RewriteRule, RuleSet, Stage, Trigger};
/// const ONE: RewriteRule = RewriteRule {
///     name: "one",
///     summary: "",
///     stage: Stage::Site,
///     requirement: Requirement::Required,
///     trigger: Trigger::Opcodes(&["s_nop"]),
///     look: |_| Answer::NotMine,
///     examples: &[Example::same("1", "s_nop 0")],
///     page: "# one",
/// };
/// ```
///
/// A set that turns code for one stepping into code for another says so. Metadata say it of gfx1250 alone, as A0 or B0:
///
/// ```
/// # use hsaco_patch::RuleSet;
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[]).steppings("A0", "B0");
/// assert_eq!(SET.stepping().map(|it| it.gives), Some("B0"));
/// ```
///
/// There is no other stepping:
///
/// ```compile_fail
/// # use hsaco_patch::RuleSet;
/// const SET: RuleSet = RuleSet::new("set", "gfx1250", &[]).steppings("A0", "C0");
/// assert_eq!(SET.stepping().map(|it| it.gives), Some("C0"));
/// ```
///
/// Nor another processor that has any:
///
/// ```compile_fail
/// # use hsaco_patch::RuleSet;
/// const SET: RuleSet = RuleSet::new("set", "gfx942", &[]).steppings("A0", "B0");
/// assert_eq!(SET.stepping().map(|it| it.gives), Some("B0"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RuleSet {
    name: &'static str,
    processor: &'static str,
    rules: &'static [RewriteRule],
    stepping: Option<Stepping>,
}

/// What a set takes and what its result is, as `.gfx1250_revision` of kernels' metadata says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stepping {
    /// The stepping that code is for before. Kernels that say nothing are taken at the caller's word.
    pub takes: &'static str,
    /// The stepping that it is for once all rules of the set have run.
    pub gives: &'static str,
}

impl Stepping {
    /// The steppings that metadata can name.
    pub(crate) const ALL: [&'static str; 2] = ["A0", "B0"];

    const fn is_known(name: &str) -> bool {
        let [first, second] = Stepping::ALL;
        same(name, first) || same(name, second)
    }
}

impl RuleSet {
    /// A set for a processor; does not compile where two rules have one name or claim one instruction,
    /// rules stand out of the order of their stages, or one lacks its examples or its page.
    #[must_use]
    #[allow(clippy::panic, clippy::indexing_slicing, reason = "while compiling")]
    pub const fn new(
        name: &'static str,
        processor: &'static str,
        rules: &'static [RewriteRule],
    ) -> RuleSet {
        let mut at = 0;
        while at < rules.len() {
            let rule = &rules[at];
            assert!(!rule.name.is_empty(), "a rule has no name");
            assert!(!rule.examples.is_empty(), "a rule has no examples");
            assert!(!rule.page.is_empty(), "a rule has no page");
            assert!(
                matches!(rule.stage, Stage::Entry) == matches!(rule.trigger, Trigger::Entry),
                "rules about entries are asked at entries"
            );
            assert!(
                at == 0 || rules[at - 1].stage as u8 <= rule.stage as u8,
                "rules stand in the order of their stages"
            );
            let mut other = 0;
            while other < at {
                assert!(!same(rules[other].name, rule.name), "two rules have one name");
                assert!(!both_claim(&rules[other], rule), "two rules claim one instruction");
                other += 1;
            }
            at += 1;
        }
        RuleSet { name, processor, rules, stepping: None }
    }

    /// The same set for code of one stepping, whose result is for another, or for the same. It runs on no other, and its result
    /// says which it is for. A set that declares none runs on all of them, and leaves what objects say of it as it is.
    #[must_use]
    pub const fn steppings(self, takes: &'static str, gives: &'static str) -> RuleSet {
        assert!(same(self.processor, "gfx1250"), "metadata name steppings of gfx1250 alone");
        assert!(Stepping::is_known(takes) && Stepping::is_known(gives), "a stepping is A0 or B0");
        RuleSet { stepping: Some(Stepping { takes, gives }), ..self }
    }

    /// All sets.
    #[must_use]
    pub fn all() -> &'static [RuleSet] {
        // A static is one table; a constant may be there as often as it is used.
        static SETS: [RuleSet; 3] =
            [GFX1250_B0_TO_A0, GFX1250_B0_STRICT, RuleSet::new("none", "gfx1250", &[])];
        &SETS
    }

    /// The set of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static RuleSet> {
        RuleSet::all().iter().find(|set| set.name == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The processor whose code it rewrites.
    #[must_use]
    pub fn processor(&self) -> &'static str {
        self.processor
    }

    /// The steppings that it takes and gives, if it declares them.
    #[must_use]
    pub fn stepping(&self) -> Option<Stepping> {
        self.stepping
    }

    /// Its rules, in the order in which they are asked.
    #[must_use]
    pub fn rules(&self) -> &'static [RewriteRule] {
        self.rules
    }

    /// The rule of a name.
    #[must_use]
    pub fn rule(&self, name: &str) -> Option<&'static RewriteRule> {
        self.rules.iter().find(|rule| rule.name == name)
    }
}

const fn same(left: &str, right: &str) -> bool {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    while let ([a, more @ ..], [b, others @ ..]) = (left, right) {
        if *a != *b {
            return false;
        }
        (left, right) = (more, others);
    }
    left.is_empty() && right.is_empty()
}

const fn both_claim(left: &RewriteRule, right: &RewriteRule) -> bool {
    let (Trigger::Opcodes(mut claims), Trigger::Opcodes(others)) = (left.trigger, right.trigger)
    else {
        return false;
    };
    while let [claim, more @ ..] = claims {
        let mut rest = others;
        while let [other, more @ ..] = rest {
            if same(claim, other) {
                return true;
            }
            rest = more;
        }
        claims = more;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Answer, Example, Requirement};

    #[test]
    fn every_rule_file_is_listed() {
        let rules = RuleSet::all().iter().flat_map(RuleSet::rules);
        let mut listed: Vec<String> =
            rules.map(|rule| format!("{}.rs", rule.name.replace('-', "_"))).collect();
        listed.extend(["mod.rs", "set.rs"].map(str::to_owned));
        listed.sort();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rule");
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let mut files: Vec<String> =
            files.map(|file| file.file_name().into_string().unwrap()).collect();
        files.sort();
        assert_eq!(files, listed);
    }

    const ONE: RewriteRule = RewriteRule {
        name: "one",
        summary: "",
        stage: Stage::Site,
        requirement: Requirement::Required,
        trigger: Trigger::Opcodes(&["s_nop"]),
        look: |_| Answer::NotMine,
        residual: |_| false,
        examples: &[Example::same("1", "s_nop 0")],
        page: "# one",
    };

    /// What the compiler says of a table; the examples of [`RuleSet`] show that it does not get any further.
    fn fault(other: RewriteRule) -> String {
        let rules: &'static [RewriteRule] = Box::leak(Box::new([ONE, other]));
        let new = || RuleSet::new("set", "gfx1250", rules);
        let fault = std::panic::catch_unwind(new).map(|_| ()).unwrap_err();
        (*fault.downcast::<&str>().unwrap()).to_owned()
    }

    #[test]
    fn each_fault_of_a_table_is_told() {
        let two = RewriteRule { name: "two", trigger: Trigger::Opcodes(&["s_clause"]), ..ONE };
        assert_eq!(fault(RewriteRule { name: "one", ..two }), "two rules have one name");
        assert_eq!(
            fault(RewriteRule { trigger: ONE.trigger, ..two }),
            "two rules claim one instruction"
        );
        assert_eq!(fault(RewriteRule { examples: &[], ..two }), "a rule has no examples");
        assert_eq!(fault(RewriteRule { page: "", ..two }), "a rule has no page");
        assert_eq!(fault(RewriteRule { name: "", ..two }), "a rule has no name");
        let entry = fault(RewriteRule { stage: Stage::Entry, ..two });
        assert_eq!(entry, "rules about entries are asked at entries");
    }

    #[test]
    fn rules_from_b0_to_a0_are_the_errata_of_a0() {
        let set = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
        let rules: Vec<_> = set.rules().iter().map(|it| it.name).collect();
        let errata: Vec<_> = hsaco_isa::errata::GFX1250_A0.iter().map(|it| it.name).collect();
        assert_eq!(rules, errata);
    }

    #[test]
    fn the_table_is_one_and_the_same() {
        let first = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
        assert!(std::ptr::eq(first, &RuleSet::all()[0]));
        assert!(RuleSet::by_name("gfx1250-a0-to-b0").is_none());
    }
}
