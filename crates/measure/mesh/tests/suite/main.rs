//! Meshes against the files of other tools.

#![allow(clippy::unwrap_used)]

mod cloud_modules;
mod clouds_page;
mod intercloud;
mod iperf3;
