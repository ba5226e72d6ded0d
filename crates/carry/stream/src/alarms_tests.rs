//! In virtual time: a quarter of a second after the other.

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const BUDGET_NS: u64 = 20_000_000;

/// A receiver with one sender, whose quarters are `quiet` unless said otherwise.
struct Run {
    alarms: Alarms,
    now_ns: u64,
    told: Vec<(u64, EventKind, EventState)>,
    details: Vec<String>,
}

fn quiet() -> Quarter {
    Quarter {
        repairs: 100,
        silence_ns: Some(1_000_000),
        ..Quarter::default()
    }
}

impl Run {
    fn new(fec: bool) -> Self {
        let mut alarms = Alarms::new(End::Receiver, BUDGET_NS);
        alarms.join(0, "camera", fec);
        Run {
            alarms,
            now_ns: 100 * SECOND_NS,
            told: Vec::new(),
            details: Vec::new(),
        }
    }

    /// Quarters until `seconds` have passed.
    fn pass(&mut self, seconds: f64, held: HeldUp, quarter: Quarter) -> &mut Self {
        for _ in 0..(seconds * 4.0) as u32 {
            self.now_ns += QUARTER_NS;
            self.alarms.host(self.now_ns, held);
            self.alarms.peer(self.now_ns, 0, &quarter);
            self.collect();
        }
        self
    }

    fn quarters(&mut self, seconds: f64, quarter: Quarter) -> &mut Self {
        self.pass(seconds, HeldUp::default(), quarter)
    }

    fn collect(&mut self) {
        for signal in self.alarms.take() {
            let ms = (self.now_ns - 100 * SECOND_NS) / 1_000_000;
            self.told.push((ms, signal.subject.event, signal.state));
            self.details.push(signal.detail);
        }
    }

    fn states(&self, event: EventKind) -> Vec<(u64, EventState)> {
        let of_kind = self.told.iter().filter(|(_, kind, _)| *kind == event);
        of_kind.map(|(ms, _, state)| (*ms, *state)).collect()
    }
}

use EventState::{Cleared, Raised};

#[test]
fn residual_loss_is_raised_with_its_quarter_and_cleared_after_five_quiet_seconds() {
    let mut run = Run::new(false);
    let lossy = Quarter {
        unrepaired: 3,
        lost: 3,
        ..quiet()
    };
    run.quarters(2.0, quiet())
        .quarters(1.0, lossy)
        .quarters(10.0, quiet());
    assert_eq!(
        run.told,
        [
            (2_250, EventKind::ResidualLoss, Raised),
            (8_000, EventKind::ResidualLoss, Cleared)
        ]
    );
    assert!(
        run.details[0].contains("residual loss from camera: 3 packets"),
        "{:?}",
        run.details
    );
    assert!(run.details[1].contains("stood for 5.8 s"), "{:?}", run.details);
}

#[test]
fn loss_that_is_repaired_raises_nothing() {
    let mut run = Run::new(true);
    let repaired = Quarter {
        lost: 90,
        late: 1,
        rejected: 4,
        ..quiet()
    };
    run.quarters(100.0, repaired);
    assert_eq!(run.told, []);
}

#[test]
fn fec_is_exhausted_when_more_is_lost_than_there_are_repairs_or_loss_remains() {
    let beyond = Quarter { lost: 103, ..quiet() };
    let remains = Quarter {
        unrepaired: 1,
        lost: 5,
        ..quiet()
    };
    for (fec, quarter, raised) in [
        (true, beyond, true),
        (true, remains, true),
        (false, beyond, false),
    ] {
        let mut run = Run::new(fec);
        run.quarters(1.0, quiet())
            .quarters(3.0, quarter)
            .quarters(10.0, quiet());
        let states = run.states(EventKind::FecExhausted);
        assert_eq!(states.len(), 2 * usize::from(raised), "{states:?}");
        assert!(states.iter().all(|(ms, state)| *state == Cleared || *ms <= 3_000));
    }
}

#[test]
fn late_and_rejected_packets_count_over_a_second() {
    for (kind, each) in [(EventKind::OverBudget, LATE), (EventKind::Rejected, REJECTED)] {
        let mut run = Run::new(false);
        let some = |number: u64| match kind {
            EventKind::OverBudget => Quarter {
                late: number,
                ..quiet()
            },
            _ => Quarter {
                rejected: number,
                ..quiet()
            },
        };
        // Just below the limit, then at it.
        run.quarters(0.25, some(each - 1)).quarters(5.0, quiet());
        assert_eq!(run.told, []);
        run.quarters(2.0, some(each / 4)).quarters(20.0, quiet());
        assert_eq!(run.states(kind), [(6_250, Raised), (12_250, Cleared)]);
    }
}

#[test]
fn silence_is_told_within_two_seconds_and_a_pause_of_the_input_is_not() {
    let mut run = Run::new(false);
    // A description per second and nothing else.
    for _ in 0..40 {
        for silence in [0, 250, 500, 750] {
            let silence_ns = Some(silence * 1_000_000);
            run.quarters(
                0.25,
                Quarter {
                    silence_ns,
                    ..quiet()
                },
            );
        }
    }
    assert_eq!(run.told, []);
    let began = run.now_ns;
    while run.told.is_empty() {
        let silence_ns = Some(run.now_ns + QUARTER_NS - began);
        run.quarters(
            0.25,
            Quarter {
                silence_ns,
                ..quiet()
            },
        );
    }
    assert_eq!(run.now_ns - began, 1_500_000_000);
    // One that need not send is not silent.
    let standby = Quarter {
        silence_ns: None,
        ..quiet()
    };
    run.quarters(6.0, standby);
    let states: Vec<_> = run
        .states(EventKind::FlowDark)
        .into_iter()
        .map(|(_, state)| state)
        .collect();
    assert_eq!(states, [Raised, Cleared]);
}

