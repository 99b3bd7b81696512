//! Rules: what is to be rewritten, and into what.
//!
//! # How to add a rule
//!
//! One file, one line, one page:
//! 1. `rule/NAME.rs` (the rule's name with underscores) has `pub(super) const RULE: RewriteRule`. `trigger` says which
//!    instructions it is about; no other rule may claim them. `look` gets one such instruction as a [`Site`] of
//!    an analysed function and answers; it changes nothing and may be asked again. `residual` says whether an
//!    instruction in a finished object is one that the rule should have rewritten; it is asked of every
//!    instruction that `trigger` finds, generated ones included, so what `look` makes must not be a residual.
//! 2. One line of a set's table below, in the place where it is to be asked.
//! 3. `docs/rules/NAME.md`: why, and when it refuses; `BLESS=1 cargo test -p hsaco-patch pages` puts the examples behind that.
//! 4. Examples: instructions before and after, as text. `cargo test -p hsaco-patch examples` runs them all. The code
//!    before is a kernel of its own: `s_endpgm` follows. What is compared is the code with the replacements in
//!    it, before they are placed.
//!
//! What `look` has to hold to:
//! - Write only what the replaced instruction writes, and what [`Site::scratch_registers`] has granted
//!   ([`Plan::taking`](crate::Plan::taking)). SCC and VCC are scratch registers too.
//! - Leave EXEC, MODE and VGPR MSBs as the replaced instruction leaves them.
//!   [`Site::msb`] says what they are; registers in the text of an instruction are without them.
//! - Where one change serves several instructions, answer the same plan at each: an edit made twice is one.
//! - Leave no more memory operations outstanding than the replaced instruction does, or wait for it.
//! - Answer [`Answer::Refuse`] with the reason where it cannot keep that; never [`Answer::NotMine`]. `?` on
//!   a [`Refusal`] does that when `look` is written with [`answer`].

/// The distance from a matrix instruction, in examples.
macro_rules! eight_nops {
    () => {
        "\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\n"
    };
}

mod barrier_isfirst;
mod clause;
mod cluster_load;
mod deferred;
mod ds_addtid;
mod ds_two_address;
mod e5m3;
mod entry_stub;
mod mode_before_msb;
mod scale_sixteen;
mod scale_src2;
mod set;
mod sethalt;
mod tensor_mask;
mod tensor_mask_b0;
mod vop3px_wrap;
mod wmma_hazard;
mod wmma_split;

pub use set::{RuleSet, Stepping};

use crate::option::Options;
use crate::refusal::Refusal;
use crate::rewrite::Plan;
use crate::site::Site;

/// The rules that make code for stepping B0 of gfx1250 run on A0, in the order in which they are asked.
const RULES: &[RewriteRule] = &[
    cluster_load::RULE,
    clause::RULE,
    barrier_isfirst::RULE,
    ds_two_address::RULE,
    ds_addtid::RULE,
    tensor_mask::RULE,
    wmma_split::RULE,
    scale_sixteen::RULE,
    e5m3::RULE,
    scale_src2::RULE,
    sethalt::RULE,
    vop3px_wrap::RULE,
    mode_before_msb::RULE,
    deferred::RULE,
    wmma_hazard::RULE,
    entry_stub::RULE,
];

/// For stepping B0 of gfx1250 to run on A0.
pub(crate) const GFX1250_B0_TO_A0: RuleSet =
    RuleSet::new("gfx1250-b0-to-a0", "gfx1250", RULES).steppings("B0", "A0");

/// For stepping B0 of gfx1250 to run on B0 where waves may be in no cluster.
pub(crate) const GFX1250_B0_STRICT: RuleSet =
    RuleSet::new("gfx1250-b0-strict", "gfx1250", &[tensor_mask_b0::RULE]).steppings("B0", "B0");

/// When a rule is asked; rules are listed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Of each instruction that it is about; the first rule that has something to say owns the instruction.
    Site,
    /// The same, but it only asks for distance before instructions that others may own.
    Distance,
    /// Of the first instruction of each kernel.
    Entry,
}

/// Whether an object may go out with a rule's instructions unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// No: a refusal stops the object.
    Required,
    /// Yes: a refusal is reported.
    Optional,
}

