//! Opens connections: names to addresses, TCP, TLS, each within its time, and each failure under its cause.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::connection::{Connection, Stream};
use super::multiplexed::Multiplexed;
use super::tls::{self, TlsError, Trust};
use super::tls_stream::TlsStream;
use crate::manifest::Host;
use crate::measure::Cause;

/// How long an address of a name is used before the name is asked for again.
const ADDRESS_LIFE: Duration = Duration::from_secs(30);
/// Most names that are remembered.
const MOST_NAMES: usize = 1024;
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// How long a viewer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection: its name, TCP and TLS, each.
    pub connect: Duration,
    /// For the next byte of an answer.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(10),
        }
    }
}

/// Which versions of HTTP are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1.
    One,
    /// HTTP/2: over TLS as the handshake agrees (ALPN), without TLS from the first byte (prior knowledge).
    Two,
    /// As browsers do: over TLS HTTP/2 where the origin agrees to it, else HTTP/1.1.
    #[default]
    Auto,
}

impl HttpVersion {
    /// What is offered in a TLS handshake, the first rather than the others.
    fn protocols(self) -> &'static [&'static [u8]] {
        match self {
            HttpVersion::One => &[],
            HttpVersion::Two => &[H2],
            HttpVersion::Auto => &[H2, b"http/1.1"],
        }
    }
}

/// HTTP/2 in a TLS handshake (RFC 9113, 3.1).
const H2: &[u8] = b"h2";

/// A connection that has been opened.
pub(super) enum Opened {
    /// For one request after the other.
    One(Connection),
    /// For many at once.
    Two(Multiplexed),
}

/// When a name was asked for, and its addresses.
type Known = (Instant, Vec<SocketAddr>);

/// Opens connections of one thread; a clone, those of another.
#[derive(Clone)]
pub struct Dialer {
    tls: Arc<ClientConfig>,
    version: HttpVersion,
    patience: Patience,
    /// Whether addresses other than those of this host may be connected to.
    elsewhere: bool,
    names: RefCell<HashMap<(String, u16), Known>>,
}

impl Dialer {
    /// With whom to trust; `elsewhere` lets it connect to other hosts than this one.
    ///
    /// # Errors
    /// When the certificates cannot be read.
    pub fn new(
        trust: &Trust,
        version: HttpVersion,
        patience: Patience,
        elsewhere: bool,
    ) -> Result<Self, TlsError> {
        Ok(Dialer {
            tls: tls::config(trust)?,
            version,
            patience,
            elsewhere,
            names: RefCell::default(),
        })
    }

    /// The same, but with other versions of HTTP.
    pub fn speaking(self, version: HttpVersion) -> Dialer {
        Dialer { version, ..self }
    }

    /// Settings of TLS for one viewer, which takes up its own sessions again.
    pub(super) fn tls_of_viewer(&self) -> Arc<ClientConfig> {
        tls::of_viewer(&self.tls, self.version.protocols())
    }

    pub(super) fn patience(&self) -> Patience {
        self.patience
    }

    /// The addresses of a host.
    ///
    /// # Errors
    /// [`Cause::Dns`] if it has none.
    pub async fn addresses(&self, host: &Host) -> Result<Vec<SocketAddr>, Cause> {
        let key = (host.name.clone(), host.port);
        if let Some((since, addresses)) = self.names.borrow().get(&key)
            && since.elapsed() < ADDRESS_LIFE
        {
            return Ok(addresses.clone());
        }
        let found = timeout(
            self.patience.connect,
            lookup_host((host.name.as_str(), host.port)),
        )
        .await;
        let found: Vec<SocketAddr> = match found {
            Ok(Ok(addresses)) => addresses.collect(),
            _ => return Err(Cause::Dns),
        };
        if found.is_empty() {
            return Err(Cause::Dns);
        }
        let mut names = self.names.borrow_mut();
        if names.len() >= MOST_NAMES {
            names.clear();
        }
        names.insert(key, (Instant::now(), found.clone()));
        Ok(found)
    }

    /// Opens a connection to the first address that answers, with a viewer's settings of TLS.
    pub(super) async fn connect(
        &self,
        host: &Host,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Opened, Cause> {
        let mut failed = Cause::Dns;
        for address in self.addresses(host).await? {
            if !self.elsewhere && !address.ip().is_loopback() {
                failed = Cause::NotPermitted;
                continue;
            }
            match self.connect_to(address, host, tls.unwrap_or(&self.tls)).await {
                Ok(opened) => return Ok(opened),
                Err(cause) => failed = cause,
            }
        }
        Err(failed)
    }

    async fn connect_to(
        &self,
        address: SocketAddr,
        host: &Host,
        tls: &Arc<ClientConfig>,
    ) -> Result<Opened, Cause> {
        let tcp = match timeout(self.patience.connect, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => tcp,
            Ok(Err(error)) => return Err(cause_of_connect(&error)),
            Err(_) => return Err(Cause::ConnectTimeout),
        };
        // A request is one write: nothing is gained by waiting for more.
        let _ = tcp.set_nodelay(true);
        let (stream, two) = if host.tls {
            self.shake_hands(tcp, host, tls).await?
        } else {
            (Stream::Plain(tcp), self.version == HttpVersion::Two)
        };
        Ok(if two {
            Opened::Two(Multiplexed::new(stream, self.patience.silence))
        } else {
            Opened::One(Connection::new(stream, self.patience.silence))
        })
    }

    /// TLS, and whether HTTP/2 was agreed on.
    async fn shake_hands(
        &self,
        tcp: TcpStream,
        host: &Host,
        tls: &Arc<ClientConfig>,
    ) -> Result<(Stream, bool), Cause> {
        let name = ServerName::try_from(host.name.clone()).map_err(|_| Cause::Tls)?;
        let handshake = TlsStream::connect(tls.clone(), name, tcp);
        let stream = match timeout(self.patience.connect, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!("TLS with {}: {error}", host.authority);
                return Err(Cause::Tls);
            }
            Err(_) => return Err(Cause::ConnectTimeout),
        };
        let two = stream.protocol() == Some(H2);
        if self.version == HttpVersion::Two && !two {
            tracing::debug!("TLS with {}: HTTP/2 was not negotiated", host.authority);
            return Err(Cause::Tls);
        }
        Ok((Stream::Tls(Box::new(stream)), two))
    }
}

fn cause_of_connect(error: &io::Error) -> Cause {
    match (error.kind(), error.raw_os_error()) {
        (_, Some(EMFILE | ENFILE)) => Cause::Descriptors,
        (io::ErrorKind::ConnectionRefused, _) => Cause::Refused,
        (io::ErrorKind::ConnectionReset, _) => Cause::Reset,
        (io::ErrorKind::AddrNotAvailable, _) => Cause::Ports,
        (io::ErrorKind::TimedOut, _) => Cause::ConnectTimeout,
        _ => Cause::Connect,
    }
}
