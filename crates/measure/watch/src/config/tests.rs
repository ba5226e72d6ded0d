//! Files that are read, and what is said of those that are not.

use proptest::prelude::*;

use super::*;
use crate::plan::Plan;

const TWO: &str = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";

fn names(config: &Config) -> Vec<String> {
    let name = |host: usize| config.hosts[host].name.as_str();
    let pairs = config.pairs.iter();
    pairs
        .map(|pair| format!("{}-{}", name(pair.from), name(pair.to)))
        .collect()
}

#[test]
fn pairs_are_a_star_a_mesh_or_a_list() {
    let three = format!("{TWO}[[host]]\nname = \"router\"\nstamp = true\n");
    let read = |line: &str| read(&format!("{line}\n{three}"), None).unwrap();
    assert_eq!(names(&read("")), ["lon-ams", "lon-router"]);
    assert_eq!(names(&read("pairs = \"star\"")), ["lon-ams", "lon-router"]);
    let mesh = read("pairs = \"mesh\"");
    assert_eq!(names(&mesh), ["lon-ams", "lon-router", "ams-lon", "ams-router"]);
    assert_eq!(
        mesh.own_pairs().map(|(index, _)| index).collect::<Vec<_>>(),
        [0, 1]
    );
    let list = read("pairs = [[\"ams\", \"router\"], [\"lon\", \"ams\"]]");
    assert_eq!(names(&list), ["ams-router", "lon-ams"]);
    // Another watcher of the same file.
    let other = super::read(&format!("pairs = \"mesh\"\n{three}"), Some("ams")).unwrap();
    let own: Vec<_> = other.own_pairs().map(|(index, _)| index).collect();
    assert_eq!((names(&other), own), (names(&mesh), vec![2, 3]));
}

#[test]
fn what_a_file_leaves_out_has_a_value() {
    let config = read(TWO, None).unwrap();
    assert_eq!(config.hosts[1].address, "ams");
    assert_eq!((config.rtt.interval_ns, config.rtt.window), (1_000_000_000, 4));
    assert_eq!((config.flows, config.survey), (None, None));
    let flows = read(&format!("{TWO}[flows]\nevery = \"10min\"\n"), None)
        .unwrap()
        .flows;
    let flows = flows.expect("flows");
    assert_eq!(
        (flows.flows, flows.rate.0, flows.duration_ns),
        (16, 200_000, 20_000_000_000)
    );
}

#[test]
fn rules_and_silences_are_of_all_pairs_or_of_some() {
    let text = "pairs = \"mesh\"\n".to_owned()
        + TWO
        + "[[rule]]\nname = \"slow\"\nmetric = \"p90\"\nabove = \"60ms\"\nuntil = \"20min\"\n\
           [[rule]]\nname = \"dark\"\nmetric = \"dark-flows\"\nabove = \"0.5/day\"\nfor = \"0s\"\n\
           pairs = [[\"lon\", \"ams\"]]\n\
           [[silence]]\nfrom = 2026-03-01T22:00:00Z\nto = 2026-03-02T04:00:00Z\nreason = \"maintenance\"\n\
           [keep]\nbytes = \"10GB\"\nseconds = \"3d\"\n";
    let config = read(&text, None).unwrap();
    let [slow, dark] = &config.rules[..] else {
        panic!("{:?}", config.rules);
    };
    let minutes = |count: u64| count * 60_000_000_000;
    assert_eq!(
        (slow.limit, slow.raise_ns, slow.clear_ns),
        (60e6, minutes(5), minutes(20))
    );
    assert_eq!(
        (dark.metric, dark.limit, dark.raise_ns),
        (RuleMetric::DarkFlows, 0.5, 0)
    );
    let of = |rule: &Rule| {
        config
            .pairs
            .iter()
            .map(|pair| has(rule.pairs.as_ref(), *pair))
            .collect::<Vec<_>>()
    };
    assert_eq!((of(slow), of(dark)), (vec![true, true], vec![true, false]));
    let silence = &config.silences[0];
    let reason = |from: &str, to: &str, unix_ns| config.silenced((from, to), unix_ns);
    let maintenance = Some("maintenance".to_owned());
    assert_eq!(reason("lon", "ams", silence.from_ns), maintenance);
    assert_eq!(reason("ams", "lon", silence.to_ns - 1), maintenance);
    assert_eq!(reason("lon", "ams", silence.to_ns), None);
    assert_eq!(reason("lon", "", silence.from_ns), None);
    // `date -u -d 2026-03-01T22:00:00Z +%s`
    assert_eq!(silence.from_ns, 1_772_402_400_000_000_000);
    assert_eq!(silence.to_ns - silence.from_ns, minutes(360));
    assert_eq!(
        (config.keep.seconds.0, config.keep.minutes),
        (3 * DAY_NS, Keep::default().minutes)
    );
}

