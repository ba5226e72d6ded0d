//! The background's model of an origin: what it sends is proportional to R x S x B, requests for media a second, times the
//! duration of a segment, times the mean bit rate of the media (Unified Streaming, "load testing video streaming at scale",
//! part two, figure 4).

use serde::Serialize;
use weir_stats::{line, proportion};

use super::file::Experiment;
use super::outcome::Done;

/// A run as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelPoint {
    /// The run, but for its repeat.
    pub key: String,
    /// Its number in the store.
    pub run: i64,
    /// R: requests for media a second.
    pub media_per_second: f64,
    /// S: seconds.
    pub segment_s: f64,
    /// B: mean bit rate of sound and pictures, bit/s.
    pub media_bps: f64,
    /// R x S x B, bit/s.
    pub product_bps: f64,
    /// What was sent, bit/s.
    pub out_bps: f64,
    /// What was sent above what the model says, bit/s.
    pub residual_bps: f64,
}

/// The model, fitted by least squares, and how far it is off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// OUT = factor x R x S x B.
    pub factor: f64,
    /// Bounds of the factor, 95 %.
    pub factor_low: f64,
    /// Bounds of the factor, 95 %.
    pub factor_high: f64,
    /// Share of the variation of OUT that it explains.
    pub r_squared: f64,
    /// Standard deviation of runs from it, bit/s.
    pub deviation_bps: f64,
    /// The largest residual, as a share of what was sent.
    pub largest_residual: f64,
    /// What a line that need not go through 0 has there, bit/s: near 0 if the model holds.
    pub free_intercept_bps: Option<f64>,
    /// The slope of that line.
    pub free_slope: Option<f64>,
    /// The runs.
    pub points: Vec<ModelPoint>,
}

impl Model {
    /// Fitted to the runs of parts that are marked for it, or to all where none is; none for fewer than two that sent
    /// something. Runs with failures are not what the model is about, and are left out.
    pub fn fit(experiment: &Experiment, done: &[Done]) -> Option<Model> {
        let any = experiment.parts.iter().any(|part| part.model);
        let wanted = |done: &&Done| {
            let marked = experiment.part(&done.cell).is_some_and(|part| part.model);
            (marked || !any) && done.outcome.out_bps > 0.0 && done.outcome.failed == 0
        };
        let mut points: Vec<ModelPoint> = done.iter().filter(wanted).map(point).collect();
        let pairs: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (point.product_bps, point.out_bps))
            .collect();
        let fitted = proportion(&pairs)?;
        for point in &mut points {
            point.residual_bps = point.out_bps - fitted.factor * point.product_bps;
        }
        let share = |point: &ModelPoint| (point.residual_bps / point.out_bps).abs();
        let free = line(&pairs);
        Some(Model {
            factor: fitted.factor,
            factor_low: fitted.interval.0,
            factor_high: fitted.interval.1,
            r_squared: fitted.r_squared,
            deviation_bps: fitted.deviation,
            largest_residual: points.iter().map(share).fold(0.0, f64::max),
            free_intercept_bps: free.map(|free| free.intercept),
            free_slope: free.map(|free| free.slope),
            points,
        })
    }
}

fn point(done: &Done) -> ModelPoint {
    let (rate, segment_s) = (done.outcome.media_per_second, done.cell.segment.0 as f64 / 1e9);
    let media_bps = done.cell.media_rate();
    ModelPoint {
        key: done.cell.group_key(),
        run: done.run,
        media_per_second: rate,
        segment_s,
        media_bps,
        product_bps: rate * segment_s * media_bps,
        out_bps: done.outcome.out_bps,
        residual_bps: 0.0,
    }
}
