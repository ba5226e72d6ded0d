//! The results store as its users see it: tables, views, files, processes, exports and the documentation.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod adopted;
mod documentation;
mod exports;
mod files;
mod lists;
mod mesh;
mod notes;
mod numbered;
mod ordered;
mod other_readers;
mod processes;
mod sample;
mod tables;
mod verdicts;
mod watch_merged;
mod watched;
