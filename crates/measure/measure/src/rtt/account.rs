//! What became of each packet of an RTT test. Pure: sends, replies and times come in; records and a summary come
//! out.

use serde::{Deserialize, Serialize};
use weir_record::RttPacket;
use weir_stats::{
    DurationHistogram, Exchange, Finished, Group, GroupedQuantiles, InterarrivalJitter, Ipdv,
    OffsetEstimator, Quantiles, Reply, RttTracker,
};

use super::{Probe, ReflectorReport, RttPlan};
use crate::clock_prober::{ClockEstimate, estimator};

/// What is known of a reply; times are Unix nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplyTimes {
    /// From application to application by the monotonic clock, which no step of the time upsets.
    pub rtt_ns: u64,
    /// The application sent the request.
    pub sent: u64,
    /// The application received the reply.
    pub received: u64,
    /// This host's kernel or card sent the request, where known.
    pub kernel_sent: Option<u64>,
    /// This host's kernel or card received the reply, where known.
    pub kernel_received: Option<u64>,
    /// The reflector's kernel received the request, where known.
    pub reflector_kernel: Option<u64>,
    /// The reflector's application received the request.
    pub reflector_received: u64,
    /// The reflector sent the reply.
    pub reflector_sent: u64,
    /// TTL that the request arrived with.
    pub ttl: Option<u8>,
}

#[derive(Clone, Debug)]
struct Sent {
    window: u64,
    position: u32,
    window_size: u32,
    length: u32,
    sent_unix_ns: u64,
    reply: Option<ReplyTimes>,
}

/// P90 of one group of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRow {
    /// Lowest packet length or window position of the group.
    pub low: u32,
    /// Highest.
    pub high: u32,
    /// Packets.
    pub count: u64,
    /// 90th percentile of their RTT, nanoseconds.
    pub p90_ns: i64,
}

/// What an RTT test found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RttSummary {
    /// Packets sent.
    pub sent: u64,
    /// Packets answered in time.
    pub received: u64,
    /// Packets not answered in time.
    pub lost: u64,
    /// Lost share of the sent, 0 to 1.
    pub loss: f64,
    /// Bounds of the loss, 95 % (Clopper-Pearson).
    pub loss_interval: (f64, f64),
    /// Of the lost: those answered after all.
    pub late: u64,
    /// Replies beyond the first.
    pub duplicates: u64,
    /// Of the lost: never seen by the reflector; none when the reflector did not say.
    pub lost_forward: Option<u64>,
    /// Of the lost: answered, but the answer did not come.
    pub lost_reverse: Option<u64>,
    /// The reflector's own account; none for a STAMP reflector, which keeps none.
    pub reflector: Option<ReflectorReport>,
    /// RTT from application to application.
    pub rtt: Quantiles,
    /// RTT by kernel or card timestamps, without the time in both applications.
    pub network_rtt: Quantiles,
    /// Time spent in both hosts' applications and sockets: the difference of the two.
    pub application: Quantiles,
    /// One-way delay there, an estimate.
    pub owd_forward: Quantiles,
    /// One-way delay back, an estimate.
    pub owd_reverse: Quantiles,
    /// Offset of the clocks.
    pub clock: Option<ClockEstimate>,
    /// Interarrival jitter of the RTT (RFC 3550, 6.4.1), nanoseconds.
    pub jitter_ns: f64,
    /// Mean absolute difference of the RTTs of neighbours (IPDV, RFC 3393), nanoseconds.
    pub ipdv_mean_ns: f64,
    /// 99th percentile of the same.
    pub ipdv_p99_ns: i64,
    /// P90 by packet length.
    pub by_length: Vec<GroupRow>,
    /// P90 by position in the window.
    pub by_position: Vec<GroupRow>,
    /// Sent TTL minus TTL at the reflector, of the last packet that told.
    pub delta_ttl: Option<i32>,
    /// Where the network times come from: `hardware`, `kernel` or `none`.
    pub timestamps: String,
}

/// Accounts for one test.
pub struct RttAccount {
    plan: RttPlan,
    tracker: RttTracker<Sent>,
    estimator: OffsetEstimator,
    clock: Option<ClockEstimate>,
    next_clock_ns: u64,
    jitter: InterarrivalJitter,
    delta_ttl: Option<i32>,
    answered_bytes: u64,
    /// None where details are left out. They take a hundred kilobytes.
    distributions: Option<Box<Distributions>>,
    finished: Vec<RttPacket>,
}

