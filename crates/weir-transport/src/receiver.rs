//! The receiver: packets of all flows go in; frames in order, and feedback for the sender, come out. No socket, no
//! clock: the caller passes the time, and asks again at [`Receiver::next_ns`].

use std::collections::VecDeque;

use weir_fec::{Adu, Decoder, DecoderConfig, DecoderConfigError, RepairPayloadId};
use weir_wire::{
    FRAMING_LENGTH, FlowId, Kind, MAX_FEEDBACK_LENGTH, MAX_MISSING_RANGES, MEDIA_HEADER_LENGTH, MediaData,
    MediaFeedback, MediaFraming, MediaRepair, MissingRange, REPAIR_HEADER_LENGTH, Sequence, SessionId,
    UdpKey, UnixNanos, peek,
};

use crate::arrivals::Arrivals;
use crate::frames::{Frame, FrameLimits, Frames, Given, Placed};
use crate::missing::{Arrival, Asking, Missed, Symbols};
use crate::transit::Transit;

/// Feedback is sent at least so often while something comes, nanoseconds.
const FEEDBACK_NS: u64 = 10_000_000;
/// And at most so often.
const LEAST_FEEDBACK_NS: u64 = 500_000;
/// Descriptions and notices of the end are no longer than this, bytes.
const LONGEST_DESCRIPTION: usize = 1_024;

/// What a receiver is to do.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// The session.
    pub session: SessionId,
    /// Its key.
    pub key: UdpKey,
    /// Flows, 1 to 64.
    pub flows: u16,
    /// Payload bytes of every packet but the last of a frame.
    pub payload: u32,
    /// For how long what is missing is waited for, nanoseconds.
    pub latency_ns: u64,
    /// Most frames that are put together at a time.
    pub frames: usize,
    /// Most bytes of a frame.
    pub frame_bytes: u32,
    /// The most packets that a repair is over; none without a code.
    pub fec_window: Option<u16>,
    /// Packets for which the code remembers what came: those of the latency and of a window together.
    pub fec_history: u16,
    /// Whether the sender sends again what is asked for.
    pub arq: bool,
    /// Round trip to the sender until it is measured, nanoseconds.
    pub rtt_ns: u64,
}

/// Why there cannot be such a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverConfigError {
    /// No flows, or too many.
    #[error("a stream has 1 to 64 flows, not {0}")]
    Flows(u16),
    /// Payloads of no bytes, or longer than a datagram.
    #[error("a payload has 1 to 65000 bytes, not {0}")]
    Payload(u32),
    /// The code cannot be so.
    #[error(transparent)]
    Code(#[from] DecoderConfigError),
}

/// What happened to the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// Frames of `format` are as described.
    Format {
        /// Number of the format.
        format: u16,
        /// Its description, as the sender wrote it.
        description: Vec<u8>,
    },
    /// The stream ends before this frame.
    End {
        /// Its number.
        frame: u64,
    },
}

/// What a receiver has seen so far. Packets, where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Source packets that came and were new.
    pub received: u64,
    /// Repair packets that came.
    pub repairs: u64,
    /// Source packets that did not come as they were first sent.
    pub lost: u64,
    /// Of these, those that the code gave back.
    pub recovered: u64,
    /// Of these, those that came when they were sent again.
    pub retransmitted: u64,
    /// Of these, those that came late on their own: overtaken by packets of their own flow.
    pub overtaken: u64,
    /// Source packets that were given up.
    pub unrepaired: u64,
    /// Packets of frames that had been given out.
    pub late: u64,
    /// Packets that had come before.
    pub duplicates: u64,
    /// Packets that were not the sender's, or made no sense.
    pub rejected: u64,
    /// Symbols that were asked for, each time counted.
    pub asked: u64,
    /// Frames that were given out whole.
    pub frames: u64,
    /// Frames that were given out with something missing.
    pub frames_damaged: u64,
    /// Frames of which nothing came.
    pub frames_lost: u64,
}

/// Receives one stream.
pub struct Receiver {
    config: ReceiverConfig,
    arrivals: Arrivals,
    symbols: Symbols,
    frames: Frames,
    decoder: Option<Decoder>,
    /// Framing and payload as one, for the decoder.
    symbol: Vec<u8>,
    transit: Transit,
    rtt_ns: u64,
    described: Option<u16>,
    ended: bool,
    events: VecDeque<ReceiverEvent>,
    ranges: Vec<MissingRange>,
    feedback_number: u64,
    feedback_ns: Option<u64>,
    feedback_flow: u16,
    echo: Option<(UnixNanos, u64)>,
    counters: ReceiverCounters,
}

