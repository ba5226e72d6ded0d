//! The testbed of an experiment: existing titles, storage elsewhere, cold and warm caches, repeats in random order. The log
//! of nginx, the storage, shows what origins read.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use weir_rig::film::ffmpeg;
use weir_rig::{Database, isolated, ran};

const STORAGE: &str = "127.0.0.1:8070";

/// Two titles of 8 s, each track in a file of its own, and an experiment that plays them, with these lines and this
/// part.
fn prepare(lines: &str, part: &str) -> String {
    for (name, rate) in [("low", "200k"), ("high", "600k")] {
        let folder = weir_rig::path(&format!("titles/{name}"));
        fs::create_dir_all(&folder).expect("a folder");
        ffmpeg(&format!(
            "-f lavfi -i testsrc2=size=320x180:rate=25:duration=8 -f lavfi -i sine=duration=8 -map 0 -c:v libx264 -preset \
             ultrafast -g 50 -keyint_min 50 -sc_threshold 0 -pix_fmt yuv420p -b:v {rate} {folder}/video.mp4 \
             -map 1 -c:a aac -b:a 64k {folder}/audio.mp4"
        ));
        let tracks = "[[track]]\nfile = \"video.mp4\"\n[[track]]\nfile = \"audio.mp4\"\n";
        fs::write(format!("{folder}/title.toml"), tracks).expect("a manifest");
    }
    let path = weir_rig::path("experiment.toml");
    let title = |name: &str, rate: u32| {
        format!(
            "[[title]]\nvideo = \"{rate}kbit/s\"\naudio = \"64kbit/s\"\npath = \"{name}/title.toml/manifest.mpd\"\n"
        )
    };
    let text = format!(
        "name = \"bench\"\n{lines}\n{}{}[[part]]\nname = \"p\"\nsegments = [\"2s\"]\nvideo = [\"200kbit/s\", \
         \"600kbit/s\"]\nviewers = [\"2\"]\nduration = \"2s\"\n{part}\n",
        title("low", 200),
        title("/high", 600)
    );
    fs::write(&path, text).expect("a file");
    path
}

/// Keys of runs, in their order.
fn keys(runs: &Value) -> Vec<&str> {
    let runs = runs.as_array().expect("runs");
    runs.iter()
        .map(|one| one["key"].as_str().expect("a key"))
        .collect()
}

/// When each answer of the storage ended, nanoseconds, and the bytes of its body. What is not there (an index beside
/// the media) has a body of nginx's, which nobody reads.
fn reads() -> Vec<(i64, u64)> {
    let log = fs::read_to_string(weir_rig::path("storage.log")).expect("the log");
    let found = log.lines().filter(|line| !line.ends_with(" 404"));
    let each = found.map(|line| {
        let [seconds, bytes, "200" | "206"] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let milliseconds: i64 = seconds.replace('.', "").parse().expect("a time");
        (milliseconds * 1_000_000, bytes.parse().expect("a length"))
    });
    each.collect()
}

#[test]
fn cold_origins_read_what_warm_ones_have_kept() {
    isolated!(heavy);
    let path = prepare(
        &format!("seed = 3\nrepeats = 2\n[storage]\nplace = \"http://{STORAGE}/\""),
        "configurations = [\"D\"]\ncaches = [\"warm\", \"cold\"]",
    );
    let http = format!(
        "log_format told '$msec $body_bytes_sent $status'; access_log @storage.log told; server {{ listen {STORAGE}; root @titles; }}"
    );
    let _storage = weir_rig::nginx(&http, STORAGE);
    let database = weir_rig::path("weir.db");
    let experiment = format!("load experiment {path} --json -q --db {database}");
    let plan = ran(0, &format!("{experiment} --plan")).json();
    let result = ran(0, &experiment).json();

    // Every repeat has each run once, in its own order, the order of the plan.
    let (planned, made) = (keys(&plan["cells"]), keys(&result["done"]));
    assert_eq!(made, planned);
    let block = |keys: &[&str]| -> Vec<String> {
        keys.iter()
            .map(|key| key.split('#').next().expect("a group").to_owned())
            .collect()
    };
    let (first, second) = (block(&made[..4]), block(&made[4..]));
    assert_ne!(first, second);
    let groups: BTreeSet<String> = first.iter().cloned().collect();
    assert_eq!((groups.len(), &groups), (4, &second.into_iter().collect()));
    assert!(
        made[..4].iter().all(|key| key.ends_with("#1")) && made[4..].iter().all(|key| key.ends_with("#2"))
    );

    // What each run's origin has read, by the clock of the storage: from the end of the run before.
    let store = Database::open(&database);
    let column = |sql: &str| {
        store.all::<i64>(&format!(
            "SELECT {sql} FROM runs WHERE parent_run_id = 1 ORDER BY run_id"
        ))
    };
    let ended = column("ended_unix_ns");
    let in_bytes = column("json_extract(summary, '$.origin.in_bytes')");
    let requests = column("json_extract(summary, '$.all.requests')");
    let reads = reads();
    let mut before = 0;
    for (number, key) in made.iter().enumerate() {
        let of_run = reads
            .iter()
            .filter(|(at, _)| (before..ended[number]).contains(at));
        let read: u64 = of_run.map(|(_, bytes)| bytes).sum();
        let (told, title) = (
            in_bytes[number] as u64,
            if key.contains(":200") { "low" } else { "high" },
        );
        let length = |track: &str| {
            let file = weir_rig::path(&format!("titles/{title}/{track}.mp4"));
            fs::metadata(file).expect("a track").len()
        };
        let size = length("video") + length("audio");
        assert!(requests[number] > 12, "{key}: {} requests", requests[number]);
        // All of it once, be it before the run, and hardly anything again.
        assert!(
            (size * 9 / 10..size * 3 / 2).contains(&read),
            "{key}: {read} of {size}"
        );
        if key.contains(":cold") {
            assert_eq!(told, read, "{key}");
        } else {
            assert!(told < size / 10, "{key}: {told} of {size}");
        }
        before = ended[number];
    }
    assert_eq!(ended.len(), 8);
}
