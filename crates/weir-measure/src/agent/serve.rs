//! One session of an agent: takes what the client asks for, checks it against the limits, runs it, reports.

use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use weir_net::host::HostFacts;
use weir_net::{UdpOptions, UdpSocket};
use weir_results::{Direction, Record, Side};
use weir_wire::frame::Role;
use weir_wire::handshake::Established;
use weir_wire::{HELLO_LENGTH, Hello, HelloAck, SessionId};

use super::Shared;
use crate::clock_watch::ClockEstimate;
use crate::control::{
    Control, ControlError, FlowsReport, FromAgent, Ready, SILENCE_LIMIT, TcpReport, ToAgent,
};
use crate::flows::{
    FlowsRequest, Receiver, ReceiverPlan, SenderPlan, SenderThread, account_plan, join, spawn_sender,
};
use crate::host_watch::HostWatch;
use crate::path_mtu::{MtuRequest, Prober, Responder};
use crate::rtt::{Bounds, Reflector, RttRequest};
use crate::tcp_throughput::{AgentTcp, TcpRequest};
use crate::{MeasureError, Stop};

const NAP: Duration = Duration::from_millis(20);
/// How often what was measured is sent to the client.
const HAND_ON: Duration = Duration::from_millis(250);
/// A client that is to begin a test, or to end one whose time is over, has this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Records in one control message: about 200 bytes each, far below the longest frame.
const RECORDS_PER_MESSAGE: usize = 1000;

/// Why a session ended.
enum SessionEnd {
    /// The client left, or its connection broke.
    Control(ControlError),
    /// The agent is being stopped.
    Stopped,
}

impl From<ControlError> for SessionEnd {
    fn from(error: ControlError) -> Self {
        SessionEnd::Control(error)
    }
}

type Served<T> = Result<T, SessionEnd>;

struct Serving<'a> {
    control: Control<ToAgent>,
    established: Established,
    joined: Inbox<(u32, TcpStream)>,
    client: IpAddr,
    local: IpAddr,
    shared: &'a Shared,
    interface: Option<String>,
}

/// A session's place among those that the agent allows, given back however the session ends.
struct Place<'a> {
    session: SessionId,
    shared: &'a Shared,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shared.sessions().remove(&self.session);
    }
}

/// Serves one client until it leaves.
pub(super) fn serve(
    stream: TcpStream,
    established: Established,
    joined: Inbox<(u32, TcpStream)>,
    shared: &Arc<Shared>,
) {
    let place = Place {
        session: established.session,
        shared,
    };
    let peer = stream.peer_addr();
    let served = (|| -> Result<(), String> {
        let client = stream.peer_addr().map_err(|error| error.to_string())?.ip();
        let local = stream.local_addr().map_err(|error| error.to_string())?.ip();
        let host = HostFacts::read(Some(client));
        let interface = host.interface.clone();
        let control = Control::start(stream, &established.keys.control, Role::Agent, FromAgent::Beat)
            .map_err(|error| error.to_string())?;
        let mut serving = Serving {
            control,
            established,
            joined,
            client,
            local,
            shared,
            interface,
        };
        tracing::info!(%client, "session opened");
        match serving.run(host) {
            SessionEnd::Stopped | SessionEnd::Control(ControlError::Closed) => Ok(()),
            SessionEnd::Control(error) => Err(error.to_string()),
        }
    })();
    drop(place);
    let peer = peer.map_or_else(|_| "a client".to_owned(), |peer| peer.to_string());
    match served {
        Ok(()) => tracing::info!(peer, "session closed"),
        Err(reason) => tracing::warn!(peer, reason, "session broke off"),
    }
}

