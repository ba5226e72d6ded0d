//! Ten million packets of an attacker on the path: how many are accepted, and what each costs the receiver beside a good
//! one: `cargo run --release -p weir-stream-proto --example attack [PACKETS]`.

use std::time::{Duration, Instant};

use weir_protect::{Protection, Secret, StreamSecrets};
use weir_stream_proto::{
    BreakerLimits, Join, OutputFrame, Pace, Receiver, ReceiverConfig, Sender, SenderConfig, SenderIndex,
    SenderTerms, Transmit,
};
use weir_wire::{MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MediaFraming, SessionId, UnixNanos};

const PAYLOAD: u32 = 1_300;
const FRAME_BYTES: u32 = PAYLOAD * 100;
const FRAME_NS: u64 = 1_000_000;
const SESSION: SessionId = SessionId(1);

fn main() {
    let packets: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(10_000_000);
    println!("attack              packets   accepted  ns each   good packets, ns each");
    for (name, forge) in ATTACKS {
        Attack::new(*forge).run(name, packets / ATTACKS.len() as u64);
    }
}

/// What arrives before a good packet, and after `recorded` others.
type Forge = fn(good: &[u8], recorded: &[Vec<u8>], random: u64, out: &mut Vec<u8>);

const ATTACKS: &[(&str, Forge)] = &[
    ("header altered", |good, _, random, out| {
        out.extend_from_slice(good);
        out[(random % MEDIA_HEADER_LENGTH as u64) as usize] ^= 1 << (random >> 32 & 7);
    }),
    ("payload altered", |good, _, random, out| {
        out.extend_from_slice(good);
        let at = MEDIA_HEADER_LENGTH + random as usize % (good.len() - MEDIA_HEADER_LENGTH);
        out[at] ^= 1 << (random >> 32 & 7);
    }),
    ("truncated", |good, _, random, out| {
        out.extend_from_slice(&good[..random as usize % good.len()]);
    }),
    ("replayed", |_, recorded, random, out| {
        out.extend_from_slice(&recorded[random as usize % recorded.len()]);
    }),
    ("spliced", |good, recorded, random, out| {
        let cut = 12 + random as usize % (MEDIA_HEADER_LENGTH - 12) / 4 * 4;
        out.extend_from_slice(&good[..cut]);
        out.extend_from_slice(&recorded[random as usize % recorded.len()][cut..]);
    }),
    ("injected", |good, _, random, out| {
        out.extend_from_slice(&good[..12]);
        let mut state = random;
        while out.len() < good.len() {
            state = next(state);
            out.extend_from_slice(&state.to_be_bytes());
        }
    }),
];

fn next(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

struct Attack {
    forge: Forge,
    sender: Sender,
    receiver: Receiver,
    index: SenderIndex,
    recorded: Vec<Vec<u8>>,
    random: u64,
    forged: (u64, Duration),
    good: (u64, Duration),
    accepted: u64,
}

impl Attack {
    fn new(forge: Forge) -> Self {
        let secrets = StreamSecrets::new(Protection::Aes128Gcm, Secret::new([1; 32]), Secret::new([2; 32]));
        let limits = ReceiverConfig {
            latency_ns: 5 * FRAME_NS,
            payload: PAYLOAD,
            frames: 8,
            frame_bytes: FRAME_BYTES,
            join: Join::Merge,
        };
        let terms = SenderTerms {
            session: SESSION,
            secrets: secrets.of_other_end(),
            flows: 4,
            fec_window: None,
            fec_history: 0,
            arq: true,
            rtt_ns: 1_000_000,
            rank: 0,
        };
        let config = SenderConfig {
            session: SESSION,
            secrets,
            flows: 4,
            payload: PAYLOAD,
            segments: 4,
            pace: Pace::Rate { frame_ns: FRAME_NS },
            latency_ns: 5 * FRAME_NS,
            fec: None,
            arq: true,
            most_bytes: 1 << 26,
            breaker: BreakerLimits {
                silence_ns: u64::MAX,
                ..BreakerLimits::default()
            },
            seed: 1,
            first_number: 0,
        };
        let mut receiver = Receiver::new(limits).expect("limits that can be");
        let index = receiver.add_sender(0, terms).expect("terms that can be");
        Attack {
            forge,
            sender: Sender::new(config, 0),
            receiver,
            index,
            recorded: Vec::new(),
            random: 1,
            forged: (0, Duration::ZERO),
            good: (0, Duration::ZERO),
            accepted: 0,
        }
    }

    fn run(mut self, name: &str, packets: u64) {
        let (mut out, mut number) = (Vec::new(), 0u32);
        while self.forged.0 < packets {
            let now = u64::from(number) * FRAME_NS;
            let framing = MediaFraming {
                frame: number,
                frame_length: FRAME_BYTES,
                ..MediaFraming::default()
            };
            self.sender
                .push_frame(now, framing, vec![7; FRAME_BYTES as usize]);
            number += 1;
            for now in (now..now + FRAME_NS).step_by(20_000) {
                self.sender.wake(now, UnixNanos(1_000_000_000 + now), &mut out);
                for transmit in &out {
                    self.deliver(now, transmit);
                }
            }
            let mut feedback = [0; MAX_FEEDBACK_LENGTH];
            let _ = self.receiver.poll_feedback(now, self.index, &mut feedback);
            while let Some(output) = self.receiver.poll_frame(now) {
                if let OutputFrame::Frame(frame) = output {
                    assert!(frame.missing.is_empty() && frame.bytes == vec![7; FRAME_BYTES as usize]);
                    self.receiver.recycle(frame);
                }
            }
        }
        let each = |(count, time): (u64, Duration)| time.as_nanos() as f64 / count.max(1) as f64;
        println!(
            "{name:18} {:8}   {:8} {:8.0}   {:8.0}",
            self.forged.0,
            self.accepted,
            each(self.forged),
            each(self.good)
        );
    }

    /// Ten packets of the attacker, then the good one.
    fn deliver(&mut self, now: u64, transmit: &Transmit) {
        let good = [transmit.header(), self.sender.body(transmit)].concat();
        if self.recorded.len() < 1_000 {
            self.recorded.push(good.clone());
        } else {
            self.attack(now, &good);
        }
        let mut datagram = good;
        let began = Instant::now();
        self.receiver.receive(now, self.index, &mut datagram);
        self.good.1 += began.elapsed();
        self.good.0 += 1;
    }

    fn attack(&mut self, now: u64, good: &[u8]) {
        let forged: Vec<Vec<u8>> = (0..10)
            .map(|_| {
                self.random = next(self.random);
                let mut out = Vec::with_capacity(2 * good.len());
                (self.forge)(good, &self.recorded, self.random >> 8, &mut out);
                out
            })
            .collect();
        let before = self.receiver.counters(self.index);
        let count = forged.len() as u64;
        let mut forged = forged;
        let began = Instant::now();
        for datagram in &mut forged {
            self.receiver.receive(now, self.index, datagram);
        }
        self.forged.1 += began.elapsed();
        self.forged.0 += count;
        let after = self.receiver.counters(self.index);
        let refused = (after.rejected + after.duplicates) - (before.rejected + before.duplicates);
        self.accepted += count - refused;
        assert_eq!((after.received, after.bytes), (before.received, before.bytes));
    }
}
