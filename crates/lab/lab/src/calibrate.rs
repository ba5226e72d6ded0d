//! Finds the highest rate that a host emulates, sends and receives with headroom, before anything is measured at it. Pure:
//! trials are made by the caller; it must not know how.

use serde::Serialize;

/// Rates that are tried, bits per second, the highest first.
pub const RATES: [u64; 5] = [
    2_500_000_000,
    1_000_000_000,
    500_000_000,
    250_000_000,
    100_000_000,
];
/// Headroom: the link's P99 of lateness stays below this share of what a run may have.
const HEADROOM: u64 = 3;

/// What one trial showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trial {
    /// Media rate, bits per second.
    pub rate: u64,
    /// 99 % quantile of the link's own lateness in the worse direction, nanoseconds.
    pub link_p99_ns: i64,
    /// Packets that the link lost by its own fault.
    pub link_lost: u64,
    /// What an end did not keep up with, in words; none when both kept up.
    pub host_limit: Option<String>,
}

impl Trial {
    /// Why this rate leaves no headroom, if so; `max_lateness_ns` is what a run may have.
    pub fn refusal(&self, max_lateness_ns: u64) -> Option<String> {
        let late = i64::try_from(max_lateness_ns / HEADROOM).unwrap_or(i64::MAX);
        if self.link_lost > 0 {
            return Some(format!("the link itself lost {} packets", self.link_lost));
        }
        if self.link_p99_ns > late {
            let p99 = weir_units::format_signed_duration(self.link_p99_ns);
            return Some(format!("P99 of the link's lateness is {p99}"));
        }
        self.host_limit.clone()
    }
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Highest rate with headroom, or the lowest that was tried, bits per second.
    pub rate: u64,
    /// This rate leaves headroom.
    pub headroom: bool,
    /// All trials, in their order.
    pub trials: Vec<Trial>,
}

/// Tries `rates` from the first, until one leaves headroom or `goes_on` says no.
///
/// # Errors
/// As `trial`.
pub fn calibrate<E>(
    rates: &[u64],
    max_lateness_ns: u64,
    mut goes_on: impl FnMut() -> bool,
    mut trial: impl FnMut(u64) -> Result<Trial, E>,
) -> Result<Calibration, E> {
    let mut trials = Vec::new();
    for &rate in rates {
        if !goes_on() {
            break;
        }
        let made = trial(rate)?;
        let fits = made.refusal(max_lateness_ns).is_none();
        trials.push(made);
        if fits {
            return Ok(Calibration {
                rate,
                headroom: true,
                trials,
            });
        }
    }
    Ok(Calibration {
        rate: rates.last().copied().unwrap_or_default(),
        headroom: false,
        trials,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const MAX: u64 = 1_000_000;

    /// A machine whose link is late in proportion to the rate: 100 us at 1 Gbit/s.
    fn machine(slowness: i64) -> impl FnMut(u64) -> Result<Trial, Infallible> {
        move |rate| {
            Ok(Trial {
                rate,
                link_p99_ns: slowness * (rate / 10_000) as i64,
                ..Trial::default()
            })
        }
    }

    fn rate_of(slowness: i64) -> (u64, bool, usize) {
        let found = calibrate(&RATES, MAX, || true, machine(slowness)).unwrap_or_else(|never| match never {});
        (found.rate, found.headroom, found.trials.len())
    }

    #[test]
    fn the_first_rate_with_a_third_of_the_lateness_is_taken() {
        assert_eq!(rate_of(1), (2_500_000_000, true, 1));
        assert_eq!(rate_of(2), (1_000_000_000, true, 2));
        assert_eq!(rate_of(30), (100_000_000, true, 5));
        assert_eq!(rate_of(1_000), (100_000_000, false, 5));
    }

    #[test]
    fn hosts_that_do_not_keep_up_and_losses_of_the_link_are_refusals() {
        let lossy = Trial {
            link_lost: 2,
            ..Trial::default()
        };
        assert!(lossy.refusal(MAX).is_some_and(|why| why.contains("2 packets")));
        let limited = Trial {
            host_limit: Some("the sender was late".into()),
            ..Trial::default()
        };
        assert_eq!(limited.refusal(MAX).as_deref(), Some("the sender was late"));
        assert_eq!(Trial::default().refusal(MAX), None);
    }

    #[test]
    fn without_time_the_lowest_rate_is_left() {
        let mut left = 2;
        let goes_on = || {
            left -= 1;
            left >= 0
        };
        let found = calibrate(&RATES, MAX, goes_on, machine(1_000)).unwrap_or_else(|never| match never {});
        assert_eq!(
            (found.rate, found.headroom, found.trials.len()),
            (100_000_000, false, 2)
        );
    }
}