/// Of the answered packets, for the summary.
#[derive(Default)]
struct Distributions {
    rtt: DurationHistogram,
    network: DurationHistogram,
    application: DurationHistogram,
    forward: DurationHistogram,
    reverse: DurationHistogram,
    by_length: GroupedQuantiles,
    by_position: GroupedQuantiles,
    ipdv: Ipdv,
}

impl Distributions {
    fn record(&mut self, packet: &RttPacket, rtt: u64) {
        self.rtt.record(rtt as i64);
        self.by_length.record(packet.length, rtt as i64);
        self.by_position.record(packet.position, rtt as i64);
        self.ipdv.record(packet.sequence, rtt as i64);
        if let Some(network) = packet.network_rtt_ns {
            self.network.record(network as i64);
            self.application.record(rtt as i64 - network as i64);
        }
        if let (Some(forward), Some(reverse)) = (packet.owd_forward_ns, packet.owd_reverse_ns) {
            self.forward.record(forward);
            self.reverse.record(reverse);
        }
    }
}

impl RttAccount {
    /// An account of a test that begins.
    pub fn new(plan: RttPlan) -> Self {
        // A packet lingers a little so that copies of its reply are counted with it, but not so long that a
        // kill would cost more than a second of records.
        let linger = plan.timeout_ns.min(300_000_000);
        RttAccount {
            tracker: RttTracker::new(plan.remembered(), linger),
            plan,
            estimator: estimator(),
            clock: None,
            next_clock_ns: 0,
            jitter: InterarrivalJitter::new(),
            delta_ttl: None,
            answered_bytes: 0,
            distributions: Some(Box::default()),
            finished: Vec::new(),
        }
    }

    /// Keeps no distributions: those of the summary will be empty. One-way delays will not be corrected for drift.
    pub fn leave_out_details(&mut self) {
        self.distributions = None;
    }

    /// A packet left at monotonic `now_ns`.
    pub fn sent(&mut self, now_ns: u64, probe: &Probe, unix_ns: u64) {
        let sent = Sent {
            window: probe.window.number,
            position: probe.position,
            window_size: probe.window.packets,
            length: probe.window.length,
            sent_unix_ns: unix_ns,
            reply: None,
        };
        if let Some(forced) = self.tracker.sent(probe.sequence, now_ns, sent) {
            self.settle(forced);
        }
    }

    /// A reply to packet `sequence` came at monotonic `now_ns`.
    pub fn reply(&mut self, now_ns: u64, sequence: u64, times: ReplyTimes) -> Reply {
        let first = self
            .tracker
            .reply_with(sequence, now_ns, |sent| sent.reply = Some(times));
        if first == Reply::First {
            self.jitter.update(times.rtt_ns as i64);
            let arrived = times.reflector_kernel.unwrap_or(times.reflector_received);
            self.estimator.add(Exchange {
                t1: times.kernel_sent.unwrap_or(times.sent),
                t2: arrived,
                t3: times.reflector_sent,
                t4: times.kernel_received.unwrap_or(times.received),
            });
        }
        first
    }

    /// Settles what has been answered or has waited too long.
    pub fn poll(&mut self, now_ns: u64, unix_ns: u64) {
        if now_ns >= self.next_clock_ns {
            self.estimate_clock(unix_ns);
            // Once there is a drift it takes a while to compute, with the receiving thread locked out.
            let has_drift = self.clock.is_some_and(|clock| clock.drift_ppm.is_some());
            self.next_clock_ns = now_ns + if has_drift { 1_000_000_000 } else { 100_000_000 };
        }
        let mut done = Vec::new();
        self.tracker
            .poll(now_ns, self.plan.timeout_ns, &mut |finished| done.push(finished));
        done.into_iter().for_each(|finished| self.settle(finished));
    }

    fn estimate_clock(&mut self, unix_ns: u64) {
        let offset = match self.distributions {
            Some(_) => self.estimator.estimate(unix_ns),
            None => self.estimator.offset(),
        };
        self.clock = offset.map(ClockEstimate::from);
    }

    /// The far host's clock, as of the last [`poll`](Self::poll).
    pub fn clock(&self) -> Option<ClockEstimate> {
        self.clock
    }

    /// Packets settled since the last call, in the order in which they were sent.
    pub fn take_packets(&mut self) -> Vec<RttPacket> {
        std::mem::take(&mut self.finished)
    }

