//! The `weir` command: the argument tree and what is made from it, typed configurations from arguments, tables and progress
//! from results, exit status. It must not know how anything is measured, carried or served.

pub mod args;
mod commands;
pub mod completions;
mod dispatch;
pub mod fail_if;
#[cfg(test)]
mod floors;
pub mod man;

pub use dispatch::run;
pub use weir_units as units;
