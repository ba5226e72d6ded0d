//! Links in text form: every key, precedence, and every error.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::spec::{
    DarkSpan, DirectionSpec, FlowRateCap, Jitter, LongPacketLoss, LossSpec, Mtu, PacketRateCap, QueueSpec,
    RateStep, RouteChoice, RouteSpec, TooBig,
};

mod flags;
mod managed;
mod refusals;

fn read(text: &str) -> LinkSpec {
    parse(text, "t.toml", Path::new(".")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn nothing_written_is_a_clean_link() {
    let clean = LinkSpec {
        name: "t.toml".to_owned(),
        seed: 1,
        interface_mtu: 1500,
        forward: DirectionSpec::clean(),
        reverse: DirectionSpec::clean(),
    };
    assert_eq!(read(""), clean);
    let named = LinkSpec {
        name: "link".to_owned(),
        ..clean
    };
    assert_eq!(Profile::clean().spec().expect("clean"), named);
}

#[test]
fn every_key() {
    let link = read(
        r#"
        rate = "10Mbit/s"
        rtt = "20ms"
        jitter = "1ms"
        reorder = true
        queue = "2bdp"
        mtu = 1400
        interface-mtu = 9000
        too-big = "drop"
        loss = "0.1%"
        duplicate = "0.01%"
        corrupt = "0.001%"
        overhead = 14
        dark = [{ from = "3s", to = "4s" }, { from = "5s", to = "5.5s" }]
        flow-rate = "1Gbit/s"
        packet-rate = 200000
        hide-five-tuple = true
        extra-flow-loss = "0.02%"
        long-packets = { above = 1228, loss = "3%" }
        spread = "per-packet"
        seed = 7
        "#,
    );
    let dark = |from_ms: u64, to_ms: u64| DarkSpan {
        from_ns: from_ms * 1_000_000,
        to_ns: to_ms * 1_000_000,
    };
    let direction = DirectionSpec {
        mtu: Mtu {
            bytes: 1400,
            too_big: TooBig::Drop,
        },
        long_packet_loss: Some(LongPacketLoss {
            above: 1228,
            loss: 0.03,
        }),
        flow_rate: Some(FlowRateCap {
            rate: 1_000_000_000,
            // 10 ms of the rate.
            burst: 1_250_000,
        }),
        packet_rate: Some(PacketRateCap {
            rate: 200_000,
            burst: 2000,
        }),
        extra_flow_loss: 0.0002,
        hide_five_tuple: true,
        choice: RouteChoice::PerPacket,
        routes: vec![RouteSpec {
            weight: 1,
            rate: RateSpec::Fixed(10_000_000),
            overhead: 14,
            delay_ns: 10_000_000,
            jitter: Some(Jitter {
                most_ns: 1_000_000,
                reorder: true,
            }),
            queue: QueueSpec::Bytes(50_000),
            loss: vec![LossSpec::Bernoulli(0.001)],
            duplicate: 1e-4,
            corrupt: 1e-5,
            dark: vec![dark(3_000, 4_000), dark(5_000, 5_500)],
        }],
    };
    let expected = LinkSpec {
        name: "t.toml".to_owned(),
        seed: 7,
        interface_mtu: 9000,
        forward: direction.clone(),
        reverse: direction,
    };
    assert_eq!(link, expected);
}

#[test]
fn routes_go_before_directions_and_directions_before_the_link() {
    let link = read(
        r#"
        rate = "10Mbit/s"
        delay = "10ms"
        loss = "1%"
        mtu = 1400
        queue = "20packets"

        [[route]]
        loss = "2%"
        weight = 3
        [[route]]
        delay = "1ms"

        [forward]
        loss = "3%"
        mtu = 9000

        [reverse]
        rate = "unlimited"
        [[reverse.route]]
        queue = "5kB"
        "#,
    );
    let lossy = |share| vec![LossSpec::Bernoulli(share)];
    let common = RouteSpec {
        rate: RateSpec::Fixed(10_000_000),
        delay_ns: 10_000_000,
        queue: QueueSpec::Packets(20),
        ..RouteSpec::clean()
    };
    let first = RouteSpec {
        loss: lossy(0.02),
        weight: 3,
        ..common.clone()
    };
    let second = RouteSpec {
        delay_ns: 1_000_000,
        loss: lossy(0.03),
        ..common.clone()
    };
    let only = RouteSpec {
        rate: RateSpec::Unlimited,
        queue: QueueSpec::Bytes(5000),
        loss: lossy(0.01),
        ..common
    };
    assert_eq!(link.forward.routes, [first, second]);
    assert_eq!(link.reverse.routes, [only]);
    assert_eq!((link.forward.mtu.bytes, link.reverse.mtu.bytes), (9000, 1400));
    assert_eq!(link.interface_mtu, 9000);
}

#[test]
fn a_direction_undoes_what_holds_for_both() {
    let link = read(
        r#"
        loss = "1%"
        jitter = "1ms"
        reorder = true
        flow-rate = "1Gbit/s"
        packet-rate = 1000
        hide-five-tuple = true
        long-packets = { above = 100, loss = "1%" }
        dark = [{ from = "1s", to = "2s" }]
        [reverse]
        loss = "0%"
        jitter = "0s"
        flow-rate = "unlimited"
        packet-rate = "unlimited"
        hide-five-tuple = false
        long-packets = { above = 100, loss = "0%" }
        dark = []
        "#,
    );
    assert_eq!(link.reverse, DirectionSpec::clean());
    assert_ne!(link.forward, DirectionSpec::clean());
}

#[test]
fn an_odd_round_trip_is_halved_without_loss() {
    let link = read("rtt = \"5ns\"");
    let delay = |direction: &DirectionSpec| direction.routes[0].delay_ns;
    assert_eq!((delay(&link.forward), delay(&link.reverse)), (2, 3));
    let link = read("rtt = \"20ms\"\n[forward]\ndelay = \"1ms\"");
    assert_eq!(
        (delay(&link.forward), delay(&link.reverse)),
        (1_000_000, 10_000_000)
    );
}

fn queues(text: &str) -> (Vec<QueueSpec>, Vec<QueueSpec>) {
    let link = read(text);
    let of = |direction: DirectionSpec| direction.routes.into_iter().map(|route| route.queue).collect();
    (of(link.forward), of(link.reverse))
}

/// The one queue of each direction.
fn assert_queues(table: &[(&str, QueueSpec)]) {
    for (text, queue) in table {
        assert_eq!(queues(text), (vec![*queue], vec![*queue]), "{text}");
    }
}

#[test]
fn a_bdp_is_the_rate_of_the_route_times_both_delays() {
    use QueueSpec::{Bytes, Packets, Unlimited};
    let table = [
        // The keynote's labs, 50 kB and 400 kB.
        (
            "rate = \"10Mbit/s\"\nrtt = \"20ms\"\nqueue = \"2bdp\"",
            Bytes(50_000),
        ),
        (
            "rate = \"40Mbit/s\"\nrtt = \"40ms\"\nqueue = \"2bdp\"",
            Bytes(400_000),
        ),
        // 8 kbit/s * 3 ns = 24 bit-microseconds: less than a byte, but a queue holds a packet.
        (
            "rate = \"8kbit/s\"\nrtt = \"3ns\"\nqueue = \"1bdp\"\nmtu = 1400",
            Bytes(1400),
        ),
        ("queue = \"0packets\"", Packets(0)),
        ("queue = \"64KiB\"", Bytes(65_536)),
        ("rate = \"1Gbit/s\"\nqueue = \"unlimited\"", Unlimited),
        // A trace by its mean, 12 Mbit/s: 1.5 * 12 Mbit/s * 10 ms.
        (
            "rate = { steps = [\"1s 4Mbit/s\", \"2s 16Mbit/s\"] }\nrtt = \"10ms\"\nqueue = \"1.5bdp\"",
            Bytes(22_500),
        ),
    ];
    assert_queues(&table);
    // Directions and routes that differ: 8 Mbit/s * (3 + 2) ms = 5 kB, 80 Mbit/s * (10 + 1) ms = 110 kB, back
    // 16 Mbit/s * 5 ms = 10 kB and 16 Mbit/s * 11 ms = 22 kB.
    let routes = queues(
        r#"
        queue = "1bdp"
        [[forward.route]]
        rate = "8Mbit/s"
        delay = "3ms"
        [[forward.route]]
        rate = "80Mbit/s"
        delay = "10ms"
        [reverse]
        rate = "16Mbit/s"
        [[reverse.route]]
        delay = "2ms"
        [[reverse.route]]
        delay = "1ms"
        "#,
    );
    assert_eq!(
        routes,
        (
            vec![Bytes(5000), Bytes(110_000)],
            vec![Bytes(10_000), Bytes(22_000)]
        )
    );
    // With different numbers of routes, the longest return path: 8 Mbit/s * (1 + 9) ms, and 8 Mbit/s * (9 or 4 + 1) ms.
    let routes = queues(
        r#"
        queue = "1bdp"
        rate = "8Mbit/s"
        delay = "1ms"
        [[reverse.route]]
        delay = "9ms"
        [[reverse.route]]
        delay = "4ms"
        "#,
    );
    assert_eq!(routes, (vec![Bytes(10_000)], vec![Bytes(10_000), Bytes(5000)]));
}

#[test]
fn the_default_queue_is_one_bdp_and_at_least_100_packets() {
    use QueueSpec::{Bytes, Unlimited};
    assert_queues(&[
        ("rate = \"1Gbit/s\"\nrtt = \"80ms\"", Bytes(10_000_000)),
        ("rate = \"10Mbit/s\"\nrtt = \"20ms\"", Bytes(150_000)),
        ("rate = \"10Mbit/s\"\nmtu = 9000", Bytes(900_000)),
        ("rtt = \"80ms\"", Unlimited),
    ]);
}

#[test]
fn default_bursts() {
    let caps = |text: &str| {
        let direction = read(text).forward;
        (
            direction.flow_rate.map(|cap| cap.burst),
            direction.packet_rate.map(|cap| cap.burst),
        )
    };
    assert_eq!(
        caps("flow-rate = \"1Mbit/s\"\npacket-rate = 5"),
        (Some(15_000), Some(10))
    );
    assert_eq!(
        caps("flow-rate = { rate = \"5Gbit/s\", burst = \"64KiB\" }\npacket-rate = { rate = 1, burst = 1 }"),
        (Some(65_536), Some(1))
    );
    assert_eq!(
        caps("flow-rate = { rate = \"5Gbit/s\" }\npacket-rate = { rate = 5000 }"),
        (Some(6_250_000), Some(50))
    );
}

fn losses(value: &str) -> Vec<LossSpec> {
    read(&format!("loss = {value}")).forward.routes[0].loss.clone()
}

#[test]
fn loss_processes() {
    assert_eq!(losses("\"0%\""), []);
    assert_eq!(losses("[]"), []);
    assert_eq!(losses("{ mean = \"0%\", burst = 3 }"), []);
    // In the long run a share of to_bad / (to_bad + to_good) is in the bad state: 0.0625 / 0.3125 = 20 %, for 1 /
    // to_good = 4 packets each.
    let gilbert = |to_bad, to_good| LossSpec::GilbertElliott {
        to_bad,
        to_good,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    assert_eq!(losses("{ mean = \"20%\", burst = 4 }"), [gilbert(0.0625, 0.25)]);
    assert_eq!(losses("{ mean = \"50%\", burst = 1 }"), [gilbert(1.0, 1.0)]);
    assert_eq!(losses("{ mean = \"50%\", burst = 2.5 }"), [gilbert(0.4, 0.4)]);
    assert_eq!(
        losses(
            "[\"1%\", { to-bad = \"0.1%\", to-good = \"25%\", loss-good = \"0.5%\", loss-bad = \"50%\" }, \
                { packets = [0, 10, 11] }]"
        ),
        [
            LossSpec::Bernoulli(0.01),
            LossSpec::GilbertElliott {
                to_bad: 0.001,
                to_good: 0.25,
                loss_good: 0.005,
                loss_bad: 0.5
            },
            LossSpec::Packets(vec![0, 10, 11]),
        ]
    );
    assert_eq!(
        losses("{ to-bad = \"0.1%\", to-good = \"25%\" }"),
        [gilbert(0.001, 0.25)]
    );
}

#[test]
fn traces_are_read_beside_the_file_and_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("down.steps", "1s 4Mbit/s\n1s 0\n");
    write("up.mahi", "2\n4\n");
    write(
        "lab.toml",
        "rate = { trace = \"down.steps\" }\n[reverse]\nrate = { trace = \"up.mahi\", format = \"mahimahi\" }",
    );
    let path = folder.path().join("lab.toml");
    let path = path.to_str().expect("a path");
    let link = Profile::open(path)
        .and_then(|profile| profile.spec())
        .expect("a link");
    assert_eq!(link.name, path);
    let step = |rate| RateStep {
        duration_ns: 1_000_000_000,
        rate,
    };
    assert_eq!(
        link.forward.routes[0].rate,
        RateSpec::Steps(vec![step(4_000_000), step(0)])
    );
    let opportunities = RateSpec::Opportunities {
        at_ns: vec![2_000_000, 4_000_000],
        period_ns: 4_000_000,
        bytes: 1504,
    };
    assert_eq!(link.reverse.routes[0].rate, opportunities);

    let mut reads = Vec::new();
    let text = "rate = { trace = \"a\" }\n[[route]]\n[[route]]\nrate = { trace = \"a\" }\n[reverse]\nrate = { trace = \"b\" }";
    let profile = Profile::from_text(text, "t", Path::new(".")).expect("TOML");
    let link = profile.spec_with(&mut |file, format| {
        reads.push((file.to_owned(), format));
        Ok(RateSpec::Fixed(5))
    });
    assert_eq!(link.expect("a link").forward.routes.len(), 2);
    assert_eq!(
        reads,
        [
            ("a".to_owned(), TraceFormat::Steps),
            ("b".to_owned(), TraceFormat::Steps)
        ]
    );
}

#[test]
fn a_small_file_does_not_fill_the_memory() {
    // 256 routes per direction that would all hold a list of 100,000 numbers.
    let numbers: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
    let text = format!(
        "loss = {{ packets = [{}] }}\n{}",
        numbers.join(","),
        "[[route]]\n".repeat(256)
    );
    let error = parse(&text, "t.toml", Path::new("."))
        .expect_err("too much")
        .to_string();
    assert!(
        error.contains("51200000 steps") && error.contains("16000000"),
        "{error}"
    );
    // Many traces, each within its own limit.
    let text: String = (0..256)
        .map(|index| format!("[[route]]\nrate = {{ trace = \"{index}\" }}\n"))
        .collect();
    let profile = Profile::from_text(&text, "t", Path::new(".")).expect("TOML");
    let step = RateStep {
        duration_ns: 1,
        rate: 1,
    };
    let mut reads = 0;
    let read = profile.spec_with(&mut |_, _| {
        reads += 1;
        Ok(RateSpec::Steps(vec![step; 3_000_000]))
    });
    let error = read.expect_err("too much").to_string();
    assert!(error.contains("the traces have, in total"), "{error}");
    assert_eq!(reads, 6);
}

#[test]
fn profiles_and_files_by_name() {
    assert_eq!(
        Profile::open("oracle")
            .and_then(|profile| profile.spec())
            .expect("a link")
            .name,
        "oracle"
    );
    let message = |name: &str| Profile::open(name).expect_err(name).to_string();
    let known = "profiles: aws, google, azure, oracle, home-10M, home-40M, lte, wan-80ms";
    assert_eq!(
        message("oracel"),
        format!("'oracel' is neither a profile nor a file (did you mean oracle?); {known}")
    );
    assert_eq!(
        message("none.toml"),
        format!("'none.toml' is neither a profile nor a file; {known}")
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    fs::write(file("long.toml"), "#".repeat((1 << 20) + 1)).expect("written");
    assert!(
        message(&file("long.toml")).ends_with("the maximum for a link; put long traces into separate files")
    );
    fs::write(file("binary.toml"), b"rtt = \"1s\"\n\xff").expect("written");
    assert!(message(&file("binary.toml")).ends_with("line 2: not text; a link is described in TOML"));
    let message = message(folder.path().to_str().expect("a path"));
    assert!(
        message.starts_with("cannot read the link ") && message.contains("directory"),
        "{message}"
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "(([a-z-]{0,5}(rate|rtt|loss|queue|dark|route|mtu)?(\\.| = )?[\"{\\[]{0,2}[0-9a-z%. ]{0,12}[\"}\\]]{0,2}\n?)|\\[\\[route\\]\\]\n){0,6}") {
        if let Err(error) = parse(&text, "t", Path::new("/nonexistent")) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
