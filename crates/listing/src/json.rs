//! A listing as JSON.

use std::io;

use hsaco_analysis::LiveCounts;
use hsaco_isa::Inst;
use hsaco_isa::model::VgprMsb;
use hsaco_isa::print::{Token, Words};
use serde::Serialize;

use crate::hex::{Case, push_hex};
use crate::line::{push_directive, replace_last_operand};
use crate::plan::{CodeSpan, ListingPlan};
use crate::sink::Sink;
use crate::steps::Step;
use crate::target::Target;

/// One function up to its instructions.
#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    section: &'a str,
    address: u64,
    size: usize,
}

/// One instruction.
#[derive(Serialize)]
struct Instruction<'a> {
    address: u64,
    bytes: &'a str,
    mnemonic: &'a str,
    operands: &'a [&'a str],
    modifiers: &'a [&'a str],
    branch_target: Option<u64>,
    text: &'a str,
    /// Registers that are live before it, if that was asked for; null for what is in no function.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<Option<Counts>>,
}

/// Registers whose values are still needed; none where that cannot be known.
#[derive(Clone, Copy, Debug, Serialize)]
struct Counts {
    vgprs: Option<usize>,
    agprs: Option<usize>,
    sgprs: Option<usize>,
}

impl From<LiveCounts> for Counts {
    fn from(LiveCounts { vgprs, agprs, sgprs }: LiveCounts) -> Self {
        Self { vgprs, agprs, sgprs }
    }
}

/// Writes spans of one object.
#[derive(Clone, Copy)]
pub struct JsonWriter<'p, 'a> {
    /// The object.
    pub plan: &'p ListingPlan<'a>,
}

impl JsonWriter<'_, '_> {
    /// One span as a JSON object: a function and its instructions, or data.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn span(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        let Some(section) = self.plan.section(span) else { return Ok(()) };
        let name = span.shown.last().and_then(|&it| section.labels.get(it));
        let start = span.address.wrapping_sub(section.address);
        let function = Function {
            name: &String::from_utf8_lossy(name.map_or(b"", |it| &it.name)),
            section: &String::from_utf8_lossy(&section.name),
            address: span.address,
            size: span.bytes.end - usize::try_from(start).unwrap_or(span.bytes.end),
        };
        serde_json::to_writer(&mut *part.bytes(), &function)?;
        part.bytes().pop();
        match span.is_data {
            true => self.data(span, part)?,
            false => self.code(span, part)?,
        }
        part.bytes().push(b'}');
        Ok(())
    }

    fn code(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        let Some(section) = self.plan.section(span) else { return Ok(()) };
        part.bytes().extend_from_slice(b",\"instructions\":[");
        let start = self.plan.live.as_ref().map_or(0, |it| it.start(span.section));
        let mut line = Line::default();
        let mut is_first = true;
        let mut msb = VgprMsb::default();
        for (at, step, size) in self.plan.steps(span) {
            let encoding = section.code.get(at..at + size).unwrap_or_default();
            let address = section.address.wrapping_add(at as u64);
            let branch_target = match step {
                Step::Zeros => continue,
                Step::Unknown => {
                    msb = VgprMsb::default();
                    line.unknown(encoding);
                    None
                }
                Step::Inst(inst) => {
                    let branch = inst.branch_target(address);
                    let target = branch.and_then(|it| span.target(self.plan, &inst, it));
                    line.inst(self.plan, &inst, msb, target.as_ref());
                    msb.update(&inst);
                    branch
                }
            };
            if !is_first {
                part.bytes().push(b',');
            }
            is_first = false;
            let live = self.plan.live.as_ref().map(|it| it.at(address.wrapping_add(start)));
            line.write(part.bytes(), address, encoding, branch_target, live)?;
            part.pass()?;
        }
        part.bytes().push(b']');
        Ok(())
    }

    fn data(&self, span: &CodeSpan, part: &mut impl Sink) -> io::Result<()> {
        let code = self.plan.section(span).map_or(&[][..], |it| it.code);
        part.bytes().extend_from_slice(b",\"instructions\":[],\"data\":\"");
        for row in code.get(span.bytes.clone()).unwrap_or_default().chunks(64) {
            push_bytes(part.bytes(), row);
            part.pass()?;
        }
        part.bytes().push(b'"');
        Ok(())
    }
}

/// The text of one instruction and where its parts are.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    tokens: Vec<(Token, usize)>,
}

impl Line {
    fn inst(
        &mut self,
        plan: &ListingPlan<'_>,
        inst: &Inst,
        msb: VgprMsb,
        target: Option<&Target<'_>>,
    ) {
        self.text.clear();
        self.tokens.clear();
        plan.decoder.print_tokens(inst, msb, &mut self.text, &mut self.tokens);
        if let Some(Target::Operand(name)) = target {
            replace_last_operand(&mut self.text, &mut self.tokens, 0, name);
        }
    }

    fn unknown(&mut self, bytes: &[u8]) {
        self.text.clear();
        push_directive(&mut self.text, bytes);
        self.tokens.clear();
        self.tokens.push((Token::Mnemonic, 0));
        self.tokens.push((Token::Immediate, b".long ".len()));
    }

    fn write(
        &self,
        out: &mut Vec<u8>,
        address: u64,
        encoding: &[u8],
        branch_target: Option<u64>,
        live: Option<Option<LiveCounts>>,
    ) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.text);
        let words = Words::of(&text, &self.tokens);
        let mut bytes = Vec::with_capacity(2 * encoding.len());
        push_bytes(&mut bytes, encoding);
        let instruction = Instruction {
            address,
            bytes: &String::from_utf8_lossy(&bytes),
            mnemonic: words.mnemonic,
            operands: &words.operands,
            modifiers: &words.modifiers,
            branch_target,
            text: &text,
            live: live.map(|counts| counts.map(Counts::from)),
        };
        Ok(serde_json::to_writer(out, &instruction)?)
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        push_hex(out, Case::Lower, u64::from(byte), 2);
    }
}
