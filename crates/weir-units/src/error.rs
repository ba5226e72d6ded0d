//! Why a quantity was refused. Each text stands after an option's name, so none of them names an option.

use thiserror::Error;

/// A quantity that could not be read, with the form that would have been.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// A bare number where a unit is needed.
    #[error("'{text}' has no unit; write {write}")]
    NoUnit {
        /// What was given.
        text: String,
        /// The same number with the units that are likeliest meant.
        write: String,
    },
    /// A number with a unit of another kind, or a misspelt one.
    #[error("'{unit}' is not a unit of {kind}; write {write}")]
    UnknownUnit {
        /// The unit that was given.
        unit: String,
        /// What the unit should measure.
        kind: &'static str,
        /// The right form.
        write: String,
    },
    /// A unit that is read as bits by some and as bytes by others.
    #[error("'{text}' could mean bits or bytes; write {write}")]
    BitsOrBytes {
        /// What was given.
        text: String,
        /// Both readings, spelt out.
        write: String,
    },
    /// Something else than a number.
    #[error("'{text}' is not {kind}; write it like {example}")]
    NotThis {
        /// What was given.
        text: String,
        /// What it should have been, with its article.
        kind: &'static str,
        /// A value that would do.
        example: &'static str,
    },
    /// More than can be kept.
    #[error("'{text}' is too large; the most is {most}")]
    TooLarge {
        /// What was given.
        text: String,
        /// The largest value.
        most: String,
    },
    /// Digits below the smallest unit.
    #[error("'{text}' is not a whole number of {unit}; leave out the last digits")]
    TooFine {
        /// What was given.
        text: String,
        /// The smallest unit.
        unit: &'static str,
    },
    /// Zero where something is needed.
    #[error("{what}; {write}")]
    Zero {
        /// What zero would do.
        what: &'static str,
        /// What to write instead.
        write: &'static str,
    },
    /// A span from high to low.
    #[error("{text} runs backwards; write {write}")]
    Backwards {
        /// What was given.
        text: String,
        /// The span the right way round.
        write: String,
    },
    /// Parts of a time out of order.
    #[error("'{text}' does not go from the longest unit to the shortest; write it like 1h30min")]
    Order {
        /// What was given.
        text: String,
    },
}
