//! A filter drops packets and counts them: they are repaired, and recv reports as lost what the filter dropped.

use weir_rig::carry::{
    Carried, FORMAT, FROM_FAR, RECEIVED, dropped, finish, from_one, lossy_link, recv, repaired, send_on,
};
use weir_rig::{Database, Host, count, isolated};

/// A stream of 150 frames across the link.
fn carry_across(to_send: &[&str]) -> Carried {
    let pattern = ["--open", "--test-pattern", FORMAT, "--frames", "150"];
    let sender = send_on(Host::Far, &[&pattern, to_send].concat());
    finish(sender, recv(&[&FROM_FAR[..], &["--verify"]].concat()))
}

#[test]
fn what_is_reported_as_lost_is_what_was_dropped() {
    isolated!(heavy);
    // Every 40th packet, and over one flow, of which nothing can overtake anything.
    lossy_link("numgen inc mod 40 == 7");
    let Carried { sent, received } = carry_across(&["--flows", "1", "--no-arq"]);
    let sender = from_one(&received);
    let lost = dropped();
    assert!(lost > 100, "{lost}");
    assert_eq!(count(&sender["lost"]), lost, "{received}");
    assert_eq!(count(&sender["unrepaired"]), lost, "{received}");
    assert_eq!(
        count(&sender["received"]) + lost,
        count(&sent["sources"]),
        "{sent} {received}"
    );
    let rows: i64 = Database::open(RECEIVED).one("SELECT sum(unrepaired) FROM recv_seconds");
    assert_eq!(rows as u64, lost);
    // Nothing repairs it: frames are given out all the same, at their deadline, and none is taken for a whole one.
    let frames = ["frames", "frames_damaged", "frames_lost", "frames_dropped"];
    let [whole, damaged, gone, thrown] = frames.map(|name| count(&received[name]));
    assert!(damaged > 50, "{received}");
    assert_eq!((whole + damaged + gone, thrown), (150, 0), "{received}");
    assert_eq!(count(&received["frames_verified"]), whole, "{received}");
}

#[test]
fn random_loss_is_repaired_by_sending_again() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 2");
    let carried = carry_across(&[]);
    repaired(&carried, "retransmitted");
    let sender = from_one(&carried.received);
    // Lost packets were retransmitted; some retransmissions were lost as well, and retransmitted again.
    assert_eq!(
        count(&sender["lost"]),
        count(&sender["retransmitted"]),
        "{sender}"
    );
    // A packet that came again before it came itself counts as lost, and then as a duplicate.
    let came = count(&sender["duplicates"]);
    assert!(count(&sender["lost"]) <= dropped() + came, "{sender}");
    assert!(count(&carried.sent["retransmitted"]) >= count(&sender["retransmitted"]));
    assert_eq!(count(&sender["recovered"]), 0, "{sender}");
}

#[test]
fn random_loss_is_repaired_by_the_code_alone() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 2");
    let carried = carry_across(&["--no-arq", "--fec", "4/64"]);
    repaired(&carried, "recovered");
    let sender = from_one(&carried.received);
    assert_eq!(count(&sender["retransmitted"]), 0, "{sender}");
    assert_eq!(count(&carried.sent["retransmitted"]), 0, "{}", carried.sent);
    assert_eq!(count(&sender["lost"]), count(&sender["recovered"]), "{sender}");
}

#[test]
fn a_code_that_follows_the_loss_repairs_it() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 2");
    let carried = carry_across(&["--fec", "auto"]);
    // By which of the two is a matter of time.
    repaired(&carried, "lost");
    assert!(count(&carried.sent["repairs"]) > 0, "{}", carried.sent);
}
