//! Options of `weir load` that change its requests, checked against the log of an origin that serves files: a table of short
//! runs, each with what has to be in the log, and what must not.

use std::net::TcpListener;

use serde_json::Value;

use weir_rig::origin::{start, stop};
use weir_rig::{count, isolated, ran};

/// Options, words that some line of the log has, and words that none has. The names of segments show the rung.
const CASES: &str = "
--rung lowest | list.mpd ; /low-0 | high ; text ; CMCD
--rung highest --subtitles | /high-0 ; /text-0 ; /sound-0 | low
--rung random --viewers 12 | /high-0 ; /low-0 | CMCD
--play manifest | list.mpd | low ; high ; sound
--play real-time --rung lowest --subtitles | /low-0 ; /low-5 ; /text-0 | high
--play real-time --rung lowest --buffer 3s | /low-0 ; /low-2 | /low-12
--play real-time --rung abr --buffer 10s | /low-0 ; /high-9 | /high-0
--play real-time --rung abr --abr bba --buffer 10s | /low-0 ; /low-2 | /high-0 ; /high-1?
--play real-time --rung lowest --cmcd 1 | br%3D8%2C ; tb%3D80 ; ot%3Da ; ot%3Dv ; sf%3Dd | v%3D2 ; rtp
--play real-time --rung lowest --cmcd 2 | br%3D%288%3Bv%29 ; v%3D2 | rtp
--play real-time --rung lowest --pace rung:100 | rtp%3D800 ; v%3D2 | high
--play real-time --rung lowest --pace top:100 --cmcd 1 | rtp%3D8000 | v%3D2
";

/// Twenty segments of a second of two rungs, sound and text.
fn make_title() {
    std::fs::create_dir_all("media").expect("a folder");
    let set = |kind: &str, rungs: &[(&str, u32)]| {
        let one = |(name, rate): &(&str, u32)| {
            for number in 0..20 {
                std::fs::write(format!("media/{name}-{number}"), vec![b'x'; 20_000]).expect("a segment");
            }
            format!("<Representation id=\"{name}\" bandwidth=\"{rate}\"/>")
        };
        let rungs: String = rungs.iter().map(one).collect();
        format!(
            "<AdaptationSet contentType=\"{kind}\"><SegmentTemplate duration=\"1\" startNumber=\"0\" \
             media=\"$RepresentationID$-$Number$\"/>{rungs}</AdaptationSet>"
        )
    };
    let sets = [
        set("video", &[("low", 8_000), ("high", 80_000)]),
        set("audio", &[("sound", 8_000)]),
        set("text", &[("text", 800)]),
    ];
    let manifest = format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT20S\"><Period>{}</Period></MPD>",
        sets.concat()
    );
    std::fs::write("media/list.mpd", manifest).expect("a manifest");
}

/// Targets of the requests of a run, as the origin logs them.
#[track_caller]
fn asked(order: &str) -> Vec<String> {
    let (origin, url) = start("media --files --access-log log");
    let list: String = (1..=3).map(|number| format!("{url}{number}.mpd\n")).collect();
    std::fs::write("titles", format!("# three\n\n{list}")).expect("a list");
    ran(
        0,
        &format!("load {} --json -q --for 600ms", order.replace("URL/", &url)),
    );
    stop(origin);
    let log = std::fs::read_to_string("log").expect("the log");
    std::fs::remove_file("log").expect("it is there");
    let line = |line: &str| serde_json::from_str::<Value>(line).expect("a line of JSON")["path"].clone();
    log.lines()
        .map(|one| line(one).as_str().expect("a target").to_owned())
        .collect()
}

#[test]
fn requests_and_what_they_carry_are_those_that_options_ask_for() {
    isolated!();
    make_title();
    for case in CASES.lines().filter(|case| !case.is_empty()) {
        let parts: Vec<&str> = case.split(" | ").collect();
        let targets = asked(&format!("URL/list.mpd {}", parts[0]));
        let has = |word: &str| targets.iter().any(|target| format!("{target}?").contains(word));
        for word in parts[1].split(" ; ") {
            assert!(has(word), "{case}: no {word} in {targets:?}");
        }
        for word in parts[2].split(" ; ") {
            assert!(!has(word), "{case}: {word} in {targets:?}");
        }
    }
    // Titles by popularity: a seed chooses the same again, and another one others.
    for number in 1..=3 {
        std::fs::copy("media/list.mpd", format!("media/{number}.mpd")).expect("a copy");
    }
    let chosen = |seed: u8| asked(&format!("--titles titles --zipf 1 --seed {seed} --play manifest"));
    let [first, again, other] = [7, 7, 8].map(chosen);
    let shortest = first.len().min(again.len()).min(other.len()).min(200);
    assert!(shortest > 20, "{shortest} requests");
    assert_eq!(first[..shortest], again[..shortest]);
    assert_ne!(first[..shortest], other[..shortest]);
    // Nobody waits longer than told for a server that says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address");
    let order = format!("load http://{silent}/list.mpd --play manifest --timeout 200ms --for 1s --json -q");
    let all = ran(3, &order).json()["all"].clone();
    assert_eq!(all["failures"], serde_json::json!({ "timeout": all["requests"] }));
    // Histograms have three digits.
    assert!(count(&all["last_byte"]["min"]) >= 199_000_000, "{all}");
}
