//! Transmission times. Exact: fractions of a nanosecond carry over to the next packet, so that no
//! drift builds up. It must not know about queues; the caller reports when it becomes idle.

use crate::spec::{RateSpec, RateStep};

/// Work is counted in billionths of a bit: a transmitter does as many per nanosecond as its rate has
/// bits per second.
const WORK_PER_BYTE: u64 = 8_000_000_000;

/// A transmitter, after the last packet that it sent.
#[derive(Clone, Debug)]
pub(crate) enum Transmitter {
    Unlimited { at: u64 },
    Stepped(Stepped),
    Opportunities(Opportunities),
}

impl Transmitter {
    pub(crate) fn new(spec: &RateSpec) -> Self {
        match spec {
            RateSpec::Unlimited => Self::Unlimited { at: 0 },
            RateSpec::Fixed(rate) => Self::Stepped(Stepped::new(&[RateStep {
                duration_ns: u64::MAX,
                rate: *rate,
            }])),
            RateSpec::Steps(steps) => Self::Stepped(Stepped::new(steps)),
            RateSpec::Opportunities {
                at_ns,
                period_ns,
                bytes,
            } => Self::Opportunities(Opportunities::new(at_ns, *period_ns, *bytes)),
        }
    }

    /// Earliest start of a packet that arrives at an idle transmitter at `now`.
    pub(crate) fn ready_from_idle(&mut self, now: u64) -> u64 {
        match self {
            Self::Unlimited { at } => *at = now,
            Self::Stepped(stepped) => stepped.idle_until(now),
            Self::Opportunities(opportunities) => return opportunities.first_after(now),
        }
        now
    }

    /// Earliest start of a packet that waited during the last transmission.
    pub(crate) fn ready_after_packet(&mut self) -> u64 {
        match self {
            Self::Unlimited { at } => *at,
            Self::Stepped(stepped) => stepped.end(),
            Self::Opportunities(opportunities) => opportunities.go_on(),
        }
    }

    /// Sends `bytes` from the last ready time on; returns the end of the transmission,
    /// rounded up to a whole nanosecond.
    pub(crate) fn send(&mut self, bytes: u64) -> u64 {
        match self {
            Self::Unlimited { at } => *at,
            Self::Stepped(stepped) => stepped.send(bytes),
            Self::Opportunities(opportunities) => opportunities.send(bytes),
        }
    }
}

/// A sequence of rates, each for a whole number of nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Stepped {
    rates: Box<[u64]>,
    /// Ends of the steps from the start of the trace; the last is the period.
    ends: Box<[u64]>,
    /// Work done in a whole period.
    work_per_period: u128,
    /// The current nanosecond.
    at: u64,
    /// Work done in that nanosecond already, less than the rate.
    done: u64,
    /// The step that holds `at`, and its end.
    step: usize,
    step_end: u64,
}

impl Stepped {
    fn new(steps: &[RateStep]) -> Self {
        let ends: Box<[u64]> = steps
            .iter()
            .scan(0_u64, |end, step| {
                *end = end.saturating_add(step.duration_ns);
                Some(*end)
            })
            .collect();
        let work = |step: &RateStep| u128::from(step.duration_ns) * u128::from(step.rate);
        Self {
            rates: steps.iter().map(|step| step.rate).collect(),
            work_per_period: steps.iter().map(work).sum(),
            at: 0,
            done: 0,
            step: 0,
            step_end: ends.first().copied().unwrap_or(0),
            ends,
        }
    }

    fn idle_until(&mut self, now: u64) {
        self.at = now;
        self.done = 0;
        if now >= self.step_end {
            self.find_step();
        }
    }

    fn end(&self) -> u64 {
        self.at.saturating_add(u64::from(self.done > 0))
    }

    fn period(&self) -> u64 {
        self.ends.last().copied().unwrap_or(u64::MAX)
    }

    fn find_step(&mut self) {
        let phase = self.at % self.period();
        self.step = self.ends.partition_point(|&end| end <= phase);
        self.step_end = (self.at - phase).saturating_add(self.ends[self.step]);
    }

    fn next_step(&mut self) {
        self.at = self.step_end;
        self.step += 1;
        if self.step == self.ends.len() {
            self.step = 0;
        }
        let begin = if self.step == 0 {
            0
        } else {
            self.ends[self.step - 1]
        };
        self.step_end = self.step_end.saturating_add(self.ends[self.step] - begin);
    }

    fn send(&mut self, bytes: u64) -> u64 {
        let mut work = bytes.saturating_mul(WORK_PER_BYTE);
        if u128::from(work) > self.work_per_period {
            work = self.skip_periods(work);
        }
        while self.at < u64::MAX {
            let rate = self.rates[self.step];
            let goal = work + self.done;
            if let Some(whole) = goal.checked_div(rate) {
                let left = self.step_end - self.at;
                if whole < left {
                    (self.at, self.done) = (self.at + whole, goal - whole * rate);
                    break;
                }
                // Cannot wrap: `whole` is at least `left`, so the product is at most `goal`.
                work = goal - left * rate;
                self.done = 0;
            }
            self.next_step();
            if work == 0 {
                break;
            }
        }
        self.end()
    }

    /// Skips whole periods at once; returns the remaining work.
    fn skip_periods(&mut self, work: u64) -> u64 {
        let periods = u128::from(work) / self.work_per_period;
        let time = periods.saturating_mul(u128::from(self.period()));
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        self.at = self.at.saturating_add(time);
        self.step_end = self.step_end.saturating_add(time);
        (u128::from(work) % self.work_per_period) as u64
    }
}

/// Delivery opportunities, each for up to a number of bytes (Netravali et al., "Mahimahi: Accurate Record-and-Replay for
/// HTTP", USENIX ATC 2015): several packets may share one, and a packet may need several; the rest of one is lost if
/// no packet waits. As in mahimahi's own link shell, a packet that arrives exactly at an opportunity
/// misses it.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    at_ns: Box<[u64]>,
    period: u64,
    bytes: u64,
    /// The current opportunity, counted over all periods.
    index: u64,
    /// Bytes left in it.
    left: u64,
}

impl Opportunities {
    fn new(at_ns: &[u64], period: u64, bytes: u32) -> Self {
        Self {
            at_ns: at_ns.into(),
            period,
            bytes: u64::from(bytes),
            index: 0,
            left: 0,
        }
    }

    fn time(&self) -> u64 {
        let count = self.at_ns.len() as u64;
        (self.index / count)
            .saturating_mul(self.period)
            .saturating_add(self.at_ns[(self.index % count) as usize])
    }

    fn first_after(&mut self, now: u64) -> u64 {
        let phase = now % self.period;
        let passed = self.at_ns.partition_point(|&at| at <= phase) as u64;
        self.index = (now / self.period)
            .saturating_mul(self.at_ns.len() as u64)
            .saturating_add(passed);
        self.left = self.bytes;
        self.time()
    }

    fn go_on(&mut self) -> u64 {
        if self.left == 0 {
            self.index = self.index.saturating_add(1);
            self.left = self.bytes;
        }
        self.time()
    }

    fn send(&mut self, bytes: u64) -> u64 {
        if bytes > self.left {
            let more = (bytes - self.left).div_ceil(self.bytes);
            self.index = self.index.saturating_add(more);
            self.left += more * self.bytes;
        }
        self.left -= bytes;
        self.time()
    }
}
