//! Values of a TOML tree together with their keys, so that every error names its key. It must not know what
//! a key means.

use std::str::FromStr;

use toml::{Table, Value};
use weir_units::UnitError;

use crate::spec::SpecError;
use crate::trace::{one_line, shortened};

/// Maximum length of a quantity, bytes.
const MOST_QUANTITY: usize = 50;

/// A value and its key, as in `forward.route[1].loss`.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) key: String,
    pub(super) value: &'a Value,
}

/// A table and its key, which is empty for the whole file.
#[derive(Clone, Debug)]
pub(super) struct Scope<'a> {
    pub(super) key: String,
    pub(super) table: &'a Table,
}

/// A value that is checked later, with its key and text for an error.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) refusal: SpecError,
    pub(super) value: T,
}

impl<T> Placed<T> {
    pub(super) fn new(place: &Entry, value: T) -> Self {
        Placed {
            refusal: place.wrong(""),
            value,
        }
    }

    pub(super) fn wrong(&self, allowed: impl Into<String>) -> SpecError {
        SpecError {
            allowed: allowed.into(),
            ..self.refusal.clone()
        }
    }
}

/// `a` and `b` as `a.b`.
pub(super) fn joined(scope: &str, key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        format!("'{}'", shortened(key))
    };
    if scope.is_empty() {
        key
    } else {
        format!("{scope}.{key}")
    }
}

/// A value in TOML, truncated if long.
pub(super) fn shown(value: &Value) -> String {
    let mut text = String::new();
    show(value, &mut text);
    shortened(&text)
}

fn show(value: &Value, text: &mut String) {
    // Long enough to be truncated; skip the rest.
    if text.len() > 500 {
        return;
    }
    match value {
        Value::String(string) => {
            text.push('"');
            text.push_str(&shortened(string));
            text.push('"');
        }
        Value::Integer(number) => text.push_str(&number.to_string()),
        Value::Float(number) => text.push_str(&number.to_string()),
        Value::Boolean(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Datetime(time) => text.push_str(&time.to_string()),
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate().take(20) {
                text.push_str(if index == 0 { "" } else { ", " });
                show(value, text);
            }
            text.push_str(if values.len() > 20 { ", ...]" } else { "]" });
        }
        Value::Table(table) => {
            text.push('{');
            for (index, (key, value)) in table.iter().enumerate().take(20) {
                text.push_str(if index == 0 { " " } else { ", " });
                text.push_str(&joined("", key));
                text.push_str(" = ");
                show(value, text);
            }
            text.push_str(if table.len() > 20 { ", ... }" } else { " }" });
        }
    }
}

impl<'a> Entry<'a> {
    /// An error for this value.
    pub(super) fn wrong(&self, allowed: impl Into<String>) -> SpecError {
        SpecError {
            key: self.key.clone(),
            value: shown(self.value),
            allowed: allowed.into(),
        }
    }

    /// A quantity, written as text; a bare number is parsed as well, for an error that names the missing unit.
    pub(super) fn quantity<T>(
        &self,
        read: impl FnOnce(&str) -> Result<T, UnitError>,
        example: &str,
    ) -> Result<T, SpecError> {
        let text = match self.value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => return Err(self.wrong(format!("write it as text, such as \"{example}\""))),
        };
        // No quantity is that long, and the parser's error would repeat all of it.
        if text.len() > MOST_QUANTITY {
            return Err(self.wrong(format!("too long; write it like \"{example}\"")));
        }
        if text.trim_start().starts_with('-') {
            return Err(self.wrong(format!("must not be negative; write it like \"{example}\"")));
        }
        read(&text).map_err(|error| self.wrong(one_line(&error.to_string())))
    }

    /// A quantity that its type parses.
    pub(super) fn parsed<T: FromStr<Err = UnitError>>(&self, example: &str) -> Result<T, SpecError> {
        self.quantity(str::parse, example)
    }

    /// A whole number from `least` to `most`.
    pub(super) fn whole(&self, what: &str, least: u64, most: u64) -> Result<u64, SpecError> {
        let number = self
            .value
            .as_integer()
            .and_then(|number| u64::try_from(number).ok());
        number
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.wrong(format!("write {what} as a whole number from {least} to {most}")))
    }

    /// Like [`Entry::whole`], for 32 bits.
    pub(super) fn whole_32(&self, what: &str, least: u32, most: u32) -> Result<u32, SpecError> {
        let number = self.whole(what, u64::from(least), u64::from(most))?;
        u32::try_from(number).map_err(|_| self.wrong(format!("the maximum is {most}")))
    }

    /// A boolean.
    pub(super) fn flag(&self) -> Result<bool, SpecError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong("write true or false, without quotes"))
    }

    /// One of the words, each with its meaning.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, SpecError> {
        let given = self.value.as_str();
        let known = words.iter().find(|(word, _)| given == Some(word));
        known.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.wrong(format!("write {}", words.join(" or ")))
        })
    }

    /// The value as a table, if it is one.
    pub(super) fn scope(&self) -> Option<Scope<'a>> {
        let key = self.key.clone();
        self.value.as_table().map(|table| Scope { key, table })
    }

    /// The value's items, if it is a list.
    pub(super) fn items(&self) -> Option<impl ExactSizeIterator<Item = Entry<'a>>> {
        let items = self.value.as_array()?.iter().enumerate();
        Some(items.map(|(index, value)| Entry {
            key: format!("{}[{index}]", self.key),
            value,
        }))
    }
}

impl<'a> Scope<'a> {
    /// The value of `key`, if present.
    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        self.table.get(key).map(|value| Entry {
            key: joined(&self.key, key),
            value,
        })
    }

    /// Reads the value of `key`, if present.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(Entry<'a>) -> Result<T, SpecError>,
    ) -> Result<Option<T>, SpecError> {
        self.get(key).map(read).transpose()
    }

    /// Reads the value of `key`, which is mandatory.
    pub(super) fn need<T>(
        &self,
        key: &str,
        read: impl FnOnce(Entry<'a>) -> Result<T, SpecError>,
    ) -> Result<T, SpecError> {
        let place = self.get(key).ok_or_else(|| SpecError {
            key: self.key.clone(),
            value: shown(&Value::Table(self.table.clone())),
            allowed: format!("lacks {key}"),
        })?;
        read(place)
    }

    /// Refuses keys other than these.
    pub(super) fn only(&self, known: &[&[&str]]) -> Result<(), SpecError> {
        let known: Vec<&str> = known.iter().flat_map(|keys| keys.iter().copied()).collect();
        let unknown = self.table.iter().find(|(key, _)| !known.contains(&key.as_str()));
        let Some((key, value)) = unknown else {
            return Ok(());
        };
        let allowed = match nearest(key, &known) {
            Some(near) => format!("unknown key; did you mean {near}?"),
            None => format!("unknown key; write one of {}", known.join(", ")),
        };
        Err(SpecError {
            key: joined(&self.key, key),
            value: shown(value),
            allowed,
        })
    }
}

/// The nearest word within two typing mistakes.
pub(crate) fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    if word.len() > 40 {
        return None;
    }
    let distances = known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    let close = |candidate: &str| if candidate.len() > 4 { 2 } else { 1 };
    nearest
        .filter(|(distance, candidate)| *distance <= close(candidate))
        .map(|(_, candidate)| candidate)
}

/// Edit distance in letters (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
