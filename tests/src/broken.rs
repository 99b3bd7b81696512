//! Lines of assembly with something wrong in them, and what llvm-mc says of each.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use hsaco::isa::{Assembler, Processor};

use crate::assembly::{Assembly, llvm_mc};
use crate::golden::{FAMILIES, family};
use crate::oracle::{Target, hex};
use crate::random::Random;

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No instruction has the name.
    Mnemonic,
    /// A register that is not there, or not in the place of another.
    Register,
    /// Several registers that begin where they may not, or are too many or too few.
    Tuple,
    /// A number that is perhaps too large for its field.
    Number,
    /// A modifier that the instruction does not have.
    Modifier,
    /// A line of another family.
    Family,
    /// A directive for data that is none, or whose numbers are perhaps too large, or none.
    Data,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 7] = [
        Fault::Mnemonic,
        Fault::Register,
        Fault::Tuple,
        Fault::Number,
        Fault::Modifier,
        Fault::Family,
        Fault::Data,
    ];
}

/// Registers of all files, at the ends of their ranges and beyond.
const REGISTERS: &str = "\
    v0 v255 v256 v1023 v1024 s0 s101 s102 s103 s104 s105 s106 s107 s128 a0 a255 a256 ttmp0 ttmp15 \
    ttmp16 vcc vcc_lo vcc_hi exec exec_lo exec_hi m0 null scc src_scc vccz execz flat_scratch \
    flat_scratch_lo xnack_mask xnack_mask_lo src_shared_base src_private_limit \
    src_pops_exiting_wave_id src_lds_direct off tba tma_lo v1.l v1.h v128.h s1.l q1 v s v-1 s[0] \
    v[1] acc1 v01 V1 0 64 65 1.0 0x12345678 s[0:1] s[2:3] s[100:101] s[102:103] s[104:105] v[0:1] \
    v[254:255] v[255:256] a[0:1] ttmp[14:15]";

/// Modifiers of all kinds.
const MODIFIERS: &str = "\
    glc slc dlc scc sc0 sc1 nt nv lds gds tfe lwe d16 unorm da r128 a16 clamp omod:1 mul:2 mul:4 \
    div:2 offen idxen addr64 offset:0 offset:8 offset0:1 offset1:2 op_sel:[1,0] op_sel:[0,0,1] \
    op_sel:[1,0,0,1] op_sel_hi:[0,0] op_sel_hi:[1,0,1] neg_lo:[1,0] neg_lo:[0,0,1] neg_hi:[1,0] \
    neg_hi:[0,1,0] quad_perm:[0,1,2,3] row_shl:1 row_shr:16 row_mirror row_half_mirror row_bcast:15 \
    row_newbcast:3 row_share:2 row_xmask:4 wave_shl:1 dpp8:[0,1,2,3,4,5,6,7] row_mask:0xf \
    bank_mask:0x3 bound_ctrl:0 bound_ctrl:1 fi:1 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE \
    src0_sel:WORD_1 src1_sel:DWORD dmask:0xf dmask:0x3 dim:SQ_RSRC_IMG_2D dim:1D format:22 \
    format:[BUF_FMT_32_FLOAT] cbsz:1 abid:2 blgp:3 th:TH_LOAD_NT th:TH_STORE_RT th:TH_ATOMIC_RETURN \
    scope:SCOPE_DEV scale_offset index_key:1 byte_sel:2 bitop3:0x12 matrix_a_fmt:MATRIX_FMT_FP4 \
    matrix_a_reuse matrix_b_reuse matrix_a_scale:MATRIX_SCALE_ROW1 wait_va_vdst:1 wait_vm_vsrc:1 \
    wait_exp:2 done vm compr row_en high swz neg:[1,0,0] mul:3 nosuch nosuch:1";

/// Directives: those that llvm-mc has for other processors, and those that it has.
const DIRECTIVES: &str = "\
    .byte .short .long .quad .2byte .4byte .8byte .int .value .LONG .word .half .hword .dword .xword \
    .longs .lon .i32 .long5 .long_ .4bytes ..long";

