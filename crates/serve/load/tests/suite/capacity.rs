//! Searches for the capacity of a modelled origin, whose answer a textbook gives: a closed system of viewers who think for a
//! while, and one server (Lazowska and others, "Quantitative System Performance", 5.2: the asymptotic bounds, which hold
//! exactly where nothing is random). With N viewers, demand D and think time Z, an answer takes max(D, N D - Z).

use weir_load::capacity::{Bench, Capacity, Condition, Found, Plan, Trial, Verdict};

/// 10 ms of server for each request.
const DEMAND_S: f64 = 0.01;

const PLAN: Plan = Plan {
    from: 1,
    most: 10_000,
    repeats: 3,
    // To the viewer.
    precision: 0.0,
};

struct Modelled {
    think_s: f64,
    /// Longest answer that is good enough.
    limit_s: f64,
    /// Viewers from which on the generator is the limit.
    generator: u32,
    /// Trials until somebody stops it.
    stopped_after: usize,
    trials: usize,
}

impl Modelled {
    fn new(think_s: f64, limit_s: f64) -> Self {
        Modelled {
            think_s,
            limit_s,
            generator: u32::MAX,
            stopped_after: usize::MAX,
            trials: 0,
        }
    }
}

impl Bench for Modelled {
    type Error = String;

    fn trial(&mut self, viewers: u32) -> Result<Option<Trial>, String> {
        self.trials += 1;
        if self.trials > self.stopped_after {
            return Ok(None);
        }
        let answer_s = (f64::from(viewers) * DEMAND_S - self.think_s).max(DEMAND_S);
        let held = answer_s < self.limit_s;
        let verdict = match (held, viewers >= self.generator) {
            (true, _) => Verdict::Held,
            (false, false) => Verdict::Broke,
            (false, true) => Verdict::Unclear,
        };
        Ok(Some(Trial {
            run_id: self.trials as i64,
            viewers,
            verdict,
            conditions: vec![Condition {
                condition: "p99 < 500 ms".to_owned(),
                value: Some(answer_s * 1e9),
                text: String::new(),
                held,
            }],
            requests: 1,
            failed: 0,
            requests_per_second: f64::from(viewers) / (answer_s + self.think_s),
            busiest: 0.1,
            generator_limited: viewers >= self.generator,
        }))
    }
}

fn find(plan: Plan, bench: &mut Modelled) -> Capacity {
    let (capacity, ended) = Capacity::find(plan, vec!["p99 < 500 ms".to_owned()], bench, &|_| {});
    ended.expect("a model does not fail");
    capacity
}

#[test]
fn the_capacity_of_a_closed_system_is_that_of_its_asymptote() {
    // N D - Z < 0.5 s, solved by hand: 49 without thinking, 149 with 1 s of it, 1,049 with 10 s.
    for (think_s, expected) in [(0.0, 49), (1.0, 149), (10.0, 1_049)] {
        let mut bench = Modelled::new(think_s, 0.5);
        let capacity = find(PLAN, &mut bench);
        assert_eq!(capacity.found, Some(Found::Capacity));
        let known = capacity.interval;
        assert_eq!(
            (known.viewers, known.low, known.high),
            (expected, expected, Some(expected + 1))
        );
        assert_eq!(capacity.trials.len(), bench.trials);
        // Below the knee, N* = (D + Z) / D, throughput grows with the viewers: X = N / (D + Z).
        let first = &capacity.trials[0];
        assert!((first.requests_per_second - 1.0 / (DEMAND_S + think_s)).abs() < 1e-9);
    }
}

#[test]
fn a_search_is_as_close_as_was_asked_for() {
    let plan = Plan {
        precision: 0.1,
        ..PLAN
    };
    let known = find(plan, &mut Modelled::new(10.0, 0.5)).interval;
    assert!((945..=1_049).contains(&known.viewers), "{known:?}");
}

#[test]
fn what_is_not_the_limit_of_the_origin_is_said() {
    let nobody = find(PLAN, &mut Modelled::new(0.0, 0.005));
    assert_eq!(
        (nobody.found, nobody.interval.viewers),
        (Some(Found::NoneHeld), 0)
    );
    let plan = Plan { most: 40, ..PLAN };
    let all = find(plan, &mut Modelled::new(0.0, 0.5));
    assert_eq!((all.found, all.interval.viewers), (Some(Found::AllHeld), 40));
    assert!(
        all.remark(false)
            .is_some_and(|said| said.contains("at least 40 viewers"))
    );
    let mut weak = Modelled::new(0.0, 0.5);
    weak.generator = 50;
    let weak = find(PLAN, &mut weak);
    // Doubling from 1 reaches 32, which holds, and 64, of which nothing is known.
    assert_eq!((weak.found, weak.interval.viewers), (Some(Found::Generator), 32));
    assert!(
        weak.remark(false)
            .is_some_and(|said| said.contains("more than 32 viewers"))
    );
}

#[test]
fn an_interrupted_search_keeps_what_it_knows() {
    let mut bench = Modelled::new(0.0, 0.5);
    bench.stopped_after = 5;
    let capacity = find(PLAN, &mut bench);
    assert_eq!((capacity.found, capacity.trials.len()), (None, 5));
    // 1, 2, 4, 8 and 16 hold.
    assert_eq!((capacity.interval.viewers, capacity.interval.high), (16, None));
    assert!(
        capacity
            .remark(true)
            .is_some_and(|said| said.contains("preliminary"))
    );
}
