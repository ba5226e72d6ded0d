//! Whether a stored number can have been measured. A database may be damaged or changed by hand, and rows of a far
//! agent are its own word: what is summed, multiplied or used as a size is checked here first, so that no sum leaves its
//! type and no row makes the reader allocate. It must not know what a number means for a network: what is strange but
//! possible passes.
//!
//! The bounds leave several orders of magnitude above what hosts and networks do today, and fit together: a test's
//! totals times its flows and a survey's parts stay below 2^63.

use weir_measure::VideoFormat;
use weir_measure::flows::{DirectionSummary, FlowsPlan, LENGTH_FROM_PATH_MTU, MOST_FLOWS, SHORTEST};
use weir_measure::rtt::RttPlan;
use weir_results::{
    FlowBurst, FlowSecond, HostSecond, LossWindow, Record, RttPacket, Run, RunId, SenderSecond, Silence,
    StreamBurst, StreamSecond, Table,
};
use weir_stats::{Counters, FlowCounts, HostCounts, Quantiles};
use weir_units::Rate;

use crate::DiagnoseError;
use crate::measured::FlowTest;

/// Parts of one run: a survey makes some twenty.
pub(super) const MOST_PARTS: usize = 64;
/// Packets in one row, or one burst: a row is a second, or many of them where the writer fell behind; this is a day at
/// ten million packets a second.
const MOST_PACKETS_OF_ROW: u64 = 1_000_000_000_000;
/// Packets of one test, all flows together: three years at ten million a second.
const MOST_PACKETS: u64 = 1_000_000_000_000_000;
/// Numbers of packets begin with any 32-bit number.
const LAST_SEQUENCE: u64 = MOST_PACKETS + u32::MAX as u64;
/// Bytes in one row, and of one test: as many packets, each of 10 kB and of 1 kB on average.
const MOST_BYTES_OF_ROW: u64 = 10_000_000_000_000_000;
const MOST_BYTES: u64 = 1_000_000_000_000_000_000;
/// Time in one row: a host that slept, or was paused, wakes in the middle of one. Thirty days.
const MOST_NS_OF_ROW: u64 = 30 * 86_400 * 1_000_000_000;
/// Time of one test: ten years.
const MOST_NS: u64 = 3_650 * 86_400 * 1_000_000_000;
/// The year 2100. A clock that was never set says 1970, none says this.
const LATEST_UNIX_NS: u64 = 4_102_444_800_000_000_000;
/// Delay by two clocks that nobody set alike: as far apart as two times can be.
const MOST_OFFSET_NS: u64 = LATEST_UNIX_NS;
/// Bits per second of media.
const MOST_RATE: u64 = 1_000_000_000_000_000;
/// Cores of a host.
const MOST_CORES: f64 = 1_000_000.0;
/// A UDP payload over IPv4.
pub(super) const LONGEST_PAYLOAD: u32 = 65_507;

/// Bounds that the rows of a run are checked against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The run.
    pub run: RunId,
    /// Flows of its plan; 0 where it has none.
    pub flows: u16,
    /// Windows of its plan; 0 where it has none.
    pub windows: u64,
}

impl Expected {
    /// Checks what is read of a row.
    pub fn record(&self, record: &Record) -> Result<(), DiagnoseError> {
        let place = StoredAt {
            run: self.run,
            table: Table::of(record).name(),
        };
        match record {
            Record::RttPacket(row) => self.rtt_packet(place, row),
            Record::StreamSecond(_, row) => stream_second(place, row),
            Record::FlowSecond(_, row) => self.flow_second(place, row),
            Record::StreamBurst(_, row) => stream_burst(place, row),
            Record::FlowBurst(_, row) => self.flow_burst(place, row),
            Record::Silence(_, row) => self.silence(place, row),
            Record::LossWindow(_, row) => self.loss_window(place, row),
            Record::SenderSecond(_, row) => sender_second(place, row),
            Record::HostSecond(row) => host_second(place, row),
            // Nothing is computed from the rows of these.
            Record::TcpSecond(..)
            | Record::MtuProbe(..)
            | Record::LinkSecond(..)
            | Record::SendSecond(..)
            | Record::RecvSecond(..)
            | Record::FrameSecond(..)
            | Record::FlowChange(..)
            | Record::MediaEvent(..)
            | Record::LoadSecond(..)
            | Record::LoadFailure(..)
            | Record::ViewerSecond(..)
            | Record::LoadMetric(..)
            | Record::LoadHistogram(..)
            | Record::HouseholdSession(..)
            | Record::HouseholdNeighbour(..)
            | Record::TaskSecond(..) => Ok(()),
        }
    }

