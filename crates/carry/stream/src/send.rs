//! The sender: listens, and sends the source's frames to one receiver at a time. It must not know how packets are
//! scheduled or repaired.

mod account;
mod agreed;
mod config;
mod data;
mod divide;
mod door;
mod following;
mod load;
mod serve;
mod session;
mod stream;
pub(crate) mod summary;
mod watched;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use weir_control::{Admitted, Caller, Stop};

use crate::messages::in_words;
use crate::source::{FromSource, Source};
use crate::{Event, EventKind, Live, SendLive, StreamError, Threads, Watch};
use door::Callers;
use serve::serve;
use session::SessionEnd;
use stream::Stream;
use watched::Watched;

pub use config::{FecPlan, Pacing, SendConfig};
pub use summary::SendSummary;

const NAP: Duration = Duration::from_millis(20);

/// Listens and sends until the input ends, or `stop` is set.
///
/// # Errors
/// When it cannot start, the input fails, or the path does not carry the stream. What was sent until then is in
/// `summary`.
pub fn run(
    config: &SendConfig,
    summary: &mut SendSummary,
    stop: &Stop,
    watch: &dyn Watch,
) -> Result<(), StreamError> {
    if config.flows == 0 || usize::from(config.flows) > weir_wire::MAX_FEEDBACK_FLOWS {
        return Err(StreamError::Parameters(format!(
            "a stream has 1 to {} flows, not {}",
            weir_wire::MAX_FEEDBACK_FLOWS,
            config.flows
        )));
    }
    if let Threads::Exactly(count) = config.threads
        && count > config.flows
    {
        return Err(StreamError::Parameters(format!(
            "--threads {count} needs a flow for each thread, and there are {}; give at least --flows {count}",
            config.flows
        )));
    }
    let cpu_ns = weir_net::clock::process_cpu_ns();
    let mut source = Source::start(config.source.clone())?;
    let callers = Callers::listen(
        &config.listen,
        config.port,
        (&config.token, config.demand),
        config.open,
    )?;
    let mut stream = Stream {
        config,
        callers: &callers,
        stop,
        watch,
        summary,
        format: None,
        watched: Watched::start(config, watch)?,
    };
    let sent = stream.run(&mut source);
    drop(stream);
    summary.process_cpu_ns = weir_net::clock::process_cpu_ns() - cpu_ns;
    sent
}

impl Stream<'_> {
    fn run(&mut self, source: &mut Source) -> Result<(), StreamError> {
        self.watch.listening(self.callers.addresses());
        self.watched.show(self.summary, &SendLive::default());
        while !self.stop.is_set() {
            self.watch.live(&Live::Waiting("for a receiver".into()));
            let Some(client) = self.await_client(source)? else {
                return Ok(());
            };
            self.summary.receivers += 1;
            let peer = client.peer;
            let protection = client.established.keys.protection;
            self.summary.protection = Some(protection.name());
            let how = in_words(protection);
            self.happened(EventKind::Connected, format!("receiver {peer} connected, {how}"));
            let served = serve(self, *client, source);
            self.watched.leave();
            self.watched.show(self.summary, &SendLive::default());
            match served {
                Ok(SessionEnd::StreamOver) => {
                    self.happened(EventKind::Ended, "the stream has ended");
                    return Ok(());
                }
                Ok(SessionEnd::Stopped) => return Ok(()),
                Ok(SessionEnd::Left(why)) => {
                    self.happened(
                        EventKind::Disconnected,
                        format!("receiver {peer} disconnected: {why}"),
                    );
                }
                Err(error) => {
                    // The run fails with the same text, which the user should read only once.
                    let event = Event::now(None, EventKind::Stopped, error.to_string());
                    self.watched.announcer.note(event);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Waits for a receiver; none after a stop or at the end of the input. Once started, the stream
    /// continues without receivers: frames are skipped.
    fn await_client(&mut self, source: &mut Source) -> Result<Option<Box<Admitted>>, StreamError> {
        let mut next_frame = Instant::now();
        while !self.stop.is_set() {
            match self.callers.next_within(NAP)? {
                Some(Caller::Admitted(client)) => return Ok(Some(client)),
                Some(Caller::Refused { peer, reason }) => self.refused(peer, &reason),
                None => {}
            }
            while next_frame <= Instant::now() {
                match source.try_next() {
                    None => break,
                    Some(FromSource::Format(format)) => self.format = Some(format),
                    Some(FromSource::Frame(frame)) => {
                        self.summary.counts.frames_skipped += 1;
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
        self.happened(EventKind::Refused, format!("{peer} was refused: {reason}"));
    }
}
