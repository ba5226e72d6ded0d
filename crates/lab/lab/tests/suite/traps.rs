//! The traps that come with Weir show, and what avoids them does, each for the reason that its file gives; the start against a
//! computation by hand.

use weir_lab::traps::{Scenario, Shown, VariantPlayed, named, play, scenarios};

const TOP: u64 = 3_300_000;
const MS: u64 = 1_000_000;

fn shown(name: &str) -> Shown {
    play(&Scenario::parse(named(name).unwrap(), name).unwrap()).unwrap()
}

fn variant<'a>(shown: &'a Shown, name: &str) -> &'a VariantPlayed {
    shown.variants.iter().find(|found| found.variant == name).unwrap()
}

fn bitrates(played: &VariantPlayed) -> Vec<u64> {
    played.segments.iter().map(|segment| segment.bitrate).collect()
}

#[test]
fn every_trap_shows_and_every_session_is_played_in_full() {
    for (name, _) in scenarios() {
        let shown = shown(name);
        let failed: Vec<_> = shown.claims.iter().filter(|claim| !claim.holds).collect();
        assert!(shown.shown && failed.is_empty(), "{name}: {failed:#?}");
        for variant in &shown.variants {
            assert!(variant.finished && variant.segments.len() == 150, "{name}");
            assert_eq!(variant.figures.played_ns, 600_000 * MS, "{name}");
        }
    }
}

#[test]
fn the_same_trap_gives_the_same_bytes() {
    let bytes = |name: &str| serde_json::to_vec(&shown(name)).unwrap();
    for (name, _) in scenarios() {
        assert_eq!(bytes(name), bytes(name), "{name}");
    }
}

/// Three quarters of a rung lie between the rung below it and itself, all down this ladder: so every rung is met, in order.
#[test]
fn pacing_on_the_current_rung_walks_down_the_ladder() {
    let ladder = [TOP, 2_350_000, 1_750_000, 1_050_000, 560_000, 235_000];
    for pair in ladder.windows(2) {
        assert!((pair[1]..pair[0]).contains(&(pair[0] * 3 / 4)));
    }
    let shown = shown("current-rung");
    let current = bitrates(variant(&shown, "1-5-rung"));
    let mut met = current.clone();
    met.dedup();
    assert_eq!(met, ladder);
    // At the bottom within 20 segments, 80 s of media: long before the link changes.
    assert_eq!(current[20], 235_000);
    for name in ["unpaced", "2-5-top", "sammy"] {
        let other = bitrates(variant(&shown, name));
        // Down for what the link does, and up again.
        assert!(other[..40].iter().all(|rung| *rung == TOP), "{name}");
        assert!(other.contains(&560_000) && other.last() == Some(&TOP), "{name}");
    }
}

/// A segment of d seconds, at five times the rate that brings it within the b seconds of the buffer, takes b / 5: the buffer
/// grows while that is less than d, so up to 5 d. An outage of 45 s then leaves the rest of it without pictures.
#[test]
fn the_rate_of_dash_js_starves_a_long_buffer() {
    let shown = shown("dashjs-rtp");
    let second = 1_000 * MS;
    let dash_js = variant(&shown, "top-dashjs");
    let full = 5 * 4 * second;
    // Rates are rounded up to the next 100 kbit/s, which is little of 3.3 Mbit/s.
    assert!((full - second..full + second).contains(&dash_js.figures.highest_buffer_ns));
    let stalled = dash_js.figures.stalled_ns;
    let without = 45 * second - full;
    assert!(
        (without - second..without + 5 * second).contains(&stalled),
        "{stalled}"
    );
    for name in ["top-unpaced", "top-sammy", "unpaced", "sammy", "dashjs-bounded"] {
        let other = &variant(&shown, name).figures;
        assert_eq!(
            (other.stalls, other.highest_buffer_ns),
            (0, 56 * second),
            "{name}"
        );
    }
}

/// Two segments of 4 s before the first picture, after 20 ms each, by hand. Of the lowest rung one has 940 kbit, which take
/// 23.5 ms at 40 Mbit/s, and 1 s at four times the rung; of the top rung 13.2 Mbit, which take 330 ms, and 1 s.
#[test]
fn four_times_the_rung_at_the_start_delays_play_by_what_a_computation_by_hand_says() {
    let shown = shown("naive-start");
    let table = [
        // The second segment is of the top rung where the first one came at 40 Mbit/s, or at 13.2.
        ("unpaced", 20 * MS + 23_500_000 + 20 * MS + 330 * MS),
        ("sammy", 20 * MS + 23_500_000 + 20 * MS + 330 * MS),
        ("4-rung-bounded", 20 * MS + 23_500_000 + 20 * MS + 330 * MS),
        // 940 kbit at four times 3.3 Mbit/s, then 13.2 Mbit.
        (
            "4-top",
            20 * MS + (940_000 * 1_000 * MS).div_ceil(4 * TOP) + 20 * MS + 1_000 * MS,
        ),
        // What came at 940 kbit/s says that 846 can be counted on: the second is of 560 kbit/s, at four times that.
        ("4-rung", 2 * (20 * MS + 1_000 * MS)),
        // 7 Mbit take 175 ms.
        ("mid-unpaced", 20 * MS + 175 * MS + 20 * MS + 330 * MS),
        ("mid-4-rung", 2 * (20 * MS + 1_000 * MS)),
        ("mid-4-rung-bounded", 20 * MS + 175 * MS + 20 * MS + 330 * MS),
    ];
    for (name, startup_ns) in table {
        assert_eq!(
            variant(&shown, name).figures.startup_ns,
            Some(startup_ns),
            "{name}"
        );
    }
    let second = variant(&shown, "4-rung").segments[1].bitrate;
    assert_eq!(second, 560_000);
}
