//! A server that answers each path in a way of its own, most of them wrong, and counts what it was asked for.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::SockRef;

/// What it does with a request for a path.
pub type Act = dyn Fn(&str, &mut TcpStream) -> After + Send + Sync;

/// Whether the connection stays open afterwards.
#[derive(Clone, Copy, PartialEq)]
pub enum After {
    Keep,
    Close,
    Reset,
    /// Left open, and nothing more is said.
    Silence,
}

/// A server on loopback, which lives as long as the process.
pub struct Acting {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Acting {
    pub fn start(act: impl Fn(&str, &mut TcpStream) -> After + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, act): (_, Arc<Act>) = (asked.clone(), Arc::new(act));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, act) = (seen.clone(), act.clone());
                std::thread::spawn(move || serve(stream, &seen, &*act));
            }
        });
        Acting { address, asked }
    }

    /// The paths that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("a list").clone()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, act: &Act) {
    let mut lines = BufReader::new(stream.try_clone().expect("a stream"));
    loop {
        let mut first = String::new();
        if lines.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let path = first.split(' ').nth(1).unwrap_or("").to_owned();
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap_or(0) > 2 {
            line.clear();
        }
        seen.lock().expect("a list").push(path.clone());
        match act(&path, &mut stream) {
            After::Keep => {}
            After::Close => return,
            After::Reset => {
                let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                return;
            }
            After::Silence => std::thread::sleep(Duration::from_secs(60)),
        }
    }
}

/// A whole answer.
pub fn answer(stream: &mut TcpStream, status: &str, body: &[u8]) -> After {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
    After::Keep
}

/// A server with any number of titles, each of `segments` segments with `bytes` bytes, that answers at once.
pub fn serving(segments: u32, bytes: usize) -> Acting {
    Acting::start(move |path, stream| match path {
        _ if path.ends_with(".mpd") => answer(stream, "200 OK", mpd(segments).as_bytes()),
        _ => answer(stream, "200 OK", &vec![1; bytes]),
    })
}

/// How many of these requests are of a kind.
pub fn count(asked: &[String], wanted: impl Fn(&str) -> bool) -> usize {
    asked.iter().filter(|path| wanted(path.as_str())).count()
}

/// An MPD with `count` segments of 2 s of sound and pictures, and initialization segments.
pub fn mpd(count: u32) -> String {
    let set = |kind: &str, bandwidths: &[u32]| {
        let representations: String = bandwidths
            .iter()
            .map(|bandwidth| format!("<Representation id=\"{kind}{bandwidth}\" bandwidth=\"{bandwidth}\"/>"))
            .collect();
        format!(
            "<AdaptationSet mimeType=\"{kind}/mp4\"><SegmentTemplate duration=\"2\" startNumber=\"0\" \
             initialization=\"$RepresentationID$/init\" media=\"$RepresentationID$/$Number$\"/>{representations}\
             </AdaptationSet>"
        )
    };
    format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT{}S\"><Period>{}{}</Period></MPD>",
        2 * count,
        set("audio", &[132_000]),
        set("video", &[400_000, 3_894_000]),
    )
}
