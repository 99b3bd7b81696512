//! A listing that assembles to the bytes it lists: instructions and data are lines, all else is comments.

use std::io;

use hsaco_isa::Assembler;
use hsaco_isa::assembler::Data;
use hsaco_isa::model::VgprMsb;

use crate::comment::{COMMENT_COLUMN, push_annotation, push_long_comment};
use crate::hex::{Case, push_hex};
use crate::plan::{CodeSpan, ListingPlan};
use crate::sink::Sink;
use crate::steps::Step;
use crate::target::Target;

/// Bytes of data in a line.
const ROW: usize = 16;

/// Writes spans of one object.
#[derive(Clone, Copy)]
pub(crate) struct ExactWriter<'p, 'a> {
    pub(crate) plan: &'p ListingPlan<'a>,
    pub(crate) assembler: &'p Assembler,
}

impl ExactWriter<'_, '_> {
    pub(crate) fn span(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        self.head(span, part.bytes());
        match span.is_data {
            true => self.data(span, span.bytes.start, span.bytes.len(), part),
            false => self.code(span, part),
        }
    }

    fn head(&self, span: &CodeSpan, out: &mut Vec<u8>) {
        let Some(section) = self.plan.section(span) else { return };
        if span.opens_section {
            out.extend_from_slice(b"\n// Section ");
            push_words(out, &section.name);
            out.extend_from_slice(b":\n");
        }
        out.push(b'\n');
        for label in span.shown.iter().filter_map(|&it| section.labels.get(it)) {
            out.extend_from_slice(b"// ");
            push_hex(out, Case::Lower, span.address, 16);
            out.extend_from_slice(b" <");
            push_words(out, &label.name);
            out.extend_from_slice(b">:\n");
        }
    }

    fn code(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        let Some(section) = self.plan.section(span) else { return Ok(()) };
        let mut msb = VgprMsb::default();
        for (at, step, size) in self.plan.steps(span) {
            if matches!(step, Step::Unknown) {
                msb = VgprMsb::default();
            }
            // The rest of an instruction that reaches past a name follows that name.
            let own = size.min(span.bytes.end - at);
            let Some(inst) = step.inst().filter(|_| own == size) else {
                self.data(span, at, own, part)?;
                continue;
            };
            let out = part.bytes();
            let code = section.code.get(at..).unwrap_or_default();
            let address = section.address.wrapping_add(at as u64);
            let start = out.len();
            out.push(b'\t');
            self.assembler.print_exact(&inst, msb, out);
            msb.update(&inst);
            let encoding = code.get(..size).unwrap_or_default();
            push_long_comment(out, blanks(start, out), encoding, address);
            let target = inst.branch_target(address);
            match target.and_then(|it| span.target(self.plan, &inst, it)) {
                Some(Target::Annotation(name, distance)) => {
                    push_annotation(out, plain(name).as_bytes(), distance);
                }
                Some(Target::Operand(name)) => push_annotation(out, plain(&name).as_bytes(), 0),
                None => {}
            }
            out.push(b'\n');
            part.pass()?;
        }
        Ok(())
    }

    /// Bytes of the section that are no instructions.
    fn data(
        &self,
        span: &CodeSpan,
        at: usize,
        size: usize,
        part: &mut impl Sink,
    ) -> io::Result<()> {
        let Some(section) = self.plan.section(span) else { return Ok(()) };
        let mut address = section.address.wrapping_add(at as u64);
        for row in section.code.get(at..at + size).unwrap_or_default().chunks(ROW) {
            let out = part.bytes();
            let start = out.len();
            out.push(b'\t');
            out.extend_from_slice(Data::of_bytes(row).to_string().as_bytes());
            push_long_comment(out, blanks(start, out), row, address);
            out.push(b'\n');
            address = address.wrapping_add(row.len() as u64);
            part.pass()?;
        }
        Ok(())
    }
}

/// How many blanks there are from the end of a line up to the comment, one at least.
fn blanks(start: usize, out: &[u8]) -> usize {
    COMMENT_COLUMN.saturating_sub(out.len() - start).max(1)
}

fn push_words(out: &mut Vec<u8>, name: &[u8]) {
    out.extend_from_slice(plain(name).as_bytes());
}

/// A name that can stand in a comment: it may hold anything, but must not end the line.
pub(crate) fn plain(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().map(|it| if it.is_control() { '?' } else { it }).collect()
}