    fn flow(&self, place: StoredAt, flow: u16) -> Result<(), DiagnoseError> {
        place.at_most("flow", u64::from(flow), u64::from(self.flows.saturating_sub(1)))
    }

    fn rtt_packet(&self, place: StoredAt, row: &RttPacket) -> Result<(), DiagnoseError> {
        place.at_most("window", row.window, self.windows.saturating_sub(1))?;
        place.time("sent_unix_ns", row.sent_unix_ns)?;
        place.duration("rtt_ns", row.rtt_ns.unwrap_or(0))?;
        place.duration("network_rtt_ns", row.network_rtt_ns.unwrap_or(0))?;
        place.delay("owd_forward_ns", row.owd_forward_ns.unwrap_or(0))
    }

    fn flow_second(&self, place: StoredAt, row: &FlowSecond) -> Result<(), DiagnoseError> {
        self.flow(place, row.flow)?;
        place.time("unix_ns", row.unix_ns)?;
        let counts = FlowCounts {
            bytes: 0,
            ..row.counts
        };
        let named: Vec<_> = FlowCounts::NAMES.iter().copied().zip(counts.values()).collect();
        place.packets(&named)?;
        place.at_most("bytes", row.counts.bytes, MOST_BYTES_OF_ROW)?;
        place.delay("owd_min_ns", row.owd.min)?;
        place.delay("owd_p50_ns", row.owd.p50)?;
        place.delay("owd_p99_ns", row.owd.p99)
    }

    fn flow_burst(&self, place: StoredAt, row: &FlowBurst) -> Result<(), DiagnoseError> {
        self.flow(place, row.flow)?;
        place.time("unix_ns", row.unix_ns)?;
        place.at_most("first_sequence", row.first_sequence, LAST_SEQUENCE)?;
        place.packets(&[("length_packets", row.length)])
    }

    fn silence(&self, place: StoredAt, row: &Silence) -> Result<(), DiagnoseError> {
        self.flow(place, row.flow)?;
        place.time("unix_ns", row.unix_ns)?;
        place.duration("duration_ns", row.duration_ns)
    }

    fn loss_window(&self, place: StoredAt, row: &LossWindow) -> Result<(), DiagnoseError> {
        place.time("unix_ns", row.unix_ns)?;
        place.duration("duration_ns", row.duration_ns)?;
        place.packets(&[("lost", row.lost)])?;
        row.flows.iter().try_for_each(|flow| {
            place.at_most("flows", u64::from(*flow), u64::from(self.flows.saturating_sub(1)))
        })?;
        if row.flows.len() > usize::from(self.flows) {
            let value = format!("a list of {}", row.flows.len());
            return Err(place.refused(
                "flows",
                value,
                format!("at most the {} flows of its plan", self.flows),
            ));
        }
        Ok(())
    }
}

fn stream_second(place: StoredAt, row: &StreamSecond) -> Result<(), DiagnoseError> {
    place.time("unix_ns", row.unix_ns)?;
    place.duration("duration_ns", row.duration_ns)?;
    place.packets(&[
        ("received", row.received),
        ("lost", row.lost),
        ("late", row.late),
        ("duplicates", row.duplicates),
        ("reordered", row.reordered),
    ])?;
    place.at_most("bytes", row.bytes, MOST_BYTES_OF_ROW)
}

fn stream_burst(place: StoredAt, row: &StreamBurst) -> Result<(), DiagnoseError> {
    place.time("unix_ns", row.unix_ns)?;
    place.at_most("first_sequence", row.first_sequence, LAST_SEQUENCE)?;
    place.packets(&[("length_packets", row.length)])
}

fn sender_second(place: StoredAt, row: &SenderSecond) -> Result<(), DiagnoseError> {
    place.duration("duration_ns", row.duration_ns)?;
    place.packets(&[("sent", row.counts.sent), ("refused", row.counts.refused)])?;
    place.duration("cpu_ns", row.cpu_ns)?;
    place.lateness("schedule_error_p99_ns", &row.schedule_error)
}

