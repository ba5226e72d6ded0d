//! Sending and receiving over loopback, with the kernel as the other side: what goes in as trains comes out as the
//! same packets, whichever of GSO and GRO is in use.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::udp::set_option;
use crate::wait::Waiter;
use crate::{ReceiveBatch, SendBatch, UdpOptions, UdpSocket};

const LOOPBACK: &str = "127.0.0.1:0";
const LOOPBACK_V6: &str = "[::1]:0";

fn socket(address: &str, options: &UdpOptions) -> UdpSocket {
    let address: SocketAddr = address.parse().expect("an address");
    UdpSocket::bind(address, options).expect("loopback takes a socket")
}

fn receiver(address: &str, merge_receive: bool) -> UdpSocket {
    socket(
        address,
        &UdpOptions {
            merge_receive,
            receive_timestamps: true,
            ..UdpOptions::default()
        },
    )
}

/// Takes `count` datagrams, or what has come within five seconds: first bytes, lengths, and what the kernel told.
fn take(socket: &UdpSocket, count: usize) -> Vec<(u8, usize, crate::Ancillary)> {
    let mut waiter = Waiter::new().expect("an epoll set");
    waiter.add(socket.as_raw_fd(), 7).expect("a socket to wait for");
    let mut batch = ReceiveBatch::new(4);
    let mut taken = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(5);
    while taken.len() < count && Instant::now() < deadline {
        waiter.wait(100).expect("waiting works");
        assert!(waiter.ready().all(|index| index == 7));
        batch.receive(socket).expect("receiving works");
        // Both ways to take them give the same, and one of them lets them be changed where they are.
        let [shared, own]: [Vec<Vec<u8>>; 2] = [
            batch
                .datagrams()
                .map(|datagram| datagram.bytes.to_vec())
                .collect(),
            batch
                .datagrams_mut()
                .map(|datagram| datagram.bytes.to_vec())
                .collect(),
        ];
        assert_eq!(shared, own);
        for datagram in batch.datagrams_mut() {
            datagram.bytes[1..].fill(0xee);
        }
        for datagram in batch.datagrams() {
            assert!(datagram.bytes[1..].iter().all(|byte| *byte == 0xee));
        }
        taken.extend(
            batch
                .datagrams()
                .map(|datagram| (datagram.bytes[0], datagram.bytes.len(), datagram.ancillary)),
        );
    }
    taken
}

/// Five packets for each of two destinations, the last of each shorter.
fn fill(batch: &mut SendBatch) {
    for destination in 0..2 {
        for number in 0..5_u8 {
            let payload = if number == 4 { 300 } else { 1000 };
            batch.push(destination, &[10 * destination as u8 + number, 0, 0], payload);
        }
    }
}

fn lengths(taken: &[(u8, usize, crate::Ancillary)]) -> Vec<(u8, usize)> {
    taken
        .iter()
        .map(|(number, length, _)| (*number, *length))
        .collect()
}

#[test]
fn packets_arrive_as_they_were_pushed_with_and_without_offloads() {
    for address in [LOOPBACK, LOOPBACK_V6] {
        for (segments, merge) in [(false, false), (true, false), (false, true), (true, true)] {
            let receivers = [receiver(address, merge), receiver(address, merge)];
            let destinations = receivers.each_ref().map(UdpSocket::local);
            let sender = socket(address, &UdpOptions::default());
            let mut batch = SendBatch::new(&destinations, vec![1; 1000], segments);
            fill(&mut batch);
            let outcome = batch.send(&sender).expect("loopback takes packets");
            assert_eq!(
                (outcome.packets, outcome.bytes, outcome.refused),
                (10, 2 * (4 * 1003 + 303), 0)
            );
            assert_eq!(outcome.sends, if segments { 2 } else { 10 });
            for (index, receiver) in receivers.iter().enumerate() {
                let first = 10 * index as u8;
                let expected: Vec<(u8, usize)> = (0..5)
                    .map(|number| (first + number, if number == 4 { 303 } else { 1003 }))
                    .collect();
                assert_eq!(
                    lengths(&take(receiver, 5)),
                    expected,
                    "{address} {segments} {merge}"
                );
            }
        }
    }
}

