//! Options of a command line over files and profiles.

use super::*;

fn with(text: &str, flags: LinkFlags) -> Result<LinkSpec, ProfileError> {
    let mut profile = Profile::from_text(text, "t.toml", Path::new("."))?;
    profile.apply(&flags)?;
    profile.spec()
}

fn set(text: &str, assignments: &[&str]) -> Result<LinkSpec, ProfileError> {
    let set = assignments.iter().map(|text| (*text).to_owned()).collect();
    with(
        text,
        LinkFlags {
            set,
            ..LinkFlags::default()
        },
    )
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn flags_alone_make_the_link_of_the_same_file() {
    let flags = LinkFlags {
        rate: some("10Mbit/s"),
        rtt: some("20ms"),
        jitter: some("1ms"),
        reorder: true,
        queue: some("2bdp"),
        loss: some("0.1%"),
        burst: some("5"),
        mtu: Some(1400),
        routes: Some(3),
        flow_rate: some("5Mbit/s"),
        packet_rate: Some(1000),
        hide_five_tuple: true,
        duplicate: some("0.01%"),
        corrupt: some("0.02%"),
        seed: Some(9),
        ..LinkFlags::default()
    };
    let same = r#"
        rate = "10Mbit/s"
        rtt = "20ms"
        jitter = "1ms"
        reorder = true
        queue = "2bdp"
        loss = { mean = "0.1%", burst = 5 }
        mtu = 1400
        flow-rate = "5Mbit/s"
        packet-rate = 1000
        hide-five-tuple = true
        duplicate = "0.01%"
        corrupt = "0.02%"
        seed = 9
        [[route]]
        [[route]]
        [[route]]
    "#;
    assert_eq!(with("", flags).expect("a link"), read(same));
    let flags = LinkFlags {
        delay: some("10ms"),
        ..LinkFlags::default()
    };
    assert_eq!(with("", flags).expect("a link"), read("delay = \"10ms\""));
}

#[test]
fn a_flag_holds_for_every_route_and_direction() {
    let file = r#"
        loss = "1%"
        rtt = "9ms"
        [[route]]
        loss = "2%"
        weight = 2
        [[route]]
        delay = "7ms"
        [reverse]
        loss = "3%"
        delay = "3ms"
        [[reverse.route]]
        loss = { packets = [1] }
        queue = "7packets"
    "#;
    let flags = LinkFlags {
        loss: some("0.5%"),
        rtt: some("4ms"),
        ..LinkFlags::default()
    };
    let same = r#"
        loss = "0.5%"
        rtt = "4ms"
        [[route]]
        weight = 2
        [[route]]
        [[reverse.route]]
        queue = "7packets"
    "#;
    assert_eq!(with(file, flags).expect("a link"), read(same));
    let flags = LinkFlags {
        routes: Some(2),
        ..LinkFlags::default()
    };
    let same =
        "loss = \"1%\"\nrtt = \"9ms\"\n[[route]]\n[[route]]\n[reverse]\nloss = \"3%\"\ndelay = \"3ms\"";
    assert_eq!(with(file, flags).expect("a link"), read(same));
}

#[test]
fn a_key_is_set_where_its_path_leads() {
    let file = "loss = \"1%\"\n[[route]]\nloss = \"2%\"\n[[route]]\nloss = \"3%\"\n";
    let shares = |link: LinkSpec| {
        let of = |direction: DirectionSpec| -> Vec<f64> {
            direction
                .routes
                .iter()
                .map(|route| route.loss[0].mean())
                .collect()
        };
        (of(link.forward), of(link.reverse))
    };
    let after = |assignments: &[&str]| shares(set(file, assignments).expect("a link"));
    assert_eq!(
        after(&["route.1.loss=0.05%"]),
        (vec![0.02, 0.0005], vec![0.02, 0.0005])
    );
    assert_eq!(
        after(&["route[0].loss = 5%"]),
        (vec![0.05, 0.03], vec![0.05, 0.03])
    );
    assert_eq!(after(&["loss=5%"]), (vec![0.02, 0.03], vec![0.02, 0.03]));
    // A route of one direction only; the other is unchanged.
    assert_eq!(
        after(&["forward.route.1.loss=\"9%\""]),
        (vec![0.02, 0.09], vec![0.02, 0.03])
    );
    assert_eq!(
        after(&["reverse.route.0.loss=9%", "route.0.loss=8%"]),
        (vec![0.08, 0.03], vec![0.09, 0.03])
    );
}

#[test]
fn set_takes_toml_and_plain_text() {
    let plain = [
        ("rtt=20ms", "rtt = \"20ms\""),
        ("mtu=1400", "mtu = 1400"),
        ("hide-five-tuple=true", "hide-five-tuple = true"),
        (
            "rate={ steps = [\"1s 1Mbit/s\"] }",
            "rate = { steps = [\"1s 1Mbit/s\"] }",
        ),
        (
            "loss=[\"1%\", { packets = [3] }]",
            "loss = [\"1%\", { packets = [3] }]",
        ),
        ("reverse.loss=1%", "[reverse]\nloss = \"1%\""),
        (
            "route.0.dark=[{ from = '1s', to = '2s' }]",
            "[[route]]\ndark = [{ from = '1s', to = '2s' }]",
        ),
        ("spread='per-packet'", "spread = \"per-packet\""),
        ("spread=per-packet", "spread = \"per-packet\""),
    ];
    for (assignment, text) in plain {
        assert_eq!(
            set("", &[assignment]).expect(assignment),
            read(text),
            "{assignment}"
        );
    }
    let link = set("loss = { mean = \"1%\", burst = 2 }", &["loss.burst=4"]).expect("a link");
    assert_eq!(link, read("loss = { mean = \"1%\", burst = 4 }"));
    let flags = LinkFlags {
        routes: Some(2),
        loss: some("1%"),
        set: vec!["route.1.loss=2%".to_owned()],
        ..LinkFlags::default()
    };
    assert_eq!(
        with("", flags).expect("a link"),
        read("loss = \"1%\"\n[[route]]\n[[route]]\nloss = \"2%\"")
    );
}

#[test]
fn refusals_name_the_option() {
    let message = |result: Result<LinkSpec, ProfileError>| result.expect_err("bad").to_string();
    let flags = |change: fn(&mut LinkFlags)| {
        let mut flags = LinkFlags::default();
        change(&mut flags);
        message(with("rate = \"1Mbit/s\"\n[[route]]\nloss = \"1%\"", flags))
    };
    type Change = fn(&mut LinkFlags);
    let table: [(Change, &str); 9] = [
        (
            |f| f.loss = some("120%"),
            "--loss: loss = \"120%\": '120%' is too large; the maximum is 100%",
        ),
        (
            |f| f.rate = some("0Mbit/s"),
            "--rate: rate = \"0Mbit/s\": the rate must be above zero; write a rate such as 2.5Gbit/s",
        ),
        (
            |f| f.queue = some("2bdp"),
            "--queue: queue = \"2bdp\": without a delay the BDP is 0; set rtt, too, or write bytes or packets",
        ),
        (
            |f| f.reorder = true,
            "--reorder: reorder = true: needs jitter, too, such as jitter = \"1ms\"",
        ),
        (|f| f.routes = Some(0), "--routes 0: write a number from 1 to 256"),
        (
            |f| f.burst = some("3"),
            "--burst: needs --loss, the mean loss of these bursts",
        ),
        (
            |f| (f.loss, f.burst) = (some("1%"), some("x")),
            "--loss: loss.burst = \"x\": write the mean number of packets in a burst, from 1 to 1000000",
        ),
        (
            |f| (f.rtt, f.delay) = (some("1ms"), some("1ms")),
            "--rtt: cannot be combined with --delay, which is half of it",
        ),
        (
            |f| f.seed = Some(u64::MAX),
            "--seed: seed = \"18446744073709551615\": write a whole number from 0 to 9223372036854775807",
        ),
    ];
    for (change, expected) in table {
        assert_eq!(flags(change), expected);
    }
    let file = "loss = \"1%\"\n[[route]]\n[[route]]\n";
    let table = r#"
        loss => write KEY=VALUE, such as loss=0.1%
        loss= => has no value; write KEY=VALUE, such as loss=0.1%
        =1% => '' is not a key; write one such as loss or route.1.loss
        a b=1% => 'a b' is not a key; write one such as loss or route.1.loss
        1.loss=1% => a key begins with a name, such as loss or route.1.loss
        los=1% => los = "1%": unknown key; did you mean loss?
        loss=120% => loss = "120%": '120%' is too large; the maximum is 100%
        mtu=64 => mtu = 64: write bytes of IP packet as a whole number from 576 to 65535
        route.2.loss=1% => route has no entry 2, only 0 to 1
        forward.route.2.loss=1% => forward.route has no entry 2, only 0 to 1
        loss.mean=1% => loss is "1%", which has no key mean
        loss.0=1% => loss is "1%", which has no entry 0
        forward.dark.1.from=1s => forward.dark has no entry 1, only 0; add routes with --routes
        route.0.rate.trace=x => route[0].rate.trace = "x": No such file or directory (os error 2)
    "#;
    for row in table.trim().lines() {
        let (assignment, problem) = row.trim().split_once(" => ").expect("a row");
        let expected = format!("--set '{assignment}': {problem}");
        assert_eq!(message(set(file, &[assignment])), expected);
    }
    // Two keys in one: neither.
    let error = message(set("", &["mtu=1400\nrtt = \"1ms\""]));
    assert_eq!(
        error,
        "--set 'mtu=1400\\nrtt = \"1ms\"': write one value on one line"
    );
    let error = message(set("", &["loss=[\"1%\""]));
    assert!(error.starts_with("--set 'loss=[\"1%\"': "), "{error}");
    // An error in the file still names the file.
    assert!(message(set("los = 1", &["loss=1%"])).starts_with("t.toml: los"));
}

proptest! {
    #[test]
    fn no_assignment_panics(assignment in "(loss|route|forward|rate|dark)?([.\\[][0-9a-z]{0,3}\\]?){0,3}=?[\"{\\[]?[a-z0-9%=. ]{0,8}[\"}\\]]?") {
        for file in ["", "loss = [1]\n[[route]]\n[[route]]", "forward = 3\nroute = 4"] {
            if let Err(error) = set(file, &[&assignment]) {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
