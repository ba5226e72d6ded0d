//! Datagrams from strangers, and from somebody who reads the path: the agent answers none of them, counts them, and
//! the test goes on as if they had not come.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_rig::{
    Agent, Datagram, FAR_IPV4, Host, LIMIT, NEAR_IPV4, Noise, RTT_REPLY, RTT_REQUEST, Relay, Running,
    UDP_PORTS, count, isolated, join_by_veth, run_within, udp_ports_in_use, wait_until, weir,
};

/// Another host of the near network.
const STRANGER: &str = "10.9.0.7";

fn link_and_agent() -> Agent {
    join_by_veth(9000);
    weir_rig::run(
        "ip",
        &["address", "add", &format!("{STRANGER}/24"), "dev", "near"],
    );
    Agent::start(Host::Far, &[&["--open"][..], &UDP_PORTS].concat())
}

/// A socket that must never be answered.
fn intruder(address: &str, port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((address, port)).expect("a port for the intruder");
    socket
        .set_nonblocking(true)
        .expect("a socket that does not block");
    socket
}

/// Sends, also to a port that has just been closed, of which the kernel tells by an error.
fn throw(socket: &UdpSocket, bytes: &[u8], port: u16) {
    let _ = socket.send_to(bytes, (FAR_IPV4, port));
}

