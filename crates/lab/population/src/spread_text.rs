//! Distributions as files write them: one value, values with shares, quantiles, or a log-normal distribution. It must not
//! know whose distributions they are.

use std::fmt::Display;
use std::str::FromStr;

use toml::{Table, Value};
use weir_lab::scenario_file::{Wrong, wrong};
use weir_units::{ByteCount, Rate, TimeSpan};

use crate::draw::{Choice, Spread};

/// Most values of a distribution.
const MOST_VALUES: usize = 1_000;
const MOST_SIGMA: f64 = 5.0;

/// A quantity, as it is written and within which bounds, in its base unit.
#[derive(Clone, Copy)]
pub(crate) struct Quantity {
    read: fn(&str) -> Result<f64, String>,
    bounds: (f64, f64),
    allowed: &'static str,
}

fn parsed<T: FromStr<Err: Display>>(text: &str, base: fn(T) -> u64) -> Result<f64, String> {
    text.parse()
        .map(|value| base(value) as f64)
        .map_err(|error: T::Err| error.to_string())
}

/// Rates of lines, bits per second.
pub(crate) const LINE_RATE: Quantity = Quantity {
    read: |text| parsed(text, |rate: Rate| rate.0),
    bounds: (1e5, 1e10),
    allowed: "from 100kbit/s to 10Gbit/s",
};
/// Times of lines, nanoseconds.
pub(crate) const LINE_TIME: Quantity = Quantity::time((1e3, 1e10), "from 1us to 10s");
/// Lengths of sessions, nanoseconds.
pub(crate) const SESSION: Quantity = Quantity::time((1e9, 1.44e13), "from 1s to 4h");
/// Pauses, nanoseconds.
pub(crate) const PAUSE: Quantity = Quantity::time((1e6, 3.6e12), "from 1ms to 1h");
/// Lengths of downloads, bytes.
pub(crate) const DOWNLOAD: Quantity = Quantity {
    read: |text| parsed(text, |bytes: ByteCount| bytes.0),
    bounds: (1e3, 1e11),
    allowed: "from 1kB to 100GB",
};

impl Quantity {
    const fn time(bounds: (f64, f64), allowed: &'static str) -> Self {
        Quantity {
            read: |text| parsed(text, |time: TimeSpan| time.0),
            bounds,
            allowed,
        }
    }

    /// The highest value.
    pub const fn most(&self) -> f64 {
        self.bounds.1
    }

    /// Whether a value is within the bounds.
    pub fn allows(&self, value: f64) -> bool {
        (self.bounds.0..=self.bounds.1).contains(&value)
    }

