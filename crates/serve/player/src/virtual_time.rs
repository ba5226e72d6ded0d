//! Sessions in virtual time over a link whose rate changes in steps. Requests that are under way together share it
//! evenly, none faster than its pace rate. There is no queue and no TCP: bodies flow at their share from the first byte
//! on. It must not know rules or policies.
//!
//! All is exact in nanoseconds: the same link and settings give the same session, byte by byte.

use std::time::Duration;

use thiserror::Error;
use weir_units::Rate;

use crate::lane::RequestId;
use crate::player::{Action, Event, Outcome, Player, Request};
use crate::quality::Figures;

/// Of this many units of work is a bit, so that a rate in bits each second does a whole number of units each
/// nanosecond.
const UNITS_A_BIT: u128 = 1_000_000_000;

/// The link for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// How long.
    pub duration: Duration,
    /// Bits each second, of payload; 0 for an outage.
    pub rate: u64,
    /// From a request to the first byte of its response.
    pub latency: Duration,
}

/// A link that carries nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the link carries no data: no step has both a duration and a rate")]
pub struct DeadLink;

/// Steps that follow each other and begin again after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteppedLink {
    steps: Vec<Step>,
}

impl SteppedLink {
    /// A link of these steps.
    ///
    /// # Errors
    ///
    /// Where nothing would ever arrive over it.
    pub fn new(steps: Vec<Step>) -> Result<SteppedLink, DeadLink> {
        let steps: Vec<Step> = steps
            .into_iter()
            .filter(|step| !step.duration.is_zero())
            .collect();
        if steps.iter().all(|step| step.rate == 0) {
            Err(DeadLink)
        } else {
            Ok(SteppedLink { steps })
        }
    }
}

/// One request of a session, as it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// The track, by its place in the manifest.
    pub track: usize,
    /// The segment, counted from 0.
    pub segment: usize,
    /// The rung, counted from 0.
    pub rung: usize,
    /// What pace was asked for.
    pub pace: Option<Rate>,
    /// Media of the track in the buffer at the request.
    pub buffer: Duration,
    /// When it was asked for.
    pub asked: Duration,
    /// When its last byte arrived.
    pub done: Duration,
    /// Bytes of its body.
    pub bytes: u64,
}

/// A session that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// How it ended; nothing where it ran out of time.
    pub outcome: Option<Outcome>,
    /// When it ended.
    pub end: Duration,
    /// What the viewer got.
    pub figures: Figures,
    /// All fetches that were done, in the order in which they were done.
    pub fetches: Vec<Fetch>,
}

/// A request under way.
struct Flow {
    request: Request,
    /// Most that the server sends, bits each second.
    cap: u64,

    buffer: Duration,
    asked: Duration,
    first_byte: Duration,
    has_begun: bool,
    /// Work left, in [`UNITS_A_BIT`].
    left: u128,
}

/// Where a link stands.
struct Position<'a> {
    link: &'a SteppedLink,
    step: usize,
    /// When the step ends.
    until: Duration,
}

impl Position<'_> {
    fn step(&self) -> Step {
        self.link.steps[self.step]
    }

    fn advance(&mut self, now: Duration) {
        while self.until <= now {
            self.step = (self.step + 1) % self.link.steps.len();
            self.until += self.step().duration;
        }
    }
}

/// Plays a session from time 0 over a link: `player` gets the events of `script` at their times (its manifest among
/// them), and what comes of its requests. It ends when the player has finished, or at `latest`.
pub fn play(player: Player, link: &SteppedLink, script: &[(Duration, Event)], latest: Duration) -> Session {
    play_from(&|request| request.pace, player, link, script, latest)
}

/// As [`play`], from a server that does not send as fast as it is asked to, but as `server` says; as fast as it can
/// where that says nothing.
pub fn play_from(
    server: &dyn Fn(&Request) -> Option<Rate>,
    player: Player,
    link: &SteppedLink,
    script: &[(Duration, Event)],
    latest: Duration,
) -> Session {
    let link = Position {
        link,
        step: 0,
        until: link.steps[0].duration,
    };
    Run {
        server,
        player,
        link,
        now: Duration::ZERO,
        flows: Vec::new(),
        fetches: Vec::new(),
    }
    .play(script, latest)
}

struct Run<'a> {
    server: &'a dyn Fn(&Request) -> Option<Rate>,
    player: Player,
    link: Position<'a>,
    now: Duration,
    flows: Vec<Flow>,
    fetches: Vec<Fetch>,
}

