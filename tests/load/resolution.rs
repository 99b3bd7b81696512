//! Who provides each name, held against a slow and obvious answer on random problems.

use std::collections::{BTreeMap, BTreeSet};

use hsaco::elf::relocation::RelocationType;
use hsaco::elf::symbol::{Binding, STT_FUNC, STT_NOTYPE, STT_OBJECT, Visibility};
use hsaco::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_PROGBITS};
use hsaco::load::{ErrorKind, Executable, Freeze};
use hsaco::object::CodeObject;
use hsaco::object::write::{Builder, Identity, NewRelocation, NewSection, NewSymbol};
use hsaco_tests::random::Random;

const TEXT: u64 = 0x1000;
const DATA: u64 = 0x2000;

/// A symbol of a made-up object.
#[derive(Clone, Debug)]
pub(crate) struct Sym {
    pub(crate) name: String,
    pub(crate) is_defined: bool,
    pub(crate) binding: Binding,
    pub(crate) visibility: Visibility,
    pub(crate) kind: u8,
}

impl Sym {
    pub(crate) fn new(
        name: &str,
        is_defined: bool,
        binding: Binding,
        visibility: Visibility,
        kind: u8,
    ) -> Self {
        Self { name: name.to_owned(), is_defined, binding, visibility, kind }
    }

    pub(crate) fn function(name: &str) -> Self {
        Self::new(name, true, Binding::Global, Visibility::Default, STT_FUNC)
    }

    pub(crate) fn wanted(name: &str) -> Self {
        Self::new(name, false, Binding::Global, Visibility::Default, STT_NOTYPE)
    }

    fn is_dynamic(&self) -> bool {
        self.binding != Binding::Local
    }

    /// Where the symbol of that number is.
    fn place(&self, number: usize) -> u64 {
        let start = if self.kind == STT_OBJECT { DATA + 0x800 } else { TEXT };
        start + 16 * number as u64
    }
}

/// A made-up object: its symbols, and which of them eight bytes in its data are to point to, plus how much.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    pub(crate) symbols: Vec<Sym>,
    pub(crate) slots: Vec<(usize, i64)>,
}

impl Made {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut builder = Builder::new(Identity { os_abi: 64, abi_version: 4, flags: 0x54c });
        let mut section = |name: &str, flags, address| {
            builder.section(NewSection {
                name: name.to_owned(),
                kind: SHT_PROGBITS,
                flags: SHF_ALLOC | flags,
                address,
                align: 4096,
                entry_size: 0,
                content: vec![0; 0x1000].into(),
                memory_size: 0,
            })
        };
        let text = section(".text", SHF_EXECINSTR, TEXT);
        let data = section(".data", SHF_WRITE, DATA);
        let numbers: Vec<usize> = self
            .symbols
            .iter()
            .enumerate()
            .map(|(number, symbol)| {
                let section = if symbol.kind == STT_OBJECT { data } else { text };
                builder.symbol(NewSymbol {
                    name: symbol.name.as_bytes().to_vec(),
                    value: if symbol.is_defined { symbol.place(number) } else { 0 },
                    size: if symbol.is_defined { 16 } else { 0 },
                    kind: symbol.kind,
                    binding: symbol.binding,
                    // What the builder would leave out of the dynamic symbols is changed below.
                    visibility: Visibility::Default,
                    section: if symbol.is_defined { section } else { 0 },
                })
            })
            .collect();
        for (slot, (symbol, addend)) in (0..).zip(&self.slots) {
            let kind = RelocationType(3);
            let symbol = Some(numbers[*symbol]);
            builder.relocation(NewRelocation {
                offset: DATA + 8 * slot,
                kind,
                symbol,
                addend: *addend,
            });
        }
        let mut bytes = builder.finish().unwrap();
        self.set_visibilities(&mut bytes);
        bytes
    }

    fn set_visibilities(&self, bytes: &mut [u8]) {
        let object = CodeObject::parse(bytes).unwrap();
        let mut changes = Vec::new();
        for name in [".symtab", ".dynsym"] {
            let section = object.elf().section_named(name).unwrap();
            let source = hsaco::elf::symbol::SymbolSource::Symtab;
            let table =
                hsaco::elf::symbol::SymbolTable::of_section(object.elf(), section, source).unwrap();
            for row in table.iter().flatten() {
                if let Some(symbol) = self.symbols.iter().find(|it| row.name == it.name.as_str()) {
                    let at = section.offset + 24 * u64::from(row.index) + 5;
                    let value = match symbol.visibility {
                        Visibility::Default => 0,
                        Visibility::Internal => 1,
                        Visibility::Hidden => 2,
                        Visibility::Protected => 3,
                    };
                    changes.push((usize::try_from(at).unwrap(), value));
                }
            }
        }
        for (at, value) in changes {
            bytes[at] = value;
        }
    }
}

