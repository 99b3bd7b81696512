//! Rewrites an object, stage by stage: all that the rules want, or nothing.

use std::ops::{ControlFlow, Range};

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_isa::Processor;
use hsaco_object::CodeObject;

use crate::edit::CodeEdit;
use crate::manifest::{Manifest, Patched, Verdict};
use crate::option::Options;
use crate::place::{Placed, Placer};
use crate::plan::{self, Edited, Planner};
use crate::refusal::{Refusal, RefusalKind};
use crate::release::{self, Release, Walk};
use crate::remark::Remarks;
use crate::revision::{self, Revision};
use crate::rule::RuleSet;
use crate::scan::Rules;
use crate::survey::Survey;
use crate::tools::{Tools, Workshop};
use crate::verify::{self, VerifyFinding};
use crate::write::{self, write};

/// Rewrites objects by a rule set; made once for many of them.
///
/// ```
/// use hsaco_patch::{Options, Patcher, RuleSet};
/// let set = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
/// let patcher = Patcher::new(set, Options::default())?;
/// assert!(patcher.patch(b"no object").is_err());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub struct Patcher {
    rules: Rules,
    /// Tools of the objects so far.
    workshop: Workshop,
    edits: Vec<CodeEdit>,
}

/// What planning and placing an object has come to.
struct Drafted {
    placed: Placed,
    remarks: Remarks,
    /// What does not hold of the replacements.
    findings: Vec<VerifyFinding>,
}

impl Patcher {
    /// For a rule set.
    ///
    /// # Errors
    /// When there are no instruction tables for the set's processor.
    pub fn new(set: &'static RuleSet, options: Options) -> Result<Self> {
        let unsupported = |detail: String| Error::new(ErrorKind::Unsupported, "rule set", detail);
        let processor = Processor::from_name(set.processor())
            .ok_or_else(|| unsupported(format!("no processor {}", set.processor())))?;
        let tools = Tools::new(processor).map_err(|error| unsupported(error.to_string()))?;
        let rules = Rules::new(set, options, tools.decoder());
        Ok(Patcher { rules, workshop: Workshop::default(), edits: Vec::new() })
    }

    /// The same, which also makes these edits in every object.
    #[must_use]
    pub fn with_edits(self, edits: Vec<CodeEdit>) -> Self {
        Patcher { edits, ..self }
    }

    /// Rewrites an object. What cannot be rewritten is not an error: the manifest says it.
    ///
    /// # Errors
    /// When the bytes are no code object, or one that cannot be written anew.
    pub fn patch(&self, file: &[u8]) -> Result<Patched> {
        self.patch_releasing(file, &|_| ())
    }

