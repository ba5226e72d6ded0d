//! Packets are lost on the way, by a filter that counts them: what is lost is repaired, and what recv reports is what
//! the filter has dropped.

use serde_json::Value;

use super::{Carried, FORMAT, RECEIVED, SENT, finish, from_one, recv, send_on, wait_for_rows};
use crate::lab::{Database, FAR_IPV4, Host, isolated, join_by_veth, nft, nft_counter, run, udp_ports_in_use};
use crate::{LIMIT, count};

/// What a receiver on the near host needs: the sender is on the far one.
pub(super) const FROM_FAR: [&str; 4] = ["--from", FAR_IPV4, "--latency", "300ms"];

/// A link whose packets of media are counted and dropped where `rule` says so, before they come to the near host's
/// sockets. Packets are filtered one by one, so that the hosts must not hand over several as one.
pub(super) fn lossy_link(rule: &str) {
    join_by_veth(1500);
    for (host, interface) in [(Host::Near, "near"), (Host::Far, "far")] {
        for feature in ["tso", "gso", "gro", "tx-udp-segmentation"] {
            host.run("ethtool", &["-K", interface, feature, "off"]);
        }
    }
    nft(Host::Near, "add table ip lab");
    nft(Host::Near, "add counter ip lab dropped");
    nft(
        Host::Near,
        "add chain ip lab in { type filter hook input priority 0; policy accept; }",
    );
    if !rule.is_empty() {
        drop_media(rule);
    }
}

/// Drops packets of media that match; not the answers to greetings, which are shorter.
fn drop_media(rule: &str) {
    let rule = format!("add rule ip lab in udp sport 4848 udp length > 200 {rule} counter name dropped drop");
    nft(Host::Near, &rule);
}

fn dropped() -> u64 {
    nft_counter(Host::Near, "ip lab", "dropped")
}

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

#[track_caller]
fn repaired(carried: &Carried, by: &str) {
    carried.all_whole(150);
    let received = &carried.received;
    assert_eq!(count(&received["frames_verified"]), 150, "{received}");
    let sender = from_one(received);
    assert_eq!(count(&sender["unrepaired"]), 0, "{received}");
    let lost = dropped();
    assert!(lost > 50, "{lost}");
    assert!(count(&sender[by]) > 0, "{received}");
}

#[test]
fn random_loss_is_repaired_by_sending_again() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 2");
    let carried = carry_across(&[]);
    repaired(&carried, "retransmitted");
    let sender = from_one(&carried.received);
    // What was lost came again; some of what came again was lost too, and was sent once more.
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

/// What came while the receiver did not run lies at its sockets, and is not late; what was lost is repaired all the same,
/// although more came since than the code remembers.
#[test]
fn a_receiver_that_is_held_up_for_longer_than_the_budget_loses_nothing() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 2");
    let format = "320x240@50:yuv422p10le";
    let pattern = ["--open", "--test-pattern", format, "--frames", "150"];
    let sender = send_on(
        Host::Far,
        &[&pattern[..], &["--no-arq", "--fec", "4/64"]].concat(),
    );
    let receiver = recv(&[&FROM_FAR[..], &["--verify"]].concat());
    wait_for_rows(RECEIVED, "frame_seconds", 1);
    receiver.signal("STOP");
    let until = now_ms() + 350;
    crate::lab::wait_until("a third of a second", LIMIT, || (now_ms() >= until).then_some(()));
    receiver.signal("CONT");
    let carried = finish(sender, receiver);
    repaired(&carried, "recovered");
    let delay = count(&carried.received["delay"]["max"]);
    assert!(delay > 320_000_000, "it was held up: {delay} ns");
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

/// One UDP port gets nothing for a second; frames come whole all the same, since its flow is left.
#[test]
fn a_flow_that_goes_dark_for_a_second_costs_no_frame() {
    isolated!(heavy);
    for (name, options) in [("arq", &[][..]), ("fec", &["--no-arq", "--fec", "4/64"])] {
        if name == "arq" {
            lossy_link("");
        }
        let before = dropped();
        let (sent, stored) = (format!("{name}-{SENT}"), format!("{name}-{RECEIVED}"));
        let pattern = [
            "--open",
            "--test-pattern",
            FORMAT,
            "--frames",
            "200",
            "--db",
            &sent,
        ];
        let sender = send_on(Host::Far, &[&pattern, options].concat());
        let receiver = recv(&[&FROM_FAR[..], &["--verify", "--db", &stored]].concat());
        wait_for_rows(&stored, "frame_seconds", 1);
        let ports = udp_ports_in_use(Host::Near);
        assert_eq!(ports.len(), 8, "a socket for each flow");
        drop_media(&format!("udp dport {}", ports[3]));
        let from: u64 = now_ms();
        crate::lab::wait_until("a second in the dark", LIMIT, || {
            (now_ms() >= from + 1000).then_some(())
        });
        nft(Host::Near, "flush chain ip lab in");
        let carried = finish(sender, receiver);
        carried.all_whole(200);
        assert_eq!(count(&carried.received["frames_verified"]), 200);
        assert!(dropped() > before, "{name}: nothing was dropped");
        let states: Vec<String> = Database::open(&stored).all("SELECT DISTINCT state FROM flow_changes");
        assert!(
            states.iter().any(|state| state == "silent" || state == "losing"),
            "{name}: {states:?}"
        );
        assert!(states.contains(&"used".to_owned()), "{name}: {states:?}");
    }
}

fn now_ms() -> u64 {
    run("date", &["+%s%3N"]).trim().parse().expect("a time")
}

#[test]
fn what_the_path_does_not_carry_is_stopped() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 40");
    let pattern = ["--open", "--test-pattern", FORMAT];
    let sender = send_on(Host::Far, &pattern);
    let receiver = recv(&FROM_FAR);
    let words = ["of the packets were lost for 3 s", "does not carry"];
    let sent: Value = super::failed(sender.wait(LIMIT), 3, &words).json();
    assert_eq!(sent["run"]["outcome"], "failed", "{sent}");
    super::failed(receiver.wait(LIMIT), 3, &words);
    assert_eq!(super::events(RECEIVED), ["connected", "stopped"]);
}
