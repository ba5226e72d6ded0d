//! Populations of households: shards in several databases, and a run that is killed, come to the figures of a whole one.

use std::process::Command;

use serde_json::Value;
use weir_rig::{Database, LIMIT, binary, isolated, path, ran, run, run_within, started, wait_until};

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
    ran(2, "runs merge a.db:1 other.db:1 --db again.db").error_has("another population, grid, seed");
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

#[test]
fn merged_shards_of_a_grid_have_the_cells_of_the_whole() {
    isolated!();
    write();
    let line = "lab grid homes.toml --households 4 --queues tail-drop:2bdp,fq-codel --congestion cubic,l4s \
        --paces none,top:2 --json";
    let whole = ran(0, &format!("{line} --db whole.db")).json();
    crate::documented("lab-grid", &whole);
    for (shard, database) in [("1/2", "a.db"), ("2/2", "b.db")] {
        ran(0, &format!("{line} --shard {shard} --db {database}"));
    }
    let merged = ran(0, "runs merge a.db:1 b.db:1 --json --db merged.db").json();
    crate::documented("lab-grid", &merged);
    assert_eq!(merged["figures"], whole["figures"]);
    assert_eq!(
        (&merged["households"], whole["gains"].as_array().map(Vec::len)),
        (&4.into(), Some(4))
    );
    let rows =
        "SELECT count(*) FROM household_sessions WHERE variant = 'fq-codel/l4s/top:2' AND queue = 'fq-codel'";
    assert_eq!(Database::open("merged.db").one::<i64>(rows), 4);
    ran(2, &format!("{line} --max-sessions 31 --db refused.db"))
        .error_has("8 cells x 4 households = 32 sessions, about");
}

#[test]
fn a_killed_search_is_continued() {
    isolated!();
    write();
    let line = "lab tune homes.toml --households 64 --paces top:1.1,top:1.5,top:2,top:2.5,top:3 --bursts auto --json";
    let whole = ran(0, &format!("{line} --db whole.db")).json();
    crate::documented("lab-tune", &whole);
    assert!(
        whole["recommended"]["origin"]
            .as_str()
            .is_some_and(|text| text.starts_with("--pace --pace-factor "))
    );
    let killed = started(&format!("{line} --threads 1 --db killed.db"));
    Database::wait_for_rows("killed.db", "household_sessions", 4);
    killed.signal("KILL");
    drop(killed);
    let is_over = || {
        let shown = ran(0, "runs show 1 --json --db killed.db").json();
        (shown["outcome"] == "interrupted").then_some(())
    };
    wait_until("the run to count as interrupted", LIMIT, is_over);
    let resumed = ran(0, "lab tune --resume 1 --json --db killed.db").json();
    assert_eq!(
        (&resumed["candidates"], &resumed["recommended"]),
        (&whole["candidates"], &whole["recommended"])
    );
    ran(2, "lab grid --resume 1 --db killed.db").error_has("only runs of kind population or grid");
}

/// A script of `deploy/` with these variables, which finds the built binary.
#[track_caller]
fn script(shell: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let built = binary();
    let folder = built.parent().expect("a folder");
    let mut command = Command::new(shell);
    let own = std::env::var("PATH").unwrap_or_default();
    command
        .args(arguments)
        .envs(variables.iter().copied())
        .env("PATH", format!("{}:{own}", folder.display()));
    let done = run_within(LIMIT, command);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
}

#[test]
fn scripts_for_clusters_play_their_shards() {
    isolated!();
    write();
    let root = format!("{}/../..", env!("CARGO_MANIFEST_DIR"));
    let checker = format!("{root}/crates/cli/tests/data/check_shards.py");
    let job = run(
        "python3",
        &[&checker, &format!("{root}/deploy/population-job.yaml")],
    );
    let job = job
        .replace(
            "/population/population-shard.sh",
            &format!("{root}/deploy/population-shard.sh"),
        )
        .replace("/population/mine.toml", "homes.toml")
        .replace("/results", &path(""))
        .replace("--households 100000", "--households 9");
    script("sh", &["-c", &job], &[("JOB_COMPLETION_INDEX", "0")]);
    let array = [
        ("SLURM_SUBMIT_DIR", root.as_str()),
        ("WEIR_RESULTS", &path("")),
        ("SLURM_ARRAY_TASK_ID", "2"),
        ("SLURM_ARRAY_TASK_COUNT", "8"),
        ("SLURM_CPUS_PER_TASK", "1"),
    ];
    let slurm = format!("{root}/deploy/population.slurm");
    script(
        "bash",
        &[&slurm, "population", "homes.toml", "--households", "9"],
        &array,
    );
    let households = |file: &str| {
        let all = "SELECT group_concat(DISTINCT household) FROM household_sessions";
        Database::open(file).one::<String>(all)
    };
    assert_eq!(households("shard-1-of-8.db"), "0,8");
    assert_eq!(households("shard-2-of-8.db"), "1");
}
