//! What a run needs besides its workflow. It must not know hosts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::filling::Served;

/// What a run needs besides its workflow.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the testbed.
    pub name: String,
    /// The `weir` binary.
    pub weir: PathBuf,
    /// Content by the name of the task that serves it.
    pub contents: BTreeMap<String, Served>,
}
