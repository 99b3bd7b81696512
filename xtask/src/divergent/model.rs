//! What a program computes: all lanes in step, each statement for those that are in it.

use super::make::{Dpp, Exchange, Expr, Meeting, Operator, Program, Statement, VARIABLES, called};

/// The lanes of a workgroup.
struct Lanes {
    /// By variable, then by work-item.
    values: Vec<Vec<u32>>,
    wave_size: usize,
}

/// Which lanes are at a statement.
type Mask = Vec<bool>;

/// What each variable of each work-item is in the end, variable by variable.
pub(super) fn run(program: &Program, items: usize, wave_size: usize) -> Vec<u32> {
    let first = |variable: usize| {
        (0..items as u32).map(|item| item * (2 * variable as u32 + 1) + variable as u32).collect()
    };
    let mut lanes = Lanes { values: (0..VARIABLES).map(first).collect(), wave_size };
    let mut all = vec![true; items];
    lanes.block(&program.statements, &mut all, &mut Vec::new());
    let mut late: Mask =
        (0..items).map(|item| lanes.value(&program.early, item) & 1 == 0).collect();
    lanes.block(&program.last, &mut late, &mut Vec::new());
    lanes.values.concat()
}

impl Lanes {
    fn value(&self, it: &Expr, item: usize) -> u32 {
        match it {
            Expr::Variable(number) => self.values[*number][item],
            Expr::Item => item as u32,
            Expr::Constant(value) => *value,
            Expr::Select(when, then, otherwise) => match self.value(when, item) & 1 {
                1 => self.value(then, item),
                _ => self.value(otherwise, item),
            },
            Expr::Call(a, b) => called(self.value(a, item), self.value(b, item)),
            Expr::Binary(operator, a, b) => {
                Operator::apply(*operator, self.value(a, item), self.value(b, item))
            }
        }
    }

    /// Runs statements for lanes; those that leave the innermost loop are taken out, and noted there if for good.
    fn block(&mut self, statements: &[Statement], mask: &mut Mask, loops: &mut Vec<Mask>) {
        for it in statements {
            self.statement(it, mask, loops);
        }
    }

    fn those(&self, mask: &Mask, wanted: impl Fn(usize) -> bool) -> Mask {
        mask.iter().enumerate().map(|(item, is_in)| *is_in && wanted(item)).collect()
    }

    /// Runs statements for some of the lanes, and takes those out of `mask` that have left a loop.
    fn part(
        &mut self,
        statements: &[Statement],
        mut part: Mask,
        mask: &mut Mask,
        loops: &mut Vec<Mask>,
    ) {
        let before = part.clone();
        self.block(statements, &mut part, loops);
        for ((lane, was), is) in mask.iter_mut().zip(before).zip(part) {
            *lane &= !was || is;
        }
    }

    fn statement(&mut self, it: &Statement, mask: &mut Mask, loops: &mut Vec<Mask>) {
        match it {
            Statement::Assign(to, value) => {
                for item in (0..mask.len()).filter(|item| mask[*item]) {
                    self.values[*to][item] = self.value(value, item);
                }
            }
            Statement::If(when, then, otherwise) => {
                let yes = self.those(mask, |item| self.value(when, item) != 0);
                let no = self.those(mask, |item| !yes[item]);
                self.part(then, yes, mask, loops);
                self.part(otherwise, no, mask, loops);
            }
            Statement::Switch(by, cases) => {
                let by: Vec<u32> = (0..mask.len()).map(|item| self.value(by, item)).collect();
                for (number, statements) in cases.iter().enumerate() {
                    let part = self.those(mask, |item| by[item] == number as u32);
                    self.part(statements, part, mask, loops);
                }
            }
            Statement::Loop { times, body } => self.repeat(times, body, mask, loops),
            Statement::Break(when) => {
                let leaving = self.those(mask, |item| self.value(when, item) == 1);
                leave(mask, &leaving, loops.last_mut(), true);
            }
            Statement::Continue(when) => {
                let leaving = self.those(mask, |item| self.value(when, item) == 2);
                leave(mask, &leaving, loops.last_mut(), false);
            }
            Statement::Meeting(to, from, kind) => self.meeting(*to, *from, *kind, mask),
            Statement::Repeat(times, body) => {
                for _ in 0..*times {
                    self.block(body, mask, loops);
                }
            }
            Statement::Exchange(to, from, kind) => self.exchange(*to, *from, kind),
        }
    }

    fn repeat(&mut self, times: &Expr, body: &[Statement], mask: &Mask, loops: &mut Vec<Mask>) {
        let times: Vec<u32> = (0..mask.len()).map(|item| self.value(times, item)).collect();
        let mut inside = mask.clone();
        for turn in 0.. {
            inside = self.those(&inside, |item| turn < times[item]);
            if !inside.contains(&true) {
                return;
            }
            loops.push(vec![false; mask.len()]);
            let mut now = inside.clone();
            self.block(body, &mut now, loops);
            let left = loops.pop().unwrap_or_default();
            inside = self.those(&inside, |item| !left[item]);
        }
    }

