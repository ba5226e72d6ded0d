//! Good and bad forms of every quantity, and printing read back.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::*;

use super::*;

fn read<T: FromStr<Err = UnitError>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Rows `TEXT => MESSAGE`.
fn refused<T: FromStr<Err = UnitError> + Debug>(table: &str) {
    for row in table.trim().lines() {
        let (text, message) = row.split_once("=>").expect("a row");
        let (text, message) = (text.trim(), message.trim());
        assert_eq!(text.parse::<T>().expect_err(text).to_string(), message, "{text}");
    }
}

#[test]
fn rates() {
    let table = [
        ("2.5Gbit/s", 2_500_000_000),
        ("800Mbit/s", 800_000_000),
        ("64kbit/s", 64_000),
        ("64Kbit/s", 64_000),
        ("1000bit/s", 1000),
        ("10Gbps", 10_000_000_000),
        ("9600bps", 9600),
        ("1.5Tbit/s", 1_500_000_000_000),
        (" 2.486 Gbit/s ", 2_486_000_000),
        (".5Mbit/s", 500_000),
        ("2.485784215Gbit/s", 2_485_784_215),
        ("0.000000001Gbit/s", 1),
        ("18446744073709551615bit/s", u64::MAX),
    ];
    for (text, bits) in table {
        assert_eq!(read::<Rate>(text), Rate(bits), "{text}");
    }
    refused::<Rate>(
        "
        2500 => '2500' has no unit; write 2500Mbit/s or 2.5Gbit/s
        2.5 => '2.5' has no unit; write 2.5Mbit/s or 2.5Gbit/s
        800 => '800' has no unit; write 800Mbit/s or 800Gbit/s
        2500000000 => '2500000000' has no unit; write 2500000000bit/s or 2.5Gbit/s
        0 => the rate must be above zero; write a rate such as 2.5Gbit/s
        0Gbit/s => the rate must be above zero; write a rate such as 2.5Gbit/s
        0.0bps => the rate must be above zero; write a rate such as 2.5Gbit/s
        1.5GB/s => '1.5GB/s' could mean bits or bytes; write 1.5Gbit/s or 12Gbit/s
        300Mb/s => '300Mb/s' could mean bits or bytes; write 300Mbit/s or 2400Mbit/s
        100MBps => '100MBps' could mean bits or bytes; write 100Mbit/s or 800Mbit/s
        2.5gbit/s => 'gbit/s' is not a unit of rate; write 2.5Gbit/s
        800mbps => 'mbps' is not a unit of rate; write 800Mbit/s
        800Mbit => 'Mbit' is not a unit of rate; write 800Mbit/s
        5ms => 'ms' is not a unit of rate; write 5Mbit/s
        5x => 'x' is not a unit of rate; write 5Mbit/s
        fast => 'fast' is not a rate; write it like 2.5Gbit/s
        => '' is not a rate; write it like 2.5Gbit/s
        -1Gbit/s => '-1Gbit/s' is not a rate; write it like 2.5Gbit/s
        1.2.3Gbit/s => '1.2.3Gbit/s' is not a rate; write it like 2.5Gbit/s
        2,5Gbit/s => ',5Gbit/s' is not a unit of rate; write 2Mbit/s
        1.5bit/s => '1.5bit/s' is not a whole number of bit/s; leave out the last digits
        99999999Tbit/s => '99999999Tbit/s' is too large; the maximum is 18446744.073709551615Tbit/s
        ",
    );
    assert_eq!(read::<RateOrMax>("max"), RateOrMax::Max);
    assert_eq!(read::<RateOrMax>("1Gbps"), RateOrMax::Rate(Rate(1_000_000_000)));
    refused::<RateOrMax>(
        "
        maximum => 'maximum' is not a rate; write it like 2.5Gbit/s, or max
        2500 => '2500' has no unit; write 2500Mbit/s or 2.5Gbit/s
        ",
    );
}

