//! Which functions of two files belong together: those of one name that a device would take for one another, wherever
//! in the file they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::digest::Fingerprint;
use crate::record::{FunctionRecord, ObjectRecord};

/// A function: the places of its object in the list of objects, and of it in its object.
type Place = (usize, usize);

/// Places in the first file, and in the second.
type Sides = (Vec<Place>, Vec<Place>);

/// What is to be shown together: an object of either file, or of one of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The places of the objects in their lists.
    pub(crate) objects: (Option<usize>, Option<usize>),
    /// Functions of both that are not the same: their places in their objects.
    pub(crate) different: Vec<(usize, usize)>,
    /// Functions of the first, and of the second, that have no like in the other file.
    pub(crate) only: (Vec<usize>, Vec<usize>),
    /// How many are the same.
    pub(crate) identical: usize,
}

/// The groups, by their objects.
#[derive(Default)]
struct Groups(BTreeMap<(Option<usize>, Option<usize>), Group>);

impl Groups {
    fn of(&mut self, objects: (Option<usize>, Option<usize>)) -> &mut Group {
        self.0.entry(objects).or_insert_with(|| Group { objects, ..Group::default() })
    }
}

/// The pairs of functions, and what is left of either side.
#[derive(Default)]
struct Pairs {
    both: Vec<(Place, Place)>,
    only_a: Vec<Place>,
    only_b: Vec<Place>,
}

/// Puts functions together, and says of which objects they are. Files of one object each are compared whatever their
/// targets are: `ignores_targets`.
pub(crate) fn groups(a: &[ObjectRecord], b: &[ObjectRecord], ignores_targets: bool) -> Vec<Group> {
    let pairs = pairs(a, b, ignores_targets);
    let mut groups = Groups::default();
    let mut together: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for &((x, old), (y, new)) in &pairs.both {
        *together.entry((x, y)).or_default() += 1;
        let it = groups.of((Some(x), Some(y)));
        match digest(a, (x, old)) == digest(b, (y, new)) {
            true => it.identical += 1,
            false => it.different.push((old, new)),
        }
    }
    for (x, y) in lone_pairs(a, b, ignores_targets).into_iter().chain(empty_pairs(a, b)) {
        together.entry((x, y)).or_default();
        groups.of((Some(x), Some(y)));
    }
    // What only one has is shown with the object that has most of the rest.
    let (mut of_a, mut of_b) = (HashMap::new(), HashMap::new());
    for (&(x, y), &count) in &together {
        let best = of_a.entry(x).or_insert((count, y));
        *best = if count > best.0 { (count, y) } else { *best };
        let best = of_b.entry(y).or_insert((count, x));
        *best = if count > best.0 { (count, x) } else { *best };
    }
    for (x, old) in pairs.only_a {
        let other = of_a.get(&x).map(|(_, y)| *y);
        groups.of((Some(x), other)).only.0.push(old);
    }
    for (y, new) in pairs.only_b {
        let other = of_b.get(&y).map(|(_, x)| *x);
        groups.of((other, Some(y))).only.1.push(new);
    }
    // An object without functions of which the other file has no like.
    for x in (0..a.len()).filter(|x| !of_a.contains_key(x)) {
        groups.of((Some(x), None));
    }
    for y in (0..b.len()).filter(|y| !of_b.contains_key(y)) {
        groups.of((None, Some(y)));
    }
    let mut groups: Vec<Group> = groups.0.into_values().collect();
    groups.sort_by_key(|it| (it.objects.0.is_none(), it.objects));
    groups
}

/// Objects that are the only ones of their target on either side belong together whatever they hold.
fn lone_pairs(
    a: &[ObjectRecord],
    b: &[ObjectRecord],
    ignores_targets: bool,
) -> Vec<(usize, usize)> {
    if ignores_targets && a.len() == 1 && b.len() == 1 {
        return vec![(0, 0)];
    }
    let mut by_target: BTreeMap<&str, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (x, record) in a.iter().enumerate() {
        by_target.entry(record.target()).or_default().0.push(x);
    }
    for (y, record) in b.iter().enumerate() {
        by_target.entry(record.target()).or_default().1.push(y);
    }
    let lone = by_target.into_values().filter_map(|(old, new)| match (&old[..], &new[..]) {
        ([x], [y]) => Some((*x, *y)),
        _ => None,
    });
    lone.collect()
}

/// Objects without functions, of which only headers can be compared: those of one target, in order.
fn empty_pairs(a: &[ObjectRecord], b: &[ObjectRecord]) -> Vec<(usize, usize)> {
    let empty = |it: &(usize, &ObjectRecord)| it.1.functions.is_empty();
    let mut left: HashMap<&str, Vec<usize>> = HashMap::new();
    for (y, record) in b.iter().enumerate().filter(empty).rev() {
        left.entry(record.target()).or_default().push(y);
    }
    let pair =
        |(x, record): (usize, &ObjectRecord)| Some((x, left.get_mut(record.target())?.pop()?));
    a.iter().enumerate().filter(empty).filter_map(pair).collect()
}

