//! Stored distributions: no bytes may panic the reader; accepted ones are written back as they were, and add up.

use weir_stats::CompactHistogram;

pub fn run(bytes: &[u8]) {
    let Ok(read) = CompactHistogram::from_bytes(bytes) else {
        return;
    };
    assert_eq!(read.to_bytes(), bytes);
    let counted = read
        .buckets()
        .map(|(_, _, count)| u128::from(count))
        .sum::<u128>();
    assert_eq!(counted, u128::from(read.count()));
    let quantiles: Vec<_> = [0.0, 0.1, 0.5, 0.9, 1.0].map(|q| read.quantile(q)).to_vec();
    assert!(quantiles.is_sorted());
    let mut twice = read.clone();
    twice.merge(&read);
    assert_eq!((twice.min(), twice.max()), (read.min(), read.max()));
    assert_eq!(twice.buckets().count(), read.buckets().count());
}
