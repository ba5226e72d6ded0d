//! Indexes built ahead in object storage: a server that speaks as much of S3 as that takes, in Python, keeps what is
//! written.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::served::{Served, config, make_film};
use tempfile::TempDir;
use weir_origin::{
    Access, AheadSettings, Config, IndexedFile, KeepIndexes, Kind, ObjectPath, Patience, S3Style, index_ahead,
};

/// Objects below a folder, under `/BUCKET/KEY`: GET with ranges, HEAD, PUT, and lists of all (ListObjectsV2), in which
/// one ETag has no quotes, as with Azure Blob. Nothing is put below `archive`. Requests have to be signed, by anybody.
const S3: &str = r#"
import hashlib, http.server, os, sys, urllib.parse
root = sys.argv[1]
class S3(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self, status, body=b"", headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", headers.get("X-Length", str(len(body))))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def key(self):
        assert self.headers["Authorization"].startswith("AWS4-HMAC-SHA256 "), self.headers
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        assert bucket == "films"
        return key, dict(urllib.parse.parse_qsl(url.query))
    def do_PUT(self):
        key, _ = self.key()
        if "archive" in key:
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        os.makedirs(os.path.dirname(os.path.join(root, key)) or root, exist_ok=True)
        open(os.path.join(root, key), "wb").write(body)
        self.answer(200, headers={"ETag": '"' + hashlib.md5(body).hexdigest() + '"'})
    def do_GET(self):
        key, query = self.key()
        if query.get("list-type") == "2":
            return self.list(query.get("prefix", ""))
        path = os.path.join(root, key)
        if not os.path.isfile(path):
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        body = open(path, "rb").read()
        headers = {"ETag": '"' + hashlib.md5(body).hexdigest() + '"', "Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}
        if "Range" not in self.headers:
            return self.answer(200, body, headers)
        first, last = self.headers["Range"][6:].split("-")
        part = body[int(first):int(last) + 1]
        headers["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(body)}"
        self.answer(206, part, headers)
    do_HEAD = do_GET
    def list(self, prefix):
        found = ""
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                key = os.path.relpath(path, root)
                if key.startswith(prefix):
                    body = open(path, "rb").read()
                    quote = "" if name == "low.mp4" else "&quot;"
                    found += (f"<Contents><Key>{key}</Key><Size>{len(body)}</Size>"
                        f"<LastModified>2006-01-02T15:04:05.000Z</LastModified>"
                        f"<ETag>{quote}{hashlib.md5(body).hexdigest()}{quote}</ETag></Contents>")
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()
        self.answer(200, body, {"Content-Type": "application/xml"})
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), S3)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct Bucket {
    process: Child,
    endpoint: String,
    folder: TempDir,
}

impl Bucket {
    fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut process = Command::new("python3")
            .args(["-c", S3])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut port = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut port).expect("a port");
        Bucket {
            process,
            endpoint: format!("http://127.0.0.1:{}", port.trim()),
            folder,
        }
    }

    fn access(&self) -> Access {
        Access {
            s3_endpoint: Some(self.endpoint.clone()),
            s3_style: S3Style::Path,
            s3_region: Some("eu-central-1".to_owned()),
            anonymous: false,
            authorities: None,
        }
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("its end");
    }
}

fn put_film(bucket: &Bucket, name: &str, size: &str) {
    let file = bucket.folder.path().join("2026").join(name);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    make_film(&file, &format!("testsrc2=size={size}:rate=25:duration=4"), "");
}

/// What became of each file.
fn outcomes(bucket: &Bucket, titles: &[&str]) -> Vec<(String, Result<IndexedFile, String>)> {
    let settings = AheadSettings {
        place: "s3://films/2026".parse().expect("a place"),
        access: bucket.access(),
        patience: Patience::default(),
        keep: KeepIndexes::Beside,
    };
    let titles: Vec<ObjectPath> = titles
        .iter()
        .map(|title| ObjectPath::new(title).expect("a path"))
        .collect();
    let mut told = Vec::new();
    let done = index_ahead(
        &settings,
        &titles,
        || false,
        |indexed| {
            let outcome = indexed.outcome.as_ref().map_err(ToString::to_string);
            told.push((indexed.path.as_str().to_owned(), outcome.copied()));
        },
    );
    done.expect("indexes");
    told
}