#[test]
fn a_flow_that_flaps_raises_one_alarm_and_others_have_their_own() {
    let mut run = Run::new(false);
    for _ in 0..100 {
        run.alarms.flow(0, 3, Some("losing"));
        run.quarters(1.5, quiet());
        run.alarms.flow(0, 3, None);
        run.quarters(1.0, quiet());
    }
    assert_eq!(run.told, [(1_250, EventKind::FlowDark, Raised)]);
    assert!(
        run.details[0].contains("flow 3 from camera is dark: losing"),
        "{:?}",
        run.details
    );
    run.alarms.flow(0, 4, Some("silent"));
    // No flow that a stream cannot have: its number comes from the other end.
    run.alarms.flow(0, 60_000, Some("silent"));
    run.quarters(10.0, quiet());
    assert_eq!(run.states(EventKind::FlowDark).len(), 3, "{:?}", run.details);
    assert!(run.alarms.stands(EventKind::FlowDark, Some(0)));
    assert!(!run.alarms.stands(EventKind::FlowDark, Some(1)));
    // Gone for less than a second: not told.
    let before = run.told.len();
    for _ in 0..100 {
        run.alarms.flow(0, 5, Some("silent"));
        run.quarters(0.75, quiet());
        run.alarms.flow(0, 5, None);
        run.quarters(0.5, quiet());
    }
    assert_eq!(run.told.len(), before, "{:?}", run.details);
}

#[test]
fn what_the_host_costs_is_told_as_such_and_not_as_the_networks() {
    let held = HeldUp {
        longest_ns: 900_000_000,
        drops: 0,
    };
    let dropped = HeldUp {
        longest_ns: 0,
        drops: 7,
    };
    let bad = Quarter {
        lost: 500,
        late: 100,
        unrepaired: 2,
        silence_ns: Some(900_000_000),
        ..quiet()
    };
    for (held, words) in [(held, "900 ms"), (dropped, "7 packets at its sockets")] {
        let mut run = Run::new(true);
        run.quarters(1.0, quiet()).pass(5.0, held, bad);
        let kinds: Vec<_> = run.told.iter().map(|(_, kind, _)| *kind).collect();
        assert_eq!(kinds, [EventKind::HeldUp, EventKind::ResidualLoss]);
        assert!(run.details[0].contains(words), "{:?}", run.details);
        assert!(
            run.details[1].contains("this host is held up"),
            "{:?}",
            run.details
        );
    }
    // Less than the budget, or than 50 ms, delays no frame noticeably.
    let mut run = Run::new(true);
    let short = HeldUp {
        longest_ns: 49_000_000,
        drops: 0,
    };
    run.pass(10.0, short, quiet());
    assert_eq!(run.told, []);
}

#[test]
fn the_end_of_a_session_clears_its_alarms_and_no_others() {
    let mut run = Run::new(false);
    run.alarms.join(1, "spare", false);
    let lossy = Quarter {
        unrepaired: 1,
        ..quiet()
    };
    run.quarters(1.0, lossy);
    run.alarms.peer(run.now_ns, 1, &lossy);
    run.alarms.flow(0, 2, Some("silent"));
    run.quarters(2.0, lossy);
    run.alarms.leave(run.now_ns, 0);
    run.collect();
    let cleared = run.told.iter().filter(|(_, _, state)| *state == Cleared);
    assert_eq!(cleared.count(), 2, "{:?}", run.told);
    assert!(
        run.details
            .last()
            .is_some_and(|it| it.contains("the session with camera has ended"))
    );
    assert!(!run.alarms.stands(EventKind::ResidualLoss, Some(0)));
    assert!(run.alarms.stands(EventKind::ResidualLoss, Some(1)));
    // What comes for it afterwards is nobody's.
    run.quarters(2.0, lossy);
    assert!(!run.alarms.stands(EventKind::ResidualLoss, Some(0)));
    // With the last one nobody is left whom the host can hold up.
    let held = HeldUp {
        longest_ns: SECOND_NS,
        drops: 0,
    };
    run.pass(1.0, held, lossy);
    assert!(run.alarms.stands(EventKind::HeldUp, None));
    run.alarms.leave(run.now_ns, 1);
    run.pass(1.0, held, lossy);
    assert!(!run.alarms.stands(EventKind::HeldUp, None));
}

#[test]
fn whatever_the_other_end_reports_is_taken() {
    let mut run = Run::new(true);
    let most = Quarter {
        lost: u64::MAX,
        late: u64::MAX,
        unrepaired: u64::MAX,
        rejected: u64::MAX,
        repairs: u64::MAX,
        ..quiet()
    };
    run.quarters(2.0, most);
    assert_eq!(run.told.len(), 4, "{:?}", run.told);
}

#[test]
fn a_sender_says_where_the_loss_is() {
    let mut alarms = Alarms::new(End::Sender, BUDGET_NS);
    alarms.join(0, "the receiver", true);
    let bad = Quarter {
        unrepaired: 2,
        ..quiet()
    };
    alarms.flow(0, 1, Some("silent"));
    for now in [1, 1 + SECOND_NS] {
        alarms.peer(now, 0, &bad);
    }
    let signals = alarms.take();
    assert!(signals.iter().all(|signal| signal.subject.sender.is_none()));
    let details: Vec<&str> = signals.iter().map(|signal| signal.detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "residual loss at the receiver: 2 packets were not repaired",
            "more loss at the receiver than FEC repairs: 0 packets lost and 100 repair packets in 1 s",
            "flow 1 to the receiver is dark: silent, unused for 1 s",
        ]
    );
}
