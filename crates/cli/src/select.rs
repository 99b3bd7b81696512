//! Choosing objects by target, device and number, kernels by name, as the command line asks for them.

use std::ops::Deref;

use anyhow::{Context, Result};

use crate::args::{KernelFilter, ObjectFilter};
use crate::report::{self, Status};

/// Which objects are wanted.
#[derive(Default)]
pub(crate) struct ObjectSelection {
    selection: hsaco_files::ObjectSelection,
    /// The selection in words of the command line; empty where every object is wanted.
    asked: String,
}

impl Deref for ObjectSelection {
    type Target = hsaco_files::ObjectSelection;

    fn deref(&self) -> &Self::Target {
        &self.selection
    }
}

impl ObjectSelection {
    pub(crate) fn new(filter: &ObjectFilter) -> Result<Self> {
        let mut selection = hsaco_files::ObjectSelection::new(filter.device()?, filter.object);
        for text in &filter.target {
            selection = selection.or_target(text).with_context(|| format!("--target {text}"))?;
        }
        Ok(Self { selection, asked: asked(filter) })
    }

    /// The status of a run, which is not fine if no object was what was asked for. What could not be read may have been it.
    pub(crate) fn conclude(&self, mut status: Status) -> Status {
        let is_fine = matches!(status, Status::Fine | Status::Findings);
        if is_fine && !self.asked.is_empty() && !self.has_found() {
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

/// Which kernels are wanted.
#[derive(Default)]
pub(crate) struct KernelSelection(hsaco_files::KernelSelection);

impl Deref for KernelSelection {
    type Target = hsaco_files::KernelSelection;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl KernelSelection {
    pub(crate) fn new(filter: &KernelFilter) -> Self {
        Self(hsaco_files::KernelSelection::new(&filter.kernel))
    }

    /// The status of a run, which is not fine if no kernel was of the name that was asked for.
    pub(crate) fn conclude(&self, mut status: Status) -> Status {
        if !self.is_all() && !self.has_found() {
            let names: Vec<_> = self.names().collect();
            report::error(&format!("no kernel fits '{}'; hsaco ls lists them", names.join("', '")));
            status.note(Status::Unreadable);
        }
        status
    }
}
