//! Parquet: rows by column, in groups, compressed with zstd.
//!
//! Every column may have nulls. Values are written plain, one page for each column of a group. Numbers are signed
//! 64-bit integers, which every reader adds and subtracts well; one that does not fit is null. Addresses are unsigned.

mod thrift;

use std::io::{self, Write};

use hsaco_compress::{Method, compress};

use crate::rows::Rows;
use crate::value::{CellValue, Column, ColumnType};
use thrift::{Struct, push_varint};

const MAGIC: &[u8] = b"PAR1";

/// A group is written once it has so many rows,
const ROWS_OF_GROUP: usize = 1 << 17;
/// or takes so many bytes: sizes of pages are signed numbers of 32 bits.
const BYTES_OF_GROUP: usize = 1 << 27;
/// The level that the zstd library takes for the best of speed and size.
const LEVEL: i32 = 3;

/// Numbers that the format gives to things.
mod number {
    pub(super) const BOOLEAN: i32 = 0;
    pub(super) const INT64: i32 = 2;
    pub(super) const BYTE_ARRAY: i32 = 6;
    pub(super) const OPTIONAL: i32 = 1;
    pub(super) const UTF8: i32 = 0;
    pub(super) const UINT_64: i32 = 14;
    pub(super) const PLAIN: i32 = 0;
    pub(super) const RLE: i32 = 3;
    pub(super) const ZSTD: i32 = 6;
    pub(super) const DATA_PAGE: i32 = 0;
}

/// A file that is being written.
///
/// ```
/// use hsaco_table::parquet::Writer;
/// use hsaco_table::{Column, Rows, ColumnType, CellValue};
/// let columns = [Column::new("name", ColumnType::Text, "The name")];
/// let mut rows = Rows::new(&columns);
/// rows.push([CellValue::from("kernel")]);
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, &columns, "resources")?;
/// writer.write(&rows, &mut file)?;
/// writer.finish(&mut file)?;
/// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    /// Bytes that were written.
    offset: i64,
    table: String,
    /// Rows of the group that is not written yet.
    waiting: Rows,
    groups: Vec<Group>,
}

/// A group of rows that was written.
#[derive(Debug)]
struct Group {
    rows: i64,
    chunks: Vec<Chunk>,
}

/// A column of a group.
#[derive(Debug)]
struct Chunk {
    offset: i64,
    /// Before and after compression, with the page's header.
    sizes: (i64, i64),
    nulls: i64,
}

impl Writer {
    /// Begins a file; `table` is what its rows are, for who reads the file's properties.
    ///
    /// # Errors
    /// The output does.
    pub fn new(out: &mut dyn Write, columns: &[Column], table: &str) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let waiting = Rows::new(columns);
        Ok(Self { offset: 4, table: table.to_owned(), waiting, groups: Vec::new() })
    }

    /// Takes rows of the file's columns.
    ///
    /// # Errors
    /// The output does, or a text is longer than the format allows.
    pub fn write(&mut self, rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..rows.len() {
            self.waiting.push(rows.row(row));
            if self.waiting.len() >= ROWS_OF_GROUP || self.waiting.size() >= BYTES_OF_GROUP {
                self.end_group(out)?;
            }
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The output does.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.end_group(out)?;
        }
        let footer = self.footer();
        let size = u32::try_from(footer.len()).map_err(|_| too_large())?;
        for part in [&footer, &size.to_le_bytes()[..], MAGIC] {
            out.write_all(part)?;
        }
        Ok(())
    }

    fn end_group(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.waiting.columns().to_vec();
        let rows = std::mem::replace(&mut self.waiting, Rows::new(&columns));
        let mut chunks = Vec::new();
        for column in 0..columns.len() {
            let (page, nulls) = page(&rows, column)?;
            let packed = compress(Method::Zstd, &page, LEVEL).map_err(io::Error::other)?;
            let header = page_header(rows.len(), page.len(), packed.len())?;
            let size = |it: &[u8]| long(header.len() + it.len());
            let sizes = (size(&page), size(&packed));
            out.write_all(&header)?;
            out.write_all(&packed)?;
            chunks.push(Chunk { offset: self.offset, sizes, nulls });
            self.offset += sizes.1;
        }
        self.groups.push(Group { rows: long(rows.len()), chunks });
        Ok(())
    }

    fn footer(&self) -> Vec<u8> {
        let columns = self.waiting.columns();
        let count = i32::try_from(columns.len()).unwrap_or(i32::MAX);
        let mut schema = vec![Struct::default().text(4, "hsaco").i32(5, count)];
        schema.extend(columns.iter().map(schema_element));
        let property = |key: &str, value: &str| Struct::default().text(1, key).text(2, value);
        let version = hsaco_bytes::SCHEMA_VERSION.to_string();
        let properties =
            vec![property("hsaco.table", &self.table), property("hsaco.schema_version", &version)];
        Struct::default()
            .i32(1, 1)
            .structures(2, schema)
            .i64(3, self.groups.iter().map(|it| it.rows).sum())
            .structures(4, self.groups.iter().map(|it| row_group(it, columns)).collect())
            .structures(5, properties)
            .text(6, concat!("hsaco version ", env!("CARGO_PKG_VERSION")))
            .end()
    }
}