#[track_caller]
fn nothing_came(socket: &UdpSocket) {
    std::thread::sleep(Duration::from_millis(200));
    let mut buffer = [0; 2000];
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((length, source)) => panic!("{source} answered with {length} bytes"),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Bytes of a stranger: any, or with the beginning of one of Weir's packets of each kind.
fn strange(noise: &mut Noise, number: usize) -> Vec<u8> {
    let length = match number % 4 {
        0 => 1 + noise.below(12),
        1 => 40 + noise.below(40),
        2 => 1 + noise.below(1500),
        _ => 8972,
    };
    let mut bytes = noise.bytes(length);
    if number.is_multiple_of(2) && length > 4 {
        bytes[..4].copy_from_slice(&[0x57, 0x45, 1, (1 + number / 2 % 7) as u8]);
    }
    bytes
}

#[test]
fn datagrams_of_strangers_get_no_answer_and_are_counted() {
    isolated!(heavy);
    let agent = link_and_agent();
    let target = agent.at(FAR_IPV4);
    let client = Running::start(weir(&[
        "flows", &target, "--rate", "5Mbit/s", "--length", "1000", "--flows", "3", "--for", "5s", "--json",
    ]));
    // Three flows and the clock's; the search for the path MTU, which comes before, has one port.
    let ports = wait_until("the test's ports", LIMIT, || {
        let ports: Vec<u16> = udp_ports_in_use(Host::Far)
            .into_iter()
            .filter(|port| (5000..=5019).contains(port))
            .collect();
        (ports.len() == 4).then_some(ports)
    });
    std::thread::sleep(Duration::from_millis(500));
    let mut noise = Noise::new(11);
    let (same_host, other_host) = (intruder(NEAR_IPV4, 0), intruder(STRANGER, 0));
    let mut per_port = 0;
    for number in 0..1000 {
        let bytes = strange(&mut noise, number);
        let socket = if number % 3 == 0 { &other_host } else { &same_host };
        for port in &ports {
            throw(socket, &bytes, *port);
        }
        per_port += 1;
        if number % 10 == 9 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // An empty datagram ends no receiver.
    for port in &ports {
        throw(&same_host, &[], *port);
    }
    nothing_came(&same_host);
    nothing_came(&other_host);
    let said = client.wait(LIMIT).expect_code(0).json();
    let forward = &said["forward"];
    assert_eq!(
        (count(&forward["lost"]), count(&forward["duplicates"])),
        (0, 0),
        "{forward}"
    );
    assert_eq!(forward["sent"], forward["received"], "{forward}");
    let rejected = count(&forward["rejected"]);
    // The empty ones may be counted or not.
    assert!(
        (3 * per_port..=3 * per_port + 3).contains(&rejected),
        "{rejected} of {}",
        3 * per_port
    );
    let sent: u64 = forward["per_flow"]
        .as_array()
        .expect("flows")
        .iter()
        .map(|flow| count(&flow["sent"]))
        .sum();
    assert_eq!(count(&forward["sent"]), sent);
}

#[derive(Default)]
struct Injected {
    flow_rejected: u64,
    flow_copies: u64,
    requests: u64,
    replies: u64,
    other_answers: Vec<(u16, usize)>,
}

/// A copy with one bit of the header flipped; each call another bit.
fn flipped(datagram: &Datagram, noise: &mut Noise, header: usize) -> Datagram {
    let mut copy = datagram.clone();
    let bit = noise.below(8 * header.min(copy.bytes.len()));
    copy.bytes[bit / 8] ^= 1 << (bit % 8);
    copy
}

fn truncated(datagram: &Datagram, noise: &mut Noise, header: usize) -> Datagram {
    let mut copy = datagram.clone();
    copy.bytes.truncate(1 + noise.below(header - 1));
    copy
}

#[test]
fn forged_truncated_and_replayed_packets_of_a_flow_change_nothing_but_their_count() {
    isolated!(heavy);
    let agent = link_and_agent();
    let injected: Arc<Mutex<Injected>> = Arc::default();
    let log = injected.clone();
    let mut noise = Noise::new(12);
    let relay = Relay::start(move |datagram| {
        let mut log = log.lock().unwrap();
        if !datagram.is_flow_data() {
            if !datagram.forward && datagram.port > 5000 && datagram.kind() != RTT_REPLY {
                log.other_answers.push((datagram.port, datagram.bytes.len()));
            }
            return vec![datagram];
        }
        let mut out = Vec::new();
        if datagram.sequence().is_multiple_of(5) {
            // Ahead of the genuine packet, so that a forgery which was believed would take its place.
            out.push(flipped(&datagram, &mut noise, 48));
            out.push(truncated(&datagram, &mut noise, 48));
            log.flow_rejected += 2;
        }
        if datagram.sequence() % 10 == 1 {
            // The kind of another packet, and another session's number.
            for place in [3, 7] {
                let mut other = datagram.clone();
                other.bytes[place] = other.bytes[place].wrapping_add(1);
                out.push(other);
                log.flow_rejected += 1;
            }
            log.flow_copies += 1;
            out.push(datagram.clone());
        }
        out.push(datagram);
        out
    });
    let target = agent.at(FAR_IPV4);
    let said = run_within(
        LIMIT,
        weir(&[
            "flows", &target, "--rate", "4Mbit/s", "--length", "500", "--flows", "3", "--burst", "3",
            "--for", "2s", "--no-gso", "--json",
        ]),
    )
    .expect_code(0)
    .json();
    drop(relay);
    let log = injected.lock().unwrap();
    let forward = &said["forward"];
    assert!(log.flow_rejected > 500, "{}", log.flow_rejected);
    assert_eq!(count(&forward["rejected"]), log.flow_rejected, "{forward}");
    assert_eq!(count(&forward["duplicates"]), log.flow_copies, "{forward}");
    assert_eq!(
        (count(&forward["lost"]), count(&forward["late"])),
        (0, 0),
        "{forward}"
    );
    assert_eq!(forward["sent"], forward["received"], "{forward}");
    assert!(
        log.other_answers.is_empty(),
        "answers to flows: {:?}",
        log.other_answers
    );
}

#[test]
fn forged_and_replayed_requests_get_no_reply() {
    isolated!();
    let agent = link_and_agent();
    let counted: Arc<Mutex<Injected>> = Arc::default();
    let log = counted.clone();
    let (elsewhere, other_port) = (intruder(STRANGER, 7900), intruder(NEAR_IPV4, 7901));
    let spying = (elsewhere.try_clone().unwrap(), other_port.try_clone().unwrap());
    let mut noise = Noise::new(13);
    let mut first: Option<Datagram> = None;
    let relay = Relay::start(move |datagram| {
        let mut log = log.lock().unwrap();
        if datagram.kind() == RTT_REPLY {
            log.replies += 1;
            return vec![datagram];
        }
        if datagram.kind() != RTT_REQUEST || !datagram.forward {
            return vec![datagram];
        }
        log.requests += 1;
        if first.is_some() {
            // The genuine packet itself, but from another host and from another port, and before it has come.
            throw(&elsewhere, &datagram.bytes, datagram.port);
            throw(&other_port, &datagram.bytes, datagram.port);
        }
        let earlier = first.get_or_insert_with(|| datagram.clone()).clone();
        let mut out = vec![
            flipped(&datagram, &mut noise, 72),
            truncated(&datagram, &mut noise, 72),
        ];
        if log.requests > 1 {
            out.push(earlier);
        }
        out.push(datagram.clone());
        out.push(datagram);
        out
    });
    let target = agent.at(FAR_IPV4);
    let said = run_within(
        LIMIT,
        weir(&[
            "rtt",
            &target,
            "--window",
            "5",
            "--interval",
            "50ms",
            "--for",
            "1s",
            "--json",
        ]),
    )
    .expect_code(0)
    .json();
    drop(relay);
    let log = counted.lock().unwrap();
    assert_eq!(
        (count(&said["sent"]), count(&said["received"])),
        (100, 100),
        "{said}"
    );
    assert_eq!(
        (count(&said["lost"]), count(&said["duplicates"])),
        (0, 0),
        "{said}"
    );
    assert_eq!(
        (log.requests, log.replies),
        (100, 100),
        "one reply to each genuine request"
    );
    nothing_came(&spying.0);
    nothing_came(&spying.1);
}

#[test]
fn a_stranger_that_speaks_slowly_is_turned_away_in_time() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let mut slow = TcpStream::connect(("127.0.0.1", agent.port)).expect("a connection");
    slow.set_read_timeout(Some(Duration::from_secs(3)))
        .expect("a timeout");
    // A byte every two seconds: none of the pauses is long.
    for byte in b"WEI" {
        slow.write_all(&[*byte]).expect("the agent still listens");
        std::thread::sleep(Duration::from_secs(2));
    }
    let ended = slow.read(&mut [0; 56]);
    assert!(
        matches!(ended, Ok(0)) || ended.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
    );
    wait_until("the agent to say so", LIMIT, || {
        agent
            .process
            .stderr()
            .contains("handshake not complete within 5 s")
            .then_some(())
    });
    agent.check_serves(&[]);
}
