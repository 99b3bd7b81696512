//! Which forms the upper bits of a first word leave, whatever the processor; the compiler works it out.

use crate::model::generated::{FORMS, IGNORED, MASKS, TABLES};

/// The bits that choose among all forms.
pub(super) const SHIFT: u32 = 23;
pub(super) const WIDTH: u32 = 9;
pub(super) const COUNT: usize = 1 << WIDTH;

/// A form as a member of a table: its number among the members of all tables, in the order in which they
/// are tried.
pub(super) type Place = u16;

/// Where the members of each table start, and where those of the last end.
pub(super) static TABLE_STARTS: [Place; TABLES.len() + 1] = {
    let mut starts = [0; TABLES.len() + 1];
    let mut table = 0;
    while table < TABLES.len() {
        let (start, end) = TABLES[table].forms;
        starts[table + 1] = starts[table] + (end - start);
        table += 1;
    }
    starts
};

/// The places whose fixed bits, but for ignored ones, allow these upper bits.
pub(super) fn places(top: usize) -> &'static [Place] {
    let [start, end] = [top, top + 1].map(|it| STARTS.get(it).copied().unwrap_or_default());
    PLACES.get(start as usize..end as usize).unwrap_or_default()
}

/// The first of the upper bits that leave the same places, up to these: those with other bits of an
/// operand among them.
pub(super) fn first_alike(top: usize) -> usize {
    let mut first = top;
    while first > 0 && places(first - 1) == places(top) {
        first -= 1;
    }
    first
}

static STARTS: [u32; COUNT + 1] = {
    let mut starts = [0; COUNT + 1];
    let mut members = Members::new();
    while let Some((top, _)) = members.next() {
        starts[top + 1] += 1;
        members.advance();
    }
    let mut top = 0;
    while top < COUNT {
        starts[top + 1] += starts[top];
        top += 1;
    }
    starts
};

static PLACES: [Place; STARTS[COUNT] as usize] = {
    let mut places = [0; STARTS[COUNT] as usize];
    let mut ends = STARTS;
    let mut members = Members::new();
    while let Some((top, place)) = members.next() {
        places[ends[top] as usize] = place;
        ends[top] += 1;
        members.advance();
    }
    places
};

/// Goes through all pairs of a place and upper bits that it allows.
struct Members {
    table: usize,
    form: u16,
    place: Place,
    /// The bits that the form leaves free, as they stand.
    subset: u32,
}

impl Members {
    const fn new() -> Self {
        Members { table: 0, form: TABLES[0].forms.0, place: 0, subset: 0 }
    }

    const fn next(&self) -> Option<(usize, Place)> {
        if self.table == TABLES.len() {
            return None;
        }
        Some(((self.bits().1 | self.subset) as usize, self.place))
    }

    /// The mask of the upper bits, and what they are under it.
    const fn bits(&self) -> (u32, u32) {
        let form = &FORMS[self.form as usize];
        let mask = (MASKS[form.mask as usize] & !IGNORED[form.ignored as usize]) as u32 >> SHIFT;
        (mask, form.value as u32 >> SHIFT & mask)
    }

    const fn advance(&mut self) {
        // Counts through the subsets of the free bits.
        let free = !self.bits().0 & (COUNT as u32 - 1);
        self.subset = self.subset.wrapping_sub(free) & free;
        if self.subset != 0 {
            return;
        }
        self.place += 1;
        self.form += 1;
        while self.table < TABLES.len() && self.form == TABLES[self.table].forms.1 {
            self.table += 1;
            if self.table < TABLES.len() {
                self.form = TABLES[self.table].forms.0;
            }
        }
    }
}
