//! `ls` for programs.

use anyhow::Result;
use hsaco_describe::list::{Contents, KernelRow, ObjectRow};

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
    let ObjectRow { code_object_version, kind, .. } = contents.head();
    let others = contents.others();
    let mut json = Members::begin(Pieces::default())?;
    json.member("index", &index)?;
    json.member("entry_id", &entry_id)?;
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
        let size = chunk.iter().map(|it| likely_size(it.name().as_bytes().len())).sum();
        let mut json = Vec::with_capacity(size);
        let made = chunk.iter().enumerate().try_for_each(|(at, kernel)| {
            if *number > 0 || at > 0 {
                json.push(b',');
            }
            let (row, error) = kernel.row();
            contents.note(kernel.name(), error, &mut own);
            push_kernel(&row, &mut json)
        });
        (made.map(|()| json), own)
    });
    gather(parts, trouble).into_iter().collect()
}

/// Bytes that the JSON of a kernel is likely to take.
fn likely_size(name: usize) -> usize {
    const WITHOUT_NAMES: usize = 240;
    const NAMES: usize = 4;
    WITHOUT_NAMES + NAMES * name
}

/// Appends the same JSON as the row serializes to, without a search of every key for what to escape.
fn push_kernel(row: &KernelRow<'_>, json: &mut Vec<u8>) -> Result<()> {
    let texts = [
        ("{\"name\":", Some(&row.name)),
        (",\"demangled\":", Some(&row.demangled)),
        (",\"symbol\":", row.symbol.as_ref()),
    ];
    for (key, text) in texts {
        json.extend_from_slice(key.as_bytes());
        serde_json::to_writer(&mut *json, &text)?;
    }
    let numbers = [
        (",\"descriptor\":", row.descriptor),
        (",\"entry\":", row.entry),
        (",\"code_size\":", row.code_size),
        (",\"vgprs\":", row.vgprs),
        (",\"agprs\":", row.agprs),
        (",\"sgprs\":", row.sgprs),
        (",\"lds\":", row.lds),
        (",\"scratch\":", row.scratch),
        (",\"kernarg_size\":", row.kernarg_size),
        (",\"wavefront_size\":", row.wavefront_size),
        (",\"max_workgroup_size\":", row.max_workgroup_size),
    ];
    for (key, number) in numbers {
        json.extend_from_slice(key.as_bytes());
        serde_json::to_writer(&mut *json, &number)?;
    }
    json.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_the_same_json_either_way() {
        let row = KernelRow {
            name: "quote\"tab\t".into(),
            demangled: "Stra\u{df}e".into(),
            symbol: None,
            descriptor: Some(u64::MAX),
            entry: None,
            code_size: Some(1),
            vgprs: Some(2),
            agprs: Some(3),
            sgprs: Some(4),
            lds: Some(5),
            scratch: Some(6),
            kernarg_size: Some(7),
            wavefront_size: Some(8),
            max_workgroup_size: Some(9),
        };
        let mut json = Vec::new();
        push_kernel(&row, &mut json).unwrap();
        assert_eq!(json, serde_json::to_vec(&row).unwrap());
    }
}