impl Run<'_> {
    fn play(mut self, script: &[(Duration, Event)], latest: Duration) -> Session {
        let mut script = script.iter().peekable();
        loop {
            while let Some((_, event)) = script.next_if(|(at, _)| *at <= self.now) {
                self.player.handle(self.now, event.clone());
            }
            let (outcome, wake) = self.act();
            if outcome.is_some() || self.now >= latest {
                return self.over(outcome);
            }
            let rates = self.rates();
            let next_event = script.peek().map(|(at, _)| *at);
            let next = self
                .next_moment(&rates)
                .into_iter()
                .chain(wake)
                .chain(next_event)
                .min();
            self.advance(next.unwrap_or(latest).clamp(self.now, latest), &rates);
        }
    }

    fn over(self, outcome: Option<Outcome>) -> Session {
        let figures = self.player.figures(self.now);
        Session {
            outcome,
            end: self.now,
            figures,
            fetches: self.fetches,
        }
    }

    /// Does what the player wants now; how it finished, or when it wants to be asked again.
    fn act(&mut self) -> (Option<Outcome>, Option<Duration>) {
        loop {
            match self.player.poll(self.now) {
                Action::Fetch(request) => self.start(request),
                Action::Cancel(id) => self.flows.retain(|flow| flow.request.id != id),
                Action::Wait { until } => return (None, until),
                Action::Finished(outcome) => return (Some(outcome), None),
            }
        }
    }

    fn start(&mut self, request: Request) {
        self.flows.push(Flow {
            cap: (self.server)(&request).map_or(u64::MAX, |pace| pace.0),

            buffer: self.player.buffer(request.track),
            asked: self.now,
            first_byte: self.now + self.link.step().latency,
            has_begun: false,
            left: u128::from(request.expected_bytes) * 8 * UNITS_A_BIT,
            request,
        });
    }

    /// What each flow gets, bits each second: even shares, none above its pace; what one leaves goes to the others.
    fn rates(&self) -> Vec<u64> {
        let mut rates = vec![0; self.flows.len()];
        let mut open: Vec<usize> = (0..self.flows.len())
            .filter(|flow| self.flows[*flow].has_begun)
            .collect();
        open.sort_by_key(|flow| self.flows[*flow].cap);
        let mut left = self.link.step().rate;
        for (done, flow) in open.iter().enumerate() {
            let share = left / (open.len() - done) as u64;
            rates[*flow] = share.min(self.flows[*flow].cap);
            left -= rates[*flow];
        }
        rates
    }

    /// When a body begins or ends, or the link changes.
    fn next_moment(&self, rates: &[u64]) -> Option<Duration> {
        let moments = self.flows.iter().zip(rates).filter_map(|(flow, rate)| {
            if !flow.has_begun {
                return Some(flow.first_byte);
            }
            let nanoseconds = flow.left.checked_add(u128::from(*rate).checked_sub(1)?)? / u128::from(*rate);
            Some(self.now + Duration::from_nanos(u64::try_from(nanoseconds).ok()?))
        });
        let change = (!self.flows.is_empty()).then_some(self.link.until);
        moments.chain(change).min()
    }

    fn advance(&mut self, to: Duration, rates: &[u64]) {
        let nanoseconds = (to - self.now).as_nanos();
        self.now = to;
        for (flow, rate) in self.flows.iter_mut().zip(rates) {
            flow.left = flow.left.saturating_sub(u128::from(*rate) * nanoseconds);
        }
        self.link.advance(to);
        self.tell();
    }

    /// Tells the player which bodies have begun and which are complete.
    fn tell(&mut self) {
        let mut complete: Vec<RequestId> = Vec::new();
        for flow in &mut self.flows {
            let request = flow.request.id;
            if !flow.has_begun && flow.first_byte <= self.now {
                flow.has_begun = true;
                self.player.handle(self.now, Event::Bytes { request, bytes: 0 });
            }
            if flow.has_begun && flow.left == 0 {
                complete.push(request);
            }
        }
        for request in complete {
            let Some(place) = self.flows.iter().position(|flow| flow.request.id == request) else {
                continue;
            };
            let flow = self.flows.remove(place);
            let bytes = flow.request.expected_bytes;
            self.player.handle(self.now, Event::Bytes { request, bytes });
            self.player.handle(self.now, Event::Complete { request });
            self.fetches.push(Fetch {
                track: flow.request.track,
                segment: flow.request.segment,
                rung: flow.request.rung,
                pace: flow.request.pace,
                buffer: flow.buffer,
                asked: flow.asked,
                done: self.now,
                bytes,
            });
        }
    }
}