fn long(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn too_large() -> io::Error {
    io::Error::other("more than a Parquet file can hold")
}

fn physical(ty: ColumnType) -> i32 {
    match ty {
        ColumnType::Bool => number::BOOLEAN,
        ColumnType::Number | ColumnType::Address => number::INT64,
        ColumnType::Text => number::BYTE_ARRAY,
    }
}

fn schema_element(column: &Column) -> Struct {
    let element =
        Struct::default().i32(1, physical(column.ty)).i32(3, number::OPTIONAL).text(4, column.name);
    match column.ty {
        ColumnType::Bool | ColumnType::Number => element,
        ColumnType::Text => {
            let string = Struct::default().structure(1, Struct::default());
            element.i32(6, number::UTF8).structure(10, string)
        }
        ColumnType::Address => {
            let unsigned = Struct::default().byte(1, 64).bool(2, false);
            let integer = Struct::default().structure(10, unsigned);
            element.i32(6, number::UINT_64).structure(10, integer)
        }
    }
}

fn row_group(group: &Group, columns: &[Column]) -> Struct {
    let chunk = |(chunk, column): (&Chunk, &Column)| {
        let statistics = Struct::default().i64(3, chunk.nulls);
        let data = Struct::default()
            .i32(1, physical(column.ty))
            .i32s(2, &[number::PLAIN, number::RLE])
            .texts(3, &[column.name])
            .i32(4, number::ZSTD)
            .i64(5, group.rows)
            .i64(6, chunk.sizes.0)
            .i64(7, chunk.sizes.1)
            .i64(9, chunk.offset)
            .structure(12, statistics);
        Struct::default().i64(2, chunk.offset).structure(3, data)
    };
    let size = group.chunks.iter().map(|it| it.sizes.0).sum();
    Struct::default()
        .structures(1, group.chunks.iter().zip(columns).map(chunk).collect())
        .i64(2, size)
        .i64(3, group.rows)
}

fn page_header(rows: usize, size: usize, packed: usize) -> io::Result<Vec<u8>> {
    let int = |it: usize| i32::try_from(it).map_err(|_| too_large());
    let data = Struct::default()
        .i32(1, int(rows)?)
        .i32(2, number::PLAIN)
        .i32(3, number::RLE)
        .i32(4, number::RLE);
    let header =
        Struct::default().i32(1, number::DATA_PAGE).i32(2, int(size)?).i32(3, int(packed)?);
    Ok(header.structure(5, data).end())
}

/// What a column holds: a bit for each row that says whether there is a value, then the values; and how many there are not.
fn page(rows: &Rows, column: usize) -> io::Result<(Vec<u8>, i64)> {
    let is_number = rows.columns().get(column).is_some_and(|it| it.ty == ColumnType::Number);
    let (mut there, mut values, mut bools) = (Bits::default(), Vec::new(), Bits::default());
    let mut nulls = 0;
    for row in 0..rows.len() {
        let value = match rows.get(row, column) {
            // No signed number is as large.
            CellValue::Number(it) if is_number && i64::try_from(it).is_err() => CellValue::Null,
            value => value,
        };
        there.push(value != CellValue::Null);
        match value {
            CellValue::Null => nulls += 1,
            CellValue::Bool(it) => bools.push(it),
            CellValue::Number(it) => values.extend_from_slice(&it.to_le_bytes()),
            CellValue::Text(it) => {
                let size = u32::try_from(it.len()).map_err(|_| too_large())?;
                values.extend_from_slice(&size.to_le_bytes());
                values.extend_from_slice(it.as_bytes());
            }
        }
    }
    let mut levels = Vec::new();
    // A run of bits is said by how many bytes it has, and that they are bits.
    push_varint(&mut levels, (there.bytes.len() as u64) << 1 | 1);
    levels.extend(there.bytes);
    let size = u32::try_from(levels.len()).map_err(|_| too_large())?;
    let mut page = size.to_le_bytes().to_vec();
    for part in [levels, bools.bytes, values] {
        page.extend(part);
    }
    Ok((page, nulls))
}

/// Bits, the lowest of each byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        let at = self.len % 8;
        if at == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << at;
        }
        self.len += 1;
    }
}
