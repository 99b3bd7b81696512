//! Results that are files of objects: each object, and the file around them.

use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_container::Entry;

use crate::digest::Digests;
use crate::file::code_objects;
use crate::manifest::{Manifest, Verdict};
use crate::patcher::Patcher;
use crate::rule::RuleSet;
use crate::verify::{Expected, VerifyFinding, verify_set};

/// The manifest of an object, and the digests of its files.
#[derive(Clone, Debug)]
pub struct Described {
    /// What was changed.
    pub manifest: Manifest,
    /// Which files it is about.
    pub digests: Digests,
}

/// The manifest of a file: of the object that it is, or of all that it holds.
#[derive(Clone, Debug)]
pub struct FileManifest {
    /// Which files it is about.
    pub digests: Digests,
    /// Its objects by the numbers of their entries; an object that is the file has none.
    pub objects: Vec<(Option<usize>, Described)>,
}

/// Something that does not hold of a file, or of an entry of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFinding {
    /// True for what is about the original, and not about the result.
    pub is_of_original: bool,
    /// The number of the entry, if it is about one.
    pub entry: Option<usize>,
    /// What does not hold.
    pub finding: VerifyFinding,
}

impl FileFinding {
    fn new(entry: Option<usize>, finding: VerifyFinding) -> Self {
        FileFinding { is_of_original: false, entry, finding }
    }
}

/// An object before and after, with what is said of it.
pub struct Pair<'p> {
    entry: Option<usize>,
    original: &'p [u8],
    result: &'p [u8],
    described: &'p Described,
}

/// The objects of two files.
pub struct Pairing<'f> {
    manifest: &'f FileManifest,
    original: &'f [u8],
    result: &'f [u8],
    before: Option<Entries<'f>>,
    after: Entries<'f>,
    findings: Vec<FileFinding>,
}

type Entries<'f> = BTreeMap<usize, Entry<'f>>;

impl FileManifest {
    /// What does not hold of a result: digests, then every object, then the file around them. One object after the
    /// other; [`Pairing`] lets a caller check them on several threads.
    ///
    /// # Errors
    /// When the original cannot be read or is another file, or the manifest names rules that are not known here.
    pub fn verify(
        &self,
        original: &[u8],
        result: &[u8],
        options: &hsaco_container::WalkOptions,
    ) -> Result<Vec<FileFinding>> {
        let pairing = Pairing::new(self, original, result, options)?;
        if let Some(number) = pairing.missing() {
            let detail = format!("it has no object that is entry {number}");
            return Err(Error::new(ErrorKind::NotFound, "original", detail));
        }
        let objects = pairing.pairs().iter().map(Pair::verify).collect();
        pairing.finish(objects, options)
    }
}

impl<'f> Pairing<'f> {
    /// Finds the objects of an original and of its result.
    ///
    /// # Errors
    /// When the original cannot be read.
    pub fn new(
        manifest: &'f FileManifest,
        original: &'f [u8],
        result: &'f [u8],
        options: &hsaco_container::WalkOptions,
    ) -> Result<Self> {
        let mut pairing = Pairing {
            manifest,
            original,
            result,
            before: None,
            after: BTreeMap::new(),
            findings: Vec::new(),
        };
        if let Some(objects) = code_objects(original, options)? {
            pairing.say_all(None, digests(&manifest.digests, original, result));
            pairing.pair(objects.into_iter().collect(), options);
        }
        Ok(pairing)
    }

    /// Pairs objects with those of the result; what only one of the files has is a finding.
    fn pair(&mut self, before: Entries<'f>, options: &hsaco_container::WalkOptions) {
        let listed: Vec<usize> = self.manifest.objects.iter().filter_map(|it| it.0).collect();
        for number in before.keys().filter(|it| !listed.contains(it)) {
            let finding = VerifyFinding::new("manifest", None, "the manifest does not list it");
            let entry = Some(*number);
            self.findings.push(FileFinding { is_of_original: true, entry, finding });
        }
        match code_objects(self.result, options) {
            Ok(objects) => self.after = objects.into_iter().flatten().collect(),
            Err(error) => self.say(None, "container", &error.to_string()),
        }
        let strangers: Vec<usize> =
            self.after.keys().filter(|it| !before.contains_key(it)).copied().collect();
        for number in strangers {
            self.say(Some(number), "container", "the original has no such object");
        }
        for number in listed {
            if before.contains_key(&number) && !self.after.contains_key(&number) {
                self.say(Some(number), "container", "it is gone");
            }
        }
        self.before = Some(before);
    }

