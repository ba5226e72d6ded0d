//! The receiver: connects to one sender, or to several of the same stream, and outputs the frames. It must not know how
//! packets are reassembled or repaired.

mod config;
mod data;
#[cfg(test)]
mod judged_tests;
mod link;
mod output;
pub(crate) mod report;
mod start;
mod stream;
pub(crate) mod summary;
mod terms;
mod watched;

use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_control::Stop;
use weir_measure::threads_of_cores;
use weir_net::clock;
use weir_record::{FlowChange, FrameSecond, Record, RecvSecond};
use weir_stream_proto::{Join, ReceiverEvent};

use crate::announce::Announcer;
use crate::messages::in_words;
use crate::{Event, EventKind, Live, RecvLive, StreamError, Threads, Watch};
use data::Command;
use link::{FromLink, Link, LinkPlan, Opened, ToLink};
use output::{OutputEnd, ToOutput};
use report::{RecvQuarter, Report, because};
use start::start_stream;
use stream::Stream;
use watched::Watched;

pub use config::RecvConfig;
pub use output::{Conceal, Form, OutputPlan, Target};
pub use summary::{RecvSummary, SenderSummary};

const NAP: Duration = Duration::from_millis(20);
/// Time for a slow reader to take the last frames.
const LAST_FRAMES: Duration = Duration::from_secs(2);

