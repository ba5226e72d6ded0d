//! The link's account of itself: what it did to packets in each direction, how late it was, its own losses,
//! and whether the result of a run across it is valid.

use serde::{Deserialize, Serialize};
use weir_link::realtime::{DirectionSecond, OwnLoss, Way};
use weir_net::interface::InterfaceCounters;
use weir_results::{Direction, LinkSecond};
use weir_stats::{Counters as _, LinkDrops, Quantiles};

/// Packets that were lost by the fault of the lab itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLosses {
    /// Dropped by the queue of the sending host's interface, because Weir read too slowly.
    pub device_queue: u64,
    /// Refused by the receiving host's interface.
    pub not_written: u64,
    /// Dropped because packets on the link filled the memory that Weir may take.
    pub no_memory: u64,
    /// Read in a form that cannot be.
    pub unreadable: u64,
}

impl OwnLosses {
    /// All together.
    pub fn total(&self) -> u64 {
        self.device_queue + self.not_written + self.no_memory + self.unreadable
    }
}

/// One direction since the link began. Counts are packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionAccount {
    /// Offered by the sending host.
    pub offered: u64,
    /// Their bytes of IP packet.
    pub offered_bytes: u64,
    /// Delivered to the receiving host, copies included.
    pub delivered: u64,
    /// Their bytes of IP packet.
    pub delivered_bytes: u64,
    /// Dropped as configured.
    pub dropped: LinkDrops,
    /// Copies made.
    pub duplicated: u64,
    /// Corrupted.
    pub corrupted: u64,
    /// Most bytes that waited before one transmitter.
    pub most_queued_bytes: u64,
    /// Time of writing minus due time.
    pub lateness: Quantiles,
    /// Lost by the lab's own fault.
    pub own_losses: OwnLosses,
    /// CPU time of the thread that carried it.
    pub cpu_ns: u64,
    /// That thread runs before all ordinary processes.
    pub real_time_priority: bool,
}

/// Whether the result of a run across the link is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// It can.
    Fit,
    /// It cannot, for this reason.
    Unfit(String),
}

/// The whole account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// How long the link has been up.
    pub duration_ns: u64,
    /// From the near host to the far one.
    pub forward: DirectionAccount,
    /// Back.
    pub reverse: DirectionAccount,
}

impl DirectionAccount {
    fn of(second: &DirectionSecond, device_queue: u64) -> Self {
        let counters = &second.counters;
        let OwnLoss {
            not_written,
            no_memory,
            unreadable,
        } = second.own;
        DirectionAccount {
            offered: counters.offered,
            offered_bytes: counters.offered_bytes,
            delivered: counters.delivered,
            delivered_bytes: counters.delivered_bytes,
            dropped: counters.dropped,
            duplicated: counters.duplicated,
            corrupted: counters.corrupted,
            most_queued_bytes: counters.most_queued_bytes,
            lateness: second.total_lateness,
            own_losses: OwnLosses {
                device_queue,
                not_written,
                no_memory,
                unreadable,
            },
            cpu_ns: second.cpu_ns,
            real_time_priority: second.real_time_priority,
        }
    }

    /// What happened between `before` and now, as a row.
    fn row_since(&self, before: &DirectionAccount, second: &DirectionSecond) -> LinkSecond {
        let dropped = self.dropped.since(&before.dropped);
        LinkSecond {
            unix_ns: second.unix_ns,
            duration_ns: second.duration_ns,
            offered: self.offered - before.offered,
            offered_bytes: self.offered_bytes - before.offered_bytes,
            delivered: self.delivered - before.delivered,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
            dropped_too_big: dropped.too_big,
            dropped_long_packet: dropped.long_packet,
            dropped_flow_rate: dropped.flow_rate,
            dropped_packet_rate: dropped.packet_rate,
            dropped_extra_flow: dropped.extra_flow,
            dropped_dark: dropped.dark,
            dropped_loss: dropped.loss,
            dropped_queue: dropped.queue,
            duplicated: self.duplicated - before.duplicated,
            corrupted: self.corrupted - before.corrupted,
            own_losses: self.own_losses.total().saturating_sub(before.own_losses.total()),
            most_queued_bytes: self.most_queued_bytes,
            lateness: second.lateness,
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
        }
    }
}

impl Account {
    /// Both directions run before all ordinary processes.
    pub fn has_real_time_priority(&self) -> bool {
        self.forward.real_time_priority && self.reverse.real_time_priority
    }

