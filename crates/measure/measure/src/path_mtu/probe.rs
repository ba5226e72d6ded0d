//! Drives the path MTU search over a socket, and answers the other end's.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_net::host::route_mtu;
use weir_net::{NetError, UdpOptions, UdpSocket, clock};
use weir_record::{Direction, Record};
use weir_wire::{
    HELLO_LENGTH, Hello, HelloAck, Kind, MTU_HEADER_LENGTH, MtuAck, MtuProbe, SessionId, UdpKey, UnixNanos,
};

use super::{LONGEST_NS, MtuProber, MtuReport, MtuSummary, overhead};
use crate::control::{FromAgent, READY_LIMIT, Stopped, ToAgent};
use crate::{MeasureError, Session, Sink, Stop};

/// How long the agent's report may take: its search, and what the control connection adds.
const ANSWER_LIMIT: Duration = Duration::from_nanos(LONGEST_NS + 20_000_000_000);
/// How often whoever waits looks up.
const NAP: Duration = Duration::from_millis(20);
/// The same for a search, whose probes are 5 ms apart.
const SHORT_NAP: Duration = Duration::from_millis(4);

/// Finds the path MTU in both directions. When it is stopped it gives what it has.
///
/// # Errors
/// When the agent refuses or is lost, or no packet of any size comes through.
pub fn run(session: &mut Session, sink: &dyn Sink, stop: &Stop) -> Result<MtuSummary, MeasureError> {
    session.send(&ToAgent::Mtu)?;
    let port = match session.receive(READY_LIMIT)? {
        FromAgent::Ready(ready) if !ready.ports.is_empty() => ready.ports[0],
        other => return Err(session.unexpected("a ready responder", &other)),
    };
    let agent = session.agent_port(port);
    let socket = session.udp_socket(&UdpOptions::default())?;
    socket.connect(agent)?;
    let prober = Prober {
        socket: &socket,
        peer: agent,
        session: session.id(),
        key: session.key(),
        direction: Direction::Forward,
    };
    let forward = prober.search(&mut |record| sink.record(record), stop)?;
    if stop.is_set() {
        session.send(&ToAgent::Stop(Stopped::default()))?;
        return Ok(MtuSummary {
            forward,
            reverse: MtuReport::default(),
        });
    }
    // The other direction: this end answers, and says hello so that the agent knows where to send.
    let responder = Responder::start(socket, session.id(), session.key(), Some(agent))?;
    session.send(&ToAgent::Go)?;
    let reverse = await_report(session, sink, stop)?;
    drop(responder);
    if forward.path_mtu.is_none() && !stop.is_set() {
        return Err(MeasureError::Blocked {
            peer: agent.to_string(),
            hint: "no packet of 576 bytes or more was answered; does a firewall let the agent's UDP ports (--udp-ports there) pass?"
                .into(),
        });
    }
    Ok(MtuSummary { forward, reverse })
}

/// Waits for the agent's search; one that is stopped ends soon.
fn await_report(session: &Session, sink: &dyn Sink, stop: &Stop) -> Result<MtuReport, MeasureError> {
    let deadline = Instant::now() + ANSWER_LIMIT;
    let mut asked_to_stop = false;
    while Instant::now() < deadline {
        match session.receive_within(NAP)? {
            Some(FromAgent::Mtu(report)) => return Ok(report),
            Some(FromAgent::Records(records)) => {
                records.into_iter().for_each(|record| sink.record(record));
            }
            Some(other) => return Err(session.unexpected("a path MTU", &other)),
            None => {}
        }
        if stop.is_set() && !asked_to_stop {
            session.send(&ToAgent::Stop(Stopped::default()))?;
            asked_to_stop = true;
        }
    }
    Err(session.lost("no answer to a request".into()))
}

/// One end of a search: where probes go.
pub(crate) struct Prober<'a> {
    pub socket: &'a UdpSocket,
    pub peer: SocketAddr,
    pub session: SessionId,
    pub key: UdpKey,
    pub direction: Direction,
}

