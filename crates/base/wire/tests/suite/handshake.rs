//! The handshake and the control frames: sessions that must be set up, and input that must be refused.

use proptest::prelude::*;
use weir_wire::{
    AgentHandshake, ClientHandshake, ClientHello, Established, FrameError, FrameOpener, FrameSealer,
    HandshakeError, MAX_FRAME_LENGTH, Purpose, Refusal, Refused, Role, SessionId, Token,
};

type Message = [u8; 56];

const SESSION: SessionId = SessionId(77);

fn token(secret: &str) -> Token {
    Token::new(secret.as_bytes().to_vec())
}

fn no_session(_: SessionId) -> Result<[u8; 32], Refusal> {
    Err(Refusal::UnknownSession)
}

/// Plays a whole handshake; `change` may alter each message (0 to 3) in transit.
fn play(
    start: (ClientHandshake, Message),
    agent_token: &Token,
    session_key: Result<[u8; 32], Refusal>,
    change: impl Fn(usize, &mut Message),
) -> Result<(Established, Established), HandshakeError> {
    let (mut client, mut hello) = start;
    change(0, &mut hello);
    let (agent, mut challenge) = AgentHandshake::on_hello(&hello, agent_token, [2; 32], |_| session_key)
        .map_err(|refused| refused.error)?;
    change(1, &mut challenge);
    let mut proof = client.on_challenge(&challenge)?;
    change(2, &mut proof);
    let (at_agent, mut welcome) = agent
        .on_proof(&proof, || Ok(SESSION))
        .map_err(|refused| refused.error)?;
    change(3, &mut welcome);
    Ok((at_agent, client.on_welcome(&welcome)?))
}

fn control(client_token: &Token, agent_token: &Token) -> Result<(Established, Established), HandshakeError> {
    play(
        ClientHandshake::control(client_token, [1; 32]),
        agent_token,
        Err(Refusal::Busy),
        |_, _| (),
    )
}

fn same_keys((agent, client): &(Established, Established)) -> bool {
    agent.session == client.session
        && agent.keys.control == client.keys.control
        && agent.keys.udp.tag(b"x") == client.keys.udp.tag(b"x")
}

#[test]
fn both_sides_agree() {
    for secret in ["", "s", "a token of usual length"] {
        let pair = control(&token(secret), &token(secret)).unwrap();
        assert!(same_keys(&pair));
        assert_eq!(pair.0.session, SESSION);
    }
}

#[test]
fn a_wrong_token_is_refused_on_either_side() {
    assert_eq!(
        control(&token("a"), &token("b")).unwrap_err(),
        HandshakeError::WrongToken
    );
    assert_eq!(
        control(&token(""), &token("b")).unwrap_err(),
        HandshakeError::TokenNeeded
    );
    assert_eq!(
        control(&token("a"), &token("")).unwrap_err(),
        HandshakeError::AgentIsOpen
    );
}

#[test]
fn the_refusal_is_told() {
    let (_, hello) = ClientHandshake::control(&token("a"), [1; 32]);
    let (mut client, _) = ClientHandshake::control(&token("a"), [1; 32]);
    let (agent, challenge) = AgentHandshake::on_hello(&hello, &token("b"), [2; 32], no_session).unwrap();
    let proof = client.on_challenge(&challenge).unwrap();
    let refused = agent
        .on_proof(&proof, || panic!("a stranger must cost no session"))
        .unwrap_err();
    assert_eq!(
        client.on_welcome(&refused.reply.unwrap()).unwrap_err(),
        HandshakeError::WrongToken
    );
}

#[test]
fn an_agent_without_the_token_is_found_out() {
    // It sends a challenge as if it had one, accepts any proof, and sends a welcome with the MAC that it can compute.
    let start = ClientHandshake::control(&token("a"), [1; 32]);
    let (mut client, hello) = start;
    let (impostor, challenge) =
        AgentHandshake::on_hello(&hello, &token("guess"), [2; 32], no_session).unwrap();
    client.on_challenge(&challenge).unwrap();
    let (mut accomplice, _) = ClientHandshake::control(&token("guess"), [1; 32]);
    let proof = accomplice.on_challenge(&challenge).unwrap();
    let (_, welcome) = impostor.on_proof(&proof, || Ok(SESSION)).unwrap();
    assert_eq!(
        client.on_welcome(&welcome).unwrap_err(),
        HandshakeError::AgentNotProven
    );
}

#[test]
fn the_client_s_own_mac_does_not_welcome_it() {
    let (mut client, hello) = ClientHandshake::control(&token("a"), [1; 32]);
    let (_, challenge) = AgentHandshake::on_hello(&hello, &token("a"), [2; 32], no_session).unwrap();
    let proof = client.on_challenge(&challenge).unwrap();
    let mut welcome = [0; 56];
    welcome[8..16].copy_from_slice(&SESSION.0.to_be_bytes());
    welcome[16..48].copy_from_slice(&proof[..32]);
    assert_eq!(
        client.on_welcome(&welcome).unwrap_err(),
        HandshakeError::AgentNotProven
    );
}

