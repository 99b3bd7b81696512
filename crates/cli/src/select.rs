//! Choosing objects by target, device and number, kernels by name.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use hsaco::isa::TargetId;
use hsaco::object::{CodeObject, Index, Kernel, Str, demangle};
use regex::Regex;

use crate::args::{KernelFilter, ObjectFilter};
use crate::report::{self, Status};

/// Which objects are wanted.
pub(crate) struct ObjectSelection {
    targets: Vec<TargetPattern>,
    device: Option<TargetId>,
    number: Option<usize>,
    /// The selection in words of the command line; empty where every object is wanted.
    asked: String,
    /// Whether any object was wanted.
    found: AtomicBool,
}

enum TargetPattern {
    /// The processor, and the features that were named.
    Exact(TargetId),
    /// A pattern over the text of the target id.
    Glob(Regex),
}

impl ObjectSelection {
    pub(crate) fn new(filter: &ObjectFilter) -> Result<Self> {
        let targets =
            filter.target.iter().map(|it| TargetPattern::new(it)).collect::<Result<_>>()?;
        let parse =
            |text: &String| TargetId::of_device(text).with_context(|| format!("--device {text}"));
        let device = filter.device.as_ref().map(parse).transpose()?;
        Ok(Self {
            targets,
            device,
            number: filter.object,
            asked: asked(filter),
            found: AtomicBool::new(false),
        })
    }

    /// True when the object at this place of its file is wanted.
    pub(crate) fn wants(&self, number: usize, object: &CodeObject<'_>) -> bool {
        let generic_version = object.e_flags().generic_version();
        self.wants_target(
            number,
            object.target().id(),
            &object.target().to_string(),
            generic_version,
        )
    }

    /// As [`wants`](Self::wants), for an entry of which only the target is known.
    pub(crate) fn wants_target(
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

    /// The status of a run, which is not fine if no object was what was asked for. What could not be read may have been it.
    pub(crate) fn conclude(&self, mut status: Status) -> Status {
        let is_fine = matches!(status, Status::Fine | Status::Findings);
        if is_fine && !self.asked.is_empty() && !self.found.load(Ordering::Relaxed) {
            report::error(&format!("no object fits {}; hsaco ls lists them", self.asked));
            status.note(Status::Unreadable);
        }
        status
    }
}

fn asked(filter: &ObjectFilter) -> String {
    let targets = filter.target.iter().map(|it| format!("--target {it}"));
    let device = filter.device.iter().map(|it| format!("--device {it}"));
    let number = filter.object.iter().map(|it| format!("--object {it}"));
    targets.chain(device).chain(number).collect::<Vec<_>>().join(" ")
}

impl TargetPattern {
    fn new(text: &str) -> Result<Self> {
        if text.contains(['*', '?']) {
            return Ok(Self::Glob(glob(text)?));
        }
        Ok(Self::Exact(text.parse().with_context(|| format!("--target {text}"))?))
    }

    fn matches(&self, id: Option<TargetId>, text: &str) -> bool {
        match self {
            Self::Glob(pattern) => pattern.is_match(text),
            Self::Exact(wanted) => id.is_some_and(|id| id.is_a(*wanted)),
        }
    }
}

/// A pattern of `*` and `?` as a regular expression over the whole text.
fn glob(text: &str) -> Result<Regex> {
    let body: String = text
        .chars()
        .map(|c| match c {
            '*' => ".*".to_owned(),
            '?' => ".".to_owned(),
            c => regex::escape(c.encode_utf8(&mut [0; 4])),
        })
        .collect();
    Ok(Regex::new(&format!("^{body}$"))?)
}

/// Which kernels are wanted.
pub(crate) struct KernelSelection {
    names: Vec<(String, Option<Regex>)>,
    /// Whether a kernel was wanted: a name that fits none is most likely misspelt.
    found: AtomicBool,
}

impl KernelSelection {
    pub(crate) fn new(filter: &KernelFilter) -> Self {
        // A name such as `add(float*)` need not be a regular expression to be looked for.
        let name = |text: &String| (text.clone(), Regex::new(text).ok());
        Self { names: filter.kernel.iter().map(name).collect(), found: AtomicBool::new(false) }
    }

    /// True when every kernel is wanted.
    pub(crate) fn is_all(&self) -> bool {
        self.names.is_empty()
    }

    /// The wanted kernels of an object.
    pub(crate) fn of<'i, 'a>(&self, index: &'i Index<'a>) -> Vec<&'i Kernel<'a>> {
        index.kernels().iter().filter(|it| self.wants(it.name())).collect()
    }

    /// True when a kernel of this mangled name is wanted.
    pub(crate) fn wants(&self, name: Str<'_>) -> bool {
        if self.is_all() {
            return true;
        }
        let mangled = name.to_str_lossy();
        let demangled = demangle(name);
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
    pub(crate) fn names_exactly(&self, name: Str<'_>) -> bool {
        let mangled = name.to_str_lossy();
        let demangled = demangle(name);
        let is_it = |text: &str| text == mangled || Some(text) == demangled.as_deref();
        self.names.iter().any(|(text, _)| is_it(text))
    }

    /// The status of a run, which is not fine if no kernel was of the name that was asked for.
    pub(crate) fn conclude(&self, mut status: Status) -> Status {
        if !self.is_all() && !self.found.load(Ordering::Relaxed) {
            let names: Vec<_> = self.names.iter().map(|(name, _)| name.as_str()).collect();
            report::error(&format!("no kernel fits '{}'; hsaco ls lists them", names.join("', '")));
            status.note(Status::Unreadable);
        }
        status
    }
}
