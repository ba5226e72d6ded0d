//! `weir testbed`: workflows of media functions on this host.

mod audience;
mod content;
mod hosts;
mod launched;
mod serve;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::args::{ExportArgs, FunctionFiles, GlobalOptions, TestbedCommand, TestbedRunArgs};
use crate::commands::signals::flag_on_signals;
use serde_json::{Value, json};
use weir_measure::{Sink, Stop};
use weir_net::clock;
use weir_net::confine::may_make_networks;
use weir_net::host::HostFacts;
use weir_results::{Outcome, Record, TaskSecond};
use weir_testbed::{
    Capabilities, Cluster, Document, Elsewhere, Ended as Measured, Function, Functions, Published, Registry,
    Setting, Summary, TestbedError, Values, Varied, Watch, Workflow,
};
use weir_units::format_utc;

use self::hosts::Copying;
use self::launched::{Bed, LaunchPlan};
use super::mesh::{can_copy, finish_launches, has_ssh, watch_presses};
use super::output::{print, say};
use super::result::StoredResult;
use super::run_store::{Ended, OpenRun, RunStore, json as stored, new_run};
use super::{Failure, tables};

const KIND: &str = "testbed";

/// Runs the subcommand.
pub fn run(command: &TestbedCommand, global: &GlobalOptions) -> Result<(), Failure> {
    match command {
        TestbedCommand::Run(args) => measure(args, global),
        TestbedCommand::Serve(args) => serve::run(args, global),
        TestbedCommand::Check {
            workflow,
            functions,
            hosts,
        } => check(workflow, functions, hosts.as_deref(), global),
        TestbedCommand::Export(args) => export(args),
        TestbedCommand::Functions { functions } => list_functions(functions, global),
        TestbedCommand::Audience(args) => audience::run(args, global),
        TestbedCommand::Status => status(global),
        TestbedCommand::Logs { task, name } => logs(task, name),
        TestbedCommand::Stop { name } => stop(name),
        TestbedCommand::Clean {
            all,
            hosts,
            ssh,
            state,
        } => clean(*all, (hosts.as_deref(), ssh), state.as_deref(), global),
        TestbedCommand::Part { clean } => hosts::part(*clean),
    }
}

/// A workflow that may run on this host and the others.
struct Planned {
    document: Document,
    workflow: Workflow,
    varied: Values,
}

/// Reads a workflow with each combination of values, and checks all against their functions, this host, and the names of others.
fn read(
    path: &Path,
    functions: &FunctionFiles,
    vary: &[Varied],
    hosts: &[&str],
) -> Result<Vec<Planned>, Failure> {
    let (document, functions) = weir_testbed::read(path, &functions.function)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let host = Capabilities::of_this_host()?;
    let mut planned = Vec::new();
    for (varied, document) in weir_testbed::combinations(&document, vary)? {
        let workflow = Workflow::of(&document, &functions, folder)?;
        workflow.hosts_are_known(hosts)?;
        workflow.fits(None, host)?;
        workflow.programs_are_here(None)?;
        planned.push(Planned {
            document,
            workflow,
            varied,
        });
    }
    Ok(planned)
}

fn check(
    path: &Path,
    functions: &FunctionFiles,
    hosts: Option<&Path>,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let hosts = hosts::read(hosts)?;
    for planned in read(path, functions, &[], &hosts::names(&hosts))? {
        print(&match global.json {
            true => format!("{}\n", stored(&planned.document)),
            false => tables::testbed_workflow(&planned.workflow),
        })?;
    }
    Ok(())
}

/// Prints a workflow for a cluster, whose hosts are others than this one.
fn export(args: &ExportArgs) -> Result<(), Failure> {
    let (document, functions) = weir_testbed::read(&args.workflow, &args.functions.function)?;
    let folder = args.workflow.parent().unwrap_or(Path::new("."));
    let workflow = Workflow::of(&document, &functions, folder)?;
    let mut contents = BTreeMap::new();
    for task in &workflow.tasks {
        if let Some(content) = task.function.content {
            let served = content::planned(task, content, Path::new(weir_testbed::TITLES))?;
            contents.insert(task.name.clone(), served);
        }
    }
    let cluster = Cluster {
        image: args.image.clone(),
        titles_claim: args.titles_claim.clone(),
        contents,
    };
    let Some(folder) = &args.nagare else {
        let (objects, left_out) = weir_testbed::kubernetes(&workflow, &cluster)?;
        say_left_out(&left_out);
        return print(&format!("{objects:#}\n"));
    };
    let documents = weir_testbed::nagare(&workflow, &cluster, &args.helper_image)?;
    say_left_out(&documents.left_out);
    documents.write(folder)?;
    print(&format!(
        "wrote workflow.json, objects.json and {} function documents to {}\n",
        documents.functions.len(),
        folder.display()
    ))
}

