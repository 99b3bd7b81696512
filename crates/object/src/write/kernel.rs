//! Changing what a kernel asks of the hardware: the descriptor and the metadata, in step.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_isa::target::Generation;

use crate::descriptor::{Field, KernelDescriptor, vgpr_granule};
use crate::{CodeObject, Kernel};

use super::{Edit, MetadataEdit, NewValue, unsupported};

const CONTEXT: &str = "kernel change";

/// Registers that the code of a kernel uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Vector registers without accumulation registers.
    pub vgprs: u32,
    /// Accumulation registers; 0 where there are none.
    pub agprs: u32,
    /// Scalar registers, with what VCC and the like take.
    pub sgprs: u32,
}

/// A change of one kernel's descriptor and metadata.
///
/// ```
/// use hsaco_object::{CodeObject, write::{Edit, KernelChange, MetadataEdit, Registers}};
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let object = CodeObject::parse(&file)?;
/// let index = object.index();
/// let mut change = KernelChange::of(&object, &index.kernels()[0])?;
/// change.set_registers(Registers { vgprs: 201, ..change.registers() })?;
/// change.set("group_segment_fixed_size", 1024)?;
///
/// let (mut edit, mut metadata) = (Edit::new(&file)?, MetadataEdit::of(&object)?);
/// change.apply(&mut edit, &mut metadata)?;
/// metadata.apply(&mut edit)?;
/// let edited = edit.finish()?;
/// let object = CodeObject::parse(&edited)?;
/// let kernel = object.index().kernels()[0];
/// assert_eq!(kernel.metadata().unwrap().decode()?.vgpr_count, Some(201));
/// assert_eq!(kernel.descriptor().unwrap().accum_offset(hsaco_isa::target::Generation::Gfx940), Some(204));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelChange {
    name: String,
    has_metadata: bool,
    said: Registers,
    generation: Generation,
    /// Where the descriptor stands in the file.
    offset: u64,
    descriptor: KernelDescriptor,
    original: KernelDescriptor,
    values: Vec<(String, NewValue)>,
}

/// What a key of the metadata means for the descriptor.
enum Rule {
    /// Nothing: the runtime alone reads it.
    Nothing,
    /// A field of the same meaning.
    Field(&'static str),
    Vgprs,
    Agprs,
    Sgprs,
    Scratch,
}

/// Keys with a number, and what they mean for the descriptor.
const KEYS: [(&str, Rule); 16] = [
    ("vgpr_count", Rule::Vgprs),
    ("agpr_count", Rule::Agprs),
    ("sgpr_count", Rule::Sgprs),
    ("private_segment_fixed_size", Rule::Scratch),
    ("group_segment_fixed_size", Rule::Field("group_segment_fixed_size")),
    ("kernarg_segment_size", Rule::Field("kernarg_size")),
    ("uses_dynamic_stack", Rule::Field("uses_dynamic_stack")),
    ("workgroup_processor_mode", Rule::Field("wgp_mode")),
    ("kernarg_segment_align", Rule::Nothing),
    ("max_flat_workgroup_size", Rule::Nothing),
    ("uniform_work_group_size", Rule::Nothing),
    ("sgpr_spill_count", Rule::Nothing),
    ("vgpr_spill_count", Rule::Nothing),
    ("max_num_work_groups_x", Rule::Nothing),
    ("max_num_work_groups_y", Rule::Nothing),
    ("max_num_work_groups_z", Rule::Nothing),
];

/// Keys whose value is a boolean.
const BOOLEANS: [&str; 1] = ["uses_dynamic_stack"];

impl KernelChange {
    /// Begins to change a kernel.
    ///
    /// # Errors
    /// When its descriptor is not in the file, or the processor is not known.
    pub fn of(object: &CodeObject<'_>, kernel: &Kernel<'_>) -> Result<Self> {
        let name = kernel.name().to_string();
        let generation = object
            .target()
            .generation()
            .ok_or_else(|| unsupported(CONTEXT, format!("{name} is for {}", object.target())))?;
        let missing =
            || Error::new(ErrorKind::NotFound, CONTEXT, format!("the descriptor of {name}"));
        let descriptor = kernel.descriptor().ok_or_else(missing)?;
        let offset = descriptor_offset(object, kernel).ok_or_else(missing)?;
        let said = kernel.resources(Some(generation)).0;
        let number = |value: Option<u64>| u32::try_from(value.unwrap_or(0)).unwrap_or(u32::MAX);
        let (total, agprs) = (number(said.vgprs), number(said.agprs));
        let vgprs = match descriptor.accum_offset(generation) {
            Some(_) if agprs != 0 => total.saturating_sub(agprs),
            _ => total,
        };
        Ok(Self {
            name,
            has_metadata: kernel.metadata().is_some(),
            said: Registers { vgprs, agprs, sgprs: number(said.sgprs) },
            generation,
            offset,
            descriptor,
            original: descriptor,
            values: Vec::new(),
        })
    }

