//! The thread that sends: takes frames from the source and feedback from the sockets, asks the sender's core what is
//! due, and gives it to the kernel, several packets a call.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender as Outbox};

use weir_media::raw::VideoFormat;
use weir_net::wait::Waiter;
use weir_net::{NetError, Outgoing, Trains, UdpSocket, clock};
use weir_results::SendSecond;
use weir_transport::{Broken, FlowChange, Sender, SenderConfig, SenderEvent, Transmit};
use weir_wire::{FlowId, MAX_FEEDBACK_LENGTH, MediaFraming, UnixNanos};

use super::account::Account;
use crate::CarryError;
use crate::priority::run_in_time;
use crate::source::{FromSource, Source};

/// How often the source and the orders are looked at when nothing else is to do.
const IDLE_NS: u64 = 500_000;
/// The format is described again so often, for receivers that missed it.
const DESCRIBE_NS: u64 = 1_000_000_000;
/// Blocks that are sent before feedback is looked at again.
const BLOCKS_AT_ONCE: u32 = 8;
/// Feedback packets that are read before packets are sent again.
const FEEDBACK_AT_ONCE: u32 = 64;
/// What is asked for after the last frame is sent again at least so long.
const FAREWELL_NS: u64 = 100_000_000;

/// What the thread is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Whether frames are wanted.
    Active(bool),
    /// The receiver has left.
    Leave,
}

/// What the thread tells.
#[derive(Debug)]
pub(super) enum Told {
    /// A second, and how many flows were used at its end.
    Second(Box<SendSecond>, u16),
    /// The round trip to the receiver, nanoseconds: when it is first known, and with every second.
    Rtt(u64),
    Flow(FlowId, FlowChange),
    Format(VideoFormat),
    Hash(u32, u64),
    Stopped(Broken),
    /// All frames are out, and the receiver had the time to ask for what it missed.
    Ended(Option<CarryError>),
}

/// What the thread needs for one session.
pub(super) struct DataPlan<'a> {
    pub config: SenderConfig,
    pub sockets: &'a [UdpSocket],
    pub destinations: Vec<SocketAddr>,
    pub segments: bool,
    pub format: VideoFormat,
    pub active: bool,
}

pub(super) struct Data<'a> {
    sender: Sender,
    source: &'a mut Source,
    sockets: &'a [UdpSocket],
    trains: Trains,
    waiter: Waiter,
    packets: Vec<Transmit>,
    orders: Receiver<Order>,
    told: Outbox<Told>,
    /// Unix time less monotonic time, fixed for the session, so that a step of the clock is no step of the stream.
    unix_offset_ns: u64,
    latency_ns: u64,
    format: VideoFormat,
    /// Of the description of `format`.
    format_number: u16,
    described_ns: Option<u64>,
    next_frame: u32,
    active: bool,
    /// Before that no frame is skipped.
    skip_ns: u64,
    /// Of a frame.
    frame_ns: u64,
    rtt_told: bool,
    ended: Option<Ended>,
    account: Account,
}

/// The source has ended.
struct Ended {
    error: Option<CarryError>,
    /// Until when what is missed is sent again.
    until_ns: Option<u64>,
}

