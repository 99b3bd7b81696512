//! Generated functions: instructions to rewrite with any registers, among any neighbours, through the whole engine; and
//! run before and after on the emulator, where afterwards LDS loads bring their results as late as they may.

use hsaco::analysis::Stream;
use hsaco::emu::Probe;
use hsaco::isa::Inst;
use hsaco::patch::{Options, Tools, Verdict};
use hsaco_tests::gfx1250::{self, NewKernel, TEXT};
use hsaco_tests::rewritten::{Rewritten, text};

use super::machine::{LANES, Random, Results, Stepped, assemble, copy_vectors, fill, tools};
use super::{ds, e5m3};

/// Vector registers that instructions name.
pub(crate) const NAMED: usize = 48;
/// From here on they hold addresses, apart for each lane, and nothing else writes them.
pub(crate) const ADDRESSES: usize = 40;
/// What is stored at the end is here.
const STORED: usize = 60;
/// Holds where lanes store it; behind this offset.
pub(crate) const PLACE: usize = 61;
const RESULTS: u32 = ds::APART * LANES as u32;
/// Bytes of memory.
const MEMORY: u32 = RESULTS + (1 << 20);

/// A function in the making.
struct Program<'r> {
    random: &'r mut Random,
    lines: Vec<String>,
    /// Upper bits of vector registers.
    mode: u32,
    /// Registers that loads under way write.
    busy: Vec<usize>,
    /// Registers that were written, by their full numbers.
    written: Vec<usize>,
}

/// The operands that have upper bits of their own.
#[derive(Clone, Copy)]
enum Role {
    First = 0,
    Second = 2,
    Third = 4,
    To = 6,
}

