//! Senders and a receiver with an emulated link between each and it, in virtual time.

use std::path::Path;

use weir_fec::CodeRate;
use weir_link::profile::parse;
use weir_link::{Ecn, FlowKey, Link, LinkSpec, Nanos, Packet};
use weir_stats::ArrivalCounters;
use weir_stream_proto::*;
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, UnixNanos};

pub use super::setup::*;

/// The senders' clocks at the beginning.
const EPOCH: u64 = 1_700_000_000_000_000_000;

/// Changes what arrives.
pub type Meddler = Box<dyn FnMut(&mut Vec<Vec<u8>>)>;

/// A sender with its links.
pub struct Station {
    pub plan: Plan,
    tag: u64,
    frame_ns: u64,
    format_from: Option<u32>,
    lose_frames_from: Option<u32>,
    pub sender: Sender,
    pub index: Option<SenderIndex>,
    forward: Link<Vec<u8>>,
    reverse: Link<Vec<u8>>,
    random: u64,
    /// The next picture.
    pushed: u32,
    ended: bool,
    pub wanted: bool,
    pub events: Vec<(u64, SenderEvent)>,
    /// Every datagram as it arrives may be changed, or others added.
    pub meddle: Meddler,
    /// Its counters when it was removed.
    last: Option<ArrivalCounters>,
}

pub struct World {
    setup: Setup,
    pub now: u64,
    pub stations: Vec<Station>,
    pub receiver: Receiver,
    next_number: u64,
    /// Complete, damaged and lost frames.
    pub whole: u64,
    pub damaged: u64,
    pub lost: u64,
    /// Bytes that were missing in damaged frames, in payloads.
    pub missing: u64,
    /// Maximum time from a frame's first packet to its output, nanoseconds.
    pub longest_ns: u64,
    /// Time from the due time of the last packet to the output of incomplete frames, minimum and maximum.
    pub waited_ns: (u64, u64),
    pub events: Vec<(u64, ReceiverEvent)>,
    /// Sender, picture and number of each frame.
    pub given: Vec<(u16, u32, u64)>,
    /// Output times of damaged frames, and their packets.
    pub damage: Vec<(u64, u64)>,
    /// The first sender's code rates, and from when on.
    pub rates: Vec<(u64, CodeRate)>,
    /// Formats of all frames.
    pub formats: Vec<u16>,
}

/// The world of this setup after its time.
pub fn run(setup: Setup) -> World {
    World::new(setup).run()
}

/// The bytes of a frame.
pub fn picture(number: u64) -> Vec<u8> {
    let mix = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..u64::from(FRAME_BYTES))
        .map(|at| mix(at + number * 7_919))
        .collect()
}

impl Station {
    fn new(setup: &Setup, index: usize) -> Self {
        let plan = setup.stations[index].clone();
        let text = format!(
            "seed = {}\n{}",
            setup.seed + 1_000 * index as u64,
            plan.link.unwrap_or(setup.link)
        );
        let spec: LinkSpec = parse(&text, "test", Path::new(".")).expect("a link");
        Station {
            tag: if plan.own_pictures {
                (index as u64 + 1) << 32
            } else {
                0
            },
            frame_ns: setup.frame_ns(),
            format_from: setup.format_from,
            lose_frames_from: setup.lose_frames_from,
            sender: Sender::new(sender_config(setup, index), plan.from_ns),
            index: None,
            forward: Link::forward(&spec),
            reverse: Link::reverse(&spec),
            random: setup.seed,
            pushed: 0,
            ended: false,
            wanted: setup.join == Join::Merge,
            events: Vec::new(),
            meddle: Box::new(|_| {}),
            last: None,
            plan,
        }
    }

    fn unix(&self, now: u64) -> UnixNanos {
        let step = self
            .plan
            .step
            .map_or(0, |(at, step)| if now >= at { step } else { 0 });
        let drift = (now as i128 * i128::from(self.plan.drift_ppm) / 1_000_000) as i64;
        UnixNanos((EPOCH + now).wrapping_add_signed(step + drift))
    }

