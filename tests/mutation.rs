//! The validator can fail: flipped bytes of replacements and of the ways to them, in objects of every rule and every placement.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "helpers of tests fail them"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use hsaco::analysis::Stream;
use hsaco::isa::{Decoder, OperandValue};
use hsaco::object::CodeObject;
use hsaco::patch::rule::Outcome;
use hsaco::patch::{Example, Jump, Manifest, Options, Patcher, Placement, Stage};
use hsaco_tests::gfx1250::{self, NewKernel, kernel, object};
use hsaco_tests::random::Random;
use hsaco_tests::rewritten::{patcher, rule_set};

/// More than a branch reaches.
const FAR: &str = ".rept 33000 v_mov_b32_e32 v250, v251";
const PLAIN: [&str; 5] = [
    "s_nop 3",
    "v_mov_b32_e32 v250, v251",
    "s_mov_b32 s90, 0x12345",
    "v_add_f32_e32 v252, v253, v254",
    "s_wait_idle",
];

/// Where a kernel stands among others.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Surroundings {
    /// Alone: replacements go to the pool.
    None,
    /// With padding behind it.
    Padding,
    /// With much code behind it.
    Far,
    /// The same, no scalar register is free, and there is padding on the way.
    Crowded,
}

/// What a byte is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Code in place of what it replaces.
    InPlace,
    /// The way to a replacement.
    There,
    /// Code elsewhere.
    Body,
    /// A constant in code elsewhere.
    Literal,
    /// The way back.
    Back,
    /// A branch in between.
    Relay,
    /// What runs before a kernel.
    Stub,
}

/// A rewritten object.
struct Case {
    patcher: Rc<Patcher>,
    before: Vec<u8>,
    after: Vec<u8>,
    manifest: Manifest,
}

/// A stretch of bytes: its record, what it is, and where in the file.
type Stretch = (usize, Part, Range<usize>);

impl Case {
    /// A kernel of these examples among others; nothing where they do not go together.
    fn new(random: &mut Random, examples: &[&Example], surroundings: Surroundings) -> Option<Case> {
        let mut options = Options::default();
        let mut lines: Vec<&str> = Vec::new();
        for example in examples {
            (example.options)(&mut options);
            (0..random.below(3)).for_each(|_| lines.push(random.pick(&PLAIN)));
            lines.extend(example.before.lines().map(str::trim));
        }
        options.entry_stub |= random.below(8) == 0;
        let mut lines = lines.join("\n");
        let mut sgprs = examples.iter().map(|it| it.registers.0).max()?;
        if surroundings == Surroundings::Crowded {
            (0..106).for_each(|it| lines += &format!("\ns_add_co_u32 s0, s0, s{it}"));
            lines += "\ns_mov_b64 s[2:3], vcc";
            sgprs = 106;
        }
        if surroundings == Surroundings::Far {
            lines += &format!("\ns_endpgm\n{FAR}");
        }
        let first = kernel("k", &lines).unwrap();
        let first = NewKernel { sgprs: sgprs.into(), vgprs: 256, ..first };
        let mut kernels = vec![first];
        let small = |name: &str| kernel(name, "s_nop 0").unwrap();
        match surroundings {
            Surroundings::None | Surroundings::Far => {}
            Surroundings::Padding => kernels.push(small("other")),
            Surroundings::Crowded => {
                // Not enough room for anything but branches.
                let words = kernels[0].code.len().next_multiple_of(256) - kernels[0].code.len();
                let nops = format!(".rept {} s_nop 0", words / 4);
                if words > 0 {
                    let more = gfx1250::assemble(gfx1250::assembler().unwrap(), &nops).unwrap();
                    kernels[0].code.extend(more);
                }
                let filler = |name: &str| kernel(name, ".rept 20000 s_nop 1").unwrap();
                kernels.extend([small("a"), filler("b"), small("c"), filler("d"), small("e")]);
            }
        }
        let before = object(&kernels).unwrap();
        let patcher = patcher(&options);
        let patched = patcher.patch(&before).unwrap();
        let after = patched.bytes?;
        let manifest = patched.manifest;
        assert_eq!(patcher.verify(&before, &after, &manifest), []);
        Some(Case { patcher, before, after, manifest })
    }

