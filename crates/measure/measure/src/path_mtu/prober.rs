//! The probing end of a path MTU search as a core that owns its timers: when which probe leaves, and a record of each once
//! its fate is known. It knows no socket and no clock.

use std::collections::BTreeMap;

use weir_record::{Direction, MtuProbe, Record};

use super::search::{MtuSearch, Step};
use super::{MtuReport, Outcome};

/// A probe without an answer for so long is recorded as such.
const UNANSWERED_NS: u64 = 2_000_000_000;

/// Searches the path MTU of one direction. Times are monotonic nanoseconds, but for those named `unix`.
pub struct MtuProber {
    direction: Direction,
    interface_mtu: u32,
    search: MtuSearch,
    wake_ns: Option<u64>,
    /// Probes whose fate is unknown, by number, with their send times.
    open: BTreeMap<u32, (u64, MtuProbe)>,
    records: Vec<Record>,
}

impl MtuProber {
    /// A search that begins at `now_ns`, up to `interface_mtu` bytes of IP packet.
    pub fn new(direction: Direction, interface_mtu: u32, now_ns: u64) -> Self {
        MtuProber {
            direction,
            interface_mtu,
            search: MtuSearch::new(interface_mtu),
            wake_ns: Some(now_ns),
            open: BTreeMap::new(),
            records: Vec::new(),
        }
    }

    /// When the search goes on by itself; none once it is over.
    pub fn next_wake(&self) -> Option<u64> {
        self.wake_ns
    }

    /// Goes on with the search; number and IP packet length of a probe that leaves now.
    pub fn wake(&mut self, now_ns: u64, unix_ns: u64) -> Option<(u32, u32)> {
        self.settle(|sent_ns| sent_ns + UNANSWERED_NS <= now_ns);
        match self.search.next(now_ns) {
            Step::Probe { probe, size } => {
                let row = MtuProbe {
                    unix_ns,
                    size,
                    ..MtuProbe::default()
                };
                self.open.insert(probe, (now_ns, row));
                self.wake_ns = Some(now_ns);
                Some((probe, size))
            }
            Step::Wait { until_ns } => {
                self.wake_ns = Some(until_ns);
                None
            }
            Step::Done(_) => {
                self.wake_ns = None;
                None
            }
        }
    }

    /// The local host refused to send a probe.
    pub fn refused(&mut self, probe: u32) {
        if let Some((_, mut row)) = self.open.remove(&probe) {
            self.search.on_refused(row.size);
            row.refused_locally = true;
            self.record(row);
        }
    }

    /// The answer to a probe came.
    pub fn acknowledged(&mut self, probe: u32, now_ns: u64) {
        if !self.search.on_acknowledged(probe, now_ns) {
            return;
        }
        self.wake_ns = self.wake_ns.map(|_| now_ns);
        if let Some((_, mut row)) = self.open.remove(&probe) {
            row.acknowledged = true;
            self.record(row);
        }
    }

    /// Records probes as unanswered, the first one first, while their send times are `over`.
    fn settle(&mut self, over: impl Fn(u64) -> bool) {
        while let Some(entry) = self.open.first_entry().filter(|entry| over(entry.get().0)) {
            let (_, row) = entry.remove();
            self.record(row);
        }
    }

    fn record(&mut self, row: MtuProbe) {
        self.records.push(Record::MtuProbe(self.direction, row));
    }

    /// Records since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Ends the search, also one that is not over: its result so far.
    pub fn finish(&mut self) -> MtuReport {
        self.wake_ns = None;
        self.settle(|_| true);
        let Outcome { path_mtu, probes } = self.search.outcome();
        MtuReport {
            path_mtu,
            probes,
            interface_mtu: self.interface_mtu,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Runs a search over a path of 10 ms that carries packets up to `mtu`; the host refuses to send above `local`.
    fn search(mtu: u32, local: u32) -> (MtuReport, Vec<MtuProbe>, u64) {
        let mut prober = MtuProber::new(Direction::Forward, 9000, 0);
        let mut answers = std::collections::VecDeque::new();
        let mut ended = 0;
        while let Some(wake) = prober.next_wake() {
            let now = answers.front().map_or(wake, |(at, _)| wake.min(*at));
            ended = now;
            while answers.front().is_some_and(|(at, _)| *at <= now) {
                let (_, probe) = answers.pop_front().expect("there is one");
                prober.acknowledged(probe, now);
            }
            let Some((probe, size)) = prober.wake(now, now) else {
                continue;
            };
            if size > local {
                prober.refused(probe);
            } else if size <= mtu {
                answers.push_back((now + 20 * MS, probe));
            }
        }
        let report = prober.finish();
        let rows = prober.take_records().into_iter().map(|record| match record {
            Record::MtuProbe(Direction::Forward, row) => row,
            other => panic!("{other:?}"),
        });
        (report, rows.collect(), ended)
    }

    #[test]
    fn each_probe_becomes_one_record_with_its_fate() {
        let (report, rows, ended) = search(1500, 4000);
        assert_eq!((report.path_mtu, report.interface_mtu), (Some(1500), 9000));
        assert_eq!(rows.len(), report.probes as usize);
        for row in &rows {
            assert_eq!(row.acknowledged, row.size <= 1500, "{row:?}");
            assert_eq!(row.refused_locally, row.size > 4000, "{row:?}");
        }
        // 1501 is tried three times, 100 ms apart, and the answer may take as long again.
        assert!((300 * MS..2_000 * MS).contains(&ended), "{ended}");
    }

    #[test]
    fn a_search_that_is_stopped_keeps_what_it_has() {
        let mut prober = MtuProber::new(Direction::Reverse, 1500, 0);
        let (probe, size) = prober.wake(0, 5).expect("a first probe");
        prober.acknowledged(probe, 20 * MS);
        prober.wake(20 * MS, 25).expect("a second one");
        let report = prober.finish();
        assert_eq!((report.path_mtu, report.probes), (Some(size), 2));
        let records = prober.take_records();
        assert_eq!(records.len(), 2);
        assert!(
            matches!(&records[1], Record::MtuProbe(Direction::Reverse, row) if !row.acknowledged && row.unix_ns == 25)
        );
    }
}