fn say_left_out(lines: &[String]) {
    for line in lines {
        say(&format!("weir testbed: {line}"));
    }
}

fn list_functions(files: &FunctionFiles, global: &GlobalOptions) -> Result<(), Failure> {
    let functions = Functions::with(&files.function)?;
    if global.json {
        let lines = functions
            .iter()
            .map(|function| format!("{}\n", described(function)));
        return print(&lines.collect::<String>());
    }
    print(&tables::testbed_functions(functions.iter()))
}

fn described(function: &Function) -> Value {
    let parameters = function.parameters.iter().map(
        |(name, spec)| json!({ "name": name, "description": spec.description, "default": spec.default }),
    );
    json!({
        "id": function.id,
        "description": function.description,
        "inputs": function.inputs,
        "optional_inputs": function.optional_inputs,
        "outputs": function.outputs,
        "parameters": parameters.collect::<Vec<Value>>(),
    })
}

fn need_root() -> Result<(), Failure> {
    if may_make_networks() {
        return Ok(());
    }
    Err(Failure::environment(
        "'weir testbed' makes network namespaces with names, which needs root; run it with sudo",
    ))
}

/// Runs the workflows on the hosts of a file, or on machines that are launched for them.
fn measure(args: &TestbedRunArgs, global: &GlobalOptions) -> Result<(), Failure> {
    if !args.launched.launch.is_empty() {
        return measure_on_launched(args, global);
    }
    let interrupted = flag_on_signals()?;
    let bed = Bed {
        hosts: hosts::read(args.hosts.as_deref())?,
        ..Bed::default()
    };
    let asked = Asked::read(args, &hosts::names(&bed.hosts))?;
    let measuring = Measuring::of(args, &interrupted, global)?;
    measure_all(args, &measuring, (&asked, &[bed]), &Stop::from_flag(interrupted))
}

/// Launches machines when everything else is known to be right, and removes them at the end.
fn measure_on_launched(args: &TestbedRunArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = watch_presses()?;
    let wanted = args.launched.launch.iter();
    let names: Vec<&str> = wanted.map(|wanted| wanted.name.as_str()).collect();
    let asked = Asked::read(args, &names)?;
    let is_unused = |name: &&&str| {
        let mut planned = asked.planned.iter();
        !planned.any(|planned| planned.workflow.hosts().contains(*name))
    };
    if let Some(unused) = names.iter().find(is_unused) {
        return Err(Failure::usage(format!(
            "--launch {unused}=...: no task is placed on a host of this name"
        )));
    }
    has_ssh(&args.copies.ssh)?;
    can_copy(&args.launched.machines, &args.copies)?;
    let plan = LaunchPlan::of(&args.launched)?;
    let measuring = Measuring::of(args, &presses.first, global)?;
    let stop = Stop::from_flag(presses.first.clone());
    // Titles are generated before machines cost anything.
    for planned in &asked.planned {
        measuring.setting(&args.name, &planned.workflow, &stop)?;
    }
    let launched = plan.up(&args.launched, &args.copies.ssh, &presses, global)?;
    let ended = launched.while_held(&stop, global, || {
        measure_all(args, &measuring, (&asked, &launched.beds), &stop)
    });
    // Reports the first failure; failures of removal are printed where they occur.
    ended.and(launched.remove())
}

/// The files of a command.
struct Asked {
    planned: Vec<Planned>,
    published: Option<Published>,
}

impl Asked {
    /// All workflows with all values, checked against hosts of these names, and what was published.
    fn read(args: &TestbedRunArgs, hosts: &[&str]) -> Result<Self, Failure> {
        let mut planned = Vec::new();
        for path in &args.workflows {
            planned.extend(read(path, &args.functions, &args.vary, hosts)?);
        }
        let published = args.published.as_deref().map(Published::read).transpose()?;
        Ok(Asked { planned, published })
    }
}

