//! The sender: listens, and sends the source's frames to one receiver at a time. It must not know how packets are
//! scheduled or repaired.

mod account;
mod data;
mod door;
mod session;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_control::Stop;
use weir_fec::Choice;
use weir_media::raw::VideoFormat;
use weir_transport::BreakerLimits;
use weir_wire::Token;

use crate::source::{FromSource, Source, SourceConfig};
use crate::{CarryError, Event, EventKind, Live, Watch};
use door::{Caller, Client, Door};
use session::{SessionEnd, serve};

const NAP: Duration = Duration::from_millis(20);
/// Refused callers that are kept as events.
const MOST_STRANGERS: u32 = 100;

/// Which repair packets are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum FecPlan {
    /// None.
    Off,
    /// Always the same.
    Fixed(Choice),
    /// As the measured loss asks for, up to this share of the source packets, 1/64 to 1.
    Adaptive(f64),
}

/// How frames are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// By the frame rate, whatever the input could give.
    FrameRate,
    /// As the input gives them, which has a clock of its own.
    Input,
}

/// What to send, how, and to whom.
#[derive(Clone, Debug)]
pub struct SendConfig {
    /// The frames.
    pub source: SourceConfig,
    /// How they are spread over time.
    pub pacing: Pacing,
    /// Addresses to listen on; empty: all of them with a token or `open`, else loopback.
    pub listen: Vec<IpAddr>,
    /// TCP port of the control session; 0 lets the kernel choose.
    pub port: u16,
    /// First UDP port to send from; 0 lets the kernel choose.
    pub media_port: u16,
    /// Whether flows differ in their source port too.
    pub source_ports: bool,
    /// Shared secret; empty for none.
    pub token: Token,
    /// Serve everybody on every address although there is no token.
    pub open: bool,
    /// Flows, 1 to 64.
    pub flows: u16,
    /// Longest UDP payload, headers included; what the interface takes if none.
    pub length: Option<u32>,
    /// Packets of a flow that leave together; by the length if none.
    pub segments: Option<u32>,
    /// Whether the kernel may cut large packets.
    pub segmentation: bool,
    /// Repair packets.
    pub fec: FecPlan,
    /// Whether what the receiver misses is sent again.
    pub arq: bool,
    /// When to stop.
    pub breaker: BreakerLimits,
}

/// What was sent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SendSummary {
    /// Media type of the frames.
    pub format: Option<String>,
    /// Receivers that were served, one after the other.
    pub receivers: u64,
    /// Frames that were sent.
    pub frames: u64,
    /// Frames that nobody wanted.
    pub frames_skipped: u64,
    /// Time in which frames were sent, nanoseconds.
    pub duration_ns: u64,
    /// Source packets, each once.
    pub sources: u64,
    /// UDP payload bytes of all packets.
    pub bytes: u64,
    /// Repair packets.
    pub repairs: u64,
    /// Packets that were sent again.
    pub retransmitted: u64,
    /// Copies that were sent to try flows, or to see whether the last packet came.
    pub trials: u64,
    /// Requests that could not be met in time.
    pub refused: u64,
    /// Packets that the kernel had no room for.
    pub unsent: u64,
    /// Datagrams that were no feedback of the receiver.
    pub rejected: u64,
    /// CPU time of the sending thread, nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of all threads, nanoseconds.
    pub process_cpu_ns: u64,
    /// Changes of flows' use.
    pub flow_changes: u64,
}

