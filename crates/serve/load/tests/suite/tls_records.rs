//! TLS as it comes off the network: in pieces of any size, with payload behind the handshake, cut off, damaged. The
//! server is one of rustls with buffers of its own, on a thread and a plain socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::served::Certificate;
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, Error, ServerConfig, ServerConnection, Stream, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use url::Url;
use weir_load::client::{Client, Dialer, HttpVersion, Patience, Request, Trust};
use weir_load::manifest::UrlRange;
use weir_load::measure::{Cause, Kind};
use weir_net::clock::monotonic_ns;

/// A socket that accepts a limited number of bytes at once, and damages some.
struct Line {
    tcp: TcpStream,
    at_once: usize,
    damage: bool,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut piece = bytes[..bytes.len().min(self.at_once)].to_vec();
        if self.damage {
            *piece.last_mut().unwrap() ^= 1;
        }
        self.tcp.write(&piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Line {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.tcp.read(bytes)
    }
}

/// How the only answer is given.
#[derive(Clone)]
struct Behaviour {
    version: &'static SupportedProtocolVersion,
    at_once: usize,
    /// Before the client has finished its handshake.
    is_early: bool,
    is_damaged: bool,
    /// Ends with the alert that TLS has for it.
    says_goodbye: bool,
    answer: Vec<u8>,
}

fn answer(length: Option<usize>, body: &[u8]) -> Vec<u8> {
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    [format!("HTTP/1.1 200 OK\r\n{length}\r\n").as_bytes(), body].concat()
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 + place / 251) as u8).collect()
}

fn session(certificate: &Path, behaviour: &Behaviour) -> ServerConnection {
    let chain = CertificateDer::pem_file_iter(certificate.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificate.join("key.pem")).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[behaviour.version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    config.send_half_rtt_data = behaviour.is_early;
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// Gives the one answer; what the connection ended with, as the library reads it.
fn serve(mut tls: ServerConnection, mut line: Line, behaviour: &Behaviour) -> Option<Error> {
    if behaviour.is_early {
        while !tls.wants_write() {
            tls.read_tls(&mut line).unwrap();
            tls.process_new_packets().unwrap();
        }
        tls.set_buffer_limit(None);
        tls.writer().write_all(&behaviour.answer).unwrap();
        assert!(tls.is_handshaking());
    }
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match Stream::new(&mut tls, &mut line).read_exact(&mut byte) {
            Ok(()) => asked.push(byte[0]),
            // The viewer has its answer and may be gone before the session's tickets are written.
            Err(error)
                if behaviour.is_early
                    && matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
            {
                return None;
            }
            Err(error) => panic!("{error}"),
        }
    }
    line.damage = behaviour.is_damaged;
    if !behaviour.is_early {
        Stream::new(&mut tls, &mut line)
            .write_all(&behaviour.answer)
            .unwrap();
    }
    if behaviour.says_goodbye {
        tls.send_close_notify();
        while tls.wants_write() {
            tls.write_tls(&mut line).unwrap();
        }
        return None;
    }
    if !behaviour.is_damaged {
        return None;
    }
    while tls.read_tls(&mut line).unwrap() > 0 {
        if let Err(error) = tls.process_new_packets() {
            return Some(error);
        }
    }
    None
}

/// What a viewer has of the answer, or why it has none, and what the server ended with.
fn fetched(behaviour: Behaviour) -> (Result<Vec<u8>, Cause>, Option<Error>) {
    let certificate = Certificate::of("IP:127.0.0.1");
    let authority = certificate.authority();
    let tls = session(authority.parent().unwrap(), &behaviour);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("https://{}/film", listener.local_addr().unwrap())).unwrap();
    let server: JoinHandle<Option<Error>> = std::thread::spawn(move || {
        let (tcp, _) = listener.accept().unwrap();
        tcp.set_nodelay(true).unwrap();
        let line = Line {
            tcp,
            at_once: behaviour.at_once,
            damage: false,
        };
        serve(tls, line, &behaviour)
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let dialer = Dialer::new(
        &Trust::File(authority),
        HttpVersion::One,
        Patience::default(),
        false,
    )
    .unwrap();
    let mut client = Client::new(Rc::new(dialer));
    let mut body = Vec::new();
    let place = UrlRange::of(&url).unwrap();
    let request = Request {
        kind: Kind::Video,
        place: &place,
        intended_ns: monotonic_ns(),
    };
    let got = runtime.block_on(client.get(request, &mut |_| (), &mut |bytes| body.extend_from_slice(bytes)));
    client.close();
    let ended = server.join().expect("the server");
    (got.map(|_| body).map_err(|failed| failed.0), ended)
}

fn whole(version: &'static SupportedProtocolVersion) -> Behaviour {
    Behaviour {
        version,
        at_once: usize::MAX,
        is_early: false,
        is_damaged: false,
        says_goodbye: false,
        answer: answer(Some(100_000), &body(100_000)),
    }
}

#[test]
fn records_come_in_pieces_of_any_size() {
    for version in [&TLS12, &TLS13] {
        for at_once in [1, 7, 1_000, 16_500, usize::MAX] {
            let behaviour = Behaviour {
                at_once,
                ..whole(version)
            };
            let (got, _) = fetched(behaviour);
            assert!(got.unwrap() == body(100_000), "{version:?}, {at_once} at once");
        }
    }
}

#[test]
fn payload_that_comes_with_the_handshake_is_read_first() {
    for at_once in [1, 1_000, usize::MAX] {
        let behaviour = Behaviour {
            at_once,
            is_early: true,
            ..whole(&TLS13)
        };
        assert!(
            fetched(behaviour).0.unwrap() == body(100_000),
            "{at_once} at once"
        );
    }
}

#[test]
fn an_end_that_was_said_is_told_from_a_connection_that_was_cut() {
    for (length, says_goodbye, expected) in [
        (None, true, Ok(())),
        (None, false, Err(Cause::Closed)),
        (Some(100_001), true, Err(Cause::ShortBody)),
        (Some(100_001), false, Err(Cause::ShortBody)),
    ] {
        for version in [&TLS12, &TLS13] {
            let behaviour = Behaviour {
                says_goodbye,
                answer: answer(length, &body(100_000)),
                ..whole(version)
            };
            let (got, _) = fetched(behaviour);
            let same = got.as_ref().map_or(true, |got| *got == body(100_000));
            assert!(
                same && got.map(|_| ()) == expected,
                "{length:?}, {says_goodbye}, {version:?}"
            );
        }
    }
}

#[test]
fn a_damaged_record_is_a_failure_of_tls_and_the_server_hears_of_it() {
    for version in [&TLS12, &TLS13] {
        let behaviour = Behaviour {
            is_damaged: true,
            // One record: a connection that is closed while there is more to read is reset, and the alert lost.
            answer: answer(Some(1_000), &body(1_000)),
            ..whole(version)
        };
        let (got, ended) = fetched(behaviour);
        assert_eq!(got, Err(Cause::Tls));
        assert_eq!(ended, Some(Error::AlertReceived(AlertDescription::BadRecordMac)));
    }
}
