//! Manifests as JSON, both ways.

use std::collections::BTreeMap;
use std::io;

use hsaco_bytes::{SCHEMA_VERSION, TextError, hex};
use hsaco_isa::model::{Half, Register, RegisterFile, Special};
use serde::{Deserialize, Serialize, Serializer};

use crate::digest::{Digest, Digests};
use crate::file::{PatchedFile, PatchedObject, is_container};
use crate::file_verify::{Described, FileFinding, FileManifest};
use crate::jump::JumpKind;
use crate::manifest::{
    CALL, COUNT, Change, EDIT, KernelRecord, Manifest, Placement, Pool, Record, Remark, Setting,
    Stub, Verdict,
};
use crate::option::Options;
use crate::refusal::{Refusal, RefusalKind};
use crate::rule::RuleSet;

type Result<T, E = TextError> = std::result::Result<T, E>;

fn wrong(text: impl Into<String>) -> TextError {
    TextError::new(text)
}

impl PatchedFile {
    /// Writes the manifest of a file and of its result, if it has one.
    ///
    /// ```
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// use hsaco_patch::{Digest, FileManifest, KernelSetting, PatchedFile, PatchedObject, set};
    /// let setting: KernelSetting = "foo.vgpr_count=77".parse()?;
    /// let object = PatchedObject::alone(Digest::of(&file), set(&file, &[setting])?);
    /// let mut patched = PatchedFile::from(object);
    ///
    /// let options = hsaco_container::WalkOptions::default();
    /// let result = patched.take_bytes(&file, &options)?;
    /// let mut text = Vec::new();
    /// patched.write_manifest(&mut text, || Digest::of(&file), file.len(), Some(&result))?;
    ///
    /// let manifest = FileManifest::parse(&text, &file)?;
    /// assert!(manifest.verify(&file, &result, &options)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_manifest(
        &self,
        out: impl io::Write,
        original: impl FnOnce() -> Digest,
        size: usize,
        result: Option<&[u8]>,
    ) -> io::Result<()> {
        if let [PatchedObject { entry: None, patched, digests, .. }] = self.objects.as_slice() {
            return Ok(serde_json::to_writer(out, &Document::new(&patched.manifest, digests))?);
        }
        let sizes = (size as u64, result.map_or(size, <[u8]>::len) as u64);
        let files = FilesJson::new(sizes, original(), result.map(Digest::of));
        let objects = self.documents();
        let document = ContainerDocument { schema_version: SCHEMA_VERSION, files, objects };
        Ok(serde_json::to_writer(out, &document)?)
    }

    fn documents(&self) -> Vec<ObjectDocument<Sites<'_>>> {
        let objects = self.objects.iter().map(|it| ObjectDocument {
            entry: it.entry.unwrap_or(0),
            entry_id: it.entry_id.clone(),
            manifest: Document::new(&it.patched.manifest, &it.digests),
        });
        objects.collect()
    }
}

/// Writes what became of several files, each with its name.
///
/// # Errors
/// Those of `out`.
pub fn write_manifests<'f>(
    out: impl io::Write,
    files: impl IntoIterator<Item = (&'f str, &'f PatchedFile)>,
) -> io::Result<()> {
    let files = files.into_iter();
    let files = files.map(|(file, it)| NamedDocument { file, objects: it.documents() }).collect();
    Ok(serde_json::to_writer(out, &Documents { schema_version: SCHEMA_VERSION, files })?)
}

/// What became of several files.
#[derive(Serialize)]
struct Documents<'m> {
    schema_version: u32,
    files: Vec<NamedDocument<'m>>,
}

#[derive(Serialize)]
struct NamedDocument<'m> {
    file: &'m str,
    objects: Vec<ObjectDocument<Sites<'m>>>,
}

