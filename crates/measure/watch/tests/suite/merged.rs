//! Quantiles over any span of the stores of two watchers, merged: beside those of the sorted RTTs of all packets.

use weir_record::{RttPacket, WatchCell};
use weir_results::{NewRun, PathId, Span, Store};
use weir_watch::gather::{Gather, sum};
use weir_watch::history::cells;

const START_S: u64 = 1_767_225_600;
const HOURS: u64 = 7 * 24;

/// SplitMix64, 0 to 1.
struct Random(u64);

impl Random {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A packet every three seconds for a week, with a heavy tail (Pareto) over a base that wanders by a third in the week.
fn packets(seed: u64) -> Vec<RttPacket> {
    let mut random = Random(seed);
    let packet = |number: u64| {
        let base = 30e6 * (1.0 + number as f64 / (HOURS * 1_200) as f64 / 3.0);
        let tail = 1e6 * (random.draw().powf(-0.7) - 1.0);
        RttPacket {
            sent_unix_ns: (START_S + 3 * number) * 1_000_000_000 + 5,
            rtt_ns: Some((base + tail) as u64),
            ..RttPacket::default()
        }
    };
    (0..HOURS * 1_200).map(packet).collect()
}

/// The store of a watcher that has measured these, with seconds of the last day only.
fn store(folder: &tempfile::TempDir, name: &str, packets: &[RttPacket]) -> Store {
    let store = Store::open(folder.path().join(name)).unwrap();
    let new = NewRun {
        kind: "watch".to_owned(),
        target: name.to_owned(),
        ..NewRun::default()
    };
    store.begin_run(&new).unwrap();
    let path = store.watch_path("lon", "ams").unwrap();
    let mut seconds = Vec::new();
    for some in packets.chunks(100) {
        let mut gather = Gather::default();
        some.iter().for_each(|packet| gather.add(packet));
        seconds.extend(gather.take());
    }
    let (minutes, hours) = (sum(&seconds, 60), sum(&seconds, 3_600));
    let of_path = |cells: &[WatchCell]| -> Vec<(PathId, WatchCell)> {
        cells.iter().map(|cell| (path, cell.clone())).collect()
    };
    let last_day = seconds.partition_point(|cell| cell.start_s < START_S + (HOURS - 24) * 3_600);
    store
        .put_watch_cells(Span::Second, &of_path(&seconds[last_day..]))
        .unwrap();
    store.put_watch_cells(Span::Minute, &of_path(&minutes)).unwrap();
    store.put_watch_cells(Span::Hour, &of_path(&hours)).unwrap();
    store
}

#[test]
fn merged_quantiles_are_within_one_percent_of_the_raw_data_over_any_span() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (packets(1), packets(2));
    let stores = [store(&folder, "one.db", &one), store(&folder, "other.db", &other)];
    let merged = Store::open(folder.path().join("merged.db")).unwrap();
    for part in &stores {
        merged.add_watch(part.path()).unwrap();
    }
    let path = merged.watch_path("lon", "ams").unwrap();
    let mut random = Random(3);
    let mut worst = 0.0f64;
    for turn in 0..60 {
        // Spans from minutes to days, of whole minutes where seconds are gone.
        let length_s = 60 * (10.0 * (HOURS as f64 * 5.5).powf(random.draw())) as u64;
        let room = HOURS * 60 - length_s / 60;
        let from_s = START_S + 60 * (random.draw() * room as f64) as u64;
        let to_s = from_s + length_s;
        let found = cells(&merged, path, "lon", (from_s, to_s))
            .unwrap()
            .merged()
            .unwrap();
        let within = |packet: &&RttPacket| (from_s..to_s).contains(&(packet.sent_unix_ns / 1_000_000_000));
        let raw = one.iter().chain(&other).filter(within);
        let mut raw: Vec<u64> = raw.filter_map(|packet| packet.rtt_ns).collect();
        raw.sort_unstable();
        assert_eq!(found.rtt.count(), raw.len() as u64, "turn {turn}, {length_s} s");
        for share in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
            let rank = ((share * raw.len() as f64).ceil() as usize).clamp(1, raw.len());
            let (exact, ours) = (raw[rank - 1] as f64, found.rtt.quantile(share).unwrap() as f64);
            worst = worst.max((ours / exact - 1.0).abs());
        }
        assert_eq!(found.rtt.max(), raw.last().copied());
    }
    println!("largest difference {:.3} %", 100.0 * worst);
    assert!(worst < 0.01, "{worst}");
}
