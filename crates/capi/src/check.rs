//! Checks before registration: would this device refuse this object, or run it wrongly?

use std::ffi::{CString, c_char};
use std::ptr;

use hsaco::check::{self, Device};

use crate::error::{self, Status, c_string, end};

/// How bad a finding is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The caller has to know it.
    Note = 0,
    /// Odd, or wrong in a way that need not hurt.
    Warning = 1,
    /// The device refuses the object, or runs it wrongly.
    Error = 2,
}

/// One thing that was found. Its strings live as long as the report.
#[repr(C)]
#[derive(Debug)]
pub struct Finding {
    /// The rule, such as "lds-limit"; docs/rules has a page for it.
    pub rule: *const c_char,
    /// How bad it is.
    pub severity: Severity,
    /// The kernel, by its mangled name; null if it is the whole object.
    pub kernel: *const c_char,
    /// The field of a header, a descriptor or the metadata; null if there is none.
    pub field: *const c_char,
    /// Where that stands in the bytes; UINT64_MAX if it has no place.
    pub offset: u64,
    /// What is wrong.
    pub message: *const c_char,
    /// What to do.
    pub help: *const c_char,
    /// All of it in one line.
    pub text: *const c_char,
}

/// What a check found; hsaco_report_free takes it back.
#[derive(Debug)]
pub struct Report {
    findings: Vec<Finding>,
    /// Owns what the findings point to.
    _strings: Vec<CString>,
}

impl Report {
    fn new(report: &check::Report) -> Self {
        let mut strings = Vec::new();
        let findings = report.findings.iter().map(|it| Finding::new(it, &mut strings)).collect();
        Self { findings, _strings: strings }
    }
}

impl Finding {
    fn new(finding: &check::Finding, strings: &mut Vec<CString>) -> Self {
        let mut keep = |text: &str| {
            let text = c_string(text);
            let start = text.as_ptr();
            strings.push(text);
            start
        };
        let subject = &finding.subject;
        Self {
            rule: keep(finding.rule),
            severity: match finding.severity {
                check::Severity::Note => Severity::Note,
                check::Severity::Warning => Severity::Warning,
                check::Severity::Error => Severity::Error,
            },
            kernel: subject.kernel.as_deref().map_or(ptr::null(), &mut keep),
            field: subject.field.as_deref().map_or(ptr::null(), &mut keep),
            offset: subject.offset.unwrap_or(u64::MAX),
            message: keep(&finding.message),
            help: keep(&finding.help),
            text: keep(&finding.to_string()),
        }
    }
}

/// Checks a code object, or whatever carries some (a bundle, a library), against a device such as "gfx942" or
/// "gfx90a:sramecc+:xnack-". Far cheaper than registering it, and with no device there.
///
/// Gives HSACO_STATUS_OK if the device takes the object, HSACO_STATUS_FINDINGS if it does not: hsaco_last_error() then
/// says why, a line for each error. Warnings and notes are in the report only, which may be null.
///
/// # Safety
/// `bytes` points to `size` bytes, `device` to text that ends in NUL, and `report` is null or points to a place for a
/// pointer, which is filled in with a report, or with null if an argument is invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_check(
    bytes: *const u8,
    size: usize,
    device: *const c_char,
    report: *mut *mut Report,
) -> Status {
    // SAFETY: as this function asks of its caller.
    let arguments = unsafe {
        if !report.is_null() {
            *report = ptr::null_mut();
        }
        error::bytes(bytes, size).and_then(|bytes| Ok((bytes, error::text(device, "device")?)))
    };
    let device =
        |text: &str| text.parse::<Device>().map_err(|error| format!("device '{text}': {error}"));
    let (bytes, device) = match arguments.and_then(|(bytes, text)| Ok((bytes, device(text)?))) {
        Ok(arguments) => arguments,
        Err(reason) => return end(Status::InvalidArgument, &reason),
    };
    let found = check::check(bytes, &device);
    if !report.is_null() {
        // SAFETY: not null, and the caller promises that it is a place for a pointer.
        unsafe { *report = Box::into_raw(Box::new(Report::new(&found))) };
    }
    let errors = found.findings.iter().filter(|it| it.severity == check::Severity::Error);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    match errors.is_empty() {
        true => end(Status::Ok, ""),
        false => end(Status::Findings, &errors.join("\n")),
    }
}

/// How many findings a report has; 0 for null.
///
/// # Safety
/// `report` is null or from hsaco_check, and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_report_size(report: *const Report) -> usize {
    // SAFETY: null, or a report that is alive.
    unsafe { report.as_ref() }.map_or(0, |report| report.findings.len())
}

/// One finding of a report, or null if there are not as many.
///
/// # Safety
/// `report` is null or from hsaco_check, and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_report_finding(
    report: *const Report,
    index: usize,
) -> *const Finding {
    // SAFETY: null, or a report that is alive.
    let finding = unsafe { report.as_ref() }.and_then(|report| report.findings.get(index));
    finding.map_or(ptr::null(), ptr::from_ref)
}

/// Takes a report back; null is fine.
///
/// # Safety
/// `report` is null or from hsaco_check, and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_report_free(report: *mut Report) {
    if !report.is_null() {
        // SAFETY: hsaco_check made it of a box.
        drop(unsafe { Box::from_raw(report) });
    }
}
