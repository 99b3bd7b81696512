//! Finding the instructions that rules are about, without decoding the others.

use hsaco_isa::Decoder;

use crate::rule::{Rule, RuleSet, Trigger};

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
    /// By the upper nine bits of a word: masks, values, and the rule's number.
    buckets: Vec<Vec<(u32, u32, usize)>>,
    looks: Vec<(Look, usize)>,
    /// By the upper nine bits of a word: whether there is anything to look at.
    wanted: Vec<bool>,
}

/// A quick look at the bytes from an instruction on.
type Look = fn(&[u8]) -> bool;

const TOP: u32 = 23;

impl Filter {
    /// For the rules of a set.
    #[must_use]
    pub fn new(set: &RuleSet, decoder: &Decoder) -> Self {
        let mut buckets = vec![Vec::new(); 1 << (32 - TOP)];
        let mut looks = Vec::new();
        for (number, rule) in set.rules().iter().enumerate() {
            match rule.trigger {
                Trigger::Opcodes(names) => {
                    let words = names.iter().flat_map(|name| decoder.first_words(name));
                    words.for_each(|word| add(&mut buckets, word, number));
                }
                Trigger::Look(look) => looks.push((look, number)),
                Trigger::Entry => {}
            }
        }
        let wanted = buckets.iter().map(|bucket| !bucket.is_empty() || !looks.is_empty()).collect();
        Filter { buckets, looks, wanted }
    }

    /// The places in some code, in order; `code` starts with an instruction.
    #[must_use]
    pub fn hits(&self, code: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, word) in code.chunks_exact(4).enumerate() {
            let word = word.try_into().map_or(0, u32::from_le_bytes);
            let top = (word >> TOP) as usize;
            // Nearly every word ends here.
            if self.wanted.get(top).is_some_and(|wanted| *wanted) {
                self.add_hits(code, at * 4, word, &mut hits);
            }
        }
        hits
    }

    fn add_hits(&self, code: &[u8], offset: usize, word: u32, hits: &mut Vec<Hit>) {
        let bucket = self.buckets.get((word >> TOP) as usize).map_or(&[][..], Vec::as_slice);
        let fits = bucket.iter().filter(|(mask, value, _)| word & mask == *value);
        let looks = self.looks.iter().filter(|(look, _)| code.get(offset..).is_some_and(look));
        let rules = fits.map(|(.., rule)| *rule).chain(looks.map(|(_, rule)| *rule));
        hits.extend(rules.map(|rule| Hit { offset, rule }));
    }
}

fn add(buckets: &mut [Vec<(u32, u32, usize)>], (mask, value): (u32, u32), rule: usize) {
    for (top, bucket) in (0_u32..).zip(buckets) {
        let fixed = mask >> TOP;
        if top & fixed == value >> TOP & fixed && !bucket.contains(&(mask, value, rule)) {
            bucket.push((mask, value, rule));
        }
    }
}

impl Rule {
    /// Whether the rule claims instructions of a name.
    #[must_use]
    pub fn claims(&self, mnemonic: &str) -> bool {
        matches!(self.trigger, Trigger::Opcodes(names) if names.contains(&mnemonic))
    }
}
