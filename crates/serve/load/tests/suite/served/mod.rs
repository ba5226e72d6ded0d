//! Titles that ffmpeg has packaged, served by nginx, whose log says what it was asked for.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::playing::{Nobody, config, viewers};
use tempfile::TempDir;
use weir_load::client::Patience;
use weir_load::engine::{Config, run};
use weir_load::measure::LoadSummary;
use weir_load::viewer::Play;
use weir_rig::{LIMIT, OwnPort, Running, wait_until};

/// Runs a program in a folder. Its arguments are split at spaces; `~` stands for a space in one of them.
#[track_caller]
fn run_in(folder: &Path, program: &str, arguments: &str) {
    let arguments = arguments.split_whitespace();
    let done = Command::new(program)
        .args(arguments.map(|argument| argument.replace('~', " ")))
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Six seconds of pictures and a tone, encoded as `arguments` say.
#[track_caller]
pub fn encode(folder: &Path, arguments: &str) {
    let inputs = "-nostdin -loglevel error -f lavfi -i testsrc2=size=160x90:rate=25:duration=6 -f lavfi -i \
        sine=frequency=440:sample_rate=48000:duration=6 -c:v libx264 -preset ultrafast -g 50 -keyint_min 50 \
        -sc_threshold 0 -pix_fmt yuv420p -c:a aac";
    run_in(folder, "ffmpeg", &format!("{inputs} {arguments}"));
}

/// The same, packaged as `arguments` say.
#[track_caller]
pub fn ffmpeg(folder: &Path, arguments: &str) {
    encode(folder, &format!("-map 0:v -map 1:a -b:v 300k {arguments}"));
}

/// A title in every form.
pub fn titles() -> TempDir {
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

/// A certificate for 127.0.0.1, or what `names` says, with the authority that has signed it.
pub struct Certificate {
    folder: TempDir,
}

impl Certificate {
    pub fn of(names: &str) -> Certificate {
        let folder = TempDir::new().unwrap();
        let at = folder.path();
        std::fs::write(at.join("names"), format!("subjectAltName={names}")).unwrap();
        let new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        let authority = format!("req -x509 {new} -days 2 -subj /CN=authority -out ca.pem -keyout ca-key.pem");
        let request = format!("req {new} -subj /CN=test -out request.pem -keyout key.pem");
        let sign = "x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile names -out cert.pem";
        for step in [&authority, &request, sign] {
            run_in(at, "openssl", step);
        }
        Certificate { folder }
    }

    /// The authority's own.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Lines of nginx's configuration.
    pub fn lines(&self) -> String {
        let at = self.folder.path().display();
        format!("ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem;")
    }
}

/// A line of nginx's log.
pub struct Line {
    pub status: u16,
    /// Bytes sent for it, heads and frames included.
    pub all: u64,
    pub body: u64,
    pub path: String,
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub protocol: String,
    /// `r`: a TLS session was taken up again; `.`: a new one; `-`: no TLS.
    pub session: String,
}

pub struct Nginx {
    process: Running,
    pub port: OwnPort,
    folder: TempDir,
}

impl Nginx {
    /// `listen` stands behind the address, `lines` among the server's own.
    pub fn start(root: &Path, listen: &str, lines: &str) -> Nginx {
        let folder = TempDir::new().unwrap();
        let port = OwnPort::take();
        let at = folder.path().display();
        let configuration = format!(
            "user root; daemon off; master_process off; pid {at}/pid; error_log {at}/error.log; events {{}}\n\
             http {{ log_format counted '$status $bytes_sent $body_bytes_sent $request_uri $server_protocol \
             $ssl_session_reused-'; access_log {at}/log counted;\n\
             client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c; uwsgi_temp_path {at}/d;\n\
             scgi_temp_path {at}/e; keepalive_requests 100;\n\
             server {{ listen 127.0.0.1:{} {listen}; root {}; {lines} }} }}",
            port.number,
            root.display()
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&file);
        let mut process = Running::start(command);
        wait_until("nginx", LIMIT, || {
            assert!(process.is_running(), "{}", process.stderr());
            TcpStream::connect(("127.0.0.1", port.number)).ok()
        });
        Nginx {
            process,
            port,
            folder,
        }
    }

    /// Its log, when it has ended: killed, it would leave out an answer that has arrived and that it has not yet logged.
    pub fn log(self) -> Vec<Line> {
        self.process.signal("TERM");
        self.process.wait(LIMIT).expect_code(0);
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        let lines = log.lines().map(|line| {
            let [status, all, body, path, protocol, session] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            Line {
                status: status.parse().unwrap(),
                all: all.parse().unwrap(),
                body: body.parse().unwrap(),
                path: path.to_owned(),
                protocol: protocol.to_owned(),
                session: session.strip_suffix('-').unwrap().to_owned(),
            }
        });
        lines.collect()
    }
}

/// Eight viewers for a second.
pub fn eight(url: &str, how: Play) -> Config {
    let mut config = Config {
        duration: Some(Duration::from_secs(1)),
        patience: Patience::default(),
        ..config(url, viewers(8), how)
    };
    config.behaviour.verify = true;
    config
}

pub fn play(config: &Config) -> LoadSummary {
    run(config, None, &|| false, &Nobody).unwrap()
}

/// Plays a title, and holds the account against the log.
#[track_caller]
pub fn compare(
    root: &Path,
    listen: &str,
    lines: &str,
    change: impl FnOnce(&mut Config),
    path: &str,
    how: Play,
) -> Vec<Line> {
    let nginx = Nginx::start(root, listen, lines);
    let scheme = if listen.contains("ssl") { "https" } else { "http" };
    let mut config = eight(&format!("{scheme}://127.0.0.1:{}/{path}", nginx.port.number), how);
    change(&mut config);
    let summary = play(&config);
    let log = nginx.log();
    assert_eq!(
        (summary.all.failed, summary.all.failures.len()),
        (0, 0),
        "{path}: {summary:?}"
    );
    assert!(summary.all.requests > 20, "{path}");
    assert_eq!(summary.all.requests, log.len() as u64, "{path} {how:?}");
    assert!(log.iter().all(|line| [200, 206].contains(&line.status)));
    let sum = |of: fn(&Line) -> u64| log.iter().map(of).sum::<u64>();
    assert_eq!(summary.all.body_bytes, sum(|line| line.body), "{path} {how:?}");
    assert_eq!(summary.all.all_bytes, sum(|line| line.all), "{path} {how:?}");
    let manifests = log
        .iter()
        .filter(|line| line.path.ends_with(".mpd") || line.path.ends_with(".m3u8"));
    let counted = summary.kinds.iter().find(|kind| kind.kind == "manifest").unwrap();
    assert_eq!(counted.requests, manifests.count() as u64, "{path}");
    log
}
