//! Every AMDGCN processor LLVM 22 knows, one line each.
//!
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::limits::{self, Limits, WaveSize};
use super::{Feature, Generation, Setting};

struct Row {
    name: &'static str,
    aliases: &'static [&'static str],
    mach: u8,
    generation: Generation,
    features: Features,
    role: Role,
    limits: &'static Limits,
}

/// Which features target ids can pin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Features {
    None,
    Xnack,
    Both,
    /// e_flags state both, yet no target id may name either.
    FlagsOnly,
}

/// Where a processor stands in the scheme of generic targets.
#[derive(Clone, Copy)]
enum Role {
    /// Belongs to no family.
    Alone,
    /// Runs code of that generic processor from that version on.
    Member(&'static str, u8),
    /// Stands for a family; compilers write that version.
    Generic(u8),
}

const GFX9: Role = Role::Member("gfx9-generic", 1);
const GFX9_4: Role = Role::Member("gfx9-4-generic", 1);
const GFX10_1: Role = Role::Member("gfx10-1-generic", 1);
const GFX10_3: Role = Role::Member("gfx10-3-generic", 1);
const GFX11: Role = Role::Member("gfx11-generic", 1);
const GFX12: Role = Role::Member("gfx12-generic", 1);

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    mach: u8,
    generation: Generation,
    features: Features,
    role: Role,
    limits: &'static Limits,
) -> Row {
    Row { name, aliases, mach, generation, features, role, limits }
}

#[rustfmt::skip]
static PROCESSORS: &[Row] = {
    use Features::{Both, FlagsOnly, None, Xnack};
    use Generation::{Gfx6, Gfx7, Gfx8, Gfx9, Gfx90a, Gfx940, Gfx10, Gfx11, Gfx12, Gfx125};
    use Role::{Alone, Generic};
    &[
        row("gfx600",  &["tahiti"],                         0x20, Gfx6,   None,      Alone,   &limits::GFX6),
        row("gfx601",  &["pitcairn", "verde"],              0x21, Gfx6,   None,      Alone,   &limits::GFX6),
        row("gfx602",  &["hainan", "oland"],                0x3a, Gfx6,   None,      Alone,   &limits::GFX6),
        row("gfx700",  &["kaveri"],                         0x22, Gfx7,   None,      Alone,   &limits::GFX7),
        row("gfx701",  &["hawaii"],                         0x23, Gfx7,   None,      Alone,   &limits::GFX7),
        row("gfx702",  &[],                                 0x24, Gfx7,   None,      Alone,   &limits::GFX7),
        row("gfx703",  &["kabini", "mullins"],              0x25, Gfx7,   None,      Alone,   &limits::GFX7),
        row("gfx704",  &["bonaire"],                        0x26, Gfx7,   None,      Alone,   &limits::GFX7),
        row("gfx705",  &[],                                 0x3b, Gfx7,   None,      Alone,   &limits::GFX7),
        row("gfx801",  &["carrizo"],                        0x28, Gfx8,   Xnack,     Alone,   &limits::GFX8),
        row("gfx802",  &["iceland", "tonga"],               0x29, Gfx8,   None,      Alone,   &limits::GFX802),
        row("gfx803",  &["fiji", "polaris10", "polaris11"], 0x2a, Gfx8,   None,      Alone,   &limits::GFX8),
        row("gfx805",  &["tongapro"],                       0x3c, Gfx8,   None,      Alone,   &limits::GFX802),
        row("gfx810",  &["stoney"],                         0x2b, Gfx8,   Xnack,     Alone,   &limits::GFX8),
        row("gfx900",  &[],                                 0x2c, Gfx9,   Xnack,     GFX9,    &limits::GFX9),
        row("gfx902",  &[],                                 0x2d, Gfx9,   Xnack,     GFX9,    &limits::GFX9),
        row("gfx904",  &[],                                 0x2e, Gfx9,   Xnack,     GFX9,    &limits::GFX9),
        row("gfx906",  &[],                                 0x2f, Gfx9,   Both,      GFX9,    &limits::GFX9),
        row("gfx908",  &[],                                 0x30, Gfx9,   Both,      Alone,   &limits::GFX908),
        row("gfx909",  &[],                                 0x31, Gfx9,   Xnack,     GFX9,    &limits::GFX9),
        row("gfx90a",  &[],                                 0x3f, Gfx90a, Both,      Alone,   &limits::GFX90A),
        row("gfx90c",  &[],                                 0x32, Gfx9,   Xnack,     GFX9,    &limits::GFX9),
        row("gfx942",  &[],                                 0x4c, Gfx940, Both,      GFX9_4,  &limits::GFX942),
        row("gfx950",  &[],                                 0x4f, Gfx940, Both,      GFX9_4,  &limits::GFX950),
        row("gfx1010", &[],                                 0x33, Gfx10,  Xnack,     GFX10_1, &limits::GFX101),
        row("gfx1011", &[],                                 0x34, Gfx10,  Xnack,     GFX10_1, &limits::GFX101),
        row("gfx1012", &[],                                 0x35, Gfx10,  Xnack,     GFX10_1, &limits::GFX101),
        row("gfx1013", &[],                                 0x42, Gfx10,  Xnack,     GFX10_1, &limits::GFX101),
        row("gfx1030", &[],                                 0x36, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1031", &[],                                 0x37, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1032", &[],                                 0x38, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1033", &[],                                 0x39, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1034", &[],                                 0x3e, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1035", &[],                                 0x3d, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1036", &[],                                 0x45, Gfx10,  None,      GFX10_3, &limits::GFX103),
        row("gfx1100", &[],                                 0x41, Gfx11,  None,      GFX11,   &limits::GFX1100),
        row("gfx1101", &[],                                 0x46, Gfx11,  None,      GFX11,   &limits::GFX1100),
        row("gfx1102", &[],                                 0x47, Gfx11,  None,      GFX11,   &limits::GFX11),
        row("gfx1103", &[],                                 0x44, Gfx11,  None,      GFX11,   &limits::GFX11),
        row("gfx1150", &[],                                 0x43, Gfx11,  None,      GFX11,   &limits::GFX11),
        row("gfx1151", &[],                                 0x4a, Gfx11,  None,      GFX11,   &limits::GFX1100),
        row("gfx1152", &[],                                 0x55, Gfx11,  None,      GFX11,   &limits::GFX11),
        row("gfx1153", &[],                                 0x58, Gfx11,  None,      GFX11,   &limits::GFX11),
        row("gfx1200", &[],                                 0x48, Gfx12,  None,      GFX12,   &limits::GFX12),
        row("gfx1201", &[],                                 0x4e, Gfx12,  None,      GFX12,   &limits::GFX12),
        row("gfx1250", &[],                                 0x49, Gfx125, FlagsOnly, Alone,   &limits::GFX125),
        row("gfx1251", &[],                                 0x5a, Gfx125, FlagsOnly, Alone,   &limits::GFX125),
        row("gfx9-generic",    &[], 0x51, Gfx9,   Xnack, Generic(1), &limits::GFX9),
        row("gfx9-4-generic",  &[], 0x5f, Gfx940, Both,  Generic(1), &limits::GFX942),
        row("gfx10-1-generic", &[], 0x52, Gfx10,  Xnack, Generic(1), &limits::GFX101),
        row("gfx10-3-generic", &[], 0x53, Gfx10,  None,  Generic(1), &limits::GFX103),
        row("gfx11-generic",   &[], 0x54, Gfx11,  None,  Generic(1), &limits::GFX11),
        row("gfx12-generic",   &[], 0x59, Gfx12,  None,  Generic(1), &limits::GFX12),
    ]
};

