//! The loss that the code leaves, simulated: a line of tab-separated values for each code rate and loss rate.
//!
//!     cargo run --release -p weir-fec --example residual -- [SOURCES] [SEED]
//!     cargo run --release -p weir-fec --example residual -- dark [SOURCES] [SEED]
//!
//! The first form has independent losses and a deadline of one window; docs/fec.md draws it beside what
//! `tests/data/make_residual.py` computes. The second has one dark flow and a few other losses.

#[path = "../tests/suite/simulation/mod.rs"]
mod simulation;

use std::error::Error;

use simulation::{Loss, Residual, Run, run};
use weir_fec::CodeRate;

const RATES: [(u16, u16); 5] = [(64, 128), (20, 80), (12, 48), (12, 96), (6, 48)];
const LOSSES: [f64; 9] = [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 3e-2, 5e-2, 7e-2, 1e-1];

/// Flows, sources per repair, window.
const DARK: [(usize, u16, u16); 7] = [
    (16, 15, 15),
    (16, 15, 64),
    (16, 12, 48),
    (16, 12, 96),
    (8, 7, 48),
    (8, 6, 24),
    (8, 6, 48),
];

fn print(names: &str, result: &Residual) {
    println!(
        "{names}\t{:e}\t{:e}\t{:e}\t{}\t{}",
        result.share, result.low, result.high, result.unrecovered, result.sources
    );
}

fn independent(sources: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    println!("sources_per_repair\twindow\tloss\tresidual\tlow\thigh\tunrecovered\tsources");
    for (n, w) in RATES {
        for loss in LOSSES {
            let result = run(Run {
                rate: CodeRate::new(n, w)?,
                deadline: w,
                loss: Loss::Independent(loss),
                sources,
                seed,
            });
            print(&format!("{n}\t{w}\t{loss}"), &result?);
        }
    }
    Ok(())
}

fn dark(sources: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    println!("flows\tsources_per_repair\twindow\tresidual\tlow\thigh\tunrecovered\tsources");
    for (flows, n, w) in DARK {
        let result = run(Run {
            rate: CodeRate::new(n, w)?,
            deadline: 640,
            loss: Loss::DarkFlow { flows, others: 4e-4 },
            sources,
            seed,
        });
        print(&format!("{flows}\t{n}\t{w}"), &result?);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let is_dark = words.first().is_some_and(|word| word == "dark");
    if is_dark {
        words.remove(0);
    }
    let number = |at: usize, default| words.get(at).map_or(Ok(default), |word| word.parse());
    let (sources, seed) = (number(0, 2_000_000)?, number(1, 1)?);
    if is_dark {
        dark(sources, seed)
    } else {
        independent(sources, seed)
    }
}
