//! What callers decide where the erratum can be read in more than one way.

/// What becomes of cluster loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterLoads {
    /// Plain global loads, in place.
    #[default]
    Global,
    /// Kept, with an empty workgroup mask in M0 around each.
    Masked,
}

/// Whether block-16 scaling exists on A0; those who ought to know disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleSixteen {
    /// It does not: emulate it with block-32 scaling.
    #[default]
    Emulate,
    /// It does for 16x16: keep these.
    Native,
}

/// How rules read what is not settled. The default is the safer reading.
///
/// ```
/// let mut options = hsaco_patch::Options::default();
/// options.set("entry-stub").unwrap();
/// assert!(options.entry_stub);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches of the command line")]
pub struct Options {
    /// What becomes of cluster loads.
    pub cluster_loads: ClusterLoads,
    /// Rewrite `s_barrier_signal_isfirst` of every barrier, not only of the cluster's.
    pub every_isfirst: bool,
    /// Put a vector memory instruction before every kernel's first.
    pub entry_stub: bool,
    /// Whether block-16 scaling is native.
    pub scale_sixteen: ScaleSixteen,
    /// Count the split halves of two-address LDS instructions in the waits that follow, instead of draining.
    pub precise_waits: bool,
}

/// A switch of the command line.
struct Switch {
    name: &'static str,
    help: &'static str,
    /// The rule that it is about.
    rule: &'static str,
    turn_on: fn(&mut Options),
}

const SWITCHES: [Switch; 5] = [
    Switch {
        name: "cluster-mask",
        help: "keep cluster loads and clear their workgroup mask",
        rule: "cluster-load",
        turn_on: |it| it.cluster_loads = ClusterLoads::Masked,
    },
    Switch {
        name: "every-isfirst",
        help: "rewrite s_barrier_signal_isfirst of every barrier",
        rule: "barrier-isfirst",
        turn_on: |it| it.every_isfirst = true,
    },
    Switch {
        name: "entry-stub",
        help: "a vector memory instruction before every kernel's first",
        rule: "entry-stub",
        turn_on: |it| it.entry_stub = true,
    },
    Switch {
        name: "native-scale16",
        help: "keep 16x16 block-16 scaled matrix instructions",
        rule: "scale-sixteen",
        turn_on: |it| it.scale_sixteen = ScaleSixteen::Native,
    },
    Switch {
        name: "precise-waits",
        help: "count split LDS accesses in later waits instead of draining",
        rule: "ds-two-address",
        turn_on: |it| it.precise_waits = true,
    },
];

/// Switches that rule sets have taken the place of.
const REPLACED: [(&str, &str); 1] = [("strict-b0", "gfx1250-b0-strict")];

impl Options {
    /// The switches, each with what it does.
    pub fn switches() -> impl Iterator<Item = (&'static str, &'static str)> {
        SWITCHES.iter().map(|it| (it.name, it.help))
    }

    /// The names of the switches that are on.
    ///
    /// ```
    /// let mut options = hsaco_patch::Options::default();
    /// options.set("entry-stub").unwrap();
    /// assert_eq!(options.names().collect::<Vec<_>>(), ["entry-stub"]);
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let is_on = |switch: &&Switch| {
            let mut with = self.clone();
            (switch.turn_on)(&mut with);
            with == *self
        };
        SWITCHES.iter().filter(is_on).map(|it| it.name)
    }

    /// The rule that a switch is about.
    ///
    /// ```
    /// assert_eq!(hsaco_patch::Options::rule_of("cluster-mask"), Some("cluster-load"));
    /// ```
    #[must_use]
    pub fn rule_of(name: &str) -> Option<&'static str> {
        SWITCHES.iter().find(|it| it.name == name).map(|it| it.rule)
    }

    /// Turns a switch on; what there is instead, if there is none of this name.
    pub fn set(&mut self, name: &str) -> Result<(), String> {
        if let Some(switch) = SWITCHES.iter().find(|it| it.name == name) {
            (switch.turn_on)(self);
            return Ok(());
        }
        Err(match REPLACED.iter().find(|(it, _)| *it == name) {
            Some((_, set)) => format!("no option `{name}`; it is a rule set of its own: {set}"),
            None => {
                let names: Vec<&str> = SWITCHES.iter().map(|it| it.name).collect();
                format!("no option `{name}`; there are {}", names.join(", "))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RuleSet;

    #[test]
    fn every_switch_is_about_a_rule_and_every_hint_names_a_set() {
        let rules: Vec<&str> =
            RuleSet::all().iter().flat_map(RuleSet::rules).map(|it| it.name).collect();
        assert!(SWITCHES.iter().all(|it| rules.contains(&it.rule)));
        assert!(REPLACED.iter().all(|(_, set)| RuleSet::by_name(set).is_some()));
    }
}
