//! A kernel dispatch: from its packet to the emulator.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use hsaco_emu::{Dispatch, Error, ErrorKind, Host, KernelCode, Limits, Places, Run};
use hsaco_kernarg::{DispatchPacket, Launch};

use crate::abi::Status;
use crate::agent::{Agent, Gpu};
use crate::runtime::Runtime;
use crate::runtime::queue::{Failure, Queue};

/// What a running kernel may ask of the host: to wait a little where all of it waits.
struct Waiting;

impl Host for Waiting {
    fn print(&self, _: &[u8], _: bool) {}

    fn pause(&self) {
        std::thread::sleep(std::time::Duration::from_micros(20));
    }
}

/// Runs the kernel of a packet to its end.
pub(crate) fn run(
    runtime: &'static Runtime,
    queue: &Queue,
    index: u64,
    address: u64,
    packet: &DispatchPacket,
) -> Result<(), Failure> {
    let agent = runtime.agent(queue.agent).map_err(|it| Failure::new(it, "a queue of no agent"))?;
    let gpu = agent
        .gpu
        .as_ref()
        .ok_or_else(|| Failure::new(Status::INVALID_AGENT, "a queue of no GPU"))?;
    let launch = launch(gpu, packet)?;
    let code = code(runtime, agent, gpu, packet.kernel_object)?;
    check_segments(gpu, &code, packet)?;
    let places = Places {
        kernarg: packet.kernarg_address,
        packet: address,
        queue: queue.address,
        dispatch_id: index,
    };
    let segments = [packet.group_segment, packet.private_segment];
    let watched = crate::runtime::intercept::begin(runtime, agent, &code, packet, &places);
    let dispatch = Dispatch::of_packet(&gpu.device, Arc::clone(&code), launch, places, segments)
        .map_err(|error| failure(&code, &error))?
        .with_limits(Limits {
            instructions: runtime.config.instructions.unwrap_or(u64::MAX),
            ..Limits::default()
        })
        .with_host(&Waiting)
        .with_stop(&queue.stop);
    let ended = {
        let dispatch = watched.attach(dispatch);
        let counts = dispatch.workgroups();
        let parts = counts.iter().fold(1_u64, |all, it| all.saturating_mul((*it).into()));
        let run = Run::new(&dispatch, runtime.helpers.threads());
        runtime.helpers.work(&run, parts);
        run.finish()
    };
    watched.end();
    if queue.stop.load(Relaxed) {
        return Err(Failure::new(Status::ERROR, "the queue has ended"));
    }
    match ended {
        Ok(outcome) => {
            runtime.summary.count(&outcome);
            Ok(())
        }
        Err(error) => Err(failure(&code, &error)),
    }
}

/// The grid that a packet states.
fn launch(gpu: &Gpu, packet: &DispatchPacket) -> Result<Launch, Failure> {
    let dimensions = usize::from(packet.dimensions);
    if !(1..=3).contains(&dimensions) {
        let detail = format!("a dispatch of {dimensions} dimensions");
        return Err(Failure::new(Status::INCOMPATIBLE_ARGUMENTS, detail));
    }
    let workgroup = packet.workgroup.map(u32::from);
    let (grid, sizes) = (packet.grid.get(..dimensions), workgroup.get(..dimensions));
    let launch = Launch::new(grid.unwrap_or_default(), sizes.unwrap_or_default());
    let launch =
        launch.map_err(|it| Failure::new(Status::INVALID_ARGUMENT, format!("a dispatch: {it}")))?;
    let most = gpu.model.target.processor.limits().max_workgroup;
    if launch.workgroup_items() > most.into() {
        let detail = format!(
            "a workgroup of {} work-items, and {most} are the most",
            launch.workgroup_items()
        );
        return Err(Failure::new(Status::INVALID_ARGUMENT, detail));
    }
    Ok(launch)
}

/// The kernel whose descriptor is at an address.
fn code(
    runtime: &Runtime,
    agent: &Agent,
    gpu: &Gpu,
    address: u64,
) -> Result<Arc<KernelCode>, Failure> {
    let kernels = gpu.kernels.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(code) = kernels.get(&address) {
        return Ok(Arc::clone(code));
    }
    drop(kernels);
    let invalid = |detail: String| Failure::new(Status::INVALID_CODE_OBJECT, detail);
    if address == 0 || !address.is_multiple_of(64) {
        return Err(invalid(format!(
            "a dispatch of the kernel object {address:#x}, which is none"
        )));
    }
    let name = runtime.kernel_name(agent.handle, address);
    let shown = name.clone().unwrap_or_else(|| format!("{address:#x}"));
    let made = KernelCode::new(&gpu.device, &shown, address);
    let code =
        Arc::new(made.map_err(|it| invalid(format!("a dispatch of the kernel {shown}: {it}")))?);
    // What no executable holds may change without anyone telling.
    if name.is_some() {
        let mut kernels = gpu.kernels.write().unwrap_or_else(PoisonError::into_inner);
        kernels.insert(address, Arc::clone(&code));
    }
    Ok(code)
}

fn check_segments(gpu: &Gpu, code: &KernelCode, packet: &DispatchPacket) -> Result<(), Failure> {
    let limits = gpu.model.target.processor.limits();
    let refused =
        |status, detail: String| Err(Failure::new(status, format!("{}: {detail}", code.name())));
    if packet.group_segment > limits.lds_bytes {
        let (asked, most) = (packet.group_segment, limits.lds_bytes);
        return refused(
            Status::INVALID_ALLOCATION,
            format!("{asked} bytes of LDS, and {most} are the most"),
        );
    }
    /// What a work-item may have on any hardware.
    const MOST_PRIVATE: u32 = 1 << 23;
    if packet.private_segment > MOST_PRIVATE {
        let asked = packet.private_segment;
        return refused(
            Status::OUT_OF_RESOURCES,
            format!("{asked} bytes of scratch memory for a work-item"),
        );
    }
    let size = code.descriptor().kernarg_size;
    let has_arguments = size == 0 || gpu.device.memory.read(packet.kernarg_address, 1).is_ok();
    if !has_arguments {
        let at = packet.kernarg_address;
        let detail = format!(
            "its {size} bytes of arguments at {at:#x} are not in memory that it may access"
        );
        let failure = Failure { fault: Some(at), ..Failure::new(Status::MEMORY_FAULT, detail) };
        return Err(failure);
    }
    Ok(())
}

/// The status that hardware has for an error.
fn failure(code: &KernelCode, error: &Error) -> Failure {
    let status = match error.kind() {
        ErrorKind::OutOfBounds | ErrorKind::ReadOnly => Status::MEMORY_FAULT,
        ErrorKind::Misaligned => Status::MEMORY_APERTURE_VIOLATION,
        ErrorKind::IllegalInstruction | ErrorKind::Unsupported => Status::ILLEGAL_INSTRUCTION,
        ErrorKind::Trap => Status::EXCEPTION,
        ErrorKind::Memory => Status::OUT_OF_RESOURCES,
        ErrorKind::Setup => Status::INVALID_CODE_OBJECT,
        _ => Status::FATAL,
    };
    let mut failure = Failure::new(status, format!("kernel {} stopped: {error}", code.name()));
    failure.is_read_only = error.kind() == ErrorKind::ReadOnly;
    if matches!(error.kind(), ErrorKind::OutOfBounds | ErrorKind::ReadOnly) {
        failure.fault = Some(error.accessed().unwrap_or(0));
    }
    failure
}
