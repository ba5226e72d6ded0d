//! What the command line refuses by itself.

use clap::error::ErrorKind;

use super::refusal;

/// What is wrong, the arguments, and words of the error; of a wrong value, of its first line.
const REFUSED: &str = "
value | agent --udp-ports 5000..4000 | 4000..5000
value | rtt host --window 0 | --window
value | rtt host --length 100..70000 | 65507
value | rtt host --ttl 0 | --ttl
value | flows host --rate 1Mbit/s --flows 0 | --flows
value | flows host --reorder-depth 2000000 | --reorder-depth ; 1048576
value | origin ftp://host/films | s3://BUCKET/PREFIX
value | origin . --configuration F | A, B, C, D or E
missing | origin . --tls-cert a.pem | --tls-key
value | origin demo --duration 2s | from 10 to 60 seconds
value | load http://127.0.0.1/ --viewers 0 | 0 viewers generate no load
value | send raw --format 160x120:yuv422p10le | --format
value | send raw --format 160x120@50:nonsense | nonsense
value | send --test-pattern 160x120@50:yuv422p10le --fec 96/12 | --fec
value | rtt host --window 100..50 | --window <A..B> ; 100..50 runs backwards; write 50..100
value | flows host --rate 0Gbit/s | --rate <RATE|max> ; the rate must be above zero
value | flows host --rate 2500 | --rate <RATE|max> ; '2500' has no unit; write 2500Mbit/s or 2.5Gbit/s
value | flows host --for 10 | --for <TIME> ; '10' has no unit; write 10s
value | rtt host --for 0s | --for <TIME> ; the time must be above zero
value | survey host --max-bytes 50 | --max-bytes <BYTES> ; '50' has no unit; write 50B
value | flows host --max-bytes 0GB | --max-bytes <BYTES> ; the amount must be above zero
value | flows host --format 1080q50 | --format <NAME> ; the size is followed by p or i; write it like 1080p50-422-10
value | flows host --format 1080p51 | --format <NAME> ; 119.88 or 120; write it like 1080p50-422-10
value | survey host --format 0x0p25 | --format <NAME> ; width and height are even, from 2x2 to 16384x8640; write it like 2x2p25-422-10
value | flows host --format 1080p0-422-10 | --format <NAME> ; the rate, in frames per second, is 23.98, 24,
value | flows host --rate 0 | --rate <RATE|max> ; the rate must be above zero
value | survey host --rate 0bit/s | --rate <RATE> ; the rate must be above zero
value | load http://h/m.mpd --arrivals 0/s | --arrivals <N/s> ; a rate of zero sends nothing
value | send --test-pattern 1080p0-422-10 | --test-pattern [<FORMAT>] ; write it like 1080p23.98-422-10
value | flows host --receive-buffer 4GiB | --receive-buffer <BYTES> ; too large; the maximum is 1023MiB
value | flows host --frame-rate 0 --rate max | --frame-rate <F> ; the frame rate must be above zero
value | rtt host --fail-if 'los > 1%' | --fail-if <EXPR> ; did you mean 'loss'?
value | rtt host --fail-if 'p90 > 150' | --fail-if <EXPR> ; write 'p90 > 150us'
value | runs show newest | <RUN> ; or 'last' for the newest
value | runs show 0 | <RUN> ; '0' is not a run
value | origin media --pace --pace-factor 0.9
value | origin media --pace --pace-factor NaN
value | origin media --pace --pace-floor 5
value | origin media --pace --pace-burst 65
value | origin media --pace --pace-time 0s
value | origin s3://
value | origin media --listen 8080
value | origin media --memory-cache 512
value | origin media --threads 0
value | origin media --segment 1s
value | origin media --segment 11s
value | ui --listen 4780
value | ui --listen localhost
value | ui --listen 127.0.0.1
value | origin demo --duration 61s
conflict | flows host --format 1080p59.94-422-10 --rate 1Gbit/s
conflict | flows host --format 1080p59.94-422-10 --bytes-per-frame 1000
conflict | flows host --format 1080p59.94-422-10 --frame-rate 50
conflict | flows host --rate 1Gbit/s --bytes-per-frame 1000
conflict | flows host --reverse --both
conflict | rtt host -4 -6
conflict | runs list --all --limit 3
conflict | runs export 1 --as json --table rtt_packets
conflict | runs export 1 --as jsonl --table rtt_packets
conflict | agent --open --token-file t
conflict | rtt host -q -v
conflict | origin index media --beside -o cache
conflict | origin media index media
missing | rtt
missing | rtt host --ssid 7
missing | rtt host --stamp-key-file k
missing | agent --stamp-key-file k
missing | runs export 1 --as csv
missing | runs delete
missing | runs note 1
missing | report
missing | flows host --frame-rate 50
missing | origin
missing | origin index
missing | origin dref
missing | origin media --disk-cache-size 1GiB
missing | origin media --pace-floor 5Mbit/s
";

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    for line in REFUSED.lines().filter(|line| !line.is_empty()) {
        let mut parts = line.split(" | ");
        let kind = match parts.next() {
            Some("value") => ErrorKind::ValueValidation,
            Some("conflict") => ErrorKind::ArgumentConflict,
            Some("missing") => ErrorKind::MissingRequiredArgument,
            other => panic!("{other:?} in {line}"),
        };
        let error = refusal(&format!("weir {}", parts.next().expect("arguments")));
        assert_eq!((error.kind(), error.exit_code()), (kind, 2), "{line}: {error}");
        let text = error.to_string();
        let told = match kind {
            ErrorKind::ValueValidation => text.lines().next().unwrap_or_default(),
            _ => &text,
        };
        for word in parts.flat_map(|words| words.split(" ; ")) {
            assert!(told.contains(word), "{line}: {text}");
        }
    }
}
