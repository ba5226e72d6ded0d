use proptest::prelude::*;

use super::super::{named, play, scenarios};
use super::*;
use crate::scenario_file::MOST_BYTES;
use crate::scenario_file::tests::{assert_mistakes_are_named, strange_values};

const GOOD: &str = r#"# A trap
trap = """
So slow
that nobody waits
"""

[media]
rungs = ["1Mbit/s", "4Mbit/s"]
segment = "2s"
for = "9s"

[player]
abr = "share:0.5"
buffer = "11s"
start-buffer = "4s"
first-rung = "4Mbit/s"

[[step]]
for = "10s"
rate = "8Mbit/s"
rtt = "20ms"

[[step]]
for = "100ms"
rate = "0"
rtt = "1s"

[[variant]]
name = "unpaced"

[[variant]]
name = "paced"
pace = "rung:2"
server = "bounds"
abr = "bola"
first-rung = "1Mbit/s"

[[claim]]
variant = "paced"
figure = "startup_ns"
above = 1.5
of = "unpaced"
"#;

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "mine.toml").map_err(|error| error.to_string())
}

#[test]
fn a_file_is_read_as_it_is_written() {
    let scenario = read(GOOD).unwrap();
    assert_eq!(scenario.headline, "A trap");
    assert_eq!(read(&GOOD.replacen("# A trap", "", 1)).unwrap().headline, "");
    assert_eq!(scenario.trap, "So slow that nobody waits");
    assert_eq!(
        scenario.media,
        Media {
            rungs: vec![Rate(1_000_000), Rate(4_000_000)],
            segment: TimeSpan(2_000_000_000),
            segments: 5,
        }
    );
    let step = |ms, rate, rtt| Step {
        duration: Duration::from_millis(ms),
        rate,
        latency: Duration::from_millis(rtt),
    };
    let link = SteppedLink::new(vec![step(10_000, 8_000_000, 20), step(100, 0, 1_000)]).unwrap();
    assert_eq!(scenario.link, link);
    let variant = |name: &str, pace, server, rule, first_rung| Variant {
        name: name.to_owned(),
        pace,
        server,
        rule,
        first_rung,
    };
    assert_eq!(
        scenario.variants,
        [
            variant("unpaced", PacePolicy::None, Server::Obeys, Rule::Share(0.5), 1),
            variant(
                "paced",
                PacePolicy::TimesRung(2.0),
                Server::Bounds,
                Rule::Choice(AbrChoice::Bola),
                0
            ),
        ]
    );
    let claim = Claim {
        variant: 1,
        figure: Figure::Startup,
        bound: Bound::Above(1.5),
        of: 0,
    };
    assert_eq!(scenario.claims, [claim]);
}

/// What stands there, what is put in its place, and parts of the error.
const MISTAKES: &str = r#"
trap =  => tarp =  | line 2 ; tarp ; `trap`
So slow\nthat nobody waits => | trap ; 1 to 2000
So slow => So \u0007 slow | trap ; control
"9s" => "9" | line 10 ; 9s
"9s" => "1s" | media.for ; at least a segment
"9s" => "2h" | media.for ; at most 1h
"2s" => "2ms" | media.segment ; 500ms to 60s
"4Mbit/s"] => "2Gbit/s"] | media.rungs ; 1Gbit/s
"4Mbit/s"] => "1Mbit/s"] | media.rungs ; higher
"1Mbit/s", "4Mbit/s" => | media.rungs ; 1 to 16
share:0.5 => share:0 | player.abr ; share:S
share:0.5 => share:nan | player.abr ; share:S
share:0.5 => bolla | player.abr ; 'bolla' ; fixed, share:S, throughput
"11s" => "1s" | player.buffer ; at least a segment
"11s" => "2h" | player.buffer ; 1h
start-buffer = "4s" => start-buffer = "11s" | player.start-buffer ; never start
first-rung = "4Mbit/s" => first-rung = "3Mbit/s" | player.first-rung ; 3Mbit/s ; media.rungs
"10s" => "1ms" | step.for ; 100ms
"10s" => "2d" | step.for ; 24h
"8Mbit/s" => "0" | step ; carries no data
"8Mbit/s" => 8 | line 20 ; string
"8Mbit/s" => "1Tbit/s" | step.rate ; 100Gbit/s
"20ms" => "11s" | step.rtt ; 10s
name = "paced" => name = "unpaced" | variant.name ; 'unpaced' stands there twice
name = "paced" => name = "a b" | variant.name ; letters
rung:2 => rung:x | line 33 ; rung:N, top:N
"bounds" => "nginx" | variant.server of 'paced' ; obeys or bounds
"bola" => "share:2" | variant.abr of 'paced' ; at most 1
first-rung = "1Mbit/s" => first-rung = "1bit/s" | variant.first-rung of 'paced'
variant = "paced" => variant = "fast" | claim.variant ; unpaced, paced
of = "unpaced" => of = "none" | claim.of ; unpaced, paced
"startup_ns" => "vmaf" | claim.figure ; startup_ns, stalls
above = 1.5 => | claim ; below or above
above = 1.5 => above = 1\nbelow = 2 | claim ; below or above
above = 1.5 => above = -1.0 | claim.below ; 0 to 1000
above = 1.5 => above = nan | claim.below ; 0 to 1000
"#;

