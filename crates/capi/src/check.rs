//! Checks before registration: would this device refuse this object, or run it wrongly?

use std::ffi::c_char;

use hsaco::check::{self, Checker, LaunchFacts, Rule};

use crate::border::{Out, Row, Versioned, bytes, row_at, sized_given, text, texts};
use crate::device::{self, Device};
use crate::error::{Failure, Result, Status, border, lines};
use crate::handle::{self, Handle};

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

/// One thing that was found. What it points to lives as long as the report. Numbers that are not known are HSACO_UNKNOWN.
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
    /// Where that stands in the bytes.
    pub offset: u64,
    /// The address of an instruction.
    pub address: u64,
    /// Which object of a file with several, from 0.
    pub object: u64,
    /// What is wrong.
    pub message: *const c_char,
    /// What to do.
    pub help: *const c_char,
    /// All of it in one line.
    pub text: *const c_char,
}

/// What a check found; hsaco_report_free takes it back. All functions may be called from any thread.
pub struct Report {
    findings: Vec<Row<Finding>>,
}

impl Handle for Report {
    const NAME: &'static str = "report";
}

impl Report {
    fn new(report: &check::Report) -> Self {
        Self { findings: report.findings.iter().map(Finding::row).collect() }
    }
}

impl Finding {
    fn row(finding: &check::Finding) -> Row<Self> {
        let subject = &finding.subject;
        Row::new(|texts| Self {
            rule: texts.keep(finding.rule),
            severity: match finding.severity {
                check::Severity::Note => Severity::Note,
                check::Severity::Warning => Severity::Warning,
                check::Severity::Error => Severity::Error,
            },
            kernel: texts.keep_some(subject.kernel.as_deref()),
            field: texts.keep_some(subject.field.as_deref()),
            offset: subject.offset.unwrap_or(u64::MAX),
            address: subject.address.unwrap_or(u64::MAX),
            object: subject.object.map_or(u64::MAX, |it| it as u64),
            message: texts.keep(&finding.message),
            help: texts.keep(&finding.help),
            text: texts.keep(&finding.to_string()),
        })
    }
}

/// Looks at instructions too, which takes longer: a flag of hsaco_check_options.
pub const CHECK_CODE: u32 = 1;
/// `workgroup` is known: a flag of hsaco_check_options.
pub const CHECK_WORKGROUP: u32 = 2;
/// `grid` is known: a flag of hsaco_check_options.
pub const CHECK_GRID: u32 = 4;

/// What to check. Set everything to 0 and `size` to sizeof(hsaco_check_options).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// sizeof(hsaco_check_options).
    pub size: usize,
    /// The device; null checks only what holds for all of them.
    pub device: *const Device,
    /// Only these kernels, which must be there: names, mangled or as people read them.
    pub kernels: *const *const c_char,
    /// How many; 0 for all.
    pub kernel_count: usize,
    /// HSACO_CHECK_CODE, HSACO_CHECK_WORKGROUP, HSACO_CHECK_GRID.
    pub flags: u32,
    /// Work-items of a workgroup in each dimension, with HSACO_CHECK_WORKGROUP.
    pub workgroup: [u32; 3],
    /// Workgroups of the grid in each dimension, with HSACO_CHECK_GRID.
    pub grid: [u32; 3],
    /// Bytes of LDS that the launch adds to what the kernel has.
    pub dynamic_lds: u64,
    /// Only these rules.
    pub select: *const *const c_char,
    /// How many; 0 for all.
    pub select_count: usize,
    /// None of these rules.
    pub ignore: *const *const c_char,
    /// How many.
    pub ignore_count: usize,
}

// SAFETY: numbers and pointers, and it begins with its size.
unsafe impl Versioned for CheckOptions {
    const NAME: &'static str = "options";
}

/// Checks a code object, or whatever carries some (a bundle, a library), against a device such as "gfx942" or
/// "gfx90a:sramecc+:xnack-". Far cheaper than registering it, and with no device there.
///
/// Gives HSACO_STATUS_OK if the device takes the object, HSACO_STATUS_FINDINGS if it does not: hsaco_last_error() then
/// says why, a line for each error. Warnings and notes are in the report only. `report` may be null.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_check(
    bytes: *const u8,
    size: usize,
    device: *const c_char,
    report: *mut *mut Report,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, bytes, device) = unsafe {
            let out = Out::optional(report, std::ptr::null_mut());
            (out, self::bytes(bytes, size, "bytes")?, text(device, "device")?)
        };
        let wants_report = !report.is_null();
        let device = device::parse(device)?;
        let found = Checker::new().file(bytes, Some(&device), &LaunchFacts::default());
        tell(&found, wants_report.then_some(&out))
    })
}

