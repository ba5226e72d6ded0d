//! The service's end of control sessions: accepts connections, proves the token within a time limit, limits strangers and
//! sessions, and refuses the others with a reason. It must not know what sessions do.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_protect::Demand;
use weir_wire::handshake::{AgentHandshake, Established, HANDSHAKE_LENGTH, Purpose, Refusal, Refused};
use weir_wire::{SessionId, Token};

use crate::entrance::{Admission, Entrance, Place};
use crate::stranger::Stranger;
use crate::{Stop, nonce};

/// Time limit of a whole handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// Sent to a stranger above the limit, before its hello is read.
static BUSY: LazyLock<[u8; HANDSHAKE_LENGTH]> = LazyLock::new(|| AgentHandshake::refuse(Refusal::Busy));

/// Whom a [`Door`] lets in.
#[derive(Clone, Debug)]
pub struct DoorConfig {
    /// Shared secret; empty for none.
    pub token: Token,
    /// How the media of sessions are protected.
    pub demand: Demand,
    /// Maximum number of connections at once that are not authenticated yet.
    pub strangers: usize,
    /// Maximum number of sessions at once.
    pub sessions: usize,
    /// Connections that may wait to join one session; 0 if sessions have one connection only.
    pub joining: usize,
}

/// An authenticated control connection.
#[derive(Debug)]
pub struct Admitted {
    /// The connection.
    pub stream: TcpStream,
    /// Its session and keys.
    pub established: Established,
    /// The client's address.
    pub peer: SocketAddr,
    /// Further connections that join the session.
    pub joined: Receiver<Joined>,
    /// The session's place; the door takes another session once it is dropped.
    pub place: SessionPlace,
}

/// A data connection that has joined a session.
#[derive(Debug)]
pub struct Joined {
    /// Its number, by the client.
    pub number: u32,
    /// The connection.
    pub stream: TcpStream,
    /// When the client was welcomed, on [`weir_net::clock::monotonic_ns`]: earlier, nothing has come.
    pub welcomed_ns: u64,
}

/// A connection at a [`Door`].
#[derive(Debug)]
pub enum Caller {
    /// A new session.
    Admitted(Box<Admitted>),
    /// Refused: the reply was sent, and the refusal is logged.
    Refused {
        /// The peer.
        peer: SocketAddr,
        /// The reason.
        reason: String,
    },
}

/// A session's place among those that the door allows, free again when this is dropped.
#[derive(Debug)]
pub struct SessionPlace {
    session: SessionId,
    sessions: Sessions,
}

impl Drop for SessionPlace {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.session);
    }
}

/// Listens for control sessions.
#[derive(Debug)]
pub struct Door {
    entrance: Entrance,
    porter: Porter,
}

impl Door {
    /// A door over listeners of [`listen`](crate::listen), which do not block.
    pub fn new(listeners: Vec<TcpListener>, config: DoorConfig) -> Self {
        let admission = Admission {
            what: "handshake",
            limit: config.strangers,
            reply: &*BUSY,
            reason: "too many handshakes at once",
        };
        Door {
            entrance: Entrance::new(listeners, admission),
            porter: Porter {
                config: Arc::new(config),
                sessions: Sessions::default(),
                handshake_limit: HANDSHAKE_LIMIT,
            },
        }
    }

    /// Addresses that it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.entrance.addresses()
    }

    /// Accepts connections until `stop` is set. `call` runs on the thread of a session's connection, which may serve the
    /// session; for a refused connection it must not block.
    ///
    /// # Errors
    /// When it cannot wait for connections.
    pub fn run(&self, stop: &Stop, call: impl Fn(Caller) + Send + Sync + 'static) -> io::Result<()> {
        let (porter, log) = (self.porter.clone(), self.entrance.log());
        let call = Arc::new(call);
        let refused = call.clone();
        self.entrance.run(
            stop,
            move |stream, peer, place| match porter.admit(stream, peer, place) {
                Ok(Some(admitted)) => call(Caller::Admitted(Box::new(admitted))),
                Ok(None) => {}
                Err(reason) => {
                    log.refused(peer, &reason);
                    call(Caller::Refused { peer, reason });
                }
            },
            move |peer, reason| {
                let reason = reason.to_owned();
                refused(Caller::Refused { peer, reason });
            },
        )
    }
}