impl Serving<'_> {
    fn run(&mut self, host: HostFacts) -> SessionEnd {
        let welcome = FromAgent::Welcome {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            limits: self.shared.config.limits,
            host: Box::new(host),
        };
        if let Err(error) = self.control.writer.send(&welcome) {
            return error.into();
        }
        loop {
            let served = match self.next(NAP) {
                Ok(None | Some(ToAgent::Go | ToAgent::Stop(_))) => Ok(()),
                Ok(Some(request)) => self.serve_request(request),
                Err(end) => Err(end),
            };
            if let Err(end) = served {
                return end;
            }
        }
    }

    /// The next message but beats; none when nothing comes within `limit`.
    fn next(&self, limit: Duration) -> Served<Option<ToAgent>> {
        if self.shared.stop.is_set() {
            return Err(SessionEnd::Stopped);
        }
        match self.control.incoming.recv_timeout(limit) {
            Ok(Ok(ToAgent::Beat)) | Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(Ok(message)) => Ok(Some(message)),
            Ok(Err(error)) => Err(error.into()),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::Closed.into()),
        }
    }

    fn say(&self, message: &FromAgent) -> Served<()> {
        Ok(self.control.writer.send(message)?)
    }

    fn say_records(&self, records: Vec<Record>) -> Served<()> {
        for part in records.chunks(RECORDS_PER_MESSAGE) {
            self.say(&FromAgent::Records(part.to_vec()))?;
        }
        Ok(())
    }

    /// Runs one test; what the agent will not or cannot do is said to the client, and the session goes on.
    fn serve_request(&mut self, request: ToAgent) -> Served<()> {
        let outcome = match request {
            ToAgent::Rtt(request) => self.serve_rtt(&request),
            ToAgent::Flows(request) => self.serve_flows(request),
            ToAgent::Tcp(request) => self.serve_tcp(request),
            ToAgent::Mtu(request) => self.serve_mtu(&request),
            ToAgent::TcpReadings(_) | ToAgent::Go | ToAgent::Stop(_) | ToAgent::Beat => return Ok(()),
        };
        match outcome? {
            Ok(()) => Ok(()),
            Err(MeasureError::Refused(reason)) => self.say(&FromAgent::Refused { reason }),
            Err(error) => self.say(&FromAgent::Refused {
                reason: error.to_string(),
            }),
        }
    }

    fn socket(&self, options: &UdpOptions) -> Result<UdpSocket, MeasureError> {
        self.shared.ports.bind(self.local, options)
    }

    fn reflector(&self, max_length: u32) -> Result<Reflector, MeasureError> {
        let options = UdpOptions {
            receive_timestamps: true,
            receive_buffer: 4 << 20,
            ..UdpOptions::default()
        };
        let keys = &self.established.keys;
        Reflector::start(
            self.socket(&options)?,
            self.established.session,
            keys.udp,
            self.client,
            Bounds {
                max_length,
                max_rate: self.shared.config.limits.max_rate,
            },
        )
    }

    fn serve_rtt(&mut self, request: &RttRequest) -> Served<Result<(), MeasureError>> {
        let limits = &self.shared.config.limits;
        let opened = limits
            .check(Some(request.rate), request.duration_ns, request.max_length, 1)
            .and_then(|()| self.reflector(request.max_length));
        let reflector = match opened {
            Ok(reflector) => reflector,
            Err(error) => return Ok(Err(error)),
        };
        self.say(&FromAgent::Ready(Ready {
            ports: vec![reflector.port()],
            ..Ready::default()
        }))?;
        let (sender, records) = channel();
        let _watch = HostWatch::start(Side::Remote, self.interface.clone(), sender);
        let deadline = Instant::now() + Duration::from_nanos(request.duration_ns) + PATIENCE;
        loop {
            let message = self.next(HAND_ON)?;
            self.say_records(records.try_iter().flatten().collect())?;
            if matches!(message, Some(ToAgent::Stop(_))) || Instant::now() > deadline {
                self.say(&FromAgent::Rtt(reflector.finish()))?;
                return Ok(Ok(()));
            }
        }
    }

    fn serve_mtu(&mut self, request: &MtuRequest) -> Served<Result<(), MeasureError>> {
        let keys = self.established.keys.clone();
        let session = self.established.session;
        let opened = self.socket(&UdpOptions::default()).and_then(|socket| {
            let port = socket.local().port();
            Ok((port, Responder::start(socket, session, keys.udp, None)?))
        });
        let (port, responder) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        self.say(&FromAgent::Ready(Ready {
            ports: vec![port],
            ..Ready::default()
        }))?;
        if !self.await_go()? {
            return Ok(Ok(()));
        }
        // The client answers from the address of its hello, which has to be its host's.
        let greeted = Instant::now() + Duration::from_secs(5);
        let client = loop {
            match responder.peer() {
                Some(peer) if peer.ip() == self.client => break Some(peer),
                _ if Instant::now() > greeted => break None,
                _ => std::thread::sleep(NAP),
            }
        };
        drop(responder);
        let Some(client) = client else {
            return Ok(Ok(
                self.say(&FromAgent::Mtu(crate::path_mtu::MtuReport::default()))?
            ));
        };
        let options = UdpOptions::default();
        let (sender, records) = channel();
        let searched = UdpSocket::bind(std::net::SocketAddr::new(self.local, port), &options)
            .map_err(MeasureError::from)
            .and_then(|socket| {
                let prober = Prober {
                    socket: &socket,
                    peer: client,
                    session,
                    key: keys.udp,
                    direction: Direction::Reverse,
                    timeout_ns: request.timeout_ns,
                };
                prober.search(&sender, &self.shared.stop)
            });
        self.say_records(records.try_iter().flatten().collect())?;
        match searched {
            Ok(report) => Ok(Ok(self.say(&FromAgent::Mtu(report))?)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Waits for the client to say that it is ready; false when it gives up instead.
    fn await_go(&self) -> Served<bool> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.next(NAP)? {
                Some(ToAgent::Go) => return Ok(true),
                Some(ToAgent::Stop(_)) => return Ok(false),
                _ if Instant::now() > deadline => return Ok(false),
                _ => {}
            }
        }
    }

    fn serve_tcp(&mut self, request: TcpRequest) -> Served<Result<(), MeasureError>> {
        let limits = &self.shared.config.limits;
        let request = TcpRequest {
            max_rate: request.max_rate.min(limits.max_rate),
            ..request
        };
        if let Err(error) = limits.check(None, request.duration_ns, 1, request.streams) {
            return Ok(Err(error));
        }
        // Connections left over from an earlier test are not part of this one.
        self.joined.try_iter().for_each(drop);
        self.say(&FromAgent::Ready(Ready::default()))?;
        let mut streams = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while streams.len() < usize::from(request.streams) {
            match self.joined.recv_timeout(NAP) {
                Ok(joined) => streams.push(joined),
                Err(_) if Instant::now() > deadline => {
                    return Ok(Err(MeasureError::Refused(
                        "the TCP test connections did not come".into(),
                    )));
                }
                Err(_) => drop(self.next(Duration::ZERO)?),
            }
        }
        streams.sort_by_key(|(number, _)| *number);
        let streams = streams.into_iter().map(|(_, stream)| stream).collect();
        if !self.await_go()? {
            return Ok(Ok(()));
        }
        let stop = self.shared.stop.child();
        let mut test = match AgentTcp::start(request, streams, &stop) {
            Ok(test) => test,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            let message = self.next(NAP)?;
            let over = matches!(message, Some(ToAgent::Stop(_))) || test.is_overdue();
            if let Some(said) = test.poll(over) {
                self.say(&said)?;
            }
            if over {
                let bytes = test.finish();
                return Ok(Ok(self.say(&FromAgent::Tcp(TcpReport { bytes }))?));
            }
        }
    }

    fn serve_flows(&mut self, request: FlowsRequest) -> Served<Result<(), MeasureError>> {
        let stop = self.shared.stop.child();
        let opened = match self.open_flows(&request) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let outcome = self.run_flows(&request, opened, &stop);
        // Whatever ended the test, its threads end with it.
        stop.set();
        outcome
    }

    fn open_flows(&self, request: &FlowsRequest) -> Result<OpenFlows, MeasureError> {
        let plan = &request.plan;
        plan.check()?;
        let limits = &self.shared.config.limits;
        limits.check(plan.rate(), plan.duration_ns, plan.length, plan.flows)?;
        let receiving = UdpOptions {
            receive_buffer: plan.receive_buffer.min(64 << 20) as usize,
            merge_receive: plan.merge,
            receive_timestamps: true,
            ..UdpOptions::default()
        };
        let mut receivers = Vec::new();
        if plan.ways.forward() {
            for _ in 0..plan.flows {
                receivers.push(self.socket(&receiving)?);
            }
        }
        let sending = UdpOptions {
            send_buffer: 8 << 20,
            ..UdpOptions::default()
        };
        let source = plan.ways.reverse().then(|| self.socket(&sending)).transpose()?;
        Ok(OpenFlows {
            receivers,
            source,
            reflector: self.reflector(weir_wire::RTT_HEADER_LENGTH as u32)?,
        })
    }

    fn run_flows(
        &mut self,
        request: &FlowsRequest,
        opened: OpenFlows,
        stop: &Stop,
    ) -> Served<Result<(), MeasureError>> {
        let OpenFlows {
            receivers,
            source,
            reflector,
        } = opened;
        let ports: Vec<u16> = receivers.iter().map(|socket| socket.local().port()).collect();
        let ready = Ready {
            ports: ports.clone(),
            source_port: source.as_ref().map(|socket| socket.local().port()),
            clock_port: Some(reflector.port()),
            receive_buffer: receivers.first().map_or(0, UdpSocket::receive_buffer) as u64,
            merges: receivers.iter().all(UdpSocket::merges),
        };
        self.say(&FromAgent::Ready(ready))?;
        let destinations = match &source {
            Some(source) => self.await_hellos(source, request.plan.flows)?,
            None => Some(Vec::new()),
        };
        let (Some(destinations), true) = (destinations, self.await_go()?) else {
            return Ok(Ok(()));
        };

        let (sender, records) = channel();
        let watch = HostWatch::start(Side::Remote, self.interface.clone(), sender.clone());
        let keys = &self.established.keys;
        let limits = &self.shared.config.limits;
        let receiver = (!receivers.is_empty()).then(|| {
            let plan = ReceiverPlan {
                account: account_plan(&request.plan, Direction::Forward, ports, ClockEstimate::default()),
                session: self.established.session,
                key: keys.udp,
                max_rate: limits.max_rate,
                max_length: request.plan.length,
            };
            Receiver::start(plan, receivers, sender.clone(), stop.clone())
        });
        let sender_stop = stop.child();
        let sending = source.map(|socket| {
            let plan = SenderPlan {
                plan: request.plan.clone(),
                direction: Direction::Reverse,
                destinations,
                session: self.established.session,
                key: keys.udp,
                ceiling: limits.max_rate,
                max_bytes: u64::MAX,
            };
            spawn_sender(plan, socket, sender_stop.clone(), sender.clone())
        });
        drop(sender);
        let (receiver, sending) = match (receiver.transpose(), sending.transpose()) {
            (Ok(receiver), Ok(sending)) => (receiver, sending),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
        };
        let told = self.follow(
            request,
            receiver.as_ref(),
            sending.as_ref(),
            &records,
            &sender_stop,
        )?;
        let report = finish(receiver, sending, told, stop);
        drop(watch);
        reflector.finish();
        self.say_records(records.try_iter().flatten().collect())?;
        match report {
            Ok(report) => Ok(Ok(self.say(&FromAgent::Flows(Box::new(report)))?)),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Hands on records until the test is over: the client says so, the agent's sender is done, the receiver was
    /// overrun, or time is up. Returns the client's final counts.
    fn follow(
        &mut self,
        request: &FlowsRequest,
        receiver: Option<&Receiver>,
        sending: Option<&SenderThread>,
        records: &Inbox<Vec<Record>>,
        sender_stop: &Stop,
    ) -> Served<Option<(u64, Vec<u64>)>> {
        let deadline = Instant::now() + Duration::from_nanos(request.plan.duration_ns) + PATIENCE;
        let mut handed_on = Instant::now();
        loop {
            let message = self.next(NAP)?;
            if handed_on.elapsed() >= HAND_ON {
                handed_on = Instant::now();
                self.say_records(records.try_iter().flatten().collect())?;
            }
            let sent_all = sending.is_some_and(std::thread::JoinHandle::is_finished);
            match message {
                Some(ToAgent::Stop(stopped)) => {
                    if stopped.early {
                        sender_stop.set();
                    }
                    self.await_sender(sending, records, deadline)?;
                    let told = (stopped.sent, stopped.sent_per_flow);
                    let ceiling = self.shared.config.limits.max_rate;
                    return Ok(Some(told).filter(|told| request.plan.can_have_sent(told, ceiling)));
                }
                _ if receiver.is_none() && sent_all => return Ok(None),
                _ if receiver.is_some_and(Receiver::is_finished) => return Ok(None),
                _ if Instant::now() > deadline => {
                    sender_stop.set();
                    return Ok(None);
                }
                _ => {}
            }
        }
    }

    /// In a test both ways the client may be done a little before the agent's sender is.
    fn await_sender(
        &self,
        sending: Option<&SenderThread>,
        records: &Inbox<Vec<Record>>,
        deadline: Instant,
    ) -> Served<()> {
        while sending.is_some_and(|thread| !thread.is_finished()) && Instant::now() < deadline {
            self.next(NAP)?;
            self.say_records(records.try_iter().flatten().collect())?;
        }
        Ok(())
    }

    /// Learns where each flow of the reverse direction is to go, from authentic hellos of the client's host; none
    /// when they do not come. The first hello of a flow says it: a recorded one, sent again, moves nothing.
    fn await_hellos(&self, socket: &UdpSocket, flows: u16) -> Served<Option<Vec<std::net::SocketAddr>>> {
        let mut known = vec![None; usize::from(flows)];
        let deadline = Instant::now() + SILENCE_LIMIT;
        let mut buffer = [0; 2048];
        while Instant::now() < deadline {
            if self.shared.stop.is_set() {
                return Err(SessionEnd::Stopped);
            }
            let Ok(Some((length, source, _))) = socket.receive(&mut buffer) else {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            };
            let key = &self.established.keys.udp;
            let Ok(hello) = Hello::decode(key, self.established.session, &buffer[..length]) else {
                continue;
            };
            let Some(slot) = known.get_mut(usize::from(hello.flow.0)) else {
                continue;
            };
            if source.ip() != self.client || *slot.get_or_insert(source) != source {
                continue;
            }
            let ack = HelloAck {
                session: hello.session,
                flow: hello.flow,
                flags: hello.flags,
                nonce: hello.nonce,
            };
            let mut packet = [0; HELLO_LENGTH];
            ack.encode(key, &mut packet);
            // An acknowledgement that is lost is asked for again.
            let _ = socket.send_to(&packet, source);
            if known.iter().all(Option::is_some) {
                return Ok(Some(known.into_iter().flatten().collect()));
            }
        }
        Ok(None)
    }
}

/// Sockets of a test that has not begun.
struct OpenFlows {
    receivers: Vec<UdpSocket>,
    source: Option<UdpSocket>,
    reflector: Reflector,
}

fn finish(
    receiver: Option<Receiver>,
    sending: Option<SenderThread>,
    told: Option<(u64, Vec<u64>)>,
    stop: &Stop,
) -> Result<FlowsReport, MeasureError> {
    let sender = sending.map(join).transpose()?;
    let receiver = receiver.map(|receiver| receiver.finish(told)).transpose()?;
    stop.set();
    Ok(FlowsReport { receiver, sender })
}
