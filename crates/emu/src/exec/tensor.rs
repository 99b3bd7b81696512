//! Tiles of tensors between memory and LDS: the tensor data mover of gfx1250.

use super::ds;
use super::memory::{Place, byte, forbidden, set_byte};
use crate::error::ErrorKind;
use crate::step::{Context, Step};
use crate::wave::Wave;

/// Dimensions at most.
const DIMENSIONS: usize = 5;

/// What is to be moved, as the groups of a descriptor say.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tile {
    lds: u64,
    global: u64,
    /// Bytes of an element.
    element: u64,
    /// Elements of the tensor from the beginning of the tile on; what is behind is zero and not written.
    tensor: [u64; DIMENSIONS],
    /// Elements of the tile.
    size: [u64; DIMENSIONS],
    /// How far the next element of a dimension is.
    strides: [u64; DIMENSIONS],
    /// Bytes after which there is padding in LDS, and how much.
    padding: Option<(u64, u64)>,
    /// Rows by number, in place of one after the other.
    rows: Option<Vec<u64>>,
    /// How often it is done again, and how far on in LDS and in memory, in elements.
    repeats: (u64, u64, u64),
    /// The barrier cell to arrive at.
    barrier: Option<u64>,
}

/// The groups of a descriptor as one number of bits.
struct Bits<'b>(&'b [u32]);

impl Bits<'_> {
    /// So many bits, from a bit on.
    fn field(&self, first: usize, width: usize) -> u64 {
        let bit = |at: usize| {
            let word = self.0.get(at / 32).copied().unwrap_or(0);
            u64::from(word >> (at % 32) & 1)
        };
        (0..width).fold(0, |value, at| value | bit(first + at) << at)
    }
}

impl Tile {
    /// Reads the groups; what is wrong with them otherwise.
    fn new(groups: [&[u32]; 4], is_store: bool) -> Result<Self, &'static str> {
        let [first, second, third, fourth] = groups.map(Bits);
        // One bit says that there are numbers of rows, the other that they have 32 bits; LLVM and the manual do not agree
        // which is which.
        let gathers = first.field(30, 2) == 3;
        if matches!(first.field(30, 2), 1 | 2) {
            return Err("rows by numbers of 16 bits: the manual and compilers disagree");
        }
        let iterates = second.field(19, 1) == 1;
        if gathers && iterates {
            return Err("rows by number, and iteration");
        }
        let pads = second.field(20, 1) == 1;
        if pads && iterates {
            return Err("padding, and iteration");
        }
        let mut tile = Self {
            lds: first.field(32, 32),
            global: first.field(64, 57),
            element: 1 << second.field(16, 2),
            tensor: [
                second.field(48, 32),
                second.field(80, 32),
                third.field(0, 32),
                third.field(32, 32),
                fourth.field(48, 32),
            ],
            size: [
                second.field(112, 16),
                second.field(128, 16),
                second.field(144, 16),
                third.field(112, 16),
                fourth.field(80, 16),
            ],
            strides: [
                1,
                second.field(160, 48),
                second.field(208, 48),
                third.field(64, 48),
                fourth.field(0, 48),
            ],
            padding: None,
            rows: None,
            repeats: (1, 0, 0),
            barrier: (second.field(18, 1) == 1).then(|| second.field(32, 16) << 3),
        };
        // There is no taking out of padding.
        if pads && !is_store {
            let every = 8 << second.field(22, 3);
            tile.padding = Some((every, (second.field(25, 7) + 1) * 4));
        }
        if iterates {
            tile.repeats = (third.field(112, 16) + 1, third.field(32, 32), third.field(64, 48));
        }
        if gathers {
            let count = tile.size[1];
            if count > 8 {
                return Err("more rows than the descriptor has numbers for");
            }
            let row = |at: u64| {
                let group = if at < 4 { &third } else { &fourth };
                group.field((at % 4) as usize * 32, 32)
            };
            tile.rows = Some((0..count).map(row).collect());
        }
        let dimensions = if gathers || iterates { 2 + usize::from(iterates) } else { DIMENSIONS };
        for at in 0..DIMENSIONS {
            if at >= dimensions {
                tile.size[at] = 0;
            }
            if tile.size[at] == 0 && at > 0 {
                // Fewer dimensions: one element of those that are left, whatever the tensor has.
                (tile.size[at], tile.tensor[at]) = (1, u64::MAX);
            }
        }
        Ok(tile)
    }

    /// Where an element of the tile is in memory, in elements; none where it is not in the tensor.
    fn element_at(&self, at: [u64; DIMENSIONS]) -> Option<u64> {
        let mut at = at;
        if let Some(rows) = &self.rows {
            at[1] = rows.get(at[1] as usize).copied().unwrap_or(u64::MAX);
        }
        let inside = at.iter().zip(&self.tensor).all(|(at, size)| at < size);
        let offset = at.iter().zip(&self.strides).map(|(at, stride)| at.wrapping_mul(*stride));
        inside.then(|| offset.fold(0, u64::wrapping_add))
    }

    /// Where a byte of the tile is behind its beginning in LDS.
    fn padded(&self, bytes: u64) -> u64 {
        match self.padding {
            Some((every, amount)) => bytes + bytes / every * amount,
            None => bytes,
        }
    }

    /// Elements of the tile.
    fn count(&self) -> u64 {
        self.size.iter().product()
    }

    fn coordinates(&self, number: u64) -> [u64; DIMENSIONS] {
        let mut left = number;
        self.size.map(|size| {
            let at = left % size.max(1);
            left /= size.max(1);
            at
        })
    }
}

