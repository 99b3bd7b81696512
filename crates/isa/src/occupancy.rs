//! How many waves of a kernel run at once.
//!
//! Counted as LLVM 22 counts them for the `Occupancy` it writes into assembly: a workgroup may have any size
//! that its kernel allows, and waves spread evenly over the SIMDs.

use std::ops::RangeInclusive;

use crate::target::{Limits, WaveSize};

/// What one kernel takes of a device.
///
/// ```
/// use hsaco_isa::occupancy::{Demand, Limiter};
/// use hsaco_isa::target::WaveSize;
/// use hsaco_isa::Processor;
/// let limits = Processor::from_name("gfx90a").unwrap().limits();
/// let demand = Demand { vgprs: 132, ..Demand::new(WaveSize::Wave64) };
/// let occupancy = limits.occupancy(&demand).unwrap();
/// assert_eq!((occupancy.waves, occupancy.limiter), (3, Some(Limiter::Vgprs)));
/// let next = occupancy.next.unwrap();
/// assert_eq!((next.waves, next.vgprs, next.lds), (4, 4, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// Lanes of a wave.
    pub wave: WaveSize,
    /// Vector registers of a wave, accumulation registers included where they share a file.
    pub vgprs: u32,
    /// Scalar registers of a wave, VCC and other special ones included.
    pub sgprs: u32,
    /// LDS of a workgroup, in bytes.
    pub lds: u32,
    /// How many work-items a workgroup may have.
    pub workgroup: RangeInclusive<u32>,
    /// Whether the waves of a workgroup stay in one compute unit although they could spread over two.
    pub cu_mode: bool,
}

impl Demand {
    /// No registers, no LDS, workgroups of any size.
    #[must_use]
    pub const fn new(wave: WaveSize) -> Self {
        Demand { wave, vgprs: 0, sgprs: 0, lds: 0, workgroup: 1..=1024, cu_mode: false }
    }

    /// The same with another amount of one resource.
    ///
    /// ```
    /// use hsaco_isa::occupancy::{Demand, Limiter};
    /// use hsaco_isa::target::WaveSize;
    /// let demand = Demand::new(WaveSize::Wave64).with(Limiter::Workgroups, 256);
    /// assert_eq!(demand.workgroup, 256..=256);
    /// ```
    #[must_use]
    pub fn with(&self, resource: Limiter, amount: u32) -> Self {
        let same = self.clone();
        match resource {
            Limiter::Vgprs => Demand { vgprs: amount, ..same },
            Limiter::Sgprs => Demand { sgprs: amount, ..same },
            Limiter::Lds => Demand { lds: amount, ..same },
            Limiter::Workgroups => Demand { workgroup: amount..=amount, ..same },
        }
    }

    /// How much it takes of a resource; of workgroups, the largest size.
    #[must_use]
    pub const fn amount(&self, resource: Limiter) -> u32 {
        match resource {
            Limiter::Vgprs => self.vgprs,
            Limiter::Sgprs => self.sgprs,
            Limiter::Lds => self.lds,
            Limiter::Workgroups => *self.workgroup.end(),
        }
    }
}

/// Amounts of a resource with which as many waves run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stair {
    /// The smallest of them.
    pub first: u32,
    /// The largest of them.
    pub last: u32,
    /// How many waves a SIMD has.
    pub waves: u32,
    /// What keeps more waves away.
    pub limiter: Option<Limiter>,
}

/// What there is not enough of for more waves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limiter {
    /// Vector registers.
    Vgprs,
    /// Scalar registers.
    Sgprs,
    /// LDS.
    Lds,
    /// Places for workgroups of the sizes that the kernel allows.
    Workgroups,
}

impl Limiter {
    /// All of them.
    pub const ALL: [Limiter; 4] =
        [Limiter::Vgprs, Limiter::Sgprs, Limiter::Lds, Limiter::Workgroups];

    /// The name to show.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::Vgprs => "vgprs",
            Limiter::Sgprs => "sgprs",
            Limiter::Lds => "lds",
            Limiter::Workgroups => "workgroups",
        }
    }
}

/// What must be given up for more waves; 0 where there is enough already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NextStep {
    /// How many waves a SIMD would then have.
    pub waves: u32,
    /// Vector registers of a wave to do without.
    pub vgprs: u32,
    /// Scalar registers of a wave to do without.
    pub sgprs: u32,
    /// Bytes of LDS of a workgroup to do without.
    pub lds: u32,
}

/// How many waves of a kernel run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Occupancy {
    /// Waves on one SIMD, with workgroups of the best size.
    pub waves: u32,
    /// The most that the SIMD holds of any kernel.
    pub max_waves: u32,
    /// Workgroups of the largest size on one compute unit; on two that work as one, unless in CU mode.
    pub workgroups: u32,
    /// What keeps more waves away; none where there are as many as there can be.
    pub limiter: Option<Limiter>,
    /// What it takes for one wave more, or for as few more as is possible; none where registers and LDS
    /// change nothing.
    pub next: Option<NextStep>,
}

