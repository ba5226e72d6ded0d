//! Handshake: runs both sides, and the input changes messages in transit. A side may accept only the message that
//! an honest peer with the secret would have sent, and after an unchanged handshake both sides hold the same keys.
//!
//! The fuzzer sees the code's comparisons, so it can learn a valid proof and send it: that is not a bug. The message of
//! an honest peer is therefore computed, not derived from whether a message was changed.
//!
//! Input: a byte that picks the purpose, then for each message a byte: 1 replaces it by the next 56 bytes, 2
//! changes one byte of it (place, difference), any other value leaves it unchanged.

use weir_wire::{
    AgentHandshake, ClientHandshake, ClientHello, HANDSHAKE_LENGTH, NONCE_LENGTH, Purpose, Refusal,
    SessionId, Token,
};

type Message = [u8; HANDSHAKE_LENGTH];

const SESSION: SessionId = SessionId(0x1122_3344_5566_7788);
const CONTROL_KEY: [u8; 32] = [9; 32];

/// Changes a message; returns whether it differs now.
fn change(input: &mut &[u8], message: &mut Message) -> bool {
    let before = *message;
    let Some((&how, rest)) = input.split_first() else {
        return false;
    };
    *input = rest;
    match how {
        1 => {
            if let Some((replacement, rest)) = input.split_first_chunk() {
                *message = *replacement;
                *input = rest;
            }
        }
        2 => {
            if let Some((&[place, difference], rest)) = input.split_first_chunk() {
                message[usize::from(place) % HANDSHAKE_LENGTH] ^= difference;
                *input = rest;
            }
        }
        _ => {}
    }
    *message != before
}

/// The proof that a client with the secret sends after this hello and this challenge.
fn honest_proof(token: &Token, hello: &Message, challenge: &Message) -> Message {
    let read = ClientHello::decode(hello).expect("the agent has read it");
    let (mut client, same) = match read.purpose {
        Purpose::Control => ClientHandshake::control(token, read.nonce),
        Purpose::Data { session, stream } => ClientHandshake::data(&CONTROL_KEY, session, stream, read.nonce),
    };
    assert_eq!(&same, hello);
    client.on_challenge(challenge).expect("the agent's own challenge")
}

/// The welcome that an agent with the secret sends to this client after that challenge.
fn honest_welcome(
    token: &Token,
    hello: &Message,
    challenge: &Message,
    proof: &Message,
    session: SessionId,
) -> Message {
    let mut nonce = [0; NONCE_LENGTH];
    nonce.copy_from_slice(&challenge[HANDSHAKE_LENGTH - NONCE_LENGTH..]);
    let (agent, same) =
        AgentHandshake::on_hello(hello, token, nonce, |_| Ok(CONTROL_KEY)).expect("the client's own hello");
    assert_eq!(&same, challenge);
    agent
        .on_proof(proof, || Ok(session))
        .expect("the client's own proof")
        .1
}

pub fn run(input: &[u8]) {
    let Some((&purpose, mut input)) = input.split_first() else {
        return;
    };
    let token = Token::new(if purpose & 2 == 0 {
        b"token".to_vec()
    } else {
        Vec::new()
    });
    let (mut client, mut hello) = if purpose & 1 == 0 {
        ClientHandshake::control(&token, [1; 32])
    } else {
        ClientHandshake::data(&CONTROL_KEY, SESSION, 3, [1; 32])
    };

    let own_hello = hello;
    let mut changed = change(&mut input, &mut hello);
    if let Ok(read) = ClientHello::decode(&hello) {
        assert_eq!(read.encode(), hello);
    }
    let session_key = |asked| {
        if asked == SESSION {
            Ok(CONTROL_KEY)
        } else {
            Err(Refusal::UnknownSession)
        }
    };
    let (agent, mut message) = match AgentHandshake::on_hello(&hello, &token, [2; 32], session_key) {
        Ok((agent, challenge)) => (Some(agent), challenge),
        Err(refused) => {
            assert!(changed);
            (None, refused.reply.unwrap_or([0; HANDSHAKE_LENGTH]))
        }
    };
    let own_challenge = message;
    changed |= change(&mut input, &mut message);
    let mut proof = match client.on_challenge(&message) {
        Ok(proof) => proof,
        Err(_) => {
            assert!(changed);
            [0; HANDSHAKE_LENGTH]
        }
    };
    let own_proof = proof;
    changed |= change(&mut input, &mut proof);
    let (at_agent, mut welcome) = match agent.map(|agent| agent.on_proof(&proof, || Ok(SESSION))) {
        Some(Ok((established, welcome))) => {
            assert_eq!(proof, honest_proof(&token, &hello, &own_challenge));
            (Some(established), welcome)
        }
        Some(Err(refused)) => (None, refused.reply.unwrap_or([0; HANDSHAKE_LENGTH])),
        None => (None, [0; HANDSHAKE_LENGTH]),
    };
    changed |= change(&mut input, &mut welcome);
    match client.on_welcome(&welcome) {
        Ok(at_client) => {
            assert_eq!(
                welcome,
                honest_welcome(&token, &own_hello, &message, &own_proof, at_client.session)
            );
            if changed {
                return;
            }
            let Some(at_agent) = at_agent else {
                panic!("the client is established alone")
            };
            assert_eq!(at_agent.session, at_client.session);
            assert_eq!(at_agent.keys.control, at_client.keys.control);
            assert_eq!(at_agent.keys.udp.tag(b"x"), at_client.keys.udp.tag(b"x"));
        }
        Err(_) => assert!(changed),
    }
}
