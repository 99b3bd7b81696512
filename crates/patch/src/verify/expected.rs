//! What a result has to be, byte for byte, and what the bytes belong to that are not so.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, memory};
use hsaco_container::{WalkOptions, entries, put_back};
use hsaco_object::layout::{self, Kind, Layout, Owner};

use super::VerifyFinding;
use crate::manifest::{Manifest, Verdict};
use crate::write::apply;

/// How many differences are named one by one.
const NAMED: usize = 16;

/// How many bytes of a difference are shown.
const SHOWN: usize = 8;

/// Bytes that are compared at once.
const BLOCK: usize = 4096;

/// What a result has to be, made from its original and its manifest. A result is compared with it as a whole: headers,
/// tables, notes, symbols, debug information and padding, as well as code.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// use hsaco_patch::{Expected, KernelSetting, set};
/// let setting: KernelSetting = "foo.vgpr_count=77".parse()?;
/// let patched = set(&file, &[setting])?;
/// let mut result = patched.bytes.unwrap();
///
/// let expected = Expected::new(&file, &patched.manifest)?;
/// assert_eq!(expected.compare(&result), []);
/// result[0x30] ^= 1;
/// let found = expected.compare(&result);
/// let flags = "bytes: file header (e_flags): 4d instead of 4c (at offset 0x30)";
/// assert_eq!(found[0].to_string(), flags);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Expected<'a> {
    bytes: Cow<'a, [u8]>,
    layout: OnceCell<Layout>,
}

impl<'a> Expected<'a> {
    /// Makes the changes that the manifest lists once more.
    ///
    /// # Errors
    /// When the manifest does not fit the original, or is that of a refused run, which has no result.
    pub fn new(original: &'a [u8], manifest: &Manifest) -> Result<Self> {
        let bytes = match manifest.verdict {
            Verdict::Unchanged(_) => Cow::Borrowed(original),
            Verdict::Changed => {
                is_sane(manifest)?;
                Cow::Owned(apply(original, memory::copy(original, "file")?, manifest)?.bytes)
            }
            Verdict::Refused => {
                return Err(mismatch("it is of a refused run, which has no result".to_owned()));
            }
        };
        Ok(Expected { bytes, layout: OnceCell::new() })
    }

    /// The same for a file that holds objects; each manifest has the number of its entry, as
    /// [`entries`] counts them.
    ///
    /// # Errors
    /// When a manifest does not fit its object, there is no such entry, or the objects cannot be put back.
    pub fn in_container(
        original: &'a [u8],
        options: &WalkOptions,
        manifests: &BTreeMap<usize, &Manifest>,
    ) -> Result<Self> {
        let mut new = BTreeMap::new();
        let mut missing = manifests.clone();
        for (number, entry) in entries(original, options).enumerate() {
            let Some(manifest) = missing.remove(&number) else { continue };
            if let Cow::Owned(bytes) = Expected::new(&entry?.data, manifest)?.bytes {
                new.insert(number, bytes);
            }
        }
        if let Some((number, _)) = missing.first_key_value() {
            return Err(mismatch(format!("there is no entry {number}")));
        }
        let bytes = match new.is_empty() {
            true => Cow::Borrowed(original),
            false => Cow::Owned(put_back(original, options, new)?),
        };
        Ok(Expected { bytes, layout: OnceCell::new() })
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a result differs: each range of bytes with what it belongs to; nothing if it is the same.
    #[must_use]
    pub fn compare(&self, result: &[u8]) -> Vec<VerifyFinding> {
        let mut found = Vec::new();
        let (expected, size) = (self.bytes.len(), result.len());
        if expected != size {
            let detail = format!("the result has {size} bytes instead of {expected}");
            found.push(VerifyFinding::new("bytes", None, detail));
        }
        let mut differences = Differences { left: &self.bytes, right: result, at: 0 };
        let first = differences.by_ref().take(NAMED);
        found.extend(first.map(|range| self.describe(range, result)));
        let more: usize = differences.map(|range| range.len()).sum();
        if more != 0 {
            found.push(VerifyFinding::new("bytes", None, format!("{more} more bytes differ")));
        }
        found
    }

    fn describe(&self, range: Range<usize>, result: &[u8]) -> VerifyFinding {
        let hex = |bytes: &[u8]| {
            let bytes = bytes.get(range.clone()).unwrap_or_default();
            let mut text = String::new();
            for byte in bytes.iter().take(SHOWN) {
                let _ = write!(text, "{byte:02x}");
            }
            let dots = if bytes.len() > SHOWN { "…" } else { "" };
            text + dots
        };
        let (part, is, was) = (self.part(range.start as u64), hex(result), hex(&self.bytes));
        let detail = format!("{part}: {is} instead of {was}");
        VerifyFinding::new("bytes", None, detail).at_offset(range.start as u64)
    }

    /// What a byte belongs to.
    fn part(&self, offset: u64) -> String {
        let layout =
            self.layout.get_or_init(|| layout::layout(&self.bytes, &WalkOptions::default()));
        let pieces = &layout.pieces;
        let after = pieces.partition_point(|piece| piece.range.start <= offset);
        let Some(piece) = after.checked_sub(1).and_then(|it| pieces.get(it)) else {
            return "outside".to_owned();
        };
        let within = offset - piece.range.start;
        let object = piece.owner.object.filter(|_| layout.objects.len() > 1);
        let part = name(&piece.owner, within);
        object.map_or(part.clone(), |number| format!("object {number}, {part}"))
    }
}

/// Sizes that are allocated before anything is written are those of the result at most.
fn is_sane(manifest: &Manifest) -> Result<()> {
    let sizes = [manifest.counter_space, manifest.pool.map_or(0, |pool| pool.size)];
    let most = manifest.sizes.1;
    match sizes.into_iter().find(|size| *size > most) {
        Some(size) => Err(mismatch(format!("a segment of {size} bytes in a file of {most}"))),
        None => Ok(()),
    }
}

fn mismatch(detail: String) -> Error {
    Error::new(ErrorKind::Mismatch, "manifest", detail)
}

/// Ranges of bytes that differ, as far as both have any.
struct Differences<'a> {
    left: &'a [u8],
    right: &'a [u8],
    at: usize,
}

