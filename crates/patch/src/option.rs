//! What callers decide where the erratum can be read in more than one way.

/// What becomes of cluster loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterLoads {
    /// Plain global loads, in place.
    #[default]
    Global,
    /// Kept, with an empty workgroup mask in M0 around each.
    Masked,
}

/// Whether block-16 scaling exists on A0; those who ought to know disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleSixteen {
    /// It does not: emulate it with block-32 scaling.
    #[default]
    Emulate,
    /// It does for 16x16: keep these.
    Native,
}

/// How rules read what is not settled. The default is the safer reading.
///
/// ```
/// let mut options = hsaco_patch::Options::default();
/// options.set("entry-stub").unwrap();
/// assert!(options.entry_stub);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches of the command line")]
pub struct Options {
    /// What becomes of cluster loads.
    pub cluster_loads: ClusterLoads,
    /// Rewrite `s_barrier_signal_isfirst` of every barrier, not only of the cluster's.
    pub every_isfirst: bool,
    /// Put a vector memory instruction before every kernel's first.
    pub entry_stub: bool,
    /// Mask tensor loads for B0 too, where the wave is in no cluster.
    pub strict_b0: bool,
    /// Whether block-16 scaling is native.
    pub scale_sixteen: ScaleSixteen,
    /// Count the split halves of two-address LDS instructions in the waits that follow, instead of draining.
    pub precise_waits: bool,
}

/// A switch: its name, what it does, and how.
type Switch = (&'static str, &'static str, fn(&mut Options));

const SWITCHES: [Switch; 6] = [
    ("cluster-mask", "keep cluster loads and clear their workgroup mask", |it| {
        it.cluster_loads = ClusterLoads::Masked;
    }),
    ("every-isfirst", "rewrite s_barrier_signal_isfirst of every barrier", |it| {
        it.every_isfirst = true;
    }),
    ("entry-stub", "a vector memory instruction before every kernel's first", |it| {
        it.entry_stub = true;
    }),
    ("strict-b0", "for B0: mask tensor loads where the wave is in no cluster", |it| {
        it.strict_b0 = true;
    }),
    ("native-scale16", "keep 16x16 block-16 scaled matrix instructions", |it| {
        it.scale_sixteen = ScaleSixteen::Native;
    }),
    ("precise-waits", "count split LDS accesses in later waits instead of draining", |it| {
        it.precise_waits = true;
    }),
];

impl Options {
    /// The switches, each with what it does.
    pub fn switches() -> impl Iterator<Item = (&'static str, &'static str)> {
        SWITCHES.iter().map(|(name, help, _)| (*name, *help))
    }

    /// Turns a switch on; the names that there are, if there is none of this name.
    pub fn set(&mut self, name: &str) -> Result<(), String> {
        match SWITCHES.iter().find(|(it, ..)| *it == name) {
            Some((.., turn_on)) => {
                turn_on(self);
                Ok(())
            }
            None => {
                let names: Vec<&str> = SWITCHES.iter().map(|(name, ..)| *name).collect();
                Err(format!("no option `{name}`; there are {}", names.join(", ")))
            }
        }
    }
}
