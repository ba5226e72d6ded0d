//! Sentences of an answer. It must not know how the verdict was reached.

use weir_units::{count_of, format_count, format_duration, format_percent, format_rate};

use super::{AnswerSettings, Basis, Media, Reason, Recommended, Verdict};
use crate::finding::Recovery;
use crate::words::{share, way};

/// The verdict, with the settings or the reason.
pub(super) fn sentence(
    verdict: Verdict,
    reason: Reason,
    media: &Media,
    settings: Option<&AnswerSettings>,
    recommended: Option<&Recommended>,
) -> String {
    let what = named(media);
    let with = settings.map_or(String::new(), with);
    match verdict {
        Verdict::Carries => format!("Yes: this path carries {what} with {with}."),
        Verdict::CarriesWithRepair => format!("Yes, with repair: this path carries {what} with {with}."),
        Verdict::DoesNotCarry => match reason {
            Reason::AtTimes => {
                format!(
                    "No: this path carries {what} only at times; {}.",
                    why_not(reason, recommended)
                )
            }
            _ => format!(
                "No: this path does not carry {what}; {}.",
                why_not(reason, recommended)
            ),
        },
        Verdict::CannotSay => match reason {
            Reason::LowerRate(tested) => format!(
                "Cannot say whether this path carries {what}: {}. At {} it carries media with {with}.",
                if recommended.is_some_and(|found| found.basis.left_out > 0) {
                    "a host could not keep up with that rate"
                } else {
                    "no flow test had that rate"
                },
                format_rate(tested)
            ),
            _ => format!(
                "Cannot say whether this path carries {what}: {}.",
                why_unknown(reason, media, recommended)
            ),
        },
    }
}

/// `1080p59.94-422-10 (2.486 Gbit/s)`, as far as it is known.
fn named(media: &Media) -> String {
    match (&media.format, media.rate) {
        (Some(format), Some(rate)) => format!("{format} ({})", format_rate(rate)),
        (_, Some(rate)) => format_rate(rate),
        _ => "media".to_owned(),
    }
}

fn with(settings: &AnswerSettings) -> String {
    let recovery = &settings.recovery;
    let latency = recovery.latency_ns().map(format_duration);
    let cost = match (recovery, latency) {
        (Recovery::Fec { overhead, .. }, Some(latency)) => {
            format!(" ({} more, {latency})", format_percent(*overhead))
        }
        (_, Some(latency)) => format!(" ({latency})"),
        (_, None) => String::new(),
    };
    format!(
        "{}, payload {} bytes, {}{recovery}{cost}",
        count_of(settings.flows.into(), "flow"),
        settings.payload,
        settings
            .burst
            .map_or(String::new(), |burst| format!("bursts of {burst}, "))
    )
}

fn why_not(reason: Reason, recommended: Option<&Recommended>) -> String {
    let Some(found) = recommended else {
        return String::new();
    };
    let advice = &found.recommendation;
    let loss = format_percent(advice.expected_loss);
    match reason {
        Reason::AtTimes => format!("one of {} flow tests lost {loss}", found.basis.tests),
        Reason::TooMuch => format!(
            "{}, with {} and payload {} bytes, lost {loss}",
            match found.basis.tests {
                1 => "the flow test".to_owned(),
                tests => format!("the best of {tests} flow tests"),
            },
            count_of(advice.flows.into(), "flow"),
            advice.payload,
        ),
        Reason::TooLossy => format!("it loses {loss} of the packets"),
        _ => {
            let expected = advice.expected_residual_interval.1;
            let left = advice.simulated_residual_loss.map_or(expected, |bounds| bounds.2);
            format!(
                "FEC and ARQ leave a residual loss of up to {}, target {}",
                share(left.max(expected)),
                share(advice.target_loss)
            )
        }
    }
}

fn why_unknown(reason: Reason, media: &Media, recommended: Option<&Recommended>) -> String {
    let basis = recommended.map(|found| &found.basis);
    match reason {
        Reason::NoRate => "the flows were sent without a rate".to_owned(),
        Reason::AlwaysLate => match basis.map_or(0, |basis| basis.tests) {
            1 => "the sender did not keep its schedule".to_owned(),
            tests => format!("the sender did not keep its schedule in any of {tests} flow tests"),
        },
        Reason::HostLoss => "hosts dropped packets in every flow test".to_owned(),
        Reason::FewPackets => format!(
            "{} packets are too few",
            format_count(basis.map_or(0, |basis| basis.packets))
        ),
        Reason::Untried => {
            "every flow test met the limit on each flow, and more flows were not tested".to_owned()
        }
        _ if media.kind == "survey" => "the survey ended without a flow test".to_owned(),
        _ => "this run has no flow test".to_owned(),
    }
}

