//! The requests of one viewer: connections to each host that are kept, redirects that are followed, and every attempt
//! accounted for. Bodies are looked at and dropped. It must not know viewers.

mod connection;
mod dial;
mod multiplexed;
mod tls;
mod tls_stream;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rustls::ClientConfig;
use url::Url;

use crate::clock::monotonic_ns;
use crate::http::h2::hpack::Asked;
use crate::http::response::{Head, ResponseReader};
use crate::manifest::{Host, UrlRange};
use crate::measure::{Cause, Kind, Sample};
use connection::Connection;
use dial::Opened;
use multiplexed::Multiplexed;

pub use dial::{Dialer, HttpVersion, Patience};
pub use tls::{TlsError, Trust};

/// Most redirects of one request.
const MOST_REDIRECTS: usize = 10;
/// Hosts that a viewer keeps a connection to.
const MOST_CONNECTIONS: usize = 4;

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What it is for.
    pub kind: Kind,
    /// Where.
    pub place: &'a UrlRange,
    /// When it should have been sent, monotonic nanoseconds: what it is measured from.
    pub intended_ns: u64,
}

/// An answer that came whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Where it came from in the end.
    pub url: String,
    /// Bytes of its body.
    pub body_bytes: u64,
    /// When the request was sent, its first byte came, and its last, monotonic nanoseconds.
    pub sent_ns: u64,
    /// See above.
    pub first_byte_ns: u64,
    /// See above.
    pub last_byte_ns: u64,
}

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed(pub Cause);

/// How often a request is sent again at most.
const MOST_RETRIES: u64 = 5;

/// The connections of a viewer; a clone makes requests at the same time on the same ones.
#[derive(Clone)]
pub struct Client {
    dialer: Rc<Dialer>,
    pool: Rc<Pool>,
}

/// What requests of a viewer share.
#[derive(Default)]
struct Pool {
    connections: RefCell<Vec<(Arc<Host>, Opened)>>,
    tls: OnceCell<Arc<ClientConfig>>,
}

/// One attempt that came to an answer.
struct Exchanged {
    head: Head,
    sent_ns: u64,
    first_byte_ns: u64,
    last_byte_ns: u64,
}

impl Client {
    /// Without any connection yet.
    pub fn new(dialer: Rc<Dialer>) -> Self {
        Client {
            dialer,
            pool: Rc::default(),
        }
    }

    /// Whether requests at the same time need no further connection, as far as is known.
    pub fn multiplexes(&self) -> bool {
        let connections = self.pool.connections.borrow();
        connections.iter().any(|(_, kept)| matches!(kept, Opened::Two(_)))
    }

    /// Closes all connections.
    pub fn close(&mut self) {
        self.pool.connections.take();
    }