    /// Packets not settled yet.
    pub fn pending(&self) -> usize {
        self.tracker.pending()
    }

    /// Packets sent, received and lost so far.
    pub fn counts(&self) -> (u64, u64, u64) {
        let totals = self.tracker.totals();
        (totals.sent, totals.received, totals.lost)
    }

    /// Payload bytes of the packets that were answered so far.
    pub fn answered_bytes(&self) -> u64 {
        self.answered_bytes
    }

    /// Ends the account: what still waits is lost.
    pub fn finish(&mut self, unix_ns: u64) {
        self.estimate_clock(unix_ns);
        let mut done = Vec::new();
        self.tracker.finish(&mut |finished| done.push(finished));
        done.into_iter().for_each(|finished| self.settle(finished));
    }

    fn settle(&mut self, finished: Finished<Sent>) {
        let sent = finished.payload;
        let mut packet = RttPacket {
            sequence: finished.sequence,
            window: sent.window,
            position: sent.position,
            window_size: sent.window_size,
            length: sent.length,
            sent_unix_ns: sent.sent_unix_ns,
            lost: finished.answered.is_none(),
            duplicates: finished.duplicates,
            ..RttPacket::default()
        };
        if let (Some(times), false) = (sent.reply, packet.lost) {
            self.measure(&mut packet, &times);
        }
        self.finished.push(packet);
    }

    fn measure(&mut self, packet: &mut RttPacket, times: &ReplyTimes) {
        let rtt = times.rtt_ns;
        packet.rtt_ns = Some(rtt);
        self.answered_bytes += u64::from(packet.length);
        packet.network_rtt_ns = network_rtt(times);
        if let Some(clock) = self.clock {
            let arrived = times.reflector_kernel.unwrap_or(times.reflector_received);
            let left = times.kernel_sent.unwrap_or(times.sent);
            let came = times.kernel_received.unwrap_or(times.received);
            let forward = arrived.wrapping_sub(left) as i64 - clock.offset_ns;
            let reverse = came.wrapping_sub(times.reflector_sent) as i64 + clock.offset_ns;
            (packet.owd_forward_ns, packet.owd_reverse_ns) = (Some(forward), Some(reverse));
        }
        if let Some(distributions) = &mut self.distributions {
            distributions.record(packet, rtt);
        }
        if let Some(ttl) = times.ttl {
            packet.delta_ttl = Some(i32::from(self.plan.ttl) - i32::from(ttl));
            self.delta_ttl = packet.delta_ttl;
        }
    }

    /// The summary; `reflector` tells loss there from loss back.
    pub fn summary(&self, reflector: Option<&ReflectorReport>, hardware: bool) -> RttSummary {
        let totals = self.tracker.totals();
        let kept = self.distributions.as_deref();
        let quantiles = |of: fn(&Distributions) -> &DurationHistogram| {
            kept.map_or(Quantiles::default(), |kept| of(kept).quantiles())
        };
        let groups = |of: fn(&Distributions) -> &GroupedQuantiles| {
            let row = |group: Group<'_>| GroupRow {
                low: group.low,
                high: group.high,
                count: group.durations.count(),
                p90_ns: group.durations.quantile(0.9).unwrap_or(0),
            };
            kept.map_or(Vec::new(), |kept| of(kept).groups().map(row).collect())
        };
        let ipdv = kept.and_then(|kept| kept.ipdv.summary()).unwrap_or_default();
        let network_rtt = quantiles(|kept| &kept.network);
        let timestamps = match (hardware, network_rtt.count) {
            (_, 0) => "none",
            (true, _) => "hardware",
            (false, _) => "kernel",
        };
        // A late reply was answered too, so what never came back is the rest.
        let answered = reflector.map(|report| report.answered.min(totals.sent));
        let lost_forward = answered.map(|answered| (totals.sent - answered).min(totals.lost));
        RttSummary {
            sent: totals.sent,
            received: totals.received,
            lost: totals.lost,
            loss: totals.lost as f64 / totals.sent.max(1) as f64,
            loss_interval: weir_stats::loss_interval(totals.lost, totals.sent),
            late: totals.late,
            duplicates: totals.duplicates,
            lost_forward,
            lost_reverse: lost_forward.map(|forward| totals.lost - forward),
            reflector: reflector.cloned(),
            rtt: quantiles(|kept| &kept.rtt),
            network_rtt,
            application: quantiles(|kept| &kept.application),
            owd_forward: quantiles(|kept| &kept.forward),
            owd_reverse: quantiles(|kept| &kept.reverse),
            clock: self.clock,
            jitter_ns: self.jitter.jitter_ns(),
            ipdv_mean_ns: ipdv.mean_abs_ns,
            ipdv_p99_ns: ipdv.p99_ns,
            by_length: groups(|kept| &kept.by_length),
            by_position: groups(|kept| &kept.by_position),
            delta_ttl: self.delta_ttl,
            timestamps: timestamps.to_owned(),
        }
    }
}

