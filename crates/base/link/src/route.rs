//! One route: dark spans, loss, a queue before a transmitter, then propagation with its faults. It must not know about
//! other routes, nor why a packet takes this one.

use crate::loss::LossProcess;
use crate::packet::{DropCause, Nanos, Packet};
use crate::propagation::{Propagation, Settled};
use crate::queue::Queue;
use crate::random::{Purpose, Stream};
use crate::rate::Transmitter;
use crate::spec::{DarkSpan, Jitter, RouteSpec};
use crate::waiting::QueueAccount;

/// State of the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Idle.
    Idle,
    /// Sends until then.
    Sending { until: Nanos },
    /// Packets wait; it cannot start before then.
    Standing { until: Nanos },
}

/// One route and its packets.
pub(crate) struct Route<P> {
    dark: DarkSpans,
    losses: Box<[LossProcess]>,
    offered: u64,
    queue: Queue<P>,
    transmitter: Transmitter,
    activity: Activity,
    overhead: u64,
    distance: Distance,
    /// In transmission or propagation: the arrival time is fixed at the start of the transmission.
    settled: Propagation<P>,
    most_queued_bytes: u64,
    queued_byte_ns: u128,
    queued_since: Nanos,
}

impl<P> Route<P> {
    /// The `index`-th route of a direction. With `by_host_pair`, it sees the hosts of a flow only.
    pub(crate) fn new(spec: &RouteSpec, seed: u64, index: u64, by_host_pair: bool) -> Self {
        // A route has at most 256 loss processes, see `spec::check`.
        let stream_of_loss = |n: u64| Stream::new(seed, Purpose::Loss, index << 8 | n);
        Self {
            dark: DarkSpans::new(&spec.dark),
            losses: (0..)
                .zip(&spec.loss)
                .map(|(n, loss)| LossProcess::new(loss, stream_of_loss(n)))
                .collect(),
            offered: 0,
            queue: Queue::new(&spec.queue, seed, index, by_host_pair),
            transmitter: Transmitter::new(&spec.rate),
            activity: Activity::Idle,
            overhead: u64::from(spec.overhead),
            distance: Distance::new(spec, seed, index),
            settled: Propagation::new(spec.jitter.is_some_and(|jitter| jitter.reorder)),
            most_queued_bytes: 0,
            queued_byte_ns: 0,
            queued_since: Nanos(0),
        }
    }

    /// Offers the `number`-th accepted packet of its direction.
    pub(crate) fn offer(&mut self, now: Nanos, number: u64, packet: Packet<P>) -> Result<(), (DropCause, P)> {
        self.advance(now);
        let place = self.offered;
        self.offered += 1;
        if self.dark.covers(now) {
            return Err((DropCause::Dark, packet.payload));
        }
        // Every process draws, so that none shifts another.
        let lost = self
            .losses
            .iter_mut()
            .fold(false, |lost, process| process.loses(place) | lost);
        if lost {
            return Err((DropCause::Loss, packet.payload));
        }
        if self.activity != Activity::Idle {
            return self.wait(now, number, packet);
        }
        let ready = Nanos(self.transmitter.ready_from_idle(now.0));
        if ready != now {
            self.wait(now, number, packet)?;
            self.activity = Activity::Standing { until: ready };
            return Ok(());
        }
        if self.queue.is_bypassed() {
            self.begin(number, packet);
            return Ok(());
        }
        self.queue.enqueue(now, number, packet).map_err(refused)?;
        if let Some((number, packet)) = self.queue.dequeue(now) {
            self.begin(number, packet);
        }
        Ok(())
    }

    fn wait(&mut self, now: Nanos, number: u64, packet: Packet<P>) -> Result<(), (DropCause, P)> {
        self.note_queue(now);
        self.queue.enqueue(now, number, packet).map_err(refused)?;
        self.most_queued_bytes = self.most_queued_bytes.max(self.queue.bytes());
        Ok(())
    }

    /// Integrates the queue since its last change; call before each change.
    fn note_queue(&mut self, now: Nanos) {
        let time = now.0.saturating_sub(self.queued_since.0);
        self.queued_byte_ns += u128::from(self.queue.bytes()) * u128::from(time);
        self.queued_since = now;
    }

    fn begin(&mut self, number: u64, packet: Packet<P>) {
        let sent = Nanos(self.transmitter.send(u64::from(packet.length) + self.overhead));
        self.activity = Activity::Sending { until: sent };
        self.settled.push(self.distance.settle(sent, number, packet));
    }

    /// Processes all events up to `now`.
    pub(crate) fn advance(&mut self, now: Nanos) {
        loop {
            let (at, finished) = match self.activity {
                Activity::Sending { until } if until <= now => (until, true),
                Activity::Standing { until } if until <= now => (until, false),
                _ => return,
            };
            self.go_on(at, finished);
        }
    }

