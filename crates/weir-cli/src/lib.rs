//! The parts of the `weir` command that can be tested without running it: quantities with units, thresholds, the
//! argument tree, and what is made from that tree. It must not know how anything is measured or stored.

pub mod args;
pub mod completions;
pub mod fail_if;
pub mod man;
pub use weir_units as units;
