//! Serves one receiver: from the session's start through the sending threads to its end. It must not know packets.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender as Outbox, channel};
use std::thread::{Scope, ScopedJoinHandle};

use weir_control::{Admitted, Control, Stop};
use weir_measure::HostWatch;
use weir_net::UdpSocket;
use weir_record::Side;
use weir_wire::frame::Role;

use super::agreed::Agreed;
use super::data::{Data, DataPlan, Order, Report};
use super::divide::{Divider, Frames};
use super::following::Following;
use super::session::{Fault, Session, SessionEnd};
use super::stream::Stream;
use crate::StreamError;
use crate::messages::ToReceiver;
use crate::source::Source;

/// Serves one receiver.
pub(super) fn serve(
    stream: &mut Stream<'_>,
    client: Admitted,
    source: &mut Source,
) -> Result<SessionEnd, StreamError> {
    let Admitted {
        stream: connection,
        established,
        peer,
        place: _place,
        ..
    } = client;
    let left = |reason: String| Ok(SessionEnd::Left(reason));
    let local = match connection.local_addr() {
        Ok(local) => local.ip(),
        Err(error) => return left(error.to_string()),
    };
    let keys = established.keys;
    let control = match Control::start(connection, &keys.control, Role::Agent, ToReceiver::Beat) {
        Ok(control) => control,
        Err(error) => return left(error.to_string()),
    };
    let session = Session {
        stream,
        control,
        id: established.session,
        keys,
        peer,
        local,
    };
    match session.run(source) {
        // A receiver that disconnects, or sends invalid messages, is not an error of this end.
        Err(Fault::Control(error)) => left(error.to_string()),
        Err(Fault::Carry(error)) => Err(error),
        Ok(end) => Ok(end),
    }
}

impl Session<'_, '_> {
    fn run(mut self, source: &mut Source) -> Result<SessionEnd, Fault> {
        let Some(want) = self.await_want()? else {
            return Ok(SessionEnd::Stopped);
        };
        let Some(format) = self.await_format(source)? else {
            return Ok(SessionEnd::Stopped);
        };
        if let Some(reason) = self.cannot_serve(&want) {
            let refused = ToReceiver::Refused {
                reason: reason.clone(),
            };
            self.control.writer.send(&refused)?;
            return Ok(SessionEnd::Left(reason));
        }
        let (agreed, sockets) = match self.agree(want, format) {
            Ok(agreed) => agreed,
            Err(error) => {
                let reason = error.to_string();
                self.control.writer.send(&ToReceiver::Refused { reason })?;
                return Err(error.into());
            }
        };
        self.control
            .writer
            .send(&ToReceiver::Terms(Box::new(agreed.terms.clone())))?;
        let Some((destinations, active)) = self.await_go(&sockets, agreed.terms.flows)? else {
            return Ok(SessionEnd::Stopped);
        };
        source.set_hashing(agreed.want.hashes);
        source.begin();
        self.carry(&agreed, (&sockets, destinations, active), source)
    }

    /// The sending threads' work, one for each share, and the channels of their orders.
    fn senders<'d>(
        &self,
        agreed: &Agreed,
        (sockets, destinations, active): (&'d [UdpSocket], &[SocketAddr], bool),
        frames: Vec<Frames<'d>>,
        reports: &Outbox<(u16, Report)>,
    ) -> Result<(Vec<Outbox<Order>>, Vec<Data<'d>>), StreamError> {
        let config = self.stream.config;
        let (mut orders, mut senders) = (Vec::new(), Vec::new());
        for (share, frames) in (0..).zip(frames) {
            let flows = agreed.shares.flows(share, agreed.terms.flows);
            let flows = flows.start.into()..flows.end.into();
            let own = usize::from(share);
            let plan = DataPlan {
                config: agreed.sender(config, (self.id, &self.keys), share),
                share,
                threads: agreed.shares.count(),
                destinations: destinations[flows.clone()].to_vec(),
                sockets: match config.source_ports {
                    true => &sockets[flows],
                    false => &sockets[own..=own],
                },
                segments: config.segmentation,
                format: agreed.format,
                active,
            };
            let (order, to_obey) = channel();
            senders.push(Data::new(plan, frames, to_obey, reports.clone())?);
            orders.push(order);
        }
        Ok((orders, senders))
    }

    fn carry(
        &mut self,
        agreed: &Agreed,
        (sockets, destinations, active): (&[UdpSocket], Vec<SocketAddr>, bool),
        source: &mut Source,
    ) -> Result<SessionEnd, Fault> {
        let (records, watched) = channel();
        let interface = weir_net::host::interface_towards(self.peer.ip());
        let _watch = HostWatch::start(Side::Local, interface, records).map_err(StreamError::from)?;
        let (divider, frames) = match agreed.shares.count() {
            1 => (None, vec![Frames::Whole(source)]),
            _ => {
                let (divider, frames) = Divider::new(source, agreed.shares);
                (Some(divider), frames)
            }
        };
        let (outbox, reports) = channel();
        let (orders, senders) = self.senders(agreed, (sockets, &destinations, active), frames, &outbox)?;
        self.stream.summary.format = Some(agreed.format.to_string());
        self.stream.summary.threads = agreed.shares.count();
        self.stream
            .watched
            .join(agreed.fec.is_some(), agreed.want.latency_ns);
        let over = Stop::default();
        std::thread::scope(|scope| {
            // However the session ends, its threads end with it.
            let ending = Ending(&over, &orders);
            if let Some(divider) = divider {
                let over = &over;
                spawn(scope, "divide", move || divider.run(over))?;
            }
            let threads = senders
                .into_iter()
                .map(|data| spawn(scope, "send", move || data.run()))
                .collect::<Result<Vec<_>, _>>()?;
            let mut following = Following::new(self, agreed.shares, agreed.terms.flows);
            let finished = || threads.iter().filter(|thread| thread.is_finished()).count();
            let followed = following.follow(&orders, &reports, &watched, &finished);
            // Messages until their end are processed.
            drop(ending);
            let failed = || Err(StreamError::Internal("the sending thread failed".into()));
            let sent = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| failed()));
            let sent = sent.fold(Ok(()), Result::and);
            let last = following.finish(&reports, &watched);
            if let Err(error) = &sent {
                following.say_why(error);
            }
            sent?;
            match (followed?, last?) {
                (SessionEnd::Left(_), Some(end)) => Ok(end),
                (end, _) => Ok(end),
            }
        })
    }
}

/// Ends the threads of a session when it is dropped.
struct Ending<'a>(&'a Stop, &'a [Outbox<Order>]);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.set();
        for orders in self.1 {
            orders.send(Order::Leave).ok();
        }
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, StreamError> {
    let thread = std::thread::Builder::new().name(name.into());
    thread
        .spawn_scoped(scope, work)
        .map_err(|error| StreamError::thread(&error))
}
