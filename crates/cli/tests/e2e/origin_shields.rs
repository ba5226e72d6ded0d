//! The configurations in `deploy/` run as they are, but for ports and folders: nginx, Apache and Varnish of Debian in front of
//! `weir origin`. How often it is asked, it says itself.

use std::process::Command;

use weir_rig::film::ffmpeg;
use weir_rig::origin::{get, metrics, start, stop};
use weir_rig::{LIMIT, Running, isolated, run, run_within, wait_until};

/// In a network namespace of the test's own, every port is free.
const SHIELD: &str = "http://127.0.0.1:8090/";

/// A title of one file with three segments of 2 s.
fn make_title() -> String {
    let root = weir_rig::path("media");
    std::fs::create_dir_all(&root).expect("a folder");
    ffmpeg(&format!(
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=6 -c:v libx264 -b:v 1M -g 25 -keyint_min 25 \
         -sc_threshold 0 -pix_fmt yuv420p {root}/film.mp4"
    ));
    root
}

/// A file of `deploy/` with each of `changes` made, which has to be possible.
#[track_caller]
fn configuration(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = std::fs::read_to_string(format!("{}/../../deploy/{name}", env!("CARGO_MANIFEST_DIR")))
        .expect("a configuration");
    for (from, to) in changes {
        assert!(text.contains(from), "no {from} in {name}");
        text = text.replace(from, to);
    }
    let file = weir_rig::path(name);
    std::fs::write(&file, text).expect("a file");
    file
}

/// Starts a server as an ordinary user, as which all of them leave users and groups alone.
#[track_caller]
fn start_shield(arguments: &[&str]) -> Running {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-user=1000", "--map-group=1000", "--"])
        .args(arguments);
    let mut process = Running::start(command);
    wait_until("the shield", LIMIT, || {
        assert!(
            process.is_running(),
            "{arguments:?}: {}{}",
            process.stdout(),
            process.stderr()
        );
        let asked = [
            "--silent",
            "--fail",
            "--output",
            "/dev/null",
            &format!("{SHIELD}healthz"),
        ];
        let status = Command::new("curl").args(asked).status().expect("curl");
        status.success().then_some(())
    });
    process
}

/// Requests for that kind which the origin has answered with 200 or 206.
#[track_caller]
fn asked(origin: &str, kind: &str) -> u64 {
    let text = metrics(origin);
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("weir_origin_requests_total")?;
        let (labels, count) = rest.split_once(' ')?;
        let is_it = labels.contains(&format!("kind=\"{kind}\"")) && labels.contains("status=\"20");
        is_it.then(|| count.parse::<u64>().expect("a count"))
    });
    lines.sum()
}

/// Status and body of a request for a range.
#[track_caller]
fn range(url: &str, range: &str) -> (String, Vec<u8>) {
    let body = weir_rig::path("body");
    let said = run(
        "curl",
        &[
            "--silent",
            "--range",
            range,
            "--output",
            &body,
            "--write-out",
            "%{http_code}",
            url,
        ],
    );
    (said, std::fs::read(&body).expect("a body"))
}

/// What holds for each of them.
#[track_caller]
fn check(origin: &str) {
    let [manifest, segment] =
        ["film.mp4/manifest.mpd", "film.mp4/video/v1/0.m4s"].map(|path| format!("{SHIELD}{path}"));
    let first = get(&[manifest.clone(), segment.clone()]);
    assert!(first.iter().all(|(status, _)| *status == 200), "{first:?}");
    let direct = get(&[
        format!("{origin}film.mp4/manifest.mpd"),
        format!("{origin}film.mp4/video/v1/0.m4s"),
    ]);
    assert!(first == direct, "the same bytes");
    let counts = || (asked(origin, "manifest"), asked(origin, "media"));
    let before = counts();
    for _ in 0..3 {
        assert!(get(&[manifest.clone(), segment.clone()]) == first);
    }
    let (status, part) = range(&segment, "100-199");
    assert_eq!((status.as_str(), part.len()), ("206", 100));
    // A byte of the segment is a character in Latin-1.
    let whole: Vec<u8> = first[1]
        .1
        .chars()
        .map(|byte| u8::try_from(u32::from(byte)).expect("a byte"))
        .collect();
    assert_eq!(part, whole[100..200]);
    assert_eq!(counts(), before, "what is kept does not reach the origin");
    // Another query is another manifest.
    let clipped = get(&[format!("{manifest}?start=2")]);
    assert!(clipped[0].0 == 200 && clipped[0].1 != first[0].1);
    assert_eq!(counts(), (before.0 + 1, before.1));
    let wrong = get(&[
        format!("{SHIELD}film.mp4/video/v9/0.m4s"),
        format!("{SHIELD}metrics"),
    ]);
    assert_eq!(wrong[0].0, 404);
    assert!(wrong[1].0 >= 403, "{:?}", wrong[1]);
}

/// Twenty clients that want the same at once make one request.
#[track_caller]
fn check_herd(origin: &str) {
    let before = asked(origin, "media");
    let path = "film.mp4/video/v1/25600.m4s";
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--fail",
        "--parallel",
        "--parallel-immediate",
        "--parallel-max",
        "20",
    ]);
    for _ in 0..20 {
        curl.args(["--output", "/dev/null", &format!("{SHIELD}{path}")]);
    }
    run_within(LIMIT, curl).expect_code(0);
    assert_eq!(asked(origin, "media"), before + 1);
}

