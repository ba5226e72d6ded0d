//! A receiving thread: reads packets of all flows and senders of its share from the kernel, several per call, passes them to
//! the receiver's core, and hands out frames, or its parts of them. It never waits for the consumer of the frames.

use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};

use weir_net::wait::Waiter;
use weir_net::{NetError, ReceiveBatch, UdpSocket, clock};
use weir_record::RecvSecond;
use weir_stats::{ArrivalCounters, Counters};
use weir_stream_proto::{OutputFrame, Receiver, ReceiverEvent, SenderIndex, SenderTerms};
use weir_video::VideoFormat;
use weir_wire::MAX_FEEDBACK_LENGTH;

use super::output::{FrameQueue, Timed};
use super::report::{QuarterAccount, RecvQuarter, Report};
use crate::StreamError;
use crate::alarms::{HeldUp, QUARTER_NS};
use crate::priority::run_in_time;

const SECOND_NS: u64 = 1_000_000_000;
/// Interval at which commands are read while no packet arrives.
const IDLE_NS: u64 = 2_000_000;
/// Buffers read from a socket at once; with merging each holds several packets. Few, so that after a time in which this
/// thread did not run the flows are read in step: a flow read far ahead of another is reordering, of which the code
/// tolerates only so much.
pub(super) const BUFFERS: usize = 2;
/// Maximum rounds over all sockets before anything else is done: together more than the sockets hold.
const ROUNDS: u32 = 512;
/// Maximum sockets of a sender that [`Waiter`] can distinguish.
const MOST_FLOWS: usize = weir_wire::MAX_FEEDBACK_FLOWS;

/// Commands to the thread.
pub(super) enum Command {
    /// A sender is connected.
    Add {
        sender: u16,
        terms: SenderTerms,
        /// Format of its first frames.
        format: VideoFormat,
        sockets: Vec<UdpSocket>,
    },
    /// Round-trip time to a sender, nanoseconds.
    Rtt { sender: u16, rtt_ns: u64 },
    /// A sender is disconnected.
    Remove { sender: u16 },
}

/// A sender's sockets and counters.
struct Source {
    /// Its number on the command line.
    sender: u16,
    index: SenderIndex,
    sockets: Vec<UdpSocket>,
    before: ArrivalCounters,
    drops: u64,
    quarter: QuarterAccount,
}

pub(super) struct Data {
    /// Its share of the stream, and the number of these.
    pub share: u16,
    pub threads: u16,
    pub receiver: Receiver,
    pub commands: Inbox<Command>,
    pub reports: Outbox<Report>,
    pub frames: FrameQueue,
}

/// The thread's own state.
struct Running {
    data: Data,
    waiter: Waiter,
    batch: ReceiveBatch,
    sources: Vec<Option<Source>>,
    second_ends_ns: u64,
    second_began_ns: u64,
    cpu_ns: u64,
    quarter_ends_ns: u64,
    /// When it last looked for packets, and the longest time between two looks in this quarter.
    looked_ns: u64,
    longest_ns: u64,
}

impl Data {
    /// Runs until the command channel is closed.
    pub(super) fn run(self) -> Result<(), StreamError> {
        run_in_time(self.threads);
        let now = clock::monotonic_ns();
        let mut running = Running {
            data: self,
            waiter: Waiter::new().map_err(|error| NetError::io("wait for", "sockets", error))?,
            batch: ReceiveBatch::new(BUFFERS),
            sources: Vec::new(),
            second_ends_ns: now + SECOND_NS,
            second_began_ns: now,
            cpu_ns: clock::thread_cpu_ns(),
            quarter_ends_ns: now + QUARTER_NS,
            looked_ns: now,
            longest_ns: 0,
        };
        running.run()
    }

    fn tell_seconds(&self, rows: Vec<RecvSecond>) {
        let share = self.share;
        self.reports.send(Report::Seconds { share, rows }).ok();
    }
}

impl Running {
    fn run(&mut self) -> Result<(), StreamError> {
        loop {
            let now = clock::monotonic_ns();
            if !self.take_commands(now)? {
                self.hand_out(|receiver| receiver.poll_frame(now));
                self.close_second(now);
                return Ok(());
            }
            self.longest_ns = self.longest_ns.max(now.saturating_sub(self.looked_ns));
            let looked_ns = self.receive()?;
            self.looked_ns = looked_ns;
            // A description precedes its frames.
            self.tell_events();
            self.hand_out(|receiver| receiver.poll_frame(looked_ns));
            self.send_feedback(looked_ns);
            let now = clock::monotonic_ns();
            if now >= self.second_ends_ns {
                self.close_second(now);
            }
            if now >= self.quarter_ends_ns {
                self.close_quarter(now);
            }
            let next = self.data.receiver.next_wake(now).unwrap_or(u64::MAX);
            let until = next.min(now + IDLE_NS);
            self.waiter
                .wait_ns(until.saturating_sub(now))
                .map_err(|error| NetError::io("wait for", "sockets", error))?;
        }
    }

