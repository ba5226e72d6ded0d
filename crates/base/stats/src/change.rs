//! The point at which a sequence of values changes its level. It must not know what the values are.

/// Where a sequence changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Values before it.
    pub at: usize,
    /// Probability of a change as clear as this, in either direction, if there were none; an approximation for 0.5 and less.
    pub p_value: f64,
}

/// The most likely change of level by Pettitt's test (1979), which compares ranks and so assumes no distribution; values count
/// as independent. None for fewer than four values, or where all are equal.
pub fn change(values: &[f64]) -> Option<Change> {
    let n = values.len();
    if n < 4 {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; n];
    let mut first = 0;
    for ties in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let rank = first as f64 + (ties.len() as f64 + 1.0) / 2.0;
        ties.iter().for_each(|index| ranks[*index] = rank);
        first += ties.len();
    }
    let (mut sum, mut most, mut at) = (0.0, 0.0f64, 0);
    for (before, rank) in ranks[..n - 1].iter().enumerate() {
        sum += rank;
        let statistic = 2.0 * sum - (before + 1) as f64 * (n as f64 + 1.0);
        if statistic.abs() > most {
            (most, at) = (statistic.abs(), before + 1);
        }
    }
    let n = n as f64;
    (at > 0).then(|| Change {
        at,
        p_value: (2.0 * (-6.0 * most * most / (n.powi(3) + n.powi(2))).exp()).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yearly flow of the Nile at Aswan, 1871 to 1970 (Cobb 1978), whose level fell in 1899.
    const NILE: [f64; 100] = [
        1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994., 1020.,
        960., 1180., 799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100., 774., 840.,
        874., 694., 940., 833., 701., 916., 692., 1020., 1050., 969., 831., 726., 456., 824., 702., 1120.,
        1100., 832., 764., 821., 768., 845., 864., 862., 698., 845., 744., 796., 1040., 759., 781., 865.,
        845., 944., 984., 897., 822., 1010., 771., 676., 649., 846., 812., 742., 801., 1040., 860., 874.,
        848., 890., 744., 749., 838., 1050., 918., 986., 797., 923., 975., 815., 1020., 906., 901., 1170.,
        912., 746., 919., 718., 714., 740.,
    ];

    /// Pettitt's own definition: a sum of signs.
    fn by_signs(values: &[f64]) -> (usize, f64) {
        let statistic = |at: usize| {
            let (before, after) = values.split_at(at);
            let signs = before
                .iter()
                .flat_map(|x| after.iter().map(move |y| f64::from(x > y) - f64::from(x < y)));
            signs.sum::<f64>().abs()
        };
        let all = (1..values.len()).map(|at| (at, statistic(at)));
        all.fold((0, 0.0), |best, one| if one.1 > best.1 { one } else { best })
    }

    #[test]
    fn the_nile_fell_after_1898() {
        let found = change(&NILE).unwrap();
        let (at, statistic) = by_signs(&NILE);
        assert_eq!((found.at, at), (28, 28));
        let p_value = 2.0 * (-6.0 * statistic.powi(2) / (1e6 + 1e4)).exp();
        assert!((found.p_value / p_value - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found.p_value < 1e-6);
        // After it there is none.
        assert!(change(&NILE[28..]).unwrap().p_value > 0.1);
    }

    #[test]
    fn what_has_no_change_gives_none() {
        assert_eq!(change(&[1.0, 2.0, 3.0]), None);
        assert_eq!(change(&[5.0; 50]), None);
    }
}
