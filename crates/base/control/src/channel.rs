//! Encrypted messages, JSON in frames, in both directions of one TCP connection after its handshake. It must not
//! know their content.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use weir_wire::frame::{FrameOpener, FrameSealer, Role};

/// A peer without messages for this long counts as gone.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// Interval of the keepalive messages of each side.
const BEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Why the control connection failed.
#[derive(Debug, Error)]
pub enum ControlError {
    /// Closed by the peer.
    #[error("the peer closed the control connection")]
    Closed,
    /// No message for [`SILENCE_LIMIT`].
    #[error("no message on the control connection for {} s", SILENCE_LIMIT.as_secs())]
    Silent,
    /// Failed in the network, or on this host.
    #[error("the control connection failed: {0}")]
    Io(io::Error),
    /// A message of another session, or one that this version does not understand.
    #[error("unreadable control message: {0}; do both ends run the same version of Weir?")]
    Message(String),
}

impl From<io::Error> for ControlError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => ControlError::Closed,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Silent,
            _ => ControlError::Io(error),
        }
    }
}

/// The sending half; clones share the connection.
#[derive(Clone)]
pub struct ControlWriter {
    inner: Arc<Mutex<(TcpStream, FrameSealer)>>,
}

impl ControlWriter {
    /// Sends a message, waiting for space in the socket buffer.
    ///
    /// # Errors
    /// When the connection is gone, or the message is longer than a frame.
    pub fn send<M: Serialize>(&self, message: &M) -> Result<(), ControlError> {
        let mut payload =
            serde_json::to_vec(message).map_err(|error| ControlError::Message(error.to_string()))?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, sealer) = &mut *inner;
        let header = sealer
            .seal(&mut payload)
            .map_err(|error| ControlError::Message(error.to_string()))?;
        let mut frame = Vec::with_capacity(header.len() + payload.len());
        frame.extend_from_slice(&header);
        frame.extend_from_slice(&payload);
        stream.write_all(&frame)?;
        Ok(())
    }

    fn close(&self) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // Fails only where the connection is gone already.
        let _ = inner.0.shutdown(Shutdown::Both);
    }
}

/// Both halves. A thread reads, another keeps the connection alive; both end when this is dropped.
pub struct Control<M> {
    /// Messages to the peer.
    pub writer: ControlWriter,
    /// Messages from the peer; the last is an error.
    pub incoming: Receiver<Result<M, ControlError>>,
}

impl<M: DeserializeOwned + Send + 'static> Control<M> {
    /// Takes over a connection after its handshake. `beat` is the keepalive message.
    ///
    /// # Errors
    /// When a thread cannot be started, or the connection is gone.
    pub fn start<B: Serialize + Send + 'static>(
        stream: TcpStream,
        control_key: &[u8; 32],
        role: Role,
        beat: B,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_LIMIT))?;
        stream.set_write_timeout(Some(SILENCE_LIMIT))?;
        let mut reading = stream.try_clone()?;
        let mut opener = FrameOpener::new(control_key, role);
        let writer = ControlWriter {
            inner: Arc::new(Mutex::new((stream, FrameSealer::new(control_key, role)))),
        };
        let (sender, incoming) = channel();
        std::thread::Builder::new()
            .name("control-read".into())
            .spawn(move || {
                loop {
                    let message = read_message(&mut reading, &mut opener);
                    let ended = message.is_err();
                    if sender.send(message).is_err() || ended {
                        break;
                    }
                }
            })?;
        let beating = writer.clone();
        std::thread::Builder::new()
            .name("control-beat".into())
            .spawn(move || {
                while beating.send(&beat).is_ok() {
                    std::thread::sleep(BEAT_INTERVAL);
                }
            })?;
        Ok(Control { writer, incoming })
    }
}

impl<M> Drop for Control<M> {
    fn drop(&mut self) {
        self.writer.close();
    }
}

fn read_message<M: DeserializeOwned>(
    stream: &mut TcpStream,
    opener: &mut FrameOpener,
) -> Result<M, ControlError> {
    let mut header = [0; 20];
    stream.read_exact(&mut header)?;
    let bad = |error: &dyn std::fmt::Display| ControlError::Message(error.to_string());
    let length = opener.payload_length(&header).map_err(|error| bad(&error))?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    opener.open(&header, &mut payload).map_err(|error| bad(&error))?;
    serde_json::from_slice(&payload).map_err(|error| bad(&error))
}