/// Listens and sends until the input ends, or `stop` is set.
///
/// # Errors
/// When it cannot begin, the input breaks off, or the path does not carry the stream. What was sent until then is in
/// `summary`.
pub fn run(
    config: &SendConfig,
    summary: &mut SendSummary,
    stop: &Stop,
    watch: &dyn Watch,
) -> Result<(), CarryError> {
    if config.flows == 0 || usize::from(config.flows) > weir_wire::MAX_FEEDBACK_FLOWS {
        return Err(CarryError::Parameters(format!(
            "a stream has 1 to {} flows, not {}",
            weir_wire::MAX_FEEDBACK_FLOWS,
            config.flows
        )));
    }
    let cpu_ns = weir_net::clock::process_cpu_ns();
    let mut source = Source::start(config.source.clone())?;
    let door = Door::open(&config.listen, config.port, &config.token, config.open)?;
    let mut stream = Stream {
        config,
        door: &door,
        stop,
        watch,
        summary,
        format: None,
        strangers: 0,
    };
    let sent = stream.run(&mut source);
    summary.process_cpu_ns = weir_net::clock::process_cpu_ns() - cpu_ns;
    sent
}

/// The stream over all its receivers.
struct Stream<'a> {
    config: &'a SendConfig,
    door: &'a Door,
    stop: &'a Stop,
    watch: &'a dyn Watch,
    summary: &'a mut SendSummary,
    format: Option<VideoFormat>,
    /// Callers that were refused.
    strangers: u32,
}

impl Stream<'_> {
    fn run(&mut self, source: &mut Source) -> Result<(), CarryError> {
        self.watch.listening(self.door.addresses());
        while !self.stop.is_set() {
            self.watch.live(&Live::Waiting("for a receiver".into()));
            let Some(client) = self.await_client(source)? else {
                return Ok(());
            };
            self.summary.receivers += 1;
            let peer = client.peer;
            self.happened(EventKind::Connected, format!("receiver {peer} is here"));
            match serve(self, *client, source) {
                Ok(SessionEnd::StreamOver) => {
                    self.happened(EventKind::Ended, "the stream has ended");
                    return Ok(());
                }
                Ok(SessionEnd::Stopped) => return Ok(()),
                Ok(SessionEnd::Left(why)) => {
                    self.happened(
                        EventKind::Disconnected,
                        format!("receiver {peer} has left: {why}"),
                    );
                }
                Err(error) => {
                    // The run fails with these words, which people need to read once only.
                    let event = Event::now(None, EventKind::Stopped, error.to_string());
                    self.watch.record(event.record());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn happened(&self, event: EventKind, detail: impl Into<String>) {
        let event = Event::now(None, event, detail);
        self.watch.record(event.record());
        self.watch.event(&event);
    }

    /// Waits for a receiver; none when told to stop or when there is nothing left to send. Once the stream has begun it
    /// goes on without receivers: frames that nobody wants are skipped.
    fn await_client(&mut self, source: &mut Source) -> Result<Option<Box<Client>>, CarryError> {
        let mut next_frame = Instant::now();
        while !self.stop.is_set() {
            match self.door.next_within(NAP)? {
                Some(Caller::Client(client)) => return Ok(Some(client)),
                Some(Caller::Refused(peer, reason)) => self.refused(peer, &reason),
                None => {}
            }
            while next_frame <= Instant::now() {
                match source.try_next() {
                    None => break,
                    Some(FromSource::Format(format)) => self.format = Some(format),
                    Some(FromSource::Frame(frame)) => {
                        self.summary.frames_skipped += 1;
                        source.recycle(frame.bytes);
                        next_frame += Duration::from_nanos(self.frame_ns());
                    }
                    Some(FromSource::End(None)) => return Ok(None),
                    Some(FromSource::End(Some(error))) => return Err(error),
                }
            }
        }
        Ok(None)
    }

    fn refused(&mut self, peer: SocketAddr, reason: &str) {
        tracing::warn!(%peer, reason, "refused");
        self.strangers += 1;
        // Strangers must not be able to fill the results store.
        if self.strangers <= MOST_STRANGERS {
            self.happened(EventKind::Refused, format!("{peer} was refused: {reason}"));
        }
    }

    /// How long a frame takes, nanoseconds.
    fn frame_ns(&self) -> u64 {
        self.format.map_or(40_000_000, |format| {
            let rate = format.frame_rate();
            u64::from(rate.denominator) * 1_000_000_000 / u64::from(rate.numerator)
        })
    }
}
