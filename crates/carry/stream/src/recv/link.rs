//! The control session with one sender: connects, negotiates, opens the flows' sockets, passes them to the receiving
//! thread, and connects again when the sender is disconnected.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox};
use std::time::{Duration, Instant};

use weir_control::{Control, ControlError, Family, Stop, connect, greet, resolve};
use weir_net::host::HostFacts;
use weir_net::{UdpOptions, UdpSocket};
use weir_protect::{Demand, StreamSecrets};
use weir_video::VideoFormat;
use weir_wire::frame::Role;
use weir_wire::{SessionId, Token};

use crate::messages::{Terms, ToReceiver, ToSender, Want};
use crate::{DEFAULT_SEND_PORT, RecvLive, SENDER, StreamError};

const NAP: Duration = Duration::from_millis(10);
/// Pause between attempts to connect.
const AGAIN: Duration = Duration::from_millis(500);

/// How late the receiving thread may be scheduled, beyond the latency.
const HELD_UP_NS: u64 = 100_000_000;
/// Bounds of a flow's receive buffer, bytes.
const LEAST_BUFFER: u64 = 4 << 20;
const MOST_BUFFER: u64 = 64 << 20;

/// A sender's address, and the request to it.
#[derive(Clone, Debug)]
pub(super) struct LinkPlan {
    pub index: u16,
    pub host: String,
    pub family: Family,
    pub token: Token,
    pub demand: Demand,
    pub latency_ns: u64,
    pub hashes: bool,
    /// Maximum number of packet threads.
    pub threads: u16,
    /// How long to try to connect at first; without limit after the first session.
    pub patience: Duration,
    pub receive_buffer: Option<usize>,
    pub merge: bool,
}

/// Messages to a link.
#[derive(Clone, Copy, Debug)]
pub(super) enum ToLink {
    Active(bool),
    Second(RecvLive),
}

/// Messages from a link, each with the sender's index.
pub(super) enum FromLink {
    /// A session: receive from its sockets.
    Open(Box<Opened>),
    Flow {
        unix_ns: u64,
        flow: u16,
        state: String,
    },
    /// Round-trip time to the sender, nanoseconds.
    Rtt(u64),
    Hashes(Vec<(u32, u64)>),
    /// The session ended; another may follow.
    Lost(String),
    /// The sender has ended the stream: the reason, or none at the end of the input.
    Ended(Option<String>),
    /// The sender does not exist, or refuses.
    Failed(StreamError),
}

/// A session that is ready.
pub(super) struct Opened {
    pub terms: Terms,
    pub session: SessionId,
    pub secrets: StreamSecrets,
    pub sockets: Vec<UdpSocket>,
    /// Round-trip time that the kernel measured during the handshake, nanoseconds.
    pub rtt_ns: u64,
    pub peer: SocketAddr,
}

/// How a session ended.
enum End {
    Stopped,
    Over(Option<String>),
    Refused(String),
}

pub(super) struct Link {
    pub plan: LinkPlan,
    pub orders: Inbox<ToLink>,
    pub messages: Outbox<(u16, FromLink)>,
    pub stop: Stop,
    pub active: bool,
}

impl Link {
    /// Runs until the stream is over, the sender cannot be reached, or `stop` is set.
    pub(super) fn run(mut self) {
        let began = Instant::now();
        let mut was_there = false;
        while !self.stop.is_set() {
            let mut is_there = false;
            let session = self.session(&mut is_there);
            was_there |= is_there;
            match session {
                Ok(End::Stopped) => return,
                Ok(End::Over(reason)) => return self.tell(FromLink::Ended(reason)),
                Ok(End::Refused(reason)) => return self.tell(FromLink::Failed(StreamError::FarEnd(reason))),
                Err(error) if is_there && may_pass(&error) => self.tell(FromLink::Lost(error.to_string())),
                Err(error) if may_pass(&error) && (was_there || began.elapsed() < self.plan.patience) => {
                    tracing::debug!(host = self.plan.host, %error, "trying again");
                }
                Err(error) => return self.tell(FromLink::Failed(error)),
            }
            let again = Instant::now() + AGAIN;
            while Instant::now() < again && !self.stop.is_set() {
                std::thread::sleep(NAP);
            }
        }
    }