    fn say(&mut self, entry: Option<usize>, check: &'static str, detail: &str) {
        self.say_all(entry, vec![VerifyFinding::new(check, None, detail)]);
    }

    fn say_all(&mut self, entry: Option<usize>, findings: Vec<VerifyFinding>) {
        self.findings.extend(findings.into_iter().map(|it| FileFinding::new(entry, it)));
    }

    /// An entry that the manifest is about, and that the original does not have.
    #[must_use]
    pub fn missing(&self) -> Option<usize> {
        let before = self.before.as_ref()?;
        let mut listed = self.manifest.objects.iter().filter_map(|it| it.0);
        listed.find(|number| !before.contains_key(number))
    }

    /// The objects that both files have.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let objects = self.manifest.objects.iter().filter_map(|(entry, described)| {
            let (original, result) = match (&self.before, entry) {
                (None, _) => (self.original, self.result),
                (Some(before), Some(number)) => {
                    (&*before.get(number)?.data, &*self.after.get(number)?.data)
                }
                (Some(_), None) => return None,
            };
            Some(Pair { entry: *entry, original, result, described })
        });
        objects.collect()
    }

    /// All findings: those of the objects, which are in the order of [`pairs`](Self::pairs), and of the file around them.
    ///
    /// # Errors
    /// The first of the objects'.
    pub fn finish(
        mut self,
        objects: Vec<Result<Vec<FileFinding>>>,
        options: &hsaco_container::WalkOptions,
    ) -> Result<Vec<FileFinding>> {
        for findings in objects {
            self.findings.extend(findings?);
        }
        if self.before.is_some() {
            let manifests = self.manifest.objects.iter();
            let manifests = manifests.filter_map(|(at, it)| Some(((*at)?, &it.manifest))).collect();
            let around = match Expected::in_container(self.original, options, &manifests) {
                Ok(expected) => expected.compare(self.result),
                Err(error) => vec![VerifyFinding::new("manifest", None, error.to_string())],
            };
            self.say_all(None, around);
        }
        Ok(self.findings)
    }
}

impl Pair<'_> {
    /// What does not hold of the object. Digests first: another file than the one that is meant is wrong all over.
    ///
    /// # Errors
    /// When the manifest names rules that are not known here.
    pub fn verify(&self) -> Result<Vec<FileFinding>> {
        let Pair { original, result, described: Described { manifest, digests: expected }, .. } =
            self;
        let mut findings = digests(expected, original, result);
        findings.extend(structure(original, result, manifest)?);
        Ok(findings.into_iter().map(|it| FileFinding::new(self.entry, it)).collect())
    }
}

fn digests(expected: &Digests, original: &[u8], result: &[u8]) -> Vec<VerifyFinding> {
    let differences = expected.differences(original, result).into_iter();
    differences.map(|detail| VerifyFinding::new("digest", None, detail)).collect()
}

fn structure(original: &[u8], result: &[u8], manifest: &Manifest) -> Result<Vec<VerifyFinding>> {
    // What was not changed takes no rules to check, and most objects of a file are such.
    let name = manifest.rule_set.as_deref();
    let Some(name) = name.filter(|_| manifest.verdict == Verdict::Changed) else {
        return Ok(verify_set(original, result, manifest));
    };
    let Some(set) = RuleSet::by_name(name) else {
        let detail = format!("`{name}` is none that this hsaco knows");
        return Err(Error::new(ErrorKind::Unsupported, "rule set", detail));
    };
    Ok(Patcher::new(set, manifest.options.clone())?.verify(original, result, manifest))
}