    fn is_dark(&self, now: u64, flow: u16) -> bool {
        let within = |(from, to): (u64, u64)| (from..to).contains(&now);
        let dark = |(dark, from, to)| dark == flow && within((from, to));
        self.plan.dark.is_some_and(dark)
            || self.plan.dark_again.is_some_and(dark)
            || self.plan.cut.is_some_and(within)
    }

    fn loses(&mut self, now: u64) -> bool {
        let Some((from, to, one_in)) = self.plan.worse else {
            return false;
        };
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (from..to).contains(&now) && ((self.random >> 33) as u32).is_multiple_of(one_in)
    }

    fn is_alive(&self, now: u64) -> bool {
        now >= self.plan.from_ns && self.plan.killed_ns.is_none_or(|killed| now < killed)
    }

    /// Gives the sender its pictures: one that joins later or was not wanted begins with that of the time.
    fn feed(&mut self, now: u64, frames: u32) {
        if self
            .plan
            .pause
            .is_some_and(|(from, to)| (from..to).contains(&now))
        {
            return;
        }
        let live = (now.saturating_sub(self.plan.lag_ns) / self.frame_ns) as u32;
        if self.pushed + 2 < live {
            self.pushed = live;
        }
        let (frame_ns, lag_ns) = (self.frame_ns, self.plan.lag_ns);
        let due = |picture: u32| u64::from(picture) * frame_ns + lag_ns <= now + frame_ns;
        while self.wanted && !self.ended && due(self.pushed) && self.sender.wants_frame(FRAME_BYTES as usize)
        {
            if self.pushed >= frames {
                let end = MediaFraming {
                    frame: self.pushed.wrapping_sub(self.plan.numbers_behind),
                    flags: MediaFraming::END,
                    ..MediaFraming::default()
                };
                self.sender.push_notice(now, end, Vec::new());
                self.ended = true;
                return;
            }
            let format = self.describe(now);
            let framing = MediaFraming {
                frame: self.pushed.wrapping_sub(self.plan.numbers_behind),
                frame_length: FRAME_BYTES,
                format,
                timestamp_ns: u64::from(self.pushed) * self.frame_ns,
                ..MediaFraming::default()
            };
            let bytes = picture(u64::from(self.pushed) + self.tag);
            self.sender.push_frame(now, framing, bytes);
            self.pushed += 1;
        }
    }

    /// Sends a description of the format now and then; gives the number of the format.
    fn describe(&mut self, now: u64) -> u16 {
        let Some(from) = self.format_from else { return 0 };
        let format = if self.pushed < from { 1 } else { 2 };
        if self.pushed.is_multiple_of(100) {
            let description = MediaFraming {
                flags: MediaFraming::DESCRIPTION,
                format,
                ..MediaFraming::default()
            };
            let text = format!("format {format}").into_bytes();
            self.sender.push_notice(now, description, text);
        }
        format
    }

    fn send(&mut self, now: u64, out: &mut Vec<Transmit>) {
        loop {
            self.sender.wake(now, self.unix(now), out);
            if out.is_empty() {
                return;
            }
            for transmit in out.iter() {
                let datagram = [transmit.header(), self.sender.body(transmit)].concat();
                let gone = self.lose_frames_from.is_some_and(|from| {
                    let framing: [u8; 24] = datagram[32..56].try_into().expect("a framing");
                    let framing = MediaFraming::decode(&framing);
                    framing.frame >= from && framing.flags == 0
                });
                if !gone && !self.is_dark(now, transmit.flow.0) && !self.loses(now) {
                    offer(&mut self.forward, now, transmit.flow.0, datagram);
                }
            }
        }
    }

    fn deliver(&mut self, now: u64, receiver: &mut Receiver) {
        while let Some(departure) = self.forward.poll(Nanos(now)) {
            let mut datagrams = vec![departure.packet.payload];
            (self.meddle)(&mut datagrams);
            for mut datagram in datagrams {
                if let Some(index) = self.index {
                    receiver.receive(now, index, &mut datagram);
                }
            }
        }
        while let Some(mut departure) = self.reverse.poll(Nanos(now)) {
            let unix = self.unix(now);
            self.sender
                .receive(now, unix, &mut departure.packet.payload)
                .expect("the receiver's feedback");
        }
    }