    fn go_on(&mut self, at: Nanos, finished: bool) {
        if finished && self.queue.packets() > 0 {
            let ready = Nanos(self.transmitter.ready_after_packet());
            if ready > at {
                self.activity = Activity::Standing { until: ready };
                return;
            }
        }
        self.note_queue(at);
        match self.queue.dequeue(at) {
            Some((number, packet)) => self.begin(number, packet),
            None => self.activity = Activity::Idle,
        }
    }

    /// Time and number of the next arrival among the packets with a fixed arrival time.
    pub(crate) fn first(&self) -> Option<(Nanos, u64)> {
        self.settled.first().map(Settled::order)
    }

    /// The time before which no packet arrives; none if the route is empty.
    pub(crate) fn next_arrival(&self) -> Option<Nanos> {
        let settled = self.first().map(|(at, _)| at);
        if (settled.is_some() && !self.settled.may_overtake()) || self.queue.packets() == 0 {
            return settled;
        }
        let (Activity::Sending { until } | Activity::Standing { until }) = self.activity else {
            return settled;
        };
        let waiting = Nanos(until.0.saturating_add(self.distance.delay));
        Some(settled.map_or(waiting, |settled| settled.min(waiting)))
    }

    pub(crate) fn pop(&mut self) -> Option<Settled<P>> {
        self.settled.pop()
    }

    /// Packets that wait, or are in transmission or propagation.
    pub(crate) fn in_flight(&self) -> u64 {
        self.queue.packets() + self.settled.len() as u64
    }

    /// Keeps an account of each flow from now on, if its queue is a managed one.
    pub(crate) fn account_flows(&mut self) {
        self.queue.account_flows();
    }

    /// What its queue has done, if it is a managed one.
    pub(crate) fn queue_account(&self) -> Option<&QueueAccount> {
        self.queue.account()
    }

    /// Queued bytes integrated over time, up to the last change of the queue.
    pub(crate) fn queued_byte_ns(&self) -> u128 {
        self.queued_byte_ns
    }

    /// Maximum queued bytes.
    pub(crate) fn most_queued_bytes(&self) -> u64 {
        self.most_queued_bytes
    }
}

fn refused<P>(packet: Packet<P>) -> (DropCause, P) {
    (DropCause::Queue, packet.payload)
}

/// Effects on a packet between the transmitter and the far end.
struct Distance {
    delay: u64,
    jitter: Option<(Jitter, Stream)>,
    duplicate: (f64, Stream),
    corrupt: (f64, Stream),
}

impl Distance {
    fn new(spec: &RouteSpec, seed: u64, index: u64) -> Self {
        let stream = |purpose| Stream::new(seed, purpose, index);
        Self {
            delay: spec.delay_ns,
            jitter: spec.jitter.map(|jitter| (jitter, stream(Purpose::Jitter))),
            duplicate: (spec.duplicate, stream(Purpose::Duplicate)),
            corrupt: (spec.corrupt, stream(Purpose::Corrupt)),
        }
    }

    fn settle<P>(&mut self, sent: Nanos, number: u64, packet: Packet<P>) -> Settled<P> {
        let jitter = self
            .jitter
            .as_mut()
            .map_or(0, |(jitter, stream)| stream.up_to(jitter.most_ns));
        let at = Nanos(sent.0.saturating_add(self.delay).saturating_add(jitter));
        let (probability, stream) = &mut self.corrupt;
        let corrupted = stream.chance(*probability).then(|| stream.number());
        let (probability, stream) = &mut self.duplicate;
        let twice = stream.chance(*probability);
        Settled {
            at,
            number,
            packet,
            corrupted,
            twice,
        }
    }
}

/// Times in which the route is dark.
struct DarkSpans {
    /// By their beginnings.
    spans: Box<[DarkSpan]>,
    /// The spans before it are over.
    next: usize,
}

impl DarkSpans {
    fn new(spans: &[DarkSpan]) -> Self {
        let mut spans: Vec<DarkSpan> = spans.to_vec();
        spans.sort_by_key(|span| span.from_ns);
        spans.dedup_by(|later, earlier| {
            let touch = later.from_ns <= earlier.to_ns;
            if touch {
                earlier.to_ns = earlier.to_ns.max(later.to_ns);
            }
            touch
        });
        Self {
            spans: spans.into(),
            next: 0,
        }
    }

    /// Whether it is dark now. Times must not decrease from call to call.
    fn covers(&mut self, now: Nanos) -> bool {
        while self.spans.get(self.next).is_some_and(|span| span.to_ns <= now.0) {
            self.next += 1;
        }
        self.spans
            .get(self.next)
            .is_some_and(|span| span.from_ns <= now.0)
    }
}
