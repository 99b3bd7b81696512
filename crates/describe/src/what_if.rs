//! Other amounts of registers and LDS: `vgprs=-10,lds=-4K`.

use std::fmt;
use std::str::FromStr;

use hsaco_bytes::parse_size;
use hsaco_isa::occupancy::{Demand, Limiter};
use hsaco_isa::target::Limits;
use serde::Serialize;

/// What a kernel would take instead of what it takes.
///
/// ```
/// use hsaco_describe::what_if::WhatIf;
/// use hsaco_isa::occupancy::Demand;
/// use hsaco_isa::target::WaveSize;
/// let what_if: WhatIf = "vgprs=-10,lds=+4K,workgroup=256".parse()?;
/// let demand = what_if.apply(&Demand { vgprs: 74, ..Demand::new(WaveSize::Wave64) });
/// assert_eq!((demand.vgprs, demand.lds, demand.workgroup), (64, 4096, 256..=256));
/// assert_eq!(what_if.to_string(), "vgprs=-10,lds=+4096,workgroup=256");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf(Vec<(Limiter, Amount)>);

/// More of a resource than a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Beyond {
    /// Of what: `vgprs`, `sgprs`, `lds`, `workgroup`.
    pub resource: &'static str,
    /// What was asked for.
    pub amount: u32,
    /// The most that a kernel can take.
    pub most: u32,
}

/// How much of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Less(u32),
    More(u32),
    Exactly(u32),
}

/// The resources, each by the name that it has here.
const NAMES: [(&str, Limiter); 4] = [
    ("vgprs", Limiter::Vgprs),
    ("sgprs", Limiter::Sgprs),
    ("lds", Limiter::Lds),
    ("workgroup", Limiter::Workgroups),
];

/// The name that a resource has here.
fn name(resource: Limiter) -> &'static str {
    NAMES.iter().find(|(_, it)| *it == resource).map_or("", |it| it.0)
}

impl WhatIf {
    /// What of the changed demand is more than a device has.
    ///
    /// ```
    /// use hsaco_describe::what_if::{Beyond, WhatIf};
    /// use hsaco_isa::Processor;
    /// use hsaco_isa::occupancy::Demand;
    /// use hsaco_isa::target::WaveSize;
    /// let what_if: WhatIf = "vgprs=300,lds=4K".parse()?;
    /// let limits = Processor::from_name("gfx1100").unwrap().limits();
    /// let beyond = what_if.beyond(&what_if.apply(&Demand::new(WaveSize::Wave32)), limits);
    /// assert_eq!(beyond, [Beyond { resource: "vgprs", amount: 300, most: 256 }]);
    /// # Ok::<(), String>(())
    /// ```
    #[must_use]
    pub fn beyond(&self, demand: &Demand, limits: &Limits) -> Vec<Beyond> {
        let beyond = |(resource, _): &(Limiter, Amount)| {
            let (amount, most) = (demand.amount(*resource), limits.most(*resource));
            (amount > most).then_some(Beyond { resource: name(*resource), amount, most })
        };
        self.0.iter().filter_map(beyond).collect()
    }

    /// The size of workgroups, if it is given.
    #[must_use]
    pub fn workgroup(&self, demand: &Demand) -> Option<u32> {
        let is_given = self.0.iter().any(|(resource, _)| *resource == Limiter::Workgroups);
        is_given.then(|| demand.amount(Limiter::Workgroups))
    }

    /// The demand of the kernel as it would be. Nothing gets less than 0.
    #[must_use]
    pub fn apply(&self, demand: &Demand) -> Demand {
        let change = |demand: Demand, (resource, amount): &(Limiter, Amount)| {
            let before = demand.amount(*resource);
            let after = match *amount {
                Amount::Less(by) => before.saturating_sub(by),
                Amount::More(by) => before.saturating_add(by),
                Amount::Exactly(amount) => amount,
            };
            demand.with(*resource, after)
        };
        self.0.iter().fold(demand.clone(), change)
    }
}

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let changes: Vec<(Limiter, Amount)> =
            text.split(',').map(change).collect::<Result<_, _>>()?;
        let is_twice = |at: usize| {
            let (before, rest) = changes.split_at(at);
            rest.first().is_some_and(|(it, _)| before.iter().any(|(other, _)| it == other))
        };
        match (0..changes.len()).any(is_twice) {
            true => Err(format!("'{text}' changes a resource twice")),
            false => Ok(Self(changes)),
        }
    }
}

/// One change: `vgprs=-10`.
fn change(text: &str) -> Result<(Limiter, Amount), String> {
    let (name, amount) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' is not NAME=AMOUNT such as vgprs=-10 or lds=32K"))?;
    let found = NAMES.iter().find(|(it, _)| *it == name.trim());
    let (_, resource) = found.ok_or_else(|| {
        let names: Vec<&str> = NAMES.iter().map(|it| it.0).collect();
        format!("'{}' is none of {}", name.trim(), names.join(", "))
    })?;
    let amount = amount.trim();
    let number = |digits: &str| {
        let number = parse_size(digits).map_err(|error| format!("{name}={amount}: {error}"))?;
        u32::try_from(number).map_err(|_| format!("{name}={amount}: more than any device has"))
    };
    let amount = match amount.split_at_checked(1) {
        Some(("-", digits)) => Amount::Less(number(digits)?),
        Some(("+", digits)) => Amount::More(number(digits)?),
        _ => Amount::Exactly(number(amount)?),
    };
    match (resource, amount) {
        (Limiter::Workgroups, Amount::Exactly(0)) => Err("a workgroup has work-items".to_owned()),
        _ => Ok((*resource, amount)),
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (resource, amount)) in self.0.iter().enumerate() {
            let name = name(*resource);
            let comma = if at > 0 { "," } else { "" };
            match amount {
                Amount::Less(by) => write!(f, "{comma}{name}=-{by}")?,
                Amount::More(by) => write!(f, "{comma}{name}=+{by}")?,
                Amount::Exactly(amount) => write!(f, "{comma}{name}={amount}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        for (text, error) in [
            ("", "'' is not NAME=AMOUNT such as vgprs=-10 or lds=32K"),
            ("vgpr=-1", "'vgpr' is none of vgprs, sgprs, lds, workgroup"),
            ("lds=-99999999999", "lds=-99999999999: more than any device has"),
            ("vgprs=1,lds=0,vgprs=2", "'vgprs=1,lds=0,vgprs=2' changes a resource twice"),
            ("workgroup=0", "a workgroup has work-items"),
        ] {
            assert_eq!(text.parse::<WhatIf>().unwrap_err(), error);
        }
        assert!("vgprs=ten".parse::<WhatIf>().is_err());
    }
}
