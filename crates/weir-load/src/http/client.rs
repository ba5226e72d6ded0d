//! The requests of one viewer: connections that are kept, redirects that are followed, and every attempt accounted for.

use std::rc::Rc;
use std::sync::Arc;

use url::Url;
use weir_net::clock::monotonic_ns;

use super::connection::Connection;
use super::dial::Dialer;
use super::response::ResponseReader;
use crate::manifest::{Host, Place};
use crate::measure::{Cause, Kind, Sample};

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
    pub place: &'a Place,
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

/// The connections of a viewer.
pub struct Client {
    dialer: Rc<Dialer>,
    connections: Vec<(Arc<Host>, Connection)>,
}

/// One attempt that came to an answer.
struct Exchanged {
    status: u16,
    location: Option<String>,
    body_bytes: u64,
    sent_ns: u64,
    first_byte_ns: u64,
    last_byte_ns: u64,
}

impl Client {
    /// Without any connection yet.
    pub fn new(dialer: Rc<Dialer>) -> Self {
        Client {
            dialer,
            connections: Vec::new(),
        }
    }

    /// Closes all connections.
    pub fn close(&mut self) {
        self.connections = Vec::new();
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
            let judged = done.and_then(|done| judged(done, &place));
            match judged {
                Ok(Judged::Answer(done)) => {
                    sample.last_byte_ns = done.last_byte_ns.saturating_sub(intended_ns);
                    account(sample);
                    return Ok(Answer {
                        url: place.url(),
                        body_bytes: done.body_bytes,
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
    /// replaced once: a request that nothing came of may be sent again (RFC 9110, 9.2.2).
    async fn exchange(
        &mut self,
        place: &Place,
        sample: &mut Sample,
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<Exchanged, Cause> {
        let text = request_text(place);
        let mut reader = ResponseReader::default();
        loop {
            let mut connection = match self.take(&place.host) {
                Some(connection) => connection,
                None => {
                    let opened = self.dialer.connect(&place.host).await;
                    sample.sent = opened.is_ok();
                    sample.connections += u64::from(opened.is_ok());
                    opened?
                }
            };
            let again = connection.used > 0;
            let sent_ns = monotonic_ns();
            let done = connection.exchange(text.as_bytes(), &mut reader, body).await;
            let gone = matches!(done, Err(Cause::Closed | Cause::Reset)) && reader.all_bytes() == 0;
            if again && gone {
                sample.retries += 1;
                continue;
            }
            sample.body_bytes = reader.body_bytes();
            sample.all_bytes = reader.all_bytes();
            let (first_byte_ns, last_byte_ns) = done?;
            let head = reader.head().ok_or(Cause::BadResponse)?;
            if head.keep_alive {
                self.keep(&place.host, connection);
            }
            return Ok(Exchanged {
                status: head.status,
                location: head.location.clone(),
                body_bytes: reader.body_bytes(),
                sent_ns,
                first_byte_ns,
                last_byte_ns,
            });
        }
    }

    fn take(&mut self, host: &Host) -> Option<Connection> {
        let at = self.connections.iter().position(|(known, _)| **known == *host)?;
        Some(self.connections.swap_remove(at).1)
    }

    fn keep(&mut self, host: &Arc<Host>, connection: Connection) {
        if self.connections.len() >= MOST_CONNECTIONS {
            self.connections.remove(0);
        }
        self.connections.push((host.clone(), connection));
    }

    /// How long it waits.
    pub fn silence(&self) -> std::time::Duration {
        self.dialer.patience().silence
    }
}

enum Judged {
    Answer(Exchanged),
    Elsewhere(Place),
}

fn judged(done: Exchanged, place: &Place) -> Result<Judged, Cause> {
    match done.status {
        206 | 200 if place.range.is_some() => {
            let (first, last) = place.range.unwrap_or_default();
            let wanted = last - first + 1;
            // A range that goes beyond the end of its file is cut off (RFC 9110, 14.1.2); all of a file is another thing.
            if done.status == 206 && done.body_bytes <= wanted || first == 0 && done.body_bytes == wanted {
                Ok(Judged::Answer(done))
            } else {
                Err(Cause::WrongRange)
            }
        }
        200..=299 => Ok(Judged::Answer(done)),
        301 | 302 | 303 | 307 | 308 => {
            let base = Url::parse(&place.url()).map_err(|_| Cause::Redirect)?;
            let next = done.location.and_then(|location| base.join(&location).ok());
            let next = next.as_ref().and_then(Place::of).ok_or(Cause::Redirect)?;
            Ok(Judged::Elsewhere(Place {
                range: place.range,
                ..next
            }))
        }
        400..=499 => Err(Cause::Http4xx),
        500..=599 => Err(Cause::Http5xx),
        _ => Err(Cause::HttpOther),
    }
}

fn request_text(place: &Place) -> String {
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
