//! The forms in which documents are written: JSON, YAML and TOML. It must not know what a document means.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{TestbedError, one_line};

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    Json,
    /// YAML, with aliases counted.
    Yaml,
    /// TOML.
    Toml,
}

impl Form {
    /// By the end of a file's name; a workflow description document of others may end in `.wdd`. Others are TOML.
    pub fn of(path: &Path) -> Self {
        let end = path.extension().and_then(|end| end.to_str());
        match end {
            Some("json" | "wdd") => Form::Json,
            Some("yaml" | "yml") => Form::Yaml,
            _ => Form::Toml,
        }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn parse<T: DeserializeOwned>(self, text: &str) -> Result<T, TestbedError> {
        let said = |error: &dyn std::fmt::Display| TestbedError::Document(one_line(&error.to_string()));
        match self {
            Form::Json => serde_json::from_str(text).map_err(|error| said(&error)),
            Form::Yaml => {
                let node = weir_yaml::read(text).map_err(|error| said(&error))?;
                serde_json::from_value(node.json()).map_err(|error| said(&error))
            }
            Form::Toml => toml::from_str(text).map_err(|error| TestbedError::of_toml(text, &error)),
        }
    }
}