    fn tell(&self, message: FromLink) {
        // A receiver that has ended needs no more messages.
        self.messages.send((self.plan.index, message)).ok();
    }

    fn session(&mut self, is_there: &mut bool) -> Result<End, StreamError> {
        let address = resolve(&self.plan.host, DEFAULT_SEND_PORT, self.plan.family)?;
        let connected = connect(address, &self.plan.token, self.plan.demand, SENDER)?;
        let rtt_ns = weir_net::tcp::read(&connected.stream).map_or(1_000_000, |it| it.rtt_ns);
        let lost = |error: std::io::Error| StreamError::FarEnd(error.to_string());
        let local = connected.stream.local_addr().map_err(lost)?;
        let keys = connected.established.keys;
        let control: Control<ToReceiver> =
            Control::start(connected.stream, &keys.control, Role::Client, ToSender::Beat).map_err(lost)?;
        control.writer.send(&ToSender::Want(Box::new(Want {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: HostFacts::read(Some(address.ip())),
            latency_ns: self.plan.latency_ns,
            hashes: self.plan.hashes,
            threads: self.plan.threads,
        })))?;
        let terms = match self.await_terms(&control)? {
            Ok(terms) => terms,
            Err(end) => return Ok(end),
        };
        let sockets = self.sockets(local, address, &terms)?;
        if !greet(&sockets, connected.established.session, &keys.udp)? {
            return Err(StreamError::Blocked {
                peer: address.ip().to_string(),
                hint: "the sender did not answer the hello of every flow; do firewalls allow its UDP port (--media-port there)?",
            });
        }
        self.tell(FromLink::Open(Box::new(Opened {
            terms,
            session: connected.established.session,
            secrets: keys.stream(Role::Client),
            sockets,
            rtt_ns,
            peer: address,
        })));
        *is_there = true;
        control.writer.send(&ToSender::Go { active: self.active })?;
        self.follow(&control)
    }

    /// The next message except keepalives; none if none arrives within `limit`.
    fn next(control: &Control<ToReceiver>, limit: Duration) -> Result<Option<ToReceiver>, ControlError> {
        match control.incoming.recv_timeout(limit) {
            Ok(Ok(ToReceiver::Beat)) | Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(message) => message.map(Some),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::Closed),
        }
    }

    /// The sender's terms, or the end. There is no limit on how long a live sender waits for its input.
    fn await_terms(&mut self, control: &Control<ToReceiver>) -> Result<Result<Terms, End>, StreamError> {
        while !self.stop.is_set() {
            match Self::next(control, NAP)? {
                Some(ToReceiver::Terms(terms)) => return check(*terms, self.plan.threads).map(Ok),
                Some(ToReceiver::Refused { reason }) => return Ok(Err(End::Refused(reason))),
                Some(ToReceiver::Ended { reason }) => return Ok(Err(End::Over(reason))),
                Some(other) => return Err(nonsense(&other)),
                None => self.take_orders(control, false)?,
            }
        }
        control.writer.send(&ToSender::Leave)?;
        Ok(Err(End::Stopped))
    }

    /// A socket for each flow, so that flows differ in their destination port.
    fn sockets(
        &self,
        local: SocketAddr,
        sender: SocketAddr,
        terms: &Terms,
    ) -> Result<Vec<UdpSocket>, StreamError> {
        let options = UdpOptions {
            receive_buffer: self
                .plan
                .receive_buffer
                .unwrap_or_else(|| enough_buffer(terms, self.plan.latency_ns)),
            merge_receive: self.plan.merge,
            ..UdpOptions::default()
        };
        let mut sockets = Vec::new();
        for flow in 0..usize::from(terms.flows) {
            let socket = UdpSocket::bind(SocketAddr::new(local.ip(), 0), &options)?;
            let port = terms.ports.get(flow).or(terms.ports.first()).copied();
            socket.connect(SocketAddr::new(sender.ip(), port.unwrap_or(0)))?;
            sockets.push(socket);
        }
        Ok(sockets)
    }

    fn take_orders(&mut self, control: &Control<ToReceiver>, connected: bool) -> Result<(), ControlError> {
        while let Ok(order) = self.orders.try_recv() {
            let message = match order {
                ToLink::Active(active) => {
                    self.active = active;
                    ToSender::Active(active)
                }
                ToLink::Second(live) => ToSender::Second(live),
            };
            if connected {
                control.writer.send(&message)?;
            }
        }
        Ok(())
    }

    fn follow(&mut self, control: &Control<ToReceiver>) -> Result<End, StreamError> {
        loop {
            if self.stop.is_set() {
                // Fails only where the connection is gone already.
                control.writer.send(&ToSender::Leave).ok();
                return Ok(End::Stopped);
            }
            self.take_orders(control, true)?;
            match Self::next(control, NAP)? {
                Some(ToReceiver::Flow { unix_ns, flow, state }) => {
                    self.tell(FromLink::Flow { unix_ns, flow, state });
                }
                Some(ToReceiver::Rtt { rtt_ns }) => self.tell(FromLink::Rtt(rtt_ns)),
                Some(ToReceiver::Hashes(hashes)) => self.tell(FromLink::Hashes(hashes)),
                Some(ToReceiver::Ended { reason }) => return Ok(End::Over(reason)),
                Some(other) => return Err(nonsense(&other)),
                None => {}
            }
        }
    }
}