    fn stretches(&self, decoder: &Decoder) -> Vec<Stretch> {
        let object = CodeObject::parse(&self.after).unwrap();
        let at = |address: u64, size: usize| {
            let start = object.elf().file_offset(address).unwrap() as usize;
            start..start + size
        };
        let mut all = Vec::new();
        for (number, record) in self.manifest.records.iter().enumerate() {
            let site = at(record.site.address, record.site.new.len());
            let Some(body) = &record.body else {
                all.push((number, Part::InPlace, site));
                continue;
            };
            all.push((
                number,
                Part::There,
                site.start..site.start + way(record.jump, &site, record.relays.is_empty()),
            ));
            let code = body.new.len() - record.way_back;
            let place = at(body.address, body.new.len());
            all.push((number, Part::Body, place.start..place.start + code));
            for literal in literals(decoder, &body.new[..code]) {
                let literal = place.start + literal.start..place.start + literal.end;
                all.push((number, Part::Literal, literal));
            }
            if record.way_back > 0 {
                all.push((number, Part::Back, place.start + code..place.end));
            }
            for relay in &record.relays {
                all.push((number, Part::Relay, at(relay.address, relay.new.len())));
            }
        }
        for stub in &self.manifest.stubs {
            all.push((usize::MAX, Part::Stub, at(stub.address, stub.code.len())));
        }
        all
    }

    fn rules(&self, record: usize) -> Vec<&str> {
        match self.manifest.records.get(record) {
            Some(record) => record.rules.iter().map(|(rule, _)| *rule).collect(),
            None => vec!["entry-stub"],
        }
    }

    /// Whether the validator sees a flipped bit.
    fn sees(&mut self, at: usize, bit: u8) -> bool {
        self.after[at] ^= bit;
        let findings = self.patcher.verify(&self.before, &self.after, &self.manifest);
        self.after[at] ^= bit;
        !findings.is_empty()
    }
}

/// How many bytes of a site lead away.
fn way(jump: Jump, site: &Range<usize>, is_direct: bool) -> usize {
    match jump {
        Jump::Far if is_direct => site.len().min(16),
        _ => 4,
    }
}

/// The bytes of constants in some code.
fn literals(decoder: &Decoder, code: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for step in Stream::decode(decoder, 0, code).steps() {
        let Some(inst) = step.inst else { continue };
        let end = step.offset as usize + inst.len();
        let has = |it: &OperandValue| matches!(it, OperandValue::Literal32(_));
        if decoder.operands(&inst).any(|it| has(&it.value)) {
            found.push(end - 4..end);
        }
    }
    found
}

/// The examples that change something, each with its rule.
fn changing() -> Vec<(&'static str, &'static Example)> {
    let rules = rule_set().rules().iter().filter(|rule| rule.stage != Stage::Entry);
    let examples = rules.flat_map(|rule| rule.examples.iter().map(|it| (rule.name, it)));
    examples.filter(|(_, example)| matches!(example.after, Outcome::Code(_))).collect()
}

fn decoder() -> Decoder {
    gfx1250::assembler().unwrap().decoder().clone()
}

