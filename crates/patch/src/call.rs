//! Calls of device functions that a caller asks for.

use hsaco_analysis::{Cfg, Exit, Function, Usage};
use hsaco_isa::{Decoder, Flow, Inst, Register, RegisterFile, Special, VgprMsb};

use crate::lease::{BANK, Leases};
use crate::plan::Plan;
use crate::refusal::{Refusal, RefusalKind};
use crate::view::Site;

/// A function that code can be made to call: it ends by returning, and what it changes is known.
pub(crate) struct Callee {
    address: u64,
    usage: Usage,
}

/// Where LLVM's calling convention has the address to return to.
const LINK: Register = Register { file: RegisterFile::Sgpr, first: 30, count: 2, half: None };

impl Callee {
    /// The function of a name.
    pub(crate) fn find(
        decoder: &Decoder,
        functions: &[Function<'_>],
        name: &str,
    ) -> Result<Self, Refusal> {
        let refuse = |why: &str| {
            Refusal::new(RefusalKind::Unsupported, format!("`{name}` cannot be called: {why}"))
        };
        let function = functions.iter().find(|it| it.name.is_some_and(|it| it == name));
        let function = function.ok_or_else(|| refuse("the object has no such function"))?;
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let usage = Usage::new(decoder, &stream, &cfg);
        let insts = || stream.insts();
        let is_unmasked = |inst: Inst| {
            let effects = decoder.effects(&inst, VgprMsb::default());
            let is_vector = |it: Register| it.file == RegisterFile::Vgpr;
            !effects.is_masked() && effects.writes().any(is_vector)
        };
        let returns = |exit: Option<Exit>| matches!(exit, None | Some(Exit::Return));
        let exec = [Special::ExecLo, Special::ExecHi].map(single);
        let why = match () {
            () if !cfg.blocks().iter().all(|block| returns(block.exit)) => {
                "it does more than run to its return"
            }
            () if insts().any(|inst| {
                matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap)
            }) =>
            {
                "it calls others"
            }
            () if usage.lds => "it uses LDS, which kernels that do not would have to allocate",
            () if usage.frame != hsaco_analysis::StackFrame::default() => "it uses a stack",
            () if exec.iter().any(|it| usage.writes.contains(it)) => "it changes EXEC",
            () if usage.writes.contains(&single(Special::Mode)) => "it changes MODE",
            () if insts().any(is_unmasked) => "it writes lanes that EXEC does not enable",
            () => return Ok(Callee { address: function.address, usage }),
        };
        Err(refuse(why))
    }

    /// The call before an instruction, with what is needed and changed saved in registers that nobody uses.
    pub(crate) fn call(&self, site: &Site<'_>) -> Result<Plan, Refusal> {
        let mut leases = site.leases();
        self.usage.registers.iter().for_each(|register| leases.avoid(&register));
        leases.avoid(&LINK);
        let address = leases.sgprs(2, 2)?;
        let (mut lines, mut restore) = (Vec::new(), Vec::new());
        let mut changed = self.usage.writes;
        changed.insert(&LINK);
        let live = site.view().live_before(site.step());
        for register in changed.iter().flat_map(singles).filter(|it| live.contains(it)) {
            let (before, after) = saved(&mut leases, &register)?;
            lines.push(before);
            restore.push(after);
        }
        let msb = site.msb()?.bits();
        // Nothing that is under way may come back while the function uses its registers, nor may it leave more.
        let idle = || "s_wait_idle".to_owned();
        let mut all = vec![idle()];
        if msb != 0 {
            all.push(format!("s_set_vgpr_msb {:#x}", u32::from(msb) << 8));
        }
        // SCC is saved first and comes back last: moves leave it alone.
        lines.sort_by_key(|line| !line.starts_with("s_cselect"));
        restore.sort_by_key(|line| line.starts_with("s_cmp"));
        all.append(&mut lines);
        let start = all.len();
        all.extend([
            format!("s_get_pc_i64 {address}"),
            format!("s_add_nc_u64 {address}, {address}, 0x1000000000"),
            format!("s_swap_pc_i64 {LINK}, {address}"),
            idle(),
        ]);
        all.append(&mut restore);
        if msb != 0 {
            all.push(format!("s_set_vgpr_msb {msb:#x}"));
        }
        let mut code = site.assemble_all(&all)?;
        code.extend(site.inst());
        let mut plan = Plan::replace(site, code).leasing(leases);
        plan.fixups.push((start, self.address));
        plan.leases.extend(self.highest(site)?);
        Ok(plan)
    }

    /// The highest registers that the function writes: kernels have to allocate them.
    fn highest(&self, site: &Site<'_>) -> Result<Vec<Register>, Refusal> {
        let (vgprs, most) = (self.usage.vgprs(), u32::from(site.view().budget().max_vgprs));
        if vgprs > most {
            let detail = format!("the function needs {vgprs} vector registers, and {most} may be");
            return Err(Refusal::new(RefusalKind::Occupancy, detail));
        }
        let last = |file, count: u32| {
            let first = u16::try_from(count.checked_sub(1)?).ok()?;
            Some(Register { file, first, count: 1, half: None })
        };
        let vector = last(RegisterFile::Vgpr, vgprs);
        let scalar = last(RegisterFile::Sgpr, self.usage.sgprs().max(u32::from(LINK.first) + 2));
        Ok(vector.into_iter().chain(scalar).collect())
    }
}

fn single(special: Special) -> Register {
    Register { file: RegisterFile::Special(special), first: 0, count: 1, half: None }
}

fn singles(register: Register) -> impl Iterator<Item = Register> {
    (0..u16::from(register.count.max(1))).map(move |at| match register.file {
        RegisterFile::Special(_) => register,
        _ => Register { first: register.first + at, count: 1, half: None, ..register },
    })
}

/// The lines that save a register and restore it.
fn saved(leases: &mut Leases<'_>, register: &Register) -> Result<(String, String), Refusal> {
    let moved = |name: &str, to: Register| {
        (format!("{name} {to}, {register}"), format!("{name} {register}, {to}"))
    };
    Ok(match register.file {
        RegisterFile::Vgpr if register.first < BANK => {
            moved("v_mov_b32_e32", leases.vgprs(1, 1, 0)?)
        }
        RegisterFile::Sgpr
        | RegisterFile::Special(Special::VccLo | Special::VccHi | Special::M0) => {
            moved("s_mov_b32", leases.sgprs(1, 1)?)
        }
        RegisterFile::Special(Special::Scc) => {
            let to = leases.sgprs(1, 1)?;
            (format!("s_cselect_b32 {to}, 1, 0"), format!("s_cmp_lg_u32 {to}, 0"))
        }
        _ => {
            let detail = format!("{register} is needed, and the function changes it");
            return Err(Refusal::new(RefusalKind::StillNeeded, detail));
        }
    })
}
