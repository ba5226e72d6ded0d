//! Losses that last, and receivers that are held up: what is repaired depends on when packets come.

use weir_rig::carry::{
    FORMAT, RECEIVED, drop_media, dropped, events, failed, finish, from_one, lossy_link, recv, send_on,
};
use weir_rig::{Database, Host, LIMIT, count, isolated, nft, run, udp_ports_in_use};

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

/// One UDP port gets nothing for a second; frames come whole all the same, since its flow is left.
#[test]
fn a_flow_that_goes_dark_for_a_second_costs_no_frame() {
    isolated!(heavy);
    for (name, options) in [("arq", ""), ("fec", "--no-arq --fec 4/64")] {
        if name == "arq" {
            lossy_link("");
        }
        let before = dropped();
        let stored = format!("{name}-to.db");
        let pattern = format!("--open --test-pattern {FORMAT} --frames 200 --db {name}.db {options}");
        let sender = send_on(Host::Far, &pattern);
        let receiver = recv(&format!("{FROM_FAR} --verify --db {stored}"));
        Database::wait_for_rows(&stored, "frame_seconds", 1);
        let ports = udp_ports_in_use(Host::Near);
        assert_eq!(ports.len(), 8, "a socket for each flow");
        drop_media(&format!("udp dport {}", ports[3]));
        let from: u64 = now_ms();
        weir_rig::wait_until("a second in the dark", LIMIT, || {
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

#[test]
fn what_the_path_does_not_carry_is_stopped() {
    isolated!(heavy);
    lossy_link("numgen random mod 100 < 40");
    let sender = send_on(Host::Far, &format!("--open --test-pattern {FORMAT}"));
    let receiver = recv(FROM_FAR);
    let words = ["of the packets were lost for 3 s", "does not carry"];
    let sent = failed(sender.wait(LIMIT), &words);
    failed(receiver.wait(LIMIT), &words);
    assert_eq!(sent.json()["run"]["outcome"], "failed");
    assert_eq!(events(RECEIVED), ["connected", "stopped"]);
}