/// One processor, exact (`gfx942`) or generic (`gfx9-4-generic`).
///
/// ```
/// use hsaco_isa::target::Generation;
/// use hsaco_isa::Processor;
/// let processor = Processor::from_name("gfx942").unwrap();
/// assert_eq!(processor.mach(), 0x4c);
/// assert_eq!(processor.generation(), Generation::Gfx940);
/// assert_eq!(processor.generic().unwrap().name(), "gfx9-4-generic");
/// assert_eq!(Processor::from_name("fiji").unwrap().name(), "gfx803");
/// ```
#[derive(Clone, Copy)]
pub struct Processor(&'static Row);

impl Processor {
    /// All of them: exact ones by version, then generic ones.
    pub fn all() -> impl DoubleEndedIterator<Item = Processor> + ExactSizeIterator + Clone {
        PROCESSORS.iter().map(Processor)
    }

    /// The processor of that name, be it the primary one or an alias such as `fiji`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|p| p.0.name == name || p.0.aliases.contains(&name))
    }

    /// The processor with that EF_AMDGPU_MACH number.
    #[must_use]
    pub fn from_mach(mach: u32) -> Option<Self> {
        Self::all().find(|p| p.mach() == mach)
    }

    /// The primary name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Other names for the same processor.
    #[must_use]
    pub const fn aliases(self) -> &'static [&'static str] {
        self.0.aliases
    }

    /// The EF_AMDGPU_MACH number in e_flags.
    #[must_use]
    pub fn mach(self) -> u32 {
        u32::from(self.0.mach)
    }

    /// The family of encodings it belongs to.
    #[must_use]
    pub const fn generation(self) -> Generation {
        self.0.generation
    }

    /// Whether the name stands for a family of processors.
    #[must_use]
    pub const fn is_generic(self) -> bool {
        matches!(self.0.role, Role::Generic(_))
    }

    /// The generic processor whose code it runs.
    #[must_use]
    pub fn generic(self) -> Option<Processor> {
        match self.0.role {
            Role::Member(generic, _) => Self::from_name(generic),
            Role::Alone | Role::Generic(_) => None,
        }
    }

    /// The oldest generic version whose code it runs, if it belongs to a family.
    #[must_use]
    pub const fn joined_generic_in(self) -> Option<u8> {
        match self.0.role {
            Role::Member(_, version) => Some(version),
            Role::Alone | Role::Generic(_) => None,
        }
    }

    /// The version that compilers write for it: 0 for an exact processor.
    #[must_use]
    pub const fn generic_version(self) -> u8 {
        match self.0.role {
            Role::Generic(version) => version,
            Role::Alone | Role::Member(..) => 0,
        }
    }

    /// The processors that a generic one stands for; none for an exact one.
    pub fn members(self) -> impl Iterator<Item = Processor> + Clone {
        Self::all().filter(move |p| p.generic() == Some(self))
    }

    /// Whether a target id may say `xnack+` or `xnack-`.
    #[must_use]
    pub const fn supports_xnack(self) -> bool {
        matches!(self.0.features, Features::Xnack | Features::Both)
    }

    /// Whether a target id may say `sramecc+` or `sramecc-`.
    #[must_use]
    pub const fn supports_sramecc(self) -> bool {
        matches!(self.0.features, Features::Both)
    }

    /// Whether a target id may pin that feature.
    #[must_use]
    pub const fn supports(self, feature: Feature) -> bool {
        match feature {
            Feature::Sramecc => self.supports_sramecc(),
            Feature::Xnack => self.supports_xnack(),
        }
    }

    /// What e_flags say of a feature that nothing pinned.
    ///
    /// gfx1250 and gfx1251 say "any" although no target id may pin the feature.
    #[must_use]
    pub const fn default_setting(self, feature: Feature) -> Setting {
        if self.supports(feature) || matches!(self.0.features, Features::FlagsOnly) {
            Setting::Any
        } else {
            Setting::Unsupported
        }
    }

    /// What one device of this kind can hold; for a generic processor, what all of its members can.
    #[must_use]
    pub const fn limits(self) -> &'static Limits {
        self.0.limits
    }

    /// The wave sizes it has, smaller first.
    pub fn wave_sizes(self) -> impl Iterator<Item = WaveSize> {
        self.limits().wave_sizes()
    }

    /// Major, minor and stepping: 9.0.10 for gfx90a; none for a generic processor.
    #[must_use]
    pub fn isa_version(self) -> Option<(u32, u32, u32)> {
        let digits = self.name().strip_prefix("gfx")?;
        let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
        let mut rest = rest.chars().map(|c| c.to_digit(16));
        Some((major.parse().ok()?, rest.next()??, rest.next()??))
    }
}

