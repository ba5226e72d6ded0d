//! nginx with a title of three rungs, audio and subtitles, and its log of a run: connections, requests and times.

use std::cell::Cell;

use serde_json::Value;

use weir_rig::{LIMIT, Running, count, run, run_within, wait_until, weir};

/// Segments of the title, of a second each.
pub const SEGMENTS: usize = 20;
/// Rungs of its pictures, from the lowest up, bit/s.
pub const RUNGS: [(&str, u64); 3] = [("low", 200_000), ("mid", 400_000), ("high", 800_000)];
/// In a network namespace of the test's own, every port is free.
pub const PLAIN: &str = "127.0.0.1:8080";
const TLS: &str = "127.0.0.1:8443";

/// A line of the log.
pub struct Line {
    /// When the answer had been sent, milliseconds.
    pub at_ms: u64,
    /// Number of the connection.
    pub connection: u64,
    /// Bytes of the body.
    pub body: u64,
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub protocol: String,
    /// `list.mpd`, or what it is of and which: `low-3`.
    pub name: String,
    /// Behind the question mark.
    pub query: String,
}

impl Line {
    fn of(line: &str) -> Line {
        let [at, status, body, connection, protocol, target] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert_eq!(status, "200", "{line}");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Line {
            at_ms: at.parse().expect("a time"),
            connection: connection.parse().expect("a number"),
            body: body.parse().expect("a length"),
            protocol: protocol.to_owned(),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            query: query.to_owned(),
        }
    }

    pub fn is_manifest(&self) -> bool {
        self.name == "list.mpd"
    }

    /// What it is of, and which segment.
    pub fn segment(&self) -> Option<(&str, usize)> {
        let (of, number) = self.name.rsplit_once('-')?;
        Some((of, number.parse().expect("a number")))
    }

    /// Which rung of the pictures it is of.
    pub fn rung(&self) -> Option<usize> {
        let (of, _) = self.segment()?;
        RUNGS.iter().position(|(name, _)| *name == of)
    }
}

/// A run that has ended, and what the server's log has of it.
pub struct Played {
    pub summary: Value,
    pub lines: Vec<Line>,
    /// What the metrics said each time that they were asked for.
    pub scraped: Vec<u64>,
}

impl Played {
    /// The lines of each connection, the earliest first.
    pub fn connections(&self) -> Vec<Vec<&Line>> {
        let mut all: Vec<Vec<&Line>> = Vec::new();
        for line in &self.lines {
            match all.iter_mut().find(|of| of[0].connection == line.connection) {
                Some(known) => known.push(line),
                None => all.push(vec![line]),
            }
        }
        all
    }

    /// From each manifest to the next of the same connection, without the manifest.
    pub fn sessions(&self) -> Vec<Vec<&Line>> {
        let mut all: Vec<Vec<&Line>> = Vec::new();
        for connection in self.connections() {
            for line in connection {
                match line.is_manifest() {
                    true => all.push(Vec::new()),
                    false => all.last_mut().expect("a manifest comes first").push(line),
                }
            }
        }
        all
    }

    /// How often something is in the log.
    pub fn count(&self, is: impl Fn(&Line) -> bool) -> usize {
        self.lines.iter().filter(|line| is(line)).count()
    }
}

/// The server.
pub struct Server {
    _nginx: Running,
    /// Lines of the log that earlier runs have left.
    seen: Cell<usize>,
}

impl Server {
    /// With its title.
    pub fn start() -> Server {
        make_title();
        make_certificate();
        let nginx = weir_rig::nginx(&configuration(), TLS);
        Server {
            _nginx: nginx,
            seen: Cell::new(0),
        }
    }

    /// `weir load` with these options, in which `URL` and `TLS` stand for the address of the title, and `$` for the
    /// folder of the test. It counts what the log has, to the request and the byte.
    #[track_caller]
    pub fn play(&self, options: &str) -> Played {
        let summary = self.load(options, 0);
        let requests = count(&summary["all"]["requests"]);
        let (scraped, lines) = wait_until("the log to have all requests", LIMIT, || {
            let new = self.peek().into_iter();
            let (scraped, lines): (Vec<Line>, Vec<Line>) = new.partition(|line| line.name == "metrics");
            (lines.len() as u64 >= requests).then_some((scraped, lines))
        });
        self.seen.set(self.seen.get() + scraped.len() + lines.len());
        assert_eq!(lines.len() as u64, requests, "{options}");
        assert_eq!(summary["all"]["failed"], 0, "{options}: {summary}");
        let bytes: u64 = lines.iter().map(|line| line.body).sum();
        assert_eq!(count(&summary["all"]["body_bytes"]), bytes, "{options}");
        Played {
            summary,
            lines,
            scraped: scraped.iter().map(|line| line.at_ms).collect(),
        }
    }

