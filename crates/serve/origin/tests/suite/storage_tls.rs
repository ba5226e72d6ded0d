//! Storage over TLS whose certificate a private authority has signed: nginx, as a plain server and as a bucket.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::misbehaving::object;
use crate::served::{Served, config, wait_until};
use tempfile::TempDir;
use weir_origin::{Access, Config, S3Style, Server};
use weir_rig::OwnPort;

const LENGTH: usize = 300_000;

#[track_caller]
fn openssl(folder: &Path, arguments: &str) {
    let done = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .expect("openssl");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// An authority `ca.pem`, and `cert.pem` with `key.pem` for this host, which it has signed.
fn certificates() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost").unwrap();
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(
        at,
        &format!("req -x509 {new} -days 2 -subj /CN=authority -out ca.pem -keyout ca-key.pem"),
    );
    openssl(
        at,
        &format!("req {new} -subj /CN=storage -out request.pem -keyout key.pem"),
    );
    let sign = "x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile names -out cert.pem";
    openssl(at, sign);
    folder
}

/// Nginx with `films/a.mp4`.
struct Nginx {
    process: Child,
    port: OwnPort,
    folder: TempDir,
}

impl Nginx {
    fn start() -> Nginx {
        let folder = certificates();
        fs::create_dir(folder.path().join("films")).unwrap();
        fs::write(folder.path().join("films/a.mp4"), object(LENGTH)).unwrap();
        let port = OwnPort::take();
        let at = folder.path().display();
        let user = if rustix::process::getuid().is_root() {
            "user root;"
        } else {
            ""
        };
        let configuration = format!(
            "{user} daemon off; master_process off; pid {at}/pid; error_log {at}/error.log; events {{}}\n\
             http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c;\n\
             uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;\n\
             server {{ listen 127.0.0.1:{} ssl; root {at};\n\
             ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem; }} }}",
            port.number
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration).unwrap();
        let process = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .spawn()
            .expect("nginx, a Debian package");
        wait_until("nginx", || TcpStream::connect(("127.0.0.1", port.number)).is_ok());
        Nginx {
            process,
            port,
            folder,
        }
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn settings(&self, place: &str, authorities: Option<PathBuf>) -> Config {
        Config {
            access: Access {
                s3_endpoint: Some(format!("https://localhost:{}", self.port.number)),
                s3_style: S3Style::Path,
                s3_region: Some("eu-central-1".to_owned()),
                anonymous: true,
                authorities,
            },
            ..config(place)
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_private_authority_is_trusted_where_it_is_named_and_nowhere_else() {
    let nginx = Nginx::start();
    let other = certificates();
    let places = [
        format!("https://127.0.0.1:{}/films", nginx.port.number),
        format!("https://localhost:{}/films", nginx.port.number),
        "s3://films".to_owned(),
    ];
    for place in &places {
        let served = Served::start(&nginx.settings(place, Some(nginx.authority())));
        let (status, body) = served.get("/a.mp4");
        assert_eq!(status, 200, "{place}: {}", String::from_utf8_lossy(&body));
        assert!(body == object(LENGTH), "{place}");
        for authorities in [None, Some(other.path().join("ca.pem"))] {
            let served = Served::start(&nginx.settings(place, authorities));
            let (status, body) = served.get("/a.mp4");
            let body = String::from_utf8_lossy(&body).into_owned();
            assert_eq!(status, 502, "{place}: {body}");
            assert!(body.contains("storage_unreachable"), "{place}: {body}");
            assert!(body.contains("certificate"), "{place}: {body}");
        }
    }
}

#[test]
fn a_file_that_names_no_authority_is_said_at_the_start() {
    let folder = certificates();
    let at = folder.path();
    fs::write(at.join("empty.pem"), "nothing\n").unwrap();
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(at.join("damaged.pem"), damaged).unwrap();
    for name in ["none.pem", "empty.pem", "damaged.pem", "key.pem"] {
        let settings = Config {
            access: Access {
                authorities: Some(at.join(name)),
                ..Access::default()
            },
            ..config("https://127.0.0.1:1/films")
        };
        let Err(error) = Server::bind(&settings) else {
            panic!("{name} is taken")
        };
        let line = error.to_string();
        assert!(line.contains(name) && line.contains("--storage-ca"), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}
