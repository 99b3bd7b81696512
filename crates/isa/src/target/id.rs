//! Target ids: a processor and the features pinned for it, in every spelling in use.

use std::fmt;
use std::str::FromStr;

use super::entry::split_triple;
use super::error::{ErrorKind, ParseTargetError};
use super::processor::nearest;
use super::{EntryId, Feature, Processor, Setting};

/// A processor with its xnack and sramecc settings.
///
/// Parsing takes target ids, ISA names, bundle entry ids and the texts of old code objects;
/// printing gives the canonical target id.
///
/// ```
/// use hsaco_isa::TargetId;
/// let target: TargetId = "gfx942:xnack+:sramecc-".parse()?;
/// assert_eq!(target.to_string(), "gfx942:sramecc-:xnack+");
/// let same: TargetId = "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc-:xnack+".parse()?;
/// assert_eq!(same, target);
/// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId {
    /// The processor.
    pub processor: Processor,
    /// Error correction of on-chip memories.
    pub sramecc: Setting,
    /// Replay of memory accesses that page-fault.
    pub xnack: Setting,
}

impl TargetId {
    /// The processor with nothing pinned.
    #[must_use]
    pub const fn new(processor: Processor) -> Self {
        Self {
            processor,
            sramecc: processor.default_setting(Feature::Sramecc),
            xnack: processor.default_setting(Feature::Xnack),
        }
    }

    /// The target that a V2 code object's ISA version note names.
    ///
    /// ```
    /// use hsaco_isa::TargetId;
    /// let target = TargetId::from_v2_isa(9, 0, 7).unwrap();
    /// assert_eq!(target.to_string(), "gfx906:sramecc-:xnack+");
    /// ```
    #[must_use]
    pub fn from_v2_isa(major: u32, minor: u32, stepping: u32) -> Option<Self> {
        let (_, name, xnack) =
            V2_ISAS.iter().find(|(version, ..)| *version == (major, minor, stepping))?;
        let processor = Processor::from_name(name)?;
        let pinned = |feature, on| {
            if processor.supports(feature) { Setting::on_or_off(on) } else { Setting::Unsupported }
        };
        Some(Self {
            processor,
            sramecc: pinned(Feature::Sramecc, false),
            xnack: pinned(Feature::Xnack, *xnack),
        })
    }

    /// The setting of one feature.
    #[must_use]
    pub const fn setting(&self, feature: Feature) -> Setting {
        match feature {
            Feature::Sramecc => self.sramecc,
            Feature::Xnack => self.xnack,
        }
    }

    fn set(&mut self, feature: Feature, setting: Setting) {
        match feature {
            Feature::Sramecc => self.sramecc = setting,
            Feature::Xnack => self.xnack = setting,
        }
    }

    /// The name that HSA runtimes use: `amdgcn-amd-amdhsa--` and the target id.
    #[must_use]
    pub fn isa_name(&self) -> String {
        format!("amdgcn-amd-amdhsa--{self}")
    }
}

/// V2 code objects fold xnack into the stepping.
const V2_ISAS: &[((u32, u32, u32), &str, bool)] = &[
    ((6, 0, 0), "gfx600", false),
    ((6, 0, 1), "gfx601", false),
    ((6, 0, 2), "gfx602", false),
    ((7, 0, 0), "gfx700", false),
    ((7, 0, 1), "gfx701", false),
    ((7, 0, 2), "gfx702", false),
    ((7, 0, 3), "gfx703", false),
    ((7, 0, 4), "gfx704", false),
    ((7, 0, 5), "gfx705", false),
    ((8, 0, 0), "gfx802", false),
    ((8, 0, 1), "gfx801", true),
    ((8, 0, 2), "gfx802", false),
    ((8, 0, 3), "gfx803", false),
    ((8, 0, 4), "gfx803", false),
    ((8, 0, 5), "gfx805", false),
    ((8, 1, 0), "gfx810", true),
    ((9, 0, 0), "gfx900", false),
    ((9, 0, 1), "gfx900", true),
    ((9, 0, 2), "gfx902", false),
    ((9, 0, 3), "gfx902", true),
    ((9, 0, 4), "gfx904", false),
    ((9, 0, 5), "gfx904", true),
    ((9, 0, 6), "gfx906", false),
    ((9, 0, 7), "gfx906", true),
    ((9, 0, 12), "gfx90c", false),
];

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from(self.processor.name());
        for feature in Feature::ALL {
            if let Some(sign) = self.setting(feature).sign() {
                text.extend([":", feature.name()]);
                text.push(sign);
            }
        }
        f.pad(&text)
    }
}

