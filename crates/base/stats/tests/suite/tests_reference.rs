//! The statistical tests of the diagnosis against R: see `data/make_tests_reference.R`.

// The reference is part of the repository: if it cannot be read, the test must fail.
use crate::assert_close;
use serde_json::Value;
use weir_stats::*;

fn reference(part: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/tests_reference.json")).unwrap();
    all[part].clone()
}

fn floats(part: &Value, field: &str) -> Vec<f64> {
    let values = part[field].as_array().unwrap_or_else(|| panic!("no {field}"));
    values.iter().map(|value| value.as_f64().unwrap()).collect()
}

fn whole(part: &Value, field: &str) -> Vec<u64> {
    floats(part, field)
        .into_iter()
        .map(|value| value as u64)
        .collect()
}

/// The first value of a field.
fn first(part: &Value, field: &str) -> f64 {
    floats(part, field)[0]
}

/// The rows of a part that has one value per case in each of these fields.
fn rows<const N: usize>(part: &str, fields: [&str; N]) -> Vec<[f64; N]> {
    let part = reference(part);
    let columns = fields.map(|field| floats(&part, field));
    assert!(columns.iter().all(|column| column.len() == columns[0].len()));
    (0..columns[0].len())
        .map(|row| columns.each_ref().map(|column| column[row]))
        .collect()
}

#[test]
fn tails_of_continuous_distributions() {
    for [z, tail] in rows("normal", ["z", "tail"]) {
        assert_close(normal_tail(z), tail, 1e-9, &format!("normal {z}"));
    }
    for [x, freedom, tail] in rows("chi_squared", ["x", "freedom", "tail"]) {
        assert_close(
            chi_squared_tail(x, freedom),
            tail,
            1e-9,
            &format!("chi-squared {x}"),
        );
    }
    for [t, freedom, tails, quantile] in rows("student", ["t", "freedom", "tails", "quantile05"]) {
        assert_close(student_two_tails(t, freedom), tails, 1e-9, &format!("t {t}"));
        assert_close(student_quantile(0.05, freedom), quantile, 1e-9, "t quantile");
    }
    for [f, above, below, tail] in rows("fisher", ["f", "above", "below", "tail"]) {
        assert_close(fisher_tail(f, above, below), tail, 1e-9, &format!("F {f}"));
    }
}

#[test]
fn tails_of_counts() {
    for [k, n, p, at_least, at_most] in rows("binomial", ["k", "n", "p", "at_least", "at_most"]) {
        let what = format!("binomial {k} of {n} at {p}");
        let (k, n) = (k as u64, n as u64);
        assert_close(binomial_at_least(k, n, p), at_least, 1e-9, &what);
        assert_close(binomial_at_most(k, n, p), at_most, 1e-9, &what);
    }
    for [k, mean, at_least] in rows("poisson", ["k", "mean", "at_least"]) {
        let ours = poisson_at_least(k as u64, mean);
        assert_close(ours, at_least, 1e-9, &format!("Poisson {k}"));
    }
    for [k, white, black, drawn, at_most] in
        rows("hypergeometric", ["k", "white", "black", "drawn", "at_most"])
    {
        let ours = hypergeometric_at_most(k as u64, white as u64, black as u64, drawn as u64);
        assert_close(ours, at_most, 1e-8, &format!("hypergeometric {k}"));
    }
}

/// Against all arrangements of a few packets.
#[test]
fn runs_and_distances_of_losses() {
    for [lost, received, runs, few] in rows("runs", ["lost", "received", "runs", "few"]) {
        let ours = few_runs_probability(lost as u64, received as u64, runs as u64);
        assert_close(ours, few, 1e-12, "runs");
    }
    for [lost, sent, reach, share] in rows("close", ["lost", "sent", "reach", "share"]) {
        let ours = close_share(lost as u64, sent as u64, reach as u64);
        assert_close(ours, share, 1e-12, "distances");
    }
    assert_eq!(few_runs_probability(0, 100, 0), 1.0);
    assert_eq!(close_losses_probability(1, 100, 0, 5), 1.0);
}

#[test]
fn rank_tests() {
    for (name, tolerance) in [("mann_whitney_exact", 1e-12), ("mann_whitney_ties", 1e-9)] {
        let part = reference(name);
        let ours = mann_whitney(&floats(&part, "first"), &floats(&part, "second")).unwrap();
        assert_close(ours.p_value, first(&part, "p"), tolerance, name);
        assert_close(ours.shift, first(&part, "shift"), 1e-9, name);
    }
    let part = reference("signed_rank_exact");
    let ours = signed_rank(&floats(&part, "differences")).unwrap();
    assert_close(ours.p_value, first(&part, "p"), 1e-12, "signed rank");
    assert_close(ours.shift, first(&part, "shift"), 1e-9, "signed rank");
    let part = reference("signed_rank_ties");
    let ours = signed_rank(&floats(&part, "differences")).unwrap();
    assert_close(ours.p_value, first(&part, "p"), 1e-9, "signed rank with ties");
    assert_eq!(mann_whitney(&[], &[1.0]), None);
    assert_eq!(signed_rank(&[0.0]), None);
}

