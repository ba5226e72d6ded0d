//! `weir survey`: every measurement of a path in one go, and the answer whether it carries the media.

use crate::args::{GlobalOptions, SurveyArgs};
use crate::units::{format_bytes, format_duration};
use serde::Serialize;
use weir_diagnose::{Answer, Diagnosis, Options};
use weir_measure::survey::{self, IpVersion, Step, StepSummary, Survey, SurveyPlan, SurveySummary};
use weir_measure::{MeasureError, Session, Stop, fitness};
use weir_net::host::HostFacts;
use weir_results::{Outcome, RunId, Side, Store};
use weir_units::Rate;

use super::output::say;
use super::result::StoredResult;
use super::run_store::{Ended, RunStore, json, new_run};
use super::{Failure, connect, tables, thresholds};

struct Surveying<'a> {
    session: Session,
    /// A session over the other IP version.
    other: Option<Session>,
    local: HostFacts,
    store: &'a RunStore,
    parent: RunId,
    host: &'a str,
    global: &'a GlobalOptions,
    stop: &'a Stop,
    notes: Vec<String>,
}

/// Runs the survey and reports.
pub fn run(args: &SurveyArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let plan = plan(args);
    check(args)?;
    let (session, local) = connect::connect(&args.host, &args.measure)?;
    session
        .limits
        .check(Some(plan.format.rate()), plan.step_ns, 1, 1)?;
    let mut survey = Survey::new(plan.clone(), session.limits, session.address().ip());
    let other = connect::connect_other(&args.host, &args.measure, &session);
    let (other, notes) = match other.transpose() {
        Ok(other) => (other, Vec::new()),
        Err(reason) => (None, vec![reason]),
    };
    if let Some(other) = &other {
        survey = survey.beside(other.address().ip());
    }
    let (time, bytes) = survey.estimate(local.mtu.unwrap_or(1500));
    if !global.quiet {
        let bound = if args.max_bytes.is_some() {
            " (--max-bytes stops it there)"
        } else {
            ""
        };
        say(&format!(
            "survey of {} at {}: about {}, at most {} sent{bound}\nif a length or a rate is lossy, at most {} further tests for each to \
             find where loss begins",
            args.host,
            plan.format.rate().rounded(),
            format_duration(time),
            format_bytes(bytes),
            survey::MOST_FURTHER_STEPS
        ));
    }
    if let Some(line) = amiss(args, plan.format.rate(), &local, &session).filter(|_| !global.quiet) {
        say(&line);
    }
    let store = RunStore::open(&global.db)?;
    let parent = store.begin_parent(&new_run("survey", &args.host, &plan, &local))?;
    store.set_remote_host(parent, &session.remote_host)?;
    let mut surveying = Surveying {
        session,
        other,
        local,
        store: &store,
        parent,
        host: &args.host,
        global,
        stop,
        notes,
    };
    let result = surveying.run(&mut survey);
    let notes = surveying.notes;
    let summary = survey.summary();
    let measured = match &result {
        Ok(()) => Ok(()),
        Err(failure) => Err(MeasureError::Internal(failure.message.clone())),
    };
    let end = Ended::of(&measured, stop);
    let outcome = end.outcome();
    let ended = store.end(parent, &end, &json(&summary));
    show(&store, (parent, outcome), &summary, notes, global)?;
    result?;
    ended?;
    thresholds::judge(&args.measure.fail_if, &thresholds::of_survey(&summary))
}

/// What is amiss with the hosts, in one line.
fn amiss(args: &SurveyArgs, rate: Rate, local: &HostFacts, session: &Session) -> Option<String> {
    let mut checks = fitness::check_host(local, Side::Local, rate);
    checks.extend(fitness::check_host(&session.remote_host, Side::Remote, rate));
    let line = fitness::amiss(&checks)?;
    Some(format!(
        "before the survey: {line}; see 'weir doctor {}'",
        args.host
    ))
}

/// Refuses conditions on what a survey does not measure.
pub(super) fn check(args: &SurveyArgs) -> Result<(), Failure> {
    let possible = thresholds::possible_of_survey();
    thresholds::check("--fail-if", &args.measure.fail_if, &possible, "survey")
}

pub(super) fn plan(args: &SurveyArgs) -> SurveyPlan {
    let (format, _) = connect::format(&args.traffic());
    SurveyPlan {
        format,
        step_ns: args.step.0,
        max_flows: args.max_flows,
        max_bytes: args.max_bytes.map_or(u64::MAX, |bytes| bytes.0),
    }
}

/// Diagnoses a survey that has ended, and prints the answer, the findings and the steps.
pub(super) fn show(
    store: &RunStore,
    (run, outcome): (RunId, Outcome),
    summary: &SurveySummary,
    mut notes: Vec<String>,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let diagnosis = diagnose(store, run, &mut notes);
    let found = Found {
        answer: diagnosis.as_ref().map(|diagnosis| &diagnosis.answer),
        summary,
        diagnosis: &diagnosis,
    };
    let printed = StoredResult::new(store, run, "survey", outcome, &notes);
    printed.print(global.json, &found, || {
        tables::survey(summary, diagnosis.as_ref(), global.verbose > 0)
    })
}

