//! Columns, and what stands in them.

use std::borrow::Cow;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// True or false.
    Bool,
    /// A count or a size, of 63 bits where a format has signed numbers only.
    Number,
    /// An address, of 64 bits.
    Address,
    /// Text.
    Text,
}

impl ColumnType {
    /// The name that documentation uses.
    ///
    /// ```
    /// assert_eq!(hsaco_table::ColumnType::Address.name(), "address");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ColumnType::Bool => "bool",
            ColumnType::Number => "number",
            ColumnType::Address => "address",
            ColumnType::Text => "text",
        }
    }
}

/// A column: its name never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// In lower case, with underscores.
    pub name: &'static str,
    /// What it holds.
    pub ty: ColumnType,
    /// What that means, in one sentence without a stop.
    pub about: &'static str,
}

impl Column {
    /// A column.
    #[must_use]
    pub const fn new(name: &'static str, ty: ColumnType, about: &'static str) -> Self {
        Self { name, ty, about }
    }
}

/// A column of rows of one kind, and how it is read of a row.
#[derive(Debug)]
pub struct Field<R: ?Sized> {
    /// The column.
    pub column: Column,
    /// What a row has there.
    pub value: for<'r> fn(&'r R) -> CellValue<'r>,
}

impl<R: ?Sized> Field<R> {
    /// A column and how it is read.
    #[must_use]
    pub const fn new(
        name: &'static str,
        ty: ColumnType,
        about: &'static str,
        value: for<'r> fn(&'r R) -> CellValue<'r>,
    ) -> Self {
        Self { column: Column::new(name, ty, about), value }
    }
}

/// What stands in one place of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellValue<'a> {
    /// Not known, or not there.
    Null,
    /// Of a [`ColumnType::Bool`].
    Bool(bool),
    /// Of a [`ColumnType::Number`] or [`ColumnType::Address`].
    Number(u64),
    /// Of a [`ColumnType::Text`].
    Text(Cow<'a, str>),
}

impl From<bool> for CellValue<'_> {
    fn from(it: bool) -> Self {
        Self::Bool(it)
    }
}

impl From<u64> for CellValue<'_> {
    fn from(it: u64) -> Self {
        Self::Number(it)
    }
}

impl From<u32> for CellValue<'_> {
    fn from(it: u32) -> Self {
        Self::Number(it.into())
    }
}

impl From<u8> for CellValue<'_> {
    fn from(it: u8) -> Self {
        Self::Number(it.into())
    }
}

impl From<usize> for CellValue<'_> {
    fn from(it: usize) -> Self {
        Self::Number(it as u64)
    }
}

impl<'a> From<&'a str> for CellValue<'a> {
    fn from(it: &'a str) -> Self {
        Self::Text(Cow::Borrowed(it))
    }
}

impl<'a> From<&'a String> for CellValue<'a> {
    fn from(it: &'a String) -> Self {
        Self::Text(Cow::Borrowed(it))
    }
}

impl From<String> for CellValue<'_> {
    fn from(it: String) -> Self {
        Self::Text(Cow::Owned(it))
    }
}

impl<'a> From<&'a Cow<'_, str>> for CellValue<'a> {
    fn from(it: &'a Cow<'_, str>) -> Self {
        Self::Text(Cow::Borrowed(it))
    }
}

impl<'a, T: Into<CellValue<'a>>> From<Option<T>> for CellValue<'a> {
    fn from(it: Option<T>) -> Self {
        it.map_or(Self::Null, Into::into)
    }
}
