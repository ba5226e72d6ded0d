//! A protected stream whose path belongs to the fuzzer: it delivers, drops, replays, alters and splices the packets of a real
//! sender, and the receiver's feedback, and adds bytes of its own. The receiver accepts what the sender has sent, once, and
//! nothing else; the sender takes only feedback of the receiver.
//!
//! Input: a byte that chooses the protection, then steps of a byte and its arguments.

use std::collections::HashSet;

use weir_protect::{Protection, Secret, StreamSecrets};
use weir_stream_proto::{
    BreakerLimits, Fec, Join, OutputFrame, Pace, Receiver, ReceiverConfig, Sender, SenderConfig, SenderIndex,
    SenderTerms,
};
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, SessionId, UnixNanos};

use crate::checks::take;

const PAYLOAD: u32 = 24;
const FRAME: usize = 100;
const FRAME_NS: u64 = 1_000_000;
const SESSION: SessionId = SessionId(5);

/// Both ends, and what was on the path between them.
struct World {
    now: u64,
    sender: Sender,
    receiver: Receiver,
    index: SenderIndex,
    sent: Vec<Vec<u8>>,
    feedback: Vec<Vec<u8>>,
    delivered: HashSet<Vec<u8>>,
    frames: u32,
}

impl World {
    fn new(protection: Protection) -> Self {
        let secrets = StreamSecrets {
            packets_per_epoch: 7,
            ..StreamSecrets::new(protection, Secret::new([1; 32]), Secret::new([2; 32]))
        };
        let config = SenderConfig {
            session: SESSION,
            secrets: secrets.clone(),
            flows: 2,
            payload: PAYLOAD,
            segments: 2,
            pace: Pace::Rate { frame_ns: FRAME_NS },
            latency_ns: 5 * FRAME_NS,
            fec: Some(Fec::Fixed(weir_fec::CodeRate::new(3, 9).expect("a code rate"))),
            arq: true,
            most_bytes: 1 << 16,
            breaker: BreakerLimits::default(),
            seed: 1,
            first_number: 0,
        };
        let limits = ReceiverConfig {
            latency_ns: 5 * FRAME_NS,
            payload: PAYLOAD,
            frames: 8,
            frame_bytes: FRAME as u32,
            join: Join::Merge,
        };
        let terms = SenderTerms {
            session: SESSION,
            secrets: secrets.of_other_end(),
            flows: 2,
            fec_window: Some(9),
            fec_history: 64,
            arq: true,
            rtt_ns: 1_000_000,
            rank: 0,
        };
        let mut receiver = Receiver::new(limits).expect("limits that can be");
        let index = receiver.add_sender(0, terms).expect("terms that can be");
        World {
            now: 0,
            sender: Sender::new(config, 0),
            receiver,
            index,
            sent: Vec::new(),
            feedback: Vec::new(),
            delivered: HashSet::new(),
            frames: 0,
        }
    }

    fn unix(&self) -> UnixNanos {
        UnixNanos(1_000_000_000 + self.now)
    }

    /// Time passes: the sender sends, the receiver reports and gives frames.
    fn step(&mut self) {
        self.now += FRAME_NS / 4;
        if self.sender.wants_frame(FRAME) {
            let framing = MediaFraming {
                frame: self.frames,
                frame_length: FRAME as u32,
                ..MediaFraming::default()
            };
            self.sender.push_frame(self.now, framing, picture(self.frames));
            self.frames += 1;
        }
        let (mut out, unix) = (Vec::new(), self.unix());
        self.sender.wake(self.now, unix, &mut out);
        for transmit in &out {
            self.sent
                .push([transmit.header(), self.sender.body(transmit)].concat());
        }
        let mut buffer = [0; MAX_FEEDBACK_LENGTH];
        while let Some((_, length)) = self.receiver.poll_feedback(self.now, self.index, &mut buffer) {
            self.feedback.push(buffer[..length].to_vec());
        }
        while let Some(output) = self.receiver.poll_frame(self.now) {
            if let OutputFrame::Frame(frame) = output {
                assert!(!frame.missing.is_empty() || frame.bytes == picture(frame.number as u32));
                self.receiver.recycle(frame);
            }
        }
    }

    /// Anything arrives at the receiver.
    fn arrive(&mut self, mut datagram: Vec<u8>) {
        let before = self.receiver.counters(self.index);
        let own = datagram.clone();
        // One whose key is far ahead is refused, and taken when it comes again once its key is known.
        let new = self.sent.contains(&own) && !self.delivered.contains(&own);
        self.receiver.receive(self.now, self.index, &mut datagram);
        let after = self.receiver.counters(self.index);
        // Bytes of whatever is neither refused nor a duplicate.
        let taken = after.bytes > before.bytes;
        assert!(new || !taken, "{before:?} {after:?}");
        if taken {
            self.delivered.insert(own);
        }
    }

    /// Anything arrives at the sender.
    fn report(&mut self, mut datagram: Vec<u8>) {
        let own = self.feedback.contains(&datagram);
        let unix = self.unix();
        let taken = self.sender.receive(self.now, unix, &mut datagram).is_ok();
        assert!(own || !taken);
    }
}

fn picture(number: u32) -> Vec<u8> {
    (0..FRAME as u32).map(|at| (at * 7 + number * 31) as u8).collect()
}

pub fn run(input: &[u8]) {
    let Some((&choice, mut input)) = input.split_first() else {
        return;
    };
    let number = 1 + choice % 4;
    let mut world = World::new(Protection::from_number(number).expect("a protection"));
    while let Some((&step, rest)) = input.split_first() {
        input = rest;
        let argument = usize::from(step >> 3);
        let back = |all: &[Vec<u8>], by: usize| all.len().checked_sub(1 + by).map(|at| all[at].clone());
        match step & 7 {
            0 | 1 => world.step(),
            2 => {
                if let Some(datagram) = back(&world.sent, argument) {
                    world.arrive(datagram);
                }
            }
            3 => {
                let change = take(&mut input, 2);
                if let (Some(mut datagram), &[place, difference]) = (back(&world.sent, argument), change) {
                    let place = usize::from(place) % datagram.len();
                    datagram[place] ^= difference;
                    world.arrive(datagram);
                }
            }
            4 => {
                let cut = take(&mut input, 2);
                let both = (back(&world.sent, argument), back(&world.sent, argument + 1));
                if let ((Some(first), Some(second)), &[at, from]) = (both, cut) {
                    let at = usize::from(at).min(first.len());
                    let from = usize::from(from).min(second.len());
                    world.arrive([&first[..at], &second[from..]].concat());
                }
            }
            5 => {
                let change = take(&mut input, 2);
                if let (Some(mut datagram), &[place, difference]) = (back(&world.feedback, argument), change)
                {
                    let place = usize::from(place) % datagram.len();
                    datagram[place] ^= difference;
                    world.report(datagram);
                }
            }
            6 => {
                let bytes = take(&mut input, argument * 8).to_vec();
                world.report(bytes.clone());
                world.arrive(bytes);
            }
            _ => {
                if let Some(datagram) = back(&world.sent, argument) {
                    world.report(datagram);
                }
                if let Some(datagram) = back(&world.feedback, argument) {
                    world.arrive(datagram);
                }
            }
        }
    }
}
