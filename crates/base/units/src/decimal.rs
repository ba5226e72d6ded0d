//! Decimal numbers without rounding: binary floating point cannot hold every one of them. It knows no units.

use super::UnitError;

/// A decimal number of zero or more: `digits` / 10^`places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    places: u32,
}

/// Why a scaled number has no exact value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScaleError {
    /// Does not fit into 64 bits.
    TooLarge,
    /// Is not a whole number.
    TooFine,
}

/// Maximum number of digits: they fit into a `u128` with room for any factor used here.
const MOST_DIGITS: usize = 24;

impl Decimal {
    /// Reads `12`, `1.5` or `.5`; none if `text` is anything else.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        // Zeros at either end do not count towards the maximum.
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        if whole.len() + fraction.len() > MOST_DIGITS {
            return None;
        }
        let joined = format!("0{whole}{fraction}");
        Some(Decimal {
            digits: joined.parse().ok()?,
            places: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// The number is zero.
    pub(super) fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// The number times `factor`, which must be whole.
    pub(super) fn times(self, factor: u64) -> Result<u64, ScaleError> {
        let product = self
            .digits
            .checked_mul(u128::from(factor))
            .ok_or(ScaleError::TooLarge)?;
        let divisor = 10u128.pow(self.places);
        if product % divisor != 0 {
            return Err(ScaleError::TooFine);
        }
        u64::try_from(product / divisor).map_err(|_| ScaleError::TooLarge)
    }

    /// The number times `factor`, as a whole number of `unit`; `text` is what the user wrote, and `most` the maximum.
    pub(super) fn scaled(
        self,
        factor: u64,
        text: &str,
        unit: &'static str,
        most: impl ToString,
    ) -> Result<u64, UnitError> {
        self.times(factor).map_err(|error| match error {
            ScaleError::TooLarge => UnitError::too_large(text, most),
            ScaleError::TooFine => UnitError::TooFine {
                text: text.to_owned(),
                unit,
            },
        })
    }

    /// The number as a fraction in lowest terms, if both parts fit.
    pub(super) fn fraction(self) -> Option<(u32, u32)> {
        let divisor = 10u128.pow(self.places);
        let common = greatest_common_divisor(self.digits, divisor);
        Some((
            u32::try_from(self.digits / common).ok()?,
            u32::try_from(divisor / common).ok()?,
        ))
    }
}

/// Greatest common divisor; `b` must not be zero.
pub(super) fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Splits a quantity into its number and its unit; either may be empty.
pub(super) fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `value` / `factor`, all digits, no zeros at the end.
pub(super) fn exact(value: u64, factor: u64) -> String {
    let (whole, mut rest) = (value / factor, u128::from(value % factor));
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
    }
    // Ends, since every factor used here divides a power of ten or of two.
    while rest > 0 {
        rest *= 10;
        text.push(char::from(
            b'0' + u8::try_from(rest / u128::from(factor)).unwrap_or(9),
        ));
        rest %= u128::from(factor);
    }
    text
}
