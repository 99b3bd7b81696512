//! For test reports: JUnit XML, a suite for each file and device, a case for each rule.

use std::io::Write;

use anyhow::Result;
use hsaco::check::Rule;

use super::super::model::{DeviceResult, FileResult, Shown};
use super::super::options::FailOn;
use crate::text::Xml;

/// A suite of the verb that has these rules.
#[derive(Clone, Copy)]
pub(super) struct Suite<'s> {
    pub(super) verb: &'s str,
    pub(super) rules: &'s [&'s Rule],
    pub(super) fail_on: FailOn,
}

pub(super) fn write(out: &mut dyn Write, files: &[FileResult], suite: Suite<'_>) -> Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"hsaco {}\">", suite.verb)?;
    for file in files {
        for device in &file.devices {
            write_suite(out, file, device, suite)?;
        }
    }
    writeln!(out, "</testsuites>")?;
    Ok(())
}

fn write_suite(
    out: &mut dyn Write,
    file: &FileResult,
    device: &DeviceResult,
    suite: Suite<'_>,
) -> Result<()> {
    let Suite { rules, fail_on, .. } = suite;
    let name = match &device.device {
        Some(device) => format!("{} on {device}", file.name),
        None => file.name.clone(),
    };
    let failed = |rule: &Rule| failures(device, rule, fail_on).next().is_some();
    let count = rules.iter().filter(|rule| failed(rule)).count();
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{count}\">",
        escaped(&name),
        rules.len()
    )?;
    for rule in rules {
        write_case(out, device, rule, suite)?;
    }
    writeln!(out, "  </testsuite>")?;
    Ok(())
}

fn write_case(
    out: &mut dyn Write,
    device: &DeviceResult,
    rule: &Rule,
    Suite { verb, fail_on, .. }: Suite<'_>,
) -> Result<()> {
    write!(out, "    <testcase classname=\"hsaco.{verb}\" name=\"{}\"", rule.name)?;
    let all: Vec<&Shown> =
        device.findings.iter().filter(|it| it.finding.rule == rule.name).collect();
    if all.is_empty() {
        writeln!(out, "/>")?;
        return Ok(());
    }
    writeln!(out, ">")?;
    for shown in failures(device, rule, fail_on) {
        let finding = &shown.finding;
        let (message, text) = (escaped(&finding.message), escaped(&finding.to_string()));
        writeln!(
            out,
            "      <failure type=\"{}\" message=\"{message}\">{text}</failure>",
            finding.severity
        )?;
    }
    let others = all.iter().filter(|it| !fails(it, fail_on));
    let others: Vec<String> = others.map(|it| escaped(&it.finding.to_string())).collect();
    if !others.is_empty() {
        writeln!(out, "      <system-out>{}</system-out>", others.join("\n"))?;
    }
    writeln!(out, "    </testcase>")?;
    Ok(())
}

fn failures<'d>(
    device: &'d DeviceResult,
    rule: &Rule,
    fail_on: FailOn,
) -> impl Iterator<Item = &'d Shown> {
    let name = rule.name;
    device.findings.iter().filter(move |it| it.finding.rule == name && fails(it, fail_on))
}

fn fails(shown: &Shown, fail_on: FailOn) -> bool {
    shown.is_new() && fail_on.includes(shown.finding.severity)
}

fn escaped(text: &str) -> String {
    Xml(text).to_string()
}
