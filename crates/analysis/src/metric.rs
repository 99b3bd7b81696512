//! What can be counted of a kernel: one table of names, of the fields that they are about, and of which way is worse.

use hsaco_isa::target::{Generation, Limits};
use hsaco_object::{Kernel, Resources};

use crate::resources::demand;

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $metric:ident $name:literal $field:literal,)+) => {
        /// What can be counted of a kernel.
        ///
        /// ```
        /// use hsaco_analysis::Metric;
        /// assert_eq!(Metric::from_name("occupancy"), Some(Metric::Occupancy));
        /// assert!(Metric::Vgprs.is_worse(42, 128) && Metric::Occupancy.is_worse(8, 4));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Metric {
            $($(#[doc = $doc])+ $metric,)+
        }

        impl Metric {
            /// All of them.
            pub const ALL: &[Metric] = &[$(Metric::$metric,)+];

            /// The name that budgets use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Metric::$metric => $name,)+
                }
            }

            /// The field that it is about: a key of the metadata where it begins with a dot.
            #[must_use]
            pub const fn field(self) -> &'static str {
                match self {
                    $(Metric::$metric => $field,)+
                }
            }
        }
    };
}

metrics! {
    /// Vector registers, as declared.
    Vgprs "vgprs" ".vgpr_count",
    /// Accumulation registers.
    Agprs "agprs" ".agpr_count",
    /// Scalar registers.
    Sgprs "sgprs" ".sgpr_count",
    /// Registers spilled to memory, of both kinds.
    Spills "spills" ".vgpr_spill_count",
    /// Static LDS, in bytes.
    Lds "lds" ".group_segment_fixed_size",
    /// Scratch of a work-item, in bytes.
    Scratch "scratch" ".private_segment_fixed_size",
    /// Kernel arguments, in bytes.
    Kernarg "kernarg" ".kernarg_segment_size",
    /// Code, in bytes.
    Code "code" "st_size",
    /// Waves on one SIMD of the device.
    Occupancy "occupancy" "waves per SIMD",
}

impl Metric {
    /// The metric of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Metric> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// Whether the second number is worse than the first: more of everything but of waves.
    #[must_use]
    pub const fn is_worse(self, before: u64, after: u64) -> bool {
        match self {
            Metric::Occupancy => after < before,
            _ => after > before,
        }
    }
}

/// The numbers of a kernel.
///
/// ```
/// use hsaco_analysis::{Metric, Metrics};
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let object = hsaco_object::CodeObject::parse(&file)?;
/// let index = object.index();
/// let processor = object.target().id().unwrap().processor;
/// let metrics = Metrics::of(&index.kernels()[0], Some(processor.generation()), Some(processor.limits()));
/// assert_eq!((metrics.get(Metric::Kernarg), metrics.get(Metric::Lds)), (Some(24), Some(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    resources: Resources,
    spills: Option<u64>,
    code: Option<u64>,
    occupancy: Option<u64>,
}

impl Metrics {
    /// What a kernel's metadata and descriptor say; waves are those of a device with these limits.
    #[must_use]
    pub fn of(
        kernel: &Kernel<'_>,
        generation: Option<Generation>,
        limits: Option<&Limits>,
    ) -> Self {
        let said = kernel.metadata().and_then(|it| it.decode().ok());
        let spills = said.and_then(|it| match (it.sgpr_spill_count, it.vgpr_spill_count) {
            (None, None) => None,
            (scalar, vector) => Some(scalar.unwrap_or(0).saturating_add(vector.unwrap_or(0))),
        });
        let demand = generation.and_then(|generation| demand(kernel, generation));
        let occupancy = limits.zip(demand).and_then(|(limits, demand)| limits.occupancy(&demand));
        Self {
            resources: kernel.resources(generation).0,
            spills,
            code: kernel.code_size(),
            occupancy: occupancy.map(|it| u64::from(it.waves)),
        }
    }

    /// How much a kernel has of it; none where the object does not say.
    #[must_use]
    pub const fn get(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::Vgprs => self.resources.vgprs,
            Metric::Agprs => self.resources.agprs,
            Metric::Sgprs => self.resources.sgprs,
            Metric::Lds => self.resources.lds,
            Metric::Scratch => self.resources.scratch,
            Metric::Kernarg => self.resources.kernarg_size,
            Metric::Spills => self.spills,
            Metric::Code => self.code,
            Metric::Occupancy => self.occupancy,
        }
    }
}
