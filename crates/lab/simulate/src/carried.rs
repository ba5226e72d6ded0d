//! A stream over a link in virtual time, by the state machines of the transport themselves. It must not know why anyone
//! asks, nor what the stream shows: packets are short here and long for the link only, since bytes that nobody looks at
//! cost time.

use weir_diagnose::{Carried, Recovery, Stream, Transport};
use weir_fec::CodeRate;
use weir_link::discrete::{Endpoint, Network};
use weir_link::{Departure, Ecn, FlowKey, LinkSpec, Nanos, Packet};
use weir_protect::{Protection, Secret, StreamSecrets};
use weir_stream_proto::{
    BreakerLimits, Fec, Join, OutputFrame, PACKET_OVERHEAD, Pace, Receiver, ReceiverConfig, Sender,
    SenderConfig, SenderIndex, SenderTerms, Transmit, usual_burst,
};
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, SessionId, UnixNanos};

use crate::path::START_UNIX_NS;
use crate::wire::round_trip_ns;

/// Bytes of a payload as the state machines see it: with its framing, two vectors of the code's arithmetic.
const PAYLOAD: u32 = 8;
/// Maximum packets a second, 28 Gbit/s of the shortest payloads that media has: a trial is to end.
const MOST_PACKETS_PER_S: u64 = 2_500_000;
/// Maximum packets of a frame here.
const MOST_PACKETS: u64 = 1 << 16;
/// IPv4 and UDP headers, bytes.
const HEADERS: u32 = 28;
const SECOND_NS: u64 = 1_000_000_000;
/// Longest frame, longest wait for repairs, and longest stream: a trial is to end, whatever a file of results says.
const LONGEST_FRAME_NS: u64 = SECOND_NS;
const LONGEST_WAIT_NS: u64 = 60 * SECOND_NS;
const LONGEST_STREAM_NS: u64 = 600 * SECOND_NS;
/// Longer than any trial.
const NEVER_NS: u64 = 1_000_000 * SECOND_NS;
/// How long a stream is waited for beyond its end and its latency.
const PATIENCE_NS: u64 = SECOND_NS;

/// The transport of `weir send` and `weir recv` in virtual time.
#[derive(Clone, Copy, Debug)]
pub struct VirtualTransport;

impl Transport for VirtualTransport {
    fn carry(&self, link: &LinkSpec, stream: &Stream) -> Option<Carried> {
        let shape = Shape::of(stream)?;
        let mut near = Near::new(&shape, stream)?;
        let mut far = Far::new(&shape, stream, round_trip_ns(link))?;
        let mut network = Network::new(&LinkSpec {
            seed: stream.seed,
            ..link.clone()
        });
        let until = u64::from(shape.frames) * shape.frame_ns
            + stream.latency_ns
            + 2 * round_trip_ns(link)
            + PATIENCE_NS;
        while network.step(&mut near, &mut far, Nanos(until)).is_some() {}
        far.take(until);
        let sent = near.sender.counters();
        let packets = u64::from(shape.frames) * u64::from(shape.packets);
        // Whoever has not heard the end of the stream does not know of its last frames.
        let unknown = u64::from(shape.frames).saturating_sub(far.frames);
        Some(Carried {
            packets,
            lost: far.receiver.counters(far.index).lost,
            unrepaired: far.missing + unknown * u64::from(shape.packets),
            damaged_frames: far.damaged + unknown,
            sent_packets: packets + sent.repairs + sent.retransmitted,
        })
    }

    fn usual_burst(&self, stream: &Stream) -> u32 {
        usual_burst(stream.payload, stream.flows, stream.format.rate().0 as f64)
    }
}

/// The stream in packets.
struct Shape {
    frames: u32,
    packets: u32,
    frame_ns: u64,
    /// Bytes by which packets are longer than they are here.
    longer: u32,
}

impl Shape {
    /// None where the transport takes no such stream.
    fn of(stream: &Stream) -> Option<Self> {
        let payload = stream
            .payload
            .checked_sub(PACKET_OVERHEAD)
            .filter(|left| *left > 0)?;
        let rate = stream.format.frame_rate;
        let frame_ns = (f64::from(rate.denominator) * 1e9 / f64::from(rate.numerator)) as u64;
        let is_short = (1..=LONGEST_FRAME_NS).contains(&frame_ns) && stream.latency_ns <= LONGEST_WAIT_NS;
        is_short.then_some(())?;
        let packets = u64::from(stream.format.bytes_per_frame)
            .div_ceil(u64::from(payload))
            .clamp(1, MOST_PACKETS);
        (packets.saturating_mul(SECOND_NS) / frame_ns <= MOST_PACKETS_PER_S).then_some(())?;
        let frames = stream.packets.div_ceil(packets);
        Some(Shape {
            frames: frames.clamp(1, LONGEST_STREAM_NS / frame_ns).min(u32::MAX.into()) as u32,
            packets: packets as u32,
            frame_ns,
            longer: payload.saturating_sub(PAYLOAD),
        })
    }

