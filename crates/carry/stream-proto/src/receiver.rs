//! The receiver: packets of one or several senders of the same stream go in; frames in order, and feedback for each
//! sender, come out. No socket, no clock: the caller passes the time, and asks again at [`Receiver::next_wake`].

use std::collections::VecDeque;

use weir_stats::ArrivalCounters;
use weir_wire::{FlowId, MAX_FEEDBACK_LENGTH};

use crate::feed::Feed;
use crate::frames::{Frame, FrameLimits, OutputFrame};
use crate::stream::{MAX_SENDERS, Stream};
use crate::switch::{Order, Switch, SwitchLimits};
use crate::terms::{ReceiverConfigError, ReceiverEvent, SenderIndex, SenderTerms};

/// How several senders of the same stream are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// All send, and the first copy of each packet counts, as in SMPTE ST 2022-7. They
    /// number frames alike, and cut them into packets alike.
    Merge,
    /// One sends, until it fails.
    Switch(SwitchLimits),
}

/// Configuration of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// How long to wait for missing packets, nanoseconds. With [`Join::Merge`], also the maximum delay of a sender's
    /// packets after another's.
    pub latency_ns: u64,
    /// Payload bytes of every packet but the last of a frame, 1 to 65,000.
    pub payload: u32,
    /// Maximum number of frames in reassembly at a time, from 1.
    pub frames: usize,
    /// Maximum length of a frame, bytes.
    pub frame_bytes: u32,
    /// How several senders are combined.
    pub join: Join,
}

/// Receives one stream of one or several senders.
pub struct Receiver {
    config: ReceiverConfig,
    stream: Stream,
    feeds: Vec<Feed>,
    next_index: u16,
    switch: Option<Switch>,
    /// When to ask the switch next, if nothing happens.
    switch_ns: u64,
    /// The end of the stream that a present or former sender announced.
    last_end: Option<u64>,
    ended: Option<u64>,
    /// The time of the last call.
    now_ns: u64,
    events: VecDeque<ReceiverEvent>,
}

impl Receiver {
    /// A receiver without senders.
    ///
    /// # Errors
    /// When the configuration is refused.
    pub fn new(config: ReceiverConfig) -> Result<Self, ReceiverConfigError> {
        if config.payload == 0 || config.payload > 65_000 {
            return Err(ReceiverConfigError::Payload(config.payload));
        }
        if config.frames == 0 {
            return Err(ReceiverConfigError::Frames);
        }
        let limits = FrameLimits {
            payload: config.payload,
            frames: config.frames,
            frame_bytes: config.frame_bytes,
        };
        let switch = match config.join {
            Join::Merge => None,
            Join::Switch(limits) => Some(Switch::new(limits)),
        };
        Ok(Receiver {
            stream: Stream::new(limits, config.latency_ns, switch.is_some()),
            feeds: Vec::with_capacity(MAX_SENDERS),
            next_index: 0,
            switch,
            switch_ns: u64::MAX,
            last_end: None,
            ended: None,
            now_ns: 0,
            events: VecDeque::new(),
            config,
        })
    }

    /// Adds a sender of the stream: the first, a redundant one, or one that returns with a new
    /// session after [`remove_sender`](Self::remove_sender).
    ///
    /// # Errors
    /// When there are 8 already, or its terms are refused.
    pub fn add_sender(
        &mut self,
        now_ns: u64,
        terms: SenderTerms,
    ) -> Result<SenderIndex, ReceiverConfigError> {
        self.now_ns = now_ns;
        let taken = |place: u8| self.feeds.iter().any(|feed| feed.place == place);
        let place = (0..MAX_SENDERS as u8)
            .find(|place| !taken(*place))
            .ok_or(ReceiverConfigError::Senders)?;
        let rank = terms.rank;
        while self.feed(SenderIndex(self.next_index)).is_some() {
            self.next_index = self.next_index.wrapping_add(1);
        }
        let sender = SenderIndex(self.next_index);
        let mut feed = Feed::new(sender, place, terms, self.config.payload, self.config.latency_ns)?;
        feed.added_ns = now_ns;
        self.next_index = self.next_index.wrapping_add(1);
        if self.feeds.is_empty() {
            self.last_end = None;
        }
        self.stream.join(place);
        self.feeds.push(feed);
        if let Some(switch) = &mut self.switch {
            switch.add(now_ns, sender, rank);
        }
        self.decide(now_ns);
        self.update_end(now_ns);
        Ok(sender)
    }

