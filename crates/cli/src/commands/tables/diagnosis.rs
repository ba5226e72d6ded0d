//! A diagnosis in words.

use crate::units::{format_count, format_duration, format_percent};
use serde_json::Value;
use weir_diagnose::{Compared, Diagnosis, Evidence, Explained, Finding, Recommendation, Severity, Survival};
use weir_results::Direction;

/// Columns of a line of text.
const WIDTH: usize = 100;
/// A smaller share of the lost packets without an explanation is left out.
const LEAST_UNEXPLAINED: f64 = 0.001;

/// The answer, then a line for each finding. Without `details`, it names the command that prints them.
pub fn answer_and_findings(diagnosis: &Diagnosis, details: bool) -> String {
    format!("{}\n{}", answer(diagnosis), findings(diagnosis, details))
}

/// The answer and the price of surviving more, each of its lines as wide as the page.
fn answer(diagnosis: &Diagnosis) -> String {
    let found = diagnosis.recommendation.as_ref();
    let found = found.filter(|_| diagnosis.answer.settings.is_some());
    let prices = found.map(|found| found.survival.iter()).into_iter().flatten();
    let prices: Vec<&str> = prices.map(|price: &Survival| price.sentence.as_str()).collect();
    let mut lines = diagnosis.answer.lines();
    if !prices.is_empty() {
        lines.push(format!(
            "To survive an outage of a second: {}.",
            prices.join("; ")
        ));
    }
    lines.iter().map(|line| wrapped(line, "", "  ")).collect()
}

/// A line for each finding.
fn findings(diagnosis: &Diagnosis, details: bool) -> String {
    let run = diagnosis.run;
    let mut text = format!(
        "findings of run {run}, {} to {}\n",
        diagnosis.kind, diagnosis.target
    );
    for finding in &diagnosis.findings {
        let (severity, name) = (severity(finding.severity), finding.name);
        text.push_str(&format!("  {severity:<11}  {name:<18}  {}\n", finding.brief));
    }
    diagnosis
        .explained
        .iter()
        .map(explained)
        .for_each(|line| text.push_str(&line));
    if diagnosis.findings.is_empty() {
        text.push_str("  none\n");
    } else if !details {
        text.push_str(&format!("  evidence and what to do: weir diagnose {run} -v\n"));
    }
    text
}

/// The lost packets of a direction, by cause.
fn explained(explained: &Explained) -> String {
    let mut parts: Vec<String> = explained
        .by
        .iter()
        .map(|part| format!("{} {}", part.finding, format_percent(part.share)))
        .collect();
    if explained.unexplained >= LEAST_UNEXPLAINED {
        parts.push(format!(
            "no explanation {}",
            format_percent(explained.unexplained)
        ));
    }
    let direction = match explained.direction {
        Direction::Forward => "",
        Direction::Reverse => ", reverse",
    };
    let lost = format_count(explained.lost);
    wrapped(
        &format!("{lost} packets lost{direction}: {}", parts.join(", ")),
        "  ",
        "    ",
    )
}

/// Each finding with its numbers, test, action and query, then the recommendation.
pub fn evidence(diagnosis: &Diagnosis) -> String {
    let mut text: Vec<String> = diagnosis.findings.iter().map(one).collect();
    text.extend(diagnosis.recommendation.as_ref().map(recommendation));
    text.join("\n")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Information => "information",
        Severity::Notice => "notice",
        Severity::Fault => "FAULT",
    }
}

fn title(finding: &Finding) -> String {
    format!("{} ({})", severity(finding.severity), finding.name)
}

fn one(finding: &Finding) -> String {
    let mut text = wrapped(&format!("{}: {}", title(finding), finding.sentence), "", "  ");
    for evidence in &finding.evidence {
        text.push_str(&wrapped(&numbers(evidence), "    ", "      "));
    }
    let confidence = &finding.confidence;
    let p_value = confidence.p_value.map_or(String::new(), |p_value| {
        format!("; p-value {}", probability(p_value))
    });
    let line = format!(
        "confidence {}: {}{p_value}",
        rounded(confidence.level),
        confidence.test
    );
    text.push_str(&wrapped(&line, "  ", "    "));
    if let Some(cause) = &confidence.cause {
        let level = cause
            .level
            .map_or(String::new(), |level| format!("{}: ", rounded(level)));
        text.push_str(&wrapped(
            &format!("its cause {level}{}", cause.because),
            "  ",
            "    ",
        ));
    }
    text.push_str(&wrapped(&format!("do: {}", finding.action), "  ", "    "));
    for line in finding.query.lines() {
        text.push_str(&format!("  sql> {line}\n"));
    }
    text
}

