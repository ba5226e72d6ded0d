//! How a command fails: a message of one or two lines, and an exit status.

use std::process::ExitCode;

use weir_control::ConnectError;
use weir_measure::MeasureError;
use weir_results::StoreError;
use weir_stream::StreamError;

/// Exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The test ran and a threshold was crossed.
    Crossed = 1,
    /// Wrong arguments.
    Usage = 2,
    /// The far end, the network or this host failed.
    Environment = 3,
}

/// Why a command ends with an exit status other than 0.
#[derive(Debug)]
pub struct Failure {
    /// Exit status.
    pub status: Status,
    /// Message for the user, without the prefix `weir: `.
    pub message: String,
}

impl Failure {
    /// Wrong arguments.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure {
            status: Status::Usage,
            message: message.into(),
        }
    }

    /// The far end, the network or this host failed.
    pub fn environment(message: impl Into<String>) -> Self {
        Failure {
            status: Status::Environment,
            message: message.into(),
        }
    }

    /// The test ran and a threshold was crossed.
    pub fn crossed(message: impl Into<String>) -> Self {
        Failure {
            status: Status::Crossed,
            message: message.into(),
        }
    }

    /// Exit code of the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status as u8)
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        let status = if error.is_usage() {
            Status::Usage
        } else {
            Status::Environment
        };
        Failure {
            status,
            message: error.to_string(),
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        MeasureError::from(error).into()
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        if error.is_usage() {
            Failure::usage(error.to_string())
        } else {
            Failure::environment(error.to_string())
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::environment(error.to_string())
    }
}
