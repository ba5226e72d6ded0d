//! `--fail-if`: the exit status and what is said when a limit is crossed.

use weir_rig::{Agent, Host, LIMIT, isolated, run_within, weir};

#[test]
fn a_limit_that_holds_a_limit_that_is_crossed_and_one_that_is_unknown() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let target = agent.local();
    let rtt = |conditions: &[&str]| {
        let mut arguments = vec!["rtt", &target, "--interval", "50ms", "--for", "200ms", "--json"];
        arguments.extend(conditions.iter().flat_map(|condition| ["--fail-if", condition]));
        run_within(LIMIT, weir(&arguments))
    };
    let fine = rtt(&["loss > 0%", "duplicates > 0", "p50 > 10s"]).expect_code(0);
    assert!(!fine.stderr.contains("weir:"), "{}", fine.stderr);
    let crossed = rtt(&["loss > 0%", "p50 > 1ns"]).expect_code(1);
    assert!(crossed.one_error().contains("p50"), "{}", crossed.stderr);
    assert!(crossed.one_error().contains("1 ns"), "{}", crossed.stderr);
    assert!(
        !crossed.one_error().contains("loss"),
        "only what was crossed: {}",
        crossed.stderr
    );
    assert_eq!(crossed.json()["lost"], 0, "the result is printed all the same");
    // The run itself went well: that it crossed a limit is the exit status's to say.
    assert_eq!(crossed.json()["run"]["outcome"], "finished");

    for (condition, word) in [
        ("latency > 1ms", "latency"),
        ("p50 > 5", "5"),
        ("loss ~ 1%", "loss"),
        ("silence > 1s", "does not measure silence"),
    ] {
        let done = rtt(&[condition]).expect_code(2);
        assert!(done.stderr.contains(word), "{condition}: {}", done.stderr);
        assert!(done.stdout.is_empty());
    }
}

#[test]
fn limits_on_flows() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let flows = |condition: &str| {
        run_within(
            LIMIT,
            weir(&[
                "flows",
                &agent.local(),
                "--rate",
                "5Mbit/s",
                "--length",
                "1000",
                "--flows",
                "2",
                "--for",
                "1s",
                "--fail-if",
                condition,
            ]),
        )
    };
    flows("loss > 0%").expect_code(0);
    let slow = flows("rate < 1Gbit/s").expect_code(1);
    assert!(slow.one_error().contains("rate"), "{}", slow.stderr);
    let unknown = flows("jitter > 1ms").expect_code(2);
    assert!(
        unknown.one_error().contains("does not measure jitter"),
        "{}",
        unknown.stderr
    );
}
