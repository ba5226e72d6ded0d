//! Neighbours on TCP connections: requests and answers over plain HTTP/1.1, downloads, and what the sender's kernel
//! says.

mod bulk;
mod exchange;
mod http;
mod request;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_control::Stop;
use weir_net::clock;
use weir_units::TimeSpan;

use crate::LONGEST_NS;
use crate::error::NeighbourError;
use crate::sockets::resolve;

pub use bulk::{BulkRequest, measure_bulk};
pub use exchange::{Head, read_head};
pub use http::{HttpRequest, measure_http};
pub(crate) use request::SLACK_MS;
pub use request::{Asking, Request, RequestError, read_request};

/// How long a connection may take to come about.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long a read waits before it looks at the clock again.
const GLANCE: Duration = Duration::from_millis(50);

/// `TCP_INFO` of a connection at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfoSample {
    /// When, Unix nanoseconds.
    pub at_unix_ns: u64,
    /// Smoothed RTT, nanoseconds.
    pub rtt_ns: u64,
    /// CongestionControl window, bytes.
    pub cwnd_bytes: u64,
    /// Segments sent again since the connection began.
    pub retransmits: u64,
}

/// All readings of a connection, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Readings {
    /// Congestion control.
    pub congestion: String,
    /// Maximum segment size, bytes.
    pub mss: u32,
    /// About ten a second.
    pub readings: Vec<TcpInfoSample>,
}

/// No server goes on for longer than an hour.
fn check_duration(duration_ns: u64) -> Result<(), NeighbourError> {
    if duration_ns <= LONGEST_NS {
        return Ok(());
    }
    let (asked, most) = (TimeSpan(duration_ns), TimeSpan(LONGEST_NS));
    Err(NeighbourError::Parameters(format!(
        "--for {asked} is too long; the maximum is {most}"
    )))
}

/// Connects to HOST:PORT, by the first address that answers. A server that is just being started is waited for.
fn connect(to: &str) -> Result<TcpStream, NeighbourError> {
    let addresses = resolve(to)?;
    let deadline_ns = clock::monotonic_ns() + clock::nanos(CONNECT_LIMIT);
    loop {
        let mut reason = None;
        for address in &addresses {
            match connect_to(*address) {
                Ok(stream) => return Ok(stream),
                Err(error) => reason = Some(error),
            }
        }
        if clock::monotonic_ns() >= deadline_ns {
            return Err(NeighbourError::NoAnswer {
                to: to.to_owned(),
                reason,
            });
        }
        clock::sleep_until(clock::monotonic_ns() + clock::nanos(GLANCE));
    }
}

fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_LIMIT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GLANCE))?;
    stream.set_write_timeout(Some(CONNECT_LIMIT))?;
    Ok(stream)
}

/// Sleeps until the monotonic clock reaches `until_ns`, or it is stopped.
fn sleep_until(until_ns: u64, stop: &Stop) {
    while !stop.is_set() && clock::monotonic_ns() < until_ns {
        clock::sleep_until(until_ns.min(clock::monotonic_ns() + clock::nanos(GLANCE)));
    }
}

/// A read that found nothing in time, which is no failure.
pub(crate) fn is_glance(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
