//! The transport itself in virtual time, over a link without delay, judged as the threads have it judged.

use weir_fec::CodeRate;
use weir_protect::{Protection, Secret, StreamSecrets};
use weir_stream_proto::{
    BreakerLimits, Fec, FlowChange, Join, Pace, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent,
    SenderIndex, SenderTerms, SwitchLimits, Transmit,
};
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, SessionId, UnixNanos};

use super::report::{QuarterAccount, SenderQuarter};
use crate::alarms::{Alarms, End, HeldUp, QUARTER_NS};
use crate::{EventKind, EventState};

const MS_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000 * MS_NS;
const FRAME_NS: u64 = 20 * MS_NS;
const PAYLOAD: u32 = 100;
const FRAME_BYTES: u32 = 40 * PAYLOAD;
const LATENCY_NS: u64 = 500 * MS_NS;
const SESSION: SessionId = SessionId(7);
const FLOWS: u16 = 4;

/// What the link does with a packet of the sender: when, over which flow, and its number.
type Drops = fn(u64, u16, u64) -> bool;

struct Pair {
    sender: Sender,
    receiver: Receiver,
    index: SenderIndex,
    drops: Drops,
    packets: u64,
    first_dropped_ns: Option<u64>,
    /// Datagrams of somebody else, per millisecond.
    forged: u32,
    account: QuarterAccount,
    alarms: Alarms,
    quarters: Vec<SenderQuarter>,
    told: Vec<(u64, EventKind, Option<u16>, EventState)>,
}

fn secrets(packets_per_epoch: u64) -> StreamSecrets {
    let secret = |byte| Secret::new([byte; 32]);
    StreamSecrets {
        packets_per_epoch,
        ..StreamSecrets::new(Protection::Aes128Gcm, secret(1), secret(2))
    }
}

fn sender_of(fec: Option<Fec>, packets_per_epoch: u64) -> Sender {
    let config = SenderConfig {
        session: SESSION,
        secrets: secrets(packets_per_epoch),
        flows: FLOWS,
        payload: PAYLOAD,
        segments: 1,
        pace: Pace::Rate { frame_ns: FRAME_NS },
        latency_ns: LATENCY_NS,
        fec,
        arq: false,
        most_bytes: 64 << 20,
        breaker: BreakerLimits {
            loss: 1.0,
            ..BreakerLimits::default()
        },
        seed: 1,
        first_number: 0,
    };
    Sender::new(config, 0)
}

fn receiver_of(join: Join) -> Receiver {
    let config = ReceiverConfig {
        latency_ns: LATENCY_NS,
        payload: PAYLOAD,
        frames: 64,
        frame_bytes: FRAME_BYTES,
        join,
    };
    Receiver::new(config).expect("a receiver")
}

fn terms_of(fec: Option<Fec>, packets_per_epoch: u64, rank: u16) -> SenderTerms {
    SenderTerms {
        session: SESSION,
        secrets: secrets(packets_per_epoch).of_other_end(),
        flows: FLOWS,
        fec_window: fec.map(|fec| fec.window()),
        fec_history: 4_096,
        arq: false,
        rtt_ns: MS_NS,
        rank,
    }
}

