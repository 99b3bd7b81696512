//! A toolkit for AMD GPU code objects: [`open`], and the crates of the workspace as modules.
//!
//! ```
//! # let bytes = std::fs::read("../../tests/fixtures/plain.bundle")?;
//! let file = hsaco::open(&bytes);
//! for object in file.objects() {
//!     for kernel in object.index().kernels() {
//!         println!("{} {}", object.target(), kernel.name());
//!     }
//! }
//! # assert_eq!(file.objects().count(), 2);
//! # assert!(file.problems().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A kernel runs on the CPU:
//!
//! ```
//! use hsaco::emu::{CallArgument, Device, Dispatch, LoadedKernel};
//! use hsaco::kernarg::Launch;
//! use hsaco::load::{Executable, Freeze};
//! let mut executable = Executable::new(None);
//! executable.load("run.co", std::fs::read("../../tests/fixtures/run.gfx942.co")?)?;
//! executable.freeze(Freeze::default())?;
//! let mut device = Device::new("gfx942".parse()?, 1 << 30);
//! device.load(&executable)?;
//! let reverse = LoadedKernel::find(&executable, "reverse")?;
//! let mut out = [0; 256];
//! let launch = Launch::of_workgroups(&[1], &[64])?.with_dynamic_lds(256);
//! device.call(&reverse, launch, &mut [CallArgument::Buffer(&mut out)], |it: Dispatch<'_>| it.run())?;
//! assert_eq!(out[..4], 63_u32.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`isa`] knows targets and instructions; [`elf`] reads and writes ELF files; [`container`] finds device code in any
//! file; [`object`] knows code objects; [`dwarf`] knows debug information; [`demangle`] spells names as LLVM does;
//! [`analysis`] knows what code does; [`db`] keeps the kernels of many files; [`mod@check`] says why a device would refuse
//! an object; [`kernarg`] lays out and packs arguments; [`load`] puts objects together as a runtime does; [`emu`] runs kernels on the CPU; [`patch`]
//! rewrites code; [`prove`] shows by execution that it behaves as before; [`listing`] prints it as llvm-objdump does; [`draw`] makes pictures of it; [`mod@diff`] says what is different between objects.
#![forbid(unsafe_code)]

mod file;

pub use file::{File, open};
pub use hsaco_analysis as analysis;
pub use hsaco_bytes as bytes;
pub use hsaco_check as check;
pub use hsaco_compress as compress;
pub use hsaco_container as container;
pub use hsaco_db as db;
pub use hsaco_demangle as demangle;
pub use hsaco_diff as diff;
pub use hsaco_draw as draw;
pub use hsaco_dwarf as dwarf;
pub use hsaco_elf as elf;
pub use hsaco_emu as emu;
pub use hsaco_isa as isa;
pub use hsaco_kernarg as kernarg;
pub use hsaco_listing as listing;
pub use hsaco_load as load;
pub use hsaco_object as object;
pub use hsaco_patch as patch;
pub use hsaco_prove as prove;
