//! Placeholder until the calibration below.
