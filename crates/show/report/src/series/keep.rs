//! Keeps the first of many rows by some rank, in bounded memory. It must not know what the rows are.

use std::collections::BinaryHeap;

use crate::data::{Series, Values};

/// Up to a number of rows of `N` values, those of lowest rank.
pub(super) struct Keep<const N: usize> {
    most: usize,
    seen: u64,
    /// The row that would go first is on top.
    heap: BinaryHeap<((i64, i64), [i64; N])>,
}

impl<const N: usize> Keep<N> {
    pub(super) fn new(most: usize) -> Self {
        Keep {
            most,
            seen: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// Offers a row.
    pub(super) fn offer(&mut self, rank: (i64, i64), row: [i64; N]) {
        self.seen += 1;
        if self.heap.len() < self.most {
            self.heap.push((rank, row));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && (rank, row) < *worst
        {
            *worst = (rank, row);
        }
    }

    /// How many rows were offered and not kept.
    fn left_out(&self) -> u64 {
        self.seen - self.heap.len() as u64
    }

    /// The rows in order of their values from left to right, and how many were left out.
    pub(super) fn into_rows(self) -> (Vec<[i64; N]>, u64) {
        let left_out = self.left_out();
        let mut rows: Vec<[i64; N]> = self.heap.into_iter().map(|(_, row)| row).collect();
        rows.sort_unstable();
        (rows, left_out)
    }

    /// The rows as a series, ordered by their values from left to right; none without rows. The first value of a row
    /// stands for one of `words`.
    pub(super) fn into_series(self, names: [&'static str; N], words: &[&'static str]) -> Option<Series> {
        let (rows, left_out) = self.into_rows();
        if rows.is_empty() {
            return None;
        }
        let columns = names
            .into_iter()
            .enumerate()
            .map(|(index, name)| {
                let values = if index == 0 {
                    let word = |row: &[i64; N]| {
                        let word = usize::try_from(row[0]).ok().and_then(|place| words.get(place));
                        word.copied().unwrap_or_default().into()
                    };
                    Values::Words(rows.iter().map(word).collect())
                } else {
                    Values::Integers(rows.iter().map(|row| Some(row[index])).collect())
                };
                (name, values)
            })
            .collect();
        Some(Series {
            left_out,
            ..Series::new(rows.len() as u64, None, columns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_ranks_stay_and_the_others_are_counted() {
        let mut keep = Keep::new(3);
        for (rank, row) in [(5, 50), (1, 10), (4, 40), (1, 11), (9, 90)] {
            keep.offer((rank, 0), [row % 2, row]);
        }
        let series = keep
            .into_series(["direction", "at_ns"], &["forward", "reverse"])
            .expect("rows");
        assert_eq!((series.rows, series.left_out, series.bin_ns), (3, 2, None));
        let words = ["forward", "forward", "reverse"].map(Into::into).to_vec();
        assert_eq!(series.column("direction"), Some(&Values::Words(words)));
        let times = vec![Some(10), Some(40), Some(11)];
        assert_eq!(series.column("at_ns"), Some(&Values::Integers(times)));
        assert_eq!(series.columns[1].1.unit, Some("ns"));
        assert!(Keep::new(3).into_series(["a"], &[]).is_none());
    }
}
