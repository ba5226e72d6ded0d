//! `weir runs`: what the database holds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::args::{ExportForm, ExportRun, GlobalOptions, ListRuns, RunIn, RunName, RunsCommand};
use serde_json::json;
use weir_diagnose::{DiagnoseError, Diagnosis, Options};
use weir_measure::flows::FlowsSummary;
use weir_net::clock;
use weir_report::report_data;
use weir_results::{Outcome, Run, RunFilter, RunId, RunVerdict, Store, StoreError, Table, UnknownTable};
use weir_simulate::BY_TRIAL;

use super::lab::households;
use super::output::{print, say};
use super::progress::Waiting;
use super::run_store::find;
use super::{Failure, tables};

/// Runs one of the subcommands.
pub fn run(command: &RunsCommand, global: &GlobalOptions) -> Result<(), Failure> {
    match command {
        RunsCommand::List(args) => list(args, global),
        RunsCommand::Show { run } => show(*run, global),
        RunsCommand::Export(args) => export(args, global),
        RunsCommand::Note { run, text } => note(*run, text, global),
        RunsCommand::Tag { run, add, remove } => tag(*run, add, remove, global),
        RunsCommand::Merge { runs } => merge(runs, global),
        RunsCommand::Delete { runs } => delete(runs, global),
    }
}

/// Merges runs of the kind of the first one; each kind refuses others.
fn merge(names: &[RunIn], global: &GlobalOptions) -> Result<(), Failure> {
    let Some(first) = names.first() else {
        return Err(Failure::usage("name the runs to merge"));
    };
    let store = Store::open_read_only(first.database.as_deref().unwrap_or(&global.db))?;
    match store.run(find(&store, first.run)?)?.kind.as_str() {
        kind if households::is_kind(kind) => households::merge(names, global),
        "watch" => super::watch::merge(names, global),
        _ => super::load::merge(names, global),
    }
}

fn list(args: &ListRuns, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let filter = RunFilter {
        kinds: args.kind.iter().cloned().collect(),
        limit: args.limit().map(|limit| limit as usize),
        top_level: !args.parts && !kind_of_steps(args.kind.as_deref()),
        ..RunFilter::default()
    };
    let runs = store.runs(&filter)?;
    if runs.is_empty()
        && let Some(kind) = &args.kind
    {
        say(&no_run_of(kind, &store)?);
    }
    let waiting = Waiting::new("diagnosing runs", global.quiet);
    let listed = runs
        .into_iter()
        .map(|run| Ok((weir_diagnose::verdict(&store, run.id)?, run)))
        .collect::<Result<Vec<(Option<RunVerdict>, Run)>, StoreError>>()?;
    drop(waiting);
    if global.json {
        let line = |(verdict, run): &(Option<RunVerdict>, Run)| {
            let mut object = super::run_store::json(run);
            object["verdict"] = super::run_store::json(verdict);
            format!("{object}\n")
        };
        return print(&listed.iter().map(line).collect::<String>());
    }
    print(&tables::runs(&listed))
}

/// Names the kinds that there are, where somebody asked for another.
fn no_run_of(kind: &str, store: &Store) -> Result<String, Failure> {
    let kinds = store.kinds()?;
    let there = if kinds.is_empty() {
        "no runs yet".to_owned()
    } else {
        format!("runs of kind {}", kinds.join(", "))
    };
    Ok(format!(
        "weir: no run of kind '{kind}'; {} has {there}",
        store.path().display()
    ))
}

/// Kinds of which there are steps only, so that whoever asks for one wants steps.
fn kind_of_steps(kind: Option<&str>) -> bool {
    matches!(kind, Some("mtu" | "tcp"))
}

fn show(name: RunName, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let id = find(&store, name)?;
    let run = store.run(id)?;
    let counts = store.counts(id)?;
    if global.json {
        let mut object = super::run_store::json(&run);
        let rows: serde_json::Map<String, serde_json::Value> = counts
            .iter()
            .map(|(table, count)| (table.name().to_owned(), (*count).into()))
            .collect();
        object["rows"] = rows.into();
        object["verdict"] = super::run_store::json(&weir_diagnose::verdict(&store, id)?);
        let diagnosis = diagnosis(&store, &run)?;
        object["answer"] = super::run_store::json(&diagnosis.map(|diagnosis| diagnosis.answer));
        return print(&format!("{object}\n"));
    }
    if global.quiet {
        return print(&tables::run(&run, &counts, ""));
    }
    let waiting = Waiting::new("reading the run", global.quiet);
    let diagnosis = diagnosis(&store, &run)?;
    let mut histograms = histograms(&store, &run)?;
    drop(waiting);
    let details = global.verbose > 0;
    let head = diagnosis.as_ref().map_or(String::new(), |diagnosis| {
        format!("{}\n", tables::answer_and_findings(diagnosis, details))
    });
    if let Some(diagnosis) = diagnosis.filter(|_| details) {
        histograms.push_str(&tables::evidence(&diagnosis));
    }
    print(&format!("{head}{}", tables::run(&run, &counts, &histograms)))
}

