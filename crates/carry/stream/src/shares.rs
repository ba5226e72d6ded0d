//! Joins what the threads of a stream report, one for each share: one row for all of them. It must not know the rows.

use std::collections::VecDeque;

/// Rows of all shares that belong together: the first of each share, the second of each, and so on.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    queues: Vec<VecDeque<T>>,
}

impl<T> Rows<T> {
    /// Of so many shares.
    pub(crate) fn new(shares: u16) -> Self {
        Rows {
            queues: (0..shares).map(|_| VecDeque::new()).collect(),
        }
    }

    /// Takes a row of a share; returns those that belong together once all shares have theirs, in the order of the shares.
    pub(crate) fn push(&mut self, share: u16, row: T) -> Option<Vec<T>> {
        self.queues.get_mut(usize::from(share))?.push_back(row);
        if self.queues.iter().any(VecDeque::is_empty) {
            return None;
        }
        self.pop()
    }

    /// Those that belong together, where some shares have none any more.
    pub(crate) fn pop(&mut self) -> Option<Vec<T>> {
        let rows: Vec<T> = self.queues.iter_mut().filter_map(VecDeque::pop_front).collect();
        (!rows.is_empty()).then_some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_shares_belong_together() {
        let mut rows = Rows::new(2);
        assert_eq!(rows.push(0, 'a'), None);
        assert_eq!(rows.push(0, 'b'), None);
        assert_eq!(rows.push(1, 'A'), Some(vec!['a', 'A']));
        assert_eq!(rows.push(7, '?'), None);
        assert_eq!((rows.pop(), rows.pop()), (Some(vec!['b']), None));
        let mut one = Rows::new(1);
        assert_eq!(one.push(0, 'a'), Some(vec!['a']));
    }
}
