//! The output thread: conceals missing parts, repacks frames, checks hashes, and writes. It may be as slow as its reader:
//! the queue before it drops whole frames, and counts them.

mod conceal;
mod parts;
mod plan;
mod queue;
mod sink;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox, channel};
use std::time::Duration;

use weir_control::Stop;
use weir_net::clock;
use weir_record::{FrameSecond, Record};
use weir_stats::{Counters, DurationHistogram, FrameCounters};
use weir_stream_proto::{Frame, FrameKey, OutputFrame, Shares};
use weir_video::VideoFormat;

use super::report::Report;
use crate::StreamError;
use conceal::Concealer;
use parts::Parts;
use queue::{FormatId, Lane, queues};
use sink::{Sink, WriteEnd};
use verify::Verifier;

pub use conceal::Conceal;
pub use plan::{Form, OutputPlan, Target};
pub(super) use queue::{FrameQueue, Timed, ToOutput};

const SECOND_NS: u64 = 1_000_000_000;
/// Length of the queue in time; besides, it holds a minimum of frames, and those that arrive at once when a frame before
/// them is repaired: this thread may be scheduled late, too.
const QUEUE_NS: u64 = 250_000_000;
const LEAST_QUEUE: u64 = 3;
/// Maximum number of frames in reassembly and in the queue, at any latency.
pub(super) const MOST_FRAMES: u64 = 1_024;

/// Totals, and delays of all frames.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputTotals {
    pub counts: FrameCounters,
    pub delay: DurationHistogram,
    pub used: DurationHistogram,
}

/// How the thread ended.
#[derive(Debug)]
pub(super) enum OutputEnd {
    /// All frames are written.
    Done,
    /// The reader has closed the output.
    ReaderLeft,
    Failed(StreamError),
}

pub(super) struct Output {
    plan: OutputPlan,
    incoming: Inbox<ToOutput>,
    lanes: Vec<Lane>,
    /// With several shares.
    parts: Option<Parts>,
    dropped: Arc<AtomicU64>,
    reports: Outbox<Report>,
    stop: Stop,
}

impl Output {
    /// The thread's work, the receiving threads' ends, and a channel for hashes, for a frame duration in nanoseconds.
    pub(super) fn new(
        plan: OutputPlan,
        (frame_ns, shares): (u64, Shares),
        reports: Outbox<Report>,
        stop: Stop,
    ) -> (Self, Vec<FrameQueue>, Outbox<ToOutput>) {
        let (out, incoming) = channel();
        let dropped = Arc::<AtomicU64>::default();
        let within = |span_ns: u64| span_ns / frame_ns.max(1);
        let most = within(QUEUE_NS).max(LEAST_QUEUE) + within(plan.budget_ns);
        let most = most.min(MOST_FRAMES) as usize;
        let (queues, lanes) = queues(shares, most, (&out, &dropped));
        let with_bytes = plan.target != Target::Nowhere || plan.verify;
        let output = Output {
            parts: (shares.count() > 1).then(|| Parts::new(shares, with_bytes)),
            plan,
            incoming,
            lanes,
            dropped,
            reports,
            stop,
        };
        (output, queues, out)
    }

    /// Takes frames until the queue is closed.
    pub(super) fn run(self) -> (OutputTotals, OutputEnd) {
        let mut writing = Writing {
            sink: Sink::new(&self.plan),
            concealer: Concealer::new(self.plan.conceal),
            verifier: Verifier::default(),
            formats: Vec::new(),
            totals: OutputTotals::default(),
            second: OutputTotals::default(),
            dropped_before: 0,
            began_ns: clock::monotonic_ns(),
            given: 0,
            output: self,
        };
        let end = match writing.run() {
            Ok(()) => OutputEnd::Done,
            Err(WriteEnd::ReaderLeft) => OutputEnd::ReaderLeft,
            Err(WriteEnd::Stopped) => OutputEnd::Done,
            Err(WriteEnd::Failed(error)) => OutputEnd::Failed(error),
        };
        writing.close_second(clock::monotonic_ns());
        (writing.totals, end)
    }
}

struct Writing {
    output: Output,
    sink: Sink,
    concealer: Concealer,
    verifier: Verifier,
    formats: Vec<(FormatId, VideoFormat)>,
    totals: OutputTotals,
    second: OutputTotals,
    dropped_before: u64,
    began_ns: u64,
    /// Frames that were written, or concealed.
    given: u64,
}

