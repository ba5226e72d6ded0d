//! What the counters of a quarter of a second mean: alarms that are raised and cleared. It has no clock, and must not know
//! sockets, threads, or where events go.

use std::collections::{BTreeMap, VecDeque};

use weir_alarm::{Alarm, Change, Hold};

use crate::{EventKind, EventState, Subject};

/// Interval at which counters are judged, nanoseconds.
pub(crate) const QUARTER_NS: u64 = 250_000_000;
/// Quarters of the second over which rates are judged.
const QUARTERS: usize = 4;
/// An alarm is cleared when its condition has not held for this time.
const QUIET_NS: u64 = 5_000_000_000;
const AT_ONCE: Hold = Hold {
    raise_ns: 0,
    clear_ns: QUIET_NS,
};
/// A flow is dark after this time: one that carries packets again sooner has cost what the repair is for.
const DARK: Hold = Hold {
    raise_ns: 1_000_000_000,
    clear_ns: QUIET_NS,
};
/// A sender that sends is never silent for so long: without frames it describes its format once per second, which the hold
/// of a second bridges.
const SILENT_NS: u64 = 500_000_000;
/// Late packets in a second: fewer may be copies that were not needed any more.
const LATE: u64 = 8;
/// Packets in a second that failed authentication, or were not valid.
const REJECTED: u64 = 20;
/// Lost packets in a second beyond the repair packets: adaptive FEC follows the loss, and misses its beginning.
const BEYOND_REPAIRS: u64 = 8;
/// A packet thread that did not run for the latency budget, or at least for this time, was held up.
const LEAST_HELD_NS: u64 = 50_000_000;

/// What an end counted in a quarter of a second, with one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quarter {
    /// Source packets lost, not counting those that arrived after all.
    pub lost: u64,
    /// Repair packets.
    pub repairs: u64,
    /// Source packets not repaired.
    pub unrepaired: u64,
    /// Packets that arrived after their frame was output.
    pub late: u64,
    /// Packets that failed authentication, or were not valid.
    pub rejected: u64,
    /// Time since the peer's last packet, nanoseconds; none if none is expected.
    pub silence_ns: Option<u64>,
}

/// What this host cost in a quarter of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldUp {
    /// Longest time for which the packet thread did not look for packets, nanoseconds.
    pub longest_ns: u64,
    /// Packets that the kernel dropped at the sockets, or did not take.
    pub drops: u64,
}

/// A change of an alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub subject: Subject,
    pub state: EventState,
    pub detail: String,
}

/// The end that watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// A peer of this end.
#[derive(Debug)]
struct Peer {
    name: String,
    fec: bool,
    second: VecDeque<Quarter>,
    /// Flows whose use has changed, and the reason why they are unused.
    flows: BTreeMap<u16, Option<&'static str>>,
}

/// All alarms of a run.
#[derive(Debug)]
pub(crate) struct Alarms {
    end: End,
    budget_ns: u64,
    peers: BTreeMap<u16, Peer>,
    /// Those that have stood, by what they are about: bounded by the flows of all peers.
    alarms: BTreeMap<Subject, Alarm>,
    /// Until when a loss may be this host's fault.
    held_until_ns: u64,
    signals: Vec<Signal>,
}

impl Alarms {
    /// None stands. The budget is the latency, nanoseconds.
    pub(crate) fn new(end: End, budget_ns: u64) -> Self {
        Alarms {
            end,
            budget_ns,
            peers: BTreeMap::new(),
            alarms: BTreeMap::new(),
            held_until_ns: 0,
            signals: Vec::new(),
        }
    }

    /// The latency, where it is known only from now on.
    pub(crate) fn set_budget(&mut self, budget_ns: u64) {
        self.budget_ns = budget_ns;
    }

    /// A session with a peer begins.
    pub(crate) fn join(&mut self, peer: u16, name: &str, fec: bool) {
        let joined = Peer {
            name: name.to_owned(),
            fec,
            second: VecDeque::new(),
            flows: BTreeMap::new(),
        };
        self.peers.insert(peer, joined);
    }

    /// A session with a peer ends, and with it its alarms.
    pub(crate) fn leave(&mut self, now_ns: u64, peer: u16) {
        let Some(gone) = self.peers.remove(&peer) else {
            return;
        };
        // The host is watched as long as there is anybody to hold up.
        let is_last = self.peers.is_empty();
        let of_peer = |subject: &Subject| match subject.event {
            EventKind::HeldUp => is_last,
            _ => subject.sender == self.label(peer),
        };
        let subjects: Vec<Subject> = self.alarms.keys().copied().filter(of_peer).collect();
        for subject in subjects {
            let change = self
                .alarms
                .remove(&subject)
                .and_then(|mut alarm| alarm.clear(now_ns));
            let detail = || format!("the session with {} has ended", gone.name);
            self.signal(subject, change, detail, detail);
        }
    }