impl FileManifest {
    /// Reads the manifest of a file.
    ///
    /// # Errors
    /// When the text is no manifest of such a file, or one of a run that was refused.
    pub fn parse(text: &[u8], original: &[u8]) -> Result<Self> {
        let manifest = match is_container(original) {
            true => ContainerDocument::parse(text)?,
            false => {
                let document: Document = from_json(text, "no manifest of a code object")?;
                let object = document.read()?;
                FileManifest { digests: object.digests, objects: vec![(None, object)] }
            }
        };
        let sets = manifest.objects.iter().filter_map(|(_, it)| it.manifest.rule_set.as_deref());
        match sets.into_iter().find(|name| RuleSet::by_name(name).is_none()) {
            Some(name) => Err(wrong(format!("rule set `{name}` is none that this hsaco knows"))),
            None => Ok(manifest),
        }
    }
}

fn from_json<'t, T: Deserialize<'t>>(text: &'t [u8], otherwise: &str) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| wrong(error.to_string()).within(otherwise))
}

/// A manifest; sites are written one after the other, as there may be very many.
#[derive(Serialize, Deserialize)]
struct Document<S = Vec<SiteJson>> {
    schema_version: u32,
    rule_set: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    result: String,
    reason: Option<String>,
    #[serde(flatten)]
    files: FilesJson,
    pool: Option<Pool>,
    sites: S,
    stubs: Vec<StubJson>,
    counters: Vec<CounterJson>,
    #[serde(default)]
    counter_space: u64,
    kernels: Vec<KernelJson>,
    refusals: Vec<RemarkJson>,
    kept: Vec<RemarkJson>,
}

/// The original and the result; a run that was refused has none.
#[derive(Serialize, Deserialize)]
struct FilesJson {
    size_before: u64,
    size_after: u64,
    sha256_before: Option<String>,
    sha256_after: Option<String>,
}

impl FilesJson {
    fn new(sizes: (u64, u64), before: Digest, after: Option<Digest>) -> Self {
        FilesJson {
            size_before: sizes.0,
            size_after: sizes.1,
            sha256_before: Some(before.to_string()),
            sha256_after: after.map(|it| it.to_string()),
        }
    }

    fn digests(&self) -> Result<Digests> {
        let digest = |text: &Option<String>| -> Result<Digest> {
            let text = text.as_deref();
            let text = text.ok_or_else(|| wrong("it has no digests: an older hsaco wrote it"))?;
            text.parse().map_err(|error: String| wrong(error))
        };
        Ok(Digests { original: digest(&self.sha256_before)?, result: digest(&self.sha256_after)? })
    }
}

/// The manifest of a file that holds objects.
#[derive(Serialize, Deserialize)]
struct ContainerDocument<S = Vec<SiteJson>> {
    schema_version: u32,
    #[serde(flatten)]
    files: FilesJson,
    objects: Vec<ObjectDocument<S>>,
}

#[derive(Serialize, Deserialize)]
struct ObjectDocument<S = Vec<SiteJson>> {
    /// The number of the entry in the file.
    entry: usize,
    entry_id: Option<String>,
    manifest: Document<S>,
}

impl ContainerDocument {
    fn parse(text: &[u8]) -> Result<FileManifest> {
        let document: ContainerDocument =
            from_json(text, "no manifest of a file that holds objects")?;
        check_version(document.schema_version)?;
        let digests = document.files.digests()?;
        let mut objects = BTreeMap::new();
        for ObjectDocument { entry, manifest, .. } in document.objects {
            let read = manifest.read().map_err(|error| error.within(&format!("entry {entry}")))?;
            if objects.insert(Some(entry), read).is_some() {
                return Err(wrong(format!("entry {entry} is there twice")));
            }
        }
        Ok(FileManifest { digests, objects: objects.into_iter().collect() })
    }
}

fn check_version(version: u32) -> Result<()> {
    if version != SCHEMA_VERSION {
        let known = SCHEMA_VERSION;
        return Err(wrong(format!("a manifest of version {version}; this hsaco knows {known}")));
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct ChangeJson {
    address: u64,
    old: String,
    new: String,
}

#[derive(Serialize, Deserialize)]
struct RuleJson {
    rule: String,
    address: u64,
}

/// The records of a manifest as sites.
struct Sites<'m>(&'m [Record]);

impl Serialize for Sites<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SiteJson::new))
    }
}

