//! Applying all relocations of an executable to the images of its objects.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::error::{Error, ErrorKind, refusal};
use crate::id::{Deltas, ObjectId};
use crate::image::{Applied, Image};
use crate::name::Names;
use crate::object::{Entry, Object, Place, Relocation, Target, file_backed};
use crate::relocate::{Rule, Terms};
use crate::resolve::{Bound, Definition, quoted};

/// Everything that addresses are made of.
pub(crate) struct Addresses<'x, 'a> {
    pub(crate) objects: &'x [Object<'a>],
    pub(crate) definitions: &'x [Definition],
    pub(crate) names: &'x Names,
    pub(crate) deltas: &'x Deltas,
    pub(crate) bound: &'x [Vec<Bound>],
}

impl Addresses<'_, '_> {
    fn delta(&self, object: u32) -> u64 {
        self.deltas[ObjectId(object)]
    }

    /// Where a symbol is in memory; nothing for one that has no place there.
    pub(crate) fn of(&self, bound: Bound) -> Option<u64> {
        match bound {
            Bound::Zero => Some(0),
            Bound::Nowhere => None,
            Bound::Definition(number) => self.definitions.get(number as usize).map(|it| it.address),
            Bound::Symbol { object, symbol } => {
                let entry = self.objects.get(object as usize)?.symbols.get(symbol as usize)?;
                match entry.place {
                    Place::Memory(address) => Some(address.wrapping_add(self.delta(object))),
                    Place::Number(value) => Some(value),
                    Place::Elsewhere | Place::Lds(_) => None,
                }
            }
        }
    }

