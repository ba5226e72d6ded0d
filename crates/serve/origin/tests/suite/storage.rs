//! Reads of storage that behaves, and of storage that does not: what comes is exactly what was asked for, of one
//! version, or an error of its own kind.

mod files;

use std::sync::Arc;
use std::time::Duration;

use crate::misbehaving::{Act, Asked, Misbehaving, answer, begun, half_gated, object, right, status};
use weir_origin::{
    Access, Kind, Meta, Metrics, ObjectPath, Patience, RangeRead, S3Style, Storage, StorageError,
    StorageLocation,
};

const A: &str = "\"a\"";

/// Short, so that tests of what never comes end soon; nothing that comes is waited for as long.
fn patience() -> Patience {
    Patience {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(1),
        stall: Duration::from_secs(1),
        tries: 3,
        pause: Duration::from_millis(10),
        hedge: false,
    }
}

/// Waits as long as a busy machine may take.
fn patient() -> Patience {
    Patience {
        answer: Duration::from_secs(20),
        stall: Duration::from_secs(20),
        ..patience()
    }
}

fn storage(places: &[&str], pooled: bool, patience: Patience) -> (Storage, Arc<Metrics>) {
    let metrics = Arc::<Metrics>::default();
    let places: Vec<StorageLocation> = places
        .iter()
        .map(|place| place.parse().expect("a place"))
        .collect();
    let storage = Storage::open(&places, &Access::default(), pooled, patience, metrics.clone());
    (storage.expect("storage"), metrics)
}

fn path(name: &str) -> ObjectPath {
    ObjectPath::new(name).expect("a path")
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(test)
}

async fn known(storage: &Storage, name: &str) -> Meta {
    let known = storage.head(Kind::Index, &path(name)).await;
    known.expect("what is known")
}

async fn read_a(storage: &Storage, range: std::ops::Range<u64>, version: Option<&Meta>) -> RangeRead {
    let reading = storage.read(Kind::Media, &path("a"), range, version).await;
    reading.expect("a read")
}

async fn whole(
    storage: &Storage,
    range: std::ops::Range<u64>,
    version: Option<&Meta>,
) -> Result<Vec<u8>, StorageError> {
    let read = storage
        .read_whole(Kind::Media, &path("films/a b.mp4"), range, version)
        .await;
    read.map(|(_, bytes)| bytes.to_vec())
}

#[test]
fn a_range_is_read_from_a_plain_server() {
    let bytes = object(100_000);
    let served = bytes.clone();
    let server = Misbehaving::start(move |asked| answer(asked, &served, A));
    let (storage, metrics) = storage(&[&format!("{}/vod/", server.url())], true, patient());
    run(async {
        let meta = known(&storage, "films/a b.mp4").await;
        assert_eq!((meta.length, meta.etag.as_deref()), (100_000, Some(A)));
        assert_eq!(
            whole(&storage, 500..70_000, Some(&meta))
                .await
                .expect("the range"),
            bytes[500..70_000]
        );
        // Without a version the range may go beyond the end.
        assert_eq!(
            whole(&storage, 99_000..200_000, None).await.expect("the end"),
            bytes[99_000..]
        );
        assert_eq!(
            whole(&storage, 500..500, Some(&meta)).await.expect("nothing"),
            Vec::<u8>::new()
        );
    });
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|asked| asked.path == "/vod/films/a%20b.mp4"));
    assert_eq!(asked[0].method, "HEAD");
    assert_eq!(asked[1].headers["range"], "bytes=500-69999");
    assert_eq!(asked[1].headers["if-match"], A);
    assert!(!asked[2].headers.contains_key("if-match"));
    assert_eq!(metrics.bytes_in(Kind::Media), 69_500 + 1_000);
    assert_eq!((metrics.reads(Kind::Index), metrics.reads(Kind::Media)), (1, 2));
}

#[test]
fn bytes_come_before_the_last_one_is_there() {
    let bytes = object(1000);
    let served = bytes.clone();
    let server = Misbehaving::start(move |asked| half_gated(asked, &served, A));
    let (storage, _) = storage(&[&server.url()], true, patient());
    run(async {
        let mut reading = read_a(&storage, 0..1000, None).await;
        let mut got = Vec::new();
        while got.len() < 500 {
            got.extend_from_slice(&reading.next().await.expect("bytes").expect("no error"));
        }
        assert_eq!(got, bytes[..500]);
        server.open_gate();
        while let Some(piece) = reading.next().await {
            got.extend_from_slice(&piece.expect("no error"));
        }
        assert_eq!(got, bytes);
    });
}

