//! A listing as text, to the byte as `llvm-objdump -d` writes it.

use std::io::{self, Write};

use hsaco_analysis::LiveCounts;
use hsaco_isa::print::Page;

use crate::comment::push_blanks;
use crate::exact::{ExactWriter, plain};
use crate::hex::{Case, push_hex};
use crate::line::{Lines, TextStyle, push_counts};
use crate::lister::Reassembly;
use crate::plan::{CodeSpan, ListingPlan};
use crate::sink::Sink;

/// What is written before what there is may be handed on.
const PIECE: usize = 8 << 10;

/// Writes spans of one object.
#[derive(Clone, Copy)]
pub struct TextWriter<'p, 'a> {
    /// The object.
    pub plan: &'p ListingPlan<'a>,
    /// How.
    pub style: TextStyle,
}

impl ListingPlan<'_> {
    /// All of the listing as text, after a line that says what the object is called.
    #[must_use]
    pub fn to_text(&self, name: &str, style: TextStyle) -> Vec<u8> {
        let mut text = Vec::new();
        let writer = TextWriter { plan: self, style };
        // Writing to a vector cannot fail.
        let _ = writer.object(name, &mut text);
        for span in &self.spans {
            let _ = writer.span(span, &mut text);
        }
        text
    }
}

impl TextWriter<'_, '_> {
    /// The line before an object, which is called so.
    ///
    /// # Errors
    /// None: writing to a vector cannot fail.
    pub fn object(&self, name: &str, out: &mut Vec<u8>) -> io::Result<()> {
        match &self.plan.reassembly {
            None => writeln!(out, "\n{name}:\tfile format elf64-amdgpu"),
            Some(Reassembly { arguments, .. }) => {
                writeln!(out, "// {}: hsaco asm {arguments}", plain(name.as_bytes()))
            }
        }
    }

    /// One span.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn span(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        if let Some(Reassembly { assembler, .. }) = &self.plan.reassembly {
            return ExactWriter { plan: self.plan, assembler }.span(span, part);
        }
        self.head(span, part.bytes());
        match span.is_data {
            true => self.data(span, part),
            false => self.code(span, part),
        }
    }

    fn head(&self, span: &CodeSpan, out: &mut Vec<u8>) {
        let Some(section) = self.plan.section(span) else { return };
        if span.opens_section {
            out.extend_from_slice(b"\nDisassembly of section ");
            out.extend_from_slice(&section.name);
            out.extend_from_slice(b":\n");
        }
        out.push(b'\n');
        for label in span.shown.iter().filter_map(|&it| section.labels.get(it)) {
            if self.style.leading_addresses {
                push_hex(out, Case::Lower, span.address, 16);
                out.push(b' ');
            }
            out.push(b'<');
            out.extend_from_slice(&label.name);
            out.extend_from_slice(b">:\n");
        }
        out.extend_from_slice(&span.descriptor);
        if !span.is_data {
            self.live_head(span, section.address, out);
        }
    }

    /// What the columns of live registers are, and why some have no number.
    fn live_head(&self, span: &CodeSpan, base: u64, out: &mut Vec<u8>) {
        let Some(live) = &self.plan.live else { return };
        out.extend_from_slice(b"VGPR AGPR SGPR\t; live before each instruction\n");
        let base = base.wrapping_add(live.start(span.section));
        let addresses = self.plan.steps(span).map(|(at, ..)| base.wrapping_add(at as u64));
        if !addresses.filter_map(|it| live.at(it)).all(LiveCounts::is_known) {
            push_counts(out, Some(LiveCounts::default()));
            out.extend_from_slice(
                b"\t; not known: a call, a return, a jump to anywhere or what is no instruction may need all\n",
            );
        }
    }

    fn code(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        let Some(mut lines) = Lines::new(self.plan, self.style, span) else { return Ok(()) };
        let mut steps = self.plan.steps(span);
        while !steps.is_done() {
            let mut page = Page::new(part.bytes());
            let full = page.end() + PIECE;
            while page.end() < full
                && let Some(step) = steps.next()
            {
                lines.line(step, &mut page);
            }
            drop(page);
            part.pass()?;
        }
        Ok(())
    }

    /// Data, eight bytes a line, with the characters that they are.
    fn data(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        let Some(section) = self.plan.section(span) else { return Ok(()) };
        let data = section.code.get(span.bytes.clone()).unwrap_or_default();
        let mut address = section.address.wrapping_add(span.bytes.start as u64);
        for row in data.chunks(8) {
            let out = part.bytes();
            out.extend_from_slice(format!("{address:8x}:").as_bytes());
            for &byte in row {
                out.push(b' ');
                push_hex(out, Case::Lower, u64::from(byte), 2);
            }
            push_blanks(out, 3 * (8 - row.len()) + 9);
            out.extend(row.iter().map(|it| match it {
                b' '..=b'~' => *it,
                _ => b'.',
            }));
            out.push(b'\n');
            address = address.wrapping_add(8);
            part.pass()?;
        }
        Ok(())
    }
}
