//! Deflate from its start on: alone, as a zlib stream or in gzip members.

use std::io::{self, Read};

use hsaco_bytes::{read_u16, read_u32};
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// What stands around a deflate stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Nothing.
    Raw,
    /// The header and the checksum of a zlib stream.
    Zlib,
    /// The header and the checksum of a gzip member; there may be several members.
    Gzip,
}

/// A deflate stream that is read as it is decompressed.
pub(crate) struct Inflater<D> {
    data: D,
    position: usize,
    state: Box<InflateState>,
    framing: Framing,
    stage: Stage,
    checksum: crc32fast::Hasher,
    /// How many bytes the member has given, as far as its trailer counts them.
    size: u32,
}

enum Stage {
    Header,
    Content,
    Trailer,
    Done,
}

impl<D: AsRef<[u8]>> Inflater<D> {
    pub(crate) fn new(data: D, framing: Framing) -> Self {
        let stage = if framing == Framing::Gzip { Stage::Header } else { Stage::Content };
        let format = if framing == Framing::Zlib { DataFormat::Zlib } else { DataFormat::Raw };
        let state = InflateState::new_boxed(format);
        let checksum = crc32fast::Hasher::new();
        Self { data, position: 0, state, framing, stage, checksum, size: 0 }
    }

    fn rest(&self) -> &[u8] {
        self.data.as_ref().get(self.position..).unwrap_or_default()
    }

    /// Reads some content; 0 at the end of the stream.
    fn content(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = self.data.as_ref().get(self.position..).unwrap_or_default();
        let result = inflate(&mut self.state, rest, out, MZFlush::None);
        self.position += result.bytes_consumed;
        match result.status {
            Ok(MZStatus::StreamEnd) => {
                self.stage =
                    if self.framing == Framing::Gzip { Stage::Trailer } else { Stage::Done }
            }
            Ok(_) if result.bytes_written > 0 || result.bytes_consumed > 0 => {}
            Ok(_) | Err(MZError::Buf) => return Err(cut_short()),
            Err(_) => return Err(invalid("not a valid deflate stream")),
        }
        let written = result.bytes_written;
        if self.framing == Framing::Gzip {
            self.checksum.update(out.get(..written).unwrap_or_default());
            self.size = self.size.wrapping_add(u32::try_from(written).unwrap_or(u32::MAX));
        }
        Ok(written)
    }

    /// Passes over the header of a gzip member.
    fn header(&mut self) -> io::Result<()> {
        const CHECKSUM: u8 = 2;
        const EXTRA: u8 = 4;
        const NAME: u8 = 8;
        const COMMENT: u8 = 16;
        let rest = self.rest();
        if !rest.starts_with(b"\x1f\x8b\x08") {
            return Err(if rest.len() < 3 { cut_short() } else { invalid("no gzip member") });
        }
        let flags = *rest.get(3).ok_or_else(cut_short)?;
        let mut size = 10;
        if flags & EXTRA != 0 {
            size += 2 + usize::from(read_u16(rest, size).ok_or_else(cut_short)?);
        }
        for flag in [NAME, COMMENT] {
            if flags & flag != 0 {
                let text = rest.get(size..).ok_or_else(cut_short)?;
                size += 1 + text.iter().position(|&byte| byte == 0).ok_or_else(cut_short)?;
            }
        }
        if flags & CHECKSUM != 0 {
            size += 2;
        }
        if rest.len() < size {
            return Err(cut_short());
        }
        self.position += size;
        self.state.reset(DataFormat::Raw);
        self.checksum.reset();
        self.size = 0;
        self.stage = Stage::Content;
        Ok(())
    }

    /// Checks the trailer of a gzip member, and finds out whether another one follows; zeros may.
    fn trailer(&mut self) -> io::Result<()> {
        let rest = self.rest();
        let checksum = read_u32(rest, 0).ok_or_else(cut_short)?;
        let size = read_u32(rest, 4).ok_or_else(cut_short)?;
        if checksum != self.checksum.clone().finalize() {
            return Err(invalid("its checksum is not that of its content"));
        }
        if size != self.size {
            return Err(invalid("its size is not that of its content"));
        }
        self.position += 8;
        let is_last = self.rest().iter().all(|&byte| byte == 0);
        self.stage = if is_last { Stage::Done } else { Stage::Header };
        Ok(())
    }
}

impl<D: AsRef<[u8]>> Read for Inflater<D> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stage {
                Stage::Header => self.header()?,
                Stage::Content => {
                    let read = self.content(out)?;
                    if read > 0 {
                        return Ok(read);
                    }
                }
                Stage::Trailer => self.trailer()?,
                Stage::Done => return Ok(0),
            }
        }
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it ends before its last block does")
}

fn invalid(detail: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail)
}
