//! A door on a loopback socket, and clients of all sorts before it. Nothing here bounds real time from above, but for the
//! limit after which a test hangs.

use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use weir_protect::Protection;
use weir_wire::handshake::{ClientHandshake, HandshakeError};

use super::*;
use crate::listen;

/// A test that takes longer hangs.
const HANGS: Duration = Duration::from_secs(180);

const OFF: Demand = Demand::Exactly(Protection::Off);

fn token() -> Token {
    Token::new(b"a token of these tests".to_vec())
}

/// A door that is open while the test runs, and its callers.
struct Opened {
    address: SocketAddr,
    callers: Receiver<Caller>,
    stop: Stop,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Opened {
    fn new(config: DoorConfig, handshake_limit: Duration) -> Self {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).expect("a listener");
        let mut door = Door::new(vec![listener], config);
        door.porter.handshake_limit = handshake_limit;
        let (stop, (sender, callers)) = (Stop::default(), channel());
        let address = door.addresses()[0];
        let ends = stop.clone();
        let thread = std::thread::spawn(move || {
            door.run(&ends, move |caller| {
                // The test may have ended.
                let _ = sender.send(caller);
            })
        });
        Opened {
            address,
            callers,
            stop,
            thread: Some(thread),
        }
    }

    fn client(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(HANGS)).expect("a limit");
        stream
    }

    /// A whole handshake with that token.
    fn open(&self, token: &Token) -> (TcpStream, Result<Established, HandshakeError>) {
        let (handshake, hello) = ClientHandshake::control(token, OFF, nonce().expect("a nonce"));
        self.shake_hands(handshake, &hello)
    }

    fn join(&self, to: &Established, number: u32) -> (TcpStream, Result<Established, HandshakeError>) {
        let nonce = nonce().expect("a nonce");
        let (handshake, hello) = ClientHandshake::data(&to.keys.control, to.session, number, nonce);
        self.shake_hands(handshake, &hello)
    }

    fn shake_hands(
        &self,
        mut handshake: ClientHandshake,
        hello: &[u8],
    ) -> (TcpStream, Result<Established, HandshakeError>) {
        let mut stream = self.client();
        stream.write_all(hello).expect("the hello leaves");
        let proof = match handshake.on_challenge(&answer(&mut stream)) {
            Ok(proof) => proof,
            Err(error) => return (stream, Err(error)),
        };
        stream.write_all(&proof).expect("the proof leaves");
        let welcome = answer(&mut stream);
        (stream, handshake.on_welcome(&welcome))
    }

    fn admitted(&self) -> Admitted {
        match self.callers.recv_timeout(HANGS).expect("a caller") {
            Caller::Admitted(admitted) => *admitted,
            Caller::Refused { reason, .. } => panic!("refused: {reason}"),
        }
    }

    fn refused(&self) -> String {
        match self.callers.recv_timeout(HANGS).expect("a caller") {
            Caller::Refused { reason, .. } => reason,
            Caller::Admitted(admitted) => panic!("admitted: {admitted:?}"),
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            let done = thread.join();
            assert!(std::thread::panicking() || matches!(done, Ok(Ok(()))));
        }
    }
}

fn config() -> DoorConfig {
    DoorConfig {
        token: token(),
        demand: OFF,
        strangers: 4,
        sessions: 1,
        joining: 2,
    }
}

fn answer(stream: &mut TcpStream) -> [u8; HANDSHAKE_LENGTH] {
    let mut message = [0; HANDSHAKE_LENGTH];
    stream.read_exact(&mut message).expect("an answer");
    message
}

#[test]
fn a_client_with_the_token_becomes_a_session_with_the_same_keys() {
    let door = Opened::new(config(), HANGS);
    let (stream, established) = door.open(&token());
    let (client, admitted) = (established.expect("a session"), door.admitted());
    assert_eq!(admitted.established.session, client.session);
    assert_eq!(admitted.established.keys.control, client.keys.control);
    assert_eq!(admitted.peer, stream.local_addr().expect("an address"));
}

#[test]
fn each_refusal_says_why_at_both_ends() {
    let door = Opened::new(config(), HANGS);
    let (_, refused) = door.open(&Token::new(b"another".to_vec()));
    assert_eq!(refused.expect_err("refused"), HandshakeError::WrongToken);
    assert_eq!(door.refused(), "wrong token");
    let (_, refused) = door.open(&Token::new(Vec::new()));
    assert_eq!(refused.expect_err("refused"), HandshakeError::TokenNeeded);
    // The client left without a proof.
    assert_eq!(door.refused(), "the connection was closed");
    door.client().write_all(&[b'x'; HANDSHAKE_LENGTH]).expect("sent");
    assert_eq!(door.refused(), "the other side does not speak Weir's protocol");
}