#[derive(Serialize, Deserialize)]
struct SiteJson {
    function: String,
    rules: Vec<RuleJson>,
    #[serde(flatten)]
    site: ChangeJson,
    placement: String,
    jump: String,
    body: Option<ChangeJson>,
    way_back: usize,
    relays: Vec<ChangeJson>,
    leases: Vec<String>,
    jump_registers: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StubJson {
    kernel: String,
    rule: String,
    address: u64,
    code: String,
    way_on: usize,
    entry: u64,
    jump_registers: String,
}

#[derive(Serialize, Deserialize)]
struct CounterJson {
    site: u64,
    address: u64,
}

#[derive(Serialize, Deserialize)]
struct KernelJson {
    name: String,
    result: String,
    reason: Option<String>,
    settings: Vec<Setting>,
}

#[derive(Serialize, Deserialize)]
struct RemarkJson {
    rule: String,
    function: String,
    address: u64,
    kind: Option<String>,
    detail: String,
}

impl<'m> Document<Sites<'m>> {
    /// A manifest, with the digests of its files.
    fn new(manifest: &'m Manifest, digests: &Digests) -> Self {
        let remarks = |wanted: bool| {
            let remarks = manifest.remarks.iter().filter(move |it| it.said.is_err() == wanted);
            remarks.map(RemarkJson::new).collect()
        };
        let after = Some(digests.result).filter(|_| manifest.verdict != Verdict::Refused);
        Document {
            schema_version: SCHEMA_VERSION,
            rule_set: manifest.rule_set.clone(),
            options: manifest.options.names().map(str::to_owned).collect(),
            result: manifest.verdict.name().to_owned(),
            reason: reason(&manifest.verdict),
            files: FilesJson::new(manifest.sizes, digests.original, after),
            pool: manifest.pool,
            sites: Sites(&manifest.records),
            stubs: manifest.stubs.iter().map(StubJson::new).collect(),
            counters: manifest
                .counters
                .iter()
                .map(|(site, address)| CounterJson { site: *site, address: *address })
                .collect(),
            counter_space: manifest.counter_space,
            kernels: manifest.kernels.iter().map(KernelJson::new).collect(),
            refusals: remarks(true),
            kept: remarks(false),
        }
    }
}

impl Document {
    fn read(self) -> Result<Described> {
        let document = self;
        check_version(document.schema_version)?;
        let verdict = verdict(&document.result, document.reason)?;
        if verdict == Verdict::Refused {
            return Err(wrong("it is of a refused run, which has no result"));
        }
        let digests = document.files.digests()?;
        let mut options = Options::default();
        for name in &document.options {
            options.set(name).map_err(wrong)?;
        }
        let records: Result<Vec<Record>> = document.sites.into_iter().map(SiteJson::read).collect();
        let stubs: Result<Vec<Stub>> = document.stubs.into_iter().map(StubJson::read).collect();
        let remarks = document.refusals.into_iter().chain(document.kept).map(RemarkJson::read);
        let manifest = Manifest {
            rule_set: document.rule_set,
            options,
            verdict,
            sizes: (document.files.size_before, document.files.size_after),
            pool: document.pool,
            records: records?,
            stubs: stubs?,
            counters: document.counters.iter().map(|it| (it.site, it.address)).collect(),
            counter_space: document.counter_space,
            kernels: document.kernels.into_iter().map(KernelJson::read).collect::<Result<_>>()?,
            remarks: remarks.collect::<Result<_>>()?,
        };
        Ok(Described { manifest, digests })
    }
}

fn reason(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Unchanged(reason) => Some(reason.clone()),
        Verdict::Changed | Verdict::Refused => None,
    }
}

fn verdict(result: &str, reason: Option<String>) -> Result<Verdict> {
    Ok(match result {
        "changed" => Verdict::Changed,
        "refused" => Verdict::Refused,
        "unchanged" => Verdict::Unchanged(reason.unwrap_or_default()),
        other => return Err(wrong(format!("a result `{other}`"))),
    })
}