/// Answers the first request with the first half and then does as told; the others are answered as they should.
fn breaks_off(bytes: Vec<u8>, then: Act, later_etag: &'static str) -> Misbehaving {
    Misbehaving::start(move |asked| {
        if asked.number > 0 {
            // A server that knows no If-Match: it gives what it has.
            let mut asked = asked.clone();
            asked.headers.remove("if-match");
            return answer(&asked, &bytes, later_etag);
        }
        let (head, body) = right(asked, &bytes, A);
        let half = body.len() / 2;
        vec![
            Act::Send([head, body[..half].to_vec()].concat()),
            Act::Pause(Duration::from_millis(50)),
            then.clone(),
        ]
    })
}

#[test]
fn a_read_that_breaks_off_goes_on_where_it_was() {
    let bytes = object(40_000);
    for then in [Act::Reset, Act::Close, Act::Hang] {
        let server = breaks_off(bytes.clone(), then.clone(), A);
        let (storage, _) = storage(&[&server.url()], true, patience());
        let got = run(whole(&storage, 0..40_000, None)).unwrap_or_else(|error| panic!("{then:?}: {error}"));
        assert!(got == bytes, "{then:?}");
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{then:?}");
        assert_eq!(asked[1].headers["if-match"], A);
        // A reset may take bytes with it that were not read yet.
        let first = asked[1].range(40_000).start;
        assert!(
            first <= 20_000 && asked[1].range(40_000).end == 40_000,
            "{then:?}: {first}"
        );
    }
}

#[test]
fn bytes_of_two_versions_are_never_joined() {
    let bytes = object(40_000);
    let server = breaks_off(bytes.clone(), Act::Close, "\"b\"");
    let (storage, _) = storage(&[&server.url()], true, patient());
    run(async {
        let mut reading = read_a(&storage, 0..40_000, None).await;
        let mut got = Vec::new();
        let error = loop {
            match reading.next().await.expect("bytes or an error") {
                Ok(piece) => got.extend_from_slice(&piece),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StorageError::Changed { .. }), "{error}");
        assert_eq!((got.as_slice(), error.status().as_u16()), (&bytes[..20_000], 503));
        assert!(reading.next().await.is_none());
    });
}

#[test]
fn a_replaced_object_is_not_taken_for_the_one_that_was_meant() {
    let finds_out = |server: &Misbehaving, range| {
        let (storage, _) = storage(&[&server.url()], true, patient());
        run(async {
            let meta = known(&storage, "a").await;
            let error = whole(&storage, range, Some(&meta))
                .await
                .expect_err("another version");
            assert!(matches!(error, StorageError::Changed { .. }), "{error}");
        });
    };
    // With If-Match the server says so; without, its ETag does.
    for knows_if_match in [true, false] {
        let server = Misbehaving::start(move |asked| {
            let mut asked = asked.clone();
            if !knows_if_match {
                asked.headers.remove("if-match");
            }
            let etag = if asked.number == 0 { A } else { "\"b\"" };
            answer(&asked, &object(1000), etag)
        });
        finds_out(&server, 0..10);
        assert_eq!(server.count(), 2, "a change is no reason to ask again");
    }
    // Shorter than the range that was meant.
    let server = Misbehaving::start(|asked| {
        if asked.number == 0 {
            answer(asked, &object(1000), A)
        } else {
            status(416)
        }
    });
    finds_out(&server, 900..1000);
}

type Behave = fn(&Asked) -> Vec<Act>;

fn another_range(asked: &Asked) -> Vec<Act> {
    let mut asked = asked.clone();
    asked.headers.insert("range".into(), "bytes=5-14".into());
    answer(&asked, &object(1000), A)
}

#[test]
fn each_wrong_answer_is_an_error_of_its_kind() {
    let whole_object: Behave = |asked| {
        let mut asked = asked.clone();
        asked.headers.remove("range");
        answer(&asked, &object(1000), A)
    };
    let no_http: Behave = |_| vec![Act::Send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec()), Act::Close];
    let table: [(&str, Behave, &str, u16, usize); 10] = [
        ("another range", another_range, "storage_wrong_answer", 502, 1),
        ("no range", whole_object, "storage_wrong_answer", 502, 1),
        ("not found", |_| status(404), "storage_not_found", 404, 1),
        ("forbidden", |_| status(403), "storage_forbidden", 502, 1),
        ("unauthorised", |_| status(401), "storage_forbidden", 502, 1),
        ("elsewhere", |_| status(302), "storage_wrong_answer", 502, 1),
        ("busy", |_| status(503), "storage_unavailable", 503, 3),
        ("no HTTP", no_http, "storage_broke_off", 502, 3),
        ("reset", |_| vec![Act::Reset], "storage_broke_off", 502, 3),
        ("silent", |_| vec![Act::Hang], "storage_timed_out", 504, 3),
    ];
    for (what, behave, cause, code, requests) in table {
        let server = Misbehaving::start(behave);
        let (storage, _) = storage(&[&server.url()], true, patience());
        let error = run(whole(&storage, 0..10, None)).expect_err(what);
        assert_eq!(
            (error.cause(), error.status().as_u16()),
            (cause, code),
            "{what}: {error}"
        );
        assert_eq!(server.count(), requests, "{what}");
    }
}