impl Limits {
    /// How many waves of a kernel run at once; nothing if there are no waves of that size.
    #[must_use]
    pub fn occupancy(&self, demand: &Demand) -> Option<Occupancy> {
        let (waves, limiter) = self.waves(demand)?;
        Some(Occupancy {
            waves,
            max_waves: self.max_waves,
            workgroups: self.workgroups(demand)?,
            limiter,
            next: (waves + 1..=self.max_waves).find_map(|waves| self.step_to(waves, demand)),
        })
    }

    /// How many waves of a kernel run at once, and what keeps more away.
    fn waves(&self, demand: &Demand) -> Option<(u32, Option<Limiter>)> {
        let mut least = (self.max_waves, None);
        for limiter in Limiter::ALL {
            let waves = self.waves_by(limiter, demand)?;
            if waves < least.0 {
                least = (waves, Some(limiter));
            }
        }
        Some(least)
    }

    /// The most that a kernel can take of a resource; of workgroups, their largest size.
    ///
    /// ```
    /// use hsaco_isa::Processor;
    /// use hsaco_isa::occupancy::Limiter;
    /// let limits = Processor::from_name("gfx1030").unwrap().limits();
    /// assert_eq!(Limiter::ALL.map(|it| limits.most(it)), [256, 114, 65536, 1024]);
    /// ```
    #[must_use]
    pub const fn most(&self, resource: Limiter) -> u32 {
        match resource {
            Limiter::Vgprs => self.max_vgprs,
            Limiter::Sgprs => self.max_sgprs + SPECIAL_SGPRS,
            Limiter::Lds => self.lds_bytes,
            Limiter::Workgroups => self.max_workgroup,
        }
    }

    /// How many waves run with any amount of one resource and the demand's amounts of the others, from little to much.
    ///
    /// Nothing if there are no waves of that size. Stairs of [`Limiter::Workgroups`] are sizes of workgroups, each the only one.
    ///
    /// ```
    /// use hsaco_isa::occupancy::{Demand, Limiter};
    /// use hsaco_isa::target::WaveSize;
    /// use hsaco_isa::Processor;
    /// let limits = Processor::from_name("gfx90a").unwrap().limits();
    /// let curve = limits.curve(&Demand::new(WaveSize::Wave64), Limiter::Vgprs).unwrap();
    /// let stairs: Vec<(u32, u32)> = curve.iter().map(|stair| (stair.last, stair.waves)).collect();
    /// assert_eq!(stairs, [(64, 8), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)]);
    /// ```
    #[must_use]
    pub fn curve(&self, demand: &Demand, resource: Limiter) -> Option<Vec<Stair>> {
        let mut stairs: Vec<Stair> = Vec::new();
        for amount in self.amounts(demand, resource) {
            let (waves, limiter) = self.waves(&demand.with(resource, amount))?;
            match stairs.last_mut() {
                Some(stair) if (stair.waves, stair.limiter) == (waves, limiter) => {
                    stair.last = amount;
                }
                before => {
                    let first = before.map_or(0, |it| it.last + 1);
                    stairs.push(Stair { first, last: amount, waves, limiter });
                }
            }
        }
        Some(stairs)
    }

    /// The largest of all amounts of a resource that come to the same, ascending.
    fn amounts(&self, demand: &Demand, resource: Limiter) -> Vec<u32> {
        let most = self.most(resource);
        match resource {
            Limiter::Vgprs => {
                let granule = self.vgprs(demand.wave).map_or(1, |it| it.allocation_granule);
                multiples(granule, most)
            }
            Limiter::Sgprs => (1..=most).collect(),
            Limiter::Lds => {
                let pool = self.lds_pool(demand.cu_mode);
                let groups = self.max_waves * self.simds(demand.cu_mode);
                let shares = (1..=groups).rev().map(|groups| pool / groups);
                let mut amounts: Vec<u32> = shares.filter(|it| *it < most).collect();
                amounts.push(most);
                amounts.dedup();
                amounts
            }
            Limiter::Workgroups => multiples(demand.wave.lanes(), most),
        }
    }

    /// How many waves fit on one SIMD when each uses that many scalar registers, special ones included.
    ///
    /// Counted as LLVM does: rounded to no granule from gfx8 on, to 8 before.
    #[must_use]
    pub fn waves_with_sgprs(&self, sgprs: u32) -> u32 {
        let Some(file) = self.sgpr_file else { return self.max_waves };
        let granule = if file < 800 { 8 } else { 1 };
        (file / sgprs.max(1).next_multiple_of(granule)).clamp(1, self.max_waves)
    }