#[test]
fn capability_48_one_flipped_byte_is_found_in_a_thousand_objects_of_every_rule() {
    let (mut random, decoder, changing) = (Random::new(48), decoder(), changing());
    let mut covered: BTreeMap<String, BTreeSet<Part>> = BTreeMap::new();
    let mut placements = BTreeSet::new();
    let (mut objects, mut flips, mut round) = (0, 0, 0);
    while objects < 1_000 {
        // Every example has its turn.
        let (_, first) = changing[round % changing.len()];
        let mut examples = vec![first];
        (0..random.below(3)).for_each(|_| examples.push(random.pick(&changing).1));
        let surroundings = match round % 32 {
            0 => Surroundings::Far,
            16 => Surroundings::Crowded,
            it if it % 2 == 0 => Surroundings::Padding,
            _ => Surroundings::None,
        };
        round += 1;
        assert!(round < 3_000, "{objects} of {round}");
        let Some(mut case) = Case::new(&mut random, &examples, surroundings) else {
            continue;
        };
        objects += 1;
        for (record, part, range) in case.stretches(&decoder) {
            let at = range.start + random.below(range.len());
            let bit = 1 << random.below(8);
            let names = examples.iter().map(|it| it.name);
            assert!(case.sees(at, bit), "{:?}: {part:?} {at:#x}", names.collect::<Vec<_>>());
            flips += 1;
            for rule in case.rules(record) {
                covered.entry(rule.to_owned()).or_default().insert(part);
            }
            let record = case.manifest.records.get(record);
            placements.extend(record.map(|it| (it.placement.name(), it.jump.name())));
        }
    }
    assert!(flips > 5_000, "{flips}");
    // Every rule that changes something, in every part that its replacements have.
    let rules: BTreeSet<&str> =
        changing.iter().map(|(rule, _)| *rule).chain(["entry-stub"]).collect();
    assert_eq!(covered.keys().map(String::as_str).collect::<BTreeSet<_>>(), rules);
    let elsewhere = [Part::There, Part::Body, Part::Back];
    for (rule, parts) in &covered {
        let is_elsewhere = elsewhere.iter().any(|part| parts.contains(part));
        assert!(
            !is_elsewhere || elsewhere.iter().all(|it| parts.contains(it)),
            "{rule}: {parts:?}"
        );
    }
    let of = |part| covered.values().filter(|parts| parts.contains(&part)).count();
    assert!(of(Part::Literal) > 4 && of(Part::Relay) > 4 && of(Part::InPlace) > 4, "{covered:?}");
    let in_place = (Placement::InPlace.name(), Jump::None.name());
    let expected = [
        in_place,
        (Placement::Padding.name(), Jump::Near.name()),
        (Placement::Pool.name(), Jump::Far.name()),
        (Placement::Pool.name(), Jump::Near.name()),
        (Placement::Pool.name(), Jump::Relay.name()),
    ];
    assert_eq!(placements.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn bytes_all_over_the_replacements_of_each_example_count() {
    let (mut random, decoder) = (Random::new(49), decoder());
    for (rule, example) in changing() {
        let Some(mut case) = Case::new(&mut random, &[example], Surroundings::None) else {
            continue;
        };
        for (_, part, range) in case.stretches(&decoder) {
            let step = (range.len() / 16).max(1);
            for at in range.step_by(step) {
                let bit = 1 << random.below(8);
                assert!(case.sees(at, bit), "{rule} {}: {part:?} {at:#x}", example.name);
            }
        }
    }
}

/// A placer that errs writes its mistake into the manifest, too.
#[test]
fn a_way_that_leads_elsewhere_is_found_even_if_the_manifest_has_it_so() {
    let (mut random, decoder, changing) = (Random::new(50), decoder(), changing());
    let mut ways = BTreeSet::new();
    for round in 0..200 {
        let example = random.pick(&changing).1;
        let surroundings = [Surroundings::None, Surroundings::Padding, Surroundings::Crowded];
        let surroundings =
            if round % 20 == 0 { Surroundings::Far } else { random.pick(&surroundings) };
        let Some(case) = Case::new(&mut random, &[example], surroundings) else {
            continue;
        };
        for (number, part, range) in case.stretches(&decoder) {
            if !matches!(part, Part::There | Part::Back | Part::Relay) {
                continue;
            }
            let at = random.below(range.len());
            let bit = 1 << random.below(8);
            let (mut after, mut manifest) = (case.after.clone(), case.manifest.clone());
            after[range.start + at] ^= bit;
            let record = &mut manifest.records[number];
            let body = record.body.as_mut().unwrap();
            let code = body.new.len() - record.way_back;
            match part {
                Part::There => record.site.new[at] ^= bit,
                Part::Back => body.new[code + at] ^= bit,
                _ => {
                    let object = CodeObject::parse(&case.after).unwrap();
                    let start = |address| object.elf().file_offset(address).unwrap() as usize;
                    let relay =
                        record.relays.iter_mut().find(|it| start(it.address) == range.start);
                    relay.unwrap().new[at] ^= bit;
                }
            }
            let findings = case.patcher.verify(&case.before, &after, &manifest);
            assert!(!findings.is_empty(), "{}: {part:?} byte {at} bit {bit:#x}", example.name);
            ways.insert(part);
        }
    }
    assert_eq!(ways.len(), 3);
}
