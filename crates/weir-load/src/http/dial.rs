//! Opens connections: names to addresses, TCP, TLS, each within its time, and each failure under its cause.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connection::{Connection, Stream};
use super::tls::{self, TlsError, Trust};
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

/// When a name was asked for, and its addresses.
type Known = (Instant, Vec<SocketAddr>);

/// Opens connections of one thread.
pub struct Dialer {
    tls: Arc<ClientConfig>,
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
    pub fn new(trust: &Trust, patience: Patience, elsewhere: bool) -> Result<Self, TlsError> {
        Ok(Dialer {
            tls: tls::config(trust)?,
            patience,
            elsewhere,
            names: RefCell::default(),
        })
    }

    /// Another one with the same settings and TLS sessions, for another thread.
    pub fn another(&self) -> Dialer {
        Dialer {
            tls: self.tls.clone(),
            patience: self.patience,
            elsewhere: self.elsewhere,
            names: RefCell::default(),
        }
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

    /// Opens a connection to the first address that answers.
    pub(super) async fn connect(&self, host: &Host) -> Result<Connection, Cause> {
        let mut failed = Cause::Dns;
        for address in self.addresses(host).await? {
            if !self.elsewhere && !address.ip().is_loopback() {
                failed = Cause::NotPermitted;
                continue;
            }
            match self.connect_to(address, host).await {
                Ok(stream) => return Ok(Connection::new(stream, self.patience.silence)),
                Err(cause) => failed = cause,
            }
        }
        Err(failed)
    }

    async fn connect_to(&self, address: SocketAddr, host: &Host) -> Result<Stream, Cause> {
        let tcp = match timeout(self.patience.connect, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => tcp,
            Ok(Err(error)) => return Err(cause_of_connect(&error)),
            Err(_) => return Err(Cause::ConnectTimeout),
        };
        // A request is one write: nothing is gained by waiting for more.
        let _ = tcp.set_nodelay(true);
        if !host.tls {
            return Ok(Stream::Plain(tcp));
        }
        let name = ServerName::try_from(host.name.clone()).map_err(|_| Cause::Tls)?;
        let handshake = TlsConnector::from(self.tls.clone()).connect(name, tcp);
        match timeout(self.patience.connect, handshake).await {
            Ok(Ok(stream)) => Ok(Stream::Tls(Box::new(stream))),
            Ok(Err(_)) => Err(Cause::Tls),
            Err(_) => Err(Cause::ConnectTimeout),
        }
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
