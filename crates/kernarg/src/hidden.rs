//! Hidden arguments: what the runtime adds behind those of the source, each at its own declared offset.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_object::metadata::{Hidden, ValueKind};

use crate::declaration::Declared;
use crate::launch::Launch;
use crate::{CONTEXT, range};

/// Some kinds of hidden arguments.
///
/// ```
/// use hsaco_kernarg::HiddenSet;
/// use hsaco_object::metadata::Hidden;
/// let set: HiddenSet = [Hidden::HeapV1, Hidden::QueuePtr].into_iter().collect();
/// assert!(set.contains(Hidden::HeapV1));
/// assert_eq!(set.iter().map(Hidden::name).collect::<Vec<_>>(), ["hidden_heap_v1", "hidden_queue_ptr"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HiddenSet(u32);

impl HiddenSet {
    /// Adds one.
    pub fn insert(&mut self, kind: Hidden) {
        self.0 |= 1 << kind.index();
    }

    /// True when it is one of them.
    pub const fn contains(self, kind: Hidden) -> bool {
        self.0 & 1 << kind.index() != 0
    }

    /// True when there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them, in the order of [`Hidden::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Hidden> {
        Hidden::ALL.iter().copied().filter(move |it| self.contains(*it))
    }
}

impl FromIterator<Hidden> for HiddenSet {
    fn from_iter<I: IntoIterator<Item = Hidden>>(kinds: I) -> Self {
        let mut set = Self::default();
        kinds.into_iter().for_each(|it| set.insert(it));
        set
    }
}

/// One hidden argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HiddenField {
    /// What it holds; none for a kind that this crate has no name for.
    pub kind: Option<Hidden>,
    /// Where it begins in the segment.
    pub offset: u32,
    /// Its size.
    pub size: u32,
    unknown: Option<Box<str>>,
}

impl HiddenField {
    /// What metadata calls it.
    pub fn name(&self) -> &str {
        match (self.kind, &self.unknown) {
            (Some(kind), _) => kind.name(),
            (None, Some(name)) => name,
            (None, None) => "hidden",
        }
    }

    /// Where it ends.
    pub fn end(&self) -> u32 {
        self.offset.saturating_add(self.size)
    }
}

/// The hidden arguments of a kernel: each at its own offset, none assumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct HiddenBlock {
    fields: Vec<HiddenField>,
    /// What to write: kind, offset, size. Unused slots and unknown kinds only have to be zero.
    writes: Vec<(Hidden, u32, u32)>,
    base: Option<u32>,
}

/// What a buffer's hidden arguments were left without.
///
/// Zero is a value: a kernel that follows a null heap pointer faults. Packing reports which
/// hidden arguments were not supplied.
#[derive(Clone, Copy, Debug)]
pub struct Unsupplied<'l> {
    left_zero: HiddenSet,
    fields: &'l [HiddenField],
}

impl<'l> Unsupplied<'l> {
    /// The kinds that are zero because they were not supplied.
    pub fn left_zero(&self) -> HiddenSet {
        self.left_zero
    }

    /// The names of all that are zero because they were not supplied, kinds without a name here included.
    pub fn names(&self) -> impl Iterator<Item = &'l str> + use<'l> {
        let set = self.left_zero;
        let left = move |it: &&HiddenField| it.kind.is_none_or(|kind| set.contains(kind));
        self.fields.iter().filter(left).map(HiddenField::name)
    }
}

impl HiddenBlock {
    /// Holds the hidden arguments among `arguments` to the rules; all must end within `segment`.
    pub(crate) fn new(arguments: &[Declared], visible_end: u32, segment: u32) -> Result<Self> {
        let count = arguments.iter().filter(|it| it.kind.is_hidden()).count();
        let mut block = Self {
            fields: Vec::with_capacity(count),
            writes: Vec::with_capacity(count),
            base: None,
        };
        let mut seen = HiddenSet::default();
        for argument in arguments {
            let kind = match &argument.kind {
                ValueKind::Hidden(kind) => Some(*kind),
                other if other.is_hidden() => None,
                _ => continue,
            };
            block.add(argument, kind, segment, &mut seen)?;
        }
        if let Some(base) = block.base
            && base < visible_end
        {
            let detail = format!(
                "hidden arguments from offset {base} on are interleaved with visible ones, which end at \
                 {visible_end}"
            );
            return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
        }
        block.check_overlap()?;
        block.check_block_counts()?;
        Ok(block)
    }

