//! Hellos of a session's UDP flows: they give the sender the destination of each flow, and open address translation on
//! the path. It must not know what the flows carry.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use weir_net::UdpSocket;
use weir_wire::{FlowId, HELLO_LENGTH, Hello, HelloAck, SessionId, UdpKey};

use crate::{ConnectError, nonce};

/// Maximum number of times that a hello is sent.
const TRIES: u32 = 25;
/// Hellos read before the caller checks the control connection again.
const HELLOS_AT_ONCE: u32 = 256;

/// Sends a hello from each flow's socket, which is connected to the peer, until all are acknowledged; false when some
/// were not within 2.4 s.
///
/// # Errors
/// When the system returns no random numbers.
pub fn greet(sockets: &[UdpSocket], session: SessionId, key: &UdpKey) -> Result<bool, ConnectError> {
    let [a, b, c, d, e, f, g, h, ..] = nonce()?;
    let nonce = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let mut answered = vec![false; sockets.len()];
    for attempt in 0..TRIES {
        for (flow, socket) in sockets.iter().enumerate().filter(|(flow, _)| !answered[*flow]) {
            let hello = Hello {
                session,
                flow: FlowId(flow as u16),
                nonce,
                ..Hello::default()
            };
            let mut packet = [0; HELLO_LENGTH];
            hello.encode(key, &mut packet);
            // A hello that is lost or refused is sent again.
            let _ = socket.send(&packet);
        }
        std::thread::sleep(Duration::from_millis(if attempt == 0 { 10 } else { 100 }));
        let mut buffer = [0; 256];
        for (flow, socket) in sockets.iter().enumerate() {
            while let Ok(Some((length, _, _))) = socket.receive(&mut buffer) {
                // An acknowledgement of an earlier test's hello does not count.
                answered[flow] |=
                    HelloAck::decode(key, session, &buffer[..length]).is_ok_and(|ack| ack.0.nonce == nonce);
            }
        }
        if answered.iter().all(|answered| *answered) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The source addresses of a client's flows, from their hellos.
#[derive(Debug)]
pub struct Greeted {
    session: SessionId,
    key: UdpKey,
    client: IpAddr,
    known: Vec<Option<SocketAddr>>,
}

impl Greeted {
    /// No flows yet; only hellos from `client` count.
    pub fn new(session: SessionId, key: UdpKey, client: IpAddr, flows: u16) -> Self {
        Greeted {
            session,
            key,
            client,
            known: vec![None; usize::from(flows)],
        }
    }

    /// The destination of each flow; none until all flows sent a hello.
    pub fn destinations(&self) -> Option<Vec<SocketAddr>> {
        self.known.iter().copied().collect()
    }

    /// Answers the hellos that have arrived.
    pub fn answer(&mut self, socket: &UdpSocket) {
        let mut buffer = [0; 2048];
        for _ in 0..HELLOS_AT_ONCE {
            let Ok(Some((length, source, _))) = socket.receive(&mut buffer) else {
                return;
            };
            if let Some(ack) = self.take(&buffer[..length], source) {
                let mut packet = [0; HELLO_LENGTH];
                ack.encode(&self.key, &mut packet);
                // After a lost acknowledgement the client sends its hello again.
                let _ = socket.send_to(&packet, source);
            }
        }
    }

    /// The acknowledgement of a hello that counts. The first hello of a flow sets its address: one that was recorded
    /// and is replayed from elsewhere changes nothing.
    fn take(&mut self, datagram: &[u8], source: SocketAddr) -> Option<HelloAck> {
        let hello = Hello::decode(&self.key, self.session, datagram).ok()?;
        let slot = self.known.get_mut(usize::from(hello.flow.0))?;
        let counts = source.ip() == self.client && *slot.get_or_insert(source) == source;
        counts.then_some(HelloAck(hello))
    }
}
