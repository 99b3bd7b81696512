//! The tables of data sets: what is documented is what there is, and rows are those of files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use hsaco_container::WalkOptions;
use hsaco_describe::dataset::{Table, digest, scan, to_parquet};
use hsaco_files::input::inputs;
use hsaco_table::CellValue;

const MARK: &str =
    "<!-- The rest is written by a test: BLESS=1 cargo test -p hsaco-describe --test dataset -->\n";

fn document() -> String {
    let mut text = String::new();
    for table in Table::ALL {
        let (name, row) = (table.name(), table.row());
        write!(
            text,
            "\n## `{name}`\n\nA row is {row}.\n\n| column | type | meaning |\n|---|---|---|\n"
        )
        .unwrap();
        for column in table.columns() {
            writeln!(text, "| `{}` | {} | {} |", column.name, column.ty.name(), column.about)
                .unwrap();
        }
    }
    text
}

#[test]
fn columns_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dataset.md");
    let text = fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once(MARK).unwrap();
    let expected = format!("{head}{MARK}{}", document());
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, expected).unwrap();
    } else {
        assert_eq!(text, expected, "BLESS=1 cargo test -p hsaco-describe --test dataset");
    }
}

#[test]
fn a_content_gives_its_rows() {
    let path = "../../tests/fixtures/wheel.whl";
    let input = inputs(&[path.into()]).next().unwrap().map_err(|it| it.error).unwrap();
    let digest = digest(&input);
    let found = scan(&input, &digest, &WalkOptions::default());
    assert_eq!((found.contents.len(), found.objects.len(), found.kernels.len()), (1, 12, 16));
    assert_eq!(found.error, None);
    let first: Vec<_> = found.objects.row(0).take(5).collect();
    assert_eq!(first[0], CellValue::from(digest.as_str()));
    assert_eq!(first[1], CellValue::from("demo/kernels/s1.gfx1100.co"));
    assert_eq!(first[4], CellValue::from("gfx1100"));
    let again = scan(&input, &digest, &WalkOptions::default());
    for ((table, rows), (_, other)) in found.tables().into_iter().zip(again.tables()) {
        let bytes = to_parquet(table, rows).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes == to_parquet(table, other).unwrap());
    }
}
