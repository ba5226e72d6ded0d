//! The session with one receiver: agrees on parameters, learns the destinations of the flows, and follows the sending
//! thread and the control connection while frames are sent.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox, channel};
use std::time::{Duration, Instant};

use weir_control::{Admitted, Control, ControlError, Greeted};
use weir_fec::CodeRate;
use weir_measure::HostWatch;
use weir_measure::path_mtu::largest_payload;
use weir_net::host::HostFacts;
use weir_net::{UdpOptions, UdpSocket};
use weir_record::{FlowChange as FlowRow, Record, SendSecond, Side};
use weir_stats::Counters;
use weir_stream_proto::{AdaptiveLimits, Fec, FlowChange, PACKET_OVERHEAD, Pace, SenderConfig, usual_burst};
use weir_units::Rate;
use weir_video::VideoFormat;
use weir_wire::frame::Role;
use weir_wire::{SessionId, SessionKeys};

use super::config::{FecPlan, Pacing, SendConfig};
use super::data::{Data, DataPlan, Order, Report};
use super::stream::Stream;
use crate::messages::{Terms, ToReceiver, ToSender, Want};
use crate::source::{FromSource, Source};
use crate::{EventKind, Live, SendLive, StreamError};

const NAP: Duration = Duration::from_millis(10);
/// Time limit for the receiver's request, and for its sockets.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest payload where the interface has no limit of its own: with the 64 KiB of loopback a call would send one packet.
const MOST_LENGTH: u32 = 8972;
/// Longest window of an adaptive code, packets: longer ones cost more CPU time than they save loss.
const LONGEST_WINDOW: u16 = 256;
/// Maximum bytes of frames kept for retransmission.
const MOST_BYTES: u64 = 4 << 30;
/// Range of the latency budget, nanoseconds.
const LATENCIES: std::ops::RangeInclusive<u64> = 1_000_000..=10_000_000_000;

/// How a session ended without an error of this end.
pub(super) enum SessionEnd {
    /// The input has ended.
    StreamOver,
    /// Stopped by the user.
    Stopped,
    /// The receiver is disconnected.
    Left(String),
}

/// Serves one receiver.
pub(super) fn serve(
    stream: &mut Stream<'_>,
    client: Admitted,
    source: &mut Source,
) -> Result<SessionEnd, StreamError> {
    let Admitted {
        stream: connection,
        established,
        peer,
        place: _place,
        ..
    } = client;
    let left = |reason: String| Ok(SessionEnd::Left(reason));
    let local = match connection.local_addr() {
        Ok(local) => local.ip(),
        Err(error) => return left(error.to_string()),
    };
    let keys = established.keys;
    let control = match Control::start(connection, &keys.control, Role::Agent, ToReceiver::Beat) {
        Ok(control) => control,
        Err(error) => return left(error.to_string()),
    };
    let session = Session {
        stream,
        control,
        id: established.session,
        keys,
        peer,
        local,
    };
    match session.run(source) {
        // A receiver that disconnects, or sends invalid messages, is not an error of this end.
        Err(Fault::Control(error)) => left(error.to_string()),
        Err(Fault::Carry(error)) => Err(error),
        Ok(end) => Ok(end),
    }
}

/// Why a session failed.
enum Fault {
    Control(ControlError),
    Carry(StreamError),
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Self {
        Fault::Control(error)
    }
}

impl From<StreamError> for Fault {
    fn from(error: StreamError) -> Self {
        Fault::Carry(error)
    }
}

struct Session<'a, 'b> {
    stream: &'a mut Stream<'b>,
    control: Control<ToSender>,
    id: SessionId,
    keys: SessionKeys,
    peer: SocketAddr,
    local: IpAddr,
}

/// The agreed parameters.
struct Agreed {
    want: Want,
    terms: Terms,
    format: VideoFormat,
    fec: Option<Fec>,
}