#[test]
fn a_refused_train_is_sent_again_packet_by_packet() {
    let receivers = [receiver(LOOPBACK, false), receiver(LOOPBACK, false)];
    let sender = socket(LOOPBACK, &UdpOptions::default());
    // The kernel segments only datagrams that have a checksum, so this makes it refuse trains.
    set_option(sender.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, 1_i32).expect("checksums can be off");
    let mut batch = SendBatch::new(&receivers.each_ref().map(UdpSocket::local), vec![1; 1000], true);
    fill(&mut batch);
    let outcome = batch.send(&sender).expect("packets go one by one");
    assert_eq!(
        (outcome.packets, outcome.sends, batch.segments()),
        (10, 10, false)
    );
    assert_eq!(take(&receivers[0], 5).len() + take(&receivers[1], 5).len(), 10);
}

#[test]
fn a_packet_longer_than_the_interface_takes_is_an_error_and_not_fragments() {
    let receiver = receiver(LOOPBACK, false);
    let sender = socket(LOOPBACK, &UdpOptions::default());
    // Loopback takes IP packets of 65536 bytes; 65535 is the most that a UDP length can say.
    let mut batch = SendBatch::new(&[receiver.local()], vec![1; 65_530], true);
    batch.push(0, &[1], 65_529);
    let error = batch.send(&sender).expect_err("it cannot fit");
    assert_eq!(error.raw_os_error(), Some(crate::EMSGSIZE));
}

#[test]
fn the_kernel_tells_ttl_and_times_of_arrival_and_departure() {
    for address in [LOOPBACK, LOOPBACK_V6] {
        let receiver = receiver(address, false);
        let sender = socket(
            address,
            &UdpOptions {
                transmit_timestamps: true,
                ..UdpOptions::default()
            },
        );
        sender.set_ttl(33).expect("33 hops");
        sender.connect(receiver.local()).expect("loopback has a route");
        let before = crate::clock::unix_ns();
        sender.send(&[9; 50]).expect("loopback takes a packet");
        let taken = take(&receiver, 1);
        let after = crate::clock::unix_ns();
        let told = taken[0].2;
        assert_eq!(told.ttl, Some(33));
        let arrived = told.kernel_ns.expect("software timestamps on loopback");
        let left = sender
            .transmit_timestamp()
            .expect("an error queue")
            .expect("a transmit timestamp");
        assert_eq!(left.transmit_id, Some(0));
        let departed = left.kernel_ns.expect("a software transmit timestamp");
        assert!(before <= departed && departed <= after && before <= arrived && arrived <= after);
        assert!(sender.transmit_timestamp().expect("an error queue").is_none());
        // IPv4 cannot say 65536.
        assert!(matches!(sender.route_mtu(), Some(65_535 | 65_536)));
    }
}

#[test]
fn what_overflows_a_socket_is_counted_at_that_socket() {
    let small = UdpOptions {
        receive_buffer: 4096,
        ..UdpOptions::default()
    };
    let (full, idle) = (socket(LOOPBACK, &small), socket(LOOPBACK, &small));
    let sender = socket(LOOPBACK, &UdpOptions::default());
    for _ in 0..200 {
        sender
            .send_to(&[5; 1000], full.local())
            .expect("loopback takes a packet");
    }
    let kept = {
        let mut batch = ReceiveBatch::new(64);
        let mut kept = 0;
        while batch.receive(&full).expect("receiving works") > 0 {
            kept += batch.datagrams().count() as u64;
        }
        kept
    };
    assert!(kept < 200);
    assert_eq!(full.receive_drops(), 200 - kept);
    assert_eq!(idle.receive_drops(), 0);
}

#[test]
fn nothing_to_receive_is_not_an_error() {
    let receiver = receiver(LOOPBACK, true);
    assert_eq!(
        ReceiveBatch::new(2).receive(&receiver).expect("an empty socket"),
        0
    );
    assert!(receiver.receive(&mut [0; 10]).expect("an empty socket").is_none());
}

#[test]
fn sockets_beside_each_other_send_from_one_port_that_nobody_else_gets() {
    for address in [LOOPBACK, LOOPBACK_V6] {
        let receiver = std::net::UdpSocket::bind(address).expect("loopback takes a socket");
        let to = receiver.local_addr().expect("an address");
        let first = socket(address, &UdpOptions::default());
        let more = [(); 2].map(|()| {
            first
                .beside(&UdpOptions::default())
                .expect("a socket at the port")
        });
        for sender in [&first, &more[0], &more[1]] {
            let mut batch = SendBatch::new(&[to], vec![1; 10], true);
            batch.push(0, &[1], 10);
            batch.send(sender).expect("loopback takes packets");
            let (_, from) = receiver.recv_from(&mut [0; 100]).expect("a datagram");
            assert_eq!(from, first.local());
        }
        assert!(UdpSocket::bind(first.local(), &UdpOptions::default()).is_err());
    }
}
