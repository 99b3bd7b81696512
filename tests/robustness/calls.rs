//! Calls and resources of broken code: whatever is in the object, there is an answer.

use std::fs;

use hsaco::analysis::{Allocation, CallGraph, Code};
use hsaco::object::CodeObject;
use hsaco_tests::fixture;
use hsaco_tests::random::Random;

use super::{each, mutation};

const OBJECTS: [&str; 7] = [
    "s1.gfx942.co",
    "s1.gfx942.o",
    "s1.gfx1100.co",
    "s1.gfx1250.co",
    "s1.stripped.co",
    "external.co",
    "short.co",
];

/// Asks for all there is to ask for.
fn ask(bytes: &[u8]) {
    let Ok(object) = CodeObject::parse(bytes) else { return };
    let Ok(code) = Code::of(&object) else { return };
    let processor = code.processor();
    let graph = CallGraph::new(&code);
    for number in 0..graph.functions().len() {
        let needs = graph.needs(number, processor, code.usual_wave_size());
        assert_eq!(needs.reach.functions.first(), Some(&number));
        let last = needs.reach.functions.last().copied().unwrap_or(number);
        assert_eq!(needs.reach.route(last).first(), Some(&number));
    }
    for kernel in object.index().kernels() {
        let demand = hsaco::analysis::demand(kernel, processor.generation());
        demand.and_then(|demand| processor.limits().occupancy(&demand));
        let _ = Allocation::of(kernel, processor.generation());
    }
}

#[test]
fn mutated_code_has_calls_or_none() {
    const MUTATIONS: usize = 3000;
    let objects = OBJECTS.map(|name| fs::read(fixture(name)).unwrap());
    each(MUTATIONS, |at| {
        ask(&mutation::mutate(&objects[at % objects.len()], &mut Random::new(at as u64)));
    });
}

/// Words of its own code, shuffled: calls, jumps and address arithmetic in no order that means anything.
#[test]
fn shuffled_code_has_calls_or_none() {
    const SHUFFLES: usize = 3000;
    let objects = OBJECTS.map(|name| fs::read(fixture(name)).unwrap());
    each(SHUFFLES, |at| {
        let mut bytes = objects[at % objects.len()].clone();
        let object = CodeObject::parse(&bytes).unwrap();
        let Some(text) = object.elf().section_named(".text") else { return };
        let [start, size] = [text.offset, text.size].map(|it| usize::try_from(it).unwrap());
        let words = size / 4;
        let random = &mut Random::new(at as u64);
        for _ in 0..words / 4 {
            let [from, to] = [(); 2].map(|()| start + 4 * random.below(words));
            bytes.copy_within(from..from + 4, to);
        }
        ask(&bytes);
    });
}
