//! Single values of `watch.toml`, and what is wrong with one. It must not know the form of the file.

use std::fmt::Display;
use std::str::FromStr;

use weir_units::TimeSpan;

use super::{ConfigError, Host};

pub(super) fn wrong<T>(what: impl Display) -> Result<T, ConfigError> {
    Err(ConfigError(what.to_string()))
}

pub(super) fn position(hosts: &[Host], key: &str, name: &str) -> Result<usize, ConfigError> {
    let found = hosts.iter().position(|host| host.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = hosts.iter().take(20).map(|host| host.name.as_str()).collect();
        ConfigError(format!(
            "{key}: no [[host]] is named '{name}'; the names are {}",
            known.join(", ")
        ))
    })
}

pub(super) fn positive(key: &str, text: &str) -> Result<TimeSpan, ConfigError> {
    TimeSpan::positive(text).map_err(|error| ConfigError(format!("{key}: {error}")))
}

pub(super) fn value<T: FromStr<Err: Display>>(key: &str, text: &str) -> Result<T, ConfigError> {
    text.parse()
        .map_err(|error| ConfigError(format!("{key}: {error}")))
}
