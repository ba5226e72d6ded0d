//! What a server makes of what players ask for, against tables worked out by hand and against what must hold for any
//! request.

use std::time::Duration;

use proptest::prelude::*;
use weir_media::cmcd::{Cmcd, Version};
use weir_pacing::{PaceBounds, PaceReason, PaceRequest};
use weir_units::Rate;

fn bounds() -> PaceBounds {
    PaceBounds {
        factor: 2.0,
        floor: Rate(1_000_000),
        ceiling: Some(Rate(50_000_000)),
        low_buffer: Duration::from_secs(4),
        longest: Duration::from_secs(60),
    }
}

fn decided(fields: &[(&str, &str)], query: &str, bytes: u64) -> (Option<u64>, PaceReason) {
    let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
    let pace = bounds().decide(&PaceRequest::read(fields, query), bytes);
    (pace.rate.map(|rate| rate.0 / 1_000), pace.reason)
}

/// A query, kbit/s or none, and why.
type Case = (&'static str, Option<u64>, PaceReason);

const QUERIES: [Case; 27] = [
    // Version 1, encoded as players do and not at all.
    (
        "CMCD=bl%3D20000%2Cbr%3D3300%2Crtp%3D9000%2Ctb%3D3300",
        Some(9_000),
        PaceReason::Asked,
    ),
    ("a=b&CMCD=rtp=9000&c", Some(9_000), PaceReason::Asked),
    // dash.js with a long buffer: below twice the top rung.
    (
        "CMCD=bl=30000,br=3300,d=4000,rtp=2200,tb=3300",
        Some(6_600),
        PaceReason::TopRung,
    ),
    // Only the current rung is known.
    ("CMCD=bl=30000,br=3300,rtp=2200", Some(6_600), PaceReason::TopRung),
    // A top rung that is lower than the current one.
    ("CMCD=br=3300,rtp=2200,tb=500", Some(6_600), PaceReason::TopRung),
    // Version 2: lists, by type of object.
    (
        "CMCD=br=(3300;v),ot=v,rtp=9000,tb=(3300;v),v=2",
        Some(9_000),
        PaceReason::Asked,
    ),
    (
        "CMCD=ot=v,rtp=4000,tb=(128;a 3300;v),v=2",
        Some(6_600),
        PaceReason::TopRung,
    ),
    (
        "CMCD=ot=a,rtp=4000,tb=(128;a 3300;v),v=2",
        Some(4_000),
        PaceReason::Asked,
    ),
    ("CMCD=bl=(3900;v),ot=v,rtp=9000,v=2", None, PaceReason::LowBuffer),
    ("CMCD=rtp=100", Some(1_000), PaceReason::Floor),
    ("CMCD=rtp=1", Some(1_000), PaceReason::Floor),
    ("CMCD=rtp=50001", Some(50_000), PaceReason::Ceiling),
    ("CMCD=rtp=1000000000", Some(50_000), PaceReason::Ceiling),
    // Twice the top rung is more than the ceiling.
    ("CMCD=rtp=80000,tb=30000", Some(60_000), PaceReason::TopRung),
    ("CMCD=rtp=9000,su", None, PaceReason::Startup),
    ("CMCD=bs,rtp=9000", None, PaceReason::Starved),
    ("CMCD=bs,rtp=9000,su", None, PaceReason::Startup),
    ("CMCD=bl=4000,rtp=9000", Some(9_000), PaceReason::Asked),
    // Less than two segments.
    ("CMCD=bl=7900,d=4000,rtp=9000", None, PaceReason::LowBuffer),
    ("CMCD=bl=8000,d=4000,rtp=9000", Some(9_000), PaceReason::Asked),
    ("CMCD=su=?0,bs=?0,rtp=9000", Some(9_000), PaceReason::Asked),
    ("", None, PaceReason::NotAsked),
    ("CMCD=bl=100,su", None, PaceReason::NotAsked),
    ("CMCD=rtp=0", None, PaceReason::Malformed),
    ("CMCD=rtp=-9000", None, PaceReason::Malformed),
    ("CMCD=rtp=1000000001", None, PaceReason::Malformed),
    ("CMCD=rtp=99999999999999999999", None, PaceReason::Malformed),
];

#[test]
fn queries_come_to_what_was_worked_out() {
    for (query, kbits, reason) in QUERIES {
        assert_eq!(decided(&[], query, 0), (kbits, reason), "{query}");
    }
}

#[test]
fn broken_fields_are_not_paced() {
    for query in [
        "CMCD=rtp=9000,",
        "CMCD=rtp=9e3",
        "CMCD=rtp=9000.5",
        "CMCD=rtp=\"9000\"",
        "CMCD=rtp=(9000)",
        "CMCD=rtp",
        "CMCD=rtp=9000,tb=-1",
        "CMCD=rtp=9000,bl=full",
        "CMCD=rtp=9000%zz",
        "CMCD=rtp=9000,v=3",
        "CMCD=%ff",
    ] {
        assert_eq!(decided(&[], query, 0), (None, PaceReason::Malformed), "{query}");
    }
    let long = format!("CMCD=rtp=9000,com.example-a=\"{}\"", "a".repeat(100_000));
    assert_eq!(decided(&[], &long, 0), (None, PaceReason::Malformed));
}

#[test]
fn header_fields_come_before_the_query_and_keys_before_the_plain_field() {
    let asked = |kbits| (Some(kbits), PaceReason::Asked);
    let status = ("cmcd-status", "rtp=9000");
    let plain = ("pacing-rate-kbps", "1000");
    assert_eq!(decided(&[status], "CMCD=rtp=7000", 0), asked(9_000));
    assert_eq!(decided(&[status, plain], "", 0), asked(9_000));
    assert_eq!(decided(&[plain], "", 0), asked(8_000));
    assert_eq!(decided(&[plain], "CMCD=bl=20000", 0), asked(8_000));
    assert_eq!(
        decided(&[plain, ("Pacing-Rate-KBps", "1200")], "", 0),
        asked(9_600)
    );
    let object = ("CMCD-Object", "br=3300,d=4000,tb=3300");
    assert_eq!(
        decided(&[object, ("CMCD-Status", "rtp=2200")], "", 0),
        (Some(6_600), PaceReason::TopRung)
    );
    // What the keys say counts for the plain field too.
    assert_eq!(
        decided(&[plain, ("CMCD-Request", "su")], "", 0),
        (None, PaceReason::Startup)
    );
    for wrong in ["0", "-1", "1e9", "", "99999999999"] {
        let found = decided(&[("Pacing-Rate-KBps", wrong)], "", 0);
        assert_eq!(found, (None, PaceReason::Malformed), "{wrong}");
    }
    assert_eq!(
        decided(&[plain, ("Pacing-Rate-KBps", "x")], "", 0),
        (None, PaceReason::Malformed)
    );
}

#[test]
fn no_answer_is_held_for_longer_than_allowed() {
    // 60 MB in 60 s.
    assert_eq!(
        decided(&[], "CMCD=rtp=7900", 60_000_000),
        (Some(8_000), PaceReason::Time)
    );
    assert_eq!(
        decided(&[], "CMCD=rtp=8100", 60_000_000),
        (Some(8_100), PaceReason::Asked)
    );
    // A film of 600 MB is worth more than the ceiling, which would hold it longer.
    assert_eq!(
        decided(&[], "CMCD=rtp=99000", 600_000_000),
        (Some(80_000), PaceReason::Time)
    );
}

proptest! {
    #[test]
    fn whatever_is_asked_the_bounds_hold(
        rtp in 1..=1_000_000_000u64,
        top in 0..=1_000_000_000u64,
        bitrate in 0..=1_000_000_000u64,
        buffer in proptest::option::of(0..100_000u64),
        flags in 0..4u8,
        bytes in 0..=u64::MAX,
        factor in 1.0..10.0f64,
    ) {
        let mut keys = Cmcd::new(Version::V1);
        (keys.requested_throughput, keys.top_bitrate) = (Some(rtp), Some(top));
        (keys.bitrate, keys.buffer_ms) = (Some(bitrate), buffer);
        (keys.startup, keys.starved) = (flags & 1 != 0, flags & 2 != 0);
        let bounds = PaceBounds { factor, ..bounds() };
        let asked = |keys: &Cmcd| {
            let request = PaceRequest { keys: Some(keys.clone()), header: None };
            bounds.decide(&Ok(request), bytes)
        };
        let pace = asked(&keys);
        let is_urgent = flags != 0 || buffer.is_some_and(|ms| ms < 4_000);
        prop_assert_eq!(pace.rate.is_none(), is_urgent);
        if let Some(rate) = pace.rate {
            prop_assert!(rate >= bounds.floor);
            prop_assert!(rate.0 as f64 >= factor * top as f64 * 999.999);
            let seconds = bytes as f64 * 8.0 / rate.0 as f64;
            prop_assert!(rate.0 == u64::MAX || seconds <= 60.000_001, "{} s", seconds);
            // Who asks for more gets no less.
            keys.requested_throughput = Some(rtp.saturating_mul(2).min(1_000_000_000));
            prop_assert!(asked(&keys).rate >= Some(rate));
        }
    }
}
