//! The survey's plan, and what it makes of results.

use std::collections::BTreeSet;

use super::*;

fn survey_format() -> VideoFormat {
    VideoFormat::named("1080p59.94-422-10").expect("a known format")
}

fn survey(max_bytes: u64) -> Survey {
    let plan = SurveyPlan {
        format: survey_format(),
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
    assert_eq!(
        flows[6..],
        [(1, 8972), (2, 8972), (4, 8972), (16, 8972), (16, 8972)]
    );
    let sources = steps
        .iter()
        .filter(|step| matches!(step, Step::Flows(plan) if plan.varied == VariedPort::Source));
    assert_eq!(sources.count(), 1);
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
            // Lower rates do not help.
            let slower = plan.format != survey_format();
            let loss = if slower {
                0.5
            } else if plan.flows == 8 {
                lengths.next().expect("a length")
            } else {
                0.0
            };
            counted.extend((plan.flows != 8).then_some((plan.flows, plan.length)));
            let found = FlowsSummary {
                forward: Some(lossy(plan.length, plan.flows, loss)),
                reverse: None,
                clock: None,
                ends: None,
            };
            survey.on_result(&step, StepSummary::Flows(Box::new(found)));
        }
        // The last of them from as many ports.
        assert_eq!(counted, [1, 2, 4, 16, 16].map(|flows| (flows, swept)));
        let summary = survey.summary();
        assert!(summary.by_source_port.is_some_and(|row| row.flows == 16));
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
        format: VideoFormat::of_rate(Rate(1_000_000), weir_units::FrameRate::NTSC_60),
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
            max_rate: Rate(3_000_000),
            ..usual
        },
        Limits {
            max_rate: Rate(1_000_000),
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
    // The RTT sweep would send 12 MB and is left out; TCP gets what is left.
    assert!(matches!(step, Step::Tcp(_)) && left == 2_000_000 - 36_000);
    assert!(survey.summary().hit_byte_limit);
}

#[test]
fn the_estimate_counts_the_media_and_is_bounded_by_the_limit() {
    let (time, bytes) = survey(u64::MAX).estimate(9000);
    // 11 flow steps of 3 s at 310.7 MB/s, one of them twice, six to a cliff, six to a rate, and at most 16 s of TCP at 10 Gbit/s.
    assert!((10_000_000_000..=44_000_000_000).contains(&bytes), "{bytes}");
    assert!((60_000_000_000..=90_000_000_000).contains(&time), "{time}");
    assert_eq!(survey(1_000_000_000).estimate(9000).1, 1_000_000_000);
}

/// A flow test on hosts that keep up with at most `most` bits per second.
fn on_hosts_that_hold(most: u64, plan: &FlowsPlan) -> StepSummary {
    let mut row = lossy(plan.length, plan.flows, 0.0);
    let rate = plan.format.rate();
    row.asked = Some(rate);
    row.rate = rate;
    row.sent = rate.bytes_in(plan.duration_ns) / u64::from(plan.length);
    row.sender_wall_ns = plan.duration_ns;
    row.schedule_error.p99 = if rate.0 > most { 20_000_000 } else { 0 };
    StepSummary::Flows(Box::new(FlowsSummary {
        forward: Some(row),
        reverse: None,
        clock: None,
        ends: None,
    }))
}

#[test]
fn what_the_hosts_do_not_keep_up_with_is_marked_and_repeated_slower() {
    let mut survey = survey(u64::MAX);
    let (_, estimate) = survey.estimate(9000);
    let (first, _) = survey.next_step().expect("a first step");
    survey.on_result(&first, mtu(9000));
    while let Some((step, _)) = survey.next_step() {
        if let Step::Flows(plan) = &step
            && plan.ways == FlowsWays::Forward
        {
            survey.on_result(&step, on_hosts_that_hold(600_000_000, plan));
        }
    }
    let found = survey.summary();
    // Twice at its own rate, at 1 Gbit/s, and then at a rate that the hosts hold.
    let first: Vec<Option<u64>> = found.limited[..3]
        .iter()
        .map(|step| Some((step.repeated_at?.0 + 500_000) / 1_000_000))
        .collect();
    assert_eq!(first, [Some(2486), Some(1000), Some(500)]);
    // Longer payloads take fewer packets: a rate is tried until a step at it failed.
    assert!(found.limited.iter().all(|step| step.asked.0 > 600_000_000));
    let rows: Vec<&DirectionSummary> = found.by_flows.iter().chain(&found.by_length).collect();
    assert_eq!(rows.len(), 5 + 6);
    assert!(
        rows.iter()
            .all(|row| row.host_limit().is_none() && row.rate.0 <= 500_000_000)
    );
    assert!(found.best.is_some_and(|best| !best.held));
    assert!(found.bytes <= estimate, "{} of {estimate}", found.bytes);
}

