//! Alerts that stand, as Prometheus' Alertmanager takes them: POST to `/api/v2/alerts`
//! (<https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml>). It has no clock and sends nothing.
//!
//! Alertmanager forgets an alert at its `endsAt`. One that stands is therefore sent again every minute, each time with an end
//! five minutes ahead, so that alerts of a host that died end by themselves, and a lost message is made up for.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_units::UtcTime;

/// From one repetition to the next, nanoseconds.
const AGAIN_NS: u64 = 60_000_000_000;
/// An alert that is not sent again for so long ends, nanoseconds.
const STANDS_NS: u64 = 300_000_000_000;

/// Names and values. Names have letters, digits and `_`.
pub type Labels = BTreeMap<String, String>;

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// What identifies it, with `alertname`.
    pub labels: Labels,
    /// What it says.
    pub annotations: Labels,
    /// Its start, Unix nanoseconds.
    pub starts_ns: u64,
}

impl Alert {
    fn until(&self, ends_ns: u64) -> Value {
        json!({
            "labels": self.labels,
            "annotations": self.annotations,
            "startsAt": UtcTime(self.starts_ns).to_string(),
            "endsAt": UtcTime(ends_ns.max(self.starts_ns)).to_string(),
        })
    }
}

/// The alerts that stand.
#[derive(Clone, Debug, Default)]
pub struct StandingAlerts {
    standing: BTreeMap<Labels, Alert>,
    next_ns: u64,
}

impl StandingAlerts {
    /// An alert begins. Returns the body of a request.
    pub fn raise(&mut self, now_ns: u64, alert: Alert) -> String {
        let body = json!([alert.until(now_ns.saturating_add(STANDS_NS))]);
        self.standing.insert(alert.labels.clone(), alert);
        body.to_string()
    }

    /// The alert with these labels ends. Returns the body of a request; none if it does not stand.
    pub fn clear(&mut self, now_ns: u64, labels: &Labels) -> Option<String> {
        let alert = self.standing.remove(labels)?;
        Some(json!([alert.until(now_ns)]).to_string())
    }

    /// The body of a request that repeats all of them, if it is time.
    pub fn repeat(&mut self, now_ns: u64) -> Option<String> {
        // A clock that was set back delays nothing.
        if now_ns < self.next_ns && self.next_ns <= now_ns.saturating_add(AGAIN_NS) {
            return None;
        }
        self.next_ns = now_ns.saturating_add(AGAIN_NS);
        let ends_ns = now_ns.saturating_add(STANDS_NS);
        let all: Vec<Value> = self.standing.values().map(|alert| alert.until(ends_ns)).collect();
        (!all.is_empty()).then(|| Value::from(all).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    /// 2026-03-01 22:00:00 UTC.
    const NOW_NS: u64 = 1_772_402_400 * SECOND;

    fn alert(name: &str) -> Alert {
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Alert {
            labels: Labels::from([label("alertname", name), label("from", "lon")]),
            annotations: Labels::from([label("summary", "words")]),
            starts_ns: NOW_NS - 300 * SECOND,
        }
    }

    #[test]
    fn alerts_stand_for_five_minutes_each_time_and_end_when_they_are_cleared() {
        let mut alerts = StandingAlerts::default();
        assert_eq!(alerts.repeat(NOW_NS), None);
        let expected = r#"[{"annotations":{"summary":"words"},"endsAt":"2026-03-01T22:05:00Z","labels":{"alertname":"loss","from":"lon"},"startsAt":"2026-03-01T21:55:00Z"}]"#;
        assert_eq!(alerts.raise(NOW_NS, alert("loss")), expected);
        alerts.raise(NOW_NS, alert("p90"));
        assert_eq!(alerts.repeat(NOW_NS + 59 * SECOND), None);
        let again = alerts.repeat(NOW_NS + 60 * SECOND).unwrap();
        assert_eq!(again.matches("2026-03-01T22:06:00Z").count(), 2, "{again}");
        let cleared = alerts.clear(NOW_NS + 61 * SECOND, &alert("loss").labels).unwrap();
        assert!(
            cleared.contains(r#""endsAt":"2026-03-01T22:01:01Z""#),
            "{cleared}"
        );
        assert_eq!(alerts.clear(NOW_NS, &alert("loss").labels), None);
        // The clock is set back by a year.
        let again = alerts.repeat(NOW_NS - 365 * 86_400 * SECOND).unwrap();
        assert!(again.contains("p90") && !again.contains("loss"), "{again}");
    }
}
