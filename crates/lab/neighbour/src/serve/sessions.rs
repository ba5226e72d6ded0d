//! The server's side of datagrams: who has asked for what, and what is due to whom. Packets and times go in, packets
//! come out; it must not know sockets.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use weir_wire::UdpKey;

use crate::LONGEST_NS;
use crate::game::FrameSizes;
use crate::now::Now;
use crate::packet::{DATA_LENGTH, Data, FRAME_LENGTH, Frame, Refusal, ToClient, ToServer};
use crate::traffic::{Asked, SECOND_NS, Traffic, VOICE_LENGTH};

/// A client that is not heard for so long is gone.
const SILENCE_NS: u64 = 3 * SECOND_NS;
/// Interval at which the end is announced, until the client says goodbye or is gone.
const DONE_EVERY_NS: u64 = 50_000_000;
/// Packets that one call of [`Sessions::wake`] sends for one session: what was due while the host was busy.
const MOST_AT_ONCE: u64 = 1_024;

/// What a server grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// UDP payload to one client, bits per second.
    pub max_rate: u64,
    /// Time of one request, nanoseconds; at most one hour is granted.
    pub max_duration_ns: u64,
    /// Clients of datagrams, and connections, at the same time.
    pub max_sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_rate: 200_000_000,
            max_duration_ns: LONGEST_NS,
            max_sessions: 64,
        }
    }
}

impl Limits {
    fn check(&self, asked: Asked, sessions: usize) -> Result<(), Refusal> {
        let longest_ns = self.max_duration_ns.min(LONGEST_NS);
        if asked.traffic.rate() > self.max_rate {
            Err(Refusal::Rate(self.max_rate))
        } else if asked.duration_ns > longest_ns {
            Err(Refusal::Duration(longest_ns))
        } else if sessions >= self.max_sessions {
            Err(Refusal::Sessions(self.max_sessions as u64))
        } else {
            Ok(())
        }
    }
}

/// All clients of datagrams.
#[derive(Debug)]
pub struct Sessions {
    key: UdpKey,
    limits: Limits,
    sessions: BTreeMap<SocketAddr, Session>,
    packet: Vec<u8>,
}

#[derive(Debug)]
struct Session {
    nonce: u64,
    asked: Asked,
    started: Now,
    last_heard_ns: u64,
    newest_input: u32,
    /// Packets, of a game frames, that have been sent.
    sent: u64,
    packets: u32,
    refused: u32,
    sizes: Option<FrameSizes>,
    next_done_ns: u64,
}

impl Sessions {
    /// Nobody yet. `key` makes the tokens and must be secret and new for each server.
    pub fn new(key: [u8; 16], limits: Limits) -> Self {
        Sessions {
            key: UdpKey::new(key),
            limits,
            sessions: BTreeMap::new(),
            packet: Vec::new(),
        }
    }

    /// What shows that a client received what was sent to its address.
    fn token(&self, client: SocketAddr, nonce: u64) -> u64 {
        let address = match client.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let mut text = [0; 26];
        text[..16].copy_from_slice(&address.octets());
        text[16..18].copy_from_slice(&client.port().to_be_bytes());
        text[18..].copy_from_slice(&nonce.to_be_bytes());
        self.key.tag(&text)
    }

    /// Takes a datagram from `client`; gives the answer, if there is one. An answer is never longer than its question.
    pub fn on_datagram(&mut self, client: SocketAddr, datagram: &[u8], now: Now) -> Option<ToClient> {
        let packet = ToServer::decode(datagram).ok()?;
        let (nonce, token) = match packet {
            ToServer::Ask { nonce } => {
                let token = self.token(client, nonce);
                return Some(ToClient::Token { nonce, token });
            }
            ToServer::Start { nonce, token, .. }
            | ToServer::Here { nonce, token, .. }
            | ToServer::Bye { nonce, token } => (nonce, token),
        };
        if token != self.token(client, nonce) {
            return None;
        }
        match packet {
            ToServer::Start { asked, .. } => self.start(client, nonce, asked, now),
            ToServer::Here { input, .. } => {
                if let Some(session) = self.of(client, nonce) {
                    session.last_heard_ns = now.monotonic_ns;
                    session.newest_input = session.newest_input.max(input);
                }
                None
            }
            ToServer::Bye { .. } => {
                if self.of(client, nonce).is_some() {
                    self.sessions.remove(&client);
                }
                None
            }
            ToServer::Ask { .. } => None,
        }
    }

