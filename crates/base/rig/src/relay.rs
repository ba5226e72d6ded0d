//! A man in the middle of the link: UDP between the client here and the agent on the far host passes through a
//! thread of the test, which sees every datagram and forwards, changes or drops it. Address translation by nftables
//! redirects the client's datagrams to it, and its replies back, without either end's knowledge.
//!
//! Fields are read at the offsets that docs/wire-protocol.md gives, not with the code under test.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{FAR_IPV4, Host, NEAR_IPV4, nft};

/// First UDP port of the agent (give it `--udp-ports 5000..5019`), and of the relay.
const AGENT_PORT: u16 = 5000;
const RELAY_PORT: u16 = 7000;
const PORTS: u16 = 20;

/// Kinds of packets (docs/wire-protocol.md): a request of `weir rtt`.
pub const RTT_REQUEST: u8 = 1;
/// Its reply.
pub const RTT_REPLY: u8 = 2;
const FLOW_DATA: u8 = 3;
/// The answer to a flow's greeting.
pub const HELLO_ACK: u8 = 5;
/// A probe of the path MTU search.
pub const MTU_PROBE: u8 = 6;

/// A datagram on its way.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// From the client to the agent.
    pub forward: bool,
    /// The agent's port.
    pub port: u16,
    /// From the header on.
    pub bytes: Vec<u8>,
}

impl Datagram {
    /// Kind of packet.
    pub fn kind(&self) -> u8 {
        self.bytes[3]
    }

    /// Sequence in the whole stream or test.
    pub fn sequence(&self) -> u32 {
        u32::from_be_bytes(self.bytes[12..16].try_into().expect("four bytes"))
    }

    /// A packet of a flow, on its way to the agent.
    pub fn is_flow_data(&self) -> bool {
        self.kind() == FLOW_DATA && self.forward
    }
}

/// A running relay; ends when dropped.
pub struct Relay {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts to relay. `decide` is given every datagram and says what goes on in its place, in that order:
    /// nothing, itself, or others that it kept back before.
    #[track_caller]
    pub fn start(decide: impl FnMut(Datagram) -> Vec<Datagram> + Send + 'static) -> Self {
        Relay::start_over(Duration::ZERO, decide)
    }

    /// As [`Relay::start`], over a path that takes this long each way.
    #[track_caller]
    pub fn start_over(
        delay: Duration,
        decide: impl FnMut(Datagram) -> Vec<Datagram> + Send + 'static,
    ) -> Self {
        let last = RELAY_PORT + PORTS - 1;
        let ports: Vec<String> = (0..PORTS)
            .map(|port| format!("{} : {}", AGENT_PORT + port, RELAY_PORT + port))
            .collect();
        nft(Host::Near, "add table ip relay");
        nft(
            Host::Near,
            "add chain ip relay out { type nat hook output priority -100; }",
        );
        // What the relay and the tests' intruders send themselves goes straight to the agent.
        nft(Host::Near, "add rule ip relay out udp sport 7000-7999 accept");
        nft(
            Host::Near,
            &format!(
                "add rule ip relay out ip daddr {FAR_IPV4} udp dport {AGENT_PORT}-{} dnat to {NEAR_IPV4} : udp dport \
                 map {{ {} }}",
                AGENT_PORT + PORTS - 1,
                ports.join(", ")
            ),
        );
        let sockets = (RELAY_PORT..=last).map(|port| {
            let socket = UdpSocket::bind((NEAR_IPV4, port)).expect("a port for the relay");
            socket
                .set_nonblocking(true)
                .expect("a socket that does not block");
            socket
        });
        let lanes: Vec<Lane> = sockets
            .zip(AGENT_PORT..)
            .map(|(socket, port)| Lane {
                socket,
                agent: SocketAddr::new(FAR_IPV4.parse().expect("an address"), port),
                client: None,
            })
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let thread = std::thread::spawn(move || pass_on(lanes, delay, decide, &ended));
        Relay {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let broke_off = self.thread.take().is_some_and(|thread| thread.join().is_err());
        assert!(!broke_off || std::thread::panicking(), "the relay broke off");
    }
}

/// A socket that stands for one port of the agent.
struct Lane {
    socket: UdpSocket,
    agent: SocketAddr,
    client: Option<SocketAddr>,
}

fn pass_on(
    mut lanes: Vec<Lane>,
    delay: Duration,
    mut decide: impl FnMut(Datagram) -> Vec<Datagram>,
    over: &AtomicBool,
) {
    let mut buffer = vec![0; 65_536];
    let mut under_way: VecDeque<(Instant, usize, Datagram)> = VecDeque::new();
    while !over.load(Ordering::Relaxed) {
        let mut idle = true;
        for (number, lane) in lanes.iter_mut().enumerate() {
            while let Ok((length, source)) = lane.socket.recv_from(&mut buffer) {
                idle = false;
                let datagram = lane.took(&buffer[..length], source);
                for onward in decide(datagram) {
                    // Over a path without a delay what goes on is gone before the next is decided on.
                    if delay.is_zero() {
                        lane.send(&onward);
                    } else {
                        under_way.push_back((Instant::now() + delay, number, onward));
                    }
                }
            }
        }
        while under_way.front().is_some_and(|(due, ..)| *due <= Instant::now()) {
            idle = false;
            let (_, number, onward) = under_way.pop_front().expect("the front was there");
            lanes[number].send(&onward);
        }
        if idle {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Lane {
    fn took(&mut self, bytes: &[u8], source: SocketAddr) -> Datagram {
        let forward = source != self.agent;
        if forward {
            self.client = Some(source);
        }
        Datagram {
            forward,
            port: self.agent.port(),
            bytes: bytes.to_vec(),
        }
    }

    fn send(&self, onward: &Datagram) {
        let to = if onward.forward {
            Some(self.agent)
        } else {
            self.client
        };
        let sent = self.socket.send_to(&onward.bytes, to.expect("a client"));
        // An agent that has closed the port answers by ICMP; that is no fault of the relay.
        assert!(sent.is_ok() || sent.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionRefused));
    }
}
