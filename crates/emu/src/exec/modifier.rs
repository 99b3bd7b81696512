//! What changes operands before an operation and results after it: each a step of its own.

use super::{Body, handler};
use crate::exec::valu::{Lane, Map};
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Vector, Wave, lanes};

/// `d = s[a]` in all lanes. Nothing else writes `d`, so that all of its lanes hold what the first does.
pub(crate) struct Broadcast;

impl<const C: usize> Body<C> for Broadcast {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        broadcast(&mut wave.v[usize::from(step.d)], wave.s[usize::from(step.a)]);
    }
}

/// The same with two registers.
pub(crate) struct BroadcastPair;

impl<const C: usize> Body<C> for BroadcastPair {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let pair = wave.pair(step.a);
        broadcast(&mut wave.v[usize::from(step.d)], pair as u32);
        broadcast(&mut wave.v[usize::from(step.d) + 1], (pair >> 32) as u32);
    }
}

/// Scalars that loops do not change are there already.
#[inline(always)]
fn broadcast<const C: usize>(to: &mut Vector<C>, value: u32) {
    if to.0[0][0] != value {
        *to = Vector::splat(value);
    }
}

macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Lane for $name {
            #[inline(always)]
            fn f($a: u32, $b: u32, $c: u32) -> u32 { $body }
        }
    )*};
}

changes! {
    /// Sign bits of the mask `b` flipped after those of `c` are cleared.
    Sign |a, clear, flip| a & !clear ^ flip;
    /// The upper half, in the lower.
    High |a, _, _| a >> 16;
    /// The lower half of `a` in both.
    Copy |a, _, _| a;
    /// The lower half of `b` over that of `a`.
    InsertLow |a, b, _| a & 0xffff_0000 | b & 0xffff;
    /// The lower half of `b` over the upper of `a`.
    InsertHigh |a, b, _| a & 0xffff | b << 16;
    /// Halves by four: the lower of the result from the lower of `a`, the upper from its lower.
    LowLow |a, _, _| a & 0xffff | a << 16;
    HighLow |a, _, _| a.rotate_right(16);
    HighHigh |a, _, _| a & 0xffff_0000 | a >> 16;
    ByteU0 |a, _, _| a & 0xff;
    ByteU1 |a, _, _| a >> 8 & 0xff;
    ByteU2 |a, _, _| a >> 16 & 0xff;
    ByteU3 |a, _, _| a >> 24;
    ByteI0 |a, _, _| i32::from(a as i8).cast_unsigned();
    ByteI1 |a, _, _| i32::from((a >> 8) as i8).cast_unsigned();
    ByteI2 |a, _, _| i32::from((a >> 16) as i8).cast_unsigned();
    ByteI3 |a, _, _| i32::from((a >> 24) as i8).cast_unsigned();
    HalfU0 |a, _, _| a & 0xffff;
    HalfU1 |a, _, _| a >> 16;
    HalfI0 |a, _, _| i32::from(a as i16).cast_unsigned();
    HalfI1 |a, _, _| i32::from((a >> 16) as i16).cast_unsigned();
}

/// The handler of one of the above.
pub(crate) fn change<const C: usize, L: Lane>(host: Host) -> Handler<C> {
    handler::<C, Map<L>>(host)
}

/// Puts the result `b` into a part of `a`: `k` has the first bit, the width, and what becomes of the other bits:
/// zero (0), the sign (1), kept (2).
pub(crate) fn merge<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let (first, width, unused) = (step.k as u32 & 0xff, (step.k >> 8) as u32 & 0xff, step.k >> 16);
    let part = (u32::MAX >> (32 - width)) << first;
    let mut result = Vector::ZERO;
    for at in 0..C {
        for lane in 0..8 {
            let (old, new) =
                (wave.v[usize::from(step.a)].0[at][lane], wave.v[usize::from(step.b)].0[at][lane]);
            let placed = new << first & part;
            let above = if width + first < 32 { u32::MAX << (width + first) } else { 0 };
            result.0[at][lane] = match unused {
                0 => placed,
                1 if new >> (width - 1) & 1 == 1 => placed | above,
                1 => placed,
                _ => placed | old & !part,
            };
        }
    }
    wave.write(step.d, &result);
}