/// What may stand in the place of a number, or beside one.
const NUMBERS: &str = "\
    0 1 -1 255 256 -128 -129 0xff 0x100 65535 65536 -32768 -32769 0xffffffff 0x100000000 4294967295 \
    4294967296 -2147483648 -2147483649 0xffffffffffffffff 0x10000000000000000 \
    18446744073709551615 18446744073709551616 -9223372036854775808 010 08 0b101 0b102 0x 0xg 1.5 1e3 \
    1h ~0 -~5 +3 (7) (7 7) 2*3 1<<31 1<<32 -5/2 1|6 s[0:1] 1x 0x1p3 1_000 ,";

/// Breaks lines for one target.
#[derive(Debug)]
pub struct Breaker {
    target: Target,
    random: Random,
    own: Vec<String>,
    others: Vec<String>,
}

impl Breaker {
    /// Takes the lines of LLVM's own tests.
    pub fn new(target: &Target, seed: u64) -> Result<Self> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for name in FAMILIES {
            let golden = Assembly::read(name)?;
            let is_family = name == family(target.processor);
            let lines = golden.rows().map(|row| row.text.to_owned());
            if is_family { own.extend(lines) } else { others.extend(lines) }
        }
        Ok(Self { target: target.clone(), random: Random::new(seed), own, others })
    }

    /// So many lines that LLVM refuses for a fault, and the differences among those tried on the way.
    pub fn refused(&mut self, fault: Fault, count: usize) -> Result<Verdicts> {
        let assembler = Assembler::new(self.target.processor, self.target.options)?;
        let processor = self.target.processor;
        let mut verdicts = Verdicts::default();
        while verdicts.refused < count {
            let lines: Vec<_> = std::iter::repeat_with(|| self.broken(fault)).take(count).collect();
            let lines: Vec<_> = lines.iter().flatten().map(String::as_str).collect();
            for (line, theirs) in lines.iter().zip(llvm_mc(&self.target, &lines)?) {
                let ours = assembler.statement(line).ok().map(|it| {
                    let mut bytes = Vec::new();
                    it.encode(&mut bytes);
                    bytes
                });
                let line = line.to_string();
                verdicts.add(Otherwise { processor, fault, line, ours, theirs });
            }
        }
        Ok(verdicts)
    }

    fn broken(&mut self, fault: Fault) -> Option<String> {
        let from = if fault == Fault::Family { &self.others } else { &self.own };
        let line = from.get(self.random.below(from.len()))?.clone();
        match fault {
            Fault::Mnemonic => self.with_other_name(&line),
            Fault::Register => self
                .with_token(&line, is_register, |_, random| word_of(REGISTERS, random).to_owned()),
            Fault::Tuple => self.with_token(&line, |token| token.contains('['), shifted),
            Fault::Number => self.with_token(&line, is_number, other_number),
            Fault::Modifier => Some(format!("{line} {}", word_of(MODIFIERS, &mut self.random))),
            Fault::Family => Some(line),
            Fault::Data => Some(self.data()),
        }
    }

    /// A directive and one to three numbers.
    fn data(&mut self) -> String {
        let mut line = word_of(DIRECTIVES, &mut self.random).to_owned();
        for number in 0..=self.random.below(3) {
            let comma = self.random.pick(&[", ", ",", ", ", " "]);
            line += if number == 0 { " " } else { comma };
            line += word_of(NUMBERS, &mut self.random);
        }
        line
    }

    /// A letter of the name changed, taken out or added.
    fn with_other_name(&mut self, line: &str) -> Option<String> {
        let end = line.find(' ').unwrap_or(line.len());
        let mut name = line.get(..end)?.as_bytes().to_vec();
        let at = self.random.below(name.len());
        let letter = self.random.pick(b"abdefilmnopqrstuvx0123468_");
        match self.random.below(3) {
            0 => name.insert(at, letter),
            1 => _ = name.remove(at),
            _ => *name.get_mut(at)? = letter,
        }
        Some(String::from_utf8(name).ok()? + line.get(end..)?)
    }

    /// One of the tokens behind the name that are as wanted, replaced.
    fn with_token(
        &mut self,
        line: &str,
        is_wanted: impl Fn(&str) -> bool,
        replace: impl Fn(&str, &mut Random) -> String,
    ) -> Option<String> {
        let tokens = tokens(line);
        let wanted: Vec<_> = tokens
            .iter()
            .skip(1)
            .filter(|(start, end)| line.get(*start..*end).is_some_and(&is_wanted))
            .collect();
        let (start, end) = **wanted.get(self.random.below(wanted.len()))?;
        let token = replace(line.get(start..end)?, &mut self.random);
        Some(format!("{}{token}{}", line.get(..start)?, line.get(end..)?))
    }
}

