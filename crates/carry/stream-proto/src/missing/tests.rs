use super::*;

const ASKING: Asking = Asking {
    rtt_ns: 100,
    repeat_ns: 150,
    patience_ns: 10,
    window: 0,
};

fn ask(symbols: &mut Symbols, now_ns: u64, asking: &Asking) -> Vec<(u32, u16)> {
    let mut ranges = Vec::new();
    symbols.ask(now_ns, asking, wanted, &mut ranges, 56);
    ranges.iter().map(|range| (range.first.0, range.count)).collect()
}

fn wanted(_: u64) -> Need {
    Need::Wanted
}

fn come(symbols: &mut Symbols, all: impl IntoIterator<Item = u64>) {
    for symbol in all {
        assert_eq!(symbols.come(symbol), Arrival::New { missed: None });
    }
}

#[test]
fn what_is_missing_is_asked_for_until_it_cannot_come_in_time() {
    let mut symbols = Symbols::default();
    come(&mut symbols, [0, 1, 5, 8]);
    symbols.notice(1_000, 7, 1_400, &ASKING, wanted);
    assert_eq!((symbols.noticed(), symbols.settled()), (4, 2));
    assert_eq!(ask(&mut symbols, 1_005, &ASKING), [], "patience");
    assert_eq!(ask(&mut symbols, 1_010, &ASKING), [(2, 3), (6, 1)]);
    assert_eq!(ask(&mut symbols, 1_159, &ASKING), []);
    let missed = |asked| Missed {
        noticed_ns: 1_000,
        asked_ns: 1_010,
        asked,
    };
    assert_eq!(
        symbols.come(3),
        Arrival::New {
            missed: Some(missed(1))
        }
    );
    assert_eq!(symbols.come(3), Arrival::Duplicate);
    assert_eq!(symbols.next_wake(1_000, Some(&ASKING)), Some(1_160));
    assert_eq!(
        symbols.next_wake(1_301, Some(&ASKING)),
        Some(1_400),
        "it is too late to ask"
    );
    assert_eq!(ask(&mut symbols, 1_160, &ASKING), [(2, 1), (4, 1), (6, 1)]);
    // A third request would bring them at 1,410.
    assert_eq!(ask(&mut symbols, 1_310, &ASKING), []);
    assert_eq!(symbols.next_wake(1_310, Some(&ASKING)), Some(1_400));
    symbols.expire(1_400, wanted);
    assert_eq!((symbols.given_up(), symbols.settled()), (3, 7));
}

#[test]
fn with_a_code_requests_wait_until_its_window_has_passed_or_it_is_high_time() {
    let asking = Asking { window: 10, ..ASKING };
    let mut symbols = Symbols::default();
    come(&mut symbols, (0..30).filter(|symbol| *symbol != 4));
    symbols.notice(1_000, 8, 2_000, &asking, wanted);
    assert_eq!(ask(&mut symbols, 1_000, &asking), []);
    symbols.notice(1_100, 13, 2_100, &asking, wanted);
    assert_eq!(ask(&mut symbols, 1_100, &asking), []);
    symbols.notice(1_101, 14, 2_101, &asking, wanted);
    assert_eq!(ask(&mut symbols, 1_101, &asking), [(4, 1)]);

    let mut symbols = Symbols::default();
    come(&mut symbols, (0..30).filter(|symbol| *symbol != 4));
    symbols.notice(1_000, 8, 2_000, &asking, wanted);
    assert_eq!(symbols.next_wake(1_000, Some(&asking)), Some(1_500));
    assert_eq!(ask(&mut symbols, 1_499, &asking), []);
    assert_eq!(ask(&mut symbols, 1_500, &asking), [(4, 1)]);

    // Half of the time would leave none for a second request.
    let mut symbols = Symbols::default();
    come(&mut symbols, (0..30).filter(|symbol| *symbol != 4));
    symbols.notice(1_000, 8, 1_300, &asking, wanted);
    assert_eq!(symbols.next_wake(1_000, Some(&asking)), Some(1_100));
}