fn function(records: &[ObjectRecord], (object, number): Place) -> Option<&FunctionRecord> {
    records.get(object)?.functions.get(number)
}

fn digest(records: &[ObjectRecord], place: Place) -> Option<Fingerprint> {
    function(records, place).map(|it| it.digest)
}

/// All functions, with their places.
fn all(records: &[ObjectRecord]) -> impl Iterator<Item = (Place, &ObjectRecord, &FunctionRecord)> {
    records.iter().enumerate().flat_map(|(x, object)| {
        let functions = object.functions.iter().enumerate();
        functions.map(move |(at, function)| ((x, at), object, function))
    })
}

fn pairs(a: &[ObjectRecord], b: &[ObjectRecord], ignores_targets: bool) -> Pairs {
    let mut found = Pairs::default();
    let mut by_key: BTreeMap<(&str, &str), Sides> = BTreeMap::new();
    for (place, object, function) in all(a) {
        let target = if ignores_targets { "" } else { object.target() };
        by_key.entry((target, &function.name)).or_default().0.push(place);
    }
    for (place, object, function) in all(b) {
        let target = if ignores_targets { "" } else { object.target() };
        by_key.entry((target, &function.name)).or_default().1.push(place);
    }
    for (old, new) in by_key.into_values() {
        let (old, new) = take_same(a, b, old, new, &mut found);
        let many = old.len().min(new.len());
        found.both.extend(old.iter().copied().zip(new.iter().copied()));
        found.only_a.extend(old.into_iter().skip(many));
        found.only_b.extend(new.into_iter().skip(many));
    }
    pair_compatible(a, b, &mut found);
    found.both.sort_unstable();
    found.only_a.sort_unstable();
    found.only_b.sort_unstable();
    found
}

/// Pairs those that are the same, and returns the others.
fn take_same(
    a: &[ObjectRecord],
    b: &[ObjectRecord],
    old: Vec<Place>,
    new: Vec<Place>,
    found: &mut Pairs,
) -> Sides {
    let mut same: HashMap<Option<Fingerprint>, Vec<Place>> = HashMap::new();
    for place in new.iter().rev() {
        same.entry(digest(b, *place)).or_default().push(*place);
    }
    let mut taken = BTreeSet::new();
    let mut rest = Vec::new();
    for place in old {
        match same.get_mut(&digest(a, place)).and_then(Vec::pop) {
            Some(other) => {
                taken.insert(other);
                found.both.push((place, other));
            }
            None => rest.push(place),
        }
    }
    (rest, new.into_iter().filter(|it| !taken.contains(it)).collect())
}

/// Pairs what is left with functions of targets that are another in the two files, but that a device would choose
/// between: generic and exact ones, and those with and without features.
fn pair_compatible(a: &[ObjectRecord], b: &[ObjectRecord], found: &mut Pairs) {
    let mut by_name: HashMap<&str, Vec<Place>> = HashMap::new();
    for place in &found.only_b {
        if let Some(function) = function(b, *place) {
            by_name.entry(&function.name).or_default().push(*place);
        }
    }
    let (mut used_a, mut used_b) = (BTreeSet::new(), BTreeSet::new());
    for &old in &found.only_a {
        let name = function(a, old).map_or("", |it| it.name.as_str());
        // One that serves several targets is held against each of them.
        for &new in by_name.get(name).into_iter().flatten() {
            if serve_one_device(a.get(old.0), b.get(new.0)) {
                used_a.insert(old);
                used_b.insert(new);
                found.both.push((old, new));
            }
        }
    }
    found.only_a.retain(|it| !used_a.contains(it));
    found.only_b.retain(|it| !used_b.contains(it));
}

