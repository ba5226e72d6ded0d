//! Hosts other than that of the runner, as a run knows them. It must not know how they are reached.

use std::path::Path;

use crate::error::TestbedError;
use crate::host::Host;
use crate::part::Part;

/// Other hosts, by the names that a workflow has for them.
pub trait Elsewhere {
    /// Their names.
    fn names(&self) -> Vec<&str>;

    /// Identifier of the part of this run on a host: letters, digits and `-`, which no other part has.
    ///
    /// # Errors
    /// When there is no such host.
    fn id(&self, host: &str) -> Result<String, TestbedError>;

    /// What relays of this run prove to each other.
    fn secret(&self) -> &str;

    /// Name or address, and TCP port, at which a client on a host, or on that of the runner, reaches tasks of a host.
    ///
    /// # Errors
    /// When there is no such host.
    fn address(&self, server: &str, client: Option<&str>) -> Result<(String, u16), TestbedError>;

    /// Opens a host for its part; `folder` here is for the databases of its sinks.
    ///
    /// # Errors
    /// What stands in the way, in a line.
    fn open(&self, host: &str, part: Part, folder: &Path) -> Result<Box<dyn Host + '_>, TestbedError>;
}