impl Session<'_, '_> {
    fn run(mut self, source: &mut Source) -> Result<SessionEnd, Fault> {
        let Some(want) = self.await_want()? else {
            return Ok(SessionEnd::Stopped);
        };
        let Some(format) = self.await_format(source)? else {
            return Ok(SessionEnd::Stopped);
        };
        let agreed = self
            .sockets()
            .and_then(|sockets| Ok((self.agree(want, format, &sockets)?, sockets)));
        let (agreed, sockets) = match agreed {
            Ok(agreed) => agreed,
            Err(error) => {
                let reason = error.to_string();
                self.control.writer.send(&ToReceiver::Refused { reason })?;
                return Err(error.into());
            }
        };
        self.control
            .writer
            .send(&ToReceiver::Terms(Box::new(agreed.terms.clone())))?;
        let Some((destinations, active)) = self.await_go(&sockets, agreed.terms.flows)? else {
            return Ok(SessionEnd::Stopped);
        };
        source.set_hashing(agreed.want.hashes);
        source.begin();
        self.carry(&agreed, (&sockets, destinations, active), source)
    }

    /// The receiver's next message except keepalives; none if none arrives within `limit`.
    fn next(&self, limit: Duration) -> Result<Option<ToSender>, ControlError> {
        match self.control.incoming.recv_timeout(limit) {
            Ok(Ok(ToSender::Beat)) | Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(message) => message.map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::Closed),
        }
    }

    fn await_want(&self) -> Result<Option<Want>, Fault> {
        let deadline = Instant::now() + PATIENCE;
        while !self.stream.stop.is_set() {
            match self.next(NAP)? {
                Some(ToSender::Want(want)) if LATENCIES.contains(&want.latency_ns) => return Ok(Some(*want)),
                Some(ToSender::Leave) => return Err(ControlError::Closed.into()),
                Some(other) => return Err(nonsense(&other)),
                None if Instant::now() > deadline => return Err(ControlError::Silent.into()),
                None => {}
            }
        }
        Ok(None)
    }

    /// The format of the first frame: the receiver waits for a slow input.
    fn await_format(&mut self, source: &Source) -> Result<Option<VideoFormat>, Fault> {
        while !self.stream.stop.is_set() {
            if let Some(format) = self.stream.format {
                return Ok(Some(format));
            }
            match source.next_within(NAP) {
                Some(FromSource::Format(format)) => self.stream.format = Some(format),
                Some(FromSource::End(error)) => {
                    let error =
                        error.unwrap_or_else(|| StreamError::Parameters("the input has no frames".into()));
                    let reason = error.to_string();
                    self.control
                        .writer
                        .send(&ToReceiver::Ended { reason: Some(reason) })?;
                    return Err(error.into());
                }
                Some(FromSource::Frame(frame)) => source.recycle(frame.bytes),
                None => {}
            }
            if let Some(message) = self.next(Duration::ZERO)? {
                return Err(nonsense(&message));
            }
        }
        Ok(None)
    }

    /// One socket for all flows, or one for each, at the address that the receiver connected to.
    fn sockets(&self) -> Result<Vec<UdpSocket>, StreamError> {
        let config = self.stream.config;
        let options = UdpOptions {
            send_buffer: 8 << 20,
            receive_buffer: 1 << 20,
            ..UdpOptions::default()
        };
        let count = if config.source_ports { config.flows } else { 1 };
        let bind = |index| {
            let port = match config.media_port {
                0 => 0,
                first => first.saturating_add(index),
            };
            UdpSocket::bind(SocketAddr::new(self.local, port), &options).map_err(|error| {
                StreamError::Parameters(format!("{error}; choose another UDP port with --media-port"))
            })
        };
        (0..count).map(bind).collect()
    }

    fn agree(&self, want: Want, format: VideoFormat, sockets: &[UdpSocket]) -> Result<Agreed, StreamError> {
        let config = self.stream.config;
        let length = length(config, self.peer)?;
        let payload = u64::from(length - PACKET_OVERHEAD);
        let frame_bytes = format.frame_bytes() as u64;
        let frame_ns = self.stream.frame_ns();
        let packets_per_second = frame_bytes.div_ceil(payload) as f64 * 1e9 / frame_ns as f64;
        let (fec, fec_window) = match &config.fec {
            FecPlan::Off => (None, None),
            FecPlan::Fixed(choice) => {
                let rate: CodeRate = choice
                    .at(packets_per_second)
                    .map_err(|error| StreamError::Parameters(error.to_string()))?;
                (Some(Fec::Fixed(rate)), Some(rate.window()))
            }
            FecPlan::Adaptive(most_overhead) => {
                let limits = adaptive_limits(packets_per_second, want.latency_ns, *most_overhead);
                (Some(Fec::Adaptive(limits)), Some(limits.window))
            }
        };
        let terms = Terms {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: HostFacts::read(Some(self.peer.ip())),
            flows: config.flows,
            length,
            ports: sockets.iter().map(|socket| socket.local().port()).collect(),
            fec_window,
            arq: config.arq,
            format: format.media_type(),
            frame_bytes,
            frame_ns,
        };
        Ok(Agreed {
            want,
            terms,
            format,
            fec,
        })
    }

    /// Learns the destinations of the flows; none after a stop.
    fn await_go(&self, sockets: &[UdpSocket], flows: u16) -> Result<Option<(Vec<SocketAddr>, bool)>, Fault> {
        let mut greeted = Greeted::new(self.id, self.keys.udp, self.peer.ip(), flows);
        let deadline = Instant::now() + PATIENCE;
        let mut active = None;
        while !self.stream.stop.is_set() {
            for socket in sockets {
                greeted.answer(socket);
            }
            match self.next(Duration::from_millis(2))? {
                Some(ToSender::Go { active: wanted }) => active = Some(wanted),
                Some(ToSender::Leave) => return Err(ControlError::Closed.into()),
                Some(other) => return Err(nonsense(&other)),
                None => {}
            }
            if let (Some(destinations), Some(active)) = (greeted.destinations(), active) {
                return Ok(Some((destinations, active)));
            }
            if Instant::now() > deadline {
                return Err(ControlError::Silent.into());
            }
        }
        Ok(None)
    }

    fn carry(
        &mut self,
        agreed: &Agreed,
        (sockets, destinations, active): (&[UdpSocket], Vec<SocketAddr>, bool),
        source: &mut Source,
    ) -> Result<SessionEnd, Fault> {
        let (orders, to_obey) = channel();
        let (outbox, reports) = channel();
        let (records, watched) = channel();
        let interface = weir_net::host::interface_towards(self.peer.ip());
        let _watch = HostWatch::start(Side::Local, interface, records).map_err(StreamError::from)?;
        let plan = DataPlan {
            config: sender_config(self.stream.config, agreed, (self.id, &self.keys)),
            sockets,
            destinations,
            segments: self.stream.config.segmentation,
            format: agreed.format,
            active,
        };
        let data = Data::new(plan, source, to_obey, outbox)?;
        self.stream.summary.format = Some(agreed.format.to_string());
        self.stream
            .watched
            .join(agreed.fec.is_some(), agreed.want.latency_ns);
        std::thread::scope(|scope| {
            let sending = std::thread::Builder::new()
                .name("send".into())
                .spawn_scoped(scope, move || data.run())
                .map_err(|error| StreamError::thread(&error))?;
            let mut following = Following {
                session: self,
                flows: agreed.terms.flows,
                live: SendLive::default(),
                hashes: Vec::new(),
            };
            let followed = following.follow(&orders, &reports, &watched, &|| sending.is_finished());
            // However the session ended, its thread ends with it, and its messages until then are processed.
            orders.send(Order::Leave).ok();
            let sent = sending
                .join()
                .unwrap_or_else(|_| Err(StreamError::Internal("the sending thread failed".into())));
            let last = following.drain(&reports, &watched);
            if let Err(error) = &sent {
                following.say_why(error);
            }
            sent?;
            match (followed?, last?) {
                (SessionEnd::Left(_), Some(end)) => Ok(end),
                (end, _) => Ok(end),
            }
        })
    }
}

