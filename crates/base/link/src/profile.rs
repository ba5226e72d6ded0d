//! The text form of a link: TOML, the named profiles, and changes from a command line.
//! `docs/link-profiles.md` has every key. It must not know how a link uses its settings.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use toml::Table;
use weir_net::bounded_file;

use crate::named;
use crate::spec::{LinkSpec, RateSpec, SpecError};
use crate::trace::{TraceError, TraceFormat, one_line, read_trace, shortened};

mod entry;
mod loss;
mod overrides;
mod queue;
mod rates;
mod resolve;
mod settings;

pub(crate) use entry::nearest;
pub use overrides::LinkFlags;

/// Maximum length of a file, bytes.
pub const MOST_PROFILE_BYTES: u64 = 1 << 20;

/// Why a link could not be read. Each error prints as one line.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// A key is unknown, or has an invalid value.
    #[error("{origin}: {error}")]
    Value {
        /// The file or profile, or the option that set the key.
        origin: String,
        /// The key, its value, and what is allowed.
        error: SpecError,
    },
    /// The text is not TOML.
    #[error("{origin}: line {line}: {problem}")]
    Syntax {
        /// The file or profile.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// The TOML parser's message.
        problem: String,
    },
    /// The text is too long.
    #[error("{origin}: longer than 1 MiB, the maximum for a link; put long traces into separate files")]
    TooLong {
        /// The file or profile.
        origin: String,
    },
    /// The file cannot be read.
    #[error("cannot read the link {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's reason.
        error: io::Error,
    },
    /// Neither a profile nor a file.
    #[error("'{name}' is neither a profile nor a file{hint}; profiles: {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// A profile with a similar name.
        hint: String,
        /// All profiles.
        known: String,
    },
    /// An option that cannot be applied.
    #[error("{option}: {problem}")]
    Option {
        /// The option with its value.
        option: String,
        /// The problem, and what to write.
        problem: String,
    },
}

/// A link in text form: a file, a named profile or an empty one, and the changes from options.
#[derive(Clone, Debug)]
pub struct Profile {
    name: String,
    base_dir: PathBuf,
    table: Table,
    /// Keys set by options, with the options, for messages.
    set_by: Vec<(String, String)>,
}

/// Reads a link from TOML text. `name` becomes the link's name, and precedes each error; the names of trace files
/// are relative to `base_dir`.
///
/// # Errors
/// See [`ProfileError`].
pub fn parse(text: &str, name: &str, base_dir: &Path) -> Result<LinkSpec, ProfileError> {
    Profile::from_text(text, name, base_dir)?.spec()
}

impl Profile {
    /// A link without effect, for options to change: unlimited rates, no delay, no loss, an MTU of 1500.
    pub fn clean() -> Self {
        Profile {
            name: "link".to_owned(),
            base_dir: PathBuf::from("."),
            table: Table::new(),
            set_by: Vec::new(),
        }
    }

    /// Reads TOML text; see [`parse`].
    ///
    /// # Errors
    /// It is longer than [`MOST_PROFILE_BYTES`], or not TOML.
    pub fn from_text(text: &str, name: &str, base_dir: &Path) -> Result<Self, ProfileError> {
        if text.len() as u64 > MOST_PROFILE_BYTES {
            return Err(ProfileError::TooLong {
                origin: name.to_owned(),
            });
        }
        let table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
            let newlines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
            ProfileError::Syntax {
                origin: name.to_owned(),
                line: 1 + before.map_or(0, newlines),
                problem: one_line(error.message()),
            }
        })?;
        Ok(Profile {
            name: name.to_owned(),
            base_dir: base_dir.to_owned(),
            table,
            ..Profile::clean()
        })
    }

    /// Takes a link out of a larger file: its table, which may name the profile that it changes by the key `profile`.
    /// `name` becomes the link's name, and precedes each error.
    ///
    /// # Errors
    /// The profile does not exist, or `profile` is not text.
    pub fn from_table(mut table: Table, name: &str, base_dir: &Path) -> Result<Self, ProfileError> {
        let mut profile = match table.remove("profile") {
            None => Profile::clean(),
            Some(toml::Value::String(base)) => Profile::open(&base)?,
            Some(other) => {
                return Err(ProfileError::Option {
                    option: "profile".to_owned(),
                    problem: format!(
                        "write the name of a profile, such as \"home-10M\", not a value of type {}",
                        other.type_str()
                    ),
                });
            }
        };
        profile.table.extend(table);
        Ok(Profile {
            name: name.to_owned(),
            base_dir: base_dir.to_owned(),
            ..profile
        })
    }

    /// The profile of this name, else the file at this path.
    ///
    /// # Errors
    /// Neither exists, the file is too long or cannot be read, or it is not TOML.
    pub fn open(name_or_path: &str) -> Result<Self, ProfileError> {
        if let Some(text) = named::named(name_or_path) {
            return Profile::from_text(text, name_or_path, Path::new("."));
        }
        let path = Path::new(name_or_path);
        let bytes = bounded_file::read(path, MOST_PROFILE_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unknown(name_or_path),
            io::ErrorKind::FileTooLarge => ProfileError::TooLong {
                origin: name_or_path.to_owned(),
            },
            _ => ProfileError::Unreadable {
                path: name_or_path.to_owned(),
                error,
            },
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            ProfileError::Syntax {
                origin: name_or_path.to_owned(),
                line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
                problem: "not text; a link is described in TOML".to_owned(),
            }
        })?;
        let base_dir = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Profile::from_text(&text, name_or_path, base_dir.unwrap_or(Path::new(".")))
    }

    /// The link, with traces read from their files.
    ///
    /// # Errors
    /// A key has an invalid value, or a trace cannot be read.
    pub fn spec(&self) -> Result<LinkSpec, ProfileError> {
        self.spec_with(&mut |file, format| read_trace(&self.base_dir.join(file), format))
    }

    /// Like [`Profile::spec`], with traces from elsewhere: `read_trace` gets the name in the file.
    ///
    /// # Errors
    /// As [`Profile::spec`].
    pub fn spec_with(
        &self,
        read_trace: &mut dyn FnMut(&str, TraceFormat) -> Result<RateSpec, TraceError>,
    ) -> Result<LinkSpec, ProfileError> {
        resolve::resolve(&self.table, &self.name, read_trace).map_err(|error| ProfileError::Value {
            origin: self.origin(&error.key).to_owned(),
            error,
        })
    }

    /// The origin of the key: the last option that set it, else the file.
    fn origin(&self, key: &str) -> &str {
        let under = |set: &str| {
            let rest = key.strip_prefix(set);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let option = self.set_by.iter().rev().find(|(set, _)| under(set));
        option.map_or(&self.name, |(_, option)| option)
    }
}

fn unknown(name: &str) -> ProfileError {
    let known: Vec<&str> = named::profiles().map(|(name, _)| name).collect();
    ProfileError::Unknown {
        name: shortened(name),
        hint: nearest(name, &known)
            .map(|near| format!(" (did you mean {near}?)"))
            .unwrap_or_default(),
        known: known.join(", "),
    }
}

#[cfg(test)]
mod tests;
