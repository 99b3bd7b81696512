//! What is known of a launch: rules say more where it is.

/// Facts of a launch; what is not known is `None`.
///
/// ```
/// use hsaco_check::Launch;
/// let launch = Launch { workgroup: Some([256, 2, 1]), ..Launch::default() };
/// assert_eq!(launch.work_items(), Some(512));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Work-items of a workgroup, in each dimension.
    pub workgroup: Option<[u32; 3]>,
    /// Workgroups of the grid, in each dimension.
    pub grid: Option<[u32; 3]>,
    /// Bytes of LDS that the launch adds to what the kernel has.
    pub dynamic_lds: u64,
}

impl Launch {
    /// Work-items of a workgroup in all.
    #[must_use]
    pub fn work_items(&self) -> Option<u64> {
        self.workgroup.map(|sizes| sizes.iter().fold(1, |all, &size| all * u64::from(size)))
    }
}