    fn report(&mut self, now: u64, receiver: &mut Receiver, feedback: &mut [u8; MAX_FEEDBACK_LENGTH]) {
        let Some(index) = self.index else { return };
        while let Some((flow, length)) = receiver.poll_feedback(now, index, feedback) {
            if !self.is_dark(now, flow.0) {
                offer(&mut self.reverse, now, flow.0, feedback[..length].to_vec());
            }
        }
    }
}

impl World {
    pub fn new(setup: Setup) -> Self {
        World {
            now: 0,
            stations: (0..setup.stations.len())
                .map(|index| Station::new(&setup, index))
                .collect(),
            receiver: Receiver::new(receiver_config(&setup)).expect("a receiver"),
            next_number: u64::from(0u32.wrapping_sub(setup.stations[0].numbers_behind)),
            setup,
            whole: 0,
            damaged: 0,
            lost: 0,
            missing: 0,
            longest_ns: 0,
            waited_ns: (u64::MAX, 0),
            events: Vec::new(),
            given: Vec::new(),
            damage: Vec::new(),
            rates: Vec::new(),
            formats: Vec::new(),
        }
    }

    pub fn frames(&self) -> u32 {
        (self.setup.for_ns / self.setup.frame_ns()) as u32
    }

    /// The first sender.
    pub fn sender(&self) -> &Sender {
        &self.stations[0].sender
    }

    /// The counters of a sender.
    pub fn seen(&self, station: usize) -> ArrivalCounters {
        let station = &self.stations[station];
        let index = station.index.map(|index| self.receiver.counters(index));
        station.last.or(index).unwrap_or_default()
    }

    /// Packets of a sender whose content another one had delivered.
    pub fn merged(&self, station: usize) -> u64 {
        let index = self.stations[station].index;
        index.map_or(0, |index| self.receiver.merged(index))
    }

    /// Runs to the end of the stream and some time beyond.
    pub fn run(mut self) -> Self {
        let end = self.setup.for_ns + self.setup.latency_ns + SECOND;
        let (mut out, mut feedback) = (Vec::new(), [0; MAX_FEEDBACK_LENGTH]);
        let frames = self.frames();
        while self.now < end {
            self.join();
            for station in &mut self.stations {
                if station.is_alive(self.now) {
                    station.feed(self.now, frames);
                    station.send(self.now, &mut out);
                }
                station.deliver(self.now, &mut self.receiver);
                station.report(self.now, &mut self.receiver, &mut feedback);
            }
            self.take_frames();
            self.take_events();
            if let Some(rate) = self.stations[0].sender.fec_rate() {
                self.rates.push((self.now, rate));
                // The last one of a second is the one at its end.
                let same = |pair: &[(u64, CodeRate)]| {
                    pair[0].1 == pair[1].1 && pair[0].0 / SECOND == pair[1].0 / SECOND
                };
                if self.rates.len() > 1 && same(&self.rates[self.rates.len() - 2..]) {
                    self.rates.pop();
                }
            }
            self.now = self.next().clamp(self.now + 1, end);
        }
        self
    }

    fn join(&mut self) {
        for at in 0..self.stations.len() {
            let station = &mut self.stations[at];
            let gone = station.plan.removed_ns.is_some_and(|removed| self.now >= removed);
            if gone && let Some(index) = station.index.take() {
                station.last = self.receiver.remove_sender(index);
            }
            if !gone && station.index.is_none() && self.now >= station.plan.from_ns {
                let terms = terms(&self.setup, at);
                station.index = Some(self.receiver.add_sender(self.now, terms).expect("a sender"));
            }
        }
    }

