//! A wave of 32 lanes that runs the straight code which rules make: written from the manual, not from the rules.

pub(crate) mod matrix;
pub(crate) mod numbers;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use hsaco::analysis::{FunctionKind, Stream};
use hsaco::isa::model::{OperandValue, Register, RegisterFile, Special};
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
    let mut bytes = Vec::new();
    code.iter().for_each(|inst| inst.encode(&mut bytes));
    let stream = Stream::decode(tools.decoder(), 0x1000, &bytes);
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

/// Where an operand comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Vector(usize),
    Scalar(usize),
    M0,
    Constant(u32),
    None,
}

/// An instruction made ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    name: &'static str,
    to: Source,
    from: [Source; 3],
    signs: [(bool, bool); 3],
    offset: u32,
    matrix: Option<Box<matrix::Operation>>,
}

/// Makes code ready to run; vector registers get their upper bits from `s_set_vgpr_msb`.
pub(crate) fn prepare(tools: &Tools, code: &[Inst], mut msb: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for inst in code {
        steps.push(step(tools, inst, msb));
        if inst.mnemonic() == "s_set_vgpr_msb" {
            let bits = tools.decoder().operand(inst, "simm16");
            let Some(OperandValue::Number(bits)) = bits else { panic!() };
            assert_eq!(bits as u32 >> 8, msb, "the upper byte is what was in force");
            msb = bits as u32 & 0xff;
        }
    }
    steps
}

fn step(tools: &Tools, inst: &Inst, msb: u32) -> Step {
    let named = |name: &str| tools.decoder().operand(inst, name);
    let bank = |shift: u32| ((msb >> shift & 3) * 256) as usize;
    let source = |name: &str, bank: usize| match named(name) {
        Some(OperandValue::Register(register)) => place(&register, bank),
        Some(OperandValue::Integer(number)) => Source::Constant(i32::from(number) as u32),
        Some(OperandValue::Float(bits)) => Source::Constant(bits as u32),
        Some(OperandValue::Literal32(bits)) => Source::Constant(bits),
        _ => Source::None,
    };
    let first = |names: &[&str], bank| {
        let found = names.iter().find(|name| named(name).is_some());
        found.map_or(Source::None, |name| source(name, bank))
    };
    let sign = |name: &str| match named(name) {
        Some(OperandValue::Modifiers(it)) => (it.neg, it.abs),
        _ => (false, false),
    };
    let number = |name: &str| match named(name) {
        Some(OperandValue::Number(number)) => Some(number as u32),
        _ => None,
    };
    let is_matrix =
        inst.mnemonic().starts_with("v_wmma_f") || inst.mnemonic().starts_with("v_wmma_s");
    Step {
        name: inst.mnemonic(),
        to: first(&["vdst", "sdst"], bank(6)),
        from: [
            first(&["src0", "addr", "vaddr", "vaddr1"], bank(0)),
            first(&["src1", "data0", "vdata"], bank(2)),
            first(&["src2", "data1"], bank(4)),
        ],
        signs: [sign("src0_modifiers"), sign("src1_modifiers"), sign("src2_modifiers")],
        offset: number("offset").or(number("simm16")).unwrap_or_default(),
        matrix: is_matrix.then(|| Box::new(matrix::Operation::of(tools, inst, msb))),
    }
}

fn place(register: &Register, bank: usize) -> Source {
    let number = register.first as usize;
    match register.file {
        RegisterFile::Vgpr => Source::Vector(number + bank),
        RegisterFile::Sgpr => Source::Scalar(number),
        RegisterFile::Special(Special::M0) => Source::M0,
        other => panic!("no {other:?} here"),
    }
}

/// Bytes by address.
pub(crate) type Bytes = HashMap<u32, u8, BuildHasherDefault<Mixed>>;

