//! The median of the last values, kept in order. It must not know what they are.

use std::collections::VecDeque;

/// The last values, up to a number of them.
#[derive(Debug)]
pub(super) struct Sliding {
    most: usize,
    /// In the order of arrival.
    arrived: VecDeque<f64>,
    sorted: Vec<f64>,
}

/// With the same room, so that what is kept of a path takes the same memory from its first minute on.
impl Clone for Sliding {
    fn clone(&self) -> Self {
        let mut copy = Sliding::new(self.most);
        copy.arrived.extend(&self.arrived);
        copy.sorted.extend(&self.sorted);
        copy
    }
}

impl Sliding {
    pub(super) fn new(most: usize) -> Self {
        Sliding {
            most: most.max(1),
            arrived: VecDeque::with_capacity(most),
            sorted: Vec::with_capacity(most),
        }
    }

    /// Adds a finite value; the oldest leaves if there is no room.
    pub(super) fn push(&mut self, value: f64) {
        if self.arrived.len() == self.most
            && let Some(oldest) = self.arrived.pop_front()
        {
            let place = self.sorted.partition_point(|sorted| *sorted < oldest);
            self.sorted.remove(place);
        }
        self.arrived.push_back(value);
        let place = self.sorted.partition_point(|sorted| *sorted < value);
        self.sorted.insert(place, value);
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// None without values.
    pub(super) fn median(&self) -> Option<f64> {
        let middle = self.sorted.len() / 2;
        let upper = self.sorted.get(middle)?;
        Some(if self.sorted.len() % 2 == 1 {
            *upper
        } else {
            0.5 * (self.sorted[middle - 1] + upper)
        })
    }

    pub(super) fn clear(&mut self) {
        self.arrived.clear();
        self.sorted.clear();
    }

    /// In the order of arrival.
    pub(super) fn values(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.arrived.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_median_is_that_of_the_last_values(values in prop::collection::vec(-9i32..9, 1..80), most in 1usize..20) {
            let mut sliding = Sliding::new(most);
            for (place, value) in values.iter().enumerate() {
                sliding.push(f64::from(*value));
                let from = (place + 1).saturating_sub(most);
                let last: Vec<f64> = values[from..=place].iter().map(|value| f64::from(*value)).collect();
                prop_assert_eq!(sliding.median(), Some(weir_stats::median(last)));
            }
        }
    }
}
