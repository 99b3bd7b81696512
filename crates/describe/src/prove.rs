//! A proof by execution: the objects that belong together, what their kernels are launched with, and what was proven.
//!
//! ```
//! use hsaco_describe::prove::{GivenLaunch, ObjectPair, holds};
//! use hsaco_files::KernelSelection;
//! use hsaco_prove::Settings;
//!
//! # let object = std::fs::read("../../tests/fixtures/run.gfx942.co")?;
//! let pair = ObjectPair { place: "run.co".into(), original: (&object).into(), result: (&object).into(), sites: None };
//! let kernels = KernelSelection::new(&["reverse".into()]);
//! let given = GivenLaunch::default();
//! let read = |file: &str| Ok::<_, Box<dyn std::error::Error>>(std::fs::read(file)?);
//! let proven = pair.prove(Settings::default(), &kernels, &given, read)?;
//! assert!(holds(&proven));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod row;
mod text;

use std::borrow::Cow;

use hsaco_bytes::TextError;
use hsaco_files::KernelSelection;
use hsaco_files::input::Input;
use hsaco_kernarg::{GivenArgument, Launch};
use hsaco_patch::{FileManifest, Manifest, code_objects};
use hsaco_prove::{Given, KernelProof, ProofVerdict, Prover, RewrittenSite, Settings};

use crate::run::{Content, contents};

pub use row::{DifferenceRow, DiscardedRow, ProofRow, ProofRows, SiteRow};

/// An object and what was made of it.
#[derive(Clone, Debug)]
pub struct ObjectPair<'f> {
    /// What the result is called.
    pub place: String,
    /// The object.
    pub original: Cow<'f, [u8]>,
    /// What was made of it.
    pub result: Cow<'f, [u8]>,
    /// What was rewritten; where that is not known, it is found by comparing.
    pub sites: Option<Vec<RewrittenSite>>,
}

/// The proof of a kernel, and the object that it is of.
#[derive(Clone, Debug)]
pub struct Proven {
    /// What the object is called.
    pub place: String,
    /// The proof.
    pub proof: KernelProof,
}

/// What kernels are launched with; where nothing is given, launches are generated.
#[derive(Clone, Debug, Default)]
pub struct GivenLaunch<'a> {
    /// The arguments.
    pub arguments: &'a [GivenArgument],
    /// The grid.
    pub launch: Option<Launch>,
}

/// Whether all of it holds; a proof without kernels is none.
#[must_use]
pub fn holds(proven: &[Proven]) -> bool {
    !proven.is_empty() && proven.iter().all(|it| it.proof.verdict() == ProofVerdict::Holds)
}

fn unproven(error: impl std::fmt::Display) -> TextError {
    TextError::new(error.to_string())
}

fn of_file(file: &Input, error: impl Into<TextError>) -> TextError {
    error.into().within(&file.name)
}

impl<'f> ObjectPair<'f> {
    /// An object that was just rewritten.
    #[must_use]
    pub fn of_manifest(
        place: String,
        original: &'f [u8],
        result: &'f [u8],
        manifest: &Manifest,
    ) -> Self {
        let sites = Some(RewrittenSite::of_manifest(manifest));
        Self { place, original: original.into(), result: result.into(), sites }
    }

    /// The objects of two files that belong together; of containers those that were changed.
    ///
    /// # Errors
    /// A file cannot be read, or the files do not hold the same number of objects.
    pub fn of_files(
        original: &'f Input,
        result: &'f Input,
        manifest: Option<&Input>,
    ) -> Result<Vec<Self>, TextError> {
        let parse =
            |it: &Input| FileManifest::parse(it, original).map_err(|error| of_file(it, error));
        let manifest = manifest.map(parse).transpose()?;
        let sites = |entry: Option<usize>| {
            let mut objects = manifest.iter().flat_map(|it| &it.objects);
            let object = objects.find(|it| it.0 == entry);
            object.map(|(_, it)| RewrittenSite::of_manifest(&it.manifest))
        };
        let options = hsaco_container::WalkOptions::default();
        let objects =
            |it: &'f Input| code_objects(it, &options).map_err(|error| of_file(it, error));
        match (objects(original)?, objects(result)?) {
            (None, None) => Ok(vec![Self {
                place: result.name.clone(),
                original: Cow::Borrowed(original),
                result: Cow::Borrowed(result),
                sites: sites(None),
            }]),
            (Some(before), Some(after)) if before.len() == after.len() => {
                let both = before.into_iter().zip(after);
                let changed = both.filter(|((_, one), (_, other))| *one.data != *other.data);
                let pair = changed.map(|((number, one), (_, other))| Self {
                    place: format!("{}, entry {number}", result.name),
                    original: Cow::Owned(one.data.to_vec()),
                    result: Cow::Owned(other.data.to_vec()),
                    sites: sites(Some(number)),
                });
                Ok(pair.collect())
            }
            (Some(before), Some(after)) => Err(TextError::new(format!(
                "{} and {} have {} and {} code objects",
                original.name,
                result.name,
                before.len(),
                after.len()
            ))),
            _ => {
                let text = format!("{} and {} are not of one kind", original.name, result.name);
                Err(TextError::new(text))
            }
        }
    }

    /// Proves the kernels that are wanted. `read` reads the files that buffers begin with.
    ///
    /// # Errors
    /// The objects cannot be compared, what is given does not fit a kernel, or those of `read`.
    pub fn prove<E: From<TextError>>(
        &self,
        settings: Settings,
        wanted: &KernelSelection,
        given: &GivenLaunch<'_>,
        read: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<Proven>, E> {
        let prover = Prover::new(&self.original, &self.result, self.sites.clone(), settings)
            .map_err(|error| unproven(error).within(&self.place))?;
        let mut proven = Vec::new();
        for name in prover.kernels() {
            if !wanted.wants(name.as_str().into()) {
                continue;
            }
            let inputs = given.inputs(&prover, &name, &read)?;
            let proof = prover.prove(&name, inputs.as_deref());
            let proof = proof.map_err(|error| unproven(error).within(&name))?;
            proven.push(Proven { place: self.place.clone(), proof });
        }
        Ok(proven)
    }
}

impl GivenLaunch<'_> {
    /// The launch of a kernel that is described, if one is.
    fn inputs<E: From<TextError>>(
        &self,
        prover: &Prover<'_>,
        name: &str,
        read: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Option<Vec<hsaco_prove::Input>>, E> {
        if self.arguments.is_empty() && self.launch.is_none() {
            return Ok(None);
        }
        let kernel = prover.kernel(name).map_err(unproven)?;
        let launch = self.launch.clone().map_or_else(|| Launch::new(&[1], &[1]), Ok);
        let launch = launch.map_err(|error| TextError::new(error.to_string()))?;
        let arguments = contents(self.arguments, &kernel, read)?;
        let arguments = arguments.into_iter().map(|it| match it {
            Content::Value(bytes) => Given::Value(bytes),
            Content::Buffer { bytes, .. } => Given::Buffer(bytes),
        });
        let label = "the arguments".to_owned();
        Ok(Some(vec![hsaco_prove::Input {
            label,
            launch,
            cluster: [1; 3],
            arguments: arguments.collect(),
        }]))
    }
}