impl Iterator for Differences<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let (left, right) = (self.left.get(self.at..)?, self.right.get(self.at..)?);
        let blocks = left.chunks(BLOCK).zip(right.chunks(BLOCK));
        let same = blocks.take_while(|(left, right)| left == right).count();
        let same = same.saturating_mul(BLOCK).min(left.len()).min(right.len());
        let rest = || left.iter().zip(right).skip(same);
        let start = same + rest().take_while(|(left, right)| left == right).count();
        let differing = left.iter().zip(right).skip(start);
        let count = differing.take_while(|(left, right)| left != right).count();
        let start = self.at + start;
        self.at = start + count;
        (count != 0).then_some(start..start + count)
    }
}

/// The fields of the ELF file header.
const FILE_HEADER: [(u64, &str); 14] = [
    (0, "e_ident"),
    (16, "e_type"),
    (18, "e_machine"),
    (20, "e_version"),
    (24, "e_entry"),
    (32, "e_phoff"),
    (40, "e_shoff"),
    (48, "e_flags"),
    (52, "e_ehsize"),
    (54, "e_phentsize"),
    (56, "e_phnum"),
    (58, "e_shentsize"),
    (60, "e_shnum"),
    (62, "e_shstrndx"),
];

/// The fields of a program header.
const PROGRAM_HEADER: [(u64, &str); 8] = [
    (0, "p_type"),
    (4, "p_flags"),
    (8, "p_offset"),
    (16, "p_vaddr"),
    (24, "p_paddr"),
    (32, "p_filesz"),
    (40, "p_memsz"),
    (48, "p_align"),
];
const PROGRAM_HEADER_SIZE: u64 = 56;

/// The fields of a section header.
const SECTION_HEADER: [(u64, &str); 10] = [
    (0, "sh_name"),
    (4, "sh_type"),
    (8, "sh_flags"),
    (16, "sh_addr"),
    (24, "sh_offset"),
    (32, "sh_size"),
    (40, "sh_link"),
    (44, "sh_info"),
    (48, "sh_addralign"),
    (56, "sh_entsize"),
];
const SECTION_HEADER_SIZE: u64 = 64;

/// What bytes belong to, in words; `within` is how far in.
fn name(owner: &Owner, within: u64) -> String {
    let kind = owner.kind.name().replace('_', " ");
    let field = |fields: &[(u64, &'static str)], at: u64| {
        fields.iter().rev().find(|(start, _)| *start <= at).map_or("", |(_, name)| name)
    };
    let row = |fields: &[(u64, &'static str)], size: u64| {
        let (number, field) = (within / size, field(fields, within % size));
        format!("{kind} ({field} of {number})")
    };
    match (owner.kind, &owner.section, &owner.name) {
        (Kind::FileHeader, ..) => format!("{kind} ({})", field(&FILE_HEADER, within)),
        (Kind::ProgramHeaders, ..) => row(&PROGRAM_HEADER, PROGRAM_HEADER_SIZE),
        (Kind::SectionHeaders, ..) => row(&SECTION_HEADER, SECTION_HEADER_SIZE),
        (Kind::Section, Some(section), None) => format!("section {section}"),
        (_, Some(section), Some(name)) => format!("{kind} of {name} in {section}"),
        (_, Some(section), None) => format!("{kind} in {section}"),
        (_, None, Some(name)) => format!("{kind} of {name}"),
        (_, None, None) => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_whole_ranges() {
        let left = vec![0; 3 * BLOCK];
        let mut right = left.clone();
        for at in [0, 1, 5, BLOCK - 1, BLOCK, 3 * BLOCK - 1] {
            right[at] = 1;
        }
        let found: Vec<_> = Differences { left: &left, right: &right, at: 0 }.collect();
        assert_eq!(found, [0..2, 5..6, BLOCK - 1..BLOCK + 1, 3 * BLOCK - 1..3 * BLOCK]);
        let short = Differences { left: &left, right: &right[..1], at: 0 };
        assert!(short.eq(std::iter::once(0..1)));
    }
}
