//! `ls` for programs.

use anyhow::Result;
use hsaco_describe::list::{Contents, ObjectRow, likely_json_size};

use super::{gather, index};
use crate::frame::Rows;
use crate::json::{Members, Pieces};
use crate::output::Output;
use crate::parallel;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::select::KernelSelection;
use crate::table::ROWS_A_PART;

pub(super) struct JsonLister<'k> {
    pub(super) kernels: &'k KernelSelection,
}

impl Rows for JsonLister<'_> {
    type Row<'e> = Option<Pieces>;

    fn takes_any_file(&self) -> bool {
        true
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Option<Pieces>> {
        let index = index(item, trouble);
        object(Contents::Read(item, &index), self.kernels, trouble)
    }

    fn is_shown(&self, json: &Option<Pieces>) -> bool {
        json.is_some()
    }

    fn write(&self, json: Option<Pieces>, out: &mut Output) -> Result<()> {
        json.map_or(Ok(()), |it| it.write_to(out))
    }
}

/// The JSON of an object, unless none of its kernels is wanted.
pub(super) fn object(
    contents: Contents<'_, '_>,
    selection: &KernelSelection,
    trouble: &mut Trouble,
) -> Result<Option<Pieces>> {
    let kernels = kernels(contents, selection, trouble)?;
    if kernels.is_empty() && !selection.is_all() {
        return Ok(None);
    }
    let ObjectRow { index, entry_id, offset, size, target, abi_version, .. } = contents.head();
    let ObjectRow { code_object_version, kind, member, .. } = contents.head();
    let others = contents.others();
    let mut json = Members::begin(Pieces::default())?;
    json.member("index", &index)?;
    json.member("entry_id", &entry_id)?;
    if let Some(member) = member {
        json.member("member", &member)?;
    }
    json.member("offset", &offset)?;
    json.member("size", &size)?;
    json.member("target", &target)?;
    json.member("abi_version", &abi_version)?;
    json.member("code_object_version", &code_object_version)?;
    json.member("type", &kind)?;
    json.list("kernels", |out| {
        kernels.into_iter().for_each(|it| out.push(it));
        Ok(())
    })?;
    json.member("functions", &others.functions)?;
    json.member("variables", &others.variables)?;
    json.end().map(Some)
}

/// The wanted kernels, with commas between them.
fn kernels(
    contents: Contents<'_, '_>,
    selection: &KernelSelection,
    trouble: &mut Trouble,
) -> Result<Vec<Vec<u8>>> {
    let wanted = contents.kernels(selection);
    let chunks: Vec<_> = wanted.chunks(ROWS_A_PART).enumerate().collect();
    let parts = parallel::map(&chunks, ROWS_A_PART, |(number, chunk)| {
        let mut own = Trouble::default();
        let size = chunk.iter().map(|it| likely_json_size(it.name().as_bytes().len())).sum();
        let mut json = Vec::with_capacity(size);
        let made = chunk.iter().enumerate().try_for_each(|(at, kernel)| {
            if *number > 0 || at > 0 {
                json.push(b',');
            }
            let (row, error) = kernel.row();
            contents.note(kernel.name(), error, &mut own);
            Ok(row.push_json(&mut json)?)
        });
        (made.map(|()| json), own)
    });
    gather(parts, trouble).into_iter().collect()
}
