//! A sending thread: takes frames, or its parts of them, and feedback from the sockets, asks the sender's core what is due,
//! and passes it to the kernel, several packets per call.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender as Outbox};

use bytes::BytesMut;
use weir_net::wait::Waiter;
use weir_net::{NetError, Outgoing, Trains, UdpSocket, clock};
use weir_record::SendSecond;
use weir_stream_proto::{Broken, FlowChange, Sender, SenderConfig, SenderEvent, Transmit};
use weir_video::VideoFormat;
use weir_wire::{FlowId, MAX_FEEDBACK_LENGTH, MediaFraming, UnixNanos};

use super::account::{Account, QuarterAccount};
use super::divide::Frames;
use super::watched::SendQuarter;
use crate::StreamError;
use crate::priority::run_in_time;
use crate::source::FromSource;

/// Interval at which the source and the orders are checked when idle.
const IDLE_NS: u64 = 500_000;
/// Interval of format descriptions, for receivers that missed one.
const DESCRIBE_NS: u64 = 1_000_000_000;
/// Blocks sent before feedback is read again.
const BLOCKS_AT_ONCE: u32 = 8;
/// Feedback packets read before packets are sent.
const FEEDBACK_AT_ONCE: u32 = 64;
/// Minimum time of retransmissions after the last frame.
const FAREWELL_NS: u64 = 100_000_000;

/// Orders to the thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Whether to send frames.
    Active(bool),
    /// The receiver is disconnected.
    Leave,
}

/// Messages from the thread.
#[derive(Debug)]
pub(super) enum Report {
    /// Counters of a second, and the flows in use at its end.
    Second(Box<SendSecond>, u16),
    Quarter(SendQuarter),
    /// Round-trip time to the receiver, nanoseconds: when first known, and every second.
    Rtt(u64),
    Flow(FlowId, FlowChange),
    Format(VideoFormat),
    Hash(u32, u64),
    Stopped(Broken),
    /// All frames are sent, and the time for retransmission requests is over.
    Ended(Option<StreamError>),
}

/// Parameters of the thread for one session.
pub(super) struct DataPlan<'a> {
    pub config: SenderConfig,
    /// Its share of the stream, and the number of these.
    pub share: u16,
    pub threads: u16,
    pub sockets: &'a [UdpSocket],
    pub destinations: Vec<SocketAddr>,
    pub segments: bool,
    pub format: VideoFormat,
    pub active: bool,
}

pub(super) struct Data<'a> {
    sender: Sender<BytesMut>,
    share: u16,
    threads: u16,
    frames: Frames<'a>,
    sockets: &'a [UdpSocket],
    trains: Trains,
    waiter: Waiter,
    packets: Vec<Transmit>,
    orders: Receiver<Order>,
    reports: Outbox<(u16, Report)>,
    /// Unix time less monotonic time, fixed for the session, so that a step of the clock does not affect the stream.
    unix_offset_ns: u64,
    latency_ns: u64,
    format: VideoFormat,
    /// Number of the description of `format`.
    format_number: u16,
    described_ns: Option<u64>,
    next_frame: u32,
    active: bool,
    /// No frame is skipped before this time.
    skip_ns: u64,
    /// Duration of a frame.
    frame_ns: u64,
    rtt_told: bool,
    ended: Option<Ended>,
    account: Account,
    quarter: QuarterAccount,
}

/// The source has ended.
struct Ended {
    error: Option<StreamError>,
    /// Until when to retransmit.
    until_ns: Option<u64>,
}

impl<'a> Data<'a> {
    pub(super) fn new(
        plan: DataPlan<'a>,
        frames: Frames<'a>,
        orders: Receiver<Order>,
        reports: Outbox<(u16, Report)>,
    ) -> Result<Self, StreamError> {
        let now = clock::monotonic_ns();
        let waiter = Waiter::new().map_err(|error| NetError::io("wait for", "sockets", error))?;
        for (index, socket) in plan.sockets.iter().enumerate() {
            waiter
                .add(socket.as_raw_fd(), index)
                .map_err(|error| NetError::io("wait for", socket.local(), error))?;
        }
        let latency_ns = plan.config.latency_ns;
        let frame_ns = plan.config.pace.frame_ns();
        let mut sender = Sender::new(plan.config, now);
        sender.set_wanted(now, plan.active);
        Ok(Data {
            sender,
            share: plan.share,
            threads: plan.threads,
            frames,
            sockets: plan.sockets,
            trains: Trains::new(&plan.destinations, plan.segments),
            waiter,
            packets: Vec::new(),
            orders,
            reports,
            unix_offset_ns: clock::unix_ns().saturating_sub(now),
            latency_ns,
            format: plan.format,
            format_number: 0,
            described_ns: None,
            next_frame: 0,
            active: plan.active,
            skip_ns: 0,
            frame_ns,
            rtt_told: false,
            ended: None,
            account: Account::new(now),
            quarter: QuarterAccount::new(now),
        })
    }

