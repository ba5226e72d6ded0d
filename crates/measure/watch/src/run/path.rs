//! The state of one path: its open cells, its change points, its rules and flows, and whether anything is answered on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_alarm::{Alarm, Change as Turn, Hold};
use weir_record::{WatchChange, WatchCount, WatchEvent};
use weir_results::{PathId, Span, Store, StoreError};
use weir_units::format_duration;

use super::executor::Done;
use super::rules::Rules;
use crate::change::{Change, Sensitivity, TestWatch, Watch};
use crate::config::{Config, FlowsKind, Pair};
use crate::event::{Event, Evidence, State, What};
use crate::flows::Flows;
use crate::gather::{Gather, minute};
use crate::rare::{RATE_DAYS, Rare, Rate};
use crate::schedule::{Kind, Task};
use crate::searches::Searches;

/// Minutes of the past from which the state of change points is made: a day.
const PAST_S: u64 = 86_400;
/// Surveys of a mesh keep out of each other's way if clocks differ by less, nanoseconds.
const CLOCKS_APART_NS: u64 = 60_000_000_000;
const HOLD: Hold = Hold {
    raise_ns: 0,
    clear_ns: 5_000_000_000,
};

#[derive(Debug)]
pub(super) struct Path {
    /// Position in the configuration.
    pub pair: usize,
    pub id: PathId,
    from: String,
    to: String,
    pub gather: Arc<Mutex<Gather>>,
    /// Change points and rules, up to the minute that ends here (Unix seconds).
    pub watch: Watch,
    pub rules: Rules,
    pub seen_until_s: u64,
    /// End of the last hour that is summed, Unix seconds.
    pub hours_until_s: u64,
    /// The last event of each rule in the minutes that were read again.
    replayed: BTreeMap<String, Event>,
    /// Why the last RTT test failed.
    pub last_failure: Option<String>,
    /// Changes found so far, by metric.
    pub changes: BTreeMap<String, u64>,
    /// Change points of routes and path MTUs, up to the last test.
    tests: TestWatch,
    searches: Searches,
    pub flows: Flows,
    /// Flows that went dark so far.
    pub went_dark: u64,
    since_ns: u64,
    unreachable: Alarm,
    clocks_apart: Alarm,
}

impl Path {
    /// Opens a path, with the change points, alarms and dark flows of its last day.
    pub fn open(
        store: &Store,
        config: &Config,
        (number, pair): (usize, Pair),
        now_ns: u64,
    ) -> Result<Self, StoreError> {
        let [from, to] = [pair.from, pair.to].map(|host| &config.hosts[host].name);
        let id = store.watch_path(from, to)?;
        let mut watch = Watch::new(Sensitivity::default());
        let mut rules = Rules::of(config, pair);
        let mut replayed = BTreeMap::new();
        let last = store.last_watch_cell(id, Span::Minute)?;
        let until_s = last.map_or(0, |start| start + 60);
        for cell in store.watch_cells(id, Span::Minute, until_s.saturating_sub(PAST_S), until_s)? {
            // What is found here was reported when it was found.
            watch.push(&minute(&cell));
            let events = rules.push((from, to), &cell).into_iter();
            replayed.extend(events.map(|event| (event.subject.clone(), event)));
        }
        let last_hour = store.last_watch_cell(id, Span::Hour)?;
        let last_second = store.last_watch_cell(id, Span::Second)?;
        let past = store.watch_events(id, now_ns.saturating_sub(PAST_S * 1_000_000_000), u64::MAX)?;
        let mut tests = TestWatch::new(Sensitivity::default());
        for (unix_ns, tested) in store.watch_tested(id, now_ns.saturating_sub(PAST_S * 1_000_000_000))? {
            // A test of another version says nothing.
            if let Ok(tested) = serde_json::from_value(tested) {
                tests.push(unix_ns, &tested);
            }
        }
        let mut standing: BTreeSet<String> = BTreeSet::new();
        for event in past
            .into_iter()
            .filter(|event| event.event == What::FlowDark.as_str())
        {
            match event.state.as_str() {
                "raised" => standing.insert(event.subject),
                _ => standing.remove(&event.subject),
            };
        }
        Ok(Path {
            pair: number,
            id,
            rules,
            replayed,
            flows: Flows::with_dark(standing),
            went_dark: 0,
            from: from.clone(),
            to: to.clone(),
            gather: Arc::new(Mutex::new(Gather::after(last_second))),
            watch,
            seen_until_s: until_s,
            hours_until_s: last_hour.map_or(0, |start| start + 3_600),
            last_failure: None,
            changes: BTreeMap::new(),
            tests,
            searches: Searches::default(),
            since_ns: now_ns,
            unreachable: Alarm::default(),
            clocks_apart: Alarm::default(),
        })
    }

