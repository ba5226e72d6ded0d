//! Response times over the number of viewers, from the run that a sink stored: figure 1 of the published comparison. It must not
//! know how the sink was started.

use std::path::Path;

use serde::Serialize;
use weir_results::{Record, RunFilter, RunId, Store, StoreError, Table};

/// Responses while about so many viewers asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Responses {
    /// Viewers, a mean over the time.
    pub viewers: f64,
    /// Requests that ended, failed ones included.
    pub requests: u64,
    /// Mean time to the last byte, ns.
    pub mean_ns: f64,
}

/// Points of a curve at most.
const POINTS: usize = 10;

/// A stretch of time of which all response times are stored.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    end_ns: u64,
    duration_ns: u64,
    requests: u64,
    sum_ns: i128,
}

/// The curve of a sink's run, by ascending numbers of viewers; empty if it stored none.
pub(crate) fn read(database: &Path) -> Result<Vec<Responses>, StoreError> {
    let store = Store::open_read_only(database)?;
    let filter = RunFilter {
        kinds: vec!["load".to_owned()],
        ..RunFilter::default()
    };
    let mut points = Vec::new();
    for run in store.runs(&filter)? {
        points.extend(of_run(&store, run.id)?);
    }
    Ok(curve(points))
}

fn of_run(store: &Store, run: RunId) -> Result<Vec<Responses>, StoreError> {
    let mut viewers: Vec<(u64, u64)> = Vec::new();
    store.each_record::<StoreError>(run, Table::ViewerSeconds, |record| {
        if let Record::ViewerSecond(second) = record {
            viewers.push((second.unix_ns, second.viewers));
        }
        Ok(())
    })?;
    let mut stretches: Vec<Stretch> = Vec::new();
    store.each_record::<StoreError>(run, Table::LoadHistograms, |record| {
        let Record::LoadHistogram(row) = record else {
            return Ok(());
        };
        if row.time != "last_byte" {
            return Ok(());
        }
        let known = stretches.iter().position(|stretch| stretch.end_ns == row.unix_ns);
        let place = known.unwrap_or(stretches.len());
        if known.is_none() {
            stretches.push(Stretch {
                end_ns: row.unix_ns,
                duration_ns: row.duration_ns,
                ..Stretch::default()
            });
        }
        if let Some(stretch) = stretches.get_mut(place) {
            stretch.requests += row.count;
            stretch.sum_ns += i128::from(row.sum_ns);
        }
        Ok(())
    })?;
    Ok(stretches
        .iter()
        .filter_map(|stretch| responses(stretch, &viewers))
        .collect())
}

/// None if nobody is known to have asked.
fn responses(stretch: &Stretch, viewers: &[(u64, u64)]) -> Option<Responses> {
    let began = stretch.end_ns.saturating_sub(stretch.duration_ns);
    let within = viewers
        .iter()
        .filter(|(unix_ns, _)| (began + 1..=stretch.end_ns).contains(unix_ns));
    let (sum, seconds) = within.fold((0, 0_u64), |(sum, seconds), (_, viewers)| {
        (sum + viewers, seconds + 1)
    });
    (seconds > 0 && stretch.requests > 0).then(|| Responses {
        viewers: sum as f64 / seconds as f64,
        requests: stretch.requests,
        mean_ns: stretch.sum_ns as f64 / stretch.requests as f64,
    })
}

/// Gathers stretches with similar numbers of viewers, each request counting alike.
fn curve(mut points: Vec<Responses>) -> Vec<Responses> {
    points.sort_by(|one, other| one.viewers.total_cmp(&other.viewers));
    let most = points.last().map_or(0.0, |point| point.viewers);
    let mut curve: Vec<(usize, Responses)> = Vec::new();
    for point in points {
        let bin = (point.viewers / most * POINTS as f64).ceil() as usize;
        match curve.last_mut() {
            Some((last, gathered)) if *last == bin => {
                let all = gathered.requests + point.requests;
                let weighted = |one: f64, other: f64| {
                    (one * gathered.requests as f64 + other * point.requests as f64) / all as f64
                };
                *gathered = Responses {
                    viewers: weighted(gathered.viewers, point.viewers),
                    mean_ns: weighted(gathered.mean_ns, point.mean_ns),
                    requests: all,
                };
            }
            _ => curve.push((bin, point)),
        }
    }
    curve.into_iter().map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_are_those_of_the_time_and_similar_numbers_are_gathered() {
        let stretch = Stretch {
            end_ns: 30,
            duration_ns: 20,
            requests: 4,
            sum_ns: 100,
        };
        let viewers = [(10, 90), (20, 2), (30, 4), (40, 90)];
        let one = responses(&stretch, &viewers).unwrap();
        assert_eq!((one.viewers, one.requests, one.mean_ns), (3.0, 4, 25.0));
        assert_eq!(responses(&stretch, &viewers[..1]), None);

        let point = |viewers: f64, requests, mean_ns| Responses {
            viewers,
            requests,
            mean_ns,
        };
        let curve = curve(vec![
            point(50.0, 10, 9.0),
            point(1.0, 1, 1.0),
            point(49.0, 30, 5.0),
        ]);
        assert_eq!(curve, [point(1.0, 1, 1.0), point(49.25, 40, 6.0)]);
    }
}