/// One of the words of a list.
fn word_of(words: &'static str, random: &mut Random) -> &'static str {
    let words: Vec<_> = words.split(' ').collect();
    random.pick(&words)
}

/// Where words stand, brackets included: what blanks, commas, bars and colons outside brackets part.
fn tokens(line: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut start, mut depth) = (None, 0_u32);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_break = depth == 0 && matches!(byte, b' ' | b',' | b'|' | b'-' | b':' | b'(' | b')');
        match (start, is_break) {
            (Some(first), true) => {
                found.push((first, at));
                start = None;
            }
            (None, false) => start = Some(at),
            _ => {}
        }
    }
    found.extend(start.map(|first| (first, line.len())));
    found
}

fn is_register(token: &str) -> bool {
    let rest = token.trim_start_matches("ttmp").trim_start_matches(['v', 's', 'a']);
    rest.len() < token.len()
        && rest.starts_with(|first: char| first.is_ascii_digit() || first == '[')
        || matches!(token, "vcc" | "vcc_lo" | "exec" | "exec_lo" | "m0" | "null" | "off")
}

fn is_number(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_digit())
}

/// `s[8:11]` with other ends.
fn shifted(token: &str, random: &mut Random) -> String {
    let parts = token.split_once('[').and_then(|(file, rest)| {
        let (first, last) = rest.strip_suffix(']')?.split_once(':')?;
        Some((file, first.parse::<i64>().ok()?, last.parse::<i64>().ok()?))
    });
    let Some((file, first, last)) = parts else { return token.replace(']', ",0]") };
    let first_by = random.pick(&[0, 1, 1, 2, 3, 100, 250]);
    let last_by = first_by + random.pick(&[0, 0, 0, 1, -1, 2, 4]);
    format!("{file}[{}:{}]", first + first_by, last + last_by)
}

/// A power of two, or near one, of either sign.
fn other_number(_: &str, random: &mut Random) -> String {
    let power = 1_i64 << random.below(36);
    let number = power + random.pick(&[-1, 0, 1, 2]);
    if random.below(4) == 0 { format!("-{number}") } else { number.to_string() }
}

/// Why a verdict on a line need not be LLVM's.
#[derive(Debug)]
pub struct Exception {
    /// A short name.
    pub name: &'static str,
    /// What is the matter.
    pub reason: &'static str,
    applies: fn(&Otherwise) -> bool,
}

/// All reasons to be stricter than LLVM, or to make other bytes; and two to be more lenient, the first.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "remark",
        reason: "the decoder remarks on encodings that no assembler makes; with the remark we make them",
        applies: |it| it.line.contains("/*Invalid "),
    },
    Exception {
        name: "register-read-twice",
        reason: "compilers let both halves of gfx12's dual instructions read one register in one place, \
                 which LLVM 22 takes on gfx1250 only",
        applies: |it| {
            let is_gfx12 = it.processor.name().starts_with("gfx12");
            is_gfx12 && it.theirs.is_none() && reads_one_register_twice(&it.line)
        },
    },
    Exception {
        name: "number-cut-off",
        reason: "LLVM cuts numbers off to the width of their field; we refuse them",
        applies: |it| it.fault == Fault::Number && it.ours.is_none(),
    },
    Exception {
        name: "register-cut-off",
        reason: "LLVM takes named values for registers whose field cannot hold their number",
        applies: |it| it.ours.is_none() && NAMED_VALUES.iter().any(|name| it.line.contains(name)),
    },
    Exception {
        name: "tuple-for-one",
        reason: "LLVM takes several registers for one in DPP",
        applies: |it| it.ours.is_none() && it.line.contains("_dpp") && it.line.contains('['),
    },
    Exception {
        name: "ignored-policy",
        reason: "LLVM drops cache policies that the instruction does not have",
        applies: |it| it.ours.is_none() && POLICIES.iter().any(|word| it.line.contains(word)),
    },
    Exception {
        name: "half-of-a-whole",
        reason: "LLVM takes halves of registers where whole ones are meant, in comparisons only",
        applies: |it| {
            it.ours.is_none() && it.line.starts_with("v_cmp") && it.line.contains("_e32 ")
        },
    },
    Exception {
        name: "list-too-long",
        reason: "LLVM takes elements of op_sel beyond the last operand",
        applies: |it| it.ours.is_none() && it.line.contains("op_sel:["),
    },
    Exception {
        name: "older-format",
        reason: "LLVM takes formats of typed buffers by the names of older processors",
        applies: |it| it.ours.is_none() && it.line.starts_with("tbuffer_"),
    },
    Exception {
        name: "barrier-by-value",
        reason: "LLVM makes constants of named values such as src_scc and null",
        applies: |it| it.ours.is_none() && it.line.contains("barrier"),
    },
    Exception {
        name: "no-data",
        reason: "LLVM takes `off` for the data of an image",
        applies: |it| {
            it.ours.is_none() && it.line.starts_with("image_") && it.line.contains(" off")
        },
    },
    Exception {
        name: "float-as-bits",
        reason: "LLVM takes floats among numbers of 64 bits, and no others",
        applies: |it| {
            let is_wide = it.line.starts_with(".quad") || it.line.starts_with(".8byte");
            is_wide
                && it.ours.is_none()
                && ["1.5", "1e3", "0x1p3"].iter().any(|float| it.line.contains(float))
        },
    },
];

