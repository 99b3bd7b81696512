//! What to show of an object: runs of code and data between the places that have a name.

use std::io::Write;
use std::ops::Range;

use hsaco_analysis::Code;
use hsaco_bytes::{Error, ErrorKind};
use hsaco_elf::symbol::{STT_AMDGPU_HSA_KERNEL, STT_OBJECT};
use hsaco_isa::Decoder;
use hsaco_object::{CodeObject, KernelDescriptor};

use crate::layout::{Label, Layout, Section, is_data};
use crate::lister::{Lister, Reassembly};
use crate::live::Live;
use crate::selection::{Selection, Wanted, WantedKernel};
use crate::source::{Place, Source};
use crate::steps::{Step, Steps};

/// Code that threads take at a time: enough to be worth it, little enough to be held as text.
const UNIT: usize = 12 << 10;

/// One object, ready to be listed.
pub struct ListingPlan<'a> {
    pub(crate) layout: Layout<'a>,
    pub(crate) decoder: Decoder,
    /// What makes bytes of the text again, where that is wanted.
    pub(crate) reassembly: Option<Reassembly>,
    pub(crate) spans: Vec<CodeSpan>,
    /// Live registers, where they are wanted.
    pub(crate) live: Option<Live<'a>>,
    /// What the code comes from, where that is wanted.
    pub(crate) source: Option<Source<'a>>,
}

/// The bytes from one named place to the next.
pub struct CodeSpan {
    /// Its place among the spans.
    pub number: usize,
    /// The section, by its number.
    pub(crate) section: usize,
    /// True for the first span of its section that is shown.
    pub(crate) opens_section: bool,
    /// The address that has the names.
    pub(crate) address: u64,
    /// The names to show, by their numbers.
    pub(crate) shown: Vec<usize>,
    /// The name that branches into the span are annotated with, by its number.
    pub(crate) nearest: usize,
    /// The addresses that are annotated so.
    pub(crate) own: Range<u64>,
    /// What a kernel descriptor in the code looks like.
    pub(crate) descriptor: Vec<u8>,
    /// Where the bytes to show are in the section.
    pub(crate) bytes: Range<usize>,
    pub(crate) is_data: bool,
}

impl<'a> ListingPlan<'a> {
    /// Reads what listing an object takes; no instruction is decoded, unless to detect how.
    ///
    /// What is wrong with the object goes to `problems`; nothing is made of one whose processor is not known.
    pub fn new(
        object: &CodeObject<'a>,
        lister: &Lister,
        selection: &Selection<'_>,
        problems: &mut Vec<Error>,
    ) -> Option<Self> {
        problems.extend_from_slice(object.elf().problems());
        let unsupported =
            |detail: String| Error::new(ErrorKind::Unsupported, "instructions", detail);
        let Some(processor) = object.target().id().map(|it| it.processor) else {
            let detail = format!("those of {} are not known", object.target());
            problems.push(unsupported(detail));
            return None;
        };
        let (decoder, options) = match lister.decoder(object, processor) {
            Ok(known) => known,
            Err(error) => {
                problems.push(unsupported(error.to_string()));
                return None;
            }
        };
        let kernels = selection.kernels_of(object);
        let asked = (selection, kernels.as_slice());
        let mut plan = Self::narrow(object, lister, asked, &decoder, problems)
            .unwrap_or_else(|| Self::whole(object, lister, asked, decoder, problems));
        if lister.options.reassembles {
            plan.reassembly = lister.reassembly(processor, options).ok();
        }
        if lister.options.live {
            match Code::of(object) {
                Ok(code) => {
                    plan.live = Some(Live::new(code, plan.shown_code(), lister.options.each));
                }
                Err(error) => problems.push(error),
            }
        }
        selection.note(!plan.spans.is_empty());
        if let Some(source) = &plan.source {
            lister.note_lines(source.has_lines());
            let starts = plan.shown_code().map(|(section, code)| (section, code.start));
            problems.extend(source.errors(starts));
        }
        Some(plan)
    }

    /// The code to show: the number of its section, and its addresses there.
    fn shown_code(&self) -> impl Iterator<Item = (usize, Range<u64>)> {
        let code = self.spans.iter().filter(|it| !it.is_data);
        code.filter_map(|it| Some((it.section, self.addresses(it)?)))
    }

