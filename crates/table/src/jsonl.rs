//! JSON lines: an object for each row, with a member for each column.

use std::io::{self, Write};

use crate::rows::Rows;
use crate::value::CellValue;

/// Writes rows, each on a line of its own.
///
/// ```
/// use hsaco_table::{Column, Rows, ColumnType, CellValue, jsonl};
/// let mut rows = Rows::new(&[Column::new("name", ColumnType::Text, ""), Column::new("lds", ColumnType::Number, "")]);
/// rows.push([CellValue::from("a\"b"), CellValue::Null]);
/// let mut out = Vec::new();
/// jsonl::write_rows(&rows, &mut out)?;
/// assert_eq!(out, b"{\"name\":\"a\\\"b\",\"lds\":null}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The output does.
pub fn write_rows(rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..rows.len() {
        let mut comma = "{";
        for (column, value) in rows.columns().iter().zip(rows.row(row)) {
            write!(out, "{comma}\"{}\":", column.name)?;
            comma = ",";
            match value {
                CellValue::Null => out.write_all(b"null")?,
                CellValue::Bool(it) => write!(out, "{it}")?,
                CellValue::Number(it) => write!(out, "{it}")?,
                CellValue::Text(it) => serde_json::to_writer(&mut *out, &*it)?,
            }
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}