    /// What the lanes of each wave that are here do together.
    fn meeting(&mut self, to: usize, from: usize, kind: Meeting, mask: &Mask) {
        let source = self.values[from].clone();
        let old = self.values[to].clone();
        for item in (0..mask.len()).filter(|item| mask[*item]) {
            let first = item / self.wave_size * self.wave_size;
            let here: Vec<usize> =
                (first..first + self.wave_size).filter(|item| mask[*item]).collect();
            self.values[to][item] = match kind {
                Meeting::Count => old[item].wrapping_add(here.len() as u32),
                Meeting::CountOdd => {
                    let odd = here.iter().filter(|it| source[**it] & 1 == 1).count();
                    old[item].wrapping_add(odd as u32)
                }
                Meeting::First => old[item] ^ source[here[0]],
                // A lane that is not here is as one past the end of a row.
                Meeting::Dpp(how) => match dpp(how, item - first) {
                    Some(Some(lane)) if mask[first + lane] => source[first + lane],
                    Some(Some(_)) if !how.bound => old[item],
                    Some(_) => 0,
                    None => old[item],
                },
            };
        }
    }

    fn exchange(&mut self, to: usize, from: usize, kind: &Exchange) {
        let source = self.values[from].clone();
        let old = self.values[to].clone();
        let (items, size) = (source.len(), self.wave_size);
        let ballot = |item: usize| {
            let first = item / size * size;
            (0..size).fold(0_u64, |all, lane| all | u64::from(source[first + lane] & 1) << lane)
        };
        let result = |item: usize| {
            let (first, lane) = (item / size * size, item % size);
            match kind {
                Exchange::Rotate(by) => source[(item + by) % items],
                Exchange::Histogram => {
                    let in_bin = |other: &usize| source[*other] as usize & 15 == item & 15;
                    (0..items).filter(in_bin).map(|other| other as u32 + 1).sum()
                }
                Exchange::Sum => {
                    old[item] ^ source.iter().fold(7_u32, |all, it| all.wrapping_add(*it))
                }
                Exchange::Ballot => {
                    let mask = ballot(item);
                    mask as u32 ^ ((mask >> 32) as u32).wrapping_mul(3)
                }
                Exchange::CountBelow => (ballot(item) & ((1 << lane) - 1)).count_ones(),
                Exchange::Dpp(how) => dpp(*how, lane)
                    .map_or(old[item], |it| it.map_or(0, |lane| source[first + lane])),
                Exchange::ReadLane(lane) => old[item].wrapping_add(source[first + lane]),
                Exchange::ReadFirstLane => old[item] ^ source[first],
                Exchange::Gather => {
                    let lane = lane & !31 | (source[item] as usize % 32);
                    source[first + lane].wrapping_add(lane as u32)
                }
                Exchange::Swizzle(pattern) => {
                    let pattern = *pattern as usize;
                    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
                    source[first + (lane & !31 | (lane & and | or) ^ xor)]
                }
            }
        };
        self.values[to] = (0..items).map(result).collect();
    }
}

/// Takes lanes out of an iteration, or of the loop.
fn leave(mask: &mut Mask, leaving: &Mask, innermost: Option<&mut Mask>, for_good: bool) {
    let Some(left) = innermost else { return };
    for (item, _) in leaving.iter().enumerate().filter(|(_, it)| **it) {
        mask[item] = false;
        left[item] |= for_good;
    }
}

/// The lane that one reads with DPP, or none where it reads zero; nothing at all where it keeps what it has.
fn dpp(how: Dpp, lane: usize) -> Option<Option<usize>> {
    let is_written =
        how.row_mask >> (lane / 16) & 1 == 1 && how.bank_mask >> (lane % 16 / 4) & 1 == 1;
    match lane_of(how.control as usize, lane) {
        _ if !is_written => None,
        None if !how.bound => None,
        read => Some(read),
    }
}

/// The lane that one reads under a DPP control; none at the end of a row.
fn lane_of(control: usize, lane: usize) -> Option<usize> {
    let (row, at) = (lane & !15, lane & 15);
    let by = control & 15;
    match control >> 4 {
        0x10 => (at + by < 16).then_some(lane + by),
        0x11 => at.checked_sub(by).map(|it| row + it),
        0x12 => Some(row + (at + 16 - by) % 16),
        0x14 if by == 0 => Some(row + 15 - at),
        0x14 => Some(lane & !7 | (7 - (lane & 7))),
        _ => Some(lane & !3 | control >> (lane % 4 * 2) & 3),
    }
}
