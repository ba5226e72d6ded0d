//! Faults of a request to storage, without the object that it was about. It must not know who reads them.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::StatusCode;

/// Why an answer did not come, or is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("not found")]
    NotFound,
    #[error("status {0}")]
    Forbidden(u16),
    /// Another version than the one that was asked for.
    #[error("changed")]
    Changed,
    /// The range lies behind the end of the object.
    #[error("the object ends before the range")]
    BeyondEnd,
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Broken(String),
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    #[error("status {0}")]
    Unavailable(u16),
    #[error("{0}")]
    Wrong(String),
    /// The storage cannot say what is in a folder.
    #[error("no listing")]
    NoLists,
    /// The storage takes nothing.
    #[error("read only")]
    ReadOnly,
    /// The file system of this host refused.
    #[error("{0}")]
    File(String),
}

/// From the file system.
impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                Fault::NotFound
            }
            io::ErrorKind::PermissionDenied => Fault::Forbidden(403),
            _ => Fault::File(error.to_string()),
        }
    }
}

impl Fault {
    /// Whether asking again may help.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Fault::Unreachable(_) | Fault::Broken(_) | Fault::TimedOut(_) | Fault::Unavailable(_)
        )
    }

    /// What a status that brings no object means.
    pub fn from_status(status: StatusCode) -> Fault {
        match status.as_u16() {
            404 | 410 => Fault::NotFound,
            code @ (401 | 403) => Fault::Forbidden(code),
            412 => Fault::Changed,
            416 => Fault::BeyondEnd,
            code @ (408 | 429 | 500 | 502..=504) => Fault::Unavailable(code),
            301 | 302 | 303 | 307 | 308 => {
                Fault::Wrong(format!("redirects are not followed (status {})", status.as_u16()))
            }
            code => Fault::Wrong(format!("status {code}")),
        }
    }

    /// The innermost reason in words: outer ones say little more than that there is one.
    pub fn innermost(error: &(dyn Error + 'static)) -> String {
        let mut error = error;
        while let Some(source) = error.source() {
            error = source;
        }
        error.to_string()
    }

    /// Finds a fault, or an error of the operating system, in a chain of causes.
    pub fn in_chain(error: &(dyn Error + 'static)) -> Option<Fault> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(fault) = error.downcast_ref::<Fault>() {
                return Some(fault.clone());
            }
            next = error.source();
        }
        None
    }
}
