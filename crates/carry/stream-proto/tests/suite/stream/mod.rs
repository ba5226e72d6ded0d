//! Whole streams across emulated links, in virtual time: every output frame is compared with the input.

mod adapting;
mod attacker;
mod clocks;
mod hostile;
mod long_after;
mod losses;
mod merging;
mod setup;
mod shares;
mod switching;
mod trouble;
mod world;
