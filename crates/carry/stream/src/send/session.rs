//! The session with one receiver: agrees on parameters, learns the destinations of the flows, and starts the sending
//! threads.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{RecvTimeoutError, Sender as Outbox, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use weir_control::{Admitted, Control, ControlError, Greeted, Stop};
use weir_measure::HostWatch;
use weir_net::{UdpOptions, UdpSocket};
use weir_record::Side;
use weir_stream_proto::Shares;
use weir_video::VideoFormat;
use weir_wire::frame::Role;
use weir_wire::{SessionId, SessionKeys};

use super::agreed::Agreed;
use super::data::{Data, DataPlan, Order, Report};
use super::divide::{Divider, Frames};
use super::following::Following;
use super::stream::Stream;
use crate::messages::{ToReceiver, ToSender, Want};
use crate::source::{FromSource, Source};
use crate::{StreamError, Threads};

const NAP: Duration = Duration::from_millis(10);
/// Time limit for the receiver's request, and for its sockets.
const PATIENCE: Duration = Duration::from_secs(20);
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
pub(super) enum Fault {
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

pub(super) struct Session<'a, 'b> {
    pub stream: &'a mut Stream<'b>,
    pub control: Control<ToSender>,
    id: SessionId,
    keys: SessionKeys,
    peer: SocketAddr,
    local: IpAddr,
}

impl Session<'_, '_> {
    fn run(mut self, source: &mut Source) -> Result<SessionEnd, Fault> {
        let Some(want) = self.await_want()? else {
            return Ok(SessionEnd::Stopped);
        };
        let Some(format) = self.await_format(source)? else {
            return Ok(SessionEnd::Stopped);
        };
        if let Some(reason) = self.cannot_serve(&want) {
            let refused = ToReceiver::Refused {
                reason: reason.clone(),
            };
            self.control.writer.send(&refused)?;
            return Ok(SessionEnd::Left(reason));
        }
        let (agreed, sockets) = match self.agree(want, format) {
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
    pub(super) fn next(&self, limit: Duration) -> Result<Option<ToSender>, ControlError> {
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

    /// Why this receiver cannot be served, where another could.
    fn cannot_serve(&self, want: &Want) -> Option<String> {
        let Threads::Exactly(count) = self.stream.config.threads else {
            return None;
        };
        (count > want.threads).then(|| {
            format!(
                "the sender has --threads {count}, and the receiver accepts {}: at most its --threads or its cores, and 1 with --join switch",
                want.threads
            )
        })
    }

    fn agree(&self, want: Want, format: VideoFormat) -> Result<(Agreed, Vec<UdpSocket>), StreamError> {
        let config = self.stream.config;
        let of_frames = (format, self.stream.frame_ns());
        let mut agreed = Agreed::with(config, (want, self.peer, self.keys.protection), of_frames)?;
        let sockets = self.sockets(agreed.shares)?;
        let port = |index: usize| sockets[index].local().port();
        agreed.terms.ports = match sockets.len() {
            1 => vec![port(0)],
            _ => (0..config.flows)
                .map(|flow| port(self.socket_of(flow, agreed.shares)))
                .collect(),
        };
        Ok((agreed, sockets))
    }

    /// The socket of a flow: that of its share, or its own.
    fn socket_of(&self, flow: u16, shares: Shares) -> usize {
        let config = self.stream.config;
        if config.source_ports {
            return flow.into();
        }
        let has = |share: &u16| shares.flows(*share, config.flows).contains(&flow);
        (0..shares.count()).find(has).unwrap_or(0).into()
    }

    /// One socket for each share, or one for each flow, at the address that the receiver connected to.
    fn sockets(&self, shares: Shares) -> Result<Vec<UdpSocket>, StreamError> {
        let config = self.stream.config;
        let options = UdpOptions {
            send_buffer: 8 << 20,
            receive_buffer: 1 << 20,
            ..UdpOptions::default()
        };
        let count = match config.source_ports {
            true => config.flows,
            false => shares.count(),
        };
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

    /// The sending threads' work, one for each share, and the channels of their orders.
    fn senders<'d>(
        &self,
        agreed: &Agreed,
        (sockets, destinations, active): (&'d [UdpSocket], &[SocketAddr], bool),
        frames: Vec<Frames<'d>>,
        reports: &Outbox<(u16, Report)>,
    ) -> Result<(Vec<Outbox<Order>>, Vec<Data<'d>>), StreamError> {
        let config = self.stream.config;
        let (mut orders, mut senders) = (Vec::new(), Vec::new());
        for (share, frames) in (0..).zip(frames) {
            let flows = agreed.shares.flows(share, agreed.terms.flows);
            let flows = flows.start.into()..flows.end.into();
            let own = usize::from(share);
            let plan = DataPlan {
                config: agreed.sender(config, (self.id, &self.keys), share),
                share,
                threads: agreed.shares.count(),
                destinations: destinations[flows.clone()].to_vec(),
                sockets: match config.source_ports {
                    true => &sockets[flows],
                    false => &sockets[own..=own],
                },
                segments: config.segmentation,
                format: agreed.format,
                active,
            };
            let (order, to_obey) = channel();
            senders.push(Data::new(plan, frames, to_obey, reports.clone())?);
            orders.push(order);
        }
        Ok((orders, senders))
    }

    fn carry(
        &mut self,
        agreed: &Agreed,
        (sockets, destinations, active): (&[UdpSocket], Vec<SocketAddr>, bool),
        source: &mut Source,
    ) -> Result<SessionEnd, Fault> {
        let (records, watched) = channel();
        let interface = weir_net::host::interface_towards(self.peer.ip());
        let _watch = HostWatch::start(Side::Local, interface, records).map_err(StreamError::from)?;
        let (divider, frames) = match agreed.shares.count() {
            1 => (None, vec![Frames::Whole(source)]),
            _ => {
                let (divider, frames) = Divider::new(source, agreed.shares);
                (Some(divider), frames)
            }
        };
        let (outbox, reports) = channel();
        let (orders, senders) = self.senders(agreed, (sockets, &destinations, active), frames, &outbox)?;
        self.stream.summary.format = Some(agreed.format.to_string());
        self.stream.summary.threads = agreed.shares.count();
        self.stream
            .watched
            .join(agreed.fec.is_some(), agreed.want.latency_ns);
        let over = Stop::default();
        std::thread::scope(|scope| {
            // However the session ends, its threads end with it.
            let ending = Ending(&over, &orders);
            if let Some(divider) = divider {
                let over = &over;
                spawn(scope, "divide", move || divider.run(over))?;
            }
            let threads = senders
                .into_iter()
                .map(|data| spawn(scope, "send", move || data.run()))
                .collect::<Result<Vec<_>, _>>()?;
            let mut following = Following::new(self, agreed.shares, agreed.terms.flows);
            let finished = || threads.iter().filter(|thread| thread.is_finished()).count();
            let followed = following.follow(&orders, &reports, &watched, &finished);
            // Messages until their end are processed.
            drop(ending);
            let failed = || Err(StreamError::Internal("the sending thread failed".into()));
            let sent = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| failed()));
            let sent = sent.fold(Ok(()), Result::and);
            let last = following.finish(&reports, &watched);
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

/// Ends the threads of a session when it is dropped.
struct Ending<'a>(&'a Stop, &'a [Outbox<Order>]);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.set();
        for orders in self.1 {
            orders.send(Order::Leave).ok();
        }
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, StreamError> {
    let thread = std::thread::Builder::new().name(name.into());
    thread
        .spawn_scoped(scope, work)
        .map_err(|error| StreamError::thread(&error))
}

pub(super) fn nonsense(message: &ToSender) -> Fault {
    let text = format!("{message:?}");
    let name = text.split(['(', '{', ' ']).next().unwrap_or_default();
    ControlError::Message(format!(
        "unexpected message {name}; do both ends run the same version of Weir?"
    ))
    .into()
}
