//! `weir lab neighbour` across links of known delay, rate and loss: its report agrees with the settings and the counts
//! of the link; and its server sends nothing to hosts that have not requested it.

use serde_json::Value;

use weir_rig::{count, isolated, lab_run, see_own_processes};

/// What a neighbour and then the link said, after `weir lab neighbour KIND far:7000` with these arguments.
#[track_caller]
fn neighbour(link: &str, kind: &str) -> (Value, Value) {
    see_own_processes();
    let serve = "weir lab neighbour serve --listen 198.18.0.2:7000";
    let link: Vec<&str> = ["--no-agent", "--far", serve]
        .into_iter()
        .chain(link.split(' '))
        .collect();
    let (kind, options) = kind.split_once(' ').expect("options");
    let command = format!("weir lab neighbour {kind} far:7000 --json {options}");
    lab_run(&link, &command.split(' ').collect::<Vec<_>>())
}

fn ms(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number")) / 1e6
}

#[test]
fn a_call_takes_the_delay_that_was_set() {
    isolated!(heavy);
    let (voip, _) = neighbour("--rtt 80ms", "voip --for 4s");
    let figures = &voip["figures"];
    assert_eq!(
        (count(&figures["packets_sent"]), count(&figures["lost"])),
        (200, 0)
    );
    // Half of the round trip; never less, and hardly more.
    assert!(ms(&figures["owd"]["min"]) >= 40.0, "{figures}");
    assert!(ms(&figures["owd"]["p50"]) < 42.0, "{figures}");
    // 172 bytes of payload every 20 ms.
    assert_eq!(count(&figures["rate"]), 68_800);
    // 60 ms from mouth to ear without loss: R is 91.5 by the E-model, and less where this machine adds delay or is late.
    let voice = &figures["voice"];
    let r = voice["r"].as_f64().expect("R");
    assert!(ms(&voice["mouth_to_ear_ns"]) >= 60.0 && r < 91.6, "{voice}");
    let samples = voip["samples"].as_array().expect("samples");
    assert_eq!(
        samples
            .iter()
            .map(|sample| count(&sample["packets"]))
            .sum::<u64>(),
        200
    );
    let bins = voip["distribution"]["bins"]["counts"].as_array().expect("counts");
    assert_eq!(bins.iter().map(count).sum::<u64>(), 200);
}

#[test]
fn a_call_counts_the_losses_of_the_link() {
    isolated!();
    // Before the call come a token and whatever the far host says until its server is there; behind it, that it has
    // ended.
    let lose = "--rtt 20ms --set reverse.loss={packets=[50,51,52,100]}";
    let (voip, account) = neighbour(lose, "voip --for 4s");
    assert_eq!(count(&account["reverse"]["dropped"]["loss"]), 4);
    let figures = &voip["figures"];
    assert_eq!(
        (count(&figures["packets_sent"]), count(&figures["lost"])),
        (200, 4)
    );
    assert_eq!(
        (count(&figures["longest_loss"]), &figures["loss"]),
        (3, &Value::from(0.02))
    );
    let lost_in_samples = voip["samples"].as_array().expect("samples").iter();
    assert_eq!(
        lost_in_samples.map(|sample| count(&sample["lost"])).sum::<u64>(),
        4
    );
}

#[test]
fn datagrams_that_a_queue_dropped_are_lost_and_the_rest_waited() {
    isolated!();
    let link = "--rate 1Mbit/s --rtt 20ms --queue 20packets";
    let (udp, account) = neighbour(link, "udp --rate 2Mbit/s --length 1000 --for 3s");
    let figures = &udp["figures"];
    assert_eq!(count(&figures["packets_sent"]), 750);
    let (lost, dropped) = (
        count(&figures["lost"]),
        count(&account["reverse"]["dropped"]["queue"]),
    );
    // The word that all have been sent can be dropped too, again and again.
    assert!(
        lost <= dropped && dropped <= lost + 20,
        "{lost} lost, {dropped} dropped"
    );
    // 1,028 bytes of 1 Mbit/s are 8.224 ms: at most 365 of them in three seconds, and 20 that waited.
    let received = count(&figures["packets_received"]);
    assert!(received <= 387, "{received}");
    // 20 packets before one: 173 ms of waiting and sending, and 10 of distance.
    let (half, most) = (ms(&figures["owd"]["p50"]), ms(&figures["owd"]["max"]));
    assert!(most >= 180.0 && half <= most, "{half} ms, {most} ms");
    assert!(received >= 330, "{received}");
    assert!((160.0..185.0).contains(&half), "{half} ms");
    assert!(ms(&figures["owd_above_min"]["p95"]) > 100.0, "{figures}");
}

