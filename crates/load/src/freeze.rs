//! Putting the objects of an executable together.

use std::borrow::Cow;

use hsaco_object::{CodeObject, Index};

use crate::error::{ErrorKind, Errors, Result, refusal};
use crate::executable::{Executable, Frozen};
use crate::id::Deltas;
use crate::object::Object;
use crate::resolve::{self, Resolution};
use crate::{image, resource};

/// How an executable is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Where the first object is placed, of those that were not told where; the others follow.
    pub base: u64,
    /// Whether kernels get what they need with all that they call; else that is only reported.
    pub fix_resources: bool,
}

impl Default for Freeze {
    fn default() -> Self {
        Self { base: 0x1000, fix_resources: true }
    }
}

impl Executable<'_> {
    /// Puts the objects together: places them, finds who provides each name, applies relocations, and gives kernels
    /// what they need with all that they call.
    ///
    /// # Errors
    /// Everything that is wrong, at once. The executable is as it was then.
    pub fn freeze(&mut self, options: Freeze) -> std::result::Result<(), Errors> {
        self.check_unfrozen("freezing")?;
        self.frozen = Some(self.put_together(options.base)?);
        match resource::propagate(self) {
            Ok(found) => {
                resource::apply(self, found, options.fix_resources);
                Ok(())
            }
            Err(errors) => {
                self.frozen = None;
                Err(errors)
            }
        }
    }

    /// How far each object is moved, and who provides each name.
    fn arrange(&self, base: u64) -> Result<(Deltas, Resolution)> {
        if let Some(object) = self.objects.iter().find(|it| !it.is_linked) {
            let error = refusal(ErrorKind::NotLinked, "it was only to be inspected");
            return Err(error.in_object(&object.name));
        }
        let deltas = image::place(&self.objects, base, |object| object.base)?;
        Ok((deltas, resolve::resolve(&self.objects, &self.definitions, &self.names)))
    }

    /// Places the objects, finds who provides each name, and applies relocations.
    fn put_together(&self, base: u64) -> std::result::Result<Frozen, Errors> {
        let (deltas, Resolution { bound, mut errors }) = self.arrange(base)?;
        let mut images = self.unrelocated(&deltas)?;
        let log = self.addresses(&deltas, &bound).apply(&mut images, &mut errors);
        Errors::check(errors)?;
        let mut order: Vec<u32> = (0..).take(images.len()).collect();
        order.sort_by_key(|at| images.get(*at as usize).map(|image| image.range().start));
        Ok(Frozen { bound, deltas, images, log, order, ..Frozen::default() })
    }
}

/// Whether an object can be loaded by itself: read, placed and relocated. No device is asked, no code is looked at,
/// and nothing is kept. `index` is the object's own.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// # use hsaco_object::CodeObject;
/// let object = CodeObject::parse(&file)?;
/// assert!(hsaco_load::check_object(&object, &object.index()).is_ok());
/// let cut = CodeObject::parse(&file[..100])?;
/// let errors = hsaco_load::check_object(&cut, &cut.index()).unwrap_err();
/// assert_eq!(errors[0].kind(), hsaco_load::ErrorKind::BadSegment);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Everything for which [`Executable::load`] or [`Executable::freeze`] would refuse it.
pub fn check_object(code: &CodeObject<'_>, index: &Index<'_>) -> std::result::Result<(), Errors> {
    let mut executable = Executable::new(None);
    let bytes = Cow::Borrowed(code.data());
    executable.add("", bytes, None, |name, bytes, names| {
        let (object, _) = Object::check(name, code, index, names)?;
        Ok(Object { bytes, ..object })
    })?;
    let base = Freeze::default().base;
    // Where nothing is relocated memory holds what the file does, and need not be made.
    if executable.objects.iter().all(|it| it.relocations.is_empty()) {
        let (_, resolution) = executable.arrange(base)?;
        return Errors::check(resolution.errors);
    }
    executable.put_together(base)?;
    Ok(())
}