/// Which instructions a rule is about.
#[derive(Clone, Copy, Debug)]
pub enum Trigger {
    /// Those of these names. No other rule may claim one of them.
    Opcodes(&'static [&'static str]),
    /// Those whose first word is one of these, as masks and the values under them, and whose bytes look so; code follows up
    /// to its end. A quick look that may err on the side of yes.
    Look(&'static [(u32, u32)], fn(&[u8]) -> bool),
    /// The first of each kernel.
    Entry,
}

/// What a rule has to say of an instruction.
#[derive(Clone, Debug)]
#[must_use]
pub enum Answer {
    /// Nothing: other rules may.
    NotMine,
    /// It stays as it is, although it may matter, for this reason.
    Keep(&'static str),
    /// Do this.
    Rewrite(Plan),
    /// It has to be rewritten and cannot be.
    Refuse(Refusal),
}

/// Turns what a `look` with `?` in it found into an answer.
pub fn answer(result: Result<Answer, Refusal>) -> Answer {
    result.unwrap_or_else(Answer::Refuse)
}

/// What an example comes out as.
#[derive(Clone, Copy, Debug)]
pub enum ExampleOutcome {
    /// Itself.
    Same,
    /// These lines.
    Code(&'static str),
    /// A refusal that contains this.
    Refused(&'static str),
}

/// Code before a rule, and after it.
///
/// ```
/// use hsaco_patch::Example;
/// const EXAMPLE: Example = Example::new("CL1", "s_clause 0x1", "s_nop 0");
/// assert_eq!(EXAMPLE.name, "CL1");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What tests and pages call it.
    pub name: &'static str,
    /// Lines of assembly; `.long` for bits that no assembler makes. `s_endpgm` follows.
    pub before: &'static str,
    /// What they come out as.
    pub after: ExampleOutcome,
    /// Scalar and vector registers that the kernel says it has.
    pub registers: (u16, u16),
    /// Sets options.
    pub options: fn(&mut Options),
}

impl Example {
    /// Lines that come out as others.
    #[must_use]
    pub const fn new(name: &'static str, before: &'static str, after: &'static str) -> Self {
        Example {
            name,
            before,
            after: ExampleOutcome::Code(after),
            registers: (32, 64),
            options: |_| (),
        }
    }

    /// Lines that the rule leaves alone.
    #[must_use]
    pub const fn same(name: &'static str, before: &'static str) -> Self {
        Example { after: ExampleOutcome::Same, ..Example::new(name, before, "") }
    }

    /// Lines that the rule refuses, with a part of the reason.
    #[must_use]
    pub const fn refused(name: &'static str, before: &'static str, reason: &'static str) -> Self {
        Example { after: ExampleOutcome::Refused(reason), ..Example::new(name, before, "") }
    }

    /// The same in a kernel with so many scalar and vector registers.
    #[must_use]
    pub const fn registers(self, sgprs: u16, vgprs: u16) -> Self {
        Example { registers: (sgprs, vgprs), ..self }
    }

    /// The same with options.
    #[must_use]
    pub const fn options(self, options: fn(&mut Options)) -> Self {
        Example { options, ..self }
    }
}

/// One rule.
///
/// ```
/// use hsaco_patch::{Answer, Example, Plan, Requirement, RewriteRule, Stage, Trigger};
/// const RULE: RewriteRule = RewriteRule {
///     name: "no-halt",
///     summary: "waves do not halt",
///     stage: Stage::Site,
///     requirement: Requirement::Required,
///     trigger: Trigger::Opcodes(&["s_sethalt"]),
///     look: |site| match site.assemble("s_nop 0") {
///         Ok(nop) => Answer::Rewrite(Plan::replace(site, vec![nop])),
///         Err(refusal) => Answer::Refuse(refusal),
///     },
///     residual: |_| true,
///     examples: &[Example::new("SH1", "s_sethalt 1", "s_nop 0")],
///     page: "# no-halt",
/// };
/// assert!(RULE.claims("s_sethalt"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RewriteRule {
    /// Its name: kebab-case, and that of its page.
    pub name: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// When it is asked.
    pub stage: Stage,
    /// Whether an object may go out without it.
    pub requirement: Requirement,
    /// What it is about.
    pub trigger: Trigger,
    /// What it has to say of an instruction.
    pub look: fn(&Site<'_>) -> Answer,
    /// Whether an instruction of a finished object should have been rewritten.
    pub residual: fn(&Site<'_>) -> bool,
    /// Code before and after.
    pub examples: &'static [Example],
    /// Its documentation, in Markdown.
    pub page: &'static str,
}
