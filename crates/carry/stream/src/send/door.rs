//! Where receivers knock: the door of control sessions with one place, and a queue of callers for the sender's thread.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use weir_control::{Caller, Door, DoorConfig, Stop, listen_with_token};
use weir_net::NetError;
use weir_protect::Demand;
use weir_wire::Token;

use crate::StreamError;

/// Maximum number of concurrent handshakes.
const MAX_HANDSHAKES: usize = 16;
/// Maximum number of queued callers, of which the sender reads none while it serves one. Further refusals are dropped: more
/// than these are not recorded either.
const WAITING: usize = 100;

/// Listens until it is dropped.
pub(super) struct Callers {
    queue: Receiver<Caller>,
    addresses: Vec<SocketAddr>,
    stop: Stop,
}

impl Callers {
    pub(super) fn listen(
        listen: &[IpAddr],
        port: u16,
        (token, demand): (&Token, Demand),
        open: bool,
    ) -> Result<Self, StreamError> {
        let listeners = listen_with_token(listen, port, token, open).map_err(cannot_listen)?;
        let config = DoorConfig {
            token: token.clone(),
            demand,
            strangers: MAX_HANDSHAKES,
            sessions: 1,
            joining: 0,
        };
        let door = Door::new(listeners, config);
        let addresses = door.addresses();
        let (stop, (sender, queue)) = (Stop::default(), sync_channel(WAITING));
        let ended = stop.clone();
        std::thread::Builder::new()
            .name("door".into())
            .spawn(move || {
                if let Err(error) = door.run(&ended, move |caller| enqueue(&sender, caller)) {
                    tracing::error!(%error, "cannot wait for connections");
                }
            })
            .map_err(|error| StreamError::thread(&error))?;
        Ok(Callers {
            queue,
            addresses,
            stop,
        })
    }

    /// Addresses it listens on.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The next caller within `limit`, if any.
    pub(super) fn next_within(&self, limit: Duration) -> Result<Option<Caller>, StreamError> {
        match self.queue.recv_timeout(limit) {
            Ok(caller) => Ok(Some(caller)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(StreamError::Internal("the listening thread failed".into()))
            }
        }
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.stop.set();
    }
}

/// Queues a receiver, of which there is one at a time, and a refusal if there is space: it must not block the door.
fn enqueue(sender: &SyncSender<Caller>, caller: Caller) {
    match caller {
        // A sender that has ended serves nobody.
        Caller::Admitted(_) => drop(sender.send(caller)),
        Caller::Refused { .. } => drop(sender.try_send(caller)),
    }
}

fn cannot_listen((address, error): (SocketAddr, std::io::Error)) -> StreamError {
    if error.kind() == std::io::ErrorKind::AddrInUse {
        return StreamError::Parameters(format!(
            "TCP port {} on {} is in use; stop the other sender or choose another with --port",
            address.port(),
            address.ip()
        ));
    }
    NetError::io("listen on", address, error).into()
}
