//! Choosing objects by target, device and number, kernels by name.

use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_bytes::Str;
use hsaco_demangle::demangle;
use hsaco_isa::TargetId;
use hsaco_isa::target::ParseTargetError;
use hsaco_object::{CodeObject, Index, Kernel};
use regex::Regex;

/// Which objects are wanted.
#[derive(Debug, Default)]
pub struct ObjectSelection {
    targets: Vec<TargetPattern>,
    device: Option<TargetId>,
    number: Option<usize>,
    /// Whether any object was wanted.
    found: AtomicBool,
}

#[derive(Debug)]
enum TargetPattern {
    /// The processor, and the features that were named.
    Exact(TargetId),
    /// A pattern over the text of the target id.
    Glob(Regex),
}

impl ObjectSelection {
    /// Those that a device runs, and that have this number in their file, as far as either is given.
    #[must_use]
    pub fn new(device: Option<TargetId>, number: Option<usize>) -> Self {
        Self { device, number, ..Self::default() }
    }

    /// Those of this target; features that are not named may be anything, and `*` and `?` stand for any text and any letter.
    ///
    /// # Errors
    /// A target that there is not.
    pub fn or_target(mut self, text: &str) -> Result<Self, ParseTargetError> {
        self.targets.push(TargetPattern::new(text)?);
        Ok(self)
    }

    /// True when the object at this place of its file is wanted.
    pub fn wants(&self, number: usize, object: &CodeObject<'_>) -> bool {
        let generic_version = object.e_flags().generic_version();
        self.wants_target(
            number,
            object.target().id(),
            &object.target().to_string(),
            generic_version,
        )
    }

    /// As [`wants`](Self::wants), for an entry of which only the target is known.
    pub fn wants_target(
        &self,
        number: usize,
        id: Option<TargetId>,
        text: &str,
        generic_version: u8,
    ) -> bool {
        let runs =
            |device: TargetId| id.is_some_and(|id| id.runs_on(device, generic_version).is_ok());
        let wanted = self.number.is_none_or(|wanted| wanted == number)
            && (self.targets.is_empty() || self.targets.iter().any(|it| it.matches(id, text)))
            && self.device.is_none_or(runs);
        if wanted {
            self.found.store(true, Ordering::Relaxed);
        }
        wanted
    }

    /// Whether any object was wanted, of those that were asked about.
    pub fn has_found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }
}

impl TargetPattern {
    fn new(text: &str) -> Result<Self, ParseTargetError> {
        let pattern = if text.contains(['*', '?']) { glob(text) } else { None };
        pattern.map_or_else(|| text.parse().map(Self::Exact), |it| Ok(Self::Glob(it)))
    }

    fn matches(&self, id: Option<TargetId>, text: &str) -> bool {
        match self {
            Self::Glob(pattern) => pattern.is_match(text),
            Self::Exact(wanted) => id.is_some_and(|id| id.is_a(*wanted)),
        }
    }
}

/// A pattern of `*` and `?` as a regular expression over the whole text.
fn glob(text: &str) -> Option<Regex> {
    let body: String = text
        .chars()
        .map(|c| match c {
            '*' => ".*".to_owned(),
            '?' => ".".to_owned(),
            c => regex::escape(c.encode_utf8(&mut [0; 4])),
        })
        .collect();
    Regex::new(&format!("^{body}$")).ok()
}

/// Which kernels are wanted.
#[derive(Debug, Default)]
pub struct KernelSelection {
    names: Vec<(String, Option<Regex>)>,
    /// Whether a kernel was wanted: a name that fits none is most likely misspelt.
    found: AtomicBool,
}

impl KernelSelection {
    /// Those that fit one of the names: as written, as mangled, or a regular expression found in either. Without any, all.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        // A name such as `add(float*)` need not be a regular expression to be looked for.
        let name = |text: &String| (text.clone(), Regex::new(text).ok());
        Self { names: names.iter().map(name).collect(), found: AtomicBool::new(false) }
    }

    /// True when every kernel is wanted.
    pub fn is_all(&self) -> bool {
        self.names.is_empty()
    }

    /// The wanted kernels of an object.
    pub fn of<'i, 'a>(&self, index: &'i Index<'a>) -> Vec<&'i Kernel<'a>> {
        index.kernels().iter().filter(|it| self.wants(it.name())).collect()
    }

    /// True when a kernel of this mangled name is wanted.
    pub fn wants(&self, name: Str<'_>) -> bool {
        if self.is_all() {
            return true;
        }
        let mangled = name.to_str_lossy();
        let demangled = demangle(name.as_bytes());
        let spellings = [Some(mangled.as_ref()), demangled.as_deref()];
        let matches = |(text, pattern): &(String, Option<Regex>)| {
            spellings.iter().flatten().any(|&it| {
                it == text
                    || text.strip_suffix(".kd") == Some(it)
                    || pattern.as_ref().is_some_and(|pattern| pattern.is_match(it))
            })
        };
        let wanted = self.names.iter().any(matches);
        if wanted {
            self.found.store(true, Ordering::Relaxed);
        }
        wanted
    }

    /// True when this is one of the names that were asked for, mangled or not, and not only fits one.
    pub fn names_exactly(&self, name: Str<'_>) -> bool {
        let mangled = name.to_str_lossy();
        let demangled = demangle(name.as_bytes());
        let is_it = |text: &str| text == mangled || Some(text) == demangled.as_deref();
        self.names.iter().any(|(text, _)| is_it(text))
    }

    /// Whether any kernel was wanted, of those that were asked about.
    pub fn has_found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }
}
