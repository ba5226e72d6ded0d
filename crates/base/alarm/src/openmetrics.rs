//! Counters as OpenMetrics text, version 1.0.0: <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::fmt::{Display, Write};

/// Media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Media type of [`classic`].
pub const CLASSIC_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A finished text in Prometheus' older format, for clients that ask for it: names of counters end in `_total` in all lines, and
/// there are no units (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
#[must_use]
pub fn classic(text: &str) -> String {
    let mut counter = "";
    let mut classic = String::with_capacity(text.len());
    for line in text
        .lines()
        .filter(|line| *line != "# EOF" && !line.starts_with("# UNIT "))
    {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("TYPE"), Some(name), Some("counter")) => {
                counter = name;
                // Writing to a string does not fail.
                let _ = writeln!(classic, "# TYPE {name}_total counter");
            }
            (Some("#"), Some("HELP"), Some(name), Some(help)) if name == counter => {
                let _ = writeln!(classic, "# HELP {name}_total {help}");
            }
            _ => {
                let _ = writeln!(classic, "{line}");
            }
        }
    }
    classic
}

/// A text in progress.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

/// A metric family in progress.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    sample: String,
}

impl Exposition {
    /// Begins a counter, `NAME_UNIT`, or `NAME` if the unit is empty. Its samples are called `..._total`.
    pub fn counter(&mut self, name: &str, unit: &str, help: &str) -> Family<'_> {
        self.family("counter", name, unit, help, "_total")
    }

    /// Begins a gauge, `NAME_UNIT`, or `NAME` if the unit is empty.
    pub fn gauge(&mut self, name: &str, unit: &str, help: &str) -> Family<'_> {
        self.family("gauge", name, unit, help, "")
    }

    /// Begins a histogram, `NAME_UNIT`. Its samples are [buckets](Family::buckets).
    pub fn histogram(&mut self, name: &str, unit: &str, help: &str) -> Family<'_> {
        self.family("histogram", name, unit, help, "")
    }

    fn family(&mut self, kind: &str, name: &str, unit: &str, help: &str, suffix: &str) -> Family<'_> {
        let name = match unit {
            "" => name.to_owned(),
            unit => format!("{name}_{unit}"),
        };
        // Writing to a string does not fail, here and below.
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {}", escaped(help));
        Family {
            text: &mut self.text,
            sample: name + suffix,
        }
    }

    /// The whole text.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

impl Family<'_> {
    /// Adds a sample. Labels of a family differ between samples.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.line("", labels, value)
    }

    /// Adds a histogram: upper bounds, ascending, each with the number of values at or below it; and number and sum of all.
    pub fn buckets(
        &mut self,
        labels: &[(&str, &str)],
        at_most: &[(f64, u64)],
        (all, sum): (u64, f64),
    ) -> &mut Self {
        let bounds = at_most
            .iter()
            .map(|(bound, count)| (format!("{bound:?}"), *count));
        for (bound, count) in bounds.chain([("+Inf".to_owned(), all)]) {
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.line("_bucket", &labels, count);
        }
        self.line("_count", labels, all).line("_sum", labels, sum)
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.text.push_str(&self.sample);
        self.text.push_str(suffix);
        for (place, (label, text)) in labels.iter().enumerate() {
            self.text.push(if place == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
        self
    }
}

/// A text between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of the example in the specification, section "Overall Structure".
    #[test]
    fn families_have_their_lines_in_order_and_labels_are_escaped() {
        let mut text = Exposition::default();
        text.counter("weir_recv_lost", "packets", "Lost.")
            .sample(&[("sender", "0"), ("from", "a \"b\"\\\n")], 7u64)
            .sample(&[("sender", "1"), ("from", "c")], 0u64);
        text.gauge("weir_recv_connected", "", "Connected.").sample(&[], 1);
        text.gauge("weir_recv_rtt", "seconds", "RTT.").sample(&[], 0.0025);
        text.histogram("weir_watch_rtt", "seconds", "RTT.").buckets(
            &[("to", "ams")],
            &[(0.001, 0), (1.0, 7)],
            (9, 12.5),
        );
        let expected = r##"# TYPE weir_recv_lost_packets counter
# UNIT weir_recv_lost_packets packets
# HELP weir_recv_lost_packets Lost.
weir_recv_lost_packets_total{sender="0",from="a \"b\"\\\n"} 7
weir_recv_lost_packets_total{sender="1",from="c"} 0
# TYPE weir_recv_connected gauge
# HELP weir_recv_connected Connected.
weir_recv_connected 1
# TYPE weir_recv_rtt_seconds gauge
# UNIT weir_recv_rtt_seconds seconds
# HELP weir_recv_rtt_seconds RTT.
weir_recv_rtt_seconds 0.0025
# TYPE weir_watch_rtt_seconds histogram
# UNIT weir_watch_rtt_seconds seconds
# HELP weir_watch_rtt_seconds RTT.
weir_watch_rtt_seconds_bucket{to="ams",le="0.001"} 0
weir_watch_rtt_seconds_bucket{to="ams",le="1.0"} 7
weir_watch_rtt_seconds_bucket{to="ams",le="+Inf"} 9
weir_watch_rtt_seconds_count{to="ams"} 9
weir_watch_rtt_seconds_sum{to="ams"} 12.5
# EOF
"##;
        let text = text.finish();
        assert_eq!(text, expected);
        let older = classic(&text);
        assert!(older.starts_with(
            "# TYPE weir_recv_lost_packets_total counter\n# HELP weir_recv_lost_packets_total Lost.\n"
        ));
        let without = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(without(&older), without(expected));
        assert!(!older.contains("UNIT") && !older.contains("EOF"), "{older}");
    }
}
