//! Authenticated messages, JSON in frames, both ways on one TCP connection whose handshake is done. It must not know
//! what they say.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use weir_wire::frame::{FrameOpener, FrameSealer, Role};

/// A peer that says nothing for this long is gone.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// How often each side says that it is there.
const BEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The control connection failed.
#[derive(Debug, Error)]
pub enum ControlError {
    /// By the peer.
    #[error("the control connection was closed")]
    Closed,
    /// The peer is gone.
    #[error("nothing heard on the control connection for {} s", SILENCE_LIMIT.as_secs())]
    Silent,
    /// By the network, or this host.
    #[error("the control connection failed: {0}")]
    Io(io::Error),
    /// Not of this session, or not what this version understands.
    #[error("an unreadable control message: {0}")]
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
    /// Sends a message, waiting for room in the socket.
    ///
    /// # Errors
    /// When the connection is gone, or the message is longer than a frame.
    pub fn send<M: Serialize>(&self, message: &M) -> Result<(), ControlError> {
        let payload =
            serde_json::to_vec(message).map_err(|error| ControlError::Message(error.to_string()))?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, sealer) = &mut *inner;
        let header = sealer
            .seal(&payload)
            .map_err(|error| ControlError::Message(error.to_string()))?;
        let mut frame = Vec::with_capacity(header.len() + payload.len());
        frame.extend_from_slice(&header);
        frame.extend_from_slice(&payload);
        stream.write_all(&frame)?;
        Ok(())
    }

    fn close(&self) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that is already gone cannot be shut down; both end the same.
        let _ = inner.0.shutdown(Shutdown::Both);
    }
}

/// Both halves. A thread reads, another keeps the connection alive; both end when this is dropped.
pub struct Control<M> {
    /// To the peer.
    pub writer: ControlWriter,
    /// From the peer; the last is an error.
    pub incoming: Receiver<Result<M, ControlError>>,
}

impl<M: DeserializeOwned + Send + 'static> Control<M> {
    /// Takes over a connection whose handshake is done. `beat` is the message that says "I am here".
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
    opener.open(&header, &payload).map_err(|error| bad(&error))?;
    serde_json::from_slice(&payload).map_err(|error| bad(&error))
}
