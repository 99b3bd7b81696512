//! `args` for people: a table for each kernel, every byte of the segment in it.

use std::io::Write;

use anyhow::Result;
use hsaco::kernarg::{SpelledArgument, SpelledMember};
use hsaco::object::metadata::OwnedValueKind;

use super::Question;
use super::model::{KernelInfo, ObjectArguments};
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::table::{Align, Cell, Table};
use crate::text::shown;
use crate::text_files;
use crate::verb::ls::object_line;

pub(super) fn write(
    page: &mut text_files::Page,
    item: &ObjectItem<'_, '_>,
    question: &Question<'_>,
    trouble: &mut Trouble,
) -> Result<()> {
    writeln!(page.out, "\n{}", object_line(item))?;
    for kernel in ObjectArguments::new(item, question, trouble).kernels {
        write_kernel(&mut page.out, &kernel, page.color)?;
    }
    Ok(())
}

fn write_kernel(out: &mut Vec<u8>, kernel: &KernelInfo, color: bool) -> Result<()> {
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
        Self(Table::new(&[
            ("OFFSET", Align::Right),
            ("SIZE", Align::Right),
            ("ALIGN", Align::Right),
            ("KIND", Align::Left),
            ("TYPE", Align::Left),
            ("ARGUMENT", Align::Left),
        ]))
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
        // The one byte of a structure without members is nobody's.
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
