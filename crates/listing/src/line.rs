//! The lines of a listing, one instruction each.

use std::mem;

use hsaco_analysis::LiveCounts;
use hsaco_isa::Inst;
use hsaco_isa::model::VgprMsb;
use hsaco_isa::print::{Page, Token};

use crate::comment::{COMMENT_COLUMN, Comments, push_annotation, push_blanks, push_long_comment};
use crate::hex::{Case, push_hex, push_word};
use crate::layout::Section;
use crate::plan::{CodeSpan, ListingPlan};
use crate::source::Place;
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

/// Writes the lines of a span, and what goes from one to the next.
pub(crate) struct Lines<'p, 'a> {
    plan: &'p ListingPlan<'a>,
    style: TextStyle,
    span: &'p CodeSpan,
    section: &'p Section<'a>,
    msb: VgprMsb,
    comments: Comments,
    place: Place<'p>,
    tokens: Vec<(Token, usize)>,
    /// A line of which there is more to say.
    text: Vec<u8>,
    /// There is nothing but instructions and comments.
    is_plain: bool,
}

/// Bytes of code, and how many of them an instruction takes.
type Encoding<'c> = (&'c [u8], usize);

impl<'p, 'a> Lines<'p, 'a> {
    pub(crate) fn new(
        plan: &'p ListingPlan<'a>,
        style: TextStyle,
        span: &'p CodeSpan,
    ) -> Option<Self> {
        Some(Lines {
            plan,
            style,
            span,
            section: plan.section(span)?,
            msb: VgprMsb::default(),
            comments: Comments::new(),
            place: plan.place_before(span),
            tokens: Vec::new(),
            text: Vec::new(),
            is_plain: !style.color && plan.live.is_none() && plan.source.is_none(),
        })
    }

    /// What stands at an offset of the section.
    #[inline(always)]
    pub(crate) fn line(&mut self, (at, step, size): (usize, Step, usize), page: &mut Page<'_>) {
        let encoding = (self.section.code.get(at..).unwrap_or_default(), size);
        let address = self.section.address.wrapping_add(at as u64);
        match step {
            Step::Inst(inst) if self.is_plain && !inst.has_target() && !inst.has_remarks() => {
                self.plain(&inst, encoding, address, page);
            }
            _ => {
                let mut text = mem::take(&mut self.text);
                text.clear();
                self.any(step, encoding, address, &mut text);
                page.push(&text);
                self.text = text;
            }
        }
    }

    /// An instruction beside which there is nothing else.
    #[inline(always)]
    fn plain(&mut self, inst: &Inst, encoding: Encoding<'_>, address: u64, page: &mut Page<'_>) {
        let start = page.end();
        if let Some(tab) = page.room() {
            *tab = *b"\t";
        }
        page.advance(1);
        let decoder = &self.plan.decoder;
        decoder.print_on(inst, self.msb, page);
        self.msb.update(inst);
        let blanks = COMMENT_COLUMN.saturating_sub(page.end() - start);
        self.comments.push_line(page, blanks, encoding, address);
    }

    #[inline(never)]
    fn any(&mut self, step: Step, encoding: Encoding<'_>, address: u64, out: &mut Vec<u8>) {
        let plan = self.plan;
        if !matches!(step, Step::Zeros) {
            self.before(address, out);
        }
        match step {
            Step::Zeros => out.extend_from_slice(b"\t\t..."),
            Step::Unknown => {
                self.msb = VgprMsb::default();
                self.unknown(encoding, address, out);
                if let Some(refused) = plan.decoder.refused(encoding.0) {
                    plan.decoder.print_remarks(&refused, out);
                }
            }
            Step::Inst(inst) => {
                let branch = inst.branch_target(address);
                let target = branch.and_then(|it| self.span.target(plan, &inst, it));
                let blanks = self.inst(&inst, target.as_ref(), out);
                self.msb.update(&inst);
                self.comment(blanks, encoding, address, out);
                if let Some(Target::Annotation(name, distance)) = target {
                    push_annotation(out, name, distance);
                }
                plan.decoder.print_remarks(&inst, out);
            }
        }
        out.push(b'\n');
    }

    /// The source and the counts of live registers, where they are wanted.
    fn before(&mut self, address: u64, out: &mut Vec<u8>) {
        let plan = self.plan;
        if let Some(source) = &plan.source {
            let next = source.at(self.span.section, address);
            source.write(&self.place, &next, out);
            self.place = next;
        }
        if let Some(live) = &plan.live {
            push_counts(out, live.at(address.wrapping_add(live.start(self.span.section))));
        }
    }

    /// The instruction; how many blanks there are up to the comment.
    fn inst(&mut self, inst: &Inst, target: Option<&Target<'_>>, out: &mut Vec<u8>) -> usize {
        let Self { plan, style, .. } = *self;
        let start = out.len();
        out.push(b'\t');
        let text = start + 1;
        match style.color {
            false => plan.decoder.print_after(inst, self.msb, out),
            true => {
                self.tokens.clear();
                plan.decoder.print_tokens(inst, self.msb, out, &mut self.tokens);
            }
        }
        if let Some(Target::Operand(name)) = target {
            replace_last_operand(out, &mut self.tokens, text, name);
        }
        let width = out.len() - start;
        if style.color {
            paint(out, text, &self.tokens);
        }
        COMMENT_COLUMN.saturating_sub(width)
    }

    fn unknown(&self, (code, size): Encoding<'_>, address: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(b'\t');
        push_directive(out, code.get(..size).unwrap_or_default());
        let width = out.len() - start;
        self.comment(COMMENT_COLUMN.saturating_sub(width), (code, size), address, out);
    }

    /// Blanks, then address and encoding.
    fn comment(&self, blanks: usize, (code, size): Encoding<'_>, address: u64, out: &mut Vec<u8>) {
        let encoding = code.get(..size).unwrap_or_default();
        match self.style.color {
            false => push_long_comment(out, blanks, encoding, address),
            true => {
                push_blanks(out, blanks);
                out.extend_from_slice(DIM);
                push_long_comment(out, 0, encoding, address);
                out.extend_from_slice(PLAIN);
            }
        }
    }
}

/// Three columns of numbers, empty for what is in no function.
pub(crate) fn push_counts(out: &mut Vec<u8>, counts: Option<LiveCounts>) {
    const WIDTH: usize = 14;
    let Some(LiveCounts { vgprs, agprs, sgprs }) = counts else { return push_blanks(out, WIDTH) };
    let [vgprs, agprs, sgprs] =
        [vgprs, agprs, sgprs].map(|it| it.map_or_else(|| "?".to_owned(), |it| it.to_string()));
    out.extend_from_slice(format!("{vgprs:>4} {agprs:>4} {sgprs:>4}").as_bytes());
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