#[test]
fn mistakes_are_told_in_one_line_that_says_where_and_what_is_allowed() {
    assert_mistakes_are_named(GOOD, MISTAKES, |text| read(text).map(drop));
}

#[test]
fn what_is_far_too_much_is_refused() {
    let long = format!("{GOOD}# {}", "x".repeat(MOST_BYTES));
    assert!(read(&long).unwrap_err().contains("1 MiB"));
    let many = |block: &str, count: usize| {
        let blocks: String = (0..count)
            .map(|n| block.replace("NUMBER", &n.to_string()))
            .collect();
        read(&format!("{GOOD}{blocks}")).unwrap_err()
    };
    let step = "[[step]]\nfor = \"1s\"\nrate = \"1Mbit/s\"\nrtt = \"1ms\"\n";
    assert!(many(step, 1_000).contains("step: 1002 of them; there can be 1 to 1000"));
    assert!(many("[[variant]]\nname = \"vNUMBER\"\n", 20).contains("1 to 16"));
    let claim = "[[claim]]\nvariant = \"paced\"\nfigure = \"stalls\"\nabove = 1\nof = \"unpaced\"\n";
    assert!(many(claim, 40).contains("1 to 32"));
}

#[test]
fn the_traps_that_come_with_it_can_be_played_and_say_what_they_are() {
    for (name, text) in scenarios() {
        let scenario = Scenario::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
        assert!(scenario.trap.len() > 100, "{name}");
        assert!(
            weir_link::headline(text).len() > 20 && text.starts_with("# "),
            "{name}"
        );
        assert_eq!(named(name), Some(text));
    }
}

proptest! {
    /// No text upsets the reader, and what it refuses it refuses in one short line.
    #[test]
    fn files_with_anything_in_them_are_refused_in_a_line(
        at in 0..GOOD.len(),
        length in 0_usize..40,
        instead in strange_values("[[claim]]"),
    ) {
        let end = (at + length).min(GOOD.len());
        let text = format!("{}{instead}{}", &GOOD[..at], &GOOD[end..]);
        match read(&text) {
            Ok(scenario) => prop_assert!(!scenario.variants.is_empty() && !scenario.claims.is_empty()),
            Err(error) => {
                prop_assert!(!error.chars().any(char::is_control), "{}", error);
                prop_assert!(error.len() < 4_000, "{}", error);
            }
        }
    }

    /// Whatever can be written is played to an end: in full, or until the limit.
    #[test]
    fn every_trap_ends(
        rungs in proptest::collection::btree_set(1_u64..1_000_000_000, 1..6),
        segment_ms in 500_u64..10_000,
        segments in 1_u64..40,
        buffered in 1_u64..8,
        rule in prop_oneof![
            Just("fixed"), Just("share:0.1"), Just("throughput"), Just("bba"), Just("bola"), Just("bola-e"), Just("hyb"),
            Just("dynamic")
        ],
        pace in prop_oneof![
            Just("none"), Just("rung:0.01"), Just("rung:1000"), Just("top:1"), Just("sammy"), Just("hyb"), Just("dashjs")
        ],
        server in prop_oneof![Just("obeys"), Just("bounds")],
        steps in proptest::collection::vec((100_u64..100_000, 0_u64..1_000_000_000, 0_u64..10_000), 0..5),
    ) {
        let rungs: Vec<String> = rungs.iter().map(|rung| format!("\"{rung}bit/s\"")).collect();
        let mut text = format!(
            "trap = 'any'\nmedia = {{ rungs = [{}], segment = '{segment_ms}ms', for = '{}ms' }}\n",
            rungs.join(", "),
            segment_ms * segments
        );
        text += &format!("player = {{ abr = '{rule}', buffer = '{}ms' }}\n", segment_ms * buffered);
        text += &format!("variant = [{{ name = 'a', pace = '{pace}', server = '{server}' }}]\n");
        text += "claim = [{ variant = 'a', figure = 'stalls', above = 1, of = 'a' }]\n";
        for (ms, rate, rtt) in steps.into_iter().chain([(1_000, 5_000_000, 20)]) {
            let rate = if rate == 0 { "0".to_owned() } else { format!("{rate}bit/s") };
            text += &format!("[[step]]\nfor = '{ms}ms'\nrate = '{rate}'\nrtt = '{rtt}ms'\n");
        }
        let scenario = read(&text).map_err(TestCaseError::fail)?;
        let shown = play(&scenario).unwrap();
        let variant = &shown.variants[0];
        let whole = segment_ms * 1_000_000 * segments;
        prop_assert_eq!(variant.finished, variant.figures.played_ns == whole);
        prop_assert!(!variant.finished || variant.segments.len() as u64 == segments);
        // A figure is never more than itself.
        prop_assert!(!shown.shown);
    }
}