/// What the tests were.
pub(super) fn basis(basis: &Basis, kind: &str) -> String {
    let rate = match (basis.lowest_rate, basis.rate) {
        (Some(lowest), Some(rate)) if lowest < rate => {
            format!(" at {} to {}", format_rate(lowest), format_rate(rate))
        }
        (_, Some(rate)) => format!(" at {}", format_rate(rate)),
        _ => String::new(),
    };
    let loss = if basis.lost == 0 {
        "none lost".to_owned()
    } else {
        let rate = basis.lost as f64 / basis.packets.max(1) as f64;
        format!("{} lost ({})", format_count(basis.lost), format_percent(rate))
    };
    let mut text = format!(
        "{} of {}{rate}{}, {} packets, {loss}; {}",
        count_of(basis.tests.into(), "flow test"),
        format_duration(basis.duration_ns / u64::from(basis.tests.max(1))),
        way(basis.direction),
        format_count(basis.packets),
        hosts(basis)
    );
    if basis.left_out > 0 {
        text.push_str(&format!(
            "; {} more left out, a host did not keep up",
            basis.left_out
        ));
    }
    if basis.interrupted {
        let run = if kind == "survey" { "survey" } else { "run" };
        text.push_str(&format!(
            "; the {run} was interrupted, and what it had not measured yet is unknown"
        ));
    }
    if let (Some(residual), Some(target)) = (basis.residual_loss, basis.target_loss) {
        text.push_str(&format!(
            "; residual loss at most {} (95 %), target {}",
            share(residual),
            share(target)
        ));
    }
    text.push('.');
    text
}

fn hosts(basis: &Basis) -> String {
    let sender = match (basis.late_tests, basis.tests) {
        (0, _) => "sender on schedule".to_owned(),
        (1, 1) => "the sender did not keep its schedule".to_owned(),
        (late, _) => format!("the sender did not keep its schedule in {late} of them"),
    };
    match (basis.host_loss_tests, basis.tests) {
        (0, _) => format!("{sender}, no loss on hosts"),
        (1, 1) => format!("{sender}, hosts dropped packets"),
        (lossy, _) => format!("{sender}, hosts dropped packets in {lossy} of them"),
    }
}

/// What to do or to measure next.
pub(super) fn next(
    reason: Reason,
    media: &Media,
    settings: Option<&AnswerSettings>,
    recommended: Option<&Recommended>,
) -> Option<String> {
    let confirm = || settings.and_then(|settings| flows_command(media, settings));
    let survey = || match plain_target(media) {
        Some(target) => format!("measure with 'weir survey {target}'."),
        None => "measure with 'weir survey'.".to_owned(),
    };
    Some(match reason {
        Reason::None => {
            let settings = settings.filter(|settings| !settings.measured_together)?;
            let command = flows_command(media, settings)?;
            format!("confirm these settings, which were not tested together: '{command}'.")
        }
        Reason::NoFlowTest => survey(),
        Reason::NoRate => "measure at the rate of the media ('--format' or '--rate').".to_owned(),
        Reason::AlwaysLate => faster_sender(),
        Reason::LowerRate(_) => "measure between faster hosts to test the full rate.".to_owned(),
        Reason::HostLoss => {
            "repair the loss on the hosts first (see the finding host-loss), then measure again.".to_owned()
        }
        Reason::FewPackets if recommended.is_some_and(|found| found.basis.left_out > 0) => faster_sender(),
        Reason::FewPackets => {
            "measure longer ('--step 10s' of weir survey, '--for 1min' of weir flows).".to_owned()
        }
        Reason::Untried => format!("test more flows: '{}'.", confirm()?),
        Reason::TooLossy | Reason::Residual => {
            "use another path, or accept more residual loss ('weir diagnose --target-loss').".to_owned()
        }
        Reason::AtTimes | Reason::TooMuch => lower_rate(recommended.and_then(|found| found.carried)),
    })
}

/// What to do about a path that carries only this, bits per second.
pub(crate) fn lower_rate(carried: Option<u64>) -> String {
    match carried.filter(|rate| *rate > 0) {
        Some(rate) => format!(
            "lower the rate to less than {}, or use another path.",
            format_rate(rate)
        ),
        None => "lower the rate, or use another path.".to_owned(),
    }
}

fn faster_sender() -> String {
    "measure at a lower rate ('--rate'), or from a host that is faster or less busy.".to_owned()
}

/// A test of these settings; none where the far host's name is no plain word of a shell.
fn flows_command(media: &Media, settings: &AnswerSettings) -> Option<String> {
    let rate = match (&media.format, media.rate) {
        (Some(format), _) => format!(" --format {format}"),
        (None, Some(rate)) => format!(" --rate {}", rate_argument(rate)),
        (None, None) => String::new(),
    };
    Some(format!(
        "weir flows {} --flows {} --length {}{rate}",
        plain_target(media)?,
        settings.flows,
        settings.payload
    ))
}

fn plain_target(media: &Media) -> Option<&str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".:-_%".contains(letter);
    let target = media.target.as_str();
    (!target.is_empty() && !target.starts_with('-') && target.chars().all(plain)).then_some(target)
}

/// A rate as the command line reads it.
fn rate_argument(rate: u64) -> String {
    let (size, unit) = if rate >= 1_000_000_000 {
        (1e9, "Gbit/s")
    } else {
        (1e6, "Mbit/s")
    };
    let number = format!("{:.6}", rate as f64 / size);
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}
