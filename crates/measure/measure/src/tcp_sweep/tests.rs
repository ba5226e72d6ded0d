use super::*;
use crate::tcp_throughput::Window;

/// A path that carries `rate` at most, and each connection a window per round trip.
struct Modelled {
    rate: u64,
    rtt_ns: u64,
}

impl Modelled {
    fn test(&self, request: &TcpRequest) -> TcpSummary {
        let window = request.window_bytes.unwrap_or(3 << 20);
        let allowed = Rate::of(window, self.rtt_ns).0 * u64::from(request.streams);
        let goodput = Rate(allowed.min(self.rate));
        let bytes = goodput.bytes_in(request.duration_ns);
        let share = |held: bool| Some(if held { 0.9 } else { 0.0 });
        TcpSummary {
            direction: request.direction,
            streams: request.streams,
            bytes: bytes.min(request.max_bytes),
            goodput,
            retransmits: 0,
            rtt_ns: self.rtt_ns,
            cwnd_bytes: window,
            congestion_control: "cubic".into(),
            hit_byte_limit: bytes >= request.max_bytes,
            receiver_limited: share(allowed < self.rate),
            sender_limited: share(false),
            window: request.window_bytes.map(|bytes| Window {
                asked_bytes: bytes,
                announced_bytes: Some(bytes),
                send_buffer_bytes: 4 * bytes,
            }),
        }
    }

    fn run(&self, plan: SweepPlan, limits: Limits) -> SweepSummary {
        let mut sweep = Sweep::new(plan, limits);
        let (most_ns, most_bytes) = sweep.estimate();
        let mut tests = 0;
        while let Some(request) = sweep.next_request() {
            tests += request.duration_ns + SETUP_NS;
            sweep.on_result(self.test(&request));
        }
        let found = sweep.summary();
        assert!(
            tests <= most_ns && found.bytes <= most_bytes,
            "{tests} of {most_ns}"
        );
        found
    }
}

fn plan(windows: &[u64], fill: bool) -> SweepPlan {
    SweepPlan {
        direction: Direction::Forward,
        windows: windows.to_vec(),
        streams: 1,
        fill,
        duration_ns: 5_000_000_000,
        omit_ns: 2_000_000_000,
        max_bytes: u64::MAX,
    }
}

const MS: u64 = 1_000_000;

#[test]
fn each_window_is_tested_beside_the_rate_that_it_allows() {
    let path = Modelled {
        rate: 100_000_000,
        rtt_ns: 80 * MS,
    };
    let found = path.run(plan(&[65_536, 1 << 20, 16 << 20], false), Limits::default());
    let rates: Vec<(u64, Option<Rate>)> = found
        .tests
        .iter()
        .map(|row| (row.test.goodput.0, row.window_rate))
        .collect();
    // 65,536 bytes * 8 / 80 ms, and so on.
    assert_eq!(rates[0], (6_553_600, Some(Rate(6_553_600))));
    assert_eq!(rates[1], (100_000_000, Some(Rate(104_857_600))));
    assert_eq!(rates[2], (100_000_000, Some(Rate(1_677_721_600))));
    let limits: Vec<Option<Limit>> = found.tests.iter().map(|row| row.limit).collect();
    assert_eq!(
        limits,
        [Some(Limit::Window), Some(Limit::Path), Some(Limit::Path)]
    );
    assert_eq!((found.fill, found.hit_byte_limit), (None, false));
}

#[test]
fn the_connections_that_fill_a_path_are_found_within_one_in_few_tests() {
    // By division: the rate over the rate of one connection.
    for (rate, rtt_ms, window) in [
        (1_000_000_000, 80, 1 << 20),
        (1_000_000_000, 80, 4 << 20),
        (1_000_000_000, 80, 16 << 20),
        (200_000_000, 150, 256 << 10),
        (50_000_000, 20, 65_536),
        (950_000_000, 30, 65_536 * 5),
    ] {
        let path = Modelled {
            rate,
            rtt_ns: rtt_ms * MS,
        };
        let found = path.run(plan(&[window], true), Limits::default());
        let exact = (rate as f64 / Rate::of(window, path.rtt_ns).0 as f64).ceil();
        let fill = found.fill.expect("a search");
        let streams = f64::from(fill.streams.expect("a number"));
        assert!((streams - exact).abs() <= 1.0, "{streams} for {exact}: {found:?}");
        assert_eq!(fill.rate, Rate(rate));
        assert!(found.tests.len() <= 13, "{} tests", found.tests.len());
    }
}

