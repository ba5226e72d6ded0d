//! Texts of scenarios in files, or an error that names the built-in scenarios.

use std::io::ErrorKind;
use std::path::Path;

use crate::args::GlobalOptions;
use serde_json::json;
use weir_lab::scenario_file::MOST_BYTES;
use weir_link::headline;
use weir_net::bounded_file;

use super::{Failure, print};
use crate::commands::tables;

/// The text of the file of this name, up to the maximum length of a scenario; `known` are the built-in names.
pub fn read(name: &str, known: &[&str]) -> Result<String, Failure> {
    match bounded_file::read_text(Path::new(name), MOST_BYTES as u64) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(unknown(name, known)),
        Err(error) => Err(Failure::usage(format!(
            "cannot read the scenario {name}: {error}"
        ))),
    }
}

/// Error for a name that is neither a scenario nor a file.
pub fn unknown(name: &str, known: &[&str]) -> Failure {
    Failure::usage(format!(
        "'{name}' is neither a scenario nor a file; built-in scenarios: {}",
        known.join(", ")
    ))
}

/// Prints the text of a scenario.
pub fn show(name: &str, text: &str, global: &GlobalOptions) -> Result<(), Failure> {
    if !global.json {
        return print(text);
    }
    let object = json!({ "name": name, "headline": headline(text), "toml": text });
    print(&format!("{object}\n"))
}

/// Lists scenarios by name and headline.
pub fn list<'a>(
    scenarios: impl Iterator<Item = (&'a str, &'a str)>,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let rows: Vec<(&str, &str)> = scenarios.map(|(name, text)| (name, headline(text))).collect();
    if !global.json {
        return print(&tables::profiles(&rows));
    }
    let lines = rows
        .iter()
        .map(|(name, headline)| format!("{}\n", json!({ "name": name, "headline": headline })));
    print(&lines.collect::<String>())
}