impl Receiver {
    /// A receiver to which nothing came.
    ///
    /// # Errors
    /// When the configuration cannot be.
    pub fn new(config: ReceiverConfig) -> Result<Self, ReceiverConfigError> {
        if config.flows == 0 || usize::from(config.flows) > weir_wire::MAX_FEEDBACK_FLOWS {
            return Err(ReceiverConfigError::Flows(config.flows));
        }
        if config.payload == 0 || config.payload > 65_000 {
            return Err(ReceiverConfigError::Payload(config.payload));
        }
        let longest = FRAMING_LENGTH + config.payload as usize;
        let decoder = config
            .fec_window
            .map(|window| {
                Decoder::new(DecoderConfig {
                    history: config.fec_history.max(window),
                    // It is told what is lost, and need not guess.
                    patience: u16::MAX,
                    ..DecoderConfig::new(window, 0, longest)
                })
            })
            .transpose()?;
        Ok(Receiver {
            arrivals: Arrivals::new(config.flows),
            symbols: Symbols::default(),
            frames: Frames::new(FrameLimits {
                payload: config.payload,
                frames: config.frames,
                frame_bytes: config.frame_bytes,
            }),
            decoder,
            symbol: Vec::with_capacity(longest),
            transit: Transit::default(),
            rtt_ns: config.rtt_ns,
            described: None,
            ended: false,
            events: VecDeque::new(),
            ranges: Vec::with_capacity(MAX_MISSING_RANGES),
            feedback_number: 0,
            feedback_ns: None,
            feedback_flow: 0,
            echo: None,
            counters: ReceiverCounters::default(),
            config,
        })
    }

    fn asking(&self) -> Asking {
        Asking {
            rtt_ns: self.rtt_ns,
            repeat_ns: self.rtt_ns + self.rtt_ns / 2 + LEAST_FEEDBACK_NS,
            patience_ns: self.transit.overtaking_ns(),
            window: self.config.fec_window.map_or(0, u64::from),
        }
    }

    /// Takes a datagram.
    pub fn handle(&mut self, now_ns: u64, datagram: &[u8]) {
        let (key, session) = (self.config.key, self.config.session);
        match peek(datagram) {
            Ok((Kind::MediaData, _)) => {
                if let Ok(data) = MediaData::decode(&key, session, datagram) {
                    return self.take_source(now_ns, &data, &datagram[MEDIA_HEADER_LENGTH..]);
                }
            }
            Ok((Kind::MediaRepair, _)) => {
                if let Ok(repair) = MediaRepair::decode(&key, session, datagram) {
                    return self.take_repair(now_ns, &repair, &datagram[REPAIR_HEADER_LENGTH..]);
                }
            }
            _ => {}
        }
        self.counters.rejected += 1;
    }

    fn take_source(&mut self, now_ns: u64, data: &MediaData, payload: &[u8]) {
        if payload.len() > self.config.payload as usize {
            self.counters.rejected += 1;
            return;
        }
        if !self.arrivals.come(data.flow.0, data.flow_sequence, now_ns) {
            self.counters.duplicates += 1;
            return;
        }
        self.echo = Some((data.sent, now_ns));
        let symbol = data.symbol.extend(self.symbols.end());
        let arrival = self.symbols.come(symbol);
        if !data.is_copy() {
            self.transit.sample(now_ns, data.sent);
            self.arrivals.reached(data.flow.0, symbol + 1, now_ns);
        }
        match arrival {
            Arrival::New { missed } => {
                self.counters.received += 1;
                if let Some(missed) = missed {
                    self.found(now_ns, &missed, data.is_copy());
                }
                self.accept(now_ns, &data.framing, payload, data.sent);
                self.teach(symbol, &data.framing, payload);
            }
            Arrival::Duplicate => self.counters.duplicates += 1,
            Arrival::Old => self.counters.late += 1,
            Arrival::Far => self.counters.rejected += 1,
        }
        self.notice(now_ns);
        self.take_recovered(now_ns, data.sent);
    }

