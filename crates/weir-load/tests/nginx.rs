//! Against nginx, which serves titles that ffmpeg has packaged: Weir's account is nginx's own log, to the request and the
//! byte.

#![allow(clippy::unwrap_used)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use weir_load::engine::{Config, Second, SoFar, Watch, place, run};
use weir_load::http::{Patience, Trust};
use weir_load::measure::LoadSummary;
use weir_load::schedule::{Arrivals, Popularity};
use weir_load::viewer::{Behaviour, Play, RungChoice};

struct Nobody;

impl Watch for Nobody {
    fn second(&self, _: &Second, _: &SoFar) -> bool {
        true
    }
}

fn ffmpeg(folder: &Path, arguments: &str) {
    let inputs = "-nostdin -loglevel error -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 -f lavfi -i \
        sine=frequency=440:sample_rate=48000:duration=6 -map 0:v -map 1:a -c:v libx264 -preset ultrafast -g 50 \
        -keyint_min 50 -sc_threshold 0 -pix_fmt yuv420p -b:v 300k -c:a aac";
    let done = Command::new("ffmpeg")
        .args(inputs.split_whitespace().chain(arguments.split_whitespace()))
        .current_dir(folder)
        .output()
        .expect("ffmpeg");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A title in every form.
fn titles() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["dash", "hls"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    ffmpeg(
        &folder.path().join("dash"),
        "-f dash -seg_duration 2 manifest.mpd",
    );
    let hls = "-f hls -hls_time 2 -hls_playlist_type vod -hls_flags single_file -hls_segment_type fmp4 \
        -master_pl_name master.m3u8 -hls_segment_filename media.mp4 media.m3u8";
    ffmpeg(&folder.path().join("hls"), hls);
    folder
}

struct Nginx {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Nginx {
    fn start(root: &Path) -> Nginx {
        let folder = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let at = folder.path().display();
        let configuration = format!(
            "user root; daemon off; master_process off; pid {at}/pid; error_log {at}/error.log; events {{}}\n\
             http {{ log_format counted '$status $bytes_sent $body_bytes_sent $request_uri'; access_log {at}/log counted;\n\
             client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c; uwsgi_temp_path {at}/d;\n\
             scgi_temp_path {at}/e; keepalive_requests 100; server {{ listen 127.0.0.1:{port}; root {}; }} }}",
            root.display()
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let process = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .spawn()
            .expect("nginx, a Debian package");
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "nginx does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Nginx {
            process,
            port,
            folder,
        }
    }

    /// Ends it; then its log: status, bytes sent, bytes of the body and path of each request.
    fn log(mut self) -> Vec<(u16, u64, u64, String)> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        let fields = log.lines().map(|line| {
            let mut words = line.split(' ');
            let mut number = || words.next().unwrap().parse::<u64>().unwrap();
            let (status, all, body) = (number() as u16, number(), number());
            (status, all, body, words.next().unwrap().to_owned())
        });
        fields.collect()
    }
}

fn play(url: &str, how: Play) -> LoadSummary {
    let config = Config {
        behaviour: Behaviour {
            titles: vec![place(url).unwrap()],
            popularity: Popularity::zipf(1, 0.0),
            play: how,
            rung: RungChoice::Highest,
            real_time: Default::default(),
            subtitles: false,
            verify: true,
            think: (Duration::ZERO, Duration::ZERO),
            session: None,
            one_session: false,
            pace: None,
            seed: 1,
        },
        arrivals: Arrivals::Ramp {
            from: 8,
            to: 8,
            over: Duration::ZERO,
        },
        duration: Some(Duration::from_secs(1)),
        threads: 2,
        trust: Trust::Public,
        patience: Patience::default(),
        leave: false,
        scrape: None,
    };
    run(&config, None, &|| false, &Nobody).unwrap()
}

#[test]
fn the_account_is_nginx_s_own_log() {
    let titles = titles();
    for (path, how) in [
        ("dash/manifest.mpd", Play::Loop),
        ("dash/manifest.mpd", Play::RealTime),
        ("hls/master.m3u8", Play::Random),
        ("hls/master.m3u8", Play::RealTime),
    ] {
        let nginx = Nginx::start(titles.path());
        let summary = play(&format!("http://127.0.0.1:{}/{path}", nginx.port), how);
        let log = nginx.log();
        assert_eq!(
            (summary.all.failed, summary.all.failures.len()),
            (0, 0),
            "{path}: {summary:?}"
        );
        assert!(summary.all.requests > 20, "{path}");
        assert_eq!(summary.all.requests, log.len() as u64, "{path}");
        assert!(log.iter().all(|(status, ..)| [200, 206].contains(status)));
        let sum = |of: fn(&(u16, u64, u64, String)) -> u64| log.iter().map(of).sum::<u64>();
        assert_eq!(summary.all.all_bytes, sum(|line| line.1), "{path}");
        assert_eq!(summary.all.body_bytes, sum(|line| line.2), "{path}");
        let manifests = log
            .iter()
            .filter(|line| line.3.ends_with(".mpd") || line.3.ends_with(".m3u8"));
        let counted = summary.kinds.iter().find(|kind| kind.kind == "manifest").unwrap();
        assert_eq!(counted.requests, manifests.count() as u64, "{path}");
    }
}
