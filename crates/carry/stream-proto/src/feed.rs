//! The input from one sender: packets of all its flows, the account of its symbols, the code, and the feedback to it.
//! It must not know other senders; payloads go to the [`Stream`].

use std::collections::VecDeque;

use weir_fec::{Adu, Decoder, DecoderConfig, MAX_HISTORY, RepairArrival, RepairPayloadId};
use weir_protect::{Lane, Opener, Sealer};
use weir_stats::ArrivalCounters;
use weir_wire::{
    FRAMING_LENGTH, FlowId, Kind, MAX_FEEDBACK_LENGTH, MAX_MISSING_RANGES, MEDIA_HEADER_LENGTH, MediaData,
    MediaFeedback, MediaFraming, MediaRepair, MissingRange, REPAIR_HEADER_LENGTH, Sequence, UnixNanos, peek,
};

use crate::arrivals::Arrivals;
use crate::frames::Placed;
use crate::layout::Layout;
use crate::missing::{Arrival, Asking, Missed, Recovery, Symbols};
use crate::stream::{Incoming, Stream};
use crate::terms::{ReceiverConfigError, ReceiverEvent, SenderIndex, SenderTerms};
use crate::transit::Transit;

/// Maximum interval of feedback while packets arrive, nanoseconds.
const FEEDBACK_NS: u64 = 10_000_000;
/// Minimum interval of feedback, nanoseconds.
const LEAST_FEEDBACK_NS: u64 = 500_000;
/// Maximum number of repairs that wait for packets of flows that are read later.
const EQUATIONS: u16 = 256;
/// Descriptions and notices of the end are no longer than this, bytes.
const LONGEST_DESCRIPTION: usize = 1_024;

/// The receiver's state of one sender.
pub(crate) struct Feed {
    pub(crate) sender: SenderIndex,
    /// Its slot among the senders.
    pub(crate) place: u8,
    terms: SenderTerms,
    opener: Opener,
    /// Of the feedback.
    sealer: Sealer,
    payload: u32,
    latency_ns: u64,
    /// When it was added.
    pub(crate) added_ns: u64,
    pub(crate) arrivals: Arrivals,
    symbols: Symbols,
    layout: Layout,
    decoder: Option<Decoder>,
    /// Maximum window of a repair, or that of the last repair once one has arrived.
    window: u16,
    /// A recovered payload.
    symbol: Vec<u8>,
    transit: Transit,
    rtt_ns: u64,
    described: Option<u16>,
    /// Its stream ends before this frame.
    pub(crate) ended: Option<u64>,
    ranges: Vec<MissingRange>,
    /// One above the highest number of a repair.
    repairs_end: u64,
    feedback_number: u64,
    feedback_ns: Option<u64>,
    feedback_flow: u16,
    /// The sender waits for the acknowledgement of the end.
    hurry: bool,
    echo: Option<(UnixNanos, u64)>,
    counters: ArrivalCounters,
    /// Packets whose content another sender had delivered.
    pub(crate) merged: u64,
}

/// What a payload belongs to, and how it arrived.
#[derive(Clone, Copy)]
struct Content<'a> {
    symbol: u64,
    framing: &'a MediaFraming,
    payload: &'a [u8],
    sent: UnixNanos,
    original: bool,
}

impl Feed {
    /// A sender without packets.
    pub(crate) fn new(
        sender: SenderIndex,
        place: u8,
        terms: SenderTerms,
        payload: u32,
        latency_ns: u64,
    ) -> Result<Self, ReceiverConfigError> {
        if terms.flows == 0 || usize::from(terms.flows) > weir_wire::MAX_FEEDBACK_FLOWS {
            return Err(ReceiverConfigError::Flows(terms.flows));
        }
        let longest = FRAMING_LENGTH + payload as usize;
        let decoder = terms
            .fec_window
            .map(|window| {
                Decoder::new(DecoderConfig {
                    history: terms.fec_history.min(MAX_HISTORY).max(window),
                    equations: EQUATIONS,
                    // The caller presumes losses, so the decoder need not guess.
                    patience: u16::MAX,
                    ..DecoderConfig::new(window, 0, longest)
                })
            })
            .transpose()?;
        Ok(Feed {
            sender,
            place,
            added_ns: 0,
            arrivals: Arrivals::new(terms.flows),
            symbols: Symbols::default(),
            layout: Layout::default(),
            decoder,
            window: terms.fec_window.unwrap_or(0),
            symbol: Vec::with_capacity(longest),
            transit: Transit::new(latency_ns),
            rtt_ns: terms.rtt_ns,
            opener: Opener::new(&terms.secrets),
            sealer: Sealer::new(&terms.secrets),
            terms,
            payload,
            latency_ns,
            described: None,
            ended: None,
            ranges: Vec::with_capacity(MAX_MISSING_RANGES),
            repairs_end: 0,
            feedback_number: 0,
            feedback_ns: None,
            feedback_flow: 0,
            hurry: false,
            echo: None,
            counters: ArrivalCounters::default(),
            merged: 0,
        })
    }

