//! The host's own counters of dropped packets and used CPU, read from `/proc`, the interface's driver and its queueing
//! discipline. All values are absolute; [`HostCounters::since`] returns the difference between two.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use weir_stats::{Counters, HostCounts};

use crate::ethtool::Driver;
use crate::interface::Interface;
use crate::{clock, driver_counts, qdisc};

/// Counters of a host since boot, at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostCounters {
    /// Time of reading, Unix nanoseconds.
    pub unix_ns: u64,
    /// Monotonic time of the reading.
    pub monotonic_ns: u64,
    /// What the host dropped.
    pub counts: HostCounts,
    /// CPU time in use, clock ticks over all cores.
    pub cpu_busy_ticks: u64,
    /// CPU time stolen by the hypervisor, clock ticks.
    pub cpu_steal_ticks: u64,
    /// CPU time in software interrupts, where the kernel receives packets, clock ticks by core.
    pub cpu_softirq_ticks: Vec<u64>,
    /// CPU time of this process, clock ticks.
    pub process_ticks: u64,
    /// Resident memory of this process, bytes.
    pub memory_bytes: u64,
    /// Statistics that drivers gave; another number at another time counts other queues or cards.
    statistics: usize,
    /// Drops of queueing disciplines could be read.
    has_queues: bool,
}

impl HostCounters {
    /// Reads all counters now. A file that this kernel lacks counts as zero: the caller compares values, and
    /// a counter that never changes has no effect.
    pub fn read(interface: Option<&str>) -> Self {
        let mut now = HostCounters {
            unix_ns: clock::unix_ns(),
            monotonic_ns: clock::monotonic_ns(),
            ..HostCounters::default()
        };
        let file = |path| fs::read_to_string(path).unwrap_or_default();
        now.read_snmp(&file("/proc/net/snmp"));
        now.read_snmp6(&file("/proc/net/snmp6"));
        now.read_softnet(&file("/proc/net/softnet_stat"));
        let queues = qdisc::dropped();
        now.has_queues = queues.is_ok();
        let queues = queues.unwrap_or_default();
        for name in now.read_interfaces(&file("/proc/net/dev"), interface) {
            now.read_driver(&name, &queues);
            // Without a name all interfaces are counted, those below others among them.
            if interface.is_some() {
                let folder = format!("/sys/class/net/{name}");
                let cards = lower_interfaces(Path::new(&folder)).into_iter();
                cards.for_each(|card| now.read_statistics(&card));
            }
        }
        now.read_cpu(&file("/proc/stat"));
        now.read_process(&file("/proc/self/stat"), &file("/proc/self/statm"));
        now
    }

