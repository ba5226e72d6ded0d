//! Short runs of the engine.

use std::time::{Duration, Instant};

use weir_load::client::Patience;
use weir_load::engine::{Config, Second, SoFar, Watch, place, run};
use weir_load::measure::LoadSummary;
use weir_load::schedule::Arrivals;
use weir_load::viewer::Play;

pub struct Nobody;

impl Watch for Nobody {
    fn second(&self, _: &Second, _: &SoFar) -> bool {
        true
    }
}

pub fn viewers(count: u32) -> Arrivals {
    Arrivals::Ramp {
        from: count,
        to: count,
        over: Duration::ZERO,
    }
}

/// Two threads for 0.7 s.
pub fn config(url: &str, arrivals: Arrivals, play: Play) -> Config {
    let titles = vec![place(url).expect("an address")];
    Config {
        duration: Some(Duration::from_millis(700)),
        threads: 2,
        patience: Patience {
            connect: Duration::from_secs(2),
            // Longer than a busy machine stands still.
            silence: Duration::from_secs(5),
        },
        ..Config::new(titles, play, arrivals)
    }
}

/// Requests of that kind.
pub fn of_kind(summary: &LoadSummary, kind: &str) -> u64 {
    let found = summary.kinds.iter().find(|found| found.kind == kind);
    found.map_or(0, |found| found.requests)
}

/// All failures have this cause.
#[track_caller]
pub fn only(summary: &LoadSummary, cause: &str) {
    let failures = &summary.all.failures;
    assert!(
        failures.len() == 1 && failures.contains_key(cause),
        "not only {cause}: {failures:?}"
    );
}

/// Runs it; the run must end soon after its time, whatever the server does.
#[track_caller]
pub fn play(config: &Config) -> LoadSummary {
    let began = Instant::now();
    let summary = run(config, None, &|| false, &Nobody).expect("a run");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "it took {:?}",
        began.elapsed()
    );
    summary
}