    /// The bounds in words.
    pub const fn allowed(&self) -> &'static str {
        self.allowed
    }

    fn value(&self, key: &str, value: &Value) -> Result<f64, Wrong> {
        let Value::String(text) = value else {
            return wrong(key, format!("a quantity in quotes, {}", self.allowed));
        };
        let read = match (self.read)(text) {
            Ok(read) => read,
            Err(problem) => return wrong(key, problem),
        };
        if self.allows(read) {
            return Ok(read);
        }
        wrong(key, format!("'{text}' is out of range; {}", self.allowed))
    }

    /// Reads the distribution of a key.
    pub fn spread(&self, key: &str, value: &Value) -> Result<Spread, Wrong> {
        let Value::Table(table) = value else {
            return self.value(key, value).map(Spread::Always);
        };
        let is_one = |form: &str| table.contains_key(form);
        match (is_one("shares"), is_one("quantiles"), is_one("median")) {
            (true, false, false) => shares(key, table, &|value| self.value(key, value)).map(Spread::Shares),
            (false, true, false) => self.quantiles(key, table),
            (false, false, true) => self.log_normal(key, table),
            _ => wrong(
                key,
                "a distribution has one of shares = [[SHARE, VALUE], ...], quantiles = [[SHARE, VALUE], ...], or median \
                 with sigma, min and max",
            ),
        }
    }

    fn quantiles(&self, key: &str, table: &Table) -> Result<Spread, Wrong> {
        known_keys(key, table, &["quantiles"])?;
        let key = format!("{key}.quantiles");
        let points = pairs(&key, &table["quantiles"], &|value| self.value(&key, value))?;
        let falls = |pair: &[(f64, f64)]| pair[0].0 >= pair[1].0 || pair[0].1 > pair[1].1;
        if let Some(before) = points.windows(2).position(falls) {
            let what = format!(
                "entry {} is below entry {}: shares ascend from 0 to 1, and values with them",
                before + 2,
                before + 1
            );
            return wrong(key, what);
        }
        let is_whole = points.first().is_some_and(|first| first.0 == 0.0)
            && points.last().is_some_and(|last| last.0 == 1.0);
        if is_whole {
            return Ok(Spread::Quantiles(points));
        }
        wrong(key, "the first share is 0, the last one 1")
    }

    fn log_normal(&self, key: &str, table: &Table) -> Result<Spread, Wrong> {
        known_keys(key, table, &["median", "sigma", "min", "max"])?;
        let value = |name: &str| match table.get(name) {
            Some(value) => self.value(&format!("{key}.{name}"), value),
            None => wrong(key, format!("{name} is missing beside median")),
        };
        let (median, least, most) = (value("median")?, value("min")?, value("max")?);
        let sigma = table.get("sigma").and_then(number);
        match sigma {
            Some(sigma) if (0.0..=MOST_SIGMA).contains(&sigma) && least <= median && median <= most => {
                Ok(Spread::LogNormal {
                    median,
                    sigma,
                    least,
                    most,
                })
            }
            _ => wrong(
                key,
                format!("sigma is a number from 0 to {MOST_SIGMA}, and the median is between min and max"),
            ),
        }
    }
}

/// Reads one value, or several with their shares.
pub(crate) fn choice<T>(
    key: &str,
    value: &Value,
    read: &dyn Fn(&Value) -> Result<T, Wrong>,
) -> Result<Choice<T>, Wrong> {
    match value {
        Value::Table(table) if table.contains_key("shares") => shares(key, table, read),
        value => read(value).map(Choice::only),
    }
}

fn shares<T>(
    key: &str,
    table: &Table,
    read: &dyn Fn(&Value) -> Result<T, Wrong>,
) -> Result<Choice<T>, Wrong> {
    known_keys(key, table, &["shares"])?;
    let key = format!("{key}.shares");
    let values = pairs(&key, &table["shares"], read)?;
    Choice::new(values).or_else(|bad| wrong(key, bad.to_string()))
}

fn known_keys(key: &str, table: &Table, known: &[&str]) -> Result<(), Wrong> {
    let strange = table
        .keys()
        .find(|name| *name != "source" && !known.contains(&name.as_str()));
    match strange {
        None => Ok(()),
        Some(name) => wrong(
            format!("{key}.{name}"),
            format!("unknown; there are {} and source", known.join(", ")),
        ),
    }
}

fn pairs<T>(
    key: &str,
    value: &Value,
    read: &dyn Fn(&Value) -> Result<T, Wrong>,
) -> Result<Vec<(f64, T)>, Wrong> {
    let pairs = value.as_array().map_or(&[][..], Vec::as_slice);
    if pairs.is_empty() || pairs.len() > MOST_VALUES {
        return wrong(key, format!("a list of 1 to {MOST_VALUES} pairs [SHARE, VALUE]"));
    }
    let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([share, value]) => match number(share) {
            Some(share) => Ok((share, read(value)?)),
            None => wrong(key, "a share is a number from 0 to 1"),
        },
        _ => wrong(key, "each entry is a pair [SHARE, VALUE]"),
    };
    pairs.iter().map(pair).collect()
}

/// A word as it is written; of a table its `kind`, and `?` for what has none.
pub(crate) fn word(value: &Value) -> &str {
    let kind = value.get("kind").unwrap_or(value);
    kind.as_str().unwrap_or("?")
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Float(number) => *number,
        Value::Integer(number) => *number as f64,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
