//! The reference zstd on the payloads of compressed bundles.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use zstd::bulk::Decompressor;

use crate::args::Args;

const MAGIC: &[u8] = b"CCOB";
const METHOD_ZSTD: u16 = 1;

/// One compressed bundle of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Payload {
    /// The zstd frame.
    pub(crate) frame: Vec<u8>,
    /// Its size when decompressed.
    pub(crate) size: usize,
}

/// Every zstd-compressed bundle of version 2 or 3 in a file.
pub(crate) fn payloads(file: &[u8]) -> Vec<Payload> {
    let mut payloads = Vec::new();
    let mut rest = file;
    while let Some(at) = rest.windows(MAGIC.len()).position(|window| window == MAGIC) {
        let block = rest.get(at..).unwrap_or_default();
        let used = match payload(block) {
            Some((payload, total)) => {
                payloads.push(payload);
                total
            }
            None => MAGIC.len(),
        };
        rest = block.get(used..).unwrap_or_default();
    }
    payloads
}

fn payload(block: &[u8]) -> Option<(Payload, usize)> {
    let number = |offset: usize, size: usize| {
        let bytes = block.get(offset..offset + size)?;
        Some(bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    if number(6, 2)? != u64::from(METHOD_ZSTD) {
        return None;
    }
    let width = match number(4, 2)? {
        2 => 4,
        3 => 8,
        _ => return None,
    };
    let total = usize::try_from(number(8, width)?).ok()?;
    let size = usize::try_from(number(8 + width, width)?).ok()?;
    const HASH_SIZE: usize = 8;
    let frame = block.get(8 + 2 * width + HASH_SIZE..total)?.to_vec();
    Some((Payload { frame, size }, total))
}

/// The reference library in this process, with a buffer that is there before the clock starts.
pub(crate) struct Library {
    decompressor: Decompressor<'static>,
    buffer: Vec<u8>,
}

impl Library {
    /// Makes room for the largest of `payloads`.
    pub(crate) fn new(payloads: &[Payload]) -> Result<Self> {
        let largest = payloads.iter().map(|it| it.size).max().unwrap_or(0);
        Ok(Self { decompressor: Decompressor::new()?, buffer: vec![0; largest] })
    }

    /// The time of decompressing `payloads` one after the other, and of nothing else.
    pub(crate) fn time(&mut self, payloads: &[Payload]) -> Result<Duration> {
        let start = Instant::now();
        for Payload { frame, size } in payloads {
            let found =
                self.decompressor.decompress_to_buffer(frame, self.buffer.as_mut_slice())?;
            ensure!(found == *size, "{found} bytes came out, not {size}");
        }
        Ok(start.elapsed())
    }
}

/// The verb that no developer types: the benchmark runs it, so that both sides are whole processes.
pub(crate) const VERB: &str = "reference-zstd";

/// Decompresses frames and does nothing else: pairs of size and file, each in one call of the
/// reference library into a buffer of that size.
pub(crate) fn run(mut args: Args) -> Result<()> {
    let mut decompressor = Decompressor::new()?;
    while let Some(size) = args.positional() {
        let size: usize = size.parse()?;
        let file = args.positional().context("a size without a file")?;
        let frame = fs::read(&file).with_context(|| file.clone())?;
        let found = decompressor.decompress(&frame, size)?.len();
        ensure!(found == size, "{found} bytes came out, not {size}");
    }
    args.finish()
}

/// Writes each frame to a file of its own, for the `zstd` command.
pub(crate) fn write_frames(payloads: &[Payload], dir: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let mut files = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        let file = dir.join(format!("payload{index}.zst"));
        fs::write(&file, &payload.frame)?;
        files.push(file);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hsaco_tests::fixture;

    #[test]
    fn finds_both_header_versions_among_other_bytes() {
        let mixed = fs::read(fixture("mixed.bundle")).unwrap();
        let [v2, v3] =
            ["zstd-v2.bundle", "zstd-v3.bundle"].map(|name| fs::read(fixture(name)).unwrap());
        let file = [b"CCOB".as_slice(), &mixed, &v2].concat();
        let expected: Vec<_> = [v3, v2].iter().flat_map(|bundle| payloads(bundle)).collect();
        assert_eq!(expected.len(), 2);
        assert_eq!(payloads(&file), expected);
    }

    #[test]
    fn the_reference_decompresses_them_to_the_plain_bundle() {
        let plain = fs::read(fixture("plain.bundle")).unwrap();
        let found = payloads(&fs::read(fixture("zstd-v3.bundle")).unwrap());
        let mut library = Library::new(&found).unwrap();
        library.time(&found).unwrap();
        assert_eq!(library.buffer, plain);
    }
}
