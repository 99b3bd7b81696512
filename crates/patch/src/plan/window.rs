//! Instructions of a function and what takes their place.

use hsaco_isa::Inst;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::Register;

use crate::refusal::{Refusal, RefusalKind};
use crate::scratch::ScratchRegisters;
use crate::view::{Around, View};

/// Instructions of a function and what takes their place.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) code: Vec<Inst>,
    /// The rules that want it, each with its instruction's address.
    pub(crate) rules: Vec<(&'static str, u64)>,
    pub(crate) scratch_registers: Vec<Register>,
    /// Addresses that the code makes, as in [`Plan::fixups`].
    pub(crate) fixups: Vec<(usize, u64)>,
    /// The branch that the code ends with, which stood at the end of the window.
    pub(crate) branch: Option<Branch>,
}

/// A branch that leads from elsewhere to where it led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The instruction.
    pub(crate) word: u32,
    pub(crate) target: u64,
    /// Whether control may go on behind it.
    pub(crate) is_conditional: bool,
}

impl Window {
    /// Code in place of so many instructions, which takes no registers and leads nowhere else.
    pub(crate) fn new(
        first: usize,
        count: usize,
        code: Vec<Inst>,
        rules: Vec<(&'static str, u64)>,
    ) -> Self {
        let (scratch_registers, fixups) = (Vec::new(), Vec::new());
        Window { first, count, code, rules, scratch_registers, fixups, branch: None }
    }

    pub(crate) fn end(&self) -> usize {
        self.first + self.count
    }
}

/// What is to run before a kernel.
pub(crate) struct Prologue {
    pub(crate) rule: &'static str,
    pub(crate) code: Vec<Inst>,
}

/// A window whose code does elsewhere what its last instruction did where it stood: a branch leads where it led, and the
/// program counter is read as it was.
pub(super) fn bound(view: &View<'_>, mut window: Window) -> Result<Window, Refusal> {
    let step = window.end().saturating_sub(1);
    let (Some(last), address) = (view.stream().inst(step), view.stream().address_of(step)) else {
        return Ok(window);
    };
    if window.code.last() != Some(&last) || window.code.len() == 1 {
        return Ok(window);
    }
    let name = last.mnemonic();
    if name == "s_clause" {
        window.code.pop();
        window.code.extend(view.tools().assemble("s_nop 0").ok());
    } else if let Some(target) = last.branch_target(address) {
        let is_conditional = match last.flow() {
            Flow::Branch => false,
            _ if name.starts_with("s_cbranch") && last.len() == 4 => true,
            _ => {
                let detail = format!("{} counts from where it stands", view.place(step));
                return Err(Refusal::new(RefusalKind::ControlFlow, detail));
            }
        };
        window.code.pop();
        let [a, b, c, d, ..] = last.bytes();
        let word = u32::from_le_bytes([a, b, c, d]);
        window.branch = Some(Branch { word, target, is_conditional });
    } else if matches!(name, "s_getpc_b64" | "s_get_pc_i64") {
        window.code.pop();
        read_counter(view, &mut window, step, address + last.len() as u64)?;
    } else if name.contains("_pc")
        && !matches!(last.flow(), Flow::IndirectCall | Flow::IndirectJump)
    {
        let detail = format!("{} reads where it stands", view.place(step));
        return Err(Refusal::new(RefusalKind::ControlFlow, detail));
    }
    Ok(window)
}

/// Puts the address that an instruction read from the program counter at the end of a window.
fn read_counter(
    view: &View<'_>,
    window: &mut Window,
    step: usize,
    value: u64,
) -> Result<(), Refusal> {
    let (dialect, tools) = (view.dialect(), view.tools());
    let lost = || Refusal::new(RefusalKind::Unsupported, "the program counter's register is none");
    let inst = view.stream().inst(step).ok_or_else(lost)?;
    let [a, b, c, d, ..] = inst.bytes();
    let pair = dialect.address_pair(u32::from_le_bytes([a, b, c, d]));
    let mut scratch = ScratchRegisters::around(Around { view, first: window.first, last: step });
    window.scratch_registers.iter().for_each(|register| scratch.avoid(register));
    let saved = match dialect.loses_scc() && scratch.scc().is_err() {
        true => Some(scratch.sgprs(1, 1)?.first),
        false => None,
    };
    let save = saved.map(|it| dialect.save_scc(it)).unwrap_or_default();
    let restore = saved.map(|it| dialect.restore_scc(it));
    let insts = |words: &[u32]| tools.insts(words).ok_or_else(lost);
    window.code.extend(insts(&save)?);
    window.fixups.push((window.code.len(), value));
    window.code.extend(insts(&dialect.address(0, value, pair))?);
    window.code.extend(insts(restore.as_slice())?);
    window.scratch_registers.extend(scratch.into_granted());
    Ok(())
}
