//! How far a result may be trusted.

/// Where the bits of a result come from.
///
/// ```
/// use hsaco_emu::num::Fidelity;
/// assert!(Fidelity::Exact < Fidelity::Approximate { ulp: 1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fidelity {
    /// Defined by IEEE 754 or by integer arithmetic: there is one right answer.
    Exact,
    /// A model that equals captures of the device.
    Silicon,
    /// The device may differ by at most this many units in the last place of the result's format.
    Approximate {
        /// The bound.
        ulp: u32,
    },
    /// The device sums in an order or width that is not public; the exact result, rounded once for each step of the
    /// instruction, is within the bound of the format but not bit by bit the device's.
    Unordered,
}
