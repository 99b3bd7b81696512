//! An object that was looked at and is still to be shown: what is said of its kernels is made as it is written.

use std::io::Write;

use anyhow::Result;
use hsaco::listing::Sink as _;
use hsaco::object::{CodeObject, Index, Kernel};
use serde::Serialize;

use super::model::{self, KernelInfo, ObjectInfo, RelocationInfo};
use super::text::write_symbols;
use crate::output::Output;
use crate::parallel;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::select::KernelSelection;
use crate::stream;
use crate::text_files::Page;
use crate::verb::ls::kernel_row;

/// Kernels that are written together.
const TOGETHER: usize = 64;

/// An object, and what it defines.
pub(super) struct Row<'e> {
    pub(super) item: ObjectItem<'e, 'e>,
    pub(super) index: Index<'e>,
    /// What is wrong with it.
    problems: Vec<String>,
}

impl<'e> Row<'e> {
    /// Looks at an object, and notes all that is wrong with it and its wanted kernels.
    pub(super) fn new(
        item: &ObjectItem<'e, '_>,
        kernels: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Self {
        let entry = item.entry;
        let item = ObjectItem::new(item.number, entry, &mut Trouble::default());
        let mut row = Self { index: Index::default(), problems: Vec::new(), item };
        let Some(object) = &row.item.object else { return row };
        row.index = object.index();
        let mut problems = object.problems();
        problems.extend_from_slice(row.index.problems());
        problems.extend(object.relocations().1);
        for problem in problems.into_iter().map(|it| row.item.located(it)) {
            row.problems.push(problem.to_string());
            trouble.note(row.item.place(), problem);
        }
        let wanted = row.wanted(kernels);
        let parts: Vec<&[&Kernel<'_>]> = wanted.chunks(TOGETHER).collect();
        let noted = parallel::map(&parts, TOGETHER, |part| {
            let mut trouble = Trouble::default();
            part.iter().for_each(|kernel| row.note_problems(object, kernel, &mut trouble));
            trouble
        });
        noted.into_iter().for_each(|it| trouble.append(it));
        row
    }

    fn wanted(&self, kernels: &KernelSelection) -> Vec<&Kernel<'e>> {
        kernels.of(&self.index)
    }

    fn note_problems(&self, object: &CodeObject<'_>, kernel: &Kernel<'_>, trouble: &mut Trouble) {
        kernel_row(kernel, object.target().generation(), &self.item, trouble);
        let decoded = kernel.metadata().and_then(|it| it.decode().ok());
        let arguments = decoded.and_then(|it| it.arguments());
        for error in arguments.into_iter().flatten().filter_map(Result::err) {
            let place = format!("{}: kernel {}", self.item.place(), kernel.name());
            trouble.note(place, self.item.located(error));
        }
    }

    /// What is said of a kernel; its problems are noted already.
    fn kernel<'k>(&self, object: &CodeObject<'_>, kernel: &Kernel<'k>) -> KernelInfo<'k> {
        KernelInfo::new(kernel, object, &self.item, &mut Trouble::default())
    }

    pub(super) fn write_text(&self, out: &mut Output, kernels: &KernelSelection) -> Result<()> {
        let color = out.color();
        let mut page = Page { out: Vec::new(), color };
        page.head(self, kernels.is_all())?;
        out.write_all(&page.out)?;
        let Some(object) = &self.item.object else { return Ok(()) };
        let wanted = self.wanted(kernels);
        let parts: Vec<&[&Kernel<'_>]> = wanted.chunks(TOGETHER).collect();
        stream::write(&parts, out, |kernels, part| {
            for kernel in *kernels {
                let mut page = Page { out: std::mem::take(part.bytes()), color };
                let written = page.kernel(kernel, &self.kernel(object, kernel));
                *part.bytes() = page.out;
                written.map_err(std::io::Error::other)?;
                part.pass()?;
            }
            Ok(())
        })?;
        if kernels.is_all() {
            write_symbols(out, object, color)?;
        }
        Ok(())
    }

    pub(super) fn write_json(&self, out: &mut Output, kernels: &KernelSelection) -> Result<()> {
        let mut head = serde_json::to_vec(&ObjectInfo::new(&self.item, &self.index))?;
        // What there is much of is written one by one.
        head.pop();
        out.write_all(&head)?;
        if let Some(object) = &self.item.object {
            out.write_all(b",\"kernels\":[")?;
            self.write_json_kernels(out, object, kernels)?;
            out.write_all(b"],\"symbols\":")?;
            write_list(out, model::symbols(object))?;
            out.write_all(b",\"relocations\":")?;
            write_list(out, object.relocations().0.iter().map(RelocationInfo::new))?;
        }
        out.write_all(b",\"problems\":")?;
        serde_json::to_writer(&mut *out, &self.problems)?;
        Ok(out.write_all(b"}")?)
    }

    fn write_json_kernels(
        &self,
        out: &mut Output,
        object: &CodeObject<'_>,
        kernels: &KernelSelection,
    ) -> Result<()> {
        let wanted = self.wanted(kernels);
        let parts: Vec<(usize, &[&Kernel<'_>])> = wanted.chunks(TOGETHER).enumerate().collect();
        stream::write(&parts, out, |(number, kernels), part| {
            for (at, kernel) in kernels.iter().enumerate() {
                if *number > 0 || at > 0 {
                    part.bytes().push(b',');
                }
                serde_json::to_writer(part.bytes(), &self.kernel(object, kernel))?;
                part.pass()?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Writes a list of which only one item is in memory.
fn write_list<T: Serialize>(out: &mut Output, items: impl Iterator<Item = T>) -> Result<()> {
    out.write_all(b"[")?;
    for (number, item) in items.enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        serde_json::to_writer(&mut *out, &item)?;
    }
    Ok(out.write_all(b"]")?)
}
