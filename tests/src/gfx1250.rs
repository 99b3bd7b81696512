//! gfx1250 objects out of lines of assembly, made by no other tools.

use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use hsaco::bytes::number;
use hsaco::elf::symbol::{Binding, STT_FUNC, STT_OBJECT, Visibility};
use hsaco::elf::{SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::target::Generation;
use hsaco::isa::{Assembler, Processor};
use hsaco::object::KernelDescriptor;
use hsaco::object::descriptor::Field;
use hsaco::object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use hsaco::object::write::{Builder, Identity, NewSection, NewSymbol, NewValue};

const GFX1250: u32 = 0x549;
/// Where code begins if there are few kernels.
pub const TEXT: u64 = 0x2000;

/// A kernel.
#[derive(Clone)]
pub struct NewKernel {
    /// Its name.
    pub name: String,
    /// Its code.
    pub code: Vec<u8>,
    /// What the metadata says.
    pub sgprs: u64,
    /// What metadata and descriptor say.
    pub vgprs: u64,
    /// The largest workgroup, if that is said.
    pub workgroup: Option<u64>,
    /// The stepping, if that is said.
    pub revision: Option<&'static str>,
    /// Lines that are fetched ahead.
    pub prefetch: u64,
    /// Whether it is a function only.
    pub is_device: bool,
    /// What its symbol says of its size; that of its code if nothing.
    pub symbol_size: Option<u64>,
    /// Whether the metadata list it.
    pub is_listed: bool,
    /// Which denormals of 16 and 64 bits the descriptor has kept: 3 for all of them.
    pub denormals: u64,
    /// Buffers that it is given, whose addresses are at `s[0:1]`.
    pub buffers: u64,
    /// Bytes of LDS.
    pub lds: u32,
}

/// The assembler for the processor, made once.
pub fn assembler() -> Result<&'static Assembler> {
    static ASSEMBLER: OnceLock<Option<Assembler>> = OnceLock::new();
    let new = || Assembler::new(Processor::from_name("gfx1250")?, DecodeOptions::default()).ok();
    ASSEMBLER.get_or_init(new).as_ref().context("no assembler for gfx1250")
}

/// The bytes of lines; `.rept N LINE` repeats one, `.long A, B` is words.
pub fn assemble(assembler: &Assembler, text: &str) -> Result<Vec<u8>> {
    let mut code = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(words) = line.strip_prefix(".long ") {
            for word in words.split(", ") {
                let number = number::hex(word.trim_start_matches("0x"));
                let number = number.with_context(|| word.to_owned())?;
                code.extend(u32::try_from(number)?.to_le_bytes());
            }
            continue;
        }
        let (count, line) = match line.strip_prefix(".rept ") {
            Some(rest) => {
                let (count, line) = rest.split_once(' ').context("repeat what?")?;
                (count.parse()?, line)
            }
            None => (1, line),
        };
        let inst = assembler.assemble(line).with_context(|| line.to_owned())?;
        (0..count).for_each(|_| inst.encode(&mut code));
    }
    Ok(code)
}

/// A kernel of these lines, with `s_endpgm` behind them.
pub fn kernel(name: &str, lines: &str) -> Result<NewKernel> {
    let code = assemble(assembler()?, &format!("{lines}\ns_endpgm"))?;
    Ok(NewKernel {
        name: name.to_owned(),
        code,
        sgprs: 16,
        vgprs: 64,
        workgroup: Some(256),
        revision: None,
        prefetch: 0,
        is_device: false,
        symbol_size: None,
        is_listed: true,
        denormals: 3,
        buffers: 0,
        lds: 0,
    })
}

