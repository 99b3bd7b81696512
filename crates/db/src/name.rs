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

/// Kernels by name. Readable names are made when the first is looked for that is no mangled one.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<String, Vec<KernelNumber>>,
    readable: HashMap<String, Vec<KernelNumber>>,
    /// How many objects are in the readable ones.
    objects: usize,
}

impl Names {
    /// Adds the mangled names of new objects, the first of which has that number.
    pub(crate) fn add(&mut self, first: usize, names: Vec<Vec<String>>) {
        for (at, names) in (first..).zip(names) {
            for (number, name) in names.into_iter().enumerate() {
                self.exact.entry(name).or_default().push((at, number));
            }
        }
    }

    /// The kernels of a name: mangled, or as people read it; with or without the descriptor's suffix.
    pub(crate) fn find(&mut self, objects: &[Arc<Object>], name: &str) -> Vec<KernelNumber> {
        let bare = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
        let spellings = [Some(name), bare];
        let mut found = spellings.iter().flatten().filter_map(|it| self.exact.get(*it));
        if let Some(found) = found.next() {
            return found.clone();
        }
        self.make_readable(objects);
        let mut found = spellings.iter().flatten().filter_map(|it| self.readable.get(*it));
        found.next().cloned().unwrap_or_default()
    }

    fn make_readable(&mut self, objects: &[Arc<Object>]) {
        for (at, object) in objects.iter().enumerate().skip(self.objects) {
            for (number, name) in object.kernel_names().enumerate() {
                self.readable.entry(readable(name)).or_default().push((at, number));
            }
        }
        self.objects = self.objects.max(objects.len());
    }
}