    /// The same path in another configuration, whose rules start anew from the minutes of the last day.
    pub fn of_pair(
        self,
        store: &Store,
        config: &Config,
        (number, pair): (usize, Pair),
    ) -> Result<Self, StoreError> {
        let mut rules = Rules::of(config, pair);
        let mut replayed = BTreeMap::new();
        let until_s = self.seen_until_s;
        for cell in store.watch_cells(self.id, Span::Minute, until_s.saturating_sub(PAST_S), until_s)? {
            let events = rules.push(self.names(), &cell).into_iter();
            replayed.extend(events.map(|event| (event.subject.clone(), event)));
        }
        Ok(Path {
            pair: number,
            rules,
            replayed,
            ..self
        })
    }

    /// The last stored event of each alarm.
    fn stored(
        &self,
        store: &Store,
        now_ns: u64,
    ) -> Result<BTreeMap<(String, String), WatchEvent>, StoreError> {
        let from_ns = now_ns.saturating_sub(RATE_DAYS * PAST_S * 1_000_000_000);
        let events = store.watch_events(self.id, from_ns, u64::MAX)?.into_iter();
        Ok(events
            .map(|event| ((event.event.clone(), event.subject.clone()), event))
            .collect())
    }

    /// Alarms of rules that the minutes of the last day raise or clear and that were not reported: the rule is new or has
    /// another limit, or the watcher was killed.
    pub fn unreported(&self, store: &Store, now_ns: u64) -> Result<Vec<Event>, StoreError> {
        let stored = self.stored(store, now_ns)?;
        let news = |(rule, raised): (&str, bool)| {
            let key = (What::Rule.as_str().to_owned(), rule.to_owned());
            let was_raised = stored
                .get(&key)
                .is_some_and(|event| event.state == State::Raised.as_str());
            if raised == was_raised {
                return None;
            }
            let last = self.replayed.get(rule);
            let fits = last.filter(|event| (event.state == State::Raised) == raised);
            fits.cloned().or_else(|| {
                let names = self.names();
                let detail = format!("{} to {}: rule '{rule}' does not hold any more", names.0, names.1);
                let mut over = Event::of_path(now_ns, What::Rule, State::Cleared, names, detail);
                over.subject = rule.to_owned();
                Some(over)
            })
        };
        Ok(self.rules.replayed().filter_map(news).collect())
    }

    /// Alarms of rules and flows that stand, for an Alertmanager, which forgets them.
    pub fn standing(&self, store: &Store, config: &Config, now_ns: u64) -> Result<Vec<Event>, StoreError> {
        let raised = self.stored(store, now_ns)?;
        let is_standing = |event: &WatchEvent| match event.event.as_str() {
            "rule" => self.rules.is_raised(&event.subject),
            "flow_dark" => event.state == State::Raised.as_str(),
            _ => false,
        };
        let again = |event: WatchEvent| {
            let what = if event.event == "rule" {
                What::Rule
            } else {
                What::FlowDark
            };
            let mut again = Event::of_path(event.unix_ns, what, State::Raised, self.names(), event.detail);
            let rule = config.rules.iter().find(|rule| rule.name == event.subject);
            again.labels = rule.map(|rule| rule.labels.clone()).unwrap_or_default();
            (again.subject, again.run_id) = (event.subject, event.run_id);
            again
        };
        Ok(raised.into_values().filter(is_standing).map(again).collect())
    }