/// An object of kernels that begin at multiples of 256, with `s_nop` between them.
pub fn object(kernels: &[NewKernel]) -> Result<Vec<u8>> {
    let text_start =
        TEXT.max((Builder::FIRST_ADDRESS + 64 * kernels.len() as u64).next_multiple_of(0x1000));
    let mut text = Vec::new();
    let mut descriptors = Vec::new();
    let mut places = Vec::new();
    for kernel in kernels {
        while !text.len().is_multiple_of(256) {
            text.extend(0xbf80_0000_u32.to_le_bytes());
        }
        let entry = text_start + text.len() as u64;
        let descriptor = Builder::FIRST_ADDRESS + descriptors.len() as u64;
        places.push((entry, descriptor));
        text.extend_from_slice(&kernel.code);
        descriptors.extend(describe(kernel, entry.wrapping_sub(descriptor))?);
    }
    let mut builder = Builder::new(Identity { os_abi: 64, abi_version: 4, flags: GFX1250 });
    let section = |name: &str, flags, address, align, content: Vec<u8>| NewSection {
        name: name.to_owned(),
        kind: SHT_PROGBITS,
        flags: SHF_ALLOC | flags,
        address,
        align,
        entry_size: 0,
        content: content.into(),
        memory_size: 0,
    };
    let rodata = builder.section(section(".rodata", 0, Builder::FIRST_ADDRESS, 64, descriptors));
    let text = builder.section(section(".text", SHF_EXECINSTR, text_start, 256, text));
    for (kernel, (entry, descriptor)) in kernels.iter().zip(places) {
        let symbol = |name: String, value, size, kind, section| NewSymbol {
            name: name.into_bytes(),
            value,
            size,
            kind,
            binding: Binding::Global,
            visibility: Visibility::Protected,
            section,
        };
        let size = kernel.symbol_size.unwrap_or(kernel.code.len() as u64);
        builder.symbol(symbol(kernel.name.clone(), entry, size, STT_FUNC, text));
        if !kernel.is_device {
            let name = format!("{}.kd", kernel.name);
            builder.symbol(symbol(name, descriptor, 64, STT_OBJECT, rodata));
        }
    }
    builder.note(OWNER_AMDGPU, NT_AMDGPU_METADATA, &metadata(kernels)?)?;
    Ok(builder.finish()?)
}

fn describe(kernel: &NewKernel, entry: u64) -> Result<[u8; 64]> {
    let field = |name| Field::by_name(Generation::Gfx125, name).context(name);
    let mut descriptor = KernelDescriptor::default();
    descriptor
        .set(field("granulated_workitem_vgpr_count")?, kernel.vgprs.max(1).div_ceil(16) - 1)?;
    descriptor.set(field("inst_pref_size")?, kernel.prefetch)?;
    descriptor.set(field("float_denorm_mode_16_64")?, kernel.denormals)?;
    descriptor.set(field("enable_wavefront_size32")?, 1)?;
    if kernel.buffers != 0 {
        descriptor.set(field("enable_sgpr_kernarg_segment_ptr")?, 1)?;
        descriptor.set(field("user_sgpr_count")?, 2)?;
    }
    descriptor.group_segment_fixed_size = kernel.lds;
    descriptor.kernarg_size = u32::try_from(8 * kernel.buffers)?;
    descriptor.kernel_code_entry_byte_offset = entry.cast_signed();
    Ok(descriptor.to_bytes())
}

fn metadata(kernels: &[NewKernel]) -> Result<Vec<u8>> {
    let entry = |key: &str, value: NewValue| (key.as_bytes().to_vec(), value);
    let kernels =
        kernels.iter().filter(|kernel| kernel.is_listed && !kernel.is_device).map(|kernel| {
            let buffer = |number: u64| {
                NewValue::Map(vec![
                    entry(".address_space", "global".into()),
                    entry(".offset", (8 * number).into()),
                    entry(".size", 8_u64.into()),
                    entry(".value_kind", "global_buffer".into()),
                ])
            };
            let mut map = vec![
                entry(".group_segment_fixed_size", u64::from(kernel.lds).into()),
                entry(".kernarg_segment_align", 8_u64.into()),
                entry(".kernarg_segment_size", (8 * kernel.buffers).into()),
            ];
            if kernel.buffers != 0 {
                let buffers = (0..kernel.buffers).map(buffer).collect();
                map.insert(0, entry(".args", NewValue::Array(buffers)));
            }
            map.extend(kernel.workgroup.map(|it| entry(".max_flat_workgroup_size", it.into())));
            map.extend([
                entry(".name", kernel.name.as_str().into()),
                entry(".private_segment_fixed_size", 0_u64.into()),
                entry(".sgpr_count", kernel.sgprs.into()),
                entry(".symbol", format!("{}.kd", kernel.name).as_str().into()),
                entry(".vgpr_count", kernel.vgprs.into()),
                entry(".wavefront_size", 32_u64.into()),
            ]);
            map.extend(kernel.revision.map(|it| entry(".gfx1250_revision", it.into())));
            NewValue::Map(map)
        });
    let version = NewValue::Array(vec![1_u64.into(), 2_u64.into()]);
    let root = NewValue::Map(vec![
        entry("amdhsa.kernels", NewValue::Array(kernels.collect())),
        entry("amdhsa.target", "amdgcn-amd-amdhsa--gfx1250".into()),
        entry("amdhsa.version", version),
    ]);
    Ok(root.to_bytes()?)
}
