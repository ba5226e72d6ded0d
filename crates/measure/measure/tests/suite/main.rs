//! Accounts of tests against accounts of another make.

#![allow(clippy::unwrap_used)]

mod stream_account;
