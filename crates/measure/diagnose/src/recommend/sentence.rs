//! The recommendation in words. It must not know how it was found.

use weir_units::{count_of, format_duration, format_percent};

use super::Loss;
use crate::analysis::process::{Kind, LossProcess};
use crate::finding::{Recommendation, Recovery, Survival, Survive};
use crate::words::share;

/// The settings, how losses are repaired, and what a longer test would tell.
pub(super) fn sentence(found: &Recommendation, process: &LossProcess, loss: &Loss) -> String {
    let bursts = found.burst.map_or(String::new(), |burst| {
        format!(
            ", at most {} of a flow back to back,",
            count_of(burst.into(), "packet")
        )
    });
    let settings = format!(
        "{} with payloads of {} bytes{bursts}",
        count_of(found.flows.into(), "flow"),
        found.payload
    );
    let bound = if process.kind == Kind::NoneSeen {
        "at most "
    } else {
        ""
    };
    let left = format!(
        "raw loss {bound}{}, residual loss {bound}{}",
        format_percent(found.expected_loss),
        share(found.expected_residual_loss)
    );
    let how = match found.recovery {
        Recovery::None => format!("no recovery: loss {bound}{}", format_percent(found.expected_loss)),
        Recovery::Fec {
            overhead,
            repair_packets,
            span_packets,
            latency_ns,
        } => format!(
            "FEC of {} for every {span_packets} ({} more, {} of latency): {left}",
            count_of(repair_packets.into(), "repair packet"),
            format_percent(overhead),
            format_duration(latency_ns)
        ),
        Recovery::Arq { latency_ns, rounds } => {
            let times = if rounds == 1 {
                "one retransmission".to_owned()
            } else {
                format!("up to {rounds} retransmissions")
            };
            let latency = latency_ns.map_or_else(
                || " (its latency depends on the RTT, which this run did not measure)".to_owned(),
                |latency| format!(", within {} of latency", format_duration(latency)),
            );
            format!("ARQ with {times} of a lost packet{latency}: {left}")
        }
    };
    let dark = if loss.dark_share > 0.0 {
        format!(
            " The outage seen took {} of the packets while it lasted.",
            format_percent(loss.dark_share)
        )
    } else {
        String::new()
    };
    let apart = if found.measured_together {
        ""
    } else {
        " These settings were not tested together: confirm them with 'weir flows'."
    };
    let unknown = found.longer_test_ns.map_or(String::new(), |longer| {
        format!(
            " No packet was lost: that shows a loss of at most {}, and nothing is added to the stream against what was not \
             seen. A test of {} without loss would show the target.",
            format_percent(found.expected_loss),
            format_duration(longer)
        )
    });
    format!(
        "use {settings} and {how} (target: {}).{unknown}{dark}{apart}",
        share(found.target_loss)
    )
}

/// The cost of surviving something: `of a flow, 8 flows and ARQ of up to 2 rounds (0.1 % more packets, ...)`.
pub(super) fn price(survival: &Survival) -> String {
    let what = of(survival.of);
    let Some(recovery) = &survival.recovery else {
        return format!("{what}, nothing that was tried");
    };
    format!(
        "{what}, {} flows and {recovery} ({} more packets, a receiver that waits {})",
        survival.flows,
        format_percent(survival.overhead),
        format_duration(survival.latency_ns)
    )
}

/// What was asked for in vain.
pub(super) fn not_survived(what: Survive) -> String {
    format!(
        " Nothing that was tried survives an outage of a second {}.",
        of(what)
    )
}

fn of(what: Survive) -> &'static str {
    match what {
        Survive::Flow => "of a flow",
        Survive::Route => "of the busiest route",
    }
}