/// A quick hash: proofs store millions of bytes.
#[derive(Clone, Default)]
pub(crate) struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, _: &[u8]) {
        panic!("only addresses are hashed");
    }

    fn write_u32(&mut self, address: u32) {
        self.0 = u64::from(address).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The state of a wave, and what its LDS instructions did.
#[derive(Clone)]
pub(crate) struct Wave {
    pub(crate) vgprs: Vec<[u32; LANES]>,
    pub(crate) sgprs: [u32; 106],
    pub(crate) m0: u32,
    pub(crate) scc: bool,
    /// MODE.
    pub(crate) mode: u32,
    /// The number of the wave's cluster.
    pub(crate) cluster: u32,
    /// What was written to LDS; the rest is made up from addresses.
    pub(crate) lds: Bytes,
    /// LDS accesses that were not waited for.
    pub(crate) under_way: u32,
    /// What tensor loads had for a mask.
    pub(crate) masks: Vec<u32>,
    /// Addresses of the last LDS access.
    pub(crate) addresses: [u32; LANES],
    /// Whether products are worked out.
    pub(crate) multiplies: bool,
    /// Whether LDS loads bring their results as late as they may: when they are waited for.
    pub(crate) is_late: bool,
    /// What LDS accesses under way will write, in order.
    pending: VecDeque<Vec<(usize, [u32; LANES])>>,
    /// What was stored to memory.
    pub(crate) stored: Vec<[u32; LANES]>,
}

impl Wave {
    pub(crate) fn new() -> Self {
        Wave::with_vgprs(1024)
    }

    pub(crate) fn with_vgprs(count: usize) -> Self {
        Wave {
            vgprs: vec![[0; LANES]; count],
            sgprs: [0; 106],
            m0: 0,
            scc: false,
            mode: 0,
            cluster: 0,
            lds: Bytes::default(),
            under_way: 0,
            masks: Vec::new(),
            addresses: [0; LANES],
            multiplies: true,
            is_late: false,
            pending: VecDeque::new(),
            stored: Vec::new(),
        }
    }

    pub(crate) fn randomize(&mut self, random: &mut Random, vgprs: usize) {
        for register in &mut self.vgprs[..vgprs] {
            register.iter_mut().for_each(|lane| *lane = random.next());
        }
        self.sgprs.iter_mut().for_each(|it| *it = random.next());
    }

    pub(crate) fn run(&mut self, code: &[Step]) {
        code.iter().for_each(|step| self.step(step));
    }

    #[inline]
    fn get(&self, source: Source, lane: usize) -> u32 {
        match source {
            Source::Vector(number) => self.vgprs[number][lane],
            Source::Scalar(number) => self.sgprs[number],
            Source::M0 => self.m0,
            Source::Constant(bits) => bits,
            Source::None => 0,
        }
    }

    fn scalar(&self, source: Source) -> u32 {
        self.get(source, 0)
    }

    fn set_scalar(&mut self, to: Source, value: u32) {
        match to {
            Source::Scalar(number) => self.sgprs[number] = value,
            Source::M0 => self.m0 = value,
            other => panic!("not scalar: {other:?}"),
        }
    }

    fn step(&mut self, it: &Step) {
        match it.name {
            "v_nop" | "s_wait_xcnt" | "s_set_vgpr_msb" | "s_nop" | "s_clause" | "s_sethalt"
            | "s_delay_alu" | "s_wait_loadcnt" | "s_barrier_signal" | "s_endpgm" => {}
            "s_barrier_signal_isfirst" => self.scc = true,
            "s_wait_dscnt" => {
                self.under_way = self.under_way.min(it.offset);
                while self.pending.len() > it.offset as usize {
                    let done = self.pending.pop_front().into_iter().flatten();
                    done.for_each(|(register, lanes)| self.vgprs[register] = lanes);
                }
            }
            "global_store_b32" => {
                self.stored.push(std::array::from_fn(|lane| self.get(it.from[1], lane)));
            }
            "cluster_load_b32" | "global_load_b32" => {
                let Source::Vector(to) = it.to else { panic!("{:?}", it.to) };
                let address = |lane| self.get(it.from[0], lane).wrapping_add(it.offset);
                self.vgprs[to] = std::array::from_fn(|lane| self.word(!address(lane)));
            }
            "v_wmma_i32_16x16x64_iu8" => self.opaque(it),
            "s_mov_b32" => self.set_scalar(it.to, self.scalar(it.from[0])),
            "s_pack_hh_b32_b16" => {
                let (low, high) = (self.scalar(it.from[0]), self.scalar(it.from[1]));
                self.set_scalar(it.to, low >> 16 | high & 0xffff_0000);
            }
            "s_and_b32" | "s_or_b32" => {
                let (one, other) = (self.scalar(it.from[0]), self.scalar(it.from[1]));
                let result = if it.name == "s_and_b32" { one & other } else { one | other };
                self.scc = result != 0;
                self.set_scalar(it.to, result);
            }
            "s_cmp_eq_u32" => self.scc = self.scalar(it.from[0]) == self.scalar(it.from[1]),
            "s_cmp_lg_u32" => self.scc = self.scalar(it.from[0]) != self.scalar(it.from[1]),
            "s_cselect_b32" => {
                let chosen = it.from[usize::from(!self.scc)];
                self.set_scalar(it.to, self.scalar(chosen));
            }
            "s_getreg_b32" => {
                let (register, first) = (it.offset & 0x3f, it.offset >> 6 & 0x1f);
                let count = (it.offset >> 11 & 0x1f) + 1;
                let value = match register {
                    1 => self.mode,
                    28 => self.cluster << 6,
                    other => panic!("no hardware register {other} here"),
                };
                self.set_scalar(it.to, value >> first & ((1 << count) - 1));
            }
            "tensor_load_to_lds" => self.masks.push(self.scalar(it.from[0])),
            name if name.starts_with("ds_") => self.lds_access(it),
            "v_cmp_class_f32" | "v_cmp_eq_u32" => {
                let mut lanes = 0;
                for lane in 0..LANES {
                    let (one, other) = (self.get(it.from[0], lane), self.get(it.from[1], lane));
                    let is = match it.name {
                        "v_cmp_eq_u32" => one == other,
                        _ => {
                            assert_eq!(other, 3, "only NaN is asked for");
                            f32::from_bits(one).is_nan()
                        }
                    };
                    lanes |= u32::from(is) << lane;
                }
                self.set_scalar(it.to, lanes);
            }
            _ => match &it.matrix {
                Some(operation) if self.multiplies => operation.run(self),
                Some(_) => {}
                None => self.vector(it),
            },
        }
    }

    fn vector(&mut self, it: &Step) {
        let Source::Vector(to) = it.to else { panic!("{} writes {:?}", it.name, it.to) };
        let operation = numbers::operation(it.name);
        for lane in 0..LANES {
            let mut from = [0; 3];
            for (at, source) in it.from.iter().enumerate() {
                let (neg, abs) = it.signs[at];
                let bits = self.get(*source, lane);
                let bits = if abs { bits & 0x7fff_ffff } else { bits };
                from[at] = if neg { bits ^ 0x8000_0000 } else { bits };
            }
            if it.name == "v_cndmask_b32" {
                from[2] = from[2] >> lane & 1;
            } else if it.name == "v_mbcnt_lo_u32_b32" {
                from[0] &= (1_u32 << lane) - 1;
            }
            self.vgprs[to][lane] = operation(from);
        }
    }

    /// A product of integers: some numbers that depend on all sources.
    fn opaque(&mut self, it: &Step) {
        let [Source::Vector(a), Source::Vector(b), Source::Vector(c)] = it.from else {
            panic!("{:?}", it.from)
        };
        let Source::Vector(to) = it.to else { panic!("{:?}", it.to) };
        let results: Vec<[u32; LANES]> = (0..8)
            .map(|at| {
                let mixed = |lane: usize| {
                    let product =
                        self.vgprs[a + at][lane].wrapping_mul(self.vgprs[b + at][lane] | 1);
                    product.wrapping_add(self.vgprs[c + at][lane])
                };
                std::array::from_fn(mixed)
            })
            .collect();
        self.vgprs[to..to + 8].copy_from_slice(&results);
    }

    fn lds_access(&mut self, it: &Step) {
        let words = if it.name.ends_with("b64") { 2 } else { 1 };
        let is_store = it.name.starts_with("ds_store");
        self.under_way += 1;
        let mut late = match it.to {
            Source::Vector(to) => (to..to + words).map(|at| (at, [0; LANES])).collect(),
            _ => Vec::new(),
        };
        for lane in 0..LANES {
            let address = self.get(it.from[0], lane).wrapping_add(it.offset);
            self.addresses[lane] = address;
            let mut found = [0; 2];
            let mut data = [0; 2];
            for word in 0..words {
                found[word] = self.word(address.wrapping_add(4 * word as u32));
                if let Source::Vector(from) = it.from[1] {
                    data[word] = self.vgprs[from + word][lane];
                }
            }
            for word in 0..words {
                if is_store {
                    self.set_word(address.wrapping_add(4 * word as u32), data[word]);
                }
                if let Some((_, lanes)) = late.get_mut(word) {
                    lanes[lane] = found[word];
                }
            }
        }
        if self.is_late {
            self.pending.push_back(late);
        } else {
            late.into_iter().for_each(|(register, lanes)| self.vgprs[register] = lanes);
        }
    }

    pub(crate) fn word(&self, address: u32) -> u32 {
        let byte = |at: u32| self.lds.get(&at).copied().unwrap_or(made_up(at));
        u32::from_le_bytes([0, 1, 2, 3].map(|at| byte(address.wrapping_add(at))))
    }

    pub(crate) fn set_word(&mut self, address: u32, value: u32) {
        for (at, byte) in (0..).zip(value.to_le_bytes()) {
            self.lds.insert(address.wrapping_add(at), byte);
        }
    }
}

fn made_up(address: u32) -> u8 {
    (address.wrapping_mul(0x9e37_79b1) >> 21) as u8
}
