//! Scenarios of the pacing lab: no text may panic the reader; it refuses in one line, and an accepted scenario is within
//! the bounds of a trial.

use std::path::Path;

use crate::checks::in_a_line;
use weir_lab::pacing::Scenario;
use weir_link::profiles;

/// The input must not read the host's files: neither traces of a link, nor links that are not built in.
fn reads_files(text: &str) -> bool {
    let Ok(table) = toml::from_str::<toml::Table>(text) else {
        return false;
    };
    let Some(link) = table.get("link").and_then(toml::Value::as_table) else {
        return false;
    };
    let is_known = |name: &str| profiles().any(|(known, _)| known == name);
    let profile = link.get("profile").and_then(toml::Value::as_str);
    profile.is_some_and(|name| !is_known(name)) || format!("{link:?}").contains("trace")
}

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if reads_files(text) {
        return;
    }
    match Scenario::parse(text, "fuzz", Path::new("/nonexistent")) {
        Ok(scenario) => {
            assert_eq!(scenario.link.check(), Ok(()));
            assert!((1..=16).contains(&scenario.media.rungs.len()));
            assert!(scenario.player.buffer.0 >= scenario.media.segment.0);
            assert!((1..=50).contains(&scenario.repeats));
            assert!((1..=8).contains(&scenario.variants.len()));
            assert!((1..=16).contains(&scenario.cases.len()));
            assert!((1..=3).contains(&scenario.congestion.len()));
            assert!(scenario.cases.iter().all(|case| !case.figures.is_empty()));
        }
        Err(error) => in_a_line(error, 4_000),
    }
}