#[test]
fn a_stall_of_one_step_changes_no_rate() {
    let mut survey = survey(u64::MAX);
    let (first, _) = survey.next_step().expect("a first step");
    survey.on_result(&first, mtu(9000));
    let mut stalls = 1;
    while let Some((step, _)) = survey.next_step() {
        if let Step::Flows(plan) = &step {
            let most = if stalls > 0 { 0 } else { u64::MAX };
            stalls -= i32::from(stalls > 0);
            survey.on_result(&step, on_hosts_that_hold(most, plan));
        }
    }
    let found = survey.summary();
    assert_eq!(found.limited.len(), 1);
    assert_eq!(found.limited[0].repeated_at, Some(found.limited[0].asked));
    assert!(found.best.is_some_and(|best| best.held));
}

#[test]
fn the_length_at_which_loss_begins_is_found_to_within_some_bytes() {
    // Nothing lost up to the length; above a cliff; and where long payloads lose but a few packets.
    for (begins, lost, found) in [
        (u32::MAX, 1_000, None),
        (1_500, 1_000, Some(1_500)),
        (1_500, 5, None),
    ] {
        let mut survey = survey(u64::MAX);
        let (_, estimate) = survey.estimate(9000);
        let (first, _) = survey.next_step().expect("a first step");
        survey.on_result(&first, mtu(9000));
        let mut swept = Vec::new();
        while let Some((step, _)) = survey.next_step() {
            let Step::Flows(plan) = &step else { continue };
            if plan.ways == FlowsWays::Reverse {
                continue;
            }
            let StepSummary::Flows(mut flows) = on_hosts_that_hold(u64::MAX, plan) else {
                unreachable!("a step of flows")
            };
            if let Some(row) = flows.forward.as_mut().filter(|_| plan.length > begins) {
                row.lost = lost;
                row.loss = lost as f64 / row.sent as f64;
            }
            swept.extend((plan.flows != 8).then_some(plan.length));
            survey.on_result(&step, StepSummary::Flows(flows));
        }
        let summary = survey.summary();
        let lengths: Vec<u32> = summary.by_length.iter().map(|row| row.length).collect();
        assert!(lengths.is_sorted());
        assert!(summary.bytes <= estimate, "{} of {estimate}", summary.bytes);
        let Some(begins) = found else {
            assert_eq!(lengths, [1200, 1400, 3900, 6000, 8100, 8972]);
            continue;
        };
        let carried = swept[0];
        assert!((begins - 40..=begins).contains(&carried), "{lengths:?}");
        assert!(
            swept.iter().all(|length| *length == carried),
            "the flows are swept with it"
        );
        assert!(
            lengths
                .iter()
                .any(|length| (begins + 1..=begins + 40).contains(length))
        );
    }
}

#[test]
fn the_rate_at_which_loss_begins_is_found_with_the_flows_that_lose() {
    // A policer for each flow, which eight flows pass, and one for all of them.
    for (most, per_flow, flows, begins) in [
        (600_000_000, true, 1, 600_000_000),
        (600_000_000, false, 8, 600_000_000),
        (u64::MAX, true, 0, 0),
    ] {
        let mut survey = survey(u64::MAX);
        let (_, estimate) = survey.estimate(9000);
        let (first, _) = survey.next_step().expect("a first step");
        survey.on_result(&first, mtu(9000));
        let mut after_sweeps = Vec::new();
        while let Some((step, _)) = survey.next_step() {
            let Step::Flows(plan) = &step else { continue };
            if plan.ways == FlowsWays::Reverse {
                continue;
            }
            let mut found = on_hosts_that_hold(u64::MAX, plan);
            if let StepSummary::Flows(found) = &mut found
                && let Some(row) = &mut found.forward
            {
                let held = if per_flow {
                    most.saturating_mul(plan.flows.into())
                } else {
                    most
                };
                row.loss = (1.0 - held as f64 / plan.format.rate().0 as f64).max(0.0);
                row.lost = (row.sent as f64 * row.loss) as u64;
            }
            if plan.format != survey_format() {
                after_sweeps.push(plan.flows);
            }
            survey.on_result(&step, found);
        }
        let found = survey.summary();
        assert!(found.bytes <= estimate, "{} of {estimate}", found.bytes);
        assert_eq!(after_sweeps.len(), found.by_rate.len());
        assert!(after_sweeps.len() <= 6 && after_sweeps.iter().all(|count| *count == flows));
        let Some(onset) = found.onset else {
            assert_eq!(begins, 0, "no rate at which loss begins");
            continue;
        };
        assert_eq!((onset.flows, onset.length), (flows, 8972));
        let between = onset.carried.0 as f64..=onset.lossy.0 as f64;
        assert!(between.contains(&(begins as f64)), "{onset:?}");
        assert!(
            onset.lossy.0 as f64 <= 1.051 * onset.carried.0 as f64,
            "{onset:?}"
        );
    }
}

