//! The output thread: conceals missing parts, repacks frames, checks hashes, and writes. It may be as slow as its reader:
//! the queue before it drops whole frames, and counts them.

mod conceal;
mod plan;
mod sink;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender as Outbox, channel};
use std::time::Duration;

use weir_control::Stop;
use weir_net::clock;
use weir_record::{FrameSecond, Record};
use weir_stats::{Counters, DurationHistogram, FrameCounters};
use weir_stream_proto::{Frame, OutputFrame, SenderIndex};
use weir_video::VideoFormat;

use super::report::Report;
use crate::StreamError;
use conceal::Concealer;
use sink::{Sink, WriteEnd};
use verify::Verifier;

pub use conceal::Conceal;
pub use plan::{Form, OutputPlan, Target};

const SECOND_NS: u64 = 1_000_000_000;
/// Length of the queue in time; besides, it holds a minimum of frames, and those that arrive at once when a frame before
/// them is repaired: this thread may be scheduled late, too.
const QUEUE_NS: u64 = 250_000_000;
const LEAST_QUEUE: u64 = 3;
/// Maximum number of frames in reassembly and in the queue, at any latency.
pub(super) const MOST_FRAMES: u64 = 1_024;

/// A sender, and the number of a format there.
type FormatId = (SenderIndex, u16);

/// A frame, and the reference of its delay.
#[derive(Debug)]
pub(super) struct Timed {
    pub given: OutputFrame,
    /// Assumed transit time of the fastest packet, nanoseconds.
    pub least_transit_ns: u64,
}

/// Messages to the thread.
pub(super) enum ToOutput {
    OutputFrame(Box<Timed>),
    Format(FormatId, VideoFormat),
    Hashes(Vec<(u32, u64)>),
}

/// The receiving thread's end: queues frames and never waits.
pub(super) struct FrameQueue {
    out: Outbox<ToOutput>,
    back: Inbox<Frame>,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    /// Maximum number of waiting frames.
    most: usize,
}

impl FrameQueue {
    /// Queues a frame; returns it if the queue is full.
    pub(super) fn offer(&self, timed: Timed) -> Option<OutputFrame> {
        if self.queued.load(Ordering::Acquire) >= self.most {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Some(timed.given);
        }
        self.queued.fetch_add(1, Ordering::AcqRel);
        // A writer that has ended takes no frames; that ends the run.
        self.out.send(ToOutput::OutputFrame(Box::new(timed))).ok();
        None
    }

    /// Changes the format of the following frames.
    pub(super) fn format(&self, number: FormatId, format: VideoFormat) {
        self.out.send(ToOutput::Format(number, format)).ok();
    }

    /// A frame whose buffer is free.
    pub(super) fn take_back(&self) -> Option<Frame> {
        self.back.try_recv().ok()
    }
}

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
    back: Outbox<Frame>,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    reports: Outbox<Report>,
    stop: Stop,
}

impl Output {
    /// The thread's work, the receiving thread's end, and a channel for hashes, for a frame duration in nanoseconds.
    pub(super) fn new(
        plan: OutputPlan,
        frame_ns: u64,
        reports: Outbox<Report>,
        stop: Stop,
    ) -> (Self, FrameQueue, Outbox<ToOutput>) {
        let (out, incoming) = channel();
        let (back, returned) = channel();
        let (queued, dropped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
        let within = |span_ns: u64| span_ns / frame_ns.max(1);
        let most = within(QUEUE_NS).max(LEAST_QUEUE) + within(plan.budget_ns);
        let queue = FrameQueue {
            out: out.clone(),
            back: returned,
            queued: queued.clone(),
            dropped: dropped.clone(),
            most: most.min(MOST_FRAMES) as usize,
        };
        let output = Output {
            plan,
            incoming,
            back,
            queued,
            dropped,
            reports,
            stop,
        };
        (output, queue, out)
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
    fn run(&mut self) -> Result<(), WriteEnd> {
        let stop = self.output.stop.clone();
        self.sink.open(&stop)?;
        loop {
            let now = clock::monotonic_ns();
            if now >= self.began_ns + SECOND_NS {
                self.close_second(now);
            }
            let left = (self.began_ns + SECOND_NS).saturating_sub(now);
            match self
                .output
                .incoming
                .recv_timeout(Duration::from_nanos(left.min(SECOND_NS)))
            {
                Ok(ToOutput::OutputFrame(timed)) => {
                    let done = self.take(*timed);
                    self.output.queued.fetch_sub(1, Ordering::AcqRel);
                    done?;
                    self.given += 1;
                    if self
                        .output
                        .plan
                        .most_frames
                        .is_some_and(|most| self.given >= most)
                    {
                        return self.sink.flush();
                    }
                }
                Ok(ToOutput::Format(number, format)) => self.set_format(number, format),
                Ok(ToOutput::Hashes(hashes)) => {
                    for (frame, hash) in hashes {
                        let compared = self.verifier.expected(frame, hash);
                        self.count_compared(compared);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.sink.flush(),
            }
        }
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
        let format = self
            .formats
            .iter()
            .find(|(number, _)| *number == (frame.sender, frame.format));
        let format = format
            .map(|(_, format)| *format)
            .filter(|format| format.frame_bytes() == frame.bytes.len());
        let Some(format) = format else {
            // A frame without a format description cannot be written.
            self.output.back.send(frame).ok();
            return Ok(());
        };
        self.concealer.mend(format, &mut frame);
        let written = self.sink.write(format, &frame.bytes);
        if let Some(before) = self.concealer.keep(format, frame) {
            self.output.back.send(before).ok();
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
