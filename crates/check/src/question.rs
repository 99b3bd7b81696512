//! What is asked of an object: would this device take it, would this launch run, are these kernels in it?

use std::fmt;

use hsaco_isa::target::Limits;

use crate::device::Device;
use crate::facts::{KernelFacts, ObjectFacts};
use crate::launch::LaunchFacts;

/// What an object is held against.
#[derive(Clone, Copy)]
pub(crate) struct Question<'q> {
    /// The device that was asked for.
    pub(crate) asked: Option<&'q Device>,
    /// That one, else the one that the object is for.
    pub(crate) device: Option<&'q Device>,
    /// The limits that registers are held against: the device's, unless it counts registers in another way.
    pub(crate) register_limits: Option<&'q Limits>,
    pub(crate) launch: &'q LaunchFacts,
    /// The kernels that were asked for; all, if none were.
    pub(crate) kernels: &'q [Wanted],
}

impl<'q> Question<'q> {
    pub(crate) fn new(
        object: &'q ObjectFacts<'_>,
        asked: Option<&'q Device>,
        launch: &'q LaunchFacts,
        kernels: &'q [Wanted],
    ) -> Self {
        let device = asked.or(object.own_device.as_ref());
        let limits = |device: &'q Device| {
            let processor = object.processor()?;
            let is_same = device.target.processor.generation() == processor.generation();
            Some(if is_same { &device.limits } else { processor.limits() })
        };
        Self { asked, device, register_limits: device.and_then(limits), launch, kernels }
    }

    pub(crate) fn wants(&self, kernel: &KernelFacts<'_, '_>) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|wanted| wanted.is(kernel))
    }
}

/// A kernel that is asked for.
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) accepts: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wanted({})", self.name)
    }
}

impl Wanted {
    /// Whether a kernel is called that: mangled or not, with the descriptor's `.kd` or without.
    pub(crate) fn is(&self, facts: &KernelFacts<'_, '_>) -> bool {
        let name = self.name.strip_suffix(".kd").unwrap_or(&self.name);
        let is = |it: &str| it == name || (self.accepts)(it);
        is(&facts.kernel.name().to_str_lossy())
            || facts.kernel.metadata().is_some_and(|it| it.name() == name)
            || facts.source_name().is_some_and(is)
    }
}
