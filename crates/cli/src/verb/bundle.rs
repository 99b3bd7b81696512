//! `hsaco bundle`: packs objects into an offload bundle, or a taken-apart container together again.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use hsaco::compress::Method;
use hsaco::container::ccob::{self, default_level};
use hsaco_files::{manifest_of, pack_bundle, rebuild_bundles};

use crate::args::parse_size;
use crate::output;
use crate::report::Status;

/// Packs objects into an offload bundle, or puts together what extract took apart
///
/// A manifest (*.hsaco.json) of hsaco extract, or the directory with it, gives the bundles that it
/// describes. What was not changed comes out byte for byte as it was, compressed or not. Of a host
/// file it is the bundles that come out, one after the other, not the host file.
///
/// Objects, as ENTRY_ID=FILE or just FILE, give a new bundle. The id of a FILE comes from the object:
/// hipv4-amdgcn-amd-amdhsa--TARGET; an empty entry for the host goes before the first, unless there
/// is a host entry. ENTRY_ID= with no FILE is an empty entry. A plain bundle is byte for byte what
/// clang-offload-bundler --type=o writes for such inputs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A manifest, a directory with one, or objects
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: OsString,
    /// Multiple of which every content's offset is [default: 1, as clang-offload-bundler; HIP's
    /// compiler passes 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    align: Option<u64>,
    /// Compress the bundle
    #[arg(long, value_name = "METHOD", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "zstd")]
    compress: Option<Compression>,
    /// Version of the compressed bundle's header [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=3), requires = "compress")]
    bundle_version: Option<u16>,
    /// How hard to compress [default: 3 for zstd, 6 for zlib]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=22))]
    level: Option<i32>,
    /// Largest size that one payload may have (K, M and G are powers of 1024)
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = parse_size)]
    max_size: u64,
}

/// A way to compress, as the command line spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compression {
    Zstd,
    Zlib,
}

const DEFAULT_VERSION: u16 = 3;

pub(crate) fn run(args: &Args) -> Result<Status> {
    let manifest = match args.inputs.as_slice() {
        [only] => manifest_of(Path::new(only))?,
        _ => None,
    };
    let bytes = match manifest {
        Some(path) => {
            ensure!(
                args.align.is_none() && args.compress.is_none(),
                "{}: how to align and compress is the manifest's to say: leave out --align and --compress",
                path.display()
            );
            rebuild_bundles(&path, args.level, args.max_size)?
        }
        None => compressed(args, pack_bundle(&args.inputs, args.align.unwrap_or(1))?)?,
    };
    write_bytes(&args.output, &bytes)?;
    Ok(Status::Fine)
}

/// A new bundle, in the form that was asked for.
fn compressed(args: &Args, plain: Vec<u8>) -> Result<Vec<u8>> {
    let method = match args.compress {
        None => return Ok(plain),
        Some(Compression::Zstd) => Method::Zstd,
        Some(Compression::Zlib) => Method::Zlib,
    };
    let level = args.level.unwrap_or(default_level(method));
    Ok(ccob::write(&plain, args.bundle_version.unwrap_or(DEFAULT_VERSION), method, level)?)
}

/// Writes bytes as they are: what standard output does for text must not touch them.
pub(crate) fn write_bytes(output: &OsStr, bytes: &[u8]) -> Result<()> {
    if output == "-" {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        return Ok(out.flush()?);
    }
    output::write_file(Path::new(output), bytes)
}