    /// Whether a flow of a peer is out of use.
    pub(crate) fn is_unused(&self, peer: u16, flow: u16) -> bool {
        let known = self.peers.get(&peer).and_then(|peer| peer.flows.get(&flow));
        known.is_some_and(Option::is_some)
    }

    /// Whether there is a session with a peer.
    pub(crate) fn watches(&self, peer: u16) -> bool {
        self.peers.contains_key(&peer)
    }

    /// How events name a peer: a sender has one, without a number.
    fn label(&self, peer: u16) -> Option<u16> {
        (self.end == End::Receiver).then_some(peer)
    }

    /// The use of a flow has changed: the reason why it is unused, or none.
    pub(crate) fn flow(&mut self, peer: u16, flow: u16, unused: Option<&'static str>) {
        let known = self.peers.get_mut(&peer);
        if let Some(peer) = known.filter(|_| usize::from(flow) < weir_wire::MAX_FEEDBACK_FLOWS) {
            peer.flows.insert(flow, unused);
        }
    }

    /// Judges what this host cost. Call before [`peer`](Self::peer).
    pub(crate) fn host(&mut self, now_ns: u64, held: HeldUp) {
        if self.peers.is_empty() {
            return;
        }
        let is_held = held.drops > 0 || held.longest_ns > self.budget_ns.max(LEAST_HELD_NS);
        if is_held {
            self.held_until_ns = now_ns + QUARTERS as u64 * QUARTER_NS;
        }
        let subject = Subject {
            event: EventKind::HeldUp,
            sender: None,
            flow: None,
        };
        let ms = held.longest_ns / 1_000_000;
        let end = self.end;
        self.observe(
            now_ns,
            (subject, AT_ONCE),
            is_held,
            || match (held.drops, end) {
                (0, End::Receiver) => format!("this host held up the receiver: packets waited {ms} ms to be read"),
                (0, End::Sender) => format!("this host held up the sender: packets waited {ms} ms to be sent"),
                (drops, End::Receiver) => format!(
                    "this host dropped {drops} packets at its sockets; see --receive-buffer and net.core.rmem_max"
                ),
                (drops, End::Sender) => {
                    format!("this host did not send {drops} packets: the socket or the interface's queue was full")
                }
            },
            || "this host is in time again".to_owned(),
        );
    }