    fn read_snmp(&mut self, text: &str) {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
            return;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            self.add_udp(name, value.parse().unwrap_or(0));
        }
        self.settle_in_errors();
    }

    fn read_snmp6(&mut self, text: &str) {
        let mut v6 = HostCounters::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if let (Some(name), Some(value)) = (words.next(), words.next())
                && let Some(name) = name.strip_prefix("Udp6")
            {
                v6.add_udp(name, value.parse().unwrap_or(0));
            }
        }
        v6.settle_in_errors();
        self.counts.add(&v6.counts);
    }

    fn add_udp(&mut self, name: &str, value: u64) {
        match name {
            "RcvbufErrors" => self.counts.udp_rcvbuf_errors += value,
            "InErrors" => self.counts.udp_in_errors += value,
            "SndbufErrors" => self.counts.udp_sndbuf_errors += value,
            _ => {}
        }
    }

    /// The kernel counts a full buffer in `InErrors`, too; here each drop is counted once.
    fn settle_in_errors(&mut self) {
        self.counts.udp_in_errors = self
            .counts
            .udp_in_errors
            .saturating_sub(self.counts.udp_rcvbuf_errors);
    }

    fn read_softnet(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line
                .split_whitespace()
                .map(|word| u64::from_str_radix(word, 16).unwrap_or(0));
            self.counts.softnet_dropped += words.nth(1).unwrap_or(0);
            self.counts.softnet_squeezed += words.next().unwrap_or(0);
        }
    }

    /// Adds the counters of the interfaces that count; their names.
    fn read_interfaces(&mut self, text: &str, wanted: Option<&str>) -> Vec<String> {
        let mut names = Vec::new();
        for line in text.lines() {
            let Some((name, values)) = line.split_once(':') else {
                continue;
            };
            let name = name.trim();
            if wanted.is_none_or(|wanted| wanted == name) && (name != "lo" || wanted == Some("lo")) {
                let values: Vec<u64> = values
                    .split_whitespace()
                    .map(|v| v.parse().unwrap_or(0))
                    .collect();
                let at = |index: usize| values.get(index).copied().unwrap_or(0);
                // The FIFO columns are in the errors already (if_link.h, struct rtnl_link_stats64).
                self.counts.interface_rx_dropped += at(2) + at(3);
                self.counts.interface_tx_dropped += at(10) + at(11);
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Adds the counters of an interface's driver and queueing discipline. One that has none counts as zero.
    fn read_driver(&mut self, name: &str, queues: &BTreeMap<i32, u64>) {
        self.read_statistics(name);
        let index = Interface::named(name).and_then(|mut interface| interface.index());
        let dropped = index.ok().and_then(|index| queues.get(&index).copied());
        self.counts.qdisc_dropped += dropped.unwrap_or(0);
    }

    fn read_statistics(&mut self, name: &str) {
        let statistics = Driver::of(name).and_then(|driver| driver.statistics());
        self.add_statistics(&statistics.unwrap_or_default());
    }

    /// Adds statistics of a driver, as [`Driver::statistics`] gives them.
    pub fn add_statistics(&mut self, statistics: &[(String, u64)]) {
        self.statistics += statistics.len();
        for (name, value) in statistics {
            driver_counts::add(&mut self.counts, name, *value);
        }
    }

    fn read_cpu(&mut self, text: &str) {
        let Some(line) = text.lines().find_map(|line| line.strip_prefix("cpu ")) else {
            return;
        };
        let ticks: Vec<u64> = line.split_whitespace().map(|v| v.parse().unwrap_or(0)).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        self.cpu_busy_ticks = at(0) + at(1) + at(2) + at(5) + at(6);
        self.cpu_steal_ticks = at(7);
        let of_core = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split(' ');
            words.next()?.parse::<u16>().ok()?;
            words.nth(6)?.parse().ok()
        };
        self.cpu_softirq_ticks = text.lines().filter_map(of_core).collect();
    }

    fn read_process(&mut self, stat: &str, statm: &str) {
        // The program's name may hold spaces and brackets; fields are counted from the last bracket.
        if let Some((_, rest)) = stat.rsplit_once(')') {
            let mut words = rest
                .split_whitespace()
                .skip(11)
                .map(|word| word.parse().unwrap_or(0));
            self.process_ticks = words.next().unwrap_or(0) + words.next().unwrap_or(0);
        }
        let pages: u64 = statm
            .split_whitespace()
            .nth(1)
            .and_then(|v| v.parse().ok())
            .unwrap_or(0);
        self.memory_bytes = pages * page_size();
    }

    /// The difference between `earlier` and these counters. Memory and times are the current ones. Counters of drivers and
    /// queueing disciplines that only one of both has are left out: they would show all drops since boot.
    pub fn since(&self, earlier: &HostCounters) -> HostCounters {
        let mut counts = self.counts.since(&earlier.counts);
        if self.statistics != earlier.statistics {
            driver_counts::clear(&mut counts);
        }
        if self.has_queues != earlier.has_queues {
            counts.qdisc_dropped = 0;
        }
        HostCounters {
            unix_ns: self.unix_ns,
            monotonic_ns: self.monotonic_ns.saturating_sub(earlier.monotonic_ns),
            counts,
            cpu_busy_ticks: self.cpu_busy_ticks.saturating_sub(earlier.cpu_busy_ticks),
            cpu_steal_ticks: self.cpu_steal_ticks.saturating_sub(earlier.cpu_steal_ticks),
            cpu_softirq_ticks: (self.cpu_softirq_ticks.iter().enumerate())
                .map(|(core, now)| {
                    now.saturating_sub(earlier.cpu_softirq_ticks.get(core).copied().unwrap_or(*now))
                })
                .collect(),
            process_ticks: self.process_ticks.saturating_sub(earlier.process_ticks),
            memory_bytes: self.memory_bytes,
            statistics: self.statistics,
            has_queues: self.has_queues,
        }
    }

    /// Clock ticks as a share of one core over the time of a difference made by [`HostCounters::since`].
    pub fn cores(&self, ticks: u64) -> f64 {
        if self.monotonic_ns == 0 {
            return 0.0;
        }
        (ticks as f64 / ticks_per_second() as f64) / (self.monotonic_ns as f64 / 1e9)
    }
}

/// Interfaces below one, in its folder of `/sys/class/net`: the card of Azure's accelerated networking below `hv_netvsc`, those of
/// a bond.
fn lower_interfaces(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| Some(name.strip_prefix("lower_")?.to_owned()))
        .collect()
}