    /// A symbol came that was taken for lost.
    fn found(&mut self, now_ns: u64, missed: &Missed, copy: bool) {
        if copy {
            self.counters.retransmitted += 1;
            // Asked for once only: it is known which request it answers (Karn's rule, RFC 6298 section 3).
            if missed.asked == 1 {
                let rtt = now_ns.saturating_sub(missed.asked_ns);
                self.rtt_ns = self.rtt_ns - self.rtt_ns / 8 + rtt / 8;
            }
        } else {
            self.counters.overtaken += 1;
            self.transit.overtaken(now_ns.saturating_sub(missed.noticed_ns));
        }
    }

    fn take_repair(&mut self, now_ns: u64, repair: &MediaRepair, symbol: &[u8]) {
        if !self.arrivals.come(repair.flow.0, repair.flow_sequence, now_ns) {
            self.counters.duplicates += 1;
            return;
        }
        self.counters.repairs += 1;
        self.echo = Some((repair.sent, now_ns));
        let Some(decoder) = &mut self.decoder else { return };
        let Ok(id) = RepairPayloadId::decode(&repair.payload_id) else {
            self.counters.rejected += 1;
            return;
        };
        let end = Sequence(id.first_esi().wrapping_add(id.sources().into())).extend(self.symbols.end());
        decoder.repair(id, symbol);
        self.transit.sample(now_ns, repair.sent);
        self.arrivals.reached(repair.flow.0, end, now_ns);
        self.notice(now_ns);
        self.take_recovered(now_ns, repair.sent);
    }

    /// Gives a source packet to the code.
    fn teach(&mut self, symbol: u64, framing: &MediaFraming, payload: &[u8]) {
        let Some(decoder) = &mut self.decoder else { return };
        let mut head = [0; FRAMING_LENGTH];
        framing.encode(&mut head);
        self.symbol.clear();
        self.symbol.extend_from_slice(&head);
        self.symbol.extend_from_slice(payload);
        let adu = Adu {
            flow: 0,
            payload: &self.symbol,
        };
        decoder.source(Sequence::from(symbol).0, adu);
    }

    fn take_recovered(&mut self, now_ns: u64, sent: UnixNanos) {
        while let Some(decoder) = &mut self.decoder
            && let Some(recovered) = decoder.poll_recovered()
        {
            let Some((head, payload)) = recovered.adu.payload.split_first_chunk::<FRAMING_LENGTH>() else {
                self.counters.rejected += 1;
                continue;
            };
            let framing = MediaFraming::decode(head);
            let symbol = Sequence(recovered.esi).extend(self.symbols.end());
            self.symbol.clear();
            self.symbol.extend_from_slice(payload);
            match self.symbols.come(symbol) {
                Arrival::New { .. } => {
                    self.counters.recovered += 1;
                    let payload = std::mem::take(&mut self.symbol);
                    self.accept(now_ns, &framing, &payload, sent);
                    self.symbol = payload;
                }
                Arrival::Duplicate | Arrival::Old | Arrival::Far => {}
            }
        }
    }

    /// Puts a payload where it belongs, or reads what it says.
    fn accept(&mut self, now_ns: u64, framing: &MediaFraming, payload: &[u8], sent: UnixNanos) {
        if framing.flags & MediaFraming::END != 0 {
            let frame = self.frames.number(framing.frame);
            if !self.ended {
                self.events.push_back(ReceiverEvent::End { frame });
            }
            self.ended = true;
            return;
        }
        if framing.flags & MediaFraming::DESCRIPTION != 0 {
            if payload.len() <= LONGEST_DESCRIPTION && self.described != Some(framing.format) {
                self.described = Some(framing.format);
                self.events.push_back(ReceiverEvent::Format {
                    format: framing.format,
                    description: payload.to_vec(),
                });
            }
            return;
        }
        let sent_ns = self.transit.on_this_clock(sent).unwrap_or(now_ns).min(now_ns);
        match self
            .frames
            .place(framing, payload, sent_ns, sent_ns + self.config.latency_ns)
        {
            Placed::New => {}
            Placed::Late => self.counters.late += 1,
            Placed::Duplicate => self.counters.duplicates += 1,
            Placed::NoRoom | Placed::Malformed => self.counters.rejected += 1,
        }
    }

