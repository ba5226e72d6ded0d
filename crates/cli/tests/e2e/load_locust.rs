//! `weir load` as workers of a stock Locust master: what Locust counts is what the workers have counted, a worker that
//! is killed is noticed, and a master that comes back is joined again.

use std::path::Path;
use std::time::Duration;
use weir_rig::locust::{
    database, locust, master, page, post, statistics, stub, swarm, users_of_workers, worker,
};

use serde_json::Value;

use weir_rig::{Database, LIMIT, Running, isolated, run, wait_until, weir};

const WORKERS: usize = 3;
const USERS: u64 = 30;
/// A title of four segments of sound and pictures, of which one is not there.
fn make_title(root: &str) {
    let film = format!("{root}/film");
    std::fs::create_dir_all(&film).expect("a folder");
    let sets: String = ["audio", "video"]
        .map(|kind| {
            for number in 0..4 {
                if (kind, number) != ("video", 2) {
                    std::fs::write(format!("{film}/{kind}{number}.m4s"), vec![b'x'; 3_000]).expect("a segment");
                }
            }
            format!(
                "<AdaptationSet mimeType=\"{kind}/mp4\"><SegmentTemplate duration=\"2\" startNumber=\"0\" \
                 media=\"{kind}$Number$.m4s\"/><Representation id=\"{kind}\" bandwidth=\"12000\"/></AdaptationSet>"
            )
        })
        .concat();
    let manifest = format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT8S\"><Period>{sets}</Period></MPD>"
    );
    std::fs::write(format!("{film}/list.mpd"), manifest).expect("a manifest");
}

/// Rows of a table in CSV that has no commas within its fields: the values of some columns.
fn csv(text: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let places: Vec<usize> = columns
        .iter()
        .map(|column| head.iter().position(|name| name == column).expect(column))
        .collect();
    let rows = lines.filter(|line| !line.is_empty()).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        places
            .iter()
            .map(|place| fields[*place].trim_matches('"').to_owned())
            .collect()
    });
    rows.collect()
}

/// Requests and failures of each kind, as the workers have kept them.
fn kept() -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut all = (0, 0);
    for kind in ["audio", "manifest", "video"] {
        let sum = |column: &str| -> i64 {
            let sql = format!("SELECT coalesce(sum({column}), 0) FROM load_seconds WHERE kind = '{kind}'");
            (0..WORKERS)
                .map(|number| Database::open(&database(number)).one::<i64>(&sql))
                .sum()
        };
        let (requests, failed) = (sum("requests"), sum("failed"));
        all = (all.0 + requests, all.1 + failed);
        rows.push(vec![kind.to_owned(), requests.to_string(), failed.to_string()]);
    }
    rows.push(vec![
        "Aggregated".to_owned(),
        all.0.to_string(),
        all.1.to_string(),
    ]);
    rows
}

#[test]
fn locust_counts_what_its_workers_have_counted() {
    isolated!(heavy);
    // A master looks itself up in /proc.
    weir_rig::see_own_processes();
    let root = weir_rig::path("media");
    make_title(&root);
    let mut origin = Running::start(weir(&["origin", &root, "--files", "--listen", "127.0.0.1:0"]));
    let title = format!("{}film/list.mpd", origin.first_line(LIMIT));
    let locustfile = stub();

    let orders = ["--weir-dash", &title, "WeirDash"];
    let first = master(&locustfile, &orders);
    let mut workers: Vec<Running> = (0..WORKERS).map(worker).collect();
    users_of_workers("three workers", WORKERS, 0);
    swarm(USERS);
    let counts = users_of_workers("all users", WORKERS, USERS);
    assert_eq!(counts, [USERS / 3; 3]);
    std::thread::sleep(Duration::from_secs(3));
    // Another number is spread anew.
    swarm(USERS / 2);
    assert_eq!(
        users_of_workers("half of them", WORKERS, USERS / 2),
        [USERS / 6; 3]
    );
    std::thread::sleep(Duration::from_secs(1));
    post("stop", "");
    wait_until("the end", LIMIT, || {
        (statistics()["state"] == "stopped").then_some(())
    });
    // Workers report once more when they have stopped; the store follows within a second.
    let statistics = || {
        csv(
            &page("stats/requests/csv"),
            &["Name", "Request Count", "Failure Count"],
        )
    };
    wait_until("the same account", LIMIT, || {
        (statistics() == kept()).then_some(())
    });
    let rows = statistics();
    let number = |row: &[String], at: usize| -> u64 { row[at].parse().expect("a number") };
    let video = rows.iter().find(|row| row[0] == "video").expect("pictures");
    assert!(number(video, 1) > 100, "{rows:?}");
    // One in four, but for rounds that the end cut off.
    assert!(
        (4 * number(video, 2)).abs_diff(number(video, 1)) <= 4 * 2 * USERS,
        "{rows:?}"
    );
    let failures = csv(&page("stats/failures/csv"), &["Name", "Error", "Occurrences"]);
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(
        (
            failures[0][0].as_str(),
            &failures[0][2],
            failures[0][1].starts_with("http_4xx")
        ),
        ("video", &video[2], true)
    );

    // One that is killed has its users taken over by the others.
    swarm(USERS);
    users_of_workers("all users again", WORKERS, USERS);
    drop(workers.pop());
    let counts = users_of_workers("the others to take over", WORKERS - 1, USERS);
    assert_eq!(counts, [USERS / 2; 2]);

    // A master that is killed and started again is joined again, and they do as it says.
    drop(first);
    let second = master(&locustfile, &orders);
    users_of_workers("two workers", WORKERS - 1, 0);
    swarm(10);
    assert_eq!(users_of_workers("ten users", WORKERS - 1, 10), [5; 2]);
    second.signal("TERM");
    second.wait(LIMIT);
    for worker in workers {
        let summary = worker.wait(LIMIT).expect_code(0).json();
        assert_eq!(summary["run"]["outcome"], "finished", "{summary}");
        assert!(
            summary["all"]["failures"]["http_4xx"].as_u64() > Some(0),
            "{summary}"
        );
    }
}