/// What is printed.
#[derive(Serialize)]
struct Found<'a> {
    answer: Option<&'a Answer>,
    #[serde(flatten)]
    summary: &'a SurveySummary,
    diagnosis: &'a Option<Diagnosis>,
}

/// The diagnosis of the steps, stored in short for lists. A survey is useful without it: an error becomes a note.
fn diagnose(store: &RunStore, run: RunId, notes: &mut Vec<String>) -> Option<Diagnosis> {
    let found = Store::open_read_only(store.path())
        .map_err(Failure::from)
        .and_then(|store| super::diagnose::of_run(&store, run, &Options::default()));
    let found = found
        .map_err(|failure| notes.push(format!("no diagnosis: {}", failure.message)))
        .ok()?;
    // A list diagnoses again what is not stored.
    let _ = weir_diagnose::record_diagnosis(store.store(), &found);
    Some(found)
}

impl Surveying<'_> {
    /// Makes step after step; a failed step ends the survey, and what was found until then is kept.
    fn run(&mut self, survey: &mut Survey) -> Result<(), Failure> {
        while let Some((step, max_bytes)) = survey.next_step() {
            if self.stop.is_set() {
                return Ok(());
            }
            match self.step(&step, max_bytes, None) {
                Ok(summary) => {
                    let before = survey.limited().len();
                    survey.on_result(&step, summary);
                    if !self.global.quiet && !self.global.json {
                        survey.limited()[before..]
                            .iter()
                            .for_each(|step| say(&tables::limited_line(step)));
                    }
                }
                Err(failure) => {
                    let message = format!("{}: {}", step.title(), failure.message);
                    return Err(Failure { message, ..failure });
                }
            }
        }
        self.compare_families(survey);
        Ok(())
    }

    /// Makes the same steps over both IP versions; a failed one ends the comparison, and not the survey.
    fn compare_families(&mut self, survey: &mut Survey) {
        while let Some((address, step, max_bytes)) = survey.next_of_families() {
            if self.stop.is_set() {
                return;
            }
            let version = IpVersion::of(address);
            match self.step(&step, max_bytes, Some(version)) {
                Ok(summary) => survey.on_result_of_families(&step, summary),
                Err(failure) => {
                    let (title, version) = (step.title(), version.as_str());
                    self.notes
                        .push(format!("{title} over {version}: {}", failure.message));
                    return;
                }
            }
        }
    }

    /// Makes a step and stores it; with a version, one of the comparison of both.
    fn step(
        &mut self,
        step: &Step,
        max_bytes: u64,
        version: Option<IpVersion>,
    ) -> Result<StepSummary, Failure> {
        let over = version.map_or(String::new(), |version| format!(" over {}", version.as_str()));
        let title = step.title() + &over;
        let mut part = new_run(step.kind(), self.host, &parameters(step, version), &self.local);
        part.parent = Some(self.parent);
        let is_own = |version: IpVersion| version == IpVersion::of(self.session.address().ip());
        let session = match &mut self.other {
            Some(other) if version.is_some_and(|version| !is_own(version)) => other,
            _ => &mut self.session,
        };
        let run = self.store.begin(&part, &title, self.global.quiet)?;
        run.set_remote_host(&session.remote_host)?;
        let result = survey::run_step(session, step, max_bytes, &run, self.stop);
        let given_up = result.as_ref().ok().and_then(StepSummary::aborted);
        let end = match &given_up {
            Some(error) => Ended::failed(error),
            None => Ended::of(&result, self.stop),
        };
        let summary = result.as_ref().ok().map(step_json);
        let stored = run.finish(&end, &json(&summary));
        let found = match given_up {
            Some(error) => return Err(error.into()),
            None => result?,
        };
        let stored = stored?;
        self.notes
            .extend(stored.notes().into_iter().map(|note| format!("{title}: {note}")));
        if !self.global.quiet && !self.global.json {
            say(&tables::step_line(&title, &found));
        }
        Ok(found)
    }
}

/// The parameters of a step as its run keeps them; steps of the comparison name their IP version beside.
fn parameters(step: &Step, version: Option<IpVersion>) -> serde_json::Value {
    let mut parameters = json(step);
    if let Some(version) = version {
        if !parameters.is_object() {
            parameters = serde_json::json!({});
        }
        parameters["family"] = json(&version);
    }
    parameters
}

/// A step's summary as a run of its own keeps it, without the name of the step around it.
fn step_json(summary: &StepSummary) -> serde_json::Value {
    match summary {
        StepSummary::Mtu(summary) => json(summary),
        StepSummary::Rtt(summary) => json(summary),
        StepSummary::Tcp(summary) => json(summary),
        StepSummary::Flows(summary) => json(summary),
    }
}
