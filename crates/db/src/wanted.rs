//! Which objects are wanted: all, or those for a target or a device.

use std::fmt;

use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::{HashCheck, WantedTargets};
use hsaco_isa::TargetId;

/// Which objects are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    #[default]
    All,
    /// Those of a target; features that it does not name may be anything.
    Target(TargetId),
    /// Those that a device loads: it can run them, and its bundle has none that fits the device more closely.
    Device(TargetId),
}

impl WantedTargets for Wanted {
    fn may_want(&self, target: &str) -> bool {
        let Ok(id) = target.parse::<TargetId>() else { return true };
        match *self {
            Wanted::All => true,
            Wanted::Target(wanted) => id.may_be_a(wanted),
            Wanted::Device(device) => id.may_run_on(device),
        }
    }
}

impl Wanted {
    /// Whether an object of a target is one of them.
    #[must_use]
    pub fn takes(self, target: Option<TargetId>, generic_version: u8) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Target(wanted) => target.is_some_and(|it| it.is_a(wanted)),
            Wanted::Device(device) => {
                target.is_some_and(|it| it.runs_on(device, generic_version).is_ok())
            }
        }
    }

    /// Which payloads are compared with their hashes where `asked` says which may be: unless all objects are wanted, payloads
    /// are not unpacked whole, and only cheap ones are compared.
    pub(crate) fn hash_check(self, asked: HashCheck) -> HashCheck {
        match (self, asked) {
            (Wanted::Target(_) | Wanted::Device(_), HashCheck::Always) => HashCheck::CHEAP,
            (_, asked) => asked,
        }
    }

    /// Of objects that are wanted those that remain where a device chooses: the ones that fit it most closely of each
    /// bundle. Objects of one bundle follow each other.
    pub fn closest<T>(
        self,
        objects: Vec<T>,
        target: impl Fn(&T) -> Option<TargetId>,
        are_of_one_bundle: impl Fn(&T, &T) -> bool,
    ) -> Vec<T> {
        if !matches!(self, Wanted::Device(_)) {
            return objects;
        }
        let closeness = |it: &T| target(it).map(TargetId::closeness);
        let is_closest: Vec<bool> = objects
            .chunk_by(are_of_one_bundle)
            .flat_map(|bundle| {
                let best = bundle.iter().map(closeness).max().flatten();
                bundle.iter().map(move |it| closeness(it) == best)
            })
            .collect();
        let pairs = objects.into_iter().zip(is_closest);
        pairs.filter_map(|(object, is_closest)| is_closest.then_some(object)).collect()
    }

    /// The error where there is none; `found` are the targets that there are.
    pub(crate) fn nothing<T: fmt::Display>(self, found: impl Iterator<Item = T>) -> Error {
        let mut found: Vec<_> = found.map(|it| it.to_string()).collect();
        found.sort_unstable();
        found.dedup();
        let wanted = match self.words() {
            Some(words) => format!("object {words}"),
            None => "AMD GPU code object".to_owned(),
        };
        let there = match found.is_empty() {
            true => String::new(),
            false => format!(", only for {}", found.join(", ")),
        };
        Error::new(ErrorKind::NotFound, "file", format!("no {wanted} is in it{there}"))
    }

    /// What objects are wanted for, in words.
    pub(crate) fn words(self) -> Option<String> {
        match self {
            Wanted::All => None,
            Wanted::Target(target) => Some(format!("for {target}")),
            Wanted::Device(device) => Some(format!("that {device} runs")),
        }
    }
}
