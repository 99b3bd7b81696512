//! Who provides each name: decided once all objects are there, so that their order does not matter.
//!
//! One pass over what is exported finds the provider of each name, a second one over what is wanted finds who
//! has none. Both are linear in symbols and relocations; only names that something is wrong with are looked at
//! again, to say who is involved.

use std::collections::{BTreeMap, BTreeSet};

use hsaco_bytes::Str;
use hsaco_demangle::demangle;
use hsaco_elf::symbol::{Binding, Visibility};

use crate::error::{Error, ErrorKind, refusal};
use crate::name::{NameId, Names};
use crate::object::{Class, Entry, Object, Target};

/// Whom a symbol stands for in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// A symbol of an object.
    Symbol { object: u32, symbol: u32 },
    /// What the caller defined, by its number.
    Definition(u32),
    /// No object, and that is fine: its address is 0.
    Zero,
    /// No object.
    Nowhere,
}

/// What the caller defined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) name: NameId,
    pub(crate) class: Class,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

/// Whom every symbol of every object stands for, and what is wrong.
pub(crate) struct Resolution {
    pub(crate) bound: Vec<Vec<Bound>>,
    pub(crate) errors: Vec<Error>,
}

/// Who might provide a name.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bound: Bound,
    is_strong: bool,
    /// The place of its object in an order that does not depend on loading.
    rank: usize,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    provider: Option<Candidate>,
    is_function: bool,
    is_variable: bool,
}

impl Known {
    /// Takes note of what a symbol says that the name is.
    fn is_said_to_be(&mut self, class: Class) {
        self.is_function |= class == Class::Function;
        self.is_variable |= class == Class::Variable;
    }
}

pub(crate) fn resolve(
    objects: &[Object<'_>],
    definitions: &[Definition],
    names: &Names,
) -> Resolution {
    let mut resolver = Resolver {
        objects,
        definitions,
        names,
        ranks: ranks(objects),
        known: vec![Known::default(); names.len()],
        wrong: BTreeMap::new(),
    };
    resolver.find_providers();
    let bound: Vec<_> = (0..objects.len()).map(|object| resolver.bind(object)).collect();
    resolver.check_references(&bound);
    resolver.check_classes();
    let errors = resolver.report();
    Resolution { bound, errors }
}

struct Resolver<'r, 'a> {
    objects: &'r [Object<'a>],
    definitions: &'r [Definition],
    names: &'r Names,
    ranks: Vec<usize>,
    /// By the number of the name.
    known: Vec<Known>,
    /// Names that something is wrong with.
    wrong: BTreeMap<usize, Fault>,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug)]
struct Fault {
    name: NameId,
    is_duplicate: bool,
    is_undefined: bool,
    is_mismatch: bool,
}

/// Objects by name, and where two have the same by content.
fn ranks(objects: &[Object<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..objects.len()).collect();
    order.sort_by_cached_key(|at| objects.get(*at).map(|it| (it.name.as_str(), it.bytes.as_ref())));
    let mut ranks = vec![0; objects.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if let Some(place) = ranks.get_mut(at) {
            *place = rank;
        }
    }
    ranks
}

impl Resolver<'_, '_> {
    fn find_providers(&mut self) {
        for (number, definition) in self.definitions.iter().enumerate() {
            let bound = Bound::Definition(narrow(number));
            let candidate = Candidate { bound, is_strong: true, rank: 0 };
            self.offer(definition.name, definition.class, candidate);
        }
        for (object, (loaded, rank)) in self.objects.iter().zip(self.ranks.clone()).enumerate() {
            for (symbol, entry) in loaded.symbols.iter().enumerate() {
                if entry.is_exported() {
                    let bound = Bound::Symbol { object: narrow(object), symbol: narrow(symbol) };
                    let is_strong = entry.binding != Binding::Weak;
                    self.offer(entry.name, entry.class, Candidate { bound, is_strong, rank });
                }
            }
        }
    }

    fn offer(&mut self, name: NameId, class: Class, new: Candidate) {
        let Some(known) = self.known.get_mut(name.index()) else { return };
        known.is_said_to_be(class);
        let Some(old) = known.provider else {
            known.provider = Some(new);
            return;
        };
        let is_better = match (new.is_strong, old.is_strong) {
            (true, false) => true,
            (false, true) => false,
            _ => new.rank < old.rank,
        };
        if is_better {
            known.provider = Some(new);
        }
        if new.is_strong && old.is_strong {
            self.fault(name).is_duplicate = true;
        }
    }

    fn fault(&mut self, name: NameId) -> &mut Fault {
        let fault = Fault { name, is_duplicate: false, is_undefined: false, is_mismatch: false };
        self.wrong.entry(name.index()).or_insert(fault)
    }