    /// Fetches what is there. Every request that this takes goes to `account`; `body` gets the body of the last.
    ///
    /// # Errors
    /// Why there is none; it stands in the account already.
    pub async fn get(
        &mut self,
        request: Request<'_>,
        account: &mut dyn FnMut(Sample),
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<Answer, Failed> {
        let mut place = request.place.clone();
        let mut intended_ns = request.intended_ns;
        for _ in 0..=MOST_REDIRECTS {
            let mut sample = Sample::of(request.kind);
            let done = self.exchange(&place, &mut sample, body).await;
            let now = monotonic_ns();
            if let Ok(done) = &done {
                sample.first_byte_ns = Some(done.first_byte_ns.saturating_sub(intended_ns));
            }
            let judged = done.and_then(|done| judged(done, sample.body_bytes, &place));
            match judged {
                Ok(Judged::Answer(done)) => {
                    sample.last_byte_ns = done.last_byte_ns.saturating_sub(intended_ns);
                    account(sample);
                    return Ok(Answer {
                        url: place.url(),
                        body_bytes: sample.body_bytes,
                        sent_ns: done.sent_ns,
                        first_byte_ns: done.first_byte_ns,
                        last_byte_ns: done.last_byte_ns,
                    });
                }
                Ok(Judged::Elsewhere(next)) => {
                    sample.last_byte_ns = now.saturating_sub(intended_ns);
                    account(sample);
                    place = next;
                    intended_ns = now;
                }
                Err(cause) => {
                    sample.last_byte_ns = now.saturating_sub(intended_ns);
                    sample.failure = Some(cause);
                    account(sample);
                    return Err(Failed(cause));
                }
            }
        }
        let mut sample = Sample::of(request.kind);
        sample.failure = Some(Cause::Redirect);
        sample.sent = false;
        account(sample);
        Err(Failed(Cause::Redirect))
    }

    /// Sends one request, on the connection that is open or a new one. One that the other end has closed meanwhile is
    /// replaced: a request that nothing came of may be sent again (RFC 9110, 9.2.2; RFC 9113, 8.7).
    async fn exchange(
        &mut self,
        place: &UrlRange,
        sample: &mut Sample,
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<Exchanged, Cause> {
        loop {
            let opened = match self.take(&place.host) {
                Some(opened) => opened,
                None => self.dial(&place.host, sample).await?,
            };
            let attempt = match opened {
                Opened::One(connection) => self.by_one(connection, place, sample, body).await,
                Opened::Two(connection) => self.by_two(connection, place, sample, body).await,
            };
            match attempt {
                Attempt::Done(done) => return Ok(done),
                Attempt::Failed(cause) => return Err(cause),
                Attempt::Again(cause) if sample.retries >= MOST_RETRIES => return Err(cause),
                Attempt::Again(_) => sample.retries += 1,
            }
        }
    }

    async fn dial(&self, host: &Host, sample: &mut Sample) -> Result<Opened, Cause> {
        let settings = || self.dialer.tls_of_viewer();
        let tls = host.tls.then(|| self.pool.tls.get_or_init(settings));
        let opened = self.dialer.connect(host, tls).await;
        sample.sent = opened.is_ok();
        sample.connections += u64::from(opened.is_ok());
        opened
    }

    /// By HTTP/1.1.
    async fn by_one(
        &self,
        mut connection: Connection,
        place: &UrlRange,
        sample: &mut Sample,
        body: &mut dyn FnMut(&[u8]),
    ) -> Attempt {
        let text = request_text(place);
        let mut reader = ResponseReader::default();
        let again = connection.used > 0;
        let sent_ns = monotonic_ns();
        let done = connection.exchange(text.as_bytes(), &mut reader, body).await;
        (sample.body_bytes, sample.all_bytes) = (reader.body_bytes(), reader.all_bytes());
        let (first_byte_ns, last_byte_ns) = match done {
            Ok(times) => times,
            Err(cause @ (Cause::Closed | Cause::Reset)) if again && sample.all_bytes == 0 => {
                return Attempt::Again(cause);
            }
            Err(cause) => return Attempt::Failed(cause),
        };
        let Some(head) = reader.head().cloned() else {
            return Attempt::Failed(Cause::BadResponse);
        };
        if head.keep_alive {
            self.keep(&place.host, Opened::One(connection));
        }
        Attempt::Done(Exchanged {
            head,
            sent_ns,
            first_byte_ns,
            last_byte_ns,
        })
    }

    /// By HTTP/2. The connection stays where it is: others use it at the same time.
    async fn by_two(
        &self,
        connection: Multiplexed,
        place: &UrlRange,
        sample: &mut Sample,
        body: &mut dyn FnMut(&[u8]),
    ) -> Attempt {
        let again = connection.used() > 0;
        self.keep(&place.host, Opened::Two(connection.clone()));
        let asked = Asked {
            tls: place.host.tls,
            authority: &place.host.authority,
            target: &place.target,
            range: place.range,
        };
        let sent_ns = monotonic_ns();
        let outcome = connection.exchange(&asked, body).await;
        (sample.body_bytes, sample.all_bytes) = (outcome.body_bytes, outcome.all_bytes);
        match (outcome.failure, outcome.head) {
            (None, Some(head)) => Attempt::Done(Exchanged {
                head,
                sent_ns,
                first_byte_ns: outcome.first_byte_ns,
                last_byte_ns: outcome.last_byte_ns,
            }),
            (None, None) => Attempt::Failed(Cause::BadResponse),
            (Some(cause), _) if outcome.unseen => Attempt::Again(cause),
            (Some(cause @ (Cause::Closed | Cause::Reset)), _)
                if again && sample.all_bytes == 0 && !connection.is_open() =>
            {
                Attempt::Again(cause)
            }
            (Some(cause), _) => {
                // One that says nothing will say nothing to the next request either.
                if cause == Cause::Timeout {
                    drop(self.take(&place.host));
                }
                Attempt::Failed(cause)
            }
        }
    }

    /// A connection to a host that can take a request.
    fn take(&self, host: &Host) -> Option<Opened> {
        let mut connections = self.pool.connections.borrow_mut();
        connections.retain(|(_, kept)| match kept {
            Opened::One(_) => true,
            Opened::Two(connection) => connection.is_open(),
        });
        let at = connections.iter().position(|(known, _)| **known == *host)?;
        Some(connections.swap_remove(at).1)
    }

    fn keep(&self, host: &Arc<Host>, connection: Opened) {
        let mut connections = self.pool.connections.borrow_mut();
        if connections.len() >= MOST_CONNECTIONS {
            connections.remove(0);
        }
        connections.push((host.clone(), connection));
    }

    /// How long it waits.
    pub fn silence(&self) -> std::time::Duration {
        self.dialer.patience().silence
    }
}

/// What came of sending a request.
enum Attempt {
    Done(Exchanged),
    Failed(Cause),
    /// Nothing: it may be sent again.
    Again(Cause),
}

enum Judged {
    Answer(Exchanged),
    Elsewhere(UrlRange),
}

fn judged(done: Exchanged, body_bytes: u64, place: &UrlRange) -> Result<Judged, Cause> {
    match done.head.status {
        206 | 200 if place.range.is_some() => {
            let (first, last) = place.range.unwrap_or_default();
            let wanted = last - first + 1;
            // A range that goes beyond the end of its file is cut off (RFC 9110, 14.1.2); all of a file is another thing.
            if done.head.status == 206 && body_bytes <= wanted || first == 0 && body_bytes == wanted {
                Ok(Judged::Answer(done))
            } else {
                Err(Cause::WrongRange)
            }
        }
        200..=299 => Ok(Judged::Answer(done)),
        301 | 302 | 303 | 307 | 308 => {
            let base = Url::parse(&place.url()).map_err(|_| Cause::Redirect)?;
            let next = done.head.location.and_then(|location| base.join(&location).ok());
            let next = next.as_ref().and_then(UrlRange::of).ok_or(Cause::Redirect)?;
            Ok(Judged::Elsewhere(UrlRange {
                range: place.range,
                ..next
            }))
        }
        400..=499 => Err(Cause::Http4xx),
        500..=599 => Err(Cause::Http5xx),
        _ => Err(Cause::HttpOther),
    }
}

fn request_text(place: &UrlRange) -> String {
    let range = match place.range {
        Some((first, last)) => format!("Range: bytes={first}-{last}\r\n"),
        None => String::new(),
    };
    format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: weir/{}\r\nAccept: */*\r\n{range}\r\n",
        place.target,
        place.host.authority,
        env!("CARGO_PKG_VERSION"),
    )
}
