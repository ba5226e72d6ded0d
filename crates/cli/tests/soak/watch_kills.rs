//! A watcher that is killed again and again.

use std::time::Duration;

use weir_net::clock;
use weir_rig::{Agent, Database, FAR_IPV4, Host, LIMIT, isolated, join_by_veth, started, wait_until};

const KILLS: u64 = 50;
/// Minutes that are not the sum of their seconds.
const WRONG_MINUTES: &str = "
    SELECT count(*) FROM watch_cells AS minute WHERE span_s = 60 AND sent <> (
        SELECT coalesce(sum(sent), 0) FROM watch_cells AS second
        WHERE second.path_id = minute.path_id AND span_s = 1
          AND start_s >= minute.start_s AND start_s < minute.start_s + 60
          AND NOT EXISTS (SELECT 1 FROM watch_excluded AS out
                          WHERE out.start_s = second.start_s AND (out.cause <> 'dropped' OR second.lost > 0)))";

#[test]
fn a_watcher_killed_at_fifty_random_moments_loses_the_last_second_at_most() {
    isolated!(heavy);
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5049");
    let address = agent.at(FAR_IPV4);
    let file = format!(
        "here = \"near\"\n[[host]]\nname = \"near\"\n[[host]]\nname = \"ams\"\naddress = \"{address}\"\n\
         [rtt]\ninterval = \"100ms\"\nwindow = 2\n[flows]\nevery = \"15s\"\nduration = \"1s\"\nflows = 4\n"
    );
    std::fs::write("watch.toml", file).expect("the file");
    let last = "SELECT coalesce(max(start_s), 0) FROM watch_cells WHERE span_s = 1";
    let stored = || match Database::try_count("watch.db", "watch_cells") {
        Some(rows) if rows > 0 => Database::open("watch.db").one::<i64>(last),
        _ => 0,
    };
    let mut random = clock::unix_ns() | 1;
    println!("random seed {random}");
    let mut worst_s = 0.0f64;
    for _ in 0..KILLS {
        let before = stored();
        let watcher = started("watch watch.toml -q --db watch.db");
        wait_until("a new second", LIMIT, || (stored() > before).then_some(()));
        // Xorshift; up to three seconds.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 3_000_000));
        let killed_ns = clock::unix_ns();
        watcher.signal("KILL");
        watcher.wait(LIMIT);
        // From the end of the last second that is there, at least in part.
        let lost_s = killed_ns as f64 / 1e9 - (stored() + 1) as f64;
        worst_s = worst_s.max(lost_s);
    }
    println!("at most {worst_s:.2} s before a kill are missing");
    let database = Database::open("watch.db");
    assert_eq!(database.one::<String>("PRAGMA integrity_check"), "ok");
    assert!(database.one::<i64>("SELECT count(*) FROM watch_cells WHERE span_s = 60") > 0);
    assert_eq!(database.one::<i64>(WRONG_MINUTES), 0);
    assert!(worst_s < 1.0, "{worst_s}");
}
