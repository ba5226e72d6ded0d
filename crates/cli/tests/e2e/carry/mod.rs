//! `weir send` and `weir recv`: frames go into one end of the built binary and come out of the other, across loopback
//! and across links that lose packets; and either end, the input, the output and the network fail in the middle.
//!
//! Formats are small and streams short. Receivers wait longer than they would in earnest, so that a busy machine loses
//! nothing that the test does not take away.

pub mod alarms;
mod ends;
mod links;
mod protection;
mod recipes;
mod threads;
