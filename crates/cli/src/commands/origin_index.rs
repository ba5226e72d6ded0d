//! `weir origin index`: builds the indexes of titles in advance.

use crate::args::{GlobalOptions, IndexArgs};
use crate::units::format_bytes;
use serde_json::json;
use weir_measure::Stop;
use weir_origin::{AheadSettings, Indexed, IndexedFile, KeepIndexes, ObjectPath, index_ahead};

use super::origin_storage::{access, patience};
use super::output::{print, say};
use super::progress::LiveLine;
use super::{Failure, Status};

/// Maximum size of a folder of indexes, in bytes: about ten thousand long films.
const FOLDER_BYTES: u64 = 10 << 30;

/// Progress so far.
#[derive(Default)]
struct Counts {
    built: u64,
    there: u64,
    failed: u64,
    total: usize,
}

/// Builds all indexes, or until interrupted.
pub fn run(args: &IndexArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let titles = args.titles.iter().map(|title| {
        let plain = title.trim_matches('/');
        ObjectPath::new(plain).map_err(|error| Failure::usage(format!("'{title}' is not a title: {error}")))
    });
    let titles = titles.collect::<Result<Vec<_>, _>>()?;
    let settings = AheadSettings {
        place: args.place.clone(),
        access: access(&args.storage),
        patience: patience(&args.storage),
        keep: match &args.output {
            Some(folder) => KeepIndexes::Folder(folder.clone(), FOLDER_BYTES),
            None => KeepIndexes::Beside,
        },
    };
    let line = LiveLine::new("weir origin index:", global.quiet);
    let mut counts = Counts::default();
    let mut printed = Ok(());
    let told = |indexed: &Indexed| {
        counts.take(indexed);
        line.show(&format!("{} of {}", indexed.done, indexed.total));
        let told = tell(indexed, global, &line);
        if printed.is_ok() {
            printed = told;
        }
    };
    index_ahead(&settings, &titles, || stop.is_set(), told)?;
    drop(line);
    printed?;
    counts.finish(stop.is_set(), global)
}

/// One line per file: with --json for all files, otherwise for built and failed ones.
fn tell(indexed: &Indexed, global: &GlobalOptions, line: &LiveLine) -> Result<(), Failure> {
    let path = indexed.path.as_str();
    if global.json {
        let told = match &indexed.outcome {
            Ok(file) => json!({
                "file": path,
                "state": if file.built { "built" } else { "there" },
                "tracks": file.tracks,
                "samples": file.samples,
                "bytes": file.bytes,
                "error": null,
            }),
            Err(error) => json!({
                "file": path,
                "state": "failed",
                "tracks": 0,
                "samples": 0,
                "bytes": 0,
                "error": error.to_string(),
            }),
        };
        return print(&format!("{told}\n"));
    }
    match &indexed.outcome {
        Ok(IndexedFile {
            built: true,
            tracks,
            samples,
            bytes,
        }) => print(&format!(
            "{path}: {tracks} tracks, {samples} samples, {}\n",
            format_bytes(*bytes)
        )),
        Ok(_) => Ok(()),
        Err(error) => {
            line.say(&error.to_string());
            Ok(())
        }
    }
}

impl Counts {
    fn take(&mut self, indexed: &Indexed) {
        self.total = indexed.total;
        match &indexed.outcome {
            Ok(file) if file.built => self.built += 1,
            Ok(_) => self.there += 1,
            Err(_) => self.failed += 1,
        }
    }

    fn finish(&self, interrupted: bool, global: &GlobalOptions) -> Result<(), Failure> {
        let Counts {
            built,
            there,
            failed,
            total,
        } = self;
        if !global.quiet && !global.json {
            say(&format!(
                "weir origin index: {built} built, {there} up to date, {failed} failed"
            ));
        }
        if *failed > 0 {
            return Err(Failure {
                status: Status::Environment,
                message: format!("{failed} of {total} files could not be indexed, for the reasons above"),
            });
        }
        if *total == 0 {
            return Err(Failure::environment("no media files in the storage"));
        }
        if interrupted {
            return Err(Failure::environment(
                "interrupted; run the command again to continue",
            ));
        }
        Ok(())
    }
}
