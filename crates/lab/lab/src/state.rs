//! Links that outlive the command that made them: what is known of each is a file in `/run/weir/lab`, and its hosts
//! have names under `/run/netns`, where `ip netns exec` finds them. A file whose process is gone is what a crash has
//! left. It knows files and processes, not how a link works.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weir_link::LinkSpec;
use weir_net::namespace::NetworkNamespace;
use weir_net::process::{self, ProcessHandle};

use crate::account::Account;
use crate::hosts::{FAR_IPV4, FAR_IPV6, Host, NEAR_IPV4, NEAR_IPV6};

/// Longest name of a link.
const LONGEST_NAME: usize = 32;
/// What is longer is no state of ours.
const MOST_STATE_BYTES: u64 = 64 << 20;

/// Name of a link: letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LinkName(String);

/// A name that no link can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{0}' cannot be the name of a link: it takes 1 to 32 letters, digits, '-' and '_', and begins with no '-'"
)]
pub struct LinkNameError(String);

impl FromStr for LinkName {
    type Err = LinkNameError;

    fn from_str(text: &str) -> Result<Self, LinkNameError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let good =
            (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('-');
        if good {
            Ok(LinkName(text.to_owned()))
        } else {
            Err(LinkNameError(text.chars().take(2 * LONGEST_NAME).collect()))
        }
    }
}

impl TryFrom<String> for LinkName {
    type Error = LinkNameError;

    fn try_from(text: String) -> Result<Self, LinkNameError> {
        text.parse()
    }
}

impl From<LinkName> for String {
    fn from(name: LinkName) -> String {
        name.0
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl LinkName {
    /// Name of a host's namespace, as `ip netns` takes it.
    pub fn namespace(&self, host: Host) -> String {
        format!("weir-{self}-{}", host.name())
    }
}

/// Where a host is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// Its namespace, as `ip netns` takes it.
    pub namespace: String,
    /// Its IPv4 address on the link.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address on the link.
    pub ipv6: Ipv6Addr,
}

/// All that is known of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkState {
    /// Its name.
    pub name: LinkName,
    /// The process that carries it.
    pub pid: u32,
    /// When that process began, in clock ticks since the host did.
    pub start_ticks: u64,
    /// When the link came up.
    pub started_unix_ns: u64,
    /// When this was written.
    pub updated_unix_ns: u64,
    /// The near host.
    pub near: HostState,
    /// The far host.
    pub far: HostState,
    /// What it does.
    pub spec: LinkSpec,
    /// What it has done, to the last second.
    pub account: Account,
}

impl LinkState {
    /// Of a link that this process is about to carry.
    pub(crate) fn of_this_process(name: LinkName, spec: LinkSpec, now_unix_ns: u64) -> Self {
        let pid = std::process::id();
        let host = |host: Host, ipv4, ipv6| HostState {
            namespace: name.namespace(host),
            ipv4,
            ipv6,
        };
        LinkState {
            pid,
            start_ticks: process::own_start_ticks().unwrap_or(0),
            started_unix_ns: now_unix_ns,
            updated_unix_ns: now_unix_ns,
            near: host(Host::Near, NEAR_IPV4, NEAR_IPV6),
            far: host(Host::Far, FAR_IPV4, FAR_IPV6),
            name,
            spec,
            account: Account::default(),
        }
    }

    /// Its process still runs.
    pub fn is_alive(&self) -> bool {
        process::start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// What could not be done with a link's state.
#[derive(Debug, Error)]
pub enum StateError {
    /// A file or folder.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// What was tried.
        operation: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is one of this name.
    #[error("there is a link '{0}' already; choose another --name, or end it with 'weir lab link down {0}'")]
    Taken(LinkName),
    /// Its process does not end.
    #[error("process {pid} of the link '{name}' does not end")]
    Stuck {
        /// The link.
        name: LinkName,
        /// Its process.
        pid: u32,
    },
}

/// The places where links leave their traces.
#[derive(Clone, Debug)]
pub struct Registry {
    states: PathBuf,
    namespaces: PathBuf,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            states: PathBuf::from("/run/weir/lab"),
            namespaces: PathBuf::from("/run/netns"),
        }
    }
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::File {
        operation,
        path,
        source,
    }
}

