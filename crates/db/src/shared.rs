//! What all objects of a database share: how files are read, and what was decoded.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hsaco_analysis::{LENIENT, Stream};
use hsaco_isa::decoder::{DecodeOptions, DecoderCache};

use crate::unpacked::UnpackedObjects;

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseOptions {
    /// How far to go into containers, and how large what is compressed may become.
    pub container: hsaco_container::WalkOptions,
    /// How instructions are decoded; what is not said here is found out for each object. Unless told otherwise
    /// lenient: as the hardware runs them.
    pub decode: DecodeOptions,
    /// How many bytes of objects from compressed bundles are kept, or one object that is larger: unless told otherwise 128 MiB.
    /// Others are unpacked again when something of them is asked for.
    pub keep_unpacked: usize,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        let container = hsaco_container::WalkOptions::default();
        Self { container, decode: LENIENT, keep_unpacked: 128 << 20 }
    }
}

/// What was worked out so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels whose instructions were decoded.
    pub decoded_kernels: u64,
    /// Instructions decoded.
    pub decoded_instructions: u64,
    /// Bytes of code decoded.
    pub decoded_bytes: u64,
}

/// What all objects of a database share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DatabaseOptions,
    pub(crate) decoders: DecoderCache,
    pub(crate) unpacked: Arc<UnpackedObjects>,
    kernels: AtomicU64,
    instructions: AtomicU64,
    bytes: AtomicU64,
    pub(crate) carried: Option<Carried>,
}

/// Something of the database's owner.
pub(crate) struct Carried(pub(crate) Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carried")
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new(DatabaseOptions::default())
    }
}

impl Shared {
    pub(crate) fn new(options: DatabaseOptions) -> Self {
        let (decoders, kernels, instructions, bytes, carried) = Default::default();
        let unpacked = Arc::new(UnpackedObjects::new(options.keep_unpacked));
        Shared { options, decoders, unpacked, kernels, instructions, bytes, carried }
    }

    pub(crate) fn carrying(what: Arc<dyn Any + Send + Sync>) -> Self {
        Shared { carried: Some(Carried(what)), ..Shared::default() }
    }

    /// Counts a decoded kernel.
    pub(crate) fn count(&self, stream: &Stream<'_>) {
        self.kernels.fetch_add(1, Ordering::Relaxed);
        self.instructions.fetch_add(stream.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(u64::from(stream.size()), Ordering::Relaxed);
    }

    /// What was decoded so far.
    pub(crate) fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            decoded_kernels: of(&self.kernels),
            decoded_instructions: of(&self.instructions),
            decoded_bytes: of(&self.bytes),
        }
    }
}
