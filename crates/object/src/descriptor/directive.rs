//! A descriptor as the assembler directives that make it.
//!
//! Derived from LLVM's AMDGPU definitions (Apache-2.0 WITH LLVM-exception).

use std::borrow::Cow;
use std::fmt;

use hsaco_isa::target::Generation;

use super::KernelDescriptor;
use super::fields::{Field, Shown};

/// One line between `.amdhsa_kernel` and `.end_amdhsa_kernel`.
///
/// ```
/// use hsaco_isa::target::Generation;
/// use hsaco_object::descriptor::KernelDescriptor;
/// let lines = KernelDescriptor::default().directives(Generation::Gfx12, 5);
/// assert_eq!(lines[0].to_string(), ".amdhsa_group_segment_fixed_size 0");
/// assert_eq!(lines[4].to_string(), "; GLG_EN 0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Directive {
    /// The directive, or a comment where a field has none.
    pub name: Cow<'static, str>,
    /// What follows it.
    pub value: u64,
}

impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
}

impl KernelDescriptor {
    /// The descriptor as `.amdhsa_` lines, text and order as `llvm-objdump -d` shows it in an object
    /// of that code object version.
    ///
    /// Counts of registers are those that the granules stand for. The user SGPR count, the entry
    /// and bits that must be zero are not shown: the assembler works the first two out. The
    /// `reserve_` lines are as LLVM prints them, whatever the object's target ID says. LLVM shows
    /// nothing for gfx6 and gfx7; the lines for those are what their assembler takes.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.compute_pgm_rsrc3 = 1;
    /// let lines = descriptor.directives(Generation::Gfx90a, 5);
    /// assert!(lines.iter().any(|line| line.to_string() == ".amdhsa_accum_offset 8"));
    /// ```
    pub fn directives(self, generation: Generation, code_object_version: u8) -> Vec<Directive> {
        let mut lines =
            Lines { generation, code_object_version, descriptor: self, out: Vec::new() };
        for field in Field::all(generation) {
            lines.show(field);
        }
        lines.out
    }
}

struct Lines {
    generation: Generation,
    code_object_version: u8,
    descriptor: KernelDescriptor,
    out: Vec<Directive>,
}

impl Lines {
    fn show(&mut self, field: &Field) {
        let value = self.descriptor.value(field);
        match field.shown {
            Shown::No => {}
            Shown::AsIs => self.directive(field, value),
            Shown::Comment => self.comment(field, value),
            Shown::NonZero if value == 0 => {}
            Shown::NonZero => self.directive(field, value),
            Shown::Vgprs => self.directive(field, self.descriptor.vgprs(self.generation).into()),
            Shown::Sgprs => {
                self.reserved_sgprs();
                // Not `sgprs`: the assembler undoes exactly this, whatever the hardware allocates.
                self.directive(field, (value + 1) * 8);
            }
            Shown::AccumOffset => self.directive(field, (value + 1) * 4),
            Shown::Wave64Only if self.descriptor.is_wave32(self.generation) => {
                self.comment(field, value);
            }
            Shown::Wave64Only => self.directive(field, value),
            Shown::FromV5 if self.code_object_version < 5 => {}
            Shown::FromV5 => self.directive(field, value),
        }
    }

    fn directive(&mut self, field: &Field, value: u64) {
        if let Some(name) = field.directive {
            self.push(name, value);
        }
    }

    fn comment(&mut self, field: &Field, value: u64) {
        self.push(format!("; {}", field.name.to_ascii_uppercase()), value);
    }

    /// Registers above the named ones cannot be told apart, so none are claimed.
    fn reserved_sgprs(&mut self) {
        let architected =
            matches!(self.generation, Generation::Gfx940) || self.generation >= Generation::Gfx11;
        self.push(".amdhsa_reserve_vcc", 0);
        if !architected && self.generation >= Generation::Gfx7 {
            self.push(".amdhsa_reserve_flat_scratch", 0);
        }
        if self.generation >= Generation::Gfx8 {
            // Retry after page faults is no choice on gfx125x.
            let mask = u64::from(self.generation == Generation::Gfx125);
            self.push(".amdhsa_reserve_xnack_mask", mask);
        }
    }

    fn push(&mut self, name: impl Into<Cow<'static, str>>, value: u64) {
        self.out.push(Directive { name: name.into(), value });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(generation: Generation, version: u8, expected: &Expect) {
        let descriptor = KernelDescriptor {
            group_segment_fixed_size: 1024,
            compute_pgm_rsrc1: 0xe0af_00c3,
            compute_pgm_rsrc2: 0x0000_0390,
            kernel_code_properties: 0x0c08,
            kernarg_preload: 6,
            ..KernelDescriptor::default()
        };
        let lines = descriptor.directives(generation, version);
        let is_telling = |line: &&Directive| line.value != 0 || line.name.starts_with(';');
        let text: String =
            lines.iter().filter(is_telling).map(|line| format!("{line}\n")).collect();
        expected.assert_eq(&text);
    }

    #[test]
    fn wave32_and_comments() {
        check(
            Generation::Gfx11,
            5,
            &expect![[r#"
            .amdhsa_group_segment_fixed_size 1024
            ; SHARED_VGPR_COUNT 0
            ; TRAP_ON_START 0
            ; TRAP_ON_END 0
            ; IMAGE_OP 0
            .amdhsa_next_free_vgpr 32
            .amdhsa_next_free_sgpr 32
            .amdhsa_float_denorm_mode_32 3
            .amdhsa_float_denorm_mode_16_64 3
            .amdhsa_dx10_clamp 1
            .amdhsa_ieee_mode 1
            .amdhsa_workgroup_processor_mode 1
            .amdhsa_memory_ordered 1
            .amdhsa_forward_progress 1
            .amdhsa_system_sgpr_workgroup_id_x 1
            .amdhsa_system_sgpr_workgroup_id_y 1
            .amdhsa_system_sgpr_workgroup_id_z 1
            .amdhsa_user_sgpr_kernarg_segment_ptr 1
            .amdhsa_wavefront_size32 1
            .amdhsa_uses_dynamic_stack 1
            .amdhsa_user_sgpr_kernarg_preload_length 6
        "#]],
        );
    }

    #[test]
    fn granules_of_both_register_kinds() {
        check(
            Generation::Gfx90a,
            4,
            &expect![[r#"
            .amdhsa_group_segment_fixed_size 1024
            .amdhsa_accum_offset 4
            .amdhsa_next_free_vgpr 32
            .amdhsa_next_free_sgpr 32
            .amdhsa_float_denorm_mode_32 3
            .amdhsa_float_denorm_mode_16_64 3
            .amdhsa_dx10_clamp 1
            .amdhsa_ieee_mode 1
            .amdhsa_system_sgpr_workgroup_id_x 1
            .amdhsa_system_sgpr_workgroup_id_y 1
            .amdhsa_system_sgpr_workgroup_id_z 1
            .amdhsa_user_sgpr_kernarg_segment_ptr 1
            .amdhsa_user_sgpr_kernarg_preload_length 6
        "#]],
        );
    }

    #[test]
    fn the_first_generations_reserve_less() {
        let names = |generation| {
            let lines = KernelDescriptor::default().directives(generation, 5);
            let names = lines.into_iter().map(|line| line.name.into_owned());
            names.filter(|name| name.contains("reserve_")).collect::<Vec<_>>()
        };
        assert_eq!(names(Generation::Gfx6), [".amdhsa_reserve_vcc"]);
        assert_eq!(
            names(Generation::Gfx7),
            [".amdhsa_reserve_vcc", ".amdhsa_reserve_flat_scratch"]
        );
    }
}
