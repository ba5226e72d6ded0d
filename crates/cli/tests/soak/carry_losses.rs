//! A receiver that is held up for longer than its budget.

use weir_rig::carry::{RECEIVED, dropped, finish, from_one, lossy_link, recv, send_on};
use weir_rig::{Database, Host, LIMIT, count, isolated, run};

/// A budget that a receiver can be held up for longer than.
const FROM_FAR: &str = "--from 10.9.0.2 --latency 300ms";

fn now_ms() -> u64 {
    run("date", &["+%s%3N"]).trim().parse().expect("a time")
}

/// Packets that arrived while the receiver did not run are in its socket buffers, and not late; lost packets are
/// repaired all the same, although more arrived since than the window of the code.
#[test]
fn a_receiver_that_is_held_up_for_longer_than_the_budget_loses_nothing() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 2");
    let pattern = "--open --test-pattern 320x240@50:yuv422p10le --frames 150 --no-arq --fec 4/64";
    let sender = send_on(Host::Far, pattern);
    let receiver = recv(&format!("{FROM_FAR} --verify"));
    Database::wait_for_rows(RECEIVED, "frame_seconds", 1);
    receiver.signal("STOP");
    let until = now_ms() + 350;
    weir_rig::wait_until("a third of a second", LIMIT, || (now_ms() >= until).then_some(()));
    receiver.signal("CONT");
    let carried = finish(sender, receiver);
    carried.all_whole(150);
    let one = from_one(&carried.received);
    assert!(
        dropped() > 50 && count(&one["recovered"]) > 0 && one["unrepaired"] == 0,
        "{one}"
    );
    let delay = count(&carried.received["delay"]["max"]);
    assert!(delay > 320_000_000, "it was held up: {delay} ns");
}
