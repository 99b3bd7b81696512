//! A listing as text, to the byte as `llvm-objdump -d` writes it.

use std::io::{self, Write};
use std::mem;

use hsaco_analysis::LiveCounts;
use hsaco_isa::Inst;
use hsaco_isa::decoder::TextMemory;
use hsaco_isa::model::VgprMsb;
use hsaco_isa::print::Token;

use crate::comment::{COMMENT_COLUMN, push_annotation, push_blanks, push_comment};
use crate::exact::{ExactWriter, plain};
use crate::hex::{Case, push_hex, push_word};
use crate::lister::Reassembly;
use crate::plan::{CodeSpan, ListingPlan};
use crate::sink::Sink;
use crate::steps::Step;
use crate::target::Target;

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Addresses stand before names.
    pub leading_addresses: bool,
    /// Words are coloured for a terminal.
    pub color: bool,
}

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
        let (mut text, mut memory) = (Vec::new(), TextMemory::default());
        let writer = TextWriter { plan: self, style };
        // Writing to a vector cannot fail.
        let _ = writer.object(name, &mut text);
        for span in &self.spans {
            let _ = writer.span(span, &mut memory, &mut text);
        }
        text
    }
}

/// What goes from one instruction to the next.
struct Printing<'m> {
    memory: &'m mut TextMemory,
    tokens: Vec<(Token, usize)>,
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

    /// One span; the memory may go from one to the next.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn span(
        &self,
        span: &CodeSpan,
        memory: &mut TextMemory,
        part: &mut impl Sink,
    ) -> io::Result<()> {
        if let Some(Reassembly { assembler, .. }) = &self.plan.reassembly {
            return ExactWriter { plan: self.plan, assembler }.span(span, part);
        }
        self.head(span, part.bytes());
        match span.is_data {
            true => self.data(span, part),
            false => self.code(span, memory, part),
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

    fn code(
        &self,
        span: &CodeSpan,
        memory: &mut TextMemory,
        part: &mut impl Sink,
    ) -> io::Result<()> {
        let Some(section) = self.plan.section(span) else { return Ok(()) };
        let mut printing = Printing { memory, tokens: Vec::new() };
        let mut msb = VgprMsb::default();
        let start = self.plan.live.as_ref().map_or(0, |it| it.start(span.section));
        let source = self.plan.source.as_ref();
        let mut place = self.plan.place_before(span);
        // Each is decoded before the one that it follows is printed: what that takes need not be waited for.
        let mut ahead = None;
        for next in self.plan.steps(span).map(Some).chain([None]) {
            let Some((at, step, size)) = mem::replace(&mut ahead, next) else { continue };
            let out = part.bytes();
            let code = section.code.get(at..).unwrap_or_default();
            let address = section.address.wrapping_add(at as u64);
            if let Some(source) = source
                && !matches!(step, Step::Zeros)
            {
                let next = source.at(span.section, address);
                source.write(&place, &next, out);
                place = next;
            }
            if let Some(live) = &self.plan.live
                && !matches!(step, Step::Zeros)
            {
                push_counts(out, live.at(address.wrapping_add(start)));
            }
            match step {
                Step::Zeros => out.extend_from_slice(b"\t\t...\n"),
                Step::Unknown => {
                    msb = VgprMsb::default();
                    self.unknown((code, size), address, out);
                    if let Some(refused) = self.plan.decoder.refused(code) {
                        self.plan.decoder.print_remarks(&refused, out);
                    }
                    out.push(b'\n');
                }
                Step::Inst(inst) => {
                    let branch = inst.branch_target(address);
                    let target = branch.and_then(|it| span.target(self.plan, &inst, it));
                    let blanks = self.inst(&inst, msb, target.as_ref(), &mut printing, out);
                    msb.update(&inst);
                    self.comment(blanks, (code, size), address, out);
                    if let Some(Target::Annotation(name, distance)) = target {
                        push_annotation(out, name, distance);
                    }
                    self.plan.decoder.print_remarks(&inst, out);
                    out.push(b'\n');
                }
            }
            part.pass()?;
        }
        Ok(())
    }

    /// The instruction; how many blanks there are up to the comment.
    #[inline]
    fn inst(
        &self,
        inst: &Inst,
        msb: VgprMsb,
        target: Option<&Target<'_>>,
        Printing { memory, tokens }: &mut Printing<'_>,
        out: &mut Vec<u8>,
    ) -> usize {
        let start = out.len();
        out.push(b'\t');
        let text = start + 1;
        match self.style.color {
            false => memory.print(&self.plan.decoder, inst, msb, out),
            true => {
                tokens.clear();
                self.plan.decoder.print_tokens(inst, msb, out, tokens);
            }
        }
        if let Some(Target::Operand(name)) = target {
            replace_last_operand(out, tokens, text, name);
        }
        let width = out.len() - start;
        if self.style.color {
            paint(out, text, tokens);
        }
        COMMENT_COLUMN.saturating_sub(width)
    }

    fn unknown(&self, (code, size): (&[u8], usize), address: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(b'\t');
        push_directive(out, code.get(..size).unwrap_or_default());
        let width = out.len() - start;
        self.comment(COMMENT_COLUMN.saturating_sub(width), (code, size), address, out);
    }

    /// Blanks, then address and encoding.
    #[inline(always)]
    fn comment(&self, blanks: usize, encoding: (&[u8], usize), address: u64, out: &mut Vec<u8>) {
        match self.style.color {
            false => push_comment(out, blanks, encoding, address),
            true => {
                push_blanks(out, blanks);
                out.extend_from_slice(DIM);
                push_comment(out, 0, encoding, address);
                out.extend_from_slice(PLAIN);
            }
        }
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

/// Three columns of numbers, empty for what is in no function.
fn push_counts(out: &mut Vec<u8>, counts: Option<LiveCounts>) {
    const WIDTH: usize = 14;
    let Some(LiveCounts { vgprs, agprs, sgprs }) = counts else { return push_blanks(out, WIDTH) };
    let [vgprs, agprs, sgprs] =
        [vgprs, agprs, sgprs].map(|it| it.map_or_else(|| "?".to_owned(), |it| it.to_string()));
    out.extend_from_slice(format!("{vgprs:>4} {agprs:>4} {sgprs:>4}").as_bytes());
}

/// The directive for bytes that are no instruction.
pub(crate) fn push_directive(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Some(word) = bytes.first_chunk() {
        out.extend_from_slice(b".long 0x");
        push_word(out, Case::Lower, u32::from_le_bytes(*word));
        return;
    }
    for (at, &byte) in bytes.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b".byte 0x" } else { b", 0x" });
        push_hex(out, Case::Lower, u64::from(byte), 2);
    }
}

