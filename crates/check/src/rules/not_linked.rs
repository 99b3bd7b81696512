//! `not-linked`: a relocatable object.

use hsaco_elf::ET_DYN;

use crate::facts::Facts;
use crate::finding::{Findings, Subject};

pub(super) fn check(file: &Facts<'_>, findings: &mut Findings) {
    let Some(object) = file.object() else { return };
    let subject = || Subject::field("e_type").at(16);
    let help = "link it: ld.lld -shared object.o -o object.co";
    if object.is_relocatable() {
        let message = "not linked: a relocatable object (ET_REL), and the loader takes shared objects (ET_DYN)";
        findings.error(subject(), message.to_owned(), help);
    } else if object.is_hsa() && object.elf().header().e_type != ET_DYN {
        let kind = object.elf().header().e_type;
        let message =
            format!("file type {kind}, and the loader takes shared objects ({ET_DYN}, ET_DYN)");
        findings.error(subject(), message, help);
    }
}
