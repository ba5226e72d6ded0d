//! A connection of somebody who has not proven anything yet, with a limit on the time that they can take.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use weir_wire::handshake::{HANDSHAKE_LENGTH, Refused};

/// A stranger has this long to finish the handshake, however slowly it speaks.
pub const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);

/// A connection of somebody who has not proven anything.
#[derive(Debug)]
pub struct Stranger {
    stream: TcpStream,
    deadline: Instant,
}

impl Stranger {
    /// Takes over a connection; its time runs from now.
    ///
    /// # Errors
    /// When it is gone.
    pub fn new(stream: TcpStream) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        stream.set_nonblocking(false).map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        stream.set_write_timeout(Some(HANDSHAKE_LIMIT)).map_err(text)?;
        Ok(Stranger {
            stream,
            deadline: Instant::now() + HANDSHAKE_LIMIT,
        })
    }

    /// The next message, all of it before the deadline.
    ///
    /// # Errors
    /// When it does not come in time, or the stranger leaves.
    pub fn read(&mut self) -> Result<[u8; HANDSHAKE_LENGTH], String> {
        let mut message = [0; HANDSHAKE_LENGTH];
        let mut filled = 0;
        while filled < message.len() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("not done within {} s", HANDSHAKE_LIMIT.as_secs()));
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

    /// Messages of the handshake are small enough for the socket's buffer: this does not wait for the stranger.
    ///
    /// # Errors
    /// When it is gone.
    pub fn write(&mut self, message: &[u8]) -> Result<(), String> {
        self.stream.write_all(message).map_err(|error| error.to_string())
    }

    /// The connection, once the handshake is done.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Tells the stranger that it is refused, where that is safe to tell, and says why.
    pub fn refuse(&mut self, refused: Refused) -> String {
        if let Some(reply) = refused.reply {
            // A stranger who has left does not need to know why.
            let _ = self.stream.write_all(&reply);
        }
        refused.error.to_string()
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
