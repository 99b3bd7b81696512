//! One launch on one device.

use std::collections::{BTreeMap, HashSet};

use hsaco_emu::{
    Device, Dispatch, Limits, LoadedKernel, Observer, Outcome, Revision, Sanitizer, TraceFilter,
    Tracer,
};
use hsaco_isa::TargetId;
use hsaco_kernarg::Value;
use hsaco_load::{Executable, Freeze, SourceFrame};

use crate::error::{Error, Result};
use crate::input::{Given, Input};
use crate::observe::Printed;

/// Where objects are loaded, the same for both.
const BASE: u64 = 0x7d00_0000_0000;
/// Bytes of memory of a device.
const MEMORY: u64 = 1 << 32;

/// An object, and the silicon that it runs on.
#[derive(Debug)]
pub(crate) struct Side<'o> {
    pub(crate) executable: Executable<'o>,
    target: TargetId,
    revision: Revision,
}

/// What a launch left behind.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Buffers, by the number of the argument, each with its address.
    pub(crate) buffers: BTreeMap<usize, (u64, Vec<u8>)>,
    /// Variables of the object: segments that may be written.
    pub(crate) variables: Vec<(u64, Vec<u8>)>,
    pub(crate) printed: Vec<u8>,
}

/// How a launch is looked at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Watch<'w> {
    pub(crate) observer: Option<(&'w dyn Observer, &'w HashSet<u64>)>,
    pub(crate) tracer: Option<(&'w dyn Tracer, &'w TraceFilter)>,
    /// The others see nothing then.
    pub(crate) sanitizer: Option<&'w Sanitizer>,
}

impl<'o> Side<'o> {
    pub(crate) fn new(name: &str, object: &'o [u8], revision: Revision) -> Result<Self> {
        let mut executable = Executable::new(None);
        executable.load(name, object).map_err(Error::of)?;
        executable
            .freeze(Freeze { base: BASE, fix_resources: true })
            .map_err(|errors| Error::of(format!("{name}: {errors}")))?;
        let target = executable.target().ok_or_else(|| Error::of(format!("{name}: no target")))?;
        Ok(Self { executable, target, revision })
    }

    /// How far the object was moved.
    pub(crate) fn delta(&self) -> u64 {
        let mut objects = self.executable.objects();
        objects.next().and_then(|it| self.executable.image(it)).map_or(0, |it| it.delta)
    }

    /// The functions and lines that an address of memory belongs to.
    pub(crate) fn source(&self, address: u64) -> Vec<SourceFrame> {
        self.executable.source(address).unwrap_or_default()
    }

    pub(crate) fn kernel(&self, name: &str) -> Result<LoadedKernel> {
        LoadedKernel::find(&self.executable, name).map_err(Error::of)
    }

    /// Runs a launch; what it left is there also where the program stopped.
    pub(crate) fn run(
        &self,
        kernel: &LoadedKernel,
        input: &Input,
        watch: Watch<'_>,
        instructions: u64,
    ) -> Result<(hsaco_emu::Result<Outcome>, Left)> {
        let mut device = Device::new(self.target, MEMORY);
        device.revision = self.revision;
        device.load(&self.executable).map_err(Error::of)?;
        let launch = device.equip(input.launch.clone(), &kernel.layout).map_err(Error::of)?;
        let mut left = Left::default();
        let mut values = Vec::new();
        for (number, given) in input.arguments.iter().enumerate() {
            values.push(match given {
                Given::Value(bytes) => Value::Bytes(bytes),
                Given::Buffer(bytes) => {
                    let address = device.memory.allocate(bytes.len() as u64).map_err(Error::of)?;
                    device.memory.write(address, bytes).map_err(Error::of)?;
                    left.buffers.insert(number, (address, bytes.clone()));
                    Value::Pointer(address)
                }
            });
        }
        let kernarg = kernel.pack(&values, &launch).map_err(Error::of)?;
        let printed = Printed::default();
        let dispatch = Dispatch::at(&mut device, &kernel.name, kernel.descriptor, launch, &kernarg);
        let ran = dispatch.and_then(|dispatch| {
            let dispatch = match input.cluster {
                [1, 1, 1] => dispatch,
                cluster => dispatch.with_cluster(cluster)?,
            };
            let limits = Limits { instructions, ..Limits::default() };
            let mut dispatch = dispatch.with_limits(limits).with_host(&printed).with_profile();
            if let Some((observer, addresses)) = watch.observer {
                dispatch = dispatch.with_observer(observer, addresses);
            }
            if let Some((tracer, filter)) = watch.tracer {
                dispatch = dispatch.with_tracer(tracer, filter);
            }
            if let Some(sanitizer) = watch.sanitizer {
                dispatch = dispatch.with_sanitizer(sanitizer);
            }
            dispatch.run()
        });
        self.read_back(&device, &mut left).map_err(Error::of)?;
        left.printed = printed.finish();
        Ok((ran, left))
    }

    fn read_back(&self, device: &Device, left: &mut Left) -> hsaco_emu::Result<()> {
        for (address, bytes) in left.buffers.values_mut() {
            device.memory.read_into(*address, bytes)?;
        }
        for object in self.executable.objects() {
            let segments = self.executable.image(object).into_iter().flat_map(|it| &it.segments);
            for segment in segments.filter(|it| it.flags & 2 != 0 && it.size != 0) {
                let size = usize::try_from(segment.size).unwrap_or(usize::MAX);
                left.variables.push((segment.address, device.memory.read(segment.address, size)?));
            }
        }
        Ok(())
    }
}
