//! The shares at which distributions are given: close together in both tails.

/// Shares are counted in parts of this, so that places among the values come out exact.
pub(super) const WHOLE: u64 = 1_000_000_000;

/// The shares at which the distribution is given, in parts of [`WHOLE`], ascending. In the tails, where `values` have
/// something to say, ten to a decade.
pub(super) fn shares(values: u64) -> Vec<u64> {
    let mut tail = Vec::new();
    let mut decade = WHOLE / 100;
    while decade > 0 {
        for tenths in [10, 15, 20, 30, 40, 50, 60, 70, 80, 90] {
            let share = decade * tenths / 10;
            if u128::from(share) * u128::from(values) >= u128::from(WHOLE) {
                tail.push(share);
            }
        }
        decade /= 10;
    }
    let middle = (10..=90).map(|percent| WHOLE / 100 * percent);
    let upper = tail.iter().map(|share| WHOLE - share);
    let mut all: Vec<u64> = [0, WHOLE].into_iter().chain(middle).chain(upper).collect();
    all.extend(&tail);
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_close_in_the_tails_as_far_as_the_values_go() {
        let few = shares(100);
        assert_eq!(few[..4], [0, 10_000_000, 15_000_000, 20_000_000]);
        assert_eq!(few[few.len() - 2..], [990_000_000, WHOLE]);
        assert!(few.is_sorted() && few.contains(&(WHOLE / 2)));
        let many = shares(10_000_000);
        assert!(many.contains(&100) && many.contains(&(WHOLE - 100)) && !many.contains(&90));
        assert_eq!(shares(1).len(), 83);
    }
}