    /// False when the command channel is closed.
    fn take_commands(&mut self, now: u64) -> Result<bool, StreamError> {
        use std::sync::mpsc::TryRecvError;
        loop {
            match self.data.commands.try_recv() {
                Ok(Command::Add {
                    sender,
                    terms,
                    format,
                    sockets,
                }) => {
                    self.add(now, sender, (terms, format), sockets)?;
                }
                Ok(Command::Rtt { sender, rtt_ns }) => {
                    let known = self
                        .sources
                        .iter()
                        .flatten()
                        .find(|source| source.sender == sender);
                    if let Some(index) = known.map(|source| source.index) {
                        self.data.receiver.set_rtt(index, rtt_ns);
                    }
                }
                Ok(Command::Remove { sender }) => self.remove(now, sender),
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Ok(false),
            }
        }
    }

    fn add(
        &mut self,
        now: u64,
        sender: u16,
        (terms, format): (SenderTerms, VideoFormat),
        sockets: Vec<UdpSocket>,
    ) -> Result<(), StreamError> {
        let added = self.data.receiver.add_sender(now, terms);
        let index = added.map_err(|error| StreamError::FarEnd(error.to_string()))?;
        let alone = self.sources.iter().flatten().next().is_none();
        self.data.frames.join((index, 0), format, alone);
        let place = match self.sources.iter().position(Option::is_none) {
            Some(place) => place,
            None => {
                self.sources.push(None);
                self.sources.len() - 1
            }
        };
        for (flow, socket) in sockets.iter().enumerate() {
            self.waiter
                .add(socket.as_raw_fd(), place * MOST_FLOWS + flow)
                .map_err(|error| NetError::io("wait for", socket.local(), error))?;
        }
        self.sources[place] = Some(Source {
            sender,
            index,
            sockets,
            before: ArrivalCounters::default(),
            drops: 0,
            quarter: QuarterAccount::default(),
        });
        Ok(())
    }

    /// Closing its sockets also removes them from the waiter.
    fn remove(&mut self, now: u64, sender: u16) {
        let spent_ns = clock::thread_cpu_ns();
        for place in &mut self.sources {
            if place.as_ref().is_some_and(|source| source.sender == sender)
                && let Some(mut source) = place.take()
            {
                // It may be the last row; then no other covers this time.
                let cpu_ns = spent_ns.saturating_sub(std::mem::replace(&mut self.cpu_ns, spent_ns));
                let row = source.second(&self.data.receiver, now, self.second_began_ns, cpu_ns);
                self.data.tell_seconds(vec![row]);
                self.data.receiver.remove_sender(source.index);
            }
        }
    }

    /// Reads all packets that wait at the sockets, and returns the time at which it looked. Frames are judged by that
    /// time, since it is unknown whether later packets have arrived. A thread that was scheduled late must not count
    /// packets as late that were waiting at the socket.
    ///
    /// Missing packets are looked for after each round, since the code repairs them only while it remembers their
    /// neighbours: no longer than the latency.
    fn receive(&mut self) -> Result<u64, StreamError> {
        let began_ns = clock::monotonic_ns();
        let mut looked_ns = began_ns;
        for _ in 0..ROUNDS {
            self.waiter
                .wait_ns(0)
                .map_err(|error| NetError::io("wait for", "sockets", error))?;
            let more = self.receive_round()?;
            self.data.receiver.settle(looked_ns);
            if !more {
                return Ok(looked_ns);
            }
            // Makes space for the packets after them.
            self.tell_events();
            self.hand_out(Receiver::poll_whole);
            looked_ns = clock::monotonic_ns();
        }
        Ok(began_ns)
    }

    /// Reads some packets from each socket; true when there are more.
    fn receive_round(&mut self) -> Result<bool, StreamError> {
        let (receiver, batch) = (&mut self.data.receiver, &mut self.batch);
        let mut more = false;
        for ready in self.waiter.ready() {
            let Some(Some(source)) = self.sources.get(ready / MOST_FLOWS) else {
                continue;
            };
            let Some(socket) = source.sockets.get(ready % MOST_FLOWS) else {
                continue;
            };
            let filled = batch
                .receive(socket)
                .map_err(|error| NetError::io("receive at", socket.local(), error))?;
            more |= filled == BUFFERS;
            let now = clock::monotonic_ns();
            for datagram in batch.datagrams_mut() {
                receiver.take(now, source.index, datagram.bytes);
            }
        }
        Ok(more)
    }

