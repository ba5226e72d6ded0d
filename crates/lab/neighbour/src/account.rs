//! The account of evenly spaced datagrams: delay, jitter, loss, tenth of a second by tenth of a second. It takes
//! headers and the times at which they came; it must not know sockets.

use weir_stats::{InterarrivalJitter, LossRun, ReorderAccount, ReorderDepth, SequenceTotals};

use crate::distribution::Timing;
use crate::packet::Data;
use crate::report::{DelayFigures, DelaySample, Report, rate_of, sample_index, share};
use crate::traffic::{Asked, Ending, Traffic};
use crate::voice::rate_call;
use crate::{LONGEST_NS, SAMPLE_NS};

/// A packet that is missing is lost when a later one came so long ago.
const PATIENCE: ReorderDepth = ReorderDepth {
    packets: weir_stats::MAX_DEPTH_PACKETS,
    time_ns: 2_000_000_000,
};

/// Which datagrams came.
#[derive(Debug)]
pub(crate) struct Arrivals {
    order: ReorderAccount,
    runs: Vec<LossRun>,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Arrivals {
            order: ReorderAccount::new(0, PATIENCE),
            runs: Vec::new(),
        }
    }

    /// Takes one; true if it counts, false for a copy or one that had been given up.
    pub(crate) fn take(&mut self, sequence: u32, now_ns: u64) -> bool {
        let received = self.order.totals().received;
        let runs = &mut self.runs;
        self.order
            .on_packet(now_ns, u64::from(sequence), &mut |run| runs.push(run));
        self.order.totals().received > received
    }

    /// Ends the account; gives how many were sent, the counts, and the runs of lost ones.
    pub(crate) fn finish(mut self, sent: Option<u64>) -> (u64, SequenceTotals, Vec<LossRun>) {
        let runs = &mut self.runs;
        self.order.finish(sent, u64::MAX, &mut |run| runs.push(run));
        let totals = self.order.totals();
        (totals.received + totals.lost, totals, self.runs)
    }
}

/// Of the packets of one tenth of a second.
#[derive(Clone, Debug, Default)]
struct Bin {
    sample: DelaySample,
    owd_sum_ns: i128,
}

/// The account of a call, or of evenly spaced datagrams.
#[derive(Debug)]
pub struct DelayAccount {
    asked: Asked,
    arrivals: Arrivals,
    owd: Timing,
    jitter: InterarrivalJitter,
    jitter_max_ns: f64,
    jitter_sum_ns: f64,
    bytes: u64,
    bins: Vec<Bin>,
    /// Of a call, by sequence.
    call: Vec<Option<i64>>,
    started_unix_ns: Option<u64>,
}

impl DelayAccount {
    /// Of what was asked for.
    pub fn new(asked: Asked) -> Self {
        DelayAccount {
            asked,
            arrivals: Arrivals::new(),
            owd: Timing::new(),
            jitter: InterarrivalJitter::new(),
            jitter_max_ns: 0.0,
            jitter_sum_ns: 0.0,
            bytes: 0,
            bins: bins(asked.duration_ns, |at_ns| Bin {
                sample: DelaySample {
                    at_ns,
                    ..DelaySample::default()
                },
                owd_sum_ns: 0,
            }),
            call: Vec::new(),
            started_unix_ns: None,
        }
    }

    /// Takes a datagram of `length` bytes of UDP payload that came at `received_unix_ns`.
    pub fn take(&mut self, data: &Data, length: usize, received_unix_ns: u64) {
        // No sender that keeps to what was asked for gets that far.
        if u64::from(data.sequence) >= self.most_packets()
            || !self.arrivals.take(data.sequence, received_unix_ns)
        {
            return;
        }
        self.started_unix_ns = self.started_unix_ns.or(Some(data.started_unix_ns));
        let owd_ns = difference(received_unix_ns, data.sent_unix_ns);
        self.owd.record(owd_ns);
        let jitter_ns = self.jitter.update(owd_ns);
        self.jitter_max_ns = self.jitter_max_ns.max(jitter_ns);
        self.jitter_sum_ns += jitter_ns;
        self.bytes += length as u64;
        if self.asked.traffic == Traffic::Voice {
            let index = data.sequence as usize;
            if self.call.len() <= index {
                self.call.resize(index + 1, None);
            }
            self.call[index] = Some(owd_ns);
        }
        if let Some(bin) = self.bin(data.sequence.into()) {
            bin.sample.packets += 1;
            bin.sample.bytes += length as u64;
            bin.owd_sum_ns += i128::from(owd_ns);
            bin.sample.owd_min_ns = Some(bin.sample.owd_min_ns.map_or(owd_ns, |least| least.min(owd_ns)));
            bin.sample.owd_max_ns = Some(bin.sample.owd_max_ns.map_or(owd_ns, |most| most.max(owd_ns)));
        }
    }

