//! The receiver: packets of one or several senders of the same stream go in; frames in order, and feedback for each
//! sender, come out. No socket, no clock: the caller passes the time, and asks again at [`Receiver::next_ns`].

use std::collections::VecDeque;

use weir_fec::DecoderConfigError;
use weir_wire::{FlowId, MAX_FEEDBACK_LENGTH, SessionId, UdpKey};

use crate::counters::{ArrivalCounters, FrameCounters};
use crate::feed::Feed;
use crate::frames::{Frame, FrameLimits, Given};
use crate::stream::{MAX_SENDERS, Stream};
use crate::switch::{Order, Switch, SwitchLimits, SwitchReason};

/// A sender of a receiver. Not used again for another one before 65,535 others have been there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SenderIndex(pub u16);

/// What becomes of several senders of the same stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// All send, and each packet counts from whichever sender it comes first, in the manner of SMPTE ST 2022-7. They number
    /// frames alike, and cut them into packets alike.
    Merge,
    /// One sends, until it is failing.
    Switch(SwitchLimits),
}

/// What a receiver is to do.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// For how long what is missing is waited for, nanoseconds. With [`Join::Merge`], a sender is waited for that brings
    /// its packets up to so much later than another.
    pub latency_ns: u64,
    /// Payload bytes of every packet but the last of a frame, 1 to 65,000.
    pub payload: u32,
    /// Most frames that are put together at a time, from 1.
    pub frames: usize,
    /// Most bytes of a frame.
    pub frame_bytes: u32,
    /// What becomes of several senders.
    pub join: Join,
}

/// What a sender has agreed to.
#[derive(Clone, Debug)]
pub struct SenderTerms {
    /// The session.
    pub session: SessionId,
    /// Its key.
    pub key: UdpKey,
    /// Flows, 1 to 64.
    pub flows: u16,
    /// The most packets that a repair is over; none without a code.
    pub fec_window: Option<u16>,
    /// Packets for which the code remembers what came: those of the latency and of a window together, and those by which
    /// flows are apart that are read one after the other. It remembers [`weir_fec::MAX_HISTORY`] at most.
    pub fec_history: u16,
    /// Whether the sender sends again what is asked for.
    pub arq: bool,
    /// Round trip to the sender until it is measured, nanoseconds.
    pub rtt_ns: u64,
    /// With [`Join::Switch`]: the sender with the lowest rank comes first. One that comes back with a new session has the
    /// rank that it had.
    pub rank: u16,
}

/// Why there cannot be such a receiver or sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverConfigError {
    /// No flows, or too many.
    #[error("a stream has 1 to 64 flows, not {0}")]
    Flows(u16),
    /// Payloads of no bytes, or longer than a datagram.
    #[error("a payload has 1 to 65000 bytes, not {0}")]
    Payload(u32),
    /// No room for frames.
    #[error("at least one frame has to be put together at a time")]
    Frames,
    /// Too many senders at a time.
    #[error("a stream has at most 8 senders at a time")]
    Senders,
    /// The code cannot be so.
    #[error(transparent)]
    Code(#[from] DecoderConfigError),
}

/// What happened to the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// Frames of `format` of this sender are as described.
    Format {
        /// Whose.
        sender: SenderIndex,
        /// Number of the format.
        format: u16,
        /// Its description, as the sender wrote it.
        description: Vec<u8>,
    },
    /// The stream of this sender ends before a frame. That of all ends when [`Receiver::ended`] says so.
    End {
        /// Whose.
        sender: SenderIndex,
        /// The frame's number, as frames are given out.
        frame: u64,
    },
    /// With [`Join::Switch`]: whether a sender is to send from now on. It is to be told, again if need be.
    Wanted {
        /// Which.
        sender: SenderIndex,
        /// Whether it is to send.
        wanted: bool,
    },
    /// With [`Join::Switch`]: frames are those of another sender.
    Switched {
        /// Whose they were.
        from: SenderIndex,
        /// Whose they are.
        to: SenderIndex,
        /// The first of them.
        frame: u64,
        /// Why.
        why: SwitchReason,
    },
}

/// Receives one stream of one or several senders.
pub struct Receiver {
    config: ReceiverConfig,
    stream: Stream,
    feeds: Vec<Feed>,
    next_index: u16,
    switch: Option<Switch>,
    /// When the switch is to be asked next, if nothing happens.
    switch_ns: u64,
    /// Where the stream ends by a sender that is there or has gone.
    last_end: Option<u64>,
    ended: Option<u64>,
    /// The time of the last call.
    now_ns: u64,
    events: VecDeque<ReceiverEvent>,
    counters: FrameCounters,
}