    fn hand_out(&mut self, poll: impl Fn(&mut Receiver) -> Option<OutputFrame>) {
        let Data { receiver, frames, .. } = &mut self.data;
        while let Some(frame) = frames.take_back() {
            receiver.recycle(frame);
        }
        while let Some(given) = poll(receiver) {
            let rtt_ns = match &given {
                OutputFrame::Frame(frame) => receiver.rtt_ns(frame.sender),
                OutputFrame::Nothing(_) => None,
            };
            let timed = Timed {
                given,
                least_transit_ns: rtt_ns.unwrap_or(0) / 2,
            };
            if let Some(OutputFrame::Frame(frame)) = frames.offer(timed) {
                receiver.recycle(frame);
            }
        }
    }

    fn send_feedback(&mut self, now: u64) {
        let mut packet = [0; MAX_FEEDBACK_LENGTH];
        for source in self.sources.iter().flatten() {
            while let Some((flow, length)) = self.data.receiver.poll_feedback(now, source.index, &mut packet)
            {
                // Feedback that is lost is followed by the next.
                let _ = source.sockets[usize::from(flow.0)].send(&packet[..length]);
            }
        }
    }

    fn tell_events(&mut self) {
        while let Some(event) = self.data.receiver.poll_event() {
            if let ReceiverEvent::Format {
                sender,
                format,
                description,
            } = &event
                && let Ok(described) = VideoFormat::from_media_type(description)
            {
                self.data.frames.format((*sender, *format), described);
            }
            let mut sources = self.sources.iter().flatten();
            let about = sources.find(|source| source.index == subject(&event));
            let about = about.map(|source| source.sender);
            self.data.reports.send(Report::Event(about, event)).ok();
        }
    }

    fn close_second(&mut self, now: u64) {
        let cpu_ns = clock::thread_cpu_ns();
        // One thread serves all senders: its CPU time is in the first row.
        let mut spent_ns = cpu_ns.saturating_sub(self.cpu_ns);
        let mut rows = Vec::new();
        for source in self.sources.iter_mut().flatten() {
            let row = source.second(&self.data.receiver, now, self.second_began_ns, spent_ns);
            spent_ns = 0;
            rows.push(row);
        }
        self.cpu_ns = cpu_ns;
        self.second_began_ns = now;
        self.second_ends_ns = self.second_ends_ns.max(now) + SECOND_NS;
        self.data.tell_seconds(rows);
    }

    fn close_quarter(&mut self, now: u64) {
        let mut held = HeldUp {
            longest_ns: std::mem::take(&mut self.longest_ns),
            drops: 0,
        };
        let mut senders = Vec::new();
        for source in self.sources.iter_mut().flatten() {
            let (drops, at) = (source.socket_drops(), (now, source.sender));
            let of = (&self.data.receiver, source.index);
            let (quarter, dropped) = source.quarter.close(of, at, drops);
            held.drops += dropped;
            senders.push(quarter);
        }
        self.quarter_ends_ns = self.quarter_ends_ns.max(now) + QUARTER_NS;
        let quarter = RecvQuarter {
            now_ns: now,
            held,
            senders,
        };
        let share = self.data.share;
        self.data.reports.send(Report::Quarter { share, quarter }).ok();
    }
}

/// The sender of an event.
fn subject(event: &ReceiverEvent) -> SenderIndex {
    match event {
        ReceiverEvent::Format { sender, .. }
        | ReceiverEvent::End { sender, .. }
        | ReceiverEvent::Wanted { sender, .. } => *sender,
        ReceiverEvent::Switched { to, .. } => *to,
    }
}

impl Source {
    fn socket_drops(&self) -> u64 {
        self.sockets.iter().map(UdpSocket::receive_drops).sum()
    }

    /// Counters since the previous row.
    fn second(&mut self, receiver: &Receiver, now: u64, began_ns: u64, cpu_ns: u64) -> RecvSecond {
        let counters = receiver.counters(self.index);
        let drops = self.socket_drops();
        let before = std::mem::replace(&mut self.before, counters);
        let dropped = drops.saturating_sub(self.drops);
        self.drops = drops;
        RecvSecond {
            unix_ns: clock::unix_ns(),
            duration_ns: now.saturating_sub(began_ns),
            sender: self.sender,
            rtt_ns: receiver.rtt_ns(self.index).unwrap_or(0),
            counts: counters.since(&before),
            socket_drops: dropped,
            cpu_ns,
        }
    }
}
