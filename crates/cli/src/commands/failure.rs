//! How a command fails: a message of one or two lines, and an exit status.

use std::fmt::Display;
use std::process::ExitCode;

use weir_control::ConnectError;
use weir_lab::{LabError, LinkNameError};
use weir_link::ProfileError;
use weir_load::locust::WorkerError;
use weir_measure::MeasureError;
use weir_mesh::MeshError;
use weir_mesh::programs::ProgramError;
use weir_mesh::state::StateError;
use weir_origin::{AheadError, OriginError};
use weir_results::StoreError;
use weir_simulate::{ObserveError, SimulationError};
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

    /// An error of either kind.
    pub fn usage_or_environment(is_usage: bool, error: &impl Display) -> Self {
        match is_usage {
            true => Failure::usage(error.to_string()),
            false => Failure::environment(error.to_string()),
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

/// Errors that are all of one kind, and say enough.
macro_rules! failures {
    ($kind:ident: $($error:ty),+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::$kind(error.to_string())
            }
        }
    )+};
}

failures!(usage: LinkNameError, MeshError, ProfileError, ProgramError);
failures!(environment: AheadError, LabError, OriginError, StateError, StoreError, WorkerError);

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        Failure::usage_or_environment(error.is_usage(), &error)
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        MeasureError::from(error).into()
    }
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        let is_usage = matches!(&error, SimulationError::Plan(plan) if plan.is_usage());
        Failure::usage_or_environment(is_usage, &error)
    }
}

impl From<ObserveError> for Failure {
    fn from(error: ObserveError) -> Self {
        match error {
            ObserveError::Simulation(error) => error.into(),
            ObserveError::Store(error) => error.into(),
            ObserveError::Diagnosis(error) => error.into(),
        }
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        Failure::usage_or_environment(error.is_usage(), &error)
    }
}