#[test]
fn a_download_fills_the_link() {
    isolated!(heavy);
    // The link counts what a busy machine carried, and the client has to report the same.
    let link = "--rate 20Mbit/s --rtt 20ms --queue 2bdp";
    let (bulk, account) = neighbour(link, "bulk --congestion reno --streams 2 --for 4s");
    let figures = &bulk["figures"];
    let (down, bytes) = (&account["reverse"], count(&figures["bytes"]));
    let (delivered, dropped) = (count(&down["delivered"]), count(&down["dropped"]["queue"]));
    let sender = &figures["sender"];
    assert_eq!(sender["congestion"], "reno");
    // 1,448 of each 1,500 bytes are payload. Of what the link delivered the client had all, but for what came twice and
    // for three BDPs and the senders' own buffers on the way at the end.
    let again = count(&sender["retransmits"]);
    let most = count(&down["delivered_bytes"]) * 1_448 / 1_500;
    let least = most.saturating_sub((again + 300) * 1_448);
    assert!(
        (least..=most).contains(&bytes),
        "{bytes} of {most}, {again} again"
    );
    assert!(count(&figures["rate"]) <= 19_310_000, "{figures}");
    // A full queue of two BDPs makes three of the round trip.
    let waited = ms(&sender["rtt"]["max"]);
    assert!(waited >= 40.0 && ms(&sender["rtt"]["min"]) >= 20.0, "{sender}");
    // What was dropped is sent again, and what a late link made the sender give up comes twice.
    let twice = delivered - bytes / 1_448;
    assert!(
        again > 0 && again <= dropped + twice,
        "{again} again, {dropped} dropped, {twice} twice"
    );
    let samples = bulk["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 40);
    assert_eq!(
        samples.iter().map(|sample| count(&sample["bytes"])).sum::<u64>(),
        count(&figures["bytes"])
    );
    let again = samples
        .iter()
        .filter_map(|sample| sample["retransmits"].as_u64())
        .sum::<u64>();
    assert!(again <= count(&sender["retransmits"]), "{again}");
}

#[test]
fn repeated_downloads_take_the_time_that_the_link_takes() {
    isolated!();
    let link = "--rate 10Mbit/s --rtt 20ms --queue 2bdp";
    let kind = "http --bytes 500kB --pause 100ms --for 4s";
    let (http, _) = neighbour(link, kind);
    let figures = &http["figures"];
    // 346 segments of 1,500 bytes on 10 Mbit/s, and the round trip; none faster.
    let least = ms(&figures["completion"]["min"]);
    assert!(least >= 425.0, "{least} ms");
    assert!(ms(&figures["first_byte"]["min"]) >= 20.0);
    let downloads = count(&figures["downloads"]);
    assert!(downloads <= 7, "{figures}");
    assert!(downloads >= 6, "{figures}");
    assert_eq!(
        figures["times"].as_array().map(|times| times.len() as u64),
        Some(downloads)
    );
    let bytes = count(&figures["bytes"]);
    assert!(
        (downloads * 500_000..=(downloads + 1) * 500_000).contains(&bytes),
        "{bytes}"
    );
}

#[test]
fn a_game_runs_on_a_link_that_holds_it_and_freezes_on_one_that_does_not() {
    isolated!(heavy);
    let link = "--rate 40Mbit/s --rtt 20ms --queue 2bdp";
    let (game, account) = neighbour(link, "game --rate 15Mbit/s --for 4s");
    let figures = &game["figures"];
    assert_eq!(count(&figures["frames_sent"]), 240);
    // A server that is held up for 100 ms sends six frames at once, which the queue cannot hold.
    let down = &account["reverse"];
    let dropped = count(&down["dropped"]["queue"]) + count(&down["own_losses"]["device_queue"]);
    let incomplete = |figures: &Value| figures["incomplete_share"].as_f64().expect("a share");
    let held = incomplete(figures);
    assert!(count(&figures["incomplete"]) <= dropped, "{figures}, {down}");
    // The shortest frames have about 21,900 bytes, 4.4 ms on the link, and 10 ms of distance.
    let least = ms(&figures["completion"]["min"]);
    assert!(least >= 14.0, "{least} ms");
    assert!(least < 20.0, "{least} ms");
    // Every datagram that the link delivered, without its 28 bytes of headers, and with it a few of the conversation.
    let payload = count(&down["delivered_bytes"]) - 28 * count(&down["delivered"]);
    let bytes = count(&figures["bytes"]);
    assert!(
        (bytes..bytes + 20 * 1_472).contains(&payload),
        "{figures}, {down}"
    );
    assert!(ms(&figures["input_to_frame"]["min"]) >= 24.0, "{figures}");
    let (inputs, answered) = (count(&figures["inputs_sent"]), count(&figures["inputs_answered"]));
    assert!(answered <= inputs && 2 * answered > inputs, "{figures}");

    let link = "--rate 8Mbit/s --rtt 20ms --queue 2bdp";
    let (game, _) = neighbour(link, "game --rate 15Mbit/s --for 2s");
    let figures = &game["figures"];
    assert_eq!(count(&figures["frames_sent"]), 120);
    assert!(incomplete(figures) > held.max(0.5), "{figures}");
    assert!(ms(&figures["longest_freeze_ns"]) > 50.0, "{figures}");
    assert!(figures["loss"].as_f64() > Some(0.3), "{figures}");
}