    /// How many waves one resource leaves room for.
    fn waves_by(&self, limiter: Limiter, demand: &Demand) -> Option<u32> {
        let without_lds = Demand { lds: 0, ..demand.clone() };
        Some(match limiter {
            Limiter::Vgprs => self.waves_with_vgprs(demand.wave, demand.vgprs)?.max(1),
            Limiter::Sgprs => self.waves_with_sgprs(demand.sgprs),
            Limiter::Lds => self.waves_with_workgroups(demand),
            Limiter::Workgroups => self.waves_with_workgroups(&without_lds),
        })
    }

    /// SIMDs that the waves of a workgroup share.
    fn simds(&self, cu_mode: bool) -> u32 {
        if self.wgp_mode && !cu_mode { self.simds_per_cu * 2 } else { self.simds_per_cu }
    }

    /// LDS that workgroups on these SIMDs share.
    fn lds_pool(&self, cu_mode: bool) -> u32 {
        if self.wgp_mode && !cu_mode { self.lds_bytes * 2 } else { self.lds_bytes }
    }

    /// Workgroups of so many waves at once; those of more than one take a barrier each.
    fn places(&self, waves: u32, slots: u32, cu_mode: bool) -> u32 {
        const BARRIERS_PER_CU: u32 = 16;
        let barriers =
            if self.wgp_mode && !cu_mode { BARRIERS_PER_CU * 2 } else { BARRIERS_PER_CU };
        if waves <= 1 { slots } else { (slots / waves).min(barriers) }
    }

    /// Waves on one SIMD as far as workgroups and their LDS decide.
    ///
    /// With workgroups of the smallest size, grown as far as no fewer of them fit; or of the largest
    /// size, if that is better.
    fn waves_with_workgroups(&self, demand: &Demand) -> u32 {
        let simds = self.simds(demand.cu_mode);
        let slots = self.max_waves * simds;
        let by_lds = self.lds_pool(demand.cu_mode) / demand.lds.max(1);
        if by_lds == 0 {
            return 1;
        }
        let (smallest, largest) = waves_of_workgroups(demand);
        let groups = |waves| self.places(waves, slots, demand.cu_mode).min(by_lds);
        let (many, few) = (groups(smallest), groups(largest));
        let at_largest = few * largest;
        let waves = if at_largest >= many * smallest {
            at_largest
        } else {
            many * (slots / many.max(1)).clamp(smallest, largest)
        };
        waves.div_ceil(simds).clamp(1, self.max_waves)
    }

    /// Workgroups of the largest size at once.
    fn workgroups(&self, demand: &Demand) -> Option<u32> {
        let by_vgprs = self.waves_by(Limiter::Vgprs, demand)?;
        let by_sgprs = self.waves_by(Limiter::Sgprs, demand)?;
        let slots = by_vgprs.min(by_sgprs) * self.simds(demand.cu_mode);
        let by_lds = self.lds_pool(demand.cu_mode) / demand.lds.max(1);
        let (_, largest) = waves_of_workgroups(demand);
        Some(self.places(largest, slots, demand.cu_mode).min(by_lds))
    }

    /// What it takes for so many waves, if registers and LDS can do it.
    fn step_to(&self, waves: u32, demand: &Demand) -> Option<NextStep> {
        if self.waves_by(Limiter::Workgroups, demand)? < waves {
            return None;
        }
        let fits_vgprs = |vgprs: &u32| {
            self.waves_with_vgprs(demand.wave, *vgprs).is_some_and(|found| found >= waves)
        };
        let fits_lds = |lds: &u32| {
            self.waves_with_workgroups(&Demand { lds: *lds, ..demand.clone() }) >= waves
        };
        let vgprs = (0..=demand.vgprs.min(self.most(Limiter::Vgprs))).rev().find(fits_vgprs)?;
        let sgprs = (0..=demand.sgprs.min(self.most(Limiter::Sgprs)))
            .rev()
            .find(|sgprs| self.waves_with_sgprs(*sgprs) >= waves)?;
        let pool = self.lds_pool(demand.cu_mode);
        let shares = (1..=self.max_waves * self.simds(demand.cu_mode)).map(|groups| pool / groups);
        let lds = std::iter::once(demand.lds)
            .chain(shares.filter(|share| *share < demand.lds))
            .find(fits_lds)?;
        Some(NextStep {
            waves,
            vgprs: demand.vgprs - vgprs,
            sgprs: demand.sgprs - sgprs,
            lds: demand.lds - lds,
        })
    }
}

/// VCC and the like, which are counted with the numbered ones.
const SPECIAL_SGPRS: u32 = 8;