#[test]
fn slow_tests_of_shorter_payloads_tell_a_length_from_loss_that_all_meet() {
    // A number of packets per second passes of every length, and above a length a fifth is lost first. The longest payloads are tried down to
    // one that loses nothing, then the gap in which loss begins; last, the longest that passes at the media's rate, if it may.
    for (held, above, slow, at_media_rate) in [
        (
            20e3,
            1_320,
            vec![1200, 1300, 1325, 1350, 1400, 3900, 6000, 8100],
            false,
        ),
        (20e3, 7_000, vec![6000, 6984, 7017, 7050, 8100], false),
        (120e3, 3_000, vec![1400, 2962, 3001], true),
    ] {
        let mut survey = survey(u64::MAX);
        let (_, estimate) = survey.estimate(9000);
        let (first, _) = survey.next_step().expect("a first step");
        survey.on_result(&first, mtu(9000));
        while let Some((step, _)) = survey.next_step() {
            let Step::Flows(plan) = &step else { continue };
            let mut found = on_hosts_that_hold(u64::MAX, plan);
            if let StepSummary::Flows(found) = &mut found
                && let Some(row) = &mut found.forward
            {
                let long = if plan.length > above { 0.2 } else { 0.0 };
                let packets = plan.format.rate().0 as f64 / 8.0 / f64::from(plan.length) * (1.0 - long);
                row.loss = 1.0 - (1.0 - long) * (held / packets).min(1.0);
                row.lost = (row.sent as f64 * row.loss) as u64;
            }
            survey.on_result(&step, found);
        }
        let found = survey.summary();
        assert!(found.bytes <= estimate, "{} of {estimate}", found.bytes);
        let rows = found.by_rate.iter().filter(|row| row.length != 8972);
        let lengths: BTreeSet<u32> = rows.map(|row| row.length).collect();
        assert!(lengths.is_superset(&slow.into_iter().collect()), "{lengths:?}");
        let longest = lengths.into_iter().filter(|length| *length <= above).max();
        let of_longest = |row: &&DirectionSummary| Some(row.length) == longest;
        let row = found.by_length.iter().find(of_longest);
        assert_eq!(row.is_some(), at_media_rate);
        assert!(row.is_none_or(|row| row.loss == 0.0));
    }
}

#[test]
fn both_families_are_sent_payloads_that_fit_into_both() {
    let mut survey = survey(u64::MAX).beside("fd00::1".parse().expect("an address"));
    let (_, estimate) = survey.estimate(9000);
    let (first, _) = survey.next_step().expect("a first step");
    survey.on_result(&first, mtu(9000));
    while let Some((step, _)) = survey.next_step() {
        if let Step::Flows(plan) = &step {
            survey.on_result(&step, on_hosts_that_hold(u64::MAX, plan));
        }
    }
    assert_eq!(survey.summary().families, []);
    let mut made = Vec::new();
    while let Some((address, step, _)) = survey.next_of_families() {
        let found = match &step {
            // IPv6 has the smaller one.
            Step::Mtu => mtu(1500),
            Step::Flows(plan) => {
                assert_eq!(plan.length, 1500 - 48);
                on_hosts_that_hold(u64::MAX, plan)
            }
            Step::Rtt(_) => StepSummary::Rtt(Box::default()),
            Step::Tcp(_) => unreachable!("TCP is not compared"),
        };
        made.push((IpVersion::of(address), step.kind()));
        survey.on_result_of_families(&step, found);
    }
    let (own, other) = (IpVersion::Ipv4, IpVersion::Ipv6);
    assert_eq!(
        made,
        [
            (other, "mtu"),
            (own, "rtt"),
            (other, "rtt"),
            (own, "flows"),
            (other, "flows")
        ]
    );
    let found = survey.summary();
    let longest: Vec<Option<u32>> = found
        .families
        .iter()
        .map(FamilySummary::longest_payload)
        .collect();
    assert_eq!(longest, [Some(9000 - 28), Some(1500 - 48)]);
    assert!(
        found
            .families
            .iter()
            .all(|family| family.rtt.is_some() && family.flows.is_some())
    );
    assert!(found.bytes <= estimate, "{} of {estimate}", found.bytes);
}
