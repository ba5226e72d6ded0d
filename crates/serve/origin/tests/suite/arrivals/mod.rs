//! A client of HTTP/1.1 that notes when what of an answer arrives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::served::{LIMIT, Served};

/// Of the time that a rate takes, what an answer takes at least: the kernel paces neither the first ten packets of a
/// connection nor the burst at the end.
pub const LEAST_SHARE: f64 = 0.85;
/// As packets of an Ethernet carry it; those of loopback carry forty times as much.
const MSS: u32 = 1460;

/// A connection whose packets are as short as those of a network.
pub fn connect(served: &Served) -> TcpStream {
    let socket = Socket::new(Domain::for_address(served.address), Type::STREAM, None).expect("a socket");
    socket.set_tcp_mss(MSS).expect("an option");
    socket.connect(&served.address.into()).expect("a connection");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(LIMIT)).expect("an option");
    stream.set_nodelay(true).expect("an option");
    stream
}

pub fn request(path: &str, fields: &[(&str, &str)]) -> String {
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!("GET {path} HTTP/1.1\r\nHost: origin\r\n{fields}\r\n")
}

/// Asks and reads the answer; the connection stays.
#[track_caller]
pub fn ask(stream: &mut TcpStream, path: &str, fields: &[(&str, &str)]) -> Answer {
    let asked = Instant::now();
    stream
        .write_all(request(path, fields).as_bytes())
        .expect("a request");
    Answer::read(stream, asked)
}

/// An answer as it arrived.
pub struct Answer {
    pub status: String,
    head: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// How much of the body was there when; the first entry is the request's time.
    arrivals: Vec<(Instant, usize)>,
}

impl Answer {
    /// Reads the answer to a request that was sent at `asked` or later.
    #[track_caller]
    pub fn read(stream: &mut TcpStream, asked: Instant) -> Self {
        // Byte by byte, so that nothing is taken of the next answer.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("text");
        let (line, fields) = head.split_once("\r\n").expect("a line");
        let fields: Vec<(String, String)> = fields
            .lines()
            .filter_map(|field| field.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer {
            status: line[9..12].to_owned(),
            head: fields,
            body: Vec::new(),
            arrivals: vec![(asked, 0)],
        };
        let length: usize = answer
            .header("content-length")
            .expect("a length")
            .parse()
            .expect("a number");
        let mut buffer = vec![0; 256 << 10];
        while answer.body.len() < length {
            let most = buffer.len().min(length - answer.body.len());
            let read = stream.read(&mut buffer[..most]).expect("more");
            assert!(read > 0, "the connection ended after {} bytes", answer.body.len());
            answer.body.extend_from_slice(&buffer[..read]);
            answer.arrivals.push((Instant::now(), answer.body.len()));
        }
        answer
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let field = self.head.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.as_str())
    }

    /// From the request to the last byte.
    pub fn took(&self) -> Duration {
        self.arrivals.last().expect("an arrival").0 - self.arrivals[0].0
    }

    /// Checks that no byte arrived earlier than this rate in bytes per second lets it. A reader that is held up sees
    /// everything later, which this allows: a part of the answer cannot be timed alone.
    #[track_caller]
    pub fn assert_no_faster_than(&self, rate: f64) {
        let (asked, all) = (self.arrivals[0].0, self.body.len() as f64);
        for (time, there) in &self.arrivals[1..] {
            let allowed = (*time - asked).as_secs_f64() * rate + all * (1.0 - LEAST_SHARE);
            assert!(
                *there as f64 <= allowed,
                "{there} bytes after {:?}",
                *time - asked
            );
        }
    }

    /// What each read gave.
    pub fn pieces(&self) -> Vec<usize> {
        self.arrivals.windows(2).map(|two| two[1].1 - two[0].1).collect()
    }
}
