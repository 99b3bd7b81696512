//! The two hash tables by which loaders find symbols.

/// The System V hash of a name.
fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

/// The GNU hash of a name.
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

/// `DT_HASH` over the names of all symbols, the null one's included.
pub(super) fn sysv_table(names: &[&[u8]]) -> Vec<u8> {
    let count = names.len();
    let mut buckets = vec![0_u32; count];
    let mut chains = vec![0_u32; count];
    for (name, index) in names.iter().zip(0_u32..).skip(1) {
        let bucket = buckets.get_mut(sysv_hash(name) as usize % count.max(1));
        if let Some((bucket, chain)) = bucket.zip(chains.get_mut(index as usize)) {
            *chain = std::mem::replace(bucket, index);
        }
    }
    let size = u32::try_from(count).unwrap_or(u32::MAX);
    [size, size].into_iter().chain(buckets).chain(chains).flat_map(u32::to_le_bytes).collect()
}

/// How many buckets `DT_GNU_HASH` has for so many symbols.
fn bucket_count(symbols: usize) -> u32 {
    u32::try_from(symbols / 4).unwrap_or(u32::MAX).max(1)
}

/// Puts names in the order that `DT_GNU_HASH` wants: by bucket.
pub(super) fn sort_by_bucket<T>(symbols: &mut [T], name: impl Fn(&T) -> &[u8]) {
    let buckets = bucket_count(symbols.len());
    symbols.sort_by_key(|it| gnu_hash(name(it)) % buckets);
}

/// `DT_GNU_HASH` over symbols in that order, the first of which has the index `first`.
pub(super) fn gnu_table(names: &[&[u8]], first: u32) -> Vec<u8> {
    const SHIFT: u32 = 26;
    let buckets = bucket_count(names.len());
    let words = (names.len() * 12 / 64 + 1).next_power_of_two();
    let mut bloom = vec![0_u64; words];
    let mut heads = vec![0_u32; buckets as usize];
    let mut chain = Vec::with_capacity(names.len());
    let hashes: Vec<u32> = names.iter().map(|it| gnu_hash(it)).collect();
    for ((&hash, index), next) in
        hashes.iter().zip(first..).zip(hashes.iter().skip(1).map(Some).chain([None]))
    {
        if let Some(word) = bloom.get_mut((hash / 64) as usize % words) {
            *word |= 1 << (hash % 64) | 1 << (hash >> SHIFT & 63);
        }
        let bucket = hash % buckets;
        if let Some(head) = heads.get_mut(bucket as usize).filter(|it| **it == 0) {
            *head = index;
        }
        let is_last = next.is_none_or(|next| next % buckets != bucket);
        chain.push(hash & !1 | u32::from(is_last));
    }
    let words = u32::try_from(words).unwrap_or(u32::MAX);
    let mut table: Vec<u8> =
        [buckets, first, words, SHIFT].into_iter().flat_map(u32::to_le_bytes).collect();
    table.extend(bloom.into_iter().flat_map(u64::to_le_bytes));
    table.extend(heads.into_iter().chain(chain).flat_map(u32::to_le_bytes));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_abi() {
        assert_eq!([sysv_hash(b""), sysv_hash(b"printf")], [0, 0x077905a6]);
        assert_eq!([gnu_hash(b""), gnu_hash(b"printf")], [0x0000_1505, 0x156b_2bb8]);
    }
}
