//! A server that does what a test says for each request: answer, pause, hang, break off. On threads and plain sockets,
//! so that it shares nothing with what it tests.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// From zero, over all connections.
    pub number: usize,
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Asked {
    /// The range that is asked for, or all of it.
    pub fn range(&self, length: usize) -> Range<usize> {
        let Some(range) = self.headers.get("range") else {
            return 0..length;
        };
        let (first, last) = range
            .trim_start_matches("bytes=")
            .split_once('-')
            .expect("a range");
        let (first, last): (usize, usize) =
            (first.parse().expect("a number"), last.parse().expect("a number"));
        first..(last + 1).min(length)
    }
}

/// A step of an answer.
#[derive(Clone, Debug)]
pub enum Act {
    Send(Vec<u8>),
    Pause(Duration),
    /// Waits until the test opens the gate.
    Gate,
    /// Ends the connection with a reset.
    Reset,
    /// Ends the connection.
    Close,
    /// Says nothing more until the client goes.
    Hang,
}

/// What is known from outside.
pub struct Misbehaving {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
    broken_sends: AtomicUsize,
    open: AtomicBool,
}

impl Misbehaving {
    pub fn start(behave: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Self {
        Misbehaving::start_at("127.0.0.1:0".parse().expect("an address"), behave)
    }

    pub fn start_at(
        address: SocketAddr,
        behave: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("its address");
        let (seen, behave) = (Arc::new(Seen::default()), Arc::new(behave));
        let shared = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, behave) = (shared.clone(), behave.clone());
                std::thread::spawn(move || serve(&stream, &seen, &*behave));
            }
        });
        Misbehaving { address, seen }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.seen.asked.lock().expect("the requests").clone()
    }

    pub fn count(&self) -> usize {
        self.asked().len()
    }

    /// Requests for content, not only for what is known of it.
    pub fn gets(&self) -> usize {
        self.asked().iter().filter(|asked| asked.method == "GET").count()
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// How often the client went while something was being sent to it.
    pub fn broken_sends(&self) -> usize {
        self.seen.broken_sends.load(Ordering::SeqCst)
    }

    /// Waits until the client has gone so often while something was being sent to it.
    #[track_caller]
    pub fn wait_for_broken_sends(&self, count: usize) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.broken_sends() < count {
            assert!(Instant::now() < until, "the client stays");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn open_gate(&self) {
        self.seen.open.store(true, Ordering::SeqCst);
    }
}

fn serve(stream: &TcpStream, seen: &Seen, behave: &dyn Fn(&Asked) -> Vec<Act>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    while let Some(asked) = read_request(&mut reader, seen) {
        for act in behave(&asked) {
            if !perform(&act, stream, &mut reader, seen) {
                return;
            }
        }
    }
}

/// Says whether the connection goes on.
fn perform(act: &Act, mut stream: &TcpStream, reader: &mut impl BufRead, seen: &Seen) -> bool {
    match act {
        Act::Send(bytes) => {
            let sent = stream.write_all(bytes);
            if sent.is_err() {
                seen.broken_sends.fetch_add(1, Ordering::SeqCst);
            }
            sent.is_ok()
        }
        Act::Pause(time) => {
            std::thread::sleep(*time);
            true
        }
        Act::Gate => {
            while !seen.open.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            true
        }
        Act::Reset => {
            let socket = socket2::SockRef::from(stream);
            socket.set_linger(Some(Duration::ZERO)).expect("an option");
            false
        }
        Act::Close => false,
        Act::Hang => {
            let mut line = String::new();
            // The end of the connection ends it, however it comes.
            let _ = reader.read_line(&mut line);
            false
        }
    }
}

fn read_request(reader: &mut impl BufRead, seen: &Seen) -> Option<Asked> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(Ok(0), |length| length.parse());
    let mut body = vec![0; length.ok()?];
    reader.read_exact(&mut body).ok()?;
    let mut all = seen.asked.lock().expect("the requests");
    let asked = Asked {
        number: all.len(),
        method,
        path,
        headers,
        body,
    };
    all.push(asked.clone());
    Some(asked)
}

/// An answer with this JSON.
pub fn said(json: &str) -> Vec<Act> {
    let head = format!("HTTP/1.1 200 Said\r\nContent-Length: {}\r\n\r\n", json.len());
    vec![Act::Send((head + json).into_bytes())]
}

/// A status with a short body.
pub fn status(code: u16) -> Vec<Act> {
    vec![Act::Send(
        format!("HTTP/1.1 {code} Said\r\nContent-Length: 5\r\n\r\nsorry").into_bytes(),
    )]
}

/// Headers and body of a correct response to that request for an object of these bytes and that name.
pub fn right(asked: &Asked, object: &[u8], etag: &str) -> (Vec<u8>, Vec<u8>) {
    if asked.headers.get("if-match").is_some_and(|wanted| wanted != etag) {
        return (
            b"HTTP/1.1 412 Said\r\nContent-Length: 0\r\n\r\n".to_vec(),
            Vec::new(),
        );
    }
    let range = asked.range(object.len());
    let told = if asked.headers.contains_key("range") {
        format!(
            "HTTP/1.1 206 Said\r\nContent-Range: bytes {}-{}/{}\r\n",
            range.start,
            range.end - 1,
            object.len()
        )
    } else {
        "HTTP/1.1 200 Said\r\n".to_owned()
    };
    let head = format!("{told}ETag: {etag}\r\nContent-Length: {}\r\n\r\n", range.len());
    let body = if asked.method == "HEAD" {
        &[]
    } else {
        &object[range]
    };
    (head.into_bytes(), body.to_vec())
}

/// A right answer in one go.
pub fn answer(asked: &Asked, object: &[u8], etag: &str) -> Vec<Act> {
    let (head, body) = right(asked, object, etag);
    vec![Act::Send([head, body].concat())]
}

/// The same once the gate is open.
pub fn gated(asked: &Asked, object: &[u8], etag: &str) -> Vec<Act> {
    [vec![Act::Gate], answer(asked, object, etag)].concat()
}

/// A right answer whose body ends at this byte, and what comes then; one without a body is whole.
pub fn begun(asked: &Asked, object: &[u8], etag: &str, most: usize, then: Act) -> Vec<Act> {
    let (head, mut body) = right(asked, object, etag);
    if body.is_empty() {
        return vec![Act::Send(head)];
    }
    body.truncate(most);
    vec![Act::Send([head, body].concat()), then]
}

/// A right answer of which the second half of the body comes once the gate is open.
pub fn half_gated(asked: &Asked, object: &[u8], etag: &str) -> Vec<Act> {
    let (_, mut body) = right(asked, object, etag);
    let second = body.split_off(body.len() / 2);
    let mut acts = begun(asked, object, etag, body.len(), Act::Gate);
    acts.push(Act::Send(second));
    acts
}

/// Bytes that differ from place to place.
pub fn object(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 + place / 251) as u8).collect()
}
