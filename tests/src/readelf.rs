//! What `llvm-readelf-22` prints, read back: the oracle for symbols and headers.
#![allow(clippy::panic, reason = "test helpers: failing the test is the point")]

use std::path::Path;

use hsaco::bytes::number;

use crate::program::succeed;

/// One line of `llvm-readelf -sW`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Value.
    pub value: u64,
    /// Size.
    pub size: u64,
    /// Type: `FUNC`, `OBJECT`, …
    pub kind: String,
    /// Section: a number, `UND`, `ABS`, `PRC[0xff00]`, …
    pub section: String,
    /// Name, with everything that is in it.
    pub name: String,
}

impl Symbol {
    /// A kernel descriptor that is defined here.
    pub fn is_descriptor(&self) -> bool {
        self.kind == "OBJECT" && self.section != "UND" && self.name.ends_with(".kd")
    }

    /// The kernel's name, of a descriptor.
    pub fn kernel(&self) -> &str {
        self.name.strip_suffix(".kd").unwrap_or(&self.name)
    }
}

/// The symbols of a file: of its last table, which is `.symtab` where there is one.
pub fn symbols(file: &Path) -> Vec<Symbol> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let text = succeed(folder, "llvm-readelf-22", &["-sW".as_ref(), file.as_os_str()]);
    let last_table = text.rsplit("\nSymbol table ").next().unwrap_or_default();
    last_table.lines().skip(2).filter_map(symbol).collect()
}

/// The defined descriptors of a file.
pub fn descriptors(file: &Path) -> Vec<Symbol> {
    symbols(file).into_iter().filter(Symbol::is_descriptor).collect()
}

fn symbol(line: &str) -> Option<Symbol> {
    let mut rest = line;
    let mut word = || {
        let text = rest.trim_start();
        let (word, after) = text.split_once(' ').unwrap_or((text, ""));
        rest = after;
        word
    };
    let _number = word();
    let value = number::hex(word())?;
    let size = printed_number(word());
    let kind = word().to_owned();
    let (_binding, _visibility) = (word(), word());
    let section = word().to_owned();
    Some(Symbol { value, size, kind, section, name: rest.to_owned() })
}

/// readelf prints sizes in decimal, and in hexadecimal when they are large.
fn printed_number(text: &str) -> u64 {
    number::parse(text).unwrap_or_else(|| panic!("readelf's number '{text}'"))
}

/// What `llvm-readelf -h` says of a file: its `ABI Version:` and `Flags:` lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// `EI_ABIVERSION`.
    pub abi_version: u64,
    /// The number and the words.
    pub flags: String,
}

/// The headers of files, in order.
pub fn headers(folder: &Path, files: &[String]) -> Vec<Header> {
    let mut arguments = vec!["-h".to_owned()];
    arguments.extend(files.iter().cloned());
    let text = succeed(folder, "llvm-readelf-22", &arguments);
    let values = |key: &'static str| {
        text.lines().filter_map(move |line| line.trim().strip_prefix(key)).map(str::trim)
    };
    let headers: Vec<_> = values("ABI Version:")
        .zip(values("Flags:"))
        .map(|(abi, flags)| Header { abi_version: printed_number(abi), flags: flags.to_owned() })
        .collect();
    assert_eq!(headers.len(), files.len());
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_blanks() {
        let line = "     7: 0000000000000980    64 OBJECT  GLOBAL PROTECTED   6 a, (b) [c].kd";
        let found = symbol(line).unwrap();
        assert_eq!((found.value, found.size, found.kernel()), (0x980, 64, "a, (b) [c]"));
        assert!(found.is_descriptor());
    }
}
