//! The receiver of a media stream of one or two senders, merged or one at a time: for any input from senders that hold
//! their keys, it must not crash, frames are output once and in order, and its feedback can be parsed.
//!
//! The input is a list of packets. Of each, the first byte chooses the time step, the kind of packet and its sender;
//! its fields follow. Tags are right, and payloads are not sealed: what is not authentic has targets of its own,
//! `udp_packets` and `protected_stream`.
//! Sometimes a sender leaves, and returns with a new session.

use weir_protect::{HeaderKey, Opener, Protection, Sealed, Sealer, Secret, StreamSecrets};
use weir_stream_proto::{
    Join, OutputFrame, Receiver, ReceiverConfig, ReceiverEvent, SenderIndex, SenderTerms, SwitchLimits,
};
use weir_wire::{
    FlowId, MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MediaData, MediaFeedback, MediaFraming, MediaRepair,
    REPAIR_HEADER_LENGTH, Sequence, SessionId, UnixNanos,
};

const PAYLOAD: u32 = 16;

/// As the senders have them.
fn secrets() -> StreamSecrets {
    StreamSecrets::new(Protection::Off, Secret::new([1; 32]), Secret::new([2; 32]))
}

/// Takes integers from the front of the input; zeros at its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A small signed step from `near`, or any number.
    fn number(&mut self, near: u32) -> u32 {
        match self.byte() {
            255 => u32::from_be_bytes(std::array::from_fn(|_| self.byte())),
            step => near.wrapping_add_signed(i32::from(step as i8)),
        }
    }
}

fn framing(input: &mut Input<'_>, symbol: u32) -> MediaFraming {
    let frame = input.number(symbol / 4);
    MediaFraming {
        frame,
        offset: input.number(symbol % 4 * PAYLOAD),
        frame_length: input.number(4 * PAYLOAD - 3),
        flags: u16::from(input.byte() / 64),
        format: u16::from(input.byte() / 128),
        timestamp_ns: u64::from(frame) * 1_000,
    }
}

fn datagram(
    input: &mut Input<'_>,
    (session, key): (SessionId, &HeaderKey),
    what: u8,
    near: u32,
    now: u64,
) -> (u32, Vec<u8>) {
    let flow = FlowId(u16::from(input.byte() % 5));
    let flow_sequence = Sequence(input.number(near / 4));
    let symbol = input.number(near);
    let sent = UnixNanos(now.wrapping_add_signed(i64::from(input.byte() as i8) * 100_000));
    let length = usize::from(input.byte() % 24);
    let mut bytes = Vec::new();
    if what & 4 == 0 {
        let data = MediaData {
            session,
            symbol: Sequence(symbol),
            flow_sequence,
            flow,
            flags: what >> 3 & 1,
            sent,
            framing: framing(input, symbol),
            sealed: Sealed::default(),
        };
        let mut header = [0; MEDIA_HEADER_LENGTH];
        data.encode(key, &mut header);
        bytes.extend_from_slice(&header);
    } else {
        let mut payload_id = [0; 8];
        payload_id[..2].copy_from_slice(&[input.byte(), input.byte()]);
        payload_id[2..4].copy_from_slice(&[0xf0, input.byte() % 40]);
        payload_id[4..].copy_from_slice(&symbol.to_be_bytes());
        let repair = MediaRepair {
            session,
            flow_sequence,
            flow,
            sent,
            payload_id,
            number: Sequence(symbol),
            sealed: Sealed::default(),
        };
        let mut header = [0; REPAIR_HEADER_LENGTH];
        repair.encode(key, &mut header);
        bytes.extend_from_slice(&header);
    }
    bytes.extend((0..length).map(|_| input.byte()));
    (symbol, bytes)
}

fn config(choice: u8) -> ReceiverConfig {
    let limits = SwitchLimits {
        silence_ns: 10_000_000,
        unrepaired_share: 0.1,
        over_ns: 80_000_000,
        back_after_ns: 500_000_000,
    };
    ReceiverConfig {
        payload: PAYLOAD,
        latency_ns: 5_000_000,
        frames: 8,
        frame_bytes: 100,
        join: if choice & 8 != 0 {
            Join::Switch(limits)
        } else {
            Join::Merge
        },
    }
}

fn terms(choice: u8, session: SessionId) -> SenderTerms {
    SenderTerms {
        session,
        secrets: secrets().of_other_end(),
        flows: 4,
        fec_window: (choice & 1 != 0).then_some(32),
        fec_history: 128,
        arq: choice & 2 != 0,
        rtt_ns: 1_000_000,
        rank: session.0 as u16 % 2,
    }
}

