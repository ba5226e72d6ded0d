//! The server as its clients see it: every route on a database filled by hand, those who may not ask, those who take too
//! much, and a run that is recorded meanwhile. The client is written here and shares nothing with the server.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod changing;
mod client;
mod described;
mod following;
mod guarded;
mod limits;
mod reading;
mod sample;
mod trouble;
mod watching;
