//! Why there is no testbed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a workflow cannot be read, or a testbed cannot be or go on. Each prints as one line.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// The workflow or function document is not one.
    #[error("{0}")]
    Document(String),
    /// A key of a task that cannot be.
    #[error("task {task}: {key}: {problem}")]
    Task {
        /// The task.
        task: String,
        /// The key.
        key: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The state of a testbed.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// What was tried.
        operation: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another run has the name.
    #[error("the testbed '{0}' is running; choose another --name, or end it with 'weir testbed stop {0}'")]
    Taken(String),
    /// A host went away.
    #[error(
        "host {host} is lost: {problem}; 'weir testbed clean --hosts FILE' removes what it may have left"
    )]
    Lost {
        /// Its name.
        host: String,
        /// What shows it.
        problem: String,
    },
    /// What a sink stored cannot be read.
    #[error(transparent)]
    Store(#[from] weir_results::StoreError),
    /// A namespace, a link, a process.
    #[error("{0}")]
    Failed(String),
}

impl TestbedError {
    /// A key of a task.
    pub(crate) fn task(task: &str, key: &str, problem: impl Into<String>) -> Self {
        TestbedError::Task {
            task: one_line(task),
            key: one_line(key),
            problem: one_line(&problem.into()),
        }
    }

    /// A file.
    pub(crate) fn file(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| TestbedError::File {
            operation,
            path,
            source,
        }
    }

    /// What a TOML parser says, with the line.
    pub(crate) fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().get(..start).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        TestbedError::Document(format!("line {line}: {}", one_line(error.message())))
    }
}

/// What a file says may be long, and have what plays tricks on a terminal.
pub(crate) fn one_line(text: &str) -> String {
    const MOST: usize = 600;
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let plain: String = plain.take(MOST).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
