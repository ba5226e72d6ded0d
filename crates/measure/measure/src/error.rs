//! What can go wrong with a measurement, in words for the user: what was tried, what happened, what to do next.

use thiserror::Error;
use weir_control::ConnectError;
use weir_net::NetError;

/// A measurement that could not begin or go on.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// There is no session with the agent.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The control connection broke.
    #[error(
        "lost the agent at {address}: {reason}; what was measured until then is kept (is 'weir agent' still running there?)"
    )]
    AgentLost {
        /// Where.
        address: String,
        /// How.
        reason: String,
    },
    /// The agent will not run this test.
    #[error("the agent refused: {0}")]
    Refused(String),
    /// The agent could not go on with a test.
    #[error("the agent gave the test up: {0}")]
    FarEnd(String),
    /// A receiver gave a test up; what was measured until then is there.
    #[error(
        "the receiver ended the test before its time: {reason}; of {sent} packets sent, {unaccounted} are unaccounted for, and what was measured until then is kept"
    )]
    Aborted {
        /// Why.
        reason: String,
        /// Packets sent.
        sent: u64,
        /// Of those, neither received nor known to be lost.
        unaccounted: u64,
    },
    /// The parameters contradict each other or the path.
    #[error("{0}")]
    Parameters(String),
    /// The host refused a socket operation.
    #[error("{0}")]
    Net(#[from] NetError),
    /// A datagram is larger than the interface takes.
    #[error(
        "--length {length} does not fit: the packet would be {packet} bytes and the path to {peer} takes {mtu}; use --length {largest} or less, or raise the MTU"
    )]
    TooLong {
        /// UDP payload that was tried.
        length: u32,
        /// IP packet that it makes.
        packet: u32,
        /// Interface or route MTU.
        mtu: u32,
        /// Largest UDP payload that fits.
        largest: u32,
        /// The other host.
        peer: String,
    },
    /// No test packet or reply came through although the control connection works.
    #[error("no UDP packet came through between here and {peer}: {hint}")]
    Blocked {
        /// The other host.
        peer: String,
        /// What to look at.
        hint: String,
    },
    /// A thread could not be started, or broke off.
    #[error("{0}")]
    Internal(String),
}

impl MeasureError {
    pub(crate) fn thread(error: &std::io::Error) -> Self {
        MeasureError::Internal(format!("cannot start a thread: {error}"))
    }

    /// The fault lies with what the user asked for, not with the path or the far end.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            MeasureError::Parameters(_)
                | MeasureError::TooLong { .. }
                | MeasureError::Refused(_)
                | MeasureError::Connect(ConnectError::Token(_))
        )
    }
}