impl Receiver {
    /// A receiver without senders.
    ///
    /// # Errors
    /// When the configuration cannot be.
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
            counters: FrameCounters::default(),
            config,
        })
    }

    /// There is another sender of the stream: the first, one that is redundant, or one that has come back with a new
    /// session after [`remove_sender`](Self::remove_sender).
    ///
    /// # Errors
    /// When there are 8 already, or its terms cannot be.
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
        let feed = Feed::new(sender, place, terms, self.config.payload, self.config.latency_ns)?;
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

    /// A sender has gone: its session has ended, or another one will follow. Gives what came of it; none if there is no
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

    /// Takes a datagram that came over a flow of this sender. One of a sender that has gone is of no effect.
    pub fn handle(&mut self, now_ns: u64, sender: SenderIndex, datagram: &[u8]) {
        self.take(now_ns, sender, datagram);
        self.settle(now_ns);
    }

    /// As [`handle`](Self::handle), without looking for what is missing: for one of several datagrams that are there at
    /// the same time, with [`settle`](Self::settle) after the last. A packet that lies at another socket is not missing.
    pub fn take(&mut self, now_ns: u64, sender: SenderIndex, datagram: &[u8]) {
        self.now_ns = now_ns;
        let Some(feed) = self.feeds.iter_mut().find(|feed| feed.sender == sender) else {
            return;
        };
        let had_ended = feed.ended.is_some();
        let new = feed.handle(now_ns, datagram, &mut self.stream, &mut self.events);
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

    /// Finds what is missing by now.
    pub fn settle(&mut self, now_ns: u64) {
        for feed in &mut self.feeds {
            feed.settle(now_ns, &mut self.stream, &mut self.events);
        }
    }

    fn note_end(&mut self, now_ns: u64, sender: SenderIndex) {
        let end = self.feed(sender).and_then(|feed| feed.ended);
        self.last_end = match end {
            Some(_) => self.last_end.max(end),
            // It goes on.
            None => self.feeds.iter().filter_map(|feed| feed.ended).max(),
        };
        if let Some(switch) = &mut self.switch {
            switch.ended(sender, end.is_some());
        }
        self.update_end(now_ns);
    }

    /// Whether all senders that are wanted have ended or gone.
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

    /// The stream has ended before this frame: all senders that are wanted have said so, or have gone after one that had.
    /// Frames before it may still be to come, until [`next_ns`](Self::next_ns) tells of none.
    pub fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Whether the stream has ended and all of its frames have been given out.
    pub fn is_finished(&self) -> bool {
        self.ended.is_some() && self.stream.frames.next_deadline().is_none()
    }

    /// Lets the switch decide, and does what it says.
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
        self.switch_ns = switch.next_ns().unwrap_or(u64::MAX).max(now_ns + 1);
    }

    /// Takes frames from another sender, if that has brought a whole one.
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

    /// The next frame that is complete, or whose time is over.
    pub fn poll_frame(&mut self, now_ns: u64) -> Option<Given> {
        self.now_ns = now_ns;
        if now_ns >= self.switch_ns {
            self.decide(now_ns);
        }
        let given = self.stream.frames.take(now_ns)?;
        Some(self.count(given))
    }

    /// The next frame, if it is complete, whatever the time: for a caller who has not taken all that has come, and does
    /// not know yet what is late.
    pub fn poll_whole(&mut self) -> Option<Given> {
        let given = self.stream.frames.take_whole()?;
        Some(self.count(given))
    }

    fn count(&mut self, given: Given) -> Given {
        match &given {
            Given::Frame(frame) if frame.missing.is_empty() => self.counters.frames += 1,
            Given::Frame(_) => self.counters.damaged += 1,
            Given::Nothing(_) => self.counters.lost += 1,
        }
        given
    }

    /// Takes back the buffer of a frame.
    pub fn recycle(&mut self, frame: Frame) {
        self.stream.frames.recycle(frame.bytes);
    }

    /// What happened since the last call, one by one.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// Writes feedback for a sender, if there is any now, and says how long it is and over which flow it goes.
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
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let switch_ns = Some(self.switch_ns).filter(|at| *at < u64::MAX);
        let feeds = self
            .feeds
            .iter()
            .filter_map(|feed| feed.next_ns(now_ns, &self.stream));
        feeds
            .chain(self.stream.frames.next_deadline())
            .chain(switch_ns)
            .min()
    }

    /// What came from a sender so far; nothing of one that is not there.
    pub fn counters(&self, sender: SenderIndex) -> ArrivalCounters {
        self.feed(sender).map(Feed::counters).unwrap_or_default()
    }

    /// What was given out so far.
    pub fn frame_counters(&self) -> FrameCounters {
        self.counters
    }

    /// The round-trip time to a sender as it has measured it, nanoseconds.
    pub fn set_rtt(&mut self, sender: SenderIndex, rtt_ns: u64) {
        if let Some(feed) = self.feeds.iter_mut().find(|feed| feed.sender == sender) {
            feed.set_rtt(rtt_ns);
        }
    }

    /// The round-trip time by which requests to a sender are timed, nanoseconds.
    pub fn rtt_ns(&self, sender: SenderIndex) -> Option<u64> {
        self.feed(sender).map(Feed::rtt_ns)
    }

    /// The senders that are there.
    pub fn senders(&self) -> impl Iterator<Item = SenderIndex> + '_ {
        self.feeds.iter().map(|feed| feed.sender)
    }
}
