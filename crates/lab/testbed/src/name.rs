//! Names of testbeds and tasks. It must not know what they name.

/// Maximum length of a name.
const LONGEST_NAME: usize = 32;

/// Whether a name of a testbed or a task can be part of a path and of a namespace's name.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('-')
}

/// What a name is, for errors.
pub(crate) const A_NAME: &str = "a name has 1 to 32 letters, digits, '-' and '_', and begins with no '-'";
