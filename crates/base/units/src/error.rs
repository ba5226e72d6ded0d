//! Errors of quantities. Each text follows an option's name, so none of them names an option.

use thiserror::Error;

/// A quantity that could not be read, with the right form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnitError {
    /// A bare number where a unit is needed.
    #[error("'{text}' has no unit; write {write}")]
    NoUnit {
        /// The user's text.
        text: String,
        /// The same number with the likely units.
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
        /// The user's text.
        text: String,
        /// Both meanings, written out.
        write: String,
    },
    /// Not a number.
    #[error("'{text}' is not {kind}; write it like {example}")]
    NotThis {
        /// The user's text.
        text: String,
        /// What was expected, with its article.
        kind: &'static str,
        /// A valid value.
        example: &'static str,
    },
    /// Above the maximum.
    #[error("'{text}' is too large; the maximum is {most}")]
    TooLarge {
        /// The user's text.
        text: String,
        /// The largest value.
        most: String,
    },
    /// Digits below the smallest unit.
    #[error("'{text}' is not a whole number of {unit}; leave out the last digits")]
    TooFine {
        /// The user's text.
        text: String,
        /// The smallest unit.
        unit: &'static str,
    },
    /// Zero where a positive value is needed.
    #[error("{what}; {write}")]
    Zero {
        /// What must not be zero.
        what: &'static str,
        /// What to write instead.
        write: &'static str,
    },
    /// A span from high to low.
    #[error("{text} runs backwards; write {write}")]
    Backwards {
        /// The user's text.
        text: String,
        /// The span in the right order.
        write: String,
    },
    /// Parts of a time out of order.
    #[error("'{text}' has units out of order; write the longest first, like 1h30min")]
    Order {
        /// The user's text.
        text: String,
    },
}

impl UnitError {
    /// [`UnitError::NotThis`] for `text`.
    pub(super) fn not_this(text: &str, kind: &'static str, example: &'static str) -> Self {
        UnitError::NotThis {
            text: text.to_owned(),
            kind,
            example,
        }
    }

    /// [`UnitError::TooLarge`] for `text`.
    pub(super) fn too_large(text: &str, most: impl ToString) -> Self {
        UnitError::TooLarge {
            text: text.to_owned(),
            most: most.to_string(),
        }
    }
}
