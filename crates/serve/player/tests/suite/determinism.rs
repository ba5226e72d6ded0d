//! Same seed, same bytes: every fetch and every figure of many sessions, however many threads play them.

#[path = "../../examples/many_sessions/population.rs"]
mod population;

#[test]
fn the_same_seed_gives_the_same_sessions() {
    let one = population::play_all(5, 120, 1);
    assert_eq!(one, population::play_all(5, 120, 3));
    assert_eq!(one.sessions, 120);
    assert!(one.mean_bitrate() > 1e6);
    assert_ne!(one.fingerprint, population::play_all(6, 120, 1).fingerprint);
}