    /// Packets that were due within the time.
    fn most_packets(&self) -> u64 {
        let duration_ns = u128::from(self.asked.duration_ns.min(LONGEST_NS));
        let each_ns = match self.asked.traffic {
            Traffic::Even { rate, length } => {
                return u64::try_from(
                    duration_ns * u128::from(rate.0) / (u128::from(length) * 8_000_000_000),
                )
                .map_or(u64::MAX, |count| count + 1);
            }
            Traffic::Voice | Traffic::Game { .. } => u128::from(self.asked.traffic.due_ns(1).max(1)),
        };
        u64::try_from(duration_ns / each_ns).map_or(u64::MAX, |count| count + 1)
    }

    /// The tenth of a second in which a packet was due.
    fn bin(&mut self, sequence: u64) -> Option<&mut Bin> {
        let due_ns = self.asked.traffic.due_ns(sequence);
        let index = sample_index(due_ns, self.asked.duration_ns)?;
        self.bins.get_mut(index)
    }

    /// The report.
    pub fn finish(mut self, kind: &'static str, ending: &Ending) -> Report<DelaySample, DelayFigures> {
        let arrivals = std::mem::replace(&mut self.arrivals, Arrivals::new());
        let most = self.most_packets();
        let (packets_sent, totals, runs) = arrivals.finish(ending.packets_sent.map(|sent| sent.min(most)));
        for run in &runs {
            for sequence in run.first..run.first + run.length {
                if let Some(bin) = self.bin(sequence) {
                    bin.sample.lost += 1;
                }
            }
        }
        if self.asked.traffic == Traffic::Voice {
            let sent = usize::try_from(packets_sent).unwrap_or(0);
            self.call.resize(sent.max(self.call.len()), None);
        }
        let owd = self.owd.times();
        let kept = ending.elapsed_ns.div_ceil(SAMPLE_NS);
        let figures = DelayFigures {
            packets_sent,
            sent_is_known: ending.packets_sent.is_some(),
            packets_received: totals.received,
            lost: totals.lost,
            loss: share(totals.lost, packets_sent),
            longest_loss: runs.iter().map(|run| run.length).max().unwrap_or(0),
            duplicates: totals.duplicates,
            reordered: totals.reordered,
            bytes: self.bytes,
            rate: rate_of(self.bytes, ending.elapsed_ns),
            owd,
            owd_above_min: owd.map(|owd| owd.above_min()),
            jitter_ns: self.jitter.jitter_ns(),
            jitter_mean_ns: self.jitter_sum_ns / totals.received.max(1) as f64,
            jitter_max_ns: self.jitter_max_ns,
            refused_by_sender: ending.refused_by_sender,
            dropped_here: ending.dropped_here,
            voice: rate_call(&self.call),
        };
        Report {
            kind,
            seconds: ending.elapsed_ns as f64 / 1e9,
            started_unix_ns: self.started_unix_ns.unwrap_or(ending.started_unix_ns),
            interrupted: ending.interrupted,
            samples: self
                .bins
                .into_iter()
                .take(kept as usize)
                .map(Bin::close)
                .collect(),
            figures,
            distribution: Some(self.owd.into_distribution("owd")),
        }
    }
}

impl Bin {
    fn close(mut self) -> DelaySample {
        let packets = self.sample.packets;
        self.sample.owd_mean_ns = (packets > 0).then(|| self.owd_sum_ns as f64 / packets as f64);
        self.sample
    }
}

/// One for each tenth of a second of `duration_ns`, made of its begin.
pub(crate) fn bins<T>(duration_ns: u64, make: impl Fn(u64) -> T) -> Vec<T> {
    let count = duration_ns.min(LONGEST_NS).div_ceil(SAMPLE_NS);
    (0..count).map(|index| make(index * SAMPLE_NS)).collect()
}