    fn frame_bytes(&self) -> u32 {
        self.packets * PAYLOAD
    }
}

/// The code of `weir send --fec` for this recovery.
fn code(recovery: &Recovery) -> Option<CodeRate> {
    let Recovery::Fec {
        repair_packets,
        span_packets,
        ..
    } = *recovery
    else {
        return None;
    };
    CodeRate::of_block(span_packets, repair_packets)
}

/// A flow that carries nothing for a time, either way.
struct Dark(Option<(u16, u64, u64)>);

impl Dark {
    fn is_dark(&self, flow: u16, now: u64) -> bool {
        self.0
            .is_some_and(|(dark, from, to)| dark == flow && (from..to).contains(&now))
    }
}

fn offer(flow: u16, longer: u32, payload: Vec<u8>) -> Packet<Vec<u8>> {
    Packet {
        length: payload.len() as u32 + HEADERS + longer,
        flow: FlowKey {
            five_tuple: u64::from(flow) + 1,
            host_pair: 1,
            // All flows of a stream leave from one port.
            source_port: 1,
        },
        ecn: Ecn::NotEct,
        payload,
    }
}

/// Protection changes neither lengths nor times, and nobody reads these bytes.
fn secrets() -> StreamSecrets {
    StreamSecrets::new(Protection::Off, Secret::new([1; 32]), Secret::new([2; 32]))
}

/// The sender and its source of frames.
struct Near {
    sender: Sender,
    frames: u32,
    frame_ns: u64,
    frame_bytes: u32,
    longer: u32,
    pushed: u32,
    ended: bool,
    due: Vec<Transmit>,
    dark: Dark,
    now: u64,
}

impl Near {
    fn new(shape: &Shape, stream: &Stream) -> Option<Self> {
        (1..=64).contains(&stream.flows).then_some(())?;
        let config = SenderConfig {
            session: SessionId(stream.seed),
            secrets: secrets(),
            flows: stream.flows,
            payload: PAYLOAD,
            segments: stream
                .burst
                .unwrap_or_else(|| VirtualTransport.usual_burst(stream)),
            pace: Pace::Rate {
                frame_ns: shape.frame_ns,
            },
            latency_ns: stream.latency_ns,
            fec: code(&stream.recovery).map(Fec::Fixed),
            arq: stream.recovery.is_arq(),
            most_bytes: 1 << 30,
            // A trial is not to be stopped: it is to be judged.
            breaker: BreakerLimits {
                loss: 1.0,
                sustained_ns: NEVER_NS,
                silence_ns: NEVER_NS,
            },
            seed: stream.seed,
            first_number: 0,
        };
        Some(Near {
            sender: Sender::new(config, 0),
            frames: shape.frames,
            frame_ns: shape.frame_ns,
            frame_bytes: shape.frame_bytes(),
            longer: shape.longer,
            pushed: 0,
            ended: false,
            due: Vec::new(),
            dark: Dark(stream.dark),
            now: 0,
        })
    }

    /// When the source has the next frame: one is ready while the one before is being sent.
    fn frame_due_ns(&self) -> u64 {
        u64::from(self.pushed).saturating_sub(1) * self.frame_ns
    }

    fn feed(&mut self, now: u64) {
        while self.pushed < self.frames
            && self.frame_due_ns() <= now
            && self.sender.wants_frame(self.frame_bytes as usize)
        {
            let mut bytes = self.sender.spare_buffer().unwrap_or_default();
            bytes.resize(self.frame_bytes as usize, 0);
            let framing = MediaFraming {
                frame: self.pushed,
                frame_length: self.frame_bytes,
                timestamp_ns: u64::from(self.pushed) * self.frame_ns,
                ..MediaFraming::default()
            };
            self.sender.push_frame(now, framing, bytes);
            self.pushed += 1;
        }
        if self.pushed == self.frames && !self.ended && self.sender.waiting() == 0 {
            let end = MediaFraming {
                frame: self.frames,
                flags: MediaFraming::END,
                ..MediaFraming::default()
            };
            self.sender.push_notice(now, end, Vec::new());
            self.ended = true;
        }
    }
}

