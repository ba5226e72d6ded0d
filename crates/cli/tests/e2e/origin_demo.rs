//! `weir origin demo` as a user starts it: the title plays, the page is there, and nothing is left behind.

use std::path::Path;

use weir_rig::film::frames;
use weir_rig::origin::{get, stop};
use weir_rig::{LIMIT, Running, isolated, run_within, weir};

const DEMO: [&str; 6] = ["origin", "demo", "--duration", "10s", "--listen", "127.0.0.1:0"];

fn demo<'o>(options: &[&'o str]) -> Vec<&'o str> {
    [&DEMO[..], options].concat()
}

#[test]
fn the_demo_plays_and_leaves_nothing() {
    isolated!(heavy);
    let temporary = weir_rig::path("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    let mut command = weir(&demo(&["--json"]));
    command.env("TMPDIR", &temporary);
    let mut process = Running::start(command);
    let told: serde_json::Value = serde_json::from_str(&process.first_line(LIMIT)).expect("JSON");
    let at = |name: &str| told[name].as_str().expect("a text").to_owned();
    assert!(Path::new(&at("folder")).starts_with(&temporary));
    for manifest in ["dash", "hls"] {
        for stream in ["v:0", "v:1", "v:2"] {
            assert_eq!(frames(&at(manifest), stream).len(), 250, "{manifest} {stream}");
        }
        assert!(frames(&at(manifest), "a:1").len() >= 468, "{manifest}");
    }
    let page = at("url");
    let answers = get(&[
        page.clone(),
        format!("{page}.page/titles.json"),
        format!("{page}.page/shaka.js"),
        format!("{page}.page/nothing.js"),
        format!("{page}demo/subtitles/s1/text.vtt"),
    ]);
    let statuses: Vec<u64> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 400, 200]);
    assert!(answers[0].1.contains("/.page/page.js"), "{}", answers[0].1);
    assert_eq!(answers[1].1, "{\"titles\":[\"demo\"]}\n");
    assert!(answers[2].1.contains("Shaka Player"));
    assert!(answers[4].1.contains("Sekunde 8"), "{}", answers[4].1);
    stop(process);
    assert_eq!(Path::new(&temporary).read_dir().expect("a folder").count(), 0);
}

#[test]
fn a_demo_that_cannot_be_is_said_in_a_line() {
    isolated!();
    let refused = |options: &[&str], code: i32, word: &str| {
        let mut command = weir(&demo(options));
        command.env("PATH", "/nowhere");
        let done = run_within(LIMIT, command).expect_code(code);
        assert!(done.stderr.contains(word), "{options:?}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{}", done.stdout);
    };
    refused(&["-q"], 3, "apt-get install ffmpeg");
    let folder = weir_rig::path("films");
    std::fs::create_dir_all(format!("{folder}/demo")).expect("a folder");
    refused(&["-q", "--folder", &folder], 2, "exists; serve it with");
    // An ffmpeg that can do nothing says so itself.
    let tools = weir_rig::path("tools");
    std::fs::create_dir(&tools).expect("a folder");
    let tool = format!("{tools}/ffmpeg");
    std::fs::write(
        &tool,
        "#!/bin/sh\necho \"Unknown encoder 'libx264'\" >&2\nexit 1\n",
    )
    .expect("a file");
    weir_rig::run("chmod", &["+x", &tool]);
    let mut command = weir(&demo(&["-q"]));
    command.env("PATH", format!("{tools}:/usr/bin:/bin"));
    let done = run_within(LIMIT, command).expect_code(3);
    assert!(
        done.stderr.contains("Unknown encoder 'libx264'"),
        "{}",
        done.stderr
    );
    let plain = run_within(LIMIT, weir(&["origin", "demo", "--duration", "2s"])).expect_code(2);
    assert!(plain.stderr.contains("from 10 to 60 seconds"), "{}", plain.stderr);
}
