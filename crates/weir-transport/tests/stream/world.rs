//! A sender and a receiver with an emulated link between them, in virtual time.

use std::path::Path;

use weir_fec::CodeRate;
use weir_link::profile::parse;
use weir_link::{FlowKey, Link, LinkSpec, Nanos, Packet};
use weir_transport::*;
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, SessionId, UdpKey, UnixNanos};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
pub const KEY: UdpKey = UdpKey::new(*b"key of a session");
pub const SESSION: SessionId = SessionId(0x5e55);
/// The sender's clock at the beginning.
const EPOCH: u64 = 1_700_000_000_000_000_000;
/// Bytes of a payload and packets of a frame: short packets at the pace of long ones.
pub const PAYLOAD: u32 = 60;
pub const PACKETS: u32 = 64;
/// 26 microseconds from packet to packet: 2.5 Gbit/s of 8,100 bytes.
pub const FRAME_NS: u64 = PACKETS as u64 * 26_000;
const FRAME_BYTES: u32 = PACKETS * PAYLOAD - 20;

/// What is changed from the plain case.
pub struct Setup {
    pub link: &'static str,
    pub flows: u16,
    pub fec: Option<CodeRate>,
    pub arq: bool,
    pub latency_ns: u64,
    pub rtt_ns: u64,
    /// A flow that carries nothing, from when to when.
    pub dark: Option<(u16, u64, u64)>,
    pub for_ns: u64,
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            link: "rtt = \"1ms\"",
            flows: 16,
            fec: None,
            arq: false,
            latency_ns: 20 * MS,
            rtt_ns: MS,
            dark: None,
            for_ns: 4 * SECOND,
            seed: 1,
        }
    }
}

/// Changes what arrives.
pub type Meddler = Box<dyn FnMut(&mut Vec<Vec<u8>>)>;

pub struct World {
    setup: Setup,
    pub now: u64,
    pub sender: Sender,
    pub receiver: Receiver,
    forward: Link<Vec<u8>>,
    reverse: Link<Vec<u8>>,
    pushed: u32,
    next_number: u64,
    /// Frames that came whole, damaged, and not at all.
    pub whole: u64,
    pub damaged: u64,
    pub lost: u64,
    /// Longest time from a frame's first packet to its being given out, nanoseconds.
    pub longest_ns: u64,
    pub events: Vec<(u64, SenderEvent)>,
    /// Every datagram as it arrives may be changed, or others added.
    pub meddle: Meddler,
}

/// The bytes of a frame.
pub fn picture(number: u64) -> Vec<u8> {
    let mix = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..u64::from(FRAME_BYTES))
        .map(|at| mix(at + number * 7_919))
        .collect()
}

pub fn sender_config(setup: &Setup) -> SenderConfig {
    SenderConfig {
        session: SESSION,
        key: KEY,
        flows: setup.flows,
        payload: PAYLOAD,
        segments: 2,
        pace: Pace::Rate { frame_ns: FRAME_NS },
        latency_ns: setup.latency_ns,
        fec: setup.fec,
        arq: setup.arq,
        most_bytes: 64 << 20,
        breaker: BreakerLimits::default(),
        seed: setup.seed,
    }
}

pub fn receiver_config(setup: &Setup) -> ReceiverConfig {
    ReceiverConfig {
        session: SESSION,
        key: KEY,
        flows: setup.flows,
        payload: PAYLOAD,
        latency_ns: setup.latency_ns,
        frames: 64,
        frame_bytes: FRAME_BYTES,
        fec_window: setup.fec.map(|rate| rate.window()),
        fec_history: 4_096,
        arq: setup.arq,
        rtt_ns: setup.rtt_ns,
    }
}

impl World {
    pub fn new(setup: Setup) -> Self {
        let text = format!("seed = {}\n{}", setup.seed, setup.link);
        let spec: LinkSpec = parse(&text, "test", Path::new(".")).expect("a link");
        World {
            now: 0,
            sender: Sender::new(sender_config(&setup), 0),
            receiver: Receiver::new(receiver_config(&setup)).expect("a receiver"),
            forward: Link::forward(&spec),
            reverse: Link::reverse(&spec),
            setup,
            pushed: 0,
            next_number: 0,
            whole: 0,
            damaged: 0,
            lost: 0,
            longest_ns: 0,
            events: Vec::new(),
            meddle: Box::new(|_| {}),
        }
    }

    fn frames(&self) -> u32 {
        (self.setup.for_ns / FRAME_NS) as u32
    }

    fn unix(&self) -> UnixNanos {
        UnixNanos(EPOCH + self.now)
    }

