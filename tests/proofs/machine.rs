//! Rules asked of short code; and waves of the emulator, on which code runs before and after.

use std::collections::VecDeque;

use hsaco::analysis::{FunctionKind, Stream};
use hsaco::emu::Probe;
use hsaco::isa::model::{OperandValue, Register};
use hsaco::isa::target::WaveSize;
use hsaco::isa::{Inst, Processor};
use hsaco::patch::{Answer, Options, Plan, RegisterBudget, RuleSet, Surroundings, Tools, View};

pub(crate) const LANES: usize = 32;
pub(crate) const BUDGET: RegisterBudget =
    RegisterBudget { sgprs: 32, max_sgprs: 106, vgprs: 256, max_vgprs: 1024, unused: None };

pub(crate) fn tools() -> Tools {
    Tools::new(Processor::from_name("gfx1250").unwrap()).unwrap()
}

pub(crate) fn assemble(tools: &Tools, text: &str) -> Vec<Inst> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| tools.assemble(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

pub(crate) fn bytes(code: &[Inst]) -> Vec<u8> {
    let mut bytes = Vec::new();
    code.iter().for_each(|inst| inst.encode(&mut bytes));
    bytes
}

pub(crate) fn texts(tools: &Tools, code: &[Inst]) -> Vec<String> {
    code.iter().map(|inst| tools.decoder().text(inst)).collect()
}

/// Code after a rule: all of its plans made, or the first refusal.
pub(crate) fn rewrite(
    tools: &Tools,
    rule: &str,
    before: &str,
    options: &Options,
    budget: RegisterBudget,
) -> Result<Vec<Inst>, String> {
    leasing(tools, rule, before, options, budget).map(|(code, _)| code)
}

/// The same, and the registers that were leased.
pub(crate) fn leasing(
    tools: &Tools,
    rule: &str,
    before: &str,
    options: &Options,
    budget: RegisterBudget,
) -> Result<(Vec<Inst>, Vec<Register>), String> {
    let mut code = assemble(tools, before);
    code.extend(assemble(tools, "s_endpgm"));
    let encoded = bytes(&code);
    let stream = Stream::decode(tools.decoder(), 0x1000, &encoded);
    let surroundings = Surroundings::alone(FunctionKind::Kernel, budget);
    let view = View::new(tools, options, stream, surroundings);
    let rule = RuleSet::all().iter().find_map(|set| set.rule(rule)).unwrap();
    let mut plans: Vec<Plan> = Vec::new();
    for step in 0..code.len() {
        let site = view.site(step).unwrap();
        if !rule.claims(site.mnemonic()) {
            continue;
        }
        match (rule.look)(&site) {
            Answer::Rewrite(plan) => plans.push(plan),
            Answer::Refuse(refusal) => return Err(refusal.to_string()),
            Answer::NotMine | Answer::Keep(_) => {}
        }
    }
    let mut after = Vec::new();
    let mut step = 0;
    while step < code.len() - 1 {
        match plans.iter().flat_map(|plan| &plan.edits).find(|edit| edit.first == step) {
            Some(edit) => {
                after.extend(&edit.code);
                step += edit.count;
            }
            None => {
                after.push(code[step]);
                step += 1;
            }
        }
    }
    let leases = plans.into_iter().flat_map(|plan| plan.scratch_registers).collect();
    Ok((after, leases))
}

/// Numbers that look random and are the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }

    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }
}

/// A wave of the emulator with so many vector registers.
pub(crate) fn wave(vgprs: u16) -> Probe {
    Probe::new(Processor::from_name("gfx1250").unwrap(), WaveSize::Wave32, vgprs).unwrap()
}

/// Some number for each word of LDS.
pub(crate) fn fill_lds(wave: &mut Probe) {
    for (at, word) in (1_u32..).zip(wave.lds_mut()) {
        *word = at.wrapping_mul(0x9e37_79b1);
    }
}

