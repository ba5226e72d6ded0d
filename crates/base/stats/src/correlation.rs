//! Counts which flows lose packets in the same short window of time: losses that hit many flows together originate
//! in shared parts of the path, losses of one flow in its own path. It must not know how a loss was found.

use std::collections::BTreeMap;

/// Windows kept open at once; one more closes the oldest early.
const OPEN_WINDOWS: usize = 4_096;
/// Closed windows kept until they are drained; beyond that they are only counted.
const READY_WINDOWS: usize = 16_384;
/// How long a window waits for losses reported late, by default: 2 s, more than a deep reordering buffer waits.
const DEFAULT_LATENESS_NS: u64 = 2_000_000_000;

/// The losses of one window of time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LossWindowCount {
    /// When the window begins; a multiple of its length.
    pub start_ns: u64,
    /// Packets lost in it on all flows together.
    pub lost: u64,
    /// The flows that lost some, in ascending order.
    pub flows: Vec<u16>,
}

/// Gathers losses into windows of equal length, aligned to multiples of it.
#[derive(Debug, Clone)]
pub struct LossWindows {
    window_ns: u64,
    lateness_ns: u64,
    flows: u16,
    open: BTreeMap<u64, LossWindowCount>,
    ready: Vec<LossWindowCount>,
    /// Windows that begin below this are closed.
    closed_below_ns: u64,
    by_flows_losing: Vec<u64>,
    lost: u64,
    too_late_lost: u64,
    undelivered: u64,
}

impl LossWindows {
    /// Windows of `window_ns` (at least 1) over `flows` flows, each closed 2 s (or 8 windows, if that is longer)
    /// after its end.
    pub fn new(window_ns: u64, flows: u16) -> Self {
        Self::with_lateness(
            window_ns,
            flows,
            DEFAULT_LATENESS_NS.max(window_ns.saturating_mul(8)),
        )
    }

    /// As [`new`](Self::new), with windows closed `lateness_ns` after their end.
    pub fn with_lateness(window_ns: u64, flows: u16, lateness_ns: u64) -> Self {
        Self {
            window_ns: window_ns.max(1),
            lateness_ns,
            flows,
            open: BTreeMap::new(),
            ready: Vec::new(),
            closed_below_ns: 0,
            by_flows_losing: vec![0; usize::from(flows) + 1],
            lost: 0,
            too_late_lost: 0,
            undelivered: 0,
        }
    }

    /// Notes that `flow` lost `lost` packets at `at_ns`. Times may come in any order as long as their window is
    /// open; losses for a window already closed count in [`too_late_lost`](Self::too_late_lost) only.
    /// A flow outside the range and a loss of 0 packets are ignored.
    pub fn record(&mut self, at_ns: u64, flow: u16, lost: u64) {
        if lost == 0 || flow >= self.flows {
            return;
        }
        let start_ns = at_ns - at_ns % self.window_ns;
        if start_ns < self.closed_below_ns {
            self.too_late_lost += lost;
            return;
        }
        self.lost += lost;
        let window = self.open.entry(start_ns).or_insert_with(|| LossWindowCount {
            start_ns,
            lost: 0,
            flows: Vec::new(),
        });
        window.lost += lost;
        if let Err(place) = window.flows.binary_search(&flow) {
            window.flows.insert(place, flow);
        }
        if self.open.len() > OPEN_WINDOWS {
            self.close_oldest();
        }
    }

    /// The windows closed by `now_ns`, in order of time.
    pub fn drain(&mut self, now_ns: u64) -> Vec<LossWindowCount> {
        while let Some((&start_ns, _)) = self.open.first_key_value() {
            let closes_ns = start_ns
                .saturating_add(self.window_ns)
                .saturating_add(self.lateness_ns);
            if closes_ns > now_ns {
                break;
            }
            self.close_oldest();
        }
        // Windows without losses are closed, too, so that none is opened before those returned.
        let ended_ns = now_ns.saturating_sub(self.lateness_ns);
        self.closed_below_ns = self.closed_below_ns.max(ended_ns - ended_ns % self.window_ns);
        std::mem::take(&mut self.ready)
    }

    /// Closes all windows and returns those not returned yet.
    pub fn finish(&mut self) -> Vec<LossWindowCount> {
        while !self.open.is_empty() {
            self.close_oldest();
        }
        std::mem::take(&mut self.ready)
    }

    /// Number of closed windows by the number of flows with losses (the index). Windows without losses
    /// are not counted: index 0 is always 0.
    pub fn by_flows_losing(&self) -> &[u64] {
        &self.by_flows_losing
    }

    /// Packets recorded in windows, open and closed.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Packets recorded for windows that had already closed, which are in no window.
    pub fn too_late_lost(&self) -> u64 {
        self.too_late_lost
    }

    /// Closed windows in the totals that were not returned, because they were not drained in time.
    pub fn undelivered(&self) -> u64 {
        self.undelivered
    }

    fn close_oldest(&mut self) {
        let Some((start_ns, window)) = self.open.pop_first() else {
            return;
        };
        self.closed_below_ns = self.closed_below_ns.max(start_ns.saturating_add(self.window_ns));
        self.by_flows_losing[window.flows.len()] += 1;
        if self.ready.len() < READY_WINDOWS {
            self.ready.push(window);
        } else {
            self.undelivered += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_out_of_order_times_into_windows() {
        let mut windows = LossWindows::with_lateness(10, 4, 20);
        windows.record(25, 3, 2);
        windows.record(4, 1, 5);
        windows.record(21, 0, 1);
        windows.record(29, 3, 1);
        assert_eq!(windows.drain(29), []);
        assert_eq!(
            windows.drain(30),
            [LossWindowCount {
                start_ns: 0,
                lost: 5,
                flows: vec![1]
            }]
        );
        windows.record(9, 2, 7);
        assert_eq!(windows.too_late_lost(), 7);
        windows.record(15, 2, 1);
        assert_eq!(
            windows.finish(),
            [
                LossWindowCount {
                    start_ns: 10,
                    lost: 1,
                    flows: vec![2]
                },
                LossWindowCount {
                    start_ns: 20,
                    lost: 4,
                    flows: vec![0, 3]
                }
            ]
        );
        assert_eq!(windows.by_flows_losing(), [0, 2, 1, 0, 0]);
        assert_eq!(windows.lost(), 10);
    }

    #[test]
    fn stays_bounded_and_loses_no_count() {
        let mut windows = LossWindows::new(1, 1);
        for at_ns in 0..50_000 {
            windows.record(at_ns, 0, 1);
        }
        assert_eq!(windows.open.len(), OPEN_WINDOWS);
        let handed_out = windows.finish().len() as u64;
        assert_eq!(handed_out + windows.undelivered(), 50_000);
        assert_eq!(windows.by_flows_losing(), [0, 50_000]);
    }
}
