//! Generated functions: instructions to rewrite with any registers, among any neighbours, through the whole engine; and run before and after.
//!
//! Before, each runs as B0 has it; after, LDS loads bring their results as late as they may.

use hsaco::analysis::Stream;
use hsaco::isa::Inst;
use hsaco::patch::{Options, Tools, Verdict};
use hsaco_tests::gfx1250::{self, NewKernel, TEXT};
use hsaco_tests::rewritten::{Rewritten, text};

use super::machine::{LANES, Random, Wave, assemble, prepare, tools};
use super::{addtid, ds, e5m3, wmma};

/// Vector registers that instructions name.
const NAMED: usize = 48;
/// From here on they hold addresses, apart for each lane, and nothing else writes them.
const ADDRESSES: usize = 40;
/// What is stored at the end is here.
const STORED: usize = 60;

/// What a piece of a function does on B0.
#[derive(Clone, Copy)]
enum Deed {
    /// What the model does when it runs its lines.
    Lines,
    TwoAddress(ds::Case),
    /// Lane numbers are added to M0; to a register, or from it.
    LoadAddTid(usize, u32),
    StoreAddTid(usize, u32),
    /// To a half of a register, from two that may be turned.
    Pack(usize, [Source; 2], bool),
    Stochastic(usize, Source, usize, u32),
    Unpack(usize, usize, u32),
    /// The mask is in a scalar register.
    Tensor(usize),
    /// D, A, B and C of 32 rows.
    Rows32([usize; 4]),
}

/// A number in a register.
#[derive(Clone, Copy)]
struct Source {
    register: usize,
    neg: bool,
    abs: bool,
}

impl Source {
    fn of(self, wave: &Wave, lane: usize) -> f32 {
        let bits = wave.vgprs[self.register][lane];
        let bits = if self.abs { bits & 0x7fff_ffff } else { bits };
        f32::from_bits(if self.neg { bits ^ 0x8000_0000 } else { bits })
    }

    fn text(self, name: usize) -> String {
        let text = if self.abs { format!("|v{name}|") } else { format!("v{name}") };
        if self.neg { format!("-{text}") } else { text }
    }
}

