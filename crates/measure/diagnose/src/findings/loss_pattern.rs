//! What is said of losses that are not chance, by the finding of a loss process and by that of unexplained loss. It must not know
//! how a pattern is found.

use weir_units::{format_duration, format_percent};

use crate::analysis::Pattern;
use crate::finding::{Confidence, Evidence};

/// After "0.4 % of packets were lost", without an end: `one in every 256`.
pub(crate) fn brief(pattern: Pattern) -> String {
    match pattern {
        Pattern::Every { packets, .. } => format!("one in every {packets}"),
        Pattern::InBursts { place, .. } => {
            format!("most of them at the {} of what is sent back to back", end(place))
        }
        Pattern::SparesLast { packets, .. } => {
            format!("hardly any of them among the last {packets} of what is sent back to back")
        }
        Pattern::AtTimes { lasts_ns, loss, .. } => {
            format!(
                "at certain times: {} for {}",
                format_percent(loss),
                format_duration(lasts_ns)
            )
        }
    }
}

/// Why it is not chance, as a sentence.
pub(crate) fn reason(pattern: Pattern) -> String {
    match pattern {
        Pattern::Every { packets, share } => format!(
            "Of the distances between lost packets, {} are {packets} packets: no chance does that, a device that drops by content or \
             by number does.",
            format_percent(share)
        ),
        Pattern::InBursts { place, .. } => format!(
            "Between the first packet and the last that are sent back to back, lost ones lie {} of the way on average, and chance would \
             lose half-way: something loses them by what is sent around them.",
            format_percent(place)
        ),
        Pattern::SparesLast {
            packets,
            lost,
            expected,
            ..
        } => format!(
            "Of the lost packets, {lost} were among the last {packets} that are sent back to back, and chance would have lost \
             {expected:.0} there: something loses a packet when others come soon after it."
        ),
        Pattern::AtTimes { lasts_ns, .. } => format!(
            "Loss comes, stays for {} on average, and goes, and most packets get through while it is there: no burst of a path is so \
             long, something that works at certain times is.",
            format_duration(lasts_ns)
        ),
    }
}

/// What to measure next, as a sentence.
pub(crate) fn action(pattern: Pattern) -> String {
    match pattern {
        Pattern::Every { packets, .. } => format!(
            "Repeat 'weir flows' with another --length and another number of flows: where still one packet in {packets} is lost, \
             ask whoever runs the tunnels, cards and filters on the path what they count."
        ),
        Pattern::InBursts { place, .. } if place > 0.5 => {
            "Repeat 'weir flows' with a quarter of the --burst: a queue or a bucket that is smaller than a burst then loses less.".to_owned()
        }
        Pattern::InBursts { .. } | Pattern::SparesLast { .. } => {
            "Repeat 'weir flows' with --burst 1: where that loses less, look for reordering before a device that drops what comes late, \
             such as a tunnel's replay window."
                .to_owned()
        }
        Pattern::AtTimes { .. } => {
            "Run 'weir flows --for 10min' and look when it comes: loss in a fixed rhythm belongs to a job, a scan or a radio; loss at \
             other times to streams that share the path."
                .to_owned()
        }
    }
}

pub(crate) fn evidence(pattern: Pattern) -> Evidence {
    match pattern {
        Pattern::Every { packets, .. } => Evidence::of("packets from one lost packet to the next", packets),
        Pattern::InBursts { place, .. } => {
            Evidence::of("mean place of lost packets in what is sent back to back", place)
        }
        Pattern::SparesLast { lost, .. } => {
            Evidence::of("lost packets among the last of what is sent back to back", lost)
        }
        Pattern::AtTimes { lasts_ns, .. } => {
            Evidence::of("mean time for which packets are lost, ns", lasts_ns)
        }
    }
}

pub(crate) fn confidence(pattern: Pattern) -> Confidence {
    match pattern {
        Pattern::Every { share, .. } => {
            Confidence::by_count("distances between lost packets that are the same", share)
        }
        Pattern::InBursts { p_value, .. } => Confidence::by_test(
            "test of the mean place of lost packets in what is sent back to back",
            p_value,
        ),
        Pattern::SparesLast { p_value, .. } => Confidence::by_test(
            "Chernoff's bound for lost packets among the last of what is sent back to back (Bonferroni)",
            p_value,
        ),
        Pattern::AtTimes { p_value, .. } => Confidence::by_test(
            "Wald-Wolfowitz runs test and test of the distances between losses (Bonferroni)",
            p_value,
        ),
    }
}

fn end(place: f64) -> &'static str {
    if place > 0.5 { "end" } else { "beginning" }
}
