//! Invalid values are refused with the key, the value and what is allowed.

use weir_link::{
    CodelSpec, DarkSpan, DirectionSpec, DisciplineSpec, DualPi2Spec, FlowRateCap, FqCodelSpec, Jitter,
    LinkSpec, LongPacketLoss, LossSpec, ManagedQueue, PacketRateCap, PieSpec, QueueLimit, QueueSpec,
    RateSpec, RateStep, RedSpec, RouteSpec,
};

/// The message for a direction with this route as its second.
fn refused(change: impl FnOnce(&mut RouteSpec)) -> String {
    refused_direction(|direction| change(&mut direction.routes[1]))
}

fn refused_direction(change: impl FnOnce(&mut DirectionSpec)) -> String {
    let mut direction = DirectionSpec::over(vec![RouteSpec::clean(), RouteSpec::clean()]);
    assert_eq!(direction.check("forward"), Ok(()));
    change(&mut direction);
    let error = direction.check("forward").expect_err("it is impossible");
    let message = error.to_string();
    assert!(!message.contains('\n'));
    message
}

#[test]
fn rates() {
    let bits = "a rate is from 1 bit/s to 1 Pbit/s, or unlimited";
    assert_eq!(
        refused(|route| route.rate = RateSpec::Fixed(0)),
        format!("forward.route[1].rate = 0 bit/s: {bits}")
    );
    assert!(refused(|route| route.rate = RateSpec::Fixed(u64::MAX)).ends_with(bits));
}

#[test]
fn traces_of_rates() {
    let steps = |steps: &[(u64, u64)]| {
        let steps = steps
            .iter()
            .map(|&(duration_ns, rate)| RateStep { duration_ns, rate })
            .collect();
        refused(|route| route.rate = RateSpec::Steps(steps))
    };
    assert_eq!(
        steps(&[]),
        "forward.route[1].rate = no steps: a trace has at least one step"
    );
    assert_eq!(
        steps(&[(5, 1), (0, 1)]),
        "forward.route[1].rate.steps[1].duration = 0: a step takes longer than 0 s"
    );
    assert_eq!(
        steps(&[(5, 0), (7, 0)]),
        "forward.route[1].rate.steps = 0 bit/s in every step: at least one step has a rate above 0"
    );
    assert_eq!(
        steps(&[(5, 1), (5, 1 << 60)]),
        "forward.route[1].rate.steps[1].rate = 1152921504606846976 bit/s: a rate is at most 1 Pbit/s"
    );
    assert!(steps(&[(u64::MAX, 1), (u64::MAX, 1)]).ends_with("a trace takes at most 365 days"));
}

#[test]
fn opportunities() {
    let trace = |at_ns: &[u64], period_ns, bytes| {
        let at_ns = at_ns.to_vec();
        refused(|route| {
            route.rate = RateSpec::Opportunities {
                at_ns,
                period_ns,
                bytes,
            }
        })
    };
    assert_eq!(
        trace(&[], 5, 1504),
        "forward.route[1].rate = no opportunities: a trace has at least one opportunity"
    );
    assert_eq!(
        trace(&[0], 0, 1504),
        "forward.route[1].rate.period = 0 ns: a period is longer than 0 s and at most 365 days"
    );
    assert_eq!(
        trace(&[4, 3], 5, 1504),
        "forward.route[1].rate.opportunities = 4 ns, 3 ns: opportunities ascend"
    );
    assert_eq!(
        trace(&[4, 6], 5, 1504),
        "forward.route[1].rate.opportunities = 6 ns: opportunities lie within the period"
    );
    assert_eq!(
        trace(&[4], 5, 0),
        "forward.route[1].rate.bytes = 0: an opportunity carries 1 byte or more"
    );
    let mut fine = RouteSpec::clean();
    fine.rate = RateSpec::Opportunities {
        at_ns: vec![0, 3, 3, 5],
        period_ns: 5,
        bytes: 1504,
    };
    assert_eq!(DirectionSpec::over(vec![fine.clone()]).check("forward"), Ok(()));
    fine.queue = QueueSpec::Packets(0);
    let error = DirectionSpec::over(vec![fine])
        .check("reverse")
        .expect_err("nothing would pass");
    assert_eq!(error.key, "reverse.route[0].queue");
}

#[test]
fn probabilities() {
    let allowed = "a probability is from 0 to 1";
    for value in [-0.1, 1.000_001, f64::NAN, f64::INFINITY] {
        let refusals = [
            (
                "loss",
                refused(|route| route.loss = vec![LossSpec::Bernoulli(value)]),
            ),
            ("duplicate", refused(|route| route.duplicate = value)),
            ("corrupt", refused(|route| route.corrupt = value)),
            (
                "loss[1].to_good",
                refused(|route| {
                    let process = |to_good| LossSpec::GilbertElliott {
                        to_bad: 0.1,
                        to_good,
                        loss_good: 0.0,
                        loss_bad: 1.0,
                    };
                    route.loss = vec![process(0.1), process(value)];
                }),
            ),
        ];
        for (key, message) in refusals {
            assert_eq!(message, format!("forward.route[1].{key} = {value}: {allowed}"));
        }
        let message = refused_direction(|direction| direction.extra_flow_loss = value);
        assert_eq!(message, format!("forward.extra_flow_loss = {value}: {allowed}"));
        let long = LongPacketLoss {
            above: 4_000,
            loss: value,
        };
        let message = refused_direction(|direction| direction.long_packet_loss = Some(long));
        assert_eq!(
            message,
            format!("forward.long_packet_loss.loss = {value}: {allowed}")
        );
    }
}

