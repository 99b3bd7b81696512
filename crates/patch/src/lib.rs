//! Rewriting AMD GPU code objects by rules.
//!
//! A [`Rule`] looks at one instruction of an analysed function and answers what is to be done; it changes
//! nothing. [`RuleSet`] is a table of rules that the compiler has checked.
//!
//! ```
//! let set = hsaco_patch::RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
//! assert!(set.rules().iter().any(|rule| rule.name == "clause"));
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::cast_possible_truncation, reason = "code of one object is shorter than 4 GiB")]

mod body;
mod flight;
mod lease;
mod matrix;
mod option;
mod plan;
mod refusal;
pub mod rule;
mod scan;
mod view;

pub use lease::{Budget, Leases};
pub use option::{ClusterLoads, Options, ScaleSixteen};
pub use plan::{Edit, Plan};
pub use refusal::{Refusal, RefusalKind};
pub use rule::{Answer, Example, Outcome, Requirement, Rule, RuleSet, Stage, Trigger};
pub use scan::{Filter, Hit};
pub use view::{Site, Tools, View};