    /// The descriptor as it will be.
    pub fn descriptor(&self) -> KernelDescriptor {
        self.descriptor
    }

    /// Where the descriptor stands in the file.
    pub fn descriptor_offset(&self) -> u64 {
        self.offset
    }

    /// The metadata that will change: keys with their dot, and values.
    pub fn values(&self) -> &[(String, NewValue)] {
        &self.values
    }

    /// The registers, as the metadata says them; without it, as the descriptor allocates them.
    pub fn registers(&self) -> Registers {
        self.said
    }

    /// Sets the registers: granules in the descriptor, the first accumulation register's place, and
    /// the counts in the metadata.
    ///
    /// # Errors
    /// When the descriptor has no room for so many.
    pub fn set_registers(&mut self, registers: Registers) -> Result<()> {
        let total = match self.is_unified() {
            true => {
                let accum_offset = registers.vgprs.max(1).next_multiple_of(4);
                self.set_field("accum_offset", u64::from(accum_offset / 4 - 1))?;
                let above = accum_offset.saturating_add(registers.agprs);
                if registers.agprs == 0 { registers.vgprs } else { above }
            }
            false => registers.vgprs.max(registers.agprs),
        };
        self.set_granules(total)?;
        self.set_value("vgpr_count", u64::from(total).into());
        if registers.agprs != self.said.agprs {
            self.set_value("agpr_count", u64::from(registers.agprs).into());
        }
        if registers.sgprs != self.said.sgprs {
            self.set_sgprs(registers.sgprs)?;
        }
        self.said = registers;
        Ok(())
    }

    /// Sets a number by the name of its key in the metadata, without the dot, and what it means in
    /// the descriptor; or by the name of a field of the descriptor alone.
    ///
    /// # Errors
    /// When there is no such name, or the value does not fit.
    pub fn set(&mut self, name: &str, value: u64) -> Result<()> {
        let Some((_, rule)) = KEYS.iter().find(|(key, _)| *key == name) else {
            return self.set_field(name, value);
        };
        let small = || {
            let detail = format!("{name} is {value}, which is more than 32 bits");
            Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
        };
        let count = u32::try_from(value).map_err(|_| small())?;
        match rule {
            Rule::Nothing => {}
            Rule::Field(field) => self.set_field(field, value)?,
            Rule::Vgprs => return self.set_vgprs(count),
            Rule::Agprs => {
                return self.set_registers(Registers { agprs: count, ..self.said });
            }
            Rule::Sgprs => return self.set_sgprs(count),
            Rule::Scratch => self.set_scratch(count)?,
        }
        let value = if BOOLEANS.contains(&name) { (value != 0).into() } else { value.into() };
        self.set_value(name, value);
        Ok(())
    }