    /// Judges a quarter of a second with a peer.
    pub(crate) fn peer(&mut self, now_ns: u64, peer: u16, quarter: &Quarter) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        if known.second.len() == QUARTERS {
            known.second.pop_front();
        }
        known.second.push_back(*quarter);
        // The other end may report anything.
        let sum = |of: fn(&Quarter) -> u64| known.second.iter().map(of).fold(0, u64::saturating_add);
        let second = Quarter {
            lost: sum(|it| it.lost),
            repairs: sum(|it| it.repairs),
            unrepaired: sum(|it| it.unrepaired),
            late: sum(|it| it.late),
            rejected: sum(|it| it.rejected),
            silence_ns: quarter.silence_ns,
        };
        let (name, fec) = (known.name.clone(), known.fec);
        let flows = known.flows.clone();
        self.losses(now_ns, peer, (&name, fec), quarter.unrepaired, &second);
        self.rejected(now_ns, peer, &name, second.rejected);
        self.darkness(now_ns, peer, &name, (quarter.silence_ns, &flows));
    }

    fn losses(
        &mut self,
        now_ns: u64,
        peer: u16,
        (name, fec): (&str, bool),
        unrepaired: u64,
        second: &Quarter,
    ) {
        let is_held = now_ns < self.held_until_ns;
        let about = |event| Subject {
            event,
            sender: self.label(peer),
            flow: None,
        };
        let [loss, exhausted, over] = [
            EventKind::ResidualLoss,
            EventKind::FecExhausted,
            EventKind::OverBudget,
        ]
        .map(about);
        let place = match self.end {
            End::Receiver => format!("from {name}"),
            End::Sender => format!("at {name}"),
        };
        let cause = if is_held { "; this host is held up" } else { "" };
        self.observe(
            now_ns,
            (loss, AT_ONCE),
            unrepaired > 0,
            || format!("residual loss {place}: {unrepaired} packets were not repaired{cause}"),
            || format!("no residual loss {place} for 5 s"),
        );
        let &Quarter {
            lost, repairs, late, ..
        } = second;
        let beyond = second.unrepaired > 0 || lost > repairs.saturating_add(BEYOND_REPAIRS);
        self.observe(
            now_ns,
            (exhausted, AT_ONCE),
            fec && beyond && !is_held,
            || {
                format!(
                    "more loss {place} than FEC repairs: {lost} packets lost and {repairs} repair packets in 1 s"
                )
            },
            || format!("FEC repairs the loss {place} again"),
        );
        self.observe(
            now_ns,
            (over, AT_ONCE),
            late >= LATE && !is_held,
            || format!("packets {place} exceed the latency budget: {late} arrived too late in 1 s"),
            || format!("packets {place} are within the latency budget again"),
        );
    }

    fn rejected(&mut self, now_ns: u64, peer: u16, name: &str, rejected: u64) {
        let subject = Subject {
            event: EventKind::Rejected,
            sender: self.label(peer),
            flow: None,
        };
        self.observe(
            now_ns,
            (subject, AT_ONCE),
            rejected >= REJECTED,
            || format!("{rejected} packets in 1 s from the address of {name} failed authentication or were not valid"),
            || format!("packets from the address of {name} are authentic again"),
        );
    }

    fn darkness(
        &mut self,
        now_ns: u64,
        peer: u16,
        name: &str,
        (silence_ns, flows): (Option<u64>, &BTreeMap<u16, Option<&'static str>>),
    ) {
        let all = Subject {
            event: EventKind::FlowDark,
            sender: self.label(peer),
            flow: None,
        };
        let silence_ns = silence_ns.unwrap_or(0);
        let way = match self.end {
            End::Receiver => "from",
            End::Sender => "to",
        };
        let is_held = now_ns < self.held_until_ns;
        self.observe(
            now_ns,
            (all, DARK),
            silence_ns >= SILENT_NS && !is_held,
            || {
                format!(
                    "all flows are dark: no packet from {name} for {}",
                    seconds(silence_ns)
                )
            },
            || format!("packets from {name} arrive again"),
        );
        for (&flow, &unused) in flows {
            let subject = Subject {
                flow: Some(flow),
                ..all
            };
            let is_dark = unused.is_some();
            let why = unused.unwrap_or_default();
            self.observe(
                now_ns,
                (subject, DARK),
                is_dark,
                || format!("flow {flow} {way} {name} is dark: {why}, unused for 1 s"),
                || format!("flow {flow} {way} {name} is back"),
            );
        }
    }

    fn observe(
        &mut self,
        now_ns: u64,
        (subject, hold): (Subject, Hold),
        holds: bool,
        raised: impl FnOnce() -> String,
        cleared: impl FnOnce() -> String,
    ) {
        let change = match self.alarms.get_mut(&subject) {
            Some(alarm) => alarm.observe(now_ns, hold, holds),
            None if holds => self
                .alarms
                .entry(subject)
                .or_default()
                .observe(now_ns, hold, holds),
            None => None,
        };
        self.signal(subject, change, raised, cleared);
    }

    fn signal(
        &mut self,
        subject: Subject,
        change: Option<Change>,
        raised: impl FnOnce() -> String,
        cleared: impl FnOnce() -> String,
    ) {
        let (state, detail) = match change {
            None => return,
            Some(Change::Raised) => (EventState::Raised, raised()),
            Some(Change::Cleared(stood_ns)) => {
                let detail = format!("{}; the alarm stood for {}", cleared(), seconds(stood_ns));
                (EventState::Cleared, detail)
            }
        };
        self.signals.push(Signal {
            subject,
            state,
            detail,
        });
    }

    /// Takes the changes so far.
    pub(crate) fn take(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.signals)
    }

    /// Whether an alarm of this kind stands for a sender, over any flow.
    pub(crate) fn stands(&self, event: EventKind, sender: Option<u16>) -> bool {
        self.alarms
            .iter()
            .any(|(subject, alarm)| (subject.event, subject.sender) == (event, sender) && alarm.is_raised())
    }
}

/// A time in seconds, for a sentence.
fn seconds(time_ns: u64) -> String {
    format!("{:.1} s", time_ns as f64 / 1e9)
}

#[cfg(test)]
#[path = "alarms_tests.rs"]
mod tests;