/// Four bytes of LDS, at any address.
pub(crate) fn word(wave: &Probe, address: u32) -> u32 {
    let [low, high] =
        [0, 1].map(|at| wave.lds().get(address as usize / 4 + at).copied().unwrap_or(0));
    ((u64::from(high) << 32 | u64::from(low)) >> (address % 4 * 8)) as u32
}

pub(crate) fn fill(wave: &mut Probe, first: u16, count: u16, mut word: impl FnMut() -> u32) {
    for register in first..first + count {
        wave.vector_mut(register).iter_mut().for_each(|lane| *lane = word());
    }
}

/// What rows of registers hold.
pub(crate) fn rows(wave: &Probe, first: u16, count: u16) -> Vec<Vec<u32>> {
    (first..first + count).map(|number| wave.vector(number).to_vec()).collect()
}

pub(crate) fn copy_vectors(from: &Probe, to: &mut Probe, count: u16) {
    for number in 0..count {
        to.vector_mut(number).copy_from_slice(from.vector(number));
    }
}

/// When results of LDS come.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Results {
    AtOnce,
    /// As late as they may: when they are waited for.
    Late,
}

/// Code that ran one instruction after the other.
pub(crate) struct Stepped {
    results: Results,
    msb: u16,
    /// What LDS accesses that were not waited for will write, in order.
    outstanding: VecDeque<Vec<(u16, Vec<u32>)>>,
    /// The masks that tensor loads had.
    pub(crate) masks: Vec<u32>,
}

impl Stepped {
    pub(crate) fn run(tools: &Tools, wave: &mut Probe, code: &[Inst], results: Results) -> Self {
        let mut stepped = Self { results, msb: 0, outstanding: VecDeque::new(), masks: Vec::new() };
        for inst in code {
            stepped.step(tools, wave, inst);
        }
        stepped
    }

    /// LDS accesses that were not waited for.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    fn step(&mut self, tools: &Tools, wave: &mut Probe, inst: &Inst) {
        let before = self.loaded(tools, wave, inst);
        wave.execute(&bytes(&[*inst])).unwrap();
        let number = || match tools.decoder().operand(inst, "simm16") {
            Some(OperandValue::Number(number)) => number as usize,
            other => panic!("{other:?}"),
        };
        match inst.mnemonic() {
            "s_set_vgpr_msb" => {
                let bits = number() as u16;
                assert_eq!(bits >> 8, self.msb, "the upper byte is what was in force");
                self.msb = bits & 0xff;
            }
            "s_wait_dscnt" => {
                let most = number();
                while self.outstanding.len() > most {
                    let done = self.outstanding.pop_front().into_iter().flatten();
                    if self.results == Results::Late {
                        done.for_each(|(to, lanes)| wave.vector_mut(to).copy_from_slice(&lanes));
                    }
                }
            }
            "tensor_load_to_lds" => self.masks.push(wave.scalars()[mask(tools, inst)]),
            name if name.starts_with("ds_") => {
                let loaded = before.iter().map(|(to, _)| (*to, wave.vector(*to).to_vec()));
                self.outstanding.push_back(loaded.collect());
                if self.results == Results::Late {
                    before.iter().for_each(|(to, old)| wave.vector_mut(*to).copy_from_slice(old));
                }
            }
            _ => {}
        }
    }

    /// The registers that an access of LDS writes, and what they hold.
    fn loaded(&self, tools: &Tools, wave: &Probe, inst: &Inst) -> Vec<(u16, Vec<u32>)> {
        let operand = match inst.mnemonic().starts_with("ds_") {
            true => tools.decoder().operand(inst, "vdst"),
            false => None,
        };
        let Some(OperandValue::Register(Register { first, count, .. })) = operand else {
            return Vec::new();
        };
        let first = first + (self.msb >> 6 & 3) * 256;
        (first..first + u16::from(count)).map(|it| (it, wave.vector(it).to_vec())).collect()
    }
}

/// The scalar register that has the mask of a tensor load.
pub(crate) fn mask(tools: &Tools, load: &Inst) -> usize {
    match tools.decoder().operand(load, "vaddr1") {
        Some(OperandValue::Register(mask)) => mask.first.into(),
        other => panic!("{other:?}"),
    }
}
