//! The trials of a scenario on a bench that makes none: their order, their repetition, and what they give together.

use std::cell::RefCell;
use std::path::Path;

use serde_json::{Value, json};
use weir_lab::pacing::{
    Bench, Collected, Event, Figures, Outcome, Scenario, Trial, TrialError, TrialFigures, in_order, takes_ns,
};

/// Two variants, three repeats, two congestion controls, and one of two cases has a neighbour: an order that can be written
/// down by hand.
const SCENARIO: &str = r#"
congestion = ["cubic", "reno"]
repeats = 3
warm-up = "5s"
for = "20s"
link = { rate = "10Mbit/s", rtt = "20ms" }
media = { rungs = ["4Mbit/s"], segment = "4s" }
player = { abr = "throughput", buffer = "24s" }
variant = [{ name = "unpaced" }, { name = "paced", pace = "top:2" }]
[[case]]
name = "call"
neighbours = [{ kind = "voip" }]
figures = [{ of = "voip.owd.p95", expect = "lower" }]
[[case]]
name = "lone"
figures = [{ of = "media.stalls" }]
"#;

fn scenario() -> Scenario {
    Scenario::parse(SCENARIO, "mine.toml", Path::new(".")).expect("a scenario")
}

/// Answers each attempt by a rule, and records the attempts.
struct Scripted<F> {
    attempts: RefCell<Vec<String>>,
    answer: F,
}

impl<F: Fn(&Trial<'_>, usize) -> Result<Outcome, TrialError>> Bench for Scripted<F> {
    fn attempt(&mut self, trial: &Trial<'_>) -> Result<Outcome, TrialError> {
        self.attempts.get_mut().push(trial.to_string());
        (self.answer)(trial, self.attempts.get_mut().len())
    }
}

/// The call alone has 10 ms of delay, unpaced 40, 50 and 45, paced 12, 14 and 13, by its repeat.
fn measured(trial: &Trial<'_>) -> Outcome {
    let ms = match trial.variant.map(|variant| variant.name.as_str()) {
        None => 10.0,
        Some("unpaced") => [40.0, 50.0, 45.0][trial.repeat as usize - 1],
        Some(_) => [12.0, 14.0, 13.0][trial.repeat as usize - 1],
    };
    Outcome::Measured(Box::new(TrialFigures {
        started_unix_ns: 7,
        duration_ns: trial.scenario.duration.0,
        figures: Figures::from([("voip.owd.p95".to_owned(), ms * 1e6)]),
        ..TrialFigures::default()
    }))
}

/// What became of all trials.
struct All {
    attempts: Vec<String>,
    said: Vec<String>,
    made: Result<bool, TrialError>,
    summary: Value,
    notes: Vec<String>,
}

