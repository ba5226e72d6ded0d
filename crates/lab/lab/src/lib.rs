//! Networks made on one host: two hosts that are network namespaces, an emulated link between them, commands that run
//! on them, the account that the link gives of itself, and the removal of all of it, whatever happens. Beside them what is
//! measured or played there: trials of the pacing lab, and traps of pacing in virtual time, which need no network. It may
//! know the link, origin, viewers and neighbours, the host's namespaces and the records of the results store; it must not
//! know how arguments are written, where results are kept, or how they are drawn.
//!
//! The feature `networks` (on by default) has the networks. Scenarios, the order of trials and traps stand without it.

#[cfg(feature = "networks")]
mod account;
pub mod calibrate;
#[cfg(feature = "networks")]
mod carry;
#[cfg(feature = "networks")]
mod hosts;
#[cfg(feature = "networks")]
mod lab;
pub mod pacing;
#[cfg(feature = "networks")]
mod queues;
pub mod scenario_file;
#[cfg(feature = "networks")]
mod state;
pub mod traps;
mod waiting;

#[cfg(feature = "networks")]
pub use self::{
    account::{Account, DirectionAccount, Fitness, OwnLosses},
    carry::{StreamError, carry},
    hosts::{FAR_IPV4, FAR_IPV6, Host, LabError, NEAR_IPV4, NEAR_IPV6, spawn_on},
    lab::Lab,
    state::{HostState, LinkName, LinkNameError, LinkState, Registry, StateError},
};
pub use waiting::QueueSecond;