    pub fn names(&self) -> (&str, &str) {
        (&self.from, &self.to)
    }

    pub fn is_between(&self, names: (&String, &String)) -> bool {
        (&self.from, &self.to) == names
    }

    /// Silence counts from now on only: this host did not run, or its clock was set.
    pub fn disturbed(&mut self, now_ns: u64) {
        self.open_cells().forget_answers();
        self.since_ns = now_ns;
    }

    pub fn is_unreachable(&self) -> bool {
        self.unreachable.is_raised()
    }

    pub fn open_cells(&self) -> MutexGuard<'_, Gather> {
        self.gather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a flow test that stands for `every_ns`: what it turned, and what it adds to the counts.
    pub fn take_flows(
        &mut self,
        store: &Store,
        (now_ns, every_ns): (u64, u64),
        done: &Done,
    ) -> (Vec<Event>, Vec<WatchCount>) {
        if done.flows.iter().all(|flow| flow.received == 0) {
            return (Vec::new(), Vec::new());
        }
        let turns = self.flows.push(&done.flows);
        let new = turns.dark.len() as u64;
        self.went_dark += new;
        let count = Rare::FlowDark.count(now_ns, every_ns / 1_000_000_000, new);
        let rate = self.rate(store, now_ns, &count);
        let names = self.names();
        let event = |state, subject: String, what: String| {
            let detail = format!("{} to {}: {what}", names.0, names.1);
            let mut event = Event::of_path(now_ns, What::FlowDark, state, names, detail);
            event.subject = subject;
            let evidence = |rate| Evidence::of_rate("dark-flows", rate, None, now_ns);
            event.evidence = rate.as_ref().map(evidence);
            event
        };
        let often = rate
            .as_ref()
            .map_or(String::new(), |rate| format!("; {}", rate.in_words()));
        let dark = turns.dark.iter().map(|flow| {
            let way = flow.direction.as_str();
            let (number, port, sent) = (flow.flow, flow.port, flow.sent);
            let what = format!(
                "flow {number} {way}, destination port {port}, was dark: 0 of {sent} packets arrived{often}"
            );
            event(State::Raised, flow.subject(), what)
        });
        let over = turns.over.iter().map(|subject| {
            event(
                State::Cleared,
                subject.clone(),
                format!("the {subject} is dark no more"),
            )
        });
        let mut events: Vec<Event> = dark.chain(over).collect();
        if let Some(rate) = &rate {
            let names = (self.from.as_str(), self.to.as_str());
            events.extend(self.rules.observe_dark(now_ns, names, rate));
        }
        (events, vec![count])
    }

    /// Whether a test that starts now searches the path MTU, which then counts.
    pub fn starts_search(&mut self, now_ns: u64, task: Task, flows: Option<FlowsKind>) -> bool {
        let every_ns = flows
            .filter(|_| task.kind == Kind::Flows)
            .map(|flows| flows.mtu_every_ns);
        let in_doubt = self.tests.is_mtu_in_doubt();
        every_ns.is_some_and(|every_ns| self.searches.start(now_ns, every_ns, in_doubt))
    }

    /// Takes what a test found of routes and path MTUs: what has changed.
    pub fn take_tested(&mut self, now_ns: u64, done: &Done) -> Vec<WatchChange> {
        let changes: Vec<WatchChange> = self.tests.push(now_ns, &done.tested).iter().map(row).collect();
        for change in &changes {
            *self.changes.entry(change.metric.clone()).or_default() += 1;
        }
        changes
    }

    /// Raises or clears the alarms of rules on the path MTU that a test searched, the smaller one of both directions.
    pub fn observe_path_mtu(&mut self, now_ns: u64, done: &Done) -> Vec<Event> {
        let names = (self.from.as_str(), self.to.as_str());
        let smallest = done.tested.values().filter_map(|way| way.mtu).min();
        smallest.map_or_else(Vec::new, |bytes| {
            self.rules.observe_path_mtu(now_ns, names, bytes)
        })
    }

