//! A small population, whose lines are all alike, to change.

use weir_population::Population;

pub const SMALL: &str = r#"
households = 6

[line]
rate = "20Mbit/s"
up-rate = "20Mbit/s"
rtt = "40ms"
queue = "2bdp"

[server]
congestion = "cubic"
grants = "obeys"

[session]
length = "80s"

[media]
rungs = ["500kbit/s", "2Mbit/s"]
segment = "4s"

[[device]]
name = "television"
share = 1
abr = "throughput"
buffer = "40s"

[[variant]]
name = "unpaced"
"#;

/// What somebody published of the stream.
pub const PUBLISHED: &str =
    "\n[[published]]\nfigure = \"media.throughput\"\npercent = [-85, -60]\nsource = \"a talk\"\n";

/// [`SMALL`] with the first of each pair replaced by the second, and `more` at its end.
pub fn changed(changes: &[(&str, &str)], more: &str) -> String {
    let mut text = SMALL.to_owned();
    for (there, instead) in changes {
        assert!(text.contains(there), "{there}");
        text = text.replacen(there, instead, 1);
    }
    text + more
}

pub fn population(text: &str) -> Population {
    Population::parse(text, "small.toml").unwrap_or_else(|error| panic!("{error}"))
}