    fn of(&mut self, client: SocketAddr, nonce: u64) -> Option<&mut Session> {
        self.sessions
            .get_mut(&client)
            .filter(|session| session.nonce == nonce)
    }

    fn start(&mut self, client: SocketAddr, nonce: u64, asked: Asked, now: Now) -> Option<ToClient> {
        // The first datagrams were lost, or are on their way.
        if self.of(client, nonce).is_some() {
            return None;
        }
        self.sessions.remove(&client);
        if let Err(refusal) = self.limits.check(asked, self.sessions.len()) {
            return Some(ToClient::Refused { nonce, refusal });
        }
        self.sessions.insert(client, Session::new(nonce, asked, now));
        None
    }

    /// Hands everything that is due to `send`, which says whether the host took it.
    pub fn wake(&mut self, now: Now, send: &mut impl FnMut(SocketAddr, &[u8]) -> bool) {
        self.sessions
            .retain(|_, session| now.monotonic_ns.saturating_sub(session.last_heard_ns) < SILENCE_NS);
        for (client, session) in &mut self.sessions {
            session.wake(now, &mut self.packet, &mut |packet| send(*client, packet));
        }
    }

    /// When something is due next, on the monotonic clock; none while there is nobody.
    pub fn next_wake(&self) -> Option<u64> {
        self.sessions.values().map(Session::next_wake).min()
    }

    /// How many clients there are.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// There is nobody.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}

impl Session {
    fn new(nonce: u64, asked: Asked, now: Now) -> Self {
        let sizes = match asked.traffic {
            Traffic::Game {
                rate,
                frames_per_second,
                ..
            } => Some(FrameSizes::new(rate.0, frames_per_second)),
            Traffic::Voice | Traffic::Even { .. } => None,
        };
        Session {
            nonce,
            asked,
            started: now,
            last_heard_ns: now.monotonic_ns,
            newest_input: 0,
            sent: 0,
            packets: 0,
            refused: 0,
            sizes,
            next_done_ns: now.monotonic_ns.saturating_add(asked.duration_ns),
        }
    }

    /// When the next packet or frame is due after the start; none when all have been sent.
    fn next_offset_ns(&self) -> Option<u64> {
        let offset_ns = self.asked.traffic.due_ns(self.sent);
        (offset_ns < self.asked.duration_ns).then_some(offset_ns)
    }

    fn next_wake(&self) -> u64 {
        match self.next_offset_ns() {
            Some(offset_ns) => self.started.monotonic_ns.saturating_add(offset_ns),
            None => self.next_done_ns,
        }
    }

    fn wake(&mut self, now: Now, packet: &mut Vec<u8>, send: &mut impl FnMut(&[u8]) -> bool) {
        for _ in 0..MOST_AT_ONCE {
            if self.next_wake() > now.monotonic_ns {
                return;
            }
            if self.next_offset_ns().is_none() {
                self.tell_end(now, packet, send);
                return;
            }
            self.send_next(now, packet, send);
        }
    }

    fn tell_end(&mut self, now: Now, packet: &mut Vec<u8>, send: &mut impl FnMut(&[u8]) -> bool) {
        let frames = if self.sizes.is_some() { self.sent } else { 0 };
        let done = ToClient::Done {
            nonce: self.nonce,
            packets: self.packets,
            frames: u32::try_from(frames).unwrap_or(u32::MAX),
            refused: self.refused,
        };
        done.encode(packet);
        // One that the host does not take is as one that is lost: there will be another.
        send(packet);
        self.next_done_ns = now.monotonic_ns + DONE_EVERY_NS;
    }

    fn send_next(&mut self, now: Now, packet: &mut Vec<u8>, send: &mut impl FnMut(&[u8]) -> bool) {
        match (self.asked.traffic, &mut self.sizes) {
            (Traffic::Game { length, .. }, Some(sizes)) => {
                let bytes = sizes.next_length();
                self.send_frame(bytes, length, now, packet, send);
            }
            (Traffic::Even { length, .. }, _) => self.send_one(length, now, packet, send),
            (Traffic::Voice | Traffic::Game { .. }, _) => self.send_one(VOICE_LENGTH, now, packet, send),
        }
        self.sent += 1;
    }

    fn data(&self, now: Now) -> Data {
        Data {
            nonce: self.nonce,
            started_unix_ns: self.started.unix_ns,
            sent_unix_ns: now.unix_ns,
            sequence: self.packets,
        }
    }

    fn count(&mut self, taken: bool) {
        self.packets = self.packets.wrapping_add(1);
        self.refused += u32::from(!taken);
    }

