//! Choosing objects by target, device and number, kernels by name.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_bytes::Str;
use hsaco_container::{HashCheck, WantedTargets};
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

    /// True when targets decide, and not numbers alone: compressed bundles are unpacked only as far as it takes.
    #[must_use]
    pub fn is_by_target(&self) -> bool {
        !self.targets.is_empty() || self.device.is_some()
    }

    /// Which payloads are compared with their hashes, if nothing else is asked for: all, unless they need not be unpacked whole.
    #[must_use]
    pub fn hash_check(&self) -> HashCheck {
        if self.is_by_target() { HashCheck::CHEAP } else { HashCheck::Always }
    }
}

impl WantedTargets for ObjectSelection {
    fn may_want(&self, target: &str) -> bool {
        let id: Option<TargetId> = target.parse().ok();
        let may_run = |device| id.is_none_or(|it| it.may_run_on(device));
        (self.targets.is_empty() || self.targets.iter().any(|it| it.may_match(id, target)))
            && self.device.is_none_or(may_run)
    }
}

impl TargetPattern {
    fn new(text: &str) -> Result<Self, ParseTargetError> {
        let pattern = if text.contains(['*', '?']) { glob(text) } else { None };
        pattern.map_or_else(|| text.parse().map(Self::Exact), |it| Ok(Self::Glob(it)))
    }

    /// Whether code may match whose features are not known.
    fn may_match(&self, id: Option<TargetId>, text: &str) -> bool {
        match (self, id) {
            (_, None) => true,
            (Self::Glob(pattern), _) => pattern.as_str().contains(':') || pattern.is_match(text),
            (Self::Exact(wanted), Some(id)) => id.may_be_a(*wanted),
        }
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
    names: Vec<KernelName>,
    /// Whether a kernel was wanted: a name that fits none is most likely misspelt.
    found: AtomicBool,
}

/// A name that was asked for.
#[derive(Debug)]
struct KernelName {
    text: String,
    /// What it is as a regular expression, which takes longer to make than to look for what it says.
    pattern: OnceLock<Option<Regex>>,
    /// True for text that a regular expression takes as it is.
    is_plain: bool,
    /// The text of `^text$`, where it is such text: a regular expression takes longer to make than to do without.
    whole: Option<String>,
}

impl KernelName {
    fn new(text: &str) -> Self {
        let is_plain = |text: &str| regex::escape(text) == text;
        let whole = text.strip_prefix('^').and_then(|it| it.strip_suffix('$'));
        Self {
            text: text.to_owned(),
            pattern: OnceLock::new(),
            is_plain: is_plain(text),
            whole: whole.filter(|it| is_plain(it)).map(str::to_owned),
        }
    }

    /// True when it is the name, or is found in it.
    fn fits(&self, name: &str) -> bool {
        self.is(name) || self.is_in(name)
    }

    fn is(&self, name: &str) -> bool {
        self.text == name || self.text.strip_suffix(".kd") == Some(name)
    }

    fn is_in(&self, name: &str) -> bool {
        if self.is_plain {
            return name.contains(&self.text);
        }
        if let Some(whole) = &self.whole {
            return name == whole;
        }
        // A name such as `add(float*)` need not be a regular expression to be looked for.
        let pattern = self.pattern.get_or_init(|| Regex::new(&self.text).ok());
        pattern.as_ref().is_some_and(|pattern| pattern.is_match(name))
    }

    /// True for a name that no demangled one has in it, unless the mangled one has: names within names are spelt out.
    fn is_mangled(&self) -> bool {
        let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
        self.is_plain && self.text.starts_with("_Z") && self.text.bytes().all(is_letter)
    }
}

impl KernelSelection {
    /// Those that fit one of the names: as written, as mangled, or a regular expression found in either. Without any, all.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        let names = names.iter().map(|it| KernelName::new(it)).collect();
        Self { names, found: AtomicBool::new(false) }
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
        let wanted = self.fits_mangled(&name.to_str_lossy()) || self.fits_demangled(name);
        if wanted {
            self.found.store(true, Ordering::Relaxed);
        }
        wanted
    }

    fn fits_mangled(&self, name: &str) -> bool {
        self.names.iter().any(|it| it.fits(name))
    }

    fn fits_demangled(&self, name: Str<'_>) -> bool {
        let mut names = self.names.iter().filter(|it| !it.is_mangled()).peekable();
        let demangled = names.peek().and_then(|_| demangle(name.as_bytes()));
        demangled.is_some_and(|demangled| names.any(|it| it.fits(&demangled)))
    }

    /// True when this is one of the names that were asked for, mangled or not, and not only fits one.
    pub fn names_exactly(&self, name: Str<'_>) -> bool {
        let mangled = name.to_str_lossy();
        let is_mangled = self.names.iter().any(|it| it.text == mangled);
        is_mangled || {
            let demangled = demangle(name.as_bytes());
            demangled.is_some_and(|demangled| self.names.iter().any(|it| it.text == demangled))
        }
    }

    /// Whether any kernel was wanted, of those that were asked about.
    pub fn has_found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|it| it.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of some kernels a name stands for.
    fn found(name: &str) -> Vec<&'static str> {
        let kernels = ["copy", "copy2", "_Z4copyPf", "_Z4copyPfi", "_ZN2_Z4copyPfEv"];
        let selection = KernelSelection::new(&[name.to_owned()]);
        kernels.into_iter().filter(|it| selection.wants(Str::new(it.as_bytes()))).collect()
    }

    #[test]
    fn names_are_looked_for_as_written_mangled_and_as_expressions() {
        assert_eq!(found("copy2.kd"), ["copy2"]);
        assert_eq!(found("^copy$"), ["copy"]);
        assert_eq!(found("copy(float*)"), ["_Z4copyPf"]);
        assert_eq!(found("copy\\(float"), ["_Z4copyPf", "_Z4copyPfi"]);
        assert_eq!(found("float*"), ["_Z4copyPf", "_Z4copyPfi"]);
        assert_eq!(found("float"), ["_Z4copyPf", "_Z4copyPfi"]);
        assert_eq!(found("_Z4copyPf"), ["_Z4copyPf", "_Z4copyPfi", "_ZN2_Z4copyPfEv"]);
        assert_eq!(found("nothing"), [""; 0]);
    }
}