    /// Runs until the stream is over ([`Report::Ended`], [`Report::Stopped`]) or the receiver is gone.
    pub(super) fn run(mut self) -> Result<(), StreamError> {
        run_in_time(self.threads);
        let began_ns = clock::monotonic_ns();
        self.account = Account::new(began_ns);
        self.quarter = QuarterAccount::new(began_ns);
        let mut over = false;
        while !over {
            let now = clock::monotonic_ns();
            self.quarter.look(now);
            let left = self.take_orders(now);
            self.take_feedback(now)?;
            self.take_frames(now);
            let more = self.send_due(now)?;
            over = self.tell_events() || self.is_done(now) || left;
            if over || now >= self.account.second_ends_ns() {
                self.close_second(now);
            }
            if let Some(quarter) = self.quarter.close(now, &self.sender) {
                self.tell(Report::Quarter(quarter));
            }
            if !more && !over {
                self.wait()?;
            }
        }
        if let Some(ended) = self.ended.take() {
            self.tell(Report::Ended(ended.error));
        }
        Ok(())
    }

    /// Reports to the session, which may have ended.
    fn tell(&self, report: Report) {
        self.reports.send((self.share, report)).ok();
    }

    /// Takes orders; true when the receiver is disconnected.
    fn take_orders(&mut self, now: u64) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Active(active) => {
                    self.active = active;
                    self.sender.set_wanted(now, active);
                    self.described_ns = None;
                }
                Order::Leave => return true,
            }
        }
        false
    }

    fn unix(&self, now: u64) -> UnixNanos {
        UnixNanos(self.unix_offset_ns + now)
    }

    fn take_feedback(&mut self, now: u64) -> Result<(), StreamError> {
        let mut buffer = [0; MAX_FEEDBACK_LENGTH + 1];
        for socket in self.sockets {
            for _ in 0..FEEDBACK_AT_ONCE {
                let received = socket
                    .receive(&mut buffer)
                    .map_err(|error| NetError::io("receive at", socket.local(), error))?;
                let Some((length, _, _)) = received else { break };
                // The core counts these with the feedback that was overtaken, which is no alarm.
                let received = self.sender.receive(now, self.unix(now), &mut buffer[..length]);
                self.quarter.rejected += u64::from(received.is_err());
            }
        }
        Ok(())
    }

    fn take_frames(&mut self, now: u64) {
        while self.ended.is_none() {
            if self.active && self.described_ns.is_none_or(|at| now >= at + DESCRIBE_NS) {
                self.describe(now);
            }
            if self.active && !self.sender.wants_frame(self.format.frame_bytes()) {
                return;
            }
            // Skipped frames keep the frame rate: a file must not run ahead of the stream.
            if !self.active && now < self.skip_ns {
                return;
            }
            match self.frames.try_next() {
                None => return,
                Some(FromSource::Format(format)) => {
                    self.format = format;
                    self.format_number = self.format_number.wrapping_add(1);
                    self.described_ns = None;
                    self.tell(Report::Format(format));
                }
                Some(FromSource::Frame(frame)) => {
                    self.next_frame = frame.number.wrapping_add(1);
                    if !self.active {
                        self.account.skip();
                        self.frames.recycle(frame.bytes);
                        self.skip_ns = now.max(self.skip_ns + self.frame_ns);
                        continue;
                    }
                    if let Some(hash) = frame.hash {
                        self.tell(Report::Hash(frame.number, hash));
                    }
                    let framing = MediaFraming {
                        frame: frame.number,
                        frame_length: frame.bytes.len() as u32,
                        format: self.format_number,
                        timestamp_ns: frame.timestamp_ns,
                        ..MediaFraming::default()
                    };
                    self.sender.push_frame(now, framing, frame.bytes);
                }
                Some(FromSource::End(error)) => {
                    self.notice(now, MediaFraming::END, b"");
                    self.ended = Some(Ended {
                        error,
                        until_ns: None,
                    });
                }
            }
        }
    }

    /// Describes the format in the stream.
    fn describe(&mut self, now: u64) {
        self.described_ns = Some(now);
        let description = self.format.media_type();
        self.notice(now, MediaFraming::DESCRIPTION, description.as_bytes());
    }

    fn notice(&mut self, now: u64, flags: u16, bytes: &[u8]) {
        let framing = MediaFraming {
            frame: self.next_frame,
            frame_length: bytes.len() as u32,
            flags,
            format: self.format_number,
            ..MediaFraming::default()
        };
        self.sender.push_notice(now, framing, bytes.into());
    }

    /// Whether all is sent, and the time for retransmission requests is over.
    fn is_done(&mut self, now: u64) -> bool {
        let rtt_ns = self.sender.rtt_ns().unwrap_or(0);
        let waiting = self.sender.waiting();
        let Some(ended) = self.ended.as_mut().filter(|_| waiting == 0) else {
            return false;
        };
        let until = *ended
            .until_ns
            .get_or_insert(now + self.latency_ns + 2 * rtt_ns + FAREWELL_NS);
        now >= until
    }

    /// Sends what is due; true when there may be more at once.
    fn send_due(&mut self, now: u64) -> Result<bool, StreamError> {
        for _ in 0..BLOCKS_AT_ONCE {
            self.sender.wake(now, self.unix(now), &mut self.packets);
            while let Some(bytes) = self.sender.spare_buffer() {
                self.frames.recycle(bytes);
            }
            if self.packets.is_empty() {
                return Ok(false);
            }
            self.transmit()?;
        }
        Ok(true)
    }

    /// Passes the packets to the kernel: with one socket for all flows in one call, otherwise in one for each flow.
    fn transmit(&mut self) -> Result<(), StreamError> {
        let sender = &self.sender;
        let mut rest = &self.packets[..];
        while let Some(first) = rest.first() {
            let (socket, end) = match self.sockets {
                [only] => (only, rest.len()),
                many => {
                    let others = rest.iter().position(|it| it.flow != first.flow);
                    (&many[usize::from(first.flow.0)], others.unwrap_or(rest.len()))
                }
            };
            let block = &rest[..end];
            let sent = self.trains.send(socket, block.len(), |index| Outgoing {
                destination: block[index].flow.0.into(),
                header: block[index].header(),
                body: sender.body(&block[index]),
            });
            let outcome = sent.map_err(|error| cannot_send(socket, error))?;
            self.account.add(outcome);
            self.quarter.unsent += outcome.refused;
            rest = &rest[end..];
        }
        Ok(())
    }

    /// Reports events; true when the stream was stopped.
    fn tell_events(&mut self) -> bool {
        let mut stopped = false;
        if let Some(rtt_ns) = self.sender.rtt_ns().filter(|_| !self.rtt_told) {
            self.rtt_told = true;
            self.tell(Report::Rtt(rtt_ns));
        }
        while let Some(event) = self.sender.poll_event() {
            let report = match event {
                SenderEvent::Flow(flow, change) => Report::Flow(flow, change),
                SenderEvent::Stopped(broken) => {
                    stopped = true;
                    Report::Stopped(broken)
                }
            };
            self.tell(report);
        }
        stopped
    }

    fn close_second(&mut self, now: u64) {
        let second = self.account.close(now, &self.sender);
        let used = self.sender.flows().live() as u16;
        self.rtt_told = false;
        self.tell(Report::Second(Box::new(second), used));
    }

    fn wait(&mut self) -> Result<(), StreamError> {
        let now = clock::monotonic_ns();
        let next = self.sender.next_wake().unwrap_or(u64::MAX);
        let until = next.min(now + IDLE_NS);
        self.waiter
            .wait_ns(until.saturating_sub(now))
            .map_err(|error| NetError::io("wait for", "sockets", error))?;
        Ok(())
    }
}

fn cannot_send(socket: &UdpSocket, error: io::Error) -> StreamError {
    if error.raw_os_error() == Some(weir_net::EMSGSIZE) {
        return StreamError::Parameters(
            "a packet does not fit the interface to the receiver; give a smaller --length".into(),
        );
    }
    NetError::io("send from", socket.local(), error).into()
}