/// `later` minus `earlier`, which clocks that disagree make negative.
pub(crate) fn difference(later: u64, earlier: u64) -> i64 {
    let difference = i128::from(later) - i128::from(earlier);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_units::Rate;

    const MS: u64 = 1_000_000;
    const START: u64 = 1_000_000_000_000;

    fn asked(traffic: Traffic, ms: u64) -> Asked {
        Asked {
            traffic,
            duration_ns: ms * MS,
        }
    }

    /// The `sequence`-th packet of a call with this delay.
    fn take(account: &mut DelayAccount, sequence: u32, delay_ns: u64) {
        let sent_unix_ns = START + u64::from(sequence) * 20 * MS;
        let data = Data {
            nonce: 1,
            started_unix_ns: START,
            sent_unix_ns,
            sequence,
        };
        account.take(&data, 172, sent_unix_ns + delay_ns);
    }

    fn ended(packets_sent: Option<u64>, ms: u64) -> Ending {
        Ending {
            packets_sent,
            elapsed_ns: ms * MS,
            ..Ending::default()
        }
    }

    #[test]
    fn delays_losses_and_jitter_of_a_call_by_hand() {
        // Of ten packets, 4 and 5 are lost, 7 takes 26 ms, 8 comes twice, 9 is lost at the end.
        let mut account = DelayAccount::new(asked(Traffic::Voice, 200));
        for (sequence, delay_ms) in [
            (0, 10),
            (1, 10),
            (2, 10),
            (3, 10),
            (6, 10),
            (7, 26),
            (8, 10),
            (8, 11),
        ] {
            take(&mut account, sequence, delay_ms * MS);
        }
        let report = account.finish("voip", &ended(Some(10), 200));
        let figures = &report.figures;
        assert_eq!(
            (figures.packets_sent, figures.packets_received, figures.lost),
            (10, 7, 3)
        );
        assert_eq!(
            (figures.loss, figures.longest_loss, figures.duplicates),
            (0.3, 2, 1)
        );
        assert_eq!((figures.bytes, figures.rate), (7 * 172, 7 * 172 * 8 * 5));
        let owd = figures.owd.unwrap();
        assert_eq!((owd.count, owd.min, owd.max), (7, 10_000_000, 26_000_000));
        assert_eq!(figures.owd_above_min.unwrap().max, 16_000_000);
        // RFC 3550, A.8: J = 16 ms / 16 = 1 ms, then 1 + (16 - 1) / 16 ms.
        assert_eq!(figures.jitter_ns, 1_937_500.0);
        assert_eq!(figures.jitter_mean_ns, 2_937_500.0 / 7.0);
        // Packets 0 to 4 belong to the first tenth of a second, 5 to 9 to the second.
        let [first, second] = &report.samples[..] else {
            panic!("{report:?}")
        };
        assert_eq!((first.at_ns, first.packets, first.lost), (0, 4, 1));
        assert_eq!((second.at_ns, second.packets, second.lost), (SAMPLE_NS, 3, 2));
        assert_eq!(
            (second.owd_min_ns, second.owd_max_ns),
            (Some(10_000_000), Some(26_000_000))
        );
        assert_eq!(second.owd_mean_ns, Some(46e6 / 3.0));
        let voice = figures.voice.as_ref().unwrap();
        assert!(voice.loss >= 0.3 && voice.rating.mos < 3.0, "{voice:?}");
        let bins = &report.distribution.as_ref().unwrap().bins;
        assert_eq!(
            (bins.counts.iter().sum::<u64>(), bins.below, bins.above),
            (7, 0, 0)
        );
        assert_eq!(report.started_unix_ns, START);
    }

    #[test]
    fn without_the_sender_s_word_the_last_that_came_counts() {
        let mut account = DelayAccount::new(asked(Traffic::Voice, 10_000));
        take(&mut account, 0, 10 * MS);
        take(&mut account, 3, 10 * MS);
        let report = account.finish("voip", &ended(None, 80));
        assert_eq!((report.figures.packets_sent, report.figures.lost), (4, 2));
        assert!(!report.figures.sent_is_known);
        // As long as it lasted, and no longer.
        assert_eq!(report.samples.len(), 1);
    }

    #[test]
    fn nothing_that_comes_is_nothing_measured() {
        let traffic = Traffic::Even {
            rate: Rate(5_000_000),
            length: 1_200,
        };
        let report = DelayAccount::new(asked(traffic, 100)).finish("udp", &ended(Some(53), 100));
        assert_eq!((report.figures.lost, report.figures.loss), (53, 1.0));
        assert_eq!((report.figures.owd, report.figures.voice.clone()), (None, None));
        assert_eq!(report.samples[0].lost, 53);
        assert_eq!(report.samples[0].owd_mean_ns, None);
    }

    #[test]
    fn a_sender_that_counts_beyond_what_was_asked_for_is_not_believed() {
        let mut account = DelayAccount::new(asked(Traffic::Voice, 1_000));
        take(&mut account, 0, MS);
        take(&mut account, u32::MAX, MS);
        let report = account.finish("voip", &ended(Some(50), 1_000));
        assert_eq!((report.figures.packets_received, report.figures.lost), (1, 49));
    }
}
