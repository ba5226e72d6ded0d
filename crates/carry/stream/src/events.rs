//! Events of a stream.

use serde::Serialize;
use weir_alarm::Message;
use weir_record::{MediaEvent, Record};

/// Longest detail, characters: parts come from the other end.
const LONGEST_DETAIL: usize = 1_000;

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The other end is connected.
    Connected,
    /// The other end is gone.
    Disconnected,
    /// A sender is connected again.
    Restarted,
    /// The format of the frames changes.
    Format,
    /// The stream has ended.
    Ended,
    /// The output switches to another sender.
    Switched,
    /// The circuit breaker has stopped the stream.
    Stopped,
    /// The reader of the output is slower than the stream.
    SlowReader,
    /// A connection was refused.
    Refused,
    /// The sender has renewed its key.
    KeyRenewed,
    /// Alarm: packets were not repaired.
    ResidualLoss,
    /// Alarm: more packets were lost than FEC repairs.
    FecExhausted,
    /// Alarm: packets arrived after their frame was output.
    OverBudget,
    /// Alarm: a flow, or all flows, carry no packets.
    FlowDark,
    /// Alarm: packets failed authentication, or were not valid.
    Rejected,
    /// Alarm: this host did not run a packet thread in time, or dropped packets.
    HeldUp,
}

impl EventKind {
    /// The alarms: they are raised and cleared.
    pub const ALARMS: [EventKind; 6] = [
        EventKind::ResidualLoss,
        EventKind::FecExhausted,
        EventKind::OverBudget,
        EventKind::FlowDark,
        EventKind::Rejected,
        EventKind::HeldUp,
    ];

    /// Its name, in the store and for commands.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Connected => "connected",
            EventKind::Disconnected => "disconnected",
            EventKind::Restarted => "restarted",
            EventKind::Format => "format",
            EventKind::Ended => "ended",
            EventKind::Switched => "switched",
            EventKind::Stopped => "stopped",
            EventKind::SlowReader => "slow_reader",
            EventKind::Refused => "refused",
            EventKind::KeyRenewed => "key_renewed",
            EventKind::ResidualLoss => "residual_loss",
            EventKind::FecExhausted => "fec_exhausted",
            EventKind::OverBudget => "over_budget",
            EventKind::FlowDark => "flow_dark",
            EventKind::Rejected => "rejected",
            EventKind::HeldUp => "held_up",
        }
    }
}

/// What an event says about its subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventState {
    /// It is over with the event.
    #[default]
    Happened,
    /// An alarm begins.
    Raised,
    /// An alarm ends.
    Cleared,
}

impl EventState {
    /// Its name, in the store and for commands.
    pub fn as_str(self) -> &'static str {
        match self {
            EventState::Happened => "happened",
            EventState::Raised => "raised",
            EventState::Cleared => "cleared",
        }
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Its kind.
    pub event: EventKind,
    /// Its sender, counted from 0 in the order of the command line; none if it concerns none or all of them.
    pub sender: Option<u16>,
    /// Its flow, from 0; none if it concerns none or all of them.
    pub flow: Option<u16>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Time, Unix nanoseconds.
    pub unix_ns: u64,
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Whether an alarm begins or ends with it.
    pub state: EventState,
    /// Details for the user, at most 1,000 characters.
    pub detail: String,
}

impl Event {
    /// An event that is over at once, at the present time.
    pub(crate) fn now(sender: Option<u16>, event: EventKind, detail: impl Into<String>) -> Self {
        let subject = Subject {
            event,
            sender,
            flow: None,
        };
        Event::about(subject, EventState::Happened, detail)
    }

    /// An event at the present time.
    pub(crate) fn about(subject: Subject, state: EventState, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(LONGEST_DETAIL) {
            detail.truncate(end);
        }
        Event {
            unix_ns: weir_net::clock::unix_ns(),
            subject,
            state,
            detail,
        }
    }

    /// The record for the store.
    pub(crate) fn record(&self) -> Record {
        Record::MediaEvent(MediaEvent {
            unix_ns: self.unix_ns,
            sender: self.subject.sender,
            event: self.subject.event.as_str().to_owned(),
            detail: self.detail.clone(),
            state: self.state.as_str().to_owned(),
        })
    }

    /// The event as hooks get it, of this command on this host.
    pub(crate) fn message(&self, command: &str, host: &str) -> Message {
        #[derive(Serialize)]
        struct Whole<'a> {
            host: &'a str,
            command: &'a str,
            #[serde(flatten)]
            event: &'a Event,
        }
        let whole = Whole {
            host,
            command,
            event: self,
        };
        let number = |number: Option<u16>| number.map_or(String::new(), |number| number.to_string());
        Message {
            // Plain data always serialises.
            json: serde_json::to_string(&whole).unwrap_or_default(),
            variables: vec![
                ("WEIR_EVENT", self.subject.event.as_str().to_owned()),
                ("WEIR_STATE", self.state.as_str().to_owned()),
                ("WEIR_SENDER", number(self.subject.sender)),
                ("WEIR_FLOW", number(self.subject.flow)),
                // A variable ends at a zero byte.
                ("WEIR_DETAIL", self.detail.replace('\0', " ")),
                ("WEIR_COMMAND", command.to_owned()),
                ("WEIR_HOST", host.to_owned()),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_knows_every_kind_and_state() {
        let last = EventKind::HeldUp;
        let kinds: Vec<String> = MediaEvent::EVENTS.map(str::to_owned).into();
        assert!(kinds.contains(&last.as_str().to_owned()));
        for kind in EventKind::ALARMS {
            assert!(kinds.contains(&kind.as_str().to_owned()), "{kind:?}");
        }
        for state in [EventState::Happened, EventState::Raised, EventState::Cleared] {
            assert!(MediaEvent::STATES.contains(&state.as_str()), "{state:?}");
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }

    #[test]
    fn hooks_get_the_event_as_json_and_in_variables() {
        let subject = Subject {
            event: EventKind::FlowDark,
            sender: Some(1),
            flow: Some(3),
        };
        let event = Event::about(subject, EventState::Raised, "it's \"dark\"\0");
        let Message { json, variables } = event.message("recv", "far");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({
            "unix_ns": event.unix_ns, "host": "far", "command": "recv", "event": "flow_dark", "state": "raised",
            "sender": 1, "flow": 3, "detail": "it's \"dark\"\0",
        });
        assert_eq!(json, expected);
        let named = |name: &str| variables.iter().find(|(it, _)| *it == name).unwrap().1.as_str();
        assert_eq!(
            [named("WEIR_EVENT"), named("WEIR_STATE")],
            ["flow_dark", "raised"]
        );
        assert_eq!([named("WEIR_SENDER"), named("WEIR_FLOW")], ["1", "3"]);
        assert_eq!(named("WEIR_DETAIL"), "it's \"dark\" ");
        assert_eq!([named("WEIR_COMMAND"), named("WEIR_HOST")], ["recv", "far"]);
    }

    #[test]
    fn details_from_the_other_end_are_cut() {
        let event = Event::now(None, EventKind::Ended, "ä".repeat(100_000));
        assert_eq!(event.detail.chars().count(), LONGEST_DETAIL);
    }
}