/// Runs each workflow on each bed, one after the other, and compares what was measured, also when one of them fails.
fn measure_all(
    args: &TestbedRunArgs,
    measuring: &Measuring<'_>,
    (Asked { planned, published }, beds): (&Asked, &[Bed]),
    stop: &Stop,
) -> Result<(), Failure> {
    let (global, published) = (measuring.global, published.as_ref());
    let mut summaries = Vec::new();
    let mut ended = Ok(());
    let order = weir_testbed::order(planned.len() * beds.len(), args.repeats.into());
    for (number, index) in order.iter().enumerate() {
        if stop.is_set() {
            break;
        }
        if order.len() > 1 && !global.quiet {
            say(&format!("weir testbed: run {} of {}", number + 1, order.len()));
        }
        let on_bed = (&planned[index / beds.len()], &beds[index % beds.len()]);
        match measuring.run(&args.name, on_bed, stop) {
            Ok(summary) => summaries.push((index, summary)),
            Err(failure) => {
                ended = Err(failure);
                break;
            }
        }
    }
    summaries.sort_by_key(|(index, _)| *index);
    let summaries: Vec<Summary> = summaries.into_iter().map(|(_, summary)| summary).collect();
    if summaries.is_empty() && ended.is_ok() {
        ended = Err(nothing_measured());
    }
    if summaries.len() > 1 && !global.json {
        let rows = weir_testbed::rows(&summaries, published);
        print(&tables::testbed_comparison(&rows))?;
    }
    if let Some(path) = args.output.as_deref().filter(|_| !summaries.is_empty()) {
        write_page(path, &weir_testbed::page(&summaries, published, &about()))?;
    }
    ended
}

/// Description of this machine and the day.
fn about() -> String {
    let facts = HostFacts::read(None);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let day = format_utc(clock::unix_ns());
    format!(
        "{cores} cores, {}, Linux {}; {}; weir {}.",
        facts.cpu,
        facts.kernel,
        day.split(' ').next().unwrap_or_default(),
        env!("CARGO_PKG_VERSION")
    )
}

fn nothing_measured() -> Failure {
    Failure::environment("interrupted before anything was measured")
}

fn write_page(path: &Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page)
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}

/// What the runs of a command have in common.
struct Measuring<'a> {
    global: &'a GlobalOptions,
    store: RunStore,
    registry: Registry,
    titles: PathBuf,
    /// What is copied to hosts, where tasks may be placed on some.
    copying: Option<Copying>,
}

impl<'a> Measuring<'a> {
    fn new(titles: &Path, copying: Option<Copying>, global: &'a GlobalOptions) -> Result<Self, Failure> {
        Ok(Measuring {
            global,
            store: RunStore::open(&global.db)?,
            registry: Registry::default(),
            titles: content::titles_folder(titles)?,
            copying,
        })
    }

    /// As the arguments say; once `interrupted`, nothing more is copied to hosts.
    fn of(
        args: &TestbedRunArgs,
        interrupted: &Arc<AtomicBool>,
        global: &'a GlobalOptions,
    ) -> Result<Self, Failure> {
        need_root()?;
        Registry::default().folder(&args.name)?;
        let copying = Copying::new(&args.copies, interrupted)?;
        Measuring::new(&args.titles_folder, Some(copying), global)
    }

    /// A run as the testbed `name`: titles, tasks, measurement, and its place in the store.
    fn run(&self, name: &str, (planned, bed): (&Planned, &Bed), stop: &Stop) -> Result<Summary, Failure> {
        let Planned {
            document,
            workflow,
            varied,
        } = planned;
        let setting = self.setting(name, workflow, stop)?;
        let parameters = json!({ "workflow": workflow.id, "document": stored(document).to_string() });
        let new = new_run(KIND, &workflow.id, &parameters, &HostFacts::read(None));
        let run = self.store.begin(&new, KIND, true)?;
        let id = run.id();
        let mut watching = Watching {
            run: &run,
            quiet: self.global.quiet,
        };
        let is_stopped = || stop.is_set();
        if !self.global.quiet && !workflow.hosts().is_empty() {
            say(&format!(
                "weir testbed: copying to {}",
                workflow.hosts().join(", ")
            ));
        }
        let others = self.copying.as_ref();
        let others = others.map(|copying| copying.to(&bed.hosts)).transpose()?;
        let mut measured = weir_testbed::run(
            workflow,
            &setting,
            others.as_ref().map(|others| others as &dyn Elsewhere),
            &self.registry,
            &is_stopped,
            &mut watching,
        );
        if let Ok(measured) = &mut measured {
            measured.summary.varied.clone_from(varied);
            measured.summary.varied.extend(bed.varied.clone());
            measured.summary.ran_on(&bed.machines);
        }
        let failure = match &measured {
            Ok(measured) => measured.failure.as_ref(),
            Err(error) => Some(error),
        };
        let end = Ended::of(&failure.map_or(Ok(()), Err), stop);
        let outcome = end.outcome();
        let summary = measured
            .as_ref()
            .map_or_else(|_| json!(null), |measured| stored(&measured.summary));
        let kept = run.finish(&end, &summary)?;
        let measured = measured?;
        for database in &measured.databases {
            self.store.store().adopt(database, id, &workflow.id)?;
        }
        let mut notes = kept.notes();
        notes.extend(remarks(&measured));
        let printed = StoredResult::new(&self.store, id, KIND, outcome, &notes);
        printed.print(self.global.json, &measured.summary, || {
            tables::testbed(&measured.summary)
        })?;
        match measured.failure {
            Some(error) if outcome != Outcome::Interrupted => Err(error.into()),
            _ => Ok(measured.summary),
        }
    }

