//! What is known of a launch: rules say more where it is.

/// What is known of a launch, possible or not; what is not known is `None`. (A launch that can be is `hsaco_kernarg::Launch`.)
///
/// ```
/// use hsaco_check::LaunchFacts;
/// let launch = LaunchFacts { workgroup: Some([256, 2, 1]), ..LaunchFacts::default() };
/// assert_eq!(launch.work_items(), Some(512));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchFacts {
    /// Work-items of a workgroup, in each dimension.
    pub workgroup: Option<[u32; 3]>,
    /// Workgroups of the grid, in each dimension.
    pub grid: Option<[u32; 3]>,
    /// Bytes of LDS that the launch adds to what the kernel has.
    pub dynamic_lds: u64,
}

impl LaunchFacts {
    /// Work-items of a workgroup in all.
    #[must_use]
    pub fn work_items(&self) -> Option<u64> {
        self.workgroup.map(|sizes| sizes.iter().fold(1, |all, &size| all * u64::from(size)))
    }
}
