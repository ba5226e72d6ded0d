//! What viewers choose at random.

use crate::acting::{count, serving};
use crate::playing::{config, play, viewers};
use weir_load::engine::place;
use weir_load::schedule::Popularity;
use weir_load::viewer::{Play, RungChoice};

#[test]
fn titles_are_chosen_by_their_popularity() {
    let server = serving(3, 100);
    let mut config = config(&server.url("/0/a.mpd"), viewers(4), Play::Manifest);
    config.behaviour.titles = (0..4)
        .map(|title| place(&server.url(&format!("/{title}/a.mpd"))).unwrap())
        .collect();
    config.behaviour.popularity = Popularity::zipf(4, 1.0);
    play(&config);
    let asked = server.asked();
    assert!(asked.len() > 200, "{} requests", asked.len());
    // In proportion to 1, 1/2, 1/3 and 1/4, of which the sum is 25/12: within five standard deviations of chance.
    for title in 0..4 {
        let expected = 12.0 / 25.0 / (title + 1) as f64;
        let found = count(&asked, |path| path == format!("/{title}/a.mpd")) as f64 / asked.len() as f64;
        let room = 5.0 * (expected * (1.0 - expected) / asked.len() as f64).sqrt();
        assert!(
            (found - expected).abs() < room,
            "title {title}: {found} for {expected}"
        );
    }
}

#[test]
fn rungs_are_chosen_as_told() {
    for (rung, low, high) in [
        (RungChoice::Lowest, true, false),
        (RungChoice::Highest, false, true),
        (RungChoice::Random, true, true),
    ] {
        let server = serving(3, 100);
        let mut config = config(&server.url("/a.mpd"), viewers(8), Play::Loop);
        config.behaviour.rung = rung;
        play(&config);
        let asked = server.asked();
        let of = |name: &str| count(&asked, |path| path.contains(name)) > 0;
        assert_eq!(
            (of("/video400000/"), of("/video3894000/")),
            (low, high),
            "{rung:?}"
        );
    }
}