/// Where a lane's data comes from.
pub(crate) mod dpp {
    /// Whether a generation has a DPP16 control: gfx10 dropped what crosses rows, and brought `row_xmask`.
    pub(crate) fn has(control: u32, is_gfx10: bool) -> bool {
        match control {
            0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f => true,
            0x140 | 0x141 | 0x150..=0x15f => true,
            0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => !is_gfx10,
            0x160..=0x16f => is_gfx10,
            _ => false,
        }
    }

    /// The lane that `lane` reads under a DPP16 control; none where there is none.
    pub(crate) fn source(control: u32, lane: u32, lanes: u32) -> Option<u32> {
        let (row, at) = (lane & !15, lane & 15);
        let within = |other: Option<u32>| other.filter(|it| *it < 16).map(|it| row | it);
        match control {
            0..=0xff => Some(lane & !3 | control >> ((lane & 3) * 2) & 3),
            0x101..=0x10f => within(at.checked_add(control & 15)),
            0x111..=0x11f => within(at.checked_sub(control & 15)),
            0x121..=0x12f => Some(row | (at.wrapping_sub(control & 15)) & 15),
            0x130 => Some(lane + 1).filter(|it| *it < lanes),
            0x134 => Some((lane + 1) % lanes),
            0x138 => lane.checked_sub(1),
            0x13c => Some((lane + lanes - 1) % lanes),
            0x140 => Some(row | (15 - at)),
            0x141 => Some(lane & !7 | (7 - (lane & 7))),
            0x142 => row.checked_sub(1),
            0x143 => (lane & !31).checked_sub(1),
            0x150..=0x15f => Some(row | control & 15),
            0x160..=0x16f => Some(row | (at ^ control & 15)),
            _ => None,
        }
    }

    /// The same under DPP8's selectors, three bits each.
    pub(crate) fn source8(selectors: u32, lane: u32) -> u32 {
        lane & !7 | selectors >> ((lane & 7) * 3) & 7
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn lanes_read_where_the_control_says() {
            let of = |control, lane| source(control, lane, 64);
            assert_eq!(of(0b00_01_10_11, 4), Some(7));
            assert_eq!((of(0x101, 14), of(0x101, 15)), (Some(15), None));
            assert_eq!((of(0x111, 16), of(0x111, 17)), (None, Some(16)));
            assert_eq!(of(0x121, 16), Some(31));
            assert_eq!((of(0x140, 1), of(0x141, 9)), (Some(14), Some(14)));
            assert_eq!((of(0x142, 20), of(0x142, 3)), (Some(15), None));
            assert_eq!((of(0x143, 40), of(0x143, 30)), (Some(31), None));
            assert_eq!((source(0x153, 20, 32), source(0x161, 21, 32)), (Some(19), Some(20)));
            assert_eq!(source8(0o0123_4567, 8), 15);
        }

        #[test]
        fn generations_differ_in_controls() {
            let wave_shl_bcast_xmask = [0x130, 0x142, 0x161];
            assert_eq!(wave_shl_bcast_xmask.map(|it| has(it, false)), [true, true, false]);
            assert_eq!(wave_shl_bcast_xmask.map(|it| has(it, true)), [false, false, true]);
            assert!(!has(0x100, true) && !has(0x131, false));
        }
    }
}

/// What a DPP step needs, packed into a step's `k`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DppControl {
    pub(crate) control: u32,
    pub(crate) row_mask: u8,
    pub(crate) bank_mask: u8,
    pub(crate) bound_ctrl: bool,
    pub(crate) fetch_inactive: bool,
    pub(crate) is_dpp8: bool,
}