impl Program<'_> {
    fn full(&self, name: usize, role: Role) -> usize {
        name + 256 * (self.mode >> role as u32 & 3) as usize
    }

    /// A register of a row that is under no load, with its full number.
    fn row(&mut self, count: usize, align: usize, role: Role) -> (usize, usize) {
        loop {
            let end = if matches!(role, Role::To) { ADDRESSES } else { NAMED };
            let name = self.random.below(((end - count) / align) as u32 + 1) as usize * align;
            let full = self.full(name, role);
            if !self.busy.iter().any(|it| (full..full + count).contains(it)) {
                return (name, full);
            }
        }
    }

    fn address(&mut self) -> (usize, usize) {
        let name = ADDRESSES + self.random.below((NAMED - ADDRESSES) as u32) as usize;
        (name, self.full(name, Role::First))
    }

    fn add(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn wait(&mut self) {
        self.add("s_wait_dscnt 0x0");
        self.busy.clear();
    }

    /// Something that no rule is about.
    fn neighbour(&mut self) {
        let (to, full) = self.row(1, 1, Role::To);
        let (a, _) = self.row(1, 1, Role::First);
        let (b, _) = self.row(1, 1, Role::Second);
        let scalar = self.random.below(12) + 4;
        let (address, _) = self.address();
        let bits = self.random.next();
        let offset = bits >> 24;
        match self.random.below(12) {
            0 => self.add("s_nop 1"),
            1 => self.add(format!("s_mov_b32 s{scalar}, {bits:#x}")),
            2 => self.add(format!("s_and_b32 s{scalar}, s{}, s6", scalar ^ 1)),
            3 => self.add(format!("s_mov_b32 m0, s{scalar}")),
            4 => {
                self.add(
                    "s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)",
                );
            }
            5 => self.add("s_clause 0x1"),
            6 => self.add("s_cmp_eq_u32 s4, s5"),
            7 => self.wait(),
            8 => {
                self.add(format!("ds_load_b32 v{to}, v{address} offset:{offset}"));
                self.busy.push(full);
                self.written.push(full);
            }
            9 => self.add(format!("ds_store_b32 v{address}, v{b} offset:{offset}")),
            it => {
                let name = if it == 10 { "v_add_nc_u32_e32" } else { "v_and_b32_e32" };
                self.add(format!("{name} v{to}, v{a}, v{b}"));
                self.written.push(full);
            }
        }
    }

    /// An instruction that some rule is about.
    fn trigger(&mut self) {
        match self.random.below(12) {
            0..4 => self.two_address(),
            4 | 5 => self.addtid(),
            6 | 7 => self.conversion(),
            8 => self.tensor(),
            9 => {
                let (to, full) = self.row(1, 1, Role::To);
                let (a, _) = self.address();
                let offset = self.random.below(64);
                self.add(format!(
                    "cluster_load_b32 v{to}, v{a}, s[2:3] offset:{offset}\ns_wait_loadcnt 0x0"
                ));
                self.written.push(full);
            }
            10 => self.add("s_barrier_signal_isfirst -3\ns_barrier_wait -3"),
            _ => self.add("s_sethalt 1"),
        }
    }

    fn two_address(&mut self) {
        let form = self.random.below(12) as usize;
        let (name, _, words) = ds::FORMS[form];
        let words = usize::from(words);
        let (result, full_result) = self.row(2 * words, 2, Role::To);
        let (address, _) = self.address();
        let (data0, _) = self.row(words, words, Role::Second);
        let (data1, _) = self.row(words, words, Role::Third);
        let offsets = [self.random.below(256), self.random.below(256)];
        let case = ds::Case { form, result, address, data: [data0, data1], offsets };
        self.add(case.text());
        if !name.starts_with("ds_store_") {
            let row = full_result..full_result + 2 * words;
            self.busy.extend(row.clone());
            self.written.extend(row);
        }
    }

    fn addtid(&mut self) {
        let offset = self.random.below(1024) * 4;
        if self.random.below(2) == 0 {
            let (to, full) = self.row(1, 1, Role::To);
            self.add(format!("ds_load_addtid_b32 v{to} offset:{offset}"));
            self.busy.push(full);
            self.written.push(full);
        } else {
            let (from, _) = self.row(1, 1, Role::Second);
            self.add(format!("ds_store_addtid_b32 v{from} offset:{offset}"));
        }
    }

    /// A register under no load that may hold any number.
    fn number(&mut self, role: Role) -> usize {
        loop {
            let (name, _) = self.row(1, 1, role);
            if name < ADDRESSES {
                return name;
            }
        }
    }

    /// A register with a sign.
    fn source(&mut self, role: Role) -> String {
        let name = self.number(role);
        let [neg, abs] = [(); 2].map(|()| self.random.below(4) == 0);
        let text = if abs { format!("|v{name}|") } else { format!("v{name}") };
        if neg { format!("-{text}") } else { text }
    }

    fn conversion(&mut self) {
        let (to, full) = self.row(1, 1, Role::To);
        let byte = self.random.below(4);
        let select = if byte == 0 { String::new() } else { format!(" byte_sel:{byte}") };
        match self.random.below(3) {
            0 => {
                let (a, b) = (self.source(Role::First), self.source(Role::Second));
                let half = if self.random.below(2) == 1 { " op_sel:[0,0,1]" } else { "" };
                self.add(format!("v_cvt_pk_fp8_f32 v{to}, {a}, {b}{half} clamp"));
            }
            1 => {
                let a = self.source(Role::First);
                let b = self.number(Role::Second);
                self.add(format!("v_cvt_sr_fp8_f32 v{to}, {a}, v{b}{select} clamp"));
            }
            _ => {
                let a = self.number(Role::First);
                self.add(format!("v_cvt_f32_fp8_e64 v{to}, v{a}{select} clamp"));
            }
        }
        self.written.push(full);
    }

    /// A load of a small tile from the buffer; the elements' size, padding and the mask are random.
    fn tensor(&mut self) {
        let base = [4, 8, 12][self.random.below(3) as usize];
        let mut number = |below| 1 + self.random.below(below);
        let (tensor, tile, stride) =
            ([(); 2].map(|()| number(12)), [(); 2].map(|()| number(8)), number(16));
        let lds = 8 * number(512);
        self.add(format!(
            "s_mov_b32 s24, 1
            s_mov_b32 s25, {lds:#x}
            s_mov_b32 s26, s2
            s_mov_b32 s27, s3
            s_bitset1_b32 s27, 31"
        ));
        let [width, height] = tensor.map(|it| it << 16);
        let group = [0, width, height, tile[0] << 16, tile[1], stride, 0, 0];
        for (at, word) in (base..).zip(group).skip(1) {
            self.add(format!("s_mov_b32 s{at}, {word:#x}"));
        }
        // There is no barrier to arrive at, and no iteration beside padding.
        if self.random.below(2) == 0 {
            self.add(format!("s_and_b32 s{base}, s{base}, 0xfff3ffff"));
        } else {
            self.add(format!("s_bitset0_b32 s{base}, 18\ns_bitset0_b32 s{base}, 19"));
        }
        self.add(format!("tensor_load_to_lds s[24:27], s[{base}:{}]", base + 7));
    }

    /// A product of matrices; numbers are such that all is finite.
    fn product(&mut self) {
        const NAMES: [&str; 4] = ["fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"];
        let row = |first: usize, count: usize| format!("v[{first}:{}]", first + count - 1);
        let kind = self.random.below(5);
        let name = NAMES[self.random.below(4) as usize];
        let (size, count) = match kind {
            0 => (8, 16),
            1 => (4, 16),
            2 => (16, 8),
            _ => (8, 16),
        };
        let (d, full_d) = self.row(size, 2, Role::To);
        let (a, _) = self.row(16, 2, Role::First);
        let (b, _) = self.row(count, 2, Role::Second);
        let (c, _) = self.row(size, 2, Role::Third);
        let neg = if self.random.below(2) == 0 { " neg_lo:[0,0,1]" } else { "" };
        let (d, a16, b16, c8) = (row(d, size), row(a, 16), row(b, count), row(c, size));
        match kind {
            0 => self.add(format!("v_wmma_f32_16x16x128_{name} {d}, {a16}, {b16}, {c8}{neg}")),
            1 => self.add(format!("v_wmma_f16_16x16x128_{name} {d}, {a16}, {b16}, {c8}{neg}")),
            2 => self.add(format!("v_wmma_f32_32x16x128_f4 {d}, {a16}, {b16}, {c8}")),
            3 => self.add(format!("v_wmma_f32_16x16x128_f8f6f4 {d}, {a16}, {b16}, {c8}{neg}")),
            _ => {
                self.add(format!(
                    "v_wmma_i32_16x16x64_iu8 {d}, {}, {}, {c8}",
                    row(a, 8),
                    row(b, 8)
                ));
            }
        }
        self.written.extend(full_d..full_d + size);
        // What comes soon after may be what the product has to do with.
        if self.random.below(2) == 0 {
            let (to, full) = self.row(1, 1, Role::To);
            let (from, _) = self.row(1, 1, Role::First);
            self.add(format!("v_mov_b32_e32 v{to}, v{from}"));
            self.written.push(full);
        }
    }

    /// Stores what is to be compared: what was written, and some that was not.
    fn finish(&mut self) {
        self.wait();
        self.add("s_cselect_b32 s20, 1, 0\ns_wait_tensorcnt 0x0");
        let mut stored = std::mem::take(&mut self.written);
        for role in [Role::First, Role::Second, Role::Third, Role::To] {
            for _ in 0..3 {
                let name = self.random.below(NAMED as u32) as usize;
                stored.push(self.full(name, role));
            }
        }
        stored.sort_unstable();
        stored.dedup();
        let mut mode = self.mode;
        let mut switch = |lines: &mut Vec<String>, to: u32| {
            if to != mode {
                lines.push(format!("s_set_vgpr_msb {:#x}", to | mode << 8));
                mode = to;
            }
        };
        let mut offset = 0;
        let mut store = || {
            offset += 4 * LANES;
            format!("global_store_b32 v{PLACE}, v{STORED}, s[2:3] offset:{offset}")
        };
        for register in stored {
            switch(&mut self.lines, (register / 256) as u32);
            self.lines.push(format!("v_mov_b32_e32 v{STORED}, v{}", register % 256));
            switch(&mut self.lines, 0);
            self.lines.push(store());
        }
        switch(&mut self.lines, 0);
        for scalar in [4, 5, 8, 9, 12, 20] {
            self.add(format!("v_mov_b32_e32 v{STORED}, s{scalar}\n{}", store()));
        }
    }
}

/// A function: its pieces. With matrices it has one of them.
pub(crate) fn program(random: &mut Random, has_matrix: bool) -> Vec<String> {
    let modes = [0, 0, 0, 0x41, 0x55, 0x05, 0x90, 0xff, random.below(256)];
    let mode = modes[random.below(modes.len() as u32) as usize];
    let mut program =
        Program { random, lines: Vec::new(), mode, busy: Vec::new(), written: Vec::new() };
    if mode != 0 {
        program.add(format!("s_set_vgpr_msb {mode:#x}"));
    }
    let count = if has_matrix { 1 } else { 1 + program.random.below(4) };
    for _ in 0..count {
        for _ in 0..if has_matrix { 0 } else { program.random.below(4) } {
            program.neighbour();
        }
        if has_matrix {
            program.product();
        } else {
            program.trigger();
        }
        if program.busy.len() > 16 {
            program.wait();
        }
    }
    program.finish();
    program.lines
}

fn decoded(tools: &Tools, code: &[u8]) -> Vec<Inst> {
    let stream = Stream::decode(tools.decoder(), TEXT, code);
    stream.steps().map(|it| it.inst.unwrap()).collect()
}

fn kernel(lines: &str) -> NewKernel {
    NewKernel {
        sgprs: 32,
        vgprs: 1024,
        workgroup: Some(32),
        ..gfx1250::kernel("k", lines).unwrap()
    }
}

/// What became of functions, by the first words of the reason.
#[derive(Default)]
struct Tally(std::collections::BTreeMap<String, usize>);

impl Tally {
    fn count(&mut self, run: &Rewritten) -> bool {
        let word = match &run.manifest.verdict {
            Verdict::Changed => "changed".to_owned(),
            Verdict::Unchanged(_) => "unchanged".to_owned(),
            Verdict::Refused => run.refusal().split(" at ").next().unwrap_or_default().to_owned(),
        };
        *self.0.entry(word).or_default() += 1;
        run.manifest.verdict == Verdict::Changed
    }

    fn of(&self, word: &str) -> usize {
        self.0.get(word).copied().unwrap_or(0)
    }
}

/// Waves with equal registers, LDS and memory.
struct Waves {
    both: [Probe; 2],
    memory: [u64; 2],
}

impl Waves {
    fn new() -> Self {
        let mut both = [ds::with_lds(1024), ds::with_lds(1024)];
        let memory = both.each_mut().map(|wave| wave.memory_mut().allocate(MEMORY.into()).unwrap());
        Waves { both, memory }
    }

    fn randomize(&mut self, random: &mut Random, has_matrix: bool) {
        let [before, after] = &mut self.both;
        fill(before, 0, 1024, || match has_matrix {
            // As bytes, halves and numbers of 32 bits finite and of moderate size.
            true => random.next() & 0x83bf_bfbf | 0x3800_0000,
            false => random.next(),
        });
        for bank in 0..if has_matrix { 0 } else { 4 } {
            for name in ADDRESSES..NAMED {
                let lanes = before.vector_mut((256 * bank + name) as u16).iter_mut();
                for (lane, address) in lanes.enumerate() {
                    // Exchanges are of whole words.
                    *address = lane as u32 * ds::APART + random.below(4096) * 8;
                }
            }
        }
        let places = before.vector_mut(PLACE as u16).iter_mut();
        places.enumerate().for_each(|(lane, place)| *place = RESULTS + 4 * lane as u32);
        copy_vectors(before, after, 1024);
        before.scalars_mut().iter_mut().for_each(|it| *it = random.next());
        after.scalars_mut().copy_from_slice(before.scalars());
        let (m0, mode) = (random.next(), 0x3f0 | (random.below(2) * e5m3::SATURATES));
        for (wave, memory) in self.both.iter_mut().zip(self.memory) {
            wave.scalars_mut()[2..4].copy_from_slice(&[memory as u32, (memory >> 32) as u32]);
            (*wave.m0_mut(), *wave.mode_mut(), *wave.scc_mut()) = (m0, mode, false);
        }
    }

    /// What was stored.
    fn results(&mut self) -> [Vec<u8>; 2] {
        let size = (MEMORY - RESULTS) as usize;
        let read = |(wave, memory): (&mut Probe, u64)| {
            wave.memory_mut().read(memory + u64::from(RESULTS), size).unwrap()
        };
        let [before, after] = &mut self.both;
        [(before, self.memory[0]), (after, self.memory[1])].map(read)
    }
}

fn functions_do_what_they_did(seed: u64, count: usize, has_matrix: bool) {
    let (tools, mut random) = (tools(), Random(seed));
    let mut tally = Tally::default();
    let mut waves = Waves::new();
    for round in 0..count {
        let lines = program(&mut random, has_matrix).join("\n");
        let kernel = kernel(&lines);
        let object = gfx1250::object(std::slice::from_ref(&kernel)).unwrap();
        let run = Rewritten::with(&Options::default(), object);
        if !tally.count(&run) {
            continue;
        }
        let code = run.executed(TEXT, kernel.code.len() as u64);
        waves.randomize(&mut random, has_matrix);
        let [one, other] = &mut waves.both;
        let before = Stepped::run(&tools, one, &decoded(&tools, &kernel.code), Results::AtOnce);
        let after = Stepped::run(&tools, other, &decoded(&tools, &code), Results::Late);
        let shown = || format!("round {round}:\n{lines}\n--\n{}", text(&code).join("\n"));
        let masks: Vec<u32> = before.masks.iter().map(|mask| mask & 0xffff_0000).collect();
        assert_eq!(masks, after.masks, "{}", shown());
        let [one, other] = waves.results();
        let differs = one.chunks(4 * LANES).zip(other.chunks(4 * LANES)).position(|(a, b)| a != b);
        assert_eq!(differs, None, "store: {}", shown());
        assert!(waves.both[0].lds() == waves.both[1].lds(), "LDS: {}", shown());
    }
    assert!(tally.of("changed") > count * 3 / 4, "{:?}", tally.0);
}

#[test]
fn random_functions_do_what_they_did() {
    functions_do_what_they_did(8, 3_000, false);
}

#[test]
fn random_products_are_what_they_were() {
    functions_do_what_they_did(80, 400, true);
}

/// The same with branches over pieces and back to them: all holds, or the reason is told. `prove` runs such code.
#[test]
fn random_branches_are_routed_or_refused() {
    let (tools, mut random) = (tools(), Random(88));
    let mut tally = Tally::default();
    for round in 0..1_500 {
        let pieces = program(&mut random, round % 4 == 3);
        let mut lines: Vec<String> = Vec::new();
        for line in &pieces {
            let words = |lines: &[String]| {
                let code = lines.iter().flat_map(|it| assemble(&tools, it));
                code.map(|inst| inst.len() / 4).sum::<usize>()
            };
            match random.below(6) {
                0 => lines.push(format!("s_cbranch_vccz {}", words(std::slice::from_ref(line)))),
                1 if !lines.is_empty() => {
                    let from = random.below(lines.len() as u32) as usize;
                    let back = words(&lines[from..]) + 1;
                    lines.push(format!("s_cbranch_scc1 {}", 0x1_0000 - back));
                }
                _ => {}
            }
            lines.push(line.clone());
        }
        let object = gfx1250::object(&[kernel(&lines.join("\n"))]).unwrap();
        let run = Rewritten::with(&Options::default(), object);
        let reason = run.manifest.refusals().next().map(|it| it.1.to_string()).unwrap_or_default();
        assert!(!reason.contains("does not hold"), "{reason}\n{}", lines.join("\n"));
        tally.count(&run);
    }
    assert!(tally.of("changed") > 500, "{:?}", tally.0);
    let known = [
        "changed",
        "unchanged",
        "still-needed: ",
        "unknown-bank: ",
        "overlap: ",
        "no-register: ",
        "unsupported: ",
    ];
    for reason in tally.0.keys() {
        assert!(known.iter().any(|it| reason.starts_with(it)), "{reason}");
    }
}
