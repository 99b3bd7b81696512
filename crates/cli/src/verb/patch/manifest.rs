//! The manifest as JSON, both ways.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use hsaco::isa::model::Register;
use hsaco::patch::{
    Change, Digest, Digests, Jump, KernelRecord, Manifest, Options, Placement, Pool, Record,
    Refusal, RefusalKind, Remark, Setting, Stub, Verdict, register_named, rule_named,
};
use serde::{Deserialize, Serialize, Serializer};

use crate::json;
use crate::schema::SCHEMA_VERSION;

/// A manifest; sites are written one after the other, as there may be very many.
#[derive(Serialize, Deserialize)]
pub(crate) struct Document<S = Vec<SiteJson>> {
    schema_version: u32,
    rule_set: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    result: String,
    reason: Option<String>,
    #[serde(flatten)]
    files: FilesJson,
    pool: Option<PoolJson>,
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
            let text = text.as_deref().context("it has no digests: an older hsaco wrote it")?;
            text.parse().map_err(anyhow::Error::msg)
        };
        Ok(Digests { original: digest(&self.sha256_before)?, result: digest(&self.sha256_after)? })
    }
}

/// The manifest of a file that holds objects.
#[derive(Serialize, Deserialize)]
pub(crate) struct ContainerDocument<S = Vec<SiteJson>> {
    schema_version: u32,
    #[serde(flatten)]
    files: FilesJson,
    objects: Vec<ObjectDocument<S>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ObjectDocument<S = Vec<SiteJson>> {
    /// The number of the entry in the file.
    entry: usize,
    entry_id: Option<String>,
    manifest: Document<S>,
}

/// A manifest, and the digests of its files.
pub(crate) struct Described {
    pub(crate) manifest: Manifest,
    pub(crate) digests: Digests,
}

/// The manifests of a file that holds objects, by the numbers of their entries, and the digests of the file.
pub(crate) struct DescribedObjects {
    pub(crate) objects: BTreeMap<usize, Described>,
    pub(crate) digests: Digests,
}

impl<'m> ContainerDocument<Sites<'m>> {
    /// Of a file of so many bytes, and of its result if there is one.
    pub(super) fn new(
        sizes: (u64, u64),
        before: Digest,
        after: Option<Digest>,
        objects: Vec<ObjectDocument<Sites<'m>>>,
    ) -> Self {
        let files = FilesJson::new(sizes, before, after);
        ContainerDocument { schema_version: SCHEMA_VERSION, files, objects }
    }
}

impl<'m> ObjectDocument<Sites<'m>> {
    pub(crate) fn new(entry: usize, id: Option<&str>, manifest: Document<Sites<'m>>) -> Self {
        ObjectDocument { entry, entry_id: id.map(str::to_owned), manifest }
    }
}

impl ContainerDocument {
    pub(crate) fn parse(text: &[u8]) -> Result<DescribedObjects> {
        let document: ContainerDocument =
            serde_json::from_slice(text).context("no manifest of a file that holds objects")?;
        check_version(document.schema_version)?;
        let digests = document.files.digests()?;
        let mut objects = BTreeMap::new();
        for ObjectDocument { entry, manifest, .. } in document.objects {
            let read = manifest.read().with_context(|| format!("entry {entry}"))?;
            if objects.insert(entry, read).is_some() {
                bail!("entry {entry} is there twice");
            }
        }
        Ok(DescribedObjects { objects, digests })
    }
}

fn check_version(version: u32) -> Result<()> {
    if version != SCHEMA_VERSION {
        bail!("a manifest of version {version}; this hsaco knows {SCHEMA_VERSION}");
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct PoolJson {
    address: u64,
    offset: u64,
    size: u64,
    guard: u64,
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
pub(crate) struct Sites<'m>(&'m [Record]);

impl Serialize for Sites<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(SiteJson::new))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SiteJson {
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
    settings: Vec<SettingJson>,
}

#[derive(Serialize, Deserialize)]
struct SettingJson {
    name: String,
    old: String,
    new: String,
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
    pub(crate) fn new(manifest: &'m Manifest, digests: &Digests) -> Self {
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
            pool: manifest.pool.map(|it| PoolJson {
                address: it.address,
                offset: it.offset,
                size: it.size,
                guard: it.guard,
            }),
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
    pub(crate) fn parse(text: &[u8]) -> Result<Described> {
        let document: Document =
            serde_json::from_slice(text).context("no manifest of a code object")?;
        document.read()
    }

    fn read(self) -> Result<Described> {
        let document = self;
        check_version(document.schema_version)?;
        let verdict = verdict(&document.result, document.reason)?;
        if verdict == Verdict::Refused {
            bail!("it is of a refused run, which has no result");
        }
        let digests = document.files.digests()?;
        let mut options = Options::default();
        for name in &document.options {
            options.set(name).map_err(anyhow::Error::msg)?;
        }
        let records: Result<Vec<Record>> = document.sites.into_iter().map(SiteJson::read).collect();
        let stubs: Result<Vec<Stub>> = document.stubs.into_iter().map(StubJson::read).collect();
        let remarks = document.refusals.into_iter().chain(document.kept).map(RemarkJson::read);
        let manifest = Manifest {
            rule_set: document.rule_set,
            options,
            verdict,
            sizes: (document.files.size_before, document.files.size_after),
            pool: document.pool.map(|it| Pool {
                address: it.address,
                offset: it.offset,
                size: it.size,
                guard: it.guard,
            }),
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
        other => bail!("a result `{other}`"),
    })
}

fn bytes(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|it| it.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    digits.map(byte).collect::<Option<_>>().with_context(|| format!("no bytes: `{text}`"))
}

fn register(name: &str) -> Result<Register> {
    register_named(name).with_context(|| format!("a register `{name}`"))
}

impl RuleJson {
    fn read(&self) -> Result<(&'static str, u64)> {
        let unknown = || format!("rule `{}` is none that this hsaco knows", self.rule);
        let name = rule_named(&self.rule).with_context(unknown)?;
        Ok((name, self.address))
    }
}

impl ChangeJson {
    fn new(change: &Change) -> Self {
        let (old, new) = (json::hex(&change.old), json::hex(&change.new));
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
            placement: Placement::from_name(&self.placement)
                .with_context(|| format!("a placement `{}`", self.placement))?,
            jump: Jump::from_name(&self.jump).with_context(|| format!("a jump `{}`", self.jump))?,
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
            code: json::hex(&stub.code),
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
        let settings = kernel.settings.iter().map(|it| SettingJson {
            name: it.name.clone(),
            old: it.old.clone(),
            new: it.new.clone(),
        });
        KernelJson {
            name: kernel.name.clone(),
            result: kernel.verdict.name().to_owned(),
            reason: reason(&kernel.verdict),
            settings: settings.collect(),
        }
    }

    fn read(self) -> Result<KernelRecord> {
        let settings = self.settings.into_iter();
        Ok(KernelRecord {
            name: self.name,
            verdict: verdict(&self.result, self.reason)?,
            settings: settings
                .map(|it| Setting { name: it.name, old: it.old, new: it.new })
                .collect(),
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
                let kind =
                    RefusalKind::from_name(&kind).with_context(|| format!("a refusal `{kind}`"))?;
                Err(Refusal::new(kind, self.detail))
            }
        };
        Ok(Remark { rule: self.rule, function: self.function, address: self.address, said })
    }
}