/// Exchanges messages with both ends while the thread sends.
struct Following<'a, 'b, 'c> {
    session: &'a mut Session<'b, 'c>,
    flows: u16,
    live: SendLive,
    hashes: Vec<(u32, u64)>,
}

impl Following<'_, '_, '_> {
    fn follow(
        &mut self,
        orders: &Outbox<Order>,
        reports: &Inbox<Report>,
        watched: &Inbox<Vec<Record>>,
        broke_off: &dyn Fn() -> bool,
    ) -> Result<SessionEnd, Fault> {
        loop {
            // Checked before the thread's last messages are read.
            let broke_off = broke_off();
            if let Some(end) = self.drain(reports, watched)? {
                return Ok(end);
            }
            if broke_off {
                // Its error is returned when it is joined.
                return Ok(SessionEnd::Stopped);
            }
            if self.session.stream.stop.is_set() {
                let reason = Some("the sender was stopped".to_owned());
                self.session.control.writer.send(&ToReceiver::Ended { reason })?;
                return Ok(SessionEnd::Stopped);
            }
            match self.session.next(NAP)? {
                Some(ToSender::Active(active)) => {
                    orders.send(Order::Active(active)).ok();
                }
                Some(ToSender::Second(live)) => {
                    self.live.receiver = Some(live);
                    self.session.stream.watched.report(live);
                }
                Some(ToSender::Leave) => return Ok(SessionEnd::Left("it has finished".into())),
                Some(other) => return Err(nonsense(&other)),
                None => {}
            }
        }
    }

    /// Processes the thread's messages; returns the end of the stream, if that is among them.
    fn drain(
        &mut self,
        reports: &Inbox<Report>,
        watched: &Inbox<Vec<Record>>,
    ) -> Result<Option<SessionEnd>, Fault> {
        for record in watched.try_iter().flatten() {
            self.session.stream.watch.record(record);
        }
        let mut end = None;
        for report in reports.try_iter() {
            match report {
                Report::Second(second, used) => self.second(*second, used),
                Report::Quarter(quarter) => self.session.stream.watched.quarter(&quarter),
                Report::Rtt(rtt_ns) => self.session.control.writer.send(&ToReceiver::Rtt { rtt_ns })?,
                Report::Flow(flow, change) => self.flow(flow.0, change)?,
                Report::Format(format) => self.format(format),
                Report::Hash(frame, hash) => self.hashes.push((frame, hash)),
                Report::Stopped(broken) => {
                    let reason = Some(broken.to_string());
                    self.session.control.writer.send(&ToReceiver::Ended { reason })?;
                    return Err(StreamError::from(broken).into());
                }
                Report::Ended(error) => {
                    let reason = error.as_ref().map(StreamError::to_string);
                    self.say_hashes()?;
                    self.session.control.writer.send(&ToReceiver::Ended { reason })?;
                    if let Some(error) = error {
                        return Err(error.into());
                    }
                    end = Some(SessionEnd::StreamOver);
                }
            }
        }
        self.say_hashes()?;
        Ok(end)
    }

    /// Sends the receiver the reason of the end, if it is still connected.
    fn say_why(&self, error: &StreamError) {
        let reason = Some(error.to_string());
        self.session
            .control
            .writer
            .send(&ToReceiver::Ended { reason })
            .ok();
    }

    fn say_hashes(&mut self) -> Result<(), ControlError> {
        if self.hashes.is_empty() {
            return Ok(());
        }
        let hashes = std::mem::take(&mut self.hashes);
        self.session.control.writer.send(&ToReceiver::Hashes(hashes))
    }

    fn flow(&mut self, flow: u16, change: FlowChange) -> Result<(), ControlError> {
        let unused = match change {
            FlowChange::Silent => Some("silent"),
            FlowChange::Losing | FlowChange::StillBad => Some("losing"),
            FlowChange::Back => None,
        };
        self.session.stream.watched.flow(flow, unused);
        let row = FlowRow {
            unix_ns: weir_net::clock::unix_ns(),
            sender: 0,
            flow,
            state: unused.unwrap_or("used").to_owned(),
        };
        let message = ToReceiver::Flow {
            unix_ns: row.unix_ns,
            flow,
            state: row.state.clone(),
        };
        self.session.stream.summary.flow_changes += 1;
        self.session.stream.watch.record(Record::FlowChange(row));
        self.session.control.writer.send(&message)
    }

    fn format(&mut self, format: VideoFormat) {
        self.session.stream.format = Some(format);
        self.session
            .stream
            .happened(EventKind::Format, format!("the format changes to {format}"));
    }

    fn second(&mut self, second: SendSecond, used: u16) {
        let summary = &mut self.session.stream.summary;
        summary.counts.add(&second.counts);
        summary.duration_ns += second.duration_ns;
        summary.cpu_ns += second.cpu_ns;
        self.live = SendLive {
            rate: Rate::of(second.counts.bytes, second.duration_ns).0,
            frames: summary.counts.frames,
            skipped: summary.counts.frames_skipped,
            sources: second.counts.sources,
            repairs: second.counts.repairs,
            retransmitted: second.counts.retransmitted,
            flows: (used, self.flows),
            rtt_ns: second.receiver_rtt_ns,
            receiver: self.live.receiver,
        };
        let stream = &self.session.stream;
        stream.watch.record(Record::SendSecond(second));
        stream.watch.live(&Live::Sending(self.live));
        stream.watched.show(stream.summary, &self.live);
    }
}

