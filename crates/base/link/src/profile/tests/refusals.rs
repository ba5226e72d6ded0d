//! Every bad value gives one line with the key, the value and what is allowed.

use super::*;

/// Rows `TEXT => PROBLEM`, or `TEXT => PLACE => PROBLEM` if the place is not the whole text. A row goes on in
/// lines that are indented by four more columns; `\n` in a text is a line break.
fn refused(table: &str) {
    for row in table.replace("\n            ", " ").trim().lines() {
        let (text, rest) = row.trim().split_once(" => ").expect("a row");
        let (place, problem) = rest.split_once(" => ").unwrap_or((text, rest));
        let error = parse(&text.replace("\\n", "\n"), "t.toml", Path::new("/nonexistent")).expect_err(text);
        assert_eq!(error.to_string(), format!("t.toml: {place}: {problem}"), "{text}");
    }
}

#[test]
fn quantities() {
    refused(
        r#"
        rate = "0Mbit/s" => the rate must be above zero; write a rate such as 2.5Gbit/s
        rate = 0 => the rate must be above zero; write a rate such as 2.5Gbit/s
        rate = 10 => '10' has no unit; write 10Mbit/s or 10Gbit/s
        rate = 2.5 => '2.5' has no unit; write 2.5Mbit/s or 2.5Gbit/s
        rate = "-1Mbit/s" => must not be negative; write it like "10Mbit/s"
        rate = "10MB/s" => '10MB/s' could mean bits or bytes; write 10Mbit/s or 80Mbit/s
        rate = "2000Tbit/s" => the maximum is 1000Tbit/s
        delay = "-5ms" => must not be negative; write it like "10ms"
        delay = -5 => must not be negative; write it like "10ms"
        rtt = 20 => '20' has no unit; write 20s, or use another of ns, us, ms, min, h, d
        rtt = "2d" => write a time from 0s to 24h
        rtt = true => write it as text, such as "10ms"
        rtt = ["1ms"] => write it as text, such as "10ms"
        delay = "1ms"\nrtt = "2ms" => rtt = "2ms" => write rtt or delay, not both: delay is half of rtt
        loss = "120%" => '120%' is too large; the maximum is 100%
        loss = 0.1 => '0.1' has no unit; write 0.1%, or 10% if it is a fraction of 1
        corrupt = "lots" => 'lots' is not a percentage; write it like 0.1%
        queue = 100 => '100' has no unit; write 100packets, 100kB or 100bdp
        queue = "2bdp" => an unlimited rate has no BDP; set rate, too, or write bytes or packets
        queue = "2bdp"\nrate = "1Mbit/s"
            => queue = "2bdp" => without a delay the BDP is 0; set rtt, too, or write bytes or packets
        "#,
    );
}

#[test]
fn managed_queues() {
    refused(
        r#"
        queue = [] => write "2bdp", "50kB", "100packets", "unlimited" or { kind = "fq-codel" }
        queue = { limit = "1MB" } => lacks kind
        queue = { kind = "fifo" } => queue.kind = "fifo" => write "tail-drop" or "red" or "codel" or "pie" or "fq-codel" or
            "dualpi2"
        queue = { kind = "codel", limit = "0packets" }
            => queue.limit = "0packets" => a managed queue holds 1 packet or more
        queue = { kind = "codel", target = "0s" } => queue.target = "0s" => write a time from 1us to 100s
        queue = { kind = "codel", interval = "2h" } => queue.interval = "2h" => write a time from 1us to 100s
        queue = { kind = "codel", max-packet = 0 }
            => queue.max-packet = 0 => write bytes of IP packet as a whole number from 1 to 65535
        queue = { kind = "codel", ecn = "on" } => queue.ecn = "on" => write true or false, without quotes
        queue = { kind = "codel", targit = "1ms" } => queue.targit = "1ms" => unknown key; did you mean target?
        queue = { kind = "red", minimum = 9, maximum = 9 }
            => queue.maximum = 9 => the maximum must be above the minimum
        queue = { kind = "red", minimum = 1000000 }
            => queue.minimum = 1000000 => the maximum must be above the minimum
        queue = { kind = "red", maximum = nan }
            => queue.maximum = NaN => write packets as a number from 0 to 1000000
        queue = { kind = "red", weight = 0 }
            => queue.weight = 0 => write a weight as a number from 0.000000001 to 1
        queue = { kind = "pie", alpha = -1 } => queue.alpha = -1 => write a gain in Hz as a number from 0 to 1000
        queue = { kind = "pie", beta = inf } => queue.beta = inf => write a gain in Hz as a number from 0 to 1000
        queue = { kind = "pie", update = "0s" } => queue.update = "0s" => write a time from 1us to 100s
        queue = { kind = "pie", max-burst = "1h" } => queue.max-burst = "1h" => write a time from 0s to 100s
        queue = { kind = "pie", mark-below = 1 }
            => queue.mark-below = 1 => '1' has no unit; write 1%, or 100% if it is a fraction of 1
        queue = { kind = "fq-codel", flows = 100000 }
            => queue.flows = 100000 => write the number of queues as a whole number from 1 to 65536
        queue = { kind = "fq-codel", quantum = 0 }
            => queue.quantum = 0 => write bytes of IP packet as a whole number from 1 to 65535
        route = [{}, {}, {}, {}, {}]\nqueue = { kind = "fq-codel", flows = 65536 }
            => forward.route.queue.flows = 327680 of all routes together
            => the routes of a direction have at most 262144 queues for flows
        queue = { kind = "dualpi2", coupling = 0 }
            => queue.coupling = 0 => write a coupling factor as a number from 0.001 to 1000
        queue = { kind = "dualpi2", classic-share = "200%" }
            => queue.classic-share = "200%" => '200%' is too large; the maximum is 100%
        queue = { kind = "dualpi2", threshold-packets = -1 }
            => queue.threshold-packets = -1 => write packets as a whole number from 0 to 1000000
        queue = { kind = "dualpi2", range = "10min" } => queue.range = "10min" => write a time from 0s to 100s
        queue = { kind = "tail-drop", ecn = true } => queue.ecn = true => unknown key; write one of kind, limit
        queue = { kind = "codel", limit = "2bdp" }
            => queue.limit = "2bdp" => an unlimited rate has no BDP; set rate, too, or write bytes or packets
        "#,
    );
}