    fn add(
        &mut self,
        argument: &Declared,
        kind: Option<Hidden>,
        segment: u32,
        seen: &mut HiddenSet,
    ) -> Result<()> {
        let name = argument.kind.name();
        let (offset, size) = range(argument.offset, argument.size, segment, || name.to_owned())?;
        if let Some(expected) = kind.and_then(Hidden::size)
            && expected != size
        {
            let detail = format!("{name} has {size} bytes, and must have {expected}");
            return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
        }
        if let Some(kind) = kind.filter(|&it| it != Hidden::None) {
            if seen.contains(kind) {
                let detail = format!("{name} is declared twice");
                return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
            }
            seen.insert(kind);
            self.writes.push((kind, offset, size));
        }
        self.base = Some(self.base.map_or(offset, |base| base.min(offset)));
        let unknown = kind.is_none().then(|| name.into());
        self.fields.push(HiddenField { kind, offset, size, unknown });
        Ok(())
    }

    fn check_overlap(&self) -> Result<()> {
        let sorted = self.fields.is_sorted_by_key(|it| it.offset);
        if sorted {
            return check_disjoint(self.fields.iter());
        }
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_by_key(|it| it.offset);
        check_disjoint(fields.into_iter())
    }

    /// Devices patch the three counts of an indirect launch as one `u32[3]`.
    fn check_block_counts(&self) -> Result<()> {
        let place = |kind| self.writes.iter().find(|it| it.0 == kind).map(|it| it.1);
        let counts = [Hidden::BlockCountX, Hidden::BlockCountY, Hidden::BlockCountZ].map(place);
        let wrong = match counts {
            [None, None, None] => return Ok(()),
            [Some(x), Some(y), Some(z)] => {
                let adjacent = x.checked_add(4) == Some(y) && y.checked_add(4) == Some(z);
                match (adjacent, x % 4) {
                    (true, 0) => return Ok(()),
                    (true, _) => format!("hidden_block_count_x is at {x}, no multiple of 4"),
                    (false, _) => format!(
                        "hidden_block_count_x, _y and _z are at {x}, {y} and {z}, not one after the other"
                    ),
                }
            }
            _ => "hidden_block_count_x, _y and _z are not all declared".to_owned(),
        };
        Err(Error::new(ErrorKind::Malformed, CONTEXT, wrong))
    }

    /// Where the first of them begins.
    pub(crate) fn base(&self) -> Option<u32> {
        self.base
    }

    pub(crate) fn fields(&self) -> &[HiddenField] {
        &self.fields
    }

    /// Where the last of them ends.
    pub(crate) fn end(&self) -> u32 {
        self.fields.iter().map(HiddenField::end).max().unwrap_or(0)
    }

    /// Writes all of them into a segment that is zero from the first of them on.
    pub(crate) fn write(&self, launch: Option<&Launch>, segment: &mut [u8]) -> Unsupplied<'_> {
        let mut left_zero = HiddenSet::default();
        if !self.writes.is_empty() {
            let values = launch.map(Launch::hidden_values);
            for &(kind, offset, size) in &self.writes {
                let value = values.as_ref().and_then(|it| it.get(kind.index()).copied().flatten());
                match value {
                    Some(value) => store(segment, offset, size, value),
                    None => left_zero.insert(kind),
                }
            }
        }
        Unsupplied { left_zero, fields: &self.fields }
    }
}

fn check_disjoint<'f>(fields: impl Iterator<Item = &'f HiddenField>) -> Result<()> {
    let mut before: Option<&HiddenField> = None;
    for field in fields {
        if let Some(before) = before.filter(|it| it.end() > field.offset) {
            let (name, end, at) = (before.name(), before.end(), field.offset);
            let detail = format!("{name}, which ends at {end}, overlaps {} at {at}", field.name());
            return Err(Error::new(ErrorKind::Malformed, CONTEXT, detail));
        }
        before = Some(field);
    }
    Ok(())
}

/// The low `size` bytes of a value. Where they go has been checked when the layout was made.
fn store(segment: &mut [u8], offset: u32, size: u32, value: u64) {
    let bytes = value.to_le_bytes();
    let target = segment.get_mut(offset as usize..).and_then(|it| it.get_mut(..size as usize));
    if let Some((target, source)) = target.zip(bytes.get(..size as usize)) {
        target.copy_from_slice(source);
    }
}
