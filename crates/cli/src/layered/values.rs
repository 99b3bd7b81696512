//! A value for each of a number of things that are known by their numbers.

/// The values; a number that stands for nothing has the default value.
#[derive(Clone, Debug, Default)]
pub(super) struct Values<T>(Vec<T>);

impl<T: Copy + Default> Values<T> {
    pub(super) fn new(len: usize, value: T) -> Self {
        Self(vec![value; len])
    }

    pub(super) fn at(&self, number: usize) -> T {
        self.0.get(number).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, number: usize, value: T) {
        if let Some(place) = self.0.get_mut(number) {
            *place = value;
        }
    }

    pub(super) fn push(&mut self, value: T) {
        self.0.push(value);
    }
}

impl<T: Copy + Default> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Lists of values, one for each number.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    starts: Vec<usize>,
    values: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// From pairs of a number and a value, in any order; the values of one number keep theirs.
    pub(super) fn new(len: usize, mut pairs: Vec<(usize, T)>) -> Self {
        pairs.sort_by_key(|pair| pair.0);
        let starts = (0..=len).map(|at| pairs.partition_point(|pair| pair.0 < at)).collect();
        Self { starts, values: pairs.into_iter().map(|pair| pair.1).collect() }
    }

    pub(super) fn of(&self, number: usize) -> &[T] {
        let bound = |at: usize| self.starts.get(at).copied().unwrap_or(self.values.len());
        self.values.get(bound(number)..bound(number + 1)).unwrap_or_default()
    }
}

/// Numbers in an order in which the first of each pair comes before the second; those on a cycle are
/// left out.
pub(super) fn sorted(len: usize, below: &Lists<usize>) -> Vec<usize> {
    let mut waits_for = Values::new(len, 0_usize);
    for above in 0..len {
        for &number in below.of(above) {
            waits_for.set(number, waits_for.at(number) + 1);
        }
    }
    let mut order: Vec<usize> = (0..len).filter(|&it| waits_for.at(it) == 0).collect();
    let mut done = 0;
    while let Some(&above) = order.get(done) {
        done += 1;
        for &number in below.of(above) {
            waits_for.set(number, waits_for.at(number).saturating_sub(1));
            if waits_for.at(number) == 0 {
                order.push(number);
            }
        }
    }
    order
}