fn bytes(text: &str) -> Result<Vec<u8>> {
    hex::decode(text).ok_or_else(|| wrong(format!("no bytes: `{text}`")))
}

/// A value that goes by a name.
fn named<T>(what: &str, name: &str, find: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    find(name).ok_or_else(|| wrong(format!("{what} `{name}`")))
}

fn register(name: &str) -> Result<Register> {
    named("a register", name, register_named)
}

impl RuleJson {
    fn read(&self) -> Result<(&'static str, u64)> {
        let unknown = || wrong(format!("rule `{}` is none that this hsaco knows", self.rule));
        let name = rule_named(&self.rule).ok_or_else(unknown)?;
        Ok((name, self.address))
    }
}

impl ChangeJson {
    fn new(change: &Change) -> Self {
        let (old, new) = (hex::encode(&change.old), hex::encode(&change.new));
        ChangeJson { address: change.address, old, new }
    }

    fn read(self) -> Result<Change> {
        let (old, new) = (bytes(&self.old)?.into(), bytes(&self.new)?.into());
        Ok(Change { address: self.address, old, new })
    }
}

impl SiteJson {
    fn new(record: &Record) -> Self {
        let rules = record.rules.iter();
        SiteJson {
            function: record.function.to_string(),
            rules: rules
                .map(|(rule, at)| RuleJson { rule: (*rule).to_owned(), address: *at })
                .collect(),
            site: ChangeJson::new(&record.site),
            placement: record.placement.name().to_owned(),
            jump: record.jump.name().to_owned(),
            body: record.body.as_ref().map(ChangeJson::new),
            way_back: record.way_back,
            relays: record.relays.iter().map(ChangeJson::new).collect(),
            leases: record.scratch_registers.iter().map(Register::to_string).collect(),
            jump_registers: record.pair.map(|pair| pair.to_string()),
        }
    }

    fn read(self) -> Result<Record> {
        Ok(Record {
            rules: self.rules.iter().map(RuleJson::read).collect::<Result<_>>()?,
            function: self.function.into(),
            site: self.site.read()?,
            placement: named("a placement", &self.placement, Placement::from_name)?,
            jump: named("a jump", &self.jump, JumpKind::from_name)?,
            body: self.body.map(ChangeJson::read).transpose()?,
            way_back: self.way_back,
            relays: self.relays.into_iter().map(ChangeJson::read).collect::<Result<_>>()?,
            scratch_registers: self.leases.iter().map(|it| register(it)).collect::<Result<_>>()?,
            pair: self.jump_registers.as_deref().map(register).transpose()?,
        })
    }
}

impl StubJson {
    fn new(stub: &Stub) -> Self {
        StubJson {
            kernel: stub.kernel.clone(),
            rule: stub.rule.clone(),
            address: stub.address,
            code: hex::encode(&stub.code),
            way_on: stub.way_on,
            entry: stub.entry,
            jump_registers: stub.pair.to_string(),
        }
    }

    fn read(self) -> Result<Stub> {
        Ok(Stub {
            kernel: self.kernel,
            rule: self.rule,
            address: self.address,
            code: bytes(&self.code)?,
            way_on: self.way_on,
            entry: self.entry,
            pair: register(&self.jump_registers)?,
        })
    }
}

impl KernelJson {
    fn new(kernel: &KernelRecord) -> Self {
        KernelJson {
            name: kernel.name.clone(),
            result: kernel.verdict.name().to_owned(),
            reason: reason(&kernel.verdict),
            settings: kernel.settings.clone(),
        }
    }

    fn read(self) -> Result<KernelRecord> {
        Ok(KernelRecord {
            name: self.name,
            verdict: verdict(&self.result, self.reason)?,
            settings: self.settings,
        })
    }
}

impl RemarkJson {
    fn new(remark: &Remark) -> Self {
        let (kind, detail) = match &remark.said {
            Ok(reason) => (None, reason.clone()),
            Err(refusal) => (Some(refusal.kind.name().to_owned()), refusal.detail.clone()),
        };
        RemarkJson {
            rule: remark.rule.clone(),
            function: remark.function.clone(),
            address: remark.address,
            kind,
            detail,
        }
    }