/// A problem: objects, and what the caller defines.
#[derive(Clone, Debug, Default)]
struct Problem {
    objects: Vec<Made>,
    definitions: Vec<(String, u8)>,
}

/// Where a slot points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Goal {
    Symbol(usize, usize),
    Definition(usize),
    Zero,
}

type Faults = BTreeSet<(ErrorKind, String)>;

/// The slow and obvious answer: where each slot of each object points to, or all that is wrong.
fn reference(problem: &Problem) -> Result<Vec<Vec<Goal>>, Faults> {
    let is_open = |it: &Sym| matches!(it.visibility, Visibility::Default | Visibility::Protected);
    let is_export = |it: &Sym| it.is_defined && it.is_dynamic() && is_open(it);
    let mut faults = Faults::new();
    let mut providers: BTreeMap<String, Goal> = BTreeMap::new();
    let mut names: BTreeSet<String> = problem.definitions.iter().map(|it| it.0.clone()).collect();
    names.extend(problem.objects.iter().flat_map(|it| &it.symbols).map(|it| it.name.clone()));
    for name in &names {
        let mut strong = Vec::new();
        let mut weak = Vec::new();
        for (number, (defined, _)) in problem.definitions.iter().enumerate() {
            if defined == name {
                strong.push(Goal::Definition(number));
            }
        }
        for (number, object) in problem.objects.iter().enumerate() {
            for (at, symbol) in object.symbols.iter().enumerate() {
                if symbol.name == *name && is_export(symbol) {
                    let list =
                        if symbol.binding == Binding::Weak { &mut weak } else { &mut strong };
                    list.push(Goal::Symbol(number, at));
                }
            }
        }
        if strong.len() > 1 {
            faults.insert((ErrorKind::DuplicateSymbol, name.clone()));
        }
        // Objects are named by their numbers, so the first of the weak is that of the first name.
        if let Some(provider) = strong.first().or(weak.first()) {
            providers.insert(name.clone(), *provider);
        }
    }
    let mut goals = Vec::new();
    let mut said: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
    for (name, kind) in &problem.definitions {
        said.entry(name.clone()).or_default().insert(*kind);
    }
    for (number, object) in problem.objects.iter().enumerate() {
        for symbol in object.symbols.iter().filter(|it| is_export(it)) {
            said.entry(symbol.name.clone()).or_default().insert(symbol.kind);
        }
        let mut found = Vec::new();
        for (at, _) in &object.slots {
            let symbol = &object.symbols[*at];
            let provider = providers.get(&symbol.name).copied();
            let goal = if symbol.is_defined {
                let may_be_replaced = is_export(symbol) && symbol.visibility == Visibility::Default;
                let own = Goal::Symbol(number, *at);
                if may_be_replaced { provider.unwrap_or(own) } else { own }
            } else if symbol.visibility == Visibility::Default && provider.is_some() {
                said.entry(symbol.name.clone()).or_default().insert(symbol.kind);
                provider.unwrap()
            } else if symbol.binding == Binding::Weak {
                Goal::Zero
            } else {
                let is_hidden = problem.objects.iter().flat_map(|it| &it.symbols).any(|other| {
                    other.name == symbol.name && other.is_defined && !is_export(other)
                });
                let kind = if is_hidden || provider.is_some() {
                    ErrorKind::HiddenSymbol
                } else {
                    ErrorKind::UndefinedSymbol
                };
                faults.insert((kind, symbol.name.clone()));
                Goal::Zero
            };
            found.push(goal);
        }
        goals.push(found);
    }
    for (name, kinds) in said {
        if kinds.contains(&STT_FUNC) && kinds.contains(&STT_OBJECT) {
            faults.insert((ErrorKind::TypeMismatch, name));
        }
    }
    if faults.is_empty() { Ok(goals) } else { Err(faults) }
}

