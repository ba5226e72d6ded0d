//! `weir lab population`: lists, prints or plays populations.

use weir_population::{named, populations};

use super::{Failure, households, scenario_text};
use crate::args::{GlobalOptions, LabPopulationArgs};
use crate::commands::signals::stop_on_signals;

/// Lists, prints or plays populations.
pub fn run(args: &LabPopulationArgs, global: &GlobalOptions) -> Result<(), Failure> {
    if args.list {
        return scenario_text::list(populations(), global);
    }
    if let Some(name) = &args.show {
        return match named(name) {
            Some(text) => scenario_text::show(name, text, global),
            None => Err(scenario_text::unknown(name, &households::known())),
        };
    }
    let stop = stop_on_signals()?;
    match (&args.population, args.options.resume) {
        (_, Some(run)) => households::resume(run, &args.options, global, &stop),
        (Some(name), None) => households::begin(name, &args.options, None, global, &stop),
        (None, None) => Err(Failure::usage("name a population, or a file")),
    }
}