    /// All lines of the log that no run has taken yet, which stay there.
    pub fn peek(&self) -> Vec<Line> {
        let log = std::fs::read_to_string(weir_rig::path("log")).expect("the log");
        log.lines().skip(self.seen.get()).map(Line::of).collect()
    }

    /// Takes the lines of a run that was started elsewhere, one per request that it reports.
    #[track_caller]
    pub fn pass_over(&self, requests: u64) {
        let lines = wait_until("the log to have all requests", LIMIT, || {
            let lines = self.peek();
            (lines.len() as u64 >= requests).then_some(lines)
        });
        assert_eq!(lines.len() as u64, requests);
        self.seen.set(self.seen.get() + lines.len());
    }

    /// The summary of a run that ends with this status.
    #[track_caller]
    pub fn load(&self, options: &str, status: i32) -> Value {
        let options = options
            .replace("URL", &format!("http://{PLAIN}/film/list.mpd"))
            .replace("TLS", &format!("https://{TLS}/film/list.mpd"))
            .replace("METRICS", &format!("http://{PLAIN}/metrics"))
            .replace('$', &weir_rig::path(""));
        let mut arguments = vec!["load", "--json", "-q"];
        arguments.extend(options.split_whitespace());
        run_within(LIMIT, weir(&arguments)).expect_code(status).json()
    }
}

/// Segments of as many bytes as their bit rates say.
fn make_title() {
    let film = weir_rig::path("media/film");
    std::fs::create_dir_all(&film).expect("a folder");
    let set = |kind: &str, rungs: &[(&str, u64)]| {
        let representations: String = rungs
            .iter()
            .map(|(name, rate)| format!("<Representation id=\"{name}\" bandwidth=\"{rate}\"/>"))
            .collect();
        for (name, rate) in rungs {
            for number in 0..SEGMENTS {
                let body = vec![b'x'; (rate / 8) as usize];
                std::fs::write(format!("{film}/{name}-{number}"), body).expect("a segment");
            }
        }
        format!(
            "<AdaptationSet contentType=\"{kind}\"><SegmentTemplate duration=\"1\" startNumber=\"0\" \
             media=\"$RepresentationID$-$Number$\"/>{representations}</AdaptationSet>"
        )
    };
    let sets = [
        set("video", &RUNGS),
        set("audio", &[("sound", 64_000)]),
        set("text", &[("text", 800)]),
    ];
    let manifest = format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT{SEGMENTS}S\"><Period>{}</Period></MPD>",
        sets.concat()
    );
    std::fs::write(format!("{film}/list.mpd"), manifest).expect("a manifest");
}

/// One for the server, signed by an authority of the test's own.
fn make_certificate() {
    let openssl = |arguments: &str| {
        let arguments = arguments.replace('$', &weir_rig::path(""));
        run("openssl", &arguments.split_whitespace().collect::<Vec<_>>());
    };
    std::fs::write(weir_rig::path("names"), "subjectAltName=IP:127.0.0.1").expect("a file");
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(&format!(
        "req -x509 {new} -days 2 -subj /CN=authority -out $ca.pem -keyout $ca-key.pem"
    ));
    openssl(&format!(
        "req {new} -subj /CN=server -out $request.pem -keyout $key.pem"
    ));
    openssl(
        "x509 -req -in $request.pem -CA $ca.pem -CAkey $ca-key.pem -CAcreateserial -days 2 -extfile $names -out $cert.pem",
    );
}

/// `/metrics` has counters that count milliseconds, one of them twice.
fn configuration() -> String {
    let text = r#"
        map $msec $ms { "~^(?<whole>[0-9]+)[.](?<part>[0-9]+)$" $whole$part; }
        log_format told '$ms $status $body_bytes_sent $connection $server_protocol $request_uri';
        access_log @log told;
        server {
            listen PLAIN; listen TLS ssl http2; ssl_certificate @cert.pem; ssl_certificate_key @key.pem;
            root @media;
            location /metrics {
                return 200 'read_total $ms\nsent_total{way="a"} $ms\nsent_total{way="b"} $ms\n';
            }
        }"#;
    text.replace("PLAIN", PLAIN).replace("TLS", TLS)
}
