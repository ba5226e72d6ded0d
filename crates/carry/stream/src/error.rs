//! Errors of `send` and `recv`, as the user reads them: what was tried, what failed, what to do next.

use std::path::PathBuf;

use thiserror::Error;
use weir_control::{ConnectError, ControlError};
use weir_measure::MeasureError;
use weir_net::NetError;
use weir_video::{FrameReadError, PatternError, RepackError};

/// Why a stream could not start or continue.
#[derive(Debug, Error)]
pub enum StreamError {
    /// There is no session with the sender.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The other end cannot or will not go on.
    #[error("{0}")]
    FarEnd(String),
    /// The control connection failed.
    #[error("connection to the other end lost: {0}")]
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
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The input cannot be read, or has the wrong format.
    #[error("cannot read the input after {frames} frames: {source}")]
    Input {
        /// Complete frames read before.
        frames: u64,
        /// The reason.
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
        /// Its name.
        output: String,
        /// The reason.
        reason: String,
    },
    /// The path does not carry the stream.
    #[error("the stream was stopped: {0}; reduce the rate, or measure the path with 'weir survey'")]
    Broken(#[from] weir_stream_proto::Broken),
    /// Media packets do not arrive although the control connection works.
    #[error("no UDP packet came through between here and {peer}: {hint}")]
    Blocked {
        /// The other host.
        peer: String,
        /// What to check.
        hint: &'static str,
    },
    /// The counters of this host cannot be read.
    #[error(transparent)]
    Watch(#[from] MeasureError),
    /// A thread could not be started, or panicked.
    #[error("{0}")]
    Internal(String),
}

impl StreamError {
    pub(crate) fn thread(error: &std::io::Error) -> Self {
        StreamError::Internal(format!("cannot start a thread: {error}"))
    }

    /// Whether the cause is in the arguments, not in the path or the far end.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            StreamError::Parameters(_)
                | StreamError::OpenInput { .. }
                | StreamError::Pattern(_)
                | StreamError::Repack(_)
                | StreamError::Connect(ConnectError::Token(_))
        )
    }
}
