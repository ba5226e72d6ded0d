//! What a call would be worth to those who speak, from the delays of its packets. It must not know where they are from.

use crate::e_model::{Call, G711_PLC_BPL, rate};
use crate::report::VoiceFigures;
use crate::traffic::VOICE_INTERVAL_NS;

/// Playout points that are tried, as shares of the packets that have come by then.
const PLAYOUT_SHARES: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0];

/// Rates a call whose packets took `delays_ns` one way, in order of sending; none for a lost one. None if all were lost.
///
/// The receiver's playout buffer is one that knew the call beforehand: of all fixed playout points, the one that gives
/// the best rating. Packets that come after it are as good as lost, and everything that comes before waits for it. To
/// its delay the 20 ms are added that a packet takes to fill.
pub fn rate_call(delays_ns: &[Option<i64>]) -> Option<VoiceFigures> {
    let mut arrived: Vec<i64> = delays_ns.iter().flatten().copied().collect();
    arrived.sort_unstable();
    let tries = PLAYOUT_SHARES.iter().filter_map(|share| {
        let rank = (share * arrived.len() as f64).ceil() as usize;
        arrived.get(rank.max(1) - 1)
    });
    tries
        .map(|playout| rate_with(delays_ns, *playout))
        .max_by(|a, b| a.rating.r.total_cmp(&b.rating.r))
}

fn rate_with(delays_ns: &[Option<i64>], playout_ns: i64) -> VoiceFigures {
    let (mut late, mut missing, mut runs, mut in_run) = (0_u64, 0_u64, 0_u64, false);
    for delay in delays_ns {
        let is_late = delay.is_some_and(|delay| delay > playout_ns);
        let is_missing = delay.is_none() || is_late;
        late += u64::from(is_late);
        missing += u64::from(is_missing);
        runs += u64::from(is_missing && !in_run);
        in_run = is_missing;
    }
    let loss = missing as f64 / delays_ns.len().max(1) as f64;
    // G.107, 7.5: under random loss, runs of losses are 1 / (1 - loss) long.
    let burst_ratio = match runs {
        0 => 1.0,
        runs => (missing as f64 / runs as f64 * (1.0 - loss)).max(1.0),
    };
    let mouth_to_ear_ns = playout_ns.max(0).saturating_add(VOICE_INTERVAL_NS as i64);
    let rating = rate(&Call {
        delay_ms: mouth_to_ear_ns as f64 / 1e6,
        loss,
        burst_ratio,
        ie: 0.0,
        bpl: G711_PLC_BPL,
    });
    VoiceFigures {
        playout_ns,
        mouth_to_ear_ns,
        late,
        loss,
        burst_ratio,
        rating,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn an_even_call_is_rated_by_its_delay_alone() {
        let call = rate_call(&[Some(80 * MS); 500]).unwrap();
        assert_eq!((call.late, call.loss, call.burst_ratio), (0, 0.0, 1.0));
        assert_eq!(call.mouth_to_ear_ns, 100 * MS);
        // tests/data/e_model.txt: 100 ms without loss.
        assert!((call.rating.r - 90.663_730_328).abs() < 1e-6, "{call:?}");
        assert_eq!(rate_call(&[None; 9]), None);
        assert_eq!(rate_call(&[]), None);
    }

    #[test]
    fn a_few_late_packets_are_given_up_rather_than_waited_for() {
        let mut delays = vec![Some(10 * MS); 1_000];
        delays[500] = Some(900 * MS);
        let call = rate_call(&delays).unwrap();
        assert_eq!((call.playout_ns, call.late), (10 * MS, 1));
        assert_eq!(call.loss, 0.001);
        // A tenth of them is too much: all are waited for, up to 60 ms.
        for delay in delays.iter_mut().step_by(10) {
            *delay = Some(60 * MS);
        }
        delays[500] = Some(60 * MS);
        let call = rate_call(&delays).unwrap();
        assert_eq!((call.playout_ns, call.late), (60 * MS, 0));
    }

    #[test]
    fn losses_in_a_row_count_as_bursts() {
        let mut delays = vec![Some(10 * MS); 1_000];
        delays[100..110].fill(None);
        let call = rate_call(&delays).unwrap();
        assert_eq!((call.late, call.loss), (0, 0.01));
        assert!((call.burst_ratio - 9.9).abs() < 1e-9);
        // Bursts are worse than the same loss at random: G.107, 7.5.
        let mut random = vec![Some(10 * MS); 1_000];
        random.iter_mut().step_by(100).for_each(|delay| *delay = None);
        assert!(rate_call(&random).unwrap().rating.r > call.rating.r);
    }
}