/// What is kept is served without the origin.
#[track_caller]
fn check_without(origin: Running) {
    stop(origin);
    let kept = get(&[format!("{SHIELD}film.mp4/video/v1/0.m4s")]);
    assert_eq!(kept[0].0, 200);
}

/// The origin, and `HOST:PORT` where it listens.
#[track_caller]
fn start_origin() -> (Running, String, String) {
    let root = make_title();
    let (process, url) = start(&[&root, "--segment", "2s", "--configuration", "E"]);
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    (process, url, address)
}

#[test]
fn nginx_keeps_what_the_origin_has_answered() {
    isolated!();
    let (origin, url, address) = start_origin();
    let (cache, pid) = (weir_rig::path("cache"), weir_rig::path("pid"));
    for folder in ["/var/lib/nginx", "/var/log/nginx"] {
        run("mount", &["-t", "tmpfs", "tmpfs", folder]);
    }
    let file = configuration(
        "nginx.conf",
        &[
            ("127.0.0.1:8080", &address),
            ("listen 80;", "listen 127.0.0.1:8090;"),
            ("/var/cache/nginx", &cache),
            ("/run/nginx.pid", &pid),
        ],
    );
    let _nginx = start_shield(&["nginx", "-e", "stderr", "-c", &file, "-g", "daemon off;"]);
    check(&url);
    check_herd(&url);
    check_without(origin);
}

#[test]
fn apache_keeps_what_the_origin_has_answered() {
    isolated!();
    let (origin, url, address) = start_origin();
    let (cache, scratch) = (weir_rig::path("cache"), weir_rig::path("apache"));
    std::fs::create_dir_all(&cache).expect("a folder");
    let file = configuration(
        "apache.conf",
        &[
            ("127.0.0.1:8080", &address),
            ("Listen 80\n", "Listen 127.0.0.1:8090\n"),
            ("/var/cache/apache2", &cache),
            ("/var/log/apache2/error.log", "/dev/stderr"),
            (
                "DefaultRuntimeDir /run\n",
                &format!("DefaultRuntimeDir {scratch}\n"),
            ),
            ("/run/apache2.pid", &format!("{scratch}.pid")),
        ],
    );
    std::fs::create_dir_all(&scratch).expect("a folder");
    let _apache = start_shield(&["apache2", "-f", &file, "-DFOREGROUND"]);
    check(&url);
    check_without(origin);
}

#[test]
fn varnish_keeps_what_the_origin_has_answered() {
    isolated!();
    let (origin, url, address) = start_origin();
    let port = address.rsplit_once(':').expect("a port").1;
    let file = configuration(
        "varnish.vcl",
        &[(".port = \"8080\"", &format!(".port = \"{port}\""))],
    );
    let work = weir_rig::path("varnish");
    let _varnish = start_shield(&[
        "varnishd",
        "-F",
        "-n",
        &work,
        "-a",
        "127.0.0.1:8090",
        "-f",
        &file,
        "-s",
        "malloc,64m",
    ]);
    check(&url);
    check_herd(&url);
    check_without(origin);
}

/// Nothing builds the image here; what can be known without that is checked.
#[test]
fn the_container_has_all_that_is_built_from_and_starts_what_there_is() {
    isolated!();
    let folder = env!("CARGO_MANIFEST_DIR");
    let check = format!("{folder}/tests/data/check_containerfile.py");
    let told = run("python3", &[&check, &format!("{folder}/../..")]);
    let place = weir_rig::path("media");
    std::fs::create_dir_all(&place).expect("a folder");
    let arguments: Vec<&str> = told.lines().chain([place.as_str()]).collect();
    assert_eq!(arguments[0], "origin");
    let mut process = Running::start(weir_rig::weir(&arguments));
    assert!(process.first_line(LIMIT).starts_with("http://"), "{told}");
    stop(process);
}

#[test]
fn kubernetes_is_told_what_the_origin_understands() {
    isolated!();
    let folder = env!("CARGO_MANIFEST_DIR");
    let check = format!("{folder}/tests/data/check_kubernetes.py");
    let told = run(
        "python3",
        &[&check, &format!("{folder}/../../deploy/kubernetes.yaml")],
    );
    let cache = format!("--disk-cache={}", weir_rig::path("cache"));
    let arguments: Vec<&str> = told
        .lines()
        .map(|word| {
            if word == "--disk-cache=/cache" {
                &cache
            } else {
                word
            }
        })
        .collect();
    assert!(
        arguments.contains(&cache.as_str()) && arguments.contains(&"s3://films/2026"),
        "{told}"
    );
    let mut command =
        weir_rig::weir(&[&["origin", "--listen", "127.0.0.1:0"], arguments.as_slice()].concat());
    command
        .env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "secret");
    let mut process = Running::start(command);
    assert!(process.first_line(LIMIT).starts_with("http://127.0.0.1:"));
    stop(process);
}