    fn whole(
        object: &CodeObject<'a>,
        lister: &Lister,
        (selection, kernels): (&Selection<'_>, &[WantedKernel<'_>]),
        decoder: Decoder,
        problems: &mut Vec<Error>,
    ) -> Self {
        let layout = Layout::read(object, problems);
        let wanted = selection.of(kernels, object, &layout);
        let spans = Planner::new(object, &layout, &wanted, lister).spans();
        let source = lister.options.source.as_ref().map(|args| Source::new(object, args));
        let source = source.and_then(|it| it.map_err(|error| problems.push(error)).ok());
        Self { source, ..Self::plain(layout, decoder, spans) }
    }

    /// The plan for a few functions of many, made without looking at the others: what one costs does not depend on how
    /// many there are. Nothing where others matter, because branches go there or names are not what they usually are.
    fn narrow(
        object: &CodeObject<'a>,
        lister: &Lister,
        (selection, kernels): (&Selection<'_>, &[WantedKernel<'_>]),
        decoder: &Decoder,
        problems: &mut Vec<Error>,
    ) -> Option<Self> {
        let (layout, functions) = Layout::near(object, selection.few(kernels)?.into_iter())?;
        if !kernels.iter().all(|it| it.is_one_span(&layout)) {
            return None;
        }
        let wanted = selection.of(kernels, object, &layout);
        let spans = Planner::new(object, &layout, &wanted, lister).spans();
        let mut plan = Self::plain(layout, decoder.clone(), spans);
        if plan.spans.iter().any(|span| plan.leaves(span)) {
            return None;
        }
        let source = lister
            .options
            .source
            .as_ref()
            .map(|args| Source::of_functions(object, args, &functions, &plan.code_addresses()));
        plan.source = source.and_then(|it| it.map_err(|error| problems.push(error)).ok());
        Some(plan)
    }

    /// A plan with nothing beside the instructions.
    fn plain(layout: Layout<'a>, decoder: Decoder, spans: Vec<CodeSpan>) -> Self {
        Self { layout, decoder, reassembly: None, spans, live: None, source: None }
    }

    /// Whether a branch goes out of a span.
    fn leaves(&self, span: &CodeSpan) -> bool {
        let base = self.section(span).map_or(0, |it| it.address);
        self.steps(span).any(|(at, step, _)| match step {
            Step::Inst(inst) => inst
                .branch_target(base.wrapping_add(at as u64))
                .is_some_and(|target| !span.own.contains(&target)),
            Step::Unknown | Step::Zeros => false,
        })
    }

    /// The addresses of all code to show, in order.
    fn code_addresses(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<_> = self.shown_code().map(|(_, code)| code).collect();
        ranges.sort_by_key(|it| it.start);
        ranges
    }

    fn addresses(&self, span: &CodeSpan) -> Option<Range<u64>> {
        let address = |at: usize| Some(self.section(span)?.address.wrapping_add(at as u64));
        Some(address(span.bytes.start)?..address(span.bytes.end)?)
    }

    /// The section that a span is in.
    pub(crate) fn section(&self, span: &CodeSpan) -> Option<&Section<'a>> {
        self.layout.sections.get(span.section)
    }

    /// The instructions of a span.
    pub(crate) fn steps(&self, span: &CodeSpan) -> Steps<'_> {
        self.steps_with(&self.decoder, span)
    }

    fn steps_with<'p>(&'p self, decoder: &'p Decoder, span: &CodeSpan) -> Steps<'p> {
        let code = self.section(span).map_or(&[][..], |it| it.code);
        Steps { decoder, code, at: span.bytes.start, end: span.bytes.end }
    }

    /// What the last instruction comes from that is shown before a span, where sources are wanted.
    pub(crate) fn place_before(&self, span: &CodeSpan) -> Place<'_> {
        let Some(source) = &self.source else { return Place::default() };
        let earlier = self.spans.get(..span.number).unwrap_or_default();
        let last = |span: &CodeSpan| {
            let base = self.section(span)?.address;
            let steps = self.steps(span).filter(|(_, step, _)| !matches!(step, Step::Zeros));
            steps.last().map(|(at, ..)| (span.section, base.wrapping_add(at as u64)))
        };
        let last = earlier.iter().rev().filter(|it| !it.is_data).find_map(last);
        last.map(|(section, address)| source.at(section, address)).unwrap_or_default()
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many bytes of code there are to show.
    #[must_use]
    pub fn size(&self) -> usize {
        self.spans.iter().map(|span| span.bytes.len()).sum()
    }

    /// The spans in groups that threads take one after the other.
    #[must_use]
    pub fn units(&self) -> Vec<&[CodeSpan]> {
        let mut size = 0;
        let mut begins_unit = |before: &CodeSpan, _: &CodeSpan| {
            size += before.bytes.len();
            let is_full = size >= UNIT;
            if is_full {
                size = 0;
            }
            !is_full
        };
        self.spans.chunk_by(&mut begins_unit).collect()
    }
}

/// Makes the spans of one object.
struct Planner<'p, 'a> {
    object: &'p CodeObject<'a>,
    layout: &'p Layout<'a>,
    wanted: &'p Wanted<'p>,
    /// Whether descriptors are shown as such, and not as the bytes that they are.
    reads_descriptors: bool,
}