#[test]
fn nobody_there_is_said() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("its address");
    drop(free);
    let (storage, metrics) = storage(&[&format!("http://{address}")], true, patience());
    let error = run(whole(&storage, 0..10, None)).expect_err("nobody");
    assert!(matches!(&error, StorageError::Unreachable { .. }), "{error:?}");
    assert!(
        error.to_string().contains(&address.to_string()) && error.to_string().contains("refused"),
        "{error}"
    );
    assert_eq!(metrics.reads(Kind::Media), 3);
}

#[test]
fn what_passes_is_waited_out() {
    let server = Misbehaving::start(|asked| {
        if asked.number < 2 {
            status(503)
        } else {
            answer(asked, &object(100), A)
        }
    });
    let (storage, _) = storage(&[&server.url()], true, patient());
    assert_eq!(
        run(whole(&storage, 0..100, None)).expect("the third"),
        object(100)
    );
    assert_eq!(
        (server.count(), server.connections()),
        (3, 1),
        "refusals leave the connection usable"
    );
}

#[test]
fn the_next_storage_is_read_while_the_first_fails_and_the_first_again_when_it_is_back() {
    let ill = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let seen = ill.clone();
    let first = Misbehaving::start(move |asked| {
        if seen.load(std::sync::atomic::Ordering::SeqCst) {
            status(500)
        } else {
            answer(asked, &object(100), A)
        }
    });
    let second = Misbehaving::start(|asked| answer(asked, &object(100), A));
    let (storage, _) = storage(&[&first.url(), &second.url()], true, patient());
    run(async {
        for _ in 0..10 {
            assert_eq!(
                whole(&storage, 0..100, None).await.expect("from the second"),
                object(100)
            );
        }
        assert_eq!(
            (first.count(), second.count()),
            (3, 10),
            "after three failures it is asked last"
        );
        assert_eq!(
            storage.health().iter().map(|(_, up)| *up).collect::<Vec<_>>(),
            [false, true]
        );
        ill.store(false, std::sync::atomic::Ordering::SeqCst);
        let back = async {
            while !storage.health()[0].1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = storage.watch() => {}
            back = tokio::time::timeout(Duration::from_secs(20), back) => back.expect("it is found to be back"),
        }
        whole(&storage, 0..100, None).await.expect("from the first");
        assert_eq!(second.count(), 10);
    });
}

#[test]
fn a_read_goes_on_from_another_storage_of_the_same_version_only() {
    for (etag, joins) in [(A, true), ("\"b\"", false)] {
        let bytes = object(40_000);
        let served = bytes.clone();
        let first = Misbehaving::start(move |asked| begun(asked, &served, A, 10_000, Act::Close));
        let served = bytes.clone();
        let second = Misbehaving::start(move |asked| answer(asked, &served, etag));
        let (storage, _) = storage(&[&first.url(), &second.url()], true, patient());
        let got = run(whole(&storage, 0..40_000, None));
        match joins {
            true => assert!(got.expect("both") == bytes),
            false => assert!(matches!(got, Err(StorageError::Changed { .. }))),
        }
        assert_eq!((first.count(), second.count()), (1, 1));
    }
}

