//! One session of an agent: takes what the client asks for, checks it against the limits, runs it, reports.

mod flows;
mod mtu;
mod tcp;

use std::net::IpAddr;
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use weir_control::{Admitted, Control, ControlError, Joined};
use weir_net::host::HostFacts;
use weir_net::{UdpOptions, UdpSocket};
use weir_record::{Record, Side};
use weir_wire::frame::Role;
use weir_wire::handshake::Established;

use super::ports::PortPool;
use super::threads::ThreadPool;
use crate::control::{FromAgent, Ready, ToAgent};
use crate::host_watch::HostWatch;
use crate::rtt::{Bounds, Reflector, RttRequest};
use crate::{Limits, MeasureError, Stop};

const NAP: Duration = Duration::from_millis(20);
/// How often what was measured is sent to the client.
const HAND_ON: Duration = Duration::from_millis(250);
/// A client that is to begin a test, or to end one whose time is over, has this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Records in one control message: about 200 bytes each, far below the longest frame.
const RECORDS_PER_MESSAGE: usize = 1000;

/// What all sessions of an agent share.
pub(super) struct Shared {
    pub limits: Limits,
    pub ports: PortPool,
    pub threads: ThreadPool,
    pub stop: Stop,
}

/// Why a session ended.
enum SessionEnd {
    /// The client left, or its connection broke.
    Control(ControlError),
    /// The agent is being stopped.
    Stopped,
}

impl From<ControlError> for SessionEnd {
    fn from(error: ControlError) -> Self {
        SessionEnd::Control(error)
    }
}

type Served<T> = Result<T, SessionEnd>;
/// What became of a request, unless the session ended over it.
type Outcome = Result<(), MeasureError>;

struct Serving<'a> {
    control: Control<ToAgent>,
    established: Established,
    joined: Inbox<Joined>,
    client: IpAddr,
    local: IpAddr,
    shared: &'a Shared,
    interface: Option<String>,
}

/// Serves one client until it leaves.
pub(super) fn serve(admitted: Admitted, shared: &Shared) {
    let Admitted {
        stream,
        established,
        peer,
        joined,
        place,
    } = admitted;
    let served = (|| -> Result<(), String> {
        let client = peer.ip();
        let local = stream.local_addr().map_err(|error| error.to_string())?.ip();
        let host = HostFacts::read(Some(client));
        let interface = host.interface.clone();
        let control = Control::start(stream, &established.keys.control, Role::Agent, FromAgent::Beat)
            .map_err(|error| error.to_string())?;
        let mut serving = Serving {
            control,
            established,
            joined,
            client,
            local,
            shared,
            interface,
        };
        tracing::info!(%client, "session opened");
        match serving.run(host) {
            SessionEnd::Stopped | SessionEnd::Control(ControlError::Closed) => Ok(()),
            SessionEnd::Control(error) => Err(error.to_string()),
        }
    })();
    drop(place);
    let peer = peer.to_string();
    match served {
        Ok(()) => tracing::info!(peer, "session closed"),
        Err(reason) => tracing::warn!(peer, reason, "session broke off"),
    }
}

