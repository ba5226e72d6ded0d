//! A grid: every combination of queues, congestion controls and paces, for the same households with the same random numbers.
//! It must not know how cells are played.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use weir_lab::scenario_file::{ScenarioError, Wrong, wrong};
use weir_player::{PACE_WORDS, PacePolicy};

use crate::file::{Congestion, Population, Variant, congestion};

/// Most values of an axis.
const MOST_VALUES: usize = 64;

/// The axes of a grid, as they are written. The first queue with the first pace is what the other cells of a congestion
/// control are compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Kinds of queues, each with a limit or without one: `codel`, `tail-drop:2bdp`.
    pub queues: Vec<String>,
    /// Congestion controls of all servers.
    pub congestion: Vec<String>,
    /// Paces that players ask for.
    pub paces: Vec<String>,
}

impl Grid {
    /// The same population with the cells in place of its variants. Servers that bound a pace then have a factor of 1, so
    /// that each multiple of the top rung is what is applied.
    ///
    /// # Errors
    /// An unknown word, or one that stands there twice.
    pub fn over(&self, population: Population) -> Result<Population, ScenarioError> {
        let variants = self.variants(&population);
        let variants = variants.map_err(|wrong| wrong.within(&population.name))?;
        Ok(Population {
            variants,
            ..population
        })
    }

    fn variants(&self, population: &Population) -> Result<Vec<Variant>, Wrong> {
        let queues = axis("queues", &self.queues, queue)?;
        let read = |text: &str| congestion("congestion", &Value::String(text.to_owned()));
        let controls = axis("congestion", &self.congestion, read)?;
        let paces = axis("paces", &self.paces, pace)?;
        population.lines.check(queues.iter())?;
        let cells = self.cells().zip(product(&controls, &queues, &paces));
        let variant =
            |(cell, (control, queue, pace)): (Cell<'_>, (&Congestion, &Value, &PacePolicy))| Variant {
                queue: Some(queue.clone()),
                congestion: Some(*control),
                pace_factor: Some(1.0),
                ..Variant::new(cell.name(), *pace)
            };
        Ok(cells.map(variant).collect())
    }

    /// The cells in their order: by congestion control, queue and pace.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let cells = product(&self.congestion, &self.queues, &self.paces);
        cells.map(|(congestion, queue, pace)| Cell {
            congestion,
            queue,
            pace,
        })
    }
}

/// A combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell<'a> {
    pub congestion: &'a str,
    pub queue: &'a str,
    pub pace: &'a str,
}

impl Cell<'_> {
    /// The name of its variant.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.queue, self.congestion, self.pace)
    }
}

fn product<'a, A, B, C>(a: &'a [A], b: &'a [B], c: &'a [C]) -> impl Iterator<Item = (&'a A, &'a B, &'a C)> {
    a.iter()
        .flat_map(move |a| b.iter().flat_map(move |b| c.iter().map(move |c| (a, b, c))))
}

pub(crate) fn axis<T>(
    key: &str,
    texts: &[String],
    read: impl Fn(&str) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    if texts.is_empty() || texts.len() > MOST_VALUES {
        return wrong(key, format!("1 to {MOST_VALUES} values"));
    }
    for (place, text) in texts.iter().enumerate() {
        if texts[..place].contains(text) {
            return wrong(key, format!("'{text}' stands there twice"));
        }
    }
    texts.iter().map(|text| read(text)).collect()
}

/// As in a link file, where the kind alone leaves the limit to the defaults.
fn queue(text: &str) -> Result<Value, Wrong> {
    let (kind, limit) = match text.split_once(':') {
        Some((kind, limit)) => (kind, Some(limit)),
        None => (text, None),
    };
    let mut table = Table::new();
    table.insert("kind".to_owned(), Value::String(kind.to_owned()));
    if let Some(limit) = limit {
        table.insert("limit".to_owned(), Value::String(limit.to_owned()));
    }
    Ok(Value::Table(table))
}

pub(crate) fn pace(text: &str) -> Result<PacePolicy, Wrong> {
    text.parse().or_else(|_| {
        let text: String = text.chars().take(40).collect();
        wrong("paces", format!("unknown pace '{text}'; use {PACE_WORDS}"))
    })
}

/// Paces between commas: one that begins with a digit belongs to the pace before it, as in `sammy:3.2,2.8`.
#[must_use]
pub fn pace_list(text: &str) -> Vec<String> {
    let mut paces: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        match paces.last_mut() {
            Some(before) if part.starts_with(|first: char| first.is_ascii_digit()) => {
                before.push(',');
                before.push_str(part);
            }
            _ => paces.push(part.to_owned()),
        }
    }
    paces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_factors_stays_together() {
        assert_eq!(
            pace_list("none,top:1.5, sammy:3.2,2.8,hyb"),
            ["none", "top:1.5", "sammy:3.2,2.8", "hyb"]
        );
    }
}
