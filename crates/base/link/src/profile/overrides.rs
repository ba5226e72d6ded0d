//! Changes from a command line to a link before it is read: options for the whole link, and single keys. It must
//! not know the form of values; its changes are checked with the rest.

use toml::{Table, Value};

use super::entry::{joined, shown};
use super::resolve::MOST_ROUTES;
use super::{Profile, ProfileError};
use crate::trace::{one_line, shortened};

/// Options of a command line. Each one set applies to both directions and all routes and overrides the file;
/// values with a unit are text, as in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFlags {
    /// `--rate`
    pub rate: Option<String>,
    /// `--rtt`; not with `delay`
    pub rtt: Option<String>,
    /// `--delay`, of one direction
    pub delay: Option<String>,
    /// `--jitter`
    pub jitter: Option<String>,
    /// `--reorder`
    pub reorder: bool,
    /// `--queue`
    pub queue: Option<String>,
    /// `--loss`
    pub loss: Option<String>,
    /// `--burst`, mean burst length of losses, packets; needs `loss`
    pub burst: Option<String>,
    /// `--mtu`
    pub mtu: Option<u32>,
    /// `--routes`: this many equal ones instead of those of the file
    pub routes: Option<u32>,
    /// `--flow-rate`
    pub flow_rate: Option<String>,
    /// `--packet-rate`
    pub packet_rate: Option<u64>,
    /// `--hide-five-tuple`
    pub hide_five_tuple: bool,
    /// `--duplicate`
    pub duplicate: Option<String>,
    /// `--corrupt`
    pub corrupt: Option<String>,
    /// `--seed`
    pub seed: Option<u64>,
    /// `--set KEY=VALUE`, applied last and in this order; see [`Profile::set`]
    pub set: Vec<String>,
}

/// One step of a key's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Profile {
    /// Applies the options. After an error the profile is partly changed: discard it.
    ///
    /// # Errors
    /// [`ProfileError::Option`] for options that contradict each other or name something that does not exist. Values are
    /// checked by [`Profile::spec`].
    pub fn apply(&mut self, flags: &LinkFlags) -> Result<(), ProfileError> {
        if flags.rtt.is_some() && flags.delay.is_some() {
            return Err(option(
                "--rtt",
                "cannot be combined with --delay, which is half of it",
            ));
        }
        if flags.burst.is_some() && flags.loss.is_none() {
            return Err(option("--burst", "needs --loss, the mean loss of these bursts"));
        }
        if let Some(count) = flags.routes {
            self.replace_routes(count)?;
        }
        let text = |text: &String| Value::String(text.clone());
        let number =
            |number: u64| i64::try_from(number).map_or(Value::String(number.to_string()), Value::Integer);
        let values = [
            ("rate", flags.rate.as_ref().map(text)),
            ("rtt", flags.rtt.as_ref().map(text)),
            ("delay", flags.delay.as_ref().map(text)),
            ("jitter", flags.jitter.as_ref().map(text)),
            ("reorder", flags.reorder.then_some(Value::Boolean(true))),
            ("queue", flags.queue.as_ref().map(text)),
            (
                "loss",
                flags.loss.as_ref().map(|mean| loss(mean, flags.burst.as_deref())),
            ),
            ("mtu", flags.mtu.map(|bytes| number(u64::from(bytes)))),
            ("flow-rate", flags.flow_rate.as_ref().map(text)),
            ("packet-rate", flags.packet_rate.map(number)),
            (
                "hide-five-tuple",
                flags.hide_five_tuple.then_some(Value::Boolean(true)),
            ),
            ("duplicate", flags.duplicate.as_ref().map(text)),
            ("corrupt", flags.corrupt.as_ref().map(text)),
            ("seed", flags.seed.map(number)),
        ];
        for (key, value) in values {
            if let Some(value) = value {
                self.set_everywhere(key, value);
            }
        }
        flags.set.iter().try_for_each(|assignment| self.set(assignment))
    }

    /// Sets one key, as in `loss=0.1%`, `route.1.loss=0.05%` or `reverse.rate={ trace = "FILE" }`; routes are
    /// counted from 0. A value that is not TOML counts as text, so that quantities need no quotes.
    ///
    /// # Errors
    /// [`ProfileError::Option`] if the assignment cannot be read, or its key does not exist.
    pub fn set(&mut self, assignment: &str) -> Result<(), ProfileError> {
        let wrong = |problem: String| option(&format!("--set '{}'", shortened(assignment)), problem);
        let (path, text) = assignment
            .split_once('=')
            .ok_or_else(|| wrong("write KEY=VALUE, such as loss=0.1%".to_owned()))?;
        let steps = steps(path.trim()).map_err(wrong)?;
        let value = value(text.trim()).map_err(wrong)?;
        own_routes(&mut self.table, &steps);
        let key = put(&mut self.table, &steps, value).map_err(wrong)?;
        self.set_by
            .push((key, format!("--set '{}'", shortened(assignment))));
        Ok(())
    }

    /// Sets a key for the whole link, and removes it from every table with higher precedence.
    fn set_everywhere(&mut self, key: &str, value: Value) {
        let rivals: &[&str] = if matches!(key, "rtt" | "delay") {
            &["rtt", "delay"]
        } else {
            &[key]
        };
        for_each_part(&mut self.table, &mut |part| {
            for rival in rivals {
                part.remove(*rival);
            }
        });
        self.table.insert(key.to_owned(), value);
        self.set_by.push((key.to_owned(), format!("--{key}")));
    }

    fn replace_routes(&mut self, count: u32) -> Result<(), ProfileError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if !(1..=MOST_ROUTES).contains(&count) {
            return Err(option(
                &format!("--routes {count}"),
                format!("write a number from 1 to {MOST_ROUTES}"),
            ));
        }
        for_each_part(&mut self.table, &mut |part| {
            part.remove("route");
        });
        let routes = vec![Value::Table(Table::new()); count];
        self.table.insert("route".to_owned(), Value::Array(routes));
        self.set_by.push(("route".to_owned(), "--routes".to_owned()));
        Ok(())
    }
}