/// What the loader answers, with objects loaded in that order.
fn answer(problem: &Problem, order: &[usize]) -> Result<Vec<Vec<Goal>>, Faults> {
    let mut executable = Executable::new(None);
    let address = |number: usize| 0xdead_0000 + 0x100 * number as u64;
    for (number, (name, kind)) in problem.definitions.iter().enumerate() {
        match *kind {
            STT_FUNC => executable.define_function(name, address(number)).unwrap(),
            _ => executable.define_variable(name, address(number), 8).unwrap(),
        };
    }
    for number in order {
        executable.load(&format!("object{number}"), problem.objects[*number].bytes()).unwrap();
    }
    if let Err(errors) = executable.freeze(Freeze::default()) {
        let name = |it: &hsaco::load::Error| it.detail().split('`').nth(1).unwrap().to_owned();
        return Err(errors.iter().map(|it| (it.kind(), name(it))).collect());
    }
    let mut goals = vec![Vec::new(); order.len()];
    let mut images = vec![None; order.len()];
    for (id, number) in executable.objects().zip(order) {
        images[*number] = executable.image(id);
    }
    let by_address: BTreeMap<u64, Goal> = images
        .iter()
        .enumerate()
        .flat_map(|(number, image)| {
            let delta = image.unwrap().delta;
            let symbols = problem.objects[number].symbols.iter().enumerate();
            symbols.map(move |(at, it)| (it.place(at) + delta, Goal::Symbol(number, at)))
        })
        .collect();
    for (number, image) in images.iter().enumerate() {
        let image = image.unwrap();
        for (slot, (_, addend)) in (0..).zip(&problem.objects[number].slots) {
            let bytes = image.bytes_at(image.delta + DATA + 8 * slot, 8).unwrap();
            let value = u64::from_le_bytes(bytes.try_into().unwrap()).wrapping_add_signed(-addend);
            let definition = (0..problem.definitions.len()).find(|it| address(*it) == value);
            let goal = match definition {
                Some(definition) => Goal::Definition(definition),
                None if value == 0 => Goal::Zero,
                None => by_address[&value],
            };
            goals[number].push(goal);
        }
    }
    Ok(goals)
}

fn random_problem(random: &mut Random) -> Problem {
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    // Problems in which most things go together are as interesting as those in which nothing does.
    let is_tidy = random.below(3) != 0;
    let objects = 1 + random.below(4);
    let mut problem = Problem::default();
    for _ in 0..objects {
        let mut made = Made::default();
        for name in NAMES {
            let presence = random.below(3);
            if presence == 0 {
                continue;
            }
            let is_defined = presence == 1;
            let binding = match random.below(if is_defined { 4 } else { 3 }) {
                0 => Binding::Global,
                1 | 2 => Binding::Weak,
                _ => Binding::Local,
            };
            let binding =
                if is_tidy && binding == Binding::Global { Binding::Weak } else { binding };
            let visibility = match random.below(if is_tidy && !is_defined { 1 } else { 8 }) {
                0..5 => Visibility::Default,
                5 => Visibility::Protected,
                6 => Visibility::Hidden,
                _ => Visibility::Internal,
            };
            let kind = if is_tidy {
                STT_FUNC
            } else {
                random.pick(&[STT_FUNC, STT_FUNC, STT_NOTYPE, STT_OBJECT])
            };
            let kind = if !is_defined && random.below(2) == 0 { STT_NOTYPE } else { kind };
            // What is local and has no type is a label, and left alone.
            let kind = if binding == Binding::Local { STT_FUNC } else { kind };
            made.symbols.push(Sym::new(name, is_defined, binding, visibility, kind));
        }
        for (number, symbol) in made.symbols.iter().enumerate() {
            if symbol.is_dynamic() && random.below(3) != 0 {
                made.slots.push((number, random.pick(&[0, 0, 8, -4])));
            }
        }
        problem.objects.push(made);
    }
    for name in NAMES {
        if random.below(12) == 0 {
            problem.definitions.push((name.to_owned(), random.pick(&[STT_FUNC, STT_OBJECT])));
        }
    }
    problem
}