#[test]
fn a_late_beginning_a_jump_and_a_flood_of_losses_are_borne() {
    let mut symbols = Symbols::default();
    come(&mut symbols, [1_000_000]);
    assert_eq!(symbols.come(999_999), Arrival::Old);
    assert_eq!(symbols.come(1_000_000 + 2 * REMEMBERED), Arrival::Far);
    assert_eq!(
        symbols.come(1_000_000 + 4 * REMEMBERED),
        Arrival::Far,
        "not near it"
    );
    come(&mut symbols, [1_000_000 + REMEMBERED]);
    symbols.notice(5, u64::MAX, 100, &ASKING, wanted);
    assert_eq!(symbols.noticed(), NOTICED_AT_A_TIME, "some at a time");
    for _ in 0..REMEMBERED / NOTICED_AT_A_TIME {
        symbols.notice(5, u64::MAX, 100, &ASKING, wanted);
    }
    assert_eq!(symbols.noticed(), REMEMBERED - 1);
    assert_eq!(symbols.given_up(), REMEMBERED - 1 - MOST_MISSING as u64);
    symbols.expire(100, wanted);
    assert_eq!(symbols.given_up(), REMEMBERED - 1);
    assert_eq!(symbols.settled(), 1_000_001 + REMEMBERED);
}

#[test]
fn what_another_sender_has_brought_is_neither_asked_for_nor_given_up() {
    let mut symbols = Symbols::default();
    let had = |symbol: u64| if symbol == 2 { Need::Had } else { Need::Wanted };
    come(&mut symbols, [0, 1, 5, 8]);
    symbols.notice(1_000, 7, 1_400, &ASKING, had);
    let mut ranges = Vec::new();
    symbols.ask(1_010, &ASKING, had, &mut ranges, 56);
    let asked: Vec<_> = ranges.iter().map(|range| (range.first.0, range.count)).collect();
    assert_eq!(asked, [(3, 2), (6, 1)]);
    symbols.expire(1_400, had);
    assert_eq!(
        (symbols.noticed(), symbols.given_up(), symbols.elsewhere()),
        (4, 3, 1)
    );
}

#[test]
fn a_stream_goes_on_after_an_outage_longer_than_what_is_remembered() {
    let mut symbols = Symbols::default();
    come(&mut symbols, [0, 1, 3]);
    let far = 1_000_000;
    assert_eq!(symbols.come(far + 1), Arrival::Far);
    assert_eq!(symbols.come(far), Arrival::New { missed: None });
    symbols.notice(5, far, 100, &ASKING, wanted);
    for _ in 0..=MOST_LEFT_OUT / LEFT_OUT_AT_A_TIME {
        symbols.expire(5, |symbol| if symbol < 1_000 { Need::Had } else { Need::Wanted });
    }
    assert_eq!((symbols.noticed(), symbols.elsewhere()), (far - 3, 1_000 - 3));
    assert_eq!((symbols.given_up(), symbols.settled()), (far - 1_000, far));
    come(&mut symbols, [far + 1, far + 2]);
}

/// Symbols not declared missing when their bit is reused.
#[test]
fn what_is_left_behind_is_given_up() {
    let mut symbols = Symbols::default();
    come(&mut symbols, (0..100).chain([150, REMEMBERED + 119]));
    assert_eq!((symbols.noticed(), symbols.given_up()), (20, 0));
    symbols.expire(0, wanted);
    assert_eq!((symbols.given_up(), symbols.settled()), (20, 120));
    assert_eq!(symbols.come(110), Arrival::Old);
    assert_eq!(symbols.come(150), Arrival::Duplicate);
}

/// A lost symbol that was overtaken counts once, however far the stream goes on, or jumps, before those around it expire.
#[test]
fn what_has_come_is_not_given_up_when_its_number_is_forgotten() {
    for jumps in [false, true] {
        let mut symbols = Symbols::default();
        come(&mut symbols, [0, 1, 5]);
        symbols.notice(0, 5, 1_000, &ASKING, wanted);
        let overtaken = symbols.come(3);
        assert!(matches!(overtaken, Arrival::New { missed: Some(_) }));
        if jumps {
            let far = 10 * REMEMBERED;
            assert_eq!(symbols.come(far + 1), Arrival::Far);
            come(&mut symbols, [far]);
        } else {
            come(&mut symbols, 6..REMEMBERED + 6);
        }
        for _ in 0..=MOST_LEFT_OUT / LEFT_OUT_AT_A_TIME {
            symbols.expire(1_000, wanted);
        }
        assert_eq!(symbols.given_up() + 1, symbols.noticed(), "jumps: {jumps}");
    }
}
