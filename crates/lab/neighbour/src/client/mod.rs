//! The client's end: a socket around [`Conversation`].

mod conversation;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use weir_control::Stop;
use weir_net::{ReceiveBatch, UdpOptions, UdpSocket, clock};

use crate::error::NeighbourError;
use crate::now::{Now, start_at};
use crate::report::Measured;
use crate::sockets::{resolve, sleeper};
use crate::traffic::Asked;
use conversation::{ANSWER_LIMIT_NS, Failed};

pub use conversation::Conversation;

/// Datagrams that are read at once.
const BATCH: usize = 32;
/// Room for what comes while this host is busy, bytes.
const RECEIVE_BUFFER: usize = 4 << 20;
/// The longest sleep, so that a stop is seen.
const NAP_NS: u64 = 50_000_000;
/// How often each of several addresses is asked.
const ROUNDS: usize = 3;

/// Asks the server at `to` (HOST:PORT) for datagrams and measures them, under the name `kind`. They start at
/// `start_at_unix_ns`, or as soon as they can.
///
/// # Errors
/// When nobody answers, the server refuses, or a socket fails.
pub fn measure_datagrams(
    to: &str,
    kind: &'static str,
    asked: Asked,
    start_at_unix_ns: Option<u64>,
    stop: &Stop,
) -> Result<Measured, NeighbourError> {
    let start_at_ns = start_at(start_at_unix_ns)?;
    let addresses = resolve(to)?;
    // Of several addresses the server may have but one, and nobody says which: each is asked for a while, in turn.
    let (rounds, limit_ns) = match addresses.len() {
        1 => (1, ANSWER_LIMIT_NS),
        _ => (ROUNDS, ANSWER_LIMIT_NS / ROUNDS as u64 / 2),
    };
    for address in addresses.iter().cycle().take(rounds * addresses.len()) {
        let nonce = getrandom::u64().map_err(NeighbourError::Random)?;
        let conversation = Conversation::new(asked, nonce, start_at_ns, Now::read());
        match converse(*address, kind, conversation.with_answer_limit(limit_ns), stop)? {
            Ok(measured) => return Ok(measured),
            Err(Failed::NoAnswer) => {}
            Err(Failed::Refused(refusal)) => {
                let to = to.to_owned();
                return Err(NeighbourError::Refused { to, refusal });
            }
        }
    }
    Err(NeighbourError::NoAnswer {
        to: to.to_owned(),
        reason: None,
    })
}

fn converse(
    address: SocketAddr,
    kind: &'static str,
    mut conversation: Conversation,
    stop: &Stop,
) -> Result<Result<Measured, Failed>, NeighbourError> {
    let socket = connected(address)?;
    let (mut sleeper, _bell) = sleeper(&socket)?;
    let mut batch = ReceiveBatch::new(BATCH);
    clock::sharpen_timers();
    // One that cannot leave is as one that is lost.
    let mut send = |packet: &[u8]| drop(socket.send(packet));
    loop {
        let read = |source| NeighbourError::io("receive from", address, source);
        while batch.receive(&socket).map_err(read)? > 0 {
            let now = Now::read();
            for datagram in batch.datagrams() {
                let received_unix_ns = datagram.ancillary.kernel_ns.unwrap_or(now.unix_ns);
                conversation.on_datagram(datagram.bytes, received_unix_ns, now);
            }
        }
        let now = Now::read();
        if stop.is_set() {
            conversation.interrupt(&mut send);
        }
        if stop.is_set() || conversation.is_over(now) {
            return Ok(conversation.finish(kind, socket.receive_drops(), now));
        }
        conversation.wake(now, &mut send);
        let until_ns = conversation.next_wake().min(now.monotonic_ns + NAP_NS);
        sleeper
            .until(until_ns)
            .map_err(|source| NeighbourError::io("wait for", address, source))?;
    }
}

fn connected(address: SocketAddr) -> Result<UdpSocket, NeighbourError> {
    let any = match address {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let options = UdpOptions {
        receive_buffer: RECEIVE_BUFFER,
        receive_timestamps: true,
        ..UdpOptions::default()
    };
    let socket = UdpSocket::bind(any, &options)?;
    socket.connect(address)?;
    Ok(socket)
}