/// Time on the network alone: between this host's kernel timestamps, less what the reflector kept the packet.
fn network_rtt(times: &ReplyTimes) -> Option<u64> {
    let away = times.kernel_received?.checked_sub(times.kernel_sent?)?;
    let kept = times.reflector_sent.checked_sub(times.reflector_kernel?)?;
    away.checked_sub(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::Window;

    fn plan() -> RttPlan {
        RttPlan {
            timeout_ns: 1_000_000,
            ttl: 64,
            ..RttPlan::default()
        }
    }

    fn probe(sequence: u64) -> Probe {
        Probe {
            sequence,
            window: Window {
                number: 0,
                due_ns: 0,
                packets: 3,
                length: 100,
            },
            position: sequence as u32,
        }
    }

    /// Sent at 1000 by the application and 1100 by the kernel; at the reflector 500000 ns ahead; back at 3000.
    fn times() -> ReplyTimes {
        ReplyTimes {
            rtt_ns: 2_000,
            sent: 1_000,
            kernel_sent: Some(1_100),
            reflector_kernel: Some(501_600),
            reflector_received: 501_700,
            reflector_sent: 501_900,
            kernel_received: Some(2_400),
            received: 3_000,
            ttl: Some(61),
        }
    }

    #[test]
    fn application_and_network_time_are_told_apart() {
        let mut account = RttAccount::new(plan());
        account.sent(1_000, &probe(0), 1_000);
        assert_eq!(account.reply(3_000, 0, times()), Reply::First);
        account.poll(3_000, 3_000);
        account.finish(3_000);
        let packet = &account.take_packets()[0];
        assert_eq!(packet.rtt_ns, Some(2_000));
        // 1300 between the kernels, 300 of them inside the reflector.
        assert_eq!(packet.network_rtt_ns, Some(1_000));
        assert_eq!(packet.delta_ttl, Some(3));
        // Offset by NTP's formula: ((501600-1100)+(501900-2400))/2 = 500000; so 500 each way.
        assert_eq!(
            (packet.owd_forward_ns, packet.owd_reverse_ns),
            (Some(500), Some(500))
        );
    }

    #[test]
    fn packets_are_the_same_without_details() {
        let packets = |leave_out: bool| {
            let mut account = RttAccount::new(plan());
            if leave_out {
                account.leave_out_details();
            }
            account.sent(1_000, &probe(0), 1_000);
            account.reply(3_000, 0, times());
            account.poll(3_000, 3_000);
            account.finish(3_000);
            let summary = account.summary(None, false);
            (account.take_packets(), summary.received, summary.rtt.count)
        };
        let (with, without) = (packets(false), packets(true));
        assert_eq!((with.0, with.1), (without.0, without.1));
        assert_eq!((with.2, without.2), (1, 0));
    }

    #[test]
    fn each_packet_is_lost_or_answered_once_and_copies_are_counted() {
        let mut account = RttAccount::new(plan());
        for sequence in 0..3 {
            account.sent(1_000 + sequence, &probe(sequence), 1_000);
        }
        account.reply(2_000, 0, times());
        account.reply(2_001, 0, times());
        account.reply(2_002, 2, times());
        account.poll(2_000_000, 2_000_000);
        assert_eq!(account.reply(2_000_001, 1, times()), Reply::Late);
        account.finish(3_000_000);
        let report = ReflectorReport {
            answered: 3,
            ..ReflectorReport::default()
        };
        let summary = account.summary(Some(&report), false);
        assert_eq!((summary.sent, summary.received, summary.lost), (3, 2, 1));
        assert_eq!((summary.late, summary.duplicates), (1, 1));
        assert_eq!((summary.lost_forward, summary.lost_reverse), (Some(0), Some(1)));
        let lost: Vec<bool> = account.take_packets().iter().map(|packet| packet.lost).collect();
        assert_eq!(lost, [false, true, false]);
    }
}