    /// The rate of an event over the last days, with a count that is not stored yet; none where the store cannot be read.
    fn rate(&self, store: &Store, now_ns: u64, more: &WatchCount) -> Option<Rate> {
        let from_s = (now_ns / 1_000_000_000).saturating_sub(RATE_DAYS * PAST_S);
        let mut counts = store.watch_counts(self.id, from_s).ok()?;
        counts.push(more.clone());
        Rate::of(Rare::FlowDark, &counts)
    }

    /// Raises or clears the alarms of a path on which nothing was answered for `most_silent_ns`, and counts how often.
    pub fn observe(&mut self, now_ns: u64, most_silent_ns: u64) -> (Vec<Event>, Vec<WatchCount>) {
        let answered_ns = self.open_cells().last_answer_ns();
        let silent_ns = now_ns.saturating_sub(answered_ns.unwrap_or(0).max(self.since_ns));
        let names = (self.from.as_str(), self.to.as_str());
        let silence = (silent_ns, most_silent_ns);
        let mut events = self.rules.observe_silence(now_ns, names, silence);
        let turn = self.unreachable.observe(now_ns, HOLD, silent_ns > most_silent_ns);
        let counts = match turn {
            Some(Turn::Raised) => vec![Rare::Unreachable.count(now_ns, 0, 1)],
            _ => Vec::new(),
        };
        events.extend(turn.map(|turn| self.turned(now_ns, turn, silence)));
        events.extend(self.compare_clocks(now_ns));
        (events, counts)
    }

    /// Raises or clears the alarm of clocks that are far apart.
    fn compare_clocks(&mut self, now_ns: u64) -> Option<Event> {
        let clock = self.open_cells().clock()?;
        let apart_ns = clock.offset_ns.unsigned_abs();
        let holds = apart_ns.saturating_sub(clock.uncertainty_ns) > CLOCKS_APART_NS;
        let turn = self.clocks_apart.observe(now_ns, HOLD, holds)?;
        let (from, to) = self.names();
        let side = if clock.offset_ns < 0 { "behind" } else { "ahead of" };
        let (state, what) = match turn {
            Turn::Raised => (
                State::Raised,
                format!(
                    "the clock of {to} is {} {side} that of {from}; set both by NTP, or surveys of this mesh may overlap",
                    format_duration(apart_ns)
                ),
            ),
            Turn::Cleared(_) => (
                State::Cleared,
                format!("the clocks of {from} and {to} agree to within a minute again"),
            ),
        };
        let detail = format!("{from} to {to}: {what}");
        Some(Event::of_path(now_ns, What::Clock, state, (from, to), detail))
    }

    /// The clock was set back: minutes are summed again from `until_s` on (Unix seconds), and hours from theirs.
    pub fn set_back(&mut self, until_s: u64) {
        self.seen_until_s = until_s;
        self.hours_until_s = self.hours_until_s.min(until_s / 3_600 * 3_600);
    }

    fn turned(&self, now_ns: u64, turn: Turn, (silent_ns, most_silent_ns): (u64, u64)) -> Event {
        let (from, to) = self.names();
        let (state, detail) = match turn {
            Turn::Raised => {
                let reason = self.last_failure.as_deref();
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                let silent = format_duration(silent_ns);
                (
                    State::Raised,
                    format!("{from} to {to}: no RTT packet was answered for {silent}{reason}"),
                )
            }
            Turn::Cleared(lasted_ns) => (
                State::Cleared,
                format!(
                    "{from} to {to}: RTT packets are answered again, after {}",
                    format_duration(lasted_ns.saturating_add(most_silent_ns))
                ),
            ),
        };
        Event::of_path(now_ns, What::Unreachable, state, (from, to), detail)
    }
}

/// A change as it is stored.
pub(super) fn row(change: &Change) -> WatchChange {
    WatchChange {
        metric: change.metric.as_str().to_owned(),
        since_unix_ns: change.since_ns,
        found_unix_ns: change.found_ns,
        before: change.before,
        after: change.after,
        low: change.interval.0,
        high: change.interval.1,
        detail: change.detail.clone(),
    }
}
