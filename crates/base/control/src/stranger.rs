//! A connection that is not authenticated yet, with a limit on the time for its handshake.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use weir_wire::handshake::{HANDSHAKE_LENGTH, Refused};

/// A connection that is not authenticated yet.
#[derive(Debug)]
pub(crate) struct Stranger {
    stream: TcpStream,
    limit: Duration,
    deadline: Instant,
}

impl Stranger {
    /// Takes over a connection; the time limit of its whole handshake starts now. Fails when the connection is gone.
    pub(crate) fn new(stream: TcpStream, limit: Duration) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        stream.set_nonblocking(false).map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        stream.set_write_timeout(Some(limit)).map_err(text)?;
        Ok(Stranger {
            stream,
            limit,
            deadline: Instant::now() + limit,
        })
    }

    /// The next message. Fails when not all of it arrives in time, or the connection is closed.
    pub(crate) fn read(&mut self) -> Result<[u8; HANDSHAKE_LENGTH], String> {
        let mut message = [0; HANDSHAKE_LENGTH];
        let mut filled = 0;
        while filled < message.len() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!(
                    "handshake not complete within {} s",
                    self.limit.as_secs()
                ));
            }
            self.stream
                .set_read_timeout(Some(left))
                .map_err(|error| error.to_string())?;
            match self.stream.read(&mut message[filled..]) {
                Ok(0) => return Err("the connection was closed".into()),
                Ok(count) => filled += count,
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(message)
    }

    /// Messages of the handshake are small enough for the socket's buffer: this does not block.
    pub(crate) fn write(&mut self, message: &[u8]) -> Result<(), String> {
        self.stream.write_all(message).map_err(|error| error.to_string())
    }

    /// The connection, once the handshake is done.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Sends the refusal's reply, if it has one; returns the reason.
    pub(crate) fn refuse(&mut self, refused: Refused) -> String {
        if let Some(reply) = refused.reply {
            // A peer that has closed the connection needs no reply.
            let _ = self.stream.write_all(&reply);
        }
        refused.error.to_string()
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
