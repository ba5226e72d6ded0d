//! Residual loss, simulated with real elimination, against an independent computation (`tests/data/make_residual.py`).

use crate::simulation::{Loss, Run, run};
use serde_json::Value;
use weir_fec::CodeRate;

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap()
}

fn simulated(row: &Value, sources: u64, seed: u64) -> crate::simulation::Residual {
    run(Run {
        rate: CodeRate::new(number(row, "sources") as u16, number(row, "window") as u16).unwrap(),
        deadline: number(row, "deadline") as u16,
        loss: Loss::Independent(number(row, "loss")),
        sources,
        seed,
    })
    .unwrap()
}

/// A simulation whose interval of 95 % does not miss the computed loss by more than half its width.
fn near(row: &Value, seed: u64) -> crate::simulation::Residual {
    let expected = number(row, "residual");
    let result = simulated(row, 400_000, seed);
    let room = (result.high - result.low) / 2.0;
    assert!(
        result.low - room <= expected && expected <= result.high + room,
        "{row}: {result:?}"
    );
    result
}

/// Of 18 intervals of 95 % one or two may miss; by more than half their width none.
#[test]
fn as_computed() {
    let data: Value = serde_json::from_str(include_str!("../data/residual.json")).unwrap();
    let rows = data["tested"].as_array().unwrap();
    let (mut outside, mut compared) = (Vec::new(), 0);
    for (seed, row) in (1..).zip(rows) {
        let expected = number(row, "residual");
        let result = near(row, seed);
        compared += usize::from(result.unrecovered > 100);
        if !(result.low..=result.high).contains(&expected) {
            outside.push(format!("{row}: {result:?}"));
        }
    }
    assert!(outside.len() <= 3, "{outside:#?}");
    assert!(compared >= 12, "{compared}");
}

/// A deadline beyond the window helps: packets lost together are recovered together, if late.
#[test]
fn as_computed_with_longer_deadlines() {
    let data: Value = serde_json::from_str(include_str!("../data/residual.json")).unwrap();
    let rows = data["late"].as_array().unwrap();
    let frequent = rows.iter().filter(|row| number(row, "residual") > 1e-4);
    for (seed, row) in (1..).zip(frequent) {
        let result = near(row, seed);
        assert!(result.unrecovered > 100);
    }
}

/// The collapse: one flow of 16 is dark, and a few others are lost too. A repair for 15 sources leaves no slack.
#[test]
fn no_slack_collapses() {
    let share = |sources, window| {
        let result = run(Run {
            rate: CodeRate::new(sources, window).unwrap(),
            deadline: 640,
            loss: Loss::DarkFlow {
                flows: 16,
                others: 4e-4,
            },
            sources: 150_000,
            seed: 7,
        });
        result.unwrap().share
    };
    assert!(share(15, 64) > 1e-2);
    assert!(share(12, 96) < 1e-5);
}
