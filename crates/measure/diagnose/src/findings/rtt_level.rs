//! The level of the RTT.

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::Measured;
use crate::words::time;

/// The finding, where RTT was measured.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let test = measured.rtt.as_ref()?;
    let rtt = test.rtt?;
    let at = |nanoseconds: i64| time(nanoseconds as f64);
    Some(Finding {
        name: FindingName::RttLevel,
        severity: Severity::Information,
        direction: None,
        brief: format!(
            "RTT P50 {}, P90 {}, P99 {}",
            at(rtt.p50),
            at(rtt.p90),
            at(rtt.p99)
        ),
        sentence: format!(
            "the RTT between the applications is {} at minimum, {} at P50, {} at P90 and {} at P99.",
            at(rtt.min),
            at(rtt.p50),
            at(rtt.p90),
            at(rtt.p99)
        ),
        evidence: vec![
            Evidence::of("packets answered", rtt.count),
            Evidence::in_unit("smallest RTT", rtt.min, "ns"),
            Evidence::in_unit("P50", rtt.p50, "ns"),
            Evidence::in_unit("P90", rtt.p90, "ns"),
            Evidence::in_unit("P99", rtt.p99, "ns"),
        ],
        query: format!(
            "SELECT count(*) AS \"packets answered\", min(rtt_ns) AS \"smallest RTT\" FROM rtt_packets\n\
             WHERE run_id = {} AND NOT lost",
            test.run
        ),
        confidence: Confidence::by_count("quantiles of all packets", 1.0),
        action: "Compare it with the next run; hosts placed close to each other have less.".to_owned(),
    })
}