fn nonsense(message: &ToSender) -> Fault {
    let text = format!("{message:?}");
    let name = text.split(['(', '{', ' ']).next().unwrap_or_default();
    ControlError::Message(format!(
        "unexpected message {name}; do both ends run the same version of Weir?"
    ))
    .into()
}

/// UDP payload of a packet: `--length`, or the interface's MTU.
fn length(config: &SendConfig, peer: SocketAddr) -> Result<u32, StreamError> {
    let mtu = weir_net::host::route_mtu(peer.ip());
    let most = mtu.map_or(MOST_LENGTH, |mtu| largest_payload(peer.ip(), mtu));
    let length = config.length.unwrap_or(most.min(MOST_LENGTH));
    if length > most {
        return Err(StreamError::Parameters(format!(
            "--length {length} does not fit the interface to {}: give at most {most}",
            peer.ip()
        )));
    }
    if length <= PACKET_OVERHEAD {
        return Err(StreamError::Parameters(format!(
            "--length {length} is too short for video; give more than {PACKET_OVERHEAD}"
        )));
    }
    Ok(length)
}

/// The window covers at most three quarters of the budget: later repairs arrive too late.
fn adaptive_limits(packets_per_second: f64, latency_ns: u64, most_overhead: f64) -> AdaptiveLimits {
    let within = packets_per_second * latency_ns as f64 / 1e9 * 0.75;
    AdaptiveLimits {
        window: (within as u16).clamp(4, LONGEST_WINDOW),
        most_overhead,
    }
}

fn sender_config(
    config: &SendConfig,
    agreed: &Agreed,
    (session, keys): (SessionId, &SessionKeys),
) -> SenderConfig {
    let terms = &agreed.terms;
    let frame_ns = terms.frame_ns;
    let latency_ns = agreed.want.latency_ns;
    // Frames kept for the budget and for the feedback's delay, and some that wait.
    let frames = (latency_ns + 50_000_000) / frame_ns.max(1) + 5;
    let largest = terms.frame_bytes.saturating_mul(frames).saturating_mul(2);
    SenderConfig {
        session,
        secrets: keys.stream(Role::Agent),
        flows: terms.flows,
        payload: terms.payload(),
        segments: config.segments.unwrap_or_else(|| usual_burst(terms.length)),
        pace: match config.pacing {
            Pacing::FrameRate => Pace::Rate { frame_ns },
            Pacing::Input => Pace::AsGiven { frame_ns },
        },
        latency_ns,
        fec: agreed.fec,
        arq: config.arq,
        most_bytes: usize::try_from(largest.clamp(64 << 20, MOST_BYTES)).unwrap_or(usize::MAX),
        breaker: config.breaker,
        seed: session.0,
        first_number: 0,
    }
}