fn ticks_per_second() -> u64 {
    // SAFETY: sysconf takes and returns plain integers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) })
        .unwrap_or(100)
        .max(1)
}

fn page_size() -> u64 {
    // SAFETY: sysconf takes and returns plain integers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_full_buffer_is_counted_once() {
        let mut read = HostCounters::default();
        read.read_snmp(
            "Ip: Forwarding\nIp: 1\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
             Udp: 100 2 9 80 7 3\nUdpLite: InDatagrams\nUdpLite: 0\n",
        );
        read.read_snmp6("Udp6InErrors \t5\nUdp6RcvbufErrors \t4\nUdpLite6InErrors 50\n");
        assert_eq!(
            (
                read.counts.udp_rcvbuf_errors,
                read.counts.udp_in_errors,
                read.counts.udp_sndbuf_errors
            ),
            (11, 3, 3)
        );
    }

    #[test]
    fn softnet_is_hexadecimal_and_per_core() {
        let mut read = HostCounters::default();
        read.read_softnet("0000a1b2 0000000a 00000003 0\n00000001 00000001 00000010 0\n");
        assert_eq!(
            (read.counts.softnet_dropped, read.counts.softnet_squeezed),
            (11, 19)
        );
    }

    #[test]
    fn loopback_is_left_out_unless_named() {
        let text = "Inter-| Receive\n face |bytes\n    lo: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n  eth0: 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8\n";
        let mut all = HostCounters::default();
        all.read_interfaces(text, None);
        assert_eq!(
            (all.counts.interface_rx_dropped, all.counts.interface_tx_dropped),
            (7, 7)
        );
        let mut named = HostCounters::default();
        named.read_interfaces(text, Some("lo"));
        assert_eq!(named.counts.interface_rx_dropped, 18);
    }

    #[test]
    fn cpu_and_process_fields_are_found() {
        let mut read = HostCounters::default();
        read.read_cpu("cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 1 1\ncpu1 1 2 3 4 5 6 7 8 0 0\nintr 1 2 3 4 5 6 7 8 9\n");
        assert_eq!((read.cpu_busy_ticks, read.cpu_steal_ticks), (190, 80));
        assert_eq!(read.cpu_softirq_ticks, [7]);
        read.read_process("7 (we (ir) x) S 1 2 3 4 5 6 7 8 9 10 11 12 13", "100 25 3");
        assert_eq!(read.process_ticks, 11 + 12);
        assert_eq!(read.memory_bytes, 25 * page_size());
    }

    #[test]
    fn statistics_that_come_or_go_are_no_drops() {
        let drops = |count| vec![("rx_out_of_buffer".to_owned(), count)];
        let (mut before, mut after, none) = (
            HostCounters::default(),
            HostCounters::default(),
            HostCounters::default(),
        );
        before.add_statistics(&drops(1_000));
        after.add_statistics(&drops(1_007));
        assert_eq!(after.since(&before).counts.driver_rx_dropped, 7);
        assert_eq!(after.since(&none).counts, HostCounts::default());
        assert_eq!(none.since(&after).counts, HostCounts::default());
        // A driver that was reset begins at 0 again: nothing was dropped, and not nearly 2^64.
        assert_eq!(before.since(&after).counts, HostCounts::default());
        after.counts.qdisc_dropped = 500;
        assert_eq!(after.since(&before).counts.qdisc_dropped, 500);
        after.has_queues = true;
        assert_eq!(after.since(&before).counts.qdisc_dropped, 0);
    }

    #[test]
    fn cards_below_an_interface_are_in_its_folder() {
        weir_rig::isolated!();
        let script = "mkdir -p eth0/lower_enP1s1 eth0/queues eth0/upper_bond0";
        weir_rig::run("sh", &["-ec", script]);
        assert_eq!(lower_interfaces(Path::new("eth0")), ["enP1s1"]);
        assert!(lower_interfaces(Path::new("eth1")).is_empty());
    }
}