#[test]
fn ten_thousand_random_problems_are_solved_as_the_obvious_way_does_it() {
    let mut random = Random::new(7);
    let mut solved = 0;
    let mut kinds: BTreeMap<ErrorKind, usize> = BTreeMap::new();
    for number in 0..10_000 {
        let problem = random_problem(&mut random);
        let expected = reference(&problem);
        let forward: Vec<usize> = (0..problem.objects.len()).collect();
        let backward: Vec<usize> = forward.iter().rev().copied().collect();
        assert_eq!(answer(&problem, &forward), expected, "problem {number}: {problem:#?}");
        assert_eq!(
            answer(&problem, &backward),
            expected,
            "problem {number} backwards: {problem:#?}"
        );
        match expected {
            Ok(_) => solved += 1,
            Err(faults) => {
                faults.iter().for_each(|(kind, _)| *kinds.entry(*kind).or_default() += 1);
            }
        }
    }
    // None of the answers may be rare, or nothing was tried.
    assert!(solved > 1000, "{solved} without a fault");
    for kind in [
        ErrorKind::DuplicateSymbol,
        ErrorKind::TypeMismatch,
        ErrorKind::UndefinedSymbol,
        ErrorKind::HiddenSymbol,
    ] {
        assert!(kinds.get(&kind).copied().unwrap_or(0) > 400, "{kind:?}: {kinds:?}");
    }
}

fn freeze(objects: &[(&str, Made)]) -> Result<Executable<'static>, hsaco::load::Errors> {
    let mut executable = Executable::new(None);
    for (name, made) in objects {
        executable.load(name, made.bytes()).unwrap();
    }
    executable.freeze(Freeze::default()).map(|()| executable)
}

/// Case F46.
#[test]
fn an_undefined_symbol_is_an_error_whatever_is_added_to_it() {
    for addend in [0, 8] {
        let user = Made { symbols: vec![Sym::wanted("gone")], slots: vec![(0, addend)] };
        let errors = freeze(&[("user", user)]).unwrap_err();
        assert_eq!((errors.len(), errors[0].kind()), (1, ErrorKind::UndefinedSymbol));
        let place = if addend == 0 { "(at 0x2000)" } else { "(at 0x2000 plus 8)" };
        let text =
            format!("undefined-symbol: `gone` is wanted by user {place}, and no object defines it");
        assert_eq!(errors[0].to_string(), text);
    }
}

/// Case F47.
#[test]
fn all_that_is_wrong_is_said_at_once() {
    let names = ["one", "two", "three"];
    let user = Made {
        symbols: names.map(Sym::wanted).to_vec(),
        slots: vec![(0, 0), (1, 0), (2, 4), (2, 0)],
    };
    let errors = freeze(&[("user", user)]).unwrap_err();
    let kinds: Vec<_> = errors.iter().map(hsaco::load::Error::kind).collect();
    assert_eq!(kinds, [ErrorKind::UndefinedSymbol; 3]);
    let text = errors.to_string();
    assert!(names.iter().all(|name| text.contains(&format!("`{name}`"))), "{text}");
    assert!(text.contains("`three` is wanted by user (at 0x2010 plus 4 and 1 more)"), "{text}");
}

