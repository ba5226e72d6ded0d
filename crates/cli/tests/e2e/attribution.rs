//! Losses at the receiver's socket are distinguished from those in the network.

use weir_rig::{Agent, Host, LIMIT, count, isolated, run_within, weir};

#[test]
fn a_socket_that_overflows_is_blamed_for_the_loss() {
    isolated!(heavy);
    let agent = Agent::start(Host::Near, &[]);
    for offload in [&["--no-gso", "--no-gro"][..], &[]] {
        let target = agent.local();
        let arguments = [
            &[
                "flows",
                &target,
                "--rate",
                "400Mbit/s",
                "--length",
                "1400",
                "--flows",
                "2",
            ][..],
            &["--for", "2s", "--receive-buffer", "8kB", "--json"],
            offload,
        ]
        .concat();
        let said = run_within(LIMIT, weir(&arguments)).expect_code(0).json();
        let forward = &said["forward"];
        let (lost, attribution) = (count(&forward["lost"]), &forward["attribution"]);
        assert!(lost > 100, "a buffer of 8 kB cannot hold a burst: {forward}");
        let socket = count(&attribution["socket"]);
        assert!(2 * socket > lost, "{lost} lost, and {attribution}");
        let parts = ["socket", "host_receiver", "host_sender", "network"];
        assert_eq!(
            parts.iter().map(|part| count(&attribution[part])).sum::<u64>(),
            lost - count(&forward["late"])
        );
        assert_eq!(
            count(&forward["sent"]),
            count(&forward["received"]) + lost,
            "{forward}"
        );
        if offload.is_empty() {
            continue;
        }
        // Without merging a drop is a packet, and nothing else on loopback drops any.
        let drops: u64 = forward["per_flow"]
            .as_array()
            .expect("flows")
            .iter()
            .map(|flow| count(&flow["socket_drops"]))
            .sum();
        assert_eq!((drops, socket), (lost, lost), "{forward}");
        assert_eq!(attribution["estimated"], false);
    }
}
