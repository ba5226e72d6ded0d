//! A server under test: started on a port of its own, asked over plain sockets, ended with the test.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_origin::{
    Access, Config, Configuration, KeySettings, Limits, Metrics, OriginError, Patience, Server, TlsFiles,
};

/// What does not happen within this time does not happen.
pub const LIMIT: Duration = Duration::from_secs(30);

pub fn config(place: &str) -> Config {
    Config {
        places: vec![place.parse().expect("a place")],
        access: Access::default(),
        patience: Patience {
            tries: 2,
            pause: Duration::from_millis(10),
            ..Patience::default()
        },
        listen: "127.0.0.1:0".parse().expect("an address"),
        tls: None,
        threads: Some(2),
        configuration: Configuration::E,
        memory_cache: 64 << 20,
        disk_cache: None,
        fresh: Duration::from_secs(60),
        segment: Duration::from_secs(4),
        files: true,
        keys: KeySettings::default(),
        page: true,
        pacing: None,
        access_log: None,
        limits: Limits::default(),
    }
}

/// A certificate for 127.0.0.1 that is its own root, with its key, made by OpenSSL.
#[track_caller]
pub fn make_certificate(folder: &Path) -> TlsFiles {
    let files = TlsFiles {
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
    };
    let done = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args(["-nodes", "-days", "2", "-subj", "/CN=weir test"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .arg("-out")
        .arg(&files.certificate)
        .arg("-keyout")
        .arg(&files.key)
        .output()
        .expect("openssl");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
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
