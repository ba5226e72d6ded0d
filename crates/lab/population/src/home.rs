//! The home: the receiving ends of its connections, and what asks for bytes on each: a viewer, or downloads. It must not know
//! the servers' state; only packets reach it.

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Ecn, Nanos, Packet};
use weir_stats::DurationHistogram;
use weir_tcp::{Receiver, Segment};

use crate::downloads::Downloads;
use crate::packets::{Asked, Content};
use crate::viewer::Viewer;
use crate::wish::Wish;

/// A request without an answer is sent again after this time, doubled each time.
const RETRY_NS: u64 = 300_000_000;
const MOST_RETRY_NS: u64 = 10_000_000_000;

/// Who asks for bytes on a connection.
#[derive(Debug)]
pub(crate) enum User {
    Viewer(Box<Viewer>),
    Downloads(Box<Downloads>),
}

/// A request without its whole answer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    asked: Asked,
    /// Bytes of the connection before it and with it.
    from: u64,
    until: u64,
    has_begun: bool,
    retry_at: u64,
    retry_ns: u64,
}

/// A connection and its user.
#[derive(Debug)]
struct Connection {
    receiver: Receiver,
    user: User,
    pending: Option<Pending>,
    requests: u64,
    /// When its user wants to be asked again.
    user_at: Option<u64>,
    wake: Option<u64>,
}

/// The home.
#[derive(Debug, Default)]
pub(crate) struct Home {
    connections: Vec<Connection>,
    /// Delays of the call's packets: of all, and of those that arrived while the viewer was fetching.
    pub voice: DurationHistogram,
    pub voice_beside: DurationHistogram,
}

impl Home {
    /// Adds a connection and its user, who is first asked at `from_ns`. Returns the connection's number: the next one.
    pub fn add(&mut self, receiver: Receiver, user: User, from_ns: u64) -> usize {
        self.connections.push(Connection {
            receiver,
            user,
            pending: None,
            requests: 0,
            user_at: Some(from_ns),
            wake: Some(from_ns),
        });
        self.connections.len() - 1
    }

    /// The viewer, who has the first connection.
    pub fn viewer(&self) -> Option<&Viewer> {
        match &self.connections.first()?.user {
            User::Viewer(viewer) => Some(viewer),
            User::Downloads(_) => None,
        }
    }

    /// The downloads on a connection.
    pub fn downloads(&self, connection: usize) -> Option<&Downloads> {
        match &self.connections.get(connection)?.user {
            User::Downloads(downloads) => Some(downloads),
            User::Viewer(_) => None,
        }
    }

    fn fetching_ns(&self, now_ns: u64) -> u64 {
        self.viewer().map_or(0, |viewer| viewer.fetching_ns(now_ns))
    }

    fn transmit(&mut self, now: Nanos, number: usize, out: &mut Vec<Packet<Content>>) {
        let fetching_ns = self.fetching_ns(now.0);
        let connection = &mut self.connections[number];
        connection.ask(now.0, fetching_ns);
        if let Some(asked) = connection.request_due(now.0) {
            out.push(
                Content::Request {
                    connection: number,
                    asked,
                }
                .packet(Ecn::NotEct),
            );
        }
        while let Some(ack) = connection.receiver.poll_ack() {
            let segment = Segment::Ack(ack);
            out.push(
                Content::Segment {
                    connection: number,
                    segment,
                }
                .packet(Ecn::NotEct),
            );
        }
        connection.wake = connection.next_wake();
    }
}

impl Connection {
    fn next_wake(&self) -> Option<u64> {
        let retry = self
            .pending
            .filter(|pending| !pending.has_begun)
            .map(|pending| pending.retry_at);
        let user = self.user_at.filter(|_| self.pending.is_none());
        [self.receiver.next_wake_ns(), retry, user]
            .into_iter()
            .flatten()
            .min()
    }

    /// Asks the user what it wants, unless an answer is on its way or it is not time yet.
    fn ask(&mut self, now_ns: u64, fetching_ns: u64) {
        if self.pending.is_some() || self.user_at.is_none_or(|at| at > now_ns) {
            return;
        }
        let wish = match &mut self.user {
            User::Viewer(viewer) => viewer.poll(now_ns),
            User::Downloads(downloads) => downloads.poll(now_ns, fetching_ns),
        };
        let (bytes, pace) = match wish {
            Wish::Wait(until) => {
                self.user_at = until;
                return;
            }
            Wish::Ask { bytes, pace } => (bytes.max(1), pace),
        };
        self.requests += 1;
        let from = self.receiver.received();
        self.pending = Some(Pending {
            asked: Asked {
                number: self.requests,
                bytes,
                pace,
            },
            from,
            until: from + bytes,
            has_begun: false,
            retry_at: now_ns,
            retry_ns: RETRY_NS,
        });
    }

    fn request_due(&mut self, now_ns: u64) -> Option<Asked> {
        let pending = self.pending.as_mut()?;
        if pending.has_begun || pending.retry_at > now_ns {
            return None;
        }
        pending.retry_at = now_ns + pending.retry_ns;
        pending.retry_ns = (2 * pending.retry_ns).min(MOST_RETRY_NS);
        Some(pending.asked)
    }

    /// Tells the user when an answer begins, when its bytes arrive, and when it is complete.
    fn arrived(&mut self, now_ns: u64, before: u64, fetching_ns: u64) {
        let received = self.receiver.received();
        let Some(pending) = &mut self.pending else { return };
        if !pending.has_begun && received > pending.from {
            pending.has_begun = true;
            if let User::Viewer(viewer) = &mut self.user {
                viewer.begun(now_ns);
            }
        }
        if let User::Viewer(viewer) = &mut self.user
            && received > before
        {
            viewer.arrived(now_ns, received - before);
        }
        if received < pending.until {
            return;
        }
        self.pending = None;
        self.user_at = Some(now_ns);
        match &mut self.user {
            User::Viewer(viewer) => viewer.complete(now_ns),
            User::Downloads(downloads) => downloads.complete(now_ns, fetching_ns),
        }
    }
}

impl Endpoint<Content> for Home {
    fn next_wake(&self) -> Option<Nanos> {
        let wakes = self.connections.iter().filter_map(|connection| connection.wake);
        wakes.min().map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Content>>) {
        for number in 0..self.connections.len() {
            let connection = &mut self.connections[number];
            if connection.wake.is_some_and(|at| at <= now.0) {
                connection.receiver.wake(now.0);
                self.transmit(now, number, out);
            }
        }
    }

    fn receive(&mut self, departure: Departure<Content>, out: &mut Vec<Packet<Content>>) {
        let now = departure.at;
        match departure.packet.payload {
            Content::Segment {
                connection: number,
                segment: Segment::Data(data),
            } => {
                let fetching_ns = self.fetching_ns(now.0);
                let connection = &mut self.connections[number];
                let before = connection.receiver.received();
                connection.receiver.receive(now.0, &data, departure.packet.ecn);
                connection.arrived(now.0, before, fetching_ns);
                self.transmit(now, number, out);
            }
            Content::Voice { sent_ns } => {
                let delay_ns = (now.0 - sent_ns) as i64;
                self.voice.record(delay_ns);
                if self.viewer().is_some_and(Viewer::is_fetching) {
                    self.voice_beside.record(delay_ns);
                }
            }
            // Servers send nothing else.
            Content::Segment { .. } | Content::Request { .. } => {}
        }
    }
}
