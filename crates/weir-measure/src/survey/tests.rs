//! The survey's plan, and what it makes of results.

use super::*;

fn survey(max_bytes: u64) -> Survey {
    let plan = SurveyPlan {
        format: VideoFormat::named("1080p59.94-422-10").expect("a known format"),
        step_ns: 3_000_000_000,
        max_flows: 16,
        max_bytes,
    };
    Survey::new(plan, Limits::default(), IpAddr::from([10, 0, 0, 1]))
}

fn mtu(size: u32) -> StepSummary {
    let report = path_mtu::MtuReport {
        path_mtu: Some(size),
        probes: 2,
        interface_mtu: size,
    };
    StepSummary::Mtu(MtuSummary {
        forward: report,
        reverse: report,
    })
}

#[test]
fn every_promised_step_is_planned() {
    let mut survey = survey(u64::MAX);
    let (first, _) = survey.next_step().expect("a first step");
    survey.on_result(&first, mtu(9000));
    let steps: Vec<Step> = std::iter::from_fn(|| survey.next_step())
        .map(|(step, _)| step)
        .collect();
    let tcp = |direction| {
        let of = |step: &Step| match step {
            Step::Tcp(request) if request.direction == direction => Some(request.streams),
            _ => None,
        };
        steps.iter().filter_map(of).collect::<Vec<u16>>()
    };
    assert_eq!(tcp(Direction::Forward), [1, 2, 4, 8]);
    assert_eq!(tcp(Direction::Reverse), [1, 2, 4, 8]);
    let flows: Vec<(u16, u32)> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Flows(plan) if plan.ways == FlowsWays::Forward => Some((plan.flows, plan.length)),
            _ => None,
        })
        .collect();
    let lengths = [1200, 1400, 3900, 6000, 8100, 8972].map(|length| (8, length));
    assert_eq!(flows[..6], lengths);
    assert_eq!(flows[6..], [(1, 8972), (2, 8972), (4, 8972), (16, 8972)]);
    assert!(matches!(steps[0], Step::Rtt(_)));
}

/// A flow test in which this share was lost.
fn lossy(length: u32, flows: u16, loss: f64) -> DirectionSummary {
    let nothing = crate::flows::ReceiverReport::default();
    let sender = crate::flows::SenderReport::default();
    let plan = FlowsPlan {
        length,
        flows,
        ..FlowsPlan::default()
    };
    let clock = crate::ClockEstimate::default();
    let summary = flows::BothEnds::new(plan, clock).summary(Direction::Forward, sender, nothing, clock);
    DirectionSummary { loss, ..summary }
}

#[test]
fn the_flows_are_swept_with_the_longest_payload_that_is_carried_well() {
    for (losses, swept) in [
        ([0.0, 0.0, 0.0, 0.0], 4008),
        ([0.000_4, 0.000_5, 0.031, 0.03], 1400),
        // Short packets are lost more, and chance makes small differences.
        ([0.5, 0.4, 0.000_2, 0.000_25], 4008),
    ] {
        let mut survey = survey(u64::MAX);
        let (first, _) = survey.next_step().expect("a first step");
        survey.on_result(&first, mtu(4036));
        let mut lengths = losses.into_iter();
        let mut counted = Vec::new();
        while let Some((step, _)) = survey.next_step() {
            let Step::Flows(plan) = &step else { continue };
            if plan.ways == FlowsWays::Reverse {
                continue;
            }
            let loss = if plan.flows == 8 {
                lengths.next().expect("a length")
            } else {
                0.0
            };
            counted.extend((plan.flows != 8).then_some((plan.flows, plan.length)));
            let found = FlowsSummary {
                forward: Some(lossy(plan.length, plan.flows, loss)),
                reverse: None,
                clock: None,
            };
            survey.on_result(&step, StepSummary::Flows(Box::new(found)));
        }
        assert_eq!(counted, [1, 2, 4, 16].map(|flows| (flows, swept)));
        let summary = survey.summary();
        let rows: Vec<(u16, u32)> = summary
            .by_flows
            .iter()
            .map(|row| (row.flows, row.length))
            .collect();
        assert_eq!(rows, [1, 2, 4, 8, 16].map(|flows| (flows, swept)));
        assert_eq!(summary.by_length.len(), 4);
    }
}

#[test]
fn every_step_is_within_what_the_agent_allows() {
    let plan = SurveyPlan {
        format: VideoFormat::of_rate(BitRate(1_000_000), crate::FrameRate::NTSC_60),
        step_ns: 3_000_000_000,
        max_flows: 16,
        max_bytes: u64::MAX,
    };
    let usual = Limits::default();
    for limits in [
        Limits {
            max_duration_ns: 5_000_000_000,
            ..usual
        },
        Limits {
            max_rate: BitRate(3_000_000),
            ..usual
        },
        Limits {
            max_rate: BitRate(1_000_000),
            max_length: 65_507,
            ..usual
        },
        Limits {
            max_length: 80,
            ..usual
        },
        Limits {
            max_length: 60,
            ..usual
        },
        Limits {
            max_length: 20,
            ..usual
        },
        Limits {
            max_flows: 1,
            ..usual
        },
    ] {
        let survey = Survey::new(plan.clone(), limits, IpAddr::from([10, 0, 0, 1]));
        let steps = survey.measuring_steps(65_535);
        assert!(steps.len() >= 2, "{limits:?}");
        for step in steps {
            let checked = match &step {
                Step::Mtu => Ok(()),
                Step::Rtt(plan) => plan
                    .check(weir_wire::RTT_HEADER_LENGTH as u32)
                    .and_then(|()| limits.check(Some(plan.peak_rate()), plan.duration_ns, plan.length.to, 1)),
                Step::Tcp(request) => limits.check(None, request.duration_ns, 1, request.streams),
                Step::Flows(plan) => plan
                    .check()
                    .and_then(|()| limits.check(plan.rate(), plan.duration_ns, plan.length, plan.flows)),
            };
            assert!(checked.is_ok(), "{limits:?}: {step:?}: {checked:?}");
        }
    }
}

#[test]
fn nothing_is_sent_past_the_byte_limit() {
    let mut survey = survey(2_000_000);
    let (first, left) = survey.next_step().expect("the path MTU is small enough");
    assert_eq!(left, 2_000_000);
    survey.on_result(&first, mtu(9000));
    let (step, left) = survey.next_step().expect("a step that stops by itself");
    // The RTT sweep would send 12 MB and is left out; TCP is told what is left.
    assert!(matches!(step, Step::Tcp(_)) && left == 2_000_000 - 36_000);
    assert!(survey.summary().hit_byte_limit);
}

#[test]
fn the_estimate_counts_the_media_and_is_bounded_by_the_limit() {
    let (time, bytes) = survey(u64::MAX).estimate(9000);
    // 11 flow steps of 3 s at 310.7 MB/s, and at most 16 s of TCP at 10 Gbit/s.
    assert!((10_000_000_000..=31_000_000_000).contains(&bytes), "{bytes}");
    assert!((60_000_000_000..=90_000_000_000).contains(&time), "{time}");
    assert_eq!(survey(1_000_000_000).estimate(9000).1, 1_000_000_000);
}