/// Moves a tile: the groups are the scalar registers `a`, `b`, `c` and `d`; to memory where `k` is 1. No lane counts.
pub(crate) fn tile<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let is_store = step.k == 1;
    let group =
        |first: u16, count: usize| wave.s[usize::from(first)..usize::from(first) + count].to_vec();
    let groups = [group(step.a, 4), group(step.b, 8), group(step.c, 4), group(step.d, 4)];
    let is_valid = groups[0][0] & 3 != 0;
    if !is_valid {
        return;
    }
    let tile = match Tile::new(groups.each_ref().map(Vec::as_slice), is_store) {
        Ok(tile) => tile,
        Err(why) => return wave.fail(ErrorKind::Unsupported, 0, why),
    };
    let (repeats, lds_step, global_step) = tile.repeats;
    for repeat in 0..repeats {
        let lds = tile.lds + repeat * lds_step * tile.element;
        let global = tile.global.wrapping_add((repeat * global_step).wrapping_mul(tile.element));
        for number in 0..tile.count() {
            let place = Place::Lds(lds + tile.padded(number * tile.element));
            let found = tile.element_at(tile.coordinates(number));
            let address = found.map(|at| global.wrapping_add(at.wrapping_mul(tile.element)));
            if !move_element(wave, context, place, address, tile.element, is_store) {
                return;
            }
        }
    }
    if let Some(cell) = tile.barrier {
        ds::arrive(wave, context, cell, 1);
    }
}

/// One element; says whether its address is anywhere.
fn move_element<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    place: Place<'_>,
    address: Option<u64>,
    bytes: u64,
    is_store: bool,
) -> bool {
    let Some(address) = address else {
        if !is_store {
            (0..bytes).for_each(|at| set_byte(wave, context, place, at, 0));
        }
        return true;
    };
    let memory = context.memory;
    let found = memory.find(address, bytes, &mut context.hint);
    let kind = match found {
        Some((allocation, offset)) => allocation.forbids_write(offset, bytes).filter(|_| is_store),
        None => Some(ErrorKind::OutOfBounds),
    };
    if let Some(kind) = kind {
        wave.fail_at(kind, 0, address, forbidden(kind, address, bytes));
        return false;
    }
    let Some((allocation, offset)) = found else { return false };
    let memory = Place::Memory(allocation, offset);
    let (from, to) = if is_store { (place, memory) } else { (memory, place) };
    for at in 0..bytes {
        let value = byte(wave, context, from, at);
        set_byte(wave, context, to, at, value);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_say_what_is_moved() {
        // Halves; a tensor of 100 by 7, a tile of 8 by 4, rows 128 apart; 2 words of padding after 4 words.
        let first = [1, 0x400, 0x1000, 2 << 30];
        let second =
            [1 << 16 | 1 << 20 | 1 << 22 | 1 << 25, 100 << 16, 7 << 16, 8 << 16, 4, 128, 0, 0];
        let tile = Tile::new([&first, &second, &[0; 4], &[0; 4]], false).unwrap();
        assert_eq!((tile.lds, tile.global, tile.element), (0x400, 0x1000, 2));
        assert_eq!((tile.count(), tile.padding), (32, Some((16, 8))));
        assert_eq!(tile.coordinates(17), [1, 2, 0, 0, 0]);
        assert_eq!(tile.element_at([1, 2, 0, 0, 0]), Some(257));
        assert_eq!(
            (tile.element_at([99, 0, 0, 0, 0]), tile.element_at([100, 0, 0, 0, 0])),
            (Some(99), None)
        );
        assert_eq!(tile.element_at([0, 7, 0, 0, 0]), None);
        assert_eq!((tile.padded(15), tile.padded(16), tile.padded(33)), (15, 24, 49));
    }

    #[test]
    fn rows_are_gathered_by_number() {
        let first = [1 | 3 << 30, 0, 0x1000, 2 << 30];
        let second = [2 << 16, 16 << 16, 32 << 16, 4 << 16, 3, 16, 0, 0];
        let tile = Tile::new([&first, &second, &[5, 9, 31, 0], &[0; 4]], false).unwrap();
        assert_eq!(tile.rows.as_deref(), Some(&[5, 9, 31][..]));
        assert_eq!((tile.count(), tile.element_at([2, 1, 0, 0, 0])), (12, Some(9 * 16 + 2)));
        assert!(
            Tile::new([&first, &[1 << 19, 0, 0, 0, 0, 0, 0, 0], &[0; 4], &[0; 4]], false).is_err()
        );
    }
}