    /// Takes a second of one direction in; `sender` are the counters of the interface that its packets come from.
    pub(crate) fn add(
        &mut self,
        second: &DirectionSecond,
        sender: InterfaceCounters,
    ) -> (Direction, LinkSecond) {
        let (direction, account) = match second.way {
            Way::Forward => (Direction::Forward, &mut self.forward),
            Way::Reverse => (Direction::Reverse, &mut self.reverse),
        };
        let before = std::mem::replace(account, DirectionAccount::of(second, sender.tx_dropped));
        if second.way == Way::Forward {
            self.duration_ns += second.duration_ns;
        }
        (direction, account.row_since(&before, second))
    }

    /// Judges the link: its 99th percentile of lateness may be at most `max_lateness_ns`, and it may have lost
    /// nothing by its own fault.
    pub fn fitness(&self, max_lateness_ns: u64) -> Fitness {
        let ways = [("forward", &self.forward), ("reverse", &self.reverse)];
        for (way, account) in ways {
            let lost = account.own_losses.total();
            if lost > 0 {
                return Fitness::Unfit(format!(
                    "the link itself lost {lost} packets {way} ({})",
                    what_lost(&account.own_losses)
                ));
            }
        }
        let late = |(_, account): &(&str, &DirectionAccount)| account.lateness.p99;
        let (way, worst) = if late(&ways[0]) >= late(&ways[1]) {
            ways[0]
        } else {
            ways[1]
        };
        let p99 = worst.lateness.p99;
        if u64::try_from(p99).is_ok_and(|p99| p99 > max_lateness_ns) {
            return Fitness::Unfit(format!(
                "its packets {way} were up to {:.3} ms late (99th percentile), more than the {:.3} ms of --max-lateness",
                p99 as f64 / 1e6,
                max_lateness_ns as f64 / 1e6,
            ));
        }
        Fitness::Fit
    }
}

fn what_lost(own: &OwnLosses) -> String {
    [
        (own.device_queue, "faster than it could read"),
        (own.not_written, "refused by the receiving interface"),
        (own.no_memory, "more than fit in memory"),
        (own.unreadable, "unreadable"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect::<Vec<_>>()
    .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_link::Counters;

    fn second(way: Way, counters: Counters, p99: i64) -> DirectionSecond {
        let lateness = Quantiles {
            count: 1,
            p99,
            ..Quantiles::default()
        };
        DirectionSecond {
            way,
            unix_ns: 5,
            duration_ns: 1_000_000_000,
            lateness,
            total_lateness: lateness,
            sojourns: Quantiles::default(),
            counters,
            own: OwnLoss::default(),
            cpu_ns: 7,
            real_time_priority: true,
        }
    }

    #[test]
    fn rows_are_differences_and_the_account_is_the_sum() {
        let mut account = Account::default();
        let counters = |offered, queue| Counters {
            offered,
            dropped: LinkDrops {
                queue,
                ..LinkDrops::default()
            },
            ..Counters::default()
        };
        let none = InterfaceCounters::default();
        account.add(&second(Way::Forward, counters(10, 1), 0), none);
        let (direction, row) = account.add(&second(Way::Forward, counters(25, 4), 0), none);
        assert_eq!(
            (direction, row.offered, row.dropped_queue),
            (Direction::Forward, 15, 3)
        );
        assert_eq!((account.forward.offered, account.forward.dropped.queue), (25, 4));
        assert_eq!((account.duration_ns, account.reverse.offered), (2_000_000_000, 0));
    }

    #[test]
    fn late_or_lossy_links_are_unfit_and_say_which_way() {
        let mut account = Account::default();
        let none = InterfaceCounters::default();
        assert_eq!(account.fitness(0), Fitness::Fit);
        account.add(&second(Way::Reverse, Counters::default(), 1_000_000), none);
        assert_eq!(account.fitness(1_000_000), Fitness::Fit);
        let Fitness::Unfit(why) = account.fitness(999_999) else {
            panic!("late")
        };
        assert!(why.contains("reverse") && why.contains("1.000 ms late"), "{why}");
        let dropped = InterfaceCounters {
            tx_dropped: 3,
            ..none
        };
        account.add(&second(Way::Forward, Counters::default(), 0), dropped);
        let Fitness::Unfit(why) = account.fitness(1_000_000_000) else {
            panic!("lossy")
        };
        assert!(why.contains("3 packets forward"), "{why}");
    }
}
