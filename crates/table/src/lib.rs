//! Rows with named columns: filtered, sorted, and written as text, CSV, JSON lines and Parquet.
//!
//! A [`Column`] has a name that stays, a [`ColumnType`] and a description. [`Rows`] keep values by column. A [`RowFilter`] is an
//! expression such as `vgprs > 128 || occupancy < 4`, an [`Order`] is columns such as `-vgprs,name`; both are read once, and
//! what is wrong with them is said with its place. [`csv`], [`jsonl`] and [`parquet`] write rows for programs, [`text`] for
//! people.
//!
//! ```
//! use hsaco_table::{Column, RowFilter, Order, Rows, ColumnType, CellValue, csv};
//! let columns = [Column::new("name", ColumnType::Text, "The name"), Column::new("vgprs", ColumnType::Number, "Registers")];
//! let mut rows = Rows::new(&columns);
//! rows.push([CellValue::from("small"), CellValue::from(24_u64)]);
//! rows.push([CellValue::from("large"), CellValue::from(256_u64)]);
//! rows.push([CellValue::from("unknown"), CellValue::Null]);
//! let filter: RowFilter = RowFilter::parse("vgprs > 12", &columns)?;
//! let rows = rows.filtered(&filter).sorted(&Order::parse("-vgprs", &columns)?);
//! let mut text = Vec::new();
//! csv::write_head(&columns, &mut text)?;
//! csv::write_rows(&rows, &mut text)?;
//! assert_eq!(text, b"name,vgprs\nlarge,256\nsmall,24\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod csv;
mod filter;
pub mod jsonl;
mod lexer;
mod order;
pub mod parquet;
mod problem;
mod rows;
pub mod text;
mod value;
mod writer;

pub use filter::RowFilter;
pub use order::Order;
pub use problem::ExpressionProblem;
pub use rows::{Rows, columns_named};
pub use value::{CellValue, Column, ColumnType, Field};
pub use writer::{Format, TableView, Writer};