    /// Removes a sender after its session. Returns its counters; none if there is no
    /// such sender.
    pub fn remove_sender(&mut self, sender: SenderIndex) -> Option<ArrivalCounters> {
        let now_ns = self.now_ns;
        let at = self.feeds.iter().position(|feed| feed.sender == sender)?;
        let feed = self.feeds.swap_remove(at);
        self.stream.leave(sender, feed.place, self.feeds.is_empty());
        if let Some(switch) = &mut self.switch {
            switch.remove(sender);
        }
        self.decide(now_ns);
        self.update_end(now_ns);
        Some(feed.counters())
    }

    fn feed(&self, sender: SenderIndex) -> Option<&Feed> {
        self.feeds.iter().find(|feed| feed.sender == sender)
    }

    /// Takes a datagram of a flow of this sender, and decrypts it where it is. Ignored for a sender that was removed.
    pub fn receive(&mut self, now_ns: u64, sender: SenderIndex, datagram: &mut [u8]) {
        self.take(now_ns, sender, datagram);
        self.settle(now_ns);
    }

    /// As [`handle`](Self::handle), without the detection of missing packets: for one of several datagrams received at
    /// the same time, with [`settle`](Self::settle) after the last. A packet that waits at another socket is not missing.
    pub fn take(&mut self, now_ns: u64, sender: SenderIndex, datagram: &mut [u8]) {
        self.now_ns = now_ns;
        let Some(feed) = self.feeds.iter_mut().find(|feed| feed.sender == sender) else {
            return;
        };
        let had_ended = feed.ended.is_some();
        let new = feed.receive(now_ns, datagram, &mut self.stream, &mut self.events);
        if feed.ended.is_some() != had_ended {
            self.note_end(now_ns, sender);
        }
        if new && let Some(switch) = &mut self.switch {
            switch.heard(now_ns, sender);
            self.take_over(now_ns);
        }
        if now_ns >= self.switch_ns {
            self.decide(now_ns);
        }
    }

    /// Detects packets missing by now.
    pub fn settle(&mut self, now_ns: u64) {
        for feed in &mut self.feeds {
            feed.settle(now_ns, &mut self.stream, &mut self.events);
        }
    }

    fn note_end(&mut self, now_ns: u64, sender: SenderIndex) {
        let end = self.feed(sender).and_then(|feed| feed.ended);
        self.last_end = match end {
            Some(_) => self.last_end.max(end),
            // The stream continues.
            None => self.feeds.iter().filter_map(|feed| feed.ended).max(),
        };
        if let Some(switch) = &mut self.switch {
            switch.ended(sender, end.is_some());
        }
        self.update_end(now_ns);
    }

    /// Whether all wanted senders have ended or were removed.
    fn update_end(&mut self, now_ns: u64) {
        let active = self.switch.as_ref().map(Switch::active);
        let wanted = |feed: &&Feed| active.is_none_or(|active| active == Some(feed.sender));
        let mut going = self
            .feeds
            .iter()
            .filter(wanted)
            .filter(|feed| feed.ended.is_none());
        let ended = self.last_end.filter(|_| going.next().is_none());
        if ended == self.ended {
            return;
        }
        self.ended = ended;
        match ended {
            Some(frame) => self.stream.frames.end(frame, self.stream.deadline_ns(now_ns)),
            None => self.stream.frames.go_on(),
        }
    }

    /// The stream has ended before this frame: all wanted senders have announced it, or were removed after one that had.
    /// Frames before it may still follow, until [`next_wake`](Self::next_wake) returns none.
    pub fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Whether the stream has ended and all of its frames have been output.
    pub fn is_finished(&self) -> bool {
        self.ended.is_some() && self.stream.frames.next_deadline().is_none()
    }

    /// Lets the switch decide, and executes its orders.
    fn decide(&mut self, now_ns: u64) {
        let Some(switch) = &mut self.switch else { return };
        if let Some(active) = switch.active()
            && let Some(feed) = self.feeds.iter().find(|feed| feed.sender == active)
        {
            let (packets, unrepaired) = feed.counted();
            switch.count(now_ns, packets, unrepaired);
        }
        switch.tick(now_ns);
        self.obey(now_ns);
    }

    fn obey(&mut self, now_ns: u64) {
        let Some(switch) = &mut self.switch else { return };
        while let Some(order) = switch.poll_order() {
            match order {
                Order::Activate(sender) => self.stream.activate(sender),
                Order::Wanted(sender, wanted) => {
                    self.events.push_back(ReceiverEvent::Wanted { sender, wanted });
                }
                Order::Stage(sender) => {
                    let feed = self.feeds.iter_mut().find(|feed| Some(feed.sender) == sender);
                    self.stream
                        .stage(feed.as_ref().map(|feed| (feed.sender, feed.place)));
                    if let Some(feed) = feed {
                        feed.begin_anew();
                    }
                }
            }
        }
        self.switch_ns = switch.next_wake().unwrap_or(u64::MAX).max(now_ns + 1);
    }

