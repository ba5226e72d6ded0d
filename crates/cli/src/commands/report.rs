//! `weir report`: runs as one HTML file that opens anywhere.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::args::{GlobalOptions, ReportArgs};
use crate::units::format_bytes;
use serde_json::json;
use weir_net::clock;
use weir_report::{PAGE, ReportData, ReportError, report_data, write_page};
use weir_results::{RunId, Store};
use weir_simulate::BY_TRIAL;

use super::output::{print, say};
use super::progress::Waiting;
use super::run_store::find;
use super::{Failure, browser, new_file};

/// Reads the runs, writes the file and says where it is.
pub fn run(args: &ReportArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let store = Store::open_read_only(&global.db)?;
    let runs = args
        .runs
        .iter()
        .map(|name| find(&store, *name))
        .collect::<Result<Vec<RunId>, Failure>>()?;
    let path = args.output.clone().unwrap_or_else(|| default_name(&runs));
    new_file::check(&path, store.path(), args.force)?;
    let waiting = Waiting::new("reading the runs and writing the report", global.quiet);
    let data = report_data(&store, &runs, clock::unix_ns(), &BY_TRIAL)?;
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
    new_file::check(path, store.path(), force)?;
    let data = report_data(store, runs, clock::unix_ns(), &BY_TRIAL)?;
    write(path, &data, force)
}

fn write(path: &Path, data: &ReportData, force: bool) -> Result<u64, Failure> {
    new_file::write(path, force, |file| {
        write_page(PAGE, data, BufWriter::new(file)).map_err(|error| match error {
            ReportError::Write(error) => new_file::failed(path, &error),
            other => other.into(),
        })
    })
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
