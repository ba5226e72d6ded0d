//! `weir load` as workers of a stock Locust master: what Locust counts is what the workers have counted, a worker that
//! is killed is noticed, and a master that comes back is joined again.

use std::time::Duration;

use weir_rig::locust::{database, master, page, post, statistics, stub, swarm, users_of_workers, worker};
use weir_rig::{Database, LIMIT, Running, isolated, origin, wait_until};

const WORKERS: usize = 3;
const USERS: u64 = 30;

/// A title of four segments of sound and pictures, of which one is not there.
fn make_title() {
    std::fs::create_dir_all("media/film").expect("a folder");
    let set = |kind: &str| {
        for number in (0..4).filter(|number| (kind, *number) != ("video", 2)) {
            let name = format!("media/film/{kind}{number}.m4s");
            std::fs::write(name, vec![b'x'; 3_000]).expect("a segment");
        }
        format!(
            "<AdaptationSet mimeType=\"{kind}/mp4\"><SegmentTemplate duration=\"2\" startNumber=\"0\" \
             media=\"{kind}$Number$.m4s\"/><Representation id=\"{kind}\" bandwidth=\"12000\"/></AdaptationSet>"
        )
    };
    let sets = ["audio", "video"].map(set).concat();
    let manifest = format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT8S\"><Period>{sets}</Period></MPD>"
    );
    std::fs::write("media/film/list.mpd", manifest).expect("a manifest");
}

/// Rows of a table in CSV that has no commas within its fields: the values of some columns.
fn csv(text: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let place = |column: &&str| head.iter().position(|name| name == column).expect(column);
    let places: Vec<usize> = columns.iter().map(place).collect();
    let row = |line: &str| -> Vec<String> {
        let fields: Vec<&str> = line.split(',').collect();
        places
            .iter()
            .map(|place| fields[*place].trim_matches('"').to_owned())
            .collect()
    };
    lines.map(row).collect()
}

/// Requests and failures of each kind, as the workers have kept them.
fn kept() -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut all = [0, 0];
    for kind in ["audio", "manifest", "video"] {
        let sum = |column: &str| -> i64 {
            let sql = format!("SELECT coalesce(sum({column}), 0) FROM load_seconds WHERE kind = '{kind}'");
            (0..WORKERS)
                .map(|number| Database::open(&database(number)).one::<i64>(&sql))
                .sum()
        };
        let counts = ["requests", "failed"].map(sum);
        all = [all[0] + counts[0], all[1] + counts[1]];
        rows.push(vec![
            kind.to_owned(),
            counts[0].to_string(),
            counts[1].to_string(),
        ]);
    }
    rows.push(vec![
        "Aggregated".to_owned(),
        all[0].to_string(),
        all[1].to_string(),
    ]);
    rows
}

#[test]
fn locust_counts_what_its_workers_have_counted() {
    isolated!();
    // A master looks itself up in /proc.
    weir_rig::see_own_processes();
    make_title();
    let (_origin, url) = origin::start("media --files");
    let title = format!("{url}film/list.mpd");
    let locustfile = stub();
    let orders = ["--weir-dash", &title, "WeirDash"];
    let first = master(&locustfile, &orders);
    let workers: Vec<Running> = (0..WORKERS).map(worker).collect();
    users_of_workers("three workers", WORKERS, 0);
    swarm(USERS);
    assert_eq!(users_of_workers("all users", WORKERS, USERS), [USERS / 3; 3]);
    std::thread::sleep(Duration::from_secs(2));
    // Another number is spread anew.
    swarm(USERS / 2);
    assert_eq!(
        users_of_workers("half of them", WORKERS, USERS / 2),
        [USERS / 6; 3]
    );
    post("stop", "");
    wait_until("the end", LIMIT, || {
        (statistics()["state"] == "stopped").then_some(())
    });
    // Workers report once more when they have stopped; the store follows within a second.
    let counted = || {
        csv(
            &page("stats/requests/csv"),
            &["Name", "Request Count", "Failure Count"],
        )
    };
    wait_until("the same account", LIMIT, || (counted() == kept()).then_some(()));
    let rows = counted();
    let video = rows.iter().find(|row| row[0] == "video").expect("pictures");
    let [requests, failed] = [1, 2].map(|at| video[at].parse::<u64>().expect("a number"));
    // One in four, but for rounds that the end cut off.
    assert!(requests > 100, "{rows:?}");
    assert!((4 * failed).abs_diff(requests) <= 4 * 2 * USERS, "{rows:?}");
    let failures = csv(&page("stats/failures/csv"), &["Name", "Occurrences", "Error"]);
    assert_eq!(failures.len(), 1);
    assert_eq!(&failures[0][..2], &["video".to_owned(), video[2].clone()][..]);
    assert!(failures[0][2].starts_with("http_4xx"), "{failures:?}");

    options_are_those_of_the_page(&url);
    the_killed_are_replaced(first, workers, &title);
}

/// Requests of this kind, as Locust has them by now.
fn asked(kind: &str) -> u64 {
    let rows = csv(&page("stats/requests/csv"), &["Name", "Request Count"]);
    let row = rows.iter().find(|row| row[0] == kind);
    row.map_or(0, |row| row[1].parse().expect("a number"))
}

/// The same workers, told by the page to play manifests only.
#[track_caller]
fn options_are_those_of_the_page(url: &str) {
    let options = format!("weir_dash={url}film/list.mpd&weir_play=manifest");
    post(
        "swarm",
        &format!("user_count={USERS}&spawn_rate={USERS}&{options}"),
    );
    wait_until("manifests alone", LIMIT, || {
        (asked("manifest") > 100).then_some(())
    });
    assert_eq!((asked("video"), asked("audio")), (0, 0));
    post("stop", "");
    wait_until("the end", LIMIT, || {
        (statistics()["state"] == "stopped").then_some(())
    });
}

/// A worker is killed, and then the master.
#[track_caller]
fn the_killed_are_replaced(first: Running, mut workers: Vec<Running>, title: &str) {
    // One that is killed has its users taken over by the others.
    swarm(USERS);
    users_of_workers("all users again", WORKERS, USERS);
    drop(workers.pop());
    let counts = users_of_workers("the others to take over", WORKERS - 1, USERS);
    assert_eq!(counts, [USERS / 2; 2]);
    // A master that is killed and started again is joined again. Of its two classes, HLS has no address here, and the
    // page says why its users do not run.
    drop(first);
    let second = master(&stub(), &["--weir-dash", title]);
    users_of_workers("two workers", WORKERS - 1, 0);
    swarm(12);
    users_of_workers("those with an address", WORKERS - 1, 6);
    let why = wait_until("the reason", LIMIT, || {
        let told: serde_json::Value = serde_json::from_str(&page("exceptions")).ok()?;
        Some(
            told["exceptions"].as_array()?.first()?["msg"]
                .as_str()?
                .to_owned(),
        )
    });
    assert!(why.contains(" users of WeirHls: "), "{why}");
    assert!(why.contains("--weir-hls URL"), "{why}");
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