    fn read(self) -> Result<Remark> {
        let said = match self.kind {
            None => Ok(self.detail),
            Some(kind) => {
                let kind = named("a refusal", &kind, RefusalKind::from_name)?;
                Err(Refusal::new(kind, self.detail))
            }
        };
        Ok(Remark { rule: self.rule, function: self.function, address: self.address, said })
    }
}

/// The register of a name, as manifests write it.
fn register_named(name: &str) -> Option<Register> {
    let special = [Special::Vcc, Special::Scc, Special::M0, Special::VccLo];
    if let Some(special) = special.into_iter().find(|it| it.name() == name) {
        let count = if special == Special::Vcc { 2 } else { 1 };
        return Some(Register {
            file: RegisterFile::Special(special),
            first: 0,
            count,
            half: None,
        });
    }
    let file = match name.as_bytes().first()? {
        b's' => RegisterFile::Sgpr,
        b'v' => RegisterFile::Vgpr,
        _ => return None,
    };
    let (name, half) = match (name.strip_suffix(".l"), name.strip_suffix(".h")) {
        (Some(name), _) => (name, Some(Half::Low)),
        (_, Some(name)) => (name, Some(Half::High)),
        _ => (name, None),
    };
    let numbers = name.get(1..)?.trim_matches(['[', ']']);
    let (first, last) = numbers.split_once(':').unwrap_or((numbers, numbers));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let count = u8::try_from(last.checked_sub(first)?.checked_add(1)?).ok()?;
    Some(Register { file, first, count, half })
}

/// A rule of a name, or what edits are called in its place, as manifests write it.
fn rule_named(name: &str) -> Option<&'static str> {
    let rules = RuleSet::all().iter().flat_map(RuleSet::rules).map(|rule| rule.name);
    rules.chain([EDIT, COUNT, CALL]).find(|it| *it == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_go_by_their_names() {
        for name in ["s[4:5]", "v255", "v7.l", "v7.h", "vcc", "m0"] {
            assert_eq!(register_named(name).unwrap().to_string(), name);
        }
        assert_eq!(register_named("s[5:4]"), None);
    }

    #[test]
    fn rules_and_edits_go_by_their_names() {
        assert_eq!(rule_named("clause"), Some("clause"));
        assert_eq!(rule_named(EDIT), Some(EDIT));
        assert_eq!(rule_named("no rule"), None);
    }
}

/// Whether a result is what its manifest says, as JSON has it.
#[derive(Clone, Debug, Serialize)]
pub struct VerifiedRow<'f> {
    schema_version: u32,
    /// Whether there are no findings.
    pub holds: bool,
    /// Bytes that are those of the original.
    pub bytes_as_before: u64,
    /// Bytes that are others, as the manifest says.
    pub bytes_as_listed: u64,
    findings: Vec<FindingRow<'f>>,
}

#[derive(Clone, Debug, Serialize)]
struct FindingRow<'f> {
    place: &'f str,
    check: &'f str,
    address: Option<u64>,
    offset: Option<u64>,
    detail: &'f str,
}

impl<'f> VerifiedRow<'f> {
    /// Sums up findings, each with its place.
    #[must_use]
    pub fn new(original: &[u8], result: &[u8], found: &'f [(String, FileFinding)]) -> Self {
        let same = original.iter().zip(result).filter(|(left, right)| left == right).count();
        let row = |(place, FileFinding { finding, .. }): &'f (String, FileFinding)| FindingRow {
            place,
            check: finding.check,
            address: finding.address,
            offset: finding.offset,
            detail: &finding.detail,
        };
        VerifiedRow {
            schema_version: SCHEMA_VERSION,
            holds: found.is_empty(),
            bytes_as_before: same as u64,
            bytes_as_listed: (result.len() - same) as u64,
            findings: found.iter().map(row).collect(),
        }
    }
}
