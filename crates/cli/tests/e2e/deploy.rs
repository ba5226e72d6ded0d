//! The files in `deploy/`: those for containers and clusters name commands that the built binary understands (nothing builds
//! images or starts clusters here), and the configurations of nginx, Apache and Varnish run as they are, but for ports and
//! folders, in front of `weir origin`. How often it is asked, it says itself.

use std::process::Command;

use weir_rig::film::ffmpeg;
use weir_rig::origin::{get, metrics, start, stop};
use weir_rig::{LIMIT, Running, isolated, path, ran, run, run_within, wait_until, weir};

/// In a network namespace of the test's own, every port is free.
const SHIELD: &str = "http://127.0.0.1:8090/";

/// A file of `deploy/` with each of `changes` made, which has to be possible.
#[track_caller]
fn configuration(name: &str, changes: &[(&str, &str)]) -> String {
    let file = format!("{}/../../deploy/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(file).expect("a configuration");
    for (from, to) in changes {
        assert!(text.contains(from), "no {from} in {name}");
        text = text.replace(from, to);
    }
    std::fs::write(name, text).expect("a file");
    path(name)
}

/// Starts a server as an ordinary user, as which all of them leave users and groups alone.
#[track_caller]
fn start_shield(line: &str) -> Running {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-user=1000", "--map-group=1000", "--"]);
    // Words in quotes may have a space.
    let quoted = line.split('\'').enumerate();
    for (number, part) in quoted {
        match number % 2 {
            0 => command.args(part.split_whitespace()),
            _ => command.arg(part),
        };
    }
    let mut process = Running::start(command);
    wait_until("the shield", LIMIT, || {
        assert!(
            process.is_running(),
            "{line}: {}{}",
            process.stdout(),
            process.stderr()
        );
        let healthy = format!("{SHIELD}healthz");
        let asked = ["--silent", "--fail", "--output", "/dev/null", &healthy];
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

/// What holds for each of them.
#[track_caller]
fn check(origin: &str) {
    let paths = ["film.mp4/manifest.mpd", "film.mp4/video/v1/0.m4s"];
    let urls = paths.map(|path| format!("{SHIELD}{path}"));
    let first = get(&urls);
    assert!(first.iter().all(|(status, _)| *status == 200), "{first:?}");
    assert!(
        first == get(&paths.map(|path| format!("{origin}{path}"))),
        "the same bytes"
    );
    let counts = || (asked(origin, "manifest"), asked(origin, "media"));
    let before = counts();
    for _ in 0..2 {
        assert!(get(&urls) == first);
    }
    let code = run(
        "curl",
        &[
            "-s",
            "-r",
            "100-199",
            "-o",
            "body",
            "-w",
            "%{http_code}",
            &urls[1],
        ],
    );
    let part = std::fs::read("body").expect("a body");
    // A byte of the segment is a character in Latin-1.
    let whole: Vec<u8> = first[1].1.chars().map(|byte| byte as u8).collect();
    assert_eq!((code.as_str(), &part[..]), ("206", &whole[100..200]));
    assert_eq!(counts(), before, "what is kept does not reach the origin");
    // Another query is another manifest.
    let clipped = get(&[format!("{}?start=2", urls[0])]);
    assert!(clipped[0].0 == 200 && clipped[0].1 != first[0].1);
    assert_eq!(counts(), (before.0 + 1, before.1));
    let wrong = get(&["film.mp4/video/v9/0.m4s", "metrics"].map(|path| format!("{SHIELD}{path}")));
    assert!(wrong[0].0 == 404 && wrong[1].0 >= 403, "{wrong:?}");
}

/// Twenty clients that want the same at once make one request.
#[track_caller]
fn check_herd(origin: &str) {
    let before = asked(origin, "media");
    let mut curl = Command::new("curl");
    curl.args("--silent --fail --parallel --parallel-immediate --parallel-max 20".split(' '));
    for _ in 0..20 {
        curl.args([
            "--output",
            "/dev/null",
            &format!("{SHIELD}film.mp4/video/v1/25600.m4s"),
        ]);
    }
    run_within(LIMIT, curl).expect_code(0);
    assert_eq!(asked(origin, "media"), before + 1);
}

#[test]
fn containers_start_what_there_is_and_shields_keep_what_the_origin_has_answered() {
    isolated!();
    containers_and_kubernetes_start_what_there_is();
    nginx_apache_and_varnish_keep_what_the_origin_has_answered();
}

#[track_caller]
fn nginx_apache_and_varnish_keep_what_the_origin_has_answered() {
    std::fs::create_dir_all("media").expect("a folder");
    ffmpeg(
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=6 -c:v libx264 -b:v 1M -g 25 -keyint_min 25 \
         -sc_threshold 0 -pix_fmt yuv420p media/film.mp4",
    );
    for folder in ["/var/lib/nginx", "/var/log/nginx"] {
        run("mount", &["-t", "tmpfs", "tmpfs", folder]);
    }
    for folder in ["apache", "apache-cache"] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    for name in ["nginx.conf", "apache.conf", "varnish.vcl"] {
        let (origin, url) = start("media --segment 2s --configuration E");
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let port = address.rsplit_once(':').expect("a port").1;
        let shield = match name {
            "nginx.conf" => {
                let changes = [
                    ("127.0.0.1:8080", address),
                    ("listen 80;", "listen 127.0.0.1:8090;"),
                    ("/var/cache/nginx", &path("cache")),
                    ("/run/nginx.pid", &path("pid")),
                ];
                format!(
                    "nginx -e stderr -c {} -g 'daemon off;'",
                    configuration(name, &changes)
                )
            }
            "apache.conf" => {
                let changes = [
                    ("127.0.0.1:8080", address),
                    ("Listen 80\n", "Listen 127.0.0.1:8090\n"),
                    ("/var/cache/apache2", &path("apache-cache")),
                    ("/var/log/apache2/error.log", "/dev/stderr"),
                    (
                        "DefaultRuntimeDir /run\n",
                        &format!("DefaultRuntimeDir {}\n", path("apache")),
                    ),
                    ("/run/apache2.pid", &path("apache.pid")),
                ];
                format!("apache2 -f {} -DFOREGROUND", configuration(name, &changes))
            }
            _ => {
                let file = configuration(name, &[(".port = \"8080\"", &format!(".port = \"{port}\""))]);
                let work = path("varnish");
                format!("varnishd -F -n {work} -a 127.0.0.1:8090 -f {file} -s malloc,64m")
            }
        };
        let shield = start_shield(&shield);
        check(&url);
        if name != "apache.conf" {
            check_herd(&url);
        }
        // What is kept is served without the origin.
        stop(origin);
        assert_eq!(
            get(&[format!("{SHIELD}film.mp4/video/v1/0.m4s")])[0].0,
            200,
            "{name}"
        );
        shield.signal("TERM");
        shield.wait(LIMIT);
        wait_until("the port", LIMIT, || {
            (!run("ss", &["-Hltn"]).contains(":8090")).then_some(())
        });
    }
}

/// What a script of `tests/data` finds in files of the repository, line by line.
#[track_caller]
fn found(script: &str, files: &[&str]) -> Vec<String> {
    let folder = env!("CARGO_MANIFEST_DIR");
    let files = files.iter().map(|file| format!("{folder}/../../{file}"));
    let arguments: Vec<String> = [format!("{folder}/tests/data/{script}")]
        .into_iter()
        .chain(files)
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run("python3", &arguments).lines().map(str::to_owned).collect()
}

#[track_caller]
fn starts(arguments: &[String], more: &[&str]) {
    let words: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    let mut command = weir(&words);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        command.env(name, "key");
    }
    let mut process = Running::start(command);
    assert!(process.first_line(LIMIT).starts_with("http://"), "{arguments:?}");
    stop(process);
}

#[track_caller]
fn containers_and_kubernetes_start_what_there_is() {
    let container = found("check_containerfile.py", &[""]);
    assert_eq!(container[0], "origin");
    starts(&container, &["."]);

    let mut cluster = found("check_kubernetes.py", &["deploy/kubernetes.yaml"]);
    let cache = cluster
        .iter_mut()
        .find(|word| *word == "--disk-cache=/cache")
        .expect("a cache");
    *cache = format!("--disk-cache={}", path("disk-cache"));
    assert!(cluster.contains(&"s3://films/2026".to_owned()), "{cluster:?}");
    cluster.insert(0, "origin".into());
    starts(&cluster, &["--listen", "127.0.0.1:0"]);
    // The watcher's file of the DaemonSet is one that it reads.
    let script = format!("{}/tests/data/check_daemonset.py", env!("CARGO_MANIFEST_DIR"));
    let daemons = format!("{}/../../deploy/watch/daemonset.yaml", env!("CARGO_MANIFEST_DIR"));
    run("python3", &[&script, &daemons, "nodes.toml"]);
    ran(0, "watch nodes.toml --as node-2 --plan");
    #[cfg(feature = "locust")]
    locust_starts_its_workers();
}

/// Workers for the Locust that is tested.
#[cfg(feature = "locust")]
#[track_caller]
fn locust_starts_its_workers() {
    let files = ["deploy/locust-values.yaml", "deploy/locust-weir-workers.yaml"];
    let mut words = found("check_locust.py", &files);
    let version = words.pop().expect("a version");
    assert!(
        run(&weir_rig::locust::locust(), &["--version"]).contains(&version),
        "{version}"
    );
    for (there, here) in [
        ("--locust-master=locust:5557", "--locust-master=127.0.0.1:5557"),
        ("--db=/results/weir.db", "--db=weir.db"),
    ] {
        *words.iter_mut().find(|word| *word == there).expect(there) = here.into();
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // It tries to reach its master, which does not run, until a signal ends it.
    let worker = Running::start(weir(&words));
    wait_until("its database", LIMIT, || {
        std::path::Path::new("weir.db").exists().then_some(())
    });
    worker.signal("TERM");
    let summary = worker.wait(LIMIT).expect_code(0).json();
    assert_eq!(summary["run"]["outcome"], "interrupted");
    assert_eq!(summary["all"]["requests"], 0);
}
