//! The workload generator: against servers made by the tests, and against nginx.

#![allow(clippy::unwrap_used)]

mod acting;
mod capacity;
mod causes;
mod choices;
mod engine;
mod forms;
mod manifests;
mod nginx;
mod players;
mod playing;
mod served;
mod tls;
mod tls_records;
