//! Traces of throughput and sizes of films: no text may panic the readers; they refuse in one line, and what they accept is
//! bounded.

use crate::checks::in_a_line;
use weir_player::recorded::{Film, MOST_STEPS, Trace};

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match Trace::read(text) {
        Ok(trace) => {
            assert!((1..=MOST_STEPS).contains(&trace.steps.len()));
            assert!(trace.steps.iter().all(|step| !step.duration.is_zero()));
            assert!(trace.steps.iter().any(|step| step.rate > 0));
            for gap in trace.gaps {
                in_a_line(gap, 400);
            }
        }
        Err(error) => in_a_line(error, 1_000),
    }
    match Film::read(text) {
        Ok(film) => {
            assert!(!film.rungs.is_empty() && !film.segment.is_zero());
            assert!(film.bytes.iter().all(|bytes| bytes.len() == film.rungs.len()));
        }
        Err(error) => in_a_line(error, 1_000),
    }
}