fn rounded(level: f64) -> String {
    format_percent((level * 1e4).round() / 1e4)
}

/// p-values below one in a million are all the same to a reader.
fn probability(p_value: f64) -> String {
    if p_value < 1e-6 {
        "below 0.000001".to_owned()
    } else if p_value < 1e-3 {
        format!("{p_value:.1e}")
    } else {
        format!("{p_value:.3}")
    }
}

fn numbers(evidence: &Evidence) -> String {
    let shown = match &evidence.value {
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        value => plain(value),
    };
    let unit = evidence
        .unit
        .as_ref()
        .map_or(String::new(), |unit| format!(" {unit}"));
    format!("{}: {shown}{unit}", evidence.what)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(small) if number.is_f64() && small != 0.0 && small.abs() < 1e-3 => format!("{small:.2e}"),
            Some(other) if number.is_f64() && other.fract() != 0.0 => format!("{other:.4}"),
            Some(whole) if number.is_f64() => format!("{whole:.0}"),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn recommendation(found: &Recommendation) -> String {
    let mut text = wrapped(&format!("recommended: {}", found.sentence), "", "  ");
    if !found.compared.is_empty() {
        text.push_str("  compared, the cheapest first\n");
    }
    for compared in &found.compared {
        text.push_str(&wrapped(&one_compared(compared), "    ", "      "));
    }
    if let Some(check) = &found.check {
        let (estimate, low, high) = check.simulated;
        let line = format!(
            "forecast checked with a raw loss of {}, so that failures can be counted: {} expected, {} by trial (95 %: {} to {})",
            format_percent(check.loss),
            format_percent(check.expected),
            format_percent(estimate),
            format_percent(low),
            format_percent(high)
        );
        text.push_str(&wrapped(&line, "  ", "    "));
    }
    text
}

/// `ARQ of up to 2 rounds (4.00 ms): 0.1 % more packets; residual loss 0.00012 % expected, ...: meets the target`.
fn one_compared(compared: &Compared) -> String {
    let recovery = &compared.recovery;
    let latency = recovery
        .latency_ns()
        .map_or(String::new(), |ns| format!(" ({})", format_duration(ns)));
    let trial = compared.simulated.map_or(String::new(), |(estimate, low, high)| {
        format!(
            ", {} of {} packets by trial (95 %: {} to {})",
            format_percent(estimate),
            format_count(compared.simulated_packets),
            format_percent(low),
            format_percent(high)
        )
    });
    format!(
        "{recovery}{latency}: {} more packets; residual loss at most {} expected{trial}: {}",
        format_percent(compared.overhead),
        format_percent(compared.expected),
        if compared.meets_target {
            "meets the target"
        } else {
            "misses the target"
        }
    )
}

/// Breaks a line between words, but not between a number and its unit; the first begins with `first`, the others with `rest`.
pub(super) fn wrapped(line: &str, first: &str, rest: &str) -> String {
    let mut text = String::new();
    let mut column = first.to_owned();
    let mut begun = false;
    let mut unbroken: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match unbroken.last_mut() {
            Some(number) if number.ends_with(|last: char| last.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => unbroken.push(word.to_owned()),
        }
    }
    for word in &unbroken {
        if begun && column.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&format!("{column}\n"));
            column = rest.to_owned();
            begun = false;
        }
        if begun {
            column.push(' ');
        }
        column.push_str(word);
        begun = true;
    }
    text.push_str(&format!("{column}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_break_between_words_and_stay_within_the_width() {
        let text = wrapped(&"word ".repeat(60), "- ", "    ");
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert!(
            text.starts_with("- word word")
                && text
                    .lines()
                    .nth(1)
                    .is_some_and(|line| line.starts_with("    word"))
        );
        let long = "x".repeat(150);
        assert_eq!(wrapped(&long, "", "  "), format!("{long}\n"));
        let at_the_end = "x".repeat(WIDTH - 4);
        let broken = wrapped(&format!("{at_the_end} 2.5 % more"), "", "  ");
        assert_eq!(broken, format!("{at_the_end}\n  2.5 % more\n"));
    }

    #[test]
    fn numbers_are_rounded_for_reading() {
        let shown = |value: Value| {
            numbers(&Evidence {
                what: "n".into(),
                value,
                unit: Some("ns".into()),
            })
        };
        assert_eq!(shown(json!([1, 2])), "n: 1, 2 ns");
        assert_eq!(shown(json!(0.000_012_345)), "n: 1.23e-5 ns");
        assert_eq!(shown(json!(3.0)), "n: 3 ns");
        assert_eq!(shown(json!(0.25)), "n: 0.2500 ns");
        assert_eq!(shown(Value::Null), "n: - ns");
    }
}
