//! Counters as a request of the OpenTelemetry protocol, OTLP 1.x over HTTP, in its JSON encoding
//! (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>): the body of a POST to `/v1/metrics`. It has no clock and
//! sends nothing.
//!
//! Names are those of the OpenMetrics text, so that a collector which exports to Prometheus makes the same metrics of them.

use serde_json::{Map, Value as Json, json};

use crate::Exposition;
use crate::openmetrics::{FamilyRows, Kind, Sample, Value};

/// Sums count from the start of the process on: `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u8 = 2;

/// Who exports, and over which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exporter<'a> {
    /// `service.name`.
    pub service: &'a str,
    /// `service.instance.id`: distinguishes exporters of one service.
    pub instance: &'a str,
    /// `service.version`.
    pub version: &'a str,
    /// Since when counters count, Unix nanoseconds.
    pub start_ns: u64,
    /// Time of the values.
    pub now_ns: u64,
}

/// The body of a request, an `ExportMetricsServiceRequest`. Families without samples are left out.
#[must_use]
pub fn otlp(exposition: &Exposition, exporter: &Exporter<'_>) -> String {
    let metrics: Vec<Json> = exposition
        .families
        .iter()
        .filter(|family| !family.samples.is_empty())
        .map(|family| metric(family, exporter))
        .collect();
    let resource = attributes(&[
        ("service.name", exporter.service),
        ("service.instance.id", exporter.instance),
        ("service.version", exporter.version),
    ]);
    json!({ "resourceMetrics": [{
        "resource": { "attributes": resource },
        "scopeMetrics": [{ "scope": { "name": "weir", "version": exporter.version }, "metrics": metrics }],
    }] })
    .to_string()
}

fn metric(family: &FamilyRows, exporter: &Exporter<'_>) -> Json {
    let points: Vec<Json> = family
        .samples
        .iter()
        .map(|sample| point(sample, exporter))
        .collect();
    let (kind, data) = match family.kind {
        Kind::Counter => (
            "sum",
            json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true }),
        ),
        Kind::Gauge => ("gauge", json!({ "dataPoints": points })),
        Kind::Histogram => (
            "histogram",
            json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE }),
        ),
    };
    // Units of the Unified Code for Units of Measure; what is counted is between braces there.
    let unit = match family.unit.as_str() {
        "" => String::new(),
        "seconds" => "s".to_owned(),
        "bytes" => "By".to_owned(),
        counted => format!("{{{}}}", counted.trim_end_matches('s')),
    };
    json!({ "name": family.name, "description": family.help, "unit": unit, kind: data })
}

/// Counts of 64 bits are strings, as protobuf's JSON has them.
fn point(sample: &Sample, exporter: &Exporter<'_>) -> Json {
    let labels: Vec<(&str, &str)> = sample
        .labels
        .iter()
        .map(|(label, text)| (label.as_str(), text.as_str()))
        .collect();
    let mut point = Map::new();
    point.insert("attributes".to_owned(), attributes(&labels));
    point.insert(
        "startTimeUnixNano".to_owned(),
        exporter.start_ns.to_string().into(),
    );
    point.insert("timeUnixNano".to_owned(), exporter.now_ns.to_string().into());
    match &sample.value {
        Value::Number(text) if text.parse::<i64>().is_ok() => {
            point.insert("asInt".to_owned(), text.as_str().into());
        }
        Value::Number(text) => {
            // What is no number, as a counter beyond 63 bits, is as near as a double is.
            point.insert("asDouble".to_owned(), text.parse::<f64>().unwrap_or(0.0).into());
        }
        Value::Histogram { at_most, count, sum } => {
            point.insert("count".to_owned(), count.to_string().into());
            point.insert("sum".to_owned(), (*sum).into());
            let below = [0].into_iter().chain(at_most.iter().map(|bucket| bucket.1));
            let up_to = at_most.iter().map(|bucket| bucket.1).chain([*count]);
            let each = up_to
                .zip(below)
                .map(|(up_to, below)| up_to.saturating_sub(below).to_string());
            point.insert("bucketCounts".to_owned(), each.collect());
            let bounds: Vec<f64> = at_most.iter().map(|bucket| bucket.0).collect();
            point.insert("explicitBounds".to_owned(), bounds.into());
        }
    }
    point.into()
}

fn attributes(pairs: &[(&str, &str)]) -> Json {
    let one = |(key, value): &(&str, &str)| json!({ "key": key, "value": { "stringValue": value } });
    pairs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field by field as in the protocol's `metrics.proto` and its example `metrics.json`.
    /// `tests/data/check_otlp.py` reads such a request with the protocol's own classes.
    #[test]
    fn counters_gauges_and_histograms_have_the_fields_of_the_protocol() {
        let mut all = Exposition::default();
        all.counter("weir_watch_sent", "packets", "Sent.")
            .sample(&[("from", "lon"), ("to", "ams")], 7u64);
        all.gauge("weir_watch_hops", "", "Hops.").sample(&[], 0.5);
        all.gauge("weir_watch_rule_alarm", "", "No rule.");
        all.histogram("weir_watch_rtt", "seconds", "RTT.").buckets(
            &[("to", "ams")],
            &[(0.001, 1), (1.0, 7)],
            (9, 12.5),
        );
        let exporter = Exporter {
            service: "weir-watch",
            instance: "lon",
            version: "0.1.0",
            start_ns: 1_544_712_660_300_000_000,
            now_ns: 1_544_712_661_300_000_000,
        };
        let body: Json = serde_json::from_str(&otlp(&all, &exporter)).unwrap();
        let resource = &body["resourceMetrics"][0];
        assert_eq!(
            resource["resource"]["attributes"][1],
            json!({ "key": "service.instance.id", "value": { "stringValue": "lon" } })
        );
        let times = |mut point: Json| {
            point["startTimeUnixNano"] = "1544712660300000000".into();
            point["timeUnixNano"] = "1544712661300000000".into();
            point
        };
        let to = json!({ "key": "to", "value": { "stringValue": "ams" } });
        let from = json!({ "key": "from", "value": { "stringValue": "lon" } });
        let sum = times(json!({ "attributes": [from, to], "asInt": "7" }));
        let gauge = times(json!({ "attributes": [], "asDouble": 0.5 }));
        let histogram = times(json!({
            "attributes": [to], "count": "9", "sum": 12.5, "bucketCounts": ["1", "6", "2"], "explicitBounds": [0.001, 1.0]
        }));
        let expected = json!([
            { "name": "weir_watch_sent_packets", "description": "Sent.", "unit": "{packet}",
              "sum": { "dataPoints": [sum], "aggregationTemporality": 2, "isMonotonic": true } },
            { "name": "weir_watch_hops", "description": "Hops.", "unit": "", "gauge": { "dataPoints": [gauge] } },
            { "name": "weir_watch_rtt_seconds", "description": "RTT.", "unit": "s",
              "histogram": { "dataPoints": [histogram], "aggregationTemporality": 2 } },
        ]);
        assert_eq!(resource["scopeMetrics"][0]["metrics"], expected);
    }
}