    fn send_one(
        &mut self,
        length: u16,
        now: Now,
        packet: &mut Vec<u8>,
        send: &mut impl FnMut(&[u8]) -> bool,
    ) {
        ToClient::Data(self.data(now)).encode(packet);
        packet.resize(usize::from(length).max(DATA_LENGTH), 0);
        self.count(send(packet));
    }

    /// All parts of a frame at once, the last as short as it comes.
    fn send_frame(
        &mut self,
        bytes: u64,
        length: u16,
        now: Now,
        packet: &mut Vec<u8>,
        send: &mut impl FnMut(&[u8]) -> bool,
    ) {
        let length = u64::from(length);
        let parts = bytes.div_ceil(length).clamp(1, u64::from(Traffic::MOST_PARTS));
        for part in 0..parts {
            let frame = Frame {
                data: self.data(now),
                frame: self.sent as u32,
                part: part as u16,
                parts: parts as u16,
                frame_sent_unix_ns: now.unix_ns,
                newest_input: self.newest_input,
            };
            ToClient::Frame(frame).encode(packet);
            let left = bytes.saturating_sub(part * length).min(length) as usize;
            packet.resize(left.max(FRAME_LENGTH), 0);
            self.count(send(packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_units::Rate;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Now {
        Now {
            monotonic_ns: ms * MS,
            unix_ns: 1_000_000_000_000 + ms * MS,
        }
    }

    fn client(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    fn server() -> Sessions {
        let limits = Limits {
            max_rate: 10_000_000,
            max_duration_ns: 60 * SECOND_NS,
            max_sessions: 2,
        };
        Sessions::new([7; 16], limits)
    }

    fn even(rate: u64) -> Traffic {
        Traffic::Even {
            rate: Rate(rate),
            length: 1_000,
        }
    }

    fn bytes(packet: ToServer) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        bytes
    }

    fn token(server: &mut Sessions, client: SocketAddr) -> u64 {
        match server.on_datagram(client, &bytes(ToServer::Ask { nonce: 5 }), at(0)) {
            Some(ToClient::Token { nonce: 5, token }) => token,
            other => panic!("{other:?}"),
        }
    }

    /// A whole handshake, and its answer.
    fn start(server: &mut Sessions, client: SocketAddr, traffic: Traffic, ms: u64) -> Option<ToClient> {
        let token = token(server, client);
        let asked = Asked {
            traffic,
            duration_ns: ms * MS,
        };
        let start = ToServer::Start {
            nonce: 5,
            token,
            asked,
        };
        server.on_datagram(client, &bytes(start), at(0))
    }

    /// The client is still there, and has sent this input.
    fn stay(server: &mut Sessions, token: u64, input: u32, now: Now) {
        let here = ToServer::Here {
            nonce: 5,
            token,
            input,
        };
        server.on_datagram(client(1), &bytes(here), now);
    }

    fn sent(server: &mut Sessions, now: Now) -> Vec<(SocketAddr, ToClient, usize)> {
        let mut sent = Vec::new();
        server.wake(now, &mut |client, packet| {
            sent.push((client, ToClient::decode(packet).unwrap(), packet.len()));
            true
        });
        sent
    }

    #[test]
    fn nothing_is_sent_to_an_address_that_has_not_answered() {
        let mut server = server();
        let stolen = token(&mut server, client(1));
        let asked = Asked {
            traffic: Traffic::Voice,
            duration_ns: SECOND_NS,
        };
        // Another's token, another nonce, a guess: no session and not even an answer.
        for (from, nonce, token) in [
            (client(2), 5, stolen),
            (client(1), 6, stolen),
            (client(1), 5, stolen ^ 1),
        ] {
            let forged = bytes(ToServer::Start { nonce, token, asked });
            assert_eq!(server.on_datagram(from, &forged, at(0)), None);
        }
        assert!(server.is_empty() && server.next_wake().is_none());
        assert_eq!(server.on_datagram(client(1), b"WN nonsense", at(0)), None);
        // A key of its own: the token of one server is worth nothing at another.
        let mut other = Sessions::new([8; 16], Limits::default());
        let start = bytes(ToServer::Start {
            nonce: 5,
            token: stolen,
            asked,
        });
        other.on_datagram(client(1), &start, at(0));
        assert!(other.is_empty());
    }

    #[test]
    fn datagrams_leave_when_they_are_due_and_the_end_is_told() {
        let mut server = server();
        // 8 Mbit/s of 1,000 bytes: one each millisecond.
        assert_eq!(start(&mut server, client(1), even(8_000_000), 5), None);
        let mut all = Vec::new();
        for ms in 0..5 {
            assert_eq!(server.next_wake(), Some(ms * MS));
            let now = sent(&mut server, at(ms));
            assert_eq!(now.len(), 1);
            all.extend(now);
        }
        for (sequence, (to, packet, length)) in all.iter().enumerate() {
            let ToClient::Data(data) = packet else {
                panic!("{packet:?}")
            };
            assert_eq!((*to, *length, data.sequence), (client(1), 1_000, sequence as u32));
            assert_eq!(data.sent_unix_ns - data.started_unix_ns, sequence as u64 * MS);
        }
        let done = ToClient::Done {
            nonce: 5,
            packets: 5,
            frames: 0,
            refused: 0,
        };
        for ms in [5, 55, 105] {
            assert_eq!(server.next_wake(), Some(ms * MS));
            assert_eq!(sent(&mut server, at(ms)), [(client(1), done, 24)]);
        }
        let token = token(&mut server, client(1));
        server.on_datagram(client(1), &bytes(ToServer::Bye { nonce: 5, token }), at(110));
        assert!(server.is_empty());
    }

    #[test]
    fn a_client_that_falls_silent_gets_no_more() {
        let mut server = server();
        start(&mut server, client(1), Traffic::Voice, 60_000);
        let token = token(&mut server, client(1));
        sent(&mut server, at(2_900));
        stay(&mut server, token, 0, at(2_950));
        assert!(!sent(&mut server, at(5_900)).is_empty());
        assert!(sent(&mut server, at(5_950)).is_empty() && server.is_empty());
    }

    #[test]
    fn too_much_is_refused_and_says_the_limit() {
        let mut server = server();
        let refused = |answer: Option<ToClient>| match answer {
            Some(ToClient::Refused { nonce: 5, refusal }) => refusal,
            other => panic!("{other:?}"),
        };
        let answer = start(&mut server, client(1), even(10_000_001), 1_000);
        assert_eq!(refused(answer), Refusal::Rate(10_000_000));
        let answer = start(&mut server, client(1), even(1_000_000), 60_001);
        assert_eq!(refused(answer), Refusal::Duration(60 * SECOND_NS));
        for port in [1, 2] {
            assert_eq!(start(&mut server, client(port), Traffic::Voice, 1_000), None);
        }
        // The same again is the same session.
        assert_eq!(start(&mut server, client(2), Traffic::Voice, 1_000), None);
        assert_eq!(server.len(), 2);
        let answer = start(&mut server, client(3), Traffic::Voice, 1_000);
        assert_eq!(refused(answer), Refusal::Sessions(2));
    }

    #[test]
    fn a_frame_leaves_as_a_burst_and_knows_the_newest_input() {
        let mut server = server();
        let game = Traffic::Game {
            rate: Rate(8_000_000),
            frames_per_second: 50,
            length: 1_000,
        };
        start(&mut server, client(1), game, 40);
        // The first is a key frame: twice 20,000 bytes.
        let first = sent(&mut server, at(0));
        assert_eq!(first.len(), 40);
        assert_eq!(first.iter().map(|(_, _, length)| length).sum::<usize>(), 40_000);
        let token = token(&mut server, client(1));
        for input in [1, 3, 2] {
            stay(&mut server, token, input, at(10));
        }
        assert_eq!(server.next_wake(), Some(20 * MS));
        let second = sent(&mut server, at(21));
        for (part, (_, packet, _)) in second.iter().enumerate() {
            let ToClient::Frame(frame) = packet else {
                panic!("{packet:?}")
            };
            assert_eq!(
                (frame.frame, usize::from(frame.part), frame.newest_input),
                (1, part, 3)
            );
            assert_eq!(usize::from(frame.parts), second.len());
            assert_eq!(frame.data.sequence as usize, 40 + part);
            assert_eq!(frame.frame_sent_unix_ns, at(21).unix_ns);
        }
        let [(_, ToClient::Done { packets, frames, .. }, _)] = sent(&mut server, at(40))[..] else {
            panic!("no end")
        };
        assert_eq!((packets as usize, frames), (40 + second.len(), 2));
    }

    #[test]
    fn what_the_host_does_not_take_is_counted() {
        let mut server = server();
        start(&mut server, client(1), even(8_000_000), 3);
        server.wake(at(2), &mut |_, _| false);
        let [(_, ToClient::Done { packets, refused, .. }, _)] = sent(&mut server, at(3))[..] else {
            panic!("no end")
        };
        assert_eq!((packets, refused), (3, 3));
    }
}