/// The multiples of a granule up to a limit, and the limit.
fn multiples(granule: u32, limit: u32) -> Vec<u32> {
    let granule = granule.max(1);
    let mut amounts: Vec<u32> = (1..=limit / granule).map(|it| it * granule).collect();
    if !limit.is_multiple_of(granule) {
        amounts.push(limit);
    }
    amounts
}

/// Waves of the smallest and of the largest workgroup.
fn waves_of_workgroups(demand: &Demand) -> (u32, u32) {
    let waves = |items: u32| items.max(1).div_ceil(demand.wave.lanes());
    let (smallest, largest) = (waves(*demand.workgroup.start()), waves(*demand.workgroup.end()));
    (smallest, largest.max(smallest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Processor;

    fn occupancy(processor: &str, demand: &Demand) -> Occupancy {
        Processor::from_name(processor).unwrap().limits().occupancy(demand).unwrap()
    }

    #[test]
    fn an_empty_kernel_fills_every_slot() {
        for (processor, wave, waves) in [
            ("gfx900", WaveSize::Wave64, 10),
            ("gfx942", WaveSize::Wave64, 8),
            ("gfx1010", WaveSize::Wave32, 20),
            ("gfx1201", WaveSize::Wave64, 16),
        ] {
            let found = occupancy(processor, &Demand::new(wave));
            assert_eq!((found.waves, found.limiter, found.next), (waves, None, None));
        }
    }

    #[test]
    fn what_is_to_be_freed_is_enough_and_no_more() {
        for processor in ["gfx803", "gfx900", "gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1250"] {
            let limits = Processor::from_name(processor).unwrap().limits();
            let wave = limits.wave_sizes().next().unwrap();
            for (vgprs, sgprs, lds) in
                [(65, 0, 0), (40, 102, 20_000), (200, 90, 9000), (8, 8, 40_000)]
            {
                let demand = Demand { vgprs, sgprs, lds, ..Demand::new(wave) };
                let found = limits.occupancy(&demand).unwrap();
                let Some(next) = found.next else { continue };
                let less = |vgprs: u32, sgprs: u32, lds: u32| {
                    let demand = Demand {
                        vgprs: demand.vgprs - vgprs,
                        sgprs: demand.sgprs - sgprs,
                        lds: demand.lds - lds,
                        ..demand.clone()
                    };
                    limits.occupancy(&demand).unwrap().waves
                };
                assert!(less(next.vgprs, next.sgprs, next.lds) >= next.waves, "{processor}");
                if next.vgprs > 0 {
                    assert!(less(next.vgprs - 1, next.sgprs, next.lds) < next.waves, "{processor}");
                }
                if next.lds > 0 {
                    assert!(less(next.vgprs, next.sgprs, next.lds - 1) < next.waves, "{processor}");
                }
            }
        }
    }

    #[test]
    fn stairs_say_of_every_amount_what_occupancy_says() {
        for processor in ["gfx803", "gfx900", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1250"] {
            let limits = Processor::from_name(processor).unwrap().limits();
            let wave = limits.wave_sizes().next().unwrap();
            let demand = Demand { vgprs: 40, sgprs: 60, lds: 9000, ..Demand::new(wave) };
            for resource in [Limiter::Vgprs, Limiter::Sgprs, Limiter::Lds] {
                let curve = limits.curve(&demand, resource).unwrap();
                assert_eq!(curve[0].first, 0);
                let joined = |pair: &[Stair]| pair[0].last + 1 == pair[1].first;
                assert!(curve.windows(2).all(joined), "{processor} {curve:?}");
                for stair in curve {
                    let middle = stair.first.midpoint(stair.last);
                    for amount in [stair.first, middle, stair.last] {
                        let found = limits.occupancy(&demand.with(resource, amount)).unwrap();
                        let expected = (stair.waves, stair.limiter);
                        assert_eq!((found.waves, found.limiter), expected, "{processor} {amount}");
                    }
                }
            }
            for stair in limits.curve(&demand, Limiter::Workgroups).unwrap() {
                let found =
                    limits.occupancy(&demand.with(Limiter::Workgroups, stair.last)).unwrap();
                assert_eq!(found.waves, stair.waves, "{processor} {stair:?}");
            }
        }
    }

    #[test]
    fn more_than_there_is_leaves_one_wave() {
        let demand = Demand { vgprs: 1000, lds: 1 << 20, ..Demand::new(WaveSize::Wave64) };
        let found = occupancy("gfx942", &demand);
        assert_eq!((found.waves, found.workgroups), (1, 0));
    }

    #[test]
    fn waves_of_a_size_that_there_is_not_have_no_occupancy() {
        let limits = Processor::from_name("gfx1250").unwrap().limits();
        assert_eq!(limits.occupancy(&Demand::new(WaveSize::Wave64)), None);
    }
}