/// One of the two senders.
struct Peer {
    index: SenderIndex,
    session: SessionId,
    near: u32,
}

/// The output so far.
#[derive(Default)]
struct Seen {
    next_frame: Option<u64>,
    wanted: Vec<SenderIndex>,
}

fn take_out(receiver: &mut Receiver, now: u64, seen: &mut Seen) {
    while let Some(given) = receiver.poll_frame(now) {
        let number = match &given {
            OutputFrame::Nothing(number) => *number,
            OutputFrame::Frame(frame) => frame.number,
        };
        assert!(
            seen.next_frame.is_none_or(|next| next == number),
            "in order, each once"
        );
        seen.next_frame = Some(number + 1);
        if let OutputFrame::Frame(frame) = given {
            assert!(frame.bytes.len() <= 100);
            assert_eq!(frame.missing.is_empty(), frame.complete_ns.is_some());
            receiver.recycle(frame);
        }
    }
    while let Some(event) = receiver.poll_event() {
        match event {
            ReceiverEvent::Wanted { sender, wanted } => {
                seen.wanted
                    .retain(|one| *one != sender && receiver.senders().any(|there| there == *one));
                seen.wanted.extend(wanted.then_some(sender));
                assert!(
                    seen.wanted.len() <= 2,
                    "the one in use and the one that is to follow"
                );
            }
            ReceiverEvent::Switched { from, to, .. } => assert_ne!(from, to),
            ReceiverEvent::Format { .. } | ReceiverEvent::End { .. } => {}
        }
    }
}

fn check_feedback(receiver: &mut Receiver, now: u64, peer: &Peer) {
    let mut feedback = [0; MAX_FEEDBACK_LENGTH];
    let Some((flow, length)) = receiver.poll_feedback(now, peer.index, &mut feedback) else {
        return;
    };
    assert!(flow.0 < 4);
    let mut opener = Opener::new(&secrets());
    let decoded = MediaFeedback::decode(&mut opener, 0, peer.session, &mut feedback[..length]);
    let (told, lists) = decoded.expect("feedback");
    assert_eq!(lists.flows().count(), 4);
    assert!(lists.missing().all(|range| range.count > 0));
    let ahead = told.newest.0.wrapping_sub(told.settled.0).wrapping_add(1) as i32;
    assert!(
        ahead >= 0,
        "nothing is settled that has not been reached: {told:?}"
    );
    let seen = receiver.counters(peer.index);
    let accounted = seen.recovered + seen.retransmitted + seen.overtaken + seen.elsewhere + seen.unrepaired;
    assert!(accounted <= seen.lost, "{seen:?}");
}

pub fn run(input: &[u8]) {
    let mut input = Input(input);
    let choice = input.byte();
    let mut receiver = Receiver::new(config(choice)).expect("a configuration that can be");
    let (mut now, mut sessions) = (1_000_000_000u64, 0);
    let mut join = |receiver: &mut Receiver, now| {
        let session = SessionId(sessions);
        sessions += 1;
        let index = receiver.add_sender(now, terms(choice, session));
        Peer {
            index: index.expect("terms that can be"),
            session,
            near: 0,
        }
    };
    let mut peers = [join(&mut receiver, now), join(&mut receiver, now)];
    let mut seen = Seen::default();
    let sealer = Sealer::new(&secrets());
    while !input.0.is_empty() {
        let what = input.byte();
        now += [1_000, 30_000, 3_000_000, 1_000_000_000][usize::from(what & 3)];
        let peer = &mut peers[usize::from(what >> 4 & 1)];
        if what >> 5 == 7 {
            let gone = receiver.remove_sender(peer.index);
            assert!(gone.is_some());
            take_out(&mut receiver, now, &mut seen);
            *peer = join(&mut receiver, now);
        }
        let of = (peer.session, sealer.present_header_key());
        let (symbol, mut bytes) = datagram(&mut input, of, what, peer.near, now);
        peer.near = symbol;
        receiver.receive(now, peer.index, &mut bytes);
        take_out(&mut receiver, now, &mut seen);
        for peer in &peers {
            check_feedback(&mut receiver, now, peer);
        }
        if let Some(next) = receiver.next_wake(now) {
            now = now.max(next.min(now + 20_000_000));
        }
    }
}