impl DppControl {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.control)
            | u64::from(self.row_mask) << 32
            | u64::from(self.bank_mask) << 36
            | u64::from(self.bound_ctrl) << 40
            | u64::from(self.fetch_inactive) << 41
            | u64::from(self.is_dpp8) << 42
    }

    fn unpack(bits: u64) -> Self {
        let flag = |bit: u32| bits >> bit & 1 == 1;
        Self {
            control: bits as u32,
            row_mask: (bits >> 32) as u8 & 15,
            bank_mask: (bits >> 36) as u8 & 15,
            bound_ctrl: flag(40),
            fetch_inactive: flag(41),
            is_dpp8: flag(42),
        }
    }
}

impl DppControl {
    /// The lane that each lane reads, and which lanes have one.
    fn sources(self, lanes: u32) -> ([u8; 64], u64) {
        let (mut sources, mut valid) = ([0; 64], 0);
        // Most controls do the same in each row of 16.
        let crosses_rows = !self.is_dpp8 && matches!(self.control, 0x130..=0x13f | 0x142 | 0x143);
        let count = if crosses_rows { lanes } else { 16 };
        for (lane, to) in (0..count).zip(&mut sources) {
            let source = match self.is_dpp8 {
                true => Some(dpp::source8(self.control, lane)),
                false => dpp::source(self.control, lane, lanes),
            };
            *to = source.unwrap_or(0) as u8;
            valid |= u64::from(source.is_some()) << lane;
        }
        if !crosses_rows {
            let row: [u8; 16] = sources[..16].try_into().unwrap_or_default();
            for (number, to) in (0_u8..).zip(sources.as_chunks_mut::<16>().0) {
                *to = row.map(|it| it + 16 * number);
            }
            valid *= 0x0001_0001_0001_0001;
        }
        (sources, valid)
    }

    /// The lanes that the masks of rows and banks allow to write.
    fn allowed(self) -> u64 {
        let spread = |mask: u8, of: u64, distance: u32| {
            (0..4).fold(0, |all, bit| all | (u64::from(mask >> bit & 1) * of) << (bit * distance))
        };
        let banks = spread(self.bank_mask, 0xf, 4) * 0x0001_0001_0001_0001;
        banks & spread(self.row_mask, 0xffff, 16)
    }
}

/// `d` becomes what lanes read of `a`; the lanes that write are those that have something to read.
pub(crate) fn dpp_read<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let control = DppControl::unpack(step.k);
    let exec = wave.exec();
    let (sources, valid) = control.sources(Wave::<C>::LANES as u32);
    let mut live = valid & Wave::<C>::ALL;
    if !control.fetch_inactive && exec != Wave::<C>::ALL {
        let is_on = |lane: &usize| exec >> sources[*lane] & 1 == 1;
        live = lanes(live).filter(is_on).fold(0, |live, lane| live | 1 << lane);
    }
    let from = wave.v[usize::from(step.a)];
    let to = &mut wave.v[usize::from(step.d)];
    for (lane, source) in sources.iter().enumerate().take(Wave::<C>::LANES) {
        to.set_lane(lane, from.lane(usize::from(*source)));
    }
    for lane in lanes(Wave::<C>::ALL & !live) {
        to.set_lane(lane, 0);
    }
    // Data of a lane that is off reads as zero with bound_ctrl, and disables the write without.
    let reads = match control {
        DppControl { bound_ctrl: true, .. } => Wave::<C>::ALL,
        DppControl { is_dpp8: true, .. } => valid,
        _ => live,
    };
    wave.set_active(exec & reads & control.allowed());
}

/// All lanes work, until [`restore`].
pub(crate) fn all_lanes<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, _: &Step<C>) {
    wave.set_active(Wave::<C>::ALL);
}

/// Ends what [`dpp_read`] or [`all_lanes`] began.
pub(crate) fn restore<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, _: &Step<C>) {
    wave.sync_exec();
}
