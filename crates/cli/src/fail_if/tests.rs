//! Thresholds that hold, that are crossed, and that cannot be read.

use super::*;

fn read(text: &str) -> FailIf {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(text: &str) -> String {
    text.parse::<FailIf>().expect_err(text).to_string()
}

#[test]
fn limits_come_in_base_units() {
    let table = [
        ("loss > 0.001%", Metric::Loss, 1e-5),
        ("loss>0.00001", Metric::Loss, 1e-5),
        ("loss > 1e-5", Metric::Loss, 1e-5),
        ("late >= 5 %", Metric::Late, 0.05),
        ("loss > 100%", Metric::Loss, 1.0),
        ("loss > 0", Metric::Loss, 0.0),
        ("p50 > 150us", Metric::P50, 150e3),
        ("p99.9 > 1.5ms", Metric::P999, 1.5e6),
        ("jitter>20us", Metric::Jitter, 20e3),
        ("silence > 1s", Metric::Silence, 1e9),
        ("rate < 2.4Gbit/s", Metric::Rate, 2.4e9),
        ("bursts > 3", Metric::Bursts, 3.0),
        ("longest-burst >= 12", Metric::LongestBurst, 12.0),
        (" duplicates  >  0 ", Metric::Duplicates, 0.0),
        ("failures > 0.1%", Metric::Failures, 0.001),
        ("rebuffer > 1%", Metric::Rebuffer, 0.01),
    ];
    for (text, metric, limit) in table {
        let read = read(text);
        assert_eq!((read.metric(), read.limit()), (metric, limit), "{text}");
    }
}

#[test]
fn each_sign_at_below_and_above_the_limit() {
    let crossed = |sign: &str| {
        let condition = read(&format!("loss {sign} 0.001%"));
        [0.9e-5, 1.0 / 100_000.0, 1.1e-5].map(|value| condition.crossed(value))
    };
    assert_eq!(crossed(">"), [false, false, true]);
    assert_eq!(crossed(">="), [false, true, true]);
    assert_eq!(crossed("<"), [true, false, false]);
    assert_eq!(crossed("<="), [true, true, false]);
}

#[test]
fn what_was_not_measured_fails() {
    let condition = read("p90 < 10us");
    assert!(condition.crossed(f64::NAN));
    assert_eq!(
        condition.describe(f64::NAN),
        "p90 was not measured; the limit was 10.0 us"
    );
}

/// A condition, a value, and what is said of both.
const DESCRIBED: &str = "
loss > 0.001% | 0.000031 | loss is 0.0031 %, above the limit of 0.001 %
loss > 0.00001 | 0.000031 | loss is 0.0031 %, above the limit of 0.001 %
loss > 1e-5 | 0.000031 | loss is 0.0031 %, above the limit of 0.001 %
loss > 0.00123456% | 0.5 | loss is 50 %, above the limit of 0.00123456 %
loss > 0.001% | 0.00001000001 | loss is 0.001000001 %, above the limit of 0.001 %
loss >= 0.5 | 0.5 | loss is 50 %, at or above the limit of 50 %
loss > 1% | 0.001 | loss is 0.1 %, within the limit of 1 %
p90 > 150us | 210000.0 | p90 is 210 us, above the limit of 150 us
p90 > 150us | 150001.0 | p90 is 150001 ns, above the limit of 150 us
max > 1234567ns | 2e6 | max is 2.00 ms, above the limit of 1234567ns
rate < 2.4Gbit/s | 2.3e9 | rate is 2.300 Gbit/s, below the limit of 2.400 Gbit/s
bursts > 3 | 1234.0 | bursts are 1,234, above the limit of 3
longest-burst >= 12 | 12.0 | longest-burst is 12 packets, at or above the limit of 12 packets
";

#[test]
fn descriptions() {
    for line in DESCRIBED.lines().filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let value: f64 = parts[1].parse().expect(line);
        assert_eq!(read(parts[0]).describe(value), parts[2], "{line}");
    }
}

#[test]
fn prints_back_to_itself() {
    for text in [
        "loss > 0.001%",
        "p99.9 >= 1.5ms",
        "rate < 2.4Gbit/s",
        "bursts <= 3",
    ] {
        assert_eq!(read(text).to_string(), text);
    }
    assert_eq!(read("loss>0.001%").to_string(), "loss > 0.001%");
}

/// What is refused, and the whole error; ALL stands for the list of all metrics.
const REFUSED: &str = "
los > 1% => unknown metric 'los' (did you mean 'loss'?); ALL
p999 > 1ms => unknown metric 'p999' (did you mean 'p99.9'?); ALL
dup > 1 => unknown metric 'dup' (did you mean 'duplicates'?); ALL
Loss > 1% => unknown metric 'Loss' (did you mean 'loss'?); ALL
throughput > 1 => unknown metric 'throughput'; ALL
> 1 => unknown metric ''; ALL
loss => 'loss' compares nothing; write it like 'loss > 0.001%', with >, >=, < or <=
loss = 1% => 'loss = 1%' compares nothing; write it like 'loss > 0.001%', with >, >=, < or <=
loss > 5 => loss is a share, at most 100%; write 'loss > 5%'
loss > 500% => loss is a share, at most 100%; write 'loss > 100%'
loss > 5ms => loss takes a percentage, or a plain ratio; write 'loss > 5%'
loss > => loss takes a percentage, or a plain ratio; write 'loss > 0.001%'
loss > -1% => loss takes a percentage, or a plain ratio; write 'loss > 0.001%'
loss > 1e => loss takes a percentage, or a plain ratio; write 'loss > 1%'
p90 > 150 => p90 takes a time; write 'p90 > 150us'
p90 > 5% => p90 takes a time; write 'p90 > 5us'
rate < 2400 => '2400' has no unit; write 2400Mbit/s or 2.4Gbit/s
rate < fast => rate takes a rate; write 'rate < 2.4Gbit/s'
bursts > 1.5 => bursts takes a plain count; write 'bursts > 1'
duplicates > 1% => duplicates takes a plain count; write 'duplicates > 1'
";

#[test]
fn refusals_show_the_right_form() {
    let all = "use one of loss, late, duplicates, p50, p90, p99, p99.9, max, min, jitter, rate, bursts, \
               longest-burst, silence, failures, rebuffer";
    for line in REFUSED.lines().filter(|line| !line.is_empty()) {
        let (text, message) = line.split_once(" => ").expect(line);
        assert_eq!(refusal(text), message.replace("ALL", all), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_threshold_panics(text in "\\PC{0,12}", near in "[0-9.,/ ]{0,6}[a-zA-Z%/µ.]{0,6}[0-9.]{0,3}") {
        for text in [text, near] {
            let _ = format!("p90 > {text}").parse::<FailIf>();
            let _ = format!("loss > {text}").parse::<FailIf>();
        }
    }
}
