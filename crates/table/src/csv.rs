//! Comma-separated values (RFC 4180): a line of names, and a line for each row.
//!
//! What is not known is empty, and empty text is `""`.

use std::io::{self, Write};

use crate::rows::Rows;
use crate::value::{CellValue, Column};

/// Writes the names of columns.
///
/// # Errors
/// The output does.
pub fn write_head(columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = columns.iter().map(|it| it.name).collect();
    writeln!(out, "{}", names.join(","))
}

/// Writes rows.
///
/// # Errors
/// The output does.
pub fn write_rows(rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
    for row in 0..rows.len() {
        for (at, value) in rows.row(row).enumerate() {
            if at > 0 {
                out.write_all(b",")?;
            }
            match value {
                CellValue::Null => {}
                CellValue::Bool(it) => write!(out, "{it}")?,
                CellValue::Number(it) => write!(out, "{it}")?,
                CellValue::Text(it) if needs_quotes(&it) => {
                    write!(out, "\"{}\"", it.replace('"', "\"\""))?;
                }
                CellValue::Text(it) => out.write_all(it.as_bytes())?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn needs_quotes(text: &str) -> bool {
    let edges = [text.chars().next(), text.chars().next_back()];
    text.is_empty()
        || text.contains([',', '"', '\n', '\r'])
        || edges.iter().flatten().any(|it| it.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ColumnType;

    #[test]
    fn what_could_be_misread_is_quoted() {
        let columns =
            [Column::new("a", ColumnType::Text, ""), Column::new("b", ColumnType::Bool, "")];
        let mut rows = Rows::new(&columns);
        for text in ["f(int, int)", "say \"hi\"", "two\nlines", "", " x", "plain"] {
            rows.push([text.into(), true.into()]);
        }
        rows.push([CellValue::Null, CellValue::Null]);
        let mut out = Vec::new();
        write_head(&columns, &mut out).unwrap();
        write_rows(&rows, &mut out).unwrap();
        let expected = "a,b\n\"f(int, int)\",true\n\"say \"\"hi\"\"\",true\n\"two\nlines\",true\n\"\",true\n\" x\",true\nplain,true\n,\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