#[test]
fn times() {
    let table = [
        ("10s", 10_000_000_000),
        ("1.5s", 1_500_000_000),
        ("200ms", 200_000_000),
        ("50us", 50_000),
        ("50\u{b5}s", 50_000),
        ("133 us", 133_000),
        ("7ns", 7),
        ("4h", 14_400_000_000_000),
        ("30min", 1_800_000_000_000),
        ("30m", 1_800_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("2 h 5 min", 7_500_000_000_000),
        ("2d", 172_800_000_000_000),
        ("1m0.5s", 60_500_000_000),
        ("0s", 0),
    ];
    for (text, nanoseconds) in table {
        assert_eq!(read::<TimeSpan>(text), TimeSpan(nanoseconds), "{text}");
    }
    refused::<TimeSpan>(
        "
        10 => '10' has no unit; write 10s, or use another of ns, us, ms, min, h, d
        0 => '0' has no unit; write 0s, or use another of ns, us, ms, min, h, d
        1h30 => '30' has no unit; write 30s, or use another of ns, us, ms, min, h, d
        10sec => 'sec' is not a unit of time; write 10s
        4hours => 'hours' is not a unit of time; write 4h
        10S => 'S' is not a unit of time; write 10s
        30mins => 'mins' is not a unit of time; write 30min
        5msec => 'msec' is not a unit of time; write 5ms
        30m1h => '30m1h' has units out of order; write the longest first, like 1h30min
        1h1h => '1h1h' has units out of order; write the longest first, like 1h30min
        long => 'long' is not a time; write it like 10s, 200ms or 1h30min
        => '' is not a time; write it like 10s, 200ms or 1h30min
        0.5ns => '0.5ns' is not a whole number of nanoseconds; leave out the last digits
        300000d => '300000d' is too large; the maximum is 213503d
        ",
    );
    assert_eq!(TimeSpan::positive("1ns"), Ok(TimeSpan(1)));
    let zero = TimeSpan::positive("0s").expect_err("zero").to_string();
    assert_eq!(zero, "the time must be above zero; write a time such as 10s");
}

#[test]
fn amounts_of_data() {
    let table = [
        ("100B", 100),
        ("64kB", 64_000),
        ("64KB", 64_000),
        ("64KiB", 65_536),
        ("4MiB", 4 << 20),
        ("50GB", 50_000_000_000),
        ("1.5TB", 1_500_000_000_000),
        ("0.5KiB", 512),
        ("0B", 0),
    ];
    for (text, bytes) in table {
        assert_eq!(read::<ByteCount>(text), ByteCount(bytes), "{text}");
    }
    refused::<ByteCount>(
        "
        50 => '50' has no unit; write 50B, or use another of kB, MB, GB, TB, KiB, MiB, GiB, TiB
        50G => 'G' is not a unit of data; write 50GB
        50gb => 'gb' is not a unit of data; write 50GB
        4mib => 'mib' is not a unit of data; write 4MiB
        4Mbit => 'Mbit' is not a unit of data; write 4B
        much => 'much' is not an amount of data; write it like 50GB or 4MiB
        0.5B => '0.5B' is not a whole number of bytes; leave out the last digits
        99999999TB => '99999999TB' is too large; the maximum is 18446744.073709551615TB
        ",
    );
    let zero = ByteCount::positive("0B").expect_err("zero").to_string();
    assert_eq!(
        zero,
        "the amount must be above zero; write an amount such as 4MiB"
    );
    assert_eq!(ByteCount(4 << 20).to_string(), "4MiB");
    assert_eq!(ByteCount(50_000_000_000).to_string(), "50GB");
    assert_eq!(ByteCount(0).to_string(), "0B");
}

#[test]
fn spans() {
    assert_eq!(read::<LengthSpan>("8100"), LengthSpan { from: 8100, to: 8100 });
    assert_eq!(
        read::<LengthSpan>("100..8100"),
        LengthSpan { from: 100, to: 8100 }
    );
    assert_eq!(
        read::<LengthSpan>("100B..8100 B"),
        LengthSpan { from: 100, to: 8100 }
    );
    assert_eq!(read::<CountSpan>("10"), CountSpan { from: 10, to: 10 });
    assert_eq!(read::<CountSpan>("50..100"), CountSpan { from: 50, to: 100 });
    assert_eq!(
        read::<PortRange>("4750..4849"),
        PortRange {
            first: 4750,
            last: 4849
        }
    );
    assert_eq!(
        read::<PortRange>("4750"),
        PortRange {
            first: 4750,
            last: 4750
        }
    );
    assert_eq!(parse_length("8100B"), Ok(8100));
    refused::<CountSpan>(
        "
        100..50 => 100..50 runs backwards; write 50..100
        50-100 => '50-100' is not a count; write it like 10 or 50..100
        50.. => '50..' is not a count; write it like 10 or 50..100
        1..2..3 => '1..2..3' is not a count; write it like 10 or 50..100
        10B => '10B' is not a count; write it like 10 or 50..100
        0..50 => the count must be above zero; write at least 1
        5000000000 => '5000000000' is too large; the maximum is 4294967295
        ",
    );
    refused::<LengthSpan>(
        "
        8100..100B => 8100..100B runs backwards; write 100..8100
        8kB => '8kB' is not a length in bytes; write it like 8100 or 100..8100
        0 => the length must be above zero; write at least 1
        65508 => '65508' is too large; the maximum is 65507
        ",
    );
    refused::<PortRange>(
        "
        4849..4750 => 4849..4750 runs backwards; write 4750..4849
        0..10 => port 0 is reserved; write ports from 1 to 65535
        1..70000 => '70000' is too large; the maximum is 65535
        4750-4849 => '4750-4849' is not a range of ports; write it like 4750..4849
        ",
    );
    let refusal = parse_length("100..8100").expect_err("a span").to_string();
    assert_eq!(
        refusal,
        "'100..8100' is not a length in bytes; write it like 8100"
    );
}

#[test]
fn frame_rates() {
    let table = [
        ("59.94", 60_000, 1001),
        ("29.97", 30_000, 1001),
        ("23.976", 24_000, 1001),
        ("23.98", 24_000, 1001),
        ("119.88", 120_000, 1001),
        ("50", 50, 1),
        ("25.0", 25, 1),
        ("12.5", 25, 2),
        ("60000/1001", 60_000, 1001),
        ("120000/2002", 60_000, 1001),
    ];
    for (text, numerator, denominator) in table {
        assert_eq!(
            read::<FrameRate>(text),
            FrameRate {
                numerator,
                denominator
            },
            "{text}"
        );
    }
    assert_eq!(read::<FrameRate>("60000/1001").to_string(), "59.94");
    assert_eq!(read::<FrameRate>("23.98").to_string(), "23.976");
    refused::<FrameRate>(
        "
        0 => the frame rate must be above zero; write a rate such as 59.94
        0/1001 => the frame rate must be above zero; write a rate such as 59.94
        0.0 => the frame rate must be above zero; write a rate such as 59.94
        60/0 => '60/0' is not a frame rate; write it like 59.94, 50 or 60000/1001
        60fps => '60fps' is not a frame rate; write it like 59.94, 50 or 60000/1001
        => '' is not a frame rate; write it like 59.94, 50 or 60000/1001
        -50 => '-50' is not a frame rate; write it like 59.94, 50 or 60000/1001
        99999999999 => '99999999999' is not a frame rate; write it like 59.94, 50 or 60000/1001
        ",
    );
}

#[test]
fn reorder_depths() {
    let depth = |packets, time_ns| ReorderDepth { packets, time_ns };
    assert_eq!(read::<ReorderDepth>("4096"), depth(4096, 50_000_000));
    assert_eq!(read::<ReorderDepth>("20ms"), depth(65_536, 20_000_000));
    assert_eq!(read::<ReorderDepth>("4096,20ms"), depth(4096, 20_000_000));
    assert_eq!(read::<ReorderDepth>("4096, 20ms"), depth(4096, 20_000_000));
    assert_eq!(ReorderDepth::default().to_string(), "65536,50ms");
    refused::<ReorderDepth>(
        "
        50ms,4096 => '50ms,4096' is not a reorder depth; write it like 4096, 50ms or 4096,50ms
        deep => 'deep' is not a reorder depth; write it like 4096, 50ms or 4096,50ms
        4096, => '4096,' is not a reorder depth; write it like 4096, 50ms or 4096,50ms
        4096,50 => '50' has no unit; write 50s, or use another of ns, us, ms, min, h, d
        9999999 => '9999999' is too large; the maximum is 1048576 packets
        ",
    );
}

#[test]
fn rounding_for_reading() {
    let durations = [
        (0, "0 ns"),
        (7, "7 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (133_000, "133 us"),
        (133_499, "133 us"),
        (995_000, "995 us"),
        (999_499, "999 us"),
        (999_500, "1.00 ms"),
        (1_500_000, "1.50 ms"),
        (9_999_000, "10.0 ms"),
        (10_000_000_000, "10.0 s"),
        (59_900_000_000, "59.9 s"),
        (59_960_000_000, "1 min"),
        (65_000_000_000, "1 min 5 s"),
        (3_599_600_000_000, "1 h"),
        (7_500_000_000_000, "2 h 5 min"),
        (86_399_000_000_000, "1 d"),
        (183_600_000_000_000, "2 d 3 h"),
    ];
    for (nanoseconds, text) in durations {
        assert_eq!(format_duration(nanoseconds), text);
    }
    assert_eq!(format_signed_duration(-133_000), "-133 us");
    assert_eq!(format_rate(2_485_784_215), "2.486 Gbit/s");
    assert_eq!(format_rate(999_960_000), "1.000 Gbit/s");
    assert_eq!(format_rate(999_940_000), "999.9 Mbit/s");
    assert_eq!(format_rate(0), "0 bit/s");
    assert_eq!(format_rate(u64::MAX), "18446744 Tbit/s");
    assert_eq!(format_bytes(512), "512 B");
    assert_eq!(format_bytes(1_244_160_000), "1.24 GB");
    assert_eq!(format_count(0), "0");
    assert_eq!(format_count(999), "999");
    assert_eq!(format_count(1_234_567), "1,234,567");
    let shares = [
        (0.0, "0 %"),
        (0.00000002, "0.000002 %"),
        (0.00000308, "0.00031 %"),
        (0.00036601, "0.037 %"),
        (0.005, "0.5 %"),
        (0.0123456, "1.23 %"),
        (0.123456, "12.3 %"),
        (0.5, "50 %"),
        (0.999998, "99.9998 %"),
        (1.0, "100 %"),
        (f64::NAN, "-"),
    ];
    for (share, text) in shares {
        assert_eq!(format_percent(share), text);
    }
}

#[test]
fn shares() {
    // The doubles nearest to the decimal values, as the compiler reads them.
    let table = [
        ("0.1%", 0.001),
        ("100%", 1.0),
        ("0%", 0.0),
        ("0.000002%", 2e-8),
        ("0.036601 %", 3.6601e-4),
        ("0.000308%", 3.08e-6),
        (" .5% ", 0.005),
        ("33.3333333333333333%", 0.333_333_333_333_333_3),
        ("0.0000000000000001%", 1e-18),
    ];
    for (text, fraction) in table {
        assert_eq!(read::<Share>(text).fraction(), fraction, "{text}");
    }
    refused::<Share>(
        "
        0.1 => '0.1' has no unit; write 0.1%, or 10% if it is a fraction of 1
        5 => '5' has no unit; write 5%
        120% => '120%' is too large; the maximum is 100%
        100.0000000000000001% => '100.0000000000000001%' is too large; the maximum is 100%
        99999999999999999% => '99999999999999999%' is too large; the maximum is 100%
        0.00000000000000001% => '0.00000000000000001%' is not a whole number of 10^-16 %; leave out the last digits
        -1% => '-1%' is not a percentage; write it like 0.1%
        1e-3% => '1e-3%' is not a percentage; write it like 0.1%
        a little => 'a little' is not a percentage; write it like 0.1%
        % => '%' is not a percentage; write it like 0.1%
        => '' is not a percentage; write it like 0.1%
        ",
    );
}

#[test]
fn queue_sizes() {
    let table = [
        ("unlimited", QueueSize::Unlimited),
        ("50kB", QueueSize::Bytes(ByteCount(50_000))),
        ("64 KiB", QueueSize::Bytes(ByteCount(65_536))),
        ("0B", QueueSize::Bytes(ByteCount(0))),
        ("100packets", QueueSize::Packets(100)),
        ("1 packet", QueueSize::Packets(1)),
        (
            "2bdp",
            QueueSize::Bdp {
                millionths: 2_000_000,
            },
        ),
        ("0.25 BDP", QueueSize::Bdp { millionths: 250_000 }),
    ];
    for (text, size) in table {
        assert_eq!(read::<QueueSize>(text), size, "{text}");
    }
    refused::<QueueSize>(
        "
        100 => '100' has no unit; write 100packets, 100kB or 100bdp
        0bdp => the queue size must be above zero; write a size such as 2bdp
        5ms => 'ms' is not a unit of queue size; write 5packets, 5kB or 5bdp
        1.5packets => '1.5packets' is not a whole number of packets; leave out the last digits
        0.0000001bdp => '0.0000001bdp' is not a whole number of millionths of a BDP; leave out the last digits
        99999999999999bdp => '99999999999999bdp' is too large; the maximum is 18446744073709.551615
        deep => 'deep' is not a queue size; write it like 2bdp, 50kB, 100packets or unlimited
        -2bdp => '-2bdp' is not a queue size; write it like 2bdp, 50kB, 100packets or unlimited
        ",
    );
}

fn comes_back<T: FromStr<Err = UnitError> + Display + Debug + PartialEq>(value: T) {
    assert_eq!(read::<T>(&value.to_string()), value);
}

/// Values of every magnitude, not only of the largest one.
fn magnitudes() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

fn near(printed: u64, value: u64, digits: i32) -> bool {
    let error = printed.abs_diff(value) as f64;
    error <= value as f64 * 0.5 * 10f64.powi(1 - digits) * (1.0 + 1e-9)
}

#[test]
fn frames_do_not_drift() {
    // 60,000 frames take exactly 1,001 s.
    let rate = FrameRate::NTSC_60;
    assert_eq!(rate.start_ns(60_000), 1_001_000_000_000);
    assert_eq!(rate.frames_in(1_001_000_000_000), 60_000);
    assert_eq!(rate.whole_frames_in(1_001_000_000_000), 60_000);
    let century = 100 * 365 * 86_400_000_000_000;
    assert!(century - rate.start_ns(rate.whole_frames_in(century)) < 17_000_000);
}

#[test]
fn a_second_of_1080p_is_its_rate() {
    // 5,184,000 bytes at 60000/1001 frames a second: 2.4858 Gbit/s.
    let bytes = 5_184_000 * 60_000 / 1001;
    assert_eq!(Rate::of(bytes, 1_000_000_000).rounded(), "2.486 Gbit/s");
    assert_eq!(Rate(8_000_000_000).bytes_in(1_000_000), 1_000_000);
    assert_eq!(Rate::of(1_000_000, 1_000_000), Rate(8_000_000_000));
}

proptest! {
    #[test]
    fn display_reads_back_exactly(value in magnitudes(), other in any::<u32>(), last in 1u16..) {
        comes_back(Rate(value.max(1)));
        comes_back(RateOrMax::Rate(Rate(value.max(1))));
        comes_back(TimeSpan(value));
        comes_back(ByteCount(value));
        comes_back(QueueSize::Bytes(ByteCount(value)));
        comes_back(QueueSize::Packets(value));
        comes_back(QueueSize::Bdp { millionths: value.max(1) });
        let share = value % 1_000_000_000_000_000_001;
        comes_back(read::<Share>(&format!("{}.{:016}%", share / 10u64.pow(16), share % 10u64.pow(16))));
        let (a, b) = ((value as u32).max(1), other.max(1));
        comes_back(CountSpan { from: a.min(b), to: a.max(b) });
        comes_back(PortRange { first: last / 2 + 1, last: last.max(last / 2 + 1) });
        comes_back(read::<FrameRate>(&format!("{a}/{b}")));
        comes_back(ReorderDepth { packets: other >> 12, time_ns: value });
    }

    #[test]
    fn printed_rates_and_bytes_read_back_within_their_digits(value in magnitudes()) {
        let value = value.max(1);
        prop_assert!(near(read::<Rate>(&format_rate(value)).0, value, 4));
        prop_assert!(near(read::<ByteCount>(&format_bytes(value)).0, value, 3));
    }

    #[test]
    fn printed_durations_read_back_within_their_digits(value in magnitudes()) {
        let printed = read::<TimeSpan>(&format_duration(value)).0;
        // Below a minute, three digits; from a minute, an hour and a day on, to the second, minute and hour.
        let allowed = match value {
        0..59_000_000_000 => value / 190,
        59_000_000_000..3_590_000_000_000 => 500_000_000,
        3_590_000_000_000..86_000_000_000_000 => 31_000_000_000,
        _ => 1_831_000_000_000,
        };
        prop_assert!(printed.abs_diff(value) <= allowed, "{value} printed as {printed}");
    }

    #[test]
    fn printed_shares_keep_two_digits(mantissa in 1.0f64..10.0, exponent in -14i32..0) {
        let share = mantissa * 10f64.powi(exponent);
        let text = format_percent(share);
        let printed: f64 = text.trim_end_matches(" %").parse().expect("a number");
        prop_assert!((printed / 100.0 - share).abs() <= share * 0.0501, "{share} printed as {text}");
        prop_assert!(printed > 0.0 && printed < 100.0);
    }

    #[test]
    fn no_input_panics(text in "\\PC{0,12}", near in "[0-9.,/ ]{0,6}[a-zA-Z%/µ.]{0,6}[0-9.]{0,3}") {
        for text in [text, near] {
            let _ = text.parse::<RateOrMax>();
            let _ = text.parse::<TimeSpan>();
            let _ = text.parse::<ByteCount>();
            let _ = text.parse::<QueueSize>();
            let _ = text.parse::<Share>();
            let _ = text.parse::<LengthSpan>();
            let _ = text.parse::<PortRange>();
            let _ = text.parse::<FrameRate>();
            let _ = text.parse::<ReorderDepth>();
        }
    }
}
