//! The rows of one direction of a multi-flow test, summed up as they stream by.

use std::collections::BTreeMap;

use weir_measure::flows::{DirectionSummary, FlowsPlan, LENGTH_FROM_PATH_MTU};
use weir_results::{
    Direction, FlowBurst, FlowSecond, HostSecond, Record, Run, SenderSecond, Side, Store, StreamSecond, Table,
};

use super::late;
use super::plausible::{self, Expected};
use crate::DiagnoseError;
use crate::measured::{Flow, FlowSlot, FlowTest, SlotDelay};
use weir_stats::Counters;

/// Slots of time that a test is divided into at most.
const MOST_SLOTS: u64 = 600;
/// Rows of one table of events that are kept.
const MOST_EVENTS: usize = 200_000;
/// Flows named in all loss windows that are kept, together.
const MOST_WINDOW_FLOWS: usize = 1_000_000;
/// Tables with something about a direction of a test.
const TABLES: [Table; 8] = [
    Table::StreamSeconds,
    Table::FlowSeconds,
    Table::StreamBursts,
    Table::FlowBursts,
    Table::Silences,
    Table::LossWindows,
    Table::SenderSeconds,
    Table::HostSeconds,
];

/// Reads one direction; none if nothing of it was measured.
pub(super) fn read(
    store: &Store,
    run: &Run,
    direction: Direction,
    plan: &FlowsPlan,
    summary: Option<DirectionSummary>,
) -> Result<Option<FlowTest>, DiagnoseError> {
    let end = run.ended_unix_ns.unwrap_or(run.last_unix_ns);
    let seconds = end.saturating_sub(run.started_unix_ns) / 1_000_000_000 + 1;
    let mut reading = FlowAccumulator {
        slot_seconds: seconds.div_ceil(MOST_SLOTS).max(1),
        second: 0,
        second_unix_ns: None,
        slots: BTreeMap::new(),
        delay_sums: BTreeMap::new(),
        schedule_p99: Vec::new(),
        dropped_events: false,
        window_flows: 0,
        test: FlowTest {
            started_unix_ns: run.started_unix_ns,
            ..FlowTest::new(run.id, direction, plan.clone())
        },
    };
    let expected = Expected {
        run: run.id,
        flows: plan.flows,
        windows: 0,
    };
    for table in TABLES {
        store.each_record(run.id, table, |record| {
            expected.record(&record)?;
            reading.take(record);
            Ok::<(), DiagnoseError>(())
        })?;
    }
    reading.finish(summary)
}

struct FlowAccumulator {
    slot_seconds: u64,
    /// Number of the second that is being read, from 0.
    second: u64,
    second_unix_ns: Option<u64>,
    slots: BTreeMap<(u32, u16), FlowSlot>,
    /// Sum of medians, of 99 % quantiles, and how many seconds they are from.
    delay_sums: BTreeMap<(u32, u16), (i128, i128, i128)>,
    schedule_p99: Vec<i64>,
    dropped_events: bool,
    /// Flows named in the loss windows that were kept.
    window_flows: usize,
    test: FlowTest,
}

impl FlowAccumulator {
    fn take(&mut self, record: Record) {
        let wanted = self.test.direction;
        match record {
            Record::StreamSecond(direction, row) if direction == wanted => self.stream_second(&row),
            Record::FlowSecond(direction, row) if direction == wanted => self.flow_second(&row),
            Record::StreamBurst(direction, row) if direction == wanted => {
                self.dropped_events |= !keep(&mut self.test.stream_bursts, row);
            }
            Record::FlowBurst(direction, row) if direction == wanted => {
                self.dropped_events |= !keep(&mut self.test.flow_bursts, row);
            }
            Record::Silence(direction, row) if direction == wanted => {
                keep(&mut self.test.silences, row);
            }
            Record::LossWindow(direction, row) if direction == wanted => {
                self.window_flows = self.window_flows.saturating_add(row.flows.len());
                if self.window_flows <= MOST_WINDOW_FLOWS {
                    keep(&mut self.test.loss_windows, row);
                }
            }
            Record::SenderSecond(direction, row) if direction == wanted => self.sender_second(&row),
            Record::HostSecond(row) => self.host_second(&row),
            _ => {}
        }
    }

    fn stream_second(&mut self, row: &StreamSecond) {
        let test = &mut self.test;
        add(&mut test.received, row.received);
        add(&mut test.bytes, row.bytes);
        add(&mut test.lost, row.lost);
        add(&mut test.late, row.late);
        add(&mut test.duplicates, row.duplicates);
        add(&mut test.reordered, row.reordered);
        if row.received > 0 {
            add(&mut test.active_ns, row.duration_ns);
        }
        let began = row.unix_ns.saturating_sub(row.duration_ns);
        if test.received == row.received {
            test.started_unix_ns = began;
        }
    }

    fn flow_second(&mut self, row: &FlowSecond) {
        match self.second_unix_ns {
            Some(unix_ns) if unix_ns == row.unix_ns => {}
            Some(_) => self.second += 1,
            None => {}
        }
        self.second_unix_ns = Some(row.unix_ns);
        self.flow_counts(row);
        // Rows may say more seconds than the run lasted: those all fall into the last slot.
        let slot = (self.second / self.slot_seconds).min(MOST_SLOTS) as u32;
        let entry = self.slots.entry((slot, row.flow)).or_insert_with(|| FlowSlot {
            slot,
            flow: row.flow,
            ..FlowSlot::default()
        });
        add(&mut entry.received, row.counts.received);
        add(&mut entry.lost, row.counts.lost);
        add(&mut entry.bursts, row.counts.bursts);
        if row.owd.count > 0 {
            let smallest = entry
                .delay
                .map_or(row.owd.min, |delay| delay.min.min(row.owd.min));
            let sums = self.delay_sums.entry((slot, row.flow)).or_default();
            // Delays by clocks that are years apart, of many seconds, are more than 64 bits hold.
            *sums = (
                sums.0 + i128::from(row.owd.p50),
                sums.1 + i128::from(row.owd.p99),
                sums.2 + 1,
            );
            let mean = |sum: i128| i64::try_from(sum / sums.2).unwrap_or(i64::MAX);
            entry.delay = Some(SlotDelay {
                min: smallest,
                p50: mean(sums.0),
                p99: mean(sums.1),
            });
        }
    }

