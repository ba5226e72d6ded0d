//! Throughput of an origin as a prediction, in place of the published OUT = R x S x B, which is an identity as long as R is counted in
//! the same run: a response takes a time of its own and a time for each byte, and viewers that always wait for one ask as often as
//! that allows. Each setting is predicted from the others. It must not know how runs were made.

use weir_stats::line;

use crate::result::Summary;

/// Share of a run's requests that were made by its full number of viewers.
const STEADY: f64 = 0.9;
/// Share by which requests may differ from viewers that always wait for a response: others have pauses, of which this says nothing.
const NO_PAUSES: f64 = 0.1;
/// Share by which the numbers of viewers of two runs may differ.
const AS_MANY: f64 = 0.01;
/// Settings that a prediction takes: a line through three, and one that was left out.
const FEWEST: usize = 4;

/// What is predicted for a setting, beside what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The setting.
    pub label: String,
    /// Requests a second: measured, and predicted from the other settings.
    pub requests_per_second: (f64, f64),
    /// Bodies, bits a second: measured, and predicted from the other settings.
    pub out_bps: (f64, f64),
}

/// Time of a response at a number of viewers, by a line through the means of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The workflow.
    pub workflow: String,
    /// Viewers.
    pub viewers: f64,
    /// Time that a response without a body would take, ns.
    pub response_ns: f64,
    /// Rate at which bodies come to a viewer, bit/s.
    pub body_bps: f64,
    /// Each setting.
    pub predicted: Vec<Predicted>,
}

struct Point {
    label: String,
    viewers: f64,
    bytes: f64,
    mean_ns: f64,
    requests_per_second: f64,
}

impl Model {
    /// One for each workflow of which four settings or more were run with the same number of viewers that never paused, and
    /// whose responses take longer with more bytes.
    pub fn of(summaries: &[Summary]) -> Vec<Model> {
        let mut workflows: Vec<&str> = summaries.iter().map(|summary| &*summary.workflow).collect();
        workflows.sort_unstable();
        workflows.dedup();
        let models = workflows.into_iter().filter_map(|workflow| {
            let runs = summaries.iter().filter(|summary| summary.workflow == workflow);
            fit(workflow, &runs.filter_map(point).collect::<Vec<_>>())
        });
        models.collect()
    }
}

fn point(summary: &Summary) -> Option<Point> {
    let mut sinks = summary
        .tasks
        .iter()
        .filter_map(|task| Some((task.sink?, &task.responses)));
    let (Some((sink, responses)), None) = (sinks.next(), sinks.next()) else {
        return None;
    };
    let full = responses.last()?;
    let all: u64 = responses.iter().map(|point| point.requests).sum();
    let expected = full.viewers * 1e9 / sink.mean_ns;
    let is_closed = (sink.requests_per_second / expected - 1.0).abs() <= NO_PAUSES;
    let is_steady = full.requests as f64 >= STEADY * all as f64;
    (sink.failed == 0 && is_closed && is_steady).then(|| Point {
        label: summary.setting(),
        viewers: full.viewers,
        bytes: sink.body_bytes as f64 / sink.requests as f64,
        mean_ns: sink.mean_ns,
        requests_per_second: sink.requests_per_second,
    })
}

fn fit(workflow: &str, points: &[Point]) -> Option<Model> {
    let viewers = points.first()?.viewers;
    if points
        .iter()
        .any(|point| (point.viewers / viewers - 1.0).abs() > AS_MANY)
    {
        return None;
    }
    let mut labels: Vec<&str> = points.iter().map(|point| &*point.label).collect();
    labels.sort_unstable();
    labels.dedup();
    if labels.len() < FEWEST {
        return None;
    }
    let pairs = |left_out: &str| -> Vec<(f64, f64)> {
        let others = points.iter().filter(|point| point.label != left_out);
        others.map(|point| (point.bytes, point.mean_ns)).collect()
    };
    let whole = line(&pairs(""))?;
    if whole.slope <= 0.0 {
        return None;
    }
    let predicted = labels.into_iter().map(|label| {
        let own: Vec<&Point> = points.iter().filter(|point| point.label == label).collect();
        let mean = |of: fn(&Point) -> f64| own.iter().map(|point| of(point)).sum::<f64>() / own.len() as f64;
        let bytes = mean(|point| point.bytes);
        let others = line(&pairs(label))?;
        let foreseen = viewers * 1e9 / (others.intercept + others.slope * bytes);
        Some(Predicted {
            label: label.to_owned(),
            requests_per_second: (mean(|point| point.requests_per_second), foreseen),
            out_bps: (
                mean(|point| point.requests_per_second * point.bytes * 8.0),
                foreseen * bytes * 8.0,
            ),
        })
    });
    Some(Model {
        workflow: workflow.to_owned(),
        viewers,
        response_ns: whole.intercept,
        body_bps: 8e9 / whole.slope,
        predicted: predicted.collect::<Option<Vec<_>>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::Responses;
    use crate::result::{SinkResult, TaskResult};

    /// Ten viewers whose responses take 2 ms and 8 ns a byte, 1 Gbit/s, but for `late`.
    fn run(segment: u64, late_ns: f64) -> Summary {
        let bytes = 100_000 * segment;
        let mean_ns = 2e6 + 8.0 * bytes as f64 + late_ns;
        let task = TaskResult {
            sink: Some(SinkResult {
                requests: 1_000,
                body_bytes: 1_000 * bytes,
                requests_per_second: 10e9 / mean_ns,
                mean_ns,
                ..SinkResult::default()
            }),
            responses: vec![Responses {
                viewers: 10.0,
                requests: 1_000,
                mean_ns,
            }],
            ..TaskResult::default()
        };
        Summary {
            workflow: "one".to_owned(),
            varied: [("origin.segment".to_owned(), format!("{segment}s"))].into(),
            tasks: vec![task],
            ..Summary::default()
        }
    }

    #[test]
    fn each_setting_is_predicted_from_the_others() {
        let runs: Vec<Summary> = [2, 4, 6, 8].map(|segment| run(segment, 0.0)).into();
        let [model] = &Model::of(&runs)[..] else {
            panic!("one model")
        };
        assert!(
            (model.response_ns - 2e6).abs() < 1.0 && (model.body_bps - 1e9).abs() < 1e3,
            "{model:?}"
        );
        for one in &model.predicted {
            let (measured, foreseen) = one.requests_per_second;
            assert!((foreseen / measured - 1.0).abs() < 1e-9, "{one:?}");
        }
        // Its own deviation does not help a setting: the others know nothing of it.
        let mut runs = runs;
        runs[3] = run(8, 4e6);
        let last = &Model::of(&runs)[0].predicted[3];
        let (measured, foreseen) = last.requests_per_second;
        assert!(
            (measured - 10e9 / 12.4e6).abs() < 1e-6 && (foreseen - 10e9 / 8.4e6).abs() < 1e-6,
            "{last:?}"
        );
    }

    #[test]
    fn nothing_is_predicted_of_few_settings_or_of_viewers_that_pause() {
        let runs: Vec<Summary> = [2, 4, 6, 8].map(|segment| run(segment, 0.0)).into();
        assert_eq!(Model::of(&runs[..3]), []);
        let mut pausing = runs.clone();
        for run in &mut pausing {
            if let Some(sink) = &mut run.tasks[0].sink {
                sink.requests_per_second /= 2.0;
            }
        }
        assert_eq!(Model::of(&pausing), []);
    }
}
