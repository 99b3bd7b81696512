//! A launch: the grid, its workgroups, and what of hidden arguments follows from them or is supplied.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_object::metadata::Hidden;

const CONTEXT: &str = "launch";

/// How a kernel is launched.
///
/// ```
/// use hsaco_kernarg::Launch;
/// use hsaco_object::metadata::Hidden;
/// let launch = Launch::new(&[100, 3], &[32, 1])?;
/// assert_eq!(launch.hidden_value(Hidden::BlockCountX), Some(3));
/// assert_eq!(launch.hidden_value(Hidden::RemainderX), Some(4));
/// assert_eq!(launch.hidden_value(Hidden::GridDims), Some(2));
/// assert_eq!(launch.hidden_value(Hidden::HeapV1), None);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    dimensions: u8,
    work_items: [u32; 3],
    workgroup: [u16; 3],
    dynamic_lds: u32,
    supplied: [Option<u64>; Hidden::COUNT],
}

impl Launch {
    /// So many work-items in workgroups of so many, with one number for each dimension.
    pub fn new(work_items: &[u32], workgroup: &[u32]) -> Result<Self> {
        let dimensions = dimensions(work_items.len(), workgroup.len())?;
        let workgroup = workgroup_size(workgroup)?;
        let mut all = [1; 3];
        for (axis, (place, &size)) in all.iter_mut().zip(work_items).enumerate() {
            if size == 0 {
                let detail = format!("the grid has no work-items in {}", name(axis));
                return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
            }
            *place = size;
        }
        let supplied = [None; Hidden::COUNT];
        Ok(Self { dimensions, work_items: all, workgroup, dynamic_lds: 0, supplied })
    }

    /// So many whole workgroups of so many work-items.
    ///
    /// ```
    /// use hsaco_kernarg::Launch;
    /// assert_eq!(Launch::of_workgroups(&[4, 2], &[256, 1])?.work_items(), [1024, 2, 1]);
    /// let error = Launch::of_workgroups(&[1 << 31], &[2]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "limit exceeded: launch: 2147483648 workgroups of 2 work-items in x are more than 4294967295 work-items"
    /// );
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn of_workgroups(counts: &[u32], workgroup: &[u32]) -> Result<Self> {
        dimensions(counts.len(), workgroup.len())?;
        let mut grid = [1; 3];
        for (axis, ((place, &count), &size)) in
            grid.iter_mut().zip(counts).zip(workgroup).enumerate()
        {
            *place = count.checked_mul(size).ok_or_else(|| {
                let detail = format!(
                    "{count} workgroups of {size} work-items in {} are more than {} work-items",
                    name(axis),
                    u32::MAX
                );
                Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
            })?;
        }
        Self::new(grid.get(..counts.len()).unwrap_or(&grid), workgroup)
    }

    /// The same with LDS on top of what the kernel declares.
    #[must_use]
    pub fn with_dynamic_lds(self, bytes: u32) -> Self {
        Self { dynamic_lds: bytes, ..self }
    }

    /// The same with the value of a hidden argument, instead of what follows from the grid if anything does.
    pub fn with_hidden(mut self, kind: Hidden, value: u64) -> Result<Self> {
        let bits = kind.size().map_or(64, |size| size * 8);
        if bits < 64 && value >> bits != 0 {
            let detail = format!("{} is {value:#x}, and has {bits} bits", kind.name());
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
        }
        if let Some(place) = self.supplied.get_mut(kind.index()) {
            *place = Some(value);
        }
        Ok(self)
    }

    /// Dimensions of the grid: 1 to 3.
    pub fn dimensions(&self) -> u8 {
        self.dimensions
    }

    /// Work-items of the grid; 1 in dimensions that are not used.
    pub fn work_items(&self) -> [u32; 3] {
        self.work_items
    }

    /// Work-items of a workgroup; 1 in dimensions that are not used.
    pub fn workgroup(&self) -> [u16; 3] {
        self.workgroup
    }

    /// Work-items of a workgroup in all.
    pub fn workgroup_items(&self) -> u64 {
        self.workgroup.iter().map(|&it| u64::from(it)).product()
    }

    /// Bytes of LDS on top of what the kernel declares.
    pub fn dynamic_lds(&self) -> u32 {
        self.dynamic_lds
    }

    /// What a hidden argument holds in this launch; none where the caller would have to supply it.
    pub fn hidden_value(&self, kind: Hidden) -> Option<u64> {
        self.hidden_values().get(kind.index()).copied().flatten()
    }