/// Tables that are added to the file of two hosts, and words of the error, of which the first is the key.
const REFUSED: &[(&str, &str)] = &[
    ("nonsense = 1", "nonsense"),
    ("[rtt]\nintervals = \"1s\"", "intervals"),
    ("[rtt]\ninterval = \"1\"", "rtt: interval: '1' has no unit"),
    ("[rtt]\ninterval = \"0s\"", "rtt: interval"),
    (
        "[rtt]\ninterval = \"2min\"",
        "rtt: interval 2min exceeds the maximum of 1min",
    ),
    ("[rtt]\ninterval = \"1us\"", "rtt: interval"),
    (
        "[rtt]\ntimeout = \"6s\"",
        "rtt: timeout 6s exceeds the maximum of 5s",
    ),
    ("[rtt]\nwindow = 0", "rtt: window"),
    ("[rtt]\nlength = 9", "rtt: length"),
    ("[flows]\nrate = \"1Mbit/s\"", "every"),
    ("[flows]\nevery = \"30s\"", "flows: every 30s is outside of 40s"),
    ("[flows]\nevery = \"1h\"\nflows = 0", "flows: flows"),
    ("[flows]\nevery = \"1h\"\nlength = 5", "flows: length 5"),
    ("[survey]\nevery = \"6h\"\nrate = \"50Mbit/s\"", "max-bytes"),
    (
        "[survey]\nevery = \"5min\"\nrate = \"50Mbit/s\"\nmax-bytes = \"1GB\"",
        "survey: every 5min is outside of 10min to 30d",
    ),
    (
        "[survey]\nevery = \"6h\"\nrate = \"50Mbit\"\nmax-bytes = \"1GB\"",
        "survey: rate",
    ),
    (
        "[budget]\nbytes-a-day = \"1kB\"",
        "budget: bytes-a-day 1kB is too little: RTT and flows of 1 pair send",
    ),
    ("[budget]\nusd-a-month = -1", "budget: usd-a-month -1"),
    (
        "[budget]\nusd-a-month = 5",
        "budget: usd-a-month needs the cloud of every host, and 'lon' has none",
    ),
    (
        "[survey]\nevery = \"6h\"\nrate = \"50Mbit/s\"\nmax-bytes = \"1GB\"\n[budget]\nbytes-a-day = \"300MB\"",
        "budget: bytes-a-day 300MB leaves",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"mtu\"",
        "unknown variant `mtu`",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"loss\"",
        "rule a: above is missing",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"loss\"\nabove = \"1\"",
        "rule a: above: '1' has no unit",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"dark-flows\"\nabove = \"1\"",
        "rule a: above: '1' is not a rate; write it like 0.5/day",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"unreachable\"\nbelow = \"1s\"",
        "rule a: above: 'unreachable' has no limit",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"path-mtu\"\nabove = \"9kB\"",
        "rule a: the limit of 'path-mtu' is the key below",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"path-mtu\"",
        "rule a: below is missing",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"p50\"\nabove = \"1ms\"\nbelow = \"1ms\"",
        "rule a: the limit of 'p50' is the key above",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"unreachable\"\nabove = \"1s\"",
        "rule a: above: 'unreachable' has no limit",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"p90\"\nabove = \"9ms\"\nfor = \"2d\"",
        "rule a: for 2d exceeds the maximum of 1d",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"unreachable\"\n[[rule]]\nname = \"a\"\nmetric = \"unreachable\"",
        "rule: name 'a' is empty, longer",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"unreachable\"\nlabels = { \"9\" = \"x\" }",
        "rule a: labels",
    ),
    (
        "[[rule]]\nname = \"a\"\nmetric = \"unreachable\"\npairs = [[\"ams\", \"lon\"]]",
        "rule a: pairs: 'ams' to 'lon' is not measured",
    ),
    (
        "[[silence]]\nfrom = 2026-03-01T22:00:00\nto = 2026-03-02T04:00:00Z",
        "silence: from 2026-03-01T22:00:00 has no zone",
    ),
    (
        "[[silence]]\nfrom = 2026-03-01T22:00:00Z\nto = 2026-03-01T21:00:00Z",
        "silence: to 2026-03-01T21:00:00Z is not after from",
    ),
    ("[keep]\nbytes = \"1MB\"", "keep: bytes 1MB is below 10MB"),
    ("[keep]\nminutes = \"1h\"", "keep: minutes 1h is below 1d"),
    ("[keep]\nyears = 3", "unknown field `years`"),
    (
        "[[host]]\nname = \"ams\"",
        "host: two [[host]] tables are named 'ams'",
    ),
    ("[[host]]\nname = \"a b\"", "host: name 'a b'"),
    ("[[host]]\nname = \"x\"\naddress = \"\"", "host x: address"),
    (
        "[[host]]\nname = \"x\"\ncloud = \"cellar\"",
        "host x: cloud: no price of egress for 'cellar'",
    ),
];