#[test]
fn to_drop_a_read_ends_it() {
    // More than the sockets between them hold.
    let server = Misbehaving::start(|asked| answer(asked, &object(64 << 20), A));
    let (storage, metrics) = storage(&[&server.url()], true, patient());
    run(async {
        let mut reading = read_a(&storage, 0..64 << 20, None).await;
        reading.next().await.expect("bytes").expect("no error");
        drop(reading);
        for _ in 0..1000 {
            if server.broken_sends() > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert_eq!(server.broken_sends(), 1);
    assert!(
        metrics.bytes_in(Kind::Media) < 1 << 20,
        "nothing is read that nobody asks for"
    );
}

#[test]
fn connections_are_used_again_where_they_are_pooled() {
    for (pooled, connections) in [(true, 1), (false, 5)] {
        let server = Misbehaving::start(|asked| answer(asked, &object(100), A));
        let (storage, metrics) = storage(&[&server.url()], pooled, patient());
        run(async {
            for _ in 0..5 {
                whole(&storage, 0..100, None).await.expect("the range");
            }
        });
        assert_eq!(
            (server.count(), server.connections()),
            (5, connections),
            "pooled: {pooled}"
        );
        assert_eq!(metrics.storage_connections(), connections as u64);
    }
}

/// A bucket behind `server`, asked without signatures.
fn bucket(server: &Misbehaving, patience: Patience) -> Storage {
    let access = Access {
        s3_endpoint: Some(server.url()),
        s3_style: S3Style::Path,
        s3_region: Some("eu-central-1".to_owned()),
        anonymous: true,
        authorities: None,
    };
    let place: StorageLocation = "s3://films/2026".parse().expect("a place");
    Storage::open(&[place], &access, true, patience, Arc::default()).expect("storage")
}

/// S3 reports when each object was written, and object stores insist on it.
fn dated(acts: Vec<Act>) -> Vec<Act> {
    let date = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes[..8]).into_owned();
        if !text.starts_with("HTTP/1.1") {
            return bytes;
        }
        let line = bytes.windows(2).position(|two| two == b"\r\n").expect("a line") + 2;
        let (head, rest) = bytes.split_at(line);
        [head, b"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", rest].concat()
    };
    acts.into_iter()
        .map(|act| match act {
            Act::Send(bytes) => Act::Send(date(bytes)),
            other => other,
        })
        .collect()
}

#[test]
fn a_bucket_is_read_like_a_plain_server() {
    let bytes = object(40_000);
    let served = bytes.clone();
    let server = Misbehaving::start(move |asked| {
        if asked.number != 1 {
            return dated(answer(asked, &served, A));
        }
        dated(begun(asked, &served, A, 10_000, Act::Close))
    });
    let storage = bucket(&server, patient());
    run(async {
        let meta = known(&storage, "films/a b.mp4").await;
        assert_eq!((meta.length, meta.etag.as_deref()), (40_000, Some(A)));
        assert!(
            whole(&storage, 0..40_000, Some(&meta))
                .await
                .expect("in two parts")
                == bytes
        );
    });
    let asked = server.asked();
    assert!(
        asked
            .iter()
            .all(|asked| asked.path == "/films/2026/films/a%20b.mp4"),
        "{asked:?}"
    );
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[1].headers["if-match"], A);
    assert_eq!(asked[2].headers["range"], "bytes=10000-39999");
}

#[test]
fn each_wrong_answer_of_a_bucket_is_an_error_of_its_kind() {
    let other_range: Behave = |asked| dated(another_range(asked));
    let table: [(&str, Behave, &str, usize); 8] = [
        ("another range", other_range, "storage_wrong_answer", 1),
        ("not found", |_| status(404), "storage_not_found", 1),
        ("forbidden", |_| status(403), "storage_forbidden", 1),
        ("changed", |_| status(412), "storage_changed", 1),
        ("bad request", |_| status(400), "storage_wrong_answer", 1),
        ("busy", |_| status(503), "storage_unavailable", 3),
        ("reset", |_| vec![Act::Reset], "storage_broke_off", 3),
        ("silent", |_| vec![Act::Hang], "storage_timed_out", 3),
    ];
    for (what, behave, cause, requests) in table {
        let server = Misbehaving::start(behave);
        let storage = bucket(&server, patience());
        let error = run(whole(&storage, 0..10, None)).expect_err(what);
        assert_eq!(error.cause(), cause, "{what}: {error}");
        assert_eq!(server.count(), requests, "{what}");
    }
}

#[test]
fn indexes_and_manifests_come_from_their_own_storage() {
    let folders = ["media", "index"].map(|content| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), content).expect("a file");
        folder
    });
    let [media, index] = [&folders[0], &folders[1]].map(|folder| {
        let place = folder.path().to_str().expect("a path");
        storage(&[place], true, patient()).0
    });
    let both = media.with_indexes(index);
    run(async {
        for (kind, expected) in [
            (Kind::Media, "media"),
            (Kind::Init, "media"),
            (Kind::Index, "index"),
            (Kind::Manifest, "index"),
        ] {
            let (_, bytes) = both
                .read_whole(kind, &path("a"), 0..5, None)
                .await
                .expect("a read");
            assert_eq!(bytes, expected);
        }
        assert_eq!(both.health().len(), 2);
    });
}
