//! Arguments of `weir lab simulate`, and the measurement behind `--`.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::{FlowsArgs, GlobalOptions, LinkOptions, RttArgs, SurveyArgs, TcpArgs};

/// Arguments of `weir lab simulate`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab simulate oracle -- survey --rate 1Gbit/s
    $ weir lab simulate path.toml --seed 7 -- flows --flows 6 --length 1400 --for 1min")]
pub struct LabSimulateArgs {
    /// The link.
    #[command(flatten)]
    pub link: LinkOptions,
    /// Time at which the simulated clocks start, in seconds since 1970 [default: now].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=4_102_444_800))]
    pub start: Option<u64>,
    /// What to measure: survey, flows, rtt or tcp, with its options.
    #[arg(value_name = "MEASUREMENT", last = true, required = true)]
    pub measurement: Vec<OsString>,
}

/// What can be simulated.
#[derive(Clone, Debug, Subcommand)]
pub enum Measurement {
    /// Measure the path from end to end.
    Survey(SurveyArgs),
    /// Send a stream over several flows.
    Flows(FlowsArgs),
    /// Measure round-trip times.
    Rtt(RttArgs),
    /// Measure TCP throughput.
    Tcp(TcpArgs),
}

#[derive(Parser)]
#[command(name = "weir lab simulate LINK --", bin_name = "weir lab simulate LINK --")]
struct Behind {
    #[command(flatten)]
    global: GlobalOptions,
    #[command(subcommand)]
    measurement: Measurement,
}

impl LabSimulateArgs {
    /// The measurement, and the global options before and behind `--` together. The far host needs no name.
    ///
    /// # Errors
    /// As those of a command line.
    pub fn measurement(&self, global: &GlobalOptions) -> Result<(Measurement, GlobalOptions), clap::Error> {
        let mut grammar = Behind::command();
        for name in ["survey", "flows", "rtt", "tcp"] {
            grammar = grammar.mut_subcommand(name, |command| {
                command.mut_arg("host", |host| host.required(false).default_value("far"))
            });
        }
        let is_weir = self.measurement.first().is_some_and(|word| word == "weir");
        let words = &self.measurement[usize::from(is_weir)..];
        let name = OsString::from("weir");
        let matches = grammar.try_get_matches_from_mut([&name].into_iter().chain(words))?;
        let behind = Behind::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar))?;
        let db = match matches.value_source("db") {
            Some(ValueSource::CommandLine) => behind.global.db,
            _ => global.db.clone(),
        };
        let global = GlobalOptions {
            db,
            json: global.json || behind.global.json,
            quiet: global.quiet || behind.global.quiet,
            verbose: global.verbose.max(behind.global.verbose),
        };
        Ok((behind.measurement, global))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command, LabCommand};
    use super::*;

    fn behind(line: &str) -> Result<(Measurement, GlobalOptions), clap::Error> {
        let cli = Cli::parse_from(format!("weir lab simulate azure {line}").split(' '));
        match &cli.command {
            Command::Lab(LabCommand::Simulate(args)) => args.measurement(&cli.global),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_measurement_is_that_of_its_own_command_and_global_options_may_stand_on_either_side() {
        let (measurement, global) = behind("-- weir flows --flows 6 --json").expect("a flow test");
        let Measurement::Flows(args) = measurement else {
            panic!("{measurement:?}");
        };
        assert_eq!((&*args.host, args.flows, global.json), ("far", 6, true));

        let (measurement, global) = behind("-q --db here.db -- rtt there --window 3").expect("an RTT test");
        let Measurement::Rtt(args) = measurement else {
            panic!("{measurement:?}");
        };
        assert_eq!((&*args.host, args.window.to, global.quiet), ("there", 3, true));
        assert_eq!(global.db.to_str(), Some("here.db"));
        let (_, global) = behind("--db here.db -- survey --db there.db").expect("a survey");
        assert_eq!(global.db.to_str(), Some("there.db"));
    }

    #[test]
    fn what_cannot_be_simulated_is_no_command() {
        for line in ["-- send", "-- doctor", "-- --flows 3", "-- flows --flows 0"] {
            let error = behind(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}: {error}");
        }
    }
}