/// Path, and whether the index was built, of each file.
fn index(bucket: &Bucket, titles: &[&str]) -> Vec<(String, bool)> {
    let told = outcomes(bucket, titles).into_iter().map(|(path, outcome)| {
        let file = outcome.expect("an index");
        assert_eq!(file.samples, 100);
        (path, file.built)
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

/// The status of a title's MPD, and the bytes that were read as indexes for it.
fn ask(bucket: &Bucket, title: &str) -> (u16, u64) {
    let served = Served::start(&Config {
        access: bucket.access(),
        ..config("s3://films/2026")
    });
    let (status, _) = served.get(&format!("/{title}/manifest.mpd"));
    (status, served.metrics.bytes_in(Kind::Index))
}

#[test]
fn indexes_are_written_beside_their_objects_and_found_there() {
    // Credentials come from the environment, which is set for a child that runs this test again.
    let Ok(_) = std::env::var("AWS_ACCESS_KEY_ID") else {
        let again = Command::new(std::env::current_exe().expect("this test"))
            .args([
                "--exact",
                "indexes_are_written_beside_their_objects_and_found_there",
            ])
            .env("AWS_ACCESS_KEY_ID", "somebody")
            .env("AWS_SECRET_ACCESS_KEY", "something")
            .output()
            .expect("this test");
        assert!(
            again.status.success(),
            "{}",
            String::from_utf8_lossy(&again.stdout)
        );
        return;
    };
    let bucket = Bucket::start();
    put_film(&bucket, "sita/high.mp4", "320x180");
    put_film(&bucket, "sita/low.mp4", "160x90");
    put_film(&bucket, "one.mp4", "160x90");
    let named = |names: &[&str], built: bool| -> Vec<(String, bool)> {
        names.iter().map(|name| ((*name).to_owned(), built)).collect()
    };
    let (_, before) = ask(&bucket, "sita");
    assert_eq!(
        index(&bucket, &["sita"]),
        named(&["sita/high.mp4", "sita/low.mp4"], true)
    );
    let mut all = named(&["sita/high.mp4", "sita/low.mp4"], false);
    all.insert(0, ("one.mp4".to_owned(), true));
    assert_eq!(index(&bucket, &[]), all);
    let stored = |name: &str| {
        let file = bucket.folder.path().join(format!("2026/{name}.weir-index"));
        std::fs::metadata(file).expect("an index").len()
    };
    let (status, read) = ask(&bucket, "sita");
    assert_eq!(
        (status, read),
        (200, stored("sita/high.mp4") + stored("sita/low.mp4"))
    );
    assert!(read < before, "{read} {before}");
    assert_eq!(ask(&bucket, "one.mp4"), (200, stored("one.mp4")));
    // Of another version, it is not used.
    put_film(&bucket, "one.mp4", "320x180");
    let (status, read) = ask(&bucket, "one.mp4");
    assert!(status == 200 && read > stored("one.mp4"), "{status} {read}");
    assert_eq!(index(&bucket, &["one.mp4"]), named(&["one.mp4"], true));
    // Where nothing can be written, that is said of the index, and the film is served without.
    put_film(&bucket, "archive/one.mp4", "160x90");
    let refused = outcomes(&bucket, &["archive"]);
    let error = refused[0].1.as_ref().expect_err("nothing was written");
    assert!(
        error.starts_with("cannot write the index of archive/one.mp4 beside it: the storage denies access to archive/one.mp4.weir-index (status 403)"),
        "{error}"
    );
    assert_eq!(ask(&bucket, "archive").0, 200);
}
