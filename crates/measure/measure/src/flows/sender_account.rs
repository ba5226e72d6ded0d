//! The account of a sender: what each of its threads did in a second, joined to rows and to the report of the whole test. Pure:
//! it knows no thread and no clock.

use std::collections::BTreeMap;

use weir_record::{Direction, Record, SenderSecond};
use weir_stats::{Counters, DurationHistogram, SendCounts};

use super::SenderReport;

/// What a thread did since its last part.
#[derive(Clone, Debug)]
pub struct SenderPart {
    /// Second of the test in which it begins, from 0.
    pub second: u64,
    /// Its end, Unix nanoseconds.
    pub unix_ns: u64,
    /// How long it is, nanoseconds.
    pub duration_ns: u64,
    /// What was sent in it.
    pub counts: SendCounts,
    /// How late blocks left.
    pub schedule_error: DurationHistogram,
    /// CPU time of the thread, nanoseconds.
    pub cpu_ns: u64,
    /// Of the last part: the whole test.
    pub whole: Option<SenderWhole>,
}

/// What a thread did in a whole test, beside what its parts have.
#[derive(Clone, Debug)]
pub struct SenderWhole {
    /// Packets of each flow.
    pub sent_per_flow: Vec<u64>,
    /// From the first packet to the last, nanoseconds.
    pub wall_ns: u64,
    /// The byte limit ended the test.
    pub hit_byte_limit: bool,
}

/// Joins the parts of all threads of a sender.
#[derive(Debug)]
pub struct SenderAccount {
    direction: Direction,
    /// Of each thread, the first second of which it may still say something.
    reached: Vec<u64>,
    /// Seconds of which not all threads have said everything.
    open: BTreeMap<u64, SenderPart>,
    schedule_error: DurationHistogram,
    report: SenderReport,
}

impl SenderAccount {
    /// The account of so many threads.
    pub fn new(direction: Direction, threads: u16) -> Self {
        SenderAccount {
            direction,
            reached: vec![0; usize::from(threads)],
            open: BTreeMap::new(),
            schedule_error: DurationHistogram::new(),
            report: SenderReport {
                threads,
                ..SenderReport::default()
            },
        }
    }

    /// Adds a part of a thread, in the order of its parts; returns the rows of the seconds of which all threads have said
    /// everything.
    pub fn add(&mut self, thread: u16, mut part: SenderPart) -> Vec<Record> {
        let whole = part.whole.take();
        if let Some(reached) = self.reached.get_mut(usize::from(thread)) {
            *reached = if whole.is_some() {
                u64::MAX
            } else {
                part.second + 1
            };
        }
        if let Some(whole) = whole {
            self.add_whole(&whole);
        }
        match self.open.get_mut(&part.second) {
            Some(second) => second.add(&part),
            None => drop(self.open.insert(part.second, part)),
        }
        let below = self.reached.iter().copied().min().unwrap_or(0);
        let open = self.open.split_off(&below);
        let closed = std::mem::replace(&mut self.open, open);
        closed.into_values().map(|second| self.close(second)).collect()
    }

    fn add_whole(&mut self, whole: &SenderWhole) {
        let flows = &mut self.report.sent_per_flow;
        flows.resize(flows.len().max(whole.sent_per_flow.len()), 0);
        for (sum, sent) in flows.iter_mut().zip(&whole.sent_per_flow) {
            *sum += sent;
        }
        self.report.wall_ns = self.report.wall_ns.max(whole.wall_ns);
        self.report.hit_byte_limit |= whole.hit_byte_limit;
    }

    fn close(&mut self, second: SenderPart) -> Record {
        self.report.counts.add(&second.counts);
        self.report.cpu_ns += second.cpu_ns;
        self.schedule_error.merge(&second.schedule_error);
        let row = SenderSecond {
            unix_ns: second.unix_ns,
            duration_ns: second.duration_ns,
            counts: second.counts,
            schedule_error: second.schedule_error.quantiles(),
            cpu_ns: second.cpu_ns,
        };
        Record::SenderSecond(self.direction, row)
    }

    /// The report, after the last part of every thread. `segmented`: trains were cut by the kernel or the card until the
    /// end.
    pub fn report(&self, segmented: bool) -> SenderReport {
        SenderReport {
            segmented,
            schedule_error: self.schedule_error.quantiles(),
            ..self.report.clone()
        }
    }
}

impl SenderPart {
    /// Adds what another thread did in the same second.
    fn add(&mut self, other: &SenderPart) {
        self.unix_ns = self.unix_ns.max(other.unix_ns);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.counts.add(&other.counts);
        self.schedule_error.merge(&other.schedule_error);
        self.cpu_ns += other.cpu_ns;
    }
}
