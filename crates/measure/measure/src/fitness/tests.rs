use weir_net::host::HostFacts;
use weir_record::{CloudFacts, Side};
use weir_units::Rate;

use super::*;
use crate::path_mtu::MtuReport;

const UHD: Rate = Rate(8_000_000_000);
const HD: Rate = Rate(2_500_000_000);

/// A host with nothing amiss at 8 Gbit/s.
fn fit() -> HostFacts {
    let text = |text: &str| Some(text.to_owned());
    HostFacts {
        cores: 8,
        interface: text("eth0"),
        interface_rate: Some(25_000_000_000),
        mtu: Some(9_001),
        rmem_max: Some(8 << 20),
        wmem_max: Some(4 << 20),
        open_files: Some(1_024),
        instance: CloudFacts {
            cloud: text("aws"),
            instance_type: text("c5n.4xlarge"),
            ..CloudFacts::default()
        },
        queues: Some(8),
        queues_max: Some(8),
        rx_ring: Some(4_096),
        rx_ring_max: Some(16_384),
        offloads: ["rx-gro", "tx-generic-segmentation", "tx-scatter-gather"]
            .map(str::to_owned)
            .to_vec(),
        cpu_steal: Some(0.001),
        governor: text("performance"),
        clock_source: text("tsc"),
        clock_synchronised: Some(true),
        clock_error_ns: Some(20_000),
        ..HostFacts::default()
    }
}

/// What is not good, with what mends it.
fn bad(facts: &HostFacts, rate: Rate) -> Vec<(CheckName, Fitness, String)> {
    let checks = check_host(facts, Side::Local, rate);
    checks
        .into_iter()
        .filter(|check| check.fitness > Fitness::Good)
        .map(|check| (check.name, check.fitness, check.mend.expect("what mends it").text))
        .collect()
}

#[track_caller]
fn one(change: impl FnOnce(&mut HostFacts), name: CheckName, fitness: Fitness, mend: &str) {
    let mut facts = fit();
    change(&mut facts);
    assert_eq!(bad(&facts, UHD), [(name, fitness, mend.to_owned())]);
}

#[track_caller]
fn warns(change: impl FnOnce(&mut HostFacts), name: CheckName, mend: &str) {
    one(change, name, Fitness::Warning, mend);
}

#[test]
fn a_fit_host_passes_every_check_and_an_unknown_one_none() {
    let checks = check_host(&fit(), Side::Remote, UHD);
    assert_eq!(checks.len(), 14);
    assert!(
        checks
            .iter()
            .all(|check| check.side == Side::Remote && check.mend.is_none())
    );
    assert_eq!((worst(&checks), amiss(&checks)), (Fitness::Good, None));
    assert_eq!(check_host(&HostFacts::default(), Side::Local, UHD), []);
}

#[test]
fn each_fact_that_is_amiss_is_named_with_what_mends_it() {
    use CheckName::*;
    // 8 Gbit/s for 8 ms are 8,000,000 bytes; for 2 ms 2,000,000; in packets of 1500 bytes 1333.
    warns(
        |host| host.rmem_max = Some(212_992),
        ReceiveBuffer,
        "sysctl -w net.core.rmem_max=8388608",
    );
    warns(
        |host| host.wmem_max = Some(212_992),
        SendBuffer,
        "sysctl -w net.core.wmem_max=2097152",
    );
    warns(
        |host| host.rx_ring = Some(1_024),
        ReceiveRing,
        "ethtool -G eth0 rx 2048",
    );
    warns(
        |host| host.queues = Some(1),
        Queues,
        "Give eth0 more queues: 'ethtool -L eth0 combined 4', or 'rx 4' where they are separate.",
    );
    warns(
        |host| host.offloads.retain(|name| name != "rx-gro"),
        Offloads,
        "ethtool -K eth0 gro on",
    );
    warns(
        |host| host.mtu = Some(1_500),
        InterfaceMtu,
        "ip link set dev eth0 mtu 9000",
    );
    warns(|host| host.open_files = Some(256), OpenFiles, "ulimit -n 1024");
    warns(
        |host| host.clock_synchronised = Some(false),
        Clock,
        "systemctl enable --now chrony",
    );
    warns(
        |host| host.governor = Some("powersave".into()),
        Governor,
        "cpupower frequency-set --governor performance",
    );
    warns(
        |host| host.clock_source = Some("hpet".into()),
        ClockSource,
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    );
    one(
        |host| host.interface_rate = Some(5_000_000_000),
        InterfaceRate,
        Fitness::Fault,
        "Use a faster interface than eth0, or a lower rate.",
    );
    warns(
        |host| host.instance.instance_type = Some("t3.micro".into()),
        InstanceType,
        "Use an instance type whose CPU and network do not run on credits.",
    );
    warns(|host| host.cores = 3, Cores, "Use a host with more cores.");
    warns(
        |host| host.cpu_steal = Some(0.02),
        CpuSteal,
        "Use an instance with cores of its own, not a burstable or shared type.",
    );
    warns(
        |host| host.clock_error_ns = Some(5_000_000),
        Clock,
        "Use a nearer time source; the cloud's own is best ('chronyc sources').",
    );
}

