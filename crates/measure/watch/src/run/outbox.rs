//! Where events go besides the log and the store: to hooks, and alarms to Alertmanagers. Holds back those of silences. It
//! must not know what events are about.

use std::collections::BTreeMap;

use weir_alarm::{Alert, Deliveries, Hook, Labels, Message, StandingAlerts};

use crate::event::{Event, State, What};

/// What distinguishes alarms.
type Key = (What, String, String, String);

pub(super) struct Outbox {
    hooks: Deliveries,
    alertmanagers: Deliveries,
    alerts: StandingAlerts,
    withheld: Withheld,
}

/// Alarms that were raised in a silence and stand.
#[derive(Debug, Default)]
struct Withheld(BTreeMap<Key, Event>);

impl Withheld {
    /// Whether an event is delivered now. An alarm that ends is silent if its beginning was.
    fn lets_pass(&mut self, event: &Event) -> bool {
        let was_withheld = event.state == State::Cleared && self.0.remove(&key(event)).is_some();
        match (event.silenced.is_some(), event.state) {
            _ if was_withheld => false,
            (true, State::Raised) => {
                self.0.insert(key(event), event.clone());
                false
            }
            (true, State::Happened) => false,
            (true, State::Cleared) | (false, _) => true,
        }
    }

    /// Alarms whose silence is over.
    fn release(&mut self, is_silenced: impl Fn(&Event) -> bool) -> Vec<Event> {
        let (held, over) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(_, event)| is_silenced(event));
        self.0 = held;
        let over: BTreeMap<Key, Event> = over;
        let released = over.into_values().map(|event| Event {
            silenced: None,
            ..event
        });
        released.collect()
    }
}

impl Outbox {
    /// Starts the threads of the hooks.
    pub fn start(hooks: &[Hook], alertmanagers: &[Hook]) -> std::io::Result<Self> {
        Ok(Outbox {
            hooks: Deliveries::start(hooks)?,
            alertmanagers: Deliveries::start(alertmanagers)?,
            alerts: StandingAlerts::default(),
            withheld: Withheld::default(),
        })
    }

    /// Delivers an event, unless it is silenced.
    pub fn take(&mut self, event: &Event) {
        if self.withheld.lets_pass(event) {
            self.deliver(event);
        }
    }

    /// An alarm that stood before the watcher started: for Alertmanager, which forgets, and for no other.
    pub fn stands(&mut self, event: &Event) {
        let body = self.alerts.raise(event.unix_ns, alert(event));
        post(&mut self.alertmanagers, body);
    }

    /// Forgets what stands, which may have other labels now: Alertmanager forgets it as well.
    pub fn forget(&mut self) {
        self.alerts = StandingAlerts::default();
    }

    /// Delivers alarms whose silence has ended, and repeats those that stand.
    pub fn wake(&mut self, now_ns: u64, is_silenced: impl Fn(&Event) -> bool) {
        for event in self.withheld.release(is_silenced) {
            self.deliver(&event);
        }
        if let Some(body) = self.alerts.repeat(now_ns) {
            post(&mut self.alertmanagers, body);
        }
    }

    fn deliver(&mut self, event: &Event) {
        self.hooks.deliver(message(event));
        let body = match event.state {
            State::Happened => None,
            State::Raised => Some(self.alerts.raise(event.unix_ns, alert(event))),
            State::Cleared => self.alerts.clear(event.unix_ns, &labels(event)),
        };
        if let Some(body) = body {
            post(&mut self.alertmanagers, body);
        }
    }
}

fn post(to: &mut Deliveries, body: String) {
    to.deliver(Message {
        json: body,
        variables: Vec::new(),
    });
}

fn key(event: &Event) -> Key {
    let texts = [&event.from, &event.to, &event.subject].map(String::clone);
    let [from, to, subject] = texts;
    (event.event, from, to, subject)
}