    fn is_dark(&self, flow: u16) -> bool {
        self.setup
            .dark
            .is_some_and(|(dark, from, to)| dark == flow && (from..to).contains(&self.now))
    }

    /// Runs to the end of the stream and some time beyond.
    pub fn run(mut self) -> Self {
        let end = self.setup.for_ns + self.setup.latency_ns + SECOND;
        let (mut out, mut feedback) = (Vec::new(), [0; MAX_FEEDBACK_LENGTH]);
        while self.now < end {
            self.feed();
            self.send(&mut out);
            self.deliver();
            while let Some((flow, length)) = self.receiver.poll_feedback(self.now, &mut feedback) {
                if !self.is_dark(flow.0) {
                    offer(&mut self.reverse, self.now, flow.0, feedback[..length].to_vec());
                }
            }
            self.take_frames();
            while let Some(event) = self.sender.poll_event() {
                self.events.push((self.now, event));
            }
            self.now = self.next().clamp(self.now + 1, end);
        }
        self
    }

    fn next(&self) -> u64 {
        let links = [&self.forward, &self.reverse].map(|link| link.next_departure().map(|at| at.0));
        let ends = [self.sender.next_ns(), self.receiver.next_ns(self.now)];
        links.into_iter().chain(ends).flatten().min().unwrap_or(u64::MAX)
    }

    fn feed(&mut self) {
        while self.pushed < self.frames() && self.sender.wants_frame(FRAME_BYTES as usize) {
            let framing = MediaFraming {
                frame: self.pushed,
                frame_length: FRAME_BYTES,
                timestamp_ns: u64::from(self.pushed) * FRAME_NS,
                ..MediaFraming::default()
            };
            let bytes = picture(u64::from(self.pushed));
            self.sender.push_frame(self.now, framing, bytes);
            self.pushed += 1;
            if self.pushed == self.frames() {
                let end = MediaFraming {
                    frame: self.pushed,
                    flags: MediaFraming::END,
                    ..MediaFraming::default()
                };
                self.sender.push_notice(self.now, end, Vec::new());
            }
        }
    }

    fn send(&mut self, out: &mut Vec<Transmit>) {
        loop {
            self.sender.poll(self.now, self.unix(), out);
            if out.is_empty() {
                return;
            }
            for transmit in out.iter() {
                let datagram = [transmit.header(), self.sender.body(transmit)].concat();
                if !self.is_dark(transmit.flow.0) {
                    offer(&mut self.forward, self.now, transmit.flow.0, datagram);
                }
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(departure) = self.forward.poll(Nanos(self.now)) {
            let mut datagrams = vec![departure.packet.payload];
            (self.meddle)(&mut datagrams);
            for datagram in datagrams {
                self.receiver.handle(self.now, &datagram);
            }
        }
        while let Some(departure) = self.reverse.poll(Nanos(self.now)) {
            let unix = self.unix();
            self.sender
                .handle(self.now, unix, &departure.packet.payload)
                .expect("the receiver's feedback");
        }
    }

    fn take_frames(&mut self) {
        while let Some(given) = self.receiver.poll_frame(self.now) {
            match given {
                Given::Nothing(number) => {
                    assert_eq!(number, self.next_number, "in order");
                    self.lost += 1;
                }
                Given::Frame(frame) => {
                    assert_eq!(frame.number, self.next_number, "in order");
                    let expected = picture(frame.number);
                    if frame.missing.is_empty() {
                        assert!(frame.bytes == expected, "frame {}", frame.number);
                        self.whole += 1;
                    } else {
                        self.damaged += 1;
                    }
                    self.longest_ns = self.longest_ns.max(self.now - frame.sent_ns);
                    self.receiver.recycle(frame);
                }
            }
            self.next_number += 1;
        }
    }

    /// All frames came whole.
    #[track_caller]
    pub fn assert_whole(&self) {
        let counters = self.receiver.counters();
        assert_eq!(
            (self.whole, self.damaged, self.lost),
            (u64::from(self.frames()), 0, 0),
            "{counters:?} {:?}",
            self.sender.counters()
        );
    }
}

fn offer(link: &mut Link<Vec<u8>>, now: u64, flow: u16, datagram: Vec<u8>) {
    let packet = Packet {
        length: datagram.len() as u32 + 28,
        flow: FlowKey {
            five_tuple: u64::from(flow) + 1,
            host_pair: 7,
        },
        payload: datagram,
    };
    // Dropped or not: nobody else knows.
    let _ = link.enqueue(Nanos(now), packet);
}