impl fmt::Debug for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (sramecc {}, xnack {})", self.processor, self.sramecc, self.xnack)
    }
}

impl From<Processor> for TargetId {
    fn from(processor: Processor) -> Self {
        Self::new(processor)
    }
}

impl FromStr for Processor {
    type Err = ParseTargetError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::from_name(name).ok_or_else(|| {
            ParseTargetError::new(0, if name.is_empty() { ErrorKind::Empty } else { unknown(name) })
        })
    }
}

/// The error for a name that no processor has.
fn unknown(name: &str) -> ErrorKind {
    ErrorKind::UnknownProcessor { name: name.into(), nearest: nearest(name) }
}

impl FromStr for TargetId {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(version) = text.strip_prefix("AMD:AMDGPU:") {
            return parse_v2_isa(version).map_err(|e| e.after(text.len() - version.len()));
        }
        let id = target_part(text);
        let parsed =
            if id.contains('+') && !id.contains(':') { parse_v3(id) } else { parse_target_id(id) };
        parsed.map_err(|e| e.after(text.len() - id.len()))
    }
}

/// What is left of an ISA name or a bundle entry id once offload kind and triple are off.
fn target_part(text: &str) -> &str {
    if let Some(entry) = EntryId::parse(text) {
        return entry.target;
    }
    // Triton writes the processor's version behind `amdgpu`.
    if text.starts_with("amdgcn-") || text.starts_with("amdgpu") {
        return split_triple(text).1;
    }
    text
}

fn parse_processor(name: &str) -> Result<Processor, ParseTargetError> {
    name.parse()
}

/// `gfx90a:sramecc+:xnack-`
fn parse_target_id(text: &str) -> Result<TargetId, ParseTargetError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let mut target = TargetId::new(parse_processor(name)?);
    let mut offset = name.len();
    let mut seen = Vec::new();
    for part in parts {
        offset += ":".len();
        let (feature, setting) = parse_feature(part).map_err(|kind| kind.at(offset))?;
        if !target.processor.supports(feature) {
            let processor = target.processor;
            return Err(ErrorKind::UnsupportedFeature { processor, feature }.at(offset));
        }
        if seen.contains(&feature) {
            return Err(ErrorKind::DuplicateFeature { feature }.at(offset));
        }
        seen.push(feature);
        target.set(feature, setting);
        offset += part.len();
    }
    Ok(target)
}

fn parse_feature(part: &str) -> Result<(Feature, Setting), ErrorKind> {
    let (name, setting) = match (part.strip_suffix('+'), part.strip_suffix('-')) {
        (Some(name), _) => (name, Some(Setting::On)),
        (_, Some(name)) => (name, Some(Setting::Off)),
        _ => (part, None),
    };
    let feature = Feature::from_name(name)
        .ok_or_else(|| ErrorKind::UnknownFeature { name: name.to_owned() })?;
    Ok((feature, setting.ok_or(ErrorKind::MissingSign { feature })?))
}

/// `gfx906+sram-ecc+xnack`, where what is not named is off.
fn parse_v3(text: &str) -> Result<TargetId, ParseTargetError> {
    let mut parts = text.split('+');
    let name = parts.next().unwrap_or_default();
    let processor = parse_processor(name)?;
    let mut target = TargetId::new(processor);
    for feature in Feature::ALL.into_iter().filter(|f| processor.supports(*f)) {
        target.set(feature, Setting::Off);
    }
    let mut offset = name.len();
    for part in parts {
        offset += "+".len();
        let name = if part == "sram-ecc" { "sramecc" } else { part };
        let kind = match Feature::from_name(name) {
            None => ErrorKind::UnknownFeature { name: part.to_owned() },
            Some(feature) if !processor.supports(feature) => {
                ErrorKind::UnsupportedFeature { processor, feature }
            }
            Some(feature) if target.setting(feature) == Setting::On => {
                ErrorKind::DuplicateFeature { feature }
            }
            Some(feature) => {
                target.set(feature, Setting::On);
                offset += part.len();
                continue;
            }
        };
        return Err(kind.at(offset));
    }
    Ok(target)
}

