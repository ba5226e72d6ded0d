//! A client of HTTP/2 that sends frames one by one (RFC 9113), right ones and others: no library would do what it does.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Clone, Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        let payload = payload.to_vec();
        Frame {
            kind,
            flags,
            stream,
            payload,
        }
    }

    /// A request without a body. What is in it is not compressed (RFC 7541, 6.2.2).
    pub fn get(stream: u32, path: &str) -> Self {
        // GET, http and the names of path and authority are in the static table.
        let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).expect("a short path")];
        block.extend_from_slice(path.as_bytes());
        block.extend_from_slice(b"\x01\x06origin");
        Frame::new(HEADERS, END_STREAM | END_HEADERS, stream, &block)
    }

    /// The client takes so much more; stream 0 is the connection.
    pub fn window(stream: u32, more: u32) -> Self {
        Frame::new(WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
    }

    /// The client wants no more of a stream (CANCEL).
    pub fn cancel(stream: u32) -> Self {
        Frame::new(RST_STREAM, 0, stream, &8u32.to_be_bytes())
    }

    pub fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len())
            .expect("a short frame")
            .to_be_bytes();
        let mut bytes = vec![length[1], length[2], length[3], self.kind, self.flags];
        bytes.extend_from_slice(&self.stream.to_be_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}

pub struct Client {
    stream: TcpStream,
}

impl Client {
    /// Says hello.
    pub fn start(mut stream: TcpStream) -> Self {
        let hello = [PREFACE, &Frame::new(SETTINGS, 0, 0, &[]).bytes()].concat();
        stream.write_all(&hello).expect("a beginning");
        Client { stream }
    }

    #[track_caller]
    pub fn send(&mut self, frame: &Frame) {
        self.stream.write_all(&frame.bytes()).expect("a frame");
    }

    /// Whether bytes can still be sent.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next frame; nothing when the connection has ended. Settings and pings are acknowledged on the way.
    #[track_caller]
    pub fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        if !self.fill(&mut head) {
            return None;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        if !self.fill(&mut payload) {
            return None;
        }
        let (kind, flags) = (head[3], head[4]);
        if kind == SETTINGS && flags & ACK == 0 {
            // It may have ended the connection by now.
            self.try_send(&Frame::new(SETTINGS, ACK, 0, &[]).bytes());
        }
        if kind == PING && flags & ACK == 0 {
            self.try_send(&Frame::new(PING, ACK, 0, &payload).bytes());
        }
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame {
            kind,
            flags,
            stream,
            payload,
        })
    }

    #[track_caller]
    fn fill(&mut self, bytes: &mut [u8]) -> bool {
        match self.stream.read_exact(bytes) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing more comes, and no end"),
            Err(_) => false,
        }
    }

    /// The next frame of that kind.
    #[track_caller]
    pub fn wait_for(&mut self, kind: u8) -> Frame {
        loop {
            match self.read() {
                Some(frame) if frame.kind == kind => return frame,
                Some(_) => {}
                None => panic!("the connection ended before a frame of kind {kind}"),
            }
        }
    }

    /// Bytes of a stream until its end, or until `most` have come.
    #[track_caller]
    pub fn body(&mut self, stream: u32, most: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < most {
            let frame = self.read().expect("the connection goes on");
            if frame.stream != stream {
                continue;
            }
            assert!(frame.kind != RST_STREAM, "the stream was reset");
            if frame.kind == DATA {
                body.extend_from_slice(&frame.payload);
            }
            if frame.flags & END_STREAM != 0 && (frame.kind == DATA || frame.kind == HEADERS) {
                break;
            }
        }
        body
    }

    /// The kinds of all frames until the connection ends.
    #[track_caller]
    pub fn kinds_to_the_end(&mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.read())
            .map(|frame| frame.kind)
            .collect()
    }
}