fn host_second(place: StoredAt, row: &HostSecond) -> Result<(), DiagnoseError> {
    let counts: Vec<_> = HostCounts::NAMES
        .iter()
        .copied()
        .zip(row.counts.values())
        .collect();
    place.packets(&counts)?;
    for (column, cores) in [
        ("cpu_busy_cores", row.cpu_busy),
        ("cpu_steal_cores", row.cpu_steal),
    ] {
        // Not a number stands for NULL: the host did not say.
        if !cores.is_nan() && !(0.0..=MOST_CORES).contains(&cores) {
            let expected = format!("0 to {MOST_CORES}");
            return Err(place.refused(column, format!("{cores:e}"), expected));
        }
    }
    Ok(())
}

/// Checks the times of a run.
pub(super) fn run(run: &Run) -> Result<(), DiagnoseError> {
    let place = StoredAt::of_run(run.id);
    place.time("started_unix_ns", run.started_unix_ns)?;
    place.time("ended_unix_ns", run.ended_unix_ns.unwrap_or(0))?;
    place.time("last_unix_ns", run.last_unix_ns)
}

/// Checks the number of a run's parts, of which no more than one too many was read.
pub(super) fn parts(run: RunId, parts: &[Run]) -> Result<(), DiagnoseError> {
    if parts.len() <= MOST_PARTS {
        return Ok(());
    }
    let value = format!("more than {MOST_PARTS} runs that are parts of it");
    Err(StoredAt::of_run(run).refused("parent_run_id", value, "some twenty of a survey"))
}

/// Checks the media of a survey's plan.
pub(super) fn format(run: RunId, format: &VideoFormat) -> Result<(), DiagnoseError> {
    let frames = format.frame_rate;
    let place = StoredAt::of_run(run);
    if format.bytes_per_frame == 0 || frames.numerator == 0 || frames.denominator == 0 {
        let value = format!(
            "{} bytes in each of {}/{} frames a second",
            format.bytes_per_frame, frames.numerator, frames.denominator
        );
        return Err(place.refused("parameters", value, "numbers above 0"));
    }
    rate(place, "parameters: the rate of the format", format.rate())
}

/// Checks a plan as the test itself did before it began: then a length that the path MTU decides is not yet known.
pub(super) fn flows_plan(run: RunId, plan: &FlowsPlan) -> Result<(), DiagnoseError> {
    format(run, &plan.format)?;
    let mut plan = plan.clone();
    if plan.length == LENGTH_FROM_PATH_MTU {
        plan.length = SHORTEST;
    }
    plan.check().map_err(|error| of_plan(run, &error))
}

/// Checks a plan as the test itself did before it began. The shortest packet depends on the protocol, which the plan
/// does not name.
pub(super) fn rtt_plan(run: RunId, plan: &RttPlan) -> Result<(), DiagnoseError> {
    plan.check(1).map_err(|error| of_plan(run, &error))
}

fn of_plan(run: RunId, error: &impl std::fmt::Display) -> DiagnoseError {
    let value = format!("a plan that no test follows ({error})");
    StoredAt::of_run(run).refused("parameters", value, "one that 'weir' takes")
}

fn rate(place: StoredAt, column: &str, rate: Rate) -> Result<(), DiagnoseError> {
    place.at_most(column, rate.0, MOST_RATE)
}

/// Checks what is used of a test's summary.
pub(super) fn summary(run: RunId, summary: &DirectionSummary) -> Result<(), DiagnoseError> {
    let place = StoredAt::of_run(run);
    let found = &summary.attribution;
    let flows = &summary.receiver.per_flow;
    place.at_most("summary: per_flow", flows.len() as u64, u64::from(MOST_FLOWS))?;
    let by_flows = sum(flows.iter().map(|flow| flow.sent));
    for (column, count) in [
        ("summary: sent", summary.sent),
        ("summary: sent of all per_flow", by_flows),
        ("summary: attribution.socket", found.socket),
        ("summary: attribution.host_receiver", found.host_receiver),
        ("summary: attribution.host_sender", found.host_sender),
        ("summary: attribution.network", found.network),
    ] {
        place.at_most(column, count, MOST_PACKETS)?;
    }
    rate(place, "summary: rate", summary.rate)?;
    if summary.length == 0 || summary.length > LONGEST_PAYLOAD {
        let expected = format!("1 to {LONGEST_PAYLOAD}");
        return Err(place.refused("summary: length", summary.length.to_string(), expected));
    }
    place.lateness("summary: schedule_error.p99", &summary.schedule_error)
}

