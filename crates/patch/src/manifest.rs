//! What a run has changed, and what it has not.

use std::sync::Arc;

use hsaco_isa::model::Register;

use crate::bytes::CodeBytes;
use crate::jump::JumpKind;
use crate::option::Options;
use crate::refusal::Refusal;
use crate::rule::RuleSet;

/// The rule name of what a caller asked for.
pub(crate) const EDIT: &str = "edit";
/// The rule name of counters.
pub(crate) const COUNT: &str = "count";
/// The rule name of calls.
pub(crate) const CALL: &str = "call";

/// Whether a rule name is that of something a caller asked for.
pub(crate) fn is_asked_for(rule: &str) -> bool {
    [EDIT, COUNT, CALL].contains(&rule)
}

/// How a run, or a kernel in it, came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was rewritten.
    Changed,
    /// It is as it was, for this reason.
    Unchanged(String),
    /// It should be rewritten and cannot be.
    Refused,
}

impl Verdict {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Verdict::Changed => "changed",
            Verdict::Unchanged(_) => "unchanged",
            Verdict::Refused => "refused",
        }
    }
}

/// Where a replacement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Where the replaced instructions stood.
    InPlace,
    /// In padding of the same function that nothing reaches.
    Padding,
    /// In a segment of its own behind the object.
    Pool,
}

impl Placement {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Placement::InPlace => "in-place",
            Placement::Padding => "padding",
            Placement::Pool => "pool",
        }
    }

    /// The placement of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::InPlace, Self::Padding, Self::Pool].into_iter().find(|it| it.name() == name)
    }
}

/// Bytes that changed at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub address: u64,
    /// What was there; nothing where there was nothing.
    pub old: CodeBytes,
    /// What is there now.
    pub new: CodeBytes,
}

/// Some code that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The rules that had it replaced, each with its instruction's address.
    pub rules: Vec<(&'static str, u64)>,
    /// The name of the function.
    pub function: Arc<str>,
    /// The place itself.
    pub site: Change,
    /// Where the replacement stands.
    pub placement: Placement,
    /// How control gets there.
    pub jump: JumpKind,
    /// The replacement, where it is not in place; the way back is its end.
    pub body: Option<Change>,
    /// How many bytes of the body are the way back.
    pub way_back: usize,
    /// Branches on the way there or back.
    pub relays: Vec<Change>,
    /// Registers that the replacement writes beside those that the old code wrote.
    pub scratch_registers: Vec<Register>,
    /// The pair of scalar registers that far jumps take.
    pub pair: Option<Register>,
}

impl Record {
    /// What runs instead of what the site was, without the way there and back.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        match &self.body {
            Some(body) => {
                body.new.get(..body.new.len().saturating_sub(self.way_back)).unwrap_or_default()
            }
            None => &self.site.new,
        }
    }
}

/// What runs before a kernel's first instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// The kernel's name.
    pub kernel: String,
    /// The rule that wants it.
    pub rule: String,
    /// Where it is.
    pub address: u64,
    /// All of it.
    pub code: Vec<u8>,
    /// Where in it the jump to the old entry begins.
    pub way_on: usize,
    /// The old entry.
    pub entry: u64,
    /// The pair of scalar registers that the jump takes.
    pub pair: Register,
}

/// A number of a kernel that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Setting {
    /// Its name: a key of the metadata with its dot, or a field of the descriptor.
    pub name: String,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
}

/// How a kernel came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRecord {
    /// Its name.
    pub name: String,
    /// How it came out.
    pub verdict: Verdict,
    /// What it asks of the hardware now.
    pub settings: Vec<Setting>,
}

/// Something that a rule has said of an instruction that was not rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The rule's name.
    pub rule: String,
    /// The name of the function.
    pub function: String,
    /// Where the instruction is.
    pub address: u64,
    /// What it said: a refusal, or why the instruction stays.
    pub said: Result<String, Refusal>,
}

/// The segment behind the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Pool {
    /// Where it is in memory.
    pub address: u64,
    /// Where it is in the file.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// How many of them, at its end, only keep prefetching inside it.
    pub guard: u64,
}

/// Everything that a run has changed. What is not in it is as it was, at the same offset.
///
/// It holds where indirect jumps with unknown targets do not enter other functions in their middle: a
/// site of several instructions may stand there, or code between functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The name of the rule set; none where only edits were asked for.
    pub rule_set: Option<String>,
    /// The readings of what is not settled that the rules had.
    pub options: Options,
    /// How the object came out.
    pub verdict: Verdict,
    /// Bytes before and after.
    pub sizes: (u64, u64),
    /// The segment behind the object.
    pub pool: Option<Pool>,
    /// What was replaced, by address.
    pub records: Vec<Record>,
    /// What runs before kernels.
    pub stubs: Vec<Stub>,
    /// Counters: the address of the place that each counts, and its own.
    pub counters: Vec<(u64, u64)>,
    /// Bytes of the segment that holds the counters; 0 where there is none.
    pub counter_space: u64,
    /// Every kernel.
    pub kernels: Vec<KernelRecord>,
    /// What rules have said of what was not replaced.
    pub remarks: Vec<Remark>,
}

impl Manifest {
    /// Of a file of so many bytes, before anything else is known of it.
    pub(crate) fn new(rules: Option<(&RuleSet, &Options)>, size: usize, verdict: Verdict) -> Self {
        Manifest {
            rule_set: rules.map(|(set, _)| set.name().to_owned()),
            options: rules.map(|(_, options)| options.clone()).unwrap_or_default(),
            verdict,
            sizes: (size as u64, size as u64),
            pool: None,
            records: Vec::new(),
            stubs: Vec::new(),
            counters: Vec::new(),
            counter_space: 0,
            kernels: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Every change of code but stubs, record by record.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        let records = self.records.iter();
        records.flat_map(|it| std::iter::once(&it.site).chain(&it.body).chain(&it.relays))
    }

    /// The refusals among the remarks.
    pub fn refusals(&self) -> impl Iterator<Item = (&Remark, &Refusal)> {
        self.remarks.iter().filter_map(|remark| Some((remark, remark.said.as_ref().err()?)))
    }
}

/// What became of an object.
#[derive(Clone, Debug)]
pub struct Patched {
    /// The new object; none where it is the old one.
    pub bytes: Option<Vec<u8>>,
    /// What was changed, and what was not.
    pub manifest: Manifest,
}