#[derive(Debug)]
struct Entry {
    control_key: [u8; 32],
    joined: SyncSender<Joined>,
}

/// The sessions there are; clones share them.
#[derive(Clone, Debug, Default)]
struct Sessions(Arc<Mutex<HashMap<SessionId, Entry>>>);

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leads connections through the handshake.
#[derive(Clone, Debug)]
struct Porter {
    config: Arc<DoorConfig>,
    sessions: Sessions,
    handshake_limit: Duration,
}

impl Porter {
    /// Makes a session of a control connection, and hands a data connection to its session. `place` is the stranger's,
    /// free again at the end of the handshake.
    fn admit(&self, stream: TcpStream, peer: SocketAddr, place: Place) -> Result<Option<Admitted>, String> {
        let _place = place;
        let mut stranger = Stranger::new(stream, self.handshake_limit)?;
        let message = stranger.read()?;
        let nonce = nonce().map_err(|error| error.to_string())?;
        let DoorConfig { token, demand, .. } = &*self.config;
        let hello = AgentHandshake::on_hello(&message, token, *demand, nonce, |session| self.key_of(session));
        let (handshake, challenge) = hello.map_err(|refused| stranger.refuse(refused))?;
        stranger.write(&challenge)?;
        let message = stranger.read()?;
        let purpose = handshake.purpose();
        let proven = handshake.on_proof(&message, || self.new_session());
        let (established, welcome) = proven.map_err(|refused| stranger.refuse(refused))?;
        match purpose {
            Purpose::Data {
                session,
                stream: number,
            } => {
                let welcomed_ns = weir_net::clock::monotonic_ns();
                // Welcome first: the session may answer on this connection as soon as it has it.
                stranger.write(&welcome)?;
                let joined = Joined {
                    number,
                    stream: stranger.into_stream(),
                    welcomed_ns,
                };
                self.join(session, joined).map(|()| None)
            }
            Purpose::Control => self.open(stranger, peer, established, &welcome).map(Some),
        }
    }

    fn key_of(&self, session: SessionId) -> Result<[u8; 32], Refusal> {
        self.sessions
            .lock()
            .get(&session)
            .filter(|_| self.config.joining > 0)
            .map(|entry| entry.control_key)
            .ok_or(Refusal::UnknownSession)
    }

    /// Hands a data connection to its session.
    fn join(&self, session: SessionId, joined: Joined) -> Result<(), String> {
        let sessions = self.sessions.lock();
        let entry = sessions
            .get(&session)
            .ok_or("the session ended during the handshake")?;
        // A session that takes no more connections is ending, or was never to have so many.
        entry
            .joined
            .try_send(joined)
            .map_err(|_| "more connections than a test may have".into())
    }

    /// Makes a session of a control connection.
    fn open(
        &self,
        mut stranger: Stranger,
        peer: SocketAddr,
        established: Established,
        welcome: &[u8; HANDSHAKE_LENGTH],
    ) -> Result<Admitted, String> {
        let (sender, joined) = sync_channel(self.config.joining);
        let entry = Entry {
            control_key: established.keys.control,
            joined: sender,
        };
        let Some(place) = self.take_place(established.session, entry) else {
            return Err(stranger.refuse(Refused::busy()));
        };
        stranger.write(welcome)?;
        Ok(Admitted {
            stream: stranger.into_stream(),
            established,
            peer,
            joined,
            place,
        })
    }

    /// The session's place, unless the last one was taken during the handshake.
    fn take_place(&self, session: SessionId, entry: Entry) -> Option<SessionPlace> {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= self.config.sessions {
            return None;
        }
        sessions.insert(session, entry);
        Some(SessionPlace {
            session,
            sessions: self.sessions.clone(),
        })
    }

    fn new_session(&self) -> Result<SessionId, Refusal> {
        let sessions = self.sessions.lock();
        if sessions.len() >= self.config.sessions {
            return Err(Refusal::Busy);
        }
        loop {
            let [a, b, c, d, e, f, g, h, ..] = nonce().map_err(|_| Refusal::Busy)?;
            let session = SessionId(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
            if session.0 != 0 && !sessions.contains_key(&session) {
                return Ok(session);
            }
        }
    }
}

#[cfg(test)]
mod tests;
