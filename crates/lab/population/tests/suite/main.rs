//! Populations: their files, and households that are computed by hand beside those that are played.

mod files;
mod grid;
mod many;
mod measured;
mod one;
mod small;
mod tune;