    /// Switches to another sender, if it has delivered a complete frame.
    fn take_over(&mut self, now_ns: u64) {
        let Some((frame, shift)) = self.stream.take_over(now_ns) else {
            return;
        };
        let switched = self.switch.as_mut().and_then(|switch| switch.take_over(now_ns));
        let Some((from, to, why)) = switched else { return };
        if let Some(feed) = self.feeds.iter_mut().find(|feed| feed.sender == to) {
            feed.renumber(shift);
        }
        self.events
            .push_back(ReceiverEvent::Switched { from, to, frame, why });
        self.obey(now_ns);
        self.update_end(now_ns);
    }

    /// The next frame that is complete or past its deadline.
    pub fn poll_frame(&mut self, now_ns: u64) -> Option<OutputFrame> {
        self.now_ns = now_ns;
        if now_ns >= self.switch_ns {
            self.decide(now_ns);
        }
        self.stream.frames.take(now_ns)
    }

    /// The next frame, if it is complete, at any time: for a caller that has not read all arrived packets and does
    /// not know yet what is late.
    pub fn poll_whole(&mut self) -> Option<OutputFrame> {
        self.stream.frames.take_whole()
    }

    /// Takes the buffer of a frame for reuse.
    pub fn recycle(&mut self, frame: Frame) {
        self.stream.frames.recycle(frame.bytes);
    }

    /// The next event; call until there is none.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// Writes feedback for a sender, if it is due; returns its length and its flow.
    pub fn poll_feedback(
        &mut self,
        now_ns: u64,
        sender: SenderIndex,
        out: &mut [u8; MAX_FEEDBACK_LENGTH],
    ) -> Option<(FlowId, usize)> {
        let feed = self.feeds.iter_mut().find(|feed| feed.sender == sender)?;
        feed.poll_feedback(now_ns, &self.stream, out)
    }

    /// When to call [`poll_frame`](Self::poll_frame), and [`poll_feedback`](Self::poll_feedback) for all senders, next,
    /// nanoseconds; none if there is nothing to wait for.
    pub fn next_wake(&self, now_ns: u64) -> Option<u64> {
        let switch_ns = Some(self.switch_ns).filter(|at| *at < u64::MAX);
        let feeds = self
            .feeds
            .iter()
            .filter_map(|feed| feed.next_wake(now_ns, &self.stream));
        feeds
            .chain(self.stream.frames.next_deadline())
            .chain(switch_ns)
            .min()
    }

    /// The counters of a sender so far; zero for an unknown one.
    pub fn counters(&self, sender: SenderIndex) -> ArrivalCounters {
        self.feed(sender).map(Feed::counters).unwrap_or_default()
    }

    /// Packets of a sender so far whose content another sender had delivered.
    pub fn merged(&self, sender: SenderIndex) -> u64 {
        self.feed(sender).map_or(0, |feed| feed.merged)
    }

    /// Key renewals of a sender so far.
    pub fn key_renewals(&self, sender: SenderIndex) -> u64 {
        self.feed(sender).map_or(0, Feed::key_renewals)
    }

    /// Time since the last authentic packet of a sender, nanoseconds; none for one that need not send: its stream has
    /// ended, or the output is another's.
    pub fn silence_ns(&self, now_ns: u64, sender: SenderIndex) -> Option<u64> {
        let active = self.switch.as_ref().map(Switch::active);
        let feed = self.feed(sender).filter(|feed| feed.ended.is_none())?;
        let heard_ns = feed.arrivals.heard_ns().unwrap_or(feed.added_ns);
        let is_wanted = active.is_none_or(|active| active == Some(sender));
        is_wanted.then(|| now_ns.saturating_sub(heard_ns))
    }

    /// Packets of each flow of a sender that have arrived and that are missing, in the order of the flows; a packet may be
    /// missing for a time and arrive.
    pub fn flow_counts(&self, sender: SenderIndex) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.feed(sender)
            .into_iter()
            .flat_map(|feed| feed.arrivals.counts())
    }

    /// Sets the round-trip time that a sender has measured, nanoseconds.
    pub fn set_rtt(&mut self, sender: SenderIndex, rtt_ns: u64) {
        if let Some(feed) = self.feeds.iter_mut().find(|feed| feed.sender == sender) {
            feed.set_rtt(rtt_ns);
        }
    }

    /// The round-trip time by which requests to a sender are timed, nanoseconds.
    pub fn rtt_ns(&self, sender: SenderIndex) -> Option<u64> {
        self.feed(sender).map(Feed::rtt_ns)
    }

    /// The present senders.
    pub fn senders(&self) -> impl Iterator<Item = SenderIndex> + '_ {
        self.feeds.iter().map(|feed| feed.sender)
    }
}
