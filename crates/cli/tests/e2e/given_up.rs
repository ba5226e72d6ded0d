//! A test that cannot be made as it was requested does not begin.

use weir_rig::{Agent, Host, LIMIT, isolated, join_by_veth, run_within, weir};

#[test]
fn packets_too_long_for_the_interface_are_refused_before_the_first() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open"]);
    let target = agent.at(weir_rig::FAR_IPV4);
    let done = run_within(
        LIMIT,
        weir(&["rtt", &target, "--length", "100..9000", "--for", "1h"]),
    )
    .expect_code(2);
    let error = done.one_error();
    assert!(
        error.contains("--length 9000 does not fit") && error.contains("1472"),
        "{error}"
    );
}
