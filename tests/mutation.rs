//! The validator can fail: flipped bytes of replacements and of the ways to them, in objects of every rule and every placement.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "helpers of tests fail them"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use hsaco::analysis::Stream;
use hsaco::compress::Method;
use hsaco::container;
use hsaco::isa::decoder::{DecodeOptions, Mode};
use hsaco::isa::model::OperandValue;
use hsaco::isa::{Decoder, Processor};
use hsaco::object::CodeObject;
use hsaco::patch::rule::ExampleOutcome;
use hsaco::patch::{
    CodeEdit, Example, Expected, JumpKind, KernelSetting, Manifest, Options, Patcher, Placement,
    Points, Stage, Verdict, verify_set,
};
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
fn way(jump: JumpKind, site: &Range<usize>, is_direct: bool) -> usize {
    match jump {
        JumpKind::Far if is_direct => site.len().min(16),
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
    examples.filter(|(_, example)| matches!(example.after, ExampleOutcome::Code(_))).collect()
}

fn decoder() -> Decoder {
    gfx1250::assembler().unwrap().decoder().clone()
}

/// Capability 48.
#[test]
fn one_flipped_byte_is_found_in_a_thousand_objects_of_every_rule() {
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
    let in_place = (Placement::InPlace.name(), JumpKind::None.name());
    let expected = [
        in_place,
        (Placement::Padding.name(), JumpKind::Near.name()),
        (Placement::Pool.name(), JumpKind::Far.name()),
        (Placement::Pool.name(), JumpKind::Near.name()),
        (Placement::Pool.name(), JumpKind::Relay.name()),
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

/// Code as the hardware reads it, a line for each instruction.
fn lines(code: &[u8]) -> Vec<Option<String>> {
    let options = DecodeOptions { mode: Mode::Lenient, ..DecodeOptions::default() };
    let decoder = Decoder::with_options(Processor::from_name("gfx1250").unwrap(), options).unwrap();
    let stream = Stream::decode(&decoder, 0, code);
    stream.steps().map(|it| it.inst.map(|it| decoder.text(&it))).collect()
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
            // A field that the hardware does not look at leads nowhere else.
            if lines(&after[range.clone()]) == lines(&case.after[range.clone()]) {
                continue;
            }
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

/// The parts of an ELF file that no code is in, each with its name and its bytes.
fn format_parts(file: &[u8]) -> Vec<(String, Range<usize>)> {
    let object = CodeObject::parse(file).unwrap();
    let elf = object.elf();
    let header = elf.header();
    let table = |at: u64, size: u16, count: usize| {
        let start = at as usize;
        start..start + usize::from(size) * count
    };
    let segments = elf.segments().len();
    let sections = elf.sections().len();
    let mut parts = vec![
        ("file header (e_".to_owned(), 0..64),
        (
            "program headers (p_".to_owned(),
            table(header.program_headers, header.program_header_size, segments),
        ),
        (
            "section headers (sh_".to_owned(),
            table(header.section_headers, header.section_header_size, sections),
        ),
    ];
    for section in elf.sections().iter().filter(|it| it.file_size() != 0 && !it.is_executable()) {
        let start = section.offset as usize;
        parts.push((section.name.to_string(), start..start + section.file_size() as usize));
    }
    parts
}

#[test]
fn flipped_bits_of_headers_notes_and_symbols_are_found_and_named() {
    let before = std::fs::read(hsaco_tests::fixture("steppings.co")).unwrap();
    let patcher = patcher(&Options::default());
    let patched = patcher.patch(&before).unwrap();
    let (mut after, manifest) = (patched.bytes.unwrap(), patched.manifest);
    assert_eq!(patcher.verify(&before, &after, &manifest), []);
    let parts = format_parts(&after);
    for name in [".note", ".dynsym", ".dynamic", ".rodata", ".symtab", ".strtab", ".shstrtab"] {
        assert!(parts.iter().any(|(part, _)| part == name), "{name} of {parts:?}");
    }
    let mut missed: BTreeMap<String, usize> = BTreeMap::new();
    for (name, range) in parts {
        for at in range {
            after[at] ^= 1 << (at % 8);
            let found = patcher.verify(&before, &after, &manifest);
            after[at] ^= 1 << (at % 8);
            let is_named =
                |text: String| text.contains(&name) && text.contains(&format!("{at:#x}"));
            if !found.iter().any(|it| is_named(it.to_string())) {
                *missed.entry(name.clone()).or_default() += 1;
            }
        }
    }
    assert_eq!(missed, BTreeMap::new());
}

/// A whole output: an object that was rewritten, or a file that holds some.
struct Whole {
    what: String,
    original: Vec<u8>,
    result: Vec<u8>,
    /// The manifests of its objects, each with the number of its entry; one without a number is of the file itself.
    manifests: Vec<(Option<usize>, Manifest)>,
}

/// How many bits of an output are flipped.
#[derive(Clone, Copy)]
enum Flips {
    EveryBit,
    /// One of each byte.
    EveryByte,
}

impl Whole {
    fn new(what: String, original: Vec<u8>, result: Vec<u8>, manifest: Manifest) -> Whole {
        Whole { what, original, result, manifests: vec![(None, manifest)] }
    }

    /// An object that rules or edits change, which the validator accepts.
    fn by(what: &str, patcher: &Patcher, original: Vec<u8>) -> Whole {
        let patched = patcher.patch(&original).unwrap();
        let remarks = &patched.manifest.remarks;
        let result = patched.bytes.unwrap_or_else(|| panic!("{what}: {remarks:?}"));
        assert_eq!(patcher.verify(&original, &result, &patched.manifest), [], "{what}");
        Whole::new(what.to_owned(), original, result, patched.manifest)
    }

    /// A fixture with other numbers.
    fn set(fixture: &str, settings: &[&str]) -> Whole {
        let original = std::fs::read(hsaco_tests::fixture(fixture)).unwrap();
        let parsed: Vec<KernelSetting> = settings.iter().map(|it| it.parse().unwrap()).collect();
        let patched = hsaco::patch::set(&original, &parsed).unwrap();
        let result = patched.bytes.unwrap();
        assert_eq!(verify_set(&original, &result, &patched.manifest), [], "{fixture} {settings:?}");
        Whole::new(format!("{fixture} {settings:?}"), original, result, patched.manifest)
    }

    /// A file that holds objects, some of which rules change.
    fn container(what: &str, original: Vec<u8>) -> Whole {
        let (patcher, options) = (patcher(&Options::default()), container::WalkOptions::default());
        let (mut new, mut manifests) = (BTreeMap::new(), Vec::new());
        for (number, entry) in container::entries(&original, &options).enumerate() {
            let entry = entry.unwrap();
            if entry.kind != container::EntryKind::CodeObject {
                continue;
            }
            let patched = patcher.patch(&entry.data).unwrap();
            let mut manifest = patched.manifest;
            match patched.bytes {
                Some(bytes) => _ = new.insert(number, bytes),
                // One for another processor is left as it is among others.
                None => manifest.verdict = Verdict::Unchanged(String::new()),
            }
            manifests.push((Some(number), manifest));
        }
        assert!(!new.is_empty(), "{what}");
        let result = container::put_back(&original, &options, new).unwrap();
        Whole { what: what.to_owned(), original, result, manifests }
    }

    fn expected(&self) -> Expected<'_> {
        match self.manifests.as_slice() {
            [(None, manifest)] => Expected::new(&self.original, manifest).unwrap(),
            all => {
                let all = all.iter().map(|(number, it)| (number.unwrap(), it)).collect();
                let options = container::WalkOptions::default();
                Expected::in_container(&self.original, &options, &all).unwrap()
            }
        }
    }

    /// Flips bits all over the result, one at a time; each is found, and where it is.
    fn flip(&mut self, flips: Flips) -> usize {
        let mut result = std::mem::take(&mut self.result);
        let expected = self.expected();
        assert_eq!(expected.compare(&result), [], "{}", self.what);
        let mut count = 0;
        for at in 0..result.len() {
            let bits = match flips {
                Flips::EveryBit => 0..8,
                Flips::EveryByte => at % 8..at % 8 + 1,
            };
            for bit in bits {
                result[at] ^= 1 << bit;
                let found = expected.compare(&result);
                result[at] ^= 1 << bit;
                let place = (found.len(), found.first().and_then(|it| it.offset));
                assert_eq!(place, (1, Some(at as u64)), "{}: bit {bit} of {at:#x}", self.what);
                count += 1;
            }
        }
        drop(expected);
        self.result = result;
        count
    }
}

/// What edits make of an object with a function to call, branches and padding.
fn edited_outputs() -> Vec<Whole> {
    let none = hsaco::patch::RuleSet::by_name("none").unwrap();
    let by = |what: &str, edits: Vec<CodeEdit>, original: Vec<u8>| {
        let patcher = Patcher::new(none, Options::default()).unwrap().with_edits(edits);
        Whole::by(what, &patcher, original)
    };
    let branches = "v_mov_b32_e32 v5, v6\ns_cbranch_scc1 1\nv_mov_b32_e32 v5, v7\nv_mov_b32_e32 v8, v5\nds_store_b32 v8, v5";
    let long = vec!["s_nop 7".to_owned(); 80];
    let kernels = |lines: &str| {
        vec![kernel("k", lines).unwrap(), kernel("other", "s_mov_b32 s4, 0\ns_nop 3").unwrap()]
    };
    let mut all = Vec::new();
    let fixture = |name: &str| std::fs::read(hsaco_tests::fixture(name)).unwrap();
    for (name, file) in [
        ("two kernels", object(&kernels(branches)).unwrap()),
        ("one kernel", object(&kernels(branches)[..1]).unwrap()),
        ("s1", fixture("s1.gfx1250.co")),
        ("steppings", fixture("steppings.co")),
        ("gfx90a", fixture("s1.gfx90a-xnack-off.co")),
        ("gfx942", fixture("s1.gfx942.co")),
        ("gfx1100", fixture("s1.gfx1100.co")),
        ("gfx11-generic", fixture("s1.gfx11-generic.co")),
        ("waves of 64 lanes", fixture("s1.wave64.co")),
    ] {
        let entry = CodeObject::parse(&file).unwrap().index().kernels()[0].entry().unwrap();
        let points = [Points::Entries, Points::Blocks, Points::Address(entry)];
        for points in points {
            all.push(by(
                &format!("{name}: count {points:?}"),
                vec![CodeEdit::Count(points)],
                file.clone(),
            ));
        }
        let edits = [
            CodeEdit::Insert(entry, vec!["s_nop 3".to_owned()]),
            CodeEdit::Insert(entry, long.clone()),
            CodeEdit::Replace(entry, vec!["s_nop 3".to_owned()]),
            CodeEdit::Replace(entry, long.clone()),
        ];
        for edit in edits {
            let what = format!("{name}: {edit:?}").chars().take(60).collect::<String>();
            all.push(by(&what, vec![edit.clone()], file.clone()));
            let both = vec![edit, CodeEdit::Count(Points::Address(entry + 4))];
            let patcher = Patcher::new(none, Options::default()).unwrap().with_edits(both);
            // Some of them are in each other's way.
            if patcher.patch(&file).unwrap().bytes.is_some() {
                all.push(Whole::by(&format!("{what} and count"), &patcher, file.clone()));
            }
        }
    }
    for points in [Points::Entries, Points::Address(0x1f00)] {
        let call = CodeEdit::Call(points, "helper".into());
        all.push(by(&format!("call {points:?}"), vec![call], fixture("s1.gfx1250.co")));
    }
    for name in ["s1.gfx90a-xnack-off.co", "s1.gfx942.co", "s1.gfx1100.co", "s1.wave64.co"] {
        let call = CodeEdit::Call(Points::Entries, "helper".into());
        all.push(by(&format!("call in {name}"), vec![call], fixture(name)));
    }
    all
}

/// What setting numbers makes of objects for many processors, with debug information and without.
fn set_outputs() -> Vec<Whole> {
    let fields: [&[&str]; 5] = [
        &["vgpr_count=77"],
        &["sgpr_count=61"],
        &["group_segment_fixed_size=70000"],
        &["float_round_mode_32=1"],
        &[
            "vgpr_count=200",
            "sgpr_count=20",
            "kernarg_segment_size=640",
            "max_flat_workgroup_size=70000",
        ],
    ];
    let fixtures = [
        "s1.gfx942.co",
        "s1.gfx1100.co",
        "s1.gfx1250.co",
        "s1.gfx90a-xnack-off.co",
        "s1.gfx11-generic.co",
        "s1.v4.co",
        "s1.v5.co",
        "s1.wave64.co",
        "s1.stripped.co",
        "two-notes.co",
        "steppings.co",
        "lines.dwarf4.co",
        "lines.dwarf5.co",
        "lines.zlib.co",
    ];
    let mut all = Vec::new();
    for fixture in fixtures {
        let file = std::fs::read(hsaco_tests::fixture(fixture)).unwrap();
        let name = CodeObject::parse(&file).unwrap().index().kernels()[0].name().to_string();
        for fields in fields {
            let settings: Vec<String> = fields.iter().map(|it| format!("{name}.{it}")).collect();
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            all.push(Whole::set(fixture, &settings));
        }
    }
    all
}

/// What rules make of bundles, plain and compressed, of one object and of several.
fn container_outputs() -> Vec<Whole> {
    let fixture = |name: &str| std::fs::read(hsaco_tests::fixture(name)).unwrap();
    let id = |target: &str| format!("hipv4-amdgcn-amd-amdhsa--{target}");
    let (first, second) = (fixture("steppings.co"), fixture("s1.gfx942.co"));
    let host = ("host-x86_64-unknown-linux-gnu-".to_owned(), Vec::new());
    let one = container::bundle::write(&[host.clone(), (id("gfx1250"), first.clone())], 4096);
    let two =
        container::bundle::write(&[host, (id("gfx942"), second), (id("gfx1250"), first)], 256);
    let packed = |bundle: &[u8], method| container::ccob::write(bundle, 3, method, 3).unwrap();
    let zlib = packed(&one, Method::Zlib);
    let zstd = packed(&two, Method::Zstd);
    vec![
        Whole::container("bundle of one", one),
        Whole::container("bundle of two", two),
        Whole::container("bundle packed by zlib", zlib),
        Whole::container("bundle packed by zstd", zstd),
    ]
}

/// What rewriting makes of an object with debug information, if clang is there to compile it.
fn debug_outputs() -> Vec<Whole> {
    let folder = hsaco_tests::scratch_dir();
    let folder = folder.path();
    std::fs::copy(hsaco_tests::fixtures_dir().join("src/s1.c"), folder.join("s1.c")).unwrap();
    let none = hsaco::patch::RuleSet::by_name("none").unwrap();
    let mut all = Vec::new();
    for debug in ["-gdwarf-4", "-gdwarf-5", "-gz"] {
        let compile = ["-x", "c", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-O2", "-g", debug];
        let output = ["-mcpu=gfx1250", "-c", "s1.c", "-o", "s1.o"];
        let words: Vec<&str> = compile.into_iter().chain(output).collect();
        hsaco_tests::program::succeed(folder, "clang-22", &words);
        hsaco_tests::program::succeed(folder, "ld.lld-22", &["-shared", "s1.o", "-o", "s1.co"]);
        let file = std::fs::read(folder.join("s1.co")).unwrap();
        let entry = CodeObject::parse(&file).unwrap().index().kernels()[0].entry().unwrap();
        let edits = [
            CodeEdit::Insert(entry, vec!["s_nop 7".to_owned(); 80]),
            CodeEdit::Count(Points::Blocks),
        ];
        for edit in edits {
            let patcher = Patcher::new(none, Options::default()).unwrap().with_edits(vec![edit]);
            all.push(Whole::by(&format!("debug information, {debug}"), &patcher, file.clone()));
        }
    }
    all
}

/// What rules make of their examples, in all surroundings, until there are so many outputs.
fn rule_outputs(count: usize) -> Vec<Whole> {
    let (mut random, changing) = (Random::new(51), changing());
    let mut all = Vec::new();
    for round in 0.. {
        if all.len() == count {
            break;
        }
        assert!(round < 10 * count, "{}", all.len());
        let surroundings = match round % 40 {
            7 => Surroundings::Far,
            23 => Surroundings::Crowded,
            it if it % 2 == 0 => Surroundings::Padding,
            _ => Surroundings::None,
        };
        let mut examples = vec![changing[round % changing.len()].1];
        (0..random.below(3)).for_each(|_| examples.push(random.pick(&changing).1));
        let Some(case) = Case::new(&mut random, &examples, surroundings) else { continue };
        let what = format!("rules, round {round}");
        all.push(Whole::new(what, case.before, case.after, case.manifest));
    }
    all
}

/// The validator without digests: the bytes that an original and a manifest make. `HSACO_EVERY_BIT=1` flips every bit of every
/// output; else those of each eighth are flipped, and one of each byte of the others.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_flipped_bit_anywhere_in_200_whole_outputs_is_found() {
    const OUTPUTS: usize = 200;
    const LARGE: usize = 64 << 10;
    let mut outputs = edited_outputs();
    outputs.extend(set_outputs());
    outputs.extend(container_outputs());
    outputs.extend(debug_outputs());
    let rules = OUTPUTS.saturating_sub(outputs.len()).max(100);
    outputs.extend(rule_outputs(rules));
    assert!(outputs.len() >= OUTPUTS, "{}", outputs.len());
    let is_all = std::env::var_os("HSACO_EVERY_BIT").is_some();
    let (mut flips, mut bytes) = (0, 0);
    for (number, output) in outputs.iter_mut().enumerate() {
        let is_small = output.result.len() <= LARGE;
        let every_bit = is_all || number % 8 == 0 && is_small;
        bytes += output.result.len();
        flips += output.flip(if every_bit { Flips::EveryBit } else { Flips::EveryByte });
    }
    eprintln!("{} outputs, {bytes} bytes, {flips} flipped bits, all found", outputs.len());
    // Placements of all kinds were among them.
    let records = outputs.iter().flat_map(|it| &it.manifests).flat_map(|(_, it)| &it.records);
    let placements: BTreeSet<_> = records.map(|it| (it.placement.name(), it.jump.name())).collect();
    assert_eq!(placements.len(), 5, "{placements:?}");
    assert!(outputs.iter().any(|it| it.manifests.iter().any(|(_, it)| !it.stubs.is_empty())));
}