fn option(option: &str, problem: impl Into<String>) -> ProfileError {
    ProfileError::Option {
        option: option.to_owned(),
        problem: problem.into(),
    }
}

fn loss(mean: &str, burst: Option<&str>) -> Value {
    let mean = Value::String(mean.to_owned());
    let Some(burst) = burst else { return mean };
    // A value other than a number is refused where the key is read.
    let number = burst.parse().map(Value::Float);
    let burst = number.unwrap_or_else(|_| Value::String(burst.to_owned()));
    Value::Table(Table::from_iter([
        ("mean".to_owned(), mean),
        ("burst".to_owned(), burst),
    ]))
}

/// The file's own table, those of its directions, and of all routes.
fn for_each_part(file: &mut Table, change: &mut dyn FnMut(&mut Table)) {
    for name in ["forward", "reverse"] {
        if let Some(Value::Table(direction)) = file.get_mut(name) {
            for_each_route(direction, change);
            change(direction);
        }
    }
    for_each_route(file, change);
    change(file);
}

fn for_each_route(part: &mut Table, change: &mut dyn FnMut(&mut Table)) {
    if let Some(Value::Array(routes)) = part.get_mut("route") {
        routes.iter_mut().filter_map(Value::as_table_mut).for_each(change);
    }
}

/// Reads `route.1.loss` or `route[1].loss`.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    const MOST_STEPS: usize = 8;
    let wrong = || {
        format!(
            "'{}' is not a key; write one such as loss or route.1.loss",
            shortened(path)
        )
    };
    let plain = path.replace('[', ".").replace(']', "");
    let mut steps = Vec::new();
    for part in plain.split('.').map(str::trim) {
        let named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if part.is_empty() || !part.chars().all(named) || steps.len() == MOST_STEPS {
            return Err(wrong());
        }
        steps.push(match part.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(part.to_owned()),
        });
    }
    Ok(steps)
}

/// A value as in a file; anything else is text.
fn value(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Err("has no value; write KEY=VALUE, such as loss=0.1%".to_owned());
    }
    match format!("value = {text}").parse::<Table>() {
        Ok(mut table) => {
            let value = table.remove("value");
            // A line break in the text would start a second key.
            let alone = value.filter(|_| table.is_empty());
            alone.ok_or_else(|| "write one value on one line".to_owned())
        }
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => Err(one_line(error.message())),
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}

/// Copies the link's routes into a direction, to change one of them for that direction only.
fn own_routes(file: &mut Table, steps: &[Step]) {
    let [Step::Key(direction), Step::Key(route), _, ..] = steps else {
        return;
    };
    if route != "route" || !["forward", "reverse"].contains(&direction.as_str()) {
        return;
    }
    let Some(routes) = file.get("route").cloned() else {
        return;
    };
    let direction = file
        .entry(direction.as_str())
        .or_insert_with(|| Value::Table(Table::new()));
    if let Some(direction) = direction.as_table_mut() {
        direction.entry("route").or_insert(routes);
    }
}

/// Puts the value at the path; returns the key as errors name it.
fn put(file: &mut Table, steps: &[Step], value: Value) -> Result<String, String> {
    let (Some(Step::Key(first)), rest) = (steps.first(), steps.get(1..).unwrap_or_default()) else {
        return Err("a key begins with a name, such as loss or route.1.loss".to_owned());
    };
    let mut key = joined("", first);
    let mut slot = file.entry(first.as_str()).or_insert_with(|| empty(rest));
    for (done, step) in rest.iter().enumerate() {
        let beyond = &rest[done + 1..];
        slot = match (step, slot) {
            (Step::Key(name), Value::Table(table)) => {
                key = joined(&key, name);
                table.entry(name.as_str()).or_insert_with(|| empty(beyond))
            }
            (Step::Index(index), Value::Array(items)) => {
                let count = items.len();
                let slot = items.get_mut(*index).ok_or_else(|| match count {
                    0 | 1 => format!("{key} has no entry {index}, only 0; add routes with --routes"),
                    _ => format!("{key} has no entry {index}, only 0 to {}", count - 1),
                })?;
                key = format!("{key}[{index}]");
                slot
            }
            (Step::Key(name), other) => {
                return Err(format!("{key} is {}, which has no key {name}", shown(other)));
            }
            (Step::Index(index), other) => {
                return Err(format!("{key} is {}, which has no entry {index}", shown(other)));
            }
        };
    }
    *slot = value;
    Ok(key)
}

/// A new container for the next step.
fn empty(beyond: &[Step]) -> Value {
    match beyond.first() {
        Some(Step::Key(_)) => Value::Table(Table::new()),
        // A file without routes has an implicit first route.
        Some(Step::Index(_)) => Value::Array(vec![Value::Table(Table::new())]),
        None => Value::Boolean(false),
    }
}
