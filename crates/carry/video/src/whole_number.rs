//! Whole numbers as every text format here writes them.

/// Decimal digits and nothing else: `parse` alone would take a sign too. None also if the number does not fit.
pub(super) fn whole_number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}