#[test]
fn other_values() {
    refused(
        r#"
        mtu = 100 => write bytes of IP packet as a whole number from 576 to 65535
        mtu = "1500" => write bytes of IP packet as a whole number from 576 to 65535
        interface-mtu = 65536 => write bytes of IP packet as a whole number from 576 to 65535
        too-big = "tell" => write "icmp" or "drop"
        spread = 1 => write "five-tuple" or "source-port" or "per-packet"
        reorder = "yes" => write true or false, without quotes
        reorder = true => needs jitter, too, such as jitter = "1ms"
        seed = -1 => write a seed as a whole number from 0 to 9223372036854775807
        seed = "x" => write a whole number from 0 to 9223372036854775807
        packet-rate = 0 => write packets per second as a whole number from 1 to 1000000000000000
        flow-rate = { rate = "1Mbit/s", burst = "0B" }
            => flow-rate.burst = "0B" => the amount must be above zero; write an amount such as 4MiB
        flow-rate = { burst = "1kB" } => lacks rate
        flow-rate = { rate = "1Mbit/s", bust = "1kB" }
            => flow-rate.bust = "1kB" => unknown key; did you mean burst?
        long-packets = "3%" => write { above = 1428, loss = "3%" }
        dark = [{ from = "4s", to = "3s" }]
            => dark[0] = { from = "4s", to = "3s" } => to must be later than from
        dark = [{ from = "4s", to = "5s" }, { from = "4s", to = "6s" }]
            => dark[1] = { from = "4s", to = "6s" } => must not begin before the previous span has ended
        dark = "3s" => write a list such as [{ from = "3s", to = "4s" }]
        dark = [{ from = "3s" }] => dark[0] = { from = "3s" } => lacks to
        rate = "1Mbit/s"\nqueue = "0B"\n[reverse]\nrate = { trace = "x" }
            => reverse.rate.trace = "x" => No such file or directory (os error 2)
        rate = { steps = ["1s 1Mbit/s", "1s"] }
            => rate.steps[1] = "1s" => '1s' is not a step; write a duration and a rate, such as 5s 10Mbit/s
        rate = { steps = ["1s 0"] }
            => rate.steps = ["1s 0"] => no step has a rate above 0; write one such as 5s 10Mbit/s
        rate = { steps = [3] } => rate.steps[0] = 3 => write text such as "5s 10Mbit/s"
        rate = { trace = 3 } => rate.trace = 3 => write the name of a file in quotes
        rate = { trace = "x", format = "pcap" } => rate.format = "pcap" => write "steps" or "mahimahi"
        "#,
    );
}

#[test]
fn losses() {
    let forms = "write \"0.1%\", { mean = \"0.1%\", burst = 5 }, { to-bad = \"0.1%\", to-good = \"20%\" }, \
                 { packets = [10, 11] } or a list of these";
    refused(
        r#"
        loss = { mean = "1%" } => lacks burst
        loss = { mean = "1%", burst = 0.5 }
            => loss.burst = 0.5 => write the mean number of packets in a burst, from 1 to 1000000
        loss = { mean = "60%", burst = 1 }
            => loss.mean = "60%" => with bursts of 1 packets the maximum mean is 50.0000%
        loss = ["1%", { mean = "100%", burst = 9 }]
            => loss[1].mean = "100%" => with bursts of 9 packets the maximum mean is 90.0000%
        loss = { to-bad = "1%", to-good = "110%" }
            => loss.to-good = "110%" => '110%' is too large; the maximum is 100%
        loss = { packets = [3, 3] } => loss.packets[1] = 3 => must be above the previous number
        loss = { packets = [-3] }
            => loss.packets[0] = -3
            => write a packet's number, counted from 0, as a whole number from 0 to 9223372036854775807
        loss = { packets = 3 } => loss.packets = 3 => write a list, such as [10, 11]
        loss = { packets = [3], mean = "1%" } => loss.mean = "1%" => unknown key; write one of packets
        "#,
    );
    refused(&format!(
        r#"
        loss = true => {forms}
        loss = {{}} => loss = {{ }} => {forms}
        loss = [["1%"]] => loss[0] = ["1%"] => {forms}
        "#,
    ));
}

