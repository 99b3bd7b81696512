//! Bundle entry ids: what kind of offloading, which triple, which target.

use super::{Feature, Processor, TargetId};

/// A bundle entry id taken apart, each part as it was spelled.
///
/// ```
/// use hsaco_isa::target::EntryId;
/// let entry = EntryId::parse("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-").unwrap();
/// assert_eq!(entry.kind, "hipv4");
/// assert_eq!(entry.triple, "amdgcn-amd-amdhsa");
/// assert_eq!(entry.target, "gfx90a:xnack-");
/// let host = EntryId::parse("host-x86_64-unknown-linux--").unwrap();
/// assert!(host.is_host());
/// assert_eq!(host.target, "");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryId<'a> {
    /// The offload kind: `host`, `hip`, `hipv4`, `openmp`, …
    pub kind: &'a str,
    /// The triple, without an empty environment at its end.
    pub triple: &'a str,
    /// The target id; empty where there is none.
    pub target: &'a str,
}

/// Offload kinds that bundles are known to hold.
const KINDS: [&str; 6] = ["host", "hip", "hipv4", "openmp", "cuda", "sycl"];

impl<'a> EntryId<'a> {
    /// Splits an entry id; nothing if it does not start with a known offload kind.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (kind, rest) = text.split_once('-')?;
        let (triple, target) = split_triple(rest);
        KINDS.contains(&kind).then_some(Self { kind, triple, target })
    }

    /// The id as clang-offload-bundler spells it: four parts of a triple, however many are empty, and a target, which may be
    /// empty too.
    ///
    /// ```
    /// use hsaco_isa::target::EntryId;
    /// let id = EntryId::parse("hip-amdgcn-amd-amdhsa-gfx906").unwrap();
    /// assert_eq!(id.canonical(), "hip-amdgcn-amd-amdhsa--gfx906");
    /// ```
    #[must_use]
    pub fn canonical(&self) -> String {
        let parts = self.triple.split('-').count();
        let dashes = "-".repeat(5usize.saturating_sub(parts).max(1));
        format!("{}-{}{dashes}{}", self.kind, self.triple, self.target)
    }

    /// True for gfx90a and gfx90a:xnack+ of one kind: one says nothing of a feature that the other asks for, so that both
    /// fit some devices.
    #[must_use]
    pub fn is_rival(&self, other: &EntryId<'_>) -> bool {
        let target = |it: &EntryId<'_>| it.target.parse::<TargetId>().ok();
        let named = |id: &TargetId| Feature::ALL.map(|it| id.setting(it).sign().is_some());
        let targets = target(self).zip(target(other));
        self.kind == other.kind
            && targets.is_some_and(|(one, other)| {
                one.processor == other.processor && named(&one) != named(&other)
            })
    }

    /// Whether the entry is code for an AMD GPU, compiled or as SPIR-V.
    #[must_use]
    pub fn is_amd(&self) -> bool {
        self.triple.starts_with("amdgcn") || self.triple.starts_with("spirv")
    }

    /// Whether the entry is code for the machine that launches kernels.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.kind == "host"
    }
}

/// Splits `arch-vendor-os[-environment]-target` into triple and target.
///
/// Old producers leave the environment out altogether, and generic processors have hyphens in their
/// names, so the fourth part is an environment only if no processor starts there.
pub(crate) fn split_triple(text: &str) -> (&str, &str) {
    let Some(rest) = text.splitn(4, '-').nth(3) else {
        return (text, text.get(text.len()..).unwrap_or_default());
    };
    let target = if starts_with_processor(rest) {
        rest
    } else {
        rest.split_once('-').map_or("", |(_, target)| target)
    };
    // A missing target must still point at the end of the text, where an error would be.
    let target =
        if target.is_empty() { text.get(text.len()..).unwrap_or_default() } else { target };
    let triple = text.get(..text.len() - target.len()).unwrap_or(text);
    (triple.trim_end_matches('-'), target)
}

fn starts_with_processor(text: &str) -> bool {
    let name = text.split([':', '+']).next().unwrap_or_default();
    name.starts_with("gfx") || Processor::from_name(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_are_found_as_the_bundler_finds_them() {
        let hip = |target: &str| format!("hip-amdgcn-amd-amdhsa--{target}");
        let are = |one: &str, other: &str| {
            EntryId::parse(one).unwrap().is_rival(&EntryId::parse(other).unwrap())
        };
        assert!(are(&hip("gfx90a"), &hip("gfx90a:xnack+")));
        assert!(are(&hip("gfx90a:sramecc+"), &hip("gfx90a:xnack+")));
        assert!(!are(&hip("gfx90a:xnack-"), &hip("gfx90a:xnack+")));
        assert!(!are(&hip("gfx90a"), &hip("gfx942:xnack+")));
        assert!(!are(&hip("gfx90a"), "openmp-amdgcn-amd-amdhsa--gfx90a:xnack+"));
    }

    #[test]
    fn ids_are_spelled_as_the_bundler_does() {
        for (given, wanted) in [
            ("host-x86_64-unknown-linux-gnu", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64-unknown-linux-gnu-", "host-x86_64-unknown-linux-gnu-"),
            ("host-x86_64-unknown-linux", "host-x86_64-unknown-linux--"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip-amdgcn-amd-amdhsa--gfx906"),
            ("hip-amdgcn-amd-amdhsa--gfx90a:xnack-", "hip-amdgcn-amd-amdhsa--gfx90a:xnack-"),
        ] {
            assert_eq!(EntryId::parse(given).unwrap().canonical(), wanted);
        }
    }

    #[test]
    fn splits() {
        for (text, kind, triple, target) in [
            ("hip-amdgcn-amd-amdhsa--gfx906", "hip", "amdgcn-amd-amdhsa", "gfx906"),
            ("hip-amdgcn-amd-amdhsa-gfx906", "hip", "amdgcn-amd-amdhsa", "gfx906"),
            ("hip-amdgcn-amd-amdhsa-gfx9-4-generic", "hip", "amdgcn-amd-amdhsa", "gfx9-4-generic"),
            (
                "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
                "hipv4",
                "amdgcn-amd-amdhsa",
                "gfx90a:sramecc+:xnack-",
            ),
            ("hip-amdgcn-amd-amdhsa-unknown-gfx942", "hip", "amdgcn-amd-amdhsa-unknown", "gfx942"),
            ("openmp-amdgcn-amd-amdhsa--gfx908", "openmp", "amdgcn-amd-amdhsa", "gfx908"),
            ("openmp-amdgcn-amd-amdhsa", "openmp", "amdgcn-amd-amdhsa", ""),
            ("hip-spirv64-amd-amdhsa--amdgcnspirv", "hip", "spirv64-amd-amdhsa", "amdgcnspirv"),
            ("host-x86_64-unknown-linux--", "host", "x86_64-unknown-linux", ""),
            ("host-x86_64-unknown-linux-gnu-", "host", "x86_64-unknown-linux-gnu", ""),
            ("host-x86_64-unknown-linux-gnu", "host", "x86_64-unknown-linux-gnu", ""),
            ("host-x86_64-unknown-linux", "host", "x86_64-unknown-linux", ""),
            ("hip-", "hip", "", ""),
            ("hip----", "hip", "", ""),
        ] {
            assert_eq!(EntryId::parse(text), Some(EntryId { kind, triple, target }), "{text}");
        }
        assert_eq!(EntryId::parse("gfx9-4-generic"), None);
        assert_eq!(EntryId::parse("amdgcn-amd-amdhsa--gfx906"), None);
        assert_eq!(EntryId::parse(""), None);
    }
}
