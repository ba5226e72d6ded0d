//! `weir tcp` across an emulated link: the kernels hold the window that was asked for, both ways.

use serde_json::Value;

use weir_rig::{count, isolated, lab_run, nothing_is_left, see_own_processes};

use crate::documented;

const RTT_S: f64 = 0.080;
/// Largest step of a window (RFC 7323 section 2.3).
const STEP: u64 = 1 << 14;

/// The tests of `weir tcp` with these options across 80 ms.
#[track_caller]
fn tested(rate: &str, options: &str) -> Value {
    let line = format!("weir tcp far --json -q {options}");
    let link = ["--rtt", "80ms", "--rate", rate, "--queue", "1bdp"];
    let (said, _) = lab_run(&link, &line.split(' ').collect::<Vec<_>>());
    documented("tcp", &said);
    said
}

#[test]
fn kernels_hold_windows_and_carry_no_more_than_one_per_round_trip() {
    isolated!(heavy);
    see_own_processes();
    for way in ["", " --reverse"] {
        let said = tested(
            "50Mbit/s",
            &format!("--window 32KiB..128KiB --for 3s --omit 1s{way}"),
        );
        let tests = said["tests"].as_array().expect("tests");
        assert_eq!(tests.len(), 3, "{said}");
        for (test, asked) in tests.iter().zip([32_768_u64, 65_536, 131_072]) {
            let window = &test["window"];
            assert_eq!(count(&window["asked_bytes"]), asked);
            let announced = count(&window["announced_bytes"]);
            // It is announced in steps, whose size the kernel chooses.
            assert!(announced > asked / 2 && announced <= asked + STEP, "{window}");
            // The link delays by 80 ms at least, however busy the host is.
            let most = 1.05 * announced as f64 * 8.0 / RTT_S;
            let goodput = count(&test["goodput"]);
            assert!(goodput > 0 && (goodput as f64) < most, "{goodput} of {most}");
            assert_eq!(
                test["direction"],
                if way.is_empty() { "forward" } else { "reverse" }
            );
        }
    }
    nothing_is_left();
}
