//! Values of the placeholders of a task: its parameters, its servers, its manifest, its places for files. It must not know how
//! tasks are run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::function::{PORT, fill};
use crate::workflow::Workflow;

/// What a task with content of its own serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The folder.
    pub folder: PathBuf,
    /// Path of the manifest, as clients request it.
    pub manifest: String,
    /// The folder is on the host of the task, wherever that is; else on that of the runner, from which it is copied.
    pub is_on_host: bool,
}

/// What is the same for all tasks of a workflow.
pub(crate) struct Filling<'a> {
    pub workflow: &'a Workflow,
    /// Content by the name of the task that serves it.
    pub contents: &'a BTreeMap<String, Served>,
    /// The `weir` binary.
    pub weir: &'a Path,
}

/// Places of a task for what it writes.
pub(crate) struct Own<'a> {
    pub folder: &'a Path,
    pub database: &'a Path,
}

impl Filling<'_> {
    /// Values of the placeholders of a task; `authority` is host and port of the server at a connection.
    pub fn values(
        &self,
        index: usize,
        own: &Own<'_>,
        authority: impl Fn(usize) -> String,
    ) -> BTreeMap<String, String> {
        let task = &self.workflow.tasks[index];
        let mut values = task.parameters.clone();
        for (number, connection) in self.workflow.inputs(index) {
            let (port, authority) = (&connection.input, authority(number));
            values.insert(format!("upstream.{port}"), format!("http://{authority}"));
            values.insert(format!("upstream-authority.{port}"), authority);
        }
        let first = self.workflow.first_input(index);
        if let Some((number, _)) = first {
            values.insert("upstream".to_owned(), format!("http://{}", authority(number)));
            values.insert("upstream-authority".to_owned(), authority(number));
        }
        let content = self.contents.get(&task.name);
        let content = content.map(|served| served.folder.display().to_string());
        let server = first.map_or(index, |(_, connection)| connection.from);
        let filled = [
            ("port", PORT.to_string()),
            ("dir", own.folder.display().to_string()),
            ("weir", self.weir.display().to_string()),
            ("threads", task.threads().to_string()),
            ("content", content.unwrap_or_default()),
            ("manifest", self.manifest(server)),
            ("database", own.database.display().to_string()),
        ];
        values.extend(filled.map(|(name, value)| (name.to_owned(), value)));
        values
    }

    /// Path of the manifest on a task.
    fn manifest(&self, index: usize) -> String {
        let task = &self.workflow.tasks[index];
        let below = match self.workflow.first_input(index) {
            Some((_, connection)) => self.manifest(connection.from),
            None => {
                let served = self.contents.get(&task.name);
                served.map(|served| served.manifest.clone()).unwrap_or_default()
            }
        };
        match &task.function.manifest {
            Some(path) => {
                let mut values = task.parameters.clone();
                values.insert("manifest".to_owned(), below);
                fill(path, &values).trim_start_matches('/').to_owned()
            }
            None => below,
        }
    }
}
