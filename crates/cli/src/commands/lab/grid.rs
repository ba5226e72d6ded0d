//! `weir lab grid`: queues, congestion controls and paces over the same households.

use weir_population::{Grid, pace_list};

use super::{Failure, households};
use crate::args::{GlobalOptions, LabGridArgs};
use crate::commands::signals::stop_on_signals;

/// Plays a grid, or continues one.
pub fn run(args: &LabGridArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let grid = Grid {
        queues: args.queues.clone(),
        congestion: args.congestion.clone(),
        paces: pace_list(&args.paces),
    };
    match (&args.population, args.options.resume) {
        (_, Some(run)) => households::resume(run, &args.options, global, &stop),
        (Some(name), None) => households::begin(
            name,
            &args.options,
            Some((grid, args.max_sessions)),
            global,
            &stop,
        ),
        (None, None) => Err(Failure::usage("name a population, or a file")),
    }
}
