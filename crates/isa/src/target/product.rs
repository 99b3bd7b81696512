//! Devices by the names that they are sold or talked about by.
//!
//! Sources: the processor table of LLVM's "User Guide for AMDGPU Backend", ROCm's "Accelerator and GPU hardware
//! specifications" and compatibility matrix, and for code names the `amdgpu` driver's "AMD hardware list". What none of them
//! says for certain is not here.

use super::{ParseTargetError, Processor, TargetId};

/// Processors, each with the names of its products and chips in small letters, without spaces and hyphens.
const PRODUCTS: [(&str, &[&str]); 29] = [
    ("gfx900", &["vega10", "mi25", "rxvega56", "rxvega64", "vegafrontieredition"]),
    ("gfx906", &["vega20", "mi50", "mi60", "vii", "provii"]),
    ("gfx908", &["arcturus", "mi100"]),
    ("gfx90a", &["aldebaran", "mi200", "mi210", "mi250", "mi250x"]),
    ("gfx942", &["mi300", "mi300a", "mi300x", "mi308x", "mi325x"]),
    ("gfx950", &["mi350", "mi350x", "mi355x"]),
    ("gfx90c", &["renoir", "cezanne"]),
    ("gfx1010", &["navi10", "rx5600", "rx5600xt", "rx5700", "rx5700xt", "prow5700", "prow5700x"]),
    ("gfx1011", &["navi12", "prov520"]),
    ("gfx1012", &["navi14", "rx5300", "rx5500", "rx5500xt", "prow5500"]),
    ("gfx1030", &["navi21", "rx6800", "rx6800xt", "rx6900xt", "rx6950xt", "prow6800", "prov620"]),
    ("gfx1031", &["navi22", "rx6700", "rx6700xt", "rx6750xt"]),
    ("gfx1032", &["navi23", "rx6600", "rx6600xt", "rx6650xt", "prow6600"]),
    ("gfx1033", &["vangogh", "steamdeck"]),
    ("gfx1034", &["navi24", "rx6400", "rx6500xt", "prow6300", "prow6400"]),
    ("gfx1035", &["rembrandt", "660m", "680m"]),
    ("gfx1036", &["raphael"]),
    ("gfx1100", &["navi31", "rx7900gre", "rx7900xt", "rx7900xtx", "prow7800", "prow7900"]),
    ("gfx1101", &["navi32", "rx7700", "rx7700xt", "rx7800xt", "prow7700", "prov710"]),
    ("gfx1102", &["navi33", "rx7600", "rx7600xt", "prow7500", "prow7600"]),
    ("gfx1103", &["phoenix", "hawkpoint", "740m", "760m", "780m"]),
    ("gfx1150", &["strix", "strixpoint", "880m", "890m"]),
    ("gfx1151", &["strixhalo", "8050s", "8060s", "ryzenaimax"]),
    ("gfx1152", &["krackan", "krackanpoint", "840m", "860m"]),
    ("gfx1200", &["navi44", "rx9060", "rx9060xt"]),
    ("gfx1201", &["navi48", "rx9070", "rx9070gre", "rx9070xt", "aipror9700"]),
    ("gfx803", &["fiji", "polaris10", "polaris11", "mi6", "mi8", "rx480", "rx580"]),
    ("gfx902", &["raven", "raven1"]),
    ("gfx909", &["raven2"]),
];

/// What comes before a name and says nothing.
const MAKERS: [&str; 4] = ["amd", "instinct", "radeon", "ryzen"];

impl TargetId {
    /// The target of a device that is named as a target id or as people name it: `gfx942:xnack-`, `MI300X`,
    /// `Radeon RX 7900 XTX`, `strix-halo`, `mi300x:xnack-`.
    ///
    /// ```
    /// use hsaco_isa::TargetId;
    /// assert_eq!(TargetId::of_device("AMD Instinct MI300X")?.to_string(), "gfx942");
    /// assert_eq!(TargetId::of_device("strix-halo")?.processor.name(), "gfx1151");
    /// assert_eq!(TargetId::of_device("mi300x:xnack-")?.to_string(), "gfx942:xnack-");
    /// assert!(TargetId::of_device("mi9000").is_err());
    /// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
    /// ```
    ///
    /// # Errors
    /// When it is neither; the error is the one of the target id.
    pub fn of_device(text: &str) -> Result<Self, ParseTargetError> {
        text.parse().or_else(|error| {
            let (name, settings) = text.split_at(text.find(':').unwrap_or(text.len()));
            match Processor::of_product(name) {
                Some(processor) => format!("{}{settings}", processor.name()).parse(),
                None => Err(error),
            }
        })
    }
}

impl Processor {
    /// The processor of a product, by the name that it is sold or talked about by.
    ///
    /// ```
    /// use hsaco_isa::Processor;
    /// assert_eq!(Processor::of_product("Radeon PRO W7900").unwrap().name(), "gfx1100");
    /// assert_eq!(Processor::of_product("Steam Deck").unwrap().name(), "gfx1033");
    /// assert!(Processor::of_product("").is_none());
    /// ```
    pub fn of_product(name: &str) -> Option<Processor> {
        let letters = name.chars().filter(|letter| !matches!(letter, ' ' | '-' | '_'));
        let plain: String = letters.flat_map(char::to_lowercase).collect();
        let mut plain = plain.as_str();
        loop {
            let row = PRODUCTS.iter().find(|(_, names)| names.iter().any(|it| is_named(it, plain)));
            if let Some((processor, _)) = row {
                return Processor::from_name(processor);
            }
            plain = MAKERS.iter().find_map(|maker| plain.strip_prefix(maker))?;
        }
    }
}

/// `W7900` is `PRO W7900`, and `7900 XTX` is `RX 7900 XTX`: nothing else is called so.
fn is_named(name: &str, asked: &str) -> bool {
    let short = ["rx", "pro"].iter().find_map(|line| name.strip_prefix(line));
    let is_short = |short: &str| short == asked && asked.len() > 3;
    name == asked || short.is_some_and(is_short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_of_processors_that_exist_and_have_one_name_each() {
        let mut seen = std::collections::BTreeSet::new();
        for (processor, names) in PRODUCTS {
            assert!(Processor::from_name(processor).is_some(), "{processor}");
            for name in names {
                assert!(seen.insert(*name), "{name}");
                assert_eq!(Processor::of_product(name).unwrap().name(), processor, "{name}");
                assert!(name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit()));
            }
        }
    }

    #[test]
    fn spellings_of_a_product() {
        for name in ["RX 7900 XTX", "rx-7900-xtx", "AMD Radeon RX 7900 XTX", "7900xtx", "RX7900XTX"]
        {
            assert_eq!(Processor::of_product(name).unwrap().name(), "gfx1100", "{name}");
        }
        for name in ["Radeon 780M", "phoenix", "Phoenix", "hawk point"] {
            assert_eq!(Processor::of_product(name).unwrap().name(), "gfx1103", "{name}");
        }
        for name in ["rx", "pro", "amd", "radeon", "mi", "7900", "gfx942"] {
            assert!(Processor::of_product(name).is_none(), "{name}");
        }
    }
}