/// A function in the making.
struct Program<'r> {
    random: &'r mut Random,
    pieces: Vec<(String, Deed)>,
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

    fn add(&mut self, line: String, deed: Deed) {
        self.pieces.push((line, deed));
    }

    fn lines(&mut self, line: &str) {
        self.add(line.to_owned(), Deed::Lines);
    }

    fn wait(&mut self) {
        self.lines("s_wait_dscnt 0x0");
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
            0 => self.lines("s_nop 1"),
            1 => self.lines(&format!("s_mov_b32 s{scalar}, {bits:#x}")),
            2 => self.lines(&format!("s_and_b32 s{scalar}, s{}, s6", scalar ^ 1)),
            3 => self.lines(&format!("s_mov_b32 m0, s{scalar}")),
            4 => self
                .lines("s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_1)"),
            5 => self.lines("s_clause 0x1"),
            6 => self.lines("s_cmp_eq_u32 s4, s5"),
            7 => self.wait(),
            8 => {
                self.lines(&format!("ds_load_b32 v{to}, v{address} offset:{offset}"));
                self.busy.push(full);
                self.written.push(full);
            }
            9 => self.lines(&format!("ds_store_b32 v{address}, v{b} offset:{offset}")),
            it => {
                let name = if it == 10 { "v_add_nc_u32_e32" } else { "v_and_b32_e32" };
                self.lines(&format!("{name} v{to}, v{a}, v{b}"));
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
                let (a, _) = self.row(1, 1, Role::First);
                let offset = self.random.below(64);
                self.lines(&format!(
                    "cluster_load_b32 v{to}, v{a}, s[2:3] offset:{offset}\ns_wait_loadcnt 0x0"
                ));
                self.written.push(full);
            }
            10 => self.lines("s_barrier_signal_isfirst -3"),
            _ => self.lines("s_sethalt 1"),
        }
    }

    fn two_address(&mut self) {
        let form = self.random.below(12) as usize;
        let (name, _, words) = ds::FORMS[form];
        let words = usize::from(words);
        let (result, full_result) = self.row(2 * words, 2, Role::To);
        let (address, full_address) = self.address();
        let data = [(); 2].map(|()| words);
        let (data0, full0) = self.row(data[0], words, Role::Second);
        let (data1, full1) = self.row(data[1], words, Role::Third);
        let offsets = [self.random.below(256), self.random.below(256)];
        let named = ds::Case { form, result, address, data: [data0, data1], offsets };
        let full =
            ds::Case { result: full_result, address: full_address, data: [full0, full1], ..named };
        self.add(named.text(), Deed::TwoAddress(full));
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
            self.add(
                format!("ds_load_addtid_b32 v{to} offset:{offset}"),
                Deed::LoadAddTid(full, offset),
            );
            self.busy.push(full);
            self.written.push(full);
        } else {
            let (from, full) = self.row(1, 1, Role::Second);
            self.add(
                format!("ds_store_addtid_b32 v{from} offset:{offset}"),
                Deed::StoreAddTid(full, offset),
            );
        }
    }

    fn source(&mut self, role: Role) -> (String, Source) {
        let (name, register) = self.row(1, 1, role);
        let [neg, abs] = [(); 2].map(|()| self.random.below(4) == 0);
        let source = Source { register, neg, abs };
        (source.text(name), source)
    }

    fn conversion(&mut self) {
        let (to, full) = self.row(1, 1, Role::To);
        let byte = self.random.below(4);
        let select = if byte == 0 { String::new() } else { format!(" byte_sel:{byte}") };
        match self.random.below(3) {
            0 => {
                let (a, first) = self.source(Role::First);
                let (b, second) = self.source(Role::Second);
                let is_upper = self.random.below(2) == 1;
                let half = if is_upper { " op_sel:[0,0,1]" } else { "" };
                let line = format!("v_cvt_pk_fp8_f32 v{to}, {a}, {b}{half} clamp");
                self.add(line, Deed::Pack(full, [first, second], is_upper));
            }
            1 => {
                let (a, first) = self.source(Role::First);
                let (b, noise) = self.row(1, 1, Role::Second);
                let line = format!("v_cvt_sr_fp8_f32 v{to}, {a}, v{b}{select} clamp");
                self.add(line, Deed::Stochastic(full, first, noise, byte));
            }
            _ => {
                let (a, from) = self.row(1, 1, Role::First);
                let line = format!("v_cvt_f32_fp8_e64 v{to}, v{a}{select} clamp");
                self.add(line, Deed::Unpack(full, from, byte));
            }
        }
        self.written.push(full);
    }

    fn tensor(&mut self) {
        let base = [4, 8, 12][self.random.below(3) as usize];
        if self.random.below(2) == 0 {
            self.lines(&format!("s_and_b32 s{base}, s{base}, 0xfff7ffff"));
        }
        let line = format!("tensor_load_to_lds s[0:3], s[{base}:{}]", base + 7);
        self.add(line, Deed::Tensor(base));
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
        let (a, full_a) = self.row(16, 2, Role::First);
        let (b, full_b) = self.row(count, 2, Role::Second);
        let (c, full_c) = self.row(size, 2, Role::Third);
        let neg = if self.random.below(2) == 0 { " neg_lo:[0,0,1]" } else { "" };
        let (d, a16, b16, c8) = (row(d, size), row(a, 16), row(b, count), row(c, size));
        match kind {
            0 => self.lines(&format!("v_wmma_f32_16x16x128_{name} {d}, {a16}, {b16}, {c8}{neg}")),
            1 => self.lines(&format!("v_wmma_f16_16x16x128_{name} {d}, {a16}, {b16}, {c8}{neg}")),
            2 => {
                let line = format!("v_wmma_f32_32x16x128_f4 {d}, {a16}, {b16}, {c8}");
                self.add(line, Deed::Rows32([full_d, full_a, full_b, full_c]));
            }
            3 => self.lines(&format!("v_wmma_f32_16x16x128_f8f6f4 {d}, {a16}, {b16}, {c8}{neg}")),
            _ => {
                let line =
                    format!("v_wmma_i32_16x16x64_iu8 {d}, {}, {}, {c8}", row(a, 8), row(b, 8));
                self.lines(&line);
            }
        }
        self.written.extend(full_d..full_d + size);
        // What comes soon after may be what the product has to do with.
        if self.random.below(2) == 0 {
            let (to, full) = self.row(1, 1, Role::To);
            let (from, _) = self.row(1, 1, Role::First);
            self.lines(&format!("v_mov_b32_e32 v{to}, v{from}"));
            self.written.push(full);
        }
    }

    /// Stores what is to be compared: what was written, and some that was not.
    fn finish(&mut self) {
        self.wait();
        self.lines("s_cselect_b32 s20, 1, 0");
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
        let mut switch = |pieces: &mut Vec<(String, Deed)>, to: u32| {
            if to != mode {
                pieces.push((format!("s_set_vgpr_msb {:#x}", to | mode << 8), Deed::Lines));
                mode = to;
            }
        };
        for register in stored {
            switch(&mut self.pieces, (register / 256) as u32);
            let line = format!("v_mov_b32_e32 v{STORED}, v{}", register % 256);
            self.pieces.push((line, Deed::Lines));
            switch(&mut self.pieces, 0);
            let line = format!("global_store_b32 v61, v{STORED}, s[2:3]");
            self.pieces.push((line, Deed::Lines));
        }
        switch(&mut self.pieces, 0);
        for scalar in [4, 5, 8, 9, 12, 20] {
            self.lines(&format!(
                "v_mov_b32_e32 v{STORED}, s{scalar}\nglobal_store_b32 v61, v{STORED}, s[2:3]"
            ));
        }
    }
}

