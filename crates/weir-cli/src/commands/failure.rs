//! How a command fails: one clear line, and the exit status that says whose turn it is.

use std::process::ExitCode;

use weir_carry::CarryError;
use weir_control::ConnectError;
use weir_measure::MeasureError;
use weir_results::StoreError;

/// Exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The test ran and a threshold was crossed.
    Crossed = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// The far end, the network or this host failed.
    Environment = 3,
}

/// Why a command ends with another status than 0.
#[derive(Debug)]
pub struct Failure {
    /// Exit status.
    pub status: Status,
    /// For the user, without a prefix.
    pub message: String,
}

impl Failure {
    /// The arguments make no sense.
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

    /// As the process ends.
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

impl From<CarryError> for Failure {
    fn from(error: CarryError) -> Self {
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
