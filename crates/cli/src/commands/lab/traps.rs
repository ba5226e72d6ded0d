//! `weir lab traps`: traps of pacing, played in virtual time. Nothing is stored: the same file gives the same result.

use crate::args::{GlobalOptions, LabTrapsArgs};
use weir_lab::traps::{Scenario, Shown, named, play, scenarios};

use super::{Failure, print, scenario_text};
use crate::commands::run_store::json;
use crate::commands::tables;

/// Lists, prints or plays traps.
pub fn run(args: &LabTrapsArgs, global: &GlobalOptions) -> Result<(), Failure> {
    if args.list {
        return scenario_text::list(scenarios(), global);
    }
    if let Some(name) = &args.show {
        return match named(name) {
            Some(text) => scenario_text::show(name, text, global),
            None => Err(scenario_text::unknown(name, &known())),
        };
    }
    let Some(name) = &args.scenario else {
        return scenarios().try_for_each(|(name, text)| play_one(name, text, global));
    };
    match named(name) {
        Some(text) => play_one(name, text, global),
        None => play_one(name, &scenario_text::read(name, &known())?, global),
    }
}

fn known() -> Vec<&'static str> {
    scenarios().map(|(name, _)| name).collect()
}

fn play_one(name: &str, text: &str, global: &GlobalOptions) -> Result<(), Failure> {
    let scenario = Scenario::parse(text, name).map_err(|error| Failure::usage(error.to_string()))?;
    let shown: Shown =
        play(&scenario).map_err(|error| Failure::usage(format!("{name}: cannot be played: {error}")))?;
    if global.json {
        return print(&format!("{}\n", json(&shown)));
    }
    print(&tables::trap(&shown))
}
