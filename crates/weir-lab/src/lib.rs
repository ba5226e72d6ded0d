//! Networks made on one host: two hosts that are network namespaces, an emulated link between them, commands that run
//! on them, the account that the link gives of itself, and the removal of all of it, whatever happens. Beside them what is
//! measured or played there: scenarios of the pacing lab, and traps of pacing in virtual time, which need no network. It may
//! know the link, the player's model, the host's namespaces and the records of the results store; it must not know which
//! commands run, how arguments are written, or how results are drawn.

mod account;
mod carry;
mod hosts;
mod lab;
pub mod pacing;
mod scenario_file;
mod state;
pub mod traps;
mod waiting;

pub use account::{Account, DirectionAccount, Drops, Fitness, OwnLosses};
pub use carry::{CarryError, carry};
pub use hosts::{FAR_IPV4, FAR_IPV6, Host, NEAR_IPV4, NEAR_IPV6, spawn_on};
pub use lab::{Lab, LabError};
pub use scenario_file::{MOST_BYTES as MOST_SCENARIO_BYTES, ScenarioError};
pub use state::{HostState, LinkName, LinkNameError, LinkState, Registry, StateError};
pub use waiting::QueueSecond;