impl Endpoint<Vec<u8>> for Near {
    fn next_wake(&self) -> Option<Nanos> {
        let frame = (self.pushed < self.frames).then(|| self.frame_due_ns());
        // A frame that is due and not wanted waits for the one before, which the sender wakes for.
        let frame = frame.filter(|due| *due > self.now || self.pushed == 0);
        let end =
            (self.pushed == self.frames && !self.ended && self.sender.waiting() == 0).then_some(self.now);
        [self.sender.next_wake(), frame, end]
            .into_iter()
            .flatten()
            .min()
            .map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Vec<u8>>>) {
        self.now = now.0;
        self.feed(now.0);
        let unix = UnixNanos(START_UNIX_NS + now.0);
        loop {
            self.sender.wake(now.0, unix, &mut self.due);
            if self.due.is_empty() {
                break;
            }
            for transmit in &self.due {
                if self.dark.is_dark(transmit.flow.0, now.0) {
                    continue;
                }
                let datagram = [transmit.header(), self.sender.body(transmit)].concat();
                out.push(offer(transmit.flow.0, self.longer, datagram));
            }
            self.feed(now.0);
        }
        while self.sender.poll_event().is_some() {}
    }

    fn receive(&mut self, mut departure: Departure<Vec<u8>>, _out: &mut Vec<Packet<Vec<u8>>>) {
        // The kernel drops what its checksum shows.
        if departure.corrupted.is_some() {
            return;
        }
        let now = departure.at.0;
        let unix = UnixNanos(START_UNIX_NS + now);
        // The sender counts what it cannot read.
        let _ = self.sender.receive(now, unix, &mut departure.packet.payload);
    }
}

/// The receiver, and what is missing at its output.
struct Far {
    receiver: Receiver,
    index: SenderIndex,
    frames: u64,
    damaged: u64,
    missing: u64,
    now: u64,
    packets: u64,
    dark: Dark,
}

impl Far {
    fn new(shape: &Shape, stream: &Stream, rtt_ns: u64) -> Option<Self> {
        let frames = 8 + 2 * stream.latency_ns / shape.frame_ns;
        let mut receiver = Receiver::new(ReceiverConfig {
            latency_ns: stream.latency_ns,
            payload: PAYLOAD,
            frames: usize::try_from(frames).ok()?.min(4_096),
            frame_bytes: shape.frame_bytes(),
            join: Join::Merge,
        })
        .ok()?;
        let packets_per_second = f64::from(shape.packets) * 1e9 / shape.frame_ns as f64;
        let within = packets_per_second * stream.latency_ns as f64 / 1e9;
        let window = code(&stream.recovery).map(CodeRate::window);
        let history = within * 1.25 + f64::from(window.unwrap_or(0));
        let terms = SenderTerms {
            session: SessionId(stream.seed),
            secrets: secrets().of_other_end(),
            flows: stream.flows,
            fec_window: window,
            fec_history: history as u16,
            arq: stream.recovery.is_arq(),
            rtt_ns,
            rank: 0,
        };
        let index = receiver.add_sender(0, terms).ok()?;
        Some(Far {
            receiver,
            index,
            frames: 0,
            damaged: 0,
            missing: 0,
            now: 0,
            packets: u64::from(shape.packets),
            dark: Dark(stream.dark),
        })
    }

    fn take(&mut self, now: u64) {
        while let Some(output) = self.receiver.poll_frame(now) {
            self.frames += 1;
            match output {
                OutputFrame::Nothing(_) => {
                    self.damaged += 1;
                    self.missing += self.packets;
                }
                OutputFrame::Frame(frame) => {
                    let pieces = frame.missing.iter();
                    let missing: u32 = pieces
                        .map(|piece| (piece.end - piece.start).div_ceil(PAYLOAD))
                        .sum();
                    self.damaged += u64::from(missing > 0);
                    self.missing += u64::from(missing);
                    self.receiver.recycle(frame);
                }
            }
        }
        while self.receiver.poll_event().is_some() {}
    }
}

impl Endpoint<Vec<u8>> for Far {
    fn next_wake(&self) -> Option<Nanos> {
        self.receiver.next_wake(self.now).map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Vec<u8>>>) {
        self.now = now.0;
        self.take(now.0);
        let mut feedback = [0; MAX_FEEDBACK_LENGTH];
        while let Some((flow, length)) = self.receiver.poll_feedback(now.0, self.index, &mut feedback) {
            if !self.dark.is_dark(flow.0, now.0) {
                out.push(offer(flow.0, 0, feedback[..length].to_vec()));
            }
        }
    }

    fn receive(&mut self, mut departure: Departure<Vec<u8>>, out: &mut Vec<Packet<Vec<u8>>>) {
        if departure.corrupted.is_some() {
            return;
        }
        self.receiver
            .receive(departure.at.0, self.index, &mut departure.packet.payload);
        self.wake(departure.at, out);
    }
}
