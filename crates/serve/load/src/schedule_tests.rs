//! Schedules against counts by hand and textbook moments.

use super::*;

/// How many viewers there are at a time, in seconds.
fn viewers_at(arrivals: &Arrivals, seconds: f64) -> i64 {
    let changes = arrivals.changes(1);
    let until = (seconds * 1e9) as u64;
    changes
        .take_while(|(at, _)| *at <= until)
        .fold(0, |viewers, (_, change)| match change {
            Change::Arrive => viewers + 1,
            Change::Leave => viewers - 1,
        })
}

#[test]
fn the_ramp_of_the_background() {
    let ramp = Arrivals::Ramp {
        from: 0,
        to: 50,
        over: Duration::from_secs(60),
    };
    // 50 viewers in 60 s: one every 1.2 s.
    let table = [
        (0.0, 0),
        (1.1, 0),
        (1.2, 1),
        (30.0, 25),
        (59.9, 49),
        (60.0, 50),
        (1e6, 50),
    ];
    for (seconds, viewers) in table {
        assert_eq!(viewers_at(&ramp, seconds), viewers, "after {seconds} s");
    }
    assert_eq!(ramp.most_viewers(), Some(50));
    let down = Arrivals::Ramp {
        from: 10,
        to: 4,
        over: Duration::from_secs(6),
    };
    assert_eq!(
        [0.0, 0.9, 1.0, 3.0, 6.0, 60.0].map(|at| viewers_at(&down, at)),
        [10, 10, 9, 7, 4, 4]
    );
    let flat = Arrivals::Ramp {
        from: 7,
        to: 7,
        over: Duration::ZERO,
    };
    assert_eq!([0.0, 9.0].map(|at| viewers_at(&flat, at)), [7, 7]);
}

#[test]
fn steps_up_and_down() {
    let steps = Arrivals::Steps {
        levels: vec![10, 20, 5],
        each: Duration::from_secs(30),
    };
    let found = [0.0, 29.9, 30.0, 59.9, 60.0, 600.0].map(|at| viewers_at(&steps, at));
    assert_eq!(found, [10, 10, 20, 20, 5, 5]);
    assert_eq!(steps.settles_after(), Duration::from_secs(90));
}

#[test]
fn a_constant_rate_is_even() {
    let arrivals = Arrivals::Rate {
        per_second: 8.0,
        poisson: false,
    };
    let first: Vec<u64> = arrivals.changes(1).take(4).map(|(at, _)| at).collect();
    assert_eq!(first, [0, 125_000_000, 250_000_000, 375_000_000]);
}

#[test]
fn poisson_arrivals_have_the_moments_of_the_distribution() {
    // Gaps: mean 1/rate, standard deviation the same; counts in a second: variance equal to the mean.
    let rate = 50.0;
    let arrivals = Arrivals::Rate {
        per_second: rate,
        poisson: true,
    };
    let times: Vec<f64> = arrivals
        .changes(7)
        .take(100_000)
        .map(|(at, _)| at as f64 / 1e9)
        .collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean * rate - 1.0).abs() < 0.02, "{mean}");
    assert!((variance.sqrt() * rate - 1.0).abs() < 0.02, "{variance}");
    let mut counts = vec![0.0_f64; 1900];
    for time in &times {
        if let Some(count) = counts.get_mut(*time as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    assert!((0.85..1.15).contains(&(variance / mean)), "{variance} / {mean}");
    let again: Vec<f64> = arrivals
        .changes(7)
        .take(100_000)
        .map(|(at, _)| at as f64 / 1e9)
        .collect();
    assert_eq!(times, again);
    assert!(arrivals.changes(8).take(10).ne(arrivals.changes(7).take(10)));
}

#[test]
fn zipf_shares() {
    // Harmonic number H(4) = 25/12: shares 12/25, 6/25, 4/25, 3/25.
    let popularity = Popularity::zipf(4, 1.0);
    let mut random = Random::new(3, 0);
    let mut counts = [0_u32; 4];
    for _ in 0..100_000 {
        counts[popularity.choose(&mut random)] += 1;
    }
    for (count, share) in counts.into_iter().zip([0.48, 0.24, 0.16, 0.12]) {
        assert!((f64::from(count) / 1e5 - share).abs() < 0.01, "{counts:?}");
    }
    assert_eq!(Popularity::zipf(1, 0.8).choose(&mut random), 0);
}

#[test]
fn numbers_of_a_stream_come_again() {
    let draw = |seed, number| {
        let mut random = Random::new(seed, number);
        [(); 4].map(|()| random.unit())
    };
    assert_eq!(draw(1, 2), draw(1, 2));
    assert_ne!(draw(1, 2), draw(1, 3));
    assert_ne!(draw(1, 2), draw(2, 2));
    let mut random = Random::new(1, 1);
    let span = (Duration::from_secs(1), Duration::from_secs(3));
    for _ in 0..1000 {
        assert!((span.0..span.1).contains(&random.between(span)));
        assert!(random.below(3) < 3);
    }
    assert_eq!((random.below(0), random.below(1)), (0, 0));
}
