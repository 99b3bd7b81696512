//! Rewriting: rule sets, settings, manifests and their verification.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use hsaco::container::WalkOptions;
use hsaco::object::CodeObject;
use hsaco::patch::{
    self, CodeEdit, Digest, EditRequest, FileFinding, FileManifest, KernelSetting, PatchReport,
    PatchedFile, PatchedObject, RuleSet,
};

use crate::border::{Out, bytes, text, texts};
use crate::buffer::Buffer;
use crate::error::{Failure, Result, Status, border, c_string, lines};
use crate::handle::{self, Handle};

/// Rewrites code objects by a rule set; hsaco_patcher_free takes it back. All functions may be called from any thread.
pub struct Patcher {
    set: &'static RuleSet,
    options: patch::Options,
    edits: Mutex<Vec<EditRequest>>,
}

impl Handle for Patcher {
    const NAME: &'static str = "patcher";
}

/// What became of a file; hsaco_patched_free takes it back. All functions may be called from any thread.
pub struct Patched {
    verdict: PatchVerdict,
    bytes: Vec<u8>,
    manifest: Vec<u8>,
    summary: std::ffi::CString,
}

impl Handle for Patched {
    const NAME: &'static str = "result";
}

/// What became of a file.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchVerdict {
    /// It is as it was: no rule has anything to rewrite.
    Unchanged = 0,
    /// It was rewritten.
    Changed = 1,
    /// It should be rewritten and cannot be: there is no result.
    Refused = 2,
}

/// The name of the rule set of that number, such as "gfx1250-b0-to-a0"; HSACO_STATUS_NOT_FOUND behind the last.
/// hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_rule_set(index: usize, name: *mut *mut Buffer) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(name, "name") }?;
        let all = RuleSet::all();
        let set = all.get(index).ok_or_else(|| Failure::index("rule set", index, all.len()))?;
        out.set(Buffer::handle(set.name().as_bytes().to_vec()));
        Ok(())
    })
}

/// Makes a patcher of a rule set, such as "gfx1250-b0-to-a0", with options, such as "entry-stub". `hsaco rules` lists both.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patcher_create(
    rule_set: *const c_char,
    options: *const *const c_char,
    option_count: usize,
    patcher: *mut *mut Patcher,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name, names) = unsafe {
            let out = Out::handle(patcher, "patcher")?;
            (out, text(rule_set, "rule_set")?, texts(options, option_count, "options")?)
        };
        let unknown = || {
            let known: Vec<_> = RuleSet::all().iter().map(RuleSet::name).collect();
            Failure::argument(format!("no rule set '{name}'; there are {}", known.join(", ")))
        };
        let set = RuleSet::by_name(name).ok_or_else(unknown)?;
        let mut options = patch::Options::default();
        for name in names {
            options.set(name).map_err(Failure::argument)?;
        }
        // Made here once, so that a set that cannot be used is known now.
        patch::Patcher::new(set, options.clone())?;
        out.set(handle::new(Patcher { set, options, edits: Mutex::default() }));
        Ok(())
    })
}

/// Adds an edit to what a patcher does to every object. `kind` is "replace", "insert", "count" or "call"; `edit` is what
/// `hsaco patch` takes for it: "0x1900=s_nop 0; s_nop 1", "entries", "blocks=_Z5probev".
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patcher_edit(
    patcher: *mut Patcher,
    kind: *const c_char,
    edit: *const c_char,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (kind, edit) = unsafe { (text(kind, "kind")?, text(edit, "edit")?) };
        let patcher = handle::get(patcher)?;
        let edit = EditRequest::parse(kind, edit).map_err(Failure::argument)?;
        patcher.edits.lock().unwrap_or_else(PoisonError::into_inner).push(edit);
        Ok(())
    })
}

/// Rewrites every object of a file and puts them back where they were: all that the rules want, or nothing. The result
/// is verified before it is handed out.
///
/// HSACO_STATUS_OK when there is a result, which may be the same as before; HSACO_STATUS_FINDINGS when something should be
/// rewritten and cannot be: hsaco_last_error() has the reasons, and the manifest of `patched` all of them.
/// hsaco_patched_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patcher_patch(
    patcher: *const Patcher,
    bytes: *const u8,
    size: usize,
    patched: *mut *mut Patched,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, file) =
            unsafe { (Out::handle(patched, "patched")?, self::bytes(bytes, size, "bytes")?) };
        let patcher = handle::get(patcher)?;
        let given = patcher.edits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let edits = edits(&given, file)?;
        let made = patch::Patcher::new(patcher.set, patcher.options.clone())?.with_edits(edits);
        finish(PatchedFile::new(&made, file, &WalkOptions::default())?, file, &out)
    })
}