    /// Moves the entry to another address.
    ///
    /// # Errors
    /// When it is not aligned to 256 bytes, as the hardware wants it.
    pub fn set_entry(&mut self, descriptor_address: u64, entry: u64) -> Result<()> {
        if !entry.is_multiple_of(256) {
            let detail = format!("an entry at {entry:#x}, which is no multiple of 256");
            return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
        }
        self.descriptor.kernel_code_entry_byte_offset =
            entry.wrapping_sub(descriptor_address).cast_signed();
        Ok(())
    }

    /// Writes the change into an edit of the object and an edit of its metadata.
    ///
    /// # Errors
    /// When the metadata has two kernels of this name.
    pub fn apply(&self, edit: &mut Edit<'_>, metadata: &mut MetadataEdit<'_>) -> Result<()> {
        if self.descriptor != self.original {
            edit.replace(self.offset, &self.descriptor.to_bytes())?;
        }
        if self.has_metadata {
            for (key, value) in &self.values {
                metadata.set(&self.name, key, value.clone())?;
            }
        }
        Ok(())
    }

    /// True where ordinary and accumulation registers share one file.
    fn is_unified(&self) -> bool {
        self.descriptor.accum_offset(self.generation).is_some()
    }

    /// All vector registers, as `.vgpr_count` counts them.
    fn set_vgprs(&mut self, total: u32) -> Result<()> {
        if self.is_unified() && self.said.agprs == 0 {
            return self.set_registers(Registers { vgprs: total, ..self.said });
        }
        self.set_granules(total)?;
        self.set_value("vgpr_count", u64::from(total).into());
        Ok(())
    }

    fn set_granules(&mut self, total: u32) -> Result<()> {
        let wave32 = self.descriptor.is_wave32(self.generation);
        let granule = vgpr_granule(self.generation, wave32);
        let blocks = total.max(1).div_ceil(granule) - 1;
        self.set_field("granulated_workitem_vgpr_count", u64::from(blocks))
    }

    /// From gfx10 on the descriptor does not say it.
    fn set_sgprs(&mut self, count: u32) -> Result<()> {
        if self.generation < Generation::Gfx10 {
            let blocks = count.max(1).div_ceil(8) - 1;
            self.set_field("granulated_wavefront_sgpr_count", u64::from(blocks))?;
        }
        self.said.sgprs = count;
        self.set_value("sgpr_count", u64::from(count).into());
        Ok(())
    }

    /// Scratch for a kernel that had none: only where the hardware sets it up.
    fn set_scratch(&mut self, size: u32) -> Result<()> {
        let enable = self.field("enable_private_segment")?;
        if size != 0 && self.descriptor.value(enable) == 0 {
            if enable.directive != Some(".amdhsa_enable_private_segment") {
                let detail = format!(
                    "scratch for {}, whose code does not set up scratch addresses",
                    self.name
                );
                return Err(unsupported(CONTEXT, detail));
            }
            self.set_field("enable_private_segment", 1)?;
        }
        self.set_field("private_segment_fixed_size", u64::from(size))
    }

    fn field(&self, name: &str) -> Result<&'static Field> {
        Field::by_name(self.generation, name).ok_or_else(|| {
            let detail = format!("{name} of {}: neither a key nor a field", self.name);
            Error::new(ErrorKind::NotFound, CONTEXT, detail)
        })
    }

    fn set_field(&mut self, name: &str, value: u64) -> Result<()> {
        let field = self.field(name)?;
        self.descriptor.set(field, value)
    }

    fn set_value(&mut self, name: &str, value: NewValue) {
        let key = format!(".{name}");
        self.values.retain(|(it, _)| *it != key);
        self.values.push((key, value));
    }
}

fn descriptor_offset(object: &CodeObject<'_>, kernel: &Kernel<'_>) -> Option<u64> {
    let symbol = kernel.descriptor_symbol()?;
    let elf = object.elf();
    if !object.is_relocatable()
        && let Some(offset) = elf.file_offset(symbol.value)
    {
        return Some(offset);
    }
    let section = elf.section(symbol.section)?;
    section.offset.checked_add(symbol.value.checked_sub(section.address)?)
}
