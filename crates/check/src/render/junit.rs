//! For test reports: JUnit XML, a suite for each file and device, a case for each rule.

use hsaco_bytes::escape::Xml;
use std::fmt;

use crate::finding::Severity;
use crate::result::{DeviceResult, FileResult, Shown};
use crate::rule::Rule;

/// Findings as failures of tests.
#[derive(Clone, Copy, Debug)]
pub struct Junit<'r> {
    /// The command that has these rules.
    pub verb: &'r str,
    /// What was found.
    pub files: &'r [FileResult],
    /// The rules that were checked.
    pub rules: &'r [&'r Rule],
    /// From which severity on a new finding is a failure.
    pub fail_on: Severity,
}

impl fmt::Display for Junit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(f, "<testsuites name=\"hsaco {}\">", self.verb)?;
        for file in self.files {
            for device in &file.devices {
                self.write_suite(f, file, device)?;
            }
        }
        writeln!(f, "</testsuites>")
    }
}

impl Junit<'_> {
    fn write_suite(
        &self,
        f: &mut fmt::Formatter<'_>,
        file: &FileResult,
        device: &DeviceResult,
    ) -> fmt::Result {
        let name = match &device.device {
            Some(device) => format!("{} on {device}", file.name),
            None => file.name.clone(),
        };
        let fails = |rule: &&&Rule| of_rule(device, rule).any(|it| it.fails(self.fail_on));
        let (tests, failures) = (self.rules.len(), self.rules.iter().filter(fails).count());
        let name = Xml(&name);
        writeln!(f, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">")?;
        for rule in self.rules {
            self.write_case(f, device, rule)?;
        }
        writeln!(f, "  </testsuite>")
    }

    fn write_case(
        &self,
        f: &mut fmt::Formatter<'_>,
        device: &DeviceResult,
        rule: &Rule,
    ) -> fmt::Result {
        write!(f, "    <testcase classname=\"hsaco.{}\" name=\"{}\"", self.verb, rule.name)?;
        let (failures, others): (Vec<_>, Vec<_>) =
            of_rule(device, rule).partition(|it| it.fails(self.fail_on));
        if failures.is_empty() && others.is_empty() {
            return writeln!(f, "/>");
        }
        writeln!(f, ">")?;
        for finding in failures.iter().map(|it| &it.finding) {
            let (message, text) = (Xml(&finding.message), finding.to_string());
            write!(f, "      <failure type=\"{}\" message=\"{message}\">", finding.severity)?;
            writeln!(f, "{}</failure>", Xml(&text))?;
        }
        let others: Vec<String> =
            others.iter().map(|it| Xml(&it.finding.to_string()).to_string()).collect();
        if !others.is_empty() {
            writeln!(f, "      <system-out>{}</system-out>", others.join("\n"))?;
        }
        writeln!(f, "    </testcase>")
    }
}

fn of_rule<'d>(device: &'d DeviceResult, rule: &Rule) -> impl Iterator<Item = &'d Shown> {
    let name = rule.name;
    device.findings.iter().filter(move |it| it.finding.rule == name)
}