    fn provider(&self, name: NameId) -> Option<Candidate> {
        self.known.get(name.index()).and_then(|it| it.provider)
    }

    fn bind(&self, object: usize) -> Vec<Bound> {
        let entries = self.objects.get(object).map_or(&[][..], |it| &it.symbols);
        let bind = |(symbol, entry): (usize, &Entry)| {
            let own = Bound::Symbol { object: narrow(object), symbol: narrow(symbol) };
            let provided = || self.provider(entry.name).map(|it| it.bound);
            match entry.is_defined() {
                true if entry.is_preemptible() => provided().unwrap_or(own),
                true => own,
                false => match provided().filter(|_| may_leave(entry)) {
                    Some(bound) => bound,
                    None if entry.binding == Binding::Weak => Bound::Zero,
                    None => Bound::Nowhere,
                },
            }
        };
        entries.iter().enumerate().map(bind).collect()
    }

    /// Looks at each name that a relocation needs from elsewhere.
    fn check_references(&mut self, bound: &[Vec<Bound>]) {
        for (object, bound) in self.objects.iter().zip(bound) {
            let used = object.symbols.iter().zip(bound).zip(uses(object));
            for ((entry, bound), uses) in used {
                if entry.is_defined() || uses.count == 0 {
                    continue;
                }
                match bound {
                    Bound::Nowhere => self.fault(entry.name).is_undefined = true,
                    Bound::Zero => {}
                    Bound::Symbol { .. } | Bound::Definition(_) => {
                        if let Some(known) = self.known.get_mut(entry.name.index()) {
                            known.is_said_to_be(entry.class);
                        }
                    }
                }
            }
        }
    }

    fn check_classes(&mut self) {
        let is_mismatch = |name: NameId, known: &[Known]| {
            known.get(name.index()).is_some_and(|it| it.is_function && it.is_variable)
        };
        let names: Vec<NameId> =
            self.names.all().filter(|name| is_mismatch(*name, &self.known)).collect();
        for name in names {
            self.fault(name).is_mismatch = true;
        }
    }

    fn report(&self) -> Vec<Error> {
        if self.wrong.is_empty() {
            return Vec::new();
        }
        let involved = self.involved();
        let exports = self.exports_by_base();
        let mut errors = Vec::new();
        for (number, fault) in &self.wrong {
            let Some(involved) = involved.get(number) else { continue };
            let name = self.names.name(fault.name);
            if fault.is_duplicate {
                errors.push(duplicate(name, involved));
            }
            if fault.is_mismatch {
                errors.push(mismatch(name, involved));
            }
            if fault.is_undefined {
                errors.push(undefined(name, involved, &exports));
            }
        }
        errors
    }

    /// Everybody who has to do with a name that is wrong, in an order that does not depend on loading.
    fn involved(&self) -> BTreeMap<usize, Involved> {
        let mut all: BTreeMap<usize, Involved> =
            self.wrong.keys().map(|name| (*name, Involved::default())).collect();
        for definition in self.definitions {
            if let Some(involved) = all.get_mut(&definition.name.index()) {
                let class = definition.class;
                involved.exports.push(Party {
                    object: "the caller".to_owned(),
                    class,
                    is_weak: false,
                });
            }
        }
        let mut order: Vec<usize> = (0..self.objects.len()).collect();
        order.sort_by_key(|at| self.ranks.get(*at));
        for object in order.into_iter().filter_map(|at| self.objects.get(at)) {
            for (entry, uses) in object.symbols.iter().zip(uses(object)) {
                if let Some(involved) = all.get_mut(&entry.name.index()) {
                    involved.add(&object.name, entry, uses);
                }
            }
        }
        all
    }

    /// What is exported, by what is left of a name without its arguments.
    fn exports_by_base(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut exports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        if self.wrong.values().any(|fault| fault.is_undefined) {
            let entries = self.objects.iter().flat_map(|it| &it.symbols);
            for entry in entries.filter(|it| it.is_exported() && it.class == Class::Function) {
                let name = readable(self.names.name(entry.name));
                exports.entry(base(&name).to_owned()).or_default().insert(name);
            }
        }
        exports
    }
}

/// Whether another object may provide a symbol that this one wants.
fn may_leave(entry: &Entry) -> bool {
    entry.visibility == Visibility::Default && entry.binding != Binding::Local
}

/// How relocations use a symbol.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    count: usize,
    /// Where the first of them is, and what it adds.
    first: (u64, i64),
}

/// How relocations use each symbol of an object.
fn uses(object: &Object<'_>) -> Vec<Uses> {
    let mut all = vec![Uses::default(); object.symbols.len()];
    for relocation in &object.relocations {
        if let Target::Symbol(symbol) = relocation.target
            && let Some(uses) = all.get_mut(symbol as usize)
        {
            if uses.count == 0 {
                uses.first = (relocation.place, relocation.addend);
            }
            uses.count += 1;
        }
    }
    all
}

