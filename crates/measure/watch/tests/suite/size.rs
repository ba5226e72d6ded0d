//! Fifty paths for a year fit into ten gigabytes, by the size of rows that are stored here.

use weir_record::{RttPacket, WatchCell};
use weir_results::{PathId, Span, Store};
use weir_watch::config::Keep;
use weir_watch::gather::{Gather, sum};

const PATHS: u64 = 50;
const YEAR_S: u64 = 366 * 86_400;

/// Seconds of a path with four packets each: 48 ms and a tail, of which one in a hundred is lost.
fn seconds(count: u64) -> Vec<WatchCell> {
    let mut cells = Vec::new();
    let mut random = 1u64;
    let mut draw = move || {
        // SplitMix64.
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    for second in 0..count {
        let mut gather = Gather::default();
        for _ in 0..4 {
            // Exponential above 48 ms, 0.4 ms on average, and now and then ten times as much.
            let wide = if draw() < 0.05 { 10.0 } else { 1.0 };
            let rtt_ns = 48e6 - 0.4e6 * wide * (1.0 - draw()).ln();
            gather.add(&RttPacket {
                sent_unix_ns: (1_767_225_600 + second) * 1_000_000_000,
                rtt_ns: Some(rtt_ns as u64),
                lost: draw() < 0.01,
                delta_ttl: Some(14),
                ..RttPacket::default()
            });
        }
        cells.extend(gather.take());
    }
    cells
}

/// Bytes of the file for each row.
fn bytes_a_row(span: Span, cells: &[WatchCell]) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weir.db");
    let empty = {
        drop(Store::open(&file).unwrap());
        std::fs::metadata(&file).unwrap().len()
    };
    let store = Store::open(&file).unwrap();
    let path = store.watch_path("lon", "ams").unwrap();
    // As they come: some at a time.
    for part in cells.chunks(20) {
        let rows: Vec<(PathId, WatchCell)> = part.iter().map(|cell| (path, cell.clone())).collect();
        store.put_watch_cells(span, &rows).unwrap();
    }
    drop(store);
    (std::fs::metadata(&file).unwrap().len() - empty) as f64 / cells.len() as f64
}

#[test]
fn fifty_paths_for_a_year_take_less_than_ten_gigabytes() {
    let seconds = seconds(12 * 3_600);
    let minutes = sum(&seconds, 60);
    // Twelve hours again and again, so that they fill pages.
    let hours = sum(&minutes, 3_600);
    let again = (0..50u64).flat_map(|turn| {
        let shifted = hours.iter().cloned();
        shifted.map(move |cell| WatchCell {
            start_s: cell.start_s + turn * 12 * 3_600,
            ..cell
        })
    });
    let hours: Vec<WatchCell> = again.collect();
    let mut bytes = 0.0;
    let keep = Keep::default();
    for (span, cells, age) in [
        (Span::Second, &seconds, keep.seconds),
        (Span::Minute, &minutes, keep.minutes),
        (Span::Hour, &hours, keep.hours),
    ] {
        let kept_s = age.0 / 1_000_000_000;
        let row = bytes_a_row(span, cells);
        let kept = kept_s.min(YEAR_S) / span.seconds() * PATHS;
        println!(
            "{span:?}: {row:.0} bytes a row, {:.2} GB",
            row * kept as f64 / 1e9
        );
        bytes += row * kept as f64;
    }
    println!("{:.2} GB", bytes / 1e9);
    assert!(bytes < 10e9, "{bytes}");
}
