//! `not-a-code-object`: another format, another system's ELF, or an ELF with nothing to load.

use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::Container;
use hsaco_elf::{ELFOSABI_AMDGPU_MESA3D, ELFOSABI_AMDGPU_PAL};
use hsaco_object::CodeObject;

use crate::facts::Facts;
use crate::finding::{Findings, Subject};

/// `EI_ABIVERSION` of code object V6.
const NEWEST_ABI: u8 = 4;

pub(super) fn check(file: &Facts<'_>, findings: &mut Findings) {
    match &file.object {
        Err(error)
            if error.kind() == ErrorKind::Truncated && Container::detect(file.bytes).is_some() => {}
        Err(error) => {
            let subject = Subject::field(error.context()).at(error.offset());
            let (message, help) = describe(error);
            findings.error(subject, message, help);
        }
        Ok(facts) => check_identity(&facts.object, findings),
    }
}

pub(super) fn describe(error: &Error) -> (String, String) {
    let help = "hsaco ls says what a file holds; a kernel library is an ELF file for machine 224";
    (format!("{}: {}", error.context(), error.detail()), help.to_owned())
}

fn check_identity(object: &CodeObject<'_>, findings: &mut Findings) {
    let header = object.elf().header();
    if !object.is_hsa() {
        let system = match header.os_abi {
            ELFOSABI_AMDGPU_PAL => " (PAL, of graphics drivers)",
            ELFOSABI_AMDGPU_MESA3D => " (Mesa)",
            _ => "",
        };
        let message =
            format!("OS ABI {}{system}, and the HSA runtime takes 64 only", header.os_abi);
        let help = "compile for the triple amdgcn-amd-amdhsa";
        return findings.error(Subject::field("EI_OSABI").at(7), message, help);
    }
    if header.abi_version > NEWEST_ABI {
        let message = format!(
            "ABI version {}, and the newest that is known is {NEWEST_ABI}",
            header.abi_version
        );
        let help = "a runtime that is as new as the compiler may take it; else compile with -mcode-object-version=6";
        findings.warning(Subject::field("EI_ABIVERSION").at(8), message, help);
    }
    // Tables that reach past the end are `truncated`'s.
    let is_whole = || object.elf().problems().iter().all(|it| it.kind() != ErrorKind::Truncated);
    if !object.is_relocatable() && object.elf().loads().next().is_none() && is_whole() {
        let message = "no segment is to be loaded".to_owned();
        findings.error(Subject::field("e_phnum").at(56), message, "link it with ld.lld -shared");
    }
    for problem in object.elf().problems().iter().filter(|it| it.kind() != ErrorKind::Truncated) {
        let subject = Subject::field(problem.context()).at(problem.offset());
        let message = format!("{}: {}", problem.context(), problem.detail());
        findings.warning(subject, message, "make the file again");
    }
}
