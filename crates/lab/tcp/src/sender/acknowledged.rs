//! What a sender learns from an acknowledgement: packets that have arrived, lost packets (RFC 8985), and how to react.

use super::{EcnUse, Newest, Probe, Sender};
use crate::control::{Acked, RateSample};
use crate::recovery::{Phase, Reduction};
use crate::scoreboard::{Judgement, Sent};
use crate::segment::Ack;

/// Longest delay of an acknowledgement by the other end, nanoseconds.
const ACK_DELAY_NS: u64 = 200_000_000;
/// Beside two round trips before a probe, for the clock of the other end, nanoseconds.
const PROBE_MARGIN_NS: u64 = 2_000_000;
/// Packets beyond a gap that make it a loss at once, while packets keep their order (RFC 8985 section 6.2, step 4).
const REORDERED: u64 = 3;

/// What has arrived with one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    packets: u64,
    /// From the oldest and from the newest packet that was sent once, nanoseconds.
    oldest_rtt_ns: Option<u64>,
    newest_rtt_ns: Option<u64>,
    /// The packet that was sent last.
    last: Option<Sent>,
}

impl Sender {
    /// Takes an acknowledgement; then it may have packets to send.
    pub fn receive(&mut self, now_ns: u64, ack: &Ack) {
        if ack.until > self.sent_until || ack.until < self.acked_until {
            return;
        }
        self.room_until = self.room_until.max(ack.until + u64::from(ack.window));
        let advanced = ack.until > self.acked_until;
        self.acked_until = ack.until;
        let before = self.board.in_flight();
        let arrival = self.take_arrivals(now_ns, ack);
        let sample = self.rate_sample(now_ns, &arrival);
        if let Some(rtt_ns) = arrival.oldest_rtt_ns.or(arrival.newest_rtt_ns) {
            self.trips.sample(now_ns, rtt_ns);
        }
        let lost = self.find_lost(now_ns);
        self.end_probe(ack);
        let marked = ack.marked.saturating_sub(self.marked);
        self.marked = self.marked.max(ack.marked);
        self.end_phase();
        self.react(ack.echo_mark && self.config.ecn == EcnUse::Classic);
        let acked = Acked {
            now_ns,
            packets: arrival.packets,
            marked: if self.config.ecn == EcnUse::Accurate {
                u64::from(marked)
            } else {
                0
            },
            lost,
            rtt_ns: arrival.newest_rtt_ns,
            least_rtt_ns: self.trips.minimum_ns().unwrap_or(0),
            in_flight: (before, self.board.in_flight()),
            delivered: self.counters.delivered,
            lost_so_far: self.counters.lost,
            rate: sample,
            until: self.acked_until,
            sent_until: self.sent_until,
            repair: self.phase.repair(),
            is_limited: self.limits.limits(&self.window),
            is_paced: self.rate().is_some(),
        };
        self.counters.marks += acked.marked;
        self.set_window(&acked, advanced && lost == 0);
        if advanced || arrival.packets > 0 {
            self.expired = 0;
            self.arm(now_ns);
        }
    }

    fn take_arrivals(&mut self, now_ns: u64, ack: &Ack) -> Arrival {
        let (mut arrival, mut newest) = (Arrival::default(), self.newest);
        let (mut highest, before) = (self.highest_arrived, self.highest_arrived);
        let mut reordered = self.reordered;
        let least_ns = self.trips.minimum_ns();
        self.board
            .acknowledge(ack.until, ack.blocks.iter(ack.until), |sent| {
                let (rtt_ns, end) = (now_ns - sent.sent_ns, sent.start + u64::from(sent.length));
                arrival.packets += 1;
                highest = highest.max(end);
                if sent.times == 1 {
                    reordered |= end < before;
                    arrival.oldest_rtt_ns = arrival.oldest_rtt_ns.or(Some(rtt_ns));
                    arrival.newest_rtt_ns = Some(arrival.newest_rtt_ns.map_or(rtt_ns, |ns| ns.min(rtt_ns)));
                } else if least_ns.is_some_and(|least_ns| rtt_ns < least_ns) {
                    // It acknowledges an earlier transmission.
                    return;
                }
                if (sent.sent_ns, end) > (newest.sent_ns, newest.end) {
                    newest = Newest {
                        sent_ns: sent.sent_ns,
                        end,
                        rtt_ns,
                    };
                }
                let is_last = |last: &Sent| {
                    (sent.stamp.delivered, sent.sent_ns) >= (last.stamp.delivered, last.sent_ns)
                };
                if arrival.last.as_ref().is_none_or(is_last) {
                    arrival.last = Some(*sent);
                }
            });
        (self.newest, self.highest_arrived, self.reordered) = (newest, highest, reordered);
        self.counters.delivered += arrival.packets;
        arrival
    }

