//! Plays many sessions of ten minutes in virtual time and says how long that took and what came of them.
//!
//!     cargo run --release -p weir-player --example many_sessions [SESSIONS] [THREADS] [SEED]
//!
//! The last line is a fingerprint of every figure and fetch: the same for the same seed, however many threads play.

#[path = "many_sessions/population.rs"]
mod population;

use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |usual: u64| arguments.next().map_or(Ok(usual), |text| text.parse::<u64>());
    let (sessions, threads, seed) = (argument(10_000)?, argument(2)?.max(1), argument(1)?);
    let begun = Instant::now();
    let totals = population::play_all(seed, sessions, threads);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{sessions} sessions of ten minutes in {seconds:.1} s on {threads} threads");
    println!(
        "{:.0} segments/s; {} stalls; mean bitrate {:.2} Mbit/s",
        totals.fetches as f64 / seconds,
        totals.stalls,
        totals.mean_bitrate() / 1e6
    );
    println!("fingerprint {:016x}", totals.fingerprint);
    Ok(())
}
