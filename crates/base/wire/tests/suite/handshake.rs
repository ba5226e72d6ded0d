//! The handshake and the control frames: sessions that must be set up, and input that must be refused.

use proptest::prelude::*;
use weir_protect::{Demand, Protection};
use weir_wire::{
    AgentHandshake, ClientHandshake, ClientHello, Established, FrameError, FrameOpener, FrameSealer,
    HandshakeError, MAX_FRAME_LENGTH, Purpose, Refusal, Refused, Role, SessionId, Token,
};

type Message = [u8; 56];

const OFF: Demand = Demand::Exactly(Protection::Off);

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
    let (agent, mut challenge) = AgentHandshake::on_hello(&hello, agent_token, OFF, [2; 32], |_| session_key)
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
        ClientHandshake::control(client_token, OFF, [1; 32]),
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
    let (_, hello) = ClientHandshake::control(&token("a"), OFF, [1; 32]);
    let (mut client, _) = ClientHandshake::control(&token("a"), OFF, [1; 32]);
    let (agent, challenge) = AgentHandshake::on_hello(&hello, &token("b"), OFF, [2; 32], no_session).unwrap();
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
    let start = ClientHandshake::control(&token("a"), OFF, [1; 32]);
    let (mut client, hello) = start;
    let (impostor, challenge) =
        AgentHandshake::on_hello(&hello, &token("guess"), OFF, [2; 32], no_session).unwrap();
    client.on_challenge(&challenge).unwrap();
    let (mut accomplice, _) = ClientHandshake::control(&token("guess"), OFF, [1; 32]);
    let proof = accomplice.on_challenge(&challenge).unwrap();
    let (_, welcome) = impostor.on_proof(&proof, || Ok(SESSION)).unwrap();
    assert_eq!(
        client.on_welcome(&welcome).unwrap_err(),
        HandshakeError::AgentNotProven
    );
}

