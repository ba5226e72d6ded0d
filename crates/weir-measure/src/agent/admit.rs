//! How a new connection becomes a session, or part of one: the agent's half of the handshake, with a limit on the time
//! that a stranger can take.

use std::net::TcpStream;
use std::sync::mpsc::{Receiver, sync_channel};

use weir_control::Stranger;
use weir_wire::SessionId;
use weir_wire::handshake::{AgentHandshake, Established, HANDSHAKE_LENGTH, Purpose, Refusal, Refused};

use super::{SessionEntry, Shared};

/// A control connection that has become a session, with the data connections that will join it.
pub(super) type Admitted = (TcpStream, Established, Receiver<(u32, TcpStream)>);

/// Leads a new connection through the handshake: a control connection gets a session, a data connection is
/// handed to its session.
pub(super) fn admit(stream: TcpStream, shared: &Shared) -> Result<Option<Admitted>, String> {
    let mut stranger = Stranger::new(stream)?;
    let message = stranger.read()?;
    let nonce = weir_control::nonce().map_err(|error| error.to_string())?;
    let key_of = |session| {
        shared
            .sessions()
            .get(&session)
            .map(|entry| entry.control_key)
            .ok_or(Refusal::UnknownSession)
    };
    let hello = AgentHandshake::on_hello(&message, &shared.config.token, nonce, key_of);
    let (handshake, challenge) = hello.map_err(|refused| stranger.refuse(refused))?;
    stranger.write(&challenge)?;
    let message = stranger.read()?;
    let purpose = handshake.purpose();
    let proven = handshake.on_proof(&message, || new_session(shared));
    let (established, welcome) = proven.map_err(|refused| stranger.refuse(refused))?;
    match purpose {
        Purpose::Data { session, stream } => {
            // Welcome first: the session may answer on this connection as soon as it has it.
            stranger.write(&welcome)?;
            join(stranger.into_stream(), session, stream, shared).map(|()| None)
        }
        Purpose::Control => open(stranger, established, &welcome, shared).map(Some),
    }
}

/// Hands a data connection to its session.
fn join(stream: TcpStream, session: SessionId, number: u32, shared: &Shared) -> Result<(), String> {
    let sessions = shared.sessions();
    let entry = sessions
        .get(&session)
        .ok_or("the session ended during the handshake")?;
    // A session that takes no more connections is ending, or was never to have so many.
    entry
        .joined
        .try_send((number, stream))
        .map_err(|_| "more connections than a test may have".into())
}

/// Makes a session of a control connection.
fn open(
    mut stranger: Stranger,
    established: Established,
    welcome: &[u8; HANDSHAKE_LENGTH],
    shared: &Shared,
) -> Result<Admitted, String> {
    let limits = &shared.config.limits;
    let (sender, joined) = sync_channel(usize::from(limits.max_flows));
    {
        let mut sessions = shared.sessions();
        if sessions.len() >= limits.max_sessions as usize {
            drop(sessions);
            return Err(stranger.refuse(Refused::busy()));
        }
        let entry = SessionEntry {
            control_key: established.keys.control,
            joined: sender,
        };
        sessions.insert(established.session, entry);
    }
    if let Err(error) = stranger.write(welcome) {
        shared.sessions().remove(&established.session);
        return Err(error);
    }
    Ok((stranger.into_stream(), established, joined))
}

fn new_session(shared: &Shared) -> Result<SessionId, Refusal> {
    let sessions = shared.sessions();
    if sessions.len() >= shared.config.limits.max_sessions as usize {
        return Err(Refusal::Busy);
    }
    loop {
        let bytes = weir_control::nonce().map_err(|_| Refusal::Busy)?;
        let mut id = [0; 8];
        id.copy_from_slice(&bytes[..8]);
        let session = SessionId(u64::from_be_bytes(id));
        if session.0 != 0 && !sessions.contains_key(&session) {
            return Ok(session);
        }
    }
}