impl Serving<'_> {
    fn run(&mut self, host: HostFacts) -> SessionEnd {
        let welcome = FromAgent::Welcome {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            limits: self.shared.limits,
            host: Box::new(host),
        };
        if let Err(error) = self.control.writer.send(&welcome) {
            return error.into();
        }
        loop {
            let served = match self.next(NAP) {
                Ok(None | Some(ToAgent::Go | ToAgent::Stop(_))) => Ok(()),
                Ok(Some(request)) => self.serve_request(request),
                Err(end) => Err(end),
            };
            if let Err(end) = served {
                return end;
            }
        }
    }

    /// The next message but beats; none when nothing comes within `limit`.
    fn next(&self, limit: Duration) -> Served<Option<ToAgent>> {
        if self.shared.stop.is_set() {
            return Err(SessionEnd::Stopped);
        }
        match self.control.incoming.recv_timeout(limit) {
            Ok(Ok(ToAgent::Beat)) | Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(Ok(message)) => Ok(Some(message)),
            Ok(Err(error)) => Err(error.into()),
            Err(RecvTimeoutError::Disconnected) => Err(ControlError::Closed.into()),
        }
    }

    fn say(&self, message: &FromAgent) -> Served<()> {
        Ok(self.control.writer.send(message)?)
    }

    fn say_records(&self, records: Vec<Record>) -> Served<()> {
        for part in records.chunks(RECORDS_PER_MESSAGE) {
            self.say(&FromAgent::Records(part.to_vec()))?;
        }
        Ok(())
    }

    /// Runs one test; what the agent will not or cannot do is said to the client, and the session goes on.
    fn serve_request(&mut self, request: ToAgent) -> Served<()> {
        let outcome = match request {
            ToAgent::Rtt(request) => self.serve_rtt(&request),
            ToAgent::Flows(request) => self.serve_flows(&request),
            ToAgent::Tcp(request) => self.serve_tcp(request),
            ToAgent::Mtu => self.serve_mtu(),
            ToAgent::Go | ToAgent::Stop(_) | ToAgent::Beat => return Ok(()),
        };
        match outcome? {
            Ok(()) => Ok(()),
            Err(MeasureError::Refused(reason)) => self.say(&FromAgent::Refused { reason }),
            Err(error) if error.is_usage() => self.say(&FromAgent::Refused {
                reason: error.to_string(),
            }),
            Err(error) => self.say(&FromAgent::Failed {
                reason: error.to_string(),
            }),
        }
    }

    /// Waits for the client to say that it is ready. None when it is; else the outcome of the request, which goes to
    /// the client: it may be about to begin.
    fn await_go(&self, limit: Duration) -> Served<Option<Outcome>> {
        let deadline = Instant::now() + limit;
        loop {
            match self.next(NAP)? {
                Some(ToAgent::Go) => return Ok(None),
                Some(ToAgent::Stop(_)) => return Ok(Some(Ok(()))),
                _ if Instant::now() > deadline => return Ok(Some(Err(not_begun(limit)))),
                _ => {}
            }
        }
    }

    fn socket(&self, options: &UdpOptions) -> Result<UdpSocket, MeasureError> {
        self.shared.ports.bind(self.local, options)
    }

    fn reflector(&self, max_length: u32) -> Result<Reflector, MeasureError> {
        let options = UdpOptions {
            receive_timestamps: true,
            receive_buffer: 4 << 20,
            ..UdpOptions::default()
        };
        let keys = &self.established.keys;
        Reflector::start(
            self.socket(&options)?,
            self.established.session,
            keys.udp,
            self.client,
            Bounds {
                max_length,
                max_rate: self.shared.limits.max_rate,
            },
        )
    }

    fn serve_rtt(&mut self, request: &RttRequest) -> Served<Outcome> {
        let limits = &self.shared.limits;
        let opened = limits
            .check(Some(request.rate), request.duration_ns, request.max_length, 1)
            .and_then(|()| self.reflector(request.max_length));
        let reflector = match opened {
            Ok(reflector) => reflector,
            Err(error) => return Ok(Err(error)),
        };
        self.say(&FromAgent::Ready(Ready {
            ports: vec![reflector.port()],
            ..Ready::default()
        }))?;
        let (sender, records) = channel();
        let watch = request
            .host_counters
            .then(|| HostWatch::start(Side::Remote, self.interface.clone(), sender))
            .transpose();
        let watch = match watch {
            Ok(watch) => watch,
            Err(error) => return Ok(Err(error)),
        };
        let deadline = Instant::now() + longest_rtt_test(request, limits);
        loop {
            let message = self.next(HAND_ON)?;
            let over = matches!(message, Some(ToAgent::Stop(_))) || Instant::now() > deadline;
            if over {
                break;
            }
            self.say_records(records.try_iter().flatten().collect())?;
        }
        // The watch leaves its last, shorter sample behind when it ends.
        drop(watch);
        self.say_records(records.try_iter().flatten().collect())?;
        self.say(&FromAgent::Rtt(reflector.finish()))?;
        Ok(Ok(()))
    }
}

/// How long a client may take over an RTT test: its last packets are lost only when its patience with them is over.
fn longest_rtt_test(request: &RttRequest, limits: &Limits) -> Duration {
    let timeout_ns = request.timeout_ns.min(limits.max_duration_ns);
    Duration::from_nanos(request.duration_ns.saturating_add(timeout_ns)) + PATIENCE
}

/// The client asked for a test and did not begin it.
fn not_begun(limit: Duration) -> MeasureError {
    MeasureError::FarEnd(format!("the test did not begin within {} s", limit.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rtt_test_may_wait_for_its_last_replies() {
        let request = |timeout_s: u64| RttRequest {
            max_length: 100,
            duration_ns: 10_000_000_000,
            timeout_ns: timeout_s.saturating_mul(1_000_000_000),
            rate: weir_units::Rate(1000),
            host_counters: true,
        };
        let seconds = |timeout_s| longest_rtt_test(&request(timeout_s), &Limits::default()).as_secs();
        assert_eq!((seconds(2), seconds(120)), (10 + 2 + 30, 10 + 120 + 30));
        // Not for ever, though.
        assert_eq!(seconds(u64::MAX), 10 + 24 * 3600 + 30);
    }
}