    /// How fast packets were delivered while the newest one was on its way: no faster than they were sent, and no faster
    /// than they were acknowledged.
    fn rate_sample(&mut self, now_ns: u64, arrival: &Arrival) -> Option<RateSample> {
        let last = arrival.last?;
        self.first_sent_ns = last.sent_ns;
        self.delivered_ns = now_ns;
        let sending_ns = last.sent_ns - last.stamp.first_sent_ns.min(last.sent_ns);
        let interval_ns = sending_ns.max(now_ns - last.stamp.delivered_ns);
        let is_possible = interval_ns > 0 && interval_ns >= self.trips.minimum_ns().unwrap_or(0);
        is_possible.then_some(RateSample {
            packets: self.counters.delivered - last.stamp.delivered,
            interval_ns,
            before: last.stamp.delivered,
            idle: last.stamp.idle,
        })
    }

    /// Packets that were sent before one that has arrived are lost, with some patience where packets change their order.
    pub(super) fn find_lost(&mut self, now_ns: u64) -> u64 {
        self.reorder_at = None;
        if self.newest.sent_ns == 0 && self.newest.end == 0 {
            return 0;
        }
        let in_order = !self.reordered
            && (matches!(self.phase, Phase::Reducing { .. }) || self.board.arrived() >= REORDERED);
        let patience_ns = match in_order {
            true => 0,
            false => self.trips.minimum_ns().unwrap_or(0) / 4,
        };
        let (newest, mut certain_at) = (self.newest, None);
        let lost = self.board.lose(|sent| {
            let end = sent.start + u64::from(sent.length);
            if (sent.sent_ns, end) >= (newest.sent_ns, newest.end) {
                return Judgement::Stop;
            }
            let lost_at = sent.sent_ns + newest.rtt_ns + patience_ns;
            if lost_at <= now_ns {
                return Judgement::Lost;
            }
            certain_at = Some(lost_at);
            Judgement::Stop
        });
        self.reorder_at = certain_at;
        self.counters.lost += lost;
        lost
    }

    /// The last packet was sent again, and arrived: had it only been late, it would have arrived twice (RFC 8985 section
    /// 7.4).
    fn end_probe(&mut self, ack: &Ack) {
        let Some(Probe::Again { until }) = self.probed else {
            return;
        };
        if ack.until < until {
            return;
        }
        self.probed = None;
        if !ack.duplicate && self.phase == Phase::Open && !self.control.goes_by_model() {
            self.window.threshold = self.control.threshold(&self.window, true);
            self.window.packets = self.window.threshold;
            self.counters.recoveries += 1;
        }
    }

    /// Begins to reduce the window, once for all losses and marks of a window. Packets that are still missing when the reduction ends
    /// begin another one.
    pub(super) fn react(&mut self, mark: bool) {
        let lost = self.board.unrepaired() > 0;
        match &mut self.phase {
            Phase::Open if lost || mark => {}
            Phase::Reducing { until, for_loss, .. } if lost && !*for_loss => {
                (*until, *for_loss) = (self.sent_until, true);
                return;
            }
            _ => return,
        }
        let before = self.window.packets;
        self.window.threshold = self.control.threshold(&self.window, lost);
        self.phase = Phase::Reducing {
            until: self.sent_until,
            reduction: Reduction::new(before, self.window.threshold),
            for_loss: lost,
        };
        self.counters.recoveries += u64::from(lost);
        self.counters.marks += u64::from(!lost);
        self.tell_reaction |= mark;
        if lost {
            self.probe_at = None;
        }
    }

    fn end_phase(&mut self) {
        let is_over = match self.phase {
            Phase::Open => false,
            // The first packet after the reduction tells the other end of it, which echoes the mark until then.
            Phase::Reducing { until, for_loss, .. } => self.acked_until >= until + u64::from(!for_loss),
            Phase::Restarting { until } => self.acked_until >= until,
        };
        if !is_over {
            return;
        }
        if matches!(self.phase, Phase::Reducing { .. }) && !self.control.goes_by_model() {
            self.window.packets = self.window.threshold;
        }
        self.phase = Phase::Open;
    }

    fn set_window(&mut self, acked: &Acked, advanced: bool) {
        self.control.acknowledged(&mut self.window, acked);
        let by_model = self.control.goes_by_model();
        if let Phase::Reducing { reduction, .. } = &mut self.phase
            && !by_model
        {
            self.window.packets = reduction.window(acked.packets, acked.in_flight.1, advanced);
        }
    }

    fn arm(&mut self, now_ns: u64) {
        self.timeout_at = (!self.board.is_empty()).then(|| now_ns + self.trips.timeout_ns(0));
        self.arm_probe(now_ns);
    }

    /// A probe goes out after two round trips without an acknowledgement, while no loss is known (RFC 8985 section 7.2).
    pub(super) fn arm_probe(&mut self, now_ns: u64) {
        let is_calm = self.phase == Phase::Open && !self.board.is_empty() && self.board.arrived() == 0;
        let (Some(rtt_ns), true, None) = (self.trips.smoothed_ns(), is_calm, self.probed) else {
            self.probe_at = None;
            return;
        };
        let delay_ns = match self.board.outstanding() {
            1 => ACK_DELAY_NS,
            _ => PROBE_MARGIN_NS,
        };
        self.probe_at = Some(now_ns + 2 * rtt_ns + delay_ns);
    }
}