/// Labels of its own, and those of the rule, which cannot replace them.
fn labels(event: &Event) -> Labels {
    let name = match event.event {
        What::Rule => event.subject.clone(),
        other => other.as_str().to_owned(),
    };
    let subject = match event.event {
        What::Rule => String::new(),
        _ => event.subject.clone(),
    };
    let own = [
        ("alertname", name),
        ("from", event.from.clone()),
        ("to", event.to.clone()),
        ("subject", subject),
    ];
    // Alertmanager takes an empty label for none.
    let own = own.into_iter().filter(|(_, value)| !value.is_empty());
    let mut labels = event.labels.clone();
    labels.extend(own.map(|(label, value)| (label.to_owned(), value)));
    labels
}

fn alert(event: &Event) -> Alert {
    let mut annotations = Labels::from([("summary".to_owned(), event.detail.clone())]);
    annotations.extend(event.run_id.map(|run| ("run_id".to_owned(), run.to_string())));
    let evidence = event.evidence.as_ref();
    annotations.extend(evidence.map(|evidence| ("value".to_owned(), evidence.value.to_string())));
    Alert {
        labels: labels(event),
        annotations,
        starts_ns: evidence.map_or(event.unix_ns, |evidence| match event.event {
            // The evidence of a rate is of days.
            What::Rule if evidence.low.is_none() => evidence.since_unix_ns,
            _ => event.unix_ns,
        }),
    }
}

/// An event as hooks get it.
fn message(event: &Event) -> Message {
    // Plain data always serialises.
    let json = serde_json::to_value(event).unwrap_or_default();
    let word = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    let names = [
        ("WEIR_EVENT", "event"),
        ("WEIR_STATE", "state"),
        ("WEIR_FROM", "from"),
        ("WEIR_TO", "to"),
        ("WEIR_SUBJECT", "subject"),
        ("WEIR_DETAIL", "detail"),
    ];
    Message {
        variables: names.map(|(variable, name)| (variable, word(name))).to_vec(),
        json: json.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(state: State, silenced: bool) -> Event {
        let words = "lon to ams: rule 'loss'".to_owned();
        let mut event = Event::of_path(60_000_000_000, What::Rule, state, ("lon", "ams"), words);
        event.subject = "loss".to_owned();
        event.labels = BTreeMap::from([("severity", "page"), ("to", "nobody")])
            .into_iter()
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .collect();
        event.silenced = silenced.then(|| "maintenance".to_owned());
        event
    }

    #[test]
    fn silences_hold_alarms_back_until_they_end() {
        let mut withheld = Withheld::default();
        assert!(withheld.lets_pass(&event(State::Raised, false)));
        // Whoever heard of it hears of its end, in a silence too.
        assert!(withheld.lets_pass(&event(State::Cleared, true)));
        assert!(!withheld.lets_pass(&event(State::Happened, true)));
        // Raised and over within a silence, or soon after: nothing.
        assert!(!withheld.lets_pass(&event(State::Raised, true)));
        assert!(!withheld.lets_pass(&event(State::Cleared, false)));
        assert_eq!(withheld.release(|_| false), []);
        // It stands when the silence ends.
        assert!(!withheld.lets_pass(&event(State::Raised, true)));
        assert_eq!(withheld.release(|_| true), []);
        assert_eq!(withheld.release(|_| false), [event(State::Raised, false)]);
        assert!(withheld.lets_pass(&event(State::Cleared, false)));
    }

    #[test]
    fn alerts_are_known_by_rule_and_path_and_have_the_labels_of_the_rule() {
        let labels: Vec<(String, String)> = labels(&event(State::Raised, false)).into_iter().collect();
        let expected = [
            ("alertname", "loss"),
            ("from", "lon"),
            ("severity", "page"),
            ("to", "ams"),
        ];
        assert_eq!(
            labels,
            expected.map(|(label, value)| (label.to_owned(), value.to_owned()))
        );
        let alert = alert(&event(State::Raised, false));
        assert_eq!(alert.annotations["summary"], "lon to ams: rule 'loss'");
    }
}
