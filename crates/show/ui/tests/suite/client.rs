//! A server under test, and a client of a hundred lines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_ui::{Config, Limits, Server, UiError};

/// Whoever waits longer hangs.
pub const LIMIT: Duration = Duration::from_secs(40);

/// A server in this process; it ends with the test.
pub struct Ui {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), UiError>>>,
}

impl Ui {
    pub fn start(database: &Path) -> Self {
        Ui::start_with(database, None, Limits::default())
    }

    pub fn start_with(database: &Path, token: Option<&str>, limits: Limits) -> Self {
        let server = Server::bind(Config {
            database: database.to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            token: token.map(|token| token.as_bytes().to_vec()),
            limits,
        })
        .unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let thread = std::thread::spawn(move || server.run(move || asked.load(Ordering::Relaxed)));
        Ui {
            address,
            stop,
            thread: Some(thread),
        }
    }

    /// Ends it, and waits for its end.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Sends a request and reads the head of its answer. The usual `Host` is added where none is given.
    pub fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        // A server that has read enough may answer and hang up.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.open("GET", path, &[], b"")
    }

    /// A JSON answer with status 200.
    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        answer.expect(200).json()
    }

    /// A request that changes something, as the page sends it.
    pub fn change(&self, method: &str, path: &str, body: &str) -> Answer {
        self.open(method, path, &[("X-Weir", "1")], body.as_bytes())
    }

    /// Asks until the answer has what is looked for.
    #[track_caller]
    pub fn until<T>(&self, path: &str, mut look: impl FnMut(&Value) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            let answer = self.json(path);
            if let Some(found) = look(&answer) {
                return found;
            }
            assert!(Instant::now() < deadline, "{path} stays {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap().unwrap();
            }
        }
    }
}

/// An answer whose head was read.
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: BufReader<Box<dyn Read>>,
}

impl Answer {
    #[track_caller]
    fn read(stream: TcpStream) -> Self {
        let mut stream = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let first = line();
        let status = first
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3)?.parse().ok())
            .unwrap_or_else(|| panic!("the server said '{first}'"));
        let mut headers = Vec::new();
        loop {
            let line = line();
            let Some((name, value)) = line.split_once(": ") else {
                assert_eq!(line, "");
                break;
            };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut answer = Answer {
            status,
            headers,
            body: BufReader::new(Box::new(std::io::empty())),
        };
        let body: Box<dyn Read> = match (
            answer.header("transfer-encoding"),
            answer.header("content-length"),
        ) {
            (Some("chunked"), None) => Box::new(Chunks { stream, left: 0 }),
            (None, Some(length)) => {
                let length = length.parse().unwrap();
                Box::new(stream.take(length))
            }
            (None, None) => Box::new(stream),
            other => panic!("{other:?}"),
        };
        answer.body = BufReader::new(body);
        answer
    }

    /// A header that is there once at most.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} comes twice");
        value
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        if self.status != status {
            let found = self.status;
            panic!(
                "status {found}, not {status}: {}",
                String::from_utf8_lossy(&self.bytes())
            );
        }
        self
    }

    pub fn bytes(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[track_caller]
    pub fn json(self) -> Value {
        let bytes = self.bytes();
        serde_json::from_slice(&bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
    }

    /// The line in which an answer says what is wrong, which is all that it says.
    #[track_caller]
    pub fn error(self, status: u16) -> String {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let said = answer.json();
        crate::described::conforms("Error", &said);
        said["error"].as_str().unwrap().to_owned()
    }

    /// The next server-sent event; none at the end.
    pub fn event(&mut self) -> Option<(String, Value)> {
        let mut line = || {
            let mut line = String::new();
            let read = self.body.read_line(&mut line).unwrap();
            (read > 0).then(|| line.trim_end().to_owned())
        };
        let name = line()?.strip_prefix("event: ").unwrap().to_owned();
        let data = line().unwrap();
        assert_eq!(line().as_deref(), Some(""));
        Some((
            name,
            serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap(),
        ))
    }
}

/// The body of an answer that comes in chunks.
struct Chunks {
    stream: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            self.left = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = out.len().min(self.left);
        let read = self.stream.read(&mut out[..most])?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        if self.left == 0 {
            self.stream.read_exact(&mut [0; 2])?;
        }
        Ok(read)
    }
}
