//! The containers that an entry was found in.

use std::fmt;
use std::sync::Arc;

use crate::Container;

/// One container on the way to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailStep {
    /// What kind of container it is.
    pub container: Container,
    /// The part of it that was followed: a section, or an archive member.
    pub part: Option<String>,
    /// Where the container begins in the outermost bytes; `None` inside a decompressed payload.
    pub offset: Option<u64>,
}

/// The containers that an entry came through. Cheap to clone.
///
/// ```
/// use hsaco_container::{WalkOptions, bundle, entries};
/// let file = bundle::write(&[("hip-amdgcn-amd-amdhsa--gfx942", b"?")], 1);
/// let entry = entries(&file, &WalkOptions::default()).next().unwrap()?;
/// assert_eq!(entry.trail.to_string(), "bundle");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trail(Option<Arc<Link>>);

#[derive(PartialEq, Eq)]
struct Link {
    step: TrailStep,
    outer: Trail,
    depth: usize,
}

impl Trail {
    /// The steps, outermost first.
    pub fn steps(&self) -> Vec<&TrailStep> {
        let mut steps: Vec<_> = self.inwards().collect();
        steps.reverse();
        steps
    }

    /// How many containers there are around the entry.
    pub fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.depth)
    }

    /// The container that holds the entry itself.
    pub fn innermost(&self) -> Option<&TrailStep> {
        self.0.as_ref().map(|link| &link.step)
    }

    /// The path of the innermost file with device code, seen from the outermost package: `lib/libx.so` of a wheel, and
    /// `data.tar.xz/usr/lib/libx.so` of a Debian package. `None` outside packages.
    ///
    /// ```
    /// use hsaco_container::{WalkOptions, entries};
    /// let file = std::fs::read("../../tests/fixtures/plain.tar").unwrap();
    /// let entry = entries(&file, &WalkOptions::default()).next().unwrap()?;
    /// assert_eq!(entry.trail.path().as_deref(), Some("lib/host.so"));
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn path(&self) -> Option<String> {
        let steps = self.steps();
        let last = steps.iter().rposition(|step| step.container.is_package())?;
        let names = steps.iter().take(last + 1).filter_map(|step| step.part.as_deref());
        Some(names.collect::<Vec<_>>().join("/"))
    }

    /// The file that [`path`](Self::path) names, as the first container behind the package; `None` where the entry is the file.
    pub fn file_container(&self) -> Option<Container> {
        let steps = self.steps();
        let last = steps.iter().rposition(|step| step.container.is_package())?;
        steps.get(last + 1).map(|step| step.container)
    }

    pub(crate) fn with(&self, step: TrailStep) -> Self {
        let depth = self.depth() + 1;
        Self(Some(Arc::new(Link { step, outer: self.clone(), depth })))
    }

    pub(crate) fn count(&self, container: Container) -> usize {
        self.inwards().filter(|step| step.container == container).count()
    }

    /// The steps, innermost first.
    fn inwards(&self) -> impl Iterator<Item = &TrailStep> {
        std::iter::successors(self.0.as_ref(), |link| link.outer.0.as_ref()).map(|link| &link.step)
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { " > " };
            write!(f, "{separator}{}", step.container.name())?;
            if let Some(part) = &step.part {
                write!(f, "({part})")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.steps()).finish()
    }
}
