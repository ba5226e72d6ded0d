//! Where all events of a run go: to the store, the user, hooks and the counters of metrics, at a limited rate.

use std::collections::{BTreeMap, BTreeSet};

use weir_alarm::{Deliveries, Gate, Hook};
use weir_net::clock;
use weir_net::host::HostFacts;

use crate::{Event, EventKind, EventState, StreamError, Subject, Watch};

/// Which events pass: a limited number of each kind, and the end of an alarm if its beginning has passed.
#[derive(Default)]
struct Filter {
    gate: Gate<EventKind>,
    /// Alarms whose beginning was held back.
    unheard: BTreeSet<Subject>,
}

impl Filter {
    /// Whether an event passes: if so, the number of events of its kind held back before it.
    fn pass(&mut self, now_ns: u64, subject: Subject, state: EventState) -> Option<u64> {
        if state == EventState::Cleared {
            return (!self.unheard.remove(&subject)).then_some(0);
        }
        let passed = self.gate.pass(now_ns, subject.event);
        if passed.is_none() && state == EventState::Raised {
            self.unheard.insert(subject);
        }
        passed
    }
}

/// Announces the events of one run.
pub(crate) struct Announcer<'a> {
    watch: &'a dyn Watch,
    command: &'static str,
    host: String,
    deliveries: Deliveries,
    filter: Filter,
    counts: BTreeMap<EventKind, u64>,
}

impl<'a> Announcer<'a> {
    /// For a run of `weir COMMAND`.
    pub(crate) fn new(
        command: &'static str,
        hooks: &[Hook],
        watch: &'a dyn Watch,
    ) -> Result<Self, StreamError> {
        Ok(Announcer {
            watch,
            command,
            host: HostFacts::read(None).name,
            deliveries: Deliveries::start(hooks).map_err(|error| StreamError::thread(&error))?,
            filter: Filter::default(),
            counts: BTreeMap::new(),
        })
    }

    /// Announces an event, unless there are too many of its kind.
    pub(crate) fn announce(&mut self, event: Event) {
        if let Some(event) = self.note(event) {
            self.watch.event(&event);
        }
    }

    /// Announces an event except to the user; returns it if it has passed.
    pub(crate) fn note(&mut self, mut event: Event) -> Option<Event> {
        let held_back = self
            .filter
            .pass(clock::monotonic_ns(), event.subject, event.state)?;
        if held_back > 0 {
            let more = format!(" ({held_back} such events before it were not recorded)");
            event.detail.push_str(&more);
        }
        *self.counts.entry(event.subject.event).or_default() += 1;
        self.watch.record(event.record());
        self.deliveries.deliver(event.message(self.command, &self.host));
        Some(event)
    }

    /// Announced events so far, by kind.
    pub(crate) fn counts(&self) -> &BTreeMap<EventKind, u64> {
        &self.counts
    }

    /// All announced events.
    pub(crate) fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

impl Drop for Announcer<'_> {
    fn drop(&mut self) {
        let held_back = self.filter.gate.held_back();
        if held_back > 0 {
            tracing::warn!("{held_back} events were not recorded: there were too many of their kind");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn alarm(flow: u16) -> Subject {
        Subject {
            event: EventKind::FlowDark,
            sender: Some(0),
            flow: Some(flow),
        }
    }

    #[test]
    fn an_alarm_ends_exactly_where_its_beginning_was_heard() {
        let mut filter = Filter::default();
        let mut pass = |at, flow, state| filter.pass(at, alarm(flow), state).is_some();
        let heard: Vec<u16> = (0..64)
            .filter(|flow| pass(0, *flow, EventState::Raised))
            .collect();
        assert_eq!(heard, (0..30).collect::<Vec<_>>());
        let ended: Vec<u16> = (0..64)
            .filter(|flow| pass(SECOND_NS, *flow, EventState::Cleared))
            .collect();
        assert_eq!(ended, heard);
        // The one that was held back is heard the next time.
        assert!(pass(60 * SECOND_NS, 63, EventState::Raised));
        assert!(pass(61 * SECOND_NS, 63, EventState::Cleared));
    }

    #[test]
    fn a_flood_of_one_kind_hides_no_other() {
        let mut filter = Filter::default();
        let refused = Subject {
            event: EventKind::Refused,
            sender: None,
            flow: None,
        };
        let mut pass = |at, subject| filter.pass(at, subject, EventState::Happened).is_some();
        let passed = (0..100_000).filter(|at| pass(at * SECOND_NS / 1_000, refused));
        assert_eq!(passed.count(), 30 + 9, "in 100 s");
        assert!(pass(100 * SECOND_NS, alarm(1)));
    }
}