/// Checks the totals of a test. While rows were added up, sums stopped at the end of their type.
pub(super) fn totals(test: &FlowTest) -> Result<(), DiagnoseError> {
    let of = |table: Table| StoredAt {
        run: test.run,
        table: table.name(),
    };
    let stream = of(Table::StreamSeconds);
    for (column, count) in [
        ("received of all rows", test.received),
        ("lost of all rows", test.lost),
        ("late of all rows", test.late),
        ("duplicates of all rows", test.duplicates),
        ("reordered of all rows", test.reordered),
    ] {
        stream.at_most(column, count, MOST_PACKETS)?;
    }
    stream.at_most("bytes of all rows", test.bytes, MOST_BYTES)?;
    stream.at_most("duration_ns of all rows", test.active_ns, MOST_NS)?;
    let flows = of(Table::FlowSeconds);
    let mut all = FlowCounts::default();
    test.flows.iter().for_each(|flow| all.add(&flow.counts));
    all.bytes = 0;
    for (counter, count) in FlowCounts::NAMES.iter().zip(all.values()) {
        flows.at_most(&format!("{counter} of all rows"), count, MOST_PACKETS)?;
    }
    let (sender, senders) = (&test.sender, of(Table::SenderSeconds));
    senders.at_most("sent of all rows", sender.sent, MOST_PACKETS)?;
    senders.at_most("refused of all rows", sender.refused, MOST_PACKETS)?;
    senders.at_most("duration_ns of all rows", sender.duration_ns, MOST_NS)?;
    let hosts = of(Table::HostSeconds);
    for host in [&test.sending_host, &test.receiving_host] {
        for (counter, count) in HostCounts::NAMES.iter().zip(host.counts.values()) {
            hosts.at_most(&format!("{counter} of all rows"), count, MOST_PACKETS)?;
        }
    }
    Ok(())
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Where a number is stored.
#[derive(Clone, Copy, Debug)]
struct StoredAt {
    run: RunId,
    table: &'static str,
}

impl StoredAt {
    fn of_run(run: RunId) -> Self {
        StoredAt { run, table: "runs" }
    }

    fn at_most(self, column: &str, value: u64, most: u64) -> Result<(), DiagnoseError> {
        if value <= most {
            return Ok(());
        }
        Err(self.refused(column, value.to_string(), format!("at most {most}")))
    }

    fn packets(self, counts: &[(&str, u64)]) -> Result<(), DiagnoseError> {
        let check = |(column, count): &(&str, u64)| self.at_most(column, *count, MOST_PACKETS_OF_ROW);
        counts.iter().try_for_each(check)
    }

    fn duration(self, column: &str, value: u64) -> Result<(), DiagnoseError> {
        self.at_most(column, value, MOST_NS_OF_ROW)
    }

    fn time(self, column: &str, value: u64) -> Result<(), DiagnoseError> {
        self.at_most(column, value, LATEST_UNIX_NS)
    }

    /// Of two clocks, so that it may be negative and as long as years.
    fn delay(self, column: &str, value: i64) -> Result<(), DiagnoseError> {
        self.within(column, value, MOST_OFFSET_NS)
    }

    /// Of one clock: a burst of a schedule leaves late, or a little early by its rounding.
    fn lateness(self, column: &str, value: &Quantiles) -> Result<(), DiagnoseError> {
        self.within(column, value.p99, MOST_NS_OF_ROW)
    }

    fn within(self, column: &str, value: i64, most: u64) -> Result<(), DiagnoseError> {
        if value.unsigned_abs() <= most {
            return Ok(());
        }
        Err(self.refused(column, value.to_string(), format!("-{most} to {most}")))
    }

    fn refused(self, column: &str, value: String, expected: impl Into<String>) -> DiagnoseError {
        DiagnoseError::Implausible {
            run: self.run,
            table: self.table,
            column: column.to_owned(),
            value,
            expected: expected.into(),
        }
    }
}