#[test]
fn a_trend_among_outliers() {
    for name in ["trend", "trend_ties"] {
        let part = reference(name);
        let points: Vec<(f64, f64)> = floats(&part, "x").into_iter().zip(floats(&part, "y")).collect();
        let ours = trend(&points).unwrap();
        let expected = floats(&part, "found");
        assert_close(ours.slope, expected[0], 1e-9, name);
        assert!((ours.low - expected[1]).abs() < 1e-8, "{ours:?}, {expected:?}");
        assert!((ours.high - expected[2]).abs() < 1e-8, "{ours:?}, {expected:?}");
        assert_eq!(trend(&points[..5]), None);
    }
}

#[test]
fn a_line_and_a_median() {
    let part = reference("line");
    let points: Vec<(f64, f64)> = floats(&part, "x").into_iter().zip(floats(&part, "y")).collect();
    let ours = line(&points).unwrap();
    assert_close(ours.slope, first(&part, "slope"), 1e-10, "slope");
    assert_close(ours.intercept, first(&part, "intercept"), 1e-10, "intercept");
    assert_close(ours.slope_interval.0, first(&part, "interval"), 1e-9, "low");
    assert_close(ours.slope_interval.1, floats(&part, "interval")[1], 1e-9, "high");
    assert_close(ours.p_value, first(&part, "p"), 1e-8, "p");
    assert_close(ours.deviation, first(&part, "deviation"), 1e-10, "deviation");
    let part = reference("median_ranks");
    for (n, rank) in whole(&part, "n").into_iter().zip(floats(&part, "rank")) {
        let values: Vec<f64> = (1..=n).map(|value| value as f64).collect();
        let (low, high) = median_interval(&values).unwrap();
        assert_eq!((low, high), (rank, n as f64 + 1.0 - rank), "{n} values");
    }
    assert_eq!(median_interval(&[1.0; 5]), None);
}

fn groups(events: &[u64]) -> Vec<Vec<Counted>> {
    let slot = |events: &u64| Counted {
        events: *events,
        trials: 10_000,
    };
    events
        .chunks(5)
        .map(|chunk| chunk.iter().map(slot).collect())
        .collect()
}

#[test]
fn equal_and_unequal_rates() {
    for name in ["rates_steady", "rates_bursty"] {
        let part = reference(name);
        let ours = equal_rates(&groups(&whole(&part, "events"))).unwrap();
        assert_close(ours.p_value, first(&part, "p"), 1e-8, name);
        assert_close(ours.dispersion, first(&part, "dispersion"), 1e-9, name);
    }
    let few = |events: [u64; 3]| {
        let group = |events: u64| {
            vec![Counted {
                events,
                trials: 1_000_000,
            }]
        };
        equal_rates(&events.map(group)).unwrap().p_value
    };
    // 20,000 draws: within four standard deviations of 0.0041.
    let exact = first(&reference("rates_few"), "p");
    assert!(
        (few([0, 6, 0]) - exact).abs() < 4.0 * (exact / 20_000.0).sqrt(),
        "{}",
        few([0, 6, 0])
    );
    assert_eq!(few([2, 2, 2]), 1.0);
    assert_eq!(equal_rates(&groups(&[0; 20])), None);
}

#[test]
fn classes_of_equal_rates() {
    let part = reference("rates_steady");
    assert_eq!(
        rate_classes(&groups(&whole(&part, "events")), 0.01, Variation::default()),
        [vec![0, 1, 2], vec![3]]
    );
    let part = reference("rates_bursty");
    assert_eq!(
        rate_classes(&groups(&whole(&part, "events")), 0.01, Variation::default()),
        [vec![0, 1, 2, 3]]
    );
}

fn sequence(part: &Value) -> LossSequence {
    LossSequence {
        lost: whole(part, "lost"),
        length: whole(part, "length")[0],
    }
}

#[test]
fn likelihood_is_that_of_every_packet_in_turn() {
    let part = reference("gilbert");
    let of = |to_bad, to_good, loss_good, loss_bad| {
        ln_likelihood(
            &[sequence(&part)],
            &Gilbert {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            },
        )
    };
    assert_close(
        of(0.004, 0.15, 0.0, 0.6),
        first(&part, "at_truth"),
        1e-11,
        "at the truth",
    );
    assert_close(
        of(0.003, 0.2, 0.001, 0.7),
        first(&part, "with_good"),
        1e-11,
        "with loss while good",
    );
}

