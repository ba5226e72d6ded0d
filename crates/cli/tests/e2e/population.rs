//! Populations of households: shards in several databases, and a run that is killed, come to the figures of a whole one.

use serde_json::Value;
use weir_rig::{Database, LIMIT, isolated, path, ran, started, wait_until};

const HOMES: &str = include_str!("homes.toml");

fn figures(printed: &Value) -> (&Value, &Value) {
    assert!(
        printed["figures"]
            .as_array()
            .is_some_and(|figures| figures.len() > 15),
        "{printed}"
    );
    (&printed["households"], &printed["figures"])
}

fn write() {
    std::fs::write(path("homes.toml"), HOMES).unwrap();
}

#[test]
fn merged_shards_have_the_figures_of_the_whole() {
    isolated!();
    write();
    let whole = ran(0, "lab population homes.toml --json --db whole.db").json();
    for (shard, database) in [("1/3", "a.db"), ("2/3", "b.db"), ("3/3", "c.db")] {
        ran(
            0,
            &format!("lab population homes.toml --shard {shard} --threads 2 --json --db {database}"),
        );
    }
    let merged = ran(0, "runs merge a.db:1 b.db:1 c.db:last --json --db merged.db").json();
    crate::documented("lab-population", &merged);
    assert_eq!(figures(&merged), figures(&whole));
    assert_eq!(merged["households"], 12);
    let rows = |file: &str| Database::open(file).one::<i64>("SELECT count(*) FROM household_sessions");
    assert_eq!((rows("merged.db"), rows("a.db")), (24, 8));
    ran(2, "runs merge a.db:1 b.db:1 a.db:1 --db again.db").error_has("give each shard once");
    ran(
        0,
        "lab population homes.toml --seed 2 --shard 1/3 --json --db other.db",
    );
    ran(2, "runs merge a.db:1 other.db:1 --db again.db").error_has("another population, seed");
}

#[test]
fn a_killed_run_is_continued() {
    isolated!();
    write();
    let line = "lab population homes.toml --households 400 --json";
    let whole = ran(0, &format!("{line} --db whole.db")).json();
    let killed = started(&format!("{line} --threads 1 --db killed.db"));
    Database::wait_for_rows("killed.db", "household_sessions", 4);
    killed.signal("KILL");
    drop(killed);
    let kept = Database::open("killed.db").one::<i64>("SELECT count(*) FROM household_sessions");
    let is_over = || {
        let shown = ran(0, "runs show 1 --json --db killed.db").json();
        (shown["outcome"] == "interrupted").then_some(())
    };
    wait_until("the run to count as interrupted", LIMIT, is_over);
    let resumed = ran(0, "lab population --resume 1 --json --db killed.db").json();
    assert_eq!(figures(&resumed), figures(&whole));
    let rows = "SELECT count(*) || ' ' || count(DISTINCT household || variant) FROM household_sessions";
    assert_eq!(Database::open("killed.db").one::<String>(rows), "800 800");
    assert!((4..800).contains(&kept), "{kept} of 800 sessions were there");
    ran(2, "lab population --resume 1 --db killed.db").error_has("is finished");
}
