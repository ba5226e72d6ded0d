//! nginx with a title of three rungs, audio and subtitles, and its log of a run: connections, requests and times.

use std::cell::Cell;

use serde_json::Value;

use weir_rig::{LIMIT, Running, count, ran, wait_until};

/// Segments of the title, of a second each.
const SEGMENTS: usize = 20;
/// Rungs of its pictures, from the lowest up, bit/s.
pub const RUNGS: [(&str, u64); 3] = [("low", 200_000), ("mid", 400_000), ("high", 800_000)];
/// In a network namespace of the test's own, every port is free.
pub const PLAIN: &str = "127.0.0.1:8080";

/// A line of the log.
pub struct Line {
    /// When the answer had been sent, milliseconds.
    pub at_ms: u64,
    /// Number of the connection.
    pub connection: u64,
    /// Bytes of the body.
    pub body: u64,
    /// `list.mpd`, or what it is of and which: `low-3`.
    pub name: String,
}

impl Line {
    fn of(line: &str) -> Line {
        let [at, status, body, connection, path] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert_eq!(status, "200", "{line}");
        Line {
            at_ms: at.parse().expect("a time"),
            connection: connection.parse().expect("a number"),
            body: body.parse().expect("a length"),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
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
        let nginx = weir_rig::nginx(&configuration(), PLAIN);
        Server {
            _nginx: nginx,
            seen: Cell::new(0),
        }
    }

    /// `weir load` with these options, in which `URL` stands for the address of the title. It counts what the log has, to the request and the byte.
    #[track_caller]
    pub fn play(&self, options: &str) -> Played {
        let summary = self.load(options);
        let requests = count(&summary["all"]["requests"]);
        let lines = wait_until("the log to have all requests", LIMIT, || {
            let lines = self.peek();
            (lines.len() as u64 >= requests).then_some(lines)
        });
        self.seen.set(self.seen.get() + lines.len());
        assert_eq!(lines.len() as u64, requests, "{options}");
        assert_eq!(summary["all"]["failed"], 0, "{options}: {summary}");
        let bytes: u64 = lines.iter().map(|line| line.body).sum();
        assert_eq!(count(&summary["all"]["body_bytes"]), bytes, "{options}");
        Played { summary, lines }
    }

    /// All lines of the log that no run has taken yet, which stay there.
    pub fn peek(&self) -> Vec<Line> {
        let log = std::fs::read_to_string(weir_rig::path("log")).expect("the log");
        log.lines().skip(self.seen.get()).map(Line::of).collect()
    }

    /// The summary of a run.
    #[track_caller]
    fn load(&self, options: &str) -> Value {
        let options = options.replace("URL", &format!("http://{PLAIN}/film/list.mpd"));
        ran(0, &format!("load --json -q {options}")).json()
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

fn configuration() -> String {
    let text = r#"
        map $msec $ms { "~^(?<whole>[0-9]+)[.](?<part>[0-9]+)$" $whole$part; }
        log_format told '$ms $status $body_bytes_sent $connection $request_uri';
        access_log @log told;
        server { listen PLAIN; root @media; }"#;
    text.replace("PLAIN", PLAIN)
}
