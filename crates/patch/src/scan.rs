//! Finding the instructions that rules are about, without decoding the others.

use hsaco_analysis::Stream;
use hsaco_isa::Decoder;

use crate::option::Options;
use crate::rule::{RewriteRule, RuleSet, Trigger};

/// The rules of a run, and how they read what is not settled.
pub(crate) struct Rules {
    pub(crate) set: &'static RuleSet,
    pub(crate) options: Options,
    filter: Filter,
}

impl Rules {
    pub(crate) fn new(set: &'static RuleSet, options: Options, decoder: &Decoder) -> Self {
        Rules { set, options, filter: Filter::new(set, decoder) }
    }

    /// The places in some code where a rule may have something to say.
    pub(crate) fn hits(&self, code: &[u8]) -> Vec<Hit> {
        self.filter.hits(code)
    }
}

/// An instruction and the rule that is about it.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    /// The number of the instruction.
    pub(crate) step: usize,
    pub(crate) rule: &'static RewriteRule,
}

/// The hits that are instructions that their rules are about, and not words in the middle of others.
pub(crate) fn claims(set: &'static RuleSet, stream: &Stream<'_>, hits: &[Hit]) -> Vec<Claim> {
    let claim = |hit: &Hit| {
        let rule = set.rules().get(hit.rule)?;
        let step = stream.index_of(stream.address().wrapping_add(hit.offset as u64))?;
        let is_named = matches!(rule.trigger, Trigger::Opcodes(_));
        let inst = stream.inst(step)?;
        (!is_named || rule.claims(inst.mnemonic())).then_some(Claim { step, rule })
    };
    hits.iter().filter_map(claim).collect()
}

/// A place where a rule may have something to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Bytes from the start of the code.
    pub offset: usize,
    /// The number of the rule in its set.
    pub rule: usize,
}

/// Tells by its first word whether an instruction may be one that a rule is about. Words in the middle of other
/// instructions may look so too; who decodes finds out.
pub struct Filter {
    /// By the upper nine bits of a word: what may begin with it.
    buckets: Vec<Vec<Sign>>,
    /// A bit for each value of the upper half of a word: whether anything may. There most have their opcode.
    wanted: Box<[u64; HALVES / 64]>,
}

/// What the first word of an instruction looks like that a rule is about.
#[derive(Clone, Copy)]
struct Sign {
    mask: u32,
    value: u32,
    look: Option<Look>,
    /// The number of the rule.
    rule: usize,
}

/// A quick look at the bytes from an instruction on.
type Look = fn(&[u8]) -> bool;

const TOP: u32 = 23;
const BUCKETS: usize = 1 << (32 - TOP);
const HALVES: usize = 1 << 16;

impl Filter {
    /// For the rules of a set.
    #[must_use]
    pub fn new(set: &RuleSet, decoder: &Decoder) -> Self {
        let mut buckets = vec![Vec::new(); BUCKETS];
        for (number, rule) in set.rules().iter().enumerate() {
            let (mut words, look) = match rule.trigger {
                Trigger::Opcodes(names) => (decoder.first_words(names), None),
                Trigger::Look(words, look) => (words.to_vec(), Some(look)),
                Trigger::Entry => continue,
            };
            words.sort_unstable();
            words.dedup();
            for (mask, value) in words {
                add(&mut buckets, Sign { mask, value, look, rule: number });
            }
        }
        let mut wanted = Box::new([0; HALVES / 64]);
        for (top, bucket) in (0_u32..).zip(&buckets) {
            let halves = (top << 7..(top + 1) << 7).filter(|half| {
                bucket.iter().any(|sign| (half ^ sign.value >> 16) & sign.mask >> 16 == 0)
            });
            for half in halves {
                if let Some(word) = wanted.get_mut(half as usize / 64) {
                    *word |= 1 << (half % 64);
                }
            }
        }
        Filter { buckets, wanted }
    }

    /// The places in some code, in order; `code` starts with an instruction.
    #[must_use]
    pub fn hits(&self, code: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, word) in code.as_chunks().0.iter().enumerate() {
            let word = u32::from_le_bytes(*word);
            // Nearly every word ends here.
            let bits = self.wanted.get((word >> 22) as usize).copied().unwrap_or(0);
            if bits >> (word >> 16 & 63) & 1 == 1 {
                self.add_hits(code, at * 4, word, &mut hits);
            }
        }
        hits
    }

    fn add_hits(&self, code: &[u8], offset: usize, word: u32, hits: &mut Vec<Hit>) {
        let bucket = self.buckets.get((word >> TOP) as usize).map_or(&[][..], Vec::as_slice);
        let looks_so = |sign: &&Sign| match sign.look {
            Some(look) => code.get(offset..).is_some_and(look),
            None => true,
        };
        let fits = bucket.iter().filter(|sign| word & sign.mask == sign.value).filter(looks_so);
        hits.extend(fits.map(|sign| Hit { offset, rule: sign.rule }));
    }
}

fn add(buckets: &mut [Vec<Sign>], sign: Sign) {
    let (fixed, value) = (sign.mask >> TOP, sign.value >> TOP);
    for (_, bucket) in (0_u32..).zip(buckets).filter(|(top, _)| top & fixed == value & fixed) {
        bucket.push(sign);
    }
}

impl RewriteRule {
    /// Whether the rule claims instructions of a name.
    #[must_use]
    pub fn claims(&self, mnemonic: &str) -> bool {
        matches!(self.trigger, Trigger::Opcodes(names) if names.contains(&mnemonic))
    }
}
