//! A trap of pacing as text: its description, the playback of each viewer, and whether it occurs.

use crate::units::{format_duration, format_percent, format_rate};
use weir_lab::traps::{ClaimChecked, Shown, VariantPlayed};

use super::diagnosis::wrapped;
use super::{pacing_figure, table, titled};

const NOTHING: &str = "-";

/// The description, a table of the variants, and the claims.
pub fn trap(shown: &Shown) -> String {
    let mut figures = table(&[
        "",
        "pace",
        "rungs",
        "start-up",
        "stalls",
        "stalled",
        "first 20 s",
        "bit rate",
        "switches",
        "max buffer",
        "throughput",
    ]);
    for variant in &shown.variants {
        figures.add_row(row(variant));
    }
    let named = match shown.headline.as_str() {
        "" => shown.scenario.clone(),
        headline => format!("{}: {headline}", shown.scenario),
    };
    let title = format!("{named}\n{}", wrapped(&shown.trap, "  ", "  "));
    let claims: String = shown.claims.iter().map(claim).collect();
    let verdict = match shown.shown {
        true => "the trap occurs",
        false => "the trap does not occur: not all claims hold",
    };
    format!("{}{verdict}\n{claims}\n", titled(&title, &figures))
}

fn row(played: &VariantPlayed) -> Vec<String> {
    let figures = &played.figures;
    let rate = |rate: Option<u64>| rate.map_or(NOTHING.to_owned(), format_rate);
    let server = match played.server {
        "bounds" => ", bounded",
        _ => "",
    };
    let unfinished = if played.finished { "" } else { " (unfinished)" };
    vec![
        format!("{}{unfinished}", played.variant),
        format!("{}{server}", played.pace),
        format!("{} from {}", played.abr, format_rate(played.first_rung)),
        figures.startup_ns.map_or(NOTHING.to_owned(), format_duration),
        figures.stalls.to_string(),
        match figures.stalled_ns {
            0 => NOTHING.to_owned(),
            stalled => format!(
                "{} ({})",
                format_duration(stalled),
                format_percent(figures.stall_ratio)
            ),
        },
        rate(figures.first_20_s_bitrate),
        rate(figures.bitrate),
        figures.switches.to_string(),
        format_duration(figures.highest_buffer_ns),
        rate(figures.throughput),
    ]
}

fn claim(claim: &ClaimChecked) -> String {
    let shown =
        |value: Option<f64>| value.map_or(NOTHING.to_owned(), |value| pacing_figure(claim.figure, value));
    let holds = if claim.holds { "yes" } else { "no" };
    let times = match claim.times {
        1.0 => String::new(),
        times => format!("{times} times "),
    };
    format!(
        "  {holds}: {} of {}, {}, is {} {times}that of {}, {}\n",
        words(claim.figure),
        claim.variant,
        shown(claim.value),
        claim.is,
        claim.of,
        shown(claim.beside),
    )
}

/// Display name of a figure.
fn words(figure: &str) -> &str {
    match figure {
        "startup_ns" => "start-up",
        "stalled_ns" => "time stalled",
        "stall_ratio" => "share stalled",
        "bitrate" => "bit rate",
        "first_20_s_bitrate" => "bit rate in the first 20 s",
        "last_bitrate" => "last bit rate",
        "highest_buffer_ns" => "highest buffer",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use weir_lab::traps::{Scenario, named, play};

    use super::*;

    #[test]
    fn a_trap_reads_as_words_a_table_and_claims() {
        let text = named("naive-start").expect("it comes with Weir");
        let scenario = Scenario::parse(text, "naive-start").expect("it is right");
        let mut shown = play(&scenario).expect("it can be played");
        let text = trap(&shown);
        for part in [
            "naive-start: Four times the rung from the first byte on delays play\n  Until the first picture",
            "2.04 s",
            "rung:4, bounded",
            "throughput from 1.750 Mbit/s",
            "the trap occurs\n",
            "  yes: start-up of 4-rung, 2.04 s, is above 2 times that of unpaced, 394 ms\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        shown.claims[0].holds = false;
        shown.shown = false;
        let text = trap(&shown);
        assert!(
            text.contains("does not occur") && text.contains("  no: start-up of 4-rung"),
            "{text}"
        );
    }
}