/// What is found where numbers of connections have a goodput and packets sent again, as the kernel's had across an emulated link
/// of 1 Gbit/s and 80 ms.
fn fill_of(window: u64, carried: impl Fn(u16) -> (u64, u64)) -> Filled {
    let path = Modelled {
        rate: u64::MAX,
        rtt_ns: 80 * MS,
    };
    let mut sweep = Sweep::new(plan(&[window], true), Limits::default());
    while let Some(request) = sweep.next_request() {
        let (goodput, retransmits) = carried(request.streams);
        sweep.on_result(TcpSummary {
            goodput: Rate(goodput),
            retransmits,
            ..path.test(&request)
        });
    }
    sweep.summary().fill.expect("a search")
}

#[test]
fn one_test_that_is_off_does_not_change_what_fills_a_path() {
    let fill = fill_of(1 << 20, |streams| match streams {
        1..=9 => (103_500_000 * u64::from(streams), 0),
        16 => (924_000_000, 310),
        32 => (1_016_500_000, 20_000),
        64 => (925_600_000, 40_000),
        _ => (934_200_000, 120),
    });
    assert_eq!((fill.streams, fill.most_streams), (Some(9), 64));
    assert!(
        fill.rate > Rate(924_000_000) && fill.rate < Rate(935_000_000),
        "{fill:?}"
    );
}

#[test]
fn connections_that_overload_a_path_are_no_measure_of_its_rate() {
    // On a busy machine 64 connections had round trips of 429 ms and lost a quarter of what 32 had carried. All that fill the path
    // lose packets.
    let fill = fill_of(512 << 10, |streams| match streams {
        few @ ..=17 => (51_860_369 * u64::from(few), 0),
        18..=32 => (925_553_010, 50),
        33..=63 => (760_000_000, 60_000),
        _ => (700_742_227, 90_000),
    });
    // 95 % of 925.6 Mbit/s over 51.9 Mbit/s.
    assert_eq!(
        (fill.streams, fill.rate, fill.most_streams),
        (Some(17), Rate(925_553_010), 64)
    );
}

#[test]
fn a_path_whose_last_doubling_was_disturbed_is_sampled_below_it() {
    // 32 connections carried hardly more than 16, which their windows held.
    let fill = fill_of(512 << 10, |streams| match streams {
        32 => (840_000_000, 480),
        few => ((51_860_369 * u64::from(few)).min(930_000_000), 0),
    });
    assert_eq!(
        (fill.streams, fill.rate, fill.most_streams),
        (Some(18), Rate(930_000_000), 32)
    );
}

#[test]
fn tests_that_lost_much_do_not_stand_for_the_rate_of_a_path() {
    // The kernel's BBR, whose tests of many connections overflow the queue of the link.
    let fill = fill_of(1 << 20, |streams| match streams {
        16 => (951_800_000, 0),
        18..=24 => (894_200_000, 17_249),
        25..=64 => (870_000_000, 31_506),
        few => ((103_800_000 * u64::from(few)).min(951_800_000), 0),
    });
    assert_eq!(
        (fill.streams, fill.rate, fill.most_streams),
        (Some(9), Rate(951_800_000), 32)
    );
}

#[test]
fn a_path_that_no_number_fills_has_none() {
    let path = Modelled {
        rate: 10_000_000_000,
        rtt_ns: 80 * MS,
    };
    let found = path.run(plan(&[65_536], true), Limits::default());
    let fill = found.fill.expect("a search");
    assert_eq!((fill.streams, fill.most_streams), (None, MOST_STREAMS));
    let few = Limits {
        max_flows: 3,
        ..Limits::default()
    };
    let fill = path.run(plan(&[65_536], true), few).fill.expect("a search");
    assert_eq!((fill.streams, fill.most_streams), (None, 2));
}

#[test]
fn the_byte_limit_ends_a_sweep_and_a_test_cut_short_is_no_number_of_connections() {
    let path = Modelled {
        rate: 1_000_000_000,
        rtt_ns: 80 * MS,
    };
    let limited = |windows: &[u64], fill, max_bytes| {
        let plan = SweepPlan {
            max_bytes,
            ..plan(windows, fill)
        };
        path.run(plan, Limits::default())
    };
    let sweep = limited(&[65_536, 1 << 20, 16 << 20], false, 20_000_000);
    assert_eq!((sweep.tests.len(), sweep.bytes), (2, 20_000_000));
    assert!(sweep.hit_byte_limit);
    let search = limited(&[1 << 20], true, 300_000_000);
    assert!(search.hit_byte_limit && search.fill.expect("what was found").streams.is_none());
}

#[test]
fn a_window_and_a_round_trip_make_a_rate_and_back() {
    // The calculators of the field: 64 KiB at 80 ms are 6.55 Mbit/s; 1 Gbit/s at 80 ms need 10 MB.
    assert_eq!(rate_of(65_536, 80 * MS), Rate(6_553_600));
    assert_eq!(window_of(Rate(1_000_000_000), 80 * MS), 10_000_000);
}
