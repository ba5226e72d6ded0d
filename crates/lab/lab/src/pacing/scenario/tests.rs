use proptest::prelude::*;
use weir_link::headline;
use weir_net::tcp::CongestionControl;

use super::super::named::scenarios;
use super::*;
use crate::scenario_file::MOST_BYTES;
use crate::scenario_file::tests::{assert_mistakes_are_named, strange_values};

const GOOD: &str = r#"# A call beside streaming
congestion = ["cubic", "reno"]
warm-up = "5s"
for = "20s"

[link]
rate = "10Mbit/s"
rtt = "20ms"
queue = "2bdp"

[media]
rungs = ["1Mbit/s", "4Mbit/s"]
segment = "4s"

[player]
abr = "throughput"
buffer = "24s"

[[variant]]
name = "unpaced"

[[variant]]
name = "nginx"
server = "nginx"
limit-rate = "9Mbit/s"

[[variant]]
name = "paced"
pace = "top:2.25"
burst = 10

[[case]]
name = "call"
neighbours = [{ kind = "voip" }, { kind = "udp", name = "other", rate = "5Mbit/s", length = 1200 }]
figures = [{ of = "voip.owd.p95", expect = "lower", paper = -51 }, { of = "media.throughput" }]
"#;

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "mine.toml", Path::new(".")).map_err(|error| error.to_string())
}

#[test]
fn a_file_is_read_as_it_is_written() {
    let scenario = read(GOOD).unwrap();
    assert_eq!(
        scenario.congestion,
        [CongestionControl::Cubic, CongestionControl::Reno]
    );
    assert_eq!(
        (scenario.repeats, scenario.duration),
        (5, TimeSpan(20_000_000_000))
    );
    assert_eq!(scenario.media.segment_bytes(1), 2_000_000);
    let servers: Vec<Server> = scenario.variants.iter().map(|variant| variant.server).collect();
    assert_eq!(
        servers,
        [Server::Weir, Server::Nginx(Some(Rate(9_000_000))), Server::Weir]
    );
    assert_eq!(scenario.variants[2].pace, PacePolicy::TimesTopRung(2.25));
    assert_eq!(
        scenario.cases[0].neighbours[1],
        Neighbour {
            name: "other".to_owned(),
            kind: NeighbourKind::Traffic(Kind::Datagrams(Traffic::Even {
                rate: Rate(5_000_000),
                length: 1_200,
            })),
        }
    );
    assert_eq!(
        scenario.cases[0].figures[0],
        FigureWanted {
            of: "voip.owd.p95".to_owned(),
            expect: Some(Way::Lower),
            paper_percent: Some(-51.0),
        }
    );
}

/// What stands there, what is put in its place, and parts of the error.
const MISTAKES: &str = r#"
for = "20s" => for = 20s | line 4
for = "20s" => for = "20" | line 4 ; 20s
for = "20s" => fro = "20s" | line 4 ; fro ; `for`
for = "20s" => | for
for = "20s" => for = "2h" | for ; an hour
for = "20s" => for = "20s"\nrepeats = 0 | repeats ; 1 to 50
"cubic", "reno" => "vegas" | congestion ; reno, cubic, bbr
"cubic", "reno" => "reno", "reno" | congestion ; twice
"cubic", "reno" => | congestion ; 1 to 3
rtt = "20ms" => rtt = "20" | link ; rtt
rtt = "20ms" => profile = "home-11M" | home-11M ; home-10M
rtt = "20ms" => profile = 3 | profile ; integer
"1Mbit/s", "4Mbit/s" => "4Mbit/s", "1Mbit/s" | media.rungs ; higher
"1Mbit/s", "4Mbit/s" => "1bit/s" | media.rungs ; 1,000 bytes
"1Mbit/s", "4Mbit/s" => "9Gbit/s" | media ; 512 MiB
segment = "4s" => segment = "1ms" | media.segment ; 500ms to 60s
abr = "throughput" => abr = "bolla" | line 16 ; bola-e
buffer = "24s" => buffer = "1s" | player.buffer ; segment
pace = "top:2.25" => pace = "top" | line 29 ; sammy:C0,C1
burst = 10 => burst = 45 | burst ; paced ; 1 to 44
server = "nginx" => server = "apache" | server ; neither weir nor nginx
server = "nginx" => | limit-rate ; nginx
name = "paced" => name = "unpaced" | variant.name ; twice
name = "paced" => name = "a/b" | variant.name ; letters
kind = "voip" => kind = "fax" | neighbours ; voip, udp, bulk
kind = "voip" => kind = "voip", rate = "1Mbit/s" | 'rate' ; voip ; none
kind = "voip" => kind = "video" | neighbours ; session
length = 1200 => length = 9001 | neighbours ; 64 to 9000
length = 1200 => length = 99999 | line 34 ; u16
kind = "voip" => kind = "http", pause = "2min" | neighbours ; maximum is 1min
kind = "voip" => kind = "bulk", streams = 65 | neighbours ; 1 to 64
name = "other" => name = "voip" | 'voip' is taken
name = "other" => name = "media" | 'media' is taken
voip.owd.p95 => call.owd.p95 | figures ; call.owd.p95
media.throughput => media.speed | figures ; media.bitrate
"lower" => "down" | figures ; neither lower nor higher
"#;

#[test]
fn mistakes_are_told_in_one_line_that_says_where_and_what_is_allowed() {
    assert_mistakes_are_named(GOOD, MISTAKES, |text| read(text).map(drop));
}

#[test]
fn what_is_far_too_much_is_refused() {
    assert!(
        read(&format!("{GOOD}# {}", "x".repeat(MOST_BYTES)))
            .unwrap_err()
            .contains("1 MiB")
    );
    let cases = "[[case]]\nname = \"NAME\"\nfigures = [{ of = \"media.stalls\" }]\n";
    let many: String = (0..20).map(|n| cases.replace("NAME", &format!("c{n}"))).collect();
    assert!(read(&format!("{GOOD}{many}")).unwrap_err().contains("1 to 16"));
}

#[test]
fn the_scenarios_that_come_with_it_can_be_carried_out() {
    for (name, text) in scenarios() {
        let scenario = Scenario::parse(text, name, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
        assert!(scenario.variants.len() >= 2, "{name}");
        // What an origin paces needs a buffer of two segments when a segment is asked for.
        assert!(scenario.player.buffer.0 >= 4 * scenario.media.segment.0, "{name}");
        assert!(headline(text).len() > 20 && text.starts_with("# "), "{name}");
    }
}

proptest! {
    /// No text upsets the reader, and what it refuses it refuses in one short line.
    #[test]
    fn files_with_anything_in_them_are_refused_in_a_line(
        at in 0..GOOD.len(),
        length in 0_usize..40,
        instead in strange_values("[[case]]"),
    ) {
        let end = (at + length).min(GOOD.len());
        let text = format!("{}{instead}{}", &GOOD[..at], &GOOD[end..]);
        match read(&text) {
            Ok(scenario) => prop_assert!(!scenario.variants.is_empty() && !scenario.cases.is_empty()),
            Err(error) => {
                prop_assert!(!error.chars().any(char::is_control), "{}", error);
                prop_assert!(error.len() < 2_500, "{}", error);
            }
        }
    }
}