/// Receives until the stream ends, or `stop` is set.
///
/// # Errors
/// When no sender can be reached, the stream was stopped, or the output cannot be written. What was received before is in
/// `summary`.
pub fn run(
    config: &RecvConfig,
    summary: &mut RecvSummary,
    stop: &Stop,
    watch: &dyn Watch,
) -> Result<(), StreamError> {
    if config.from.is_empty() {
        return Err(StreamError::Parameters(
            "no sender given; name one with --from HOST".into(),
        ));
    }
    if matches!(
        (config.join, config.threads),
        (Join::Switch(_), Threads::Exactly(2..))
    ) {
        return Err(StreamError::Parameters(
            "a receiver that switches between senders has one packet thread; use --join merge, or --threads 1".into(),
        ));
    }
    let cpu_ns = clock::process_cpu_ns();
    summary.budget_ns = config.latency_ns;
    summary.senders = config
        .from
        .iter()
        .map(|from| SenderSummary {
            from: from.clone(),
            ..SenderSummary::default()
        })
        .collect();
    let watched = Watched::start(config, watch)?;
    // Threads end with this flag, not with the caller's, so that frames in progress are finished first.
    let ending = Stop::default();
    let (messages, from_links) = channel();
    let links = (0..config.from.len())
        .map(|index| start_link(config, index as u16, messages.clone(), ending.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut run = Run {
        config,
        summary,
        watch,
        watched,
        links,
        stream: None,
        started: Instant::now(),
        first_session: None,
        live: RecvLive {
            budget_ns: config.latency_ns,
            ..RecvLive::default()
        },
        failure: None,
    };
    let followed = run.follow(&from_links, stop);
    ending.set();
    let finished = run.finish(&from_links);
    run.watched.leave_all();
    run.summary.events = run.watched.announcer.total();
    drop(run);
    summary.process_cpu_ns = clock::process_cpu_ns() - cpu_ns;
    followed.and(finished)
}

fn start_link(
    config: &RecvConfig,
    index: u16,
    messages: Outbox<(u16, FromLink)>,
    stop: Stop,
) -> Result<LinkState, StreamError> {
    let (to_link, orders) = channel();
    let active = index == 0 || matches!(config.join, Join::Merge);
    let plan = LinkPlan {
        index,
        host: config.from[usize::from(index)].clone(),
        family: config.family,
        token: config.token.clone(),
        demand: config.demand,
        latency_ns: config.latency_ns,
        hashes: config.output.verify,
        threads: most_threads(config),
        patience: config.patience,
        receive_buffer: config.receive_buffer,
        merge: config.merge,
    };
    let link = Link {
        plan,
        orders,
        messages,
        stop,
        active,
    };
    let thread = std::thread::Builder::new()
        .name("link".into())
        .spawn(move || link.run())
        .map_err(|error| StreamError::thread(&error))?;
    Ok(LinkState {
        orders: to_link,
        thread: Some(thread),
        connected: false,
        over: false,
        ended: false,
    })
}

/// Maximum number of packet threads.
fn most_threads(config: &RecvConfig) -> u16 {
    match (config.join, config.threads) {
        (Join::Switch(_), _) => 1,
        (Join::Merge, Threads::Exactly(most)) => most,
        (Join::Merge, Threads::Auto) => threads_of_cores(),
    }
}

/// The main thread's state of a sender.
struct LinkState {
    orders: Outbox<ToLink>,
    thread: Option<JoinHandle<()>>,
    connected: bool,
    /// It will not send any more.
    over: bool,
    /// Because its stream has ended normally.
    ended: bool,
}

struct Run<'a> {
    config: &'a RecvConfig,
    summary: &'a mut RecvSummary,
    watch: &'a dyn Watch,
    watched: Watched<'a>,
    links: Vec<LinkState>,
    stream: Option<Stream>,
    started: Instant,
    first_session: Option<Instant>,
    live: RecvLive,
    /// The error of the last sender that failed.
    failure: Option<StreamError>,
}

impl<'a> Run<'a> {
    /// Runs until there is nothing more to receive.
    fn follow(&mut self, from_links: &Inbox<(u16, FromLink)>, stop: &Stop) -> Result<(), StreamError> {
        let senders = self.config.from.join(" and ");
        self.watch.live(&Live::Waiting(format!("for {senders}")));
        self.watched
            .show(self.summary, &self.live, &vec![false; self.links.len()]);
        while !stop.is_set() && !self.is_over() {
            if let Ok((sender, message)) = from_links.recv_timeout(NAP) {
                self.take_link(sender, message)?;
            }
            self.drain();
            // A thread that ends early returns its error when it is joined.
            let ended = self.stream.as_ref().is_some_and(Stream::has_finished);
            if ended || self.nothing_comes() {
                break;
            }
        }
        match self.failure.take() {
            Some(error) if self.links.iter().all(|link| link.over) => Err(error),
            _ => Ok(()),
        }
    }

    /// No sender will send any more: each has ended the stream, or is disconnected where another has ended it.
    fn nothing_comes(&self) -> bool {
        let ended = self.links.iter().any(|link| link.ended);
        let gone = |link: &LinkState| link.over || (ended && !link.connected);
        self.links.iter().all(gone)
    }

    /// Whether the requested duration is over.
    fn is_over(&self) -> bool {
        let since = self.first_session.unwrap_or(self.started);
        self.config.duration.is_some_and(|most| since.elapsed() >= most)
    }

    fn happened(&mut self, sender: Option<u16>, event: EventKind, detail: impl Into<String>) {
        self.announcer().announce(Event::now(sender, event, detail));
    }

    fn announcer(&mut self) -> &mut Announcer<'a> {
        &mut self.watched.announcer
    }

    /// A sender has failed.
    fn failed(&mut self, sender: u16, kind: EventKind, error: StreamError) {
        self.links[usize::from(sender)].over = true;
        let event = Event::now(Some(sender), kind, error.to_string());
        // After the last sender the run fails with the same text, which the user should read only once.
        if self.links.iter().any(|link| !link.over) {
            self.announcer().announce(event);
        } else {
            self.announcer().note(event);
        }
        self.failure = Some(error);
    }

    fn take_link(&mut self, sender: u16, message: FromLink) -> Result<(), StreamError> {
        let name = self.config.from[usize::from(sender)].clone();
        match message {
            FromLink::Open(opened) => self.open(sender, &name, *opened)?,
            FromLink::Flow { unix_ns, flow, state } => {
                let row = FlowChange {
                    unix_ns,
                    sender,
                    flow,
                    state,
                };
                self.watched.flow(&row);
                self.watch.record(Record::FlowChange(row));
            }
            FromLink::Rtt(rtt_ns) => {
                if let Some(stream) = &self.stream {
                    stream.command(|| Command::Rtt { sender, rtt_ns });
                }
            }
            FromLink::Hashes(hashes) => {
                if let Some(stream) = &self.stream {
                    stream.to_output.send(ToOutput::Hashes(hashes)).ok();
                }
            }
            FromLink::Lost(reason) => {
                self.close(sender);
                self.happened(
                    Some(sender),
                    EventKind::Disconnected,
                    format!("{name} is gone: {reason}"),
                );
            }
            FromLink::Ended(None) => {
                let link = &mut self.links[usize::from(sender)];
                (link.over, link.ended) = (true, true);
                self.watched.leave(sender);
                self.happened(
                    Some(sender),
                    EventKind::Ended,
                    format!("the stream of {name} has ended"),
                );
            }
            FromLink::Ended(Some(reason)) => {
                let error = StreamError::FarEnd(format!("{name} has stopped: {reason}"));
                self.failed(sender, EventKind::Stopped, error);
                self.close(sender);
            }
            FromLink::Failed(error) => self.failed(sender, EventKind::Refused, error),
        }
        Ok(())
    }

    /// A sender's session is ready: start to receive its packets.
    fn open(&mut self, sender: u16, name: &str, opened: Opened) -> Result<(), StreamError> {
        if self.stream.is_none() {
            self.stream = Some(start_stream(self.config, &opened)?);
            self.first_session = Some(Instant::now());
            self.summary.threads = opened.terms.threads;
        }
        let left = self.stream.as_mut().map(|stream| stream.seconds.last_of(sender));
        left.into_iter()
            .flatten()
            .for_each(|record| self.take_record(record));
        let Some(stream) = &self.stream else { return Ok(()) };
        let terms = &opened.terms;
        stream.check(name, terms)?;
        let first = self.summary.senders[usize::from(sender)].sessions == 0;
        self.summary.senders[usize::from(sender)].sessions += 1;
        self.summary.senders[usize::from(sender)].flows = terms.flows;
        let protection = opened.secrets.protection;
        self.summary.senders[usize::from(sender)].protection = Some(protection.name());
        self.summary.format = Some(terms.format.clone());
        let detail = format!(
            "{name} ({}) sends {} over {} flows, {}",
            opened.peer,
            terms.format,
            terms.flows,
            in_words(protection)
        );
        let fec = terms.fec_window.is_some();
        stream.add(self.config, sender, opened)?;
        let kind = if first {
            EventKind::Connected
        } else {
            EventKind::Restarted
        };
        self.links[usize::from(sender)].connected = true;
        self.watched.join(sender, name, fec);
        self.happened(Some(sender), kind, detail);
        Ok(())
    }

    fn close(&mut self, sender: u16) {
        self.links[usize::from(sender)].connected = false;
        self.watched.leave(sender);
        if let Some(stream) = &self.stream {
            stream.command(|| Command::Remove { sender });
        }
    }

    /// Processes the threads' messages.
    fn drain(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let reports: Vec<Report> = stream.reports.try_iter().collect();
        let watched: Vec<Record> = stream.watched.try_iter().flatten().collect();
        for record in watched {
            self.watch.record(record);
        }
        for report in reports {
            match report {
                Report::Records(records) => records.into_iter().for_each(|record| self.take_record(record)),
                Report::Seconds { share, rows } => self.take_seconds(share, rows),
                Report::Event(sender, event) => self.take_event(sender, event),
                Report::Quarter { share, quarter } => self.take_quarter(share, quarter),
            }
        }
    }

    fn take_seconds(&mut self, share: u16, rows: Vec<RecvSecond>) {
        let joined = self
            .stream
            .as_mut()
            .map(|stream| stream.seconds.push(share, rows));
        joined
            .into_iter()
            .flatten()
            .for_each(|record| self.take_record(record));
    }

    fn take_quarter(&mut self, share: u16, quarter: RecvQuarter) {
        let Some(stream) = &mut self.stream else { return };
        let quarters = stream.quarters.push(share, quarter).into_iter().flatten();
        if let Some(quarter) = quarters.reduce(RecvQuarter::with_share) {
            self.watched.quarter(&quarter);
        }
    }

    fn take_event(&mut self, sender: Option<u16>, event: ReceiverEvent) {
        match event {
            ReceiverEvent::Format { description, .. } => {
                let text = String::from_utf8_lossy(&description).into_owned();
                let known = self.summary.format.replace(text.clone());
                if known.as_ref() != Some(&text) {
                    self.happened(sender, EventKind::Format, format!("the format changes to {text}"));
                }
            }
            ReceiverEvent::End { .. } => {}
            ReceiverEvent::Wanted { wanted, .. } => {
                if let Some(sender) = sender {
                    self.links[usize::from(sender)]
                        .orders
                        .send(ToLink::Active(wanted))
                        .ok();
                }
            }
            ReceiverEvent::Switched { why, frame, .. } => {
                let name = sender
                    .map_or("another", |it| &self.config.from[usize::from(it)])
                    .to_owned();
                self.happened(
                    sender,
                    EventKind::Switched,
                    format!("switched to {name} from frame {frame} on: {}", because(why)),
                );
            }
        }
    }

    fn take_record(&mut self, record: Record) {
        match &record {
            Record::RecvSecond(row) => {
                self.summary.add(row);
                self.live.add(row);
            }
            Record::FrameSecond(row) => self.count_frames(row),
            _ => {}
        }
        self.watch.record(record);
    }

    /// The frame counters arrive once per second, after the packet counters of about the same second.
    fn count_frames(&mut self, row: &FrameSecond) {
        if row.counts.dropped > 0 && self.live.dropped == 0 {
            let detail = "the reader of the output is slower than the stream; whole frames are dropped";
            self.happened(None, EventKind::SlowReader, detail);
        }
        let live = &mut self.live;
        live.frames += row.counts.frames;
        live.concealed += row.counts.damaged + row.counts.lost;
        live.dropped += row.counts.dropped;
        live.used_ns = u64::try_from(row.used.max).unwrap_or(0);
        self.watch.live(&Live::Receiving(*live));
        let connected: Vec<bool> = self.links.iter().map(|link| link.connected).collect();
        self.watched.show(self.summary, live, &connected);
        for link in self.links.iter().filter(|link| link.connected) {
            link.orders.send(ToLink::Second(*live)).ok();
        }
        self.live = RecvLive {
            budget_ns: live.budget_ns,
            frames: live.frames,
            concealed: live.concealed,
            dropped: live.dropped,
            ..RecvLive::default()
        };
    }

    /// Ends the threads and takes what is left.
    fn finish(&mut self, from_links: &Inbox<(u16, FromLink)>) -> Result<(), StreamError> {
        for link in &mut self.links {
            if let Some(thread) = link.thread.take() {
                // A link thread that panicked sends nothing more.
                thread.join().ok();
            }
        }
        // Hashes may still be queued for the output.
        while let Ok((sender, message)) = from_links.try_recv() {
            if let FromLink::Hashes(_) = message {
                self.take_link(sender, message)?;
            }
        }
        self.drain();
        let Some(stream) = self.stream.take() else {
            return Ok(());
        };
        let Stream {
            commands,
            reports,
            to_output,
            receiving,
            writing,
            output_stop,
            mut seconds,
            ..
        } = stream;
        drop((commands, to_output));
        let failed = || Err(StreamError::Internal("the receiving thread failed".into()));
        let received = receiving
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| failed()))
            .fold(Ok(()), Result::and);
        output_stop.set();
        let deadline = Instant::now() + LAST_FRAMES;
        while !writing.is_finished() && Instant::now() < deadline {
            std::thread::sleep(NAP);
        }
        let written = writing.is_finished().then(|| writing.join());
        for report in reports.try_iter() {
            let records = match report {
                Report::Records(records) => records,
                Report::Seconds { share, rows } => seconds.push(share, rows),
                Report::Event(..) | Report::Quarter { .. } => continue,
            };
            records.into_iter().for_each(|record| self.take_record(record));
        }
        let last = seconds.last_of_all();
        last.into_iter().for_each(|record| self.take_record(record));
        if let Some(first) = self.first_session {
            self.summary.duration_ns = first.elapsed().as_nanos() as u64;
        }
        let ended = match written {
            Some(Ok((totals, end))) => {
                self.summary.set_frames(&totals);
                match end {
                    OutputEnd::Done => Ok(()),
                    OutputEnd::ReaderLeft => {
                        self.happened(None, EventKind::SlowReader, "the reader closed the output");
                        Ok(())
                    }
                    OutputEnd::Failed(error) => Err(error),
                }
            }
            Some(Err(_)) => Err(StreamError::Internal("the writing thread failed".into())),
            None => Err(StreamError::Output {
                output: "the output".into(),
                reason: "its reader does not take the last frames".into(),
            }),
        };
        received.and(ended)
    }
}
