//! Datagrams of neighbours: none may crash a decoder, a server or a client, and one that is accepted encodes to the same
//! bytes. A server's answer is not longer than the request, unless the request has the right token.
//!
//! The first byte chooses the client's request; then datagrams follow, each after its length. A nonce of zeros is
//! replaced by the client's, and a token of zeros by the server's.

use std::net::SocketAddr;

use weir_neighbour::{Asked, Conversation, Limits, Now, Sessions, ToClient, ToServer, Traffic};
use weir_units::Rate;

const NONCE: u64 = 5;

fn reencode(datagram: &[u8]) {
    let mut bytes = Vec::new();
    if let Ok(packet) = ToServer::decode(datagram) {
        packet.encode(&mut bytes);
        assert_eq!(bytes, datagram);
    }
    if let Ok(packet) = ToClient::decode(datagram) {
        packet.encode(&mut bytes);
        assert_eq!(bytes, datagram[..bytes.len()]);
    }
}

/// Puts the nonce and the token in where there are zeros.
fn mend(datagram: &mut [u8], token: u64) {
    for (at, value) in [(4, NONCE), (12, token)] {
        if let Some(field) = datagram.get_mut(at..at + 8) {
            if field == [0; 8] {
                field.copy_from_slice(&value.to_be_bytes());
            }
        }
    }
}

pub fn run(input: &[u8]) {
    let Some((choice, mut rest)) = input.split_first() else {
        return;
    };
    let (rate, length) = (Rate(1_000_000), 1_000);
    let traffic = match choice % 3 {
        0 => Traffic::Voice,
        1 => Traffic::Even { rate, length },
        _ => Traffic::Game {
            rate,
            frames_per_second: 60,
            length,
        },
    };
    let asked = Asked {
        traffic,
        duration_ns: 1_000_000_000,
    };
    let address = SocketAddr::from(([192, 0, 2, 1], 1));
    let mut now = Now {
        monotonic_ns: 1,
        unix_ns: 1_000_000_000,
    };
    let mut server = Sessions::new([7; 16], Limits::default());
    let mut client = Conversation::new(asked, NONCE, 0, now);
    let mut question = Vec::new();
    ToServer::Ask { nonce: NONCE }.encode(&mut question);
    let Some(ToClient::Token { token, .. }) = server.on_datagram(address, &question, now) else {
        panic!("no token");
    };
    while let Some((&length, bytes)) = rest.split_first() {
        let (datagram, after) = bytes.split_at(bytes.len().min(length.into()));
        rest = after;
        let mut datagram = datagram.to_vec();
        mend(&mut datagram, if *choice < 128 { token } else { 0 });
        reencode(&datagram);
        now.monotonic_ns += 7_000_000;
        now.unix_ns += 7_000_000;
        if let Some(answer) = server.on_datagram(address, &datagram, now) {
            let mut bytes = Vec::new();
            answer.encode(&mut bytes);
            assert!(bytes.len() <= datagram.len());
        }
        server.wake(now, &mut |_, packet| {
            assert!(*choice < 128, "sent without a token");
            packet.len() > 20
        });
        client.on_datagram(&datagram, now.unix_ns, now);
        client.wake(now, &mut |_| {});
    }
    client.interrupt(&mut |_| {});
    let _ = client.measured("fuzz", 0, now);
}