/// Checks as hsaco_check does, with a device that may have its own limits, for some kernels, for a launch, with code.
///
/// HSACO_STATUS_NOT_FOUND if there was nothing to check: no object, or no kernel of those names.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_check_with(
    bytes: *const u8,
    size: usize,
    options: *const CheckOptions,
    report: *mut *mut Report,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, bytes, options) = unsafe {
            let out = Out::optional(report, std::ptr::null_mut());
            (out, self::bytes(bytes, size, "bytes")?, sized_given(options)?)
        };
        let wants_report = !report.is_null();
        // SAFETY: as above.
        let checker = unsafe { checker(&options) }?;
        let device = match options.device.is_null() {
            true => None,
            false => Some(handle::get(options.device)?.now()),
        };
        let flag = |flag: u32| options.flags & flag != 0;
        let launch = LaunchFacts {
            workgroup: flag(CHECK_WORKGROUP).then_some(options.workgroup),
            grid: flag(CHECK_GRID).then_some(options.grid),
            dynamic_lds: options.dynamic_lds,
        };
        let found = checker.file(bytes, device.as_ref(), &launch);
        let looked = found.objects > 0 && (found.kernels > 0 || !checker.names_kernels());
        if found.findings.is_empty() && !looked {
            let reason = "nothing was checked: there is no such object or kernel";
            return Err(Failure::new(Status::NotFound, reason));
        }
        tell(&found, wants_report.then_some(&out))
    })
}

/// The checker that options ask for.
///
/// # Safety
/// Pointers of the options are as the head of hsaco.h asks.
unsafe fn checker(options: &CheckOptions) -> Result<Checker> {
    let unknown = options.flags & !(CHECK_CODE | CHECK_WORKGROUP | CHECK_GRID);
    if unknown != 0 {
        return Err(Failure::argument(format!("flags {unknown:#x} have no meaning")));
    }
    // SAFETY: as this function asks.
    let (kernels, select, ignore) = unsafe {
        (
            texts(options.kernels, options.kernel_count, "kernels")?,
            texts(options.select, options.select_count, "select")?,
            texts(options.ignore, options.ignore_count, "ignore")?,
        )
    };
    let mut checker = Checker::new();
    if options.flags & CHECK_CODE != 0 {
        checker = checker.with_code();
    }
    checker = kernels.into_iter().fold(checker, Checker::kernel);
    for name in select {
        checker = checker.select(rule(name)?);
    }
    for name in ignore {
        checker = checker.ignore(rule(name)?);
    }
    match checker.has_rules() {
        true => Ok(checker),
        false => Err(Failure::argument("no rule is left that could find something")),
    }
}

fn rule(name: &str) -> Result<&'static Rule> {
    Rule::by_name(name).ok_or_else(|| {
        let nearest = Rule::nearest(name).join(", ");
        Failure::argument(format!("no rule '{name}'; nearest: {nearest}"))
    })
}

/// Hands a report over, and fails with its errors.
fn tell(found: &check::Report, report: Option<&Out<*mut Report>>) -> Result {
    if let Some(report) = report {
        report.set(handle::new(Report::new(found)));
    }
    let errors = found.findings.iter().filter(|it| it.severity == check::Severity::Error);
    match lines(errors) {
        errors if errors.is_empty() => Ok(()),
        errors => Err(Failure::new(Status::Findings, errors)),
    }
}

/// How many findings a report has.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_report_count(report: *const Report, count: *mut usize) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(report)?.findings.len());
        Ok(())
    })
}

/// The finding of that number, in the order of objects and kernels; HSACO_STATUS_NOT_FOUND behind the last. It lives as
/// long as the report.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_report_finding(
    report: *const Report,
    index: usize,
    finding: *mut *const Finding,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(finding, "finding") }?;
        out.set(row_at(&handle::get(report)?.findings, index, "finding")?);
        Ok(())
    })
}

/// Takes a report back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_report_free(report: *mut Report) -> Status {
    handle::free(report)
}
