//! What an agent allows, told to the client in the handshake and enforced at both ends.

use serde::{Deserialize, Serialize};
use weir_units::Rate;

use crate::MeasureError;
use crate::threads::{MAX_THREADS, one};

/// Bounds on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Highest media rate of one test, each way.
    pub max_rate: Rate,
    /// Longest test, nanoseconds.
    pub max_duration_ns: u64,
    /// Longest UDP payload, bytes.
    pub max_length: u32,
    /// Sessions at once.
    pub max_sessions: u32,
    /// Flows in one test.
    pub max_flows: u16,
    /// Packet threads in one test, each way; one for an agent that does not say.
    #[serde(default = "one")]
    pub max_threads: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_rate: Rate(10_000_000_000),
            max_duration_ns: 24 * 3600 * 1_000_000_000,
            max_length: 65_507,
            max_sessions: 8,
            max_flows: 64,
            max_threads: MAX_THREADS,
        }
    }
}

impl Limits {
    /// Checks a test against the limits.
    ///
    /// # Errors
    /// [`MeasureError::Refused`] that names the limit and the option that passes it.
    pub fn check(
        &self,
        rate: Option<Rate>,
        duration_ns: u64,
        length: u32,
        flows: u16,
    ) -> Result<(), MeasureError> {
        let refuse = |text: String| Err(MeasureError::Refused(text));
        if let Some(rate) = rate.filter(|rate| *rate > self.max_rate) {
            return refuse(format!(
                "it allows at most {} and {} was asked; lower --rate, or start the agent with a higher --max-rate",
                self.max_rate.rounded(),
                rate.rounded()
            ));
        }
        if duration_ns > self.max_duration_ns {
            return refuse(format!(
                "it allows tests of at most {} s and {} s were asked; lower --for, or start the agent with a higher --max-duration",
                self.max_duration_ns / 1_000_000_000,
                duration_ns / 1_000_000_000
            ));
        }
        if length > self.max_length {
            return refuse(format!(
                "it allows payloads of at most {} bytes and {length} were asked; lower --length, or start the agent with a higher --max-length",
                self.max_length
            ));
        }
        if flows == 0 || flows > self.max_flows {
            return refuse(format!(
                "it allows 1 to {} flows and {flows} were asked; change --flows",
                self.max_flows
            ));
        }
        Ok(())
    }

    /// Checks the packet threads of a test, each way.
    ///
    /// # Errors
    /// [`MeasureError::Refused`] that names the limit and the option that passes it.
    pub fn check_threads(&self, threads: u16) -> Result<(), MeasureError> {
        if threads > self.max_threads {
            return Err(MeasureError::Refused(format!(
                "it allows at most {} packet threads in each direction and {threads} were asked; lower --threads, or start the agent with a higher --max-threads",
                self.max_threads
            )));
        }
        Ok(())
    }
}
