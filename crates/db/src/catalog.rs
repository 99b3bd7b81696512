//! What is in the database: files, their objects, and kernels by name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::content::Content;
use crate::kernel::IndexedKernel;
use crate::name::{KernelNumber, Names};
use crate::object::Object;

/// Files, objects and names, in step with each other.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) objects: Vec<Arc<Object>>,
    pub(crate) names: Names,
    files: HashMap<String, File>,
}

/// A file that was added.
#[derive(Debug)]
struct File {
    content: Content,
    objects: Vec<Arc<Object>>,
    /// Whether all of its kernels are there.
    is_whole: bool,
}

impl Catalog {
    /// The objects of a file all of whose kernels are there; none if it is not as it was.
    pub(crate) fn whole(&self, place: &str) -> Option<Vec<Arc<Object>>> {
        let known = self.files.get(place).filter(|it| it.is_whole && it.content.check().is_ok())?;
        Some(known.objects.clone())
    }

    /// Takes in what was found in a file, and returns the objects that these kernels are in now. What is there stays; a
    /// file that is not as it was is forgotten before.
    pub(crate) fn add(
        &mut self,
        place: String,
        content: Content,
        is_whole: bool,
        found: Vec<Object>,
    ) -> Vec<Arc<Object>> {
        self.forget_changed(&place);
        let file = File { content, objects: Vec::new(), is_whole: false };
        let file = self.files.entry(place).or_insert(file);
        let mut taken: Vec<Arc<Object>> = Vec::new();
        for object in found {
            let known: Vec<_> =
                file.objects.iter().filter(|it| it.number() == object.number()).cloned().collect();
            let names = known.iter().flat_map(|it| it.kernel_names());
            let names: HashSet<_> = names.map(|(_, name)| name).collect();
            let object = object.without_kernels(|name| names.contains(name));
            taken.extend(known.iter().cloned());
            if known.is_empty() || object.kernel_count() > 0 {
                let object = Arc::new(object);
                self.names.add(self.objects.len(), &object);
                self.objects.push(Arc::clone(&object));
                file.objects.push(Arc::clone(&object));
                taken.push(object);
            }
        }
        file.is_whole |= is_whole;
        taken
    }

    fn forget_changed(&mut self, place: &str) {
        if self.files.get(place).is_none_or(|it| it.content.check().is_ok()) {
            return;
        }
        let Some(file) = self.files.remove(place) else { return };
        self.objects.retain(|it| !file.objects.iter().any(|other| Arc::ptr_eq(it, other)));
        self.names.renumber(&self.objects);
    }

    /// The kernels of a name, in any spelling.
    pub(crate) fn find(&mut self, name: &str) -> Vec<IndexedKernel> {
        let found = self.names.find(&self.objects, name);
        let kernel = |(object, id): KernelNumber| {
            Some(IndexedKernel::new(Arc::clone(self.objects.get(object)?), id))
        };
        found.into_iter().filter_map(kernel).collect()
    }
}