#[test]
fn lists_and_spans() {
    assert_eq!(
        refused(|route| route.loss = vec![LossSpec::Packets(vec![1, 5, 5])]),
        "forward.route[1].loss.packets = 5, 5: packet numbers ascend, each once"
    );
    assert_eq!(
        refused(|route| route.dark = vec![DarkSpan { from_ns: 5, to_ns: 5 }]),
        "forward.route[1].dark = 5 ns to 5 ns: a dark span ends after it begins"
    );
    assert!(refused(|route| route.loss = vec![LossSpec::Bernoulli(0.1); 257]).contains("at most 256"));
}

#[test]
fn delays_and_overhead() {
    assert_eq!(
        refused(|route| route.delay_ns = u64::MAX),
        "forward.route[1].delay = 18446744073709551615 ns: a delay is at most 24 h"
    );
    let jitter = Jitter {
        most_ns: u64::MAX,
        reorder: false,
    };
    assert!(refused(|route| route.jitter = Some(jitter)).starts_with("forward.route[1].jitter = "));
    assert_eq!(
        refused(|route| route.overhead = 70_000),
        "forward.route[1].overhead = 70000: an overhead is at most 65535 bytes"
    );
}

#[test]
fn routes() {
    assert_eq!(
        refused_direction(|direction| direction.routes.clear()),
        "forward.route = 0: a direction has from 1 to 256 routes"
    );
    assert!(
        refused_direction(|direction| direction.routes = vec![RouteSpec::clean(); 257])
            .starts_with("forward.route = 257: ")
    );
    assert_eq!(
        refused_direction(|direction| direction.routes.iter_mut().for_each(|route| route.weight = 0)),
        "forward.route.weight = 0: at least one route has a weight of 1 or more"
    );
}

#[test]
fn caps() {
    let flow_rate =
        |rate, burst| refused_direction(|direction| direction.flow_rate = Some(FlowRateCap { rate, burst }));
    assert!(flow_rate(0, 1).starts_with("forward.flow_rate.rate = 0 bit/s: "));
    assert!(flow_rate(1, 0).starts_with("forward.flow_rate.burst = 0: "));
    assert!(flow_rate(1, u64::MAX).contains("1000000000 bytes"));
    let packet_rate = |rate, burst| {
        refused_direction(|direction| direction.packet_rate = Some(PacketRateCap { rate, burst }))
    };
    assert!(packet_rate(0, 1).starts_with("forward.packet_rate.rate = 0 packet/s: "));
    assert!(packet_rate(1, 0).starts_with("forward.packet_rate.burst = 0: "));
}

#[test]
fn mtus() {
    for (bytes, possible) in [
        (575, false),
        (576, true),
        (1_280, true),
        (65_535, true),
        (65_536, false),
    ] {
        let mut direction = DirectionSpec::clean();
        direction.mtu.bytes = bytes;
        assert_eq!(direction.check("forward").is_ok(), possible, "{bytes}");
        let spec = LinkSpec {
            name: "test".to_owned(),
            seed: 1,
            interface_mtu: bytes,
            forward: DirectionSpec::clean(),
            reverse: DirectionSpec::clean(),
        };
        assert_eq!(spec.check().is_ok(), possible, "{bytes}");
    }
}

#[test]
fn the_direction_is_named() {
    let mut spec = LinkSpec {
        name: "test".to_owned(),
        seed: 1,
        interface_mtu: 1_500,
        forward: DirectionSpec::default(),
        reverse: DirectionSpec::clean(),
    };
    assert_eq!(spec.check(), Ok(()));
    spec.reverse.routes[0].loss = vec![LossSpec::Bernoulli(1.5)];
    let error = spec.check().expect_err("it is impossible");
    assert_eq!(
        (error.key.as_str(), error.value.as_str()),
        ("reverse.route[0].loss", "1.5")
    );
}

/// What is said of a route with this queue.
fn refused_queue(limit: QueueLimit, discipline: DisciplineSpec) -> String {
    refused(|route| route.queue = QueueSpec::Managed(ManagedQueue { limit, discipline }))
}

/// The key of a discipline that is refused.
fn key(discipline: DisciplineSpec) -> String {
    let message = refused_queue(QueueLimit::Unlimited, discipline);
    let key = message.split(" = ").next().expect("a key");
    key.trim_start_matches("forward.route[1].queue.").to_owned()
}