impl<'p, 'a> Planner<'p, 'a> {
    fn new(
        object: &'p CodeObject<'a>,
        layout: &'p Layout<'a>,
        wanted: &'p Wanted<'p>,
        lister: &Lister,
    ) -> Self {
        Self { object, layout, wanted, reads_descriptors: !lister.options.reassembles }
    }

    fn spans(&self) -> Vec<CodeSpan> {
        let mut spans: Vec<CodeSpan> = Vec::new();
        for (number, section) in self.layout.sections.iter().enumerate() {
            if section.code.is_empty() {
                continue;
            }
            let reach = self.layout.reach(number);
            let mut first = 0;
            for group in section.labels.chunk_by(|a, b| a.address == b.address) {
                let labels = first..first + group.len();
                first = labels.end;
                if let Some(mut span) = self.span(number, section, labels, &reach) {
                    span.number = spans.len();
                    span.opens_section = spans.last().is_none_or(|it| it.section != number);
                    spans.push(span);
                }
            }
        }
        spans
    }

    /// The span that begins with these labels, if it is wanted.
    fn span(
        &self,
        number: usize,
        section: &Section<'_>,
        labels: Range<usize>,
        reach: &Range<u64>,
    ) -> Option<CodeSpan> {
        let here = section.labels.get(labels.clone())?;
        let address = here.first()?.address;
        let next = section.labels.get(labels.end).map_or(u64::MAX, |it| it.address);
        let section_end = section.address.saturating_add(section.code.len() as u64);
        let end = section_end.min(next).min(self.wanted.stop());
        let is_data = here.iter().all(is_data);
        let shown = self.wanted.shown(number, here, address..end)?;
        if address < section.address || address >= end || end <= self.wanted.start() {
            return None;
        }
        let offset = |address: u64| usize::try_from(address - section.address).ok();
        let whole = offset(address)?..offset(end)?;
        let (descriptor, skipped) = self.descriptor(section, here, whole.clone());
        let start = self.wanted.start_in(number, address..end).max(section.address);
        let bytes = (whole.start + skipped).max(offset(start)?).min(whole.end)..whole.end;
        Some(CodeSpan {
            number: 0,
            section: number,
            opens_section: false,
            address,
            shown: shown.into_iter().map(|it| labels.start + it).collect(),
            nearest: labels.end - 1,
            own: address.max(reach.start)..next.min(reach.end),
            descriptor,
            bytes,
            is_data,
        })
    }

    /// How a kernel's descriptor at the start of a span reads, and the bytes it takes.
    fn descriptor(
        &self,
        section: &Section<'_>,
        labels: &[Label<'_>],
        whole: Range<usize>,
    ) -> (Vec<u8>, usize) {
        for label in labels.iter().filter(|_| self.reads_descriptors) {
            if label.kind == STT_AMDGPU_HSA_KERNEL {
                let why = "code object v2 is not supported";
                return (refusal(&label.name, why, section.code, V2_SIZE), V2_SIZE);
            }
            let name = label.name.strip_suffix(b".kd");
            if let Some(name) = name.filter(|_| label.kind == STT_OBJECT) {
                let bytes = section.code.get(whole).unwrap_or_default();
                let text = self.directives(name, bytes, label.address).unwrap_or_else(|| {
                    let why = "kernel descriptor must be 64-byte aligned";
                    refusal(&label.name, why, section.code, KernelDescriptor::SIZE)
                });
                return (text, KernelDescriptor::SIZE);
            }
        }
        (Vec::new(), 0)
    }

    fn directives(&self, name: &[u8], bytes: &[u8], address: u64) -> Option<Vec<u8>> {
        let bytes = <&[u8; KernelDescriptor::SIZE]>::try_from(bytes).ok()?;
        let generation = self.object.target().generation()?;
        if !address.is_multiple_of(KernelDescriptor::SIZE as u64) {
            return None;
        }
        let version = self.object.abi_version().code_object_version().unwrap_or_default();
        let mut text = [b".amdhsa_kernel ", name, b"\n"].concat();
        for line in KernelDescriptor::from_bytes(bytes).directives(generation, version) {
            // Writing to a vector cannot fail.
            let _ = writeln!(text, "\t{line}");
        }
        text.extend_from_slice(b".end_amdhsa_kernel\n");
        Some(text)
    }
}

/// Bytes of a kernel's header in code object V2.
const V2_SIZE: usize = 256;

/// What stands for a header that cannot be shown. The bytes are those that the section begins with,
/// wherever the header is: so does `llvm-objdump`.
fn refusal(name: &[u8], why: &str, code: &[u8], size: usize) -> Vec<u8> {
    let why = format!(": {why}\n; decoding failed region as bytes\n");
    let mut text = [b"; error decoding ", name, why.as_bytes()].concat();
    for byte in code.iter().take(size) {
        let _ = writeln!(text, "\t.byte\t 0x{byte:X}");
    }
    text
}
