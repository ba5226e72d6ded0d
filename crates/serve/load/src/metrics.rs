//! The text format of Prometheus exporters (version 0.0.4), and the counters of bytes in and out of an origin. It must
//! not know where the text comes from.

use thiserror::Error;

/// Most bytes of a text.
pub const MOST_BYTES: usize = 4 << 20;
/// Most samples that are read of it.
pub const MOST_SAMPLES: usize = 20_000;

/// One sample: the value of a metric with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name and labels, as they stand there.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// A text that is no metrics.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetricsError {
    /// Too long.
    #[error("the metrics have more than {MOST_BYTES} bytes or {MOST_SAMPLES} samples")]
    TooLong,
    /// A line that is no sample.
    #[error("line {0} of the metrics is not a sample")]
    Line(usize),
    /// Not UTF-8.
    #[error("the metrics are not UTF-8")]
    NotText,
}

/// Reads all samples; values that are not numbers are left out.
///
/// # Errors
/// What is wrong with the text.
pub fn read(bytes: &[u8]) -> Result<Vec<Metric>, MetricsError> {
    if bytes.len() > MOST_BYTES {
        return Err(MetricsError::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| MetricsError::NotText)?;
    let mut samples = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let metric = sample(line).ok_or(MetricsError::Line(number + 1))?;
        if metric.value.is_nan() {
            continue;
        }
        if samples.len() >= MOST_SAMPLES {
            return Err(MetricsError::TooLong);
        }
        samples.push(metric);
    }
    Ok(samples)
}

/// `NAME{LABELS} VALUE [TIME]`. Label values are quoted and may hold anything, spaces and braces included.
fn sample(line: &str) -> Option<Metric> {
    let end = name_length(line)?;
    let (name, rest) = line.split_at(end);
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        number => number.parse().ok()?,
    };
    Some(Metric {
        name: name.trim_end().to_owned(),
        value,
    })
}

fn name_length(line: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    let mut labels = false;
    for (at, character) in line.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if labels => quoted = !quoted,
            _ if quoted => {}
            '{' => labels = true,
            '}' if labels => return Some(at + 1),
            ' ' | '\t' if !labels => return (at > 0).then_some(at),
            _ => {}
        }
    }
    None
}

/// The sum of all samples of a metric, whatever their labels; none if there are none.
pub fn sum(samples: &[Metric], name: &str) -> Option<f64> {
    let of_it = |metric: &&Metric| metric.name.split('{').next() == Some(name);
    let mut values = samples.iter().filter(of_it).map(|metric| metric.value).peekable();
    values.peek()?;
    Some(values.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_format() {
        // From Prometheus' page on exposition formats.
        let text = br#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} +Inf -3982045
http_request_duration_seconds_bucket{le="+Inf"} 144320
"#;
        let samples = read(text).expect("metrics");
        assert_eq!(samples.len(), 6);
        assert_eq!(sum(&samples, "http_requests_total"), Some(1030.0));
        assert_eq!(sum(&samples, "metric_without_timestamp_and_labels"), Some(12.47));
        assert_eq!(sum(&samples, "something_weird"), Some(f64::INFINITY));
        assert_eq!(sum(&samples, "http_requests"), None);
    }

    #[test]
    fn what_is_no_metrics_is_refused() {
        for (text, line) in [
            ("<html>", 1),
            ("a 1\nb", 2),
            ("a{b=\"c\" 1", 1),
            ("a one", 1),
            (" {", 1),
        ] {
            assert_eq!(read(text.as_bytes()), Err(MetricsError::Line(line)), "{text}");
        }
        assert_eq!(read(b"\xff"), Err(MetricsError::NotText));
        assert_eq!(read(&vec![b'\n'; MOST_BYTES + 1]), Err(MetricsError::TooLong));
    }
}
