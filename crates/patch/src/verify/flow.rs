//! Ways there and back.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use hsaco_analysis::{Address, Focus, instructions};
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{Register, RegisterFile, Special};
use hsaco_isa::{Decoder, Inst};

use super::VerifyFinding;
use crate::jump::{self, FarWay};
use crate::manifest::{EDIT, Placement, Record};
use crate::view::{Around, View};

/// Branch targets of a function, as far as they are known.
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
) -> Vec<VerifyFinding> {
    let mut found = Vec::new();
    let site = record.site.address;
    let end = site + record.site.old.len() as u64;
    let mut say =
        |address: u64, detail: &str| found.push(VerifyFinding::new("flow", address, detail));
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
            say(site, "several instructions have moved where not all jumps are known");
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
    let ways = Ways { decoder, record };
    if ways.destination(site) != Some(body.address) {
        say(site, "the site does not lead to the replacement");
    }
    let code = body.new.len().saturating_sub(record.way_back);
    if record.way_back > 0 {
        let back = body.address + code as u64;
        if !ways.leads_on(view, replaced, back) {
            say(back, "the replacement does not lead back");
        }
    } else {
        let last = instructions(decoder, &body.new).last().and_then(|(_, inst)| inst);
        if last.is_none_or(|inst| inst.flow() != Flow::End) {
            say(body.address, "the replacement runs on past its end");
        }
    }
    if replaced.is_some_and(|around| ways.loses_scc(around, body.address + code as u64)) {
        say(site, "SCC is needed, and the way there or back loses it");
    }
    found
}

fn decodes(decoder: &Decoder, bytes: &[u8]) -> bool {
    instructions(decoder, bytes).all(|(_, inst)| inst.is_some())
}

/// The ways of one record.
struct Ways<'r> {
    decoder: &'r Decoder,
    record: &'r Record,
}

impl Ways<'_> {
    /// Where control arrives from a jump, through the relays of its record. A jump is one branch or a few instructions
    /// that make an address.
    fn destination(&self, from: u64) -> Option<u64> {
        let mut at = from;
        for _ in 0..=self.record.relays.len() {
            let target = jump_target(self.decoder, at, self.written_at(at)?)?;
            if !self.is_relay(target) {
                return Some(target);
            }
            at = target;
        }
        None
    }

    fn is_relay(&self, address: u64) -> bool {
        self.record
            .relays
            .iter()
            .any(|relay| (relay.address..relay.address + relay.new.len() as u64).contains(&address))
    }

    /// What the record has written from an address on; that the file holds it is another check.
    fn written_at(&self, at: u64) -> Option<&[u8]> {
        let Record { site, body, relays, .. } = self.record;
        let changes = relays.iter().chain(std::iter::once(site)).chain(body);
        changes.into_iter().find_map(|change| {
            let offset = usize::try_from(at.checked_sub(change.address)?).ok()?;
            change.new.get(offset..).filter(|bytes| !bytes.is_empty())
        })
    }

    /// Whether what follows a replacement leads where the replaced instructions led.
    fn leads_on(&self, view: &View<'_>, replaced: Option<&Around<'_>>, back: u64) -> bool {
        let stream = view.stream();
        let last =
            replaced.and_then(|it| Some((stream.inst(it.last)?, stream.address_of(it.last))));
        let led = last.and_then(|(inst, at)| Some((inst, inst.branch_target(at)?)));
        let is_direct = |inst: &Inst| inst.flow() == Flow::Branch;
        // A caller may have a branch replaced.
        let is_free = self.record.rules.iter().any(|(rule, _)| *rule == EDIT);
        let here = self.written_at(back).and_then(|bytes| self.decoder.decode(bytes));
        let Some(here) = here else { return false };
        let condition = here.branch_target(back).filter(|_| !is_direct(&here));
        if let Some(target) = condition {
            let Some((inst, wanted)) = led else { return false };
            let is_same = inst.mnemonic() == here.mnemonic();
            let leads = target == wanted || self.destination(target) == Some(wanted);
            return is_same && leads && self.lands(back + here.len() as u64);
        }
        match led {
            Some((inst, wanted)) if is_direct(&inst) => {
                self.destination(back) == Some(wanted) || is_free && self.lands(back)
            }
            Some((inst, _)) if inst.flow() != Flow::Call => is_free && self.lands(back),
            _ => self.lands(back),
        }
    }

    /// Whether a jump leads behind the site, or to its end where SCC is taken back.
    fn lands(&self, from: u64) -> bool {
        let site = &self.record.site;
        let end = site.address + site.new.len() as u64;
        let Some(landing) = self.destination(from) else { return false };
        let rest = landing.checked_sub(site.address).and_then(|at| site.new.get(at as usize..));
        let restored = rest.and_then(|rest| jump::restored_scc(self.decoder, rest));
        landing == end || restored.is_some_and(|(_, size)| landing + size as u64 == end)
    }

    /// Whether far jumps lose SCC where it is live.
    fn loses_scc(&self, around: &Around<'_>, back: u64) -> bool {
        let scc =
            Register { file: RegisterFile::Special(Special::Scc), first: 0, count: 1, half: None };
        let there = self.far_from(self.record.site.address);
        let back = self.far_from(back);
        let is_lost = [&there, &back].into_iter().flatten().any(|(way, _)| way.loses_scc);
        let is_kept = |way: &Option<(FarWay, Option<Register>)>| {
            way.is_none_or(|(way, taken)| way.saved.is_some() && way.saved == taken)
        };
        is_lost
            && around.needed(Focus::Scalars).contains(&scc)
            && !(is_kept(&there) && is_kept(&back))
    }

    /// The far jump on a way, and from where SCC is taken back where it arrives.
    fn far_from(&self, from: u64) -> Option<(FarWay, Option<Register>)> {
        let mut at = from;
        for _ in 0..=self.record.relays.len() {
            let bytes = self.written_at(at)?;
            if let Some(way) = jump::far_way(self.decoder, at, bytes) {
                let taken = self.written_at(way.target);
                let taken = taken.and_then(|bytes| jump::restored_scc(self.decoder, bytes));
                return Some((way, taken.map(|(register, _)| register)));
            }
            at = jump_target(self.decoder, at, bytes)?;
        }
        None
    }
}

/// Where a jump leads; SCC may be taken back before it.
pub(super) fn jump_target(decoder: &Decoder, at: u64, bytes: &[u8]) -> Option<u64> {
    let first = decoder.decode(bytes)?;
    if first.flow() == Flow::Branch {
        return first.branch_target(at);
    }
    if let Some((_, size)) = jump::restored_scc(decoder, bytes) {
        let next = decoder.decode(bytes.get(size..)?)?;
        return next.branch_target(at + size as u64).filter(|_| next.flow() == Flow::Branch);
    }
    jump::far_target(decoder, at, bytes)
}
