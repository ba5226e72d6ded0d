//! Values that the command line refuses by itself: the arguments, and words of the error.

use super::refusal;

const REFUSED: &str = "
agent --udp-ports 5000..4000 | 4000..5000
rtt host --window 0 | --window
rtt host --length 100..70000 | 65507
rtt host --ttl 0 | --ttl
flows host --rate 1Mbit/s --flows 0 | --flows
flows host --reorder-depth 2000000 | --reorder-depth ; 1048576
origin ftp://host/films | s3://BUCKET/PREFIX
origin . --configuration F | A, B, C, D or E
origin . --tls-cert a.pem | --tls-key
origin demo --duration 2s | from 10 to 60 seconds
load http://127.0.0.1/ --viewers 0 | 0 viewers generate no load
send raw --format 160x120:yuv422p10le | --format
send raw --format 160x120@50:nonsense | nonsense
send --test-pattern 160x120@50:yuv422p10le --fec 96/12 | --fec
";

#[test]
fn values_that_make_no_sense_are_refused_with_what_would() {
    for line in REFUSED.lines().filter(|line| !line.is_empty()) {
        let (arguments, words) = line.split_once(" | ").expect("two parts");
        let error = refusal(&format!("weir {arguments}"));
        assert_eq!(error.exit_code(), 2, "{line}");
        for word in words.split(" ; ") {
            assert!(error.to_string().contains(word), "{line}: {error}");
        }
    }
}
