//! Tables that a program made.

pub(crate) mod unprintable;