impl<'a> Data<'a> {
    pub(super) fn new(
        plan: DataPlan<'a>,
        source: &'a mut Source,
        orders: Receiver<Order>,
        told: Outbox<Told>,
    ) -> Result<Self, CarryError> {
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
            source,
            sockets: plan.sockets,
            trains: Trains::new(&plan.destinations, plan.segments),
            waiter,
            packets: Vec::new(),
            orders,
            told,
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
        })
    }

    /// Runs until the stream is over ([`Told::Ended`], [`Told::Stopped`]) or the receiver is gone.
    pub(super) fn run(mut self) -> Result<(), CarryError> {
        run_in_time();
        self.account = Account::new(clock::monotonic_ns());
        let mut over = false;
        while !over {
            let now = clock::monotonic_ns();
            let left = self.take_orders(now);
            self.take_feedback(now)?;
            self.take_frames(now);
            let more = self.send_due(now)?;
            over = self.tell_events() || self.is_done(now) || left;
            if over || now >= self.account.second_ends_ns() {
                self.close_second(now);
            }
            if !more && !over {
                self.wait()?;
            }
        }
        if let Some(ended) = self.ended {
            self.told.send(Told::Ended(ended.error)).ok();
        }
        Ok(())
    }

    /// Takes orders; true when the receiver has left.
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

    fn take_feedback(&mut self, now: u64) -> Result<(), CarryError> {
        let mut buffer = [0; MAX_FEEDBACK_LENGTH + 1];
        for socket in self.sockets {
            for _ in 0..FEEDBACK_AT_ONCE {
                let received = socket
                    .receive(&mut buffer)
                    .map_err(|error| NetError::io("receive at", socket.local(), error))?;
                let Some((length, _, _)) = received else { break };
                // What is no feedback of this session is counted there.
                let _ = self.sender.handle(now, self.unix(now), &buffer[..length]);
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
            // Frames that nobody wants pass as fast as they would be sent: a file must not run ahead of the stream.
            if !self.active && now < self.skip_ns {
                return;
            }
            match self.source.try_next() {
                None => return,
                Some(FromSource::Format(format)) => {
                    self.format = format;
                    self.format_number = self.format_number.wrapping_add(1);
                    self.described_ns = None;
                    self.told.send(Told::Format(format)).ok();
                }
                Some(FromSource::Frame(frame)) => {
                    self.next_frame = frame.number.wrapping_add(1);
                    if !self.active {
                        self.account.skip();
                        self.source.recycle(frame.bytes);
                        self.skip_ns = now.max(self.skip_ns + self.frame_ns);
                        continue;
                    }
                    if let Some(hash) = frame.hash {
                        self.told.send(Told::Hash(frame.number, hash)).ok();
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
                    self.notice(now, MediaFraming::END, Vec::new());
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
        self.notice(
            now,
            MediaFraming::DESCRIPTION,
            self.format.media_type().into_bytes(),
        );
    }

    fn notice(&mut self, now: u64, flags: u16, bytes: Vec<u8>) {
        let framing = MediaFraming {
            frame: self.next_frame,
            frame_length: bytes.len() as u32,
            flags,
            format: self.format_number,
            ..MediaFraming::default()
        };
        self.sender.push_notice(now, framing, bytes);
    }

    /// All is out, and time has passed in which the receiver could ask for what it missed.
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
    fn send_due(&mut self, now: u64) -> Result<bool, CarryError> {
        for _ in 0..BLOCKS_AT_ONCE {
            self.sender.poll(now, self.unix(now), &mut self.packets);
            while let Some(bytes) = self.sender.spare_buffer() {
                self.source.recycle(bytes);
            }
            if self.packets.is_empty() {
                return Ok(false);
            }
            self.transmit()?;
        }
        Ok(true)
    }

    /// Gives the packets to the kernel: with one socket for all flows in one call, otherwise in one for each flow.
    fn transmit(&mut self) -> Result<(), CarryError> {
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
            self.account
                .add(sent.map_err(|error| cannot_send(socket, error))?);
            rest = &rest[end..];
        }
        Ok(())
    }

    /// Tells what happened; true when the stream was stopped.
    fn tell_events(&mut self) -> bool {
        let mut stopped = false;
        if let Some(rtt_ns) = self.sender.rtt_ns().filter(|_| !self.rtt_told) {
            self.rtt_told = true;
            self.told.send(Told::Rtt(rtt_ns)).ok();
        }
        while let Some(event) = self.sender.poll_event() {
            let told = match event {
                SenderEvent::Flow(flow, change) => Told::Flow(flow, change),
                SenderEvent::Stopped(broken) => {
                    stopped = true;
                    Told::Stopped(broken)
                }
            };
            self.told.send(told).ok();
        }
        stopped
    }

    fn close_second(&mut self, now: u64) {
        let second = self.account.close(now, &self.sender);
        let used = self.sender.flows().live() as u16;
        self.rtt_told = false;
        self.told.send(Told::Second(Box::new(second), used)).ok();
    }

    fn wait(&mut self) -> Result<(), CarryError> {
        let now = clock::monotonic_ns();
        let next = self.sender.next_ns().unwrap_or(u64::MAX);
        let until = next.min(now + IDLE_NS);
        self.waiter
            .wait_ns(until.saturating_sub(now))
            .map_err(|error| NetError::io("wait for", "sockets", error))?;
        Ok(())
    }
}

fn cannot_send(socket: &UdpSocket, error: io::Error) -> CarryError {
    if error.raw_os_error() == Some(weir_net::EMSGSIZE) {
        return CarryError::Parameters(
            "a packet does not fit the interface to the receiver; give a smaller --length".into(),
        );
    }
    NetError::io("send from", socket.local(), error).into()
}
