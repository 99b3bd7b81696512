//! Ways there and back.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use hsaco_analysis::Address;
use hsaco_isa::{Decoder, Flow};

use super::{Finding, instructions};
use crate::jump;
use crate::manifest::{Placement, Record};
use crate::needs::Around;
use crate::view::View;

/// Where the jumps of a function go, as far as anybody can tell.
pub(super) fn targets(view: &View<'_>) -> BTreeSet<u64> {
    let stream = view.stream();
    let jumps = stream.turns().filter_map(|at| Some((at, stream.inst(at)?)));
    let direct = jumps.filter_map(|(at, inst)| inst.branch_target(stream.address_of(at)));
    let indirect = view.cfg().jumps().iter().filter_map(|jump| match jump.target {
        Address::Known(target) => Some(target),
        _ => None,
    });
    direct.chain(indirect).collect()
}

pub(super) fn check(
    view: &View<'_>,
    record: &Record,
    replaced: Option<&Around<'_>>,
    targets: &OnceCell<BTreeSet<u64>>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let site = record.site.address;
    let end = site + record.site.old.len() as u64;
    let mut say = |address: u64, detail: &str| found.push(Finding::new("flow", address, detail));
    if record.site.old.len() != record.site.new.len() {
        say(site, "the site has another size than before");
    }
    if replaced.is_none() {
        say(site, "the site does not hold whole instructions");
    }
    if replaced.is_some_and(|around| around.last > around.first) {
        let targets = targets.get_or_init(|| self::targets(view));
        if let Some(target) = targets.range(site + 1..end).next() {
            say(*target, "a jump leads into the middle of a site");
        }
        if !view.is_closed() && record.placement != Placement::InPlace {
            say(site, "several instructions have moved where nobody knows all jumps");
        }
    }
    let decoder = view.decoder();
    if !decodes(decoder, &record.site.new) {
        say(site, "the site does not decode");
    }
    let Some(body) = &record.body else {
        if record.placement != Placement::InPlace {
            say(site, "there is no replacement");
        }
        return found;
    };
    if !decodes(decoder, &body.new) {
        say(body.address, "the replacement does not decode");
    }
    if arrival(decoder, record, site) != Some(body.address) {
        say(site, "the site does not lead to the replacement");
    }
    let code = body.new.len().saturating_sub(record.way_back);
    if record.way_back > 0 {
        let back = body.address + code as u64;
        if arrival(decoder, record, back) != Some(end) {
            say(back, "the replacement does not lead back");
        }
    } else {
        let last = instructions(decoder, &body.new).last().flatten();
        if last.is_none_or(|inst| inst.flow() != Flow::End) {
            say(body.address, "the replacement runs on past its end");
        }
    }
    found
}

fn decodes(decoder: &Decoder, bytes: &[u8]) -> bool {
    instructions(decoder, bytes).all(|inst| inst.is_some())
}

/// Where control arrives from a jump, through the relays of its record. A jump is one branch or a few instructions
/// that make an address.
fn arrival(decoder: &Decoder, record: &Record, from: u64) -> Option<u64> {
    let mut at = from;
    for _ in 0..=record.relays.len() {
        let target = jump_target(decoder, at, written_at(record, at)?)?;
        if !record.relays.iter().any(|relay| relay.address == target) {
            return Some(target);
        }
        at = target;
    }
    None
}

/// What a record has written from an address on; that the file holds it is another check.
fn written_at(record: &Record, at: u64) -> Option<&[u8]> {
    let changes = std::iter::once(&record.site).chain(&record.body).chain(&record.relays);
    changes.into_iter().find_map(|change| {
        let offset = usize::try_from(at.checked_sub(change.address)?).ok()?;
        change.new.get(offset..).filter(|bytes| !bytes.is_empty())
    })
}

pub(super) fn jump_target(decoder: &Decoder, at: u64, bytes: &[u8]) -> Option<u64> {
    let first = decoder.decode(bytes)?;
    if first.flow() == Flow::Branch {
        return first.branch_target(at);
    }
    jump::far_target(decoder, at, bytes)
}
