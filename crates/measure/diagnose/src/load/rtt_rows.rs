//! The packets of a windowed RTT test, summed up as they stream by: quantiles, pieces of time, lengths, and how the
//! RTT grows within windows.

use std::collections::BTreeMap;

use weir_measure::rtt::RttPlan;
use weir_results::{Record, RttPacket, Run, Store, Table};
use weir_stats::{DurationHistogram, nearest};

use super::plausible::Expected;
use crate::DiagnoseError;
use crate::measured::{FirstPacket, NetworkGrowth, RttBlock, RttTest, WindowGrowth};

/// Windows whose growth is kept one by one.
pub const MOST_WINDOWS: usize = 4_096;
/// Pieces of time that a test is divided into at most.
const MOST_BLOCKS: u64 = 512;
/// Windows in one piece at least: a piece of a test with an interval of a tenth of a second is a second.
const LEAST_BLOCK_NS: u64 = 1_000_000_000;
/// Packets in the later half of a window whose slope says something.
const LEAST_LATER: usize = 4;
/// First packets of a piece whose RTTs are kept.
const MOST_IN_PIECE: usize = 4_096;
/// Packets of one window that are kept while it is read.
const MOST_PACKETS: usize = 16_384;

pub(super) fn read(store: &Store, run: &Run, plan: RttPlan) -> Result<RttTest, DiagnoseError> {
    let windows = plan.duration_ns.div_ceil(plan.interval_ns.max(1)).max(1);
    let per_second = (LEAST_BLOCK_NS / plan.interval_ns.max(1)).max(1);
    let mut reading = RttAccumulator {
        windows_per_block: per_second.max(windows.div_ceil(MOST_BLOCKS)),
        keep_every: windows.div_ceil(MOST_WINDOWS as u64).max(1),
        all: DurationHistogram::new(),
        blocks: BTreeMap::new(),
        window: Vec::new(),
        test: RttTest {
            run: run.id,
            plan,
            started_unix_ns: run.started_unix_ns,
            sent: 0,
            lost: 0,
            rtt: None,
            blocks: Vec::new(),
            first_packets: Vec::new(),
            windows: Vec::new(),
        },
    };
    let expected = Expected {
        run: run.id,
        flows: 0,
        windows,
    };
    store.each_record(run.id, Table::RttPackets, |record| {
        expected.record(&record)?;
        if let Record::RttPacket(packet) = record {
            reading.take(packet);
        }
        Ok::<(), DiagnoseError>(())
    })?;
    Ok(reading.finish())
}

/// RTTs of a piece of time.
#[derive(Default)]
struct Piece {
    count: u64,
    /// Of first packets, at most [`MOST_IN_PIECE`], and the same without the time in applications.
    first: Vec<u64>,
    network: Vec<u64>,
}

struct RttAccumulator {
    windows_per_block: u64,
    keep_every: u64,
    all: DurationHistogram,
    /// Pieces of time by their first window; windows lie within the plan, so that these are few.
    blocks: BTreeMap<u64, Piece>,
    /// Answered packets of the window that is being read.
    window: Vec<RttPacket>,
    test: RttTest,
}

impl RttAccumulator {
    fn take(&mut self, packet: RttPacket) {
        self.test.sent += 1;
        let Some(rtt) = packet.rtt_ns.filter(|_| !packet.lost) else {
            self.test.lost += 1;
            return;
        };
        self.all.record(i64::try_from(rtt).unwrap_or(i64::MAX));
        self.take_block(&packet, rtt);
        let kept = packet.window.is_multiple_of(self.keep_every);
        if packet.position == 0 && kept && self.test.first_packets.len() < MOST_WINDOWS {
            self.test.first_packets.push(FirstPacket {
                length: packet.length,
                rtt_ns: rtt,
                network_rtt_ns: packet.network_rtt_ns,
            });
        }
        if self
            .window
            .first()
            .is_some_and(|first| first.window != packet.window)
        {
            self.close_window();
        }
        if self.window.len() < MOST_PACKETS {
            self.window.push(packet);
        }
    }

