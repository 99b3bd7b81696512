//! Processor features, switched on and off as LLVM's `--mattr` does.

use std::str::FromStr;

use hsaco_bytes::TextError;
use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::target::WaveSize;

/// What one attribute can be, with a sign before it.
const FEATURES: [&str; 3] = ["real-true16", "wavefrontsize32", "wavefrontsize64"];

/// A processor feature, switched on or off.
///
/// ```
/// use hsaco_isa::decoder::DecodeOptions;
/// use hsaco_listing::Attribute;
/// let mut options = DecodeOptions::default();
/// "+real-true16".parse::<Attribute>()?.apply(&mut options);
/// assert_eq!(options.real_true16, Some(true));
/// # Ok::<(), hsaco_bytes::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    feature: &'static str,
    on: bool,
}

impl FromStr for Attribute {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (on, name) = match text.split_at_checked(1) {
            Some(("+", name)) => (true, name),
            Some(("-", name)) => (false, name),
            _ => return Err(TextError::new("a feature begins with + (on) or - (off)")),
        };
        let feature = FEATURES.into_iter().find(|&it| it == name);
        let feature = feature.ok_or_else(|| {
            let known = FEATURES.join(", ");
            TextError::new(format!("unknown feature '{name}'; the known ones are {known}"))
        })?;
        Ok(Self { feature, on })
    }
}

impl Attribute {
    /// Sets it; of several the last has the last word.
    pub fn apply(self, options: &mut DecodeOptions) {
        match self.feature {
            "wavefrontsize32" => self.set_wave(options, WaveSize::Wave32),
            "wavefrontsize64" => self.set_wave(options, WaveSize::Wave64),
            _ => options.real_true16 = Some(self.on),
        }
    }

    /// Switching a size off that is not on changes nothing.
    fn set_wave(self, options: &mut DecodeOptions, size: WaveSize) {
        if self.on {
            options.wave_size = Some(size);
        } else if options.wave_size == Some(size) {
            options.wave_size = None;
        }
    }
}
