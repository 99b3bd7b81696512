//! The spellings of a kernel's name.

use std::collections::HashMap;
use std::sync::Arc;

use hsaco_bytes::Str;
use hsaco_demangle::demangle;

use crate::object::{KernelId, Object};

/// What may follow a name: the descriptor's suffix, and what demanglers make of it.
const SUFFIXES: [&str; 3] = [".kd", " [clone .kd]", " (.kd)"];

/// Which kernel of which object.
pub(crate) type KernelNumber = (usize, KernelId);

/// A name as people read it.
pub(crate) fn readable(mangled: Str<'_>) -> String {
    demangle(mangled.as_bytes()).unwrap_or_else(|| mangled.to_string())
}

/// Kernels by name. Readable names are made when the first is looked for that is no mangled one.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<Arc<[u8]>, Vec<KernelNumber>>,
    readable: HashMap<String, Vec<KernelNumber>>,
    /// How many objects are in the readable ones.
    objects: usize,
}

impl Names {
    /// The one copy of a mangled name: kernels for many targets share theirs.
    pub(crate) fn intern(&mut self, name: Str<'_>) -> Arc<[u8]> {
        if let Some((known, _)) = self.exact.get_key_value(name.as_bytes()) {
            return Arc::clone(known);
        }
        let name: Arc<[u8]> = name.as_bytes().into();
        self.exact.insert(Arc::clone(&name), Vec::new());
        name
    }

    /// Adds the kernels of the object of that number.
    pub(crate) fn add(&mut self, at: usize, object: &Object) {
        for (id, name) in object.kernel_names() {
            self.exact.entry(Arc::clone(name)).or_default().push((at, id));
        }
    }

    /// Knows these objects and no others.
    pub(crate) fn renumber(&mut self, objects: &[Arc<Object>]) {
        *self = Names::default();
        objects.iter().enumerate().for_each(|(at, object)| self.add(at, object));
    }

    /// The kernels of a name: mangled, or as people read it; with or without the descriptor's suffix.
    pub(crate) fn find(&mut self, objects: &[Arc<Object>], name: &str) -> Vec<KernelNumber> {
        let bare = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
        let spellings = [Some(name), bare];
        let mut exact = spellings.iter().flatten().filter_map(|it| self.exact.get(it.as_bytes()));
        if let Some(found) = exact.find(|found| !found.is_empty()) {
            return found.clone();
        }
        self.make_readable(objects);
        let mut found = spellings.iter().flatten().filter_map(|it| self.readable.get(*it));
        found.next().cloned().unwrap_or_default()
    }

    fn make_readable(&mut self, objects: &[Arc<Object>]) {
        for (at, object) in objects.iter().enumerate().skip(self.objects) {
            for (id, name) in object.kernel_names() {
                self.readable.entry(readable(Str::new(name))).or_default().push((at, id));
            }
        }
        self.objects = self.objects.max(objects.len());
    }
}
