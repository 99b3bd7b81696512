//! An AMD GPU on the CPU: runs the kernels of code objects.

mod num;