impl Registry {
    fn state_file(&self, name: &LinkName) -> PathBuf {
        self.states.join(format!("{name}.json"))
    }

    /// The file that names a host's namespace.
    pub fn namespace_file(&self, name: &LinkName, host: Host) -> PathBuf {
        self.namespaces.join(name.namespace(host))
    }

    /// What is known of a link; none when there is no such link. A file that says nothing sensible counts as what a
    /// crash has left, and is none either.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, name: &LinkName) -> Result<Option<LinkState>, StateError> {
        let path = self.state_file(name);
        let found = match fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("look at", &path)(error)),
        };
        if found.len() > MOST_STATE_BYTES {
            return Ok(None);
        }
        let text = fs::read(&path).map_err(failed("read", &path))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Names of all links that have left a file, in order.
    ///
    /// # Errors
    /// When the folder cannot be read; one that is not there holds none.
    pub fn names(&self) -> Result<Vec<LinkName>, StateError> {
        let entries = match fs::read_dir(&self.states) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read the folder", &self.states)(error)),
        };
        let mut names: Vec<LinkName> = entries
            .filter_map(|entry| {
                entry
                    .ok()?
                    .file_name()
                    .to_str()?
                    .strip_suffix(".json")?
                    .parse()
                    .ok()
            })
            .collect();
        names.sort();
        Ok(names)
    }

    /// Takes the state's name for it, unless another link has it.
    pub(crate) fn claim(&self, state: &LinkState) -> Result<(), StateError> {
        fs::create_dir_all(&self.states).map_err(failed("make the folder", &self.states))?;
        let (path, draft) = (self.state_file(&state.name), self.draft(state));
        self.write_draft(state, &draft)?;
        // Whole from the first moment, and only if there is none.
        let linked = fs::hard_link(&draft, &path);
        let _ = fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StateError::Taken(state.name.clone()))
            }
            other => other.map_err(failed("write", &path)),
        }
    }

    /// Replaces the state of a claimed name in one step.
    pub(crate) fn update(&self, state: &LinkState) -> Result<(), StateError> {
        let (path, draft) = (self.state_file(&state.name), self.draft(state));
        self.write_draft(state, &draft)?;
        fs::rename(&draft, &path).map_err(failed("write", &path))
    }

    fn draft(&self, state: &LinkState) -> PathBuf {
        self.states.join(format!(".{}.{}", state.name, state.pid))
    }

    fn write_draft(&self, state: &LinkState, draft: &Path) -> Result<(), StateError> {
        let text = serde_json::to_vec(state).map_err(|error| failed("write", draft)(error.into()))?;
        fs::write(draft, text).map_err(failed("write", draft))
    }

    /// Removes all that a link leaves: the names of its hosts and its file. Its process must have ended.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn remove(&self, name: &LinkName) -> Result<(), StateError> {
        for host in [Host::Near, Host::Far] {
            let path = self.namespace_file(name, host);
            NetworkNamespace::detach_name(&path).map_err(failed("remove the namespace", &path))?;
        }
        let path = self.state_file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Ends a link and removes all of it.
    ///
    /// # Errors
    /// When its process does not end, or something cannot be removed.
    pub fn end(&self, state: &LinkState) -> Result<(), StateError> {
        const PATIENCE_MS: u32 = 10_000;
        if let Ok(handle) = ProcessHandle::of(state.pid)
            && state.is_alive()
        {
            handle.signal(TERMINATE);
            let ended = |limit| handle.wait_for_end(limit).unwrap_or(false);
            if !ended(PATIENCE_MS) {
                handle.signal(KILL);
                if !ended(PATIENCE_MS) {
                    return Err(StateError::Stuck {
                        name: state.name.clone(),
                        pid: state.pid,
                    });
                }
            }
        }
        self.remove(&state.name)
    }

    /// Removes what links have left whose process is gone, and gives their names.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn clean(&self) -> Result<Vec<LinkName>, StateError> {
        let mut cleaned = Vec::new();
        for name in self.names()? {
            if !self.get(&name)?.is_some_and(|state| state.is_alive()) {
                self.remove(&name)?;
                cleaned.push(name);
            }
        }
        self.remove_drafts();
        Ok(cleaned)
    }

    /// Half-written files of processes that are gone.
    fn remove_drafts(&self) {
        let Ok(entries) = fs::read_dir(&self.states) else {
            return;
        };
        for entry in entries.flatten() {
            let file = entry.file_name();
            let process = file
                .to_str()
                .filter(|name| name.starts_with('.'))
                .and_then(|name| name.rsplit_once('.')?.1.parse().ok());
            if process.is_some_and(|pid| process::start_ticks(pid).is_none()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

const TERMINATE: i32 = 15;
const KILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use weir_link::DirectionSpec;

    fn spec() -> LinkSpec {
        let direction = DirectionSpec::clean();
        LinkSpec {
            name: "link".to_owned(),
            seed: 1,
            interface_mtu: 1500,
            forward: direction.clone(),
            reverse: direction,
        }
    }

    fn registry() -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry {
            states: folder.path().join("lab"),
            namespaces: folder.path().join("netns"),
        };
        (folder, registry)
    }

    #[test]
    fn names_are_harmless_as_file_names() {
        for good in ["a", "wan-80ms_2", &"x".repeat(32)] {
            assert_eq!(good.parse::<LinkName>().unwrap().to_string(), good);
        }
        for bad in ["", "-a", "a/b", "..", "a b", "ä", &"x".repeat(33)] {
            assert!(bad.parse::<LinkName>().is_err(), "{bad}");
        }
        assert_eq!(LinkName("a".to_owned()).namespace(Host::Far), "weir-a-far");
    }

    #[test]
    fn a_name_is_taken_once_until_it_is_removed() {
        let (_folder, registry) = registry();
        assert_eq!(registry.names().unwrap(), []);
        let name: LinkName = "one".parse().unwrap();
        let mut state = LinkState::of_this_process(name.clone(), spec(), 7);
        registry.claim(&state).unwrap();
        assert!(matches!(registry.claim(&state), Err(StateError::Taken(_))));
        state.account.forward.offered = 9;
        registry.update(&state).unwrap();
        assert_eq!(registry.get(&name).unwrap(), Some(state.clone()));
        assert!(state.is_alive());
        assert_eq!(registry.clean().unwrap(), []);

        registry.remove(&name).unwrap();
        assert_eq!(registry.get(&name).unwrap(), None);
        assert_eq!(fs::read_dir(&registry.states).unwrap().count(), 0);
    }

    #[test]
    fn what_a_crash_has_left_is_cleaned_and_nothing_else() {
        let (_folder, registry) = registry();
        let alive = LinkState::of_this_process("alive".parse().unwrap(), spec(), 7);
        registry.claim(&alive).unwrap();
        // A process of another time with the same number.
        let dead = LinkState {
            name: "dead".parse().unwrap(),
            start_ticks: alive.start_ticks + 1,
            ..alive.clone()
        };
        registry.claim(&dead).unwrap();
        fs::write(registry.states.join("garbage.json"), "{").unwrap();
        fs::write(registry.states.join(format!(".half.{}", u32::MAX >> 1)), "{").unwrap();
        fs::create_dir_all(&registry.namespaces).unwrap();
        fs::write(registry.namespace_file(&dead.name, Host::Near), "").unwrap();
        fs::write(registry.namespace_file(&alive.name, Host::Near), "").unwrap();

        let cleaned: Vec<String> = registry
            .clean()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(cleaned, ["dead", "garbage"]);
        assert_eq!(registry.names().unwrap(), std::slice::from_ref(&alive.name));
        assert!(registry.namespace_file(&alive.name, Host::Near).exists());
        assert!(!registry.namespace_file(&dead.name, Host::Near).exists());
        assert_eq!(fs::read_dir(&registry.states).unwrap().count(), 1);
    }
}
