//! A server under test: started on a port of its own, asked over plain sockets, ended with the test.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_origin::{Config, Metrics, OriginError, Patience, Server, TlsFiles};

/// What does not happen within this time does not happen.
pub const LIMIT: Duration = Duration::from_secs(30);

pub fn config(place: &str) -> Config {
    Config {
        patience: Patience {
            tries: 2,
            pause: Duration::from_millis(10),
            ..Patience::default()
        },
        listen: "127.0.0.1:0".parse().expect("an address"),
        threads: Some(2),
        memory_cache: 64 << 20,
        fresh: Duration::from_secs(60),
        files: true,
        page: true,
        ..Config::new(place.parse().expect("a place"))
    }
}

/// What a program printed; its arguments are split at spaces.
#[track_caller]
pub fn run(program: &str, arguments: &str) -> Vec<u8> {
    let done = Command::new(program)
        .args(arguments.split_whitespace())
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments}: {told}");
    done.stdout
}

/// Makes a film with ffmpeg from this source of pictures.
#[track_caller]
pub fn make_film(file: &Path, source: &str, further: &str) {
    let encoder = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p";
    weir_rig::film::make(file, &format!("-f lavfi -i {source} {encoder} {further}"));
}

/// The lines of an access log.
pub fn log_lines(log: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(log).expect("the log");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    lines.collect()
}

/// A certificate for 127.0.0.1 that is its own root, with its key, made by OpenSSL.
#[track_caller]
pub fn make_certificate(folder: &Path) -> TlsFiles {
    let files = TlsFiles {
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
    };
    let arguments = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
         -addext subjectAltName=IP:127.0.0.1,DNS:localhost -out {} -keyout {}",
        files.certificate.display(),
        files.key.display()
    );
    run("openssl", &arguments);
    files
}

/// A server that ends with the test.
pub struct Served {
    pub address: SocketAddr,
    pub metrics: Arc<Metrics>,
    pub stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), OriginError>>>,
}

impl Served {
    pub fn start(config: &Config) -> Self {
        let server = Server::bind(config).unwrap_or_else(|error| panic!("{error}"));
        let (address, metrics) = (server.address(), server.metrics());
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let thread = std::thread::spawn(move || server.run(move || asked.load(Ordering::SeqCst)));
        Served {
            address,
            metrics,
            stop,
            thread: Some(thread),
        }
    }

    pub fn folder(folder: &Path) -> Self {
        Served::start(&config(folder.to_str().expect("a name")))
    }

    /// Runs Python with `ask(method, path, headers)` at hand, which gives status, headers and body.
    #[track_caller]
    pub fn python(&self, script: &str) {
        const ASK: &str = r#"
import http.client, json, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
def ask(method, path, headers={}):
    connection.putrequest(method, path, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
"#;
        let port = self.address.port().to_string();
        let done = Command::new("python3")
            .args(["-c", &format!("{ASK}{script}"), &port])
            .output()
            .expect("python3");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(LIMIT)).expect("an option");
        stream
    }

    /// Sends bytes and gives all that comes back until the connection ends.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may have ended the connection before all was sent.
        let _ = stream.write_all(bytes);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    }

    /// One request on a connection of its own.
    pub fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let mut stream = self.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("an answer");
        let end = all
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("headers")
            + 4;
        let status = std::str::from_utf8(&all[9..12])
            .expect("a status")
            .parse()
            .expect("a number");
        (status, all[end..].to_vec())
    }

    /// Sends a request; the connection stays open, and the answer is the test's to read.
    pub fn ask(&self, path: &str) -> TcpStream {
        let mut stream = self.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: origin\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        stream
    }

    /// Status and cause of a refusal.
    #[track_caller]
    pub fn refusal(&self, path: &str) -> (u16, String) {
        let (status, body) = self.get(path);
        let told: serde_json::Value =
            serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{path}: {error}"));
        (status, told["cause"].as_str().expect("a cause").to_owned())
    }

    /// Errors of that cause so far.
    pub fn errors(&self, cause: &str) -> f64 {
        self.metric(&format!("weir_origin_errors_total{{cause=\"{cause}\"}}"))
    }

    pub fn metric(&self, sample: &str) -> f64 {
        let (_, text) = self.get("/metrics");
        let text = String::from_utf8(text).expect("text");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{sample} is not in {text}"))
            .parse()
            .expect("a number")
    }

    pub fn stop(&mut self) -> Result<(), OriginError> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().expect("it runs").join().expect("no panic")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

#[track_caller]
pub fn wait_until(what: &str, ask: impl Fn() -> bool) {
    let until = Instant::now() + LIMIT;
    while !ask() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}