/// What edits come to in a file. Addresses are those of one object, so there must be one only.
fn edits(given: &[EditRequest], file: &[u8]) -> Result<Vec<CodeEdit>> {
    match given {
        [] => Ok(Vec::new()),
        given => Ok(EditRequest::edits(given, &CodeObject::parse(file)?)?),
    }
}

/// Sets numbers of kernels in descriptor and metadata, such as "foo.vgpr_count=77", in a code object.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patch_set(
    bytes: *const u8,
    size: usize,
    settings: *const *const c_char,
    setting_count: usize,
    patched: *mut *mut Patched,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, file, settings) = unsafe {
            let out = Out::handle(patched, "patched")?;
            let file = self::bytes(bytes, size, "bytes")?;
            (out, file, texts(settings, setting_count, "settings")?)
        };
        if settings.is_empty() {
            return Err(Failure::argument("there are no settings"));
        }
        let parse = |text: &str| {
            text.parse().map_err(|error| Failure::argument(format!("'{text}': {error}")))
        };
        let settings: Vec<KernelSetting> =
            settings.into_iter().map(parse).collect::<Result<_>>()?;
        let object = PatchedObject::alone(Digest::of(file), patch::set(file, &settings)?);
        finish(PatchedFile::from(object), file, &out)
    })
}

/// Hands out what became of a file.
fn finish(patched: PatchedFile, file: &[u8], out: &Out<*mut Patched>) -> Result {
    let report = PatchReport::new(patched, file, &WalkOptions::default())?;
    let verdict = match (&report.bytes, report.is_changed) {
        (None, _) => PatchVerdict::Refused,
        (Some(_), true) => PatchVerdict::Changed,
        (Some(_), false) => PatchVerdict::Unchanged,
    };
    let PatchReport { bytes, manifest, summary, refusals, .. } = report;
    let bytes = bytes.unwrap_or_default();
    out.set(handle::new(Patched { verdict, bytes, manifest, summary: c_string(&summary) }));
    match verdict {
        PatchVerdict::Refused => Err(Failure::new(Status::Findings, lines(refusals.iter()))),
        _ => Ok(()),
    }
}

/// What became of the file.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patched_verdict(
    patched: *const Patched,
    verdict: *mut PatchVerdict,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(verdict, "verdict", PatchVerdict::Refused) }?;
        out.set(handle::get(patched)?.verdict);
        Ok(())
    })
}

/// The rewritten file; the original bytes where nothing was changed. HSACO_STATUS_NOT_FOUND if it was refused.
/// hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patched_data(
    patched: *const Patched,
    data: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(data, "data") }?;
        let patched = handle::get(patched)?;
        if patched.verdict == PatchVerdict::Refused {
            return Err(Failure::new(Status::NotFound, "it was refused: there is no result"));
        }
        out.set(Buffer::handle(patched.bytes.clone()));
        Ok(())
    })
}

/// Everything that was changed or refused, as JSON: docs/json.md has the keys. hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patched_manifest(
    patched: *const Patched,
    manifest: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(manifest, "manifest") }?;
        out.set(Buffer::handle(handle::get(patched)?.manifest.clone()));
        Ok(())
    })
}

/// The manifest for people. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patched_summary(
    patched: *const Patched,
    text: *mut *const c_char,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(text, "text") }?;
        out.set(handle::get(patched)?.summary.as_ptr());
        Ok(())
    })
}

/// Takes a result back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_patched_free(patched: *mut Patched) -> Status {
    handle::free(patched)
}

/// Takes a patcher back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_patcher_free(patcher: *mut Patcher) -> Status {
    handle::free(patcher)
}

/// Verifies a rewritten file against its original and its manifest, believing neither: every change is in the manifest,
/// every other byte is as it was. HSACO_STATUS_FINDINGS where something does not hold: hsaco_last_error() has it, a line
/// each.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_patch_verify(
    original: *const u8,
    original_size: usize,
    result: *const u8,
    result_size: usize,
    manifest: *const u8,
    manifest_size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (original, result, manifest) = unsafe {
            (
                bytes(original, original_size, "original")?,
                bytes(result, result_size, "result")?,
                bytes(manifest, manifest_size, "manifest")?,
            )
        };
        let manifest = FileManifest::parse(manifest, original)?;
        let found = manifest.verify(original, result, &WalkOptions::default())?;
        match found.is_empty() {
            true => Ok(()),
            false => {
                let said = |it: &FileFinding| it.finding.to_string();
                Err(Failure::new(Status::Findings, lines(found.iter().map(said))))
            }
        }
    })
}