    fn take_block(&mut self, packet: &RttPacket, rtt: u64) {
        let first_window = packet.window - packet.window % self.windows_per_block;
        let piece = self.blocks.entry(first_window).or_default();
        piece.count += 1;
        if packet.position == 0 && piece.first.len() < MOST_IN_PIECE {
            piece.first.push(rtt);
            piece.network.extend(packet.network_rtt_ns);
        }
    }

    fn close_window(&mut self) {
        let packets = std::mem::take(&mut self.window);
        let Some(first) = packets.first() else {
            return;
        };
        if packets.len() < 3 || !first.window.is_multiple_of(self.keep_every) {
            return;
        }
        let start = first.sent_unix_ns;
        let at = |packet: &RttPacket| packet.sent_unix_ns.saturating_sub(start) as f64;
        let rtt = |packet: &RttPacket| packet.rtt_ns.unwrap_or(0) as f64;
        let by = |value: &dyn Fn(&RttPacket) -> f64| {
            slope(
                packets
                    .iter()
                    .map(|packet| (f64::from(packet.position), value(packet))),
            )
        };
        let growth = WindowGrowth {
            window: first.window,
            packets: packets.len() as u32,
            length: first.length,
            rtt_slope_ns: by(&rtt),
            spacing_ns: by(&|packet| at(packet) + rtt(packet)),
            network: network_growth(&packets),
        };
        if self.test.windows.len() < MOST_WINDOWS {
            self.test.windows.push(growth);
        }
    }

    fn finish(mut self) -> RttTest {
        self.close_window();
        let mut test = self.test;
        // A piece whose windows all lost their first packet has no value to compare.
        test.blocks = self
            .blocks
            .into_iter()
            .filter_map(|(first_window, piece)| piece.block(first_window))
            .collect();
        test.rtt = (self.all.count() > 0).then(|| self.all.quantiles());
        test
    }
}

impl Piece {
    fn block(self, first_window: u64) -> Option<RttBlock> {
        let by_kernel = self.network.len() == self.first.len();
        Some(RttBlock {
            first_window,
            count: self.count,
            p90_ns: nearest(self.first, 0.9)?,
            network_p90_ns: nearest(self.network, 0.9).filter(|_| by_kernel),
        })
    }
}

/// By the kernels' timestamps, where all packets have them. The first packet of a window finds both hosts cold and is
/// left out; of the growth, the later half of a window counts: where delays vary but none overtakes another, the first
/// packets are held up by each other.
fn network_growth(packets: &[RttPacket]) -> Option<NetworkGrowth> {
    let warm = packets.get(1..)?;
    let later = warm
        .get(warm.len() / 2..)
        .filter(|later| later.len() >= LEAST_LATER)?;
    let start = warm[0].sent_unix_ns;
    let at = |packet: &RttPacket| packet.sent_unix_ns.saturating_sub(start) as f64;
    let of = |packets: &[RttPacket], value: &dyn Fn(&RttPacket) -> Option<f64>| -> Option<f64> {
        let values: Vec<f64> = packets.iter().map(value).collect::<Option<_>>()?;
        Some(slope(
            (0..values.len()).map(|index| (index as f64, values[index])),
        ))
    };
    Some(NetworkGrowth {
        rtt_slope_ns: of(later, &|packet| Some(packet.network_rtt_ns? as f64))?,
        forward_slope_ns: of(warm, &|packet| Some(packet.owd_forward_ns? as f64))?,
        spacing_ns: of(warm, &|packet| Some(at(packet) + packet.owd_forward_ns? as f64))?,
    })
}

/// Least-squares slope; 0 where all abscissae are equal.
fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let count = points.clone().count() as f64;
    let (x_sum, y_sum) = points
        .clone()
        .fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x_mean, y_mean) = (x_sum / count, y_sum / count);
    let (mut square, mut product) = (0.0, 0.0);
    for (x, y) in points {
        square += (x - x_mean) * (x - x_mean);
        product += (x - x_mean) * (y - y_mean);
    }
    if square > 0.0 { product / square } else { 0.0 }
}
