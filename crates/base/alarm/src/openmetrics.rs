//! Counters, and their form as OpenMetrics text, version 1.0.0: <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

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

/// Metric families with their samples: as OpenMetrics text, or for [`otlp`](crate::otlp).
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    pub(crate) families: Vec<FamilyRows>,
}

/// Kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric family.
#[derive(Clone, Debug)]
pub(crate) struct FamilyRows {
    pub kind: Kind,
    /// With the unit.
    pub name: String,
    pub unit: String,
    pub help: String,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub labels: Vec<(String, String)>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// As it is printed.
    Number(String),
    Histogram {
        /// Upper bounds, ascending, each with the number of values at or below it.
        at_most: Vec<(f64, u64)>,
        count: u64,
        sum: f64,
    },
}

/// A metric family in progress.
#[derive(Debug)]
pub struct Family<'a>(&'a mut FamilyRows);

impl Exposition {
    /// Begins a counter, `NAME_UNIT`, or `NAME` if the unit is empty. Its samples are called `..._total`.
    pub fn counter(&mut self, name: &str, unit: &str, help: &str) -> Family<'_> {
        self.family(Kind::Counter, name, unit, help)
    }

    /// Begins a gauge, `NAME_UNIT`, or `NAME` if the unit is empty.
    pub fn gauge(&mut self, name: &str, unit: &str, help: &str) -> Family<'_> {
        self.family(Kind::Gauge, name, unit, help)
    }

    /// Begins a histogram, `NAME_UNIT`. Its samples are [buckets](Family::buckets).
    pub fn histogram(&mut self, name: &str, unit: &str, help: &str) -> Family<'_> {
        self.family(Kind::Histogram, name, unit, help)
    }

    fn family(&mut self, kind: Kind, name: &str, unit: &str, help: &str) -> Family<'_> {
        let name = match unit {
            "" => name.to_owned(),
            unit => format!("{name}_{unit}"),
        };
        self.families.push(FamilyRows {
            kind,
            name,
            unit: unit.to_owned(),
            help: help.to_owned(),
            samples: Vec::new(),
        });
        let last = self.families.len() - 1;
        Family(&mut self.families[last])
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for family in &self.families {
            family.write(&mut text);
        }
        text.push_str("# EOF\n");
        text
    }
}

impl Family<'_> {
    /// Adds a sample. Labels of a family differ between samples.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.push(labels, Value::Number(value.to_string()))
    }

    /// Adds a histogram: upper bounds, ascending, each with the number of values at or below it; and number and sum of all.
    pub fn buckets(
        &mut self,
        labels: &[(&str, &str)],
        at_most: &[(f64, u64)],
        (count, sum): (u64, f64),
    ) -> &mut Self {
        let at_most = at_most.to_vec();
        self.push(labels, Value::Histogram { at_most, count, sum })
    }

    fn push(&mut self, labels: &[(&str, &str)], value: Value) -> &mut Self {
        let owned = |(label, text): &(&str, &str)| ((*label).to_owned(), (*text).to_owned());
        self.0.samples.push(Sample {
            labels: labels.iter().map(owned).collect(),
            value,
        });
        self
    }
}

impl FamilyRows {
    fn write(&self, text: &mut String) {
        let (name, unit) = (&self.name, &self.unit);
        let (kind, suffix) = match self.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
            Kind::Histogram => ("histogram", ""),
        };
        // Writing to a string does not fail, here and below.
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", escaped(&self.help));
        for sample in &self.samples {
            let line = |text: &mut String, suffix: &str, le: Option<&str>, value: &dyn Display| {
                let _ = writeln!(text, "{name}{suffix}{} {value}", braced(&sample.labels, le));
            };
            match &sample.value {
                Value::Number(value) => line(text, suffix, None, value),
                Value::Histogram { at_most, count, sum } => {
                    for (bound, count) in at_most {
                        line(text, "_bucket", Some(&format!("{bound:?}")), count);
                    }
                    line(text, "_bucket", Some("+Inf"), count);
                    line(text, "_count", None, count);
                    line(text, "_sum", None, sum);
                }
            }
        }
    }
}

/// Labels between braces, the bound of a bucket last; empty without any.
fn braced(labels: &[(String, String)], le: Option<&str>) -> String {
    let own = labels.iter().map(|(label, text)| (label.as_str(), text.as_str()));
    let all = own.chain(le.map(|bound| ("le", bound)));
    let pairs: Vec<String> = all
        .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
        .collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", pairs.join(",")),
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
        let text = text.text();
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
