//! IPv4 beside IPv6.

use weir_diagnose::measured::{Family, FirstPacket, FlowTest, RttTest};
use weir_diagnose::{Finding, FindingName, Measured, Severity};
use weir_measure::path_mtu::{MtuReport, MtuSummary};
use weir_measure::rtt::RttPlan;
use weir_measure::survey::IpVersion;
use weir_results::RunId;

use super::sample::{assert_says, clean, losing, named, nothing, the, value};

fn rtt(level_ns: u64) -> RttTest {
    let packet = |number: u64| FirstPacket {
        length: 100,
        rtt_ns: level_ns + number * 1_000,
        network_rtt_ns: None,
    };
    RttTest {
        run: RunId(7),
        plan: RttPlan::default(),
        started_unix_ns: 0,
        sent: 40,
        lost: 0,
        rtt: None,
        blocks: Vec::new(),
        first_packets: (0..40).map(packet).collect(),
        windows: Vec::new(),
    }
}

fn family(version: IpVersion, mtu: u32, rtt_ns: u64, flows: FlowTest) -> Family {
    let report = MtuReport {
        path_mtu: Some(mtu),
        probes: 2,
        interface_mtu: mtu,
    };
    Family {
        version,
        mtu: Some(MtuSummary {
            forward: report,
            reverse: report,
        }),
        rtt: Some(rtt(rtt_ns)),
        flows: Some(flows),
    }
}

fn flows() -> FlowTest {
    clean(8, 1_000, 8_000)
}

fn compared(ipv4: (u32, u64, FlowTest), ipv6: (u32, u64, FlowTest)) -> Finding {
    let families = vec![
        family(IpVersion::Ipv4, ipv4.0, ipv4.1, ipv4.2),
        family(IpVersion::Ipv6, ipv6.0, ipv6.1, ipv6.2),
    ];
    let measured = Measured {
        families,
        ..nothing()
    };
    the(&measured, FindingName::AddressFamilies)
}

#[test]
fn families_that_differ_by_their_headers_alone_are_alike() {
    let found = compared((1500, 200_000, flows()), (1500, 201_000, flows()));
    assert_eq!(found.severity, Severity::Information);
    assert_says(&found.brief, "perform alike");
    // 1500 less 28 and 48 bytes of headers.
    assert_eq!(
        value(&found, "longest payload of the path MTU"),
        serde_json::json!([1472, 1452])
    );
    assert_eq!(named(&nothing(), FindingName::AddressFamilies), []);
}

#[test]
fn the_family_that_loses_is_named_and_the_other_recommended() {
    let found = compared(
        (1500, 200_000, flows()),
        (1500, 200_000, losing(flows(), 0..8, 20)),
    );
    assert_eq!(found.severity, Severity::Fault);
    // Every 20th of 3,000 packets of a flow, but for the first.
    assert_says(&found.brief, "IPv6 loses 4.97 %, IPv4 0 %");
    assert_says(&found.action, "Use IPv4");
    let found = compared(
        (1500, 200_000, losing(flows(), 0..8, 20)),
        (1500, 200_000, flows()),
    );
    assert_says(&found.action, "Use IPv6");
    // One packet in each flow is what routes do.
    let few = losing(flows(), 0..8, 3_000);
    let found = compared((1500, 200_000, few), (1500, 200_000, flows()));
    assert_eq!(found.severity, Severity::Information);
}

#[test]
fn a_longer_way_and_a_smaller_mtu_are_told_with_their_numbers() {
    let found = compared((1500, 20_000_000, flows()), (1280, 35_000_000, flows()));
    assert_eq!(found.severity, Severity::Notice);
    assert_says(&found.brief, "the RTT over IPv6 is 15.0 ms longer");
    assert_says(&found.brief, "payloads of 1232 bytes over IPv6, 1472 over IPv4");
    assert_says(&found.action, "Use IPv4");
}
