//! Files of populations: the ones that come with Weir, and mistakes.

use proptest::prelude::*;
use weir_population::{Household, Population, populations};

use crate::small::{SMALL, changed};

#[test]
fn every_built_in_population_is_one() {
    for (name, text) in populations() {
        let population = Population::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
        for number in 0..200 {
            Household::draw(&population, 1, number).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// What stands there, what is put in its place, and parts of the error.
const MISTAKES: [(&str, &str, &[&str]); 18] = [
    ("households = 6", "households = 0", &["households: ", "from 1 to"]),
    ("\"20Mbit/s\"", "\"20\"", &["line.rate: ", "20Mbit/s"]),
    (
        "\"20Mbit/s\"",
        "\"20bit/s\"",
        &["line.rate: ", "from 100kbit/s to 10Gbit/s"],
    ),
    (
        "\"20Mbit/s\"",
        "{ shares = [[0.5, \"20Mbit/s\"], [0.4, \"30Mbit/s\"]] }",
        &["line.rate.shares: ", "sum to 0.9"],
    ),
    (
        "\"20Mbit/s\"",
        "{ quantiles = [[0, \"20Mbit/s\"], [0.5, \"10Mbit/s\"], [1, \"30Mbit/s\"]] }",
        &["line.rate.quantiles: entry 2 is below entry 1: ", "ascend"],
    ),
    (
        "\"20Mbit/s\"",
        "{ median = \"20Mbit/s\" }",
        &["line.rate: ", "min is missing"],
    ),
    (
        "\"20Mbit/s\"",
        "{ median = \"20Mbit/s\", sigma = 1, min = \"30Mbit/s\", max = \"40Mbit/s\" }",
        &["line.rate: ", "between min and max"],
    ),
    (
        "\"20Mbit/s\"",
        "{ mean = \"20Mbit/s\" }",
        &["line.rate: ", "one of shares"],
    ),
    ("\"2bdp\"", "\"2bpd\"", &["line: ", "queue"]),
    ("\"2bdp\"", "{ kind = \"fqcodel\" }", &["line: queue", "fq-codel"]),
    ("\"cubic\"", "\"vegas\"", &["server.congestion: ", "vegas", "bbr"]),
    ("\"obeys\"", "\"perhaps\"", &["server.grants: ", "bounds"]),
    (
        "\"500kbit/s\", \"2Mbit/s\"",
        "\"2Mbit/s\", \"500kbit/s\"",
        &["media.rungs: ", "higher"],
    ),
    ("share = 1", "share = 0.5", &["device.share: ", "sum to 0.5"]),
    (
        "\"throughput\"",
        "\"bolla\"",
        &["device.abr: ", "bolla", "bola-e"],
    ),
    (
        "buffer = \"40s\"",
        "buffer = \"1s\"",
        &["device.buffer: ", "a segment"],
    ),
    ("name = \"unpaced\"", "name = \"un paced\"", &["name", "letters"]),
    ("[session]", "[sessions]", &["line 14", "sessions"]),
];

#[test]
fn a_mistake_is_named_in_one_line_with_its_key() {
    assert!(Population::parse(SMALL, "mine.toml").is_ok());
    for (there, instead, parts) in MISTAKES {
        let text = changed(&[(there, instead)], "");
        let error = Population::parse(&text, "mine.toml")
            .expect_err(instead)
            .to_string();
        assert!(
            error.starts_with("mine.toml: ") && error.lines().count() == 1,
            "{error}"
        );
        for part in parts {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_stands_in_place_of_a_value_is_read_or_refused_in_one_line(
        place in 0..SMALL.matches('"').count() / 2,
        value in prop_oneof![
            "\\PC{0,20}",
            Just("{ shares = [] }".to_owned()),
            Just("{ shares = [[1, [1]]] }".to_owned()),
            Just("{ quantiles = [[0, \"1ns\"], [1, \"1ns\"]] }".to_owned()),
            Just("\"18446744073709551615ns\"".to_owned()),
            Just("-1".to_owned()),
        ],
    ) {
        let mut parts: Vec<&str> = SMALL.split('"').collect();
        parts[2 * place + 1] = &value;
        let quoted = parts.join("\"");
        let bare = quoted.replacen(&format!("\"{value}\""), &value, 1);
        for text in [quoted, bare] {
            match Population::parse(&text, "mine.toml") {
                Ok(population) => {
                    prop_assert!(Household::draw(&population, 1, 0).is_ok());
                }
                Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            }
        }
    }
}
