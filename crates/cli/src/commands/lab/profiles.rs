//! `weir lab profiles`: the built-in link profiles.

use crate::args::GlobalOptions;
use serde_json::json;
use weir_link::{Profile, describe, headline, profiles};

use super::{Failure, print};
use crate::commands::tables;

/// Lists the profiles, or prints the text of one.
pub fn run(show: Option<&str>, global: &GlobalOptions) -> Result<(), Failure> {
    match show {
        Some(name) => show_one(name, global),
        None => list(global),
    }
}

fn list(global: &GlobalOptions) -> Result<(), Failure> {
    if global.json {
        let lines: Vec<String> = profiles()
            .map(|(name, text)| format!("{}\n", json!({ "name": name, "headline": headline(text) })))
            .collect();
        return print(&lines.concat());
    }
    let rows: Vec<(&str, &str)> = profiles().map(|(name, text)| (name, headline(text))).collect();
    print(&tables::profiles(&rows))
}

fn show_one(name: &str, global: &GlobalOptions) -> Result<(), Failure> {
    let Some((name, text)) = profiles().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = profiles().map(|(name, _)| name).collect();
        return Err(Failure::usage(format!(
            "unknown profile '{name}'; use one of {}",
            known.join(", ")
        )));
    };
    if !global.json {
        return print(text);
    }
    let spec = Profile::open(name)?.spec()?;
    let object = json!({
        "name": name,
        "headline": headline(text),
        "toml": text,
        "in_words": describe(&spec),
        "spec": spec,
    });
    print(&format!("{object}\n"))
}
