//! Measuring a path between two hosts: windowed RTT, the multi-flow test, path MTU, TCP throughput, the survey
//! that joins them, whether hosts are fit for media, and the agent at the far end. It must not know how results are
//! drawn or stored: it hands records to a [`Sink`].
//!
//! Each measurement has a pure core that takes packets and the time (`plan`, `schedule`, `account`, `search`)
//! and a thin driver with the sockets and threads beside it.

pub mod agent;
mod clock_prober;
mod clock_watch;
mod control;
mod error;
pub mod fitness;
pub mod flows;
mod format;
mod host_watch;
mod limits;
pub mod path_mtu;
pub mod rtt;
mod session;
mod sink;
pub mod survey;
pub mod tcp_sweep;
pub mod tcp_throughput;
mod threads;

pub use clock_prober::{ClockEstimate, ClockProber};
pub use error::MeasureError;
pub use format::VideoFormat;
pub use host_watch::{HostWatch, host_second};
pub use limits::Limits;
pub use session::{AgentAddress, Session};
pub use sink::{Progress, Sink};
pub use threads::{MAX_THREADS, Threads, ThreadsError, threads_needed, threads_of_cores};
pub use weir_control::{Family, Stop};

/// Sessions of measurements carry no media: their packets have tags in their headers, and control frames are always
/// encrypted.
const NO_MEDIA: weir_protect::Demand = weir_protect::Demand::Exactly(weir_protect::Protection::Off);

/// TCP port that an agent listens on unless told otherwise.
pub const DEFAULT_CONTROL_PORT: u16 = 4747;