    fn setting(&self, name: &str, workflow: &Workflow, stop: &Stop) -> Result<Setting, Failure> {
        let mut contents = BTreeMap::new();
        for task in &workflow.tasks {
            let Some(content) = task.function.content else {
                continue;
            };
            match content::prepare(task, content, &self.titles, self.global.quiet, stop)? {
                Some(served) => contents.insert(task.name.clone(), served),
                None => return Err(nothing_measured()),
            };
        }
        let weir = std::env::current_exe().map_err(|error| {
            Failure::environment(format!("cannot find the path of this program: {error}"))
        })?;
        Ok(Setting {
            name: name.to_owned(),
            weir,
            contents,
        })
    }
}

/// What to know beside the numbers.
fn remarks(measured: &Measured) -> Vec<String> {
    let summary: &Summary = &measured.summary;
    let mut notes = Vec::new();
    if summary.tasks.iter().all(|task| !task.limit) {
        notes.push(
            "no task used all of the CPU time that it has for itself: the rates are those of the workload and of round trips, not a capacity"
                .to_owned(),
        );
    }
    for task in &summary.tasks {
        if task.sink.is_some_and(|sink| sink.generator_limited) {
            notes.push(format!(
                "task {}: the generator was the limit; give it cores, or use fewer viewers",
                task.task
            ));
        }
    }
    notes.extend(
        measured
            .failure
            .as_ref()
            .map(|error| format!("the run ended early: {error}")),
    );
    notes
}

/// Stores the rows of a run, and says which tasks are ready.
struct Watching<'a> {
    run: &'a OpenRun<'a>,
    quiet: bool,
}

impl Watch for Watching<'_> {
    fn ready(&mut self, task: &str) {
        if !self.quiet {
            say(&format!("weir testbed: task {task} is ready"));
        }
    }

    fn second(&mut self, second: TaskSecond) {
        self.run.record(Record::TaskSecond(second));
    }
}

fn status(global: &GlobalOptions) -> Result<(), Failure> {
    let registry = Registry::default();
    let mut states = Vec::new();
    for name in registry.names()? {
        states.extend(registry.get(&name)?);
    }
    if global.json {
        let line = |state: &weir_testbed::TestbedState| {
            let mut line = stored(state);
            line["alive"] = json!(state.is_alive());
            format!("{line}\n")
        };
        return print(&states.iter().map(line).collect::<String>());
    }
    print(&tables::testbed_states(&states))
}

fn logs(task: &str, name: &str) -> Result<(), Failure> {
    let log = Registry::default().log(name, task)?;
    let text = std::fs::read(&log).map_err(|error| {
        Failure::usage(format!(
            "cannot read the log {}: {error}; 'weir testbed status' lists testbeds and tasks",
            log.display()
        ))
    })?;
    print(&String::from_utf8_lossy(&text))
}

fn stop(name: &str) -> Result<(), Failure> {
    let registry = Registry::default();
    match registry.get(name)?.filter(|state| state.is_alive()) {
        Some(state) => Ok(registry.stop(&state)?),
        None => Err(Failure::usage(format!(
            "no testbed '{name}' is running; 'weir testbed status' lists them"
        ))),
    }
}

fn clean(
    all: bool,
    (hosts, ssh): (Option<&Path>, &str),
    launches: Option<&Path>,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    need_root()?;
    let registry = Registry::default();
    let (mut on_hosts, mut failed) = (Vec::new(), Vec::new());
    if let Some(file) = hosts {
        // Before what is known of them is removed.
        let known = registry.parts_left(all)?;
        (on_hosts, failed) = hosts::clean(file, ssh, all, &known)?;
    }
    let cleaned = match failed.first() {
        // What is left is known until it is removed.
        Some(first) => {
            return Err(Failure::environment(format!(
                "{} hosts are not clean: {first}",
                failed.len()
            )));
        }
        None => registry.clean(all)?,
    };
    // What ran on machines that are removed needs no end.
    let launches = finish_launches(launches, global)?;
    if global.json {
        let line = json!({ "cleaned": cleaned, "on_hosts": on_hosts, "launches": launches });
        return print(&format!("{line}\n"));
    }
    print(&tables::testbed_cleaned(&cleaned, &on_hosts, &launches))
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        match error {
            TestbedError::Document(_) | TestbedError::Task { .. } | TestbedError::Taken(_) => {
                Failure::usage(error.to_string())
            }
            TestbedError::File { .. }
            | TestbedError::Store(_)
            | TestbedError::Lost { .. }
            | TestbedError::Failed(_) => Failure::environment(error.to_string()),
        }
    }
}