    fn flow_counts(&mut self, row: &FlowSecond) {
        let flows = &mut self.test.flows;
        let index = usize::from(row.flow);
        if flows.len() <= index {
            flows.resize(index + 1, Flow::default());
        }
        flows[index].port = row.port;
        flows[index].counts.add(&row.counts);
    }

    fn sender_second(&mut self, row: &SenderSecond) {
        let sender = &mut self.test.sender;
        add(&mut sender.sent, row.counts.sent);
        add(&mut sender.duration_ns, row.duration_ns);
        add(&mut sender.refused, row.counts.refused);
        add(&mut sender.cpu_ns, row.cpu_ns);
        if row.schedule_error.count > 0 {
            sender.worst_second_p99_ns = sender.worst_second_p99_ns.max(row.schedule_error.p99);
            if self.schedule_p99.len() < MOST_EVENTS {
                self.schedule_p99.push(row.schedule_error.p99);
            }
        }
    }

    fn host_second(&mut self, row: &HostSecond) {
        let receives = match self.test.direction {
            Direction::Forward => Side::Remote,
            Direction::Reverse => Side::Local,
        };
        let (host, throttled) = if row.side == receives {
            (&mut self.test.receiving_host, row.counts.receive_throttled())
        } else {
            (&mut self.test.sending_host, row.counts.send_throttled())
        };
        if throttled > 0 {
            // By its number: the clocks of both hosts may differ.
            let slot = (host.seconds / self.slot_seconds).min(MOST_SLOTS) as u32;
            add(self.test.throttled.entry(slot).or_default(), throttled);
        }
        host.seconds += 1;
        host.counts.add(&row.counts);
        host.most_busy_cores = host.most_busy_cores.max(row.cpu_busy);
        if row.cpu_softirq.is_finite() && row.cpu_softirq_core.is_finite() {
            host.softirq_core_seconds += row.cpu_softirq;
            host.softirq_most_core_seconds += row.cpu_softirq_core;
        }
        if row.cpu_steal.is_finite() {
            host.stolen_core_seconds += row.cpu_steal;
            host.most_stolen_cores = host.most_stolen_cores.max(row.cpu_steal);
        }
    }

    fn finish(mut self, summary: Option<DirectionSummary>) -> Result<Option<FlowTest>, DiagnoseError> {
        let mut test = self.test;
        if test.flows.is_empty() {
            return Ok(None);
        }
        plausible::totals(&test)?;
        test.slots = self.slots.into_values().collect();
        test.slot_seconds = u32::try_from(self.slot_seconds).unwrap_or(u32::MAX);
        test.flow_bursts.sort_by_key(|burst: &FlowBurst| burst.unix_ns);
        if test.payload == LENGTH_FROM_PATH_MTU && test.received > 0 {
            // Nearly: the last packet of a frame is shorter.
            test.payload = (test.bytes / test.received).min(u64::from(plausible::LONGEST_PAYLOAD)) as u32;
        }
        test.sent = test.received + test.lost;
        for flow in &mut test.flows {
            flow.sent = flow.counts.received + flow.counts.lost;
        }
        self.schedule_p99.sort_unstable();
        test.sender.schedule_p99_ns = self
            .schedule_p99
            .get(self.schedule_p99.len() / 2)
            .copied()
            .unwrap_or(0);
        test.bursts_complete = !self.dropped_events;
        if let Some(summary) = summary {
            plausible::summary(test.run, &summary)?;
            apply(&mut test, summary);
            plausible::totals(&test)?;
        }
        late::leave_out(&mut test);
        if test.plan.length == LENGTH_FROM_PATH_MTU {
            // Bursts are as long as this makes them.
            test.plan.length = test.payload;
        }
        Ok(Some(test))
    }
}

/// What only the ends themselves know: how much was really sent, and for how long packets came.
fn apply(test: &mut FlowTest, summary: DirectionSummary) {
    test.payload = summary.length;
    test.sent = summary.sent.max(test.received);
    test.bursts_complete &= summary.receiver.events_merged == 0;
    test.sender.schedule_p99_ns = summary.schedule_error.p99;
    if summary.rate.0 > 0 {
        let active = u128::from(test.bytes) * 8_000_000_000 / u128::from(summary.rate.0);
        test.active_ns = u64::try_from(active).unwrap_or(test.active_ns);
    }
    for (flow, report) in test.flows.iter_mut().zip(&summary.receiver.per_flow) {
        flow.sent = report.sent.max(flow.counts.received);
    }
    test.summary = Some(summary);
}

/// A sum that stops at the end of its type: [`plausible::totals`] refuses it later.
fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

/// Keeps a row while there is room; says whether there was.
fn keep<T>(rows: &mut Vec<T>, row: T) -> bool {
    let room = rows.len() < MOST_EVENTS;
    if room {
        rows.push(row);
    }
    room
}
