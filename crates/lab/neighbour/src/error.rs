//! What can go wrong, each in a line that says what to do.

use std::io;

use thiserror::Error;
use weir_net::NetError;

use crate::packet::Refusal;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum NeighbourError {
    /// The name has no address.
    #[error("cannot resolve '{to}': {reason}; give HOST:PORT as in far:7000")]
    Resolve {
        /// As the user gave it.
        to: String,
        /// What the resolver said.
        reason: String,
    },
    /// Nobody answered.
    #[error("no response from {to}{}; start 'weir lab neighbour serve' there", because(.reason))]
    NoAnswer {
        /// Where.
        to: String,
        /// Why, if that is known.
        reason: Option<io::Error>,
    },
    /// The server said no.
    #[error("the server at {to} refuses: {refusal}")]
    Refused {
        /// Where.
        to: String,
        /// Its reason.
        refusal: Refusal,
    },
    /// The server said no to a request over HTTP.
    #[error("the server at {to} refuses: {said}")]
    RefusedHttp {
        /// Where.
        to: String,
        /// Status, and its words.
        said: String,
    },
    /// A connection or socket failed.
    #[error("cannot {operation} {object}: {source}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A UDP socket failed.
    #[error("cannot {0}")]
    Net(#[from] NetError),
    /// The request makes no sense.
    #[error("{0}")]
    Parameters(String),
    /// The system gives no random numbers.
    #[error("cannot read random bytes: {0}")]
    Random(getrandom::Error),
}

impl NeighbourError {
    /// The user has to ask for something else.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            NeighbourError::Parameters(_)
                | NeighbourError::Refused { .. }
                | NeighbourError::RefusedHttp { .. }
        )
    }

    pub(crate) fn io(operation: &'static str, object: impl ToString, source: io::Error) -> Self {
        NeighbourError::Io {
            operation,
            object: object.to_string(),
            source,
        }
    }
}

fn because(reason: &Option<io::Error>) -> String {
    reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(" ({reason})"))
}
