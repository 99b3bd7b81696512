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
    pub(super) fn new(len: usize, pairs: Vec<(usize, T)>) -> Self {
        let mut starts = vec![0; len + 1];
        for &(number, _) in &pairs {
            if let Some(after) = starts.get_mut(number + 1) {
                *after += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut values: Vec<T> = pairs.iter().take(sum).map(|it| it.1).collect();
        for (number, value) in pairs {
            if let Some(at) = next.get_mut(number)
                && let Some(place) = values.get_mut(*at)
            {
                *place = value;
                *at += 1;
            }
        }
        Self { starts, values }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_order_of_their_values() {
        let lists = Lists::new(3, vec![(2, 'a'), (0, 'b'), (7, 'x'), (2, 'c'), (0, 'd')]);
        assert_eq!(lists.of(0), ['b', 'd']);
        assert_eq!(lists.of(1), []);
        assert_eq!(lists.of(2), ['a', 'c']);
        assert_eq!(lists.of(3), []);
    }
}
