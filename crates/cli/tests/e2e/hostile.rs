//! Datagrams from strangers, and from somebody who reads the path: the agent answers none of them, counts them, and
//! the test goes on as if they had not come.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

use weir_rig::{
    Agent, Datagram, FAR_IPV4, Host, NEAR_IPV4, Noise, RTT_REPLY, RTT_REQUEST, Relay, counts, isolated,
    join_by_veth, ran,
};

/// Another host of the near network.
const STRANGER: &str = "10.9.0.7";

/// A socket that must never be answered.
fn intruder(address: &str, port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((address, port)).expect("a port for the intruder");
    socket
        .set_nonblocking(true)
        .expect("a socket that does not block");
    socket
}

#[track_caller]
fn nothing_came(socket: &UdpSocket) {
    let mut buffer = [0; 2000];
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((length, source)) => panic!("{source} answered with {length} bytes"),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            // Of a port that has been closed.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused),
        }
    }
}

/// Somebody between the ends, and what he has thrown in.
struct Intruder {
    noise: Noise,
    elsewhere: UdpSocket,
    other_port: UdpSocket,
    first: Option<Datagram>,
    /// Datagrams for flows that are to be rejected, and copies of genuine ones.
    rejected: u64,
    copies: u64,
    /// Answers to packets of flows.
    answers: u64,
    /// Lengths of requests by their sequence, and replies of another length; replies.
    requests: BTreeMap<u32, usize>,
    unequal: Vec<(u32, usize)>,
    replies: u64,
    rtt: bool,
}

impl Intruder {
    /// A copy with one bit of the header flipped, and one that is cut off in the header.
    fn spoiled(&mut self, datagram: &Datagram, header: usize) -> [Datagram; 2] {
        let [mut flipped, mut cut] = [datagram.clone(), datagram.clone()];
        let bit = self.noise.below(8 * header.min(flipped.bytes.len()));
        flipped.bytes[bit / 8] ^= 1 << (bit % 8);
        cut.bytes.truncate(1 + self.noise.below(header - 1));
        [flipped, cut]
    }

    /// Throws at the datagram's port, past the path; an error belongs to an earlier datagram.
    fn throw(&self, bytes: &[u8], port: u16) {
        for socket in [&self.elsewhere, &self.other_port] {
            let _ = socket.send_to(bytes, (FAR_IPV4, port));
        }
    }

    /// What goes on in place of a packet of a flow. Forgeries go ahead, so that one that was believed would take its place.
    fn with_flow(&mut self, datagram: Datagram) -> Vec<Datagram> {
        let number = datagram.sequence();
        let mut out = Vec::new();
        if number.is_multiple_of(5) {
            out.extend(self.spoiled(&datagram, 48));
            self.rejected += 2;
        }
        if number % 10 == 1 {
            // The kind of another packet, and another session's number.
            for place in [3, 7] {
                let mut other = datagram.clone();
                other.bytes[place] = other.bytes[place].wrapping_add(1);
                out.push(other);
            }
            out.push(datagram.clone());
            self.rejected += 2;
            self.copies += 1;
        }
        if number % 10 == 2 {
            // Noise, half of it with the beginning of one of Weir's packets; and the genuine packet from elsewhere, which
            // is a copy wherever it comes from.
            let length = 4 + self.noise.below(1500);
            let mut bytes = self.noise.bytes(length);
            if number % 20 == 2 {
                bytes[..4].copy_from_slice(&[0x57, 0x45, 1, (1 + number / 20 % 7) as u8]);
            }
            self.throw(&bytes, datagram.port);
            self.throw(&datagram.bytes, datagram.port);
            self.rejected += 2;
            self.copies += 2;
        }
        out.push(datagram);
        out
    }

    /// What goes on in place of a request for a reply.
    fn with_request(&mut self, datagram: Datagram) -> Vec<Datagram> {
        self.requests.insert(datagram.sequence(), datagram.bytes.len());
        let mut out = self.spoiled(&datagram, 72).to_vec();
        if let Some(first) = &self.first {
            // The genuine packet itself, but from another host and from another port, and before it has come.
            self.throw(&datagram.bytes, datagram.port);
            out.push(first.clone());
        }
        self.first.get_or_insert_with(|| datagram.clone());
        out.extend([datagram.clone(), datagram]);
        out
    }

    fn decide(&mut self, datagram: Datagram) -> Vec<Datagram> {
        if datagram.is_flow_data() {
            return self.with_flow(datagram);
        }
        if self.rtt && datagram.forward && datagram.kind() == RTT_REQUEST {
            return self.with_request(datagram);
        }
        if self.rtt && datagram.kind() == RTT_REPLY {
            self.replies += 1;
            if self.requests.get(&datagram.sequence()) != Some(&datagram.bytes.len()) {
                self.unequal.push((datagram.sequence(), datagram.bytes.len()));
            }
        } else if !datagram.forward && datagram.port > 5000 && datagram.kind() != RTT_REPLY {
            self.answers += 1;
        }
        vec![datagram]
    }
}

#[test]
fn forged_replayed_and_strange_datagrams_get_no_answer_and_change_a_counter() {
    isolated!();
    join_by_veth(9000);
    weir_rig::run(
        "ip",
        &["address", "add", &format!("{STRANGER}/24"), "dev", "near"],
    );
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5019");
    let (elsewhere, other_port) = (intruder(STRANGER, 7900), intruder(NEAR_IPV4, 7901));
    let spying = [&elsewhere, &other_port].map(|socket| socket.try_clone().expect("a socket"));
    let intruder = Arc::new(Mutex::new(Intruder {
        noise: Noise::new(12),
        elsewhere,
        other_port,
        first: None,
        rejected: 0,
        copies: 0,
        answers: 0,
        requests: BTreeMap::new(),
        unequal: Vec::new(),
        replies: 0,
        rtt: false,
    }));
    let deciding = intruder.clone();
    let relay = Relay::start(move |datagram| deciding.lock().unwrap().decide(datagram));
    let target = agent.at(FAR_IPV4);
    // What a busy machine delays in the relay is late, and no attack.
    let test = "--rate 4Mbit/s --length 500 --flows 3 --burst 3 --for 2s --no-gso --reorder-depth 1s --json";
    let flows = ran(0, &format!("flows {target} {test}")).json();
    intruder.lock().unwrap().rtt = true;
    let test = "--window 5 --length 72..8972 --interval 50ms --for 1s --timeout 20s --json";
    let rtt = ran(0, &format!("rtt {target} {test}")).json();
    drop(relay);

    let intruder = intruder.lock().unwrap();
    let forward = &flows["forward"];
    assert!(intruder.rejected > 500, "{}", intruder.rejected);
    let told = counts(forward, ["rejected", "duplicates", "lost", "late"]);
    assert_eq!(told, [intruder.rejected, intruder.copies, 0, 0], "{forward}");
    assert_eq!(forward["sent"], forward["received"], "{forward}");
    assert_eq!(intruder.answers, 0, "a flow has none");

    let told = counts(&rtt, ["sent", "received", "lost", "duplicates"]);
    assert_eq!(told, [100, 100, 0, 0], "{rtt}");
    assert_eq!(intruder.requests.len(), 100, "one reply to each genuine request");
    assert_eq!(intruder.replies, 100, "one reply to each genuine request");
    assert!(
        intruder.unequal.is_empty(),
        "longer or shorter than asked: {:?}",
        intruder.unequal
    );
    let lengths = [intruder.requests.values().min(), intruder.requests.values().max()];
    assert_eq!(lengths, [Some(&72), Some(&8972)]);
    spying.iter().for_each(nothing_came);
}