    /// The same for a mapped file: `release` is told which parts of it may be dropped for now, so that a large one does
    /// not take memory beside its result.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub fn patch_releasing(&self, file: &[u8], release: &dyn Fn(Range<usize>)) -> Result<Patched> {
        let survey = match self.open(file)? {
            ControlFlow::Continue(survey) => survey,
            ControlFlow::Break(patched) => return Ok(patched),
        };
        let Drafted { placed, remarks, mut findings } = self.draft(file, &survey, release)?;
        let is_refused = remarks.is_refused();
        let mut manifest = self.manifest(file, Verdict::Changed);
        manifest.remarks = remarks.into_vec();
        if is_refused {
            manifest.verdict = Verdict::Refused;
            manifest.kernels = write::refused_records(&survey, &manifest.remarks);
            return Ok(Patched { bytes: None, manifest });
        }
        // Rules that had nothing to rewrite may still have kernels say another stepping.
        let settings = write::settings(&survey, &placed, self.rules.set.stepping());
        if placed.records.is_empty() && placed.stubs.is_empty() && settings.is_empty() {
            manifest.verdict = Verdict::Unchanged("no rule has anything to rewrite".to_owned());
            manifest.kernels =
                write::records(&survey, &manifest.remarks, &placed.touched, settings);
            return Ok(Patched { bytes: None, manifest });
        }
        release(0..file.len());
        let (bytes, manifest) = write(file, release, &survey, (placed, settings), manifest)?;
        findings.extend(verify::result(&self.rules, &survey, &bytes, &manifest, release));
        if let Some(finding) = findings.first() {
            let detail = format!("the result does not hold: {finding}");
            return Ok(self.refused(file, Refusal::new(RefusalKind::Unsupported, detail)));
        }
        Ok(Patched { bytes: Some(bytes), manifest })
    }

    /// Surveys an object that is to be rewritten; else it says what is to be said of it instead.
    fn open<'a>(&self, file: &'a [u8]) -> Result<ControlFlow<Patched, Survey<'a>>> {
        let object = CodeObject::parse(file)?;
        let set = self.rules.set;
        let processor = object.target().id().map(|id| id.processor.name());
        if !set.rules().is_empty() && processor != Some(set.processor()) {
            let (set, processor) = (set.name(), set.processor());
            let detail = format!("{set} is for {processor}, the object for {}", object.target());
            let refusal = Refusal::new(RefusalKind::Processor, detail);
            return Ok(ControlFlow::Break(self.refused(file, refusal)));
        }
        if let Some(error) = object.problems().first() {
            return Err(error.clone());
        }
        if object.is_relocatable() {
            let detail = "an object that is not linked";
            return Err(Error::new(ErrorKind::Unsupported, "patch", detail));
        }
        let revision = set.stepping().map(|stepping| (revision::of(&object, stepping), stepping));
        if let Some((Revision::Refused(refusal), _)) = revision {
            return Ok(ControlFlow::Break(self.refused(file, refusal)));
        }
        let kit = self.workshop.kit(&object)?;
        let survey = Survey::new(object, kit);
        if survey.code.is_empty() {
            return self.without_code(file, &survey).map(ControlFlow::Break);
        }
        if let Some((Revision::Done, stepping)) = revision {
            let claim = format!("all kernels say that they are for {}", stepping.gives);
            if let Some(patched) = self.labelled(file, &survey, &claim) {
                return Ok(ControlFlow::Break(patched));
            }
        }
        Ok(ControlFlow::Continue(survey))
    }

    /// For an object in which nothing is executable.
    fn without_code(&self, file: &[u8], survey: &Survey<'_>) -> Result<Patched> {
        const NO_CODE: &str = "it holds no code";
        let (kernels, functions) = (survey.kernels.len(), survey.index.functions().len());
        if kernels + functions != 0 {
            let detail = format!(
                "{kernels} kernels and {functions} functions are named, and nothing is executable"
            );
            return Err(Error::new(ErrorKind::NotFound, "code", detail));
        }
        Ok(match self.edits.is_empty() {
            true => self.unchanged(file, NO_CODE),
            false => self.refused(file, Refusal::new(RefusalKind::NoPlace, NO_CODE)),
        })
    }

    /// For an object that says it is for the stepping that the rules give: refused if it holds instructions that they would
    /// have rewritten for it, unchanged if nothing else is asked of it.
    fn labelled(&self, file: &[u8], survey: &Survey<'_>, claim: &str) -> Option<Patched> {
        let residuals = verify::residuals(&self.rules, survey);
        if residuals.is_empty() {
            let is_done = self.edits.is_empty() && !self.rules.options.entry_stub;
            return is_done.then(|| self.unchanged(file, claim));
        }
        let mut remarks = Remarks::default();
        for it in residuals {
            let detail = format!("{claim}, and {} is not for it", it.text);
            let refusal = Refusal::new(RefusalKind::Metadata, detail);
            remarks.refuse(it.rule, &it.function, it.address, refusal);
        }
        Some(self.refused_with(file, remarks))
    }

    /// Plans and places what is to be done, function by function: an analysis is kept no longer than for one of them.
    fn draft(&self, file: &[u8], survey: &Survey<'_>, release: Release<'_>) -> Result<Drafted> {
        let planner = Planner { survey, rules: &self.rules, edits: &self.edits };
        let mut placer = Placer::new(survey, plan::counter_space(survey, &self.edits))?;
        let (mut remarks, mut findings) = (Remarks::default(), Vec::new());
        let mut edited = Edited::default();
        let mut walk = Walk::new(release);
        for function in survey.ranges() {
            walk.at(release::offset_in(file, function.code));
            let planned = planner.plan(&function, placer.next_counter());
            let Some(mut planned) = planned else { continue };
            edited.add(function.address, &planned.requests.edited);
            remarks.append(std::mem::take(&mut planned.requests.remarks));
            let placed = placer.add(&function, &planned, &mut remarks);
            // Here what the checks ask about the function as it was is computed already.
            findings.extend(verify::function(&planned.view, placed.records, placed.stub));
        }
        edited.refuse_others(survey, &self.edits, &mut remarks);
        Ok(Drafted { placed: placer.finish(), remarks, findings })
    }

    /// Checks a result: what is wrong with it, nothing if it holds.
    ///
    /// Every byte has to be what the original and the manifest make it ([`Expected`](crate::Expected)). And what they make
    /// of it has to be right: this part believes neither the rules nor the placement of their replacements.
    /// [`Digests`](crate::Digests) are another check: they tell whether these are the files of a manifest, not whether the
    /// result is right.
    #[must_use]
    pub fn verify(&self, original: &[u8], new: &[u8], manifest: &Manifest) -> Vec<VerifyFinding> {
        let survey = || {
            let object = CodeObject::parse(original)?;
            let kit = self.workshop.kit(&object)?;
            Ok(Survey::new(object, kit))
        };
        verify::verify(&self.rules, survey, original, new, manifest)
    }

    fn manifest(&self, file: &[u8], verdict: Verdict) -> Manifest {
        Manifest::new(Some((self.rules.set, &self.rules.options)), file.len(), verdict)
    }

    fn unchanged(&self, file: &[u8], why: &str) -> Patched {
        Patched { bytes: None, manifest: self.manifest(file, Verdict::Unchanged(why.to_owned())) }
    }

    fn refused(&self, file: &[u8], refusal: Refusal) -> Patched {
        let mut remarks = Remarks::default();
        remarks.refuse("", "", 0, refusal);
        self.refused_with(file, remarks)
    }

    fn refused_with(&self, file: &[u8], remarks: Remarks) -> Patched {
        let mut manifest = self.manifest(file, Verdict::Refused);
        manifest.remarks = remarks.into_vec();
        Patched { bytes: None, manifest }
    }
}
