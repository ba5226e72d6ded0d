//! `weir report`: runs as one HTML file that opens anywhere.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::args::{GlobalOptions, ReportArgs};
use crate::units::format_bytes;
use serde_json::json;
use weir_net::clock;
use weir_report::{PAGE, ReportData, ReportError, report_data, write_page};
use weir_results::{RunId, Store};

use super::output::{print, say};
use super::progress::Waiting;
use super::run_store::find;
use super::runs::is_same_file;
use super::{Failure, browser};

/// Reads the runs, writes the file and says where it is.
pub fn run(args: &ReportArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let runs = args
        .runs
        .iter()
        .map(|name| find(&store, *name))
        .collect::<Result<Vec<RunId>, Failure>>()?;
    let path = args.output.clone().unwrap_or_else(|| default_name(&runs));
    check(&store, &path, args.force)?;
    let waiting = Waiting::new("reading the runs and writing the report", global.quiet);
    let data = report_data(&store, &runs, clock::unix_ns())?;
    let bytes = write(&path, &data, args.force)?;
    drop(waiting);
    if global.json {
        let runs: Vec<RunId> = data.runs.iter().map(|run| run.run.id).collect();
        let object = json!({ "path": path.display().to_string(), "bytes": bytes, "runs": runs });
        print(&format!("{object}\n"))?;
    } else {
        print(&format!("{}, {}\n", path.display(), format_bytes(bytes)))?;
    }
    if args.open {
        open(&path);
    }
    Ok(())
}

/// The runs in the name of the file; of many, the first.
fn default_name(runs: &[RunId]) -> PathBuf {
    let numbers: Vec<String> = runs.iter().take(4).map(ToString::to_string).collect();
    let more = if runs.len() > 4 { "-and-more" } else { "" };
    let plural = if runs.len() > 1 { "runs" } else { "run" };
    PathBuf::from(format!("weir-{plural}-{}{more}.html", numbers.join("-")))
}

/// Writes the report of these runs to `path` and returns its size. A file that is there is replaced only by `force`.
pub fn write_runs(store: &Store, runs: &[RunId], path: &Path, force: bool) -> Result<u64, Failure> {
    check(store, path, force)?;
    let data = report_data(store, runs, clock::unix_ns())?;
    write(path, &data, force)
}

/// Before the work, so that nobody waits for a refusal; and again when the file is put in its place.
fn check(store: &Store, path: &Path, force: bool) -> Result<(), Failure> {
    if is_same_file(path, store.path()) {
        return Err(Failure::usage(format!(
            "{} is the results store itself; name another file",
            path.display()
        )));
    }
    if !force && path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    Ok(())
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} exists; give --force to replace it, or another name",
        path.display()
    ))
}

/// Writes beside the file and then puts it in its place, so that nobody ever sees half a report. Returns its size.
fn write(path: &Path, data: &ReportData, force: bool) -> Result<u64, Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!(
            "cannot write {}: {error}; check that its directory exists, and its free space",
            path.display()
        ))
    };
    let name = path.file_name().ok_or_else(|| {
        Failure::usage(format!(
            "{} names no file; write a name such as report.html",
            path.display()
        ))
    })?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    let unfinished = path.with_file_name(hidden);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unfinished)
        .map_err(failed)?;
    let filled = fill(&file, data).map_err(|error| match error {
        ReportError::Write(error) => failed(error),
        other => other.into(),
    });
    let done = filled.and_then(|bytes| {
        let placed = if force {
            std::fs::rename(&unfinished, path)
        } else {
            // Unlike renaming, this fails if there is a file by now.
            std::fs::hard_link(&unfinished, path)
        };
        match placed {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
            // Not all file systems know links.
            Err(_) if !force => std::fs::rename(&unfinished, path).map_err(failed).map(|()| bytes),
            Err(error) => Err(failed(error)),
        }
    });
    // After a rename there is nothing left to remove.
    let _ = std::fs::remove_file(&unfinished);
    done
}

fn fill(file: &File, data: &ReportData) -> Result<u64, ReportError> {
    write_page(PAGE, data, BufWriter::new(file))?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Hands the file to the desktop's browser and does not wait for it. That there is none is worth a line, no failure:
/// the report is there.
fn open(path: &Path) {
    if let Err(error) = browser::open(path) {
        say(&format!(
            "weir: cannot open the report with {}: {error}; open {} by hand",
            browser::OPENER,
            path.display()
        ));
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Store(error) => error.into(),
            other => Failure::environment(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_their_runs() {
        let name = |runs: &[i64]| {
            let runs: Vec<RunId> = runs.iter().copied().map(RunId).collect();
            default_name(&runs).display().to_string()
        };
        assert_eq!(name(&[12]), "weir-run-12.html");
        assert_eq!(name(&[12, 15]), "weir-runs-12-15.html");
        assert_eq!(name(&[1, 2, 3, 4, 5]), "weir-runs-1-2-3-4-and-more.html");
    }
}