impl Pair {
    fn new(fec: Option<Fec>, packets_per_epoch: u64, drops: Drops) -> Self {
        let mut receiver = receiver_of(Join::Merge);
        let terms = terms_of(fec, packets_per_epoch, 0);
        let index = receiver.add_sender(0, terms).expect("a sender");
        let mut alarms = Alarms::new(End::Receiver, LATENCY_NS);
        alarms.join(0, "camera", fec.is_some());
        Pair {
            sender: sender_of(fec, packets_per_epoch),
            receiver,
            index,
            drops,
            packets: 0,
            first_dropped_ns: None,
            forged: 0,
            account: QuarterAccount::default(),
            alarms,
            quarters: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Runs for a number of seconds, a millisecond after the other.
    fn run(&mut self, seconds: u64) -> &mut Self {
        let mut out = Vec::new();
        for now in (0..seconds * SECOND_NS).step_by(MS_NS as usize) {
            if now % FRAME_NS == 0 {
                let framing = MediaFraming {
                    frame: (now / FRAME_NS) as u32,
                    frame_length: FRAME_BYTES,
                    ..MediaFraming::default()
                };
                self.sender
                    .push_frame(now, framing, vec![1; FRAME_BYTES as usize]);
            }
            loop {
                self.sender.wake(now, UnixNanos(now), &mut out);
                if out.is_empty() {
                    break;
                }
                out.iter().for_each(|packet| self.carry(now, packet));
            }
            for _ in 0..self.forged {
                self.receiver.take(now, self.index, &mut [0x5a; 200]);
            }
            self.receiver.settle(now);
            while let Some(frame) = self.receiver.poll_frame(now) {
                drop(frame);
            }
            self.feed_back(now);
            if now > 0 && now % QUARTER_NS == 0 {
                self.judge(now);
            }
        }
        self
    }

    fn carry(&mut self, now: u64, packet: &Transmit) {
        self.packets += 1;
        if (self.drops)(now, packet.flow.0, self.packets) {
            self.first_dropped_ns.get_or_insert(now);
            return;
        }
        let mut datagram = [packet.header(), self.sender.body(packet)].concat();
        self.receiver.take(now, self.index, &mut datagram);
    }

    fn feed_back(&mut self, now: u64) {
        let mut feedback = [0; MAX_FEEDBACK_LENGTH];
        while let Some((_, length)) = self.receiver.poll_feedback(now, self.index, &mut feedback) {
            self.sender
                .receive(now, UnixNanos(now), &mut feedback[..length])
                .expect("feedback");
        }
        while let Some(event) = self.sender.poll_event() {
            let SenderEvent::Flow(flow, change) = event else {
                panic!("{event:?}")
            };
            let unused = (change != FlowChange::Back).then_some("silent");
            self.alarms.flow(0, flow.0, unused);
        }
    }

    fn judge(&mut self, now: u64) {
        let of = (&self.receiver, self.index);
        let (quarter, drops) = self.account.close(of, (now, 0), 0);
        let held = HeldUp { longest_ns: 0, drops };
        self.alarms.host(now, held);
        self.alarms.peer(now, 0, &quarter.judged());
        self.quarters.push(quarter);
        for signal in self.alarms.take() {
            let subject = signal.subject;
            self.told.push((now, subject.event, subject.flow, signal.state));
        }
    }

    /// Time from the first dropped packet to the first alarm, which is this one.
    fn first_alarm(&self, event: EventKind, flow: Option<u16>) -> u64 {
        let (at, kind, of, state) = *self.told.first().expect("an alarm");
        assert_eq!(
            (kind, of, state),
            (event, flow, EventState::Raised),
            "{:?}",
            self.told
        );
        at - self.first_dropped_ns.expect("a dropped packet")
    }
}

const ONE_EPOCH: u64 = 1 << 23;

#[test]
fn residual_loss_is_told_within_two_seconds_of_its_first_packet() {
    let one_in_40: Drops = |now, _, packet| now >= 2 * SECOND_NS && packet % 40 == 7;
    let mut pair = Pair::new(None, ONE_EPOCH, one_in_40);
    pair.run(8);
    let after_ns = pair.first_alarm(EventKind::ResidualLoss, None);
    assert!(after_ns <= 2 * SECOND_NS, "{after_ns}");
    assert_eq!(
        pair.told.len(),
        1,
        "one alarm, however long it lasts: {:?}",
        pair.told
    );
}

#[test]
fn a_dark_sender_is_told_within_two_seconds_and_its_return_clears_the_alarm() {
    let dark: Drops = |now, _, _| (2 * SECOND_NS..6 * SECOND_NS).contains(&now);
    let mut pair = Pair::new(None, ONE_EPOCH, dark);
    pair.run(20);
    let after_ns = pair.first_alarm(EventKind::FlowDark, None);
    assert!(after_ns <= 2 * SECOND_NS, "{after_ns}");
    let cleared = (EventKind::FlowDark, None, EventState::Cleared);
    let at = pair
        .told
        .iter()
        .find(|(_, event, flow, state)| (*event, *flow, *state) == cleared);
    let at = at.expect("the end").0;
    let quiet_ns = at - 6 * SECOND_NS;
    assert!(
        quiet_ns.abs_diff(5 * SECOND_NS) <= QUARTER_NS,
        "5 s after its return: {at}"
    );
}

#[test]
fn a_dark_flow_is_told_within_two_seconds_and_costs_no_residual_loss() {
    let dark: Drops = |now, flow, _| flow == 2 && now >= 2 * SECOND_NS;
    let fec = CodeRate::new(2, 32).map(Fec::Fixed);
    let mut pair = Pair::new(Some(fec.expect("a code rate")), ONE_EPOCH, dark);
    pair.run(30);
    let after_ns = pair.first_alarm(EventKind::FlowDark, Some(2));
    assert!(after_ns <= 2 * SECOND_NS, "{after_ns}");
    assert_eq!(
        pair.told.len(),
        1,
        "while the sender probes it in vain: {:?}",
        pair.told
    );
    assert_eq!(
        pair.quarters.iter().map(|it| it.counts.unrepaired).sum::<u64>(),
        0
    );
    assert!(
        pair.quarters
            .last()
            .is_some_and(|it| it.flows[2].received < it.flows[1].received / 5)
    );
}

#[test]
fn forged_packets_are_told_and_renewed_keys_counted() {
    let mut pair = Pair::new(None, 1_000, |_, _, _| false);
    pair.run(4);
    assert_eq!(pair.told, []);
    // 40 packets per frame, 50 frames per second, a key for 1,000.
    let renewals: u64 = pair.quarters.iter().map(|it| it.renewals).sum();
    assert!((6..=8).contains(&renewals), "{renewals}");
    let mut pair = Pair::new(None, ONE_EPOCH, |_, _, _| false);
    pair.forged = 1;
    pair.run(4);
    let told: Vec<_> = pair.told.iter().map(|(_, event, ..)| *event).collect();
    assert_eq!(told, [EventKind::Rejected]);
}

#[test]
fn a_sender_that_stands_by_is_not_silent() {
    let limits = SwitchLimits {
        silence_ns: SECOND_NS,
        unrepaired_share: 1.0,
        over_ns: SECOND_NS,
        back_after_ns: SECOND_NS,
    };
    let mut receiver = receiver_of(Join::Switch(limits));
    let [first, second] = [0, 1].map(|rank| {
        let terms = terms_of(None, ONE_EPOCH, rank);
        receiver.add_sender(3 * MS_NS, terms).expect("a sender")
    });
    assert_eq!(receiver.silence_ns(10 * MS_NS, first), Some(7 * MS_NS));
    assert_eq!(receiver.silence_ns(10 * MS_NS, second), None);
}
