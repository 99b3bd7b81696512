//! Instructions that follow each other too closely, where the hardware does not wait by itself.
//!
//! Which instructions those are and how far apart they must be is the table of `isa`'s hazards. What counts is the way that a
//! wave has gone; each way is looked at once.

use std::collections::HashSet;
use std::rc::Rc;

use hsaco_isa::effects::Effects;
use hsaco_isa::effects::hazard::{Demand, Doubt, Kinds, Passage, Unit};

use super::fault::{Event, Fault};
use super::site::Site;
use super::{FaultKind, Observer};
use crate::error::StopLocation;

/// Instructions before another that may have to do with it.
const REACH: usize = 32;

/// The last blocks of a wave, as far as they reach.
#[derive(Default)]
pub(super) struct Trail(Vec<Rc<[Site]>>);

/// Blocks that follow each other and were looked at, by where they are kept.
#[derive(Default)]
pub(super) struct Seen(HashSet<Vec<*const Site>>);

impl Trail {
    /// Adds a block, and leaves out what is too far away.
    fn push(&mut self, block: &Rc<[Site]>) {
        self.0.push(Rc::clone(block));
        let mut count = 0;
        let needed = self.0.iter().rev().take_while(|it| {
            let is_needed = count < REACH;
            count += it.len();
            is_needed
        });
        let needed = needed.count();
        self.0.drain(..self.0.len() - needed);
    }

    fn key(&self) -> Vec<*const Site> {
        self.0.iter().map(|it| it.as_ptr()).collect()
    }
}

impl Observer<'_> {
    /// A wave enters a block.
    pub(super) fn check_hazards(&mut self, block: &Rc<[Site]>) {
        let trail = &mut self.group.waves[self.wave as usize].trail;
        trail.push(block);
        if !self.ways.0.insert(trail.key()) {
            return;
        }
        let blocks: Vec<Rc<[Site]>> = trail.0.clone();
        let all: Vec<&Site> = blocks.iter().flat_map(|it| it.iter()).collect();
        for at in all.len() - block.len()..all.len() {
            self.check_second(&all[at.saturating_sub(REACH)..at], all[at]);
        }
    }

    /// Holds an instruction against those before it.
    fn check_second(&self, before: &[&Site], second: &Site) {
        let hazards = self.decoder.hazards();
        let effects = self.decoder.effects(&second.inst, second.msb);
        for (at, first) in before.iter().enumerate() {
            let first_effects = self.decoder.effects(&first.inst, first.msb);
            let between = &before[at + 1..];
            for demand in hazards.between(&first_effects, &effects) {
                if let Some(distance) = self.distance(&demand, between)
                    && distance < u32::from(demand.needed)
                    && !self.is_overwritten(&demand, &first_effects, between)
                {
                    let doubt = demand.hazard.doubt(all_kinds(between));
                    self.tell_hazard((first, second), &demand, distance, doubt);
                }
            }
        }
    }

    /// What stands between two instructions; none where it ends the hazard.
    fn distance(&self, demand: &Demand, between: &[&Site]) -> Option<u32> {
        between.iter().try_fold(0, |all, site| {
            let effects = self.decoder.effects(&site.inst, site.msb);
            match demand.hazard.passage(site.kinds, &effects) {
                Passage::Adds(more) => Some(all + u32::from(more)),
                Passage::Ends => None,
            }
        })
    }

    /// Whether instructions in between write all that the two share: then it is these that count.
    fn is_overwritten(&self, demand: &Demand, first: &Effects<'_>, between: &[&Site]) -> bool {
        let Some(mut left) = demand.left_by(first) else { return false };
        for site in between {
            left.overwrite(&self.decoder.effects(&site.inst, site.msb));
        }
        left.is_empty()
    }

    fn tell_hazard(
        &self,
        (first, second): (&Site, &Site),
        demand: &Demand,
        distance: u32,
        doubt: Option<Doubt>,
    ) {
        let kind = FaultKind::Hazard;
        self.sanitizer.faults.add((kind, second.address, first.address), || {
            let here = self.here(second, 0);
            let (needed, unit) = (demand.needed, demand.hazard.unit);
            let register = demand.register.map(|it| format!(" ({it})")).unwrap_or_default();
            let unless = doubt.map(|it| format!(", unless {}", it.name())).unwrap_or_default();
            let at = StopLocation {
                address: first.address,
                instruction: self.decoder.text(&first.inst),
                ..self.location(here)
            };
            Fault {
                kind,
                is_certain: doubt.is_none(),
                message: format!(
                    "{}{register}: {needed} {} must stand between the two, and {distance} do{unless}",
                    demand.hazard.what,
                    unit.name()
                ),
                at: self.location(here),
                before: Some(Event { what: "after", at }),
                help: help(unit, u32::from(needed) - distance),
                times: 1,
            }
        });
    }
}

/// What any of them is.
fn all_kinds(sites: &[&Site]) -> Kinds {
    sites.iter().fold(Kinds::default(), |all, site| all.and(site.kinds))
}

fn help(unit: Unit, missing: u32) -> String {
    match unit {
        Unit::WaitStates => format!("put s_nop {} between the two, or other work", missing - 1),
        Unit::Computations => format!("put {missing} v_nop between the two, or other work"),
        Unit::RealComputations => format!("put {missing} vector instructions between the two"),
    }
}