/// Makes all trials.
fn make(answer: impl Fn(&Trial<'_>, usize) -> Result<Outcome, TrialError>) -> All {
    let scenario = scenario();
    let mut collected = Collected::default();
    let mut bench = Scripted {
        attempts: RefCell::default(),
        answer,
    };
    let said = RefCell::new(Vec::new());
    let made = collected.make(&in_order(&scenario), &mut bench, &|number, trial, event| {
        let event = match event {
            Event::Repeated(why) => format!("repeated, {why}"),
            Event::Measured(figures) => format!("{}", figures.figures["voip.owd.p95"]),
        };
        said.borrow_mut().push(format!("{number} {trial}: {event}"));
    });
    let summary = serde_json::to_value(collected.summary(&scenario)).expect("JSON");
    All {
        attempts: bench.attempts.into_inner(),
        said: said.into_inner(),
        made,
        summary,
        notes: collected.notes(),
    }
}

#[test]
fn neighbours_alone_come_first_and_every_other_repeat_is_turned_round() {
    let All {
        attempts,
        said,
        made,
        summary,
        ..
    } = make(|trial, _| Ok(measured(trial)));
    let of_case = |case: &str, congestion: &str, names: &str| -> Vec<String> {
        let names = names.split(' ');
        names
            .map(|name| format!("{case}, {congestion}, {}", name.replace('_', " ")))
            .collect()
    };
    let turned = "unpaced paced paced unpaced unpaced paced";
    let expected = [
        of_case("call", "cubic", &format!("neighbours_alone {turned}")),
        of_case("lone", "cubic", turned),
        of_case("call", "reno", &format!("neighbours_alone {turned}")),
        of_case("lone", "reno", turned),
    ];
    assert_eq!(attempts, expected.concat());
    assert_eq!((made, said.len()), (Ok(true), 26));
    // 5 s of warm-up, 20 s that count and 3 s around them, 26 times.
    assert_eq!(takes_ns(&scenario(), 26), 26 * 28_000_000_000);
    // The medians of three values can be seen: 45 and 13 ms.
    let row = &summary["comparisons"][0]["figures"][0];
    assert_eq!(row["alone"]["median"], 10e6);
    assert_eq!(row["variants"][0]["median"], 45e6);
    assert_eq!(row["variants"][1]["median"], 13e6);
    let congestion = |at: usize| summary["comparisons"][at]["congestion"].clone();
    assert_eq!(
        [0, 1, 2, 3].map(congestion),
        [json!("cubic"), json!("cubic"), json!("reno"), json!("reno")]
    );
    let kept = &summary["trials"][1];
    assert_eq!(
        (&kept["variant"], &kept["repeat"], &kept["started_unix_ns"]),
        (&json!("unpaced"), &json!(1), &json!(7))
    );
}

#[test]
fn an_invalid_result_is_repeated_and_never_counts() {
    // The second and the third attempt, which are of one trial, are invalid.
    let All {
        attempts,
        said,
        made,
        summary,
        notes,
    } = make(|trial, attempt| match attempt {
        2 | 3 => Ok(Outcome::Unfit(format!("late {attempt}"))),
        _ => Ok(measured(trial)),
    });
    assert_eq!(made, Ok(true));
    assert_eq!(attempts.len(), 28);
    assert_eq!(attempts[1..4], vec!["call, cubic, unpaced"; 3]);
    assert_eq!(said[1], "1 call, cubic, unpaced: repeated, late 2");
    assert_eq!(said[3], "1 call, cubic, unpaced: 40000000");
    assert_eq!(summary["unfit_trials"], 2);
    assert_eq!(summary["trials"].as_array().map(Vec::len), Some(26));
    assert!(
        notes[0].starts_with("2 trials had an invalid result"),
        "{notes:?}"
    );
}

#[test]
fn three_invalid_results_end_it_and_keep_what_was_measured() {
    let All {
        attempts,
        made,
        summary,
        ..
    } = make(|trial, attempt| match attempt {
        1 => Ok(measured(trial)),
        _ => Ok(Outcome::Unfit("the link was late".to_owned())),
    });
    let error = made.expect_err("no result").to_string();
    assert!(
        error.starts_with("call, cubic, unpaced: no valid result in 3 attempts: the link was late"),
        "{error}"
    );
    assert_eq!(attempts.len(), 4);
    assert_eq!(summary["trials"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_interruption_or_an_error_ends_it_at_once() {
    let All {
        attempts,
        made,
        summary,
        ..
    } = make(|trial, attempt| match attempt {
        3 => Ok(Outcome::Interrupted),
        _ => Ok(measured(trial)),
    });
    assert_eq!((attempts.len(), made), (3, Ok(false)));
    assert_eq!(summary["trials"].as_array().map(Vec::len), Some(2));
    // Of the first case some variants are there, of the others none.
    assert_eq!(summary["comparisons"].as_array().map(Vec::len), Some(1));
    let broken = TrialError("no namespace".to_owned());
    let All { attempts, made, .. } = make(|_, _| Err(TrialError("no namespace".to_owned())));
    assert_eq!((attempts.len(), made), (1, Err(broken)));
}
