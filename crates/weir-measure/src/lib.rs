//! Placeholder paragraph: replaced by the crate's first code.
