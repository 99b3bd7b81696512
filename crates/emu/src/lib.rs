//! An AMD GPU on the CPU: runs the kernels of code objects.

pub mod num;