/// Case F48.
#[test]
fn a_strong_definition_wins_and_two_are_too_many() {
    let strong = || Made { symbols: vec![Sym::function("f")], slots: Vec::new() };
    let weak = || {
        let weak = Sym { binding: Binding::Weak, ..Sym::function("f") };
        Made { symbols: vec![weak], slots: vec![(0, 0)] }
    };
    let user = || Made { symbols: vec![Sym::wanted("f")], slots: vec![(0, 0)] };
    let errors = freeze(&[("a", strong()), ("b", strong()), ("user", user())]).unwrap_err();
    assert_eq!((errors.len(), errors[0].kind()), (1, ErrorKind::DuplicateSymbol));
    assert!(errors[0].to_string().contains("`f` is defined by a and by b"), "{errors}");
    for objects in [
        [("weak", weak()), ("strong", strong()), ("user", user())],
        [("strong", strong()), ("user", user()), ("weak", weak())],
    ] {
        let executable = freeze(&objects).unwrap();
        let providers: Vec<_> = executable
            .relocations()
            .map(|it| executable.object_name(it.provider.unwrap()))
            .collect();
        assert_eq!(providers, ["strong", "strong"]);
    }
    let lost = Sym { binding: Binding::Weak, ..Sym::wanted("nobody") };
    let executable =
        freeze(&[("user", Made { symbols: vec![lost], slots: vec![(0, 0)] })]).unwrap();
    assert_eq!(executable.relocations().map(|it| it.value).collect::<Vec<_>>(), [0]);
}

/// Case F49.
#[test]
fn a_hidden_definition_explains_itself() {
    for (binding, visibility, word) in [
        (Binding::Global, Visibility::Hidden, "HIDDEN"),
        (Binding::Global, Visibility::Internal, "INTERNAL"),
        (Binding::Local, Visibility::Default, "LOCAL"),
    ] {
        let hidden = Sym { binding, visibility, ..Sym::function("f") };
        let user = Made { symbols: vec![Sym::wanted("f")], slots: vec![(0, 0)] };
        let library = Made { symbols: vec![hidden], slots: Vec::new() };
        let errors = freeze(&[("user", user), ("library", library)]).unwrap_err();
        assert_eq!((errors.len(), errors[0].kind()), (1, ErrorKind::HiddenSymbol));
        let text = errors[0].to_string();
        assert!(text.contains(&format!("defined only inside library ({word})")), "{text}");
        assert!(text.contains("-fvisibility=default"), "{text}");
    }
}

#[test]
fn facts_3_6_a_function_is_no_variable() {
    let user = Sym { kind: STT_OBJECT, ..Sym::wanted("f") };
    let user = Made { symbols: vec![user], slots: vec![(0, 0)] };
    let library = Made { symbols: vec![Sym::function("f")], slots: Vec::new() };
    let errors = freeze(&[("user", user), ("library", library)]).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "type-mismatch: `f` is a function defined by library and a variable wanted by user"
    );
}

#[test]
fn facts_3_6_libraries_that_need_each_other_are_fine() {
    let made = |has: &str, wants: &str| Made {
        symbols: vec![Sym::function(has), Sym::wanted(wants)],
        slots: vec![(1, 0)],
    };
    let executable = freeze(&[("a", made("f", "g")), ("b", made("g", "f"))]).unwrap();
    let providers: Vec<_> =
        executable.relocations().map(|it| executable.object_name(it.provider.unwrap())).collect();
    assert_eq!(providers, ["b", "a"]);
}

#[test]
fn facts_3_6_an_object_is_loaded_once() {
    let made = || Made { symbols: vec![Sym::function("f"), Sym::function("g")], slots: Vec::new() };
    let errors = freeze(&[("a", made()), ("a", made())]).unwrap_err();
    let kinds: Vec<_> = errors.iter().map(hsaco::load::Error::kind).collect();
    assert_eq!(kinds, [ErrorKind::DuplicateSymbol; 2]);
}

#[test]
fn a_name_with_other_arguments_is_pointed_out() {
    let user = Made { symbols: vec![Sym::wanted("_Z5scalefi")], slots: vec![(0, 0)] };
    let library = Made { symbols: vec![Sym::function("_Z5scaleff")], slots: Vec::new() };
    let errors = freeze(&[("user", user), ("library", library)]).unwrap_err();
    assert!(
        errors.to_string().contains("`_Z5scalefi` (scale(float, int)) is wanted by user"),
        "{errors}"
    );
    assert!(errors.to_string().ends_with("there is `scale(float, float)`"), "{errors}");
}
