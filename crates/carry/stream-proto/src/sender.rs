//! The sender: frames go in, packets for each flow come out; the receiver's feedback decides which packets are
//! retransmitted, and over which flows. No socket, no clock: the caller passes the time, and asks again at
//! [`Sender::next_wake`].

use std::collections::VecDeque;

use weir_fec::{Adu, CodeRate, Encoder, EncoderConfig, Repair, RepairPayloadId};
use weir_protect::{Lane, Opener, Sealed, Sealer, StreamSecrets};
use weir_stats::SenderCounters;
use weir_wire::{
    DecodeError, FRAMING_LENGTH, FlowId, MEDIA_HEADER_LENGTH, MediaData, MediaFeedback, MediaFraming,
    MediaRepair, REPAIR_HEADER_LENGTH, Sequence, SessionId, UnixNanos,
};

use crate::adaptive::{Adaptive, Fec};
use crate::breaker::{Breaker, BreakerLimits, Broken};
use crate::flowlets::{FlowChange, Flowlets};
use crate::pacing::{Pace, Slot};
use crate::stored::{FrameStore, Piece};
use crate::tail::Tail;

/// Maximum number of queued retransmissions; the receiver repeats requests beyond it.
const MOST_WAITING: usize = 16_384;
/// Maximum round-trip time, nanoseconds.
const LONGEST_RTT_NS: u64 = 5_000_000_000;
/// How long a sent frame is kept beyond the receiver's budget, for its feedback to arrive.
const GRACE_NS: u64 = 5_000_000;

/// Configuration of a sender.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The session.
    pub session: SessionId,
    /// Its secrets, as the sender has them.
    pub secrets: StreamSecrets,
    /// Flows, 1 to 64.
    pub flows: u16,
    /// Payload bytes of a packet, headers not included.
    pub payload: u32,
    /// Packets per burst of a flow, so that one system call carries them.
    pub segments: u32,
    /// The pacing.
    pub pace: Pace,
    /// How long the receiver waits for missing packets, nanoseconds.
    pub latency_ns: u64,
    /// Repair packets, if any.
    pub fec: Option<Fec>,
    /// Whether to retransmit packets that the receiver reports missing.
    pub arq: bool,
    /// Maximum bytes of frames to keep.
    pub most_bytes: usize,
    /// When to stop the stream.
    pub breaker: BreakerLimits,
    /// Seed of the flows' order and of the repair keys.
    pub seed: u64,
    /// Number of the first symbol, and of each flow's first packet: 0, but in tests of what hours of packets lead to.
    pub first_number: u64,
}

/// A packet to send now. Its bytes are `header` and then [`Sender::body`].
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    /// Its flow.
    pub flow: FlowId,
    header: [u8; MEDIA_HEADER_LENGTH],
    header_length: u8,
    body: Body,
}

#[derive(Clone, Copy, Debug)]
enum Body {
    Piece(Piece),
    Repair(usize),
}

impl Transmit {
    /// The bytes before the body.
    pub fn header(&self) -> &[u8] {
        &self.header[..usize::from(self.header_length)]
    }
}

/// Events of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderEvent {
    /// The use of a flow has changed.
    Flow(FlowId, FlowChange),
    /// The stream was stopped.
    Stopped(Broken),
}

/// A frame that is being sent.
#[derive(Clone, Copy, Debug)]
struct Sending {
    buffer: u64,
    packets: u32,
    next: u32,
    slot: Slot,
}