/// The diagnosis of a run; none for one that is being recorded, and for one that cannot be diagnosed.
fn diagnosis(store: &Store, run: &Run) -> Result<Option<Diagnosis>, Failure> {
    if run.outcome == Outcome::Running {
        return Ok(None);
    }
    match weir_diagnose::load(store, run.id) {
        Ok(measured) => Ok(Some(weir_simulate::diagnose_by_trial(
            &measured,
            &Options::default(),
        ))),
        Err(DiagnoseError::Store(error)) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// The histograms of a run; empty for a kind that has none.
fn histograms(store: &Store, run: &Run) -> Result<String, Failure> {
    let mut text = String::new();
    match run.kind.as_str() {
        "rtt" => text.push_str(&super::rtt::histogram(store, run.id)?),
        "flows" => {
            // A summary of another version has no histogram, and is shown as it is.
            if let Ok(summary) = serde_json::from_value::<FlowsSummary>(run.summary.clone()) {
                text.push_str(&tables::burst_histograms(&summary, tables::width()));
            }
        }
        _ => {}
    }
    Ok(text)
}

fn export(args: &ExportRun, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let id = find(&store, args.run)?;
    let table = args.table.as_deref().map(parse_table).transpose()?;
    match &args.output {
        Some(path) => {
            if is_same_file(path, store.path()) {
                return Err(Failure::usage(format!(
                    "-o {} is the results store itself; name another file",
                    path.display()
                )));
            }
            // A run that does not exist must not cost the file that stands there.
            store.run(id)?;
            let failed =
                |error: io::Error| Failure::environment(format!("cannot write {}: {error}", path.display()));
            let mut out = BufWriter::new(File::create(path).map_err(failed)?);
            let _waiting = Waiting::new("exporting the run", global.quiet);
            write(&store, id, args.form, table, &mut out)
                .map_err(|error| error.into_failure(&path.display().to_string()))?;
            out.flush().map_err(failed)
        }
        None => match write(&store, id, args.form, table, BufWriter::new(io::stdout().lock())) {
            // Whoever read the output has seen enough.
            Err(Unwritten::Out(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error.into_failure("standard output")),
            Ok(()) => Ok(()),
        },
    }
}

/// Whether two paths name one file that exists.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        std::fs::metadata(path)
            .ok()
            .map(|found| (found.dev(), found.ino()))
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

fn parse_table(name: &str) -> Result<Table, Failure> {
    name.parse()
        .map_err(|error: UnknownTable| Failure::usage(error.to_string()))
}

/// Why an export stopped.
enum Unwritten {
    /// The destination does not take it.
    Out(io::Error),
    /// The run cannot be read.
    Run(Failure),
}

impl Unwritten {
    fn into_failure(self, destination: &str) -> Failure {
        match self {
            Unwritten::Out(error) => Failure::environment(format!(
                "cannot write the export to {destination}: {error}; check the destination and its free space"
            )),
            Unwritten::Run(failure) => failure,
        }
    }
}

impl From<StoreError> for Unwritten {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Export { source, .. } => Unwritten::Out(source),
            other => Unwritten::Run(other.into()),
        }
    }
}

fn write(
    store: &Store,
    run: RunId,
    form: ExportForm,
    table: Option<Table>,
    mut out: impl Write,
) -> Result<(), Unwritten> {
    match (form, table) {
        (ExportForm::Csv, Some(table)) => Ok(store.export_csv(run, table, out)?),
        (ExportForm::Json, _) => {
            let data = report_data(store, &[run], clock::unix_ns(), &BY_TRIAL)
                .map_err(|error| Unwritten::Run(error.into()))?;
            serde_json::to_writer(&mut out, &data)
                .map_err(io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .and_then(|()| out.flush())
                .map_err(Unwritten::Out)
        }
        _ => Ok(store.export_json(run, out)?),
    }
}

fn note(name: RunName, text: &str, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_existing(&global.db)?;
    let run = find(&store, name)?;
    store.set_note(run, text).map_err(of_note)?;
    if global.json {
        return print(&format!("{}\n", json!({ "run_id": run, "note": text })));
    }
    if global.quiet {
        return Ok(());
    }
    let done = if text.is_empty() {
        "note removed from"
    } else {
        "note written on"
    };
    print(&format!("{done} run {run}\n"))
}

fn tag(name: RunName, add: &[String], remove: &[String], global: &GlobalOptions) -> Result<(), Failure> {
    let changes = !add.is_empty() || !remove.is_empty();
    let store = if changes {
        Store::open_existing(&global.db)?
    } else {
        Store::open_read_only(&global.db)?
    };
    let run = find(&store, name)?;
    let mut tags = store.run(run)?.tags;
    if changes {
        tags.retain(|known| !remove.contains(known));
        for tag in add {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        store.set_tags(run, &tags).map_err(of_note)?;
    }
    if global.json {
        return print(&format!("{}\n", json!({ "run_id": run, "tags": tags })));
    }
    if global.quiet && changes {
        return Ok(());
    }
    let shown = if tags.is_empty() {
        "no tags".to_owned()
    } else {
        tags.join(" ")
    };
    print(&format!("run {run}: {shown}\n"))
}

/// A note or tag that does not fit is the user's to change.
fn of_note(error: StoreError) -> Failure {
    match error {
        StoreError::BadNote { .. } => Failure::usage(error.to_string()),
        other => other.into(),
    }
}

fn delete(names: &[RunName], global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_existing(&global.db)?;
    let ids = names
        .iter()
        .map(|name| find(&store, *name))
        .collect::<Result<Vec<RunId>, Failure>>()?;
    let waiting = Waiting::new("deleting rows", global.quiet);
    store.delete_runs(&ids)?;
    drop(waiting);
    if global.quiet {
        return Ok(());
    }
    let deleted: Vec<String> = ids.iter().map(ToString::to_string).collect();
    if global.json {
        return print(&format!("{}\n", serde_json::json!({ "deleted": ids })));
    }
    print(&format!(
        "deleted run {} from {}\n",
        deleted.join(", "),
        Path::new(&global.db).display()
    ))
}