/// Whether a retry may succeed.
fn may_pass(error: &StreamError) -> bool {
    use weir_control::ConnectError::{Handshake, Unreachable};
    match error {
        StreamError::Control(_) | StreamError::Blocked { .. } => true,
        StreamError::Connect(Unreachable { .. }) => true,
        // Another receiver's session may end. A wrong token stays wrong.
        StreamError::Connect(Handshake { reason, .. }) => !["token", "version", "--protect"]
            .iter()
            .any(|word| reason.contains(word)),
        _ => false,
    }
}

/// Checks the sender's values before use.
fn check(terms: Terms, most_threads: u16) -> Result<Terms, StreamError> {
    let flows = 1..=weir_wire::MAX_FEEDBACK_FLOWS;
    let fits = flows.contains(&usize::from(terms.flows))
        && (1..=most_threads.min(terms.flows)).contains(&terms.threads)
        && (weir_stream_proto::PACKET_OVERHEAD + 1..=65_507).contains(&terms.length)
        && (terms.ports.len() == 1 || terms.ports.len() == usize::from(terms.flows))
        && !terms.ports.contains(&0)
        && (1..=10_000_000_000).contains(&terms.frame_ns)
        && (1..=weir_video::MAX_FRAME_BYTES).contains(&terms.frame_bytes)
        && terms
            .fec_window
            .is_none_or(|window| window <= weir_fec::MAX_WINDOW);
    if fits {
        Ok(terms)
    } else {
        Err(StreamError::FarEnd(
            "the sender's parameters are not valid; do both ends run the same version of Weir?".into(),
        ))
    }
}

fn nonsense(message: &ToReceiver) -> StreamError {
    let text = format!("{message:?}");
    let name = text.split(['(', '{', ' ']).next().unwrap_or_default();
    StreamError::FarEnd(format!(
        "unexpected message {name} from the sender; do both ends run the same version of Weir?"
    ))
}

/// A receive buffer for a flow that holds the packets of a thread delay. The kernel counts a packet as up to twice its
/// length.
fn enough_buffer(terms: &Terms, latency_ns: u64) -> usize {
    let frame_bytes = VideoFormat::from_media_type(terms.format.as_bytes()).map_or(0, |it| it.frame_bytes());
    let span_ns = u128::from(latency_ns.saturating_add(HELD_UP_NS));
    let bytes = 2 * frame_bytes as u128 * span_ns / u128::from(terms.frame_ns.max(1));
    let each = u64::try_from(bytes / u128::from(terms.flows.max(1))).unwrap_or(u64::MAX);
    each.clamp(LEAST_BUFFER, MOST_BUFFER) as usize
}
