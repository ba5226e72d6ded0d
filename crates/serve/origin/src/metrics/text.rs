//! The counts in the text form that Prometheus reads (exposition format 0.0.4). It must not know how they came about.

use std::fmt::Write;
use std::sync::Arc;

use weir_pacing::PaceReason;

use super::histogram::STEPS_US;
use super::{CAUSES, Handshake, Histogram, Kind, Metrics, STATUSES, Tier, get};

/// What the text is, as a header says it.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Metrics {
    /// What the text is, as a header says it.
    pub const CONTENT_TYPE: &'static str = CONTENT_TYPE;

    /// All counts as text, and whether each of these storages answers.
    pub fn text(&self, storages: &[(Arc<str>, bool)]) -> String {
        let mut out = Text::default();
        self.write_requests(&mut out);
        self.write_bytes(&mut out);
        self.write_storage(&mut out);
        out.storages(storages);
        self.write_cache(&mut out);
        self.write_errors(&mut out);
        self.write_connections(&mut out);
        self.write_pacing(&mut out);
        out.0
    }

    fn write_requests(&self, out: &mut Text) {
        out.family(
            "weir_origin_requests_total",
            "counter",
            "Requests with a response.",
        );
        for kind in Kind::ALL {
            for (place, status) in STATUSES.iter().enumerate() {
                let count = get(&self.requests[kind as usize][place]);
                if count > 0 {
                    let status = if *status == 0 {
                        "other".to_owned()
                    } else {
                        status.to_string()
                    };
                    out.sample(
                        "weir_origin_requests_total",
                        &[("kind", kind.name()), ("status", &status)],
                        count,
                    );
                }
            }
        }
        out.histogram(
            "weir_origin_first_byte_seconds",
            "Time from a request's headers to the first byte of its response.",
            &self.first_byte,
        );
    }

    fn write_bytes(&self, out: &mut Text) {
        out.by_kind(
            "weir_origin_sent_bytes_total",
            "Body bytes sent to clients (OUT).",
            |kind| self.bytes_out(kind),
        );
        out.by_kind(
            "weir_origin_storage_bytes_total",
            "Body bytes read from storage (IN).",
            |kind| self.bytes_in(kind),
        );
        let sum = |of: &dyn Fn(Kind) -> u64| Kind::ALL.into_iter().map(of).sum::<u64>();
        let (sent, received) = (
            sum(&|kind| self.bytes_out(kind)),
            sum(&|kind| self.bytes_in(kind)),
        );
        if received > 0 {
            out.family(
                "weir_origin_efficiency_ratio",
                "gauge",
                "Bytes sent per byte read from storage (OUT/IN).",
            );
            // Exact up to 2^53 bytes, eight petabytes.
            out.line(&format!(
                "weir_origin_efficiency_ratio {}",
                sent as f64 / received as f64
            ));
        }
    }

    fn write_storage(&self, out: &mut Text) {
        out.by_kind(
            "weir_origin_storage_reads_total",
            "Requests made to storage, retries included.",
            |kind| self.reads(kind),
        );
        out.counter(
            "weir_origin_storage_retries_total",
            "Retried requests to storage.",
            get(&self.retries),
        );
        let (hedges, won) = self.hedges();
        out.counter(
            "weir_origin_storage_hedges_total",
            "Hedged reads: reads with a late first byte that were issued a second time.",
            hedges,
        );
        out.counter(
            "weir_origin_storage_hedges_won_total",
            "Hedged reads whose second request was first to respond.",
            won,
        );
        out.counter(
            "weir_origin_storage_connections_total",
            "Connections opened to storage.",
            self.storage_connections(),
        );
        out.histogram(
            "weir_origin_storage_latency_seconds",
            "Time from a request to storage to the start of its response.",
            &self.storage_latency,
        );
    }

    fn write_cache(&self, out: &mut Text) {
        out.family(
            "weir_origin_cache_lookups_total",
            "counter",
            "Cache lookups, by where the object was found.",
        );
        for kind in Kind::ALL {
            for tier in Tier::ALL {
                let count = self.lookups(kind, tier);
                if count > 0 {
                    let labels = [("kind", kind.name()), ("tier", tier.name())];
                    out.sample("weir_origin_cache_lookups_total", &labels, count);
                }
            }
        }
    }

    fn write_errors(&self, out: &mut Text) {
        out.family("weir_origin_errors_total", "counter", "Errors, by cause.");
        for (place, cause) in CAUSES.iter().enumerate() {
            out.sample(
                "weir_origin_errors_total",
                &[("cause", cause)],
                get(&self.errors[place]),
            );
        }
    }

    fn write_connections(&self, out: &mut Text) {
        out.gauge(
            "weir_origin_connections",
            "Current client connections.",
            get(&self.connections),
        );
        out.counter(
            "weir_origin_connections_total",
            "Client connections accepted.",
            get(&self.connections_total),
        );
        out.counter(
            "weir_origin_http2_connections_total",
            "Client connections that use HTTP/2.",
            get(&self.http2_connections),
        );
        out.family(
            "weir_origin_tls_handshakes_total",
            "counter",
            "TLS handshakes, by result.",
        );
        for result in Handshake::ALL {
            out.sample(
                "weir_origin_tls_handshakes_total",
                &[("result", result.name())],
                get(&self.handshakes[result as usize]),
            );
        }
        out.counter(
            "weir_origin_access_log_lost_total",
            "Lines of the access log that were not written.",
            get(&self.log_lines_lost),
        );
    }
}