    /// Finds what is missing by now.
    fn notice(&mut self, now_ns: u64) {
        let horizon = self.arrivals.horizon(now_ns);
        let asking = self.asking();
        self.symbols
            .notice(now_ns, horizon, now_ns + self.config.latency_ns, &asking);
        if let Some(decoder) = &mut self.decoder
            && decoder.pending() > 0
        {
            decoder.presume_lost(Sequence::from(horizon).0);
        }
    }

    /// The next frame that is complete, or whose time is over.
    pub fn poll_frame(&mut self, now_ns: u64) -> Option<Given> {
        let given = self.frames.take(now_ns)?;
        match &given {
            Given::Frame(frame) if frame.missing.is_empty() => self.counters.frames += 1,
            Given::Frame(_) => self.counters.frames_damaged += 1,
            Given::Nothing(_) => self.counters.frames_lost += 1,
        }
        Some(given)
    }

    /// Takes back the buffer of a frame.
    pub fn recycle(&mut self, frame: Frame) {
        self.frames.recycle(frame.bytes);
    }

    /// What happened since the last call, one by one.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// Writes feedback for the sender, if there is any now, and says how long it is and over which flow it goes.
    pub fn poll_feedback(
        &mut self,
        now_ns: u64,
        out: &mut [u8; MAX_FEEDBACK_LENGTH],
    ) -> Option<(FlowId, usize)> {
        let since = self
            .feedback_ns
            .map_or(u64::MAX, |last| now_ns.saturating_sub(last));
        let (echo, came_ns) = self.echo?;
        if since < LEAST_FEEDBACK_NS {
            return None;
        }
        self.notice(now_ns);
        self.symbols.expire(now_ns);
        if let Some(decoder) = &mut self.decoder {
            decoder.advance(Sequence::from(self.symbols.settled()).0);
        }
        self.ranges.clear();
        if self.config.arq {
            let asking = self.asking();
            self.symbols
                .ask(now_ns, &asking, &mut self.ranges, MAX_MISSING_RANGES);
        }
        if self.ranges.is_empty() && since < FEEDBACK_NS {
            return None;
        }
        self.counters.asked += self
            .ranges
            .iter()
            .map(|range| u64::from(range.count))
            .sum::<u64>();
        let counters = self.counters();
        let feedback = MediaFeedback {
            session: self.config.session,
            number: Sequence::from(self.feedback_number),
            newest: Sequence::from(self.symbols.end().wrapping_sub(1)),
            settled: Sequence::from(self.symbols.settled()),
            received: counters.received as u32,
            lost: counters.lost as u32,
            unrepaired: counters.unrepaired as u32,
            echo,
            held_ns: u32::try_from(now_ns.saturating_sub(came_ns)).unwrap_or(u32::MAX),
            late: counters.late as u32,
        };
        let flows: Vec<_> = self.arrivals.status(now_ns).collect();
        let length = feedback.encode(&self.config.key, &flows, &self.ranges, out);
        self.feedback_number += 1;
        self.feedback_ns = Some(now_ns);
        // Each over another flow: one that is dark costs one report in so many.
        self.feedback_flow = (self.feedback_flow + 1) % self.config.flows;
        Some((FlowId(self.feedback_flow), length))
    }

    /// When to call [`poll_frame`](Self::poll_frame) and [`poll_feedback`](Self::poll_feedback) next, nanoseconds; none
    /// before anything came.
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        self.echo?;
        let may_send_ns = self.feedback_ns.map_or(0, |last| last + LEAST_FEEDBACK_NS);
        let must_send_ns = self.feedback_ns.map_or(0, |last| last + FEEDBACK_NS);
        let asking = self.asking();
        let ask_ns = self
            .symbols
            .next_ns(self.config.arq.then_some(&asking))
            .map(|at| at.max(may_send_ns));
        let silence_ns = self
            .arrivals
            .next_silence_ns(now_ns)
            .map(|at| at.max(may_send_ns));
        [
            Some(must_send_ns),
            ask_ns,
            silence_ns,
            self.frames.next_deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// What has been seen so far.
    pub fn counters(&self) -> ReceiverCounters {
        ReceiverCounters {
            lost: self.symbols.noticed(),
            unrepaired: self.symbols.given_up(),
            ..self.counters
        }
    }

    /// The round-trip time by which requests are timed, nanoseconds.
    pub fn rtt_ns(&self) -> u64 {
        self.rtt_ns
    }
}