#[test]
fn threads_that_may_not_go_before_others_are_told() {
    assert_eq!(
        (check_real_time(true).fitness, check_real_time(true).mend),
        (Fitness::Good, None)
    );
    let refused = check_real_time(false);
    assert_eq!(
        (refused.name, refused.fitness),
        (CheckName::RealTime, Fitness::Warning)
    );
    assert!(
        refused
            .mend
            .is_some_and(|mend| mend.text.starts_with("setcap cap_sys_nice=ep"))
    );
}

#[test]
fn a_lower_rate_asks_for_less() {
    let mut facts = fit();
    facts.cores = 2;
    (facts.mtu, facts.rmem_max, facts.wmem_max) = (Some(1_500), Some(4 << 20), Some(1 << 20));
    (facts.rx_ring, facts.queues) = (Some(512), Some(2));
    assert_eq!(bad(&facts, HD), []);
    // Buffers, cores, MTU and ring; two cores have no use for more than two queues.
    assert_eq!(bad(&facts, UHD).len(), 5);
    // A ring, or queues, that the card cannot enlarge are not asked for.
    (facts.rx_ring_max, facts.queues_max, facts.cores) = (Some(512), Some(2), 4);
    assert_eq!(bad(&facts, UHD).len(), 3);
}

#[test]
fn a_path_is_open_and_as_wide_as_its_interface() {
    let probed = |path_mtu| Probed {
        from: Side::Local,
        report: MtuReport {
            path_mtu,
            probes: 3,
            interface_mtu: 9_000,
        },
    };
    assert_eq!(worst(&check_path(&probed(Some(9_000)))), Fitness::Good);
    let narrow = check_path(&probed(Some(1_400)));
    assert_eq!(
        (narrow[1].name, narrow[1].fitness),
        (CheckName::PathMtu, Fitness::Warning)
    );
    assert_eq!(
        amiss(&narrow).unwrap_or_default(),
        "path-mtu: 1400 bytes, wanted 9000 bytes, as the sending interface"
    );
    let blocked = check_path(&probed(None));
    assert_eq!(blocked.len(), 1);
    assert_eq!(
        (blocked[0].name, blocked[0].fitness),
        (CheckName::Udp, Fitness::Fault)
    );
}

#[test]
fn a_file_of_parameters_keeps_what_was_not_changed() {
    let parameter = |key: &str, value| Parameter {
        key: key.to_owned(),
        value,
    };
    let (receive, send) = (
        parameter("net.core.rmem_max", 8),
        parameter("net.core.wmem_max", 2),
    );
    let first = sysctl_file("", &[&receive, &send]);
    assert_eq!(
        first,
        "# Written by 'weir doctor --fix': kernel parameters for media over UDP.\nnet.core.rmem_max = 8\nnet.core.wmem_max = 2\n"
    );
    let second = sysctl_file(&first, &[&parameter("net.core.rmem_max", 16)]);
    assert_eq!(
        second,
        "# Written by 'weir doctor --fix': kernel parameters for media over UDP.\nnet.core.wmem_max = 2\nnet.core.rmem_max = 16\n"
    );
}
