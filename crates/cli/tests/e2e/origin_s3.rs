//! `weir origin` on a bucket whose server checks each signature by a computation of its own (`tests/data/s3_server.py`).

use std::process::Command;

use weir_rig::film::ffmpeg;
use weir_rig::origin::{get, metrics, value};
use weir_rig::{LIMIT, Running, isolated, run_within, weir};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/s3_server.py");
const ACCESS: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const TOKEN: &str = "a/session+token==";

/// A bucket with a title in a folder whose name wants encoding.
#[track_caller]
fn bucket(more: &[&str]) -> (Running, String) {
    let folder = weir_rig::path("bucket");
    let title = format!("{folder}/2026/a film (1)");
    std::fs::create_dir_all(&title).expect("a folder");
    ffmpeg(&format!(
        "-f lavfi -i testsrc2=size=160x90:rate=25:duration=4 -c:v libx264 -g 25 -pix_fmt yuv420p {folder}/video.mp4"
    ));
    std::fs::rename(format!("{folder}/video.mp4"), format!("{title}/ä+video.mp4")).expect("a name");
    let mut python = Command::new("python3");
    python.args([SERVER, "films", &folder, ACCESS, SECRET]).args(more);
    let mut server = Running::start(python);
    let port = server.first_line(LIMIT);
    (server, port)
}

#[track_caller]
fn origin(endpoint: &str, style: &str, secret: &str, token: Option<&str>) -> (Running, String) {
    let mut command = weir(&[
        "origin",
        "s3://films/2026",
        "--listen",
        "127.0.0.1:0",
        "--segment",
        "2s",
    ]);
    command.args([
        "--s3-endpoint",
        endpoint,
        "--s3-style",
        style,
        "--storage-tries",
        "2",
    ]);
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("AWS_")) {
        command.env_remove(variable);
    }
    command
        .env("AWS_ACCESS_KEY_ID", ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", secret)
        .env("AWS_REGION", "eu-central-1");
    if let Some(token) = token {
        command.env("AWS_SESSION_TOKEN", token);
    }
    let mut process = Running::start(command);
    let url = process.first_line(LIMIT);
    (process, url)
}

/// Names in a zone of our own, in this test's mount namespace alone.
fn name_the_endpoint() {
    let hosts = weir_rig::path("hosts");
    std::fs::write(&hosts, "127.0.0.1 localhost s3.test films.s3.test\n").expect("a file");
    weir_rig::run("mount", &["--bind", &hosts, "/etc/hosts"]);
}

#[test]
fn requests_are_signed_in_both_styles_and_with_a_session_token() {
    isolated!();
    name_the_endpoint();
    for (style, token) in [("path", None), ("virtual", None), ("path", Some(TOKEN))] {
        let (server, port) = bucket(token.as_slice());
        let (process, url) = origin(&format!("http://s3.test:{port}"), style, SECRET, token);
        let title = format!("{url}a%20film%20%281%29");
        let answers = get(&[
            format!("{title}/manifest.mpd"),
            format!("{title}/video/v1/init.mp4"),
            format!("{title}/video/v1/0.m4s"),
            format!("{title}/none.mp4/manifest.mpd"),
        ]);
        let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [200, 200, 200, 404], "{style}: {answers:?}");
        drop(process);
        let told = server.stdout();
        let asked: Vec<&str> = told.lines().skip(1).collect();
        // A list, reads of the index and of the segment.
        assert!(asked.len() >= 3, "{told}");
        assert!(asked.iter().all(|line| line.starts_with(style)), "{told}");
        assert!(asked.iter().all(|line| !line.contains(" 403 ")), "{told}");
        assert!(told.contains("list-type=2") && told.contains("bytes="), "{told}");
    }
}

#[test]
fn a_signature_that_the_storage_refuses_is_said() {
    isolated!();
    let (server, port) = bucket(&[]);
    let endpoint = format!("http://127.0.0.1:{port}");
    for (secret, token) in [("another secret", None), (SECRET, Some(TOKEN))] {
        let (_process, url) = origin(&endpoint, "path", secret, token);
        let answers = get(&[format!("{url}a%20film%20%281%29/manifest.mpd")]);
        let (status, body) = &answers[0];
        assert_eq!(*status, 502, "{body}");
        assert!(
            body.contains("storage_forbidden") && body.contains("check the origin's credentials"),
            "{body}"
        );
        let counted = metrics(&url);
        assert_eq!(
            value(&counted, "weir_origin_errors_total{cause=\"storage_forbidden\"}"),
            1
        );
    }
    assert!(
        server.stdout().lines().skip(1).all(|line| line.contains(" 403 ")),
        "{}",
        server.stdout()
    );
}

#[test]
fn a_file_that_is_replaced_in_the_bucket_gives_no_bytes_of_both() {
    isolated!();
    let (_server, port) = bucket(&[]);
    let endpoint = format!("http://127.0.0.1:{port}");
    let stored = format!("{}/2026/a film (1)/ä+video.mp4", weir_rig::path("bucket"));
    let (first, second) = (weir_rig::path("first.mp4"), weir_rig::path("second.mp4"));
    std::fs::copy(&stored, &first).expect("a copy");
    ffmpeg(&format!(
        "-f lavfi -i testsrc=size=160x90:rate=25:duration=4 -c:v libx264 -g 25 -pix_fmt yuv420p {second}"
    ));
    let (_process, url) = origin(&endpoint, "path", SECRET, None);
    let segment = |origin: &str| format!("{origin}a%20film%20%281%29/video/v1/0.m4s");
    let served = |origin: &str| {
        let (status, body) = get(&[segment(origin)]).remove(0);
        assert_eq!(status, 200, "{body}");
        // Each byte is a character in Latin-1.
        body.chars()
            .map(|c| u8::try_from(c).expect("a byte"))
            .collect::<Vec<u8>>()
    };
    let of_first = served(&url);

    // Under a title that is known: its next read is refused (If-Match), and it is looked at anew.
    std::fs::rename(&second, &stored).expect("a file");
    let (_other, fresh) = origin(&endpoint, "path", SECRET, None);
    let of_second = served(&fresh);
    assert!(of_second != of_first);
    assert!(served(&url) == of_second);

    // In the middle of a segment: the client's connection breaks off, with bytes of one version.
    std::fs::rename(&first, format!("{stored}.next")).expect("a file");
    let part = weir_rig::path("part");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--output", &part, &segment(&url)]);
    // 18: less came than was announced.
    run_within(LIMIT, curl).expect_code(18);
    let part = std::fs::read(&part).expect("a part");
    assert!(part.len() < of_second.len() && of_second.starts_with(&part));
    assert!(!part.is_empty());
    let counted = metrics(&url);
    assert_eq!(
        value(&counted, "weir_origin_errors_total{cause=\"storage_changed\"}"),
        1
    );
    assert!(served(&url) == of_first);
}
