//! Vectors that are indexed by the ids of what they hold, so that an index of one kind does not end up in a vector of
//! another.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of something, as the vector that holds it gives it out.
pub trait Id: Copy + Ord {
    /// The id of a number.
    fn new(index: usize) -> Self;

    /// The number.
    fn index(self) -> usize;
}

/// Declares types of ids.
///
/// ```
/// use hsaco_bytes::{Id, ids};
/// ids! {
///     /// A block of a function.
///     struct BlockId;
///     /// A loop of a function.
///     pub struct LoopId;
/// }
/// assert!(BlockId::new(1) < BlockId::new(2));
/// assert_eq!(LoopId::new(3).index(), 3);
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $visibility:vis struct $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(u32);

        impl $crate::Id for $name {
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "nothing has that many items")]
            fn new(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok());
                $name(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

/// A vector that ids of one kind index.
///
/// It gives the ids out itself, so that looking one up cannot fail; an id of another vector is a mistake of the caller,
/// and ends in a panic as with a slice.
///
/// ```
/// use hsaco_bytes::{Id, IndexVec, ids};
/// ids! {
///     /// A colour of a palette.
///     pub struct ColourId;
/// }
/// let palette: IndexVec<ColourId, &str> = ["red", "green"].into_iter().collect();
/// let mut uses = palette.filled(0);
/// for colour in palette.ids() {
///     uses[colour] += palette[colour].len();
/// }
/// let green = palette.id(1).unwrap();
/// assert_eq!((uses[green], green.index(), palette.id(2)), (5, 1, None));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IndexVec<I, T> {
    /// An empty vector with room for so many.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Vec::with_capacity(capacity).into()
    }

    /// Adds what has the next id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::new(self.items.len());
        self.items.push(item);
        id
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The id of that number, counted from 0, if there are as many.
    #[must_use]
    pub fn id(&self, index: usize) -> Option<I> {
        (index < self.items.len()).then(|| I::new(index))
    }

    /// All ids.
    pub fn ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        (0..self.items.len()).map(I::new)
    }

    /// All items, in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All items, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// All items with their ids.
    pub fn enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (I::new(index), item))
    }

    /// All items, in the order of their ids.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// A vector for the same ids that holds one value for each.
    #[must_use]
    pub fn filled<U: Clone>(&self, value: U) -> IndexVec<I, U> {
        vec![value; self.items.len()].into()
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        IndexVec { items, ids: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<'a, I, T> IntoIterator for &'a IndexVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<I, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;

    #[inline]
    #[allow(clippy::indexing_slicing, reason = "ids come from this vector")]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    #[allow(clippy::indexing_slicing, reason = "ids come from this vector")]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

/// A list of items for each id, in one allocation.
///
/// ```
/// use hsaco_bytes::{Id, Lists, ids};
/// ids! {
///     struct Node;
/// }
/// let edges = [(Node::new(0), 'a'), (Node::new(2), 'b'), (Node::new(2), 'c')];
/// let edges = Lists::of_sorted(3, &edges);
/// assert_eq!(edges.of(Node::new(2)), ['b', 'c']);
/// assert!(edges.of(Node::new(1)).is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Lists<I, T> {
    ranges: IndexVec<I, (usize, usize)>,
    items: Vec<T>,
}

impl<I: Id, T: Copy> Lists<I, T> {
    /// One for each of `count` ids, from pairs that are sorted by id.
    #[must_use]
    pub fn of_sorted(count: usize, pairs: &[(I, T)]) -> Self {
        let mut ranges = IndexVec::with_capacity(count);
        let mut start = 0;
        for id in (0..count).map(I::new) {
            let rest = pairs.iter().skip(start);
            let end = start + rest.take_while(|(owner, _)| *owner == id).count();
            ranges.push((start, end));
            start = end;
        }
        Lists { ranges, items: pairs.iter().map(|(_, item)| *item).collect() }
    }

    /// The list of an id.
    #[inline]
    #[allow(clippy::indexing_slicing, reason = "ranges are counted in these items")]
    pub fn of(&self, id: I) -> &[T] {
        let (start, end) = self.ranges[id];
        &self.items[start..end]
    }
}