/// Sends one stream, or a share of it. `B` is the caller's buffer of a frame.
pub struct Sender<B = Vec<u8>> {
    config: SenderConfig,
    sealer: Sealer,
    /// Of the feedback.
    opener: Opener,
    flows: Flowlets,
    store: FrameStore<B>,
    waiting: VecDeque<Sending>,
    last_slot: Option<Slot>,
    encoder: Option<Encoder>,
    adaptive: Option<Adaptive>,
    /// Framing and payload as one, for the encoder.
    symbol: Vec<u8>,
    repairs: Vec<Vec<u8>>,
    repairs_used: usize,
    /// Symbols to retransmit.
    again: VecDeque<u64>,
    tail: Tail,
    /// Whether the last packet so far is the end of the stream.
    at_end: bool,
    settled: u64,
    /// The newest symbol that the receiver has reported.
    newest: Option<Sequence>,
    feedback: Option<u64>,
    rtt_ns: Option<u64>,
    breaker: Breaker,
    stopped: bool,
    held: bool,
    events: VecDeque<SenderEvent>,
    spare: Vec<B>,
    counters: SenderCounters,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Sender<B> {
    /// A sender before its first packet.
    pub fn new(config: SenderConfig, now_ns: u64) -> Self {
        let (rate, adaptive) = match config.fec {
            None => (None, None),
            Some(Fec::Fixed(rate)) => (Some(rate), None),
            Some(Fec::Adaptive(limits)) => {
                let adaptive = Adaptive::new(limits);
                (Some(adaptive.rate()), Some(adaptive))
            }
        };
        let encoder = rate.map(|rate| {
            Encoder::new(EncoderConfig {
                first_key: config.seed as u16,
                first_esi: config.first_number as u32,
                ..EncoderConfig::new(rate, FRAMING_LENGTH + config.payload as usize)
            })
        });
        Sender {
            sealer: Sealer::new(&config.secrets),
            opener: Opener::new(&config.secrets),
            flows: Flowlets::new(config.flows, config.seed, config.first_number),
            store: FrameStore::new(config.payload, config.most_bytes, config.first_number),
            waiting: VecDeque::new(),
            last_slot: None,
            encoder,
            adaptive,
            symbol: Vec::with_capacity(FRAMING_LENGTH + config.payload as usize),
            repairs: Vec::new(),
            repairs_used: 0,
            again: VecDeque::new(),
            tail: Tail::new(config.latency_ns),
            at_end: false,
            settled: 0,
            newest: None,
            feedback: None,
            rtt_ns: None,
            breaker: Breaker::new(config.breaker, now_ns),
            stopped: false,
            held: false,
            events: VecDeque::new(),
            spare: Vec::new(),
            counters: SenderCounters::default(),
            config,
        }
    }

    /// Whether a frame of `bytes` bytes can be pushed now: the previous one is being sent, and there is room.
    pub fn wants_frame(&self, bytes: usize) -> bool {
        !self.stopped && !self.held && self.waiting.len() <= 1 && self.store.has_room(bytes)
    }

    /// Sets whether the receiver wants the stream from this sender; initially it does. An unwanted sender takes no
    /// frames, sends those already taken, and is not stopped by the receiver's silence.
    pub fn set_wanted(&mut self, now_ns: u64, wanted: bool) {
        if self.held && wanted {
            self.breaker.resume(now_ns);
        }
        self.held = !wanted;
    }

    /// Takes a frame to send. The offset in `framing` is ignored.
    pub fn push_frame(&mut self, now_ns: u64, framing: MediaFraming, bytes: B) {
        let slot = self.config.pace.slot(now_ns, self.last_slot);
        self.last_slot = Some(slot);
        self.counters.frames += 1;
        self.push(framing, bytes, slot);
    }

    /// Takes a description of a format, or the end of the stream, to send after all frames before it.
    pub fn push_notice(&mut self, now_ns: u64, framing: MediaFraming, bytes: B) {
        self.push(framing, bytes, Slot::at_once(now_ns));
    }

    fn push(&mut self, framing: MediaFraming, bytes: B, slot: Slot) {
        let (buffer, packets) = self.store.keep(framing, bytes);
        self.waiting.push_back(Sending {
            buffer,
            packets,
            next: 0,
            slot,
        });
    }

    /// Frames and notices that are not completely sent.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The buffer of a frame that is no longer kept, for reuse.
    pub fn spare_buffer(&mut self) -> Option<B> {
        self.spare.pop()
    }

    /// Fills `out` with the packets that are due, grouped by flow. Empty if none is due. The bodies
    /// are valid until the next call.
    pub fn wake(&mut self, now_ns: u64, unix: UnixNanos, out: &mut Vec<Transmit>) {
        out.clear();
        self.repairs_used = 0;
        if !self.held
            && let Some(broken) = self.breaker.on_time(now_ns)
        {
            self.stop(broken);
        }
        while let Some((framing, bytes)) = self.store.take_unwanted(now_ns, self.settled) {
            // Buffers of notices would grow to the length of frames, one more every second.
            if framing.flags & (MediaFraming::DESCRIPTION | MediaFraming::END) == 0 {
                self.spare.push(bytes);
            }
        }
        if self.stopped {
            return;
        }
        self.flows.set_time(now_ns);
        let block = self.flows.live() * self.config.segments.max(1) as usize;
        self.poll_again(now_ns, unix, block, out);
        // A block is sent as a whole when its first packet is due, and ends with its frame.
        while out.len() < block && self.due_ns().is_some_and(|due| due <= now_ns) {
            while out.len() < block
                && let Some((piece, last)) = self.next_piece(now_ns)
            {
                self.send_source(piece, now_ns, unix, out);
                if last {
                    break;
                }
            }
        }
        self.poll_tail(now_ns, unix, out);
        out.sort_by_key(|transmit| transmit.flow);
    }

    /// When the next packet of the stream is due.
    fn due_ns(&self) -> Option<u64> {
        let first = self.waiting.front()?;
        Some(first.slot.due_ns(first.next, first.packets))
    }

    /// The next packet of the stream, and whether it is the last of its frame.
    fn next_piece(&mut self, now_ns: u64) -> Option<(Piece, bool)> {
        let first = self.waiting.front_mut()?;
        let piece = self.store.piece(first.buffer, first.next)?;
        first.next += 1;
        let last = first.next == first.packets;
        if last {
            let expires_ns = now_ns + self.config.latency_ns + GRACE_NS + self.rtt_ns.unwrap_or(0);
            self.store.sent(first.buffer, expires_ns);
            self.waiting.pop_front();
        }
        if self.waiting.is_empty() {
            self.at_end = piece.framing.flags & MediaFraming::END != 0;
            self.tail.is_last(now_ns);
        } else {
            self.tail.is_followed();
        }
        Some((piece, last))
    }

    /// While no packet follows, the open repairs are sent at once; and the last packet is sent
    /// again until the receiver has reported it, since nothing else would reveal its loss (as in RFC 8985, section
    /// 7). Without ARQ only the end of the stream, which the receiver must know.
    fn poll_tail(&mut self, now_ns: u64, unix: UnixNanos, out: &mut Vec<Transmit>) {
        if self.tail.due_ns().is_none_or(|due| due > now_ns) {
            return;
        }
        self.flush(unix, out);
        let last = self.store.next_symbol().wrapping_sub(1);
        let known = self.newest == Some(Sequence::from(last));
        let piece = self.store.by_symbol(last).filter(|piece| {
            let expires_ns = self.store.expiry(piece).unwrap_or(u64::MAX);
            !known && (self.config.arq || self.at_end) && now_ns < expires_ns
        });
        let Some(piece) = piece else {
            self.tail.is_over();
            return;
        };
        self.tail.is_last(now_ns);
        let Some(sealed) = self.store.sealed(&piece) else {
            return;
        };
        let (flow, sequence) = self.flows.for_copy();
        self.counters.trials += 1;
        let place = (flow, sequence);
        out.extend(self.packet(piece, sealed, place, MediaData::COPY, unix));
    }

    /// Sends the open repairs.
    fn flush(&mut self, unix: UnixNanos, out: &mut Vec<Transmit>) {
        while let Some(encoder) = &mut self.encoder {
            let sources = usize::from(encoder.rate().sources());
            let Some(repair) = encoder.flush() else { return };
            let id = keep_repair(&mut self.repairs, self.repairs_used, &repair);
            self.send_repair(id, sources, unix, out);
        }
    }

    /// Sends a packet for the first time: the code takes it as it is, then it is sealed where it lies.
    fn send_source(&mut self, piece: Piece, now_ns: u64, unix: UnixNanos, out: &mut Vec<Transmit>) {
        let repair = self.protect(piece);
        let context = MediaData::context(self.config.session, &piece.framing);
        let sealer = &mut self.sealer;
        let seal = |payload: &mut [u8]| sealer.seal(Lane::Source, piece.symbol, &context, payload);
        let Some(sealed) = self.store.seal(&piece, seal) else {
            return;
        };
        let place = self.flows.for_source();
        self.counters.sources += 1;
        out.extend(self.packet(piece, sealed, place, 0, unix));
        if let Some(place) = self.flows.for_trial(now_ns) {
            self.counters.trials += 1;
            out.extend(self.packet(piece, sealed, place, MediaData::COPY, unix));
        }
        if let Some((id, sources)) = repair {
            self.send_repair(id, sources, unix, out);
        }
        if piece.framing.flags & MediaFraming::END != 0 {
            self.flush(unix, out);
        }
    }

    /// None if the keys of its epoch are gone.
    fn packet(
        &self,
        piece: Piece,
        sealed: Sealed,
        (flow, flow_sequence): (FlowId, Sequence),
        flags: u8,
        sent: UnixNanos,
    ) -> Option<Transmit> {
        let data = MediaData {
            session: self.config.session,
            symbol: Sequence::from(piece.symbol),
            flow_sequence,
            flow,
            flags,
            sent,
            framing: piece.framing,
            sealed,
        };
        let mut header = [0; MEDIA_HEADER_LENGTH];
        data.encode(self.sealer.header_key(sealed.epoch)?, &mut header);
        Some(Transmit {
            flow,
            header,
            header_length: MEDIA_HEADER_LENGTH as u8,
            body: Body::Piece(piece),
        })
    }

    /// Passes a source packet to the encoder; returns the repair that it completes, which is kept, and its sources.
    fn protect(&mut self, piece: Piece) -> Option<(RepairPayloadId, usize)> {
        let encoder = self.encoder.as_mut()?;
        let mut framing = [0; FRAMING_LENGTH];
        piece.framing.encode(&mut framing);
        self.symbol.clear();
        self.symbol.extend_from_slice(&framing);
        self.symbol.extend_from_slice(self.store.payload(&piece));
        let adu = Adu {
            flow: 0,
            payload: &self.symbol,
        };
        let sources = usize::from(encoder.rate().sources());
        // Payloads are within the encoder's maximum, so it accepts them all.
        let repair = encoder.push(adu).ok()??;
        let id = keep_repair(&mut self.repairs, self.repairs_used, &repair);
        Some((id, sources))
    }

    /// Sends the repair that was kept last, after `sources` sources.
    fn send_repair(&mut self, id: RepairPayloadId, sources: usize, sent: UnixNanos, out: &mut Vec<Transmit>) {
        let (number, payload_id) = (self.counters.repairs, id.encode());
        let context = MediaRepair::context(self.config.session, payload_id);
        let symbol = &mut self.repairs[self.repairs_used];
        let Ok(sealed) = self.sealer.seal(Lane::Repair, number, &context, symbol) else {
            return;
        };
        let Some(key) = self.sealer.header_key(sealed.epoch) else {
            return;
        };
        let (flow, flow_sequence) = self.flows.for_repair(sources);
        let packet = MediaRepair {
            session: self.config.session,
            flow_sequence,
            flow,
            sent,
            payload_id,
            number: Sequence::from(number),
            sealed,
        };
        let mut short = [0; REPAIR_HEADER_LENGTH];
        packet.encode(key, &mut short);
        let mut header = [0; MEDIA_HEADER_LENGTH];
        header[..REPAIR_HEADER_LENGTH].copy_from_slice(&short);
        out.push(Transmit {
            flow,
            header,
            header_length: REPAIR_HEADER_LENGTH as u8,
            body: Body::Repair(self.repairs_used),
        });
        self.repairs_used += 1;
        self.counters.repairs += 1;
    }

    /// Retransmits requested packets that can still arrive in time.
    fn poll_again(&mut self, now_ns: u64, unix: UnixNanos, most: usize, out: &mut Vec<Transmit>) {
        let one_way_ns = self.rtt_ns.unwrap_or(0) / 2;
        while out.len() < most {
            let Some(symbol) = self.again.pop_front() else {
                return;
            };
            let piece = self.store.by_symbol(symbol).filter(|piece| {
                let expires_ns = self.store.expiry(piece).unwrap_or(u64::MAX);
                now_ns + one_way_ns < expires_ns
            });
            // A packet that was not sent yet is not sealed, and cannot be missing.
            let Some((piece, sealed)) = piece.and_then(|piece| Some((piece, self.store.sealed(&piece)?)))
            else {
                self.counters.refused += 1;
                continue;
            };
            let place = self.flows.for_copy();
            self.counters.retransmitted += 1;
            out.extend(self.packet(piece, sealed, place, MediaData::COPY, unix));
        }
    }

    /// The bytes after a packet's header.
    pub fn body(&self, transmit: &Transmit) -> &[u8] {
        match &transmit.body {
            Body::Piece(piece) => self.store.payload(piece),
            Body::Repair(index) => self.repairs.get(*index).map_or(&[], Vec::as_slice),
        }
    }

    /// Takes a datagram of the receiver, and decrypts it where it is.
    ///
    /// # Errors
    /// When it is not valid; only a counter changes.
    pub fn receive(&mut self, now_ns: u64, unix: UnixNanos, datagram: &mut [u8]) -> Result<(), DecodeError> {
        let near = self.feedback.unwrap_or(0);
        let decoded = MediaFeedback::decode(&mut self.opener, near, self.config.session, datagram);
        let (feedback, lists) = decoded.inspect_err(|_| self.counters.rejected += 1)?;
        let number = feedback.number;
        if self.feedback.is_some_and(|last| number <= last) {
            self.counters.rejected += 1;
            return Ok(());
        }
        self.feedback = Some(number);
        let next = self.store.next_symbol();
        self.newest = Some(feedback.newest);
        self.settled = self.settled.max(feedback.settled.extend(next).min(next));
        self.learn_rtt(unix, &feedback);
        let events = &mut self.events;
        let rtt_ns = self.rtt_ns.unwrap_or(0);
        let observed = self
            .flows
            .on_report(now_ns, rtt_ns, lists.flows(), |flow, change| {
                events.push_back(SenderEvent::Flow(flow, change));
            });
        if let (Some(adaptive), Some(encoder)) = (&mut self.adaptive, &mut self.encoder)
            && let Some(rate) = adaptive.on_report(now_ns, &observed)
        {
            encoder.set_rate(rate);
        }
        if self.config.arq {
            for range in lists.missing() {
                let first = range.first.extend(next);
                let room = MOST_WAITING.saturating_sub(self.again.len());
                let symbols = first..(first + u64::from(range.count)).min(next);
                self.again.extend(symbols.take(room));
            }
        }
        if let Some(broken) = self.breaker.on_report(now_ns, feedback.received, feedback.lost) {
            self.stop(broken);
        }
        Ok(())
    }

    fn learn_rtt(&mut self, unix: UnixNanos, feedback: &MediaFeedback) {
        let passed = unix
            .0
            .checked_sub(feedback.echo.0)
            .filter(|_| feedback.echo.0 > 0);
        let rtt = passed.map(|passed| passed.saturating_sub(feedback.held_ns.into()));
        // If it is impossible, this host's clock was set in between.
        if let Some(rtt) = rtt.filter(|rtt| *rtt < LONGEST_RTT_NS) {
            // Smoothed as in RFC 6298 section 2.
            self.rtt_ns = Some(self.rtt_ns.map_or(rtt, |smooth| smooth - smooth / 8 + rtt / 8));
        }
    }

    fn stop(&mut self, broken: Broken) {
        if !self.stopped {
            self.stopped = true;
            self.waiting.clear();
            self.again.clear();
            self.events.push_back(SenderEvent::Stopped(broken));
        }
    }

    /// When to call [`poll`](Self::poll) next, nanoseconds; none when there is nothing left to do.
    pub fn next_wake(&self) -> Option<u64> {
        if self.stopped {
            return None;
        }
        if !self.again.is_empty() {
            return Some(0);
        }
        [
            self.due_ns(),
            self.tail.due_ns(),
            self.store.next_expiry(),
            Some(self.breaker.next_wake()).filter(|_| !self.held),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The next event; call until there is none.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// The counters so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The smoothed round-trip time to the receiver, nanoseconds; none before its first feedback.
    pub fn rtt_ns(&self) -> Option<u64> {
        self.rtt_ns
    }

    /// Time since the receiver's last feedback, nanoseconds; none while none is expected.
    pub fn silence_ns(&self, now_ns: u64) -> Option<u64> {
        (!self.held && !self.stopped).then(|| self.breaker.silence_ns(now_ns))
    }

    /// The code rate of the next repairs; none without repairs.
    pub fn fec_rate(&self) -> Option<CodeRate> {
        let adapted = self.adaptive.as_ref().map(Adaptive::rate);
        adapted.or(self.encoder.as_ref().map(Encoder::rate))
    }

    /// Key renewals so far.
    pub fn key_renewals(&self) -> u64 {
        self.sealer.renewals()
    }

    /// The flows and their use.
    pub fn flows(&self) -> &Flowlets {
        &self.flows
    }
}

/// Keeps the bytes of a repair until they are sent; returns its payload identifier.
fn keep_repair(repairs: &mut Vec<Vec<u8>>, at: usize, repair: &Repair<'_>) -> RepairPayloadId {
    if at == repairs.len() {
        repairs.push(Vec::new());
    }
    repairs[at].clear();
    repairs[at].extend_from_slice(repair.symbol);
    repair.id
}