/// Lines before the tables.
const REFUSED_LINES: &[(&str, &str)] = &[
    ("pairs = \"ring\"", "pairs: 'ring' is neither"),
    (
        "pairs = [[\"lon\", \"par\"]]",
        "pairs: no [[host]] is named 'par'; the names are lon, ams",
    ),
    (
        "pairs = [[\"lon\", \"lon\"]]",
        "pairs: 'lon' is paired with itself",
    ),
    ("pairs = [[\"ams\", \"lon\"]]", "pairs: none is from 'lon'"),
    (
        "pairs = [[\"lon\", \"ams\"], [\"lon\", \"ams\"]]",
        "pairs: 'lon' to 'ams' is there twice",
    ),
];

#[test]
fn every_fault_is_one_line_that_names_its_key() {
    let plan = |text: &str| read(text, None).and_then(|config| Plan::of(&config));
    let after = REFUSED
        .iter()
        .map(|(table, words)| (format!("{TWO}{table}"), words));
    let before = REFUSED_LINES
        .iter()
        .map(|(line, words)| (format!("{line}\n{TWO}"), words));
    for (text, words) in after.chain(before) {
        let said = plan(&text).map(|_| text.clone()).expect_err(&text).to_string();
        assert!(said.contains(*words), "'{words}' is not in '{said}'");
        assert!(!said.contains('\n') && !said.contains("--"), "{said}");
    }
    let without_here = TWO.replace("here = \"lon\"\n", "");
    assert!(
        read(&without_here, None)
            .unwrap_err()
            .to_string()
            .starts_with("here: ")
    );
    assert!(read(&without_here, Some("ams")).is_ok());
    let said = read(TWO, Some("par")).unwrap_err().to_string();
    assert!(said.starts_with("here: no [[host]] is named 'par'"), "{said}");
    assert!(read("", None).unwrap_err().to_string().contains("host"));
}

proptest! {
    #[test]
    fn no_text_panics_and_errors_are_one_line(text in "\\PC{0,200}", table in 0..REFUSED.len()) {
        for text in [text.clone(), format!("{TWO}{text}"), format!("{TWO}{}\n{text}", REFUSED[table].0)] {
            if let Err(error) = read(&text, None) {
                let said = error.to_string();
                prop_assert!(!said.contains('\n') && said.chars().count() <= 401);
            }
        }
    }
}