#[test]
fn the_fit_finds_the_maximum_and_its_curvature() {
    let part = reference("gilbert");
    let fit = fit_gilbert(&[sequence(&part)]).unwrap();
    assert_close(
        fit.ln_likelihood,
        first(&part, "ln_likelihood"),
        1e-7,
        "likelihood",
    );
    let found = [fit.process.to_bad, fit.process.to_good, fit.process.loss_bad];
    let bounds = [fit.to_bad, fit.to_good, fit.loss_bad];
    for index in 0..3 {
        assert_close(found[index], floats(&part, "fitted")[index], 2e-3, "parameter");
        assert_close(bounds[index].0, floats(&part, "low")[index], 1e-2, "low");
        assert_close(bounds[index].1, floats(&part, "high")[index], 1e-2, "high");
    }
    assert_eq!(fit.process.loss_good, 0.0);
    let part = reference("elliott");
    let fit = fit_gilbert(&[sequence(&part)]).unwrap();
    assert_close(
        fit.ln_likelihood,
        first(&part, "ln_likelihood"),
        1e-6,
        "likelihood",
    );
    assert_close(
        fit.process.loss_good,
        floats(&part, "fitted")[3],
        1e-2,
        "loss while good",
    );
}

#[test]
fn losses_of_a_block() {
    let part = reference("losses");
    let process = floats(&part, "process");
    let process = Gilbert {
        to_bad: process[0],
        to_good: process[1],
        loss_good: process[2],
        loss_bad: process[3],
    };
    let theirs = floats(&part, "probability");
    let ours = losses_in(&process, 6, 6);
    for (count, probability) in theirs.iter().enumerate() {
        assert_close(ours[count], *probability, 1e-12, &format!("{count} lost"));
    }
    // The truncation is in the last digit.
    let cut = losses_in(&process, 6, 3);
    assert_close(cut[4], theirs[4] + theirs[5] + theirs[6], 1e-12, "more than 3");
    let part = reference("residual");
    let losses = losses_in(&Gilbert::independent(0.01), 23, 23);
    assert_close(
        residual_loss(&losses, 23, 3),
        first(&part, "residual"),
        1e-10,
        "residual",
    );
    // Two routes of 3 packets each, independent: all of both.
    let route = losses_in(&Gilbert::independent(0.5), 3, 6);
    assert_close(add_losses(&route, &route)[6], 1.0 / 64.0, 1e-12, "all six");
}

#[test]
fn clusters_have_gaps_that_noise_does_not_open() {
    let values = [10.0, 35.2, 10.3, 34.9, 10.1];
    let found = clusters(&values, 0.3, 10.0, 5.0, 0.01);
    assert_eq!(found.members, [vec![0, 2, 4], vec![1, 3]]);
    assert!((found.means[1] - 35.05).abs() < 1e-9 && found.p_value.unwrap() < 1e-6);
    // Too narrow for the requested gap, then too narrow for the noise.
    assert_eq!(clusters(&values, 0.3, 10.0, 30.0, 0.01).members.len(), 1);
    let noisy = clusters(&values, 12.0, 10.0, 5.0, 0.01);
    assert_eq!((noisy.members.len(), noisy.p_value), (1, None));
    assert_eq!(clusters(&[], 1.0, 1.0, 1.0, 0.1).members.len(), 0);
}

/// A block of ten windows in which these flows lose in these windows.
fn block(losing: &[(usize, &[u16])]) -> Vec<Vec<u16>> {
    let mut windows = vec![Vec::new(); 10];
    for (window, flows) in losing {
        windows[*window] = flows.to_vec();
    }
    windows
}

#[test]
fn coincidences_beyond_chance() {
    // Eight flows that always lose together, and eight that lose each in a window of its own.
    let all: Vec<u16> = (0..8).collect();
    let together = block(&[(3, &all)]);
    let found = coincidence(&[together.clone(), together]).unwrap();
    assert_eq!((found.pairs, found.expected), (56, 5.6));
    assert!(found.p_value < 0.001);
    let apart: Vec<Vec<u16>> = (0..10)
        .map(|flow| if flow < 8 { vec![flow] } else { vec![] })
        .collect();
    assert_eq!(coincidence(&[apart]).unwrap().p_value, 1.0);
    assert_eq!(coincidence(&[vec![vec![2]; 10]]), None);
    // Two flows with one window each fall together in one block of ten, and in one of four.
    for (windows, chance) in [(10, 0.1), (4, 0.25)] {
        let pair = block(&[(0, &[1, 2])])[..windows].to_vec();
        let found = coincidence(&[pair]).unwrap();
        let error = (chance * (1.0 - chance) / 10_000.0_f64).sqrt();
        assert!((found.p_value - chance).abs() < 4.0 * error, "{}", found.p_value);
    }
}