    fn asking(&self, now_ns: u64, stream: &Stream) -> Asking {
        let others_ns = stream.patience_ns(self.place, now_ns);
        Asking {
            rtt_ns: self.rtt_ns,
            repeat_ns: self.rtt_ns + self.rtt_ns / 2 + LEAST_FEEDBACK_NS,
            patience_ns: self.transit.overtaking_ns().max(others_ns),
            window: self.window.into(),
        }
    }

    /// Takes a datagram. False if it is not from this sender, or a duplicate.
    pub(crate) fn receive(
        &mut self,
        now_ns: u64,
        datagram: &mut [u8],
        stream: &mut Stream,
        events: &mut VecDeque<ReceiverEvent>,
    ) -> bool {
        let session = self.terms.session;
        let key = |epoch| self.opener.header_key(epoch).copied();
        let sent = match peek(datagram) {
            Ok((Kind::MediaData, _)) => MediaData::decode(key, session, datagram)
                .ok()
                .and_then(|data| self.take_source(now_ns, &data, datagram, stream, events)),
            Ok((Kind::MediaRepair, _)) => MediaRepair::decode(key, session, datagram)
                .ok()
                .and_then(|repair| self.take_repair(now_ns, &repair, datagram)),
            _ => None,
        };
        let Some(sent) = sent else {
            self.counters.rejected += 1;
            return false;
        };
        let Some(sent) = sent else { return false };
        self.counters.bytes += datagram.len() as u64;
        self.take_recovered(now_ns, sent, stream, events);
        true
    }

    /// Detects missing packets; call after all arrived packets were taken.
    pub(crate) fn settle(&mut self, now_ns: u64, stream: &mut Stream, events: &mut VecDeque<ReceiverEvent>) {
        self.notice(now_ns, stream);
        if let Some((sent, _)) = self.echo {
            self.take_recovered(now_ns, sent, stream, events);
        }
    }

    /// Returns its send time unless it is a copy; the outer none if it is not valid.
    fn take_source(
        &mut self,
        now_ns: u64,
        data: &MediaData,
        datagram: &mut [u8],
        stream: &mut Stream,
        events: &mut VecDeque<ReceiverEvent>,
    ) -> Option<Option<UnixNanos>> {
        let payload = &mut datagram[MEDIA_HEADER_LENGTH..];
        if payload.len() > self.payload as usize {
            return None;
        }
        // As in RFC 4303 section 3.4.3: what is no replay is opened, and only what opens is noted.
        if !self.arrivals.is_new(data.flow.0, data.flow_sequence) {
            self.counters.duplicates += 1;
            return Some(None);
        }
        let symbol = data.symbol.extend(self.symbols.end());
        let (sealed, place) = (data.sealed, (Lane::Source, symbol));
        let context = MediaData::context(self.terms.session, &data.framing);
        let opened = self
            .opener
            .open(sealed.epoch, place, &context, sealed.tag, payload);
        opened.ok()?;
        let payload = &*payload;
        self.arrivals.come(data.flow.0, data.flow_sequence, now_ns);
        self.echo = Some((data.sent, now_ns));
        let arrival = self.symbols.come(symbol);
        if data.is_copy() {
            if arrival != Arrival::Far {
                self.arrivals.copied(symbol + 1);
            }
        } else {
            self.transit.sample(now_ns, data.sent);
            self.arrivals.reached(data.flow.0, symbol + 1, now_ns);
        }
        match arrival {
            Arrival::New { missed } => {
                self.counters.received += 1;
                if let Some(missed) = missed {
                    self.found(now_ns, &missed, data.is_copy());
                }
                let content = Content {
                    symbol,
                    framing: &data.framing,
                    payload,
                    sent: data.sent,
                    original: !data.is_copy(),
                };
                self.accept(now_ns, &content, stream, events);
                self.teach(symbol, &data.framing, datagram);
            }
            Arrival::Duplicate => self.counters.duplicates += 1,
            Arrival::Old => self.counters.late += 1,
            Arrival::Far => self.counters.rejected += 1,
        }
        Some(Some(data.sent))
    }