impl Writing {
    /// Takes frames until the queue is closed, or enough are taken.
    fn run(&mut self) -> Result<(), WriteEnd> {
        let stop = self.output.stop.clone();
        self.sink.open(&stop)?;
        loop {
            let now = clock::monotonic_ns();
            if now >= self.began_ns + SECOND_NS {
                self.close_second(now);
            }
            let wake_ns = self.output.parts.as_ref().and_then(Parts::next_wake);
            let until_ns = wake_ns.unwrap_or(u64::MAX).min(self.began_ns + SECOND_NS);
            let left = Duration::from_nanos(until_ns.saturating_sub(now));
            match self.output.incoming.recv_timeout(left) {
                Ok(ToOutput::OutputFrame(share, key, timed)) => {
                    let done = self.take_from(share, key, *timed);
                    self.output.lanes[usize::from(share)]
                        .queued
                        .fetch_sub(1, Ordering::AcqRel);
                    done?;
                }
                Ok(ToOutput::Format(number, format)) => self.set_format(number, format),
                Ok(ToOutput::Hashes(hashes)) => {
                    for (frame, hash) in hashes {
                        let compared = self.verifier.expected(frame, hash);
                        self.count_compared(compared);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.take_joined(clock::monotonic_ns())?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.take_joined(u64::MAX)?;
                    return self.sink.flush();
                }
            }
        }
    }

    /// Takes a frame, or a part of one.
    fn take_from(&mut self, share: u16, key: FrameKey, timed: Timed) -> Result<(), WriteEnd> {
        let Some(parts) = &mut self.output.parts else {
            return self.take_frame(timed);
        };
        let now = clock::monotonic_ns();
        parts.push(now, (share, key), timed);
        self.take_joined(now)
    }

    /// Takes the frames whose parts are there, or waited for long enough.
    fn take_joined(&mut self, now: u64) -> Result<(), WriteEnd> {
        while let Some(parts) = &mut self.output.parts {
            while let Some((share, part)) = parts.take_free() {
                give_back(&self.output.lanes[usize::from(share)], part);
            }
            let formats = &self.formats;
            let length = |part: &Frame| Some(format_of(formats, part)?.frame_bytes());
            let Some(timed) = parts.poll(now, length) else {
                break;
            };
            self.take_frame(timed)?;
        }
        Ok(())
    }

    /// Takes a frame; ends after as many as are wanted.
    fn take_frame(&mut self, timed: Timed) -> Result<(), WriteEnd> {
        self.take(timed)?;
        self.given += 1;
        let most = self.output.plan.most_frames;
        if most.is_some_and(|most| self.given >= most) {
            self.sink.flush()?;
            return Err(WriteEnd::Stopped);
        }
        Ok(())
    }

    fn set_format(&mut self, number: FormatId, format: VideoFormat) {
        /// A sender that has more formats at a time is broken or hostile.
        const MOST: usize = 16;
        self.formats.retain(|(known, _)| *known != number);
        if self.formats.len() == MOST {
            self.formats.remove(0);
        }
        self.formats.push((number, format));
    }

    fn take(&mut self, timed: Timed) -> Result<(), WriteEnd> {
        match timed.given {
            OutputFrame::Nothing(_) => {
                self.second.counts.lost += 1;
                match self.concealer.instead() {
                    Some((format, bytes)) => self.sink.write(format, bytes),
                    None => Ok(()),
                }
            }
            OutputFrame::Frame(frame) => {
                let whole = frame.missing.is_empty();
                if whole {
                    self.second.counts.frames += 1;
                } else {
                    self.second.counts.damaged += 1;
                }
                if whole && self.output.plan.verify {
                    let compared = self.verifier.came(&frame);
                    self.count_compared(compared);
                }
                let due_ns = frame.deadline_ns.saturating_sub(self.output.plan.budget_ns);
                let done_ns = frame.complete_ns.unwrap_or(frame.deadline_ns);
                self.second.used.record(done_ns.saturating_sub(due_ns) as i64);
                let sent_ns = frame.sent_ns.saturating_sub(timed.least_transit_ns);
                self.write(frame)?;
                let now = clock::monotonic_ns();
                self.second.delay.record(now.saturating_sub(sent_ns) as i64);
                Ok(())
            }
        }
    }

    fn write(&mut self, mut frame: Frame) -> Result<(), WriteEnd> {
        let format = format_of(&self.formats, &frame).filter(|it| it.frame_bytes() == frame.bytes.len());
        let lane = &self.output.lanes[0];
        let Some(format) = format else {
            // A frame without a format description cannot be written.
            give_back(lane, frame);
            return Ok(());
        };
        self.concealer.mend(format, &mut frame);
        let written = self.sink.write(format, &frame.bytes);
        if let Some(before) = self.concealer.keep(format, frame) {
            give_back(lane, before);
        }
        written
    }

    fn count_compared(&mut self, equal: Option<bool>) {
        match equal {
            Some(true) => self.second.counts.verified += 1,
            Some(false) => self.second.counts.unequal += 1,
            None => {}
        }
    }

    fn close_second(&mut self, now: u64) {
        let dropped = self.output.dropped.load(Ordering::Relaxed);
        let second = std::mem::take(&mut self.second);
        let row = FrameSecond {
            unix_ns: clock::unix_ns(),
            duration_ns: now - self.began_ns,
            counts: FrameCounters {
                dropped: dropped - self.dropped_before,
                ..second.counts
            },
            budget_ns: self.output.plan.budget_ns,
            delay: second.delay.quantiles(),
            used: second.used.quantiles(),
        };
        let totals = &mut self.totals;
        totals.counts.add(&row.counts);
        totals.delay.merge(&second.delay);
        totals.used.merge(&second.used);
        (self.dropped_before, self.began_ns) = (dropped, now);
        self.output
            .reports
            .send(Report::Records(vec![Record::FrameSecond(row)]))
            .ok();
    }
}

/// The format of a frame, or of a part of it.
fn format_of(formats: &[(FormatId, VideoFormat)], frame: &Frame) -> Option<VideoFormat> {
    let number = (frame.sender, frame.format);
    let known = formats.iter().find(|(known, _)| *known == number);
    known.map(|(_, format)| *format)
}

/// Gives the buffer of a frame back to its share.
fn give_back(lane: &Lane, frame: Frame) {
    // That of a frame whose bytes nobody wants is with its parts.
    if frame.bytes.capacity() > 0 {
        lane.back.send(frame).ok();
    }
}