/// Whether a device that is what one is made for runs the other.
fn serve_one_device(a: Option<&ObjectRecord>, b: Option<&ObjectRecord>) -> bool {
    let id = |record: Option<&ObjectRecord>| record.and_then(|it| it.target_id);
    let (Some((a, a_version)), Some((b, b_version))) = (id(a), id(b)) else { return false };
    a != b && (a.runs_on(b, a_version).is_ok() || b.runs_on(a, b_version).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ObjectName;
    use crate::resources::Numbers;
    use crate::value::FieldValues;

    fn object(number: usize, target: &str, functions: &[(&str, u8)]) -> ObjectRecord {
        let function = |&(name, content): &(&str, u8)| FunctionRecord {
            name: name.to_owned(),
            is_kernel: true,
            digest: Fingerprint::of(&[&[content]]),
            metrics: Numbers::default(),
        };
        ObjectRecord {
            name: ObjectName { index: number, entry_id: None, target: Some(target.to_owned()) },
            target_id: target.parse().ok().map(|id| (id, 1)),
            header: FieldValues::new(),
            functions: functions.iter().map(function).collect(),
        }
    }

    /// What differs, in words.
    fn told(a: &[ObjectRecord], b: &[ObjectRecord]) -> Vec<String> {
        let mut lines = Vec::new();
        for group in groups(a, b, a.len() == 1 && b.len() == 1) {
            let (x, y) = group.objects;
            let place = |it: Option<usize>| it.map_or("-".to_owned(), |it| it.to_string());
            let name = |records: &[ObjectRecord], object: Option<usize>, at: usize| {
                records[object.unwrap()].functions[at].name.clone()
            };
            let pair = format!("{} {}:", place(x), place(y));
            let different = group.different.iter().map(|(old, _)| format!("!{}", name(a, x, *old)));
            let only_a = group.only.0.iter().map(|at| format!("-{}", name(a, x, *at)));
            let only_b = group.only.1.iter().map(|at| format!("+{}", name(b, y, *at)));
            let mut words: Vec<String> = different.chain(only_a).chain(only_b).collect();
            words.push(group.identical.to_string());
            lines.push(format!("{pair} {}", words.join(" ")));
        }
        lines
    }

    #[test]
    fn objects_in_another_order_are_the_same() {
        let list = [
            object(0, "gfx942", &[("k", 1), ("l", 2)]),
            object(1, "gfx942", &[("m", 3)]),
            object(2, "gfx1100", &[("k", 4)]),
        ];
        let other = [
            object(0, "gfx1100", &[("k", 4)]),
            object(1, "gfx942", &[("m", 3)]),
            object(2, "gfx942", &[("k", 1), ("l", 2)]),
        ];
        assert_eq!(told(&list, &other), ["0 2: 2", "1 1: 1", "2 0: 1"]);
    }

    #[test]
    fn one_object_more_moves_nothing() {
        let old = [object(0, "gfx942", &[("k", 1)]), object(1, "gfx942", &[("l", 2)])];
        let new = [
            object(0, "gfx942", &[("new", 9)]),
            object(1, "gfx942", &[("k", 1)]),
            object(2, "gfx942", &[("l", 3)]),
        ];
        assert_eq!(told(&old, &new), ["0 1: 1", "1 2: !l 0", "- 0: +new 0"]);
    }

    #[test]
    fn a_kernel_that_has_gone_to_another_object_is_found_there() {
        let old = [object(0, "gfx942", &[("k", 1), ("l", 2)]), object(1, "gfx942", &[("m", 3)])];
        let new = [object(0, "gfx942", &[("k", 1)]), object(1, "gfx942", &[("l", 2), ("m", 3)])];
        assert_eq!(told(&old, &new), ["0 0: 1", "0 1: 1", "1 1: 1"]);
    }

    #[test]
    fn kernels_of_one_name_are_paired_with_those_that_are_the_same() {
        let old = [object(0, "gfx942", &[("k", 1)]), object(1, "gfx942", &[("k", 2)])];
        let new = [
            object(0, "gfx942", &[("k", 7)]),
            object(1, "gfx942", &[("k", 2)]),
            object(2, "gfx942", &[("k", 1)]),
        ];
        assert_eq!(told(&old, &new), ["0 2: 1", "1 1: 1", "- 0: +k 0"]);
    }

    #[test]
    fn generic_and_exact_targets_are_paired_where_a_device_would_choose_between_them() {
        let old = [object(0, "gfx9-4-generic", &[("k", 1)]), object(1, "gfx1100", &[("k", 2)])];
        let new = [
            object(0, "gfx942", &[("k", 3)]),
            object(1, "gfx950", &[("k", 4)]),
            object(2, "gfx1030", &[("k", 2)]),
        ];
        assert_eq!(told(&old, &new), ["0 0: !k 0", "0 1: !k 0", "1 -: -k 0", "- 2: +k 0"]);
        let new = [object(0, "gfx9-4-generic", &[("k", 1)]), object(1, "gfx942", &[("k", 3)])];
        assert_eq!(told(&old, &new), ["0 0: 1", "1 -: -k 0", "- 1: +k 0"]);
        let old = [object(0, "gfx90a", &[("k", 1)]), object(1, "gfx1100", &[("k", 2)])];
        let new = [object(0, "gfx1100", &[("k", 2)]), object(1, "gfx90a:xnack-", &[("k", 1)])];
        assert_eq!(told(&old, &new), ["0 1: 1", "1 0: 1"]);
    }

    #[test]
    fn files_of_one_object_each_are_compared_whatever_their_targets() {
        let old = [object(0, "gfx942", &[("k", 1), ("l", 1)])];
        let new = [object(0, "gfx1100", &[("k", 2), ("m", 1)])];
        assert_eq!(told(&old, &new), ["0 0: !k -l +m 0"]);
    }
}
