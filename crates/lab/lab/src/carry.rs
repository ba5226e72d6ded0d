//! The life of a link that outlives its command: the process that carries it takes its name, makes it, says when it is
//! ready, notes its account once a second, and removes all of it on a signal.

use std::io;

use thiserror::Error;
use weir_link::LinkSpec;
use weir_net::clock;
use weir_net::namespace::NetworkNamespace;
use weir_net::signals::Signals;

use crate::hosts::{Host, LabError};
use crate::lab::Lab;
use crate::state::{LinkName, LinkState, Registry, StateError};

/// Why a link could not be carried.
#[derive(Debug, Error)]
pub enum StreamError {
    /// Its state.
    #[error(transparent)]
    State(#[from] StateError),
    /// The link itself.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Its name.
    #[error("cannot name the namespace {name}: {source}")]
    Name {
        /// The namespace's name.
        name: String,
        /// Why not.
        source: io::Error,
    },
}

/// Carries a link until one of `signals` arrives. `ready` is called once it is up. Whatever happens, nothing of it is
/// left afterwards.
///
/// # Errors
/// When there is one of this name, or the kernel refuses a part of it.
pub fn carry(
    registry: &Registry,
    name: LinkName,
    spec: LinkSpec,
    signals: &Signals,
    ready: impl FnOnce(&LinkState),
) -> Result<(), StreamError> {
    let mut state = LinkState::of_this_process(name, spec, clock::unix_ns());
    registry.claim(&state)?;
    let carried = carry_claimed(registry, &mut state, signals, ready);
    let removed = registry.remove(&state.name);
    carried?;
    Ok(removed?)
}

fn carry_claimed(
    registry: &Registry,
    state: &mut LinkState,
    signals: &Signals,
    ready: impl FnOnce(&LinkState),
) -> Result<(), StreamError> {
    const TICK_MS: u32 = 250;
    let mut lab = Lab::start(&state.spec)?;
    for host in [Host::Near, Host::Far] {
        let path = registry.namespace_file(&state.name, host);
        name_namespace(lab.namespace(host), &path).map_err(|source| StreamError::Name {
            name: state.name.namespace(host),
            source,
        })?;
    }
    ready(state);
    while signals.wait(TICK_MS).is_none() {
        if !lab.progress()?.is_empty() {
            state.account = lab.account().clone();
            state.updated_unix_ns = clock::unix_ns();
            registry.update(state)?;
        }
    }
    Ok(())
}

/// A file of that name that nobody uses any more is what a crash has left.
fn name_namespace(namespace: &NetworkNamespace, path: &std::path::Path) -> io::Result<()> {
    NetworkNamespace::detach_name(path)?;
    namespace.attach_name(path)
}
