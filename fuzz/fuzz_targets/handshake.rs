//! Handshake: runs both sides, and the input changes messages in transit. A side may accept only the message that
//! an honest peer with the secret would have sent, and after an unchanged handshake both sides hold the same keys.
//!
//! The fuzzer sees the code's comparisons, so it can learn a valid proof and send it: that is not a bug. The message of
//! an honest peer is therefore computed, not derived from whether a message was changed.
//!
//! Input: a byte that picks the purpose (bit 0), open mode (bit 1) and the demanded protection (bits 2 to 4), then for
//! each message a byte: 1 replaces it by the next 56 bytes, 2 changes one byte of it (place, difference), any other
//! value leaves it unchanged.

use weir_protect::{Demand, EphemeralKey, HandshakeSecrets, Protection, Secret, Transcript};
use weir_wire::{
    AgentHandshake, ClientHandshake, ClientHello, Established, HANDSHAKE_LENGTH, Purpose, Refusal, Role,
    SessionId, Token,
};

type Message = [u8; HANDSHAKE_LENGTH];

const SESSION: SessionId = SessionId(0x1122_3344_5566_7788);
const CONTROL_KEY: [u8; 32] = [9; 32];
const TOKEN: &[u8] = b"token";
const CLIENT_PRIVATE: [u8; 32] = [1; 32];
const AGENT_PRIVATE: [u8; 32] = [2; 32];

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

/// What both sides know before.
fn known(purpose: Purpose, open: bool) -> Vec<u8> {
    match purpose {
        Purpose::Control if open => Vec::new(),
        Purpose::Control => TOKEN.to_vec(),
        Purpose::Data { .. } => Secret::new(CONTROL_KEY).derive("join", &[]).as_bytes().to_vec(),
    }
}

/// The secrets after these messages, as the side with this private key computes them.
fn secrets(
    known: &[u8],
    own: [u8; 32],
    other: &Message,
    messages: &[&Message],
) -> (HandshakeSecrets, Transcript) {
    let mut public = [0; 32];
    public.copy_from_slice(&other[24..]);
    let shared = EphemeralKey::new(own).agree(public).expect("it was accepted");
    let mut transcript = Transcript::new();
    for message in messages {
        transcript.add(*message);
    }
    (HandshakeSecrets::new(known, &shared), transcript)
}

/// The proof that a client with the secret, and with the private key for this hello, sends after this challenge.
fn honest_proof(open: bool, hello: &Message, challenge: &Message) -> Message {
    let read = ClientHello::decode(hello).expect("the agent has read it");
    let known = known(read.purpose, open);
    let (secrets, messages) = secrets(&known, AGENT_PRIVATE, hello, &[hello, challenge]);
    let mut proof = [0; HANDSHAKE_LENGTH];
    proof[..32].copy_from_slice(&secrets.client_proof(&messages));
    proof
}

/// The welcome that an agent with the secret, and with the private key for this challenge, sends after this proof.
fn honest_welcome(
    open: bool,
    hello: &Message,
    challenge: &Message,
    proof: &Message,
    session: SessionId,
) -> Message {
    let read = ClientHello::decode(hello).expect("the client's own");
    let known = known(read.purpose, open);
    let (secrets, mut messages) = secrets(&known, CLIENT_PRIVATE, challenge, &[hello, challenge, proof]);
    let mut welcome = [0; HANDSHAKE_LENGTH];
    welcome[8..16].copy_from_slice(&session.0.to_be_bytes());
    messages.add(&welcome);
    welcome[16..48].copy_from_slice(&secrets.agent_proof(&messages));
    welcome
}

pub fn run(input: &[u8]) {
    let Some((&purpose, mut input)) = input.split_first() else {
        return;
    };
    let open = purpose & 2 != 0;
    let token = Token::new(if open { Vec::new() } else { TOKEN.to_vec() });
    let demand = match purpose >> 2 & 7 {
        number @ 0..=4 => Demand::Exactly(Protection::from_number(number).expect("a protection")),
        _ => Demand::Encrypted,
    };
    let (mut client, mut hello) = if purpose & 1 == 0 {
        ClientHandshake::control(&token, demand, CLIENT_PRIVATE)
    } else {
        ClientHandshake::data(&CONTROL_KEY, SESSION, 3, CLIENT_PRIVATE)
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
    let (agent, mut message) =
        match AgentHandshake::on_hello(&hello, &token, demand, AGENT_PRIVATE, session_key) {
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
            assert_eq!(proof, honest_proof(open, &hello, &own_challenge));
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
                honest_welcome(open, &own_hello, &message, &own_proof, at_client.session)
            );
            if changed {
                return;
            }
            let Some(at_agent) = at_agent else {
                panic!("the client is established alone")
            };
            agree(at_agent, at_client);
        }
        Err(_) => assert!(changed),
    }
}

fn agree(at_agent: Established, at_client: Established) {
    assert_eq!(at_agent.session, at_client.session);
    assert_eq!(at_agent.keys.control, at_client.keys.control);
    assert_eq!(at_agent.keys.udp.tag(b"x"), at_client.keys.udp.tag(b"x"));
    let [sends, receives] = [
        at_agent.keys.stream(Role::Agent),
        at_client.keys.stream(Role::Client),
    ];
    assert_eq!(sends.protection, receives.protection);
    assert_eq!(sends.sending, receives.receiving);
}