impl PartialEq for Processor {
    fn eq(&self, other: &Self) -> bool {
        self.0.mach == other.0.mach
    }
}

impl Eq for Processor {}

impl Hash for Processor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.mach.hash(state);
    }
}

impl Ord for Processor {
    // Rows of one table lie in memory as they are listed, so this is the order of `all`.
    fn cmp(&self, other: &Self) -> Ordering {
        std::ptr::from_ref(self.0).cmp(&std::ptr::from_ref(other.0))
    }
}

impl PartialOrd for Processor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The processor whose name is at most two edits away; among equals, the one that starts alike.
pub(super) fn nearest(name: &str) -> Option<Processor> {
    const LONGEST: usize = 24;
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let edits = |p: &Processor| {
        let names = std::iter::once(&p.0.name).chain(p.0.aliases);
        names.map(|n| edit_distance(n, &name)).min().unwrap_or(usize::MAX)
    };
    let alike =
        |p: &Processor| p.name().bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    Processor::all()
        .filter(|p| edits(p) <= 2)
        .min_by_key(|p| (edits(p), std::cmp::Reverse(alike(p))))
}

fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (1..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let (mut diagonal, mut left) = (i, i + 1);
        for (above, b) in row.iter_mut().zip(to.bytes()) {
            left = (diagonal + usize::from(a != b)).min(left + 1).min(*above + 1);
            diagonal = std::mem::replace(above, left);
        }
    }
    row.last().copied().unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Processor {
        Processor::from_name(name).unwrap()
    }

    #[test]
    fn names_and_numbers_are_unique_and_round_trip() {
        assert_eq!(Processor::all().len(), 53);
        for processor in Processor::all() {
            assert_eq!(Processor::from_mach(processor.mach()), Some(processor));
            assert_eq!(processor.name().parse(), Ok(processor));
            assert_eq!(processor.to_string(), processor.name());
            for alias in processor.aliases() {
                assert_eq!(Processor::from_name(alias), Some(processor));
            }
        }
        assert!(Processor::all().is_sorted());
        assert_eq!(Processor::from_name("gfx940"), None);
        assert_eq!(Processor::from_name(""), None);
        for reserved in [0, 0x10, 0x27, 0x40, 0x4b, 0x4d, 0x50, 0x56, 0x57, 0xff, 0x14c] {
            assert_eq!(Processor::from_mach(reserved), None);
        }
    }

    #[test]
    fn families_are_closed() {
        for processor in Processor::all() {
            assert_eq!(processor.is_generic(), processor.name().ends_with("-generic"));
            assert_eq!(processor.is_generic(), processor.members().next().is_some());
            assert_eq!(processor.is_generic(), processor.generic_version() == 1);
            assert_eq!(processor.generic().is_some(), processor.joined_generic_in() == Some(1));
            for member in processor.members() {
                assert_eq!(member.generic(), Some(processor));
                assert_eq!(member.generation(), processor.generation());
                for feature in Feature::ALL {
                    assert!(member.supports(feature) || !processor.supports(feature));
                }
            }
        }
        let members = |name| named(name).members().map(Processor::name).collect::<Vec<_>>();
        assert_eq!(
            members("gfx9-generic"),
            ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]
        );
        assert_eq!(members("gfx9-4-generic"), ["gfx942", "gfx950"]);
        assert_eq!(members("gfx10-3-generic").len(), 7);
        assert_eq!(members("gfx11-generic").len(), 8);
        assert_eq!(members("gfx12-generic"), ["gfx1200", "gfx1201"]);
        assert_eq!(members("gfx942").len(), 0);
        for alone in ["gfx803", "gfx908", "gfx90a", "gfx1250", "gfx1251", "gfx11-generic"] {
            assert_eq!(named(alone).generic(), None);
        }
    }

    #[test]
    fn a_generic_processor_has_no_more_than_any_member() {
        for generic in Processor::all().filter(|p| p.is_generic()) {
            for member in generic.members() {
                let (all, one) = (generic.limits(), member.limits());
                assert!(all.lds_bytes <= one.lds_bytes, "{member}");
                assert!(all.max_vgprs <= one.max_vgprs, "{member}");
                for wave in WaveSize::ALL {
                    let file = |limits: &Limits| limits.vgprs(wave).map(|v| v.file);
                    assert!(file(all) <= file(one), "{member}");
                }
            }
        }
    }

    #[test]
    fn versions_come_from_names() {
        assert_eq!(named("gfx90a").isa_version(), Some((9, 0, 10)));
        assert_eq!(named("gfx1201").isa_version(), Some((12, 0, 1)));
        assert_eq!(named("gfx9-4-generic").isa_version(), None);
        for processor in Processor::all() {
            let name = processor.isa_version().map(|(a, b, c)| format!("gfx{a}{b:x}{c:x}"));
            assert_eq!(name.as_deref(), (!processor.is_generic()).then_some(processor.name()));
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let meant = |name: &str| nearest(name).map(Processor::name);
        assert_eq!(meant("gfx943"), Some("gfx942"));
        assert_eq!(meant("gfx940"), Some("gfx942"));
        assert_eq!(meant("GFX90A"), Some("gfx90a"));
        assert_eq!(meant("gfx11generic"), Some("gfx11-generic"));
        assert_eq!(meant("polaris12"), Some("gfx803"));
        assert_eq!(meant("sm_90"), None);
        assert_eq!(meant(&"g".repeat(1 << 16)), None);
        assert_eq!(meant("\u{fc}\u{1f600}"), None);
    }

    #[test]
    fn limits_of_the_odd_ones() {
        let limits = |name| named(name).limits();
        assert_eq!(limits("gfx600").lds_bytes, 32768);
        assert_eq!(limits("gfx950").lds_bytes, 163_840);
        assert_eq!(limits("gfx9-4-generic").lds_bytes, 65536);
        assert_eq!(limits("gfx802").max_sgprs, 96);
        assert_eq!(limits("gfx1250").max_user_sgprs, 32);
        assert_eq!(limits("gfx1250").wave64, None);
        assert_eq!(limits("gfx90a").waves_with_vgprs(WaveSize::Wave64, 512), Some(1));
        assert_eq!(limits("gfx90a").waves_with_vgprs(WaveSize::Wave64, 513), Some(0));
        assert_eq!(limits("gfx90a").waves_with_vgprs(WaveSize::Wave32, 1), None);
        assert_eq!(limits("gfx90a").waves_with_vgprs(WaveSize::Wave64, u32::MAX), Some(0));
        assert_eq!(
            named("gfx1030").wave_sizes().map(WaveSize::lanes).collect::<Vec<_>>(),
            [32, 64]
        );
    }
}
