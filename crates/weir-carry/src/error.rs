//! What can go wrong with carrying, in words for the user: what was tried, what happened, what to do next.

use std::path::PathBuf;

use thiserror::Error;
use weir_control::{ConnectError, ControlError};
use weir_measure::MeasureError;
use weir_media::raw::{FrameReadError, PatternError, RepackError};
use weir_net::NetError;

/// A stream that could not begin or go on.
#[derive(Debug, Error)]
pub enum CarryError {
    /// There is no session with the sender.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The other end cannot or will not go on.
    #[error("{0}")]
    FarEnd(String),
    /// The control connection broke.
    #[error("lost the other end: {0}")]
    Control(#[from] ControlError),
    /// The arguments contradict each other or the input.
    #[error("{0}")]
    Parameters(String),
    /// The host refused a socket operation.
    #[error("{0}")]
    Net(#[from] NetError),
    /// The input cannot be opened.
    #[error("cannot open the input {}: {source}", path.display())]
    OpenInput {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The input cannot be read, or is not what it should be.
    #[error("cannot read the input after {frames} frames: {source}")]
    Input {
        /// Whole frames read before.
        frames: u64,
        /// Why.
        source: FrameReadError,
    },
    /// The test pattern cannot be made.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Frames cannot be packed as asked.
    #[error(transparent)]
    Repack(#[from] RepackError),
    /// The output cannot be opened or written.
    #[error("cannot write frames to {output}: {reason}")]
    Output {
        /// Where.
        output: String,
        /// Why.
        reason: String,
    },
    /// The path does not carry the stream.
    #[error("the stream was stopped: {0}; send less, or ask 'weir survey' what the path carries")]
    Broken(#[from] weir_transport::Broken),
    /// Media packets do not come through although the control connection works.
    #[error("no UDP packet came through between here and {peer}: {hint}")]
    Blocked {
        /// The other host.
        peer: String,
        /// What to look at.
        hint: &'static str,
    },
    /// The host's own counters cannot be watched.
    #[error(transparent)]
    Watch(#[from] MeasureError),
    /// A thread could not be started, or broke off.
    #[error("{0}")]
    Internal(String),
}

impl CarryError {
    pub(crate) fn thread(error: &std::io::Error) -> Self {
        CarryError::Internal(format!("cannot start a thread: {error}"))
    }

    /// The fault lies with what the user asked for, not with the path or the far end.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            CarryError::Parameters(_)
                | CarryError::OpenInput { .. }
                | CarryError::Pattern(_)
                | CarryError::Repack(_)
                | CarryError::Connect(ConnectError::Token(_))
        )
    }
}
