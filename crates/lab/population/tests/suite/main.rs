//! Populations: their files, and households that are computed by hand beside those that are played.

mod files;
mod many;
mod one;
mod small;
