//! The statistics against independently computed values: see `data/make_reference.py`.

// The reference is part of the repository: if it cannot be read, the test must fail.
use crate::assert_close;
use serde_json::Value;
use weir_stats::{DurationHistogram, Exchange, InterarrivalJitter, Ipdv, OffsetEstimator, loss_interval};

fn reference(part: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/reference.json")).unwrap();
    all[part].clone()
}

fn integers(value: &Value) -> Vec<i64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.as_i64().unwrap())
        .collect()
}

fn floats(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry.as_f64().unwrap())
        .collect()
}

/// Three significant digits: one part in a thousand.
#[test]
fn quantiles_agree_with_numpy() {
    let theirs = reference("quantiles");
    // In two halves, so that merging is held to the same figures.
    let (mut histogram, mut odd) = (DurationHistogram::new(), DurationHistogram::new());
    for pair in integers(&theirs["sample"]).chunks(2) {
        histogram.record(pair[0]);
        if let Some(&second) = pair.get(1) {
            odd.record(second);
        }
    }
    histogram.merge(&odd);
    for (share, expected) in floats(&theirs["shares"])
        .iter()
        .zip(integers(&theirs["quantiles"]))
    {
        let ours = histogram.quantile(*share).unwrap() as f64;
        assert_close(ours, expected as f64, 1e-3, &format!("quantile {share}"));
    }
    assert_eq!(histogram.min(), theirs["min"].as_i64());
    assert_eq!(histogram.max(), theirs["max"].as_i64());
    assert_close(
        histogram.mean().unwrap(),
        theirs["mean"].as_f64().unwrap(),
        1e-12,
        "mean",
    );
}

/// The same real number by another order of floating-point operations.
#[test]
fn jitter_agrees_with_the_unrolled_sum() {
    let theirs = reference("jitter");
    let mut jitter = InterarrivalJitter::new();
    for transit in integers(&theirs["transit"]) {
        jitter.update(transit);
    }
    assert_close(
        jitter.jitter_ns(),
        theirs["jitter"].as_f64().unwrap(),
        1e-12,
        "jitter",
    );
}

#[test]
fn ipdv_agrees_with_numpy() {
    let theirs = reference("ipdv");
    let mut packets: Vec<(i64, i64)> = integers(&theirs["sequence"])
        .into_iter()
        .zip(integers(&theirs["delay"]))
        .collect();
    // Order of arrival must not matter within the memory of the account.
    packets.chunks_mut(50).for_each(<[_]>::reverse);
    let mut ipdv = Ipdv::new();
    for (sequence, delay) in packets {
        ipdv.record(u64::try_from(sequence).unwrap(), delay);
    }
    let ours = ipdv.summary().unwrap();
    assert_eq!(Some(ours.count), theirs["count"].as_u64());
    assert_eq!(Some(ours.max_ns), theirs["max"].as_i64());
    assert_close(ours.mean_abs_ns, theirs["mean"].as_f64().unwrap(), 1e-12, "mean");
    for (ours, theirs) in [ours.p50_ns, ours.p90_ns, ours.p99_ns]
        .iter()
        .zip(integers(&theirs["quantiles"]))
    {
        assert_close(*ours as f64, theirs as f64, 1e-3, "quantile");
    }
}

/// The reference itself is exact up to 60 packets; above, its factorials leave about nine digits.
#[test]
fn loss_intervals_agree_with_fractions() {
    for row in reference("intervals").as_array().unwrap() {
        let row = floats(row);
        let (lost, sent) = (row[0] as u64, row[1] as u64);
        let (low, high) = loss_interval(lost, sent);
        let tolerance = if sent <= 60 { 1e-11 } else { 1e-7 };
        assert_close(low, row[2], tolerance, &format!("low of {lost} of {sent}"));
        assert_close(high, row[3], tolerance, &format!("high of {lost} of {sent}"));
    }
}

#[test]
fn the_clock_line_agrees_with_numpy_and_with_the_truth() {
    let theirs = reference("clock");
    let mut estimator = OffsetEstimator::new(
        theirs["window_ns"].as_u64().unwrap(),
        theirs["interval_ns"].as_u64().unwrap(),
    );
    for row in theirs["exchanges"].as_array().unwrap() {
        let [t1, t2, t3, t4] = [0, 1, 2, 3].map(|place| row[place].as_u64().unwrap());
        assert!(estimator.add(Exchange { t1, t2, t3, t4 }));
    }
    let ours = estimator.estimate(theirs["at_ns"].as_u64().unwrap()).unwrap();
    // Half nanoseconds are rounded differently: a few parts in 10^9 of the drift, and two nanoseconds of the offset.
    assert_close(
        ours.drift_ppm.unwrap(),
        theirs["drift_ppm"].as_f64().unwrap(),
        1e-6,
        "drift",
    );
    assert!((ours.offset_ns as f64 - theirs["offset_ns"].as_f64().unwrap()).abs() <= 2.0);
    assert_eq!(
        ours.uncertainty_ns,
        theirs["min_rtt_ns"].as_u64().unwrap().div_ceil(2)
    );
    let truth = theirs["true_offset_ns"].as_f64().unwrap();
    assert!((ours.offset_ns as f64 - truth).abs() <= ours.uncertainty_ns as f64);
    assert!((ours.drift_ppm.unwrap() - 12.5).abs() < 0.05);
}