#[test]
fn a_replayed_proof_fails() {
    let secret = token("a");
    let (mut client, hello) = ClientHandshake::control(&secret, [1; 32]);
    let (_, challenge) = AgentHandshake::on_hello(&hello, &secret, [2; 32], no_session).unwrap();
    let recorded = client.on_challenge(&challenge).unwrap();
    // The same hello again: the agent's nonce is new.
    let (agent, _) = AgentHandshake::on_hello(&hello, &secret, [3; 32], no_session).unwrap();
    let refused = agent.on_proof(&recorded, || Ok(SESSION)).unwrap_err();
    assert_eq!(refused.error, HandshakeError::WrongToken);
    // A recorded welcome does not fit a new client nonce.
    let (agent, _) = AgentHandshake::on_hello(&hello, &secret, [2; 32], no_session).unwrap();
    let (_, recorded) = agent.on_proof(&recorded, || Ok(SESSION)).unwrap();
    let (mut client, _) = ClientHandshake::control(&secret, [9; 32]);
    client.on_challenge(&challenge).unwrap();
    assert_eq!(
        client.on_welcome(&recorded).unwrap_err(),
        HandshakeError::AgentNotProven
    );
}

#[test]
fn a_data_connection_joins_its_session_only() {
    let (_, session) = control(&token("a"), &token("a")).unwrap();
    let key = session.keys.control;
    let data = |stream| ClientHandshake::data(&key, SESSION, stream, [1; 32]);
    let pair = play(data(3), &token("a"), Ok(key), |_, _| ()).unwrap();
    assert!(same_keys(&pair));
    assert_ne!(pair.0.keys.control, key);
    let other = play(data(4), &token("a"), Ok(key), |_, _| ()).unwrap();
    assert_ne!(pair.0.keys.control, other.0.keys.control);

    let error = |key, change: fn(usize, &mut Message)| play(data(3), &token("a"), key, change).unwrap_err();
    assert_eq!(error(Ok([0; 32]), |_, _| ()), HandshakeError::WrongToken);
    assert_eq!(
        error(Err(Refusal::UnknownSession), |_, _| ()),
        HandshakeError::UnknownSession
    );
    assert_eq!(error(Err(Refusal::Busy), |_, _| ()), HandshakeError::Busy);
    // Another session or stream in the hello than in the proof.
    let moved = |index: usize, message: &mut Message| {
        if index == 0 {
            message[19] ^= 1;
        }
    };
    assert_eq!(error(Ok(key), moved), HandshakeError::WrongToken);
    // A data hello asks the agent for the session it names.
    let (_, hello) = data(3);
    let (agent, _) = AgentHandshake::on_hello(&hello, &token("a"), [2; 32], |asked| {
        assert_eq!(asked, SESSION);
        Ok(key)
    })
    .unwrap();
    assert_eq!(
        agent.purpose(),
        Purpose::Data {
            session: SESSION,
            stream: 3
        }
    );
}

#[test]
fn the_control_key_does_not_open_a_control_connection_and_the_reverse() {
    // The same bytes as token and as control key, the same nonces: labels still keep the macs apart.
    let secret = [5u8; 32];
    let (mut as_data, _) = ClientHandshake::data(&secret, SESSION, 0, [1; 32]);
    let (_, hello) = ClientHandshake::control(&Token::new(secret.to_vec()), [1; 32]);
    let token = Token::new(secret.to_vec());
    let (agent, challenge) = AgentHandshake::on_hello(&hello, &token, [2; 32], no_session).unwrap();
    let proof = as_data.on_challenge(&challenge).unwrap();
    assert_eq!(
        agent.on_proof(&proof, || Ok(SESSION)).unwrap_err().error,
        HandshakeError::WrongToken
    );
}

#[test]
fn no_changed_bit_is_accepted() {
    let key = [6; 32];
    for (name, start) in [
        ("control", ClientHandshake::control(&token("a"), [1; 32])),
        ("data", ClientHandshake::data(&key, SESSION, 3, [1; 32])),
        ("open", ClientHandshake::control(&token(""), [1; 32])),
    ] {
        let agent_token = if name == "open" { token("") } else { token("a") };
        assert!(play(start.clone(), &agent_token, Ok(key), |_, _| ()).is_ok());
        for index in 0..4 {
            for bit in 0..56 * 8 {
                let change = |at: usize, message: &mut Message| {
                    if at == index {
                        message[bit / 8] ^= 1 << (bit % 8);
                    }
                };
                let result = play(start.clone(), &agent_token, Ok(key), change);
                assert!(result.is_err(), "{name}, message {index}, bit {bit}");
            }
        }
    }
}