    /// A symbol that was declared lost has arrived.
    fn found(&mut self, now_ns: u64, missed: &Missed, copy: bool) {
        if copy {
            self.counters.retransmitted += 1;
            // Requested only once: it is known which request it answers (Karn's rule, RFC 6298 section 3).
            if missed.asked == 1 {
                let rtt = now_ns.saturating_sub(missed.asked_ns);
                self.rtt_ns = self.rtt_ns - self.rtt_ns / 8 + rtt / 8;
            }
        } else {
            self.counters.overtaken += 1;
            self.transit.overtaken(now_ns.saturating_sub(missed.noticed_ns));
        }
    }

    fn take_repair(
        &mut self,
        now_ns: u64,
        repair: &MediaRepair,
        datagram: &mut [u8],
    ) -> Option<Option<UnixNanos>> {
        if !self.arrivals.is_new(repair.flow.0, repair.flow_sequence) {
            self.counters.duplicates += 1;
            return Some(None);
        }
        let number = repair.number.extend(self.repairs_end.saturating_sub(1));
        let (sealed, place) = (repair.sealed, (Lane::Repair, number));
        let context = MediaRepair::context(self.terms.session, repair.payload_id);
        let symbol = &mut datagram[REPAIR_HEADER_LENGTH..];
        let opened = self
            .opener
            .open(sealed.epoch, place, &context, sealed.tag, symbol);
        opened.ok()?;
        self.repairs_end = self.repairs_end.max(number.saturating_add(1));
        self.arrivals.come(repair.flow.0, repair.flow_sequence, now_ns);
        self.counters.repairs += 1;
        self.echo = Some((repair.sent, now_ns));
        let Some(decoder) = &mut self.decoder else {
            return Some(Some(repair.sent));
        };
        let Ok(id) = RepairPayloadId::decode(&repair.payload_id) else {
            self.counters.rejected += 1;
            return Some(Some(repair.sent));
        };
        let end = Sequence(id.first_esi().wrapping_add(id.sources().into())).extend(self.symbols.end());
        self.window = id.sources().min(self.terms.fec_window.unwrap_or(0));
        if decoder.repair(id, symbol) == RepairArrival::Malformed {
            self.counters.rejected += 1;
        }
        self.transit.sample(now_ns, repair.sent);
        self.arrivals.reached(repair.flow.0, end, now_ns);
        Some(Some(repair.sent))
    }

    /// Passes a source packet to the decoder, with its framing written over the end of its header: both are one there.
    fn teach(&mut self, symbol: u64, framing: &MediaFraming, datagram: &mut [u8]) {
        let Some(decoder) = &mut self.decoder else { return };
        let payload = &mut datagram[MEDIA_HEADER_LENGTH - FRAMING_LENGTH..];
        if let Some(head) = payload.first_chunk_mut() {
            framing.encode(head);
        }
        decoder.source(Sequence::from(symbol).0, Adu { flow: 0, payload });
    }

