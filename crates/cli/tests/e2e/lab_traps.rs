//! `weir lab traps`: traps occur, the user's file is played, mistakes are reported, and nothing is stored.

use serde_json::Value;

use weir_rig::{Finished, LIMIT, isolated, run_within, weir};

#[track_caller]
fn traps(arguments: &[&str], code: i32) -> Finished {
    let arguments = [&["lab", "traps"], arguments].concat();
    run_within(LIMIT, weir(&arguments)).expect_code(code)
}

#[test]
fn the_traps_that_come_with_it_show() {
    isolated!();
    let listed = traps(&["--list"], 0).stdout;
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["current-rung", "dashjs-rtp", "naive-start"]);

    let all = traps(&["--json"], 0).stdout;
    let lines: Vec<Value> = all
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), names.len());
    for (line, name) in lines.iter().zip(&names) {
        assert_eq!(line["scenario"], *name);
        assert_eq!(line["shown"], true, "{line}");
    }
    assert_eq!(traps(&["--json"], 0).stdout, all, "the same bytes");

    let text = traps(&["naive-start"], 0).stdout;
    assert!(
        text.contains("the trap occurs") && text.contains("2.04 s"),
        "{text}"
    );
    assert!(!std::path::Path::new(&weir_rig::path("weir.db")).exists());
}

#[test]
fn a_trap_of_ones_own_and_mistakes_in_it() {
    isolated!();
    let shown = traps(&["--show", "naive-start"], 0).stdout;
    let write = |name: &str, text: &str| {
        let path = weir_rig::path(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    // Over a link that is slower than the pace, the pace delays nothing.
    let slow = write("slow.toml", &shown.replace("40Mbit/s", "500kbit/s"));
    let text = traps(&[&slow], 0).stdout;
    assert!(text.contains("the trap does not occur"), "{text}");

    let wrong = write("wrong.toml", &shown.replace("rate = ", "rat = "));
    let odd = write("odd.toml", &shown.replace("rung:4", "rung:-4"));
    let table = [
        (vec![wrong.as_str()], ["wrong.toml: line", "`rate`"]),
        (vec![odd.as_str()], ["odd.toml: line", "sammy:C0,C1"]),
        (vec!["fax"], ["neither a scenario nor a file", "dashjs-rtp"]),
        (vec!["--show", "fax"], ["neither", "current-rung"]),
    ];
    for (arguments, parts) in table {
        let done = traps(&arguments, 2);
        for part in parts {
            assert!(done.one_error().contains(part), "{part} in {}", done.stderr);
        }
    }
}
