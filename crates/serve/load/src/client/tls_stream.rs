//! A TLS connection that waits holds no buffer: all of a thread read records into the same one, and what is left to a
//! connection is the part of a record that has come. It must not know what is sent through it, nor whom to trust.

use std::cell::RefCell;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ClientConfig;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Room for a message of a handshake of 64 KiB, which is the most that is taken, and the record behind it.
pub(super) const RECORDS: usize = 96 << 10;
/// Payload of one record (RFC 8446, 5.1).
const MOST_IN_RECORD: usize = 16 << 10;
/// What a record needs beside its payload: its head, a nonce, the type of its content, and its tag.
const BESIDE_PAYLOAD: usize = 64;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; RECORDS].into());
}

/// The client's end of a connection.
pub(super) struct TlsStream {
    tcp: TcpStream,
    session: UnbufferedClientConnection,
    /// Received, but not all of a record yet.
    partial: Vec<u8>,
    /// Payload that came with the end of the handshake, until it is read.
    early: Vec<u8>,
    /// Encrypted, but not sent yet.
    unsent: Vec<u8>,
    /// The other end has said that it sends nothing more.
    is_closed: bool,
}

impl TlsStream {
    /// Shakes hands.
    ///
    /// # Errors
    /// Those of the connection; [`io::ErrorKind::InvalidData`] when the other end breaks the protocol or is not trusted.
    pub(super) async fn connect(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        tcp: TcpStream,
    ) -> io::Result<TlsStream> {
        let session = UnbufferedClientConnection::new(config, name).map_err(invalid)?;
        let mut stream = TlsStream {
            tcp,
            session,
            partial: Vec::new(),
            early: Vec::new(),
            unsent: Vec::new(),
            is_closed: false,
        };
        // Nothing has come; this says hello.
        stream.look(&mut [], &mut |_| ())?;
        poll_fn(|context| stream.poll_handshake(context)).await?;
        Ok(stream)
    }

    /// The protocol that was agreed on (ALPN).
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    fn poll_handshake(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_flush(context))?;
            if !self.session.is_handshaking() {
                return Poll::Ready(Ok(()));
            }
            let mut early = Vec::new();
            let received = self.poll_receive(context, &mut |payload| early.extend_from_slice(payload));
            self.early = early;
            ready!(received)?;
        }
    }

    /// Reads payload into a buffer of at least [`RECORDS`] bytes; nothing of it means that the other end has said that
    /// no more comes.
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(&mem::take(&mut self.early));
        while buffer.filled().is_empty() && !self.is_closed {
            ready!(self.poll_receive(context, &mut |payload| buffer.put_slice(payload)))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Encrypts and sends; says how much of it was taken.
    pub(super) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(context))?;
        let taken = &bytes[..bytes.len().min(MOST_IN_RECORD)];
        let status = self.session.process_tls_records(&mut self.partial);
        let ConnectionState::WriteTraffic(mut open) = status.state.map_err(invalid)? else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        self.unsent.resize(taken.len() + BESIDE_PAYLOAD, 0);
        let length = match open.encrypt(taken, &mut self.unsent) {
            Err(EncryptError::InsufficientSize(needed)) => {
                self.unsent.resize(needed.required_size, 0);
                open.encrypt(taken, &mut self.unsent)
            }
            done => done,
        };
        self.unsent.truncate(length.map_err(invalid)?);
        // What is not sent now is sent by the next call, or by a flush.
        match self.poll_flush(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(taken.len())),
        }
    }

    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            match ready!(Pin::new(&mut self.tcp).poll_write(context, &self.unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                // A connection that waits keeps nothing.
                all if all == self.unsent.len() => self.unsent = Vec::new(),
                sent => drop(self.unsent.drain(..sent)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Receives once, and looks at what has come. What is not all of a record is kept.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        payload: &mut dyn FnMut(&[u8]),
    ) -> Poll<io::Result<()>> {
        BUFFER.with_borrow_mut(|records| {
            let held = self.partial.len();
            if held >= records.len() {
                return Poll::Ready(Err(invalid("a handshake message is too long")));
            }
            let mut room = ReadBuf::new(&mut records[held..]);
            ready!(Pin::new(&mut self.tcp).poll_read(context, &mut room))?;
            let received = room.filled().len();
            if received == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            records[..held].copy_from_slice(&self.partial);
            let records = &mut records[..held + received];
            let looked = self.look(records, payload);
            // An answer to what has come, or an alert: if it cannot be sent now, it goes before what is sent next.
            let sent = self.poll_flush(context);
            self.partial = records[looked?..].to_vec();
            match sent {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                _ => Poll::Ready(Ok(())),
            }
        })
    }

    /// Takes records one after the other. Says how many bytes are done with.
    fn look(&mut self, records: &mut [u8], payload: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut done = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.session.process_tls_records(&mut records[done..]);
            let mut is_last = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        payload(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.unsent)?,
                // It is among what is not sent yet, before all that comes after it.
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => is_last = true,
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    self.is_closed = true;
                    is_last = true;
                }
                Ok(other) => return Err(invalid(format!("unexpected {other:?} for a client"))),
                Err(error) => {
                    let left = &mut records[done + discard..];
                    if let Ok(ConnectionState::EncodeTlsData(data)) =
                        self.session.process_tls_records(left).state
                    {
                        encode(data, &mut self.unsent)?;
                    }
                    return Err(invalid(error));
                }
            }
            done += discard;
            if is_last {
                return Ok(done);
            }
        }
    }
}

/// Appends what the handshake, or an alert, has to send.
fn encode(mut data: EncodeTlsData<'_, ClientConnectionData>, unsent: &mut Vec<u8>) -> io::Result<()> {
    let end = unsent.len();
    let length = match data.encode(&mut []) {
        Err(EncodeError::InsufficientSize(needed)) => {
            unsent.resize(end + needed.required_size, 0);
            data.encode(&mut unsent[end..])
        }
        done => done,
    };
    unsent.truncate(end + length.map_err(invalid)?);
    Ok(())
}

fn invalid(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