/// A function: its pieces. With matrices it has one of them.
fn program(random: &mut Random, has_matrix: bool) -> Vec<(String, Deed)> {
    let modes = [0, 0, 0, 0x41, 0x55, 0x05, 0x90, 0xff, random.below(256)];
    let mode = modes[random.below(modes.len() as u32) as usize];
    let mut program =
        Program { random, pieces: Vec::new(), mode, busy: Vec::new(), written: Vec::new() };
    if mode != 0 {
        program.lines(&format!("s_set_vgpr_msb {mode:#x}"));
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
    program.pieces
}

/// Runs the pieces as B0 does.
fn run_before(tools: &Tools, wave: &mut Wave, pieces: &[(String, Deed)]) {
    let mut mode = 0;
    for (lines, deed) in pieces {
        match *deed {
            Deed::Lines => {
                let code = assemble(tools, lines);
                wave.run(&prepare(tools, &code, mode));
                for line in lines.lines().filter_map(|it| it.strip_prefix("s_set_vgpr_msb 0x")) {
                    mode = u32::from_str_radix(line, 16).unwrap() & 0xff;
                }
            }
            Deed::TwoAddress(case) => {
                let mut after = wave.clone();
                case.expected(wave, &mut after);
                *wave = after;
            }
            Deed::LoadAddTid(to, offset) => {
                let m0 = wave.m0;
                let place = |lane| addtid::expected(m0, lane, offset);
                wave.vgprs[to] = std::array::from_fn(|lane| wave.word(place(lane)));
            }
            Deed::StoreAddTid(from, offset) => {
                for lane in 0..LANES {
                    wave.set_word(addtid::expected(wave.m0, lane, offset), wave.vgprs[from][lane]);
                }
            }
            Deed::Pack(to, sources, is_upper) => {
                let saturates = wave.mode & e5m3::SATURATES != 0;
                for lane in 0..LANES {
                    let [a, b] = sources.map(|it| e5m3::packed(it.of(wave, lane), saturates));
                    let (pair, shift) = (a | b << 8, if is_upper { 16 } else { 0 });
                    let place = &mut wave.vgprs[to][lane];
                    *place = *place & !(0xffff << shift) | pair << shift;
                }
            }
            Deed::Stochastic(to, source, noise, byte) => {
                let saturates = wave.mode & e5m3::SATURATES != 0;
                for lane in 0..LANES {
                    let noise = wave.vgprs[noise][lane];
                    let found = e5m3::stochastic(source.of(wave, lane), noise, saturates);
                    let place = &mut wave.vgprs[to][lane];
                    *place = *place & !(0xff << (8 * byte)) | found << (8 * byte);
                }
            }
            Deed::Unpack(to, from, byte) => {
                for lane in 0..LANES {
                    wave.vgprs[to][lane] = match wave.vgprs[from][lane] >> (8 * byte) & 0xff {
                        0xff => 0x7fa3_d000,
                        byte => (e5m3::value(byte) as f32).to_bits(),
                    };
                }
            }
            Deed::Tensor(base) => wave.masks.push(wave.sgprs[base] & 0xffff_0000),
            Deed::Rows32([d, a, b, c]) => {
                // Whatever their banks, as rows of the first.
                let mut first = Wave::new();
                for (from, to, count) in [(a, 0, 16), (b, 16, 8), (c, 32, 16)] {
                    first.vgprs[to..to + count].copy_from_slice(&wave.vgprs[from..from + count]);
                }
                let found = wmma::rows32(&first, tools, [0, 16, 32], "0, 0");
                wave.vgprs[d..d + 16].copy_from_slice(&found);
            }
        }
    }
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

fn functions_do_what_they_did(seed: u64, count: usize, has_matrix: bool) {
    let (tools, mut random) = (tools(), Random(seed));
    let mut tally = Tally::default();
    for round in 0..count {
        let pieces = program(&mut random, has_matrix);
        let lines: Vec<&str> = pieces.iter().map(|(line, _)| line.as_str()).collect();
        let kernel = kernel(&lines.join("\n"));
        let object = gfx1250::object(std::slice::from_ref(&kernel)).unwrap();
        let run = Rewritten::with(&Options::default(), object);
        if !tally.count(&run) {
            continue;
        }
        let code = run.executed(TEXT, kernel.code.len() as u64);
        let mut before = Wave::new();
        before.randomize(&mut random, 1024);
        if has_matrix {
            // As bytes, halves and numbers of 32 bits finite and of moderate size.
            let all = before.vgprs.iter_mut().flatten();
            all.for_each(|bits| *bits = *bits & 0x83bf_bfbf | 0x3800_0000);
        }
        for bank in 0..if has_matrix { 0 } else { 4 } {
            for name in ADDRESSES..NAMED {
                let own = |lane| (lane as u32) << 20 | random.below(4096);
                before.vgprs[256 * bank + name] = std::array::from_fn(own);
            }
        }
        before.m0 = random.next();
        before.mode = random.below(2) * e5m3::SATURATES;
        let mut after = before.clone();
        after.is_late = true;
        run_before(&tools, &mut before, &pieces);
        after.run(&prepare(&tools, &decoded(&tools, &code), 0));
        let shown =
            || format!("round {round}:\n{}\n--\n{}", lines.join("\n"), text(&code).join("\n"));
        assert_eq!(before.masks, after.masks, "{}", shown());
        assert!(before.lds == after.lds, "LDS: {}", shown());
        for (at, (one, other)) in before.stored.iter().zip(&after.stored).enumerate() {
            assert_eq!(one, other, "store {at}: {}", shown());
        }
        assert_eq!(before.stored.len(), after.stored.len());
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

/// The same with branches over pieces and back to them, which the model does not follow: all holds, or the reason is told.
#[test]
fn random_branches_are_routed_or_refused() {
    let (tools, mut random) = (tools(), Random(88));
    let mut tally = Tally::default();
    for round in 0..1_500 {
        let pieces = program(&mut random, round % 4 == 3);
        let mut lines: Vec<String> = Vec::new();
        for (line, _) in &pieces {
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