impl Metrics {
    fn write_pacing(&self, out: &mut Text) {
        out.family(
            "weir_origin_pace_decisions_total",
            "counter",
            "Responses with media, by the rule that set their pace rate.",
        );
        let count = |reason: PaceReason| get(&self.paces[reason as usize]);
        for reason in PaceReason::ALL {
            out.sample(
                "weir_origin_pace_decisions_total",
                &[("paced", yes_or_no(reason.is_paced())), ("reason", reason.name())],
                count(reason),
            );
        }
        const RATE: &str = "weir_origin_pace_bits_per_second";
        out.family(RATE, "summary", "Pace rates of paced bodies.");
        let paced = PaceReason::ALL.into_iter().filter(|reason| reason.is_paced());
        out.sample(&format!("{RATE}_sum"), &[], get(&self.pace_bits));
        out.sample(&format!("{RATE}_count"), &[], paced.map(count).sum());
        out.gauge(
            "weir_origin_paced_connections",
            "Current connections with a pace rate in the kernel.",
            get(&self.paced_connections),
        );
    }
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(&format!("# HELP {name} {help}"));
        self.line(&format!("# TYPE {name} {kind}"));
    }

    /// Values of labels have nothing to escape.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let mut line = name.to_owned();
        for (place, (label, text)) in labels.iter().enumerate() {
            line.push(if place == 0 { '{' } else { ',' });
            // Writing to a string does not fail.
            let _ = write!(line, "{label}=\"{text}\"");
        }
        if !labels.is_empty() {
            line.push('}');
        }
        let _ = write!(line, " {value}");
        self.line(&line);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(name, &[], value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn by_kind(&mut self, name: &str, help: &str, count: impl Fn(Kind) -> u64) {
        self.family(name, "counter", help);
        for kind in Kind::ALL {
            self.sample(name, &[("kind", kind.name())], count(kind));
        }
    }

    fn storages(&mut self, storages: &[(Arc<str>, bool)]) {
        const UP: &str = "weir_origin_storage_up";
        self.family(UP, "gauge", "Whether a storage responded to the last request.");
        for (name, up) in storages {
            let name = name
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            self.sample(UP, &[("place", &name)], u64::from(*up));
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        // A sum that is read before its count never says more than was counted.
        let sum = histogram.sum_ns();
        for (count, end) in histogram.cumulative().into_iter().zip(STEPS_US) {
            let end = (end as f64 / 1e6).to_string();
            self.sample(&bucket, &[("le", &end)], count);
        }
        let count = histogram.count();
        self.sample(&bucket, &[("le", "+Inf")], count);
        self.line(&format!("{name}_sum {}", sum as f64 / 1e9));
        self.sample(&format!("{name}_count"), &[], count);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn counts_are_told_with_their_labels() {
        let metrics = Metrics::default();
        metrics.answered(Kind::Media, 206, Duration::from_millis(3));
        metrics.answered(Kind::Media, 206, Duration::from_millis(30));
        metrics.answered(Kind::Other, 418, Duration::ZERO);
        metrics.sent(Kind::Media, 900);
        metrics.received(Kind::Media, 800);
        metrics.received(Kind::Index, 200);
        metrics.looked_up(Kind::Index, Tier::Shared);
        metrics.failed("storage_timed_out");
        metrics.failed("something new");
        let storages = [("s3://films".into(), true), ("/a \"b\"".into(), false)];
        let text = metrics.text(&storages);
        for line in [
            "weir_origin_requests_total{kind=\"media\",status=\"206\"} 2",
            "weir_origin_requests_total{kind=\"other\",status=\"other\"} 1",
            "weir_origin_sent_bytes_total{kind=\"media\"} 900",
            "weir_origin_storage_bytes_total{kind=\"index\"} 200",
            "weir_origin_efficiency_ratio 0.9",
            "weir_origin_cache_lookups_total{kind=\"index\",tier=\"shared\"} 1",
            "weir_origin_errors_total{cause=\"storage_timed_out\"} 1",
            "weir_origin_errors_total{cause=\"other\"} 1",
            "weir_origin_first_byte_seconds_bucket{le=\"0.005\"} 2",
            "weir_origin_first_byte_seconds_bucket{le=\"+Inf\"} 3",
            "weir_origin_first_byte_seconds_sum 0.033",
            "weir_origin_first_byte_seconds_count 3",
            "weir_origin_storage_up{place=\"s3://films\"} 1",
            "weir_origin_storage_up{place=\"/a \\\"b\\\"\"} 0",
            "# TYPE weir_origin_storage_latency_seconds histogram",
        ] {
            assert!(text.lines().any(|said| said == line), "{line} is not in:\n{text}");
        }
    }

    #[test]
    fn every_sample_belongs_to_a_family_and_no_line_comes_twice() {
        let metrics = Metrics::default();
        metrics.received(Kind::Media, 1);
        let text = metrics.text(&[]);
        let families: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        let mut seen = std::collections::HashSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (sample, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = sample.split('{').next().expect("a name");
            let bare = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end))
                .unwrap_or(name);
            assert!(families.contains(&bare) || families.contains(&name), "{line}");
            assert!(seen.insert(sample), "{sample} twice");
        }
    }
}
