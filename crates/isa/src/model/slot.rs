//! What an operand's bits mean, and its name.

use super::generated::{KINDS, OPERAND_NAMES};
use super::table::{Kind, Slot};

impl Slot {
    /// What its bits mean.
    #[inline]
    pub(crate) fn kind(&self) -> &'static Kind {
        KINDS.get(usize::from(self.kind)).unwrap_or(&KINDS[0])
    }

    /// Its name.
    #[inline]
    pub(crate) fn label(&self) -> Option<&'static str> {
        OPERAND_NAMES.get(usize::from(self.name)).copied()
    }

    pub(crate) fn is_named_like(&self, prefix: &str) -> bool {
        OPERAND_NAMES.get(usize::from(self.name)).is_some_and(|name| name.starts_with(prefix))
    }
}