    /// The same for all kinds.
    pub(crate) fn hidden_values(&self) -> [Option<u64>; Hidden::COUNT] {
        let mut values = self.supplied;
        let mut computed = |kind: Hidden, value: u64| {
            if let Some(place) = values.get_mut(kind.index()) {
                place.get_or_insert(value);
            }
        };
        const AXES: [[Hidden; 4]; 3] = [
            [Hidden::BlockCountX, Hidden::GroupSizeX, Hidden::RemainderX, Hidden::GlobalOffsetX],
            [Hidden::BlockCountY, Hidden::GroupSizeY, Hidden::RemainderY, Hidden::GlobalOffsetY],
            [Hidden::BlockCountZ, Hidden::GroupSizeZ, Hidden::RemainderZ, Hidden::GlobalOffsetZ],
        ];
        for ([count, size, remainder, offset], (grid, group)) in
            AXES.into_iter().zip(self.work_items.into_iter().zip(self.workgroup))
        {
            // The constructors take no workgroup of 0.
            let group32 = u32::from(group).max(1);
            computed(count, u64::from(grid / group32));
            computed(size, u64::from(group));
            computed(remainder, u64::from(grid % group32));
            computed(offset, 0);
        }
        computed(Hidden::GridDims, u64::from(self.dimensions));
        computed(Hidden::DynamicLdsSize, u64::from(self.dynamic_lds));
        values
    }
}

fn name(axis: usize) -> &'static str {
    ["x", "y", "z"].get(axis).copied().unwrap_or("?")
}

fn dimensions(grid: usize, workgroup: usize) -> Result<u8> {
    if grid != workgroup || !(1..=3).contains(&grid) {
        let detail = format!(
            "a grid of {grid} dimensions in workgroups of {workgroup}; both must have the same 1 to 3"
        );
        return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail));
    }
    Ok(u8::try_from(grid).unwrap_or(3))
}

/// The size of a workgroup as packets hold it: each dimension 1 to 65535.
fn workgroup_size(sizes: &[u32]) -> Result<[u16; 3]> {
    let mut all = [1; 3];
    for (axis, (place, &size)) in all.iter_mut().zip(sizes).enumerate() {
        *place = u16::try_from(size).ok().filter(|&it| it != 0).ok_or_else(|| {
            let detail = format!("a workgroup of {size} in {}; it must be 1 to 65535", name(axis));
            Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
        })?;
    }
    Ok(all)
}

/// Bytes of a block of a kernarg ring, and its alignment.
pub const BLOCK_SIZE: u64 = 64;

/// How many blocks of a kernarg ring a segment takes: at least one.
///
/// ```
/// use hsaco_kernarg::blocks;
/// assert_eq!(blocks(65, 8)?, 2);
/// assert_eq!(blocks(0, 8)?, 1);
/// assert!(blocks(u64::MAX, 8).is_err());
/// assert!(blocks(64, 128).is_err());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn blocks(size: u64, alignment: u64) -> Result<u32> {
    if !alignment.is_power_of_two() || alignment > BLOCK_SIZE {
        let detail = format!(
            "an alignment of {alignment}; blocks of {BLOCK_SIZE} bytes have powers of two up to {BLOCK_SIZE}"
        );
        return Err(Error::new(ErrorKind::LimitExceeded, crate::CONTEXT, detail));
    }
    u32::try_from(size.div_ceil(BLOCK_SIZE).max(1)).map_err(|_| {
        let detail = format!("{size} bytes are more than {} blocks of {BLOCK_SIZE}", u32::MAX);
        Error::new(ErrorKind::LimitExceeded, crate::CONTEXT, detail)
    })
}

/// How many 8-byte words of a command buffer a segment takes; a command counts them in 16 bits.
///
/// ```
/// use hsaco_kernarg::command_words;
/// assert_eq!(command_words(524_280)?, 65535);
/// assert!(command_words(524_281).is_err());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn command_words(size: u64) -> Result<u16> {
    u16::try_from(size.div_ceil(8)).map_err(|_| {
        let detail = format!("{size} bytes are more than {} words of 8", u16::MAX);
        Error::new(ErrorKind::LimitExceeded, crate::CONTEXT, detail)
    })
}

/// Bytes of LDS that a launch takes: what the kernel declares and what the launch adds, within the device's limit.
///
/// ```
/// use hsaco_kernarg::group_segment;
/// assert_eq!(group_segment(1000, 64536, 65536)?, 65536);
/// assert_eq!(
///     group_segment(1000, 64537, 65536).unwrap_err().to_string(),
///     "limit exceeded: launch: 1000 bytes of static and 64537 of dynamic LDS are more than 65536"
/// );
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn group_segment(fixed: u32, dynamic: u32, limit: u32) -> Result<u32> {
    fixed.checked_add(dynamic).filter(|&all| all <= limit).ok_or_else(|| {
        let detail =
            format!("{fixed} bytes of static and {dynamic} of dynamic LDS are more than {limit}");
        Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
    })
}