impl Prober<'_> {
    /// Searches the path MTU; each probe becomes a record once its fate is known. A search that is stopped reports what
    /// came through until then.
    pub(crate) fn search(
        &self,
        record: &mut dyn FnMut(Record),
        stop: &Stop,
    ) -> Result<MtuReport, MeasureError> {
        let interface_mtu = route_mtu(self.peer.ip()).unwrap_or(1500).min(65_535);
        let mut core = MtuProber::new(self.direction, interface_mtu, clock::monotonic_ns());
        self.socket.set_receive_timeout(SHORT_NAP)?;
        while let Some(at) = core.next_wake().filter(|_| !stop.is_set()) {
            let now = clock::monotonic_ns();
            if now < at {
                self.take_answer(&mut core)?;
            } else if let Some((probe, size)) = core.wake(now, clock::unix_ns())
                && !self.probe(probe, size)?
            {
                core.refused(probe);
            }
            core.take_records().into_iter().for_each(&mut *record);
        }
        let report = core.finish();
        core.take_records().into_iter().for_each(record);
        Ok(report)
    }

    /// Sends a probe; returns false if the local host refuses to.
    fn probe(&self, probe: u32, size: u32) -> Result<bool, MeasureError> {
        let mut packet = vec![0; (size - overhead(self.peer.ip())) as usize];
        let mut header = [0; MTU_HEADER_LENGTH];
        let sent = UnixNanos(clock::unix_ns());
        MtuProbe {
            session: self.session,
            probe,
            size,
            sent,
        }
        .encode(&self.key, &mut header);
        packet[..MTU_HEADER_LENGTH].copy_from_slice(&header);
        match self.socket.send_to(&packet, self.peer) {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(weir_net::EMSGSIZE) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(true),
            Err(error) => Err(NetError::io("send a path MTU probe to", self.peer, error).into()),
        }
    }

    /// Waits for an answer, a short nap at most.
    fn take_answer(&self, core: &mut MtuProber) -> Result<(), MeasureError> {
        let mut buffer = [0; 2048];
        let received = self
            .socket
            .receive_blocking(&mut buffer)
            .map_err(|error| NetError::io("receive on", self.socket.local(), error))?;
        if let Some((length, _, _)) = received
            && let Ok(ack) = MtuAck::decode(&self.key, self.session, &buffer[..length])
        {
            core.acknowledged(ack.0.probe, clock::monotonic_ns());
        }
        Ok(())
    }
}

/// Answers path MTU probes with short acknowledgements, and hellos with as many bytes as they have.
pub(crate) struct Responder {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    shared: std::sync::Arc<std::sync::Mutex<Option<SocketAddr>>>,
}

impl Responder {
    /// Starts to answer on `socket`; with `greet`, says hello to that address until the responder ends.
    pub(crate) fn start(
        socket: UdpSocket,
        session: SessionId,
        key: UdpKey,
        greet: Option<SocketAddr>,
    ) -> Result<Self, MeasureError> {
        socket.set_receive_timeout(NAP)?;
        let stop = Stop::default();
        let shared = std::sync::Arc::default();
        let (ended, seen) = (stop.clone(), std::sync::Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("mtu-respond".into())
            .spawn(move || respond(&socket, session, &key, greet, &ended, &seen))
            .map_err(|error| MeasureError::thread(&error))?;
        Ok(Responder {
            stop,
            thread: Some(thread),
            shared,
        })
    }

    /// Where authentic packets have come from, once one has.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        *self
            .shared
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            // A responder that broke off has no more answers; the other end's search says so.
            let _ = thread.join();
        }
    }
}

fn respond(
    socket: &UdpSocket,
    session: SessionId,
    key: &UdpKey,
    greet: Option<SocketAddr>,
    stop: &Stop,
    seen: &std::sync::Mutex<Option<SocketAddr>>,
) {
    let mut buffer = vec![0; 65_536];
    let mut next_greeting = 0;
    while !stop.is_set() {
        let now = clock::monotonic_ns();
        if let Some(peer) = greet.filter(|_| now >= next_greeting) {
            next_greeting = now + 200_000_000;
            let mut hello = [0; HELLO_LENGTH];
            Hello {
                session,
                nonce: now,
                ..Hello::default()
            }
            .encode(key, &mut hello);
            // A greeting that is lost is followed by the next.
            let _ = socket.send_to(&hello, peer);
        }
        // An error is an ICMP answer to an earlier packet, and changes nothing here.
        let Ok(Some((length, source, _))) = socket.receive_blocking(&mut buffer) else {
            continue;
        };
        let datagram = &buffer[..length];
        let answer = match weir_wire::peek(datagram) {
            Ok((Kind::MtuProbe, _)) => MtuProbe::decode(key, session, datagram).ok().map(|probe| {
                let mut ack = [0; MTU_HEADER_LENGTH];
                MtuAck(probe).encode(key, &mut ack);
                ack.to_vec()
            }),
            Ok((Kind::Hello, _)) => Hello::decode(key, session, datagram).ok().map(|hello| {
                let mut ack = [0; HELLO_LENGTH];
                HelloAck(hello).encode(key, &mut ack);
                ack.to_vec()
            }),
            _ => None,
        };
        if let Some(answer) = answer {
            *seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(source);
            let _ = socket.send_to(&answer, source);
        }
    }
}
