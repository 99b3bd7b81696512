//! The spellings of a kernel's name.

use std::collections::HashMap;
use std::sync::Arc;

use hsaco_object::{Str, demangle};

use crate::object::Object;

/// What may follow a name: the descriptor's suffix, and what demanglers make of it.
const SUFFIXES: [&str; 3] = [".kd", " [clone .kd]", " (.kd)"];

/// Which kernel of which object.
pub(crate) type KernelNumber = (usize, usize);

/// A name as people read it.
pub(crate) fn readable(mangled: Str<'_>) -> String {
    demangle(mangled).unwrap_or_else(|| mangled.to_string())
}

/// Kernels by name. Names of new objects are added when one is looked for.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: Table,
    readable: Table,
}

#[derive(Debug, Default)]
struct Table {
    kernels: HashMap<String, Vec<KernelNumber>>,
    /// How many objects are in it.
    objects: usize,
}

impl Names {
    /// The kernels of a name: mangled, or as people read it; with or without the descriptor's suffix.
    pub(crate) fn find(&mut self, objects: &[Arc<Object>], name: &str) -> Vec<KernelNumber> {
        let bare = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
        let spellings = [Some(name), bare];
        self.exact.extend(objects, |name| name.to_string());
        let mut found = spellings.iter().flatten().filter_map(|it| self.exact.kernels.get(*it));
        if let Some(found) = found.next() {
            return found.clone();
        }
        self.readable.extend(objects, readable);
        let mut found = spellings.iter().flatten().filter_map(|it| self.readable.kernels.get(*it));
        found.next().cloned().unwrap_or_default()
    }
}

impl Table {
    fn extend(&mut self, objects: &[Arc<Object>], spell: impl Fn(Str<'_>) -> String) {
        for (at, object) in objects.iter().enumerate().skip(self.objects) {
            for (number, name) in object.kernel_names().enumerate() {
                self.kernels.entry(spell(name)).or_default().push((at, number));
            }
        }
        self.objects = objects.len();
    }
}