    fn next(&self) -> u64 {
        let mut next = self.receiver.next_wake(self.now).unwrap_or(u64::MAX);
        for station in &self.stations {
            let links = [&station.forward, &station.reverse].map(|link| link.next_departure().map(|at| at.0));
            let alive = station.is_alive(self.now);
            let sends = station.sender.next_wake().filter(|_| alive);
            let plan = &station.plan;
            let joins = [Some(plan.from_ns), plan.removed_ns].map(|at| at.filter(|at| *at > self.now));
            // With a lag or a pause, pictures come by their own time.
            let picture = (alive
                && (plan.lag_ns > 0
                    || plan.from_ns > 0
                    || plan.pause.is_some()
                    || self.setup.join != Join::Merge))
                .then_some(self.now + MS / 10);
            let all = links.into_iter().chain(joins).chain([sends, picture]);
            next = all.flatten().fold(next, u64::min);
        }
        next
    }

    fn take_events(&mut self) {
        for station in &mut self.stations {
            while let Some(event) = station.sender.poll_event() {
                station.events.push((self.now, event));
            }
        }
        while let Some(event) = self.receiver.poll_event() {
            if let ReceiverEvent::Wanted { sender, wanted } = &event {
                let station = self
                    .stations
                    .iter_mut()
                    .find(|station| station.index == Some(*sender));
                if let Some(station) = station {
                    station.wanted = *wanted;
                    station.sender.set_wanted(self.now, *wanted);
                }
            }
            self.events.push((self.now, event));
        }
    }

    fn take_frames(&mut self) {
        while let Some(given) = self.receiver.poll_frame(self.now) {
            match given {
                OutputFrame::Nothing(number) => {
                    assert_eq!(number, self.next_number, "in order");
                    self.lost += 1;
                }
                OutputFrame::Frame(frame) => self.take_frame(frame),
            }
            self.next_number += 1;
        }
    }

    fn take_frame(&mut self, frame: Frame) {
        assert_eq!(frame.number, self.next_number, "in order");
        let shown = frame.timestamp_ns / self.setup.frame_ns();
        self.formats.push(frame.format);
        self.given.push((frame.sender.0, shown as u32, frame.number));
        if frame.missing.is_empty() {
            let station = self
                .stations
                .iter()
                .find(|station| station.index == Some(frame.sender));
            let tag = station.map_or(0, |station| station.tag);
            assert!(frame.bytes == picture(shown + tag), "frame {}", frame.number);
            let complete = frame.complete_ns.expect("a whole frame was complete some time");
            assert!(complete <= self.now && complete >= frame.sent_ns, "{complete}");
            self.whole += 1;
        } else {
            assert_eq!(frame.complete_ns, None);
            self.damaged += 1;
            let missing = frame
                .missing
                .iter()
                .map(|piece| (piece.end - piece.start).div_ceil(PAYLOAD));
            let missing = u64::from(missing.sum::<u32>());
            self.missing += missing;
            self.damage.push((self.now, missing));
        }
        assert!(
            self.now <= frame.deadline_ns || frame.complete_ns.is_none(),
            "in time"
        );
        self.longest_ns = self.longest_ns.max(self.now - frame.sent_ns);
        if frame.complete_ns.is_none() {
            // It was sent evenly, all packets at the time of their place.
            let last_ns = (shown + 1) * self.setup.frame_ns();
            let waited_ns = self.now.saturating_sub(last_ns);
            self.waited_ns = (self.waited_ns.0.min(waited_ns), self.waited_ns.1.max(waited_ns));
        }
        self.receiver.recycle(frame);
    }

    /// All frames were complete.
    #[track_caller]
    pub fn assert_whole(&self) {
        assert_eq!(
            (self.whole, self.damaged, self.lost),
            (u64::from(self.frames()), 0, 0),
            "{:?} {:?}",
            self.seen(0),
            self.sender().counters()
        );
    }
}

pub fn offer(link: &mut Link<Vec<u8>>, now: u64, flow: u16, datagram: Vec<u8>) {
    let packet = Packet {
        length: datagram.len() as u32 + 28,
        flow: FlowKey {
            five_tuple: u64::from(flow) + 1,
            host_pair: 7,
            source_port: 1,
        },
        ecn: Ecn::NotEct,
        payload: datagram,
    };
    // Dropped or not: only the link knows.
    let _ = link.enqueue(Nanos(now), packet);
}
