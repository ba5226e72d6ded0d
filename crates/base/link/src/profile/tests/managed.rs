//! Queues with a discipline: defaults, and every key.

use super::*;
use crate::spec::{
    CodelSpec, DisciplineSpec, DualPi2Spec, FqCodelSpec, ManagedQueue, PieSpec, QueueLimit, RedSpec,
};

/// The queue of a link of 48 Mbit/s, on which a packet of the MTU takes 250 us.
fn managed(text: &str) -> ManagedQueue {
    let text = format!("rate = \"48Mbit/s\"\nrtt = \"20ms\"\nqueue = {{ {text} }}");
    match read(&text).forward.routes[0].queue {
        QueueSpec::Managed(managed) => managed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_those_of_the_documents() {
    // 250 ms of the rate; tail drop as ever; FQ-CoDel in packets.
    let bytes = QueueLimit::Bytes(1_500_000);
    let red = RedSpec {
        packet_time_ns: 250_000,
        ..RedSpec::default()
    };
    let rows = [
        ("tail-drop", QueueLimit::Bytes(150_000), DisciplineSpec::TailDrop),
        ("red", bytes, DisciplineSpec::Red(red)),
        ("codel", bytes, DisciplineSpec::Codel(CodelSpec::default())),
        ("pie", bytes, DisciplineSpec::Pie(PieSpec::default())),
        (
            "fq-codel",
            QueueLimit::Packets(10_240),
            DisciplineSpec::FqCodel(FqCodelSpec::default()),
        ),
        ("dualpi2", bytes, DisciplineSpec::DualPi2(DualPi2Spec::default())),
    ];
    for (kind, limit, discipline) in rows {
        assert_eq!(
            managed(&format!("kind = \"{kind}\"")),
            ManagedQueue { limit, discipline },
            "{kind}"
        );
    }
}

#[test]
fn defaults_depend_on_the_path() {
    let text = |kind| format!("rate = \"8Mbit/s\"\nmtu = 9000\nqueue = {{ kind = \"{kind}\" }}");
    let discipline = |kind| match read(&text(kind)).forward.routes[0].queue {
        QueueSpec::Managed(managed) => managed.discipline,
        other => panic!("{other:?}"),
    };
    let DisciplineSpec::FqCodel(fq_codel) = discipline("fq-codel") else {
        panic!("another discipline")
    };
    assert_eq!((fq_codel.quantum, fq_codel.codel.max_packet), (9_014, 9_000));
    let DisciplineSpec::Pie(pie) = discipline("pie") else {
        panic!("another discipline")
    };
    assert_eq!(pie.mean_packet, 9_000);
    // Two packets of 9,000 bytes take 18 ms.
    let DisciplineSpec::DualPi2(dualpi2) = discipline("dualpi2") else {
        panic!("another discipline")
    };
    assert_eq!(dualpi2.threshold_ns, 18_000_000);
}

#[test]
fn every_key_of_every_discipline() {
    let codel = CodelSpec {
        target_ns: 1_000_000,
        interval_ns: 20_000_000,
        max_packet: 1_000,
        ecn: false,
    };
    let keys = "target = \"1ms\", interval = \"20ms\", max-packet = 1000, ecn = false";
    let rows = [
        (format!("kind = \"codel\", {keys}"), DisciplineSpec::Codel(codel)),
        (
            format!("kind = \"fq-codel\", {keys}, flows = 16, quantum = 300"),
            DisciplineSpec::FqCodel(FqCodelSpec {
                flows: 16,
                quantum: 300,
                codel,
            }),
        ),
        (
            "kind = \"red\", minimum = 2.5, maximum = 7, max-probability = \"2%\", weight = 0.01, gentle = false, \
             packet-time = \"1ms\", ecn = false"
                .to_owned(),
            DisciplineSpec::Red(RedSpec {
                minimum: 2.5,
                maximum: 7.0,
                max_probability: 0.02,
                weight: 0.01,
                gentle: false,
                packet_time_ns: 1_000_000,
                ecn: false,
            }),
        ),
        (
            "kind = \"pie\", target = \"20ms\", update = \"30ms\", alpha = 0.25, beta = 2.5, max-burst = \"0s\", \
             mean-packet = 500, ecn = false, mark-below = \"20%\", derandomize = true, cap-adjustment = true"
                .to_owned(),
            DisciplineSpec::Pie(PieSpec {
                target_ns: 20_000_000,
                update_ns: 30_000_000,
                alpha: 0.25,
                beta: 2.5,
                max_burst_ns: 0,
                mean_packet: 500,
                ecn: false,
                mark_below: 0.2,
                derandomize: true,
                cap_adjustment: true,
            }),
        ),
        (
            "kind = \"dualpi2\", target = \"5ms\", update = \"16ms\", alpha = 0.16, beta = 3.2, coupling = 1.5, \
             threshold = \"1ms\", range = \"0s\", threshold-packets = 2, classic-share = \"10%\""
                .to_owned(),
            DisciplineSpec::DualPi2(DualPi2Spec {
                target_ns: 5_000_000,
                update_ns: 16_000_000,
                alpha: 0.16,
                beta: 3.2,
                coupling: 1.5,
                threshold_ns: 1_000_000,
                range_ns: 0,
                threshold_packets: 2,
                classic_share: 0.1,
            }),
        ),
    ];
    for (text, discipline) in rows {
        let limit = QueueLimit::Packets(7);
        assert_eq!(
            managed(&format!("{text}, limit = \"7packets\"")),
            ManagedQueue { limit, discipline },
            "{text}"
        );
    }
}

#[test]
fn gains_of_dualpi2_follow_from_the_longest_round_trip() {
    // RFC 9332, appendix A.1, with the default target.
    let DisciplineSpec::DualPi2(spec) = managed("kind = \"dualpi2\", max-rtt = \"30ms\"").discipline else {
        panic!("another discipline")
    };
    let gains = DualPi2Spec::gains(15_000_000, 30_000_000);
    assert_eq!((spec.update_ns, spec.alpha, spec.beta), gains);
    assert_eq!(spec.update_ns, 10_000_000);
}
