//! Whole streams across emulated links, in virtual time: every frame that comes out is compared with what went in.

mod adapting;
mod clocks;
mod hostile;
mod losses;
mod merging;
mod switching;
mod trouble;
mod world;
