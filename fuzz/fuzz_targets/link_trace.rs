//! Traces: no bytes may panic the readers, and a trace that is taken has a period, a mean and the entries that its
//! lines say.
//!
//! The first byte: bit 0 picks mahimahi's format.

use crate::checks::in_a_line;
use weir_link::RateSpec;
use weir_link::trace::{LONGEST_PERIOD_NS, TraceFormat, parse_trace};

pub fn run(input: &[u8]) {
    let Some((&how, text)) = input.split_first() else {
        return;
    };
    let format = if how & 1 == 0 {
        TraceFormat::Steps
    } else {
        TraceFormat::Mahimahi
    };
    let newlines = text.iter().filter(|byte| **byte == b'\n').count();
    match parse_trace(text, "trace", format) {
        Ok(RateSpec::Steps(steps)) => {
            assert!(!steps.is_empty() && steps.len() <= newlines + 1);
            let period: u64 = steps.iter().map(|step| step.duration_ns).sum();
            assert!((1..=LONGEST_PERIOD_NS).contains(&period));
            let most = steps.iter().map(|step| step.rate).max();
            assert!(RateSpec::Steps(steps).mean() <= most);
        }
        Ok(RateSpec::Opportunities {
            at_ns,
            period_ns,
            bytes,
        }) => {
            assert_eq!(at_ns.len(), newlines + usize::from(!text.ends_with(b"\n")));
            assert!(at_ns.is_sorted() && at_ns.last() == Some(&period_ns) && bytes == 1504);
            assert!((1..=LONGEST_PERIOD_NS).contains(&period_ns));
        }
        Ok(other) => panic!("no trace: {other:?}"),
        Err(error) => in_a_line(error, 1000),
    }
}