#[test]
fn managed_queues_hold_packets() {
    for limit in [QueueLimit::Bytes(0), QueueLimit::Packets(0)] {
        assert_eq!(
            refused_queue(limit, DisciplineSpec::TailDrop),
            "forward.route[1].queue.limit = 0: a managed queue holds 1 packet or more"
        );
    }
}

#[test]
fn codel_and_its_flows() {
    let (codel, fq_codel) = (CodelSpec::default(), FqCodelSpec::default());
    let codels = [
        (
            "target",
            CodelSpec {
                target_ns: 0,
                ..codel
            },
        ),
        (
            "interval",
            CodelSpec {
                interval_ns: u64::MAX,
                ..codel
            },
        ),
        (
            "max_packet",
            CodelSpec {
                max_packet: 0,
                ..codel
            },
        ),
    ];
    for (name, spec) in codels {
        assert_eq!(key(DisciplineSpec::Codel(spec)), name);
        let spec = FqCodelSpec {
            codel: spec,
            ..fq_codel
        };
        assert_eq!(key(DisciplineSpec::FqCodel(spec)), name);
    }
    for spec in [
        FqCodelSpec { flows: 0, ..fq_codel },
        FqCodelSpec {
            flows: 65_537,
            ..fq_codel
        },
    ] {
        assert_eq!(key(DisciplineSpec::FqCodel(spec)), "flows");
    }
    let many = FqCodelSpec {
        flows: 65_536,
        ..fq_codel
    };
    let message = refused_direction(|direction| {
        let queue = QueueSpec::Managed(ManagedQueue {
            limit: QueueLimit::Unlimited,
            discipline: DisciplineSpec::FqCodel(many),
        });
        direction.routes = vec![
            RouteSpec {
                queue,
                ..RouteSpec::clean()
            };
            5
        ];
    });
    assert!(
        message.starts_with("forward.route.queue.flows = 327680"),
        "{message}"
    );
}

#[test]
fn numbers_that_are_none_or_negative() {
    let (red, pie, dualpi2) = (RedSpec::default(), PieSpec::default(), DualPi2Spec::default());
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        let specs = [
            (
                "maximum",
                DisciplineSpec::Red(RedSpec {
                    minimum: value,
                    ..red
                }),
            ),
            (
                "maximum",
                DisciplineSpec::Red(RedSpec {
                    maximum: value,
                    ..red
                }),
            ),
            (
                "max_probability",
                DisciplineSpec::Red(RedSpec {
                    max_probability: value,
                    ..red
                }),
            ),
            ("weight", DisciplineSpec::Red(RedSpec { weight: value, ..red })),
            ("alpha", DisciplineSpec::Pie(PieSpec { alpha: value, ..pie })),
            ("beta", DisciplineSpec::Pie(PieSpec { beta: value, ..pie })),
            (
                "mark_below",
                DisciplineSpec::Pie(PieSpec {
                    mark_below: value,
                    ..pie
                }),
            ),
            (
                "alpha",
                DisciplineSpec::DualPi2(DualPi2Spec {
                    alpha: value,
                    ..dualpi2
                }),
            ),
            (
                "beta",
                DisciplineSpec::DualPi2(DualPi2Spec {
                    beta: value,
                    ..dualpi2
                }),
            ),
            (
                "coupling",
                DisciplineSpec::DualPi2(DualPi2Spec {
                    coupling: value,
                    ..dualpi2
                }),
            ),
            (
                "classic_share",
                DisciplineSpec::DualPi2(DualPi2Spec {
                    classic_share: value,
                    ..dualpi2
                }),
            ),
        ];
        for (name, spec) in specs {
            assert_eq!(key(spec), name, "{value}");
        }
    }
}

#[test]
fn times_and_lengths_of_disciplines() {
    let (red, pie, dualpi2) = (RedSpec::default(), PieSpec::default(), DualPi2Spec::default());
    let times = [
        (
            "packet_time",
            DisciplineSpec::Red(RedSpec {
                packet_time_ns: 0,
                ..red
            }),
        ),
        ("update", DisciplineSpec::Pie(PieSpec { update_ns: 0, ..pie })),
        (
            "max_burst",
            DisciplineSpec::Pie(PieSpec {
                max_burst_ns: u64::MAX,
                ..pie
            }),
        ),
        (
            "mean_packet",
            DisciplineSpec::Pie(PieSpec {
                mean_packet: 0,
                ..pie
            }),
        ),
        (
            "update",
            DisciplineSpec::DualPi2(DualPi2Spec {
                update_ns: 0,
                ..dualpi2
            }),
        ),
        (
            "threshold",
            DisciplineSpec::DualPi2(DualPi2Spec {
                threshold_ns: u64::MAX,
                ..dualpi2
            }),
        ),
        (
            "range",
            DisciplineSpec::DualPi2(DualPi2Spec {
                range_ns: u64::MAX,
                ..dualpi2
            }),
        ),
        (
            "threshold_packets",
            DisciplineSpec::DualPi2(DualPi2Spec {
                threshold_packets: u64::MAX,
                ..dualpi2
            }),
        ),
    ];
    for (name, spec) in times {
        assert_eq!(key(spec), name);
    }
}
