//! Drives the path MTU search over a socket, and answers the other end's.

use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use weir_net::host::route_mtu;
use weir_net::{NetError, UdpOptions, UdpSocket, clock};
use weir_results::{Direction, MtuProbe as ProbeRecord, Record};
use weir_wire::{
    HELLO_LENGTH, Hello, HelloAck, Kind, MTU_HEADER_LENGTH, MtuAck, MtuProbe, SessionId, UdpKey, UnixNanos,
};

use super::{MtuReport, MtuRequest, MtuSearch, MtuSummary, Step, overhead};
use crate::control::{FromAgent, ToAgent};
use crate::{MeasureError, Session, Sink, Stop};

const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// How long an answer may take at least and at most; in between, several times the round trip.
const TIMEOUT_NS: (u64, u64) = (100_000_000, 2_000_000_000);
const NAP: Duration = Duration::from_millis(20);

/// Finds the path MTU in both directions.
///
/// # Errors
/// When the agent refuses or is lost, or no packet of any size comes through.
pub fn run(session: &mut Session, sink: &dyn Sink, stop: &Stop) -> Result<MtuSummary, MeasureError> {
    let timeout_ns = (4 * session.rtt().as_nanos() as u64).clamp(TIMEOUT_NS.0, TIMEOUT_NS.1);
    session.send(&ToAgent::Mtu(MtuRequest { timeout_ns }))?;
    let port = match session.receive(ANSWER_LIMIT)? {
        FromAgent::Ready(ready) if !ready.ports.is_empty() => ready.ports[0],
        other => return Err(session.unexpected("a ready responder", &other)),
    };
    let agent = session.agent_port(port);
    let socket = session.udp_socket(&UdpOptions::default())?;
    socket.connect(agent)?;
    let (sender, records) = std::sync::mpsc::channel();
    let prober = Prober {
        socket: &socket,
        peer: agent,
        session: session.id(),
        key: session.key(),
        direction: Direction::Forward,
        timeout_ns,
    };
    let forward = prober.search(&sender, stop)?;
    records
        .try_iter()
        .flatten()
        .for_each(|record| sink.record(record));
    // The other direction: this end answers, and says hello so that the agent knows where to send.
    let responder = Responder::start(socket, session.id(), session.key(), Some(agent))?;
    session.send(&ToAgent::Go)?;
    let reverse = loop {
        match session.receive(ANSWER_LIMIT)? {
            FromAgent::Mtu(report) => break report,
            FromAgent::Records(records) => records.into_iter().for_each(|record| sink.record(record)),
            other => return Err(session.unexpected("a path MTU", &other)),
        }
    };
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

/// One end of a search: where probes go and how long answers may take.
pub(crate) struct Prober<'a> {
    pub socket: &'a UdpSocket,
    pub peer: SocketAddr,
    pub session: SessionId,
    pub key: UdpKey,
    pub direction: Direction,
    pub timeout_ns: u64,
}

impl Prober<'_> {
    /// Searches the path MTU; each probe becomes a record.
    pub(crate) fn search(
        &self,
        records: &Sender<Vec<Record>>,
        stop: &Stop,
    ) -> Result<MtuReport, MeasureError> {
        let interface_mtu = route_mtu(self.peer.ip()).unwrap_or(1500).min(65_535);
        let timeout_ns = self.timeout_ns.clamp(TIMEOUT_NS.0, TIMEOUT_NS.1);
        let mut search = MtuSearch::new(interface_mtu, timeout_ns);
        self.socket.set_receive_timeout(NAP)?;
        loop {
            match search.next(clock::monotonic_ns()) {
                Step::Done(outcome) => {
                    return Ok(MtuReport {
                        path_mtu: outcome.path_mtu,
                        probes: outcome.probes,
                        interface_mtu,
                    });
                }
                Step::Probe {
                    probe,
                    size,
                    deadline_ns,
                } => {
                    let row = self.probe(probe, size, deadline_ns, stop)?;
                    match (row.acknowledged, row.refused_locally) {
                        (true, _) => search.on_acknowledged(size),
                        (false, true) => search.on_refused(),
                        (false, false) => search.on_lost(),
                    }
                    // Nobody left to take records means that the test is over.
                    let _ = records.send(vec![Record::MtuProbe(self.direction, row)]);
                    if stop.is_set() {
                        return Ok(MtuReport {
                            path_mtu: None,
                            probes: probe,
                            interface_mtu,
                        });
                    }
                }
            }
        }
    }

    fn probe(
        &self,
        probe: u32,
        size: u32,
        deadline_ns: u64,
        stop: &Stop,
    ) -> Result<ProbeRecord, MeasureError> {
        let mut row = ProbeRecord {
            unix_ns: clock::unix_ns(),
            size,
            ..ProbeRecord::default()
        };
        let mut packet = vec![0; (size - overhead(self.peer.ip())) as usize];
        let mut header = [0; MTU_HEADER_LENGTH];
        let sent = UnixNanos(row.unix_ns);
        MtuProbe {
            session: self.session,
            probe,
            size,
            sent,
        }
        .encode(&self.key, &mut header);
        packet[..MTU_HEADER_LENGTH].copy_from_slice(&header);
        match self.socket.send_to(&packet, self.peer) {
            Ok(_) => row.acknowledged = self.is_answered(probe, deadline_ns, stop)?,
            Err(error) if error.raw_os_error() == Some(weir_net::EMSGSIZE) => row.refused_locally = true,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(NetError::io("send a path MTU probe to", self.peer, error).into()),
        }
        Ok(row)
    }

    fn is_answered(&self, probe: u32, deadline_ns: u64, stop: &Stop) -> Result<bool, MeasureError> {
        let mut buffer = [0; 2048];
        while clock::monotonic_ns() < deadline_ns && !stop.is_set() {
            match self.socket.receive_blocking(&mut buffer) {
                Ok(Some((length, _, _))) => {
                    let ack = MtuAck::decode(&self.key, self.session, &buffer[..length]);
                    if ack.is_ok_and(|ack| ack.probe == probe) {
                        return Ok(true);
                    }
                }
                Ok(None) => {}
                Err(error) => return Err(NetError::io("receive on", self.socket.local(), error).into()),
            }
        }
        Ok(false)
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
            .map_err(|error| MeasureError::Internal(format!("cannot start a thread: {error}")))?;
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
                MtuAck {
                    session,
                    probe: probe.probe,
                    size: probe.size,
                    sent: probe.sent,
                }
                .encode(key, &mut ack);
                ack.to_vec()
            }),
            Ok((Kind::Hello, _)) => Hello::decode(key, session, datagram).ok().map(|hello| {
                let mut ack = [0; HELLO_LENGTH];
                HelloAck {
                    session,
                    flow: hello.flow,
                    flags: hello.flags,
                    nonce: hello.nonce,
                }
                .encode(key, &mut ack);
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