    /// Applies the relocations of all objects, the kept ones first: what the loader applies has the last word.
    pub(crate) fn apply(&self, images: &mut [Image], errors: &mut Vec<Error>) -> Vec<Applied> {
        let count = self.objects.iter().map(|it| it.relocations.len()).sum();
        let mut log = Vec::with_capacity(count);
        for (number, (object, image)) in self.objects.iter().zip(images).enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let slots = Slots::new(object);
            for is_static in [true, false] {
                let all = object.relocations.iter().filter(|it| it.is_static == is_static);
                for relocation in all {
                    match self.one(number, object, relocation, &slots, image) {
                        Ok(applied) => log.extend(applied),
                        Err(error) => errors.push(error.in_object(&object.name)),
                    }
                }
            }
        }
        log
    }

    fn one(
        &self,
        number: u32,
        object: &Object<'_>,
        relocation: &Relocation,
        slots: &Slots,
        image: &mut Image,
    ) -> Result<Option<Applied>, Error> {
        let Relocation { place, kind, rule, target, addend, is_static } = *relocation;
        let delta = self.delta(number);
        let bound = self.bound_to(number, object, relocation);
        // What is undefined is reported by name.
        if bound == Some(Bound::Nowhere) {
            return Ok(None);
        }
        let symbol = match (target, bound) {
            (Target::Address(address), _) => address.wrapping_add(delta),
            (_, Some(bound)) => {
                self.of(bound).ok_or_else(|| self.no_address(object, relocation))?
            }
            (_, None) => 0,
        };
        let Some((segment, at)) = file_backed(&object.segments, place, rule.size()) else {
            return Ok(None);
        };
        let Some(bytes) = image.segments.get_mut(segment).map(|it| &mut it.bytes) else {
            return Ok(None);
        };
        let slot = slots.of(target).map(|slot| slot.wrapping_add(delta));
        let value = if rule.is_got() && slot.is_none() {
            // An address that never changes needs no relocation in the GOT; the distance to it is right as it is.
            rule.load(bytes, at)
        } else {
            let place = place.wrapping_add(delta);
            let terms = Terms { symbol, addend, place, moved: delta, slot: slot.unwrap_or(0) };
            rule.value(&terms).map_err(|misfit| {
                let detail = format!("{}: {misfit}", self.describe(object, relocation));
                refusal(ErrorKind::Overflow, detail)
            })?
        };
        rule.store(bytes, at, value);
        let symbol = match target {
            Target::Symbol(symbol) => Some(symbol),
            Target::Nothing | Target::Address(_) => None,
        };
        let place = place.wrapping_add(delta);
        let is_moved = self.is_moved(relocation, bound);
        let object = number;
        Ok(Some(Applied { object, place, kind, symbol, bound, addend, value, is_moved, is_static }))
    }

    /// Whether the value of a relocation depends on where objects are.
    fn is_moved(&self, relocation: &Relocation, bound: Option<Bound>) -> bool {
        match (relocation.target, bound) {
            _ if relocation.rule == Rule::Moved => true,
            (Target::Address(_), _) => true,
            (_, Some(Bound::Symbol { object, symbol })) => self.is_in_memory(object, symbol),
            _ => false,
        }
    }

    /// Whom a relocation means. Where a linker has already decided for its own object, it stays with that.
    fn bound_to(&self, number: u32, object: &Object<'_>, relocation: &Relocation) -> Option<Bound> {
        let Target::Symbol(symbol) = relocation.target else { return None };
        let is_own = object.symbols.get(symbol as usize).is_some_and(Entry::is_defined);
        if is_own && relocation.is_static && relocation.rule.is_relative() {
            return Some(Bound::Symbol { object: number, symbol });
        }
        self.bound.get(number as usize)?.get(symbol as usize).copied()
    }

    fn is_in_memory(&self, object: u32, symbol: u32) -> bool {
        let object = self.objects.get(object as usize);
        let entry = object.and_then(|it| it.symbols.get(symbol as usize));
        entry.is_some_and(|it| matches!(it.place, Place::Memory(_)))
    }

    fn no_address(&self, object: &Object<'_>, relocation: &Relocation) -> Error {
        let detail = format!("{}: it has no address", self.describe(object, relocation));
        refusal(ErrorKind::UnsupportedRelocation, detail)
    }

    fn describe(&self, object: &Object<'_>, relocation: &Relocation) -> String {
        let place = format!("{} at {:#x}", relocation.kind, relocation.place);
        match relocation.target {
            Target::Symbol(symbol) => match object.symbols.get(symbol as usize) {
                Some(entry) => format!("{place} of {}", quoted(self.names.name(entry.name))),
                None => place,
            },
            Target::Nothing | Target::Address(_) => place,
        }
    }
}

/// Where in the GOT addresses stand.
#[derive(Default)]
struct Slots {
    by_symbol: HashMap<u32, u64, RandomState>,
    by_address: HashMap<u64, u64, RandomState>,
    addresses: Vec<Option<u64>>,
}

impl Slots {
    fn new(object: &Object<'_>) -> Self {
        let mut slots = Self::default();
        let Some(got) = &object.got else { return slots };
        if !object.relocations.iter().any(|it| it.rule.is_got()) {
            return slots;
        }
        for relocation in object.relocations.iter().filter(|it| got.contains(&it.place)) {
            match (relocation.rule, relocation.target) {
                (Rule::Absolute64, Target::Symbol(symbol)) if !relocation.is_static => {
                    slots.by_symbol.insert(symbol, relocation.place);
                }
                (Rule::Moved, _) => {
                    slots.by_address.insert(relocation.addend.cast_unsigned(), relocation.place);
                }
                _ => {}
            }
        }
        let address = |place| match place {
            Place::Memory(address) => Some(address),
            _ => None,
        };
        slots.addresses = object.symbols.iter().map(|it| address(it.place)).collect();
        slots
    }

    fn of(&self, target: Target) -> Option<u64> {
        match target {
            Target::Nothing => None,
            Target::Address(address) => self.by_address.get(&address).copied(),
            Target::Symbol(symbol) => self.by_symbol.get(&symbol).copied().or_else(|| {
                let address = self.addresses.get(symbol as usize).copied().flatten()?;
                self.by_address.get(&address).copied()
            }),
        }
    }
}