/// Puts a name in the place of a branch's number, which is the last word of the text from `start` on.
pub(crate) fn replace_last_operand(
    out: &mut Vec<u8>,
    tokens: &mut [(Token, usize)],
    start: usize,
    name: &[u8],
) {
    let written = out.get(start..).unwrap_or_default();
    if let Some(blank) = written.iter().rposition(|&it| it == b' ') {
        out.truncate(start + blank + 1);
        out.extend_from_slice(name);
    }
    if let Some((token, _)) = tokens.last_mut() {
        *token = Token::Label;
    }
}

const PLAIN: &[u8] = b"\x1b[0m";
const DIM: &[u8] = b"\x1b[2m";

/// Colours the text that `out` ends with, from `start` on, token by token.
fn paint(out: &mut Vec<u8>, start: usize, tokens: &[(Token, usize)]) {
    let text = out.split_off(start);
    for (number, &(token, from)) in tokens.iter().enumerate() {
        let end = tokens.get(number + 1).map_or(start + text.len(), |it| it.1);
        let piece = text.get(from - start..end - start).unwrap_or_default();
        match escape(token) {
            Some(escape) => out.extend_from_slice(&[escape, piece, PLAIN].concat()),
            None => out.extend_from_slice(piece),
        }
    }
}

fn escape(token: Token) -> Option<&'static [u8]> {
    Some(match token {
        Token::Mnemonic => b"\x1b[1m",
        Token::Register => b"\x1b[36m",
        Token::Immediate => b"\x1b[33m",
        Token::Modifier => b"\x1b[32m",
        Token::Label => b"\x1b[35m",
        Token::Comment => DIM,
        Token::Punctuation => return None,
    })
}