/// Everybody who has to do with a name.
#[derive(Default)]
struct Involved {
    exports: Vec<Party>,
    hidden: Vec<(String, String)>,
    references: Vec<Reference>,
}

struct Party {
    object: String,
    class: Class,
    is_weak: bool,
}

struct Reference {
    object: String,
    class: Class,
    is_hidden: bool,
    uses: Uses,
}

impl Involved {
    fn add(&mut self, object: &str, entry: &Entry, uses: Uses) {
        let object = object.to_owned();
        let class = entry.class;
        if entry.is_exported() {
            let is_weak = entry.binding == Binding::Weak;
            self.exports.push(Party { object, class, is_weak });
        } else if entry.is_defined() {
            let how = match entry.binding {
                Binding::Local => entry.binding.name(),
                _ => entry.visibility.name(),
            };
            self.hidden.push((object, how.to_owned()));
        } else if uses.count != 0 {
            self.references.push(Reference { object, class, is_hidden: !may_leave(entry), uses });
        }
    }
}

fn referrers(references: &[&Reference]) -> String {
    let one = |it: &&Reference| {
        let (place, addend) = it.uses.first;
        let more = match it.uses.count {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let addend = if addend == 0 { String::new() } else { format!(" plus {addend}") };
        format!("{} (at {place:#x}{addend}{more})", it.object)
    };
    references.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn duplicate(name: Str<'_>, involved: &Involved) -> Error {
    let strong = involved.exports.iter().filter(|it| !it.is_weak);
    let objects: Vec<&str> = strong.map(|it| it.object.as_str()).collect();
    let detail = format!("{} is defined by {}", quoted(name), objects.join(" and by "));
    refusal(ErrorKind::DuplicateSymbol, detail)
        .with_help("make all but one of them weak or hidden, or load each object once")
}

fn mismatch(name: Str<'_>, involved: &Involved) -> Error {
    let defined = involved.exports.iter().map(|it| (it.class, format!("defined by {}", it.object)));
    let wanted =
        involved.references.iter().map(|it| (it.class, format!("wanted by {}", it.object)));
    let sides = defined.chain(wanted).filter(|(class, _)| *class != Class::Unknown);
    let sides: Vec<String> =
        sides.map(|(class, who)| format!("a {} {who}", class.name())).collect();
    let detail = format!("{} is {}", quoted(name), sides.join(" and "));
    refusal(ErrorKind::TypeMismatch, detail)
}

fn undefined(
    name: Str<'_>,
    involved: &Involved,
    exports: &BTreeMap<String, BTreeSet<String>>,
) -> Error {
    // Where it is provided, the others have found that.
    let is_left = |it: &&Reference| involved.exports.is_empty() || it.is_hidden;
    let left: Vec<&Reference> = involved.references.iter().filter(is_left).collect();
    let wanted = format!("{} is wanted by {}", quoted(name), referrers(&left));
    if !involved.hidden.is_empty() {
        let owners: Vec<String> =
            involved.hidden.iter().map(|(object, how)| format!("{object} ({how})")).collect();
        let detail = format!("{wanted}, and defined only inside {}", owners.join(", "));
        return refusal(ErrorKind::HiddenSymbol, detail)
            .with_help("compile the provider with -fvisibility=default");
    }
    if !involved.exports.is_empty() {
        let owners: Vec<&str> = involved.exports.iter().map(|it| it.object.as_str()).collect();
        let detail = format!("{wanted} as its own, and defined by {}", owners.join(", "));
        return refusal(ErrorKind::HiddenSymbol, detail)
            .with_help("declare it with default visibility where it is used");
    }
    let error = refusal(ErrorKind::UndefinedSymbol, format!("{wanted}, and no object defines it"));
    let readable = readable(name);
    match exports.get(base(&readable)) {
        Some(similar) => {
            let similar: Vec<String> = similar.iter().take(3).map(|it| format!("`{it}`")).collect();
            error.with_help(format!("there is {}", similar.join(", ")))
        }
        None => error,
    }
}

fn readable(name: Str<'_>) -> String {
    demangle(name.as_bytes()).unwrap_or_else(|| name.to_string())
}

/// A name without its arguments.
fn base(readable: &str) -> &str {
    readable.split('(').next().unwrap_or(readable)
}

/// A name as messages show it: the one in the file, and the readable one where they differ.
pub(crate) fn quoted(name: Str<'_>) -> String {
    match demangle(name.as_bytes()) {
        Some(readable) => format!("`{name}` ({readable})"),
        None => format!("`{name}`"),
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
