//! Makes a store with a year of one path until now: hours and minutes of all of it, seconds of the last week, and thirty changes.
//!
//! `cargo run --release -p weir-watch --example year -- year.db`. The rows are made by a fixed seed and measured by nobody:
//! four packets a second whose RTT has a tail, is slower in the evening and steps with each change, and one in a thousand lost.

use std::error::Error;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use weir_record::{WatchCell, WatchChange};
use weir_results::{PathId, Span, Store};
use weir_watch::gather::sum;

const DAY_S: u64 = 86_400;
const DAYS: u64 = 366;
/// Days of which seconds are kept.
const SECONDS_OF: u64 = 7;
/// Days from one change to the next.
const APART: u64 = 12;

/// A number in 0 to 1.
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// RTT without its tail in the day of this number and the hour of the day, nanoseconds.
fn level_ns(day: u64, hour: u64) -> f64 {
    let stepped = if (day / APART).is_multiple_of(2) {
        48e6
    } else {
        52e6
    };
    stepped + if (18..23).contains(&hour) { 1.5e6 } else { 0.0 }
}

fn cell(start_s: u64, day: u64, packets: u64, random: &mut Xoshiro256PlusPlus) -> WatchCell {
    let mut cell = WatchCell {
        start_s,
        sent: packets,
        hops: Some(14),
        ..WatchCell::default()
    };
    for _ in 0..packets {
        if unit(random) < 0.001 {
            cell.lost += 1;
            continue;
        }
        let tail = -0.4e6 * (1.0 - unit(random)).ln();
        let level = level_ns(day, start_s % DAY_S / 3_600);
        cell.rtt.record((level + tail) as u64);
    }
    cell
}

fn put(store: &Store, span: Span, path: PathId, cells: Vec<WatchCell>) -> Result<(), Box<dyn Error>> {
    let rows: Vec<(PathId, WatchCell)> = cells.into_iter().map(|cell| (path, cell)).collect();
    Ok(store.put_watch_cells(span, &rows)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = PathBuf::from(std::env::args().nth(1).ok_or("usage: year FILE")?);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 3_600 * 3_600;
    let begun_s = now_s - DAYS * DAY_S;
    let store = Store::open(&file)?;
    let path = store.watch_path("lon", "ams")?;
    for day in 0..DAYS {
        let from_s = begun_s + day * DAY_S;
        let minutes = (0..DAY_S / 60).map(|minute| cell(from_s + minute * 60, day, 240, &mut random));
        let minutes: Vec<WatchCell> = minutes.collect();
        put(&store, Span::Hour, path, sum(&minutes, 3_600))?;
        put(&store, Span::Minute, path, minutes)?;
        if day >= DAYS - SECONDS_OF {
            let seconds = (0..DAY_S).map(|second| cell(from_s + second, day, 4, &mut random));
            put(&store, Span::Second, path, seconds.collect())?;
        }
        if day > 0 && day.is_multiple_of(APART) {
            let (before, after) = (level_ns(day - 1, 0), level_ns(day, 0));
            let change = WatchChange {
                metric: "p50".to_owned(),
                since_unix_ns: from_s * 1_000_000_000,
                found_unix_ns: (from_s + 480) * 1_000_000_000,
                before,
                after,
                low: after - 1e5,
                high: after + 1e5,
                detail: String::new(),
            };
            store.put_watch_change(path, &change)?;
        }
    }
    println!("{DAYS} days of a path until {now_s} in {}", file.display());
    Ok(())
}