#[test]
fn the_client_s_own_mac_does_not_welcome_it() {
    let (mut client, hello) = ClientHandshake::control(&token("a"), OFF, [1; 32]);
    let (_, challenge) = AgentHandshake::on_hello(&hello, &token("a"), OFF, [2; 32], no_session).unwrap();
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
    let (mut client, hello) = ClientHandshake::control(&secret, OFF, [1; 32]);
    let (_, challenge) = AgentHandshake::on_hello(&hello, &secret, OFF, [2; 32], no_session).unwrap();
    let recorded = client.on_challenge(&challenge).unwrap();
    // The same hello again: the agent's nonce is new.
    let (agent, _) = AgentHandshake::on_hello(&hello, &secret, OFF, [3; 32], no_session).unwrap();
    let refused = agent.on_proof(&recorded, || Ok(SESSION)).unwrap_err();
    assert_eq!(refused.error, HandshakeError::WrongToken);
    // A recorded welcome does not fit a new client nonce.
    let (agent, _) = AgentHandshake::on_hello(&hello, &secret, OFF, [2; 32], no_session).unwrap();
    let (_, recorded) = agent.on_proof(&recorded, || Ok(SESSION)).unwrap();
    let (mut client, _) = ClientHandshake::control(&secret, OFF, [9; 32]);
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
    let (agent, _) = AgentHandshake::on_hello(&hello, &token("a"), OFF, [2; 32], |asked| {
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
    let (_, hello) = ClientHandshake::control(&Token::new(secret.to_vec()), OFF, [1; 32]);
    let token = Token::new(secret.to_vec());
    let (agent, challenge) = AgentHandshake::on_hello(&hello, &token, OFF, [2; 32], no_session).unwrap();
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
        ("control", ClientHandshake::control(&token("a"), OFF, [1; 32])),
        ("data", ClientHandshake::data(&key, SESSION, 3, [1; 32])),
        ("open", ClientHandshake::control(&token(""), OFF, [1; 32])),
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
    let (_, mut hello) = ClientHandshake::control(&token("a"), OFF, [1; 32]);
    hello[4] = 1;
    let Refused { reply, error } =
        AgentHandshake::on_hello(&hello, &token("a"), OFF, [2; 32], no_session).unwrap_err();
    assert_eq!(error, HandshakeError::Version(1));
    let reply = reply.unwrap();
    assert_eq!((reply[4], reply[5]), (2, 3), "own version, status 3");
    // What a client makes of an agent of version 1, which answers with its own number.
    let (mut client, _) = ClientHandshake::control(&token("a"), OFF, [1; 32]);
    let mut older = reply;
    older[4] = 1;
    assert_eq!(client.on_challenge(&older), Err(HandshakeError::Version(1)));

    let http = *b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: x\r\n\r\nabcd";
    let refused = AgentHandshake::on_hello(&http, &token("a"), OFF, [2; 32], no_session).unwrap_err();
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
    let (mut client, hello) = ClientHandshake::control(&secret, OFF, [1; 32]);
    assert_eq!(
        client.on_welcome(&[0; 56]).unwrap_err(),
        HandshakeError::OutOfOrder
    );
    let busy = AgentHandshake::refuse(Refusal::Busy);
    assert_eq!(client.on_challenge(&busy), Err(HandshakeError::Busy));
    let (agent, challenge) = AgentHandshake::on_hello(&hello, &secret, OFF, [2; 32], no_session).unwrap();
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
    fn hellos_round_trip(data: Option<(u64, u32)>, public: [u8; 32], fast: bool) {
        let purpose = match data {
            None => Purpose::Control,
            Some((session, stream)) => Purpose::Data { session: SessionId(session), stream },
        };
        let hello = ClientHello { purpose, offer: Demand::Encrypted.offer(fast), public };
        prop_assert_eq!(ClientHello::decode(&hello.encode()), Ok(hello));
    }

    #[test]
    fn frames_open_in_order_and_once(
        key: [u8; 32], payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 2..8),
    ) {
        let mut sealer = FrameSealer::new(&key, Role::Client);
        let mut opener = FrameOpener::new(&key, Role::Agent);
        let mut sealed = payloads.clone();
        let headers: Vec<_> = sealed.iter_mut().map(|payload| sealer.seal(payload).unwrap()).collect();
        // Out of order.
        prop_assert_eq!(opener.open(&headers[1], &mut sealed[1].clone()), Err(FrameError::Mac));
        for ((header, sealed), payload) in headers.iter().zip(&sealed).zip(&payloads) {
            prop_assert_eq!(opener.payload_length(header), Ok(payload.len()));
            prop_assert!(payload.len() < 16 || sealed != payload, "encrypted");
            let mut opened = sealed.clone();
            prop_assert_eq!(opener.open(header, &mut opened), Ok(()));
            prop_assert_eq!(&opened, payload);
            // Replayed.
            prop_assert_eq!(opener.open(header, &mut sealed.clone()), Err(FrameError::Mac));
        }
        // Reflected to its sender.
        let mut at_client = FrameOpener::new(&key, Role::Client);
        prop_assert_eq!(at_client.open(&headers[0], &mut sealed[0].clone()), Err(FrameError::Mac));
    }
}

#[test]
fn no_changed_bit_of_a_frame_is_accepted() {
    let mut sealed = *b"what is said";
    let header = FrameSealer::new(&[1; 32], Role::Agent).seal(&mut sealed).unwrap();
    let mut opener = FrameOpener::new(&[1; 32], Role::Client);
    for bit in 0..header.len() * 8 {
        let mut changed = header;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(opener.open(&changed, &mut sealed.to_vec()).is_err(), "bit {bit}");
    }
    for bit in 0..sealed.len() * 8 {
        let mut changed = sealed;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(opener.open(&header, &mut changed), Err(FrameError::Mac));
    }
    assert_eq!(
        opener.open(&header, &mut sealed.to_vec()[..5]),
        Err(FrameError::Length {
            announced: 12,
            got: 5
        })
    );
    assert_eq!(
        FrameOpener::new(&[2; 32], Role::Client).open(&header, &mut sealed.to_vec()),
        Err(FrameError::Mac)
    );
    assert_eq!(opener.open(&header, &mut sealed), Ok(()));
    assert_eq!(sealed, *b"what is said");
}

#[test]
fn frames_are_bounded() {
    let mut sealer = FrameSealer::new(&[1; 32], Role::Client);
    let mut opener = FrameOpener::new(&[1; 32], Role::Agent);
    let mut payload = vec![7; MAX_FRAME_LENGTH];
    let header = sealer.seal(&mut payload).unwrap();
    assert_eq!(opener.open(&header, &mut payload), Ok(()));
    payload.push(7);
    assert_eq!(
        sealer.seal(&mut payload),
        Err(FrameError::TooLong(MAX_FRAME_LENGTH + 1))
    );
    assert_eq!(
        opener.payload_length(&[0xff; 20]),
        Err(FrameError::TooLong(0xffff_ffff))
    );
    assert_eq!(
        opener.open(&[0xff; 20], &mut payload),
        Err(FrameError::TooLong(0xffff_ffff))
    );
}

#[test]
fn a_token_that_leaks_opens_no_recording() {
    // Somebody who has all messages and the token, but neither private key, computes what a public key and the token give.
    let secret = token("a token that leaks");
    let (agent, client) = control(&secret, &secret).unwrap();
    let (mut knows, _) = ClientHandshake::control(&secret, OFF, [1; 32]);
    let (mut guesses, hello) = ClientHandshake::control(&secret, OFF, [7; 32]);
    let (_, challenge) = AgentHandshake::on_hello(&hello, &secret, OFF, [2; 32], no_session).unwrap();
    let proof = guesses.on_challenge(&challenge).unwrap();
    assert_ne!(proof, knows.on_challenge(&challenge).unwrap());
    // The same token and other private keys: other keys, of control frames, headers and media.
    let other = play(
        ClientHandshake::control(&secret, OFF, [7; 32]),
        &secret,
        Err(Refusal::Busy),
        |_, _| (),
    )
    .unwrap();
    assert!(same_keys(&(agent, client.clone())));
    assert_ne!(other.0.keys.control, client.keys.control);
    assert_ne!(other.0.keys.udp.tag(b"x"), client.keys.udp.tag(b"x"));
    let media = [&other.0, &client].map(|it| it.keys.stream(Role::Agent).sending);
    assert_ne!(media[0], media[1]);
}

#[test]
fn the_protection_is_what_both_demand_and_cannot_be_lowered_on_the_path() {
    let secret = token("a");
    let meet = |client: Demand, agent: Demand, change: &dyn Fn(usize, &mut Message)| {
        let (mut state, mut hello) = ClientHandshake::control(&secret, client, [1; 32]);
        change(0, &mut hello);
        let met = AgentHandshake::on_hello(&hello, &secret, agent, [2; 32], no_session);
        let (at_agent, mut challenge) = match met {
            Ok(met) => met,
            Err(refused) => return Err(state.on_challenge(&refused.reply.unwrap()).unwrap_err()),
        };
        change(1, &mut challenge);
        let proof = state.on_challenge(&challenge)?;
        let (agent, welcome) = at_agent
            .on_proof(&proof, || Ok(SESSION))
            .map_err(|refused| refused.error)?;
        let client = state.on_welcome(&welcome)?;
        assert_eq!(agent.keys.protection, client.keys.protection);
        let [sends, receives] = [agent.keys.stream(Role::Agent), client.keys.stream(Role::Client)];
        assert_eq!(
            (&sends.sending, &sends.receiving),
            (&receives.receiving, &receives.sending)
        );
        Ok(client.keys.protection)
    };
    let unchanged = |_: usize, _: &mut Message| ();
    // Where one end has no token, that is the reason.
    for (client, agent, reason) in [
        ("", "a", HandshakeError::TokenNeeded),
        ("a", "", HandshakeError::AgentIsOpen),
    ] {
        let demand = |text: &str| if text.is_empty() { OFF } else { Demand::Encrypted };
        let (mut state, hello) = ClientHandshake::control(&token(client), demand(client), [1; 32]);
        let met = AgentHandshake::on_hello(&hello, &token(agent), demand(agent), [2; 32], no_session);
        let challenge = met.map_or_else(|refused| refused.reply.unwrap(), |met| met.1);
        assert_eq!(state.on_challenge(&challenge), Err(reason));
    }
    for protection in Protection::ALL {
        let exactly = Demand::Exactly(protection);
        assert_eq!(meet(exactly, exactly, &unchanged), Ok(protection));
        let refused = if protection.encrypts() {
            Ok(protection)
        } else {
            Err(HandshakeError::ProtectionDemanded(protection))
        };
        assert_eq!(meet(Demand::Encrypted, exactly, &unchanged), refused);
    }
    // Whoever is on the path offers less in the client's name, or chooses less in the agent's.
    let lower_offer = |at: usize, message: &mut Message| {
        if at == 0 {
            message[6] = Demand::Exactly(Protection::Aes256Gcm).offer(true).to_byte();
        }
    };
    let lowered = meet(Demand::Encrypted, Demand::Encrypted, &lower_offer);
    assert_eq!(lowered, Err(HandshakeError::WrongToken));
    for protection in [Protection::Off, Protection::Auth, Protection::Aes256Gcm] {
        let lower_choice = |at: usize, message: &mut Message| {
            if at == 1 {
                message[6] = protection.number();
            }
        };
        let lowered = meet(Demand::Encrypted, Demand::Encrypted, &lower_choice);
        let refused = if protection.encrypts() {
            HandshakeError::WrongToken
        } else {
            HandshakeError::ProtectionDemanded(protection)
        };
        assert_eq!(lowered, Err(refused));
    }
}

#[test]
fn public_keys_that_make_the_secret_known_are_refused() {
    let secret = token("a");
    for index in 0..2 {
        let zeros = |at: usize, message: &mut Message| {
            if at == index {
                message[24..].fill(0);
            }
        };
        let start = ClientHandshake::control(&secret, OFF, [1; 32]);
        let error = play(start, &secret, Err(Refusal::Busy), zeros).unwrap_err();
        let field = HandshakeError::Field {
            field: "public key",
            value: 1,
        };
        assert_eq!(error, field);
    }
}