/// A playlist of four segments without sound.
fn make_playlist(root: &str) {
    let film = format!("{root}/film");
    std::fs::create_dir_all(&film).expect("a folder");
    let segments: String = (0..4)
        .map(|number| {
            std::fs::write(format!("{film}/{number}.ts"), vec![b'x'; 3_000]).expect("a segment");
            format!("#EXTINF:2,\n{number}.ts\n")
        })
        .collect();
    let text = format!("#EXTM3U\n#EXT-X-TARGETDURATION:2\n{segments}#EXT-X-ENDLIST\n");
    std::fs::write(format!("{film}/list.m3u8"), text).expect("a playlist");
}

#[test]
fn a_class_without_an_address_does_not_keep_the_other_from_its_work() {
    isolated!(heavy);
    weir_rig::see_own_processes();
    let root = weir_rig::path("media");
    make_playlist(&root);
    let mut origin = Running::start(weir(&["origin", &root, "--files", "--listen", "127.0.0.1:0"]));
    let title = format!("{}film/list.m3u8", origin.first_line(LIMIT));
    let locustfile = stub();
    // No class: Locust takes both, and orders users of each.
    let master = master(&locustfile, &["--weir-hls", &title]);
    let worker = worker(0);
    users_of_workers("a worker", 1, 0);
    swarm(10);
    // Half of them have an address; the others are not there, and the page says why.
    assert_eq!(users_of_workers("those with an address", 1, 5), [5]);
    let why = wait_until("the reason", LIMIT, || {
        let told: Value = serde_json::from_str(&page("exceptions")).ok()?;
        let first = told["exceptions"].as_array()?.first()?.clone();
        Some(first["msg"].as_str()?.to_owned())
    });
    assert!(
        why.contains("cannot run ")
            && why.contains(" users of WeirDash: ")
            && why.contains("--weir-dash URL"),
        "{why}"
    );
    wait_until("requests", LIMIT, || {
        (statistics()["stats"].as_array()?.len() > 1).then_some(())
    });
    master.signal("TERM");
    master.wait(LIMIT);
    let done = worker.wait(LIMIT).expect_code(0);
    let summary = done.json();
    assert!(summary["all"]["requests"].as_u64() > Some(20), "{summary}");
    assert_eq!(summary["all"]["failed"], 0, "{summary}");
    assert!(
        done.stderr.contains("cannot run ") && done.stderr.contains(" users of WeirDash: "),
        "{}",
        done.stderr
    );
}

#[test]
fn kubernetes_is_told_what_workers_understand() {
    isolated!();
    let folder = env!("CARGO_MANIFEST_DIR");
    let deploy = |name: &str| format!("{folder}/../../deploy/{name}");
    let check = format!("{folder}/tests/data/check_locust.py");
    let told = run(
        "python3",
        &[
            &check,
            &deploy("locust-values.yaml"),
            &deploy("locust-weir-workers.yaml"),
        ],
    );
    let mut words: Vec<&str> = told.lines().collect();
    let version = words.pop().expect("a version");
    assert!(run(&locust(), &["--version"]).contains(version), "{version}");
    let database = format!("--db={}", weir_rig::path("weir.db"));
    let arguments: Vec<&str> = words
        .iter()
        .map(|word| match *word {
            "--locust-master=locust:5557" => "--locust-master=127.0.0.1:5557",
            "--db=/results/weir.db" => database.as_str(),
            word => word,
        })
        .collect();
    // It tries to reach its master, which does not run, until a signal ends it.
    let worker = Running::start(weir(&arguments));
    wait_until("its database", LIMIT, || {
        Path::new(&weir_rig::path("weir.db")).exists().then_some(())
    });
    worker.signal("TERM");
    let summary = worker.wait(LIMIT).expect_code(0).json();
    assert_eq!(summary["run"]["outcome"], "interrupted", "{summary}");
    assert_eq!(summary["all"]["requests"], 0);
}
