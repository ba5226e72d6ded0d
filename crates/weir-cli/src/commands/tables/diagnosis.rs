//! A diagnosis in words.

use serde_json::Value;
use weir_cli::units::format_percent;
use weir_diagnose::{Diagnosis, Evidence, Finding, Recommendation, Recovery, Severity};

/// Columns of a line of text.
const WIDTH: usize = 100;

/// All findings, then the recommendation; with `queries`, the SQL that yields the numbers.
pub fn diagnosis(diagnosis: &Diagnosis, queries: bool) -> String {
    let mut text = format!(
        "run {}: {} to {}\n",
        diagnosis.run, diagnosis.kind, diagnosis.target
    );
    for finding in &diagnosis.findings {
        text.push_str(&format!("\n{}", one(finding, queries)));
    }
    if diagnosis.findings.is_empty() {
        text.push_str("nothing found\n");
    }
    if let Some(found) = &diagnosis.recommendation {
        text.push_str(&format!("\n{}", recommendation(found)));
    }
    text
}

/// Findings and the recommendation in short, as a survey shows them: faults and notices in full sentences.
pub fn findings(diagnosis: &Diagnosis) -> String {
    let mut text = String::from("findings\n");
    for finding in &diagnosis.findings {
        let line = format!("{}: {}", title(finding), finding.sentence);
        text.push_str(&wrapped(&line, "  ", "    "));
        if finding.severity > Severity::Information {
            text.push_str(&wrapped(&format!("do: {}", finding.action), "    ", "      "));
        }
    }
    if diagnosis.findings.is_empty() {
        text.push_str("  none\n");
    }
    if let Some(found) = &diagnosis.recommendation {
        text.push_str(&format!("\n{}", recommendation(found)));
    }
    text
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

fn one(finding: &Finding, queries: bool) -> String {
    let mut text = wrapped(&format!("{}: {}", title(finding), finding.sentence), "", "  ");
    for evidence in &finding.evidence {
        text.push_str(&wrapped(&numbers(evidence), "    ", "      "));
    }
    let confidence = &finding.confidence;
    let chance = confidence.p_value.map_or(String::new(), |chance| {
        format!("; by chance {}", probability(chance))
    });
    let line = format!(
        "confidence {}: {}{chance}",
        format_percent((confidence.level * 1e4).round() / 1e4),
        confidence.test
    );
    text.push_str(&wrapped(&line, "  ", "    "));
    text.push_str(&wrapped(&format!("do: {}", finding.action), "  ", "    "));
    if queries {
        for line in finding.query.lines() {
            text.push_str(&format!("  sql> {line}\n"));
        }
    }
    text
}

/// Probabilities below one in a million are all the same to a reader.
fn probability(chance: f64) -> String {
    if chance < 1e-6 {
        "less than one in a million".to_owned()
    } else {
        format_percent(chance)
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
    let (estimate, low, high) = found.simulated_residual_loss;
    text.push_str(&wrapped(
        &format!(
            "simulated: {} of {} packets stay lost (95 %: {} to {})",
            format_percent(estimate),
            found.simulated_packets,
            format_percent(low),
            format_percent(high)
        ),
        "  ",
        "    ",
    ));
    if let Some(check) = &found.check {
        let (estimate, low, high) = check.simulated;
        let line = format!(
            "the forecast checked with {} lost{}, so that failures can be counted: {} expected, {} simulated (95 %: {} to {})",
            format_percent(check.loss),
            rounds(&check.recovery),
            format_percent(check.expected),
            format_percent(estimate),
            format_percent(low),
            format_percent(high)
        );
        text.push_str(&wrapped(&line, "  ", "    "));
    }
    text
}

fn rounds(recovery: &Recovery) -> String {
    match recovery {
        Recovery::Arq { rounds: 1, .. } => " and one retransmission".to_owned(),
        Recovery::Arq { rounds, .. } => format!(" and {rounds} retransmissions"),
        _ => String::new(),
    }
}

/// Breaks a line between words; the first begins with `first`, the others with `rest`.
pub(super) fn wrapped(line: &str, first: &str, rest: &str) -> String {
    let mut text = String::new();
    let mut column = first.to_owned();
    let mut begun = false;
    for word in line.split_whitespace() {
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
