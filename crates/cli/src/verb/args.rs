//! `hsaco args`: the arguments of kernels, where they are and of which type.

use std::io::Write;

use anyhow::Result;
use hsaco::dwarf::Spelling;
use hsaco::kernarg::{SpelledArgument, SpelledMember};
use hsaco::object::metadata::OwnedValueKind;
use hsaco_describe::arguments::{Arguments, ArgumentsOf, Options};

use crate::args::{Answer, Inputs, KernelFilter, ObjectFilter};
use crate::frame::Heading;
use crate::report::Status;
use crate::skeleton::{self, Asked, Look, Verb};
use crate::table::{Cell, Table};
use crate::text::shown;

/// Shows the arguments of kernels: offset, size, alignment, type, members and padding
///
/// Offsets and sizes are the metadata's, types and members those of the debug information (-g). What the
/// two say differently is named, and ends in exit code 1. Without metadata the offsets are computed, and said to be.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    /// Show what typedefs stand for instead of their names
    #[arg(long)]
    resolve_typedefs: bool,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let asked = Asked::new(&args.inputs, &args.objects, &args.answer);
    skeleton::run(args, asked.of_kernels(&args.kernels))
}

impl Verb for Args {
    type Row<'e> = Arguments;
    const HEADING: Heading = Heading::Container;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Arguments {
        let spelling = Spelling { resolve_typedefs: self.resolve_typedefs, ..Spelling::default() };
        let options = Options { kernels: look.kernels, spelling, max_size: self.inputs.max_size };
        Arguments::new(look.item, &options, look.trouble)
    }

    fn text(&self, row: &Arguments, page: &mut skeleton::Page) -> Result<()> {
        row.kernels.iter().try_for_each(|it| write_kernel(&mut page.out, it, page.color))
    }

    fn is_finding(&self, row: &Arguments) -> bool {
        row.disagree()
    }
}

fn write_kernel(out: &mut Vec<u8>, kernel: &ArgumentsOf, color: bool) -> Result<()> {
    writeln!(out, "\nkernel {}", shown(&kernel.demangled))?;
    if kernel.computed {
        writeln!(out, "no metadata: offsets are computed from the types")?;
    }
    let mut page = Page::new();
    let mut end = Some(0);
    for spelled in &kernel.arguments {
        page.padding(end, spelled.argument.offset, 0);
        page.argument(spelled);
        end = spelled.argument.offset.and_then(|it| it.checked_add(spelled.argument.size?));
    }
    page.padding(end, kernel.kernarg_size.filter(|_| !kernel.computed), 0);
    if page.0.is_empty() {
        writeln!(out, "no arguments")?;
        return Ok(());
    }
    page.0.write(out, color)?;
    for disagreement in &kernel.disagreements {
        writeln!(out, "disagreement: {}", shown(&disagreement.message))?;
    }
    Ok(())
}

/// The table of one kernel. Offsets are those in the segment, of members too.
struct Page(Table);

impl Page {
    fn new() -> Self {
        Self(Table::titled(">OFFSET|>SIZE|>ALIGN|KIND|TYPE|ARGUMENT"))
    }

    fn argument(&mut self, spelled: &SpelledArgument) {
        let text = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let argument = &spelled.argument;
        self.0.row([
            argument.offset.into(),
            argument.size.into(),
            argument.alignment.into(),
            Cell::from(&text(argument.kind.as_ref().map(OwnedValueKind::name))),
            Cell::from(&text(spelled.ty.as_deref())),
            Cell::from(&text(argument.name.as_deref())),
        ]);
        if let Some(members) = &spelled.members {
            self.members(members, argument.offset, argument.size, 1);
        }
    }

    /// The members of a structure that begins at `start`, with what lies between them.
    fn members(
        &mut self,
        members: &[SpelledMember],
        start: Option<u64>,
        size: Option<u64>,
        depth: usize,
    ) {
        let mut end = start;
        for (at, member) in members.iter().enumerate() {
            let offset = start.zip(member.offset).and_then(|(start, it)| start.checked_add(it));
            self.padding(end, offset, depth);
            self.member(member, start, offset, depth);
            if let Some(inner) = &member.members {
                // What follows a base may stand in the padding at its end.
                let next =
                    members.get(at + 1).and_then(|it| it.offset?.checked_sub(member.offset?));
                let room = next.filter(|room| member.base && *room > 0);
                let size = member.size.map(|size| size.min(room.unwrap_or(size)));
                self.members(inner, offset, size, depth + 1);
            }
            end = end.max(member_end(member, start, offset));
        }
        let all = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        // The one byte of a structure without members belongs to no member.
        self.padding(end, all.filter(|_| !members.is_empty()), depth);
    }

    fn member(
        &mut self,
        member: &SpelledMember,
        start: Option<u64>,
        offset: Option<u64>,
        depth: usize,
    ) {
        let name = match (&member.name, member.base) {
            (Some(name), _) => name.clone(),
            (None, true) => "(base)".to_owned(),
            (None, false) => "-".to_owned(),
        };
        let bits = start.zip(member.bit_offset).and_then(|(start, bit)| {
            let byte = start.checked_add(bit / 8)?;
            Some((format!("{byte}.{}", bit % 8), bit_count(member.bit_size?)))
        });
        let (place, size) = match &bits {
            Some((place, size)) => (Cell::from(place), Cell::from(size)),
            None => (offset.into(), member.size.into()),
        };
        let alignment = match bits {
            Some(_) => Cell::from(""),
            None => member.alignment.into(),
        };
        let ty = indented(depth, &member.ty);
        let name = indented(depth, &name);
        self.0.row([place, size, alignment, "".into(), Cell::from(&ty), Cell::from(&name)]);
    }

    /// Bytes between what ends and what begins next.
    fn padding(&mut self, end: Option<u64>, next: Option<u64>, depth: usize) {
        if let Some((end, next)) = end.zip(next)
            && end < next
        {
            let text = indented(depth, "(padding)");
            let size = next - end;
            self.0.row([
                end.into(),
                size.into(),
                "".into(),
                "".into(),
                "".into(),
                Cell::from(&text),
            ]);
        }
    }
}

/// Where a member ends, in whole bytes.
fn member_end(member: &SpelledMember, start: Option<u64>, offset: Option<u64>) -> Option<u64> {
    match member.bit_offset.zip(member.bit_size) {
        Some((bit, size)) => start?.checked_add(bit.checked_add(size)?.div_ceil(8)),
        None => offset?.checked_add(member.size?),
    }
}

fn bit_count(bits: u64) -> String {
    if bits == 1 { "1 bit".to_owned() } else { format!("{bits} bits") }
}

fn indented(depth: usize, text: &str) -> String {
    format!("{:width$}{text}", "", width = 2 * depth)
}
