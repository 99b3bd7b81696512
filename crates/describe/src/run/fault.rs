//! What sanitizers find, as findings.

use hsaco_check::result::{DeviceResult, FileResult, ObjectInfo, Shown, SourceLine};
use hsaco_check::{Finding, Rule, SANITIZERS, Severity, Subject};
use hsaco_emu::{Event, Fault, FaultKind, StopLocation};
use hsaco_load::Executable;

/// The rule that describes a kind.
#[must_use]
pub fn sanitizer_rule(kind: FaultKind) -> Option<&'static Rule> {
    SANITIZERS.iter().find(|it| it.name.strip_prefix("sanitize-") == Some(kind.name()))
}

/// What a sanitizer found, as findings of the object that the instruction is in.
#[must_use]
pub fn found_by_file(
    executable: &Executable<'_>,
    target: &str,
    faults: &[Fault],
) -> Vec<FileResult> {
    let mut files = Vec::new();
    for object in executable.objects() {
        let mine = |fault: &&Fault| {
            executable.locate(fault.at.address).is_some_and(|it| it.object == object)
        };
        let findings: Vec<Shown> =
            faults.iter().filter(mine).map(|it| shown(executable, it)).collect();
        let info =
            ObjectInfo { number: 0, entry_id: None, target: Some(target.to_owned()), probe: None };
        let device = DeviceResult {
            device: None,
            objects: 1,
            skipped: 0,
            kernels: 1,
            findings,
            hidden: 0,
            better: 0,
            measures: Vec::new(),
        };
        files.push(FileResult {
            name: executable.object_name(object).to_owned(),
            objects: vec![info],
            devices: vec![device],
        });
    }
    files
}

fn shown(executable: &Executable<'_>, fault: &Fault) -> Shown {
    let rule = sanitizer_rule(fault.kind);
    let found = executable.locate(fault.at.address);
    let finding = Finding {
        rule: rule.map_or("", |it| it.name),
        severity: if fault.is_certain { Severity::Error } else { Severity::Warning },
        subject: Subject {
            kernel: Some(fault.at.kernel.clone()),
            address: found.map(|it| it.object_address),
            ..Subject::default()
        },
        message: message(executable, fault),
        help: fault.help.to_owned(),
        excess: None,
    };
    let source = source(executable, fault.at.address);
    let source = source.map(|(file, line)| SourceLine { file, line, text: None });
    Shown { source, ..Shown::new(finding) }
}

/// What is wrong, who did it, and what it does not agree with.
fn message(executable: &Executable<'_>, fault: &Fault) -> String {
    let mut text = format!("{}: {}", place(executable, &fault.at), fault.message);
    if fault.times > 1 {
        text += &format!(" ({} times)", fault.times);
    }
    if let Some(Event { what, at, .. }) = &fault.before {
        text += &format!("; {what} {}", place(executable, at));
        if let Some((file, line)) = source(executable, at.address) {
            text += &format!(" from {file}:{line}");
        }
    }
    text
}

/// An instruction with its wave.
fn place(executable: &Executable<'_>, at: &StopLocation) -> String {
    let address = executable.locate(at.address).map_or(at.address, |it| it.object_address);
    let [x, y, z] = at.workgroup;
    let lanes = match at.lanes {
        0 => String::new(),
        lanes => format!(", {}", lane_list(lanes)),
    };
    format!(
        "`{}` at {address:#x} in wave {} of workgroup {x},{y},{z}{lanes}",
        at.instruction, at.wave
    )
}

/// `lane 3`, or `lanes 0-7, 9`.
fn lane_list(mut lanes: u64) -> String {
    let is_one = lanes.is_power_of_two();
    let mut parts = Vec::new();
    while lanes != 0 {
        let first = lanes.trailing_zeros();
        let count = (lanes >> first).trailing_ones();
        parts.push(match count {
            1 => first.to_string(),
            _ => format!("{first}-{}", first + count - 1),
        });
        lanes &= u64::MAX.checked_shl(first + count).unwrap_or(0);
    }
    let more = parts.len().saturating_sub(8);
    parts.truncate(8);
    let rest = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
    format!("lane{} {}{rest}", if is_one { "" } else { "s" }, parts.join(", "))
}

fn source(executable: &Executable<'_>, address: u64) -> Option<(String, u32)> {
    let frames = executable.source(address).ok()?;
    let frame = frames.first()?;
    Some((frame.file.clone()?, frame.line?))
}

#[cfg(test)]
mod tests {
    use super::lane_list;

    #[test]
    fn lanes_are_told_as_ranges() {
        assert_eq!(lane_list(8), "lane 3");
        assert_eq!(lane_list(0x2ff), "lanes 0-7, 9");
        assert_eq!(lane_list(u64::MAX), "lanes 0-63");
    }
}
