//! Simulated measurements, the diagnosis of them, and the diagnosis of what damage makes of their databases.

#![allow(clippy::unwrap_used)]

mod apart;
mod beside_hosts;
mod beside_limits;
mod bursts;
mod carried;
mod diagnosis;
mod middleboxes;
mod paths;
mod published;
mod queries;
mod strange_databases;
mod surveys;
mod tcp_windows;
mod twins;