    fn take_recovered(
        &mut self,
        now_ns: u64,
        sent: UnixNanos,
        stream: &mut Stream,
        events: &mut VecDeque<ReceiverEvent>,
    ) {
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
            match self.symbols.recover(symbol) {
                Recovery::New => self.counters.recovered += 1,
                Recovery::GivenUp => {}
                Recovery::Useless => continue,
            }
            let payload = std::mem::take(&mut self.symbol);
            let content = Content {
                symbol,
                framing: &framing,
                payload: &payload,
                sent,
                original: false,
            };
            self.accept(now_ns, &content, stream, events);
            self.symbol = payload;
        }
    }

    /// Puts a payload into its frame, or reads the notice in it.
    fn accept(
        &mut self,
        now_ns: u64,
        content: &Content<'_>,
        stream: &mut Stream,
        events: &mut VecDeque<ReceiverEvent>,
    ) {
        let framing = content.framing;
        if framing.flags & MediaFraming::END != 0 {
            let frame = stream.number_of(framing.frame);
            let sender = self.sender;
            self.hurry = true;
            if self.ended.replace(frame).is_none() {
                events.push_back(ReceiverEvent::End { sender, frame });
            }
            return;
        }
        if framing.flags & MediaFraming::DESCRIPTION != 0 {
            self.describe(framing.format, content.payload, events);
            return;
        }
        let sent_ns = self
            .transit
            .on_this_clock(content.sent)
            .unwrap_or(now_ns)
            .min(now_ns);
        let incoming = Incoming {
            now_ns,
            sent_ns,
            original: content.original,
            sender: self.sender,
            place: self.place,
            symbol: content.symbol,
            from_start: self.symbols.is_from_start(),
            framing,
            payload: content.payload,
        };
        let (placed, number) = stream.place(&incoming);
        if let Some(number) = number {
            let packets = framing.frame_length.div_ceil(self.payload);
            self.layout
                .note(content.symbol, number, framing.offset / self.payload, packets);
        }
        match placed {
            Placed::New | Placed::Whole => {
                // The stream continues beyond its announced end.
                self.ended
                    .take_if(|end| number.is_some_and(|number| number >= *end));
            }
            Placed::Late => self.counters.late += 1,
            Placed::Duplicate => self.counters.duplicates += 1,
            Placed::Merged => self.merged += 1,
            Placed::Unwanted => {}
            Placed::NoRoom | Placed::Malformed => self.counters.rejected += 1,
        }
    }

    fn describe(&mut self, format: u16, description: &[u8], events: &mut VecDeque<ReceiverEvent>) {
        if description.len() > LONGEST_DESCRIPTION || self.described == Some(format) {
            return;
        }
        self.described = Some(format);
        events.push_back(ReceiverEvent::Format {
            sender: self.sender,
            format,
            description: description.to_vec(),
        });
    }

    /// Detects packets missing by now.
    fn notice(&mut self, now_ns: u64, stream: &Stream) {
        let horizon = self.arrivals.horizon(now_ns);
        let asking = self.asking(now_ns, stream);
        let (layout, sender) = (&self.layout, self.sender);
        let need = |symbol| stream.need(sender, layout.find(symbol));
        self.symbols
            .notice(now_ns, horizon, now_ns + self.latency_ns, &asking, need);
        if let Some(decoder) = &mut self.decoder
            && decoder.pending() > 0
        {
            // A flow without packets has a horizon of 0, which after 2^31 packets lies ahead of all others.
            let lost = horizon.max(self.symbols.settled());
            decoder.presume_lost(Sequence::from(lost).0);
        }
    }

    /// Writes feedback for the sender, if it is due; returns its length and its flow.
    pub(crate) fn poll_feedback(
        &mut self,
        now_ns: u64,
        stream: &Stream,
        out: &mut [u8; MAX_FEEDBACK_LENGTH],
    ) -> Option<(FlowId, usize)> {
        let since = self
            .feedback_ns
            .map_or(u64::MAX, |last| now_ns.saturating_sub(last));
        let (echo, came_ns) = self.echo?;
        if since < LEAST_FEEDBACK_NS {
            return None;
        }
        self.notice(now_ns, stream);
        let (layout, sender) = (&self.layout, self.sender);
        let need = |symbol| stream.need(sender, layout.find(symbol));
        self.symbols.expire(now_ns, need);
        if let Some(decoder) = &mut self.decoder {
            decoder.advance(Sequence::from(self.symbols.settled()).0);
        }
        self.ranges.clear();
        if self.terms.arq {
            let asking = self.asking(now_ns, stream);
            let (layout, sender) = (&self.layout, self.sender);
            let need = |symbol| stream.need(sender, layout.find(symbol));
            self.symbols
                .ask(now_ns, &asking, need, &mut self.ranges, MAX_MISSING_RANGES);
        }
        if self.ranges.is_empty() && since < FEEDBACK_NS && !self.hurry {
            return None;
        }
        let asked = self.ranges.iter().map(|range| u64::from(range.count));
        self.counters.asked += asked.sum::<u64>();
        self.write_feedback(now_ns, echo, came_ns, out)
    }

    fn write_feedback(
        &mut self,
        now_ns: u64,
        echo: UnixNanos,
        came_ns: u64,
        out: &mut [u8; MAX_FEEDBACK_LENGTH],
    ) -> Option<(FlowId, usize)> {
        let counters = self.counters();
        let feedback = MediaFeedback {
            session: self.terms.session,
            number: self.feedback_number,
            newest: Sequence::from(self.symbols.end().wrapping_sub(1)),
            settled: Sequence::from(self.symbols.settled()),
            received: counters.received as u32,
            lost: counters.lost as u32,
            unrepaired: counters.unrepaired as u32,
            echo,
            held_ns: u32::try_from(now_ns.saturating_sub(came_ns)).unwrap_or(u32::MAX),
            late: counters.late as u32,
        };
        let mut flows = [weir_wire::FlowStatus::default(); weir_wire::MAX_FEEDBACK_FLOWS];
        for (to, status) in flows.iter_mut().zip(self.arrivals.status(now_ns)) {
            *to = status;
        }
        let flows = &flows[..usize::from(self.terms.flows)];
        let sealed = feedback.encode(&mut self.sealer, flows, &self.ranges, out);
        // Numbers rise, so it is sealed.
        let length = sealed.ok()?;
        self.hurry = false;
        self.feedback_number += 1;
        self.feedback_ns = Some(now_ns);
        // Each over another flow: a dark flow costs only one report in each round.
        self.feedback_flow = (self.feedback_flow + 1) % self.terms.flows;
        Some((FlowId(self.feedback_flow), length))
    }

    /// When the next feedback is due.
    pub(crate) fn next_wake(&self, now_ns: u64, stream: &Stream) -> Option<u64> {
        self.echo?;
        let may_send_ns = self.feedback_ns.map_or(0, |last| last + LEAST_FEEDBACK_NS);
        let must_send_ns = match self.feedback_ns {
            Some(last) if !self.hurry => last + FEEDBACK_NS,
            _ => may_send_ns,
        };
        let asking = self.asking(now_ns, stream);
        let ask_ns = self
            .symbols
            .next_wake(now_ns, self.terms.arq.then_some(&asking))
            .map(|at| at.max(may_send_ns));
        let silence_ns = self
            .arrivals
            .next_silence_ns(now_ns)
            .map(|at| at.max(may_send_ns));
        [Some(must_send_ns), ask_ns, silence_ns]
            .into_iter()
            .flatten()
            .min()
    }

    /// Starts to take its frames: earlier ones were not taken, and its frames have no numbers yet.
    pub(crate) fn begin_anew(&mut self) {
        self.layout.clear();
        self.symbols.count_anew();
    }

    /// Renumbers its frames: adds `by`, modulo 2^64.
    pub(crate) fn renumber(&mut self, by: u64) {
        self.layout.renumber(by);
    }

    /// Source packets since then with a known outcome, and those declared lost.
    pub(crate) fn counted(&self) -> (u64, u64) {
        self.symbols.counted()
    }

    /// Key renewals of the sender so far.
    pub(crate) fn key_renewals(&self) -> u64 {
        self.opener.renewals()
    }

    /// The counters so far.
    pub(crate) fn counters(&self) -> ArrivalCounters {
        ArrivalCounters {
            lost: self.symbols.noticed(),
            unrepaired: self.symbols.given_up(),
            elsewhere: self.symbols.elsewhere(),
            ..self.counters
        }
    }

    /// The round-trip time by which requests are timed from now on, nanoseconds.
    pub(crate) fn set_rtt(&mut self, rtt_ns: u64) {
        self.rtt_ns = rtt_ns;
    }

    /// The round-trip time by which requests are timed.
    pub(crate) fn rtt_ns(&self) -> u64 {
        self.rtt_ns
    }
}