#[test]
fn one_session_too_many_is_busy_until_the_first_has_ended() {
    let door = Opened::new(config(), HANGS);
    let _first = door.open(&token());
    let first = door.admitted();
    assert_eq!(door.open(&token()).1.expect_err("refused"), HandshakeError::Busy);
    assert_eq!(door.refused(), "it is busy");
    // A stranger does not learn whether it is.
    let (_, refused) = door.open(&Token::new(b"another".to_vec()));
    assert_eq!(refused.expect_err("refused"), HandshakeError::WrongToken);
    assert_eq!(door.refused(), "wrong token");
    drop(first.place);
    let third = door.open(&token()).1.expect("a session");
    assert_ne!(third.session, first.established.session);
    door.admitted();
}

#[test]
fn strangers_above_the_limit_are_told_that_it_is_busy_and_the_door_stays_usable() {
    let door = Opened::new(config(), HANGS);
    let silent: Vec<TcpStream> = (0..4).map(|_| door.client()).collect();
    // Whether the hello is there already or not: none loses the reply.
    for _ in 0..100 {
        assert_eq!(door.open(&token()).1.expect_err("refused"), HandshakeError::Busy);
        assert_eq!(door.refused(), "too many handshakes at once");
        let mut quiet = door.client();
        assert_eq!(answer(&mut quiet), *BUSY);
        assert_eq!(door.refused(), "too many handshakes at once");
    }
    drop(silent);
    for _ in 0..4 {
        assert_eq!(door.refused(), "the connection was closed");
    }
    // A stranger's place is free before its refusal is reported.
    door.open(&token()).1.expect("a session");
    door.admitted();
}

#[test]
fn a_handshake_has_a_time_limit() {
    let limit = Duration::from_secs(1);
    let door = Opened::new(config(), limit);
    let begun = std::time::Instant::now();
    let mut silent = door.client();
    // A byte now and then does not extend it.
    silent.write_all(b"W").expect("sent");
    assert_eq!(door.refused(), "handshake not complete within 1 s");
    assert!(begun.elapsed() >= limit);
    assert_eq!(silent.read(&mut [0; 1]).expect("closed"), 0);
}

#[test]
fn connections_join_their_session_and_no_other() {
    let door = Opened::new(config(), HANGS);
    let (_stream, established) = door.open(&token());
    let (client, session) = (established.expect("a session"), door.admitted());
    let mut streams = [7, 8, 9].map(|number| {
        let (stream, done) = door.join(&client, number);
        done.expect("joined");
        stream
    });
    // Two may wait; the one that is handed over last is welcomed, then closed.
    assert_eq!(door.refused(), "more connections than a test may have");
    let handed_over = [(); 2].map(|()| session.joined.recv_timeout(HANGS).expect("a connection").number);
    let closed = [7, 8, 9].iter().position(|number| !handed_over.contains(number));
    let closed = &mut streams[closed.expect("one is closed")];
    assert_eq!(closed.read(&mut [0; 1]).expect("closed"), 0);
    let mut other = client.clone();
    other.session = SessionId(client.session.0 ^ 1);
    assert_eq!(
        door.join(&other, 1).1.expect_err("refused"),
        HandshakeError::UnknownSession
    );
    assert_eq!(door.refused(), "unknown session");
    other = client.clone();
    other.keys.control[0] ^= 1;
    assert_eq!(
        door.join(&other, 1).1.expect_err("refused"),
        HandshakeError::WrongToken
    );
    assert_eq!(door.refused(), "wrong token");
    drop(session);
    assert_eq!(
        door.join(&client, 1).1.expect_err("refused"),
        HandshakeError::UnknownSession
    );
}

#[test]
fn a_door_without_data_connections_knows_no_session_to_join() {
    let door = Opened::new(
        DoorConfig {
            joining: 0,
            ..config()
        },
        HANGS,
    );
    let (_stream, established) = door.open(&token());
    let _session = door.admitted();
    let (_, refused) = door.join(&established.expect("a session"), 1);
    assert_eq!(refused.expect_err("refused"), HandshakeError::UnknownSession);
}
