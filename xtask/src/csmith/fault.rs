//! Programs that clang-22 compiles to wrong code, each with the instructions that are wrong and what they should be.
//!
//! A program is left out of the comparison only if the host's checksum comes out once these instructions are mended, and
//! nothing else is. `docs/compiler-faults.md` says how each fault was found.

/// Instructions of one program that are not what the program says.
pub(super) struct Fault {
    /// The heading in `docs/compiler-faults.md`.
    pub(super) name: &'static str,
    seed: u64,
    target: &'static str,
    level: &'static str,
    /// Lines of assembly, which occur once.
    wrong: &'static str,
    right: &'static str,
}

/// What the compiler says where it makes no code of a valid program. Any other error is a failure of the campaign.
const REFUSALS: [&str; 2] =
    ["branch size exceeds simm16", "clang frontend command failed with exit code 139"];

/// The reason for which the compiler is known to make no code, if it is one.
pub(super) fn refusal(message: &str) -> Option<&'static str> {
    REFUSALS.into_iter().find(|it| message.contains(it))
}

const FAULTS: [Fault; 10] = [
    Fault {
        name: "or-with-all-ones",
        seed: 122,
        target: "gfx1250",
        level: "2",
        wrong: "\tv_mov_b32_e32 v1, s0\n",
        right: "\tv_mov_b32_e32 v1, -1\n",
    },
    Fault {
        name: "whole-wave-temporary",
        seed: 156,
        target: "gfx90a",
        level: "0",
        wrong: "\tv_mov_b32_e32 v40, 0x1008\n\
                \tbuffer_store_dword v45, v40, s[0:3], s33 offen ; 4-byte Folded Spill\n",
        right: "\tv_accvgpr_write_b32 a31, v40\n\
                \tv_mov_b32_e32 v40, 0x1008\n\
                \tbuffer_store_dword v45, v40, s[0:3], s33 offen ; 4-byte Folded Spill\n\
                \tv_accvgpr_read_b32 v40, a31\n",
    },
    sign_for_ones("gfx90a", "\tv_ashrrev_i32_e32 v4, 31, v1\n", "\tv_mov_b32_e32 v4, -1\n"),
    sign_for_ones("gfx942", "\tv_ashrrev_i32_e32 v4, 31, v1\n", "\tv_mov_b32_e32 v4, -1\n"),
    sign_for_ones("gfx950", "\tv_ashrrev_i32_e32 v4, 31, v1\n", "\tv_mov_b32_e32 v4, -1\n"),
    sign_for_ones("gfx1030", "\tv_ashrrev_i32_e32 v6, 31, v1\n", "\tv_mov_b32_e32 v6, -1\n"),
    sign_for_ones("gfx1100", "\tv_ashrrev_i32_e32 v6, 31, v1\n", "\tv_mov_b32_e32 v6, -1\n"),
    sign_for_ones("gfx1151", "\tv_ashrrev_i32_e32 v6, 31, v1\n", "\tv_mov_b32_e32 v6, -1\n"),
    sign_for_ones("gfx1201", "\tv_ashrrev_i32_e32 v5, 31, v1\n", "\tv_mov_b32_e32 v5, -1\n"),
    sign_for_ones("gfx1250", "\tv_ashrrev_i32_e32 v1, 31, v3\n", "\tv_mov_b32_e32 v1, -1\n"),
];

/// `or-with-all-ones` again: the sign of a number where -1 should be.
const fn sign_for_ones(target: &'static str, wrong: &'static str, right: &'static str) -> Fault {
    Fault { name: "or-with-all-ones", seed: 479, target, level: "3", wrong, right }
}

impl Fault {
    pub(super) fn of(seed: u64, target: &str, level: &str) -> Option<&'static Self> {
        let is_it = |it: &&Self| (it.seed, it.target, it.level) == (seed, target, level);
        FAULTS.iter().find(is_it)
    }

    /// The assembly as it should be, or none if it does not have the wrong lines.
    pub(super) fn mend(&self, assembly: &str) -> Option<String> {
        let is_once = assembly.matches(self.wrong).count() == 1;
        is_once.then(|| assembly.replace(self.wrong, self.right))
    }
}

#[cfg(test)]
mod tests {
    use super::FAULTS;

    #[test]
    fn each_fault_is_explained() {
        let page = include_str!("../../../docs/compiler-faults.md");
        for fault in &FAULTS {
            assert!(page.contains(&format!("\n## {}\n", fault.name)), "{}", fault.name);
        }
    }
}