/// Whether both halves of a dual instruction have the same vector register as the same source.
fn reads_one_register_twice(line: &str) -> bool {
    let Some((first, second)) = line.split_once("::") else { return false };
    let sources = |half: &'_ str| -> Vec<String> {
        half.split(',').skip(1).map(|source| source.trim().to_owned()).collect()
    };
    let pairs = sources(first).into_iter().zip(sources(second));
    line.starts_with("v_dual_") && pairs.into_iter().any(|(x, y)| x == y && x.starts_with('v'))
}

const NAMED_VALUES: [&str; 9] = [
    "scc",
    "vccz",
    "execz",
    "shared_base",
    "shared_limit",
    "private_base",
    "private_limit",
    "pops_exiting_wave_id",
    "lds_direct",
];
const POLICIES: [&str; 6] = [" dlc", " scc", "th:TH_", "scale_offset", " nv", " slc"];

impl Exception {
    /// The first that applies to a line.
    #[must_use]
    pub fn of(it: &Otherwise) -> Option<&'static Exception> {
        EXCEPTIONS.iter().find(|exception| (exception.applies)(it))
    }
}

/// A line, and what we and LLVM make of it.
#[derive(Clone, Debug)]
pub struct Otherwise {
    /// The target's processor.
    pub processor: Processor,
    /// What was done to it.
    pub fault: Fault,
    /// The line.
    pub line: String,
    /// What we make of it.
    pub ours: Option<Vec<u8>>,
    /// What LLVM makes of it.
    pub theirs: Option<Vec<u8>>,
}

impl fmt::Display for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &Option<Vec<u8>>| bytes.as_deref().map_or("refused".to_owned(), hex);
        let (ours, theirs) = (shown(&self.ours), shown(&self.theirs));
        write!(f, "{}\n    ours {ours}, theirs {theirs}", self.line)
    }
}

/// What became of broken lines.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// How many LLVM refused.
    pub refused: usize,
    /// How many it took.
    pub taken: usize,
    /// Lines that only we take.
    pub too_lenient: Vec<Otherwise>,
    /// Lines that only LLVM takes, or of which it makes other bytes.
    pub otherwise: Vec<Otherwise>,
    /// How many of either were let pass, by exception.
    pub excepted: BTreeMap<&'static str, usize>,
}

impl Verdicts {
    fn add(&mut self, it: Otherwise) {
        if it.theirs.is_some() {
            self.taken += 1;
        } else {
            self.refused += 1;
        }
        if it.ours == it.theirs {
            return;
        }
        match (Exception::of(&it), &it.theirs) {
            (Some(exception), _) => *self.excepted.entry(exception.name).or_default() += 1,
            (None, None) => self.too_lenient.push(it),
            (None, Some(_)) => self.otherwise.push(it),
        }
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (refused, taken) = (self.refused, self.taken);
        let (lenient, otherwise) = (self.too_lenient.len(), self.otherwise.len());
        write!(f, "{refused} refused, {lenient} of them taken by us; ")?;
        write!(
            f,
            "{taken} taken, {otherwise} of them otherwise by us; excepted {:?}",
            self.excepted
        )
    }
}