/// `9:0:6`
fn parse_v2_isa(text: &str) -> Result<TargetId, ParseTargetError> {
    let numbers: Option<Vec<u32>> = text.split(':').map(|n| n.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[major, minor, stepping]) => TargetId::from_v2_isa(major, minor, stepping),
        _ => None,
    }
    .ok_or_else(|| ErrorKind::UnknownIsaVersion { version: text.to_owned() }.at(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expect: &Expect) {
        let shown = match text.parse::<TargetId>() {
            Ok(target) => format!("{target:?}"),
            Err(error) => format!("error: {error}"),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn canonical_order() {
        let target: TargetId = "gfx942:xnack+:sramecc-".parse().unwrap();
        assert_eq!(target.to_string(), "gfx942:sramecc-:xnack+");
        assert_eq!(target.isa_name(), "amdgcn-amd-amdhsa--gfx942:sramecc-:xnack+");
        assert_eq!(format!("{target:>24}|"), "  gfx942:sramecc-:xnack+|");
        assert_eq!("fiji".parse::<TargetId>().unwrap().to_string(), "gfx803");
    }

    #[test]
    fn every_target_prints_what_it_parses() {
        for processor in Processor::all() {
            for xnack in ["", ":xnack+", ":xnack-"] {
                for sramecc in ["", ":sramecc+", ":sramecc-"] {
                    let text = format!("{processor}{sramecc}{xnack}");
                    let is_valid = (sramecc.is_empty() || processor.supports_sramecc())
                        && (xnack.is_empty() || processor.supports_xnack());
                    match text.parse::<TargetId>() {
                        Ok(target) => assert!(is_valid && target.to_string() == text, "{text}"),
                        Err(_) => assert!(!is_valid, "{text}"),
                    }
                }
            }
        }
    }

    #[test]
    fn all_spellings() {
        check("gfx90a", &expect!["gfx90a (sramecc any, xnack any)"]);
        check("gfx1100", &expect!["gfx1100 (sramecc unsupported, xnack unsupported)"]);
        check("gfx1250", &expect!["gfx1250 (sramecc any, xnack any)"]);
        check("amdgcn-amd-amdhsa--gfx90a:xnack-", &expect!["gfx90a (sramecc any, xnack off)"]);
        check("amdgcn-amd-amdhsa-unknown-gfx942", &expect!["gfx942 (sramecc any, xnack any)"]);
        check("amdgcn-amd-amdhsa-gfx942", &expect!["gfx942 (sramecc any, xnack any)"]);
        check(
            "amdgcn-amd-amdhsa--gfx9-4-generic:xnack+",
            &expect!["gfx9-4-generic (sramecc any, xnack on)"],
        );
        check("hip-amdgcn-amd-amdhsa--gfx906", &expect!["gfx906 (sramecc any, xnack any)"]);
        check("hip-amdgcn-amd-amdhsa-gfx906", &expect!["gfx906 (sramecc any, xnack any)"]);
        check(
            "hip-amdgcn-amd-amdhsa-gfx10-3-generic",
            &expect!["gfx10-3-generic (sramecc unsupported, xnack unsupported)"],
        );
        check(
            "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
            &expect!["gfx90a (sramecc on, xnack off)"],
        );
        check("openmp-amdgcn-amd-amdhsa--gfx908", &expect!["gfx908 (sramecc any, xnack any)"]);
        check("amdgpu9.42-amd-amdhsa-unknown-gfx942", &expect!["gfx942 (sramecc any, xnack any)"]);
        check("gfx906+sram-ecc+xnack", &expect!["gfx906 (sramecc on, xnack on)"]);
        check("gfx906+xnack", &expect!["gfx906 (sramecc off, xnack on)"]);
        check(
            "amdgcn-amd-amdhsa--gfx900+xnack",
            &expect!["gfx900 (sramecc unsupported, xnack on)"],
        );
        check("AMD:AMDGPU:9:0:6", &expect!["gfx906 (sramecc off, xnack off)"]);
        check("AMD:AMDGPU:8:0:1", &expect!["gfx801 (sramecc unsupported, xnack on)"]);
    }

    #[test]
    fn errors_say_what_and_where() {
        check("", &expect!["error: expected a processor such as `gfx942` (at offset 0)"]);
        check(":xnack+", &expect!["error: expected a processor such as `gfx942` (at offset 0)"]);
        check(
            "amdgcn-amd-amdhsa--",
            &expect!["error: expected a processor such as `gfx942` (at offset 19)"],
        );
        check(
            "host-x86_64-unknown-linux--",
            &expect!["error: expected a processor such as `gfx942` (at offset 27)"],
        );
        check(
            "gfx943",
            &expect!["error: unknown processor `gfx943`; did you mean `gfx942`? (at offset 0)"],
        );
        check(
            "hip-amdgcn-amd-amdhsa--gfx90b:xnack+",
            &expect!["error: unknown processor `gfx90b`; did you mean `gfx900`? (at offset 23)"],
        );
        check(
            "sm_90",
            &expect![
                "error: unknown processor `sm_90`; expected one such as `gfx942` (at offset 0)"
            ],
        );
        check("gfx1100:xnack+", &expect!["error: `gfx1100` has no `xnack` setting (at offset 8)"]);
        check("gfx1250:xnack+", &expect!["error: `gfx1250` has no `xnack` setting (at offset 8)"]);
        check(
            "gfx9-generic:sramecc+",
            &expect!["error: `gfx9-generic` has no `sramecc` setting (at offset 13)"],
        );
        check("gfx90a:xnack+:xnack-", &expect!["error: `xnack` is named twice (at offset 14)"]);
        check("gfx90a:xnack", &expect!["error: expected `xnack+` or `xnack-` (at offset 7)"]);
        check(
            "gfx90a:sramecc+:tgsplit+",
            &expect![
                "error: unknown feature `tgsplit`; expected `sramecc` or `xnack` (at offset 16)"
            ],
        );
        check(
            "gfx90a:",
            &expect!["error: unknown feature ``; expected `sramecc` or `xnack` (at offset 7)"],
        );
        check("gfx906+xnack+xnack", &expect!["error: `xnack` is named twice (at offset 13)"]);
        check(
            "gfx900+sram-ecc",
            &expect!["error: `gfx900` has no `sramecc` setting (at offset 7)"],
        );
        check(
            "AMD:AMDGPU:9:4:2",
            &expect![
                "error: unknown ISA version `9:4:2`; expected one such as `9:0:6` (at offset 11)"
            ],
        );
        check(
            "AMD:AMDGPU:9:0",
            &expect![
                "error: unknown ISA version `9:0`; expected one such as `9:0:6` (at offset 11)"
            ],
        );
    }

    #[test]
    fn v2_isa_versions() {
        let target = |a, b, c| TargetId::from_v2_isa(a, b, c).map(|target| target.to_string());
        for (version, expected) in [
            ((6, 0, 2), "gfx602"),
            ((7, 0, 5), "gfx705"),
            ((8, 0, 0), "gfx802"),
            ((8, 0, 1), "gfx801:xnack+"),
            ((8, 0, 4), "gfx803"),
            ((8, 1, 0), "gfx810:xnack+"),
            ((9, 0, 0), "gfx900:xnack-"),
            ((9, 0, 1), "gfx900:xnack+"),
            ((9, 0, 6), "gfx906:sramecc-:xnack-"),
            ((9, 0, 7), "gfx906:sramecc-:xnack+"),
            ((9, 0, 12), "gfx90c:xnack-"),
        ] {
            assert_eq!(target(version.0, version.1, version.2).as_deref(), Some(expected));
        }
        assert_eq!(target(9, 4, 2), None);
        assert!(V2_ISAS.iter().all(|((a, b, c), ..)| target(*a, *b, *c).is_some()));
    }
}
