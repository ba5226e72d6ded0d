//! Rules over minutes in virtual time.

use super::*;
use crate::config::read;

/// 2026-03-01 22:00:00 UTC.
const START_S: u64 = 1_772_402_400;
const SECOND: u64 = 1_000_000_000;
const NAMES: (&str, &str) = ("lon", "ams");

fn rules(text: &str) -> Rules {
    let hosts = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let config = read(&format!("{hosts}{text}"), None).unwrap();
    Rules::of(&config, config.pairs[0])
}

/// A minute of 100 packets.
fn minute(place: u64, lost: u64, rtt_ms: u64) -> WatchCell {
    let mut cell = WatchCell {
        start_s: START_S + 60 * place,
        sent: 100,
        lost,
        ..WatchCell::default()
    };
    (lost..100).for_each(|_| cell.rtt.record(rtt_ms * 1_000_000));
    cell
}

#[test]
fn loss_is_raised_after_its_time_with_the_sum_of_it_and_cleared_after_quiet_minutes() {
    let mut rules = rules(
        "[[rule]]\nname = \"loss\"\nmetric = \"loss\"\nabove = \"0.5%\"\nfor = \"3min\"\nuntil = \"5min\"\n\
         labels = { severity = \"page\" }",
    );
    let lost = |place: u64| match place {
        // Not long enough, and then 2, 4 and 6 of 100.
        2 | 3 => 50,
        10..=12 => 2 * (place - 9),
        // A bad minute of its own does not let it be cleared.
        16 => 1,
        _ => 0,
    };
    let mut events = Vec::new();
    for place in 0..40 {
        let pushed = rules.push(NAMES, &minute(place, lost(place), 20));
        events.extend(pushed.into_iter().map(|event| (place, event)));
    }
    let [(raised_at, raised), (cleared_at, cleared)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((*raised_at, *cleared_at), (12, 21));
    assert_eq!(
        raised.detail,
        "lon to ams: rule 'loss': loss 4 % is above 0.5 % for 3 min"
    );
    let evidence = raised.evidence.as_ref().unwrap();
    assert_eq!((evidence.metric, evidence.limit), ("loss", Some(0.005)));
    assert!((evidence.value - 0.04).abs() < 1e-9, "12 of 300");
    let at = |place: u64| (START_S + 60 * place) * SECOND;
    assert_eq!((evidence.since_unix_ns, evidence.until_unix_ns), (at(10), at(13)));
    assert_eq!(
        (raised.subject.as_str(), &raised.labels["severity"][..]),
        ("loss", "page")
    );
    assert_eq!(cleared.state, State::Cleared);
    assert!(
        cleared.detail.contains("rule 'loss': loss is over, after 9 min"),
        "{}",
        cleared.detail
    );
}

#[test]
fn quantiles_are_those_of_all_packets_and_minutes_without_a_value_change_nothing() {
    let mut rules = rules("[[rule]]\nname = \"slow\"\nmetric = \"p90\"\nabove = \"30ms\"\nfor = \"2min\"");
    assert!(rules.push(NAMES, &minute(0, 0, 40)).is_empty());
    // Nothing was answered.
    assert!(rules.push(NAMES, &minute(1, 100, 0)).is_empty());
    let raised = rules.push(NAMES, &minute(2, 0, 60));
    let evidence = raised[0].evidence.as_ref().unwrap();
    assert!((59e6..61e6).contains(&evidence.value), "{evidence:?}");
    assert!(rules.is_raised("slow") && !rules.is_raised("other"));
}

#[test]
fn a_path_is_unreachable_from_its_last_answer_on() {
    let mut rules =
        rules("[[rule]]\nname = \"gone\"\nmetric = \"unreachable\"\nfor = \"1min\"\nuntil = \"10s\"");
    let mut said = Vec::new();
    for second in 0..200u64 {
        let silent_s = if second < 100 { second } else { 0 };
        let now_ns = (START_S + second) * SECOND;
        let events = rules.observe_silence(now_ns, NAMES, (silent_s * SECOND, 15 * SECOND));
        said.extend(events.into_iter().map(|event| (second, event)));
    }
    let [(raised_at, raised), (cleared_at, _)] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!((*raised_at, *cleared_at), (60, 109));
    assert_eq!(
        raised.detail,
        "lon to ams: rule 'gone': no RTT packet was answered for 1 min"
    );
    assert_eq!(raised.evidence.as_ref().unwrap().since_unix_ns, START_S * SECOND);
}

#[test]
fn the_lower_bound_of_the_rate_of_dark_flows_is_compared() {
    let mut rules = rules(
        "[[rule]]\nname = \"dark\"\nmetric = \"dark-flows\"\nabove = \"0.05/day\"\nfor = \"0s\"\nuntil = \"0s\"",
    );
    let rate = |events| {
        let counts = [crate::rare::Rare::FlowDark.count(START_S * SECOND, 14 * 86_400, events)];
        Rate::of(crate::rare::Rare::FlowDark, &counts).unwrap()
    };
    // 0.044 to 0.63 a day; 0.078 to 0.73.
    assert!(rules.observe_dark(START_S * SECOND, NAMES, &rate(3)).is_empty());
    let raised = rules.observe_dark(START_S * SECOND + 1, NAMES, &rate(4));
    assert!(
        raised[0]
            .detail
            .ends_with("a flow went dark 4 times in 14 d: 0.08 to 0.73 a day; the limit is 0.05 a day"),
        "{}",
        raised[0].detail
    );
    assert_eq!(
        rules.observe_dark(START_S * SECOND + 2, NAMES, &rate(0))[0].state,
        State::Cleared
    );
}

#[test]
fn a_path_mtu_below_the_limit_is_raised_once_a_later_search_confirms_it() {
    let mut rules =
        rules("[[rule]]\nname = \"jumbo\"\nmetric = \"path-mtu\"\nbelow = \"9001B\"\nuntil = \"0s\"");
    let mut at = |minute: u64, bytes| rules.observe_path_mtu((START_S + 60 * minute) * SECOND, NAMES, bytes);
    assert!(at(0, 9001).is_empty());
    assert!(at(60, 1500).is_empty(), "one search may lose its packets");
    assert!(at(64, 1500).is_empty());
    let raised = at(70, 1500);
    assert_eq!(
        raised[0].detail,
        "lon to ams: rule 'jumbo': path-mtu 1500 bytes is below 9001 bytes for 10 min"
    );
    let evidence = raised[0].evidence.as_ref().unwrap();
    assert_eq!((evidence.value, evidence.limit), (1500.0, Some(9001.0)));
    assert_eq!(at(130, 9001)[0].state, State::Cleared);
}
