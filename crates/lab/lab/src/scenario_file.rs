//! What all files of scenarios have in common: how long they may be, quantities that are written as text, names, ladders, and
//! mistakes reported in one line with the key and what is allowed. It must not know what a scenario is of.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;
use weir_link::ProfileError;
use weir_units::{Rate, TimeSpan};

/// Most bytes of a file.
pub const MOST_BYTES: usize = 1 << 20;
/// Most rungs of a ladder.
pub const MOST_RUNGS: usize = 16;

/// Why there is no scenario. Each prints as one line.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file is too long.
    #[error("{origin}: longer than 1 MiB, which is the most for a scenario")]
    TooLong {
        /// The file or scenario.
        origin: String,
    },
    /// Not TOML, an unknown key, or a value of the wrong form.
    #[error("{origin}: line {line}: {problem}")]
    Line {
        /// The file or scenario.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A value that cannot be.
    #[error("{origin}: {key}: {problem}")]
    Value {
        /// The file or scenario.
        origin: String,
        /// Where it stands.
        key: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The link.
    #[error("{origin}: {error}")]
    Link {
        /// The file or scenario.
        origin: String,
        /// What is wrong with it.
        error: ProfileError,
    },
}

/// Reads the keys and values of a file; `origin` stands before each error.
pub fn read<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, ScenarioError> {
    if text.len() > MOST_BYTES {
        return Err(ScenarioError::TooLong {
            origin: origin.to_owned(),
        });
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().get(..start).unwrap_or_default();
        ScenarioError::Line {
            origin: origin.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            problem: one_line(error.message()),
        }
    })
}

/// What is wrong may hold what a file says, which can be anything.
fn one_line(text: &str) -> String {
    const MOST: usize = 600;
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let plain: String = plain.take(MOST).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value that cannot be, before it is known in which file.
pub struct Wrong {
    key: String,
    problem: String,
}

impl Wrong {
    /// In that file.
    pub fn within(self, origin: &str) -> ScenarioError {
        ScenarioError::Value {
            origin: origin.to_owned(),
            key: one_line(&self.key),
            problem: one_line(&self.problem),
        }
    }
}

/// Refuses the value of a key.
///
/// # Errors
/// Always.
pub fn wrong<T>(key: impl Into<String>, problem: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong {
        key: key.into(),
        problem: problem.into(),
    })
}

/// Refuses a list that is empty or too long.
pub fn counted(key: &str, count: usize, most: usize) -> Result<(), Wrong> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    wrong(key, format!("{count} of them; there can be 1 to {most}"))
}

/// Names are parts of names of figures and of files.
pub fn check_name(key: &str, name: &str) -> Result<(), Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=32).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    wrong(key, "1 to 32 letters, digits, - or _")
}

/// Reads a list of things with names, none of which is there twice.
pub fn read_named<T, U>(
    key: &str,
    texts: &[T],
    most: usize,
    read: impl Fn(&T) -> Result<U, Wrong>,
    name: impl Fn(&U) -> &String,
) -> Result<Vec<U>, Wrong> {
    counted(key, texts.len(), most)?;
    let mut found: Vec<U> = Vec::new();
    for text in texts {
        let one = read(text)?;
        if found.iter().any(|known| name(known) == name(&one)) {
            return wrong(
                format!("{key}.name"),
                format!("'{}' stands there twice", name(&one)),
            );
        }
        found.push(one);
    }
    Ok(found)
}

/// The rungs of a ladder, and the length of its segments.
pub fn ladder(rungs: &[Written<Rate>], segment: Written<TimeSpan>) -> Result<(Vec<Rate>, TimeSpan), Wrong> {
    counted("media.rungs", rungs.len(), MOST_RUNGS)?;
    let rungs: Vec<Rate> = rungs.iter().map(|rung| rung.0).collect();
    if rungs.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        return wrong("media.rungs", "each higher than the one before it");
    }
    if !(500_000_000..=60_000_000_000).contains(&segment.0.0) {
        return wrong("media.segment", "from 500ms to 60s");
    }
    Ok((rungs, segment.0))
}

/// A value that is written as text, such as `10Mbit/s`.
#[derive(Clone, Copy, Debug)]
pub struct Written<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Written).map_err(de::Error::custom)
    }
}

/// What tests of every kind of scenario hold against its reader.
#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    /// Each line of `mistakes` is `WHAT STANDS THERE => WHAT IS PUT IN ITS PLACE | PARTS ; OF THE ERROR`, where `\n` is a line
    /// break: with it, `good` is refused in one line that has the parts.
    #[track_caller]
    pub(crate) fn assert_mistakes_are_named(
        good: &str,
        mistakes: &str,
        read: impl Fn(&str) -> Result<(), String>,
    ) {
        for mistake in mistakes.lines().filter(|line| !line.is_empty()) {
            let (there, rest) = mistake.split_once(" => ").expect(mistake);
            let (instead, parts) = rest.split_once("| ").expect(mistake);
            let [there, instead] = [there, instead.trim_end()].map(|text| text.replace("\\n", "\n"));
            assert!(good.contains(&there), "{there}");
            let error = read(&good.replacen(&there, &instead, 1)).expect_err(mistake);
            assert!(
                error.starts_with("mine.toml: ") && error.lines().count() == 1,
                "{mistake}: {error}"
            );
            for part in parts.split(" ; ") {
                assert!(error.contains(part), "{mistake}: {part} in {error}");
            }
        }
    }

    /// What stands in place of a part of a good file; `table` begins one of its tables.
    pub(crate) fn strange_values(table: &'static str) -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,20}",
            Just("\"\\u0000\\n\"".to_owned()),
            Just(table.to_owned()),
            Just("18446744073709551616".to_owned()),
            Just("-1".to_owned()),
            Just("\"9999999999999999999Gbit/s\"".to_owned()),
        ]
    }
}
