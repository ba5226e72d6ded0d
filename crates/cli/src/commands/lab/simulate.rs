//! `weir lab simulate`: a measurement over an emulated link in virtual time, kept as runs like any other.

use crate::args::{
    FlowsArgs, GlobalOptions, LabSimulateArgs, MeasureOptions, Measurement, RttArgs, SurveyArgs, TcpArgs,
};
use crate::fail_if::FailIf;
use weir_link::LinkSpec;
use weir_measure::rtt::RttSummary;
use weir_measure::survey::StepSummary;
use weir_measure::tcp_sweep::{self, Sweep, SweepSummary};
use weir_measure::{Limits, Threads};
use weir_net::clock::unix_ns;
use weir_results::{Outcome, Store};
use weir_simulate::{HostModel, Path, SimulationError, StepTruth};

use super::{Failure, spec};
use crate::commands::estimate::{Estimate, Estimated, Volume};
use crate::commands::progress::Waiting;
use crate::commands::result::StoredResult;
use crate::commands::run_store::RunStore;
use crate::commands::{flows, rtt, say, survey, tables, tcp, thresholds};

const SECOND_NS: u64 = 1_000_000_000;

/// Simulates the measurement and reports as its own command does.
pub fn run(args: &LabSimulateArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let link = spec(&args.link)?;
    let (measurement, global) = args.measurement(global).unwrap_or_else(|error| error.exit());
    let simulation = Simulation {
        link: &link,
        start_ns: args.start.unwrap_or(unix_ns() / SECOND_NS) * SECOND_NS,
        global: &global,
    };
    match &measurement {
        Measurement::Survey(args) => simulation.survey(args),
        Measurement::Flows(args) => simulation.flows(args),
        Measurement::Rtt(args) => simulation.rtt(args),
        Measurement::Tcp(args) => simulation.tcp(args),
    }
}

struct Simulation<'a> {
    link: &'a LinkSpec,
    start_ns: u64,
    global: &'a GlobalOptions,
}

impl Simulation<'_> {
    fn survey(&self, args: &SurveyArgs) -> Result<(), Failure> {
        survey::check(args)?;
        let mut path = self.path(&args.host, &args.measure)?.with_tcp();
        let mut store = Store::open(&self.global.db)?;
        let tells = !self.global.quiet && !self.global.json;
        let made = path.survey(&survey::plan(args), &mut store, &mut |step| {
            if tells {
                say(&tables::step_line(&step.step.title(), &step.summary));
            }
        })?;
        let store = RunStore::open(&self.global.db)?;
        survey::show(
            &store,
            (made.run, Outcome::Finished),
            &made.summary,
            Vec::new(),
            self.global,
        )?;
        thresholds::judge(&args.measure.fail_if, &thresholds::of_survey(&made.summary))
    }

    fn flows(&self, args: &FlowsArgs) -> Result<(), Failure> {
        let conditions = &args.measure.fail_if;
        thresholds::check("--fail-if", conditions, &thresholds::possible_of_flows(), "flows")?;
        let mut path = self.path(&args.host, &args.measure)?;
        let plan = flows::plan(args);
        if plan.threads != Threads::one() {
            return Err(Failure::usage("--threads needs real hosts"));
        }
        let volume = Volume::of_flows(&plan, Limits::default().max_rate, false);
        self.one(conditions, &volume, |store| path.flows(&plan, store))
    }

    fn rtt(&self, args: &RttArgs) -> Result<(), Failure> {
        if args.stamp {
            return Err(Failure::usage("--stamp needs a real reflector"));
        }
        let conditions = &args.measure.fail_if;
        let possible = thresholds::of_rtt(&RttSummary::default());
        thresholds::check("--fail-if", conditions, &possible, "rtt")?;
        let mut path = self.path(&args.host, &args.measure)?;
        let plan = rtt::plan(args);
        self.one(conditions, &Volume::of_rtt(&plan), |store| path.rtt(&plan, store))
    }

    fn tcp(&self, args: &TcpArgs) -> Result<(), Failure> {
        let conditions = &args.measure.fail_if;
        let possible = thresholds::of_tcp(&SweepSummary::default());
        thresholds::check("--fail-if", conditions, &possible, "tcp")?;
        let mut path = self.path(&args.host, &args.measure)?;
        let plan = tcp::plan(args)?;
        let volume = Volume::of_tcp(&plan, Sweep::new(plan.clone(), Limits::default()).estimate());
        let title = "the simulated tests";
        let estimate = &Estimate::new(title, &volume, None);
        let mut store = Store::open(&self.global.db)?;
        let waiting = Waiting::new(title, self.global.quiet);
        let (run, summary) = path.sweep(&plan, &mut store)?;
        drop(waiting);
        let store = RunStore::open(&self.global.db)?;
        let found = Estimated {
            summary: &summary,
            estimate,
        };
        StoredResult::new(&store, run, tcp_sweep::KIND, Outcome::Finished, &[]).print(
            self.global.json,
            &found,
            || tables::tcp(&summary),
        )?;
        thresholds::judge(conditions, &thresholds::of_tcp(&summary))
    }

    /// The path to `host`; options that choose a real one are refused.
    fn path(&self, host: &str, options: &MeasureOptions) -> Result<Path, Failure> {
        if options.token_file.is_some() || options.ipv4 || options.ipv6 {
            return Err(Failure::usage(
                "--token-file, -4 and -6 choose a real host; leave them out",
            ));
        }
        let model = HostModel::default();
        let path = Path::new(self.link, &model, &model, host, self.link.seed)?;
        Ok(path.starting_at(self.start_ns).marked())
    }

    /// Makes and reports one test.
    fn one(
        &self,
        conditions: &[FailIf],
        volume: &Volume,
        make: impl FnOnce(&mut Store) -> Result<StepTruth, SimulationError>,
    ) -> Result<(), Failure> {
        let GlobalOptions { db, json, quiet, .. } = self.global;
        let mut store = Store::open(db)?;
        let title = "the simulated test";
        let estimate = &Estimate::new(title, volume, None);
        let waiting = Waiting::new(title, *quiet);
        let made = make(&mut store)?;
        // A list diagnoses again what is not stored.
        let _ = weir_diagnose::record_verdict(&store, made.run);
        drop(waiting);
        let store = RunStore::open(db)?;
        match &made.summary {
            StepSummary::Flows(summary) => {
                let notes = tables::flows_notes(summary);
                StoredResult::new(&store, made.run, "flows", Outcome::Finished, &notes).print(
                    *json,
                    &Estimated { summary, estimate },
                    || flows::text(summary, *quiet),
                )?;
                thresholds::judge(conditions, &thresholds::of_flows(summary))
            }
            StepSummary::Rtt(summary) => {
                StoredResult::new(&store, made.run, "rtt", Outcome::Finished, &[]).print(
                    *json,
                    &Estimated { summary, estimate },
                    || rtt::text(&store, made.run, summary, *quiet),
                )?;
                thresholds::judge(conditions, &thresholds::of_rtt(summary))
            }
            StepSummary::Mtu(_) | StepSummary::Tcp(_) => Ok(()),
        }
    }
}
