//! What was found: one model for every renderer.

use std::borrow::Cow;
use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The caller has to know it.
    Note,
    /// Odd, or wrong in a way that need not hurt.
    Warning,
    /// The device refuses the object, or runs it wrongly.
    Error,
}

impl Severity {
    /// The word for it.
    ///
    /// ```
    /// assert_eq!(hsaco_check::Severity::Warning.name(), "warning");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a finding is about, as closely as can be said.
///
/// ```
/// use hsaco_check::Subject;
/// let subject = Subject::field("e_flags").at(0x30);
/// assert_eq!(subject.offset, Some(0x30));
/// assert_eq!(subject.kernel, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The number of the object in its container, counted from 0; none where the file is the object.
    pub object: Option<usize>,
    /// The kernel, by its mangled name; none where it is the whole object.
    pub kernel: Option<String>,
    /// The field of a header, a descriptor or the metadata, in the spelling of its format.
    pub field: Option<Cow<'static, str>>,
    /// Where that stands: a byte offset in the outermost file, or in a decompressed object.
    pub offset: Option<u64>,
    /// The address of the instruction, where code is the matter.
    pub address: Option<u64>,
}

impl Subject {
    /// A field of the whole object.
    #[must_use]
    pub fn field(name: impl Into<Cow<'static, str>>) -> Self {
        Self { field: Some(name.into()), ..Self::default() }
    }

    /// The same, with its offset.
    #[must_use]
    pub fn at(self, offset: impl Into<Option<u64>>) -> Self {
        Self { offset: offset.into(), ..self }
    }
}

/// One thing that is wrong, odd or worth knowing.
///
/// Its text is one line: severity, rule, kernel, what is wrong with both sides' numbers, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// By how much a limit is missed, where that is a number: the more, the worse.
    pub excess: Option<u64>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, severity, subject, message, help, excess: _ } = self;
        write!(f, "{severity}: {rule}: ")?;
        if let Some(kernel) = &subject.kernel {
            write!(f, "{kernel}: ")?;
        }
        write!(f, "{message}{}", Place(subject))?;
        if !help.is_empty() {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

/// The field and the offset, in brackets, as far as they are known.
struct Place<'s>(&'s Subject);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.field, self.0.offset) {
            (Some(field), Some(offset)) => write!(f, " ({field}, at offset {offset:#x})"),
            (Some(field), None) => write!(f, " ({field})"),
            (None, Some(offset)) => write!(f, " (at offset {offset:#x})"),
            (None, None) => Ok(()),
        }
    }
}

/// Where rules put what they find; it knows which rule speaks.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) rule: &'static str,
    pub(crate) found: Vec<Finding>,
    /// As many as there may be when the rule has spoken.
    most: usize,
}

/// As many findings as one rule may have of one object: a hostile file repeats itself.
pub(crate) const MOST_OF_AN_OBJECT: usize = 65_536;
/// As many as one rule may have of one kernel.
pub(crate) const MOST_OF_A_KERNEL: usize = 64;

impl Findings {
    pub(crate) fn new() -> Self {
        Self { rule: "", found: Vec::new(), most: 0 }
    }

    /// Lets a rule speak, and say so much.
    pub(crate) fn begin(&mut self, rule: &'static str, most: usize) {
        self.rule = rule;
        self.most = self.found.len() + most;
    }

    /// Whether what else the rule says is left out.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= self.most
    }

    pub(crate) fn error(&mut self, subject: Subject, message: String, help: impl Into<String>) {
        self.add(Severity::Error, subject, message, help.into());
    }

    pub(crate) fn warning(&mut self, subject: Subject, message: String, help: impl Into<String>) {
        self.add(Severity::Warning, subject, message, help.into());
    }

    pub(crate) fn note(&mut self, subject: Subject, message: String, help: impl Into<String>) {
        self.add(Severity::Note, subject, message, help.into());
    }

    pub(crate) fn add(
        &mut self,
        severity: Severity,
        subject: Subject,
        message: String,
        help: String,
    ) {
        self.push(severity, subject, message, help, None);
    }

    /// Adds what misses a limit by a number.
    pub(crate) fn exceeds(
        &mut self,
        severity: Severity,
        subject: Subject,
        message: String,
        help: impl Into<String>,
        excess: u64,
    ) {
        self.push(severity, subject, message, help.into(), Some(excess));
    }

    fn push(
        &mut self,
        severity: Severity,
        subject: Subject,
        message: String,
        help: String,
        excess: Option<u64>,
    ) {
        if !self.is_full() {
            self.found.push(Finding { rule: self.rule, severity, subject, message, help, excess });
        }
    }

    /// Whether something is certainly wrong.
    pub(crate) fn has_error(&self) -> bool {
        self.found.iter().any(|it| it.severity == Severity::Error)
    }

    /// Whether one of these rules has found an error.
    pub(crate) fn has_error_of(&self, rules: &[&str]) -> bool {
        self.found.iter().any(|it| it.severity == Severity::Error && rules.contains(&it.rule))
    }
}