#[test]
fn keys_and_tables() {
    refused(
        r#"
        los = "1%" => unknown key; did you mean loss?
        interface_mtu = 1500 => unknown key; did you mean interface-mtu?
        forward = 3 => write a table, headed [forward]
        [forward]\nrtt = "3ms" => forward.rtt = "3ms" => write delay, the delay of one direction
        [[route]]\nrtt = "3ms" => route[0].rtt = "3ms" => write delay, the delay of one direction
        [[route]]\nweight = 0 => route[0].weight = 0 => write a weight as a whole number from 1 to 1000000
        route = [] => route = 0 routes => write from 1 to 256
        [route]\nloss = "1%"
            => route = { loss = "1%" } => write each route as a table of its own, headed [[route]]
        [[forward.route]]\n[[forward.route]]\nloss = "120%"
            => forward.route[1].loss = "120%" => '120%' is too large; the maximum is 100%
        "#,
    );
    // Overridden values are checked, too.
    refused(
        r#"
        delay = "garbage"\n[forward]\ndelay = "1ms"\n[reverse]\ndelay = "1ms"
            => delay = "garbage" => 'garbage' is not a time; write it like 10s, 200ms or 1h30min
        rate = { steps = ["1s 1Mbit/s"] }\nqueue = "10packets"\nseed = 1979-05-27
            => seed = 1979-05-27 => write a whole number from 0 to 9223372036854775807
        "#,
    );
    let common =
        "mtu, too-big, flow-rate, packet-rate, hide-five-tuple, extra-flow-loss, long-packets, spread";
    let of_routes = "rate, delay, jitter, reorder, queue, loss, duplicate, corrupt, overhead, dark";
    let of_link = format!("rtt, interface-mtu, seed, {common}, {of_routes}, route, forward, reverse");
    let of_direction = format!("{common}, {of_routes}, route");
    refused(&format!(
        r#"
        weight = 1 => unknown key; write one of {of_link}
        'a b' = 1 => unknown key; write one of {of_link}
        [forward]\nseed = 3 => forward.seed = 3 => unknown key; write one of {of_direction}
        [[route]]\n[[route]]\nmtu = 1400
            => route[1].mtu = 1400 => unknown key; write one of {of_routes}, weight
        "#,
    ));
    let many = "[[route]]\\n".repeat(257);
    refused(&format!("{many} => route = 257 routes => write from 1 to 256"));
}

#[test]
fn what_only_the_core_refuses_names_the_key_too() {
    let text = "rate = { trace = \"x\", format = \"mahimahi\" }\nqueue = \"0packets\"";
    let profile = Profile::from_text(text, "t.toml", Path::new(".")).expect("TOML");
    let trace = RateSpec::Opportunities {
        at_ns: vec![1],
        period_ns: 1,
        bytes: 1504,
    };
    let error = profile
        .spec_with(&mut |_, _| Ok(trace.clone()))
        .expect_err("no queue");
    assert_eq!(
        error.to_string(),
        "t.toml: forward.route[0].queue = 0: packets wait for the opportunities of a trace: write a queue of 1 packet or more"
    );
}

#[test]
fn what_is_not_toml_names_the_line() {
    let line = |text: &str| {
        let error = parse(text, "t.toml", Path::new(".")).expect_err(text);
        assert!(!error.to_string().contains('\n'), "{error}");
        match error {
            ProfileError::Syntax { line, .. } => line,
            other => panic!("{other}"),
        }
    };
    assert_eq!(line("rtt = \"1ms\"\n\nrate = 10Mbit/s\n"), 3);
    assert_eq!(line("rtt = \"1ms\"\nrtt = \"2ms\"\n"), 2);
    assert_eq!(line("rtt = \"1ms\n"), 1);
    assert_eq!(line("[route\n"), 1);
    assert_eq!(line(&format!("a = {}", "[".repeat(100_000))), 1);
}

#[test]
fn long_values_are_cut_and_control_characters_shown() {
    let long = format!("rtt = \"{}\"", "9".repeat(500_000));
    let error = parse(&long, "t.toml", Path::new("."))
        .expect_err("too long")
        .to_string();
    assert!(
        error.len() < 400 && error.ends_with(": too long; write it like \"10ms\""),
        "{error}"
    );
    let nested = format!("rtt = {}", "[".repeat(30) + &"]".repeat(30));
    let error = parse(&nested, "t.toml", Path::new("."))
        .expect_err("no time")
        .to_string();
    assert!(error.len() < 400, "{error}");
    let error = parse("rtt = \"\\u001b[31m\\n\"", "t.toml", Path::new("."))
        .expect_err("no time")
        .to_string();
    assert!(!error.contains('\u{1b}') && !error.contains('\n'), "{error}");
}