#[test]
fn versions_and_strangers() {
    let (_, mut hello) = ClientHandshake::control(&token("a"), [1; 32]);
    hello[4] = 2;
    let Refused { reply, error } =
        AgentHandshake::on_hello(&hello, &token("a"), [2; 32], no_session).unwrap_err();
    assert_eq!(error, HandshakeError::Version(2));
    let reply = reply.unwrap();
    assert_eq!((reply[4], reply[5]), (1, 3), "own version, status 3");
    // What a client makes of an agent of version 2.
    let (mut client, _) = ClientHandshake::control(&token("a"), [1; 32]);
    let mut newer = reply;
    newer[4] = 2;
    assert_eq!(client.on_challenge(&newer), Err(HandshakeError::Version(2)));

    let http = *b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: x\r\n\r\nabcd";
    let refused = AgentHandshake::on_hello(&http, &token("a"), [2; 32], no_session).unwrap_err();
    assert_eq!(
        refused,
        Refused {
            reply: None,
            error: HandshakeError::Magic
        }
    );
    assert_eq!(client.on_challenge(&http), Err(HandshakeError::Magic));
}

#[test]
fn busy_agents_and_disorder() {
    let secret = token("a");
    let (mut client, hello) = ClientHandshake::control(&secret, [1; 32]);
    assert_eq!(
        client.on_welcome(&[0; 56]).unwrap_err(),
        HandshakeError::OutOfOrder
    );
    let busy = AgentHandshake::refuse(Refusal::Busy);
    assert_eq!(client.on_challenge(&busy), Err(HandshakeError::Busy));
    let (agent, challenge) = AgentHandshake::on_hello(&hello, &secret, [2; 32], no_session).unwrap();
    let proof = client.on_challenge(&challenge).unwrap();
    assert_eq!(client.on_challenge(&challenge), Err(HandshakeError::OutOfOrder));
    let refused = agent.on_proof(&proof, || Err(Refusal::Busy)).unwrap_err();
    assert_eq!(
        client.on_welcome(&refused.reply.unwrap()).unwrap_err(),
        HandshakeError::Busy
    );
}

proptest! {
    #[test]
    fn hellos_round_trip(data: Option<(u64, u32)>, nonce: [u8; 32]) {
        let purpose = match data {
            None => Purpose::Control,
            Some((session, stream)) => Purpose::Data { session: SessionId(session), stream },
        };
        let hello = ClientHello { purpose, nonce };
        prop_assert_eq!(ClientHello::decode(&hello.encode()), Ok(hello));
    }

    #[test]
    fn frames_open_in_order_and_once(
        key: [u8; 32], payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 2..8),
    ) {
        let mut sealer = FrameSealer::new(&key, Role::Client);
        let mut opener = FrameOpener::new(&key, Role::Agent);
        let headers: Vec<_> = payloads.iter().map(|payload| sealer.seal(payload).unwrap()).collect();
        // Out of order.
        prop_assert_eq!(opener.open(&headers[1], &payloads[1]), Err(FrameError::Mac));
        for (header, payload) in headers.iter().zip(&payloads) {
            prop_assert_eq!(opener.payload_length(header), Ok(payload.len()));
            prop_assert_eq!(opener.open(header, payload), Ok(()));
            // Replayed.
            prop_assert_eq!(opener.open(header, payload), Err(FrameError::Mac));
        }
        // Reflected to its sender.
        let mut at_client = FrameOpener::new(&key, Role::Client);
        prop_assert_eq!(at_client.open(&headers[0], &payloads[0]), Err(FrameError::Mac));
    }
}

#[test]
fn no_changed_bit_of_a_frame_is_accepted() {
    let payload = *b"what is said";
    let header = FrameSealer::new(&[1; 32], Role::Agent).seal(&payload).unwrap();
    let mut opener = FrameOpener::new(&[1; 32], Role::Client);
    for bit in 0..header.len() * 8 {
        let mut changed = header;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(opener.open(&changed, &payload).is_err(), "bit {bit}");
    }
    for bit in 0..payload.len() * 8 {
        let mut changed = payload;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(opener.open(&header, &changed), Err(FrameError::Mac));
    }
    assert_eq!(
        opener.open(&header, &payload[..5]),
        Err(FrameError::Length {
            announced: 12,
            got: 5
        })
    );
    assert_eq!(
        FrameOpener::new(&[2; 32], Role::Client).open(&header, &payload),
        Err(FrameError::Mac)
    );
    assert_eq!(opener.open(&header, &payload), Ok(()));
}

#[test]
fn frames_are_bounded() {
    let mut sealer = FrameSealer::new(&[1; 32], Role::Client);
    let mut opener = FrameOpener::new(&[1; 32], Role::Agent);
    let mut payload = vec![7; MAX_FRAME_LENGTH];
    let header = sealer.seal(&payload).unwrap();
    assert_eq!(opener.open(&header, &payload), Ok(()));
    payload.push(7);
    assert_eq!(
        sealer.seal(&payload),
        Err(FrameError::TooLong(MAX_FRAME_LENGTH + 1))
    );
    assert_eq!(
        opener.payload_length(&[0xff; 20]),
        Err(FrameError::TooLong(0xffff_ffff))
    );
    assert_eq!(
        opener.open(&[0xff; 20], &payload),
        Err(FrameError::TooLong(0xffff_ffff))
    );
}
