//! A search for a pace as text: the settings first, then harm and gain of each candidate.

use crate::units::format_count;
use weir_population::{CheckedFigure, Estimate, Recommended, Trial, TuneSummary};

use super::population::signed;
use super::{or_dash, pacing_figure, table, titled};
use weir_units::count_of;

/// The recommendation and the front; with `all`, every candidate and the text of the file.
pub fn tune(summary: &TuneSummary, all: bool) -> String {
    let mut text = match &summary.recommended {
        Some(recommended) => settings(summary, recommended),
        None => "no recommendation: the search has not ended\n\n".to_owned(),
    };
    let mut shown = table(&[
        "pace",
        "burst",
        "households",
        "harm",
        "95 % interval",
        "gain",
        "95 % interval",
        "score",
        "",
    ]);
    for (place, trial) in summary.candidates.iter().enumerate() {
        if all || trial.on_front {
            shown.add_row(cells(summary, place, trial));
        }
    }
    let title = format!(
        "{}, {}, {}{}",
        summary.population,
        count_of(summary.households, "household"),
        count_of(summary.sessions, "session"),
        if all { "" } else { ": the front" }
    );
    text.push_str(&titled(&title, &shown));
    text.push_str(&format!(
        "harm: value that viewers lose (bit rate played, less the top rung while they wait); gain: fall of the neighbours'\n\
         times (P95 delay of calls, time of downloads); both against unpaced.\n\
         score = gain - {} x harm, which counts from 0, or from the least one if that is below\n",
        summary.harm_weight
    ));
    if all {
        text.push_str(&format!("\ninputs\n{}\n", summary.inputs.trim_end()));
    } else {
        text.push_str("The result holds for its inputs: --verbose prints them, and all candidates.\n");
    }
    text
}

/// What was measured beside what the model says.
pub fn tune_check(figures: &[CheckedFigure]) -> String {
    let mut shown = table(&["figure", "variant", "measured", "modelled", "measured / modelled"]);
    for row in figures {
        let figure = |value| pacing_figure(&row.figure, value);
        let ratio = row
            .measured
            .zip(row.modelled)
            .filter(|(_, modelled)| *modelled > 0.0);
        shown.add_row([
            row.figure.clone(),
            row.variant.clone(),
            or_dash(row.measured, figure),
            or_dash(row.modelled, figure),
            or_dash(ratio, |(measured, modelled)| {
                format!("{:.2}", measured / modelled)
            }),
        ]);
    }
    titled(
        "a household with the medians of the population, on a link in real time",
        &shown,
    )
}

fn settings(summary: &TuneSummary, recommended: &Recommended) -> String {
    let trial = &summary.candidates[recommended.place];
    format!(
        "weir origin {}\nweir load {}\nneighbours' times {}, viewers' value {}\n\n",
        recommended.origin,
        recommended.player,
        signed(-trial.gain.mean),
        signed(-trial.harm.mean)
    )
}

fn cells(summary: &TuneSummary, place: usize, trial: &Trial) -> Vec<String> {
    let is_best = summary
        .recommended
        .as_ref()
        .is_some_and(|best| best.place == place);
    let mut marks = Vec::new();
    marks.extend(is_best.then_some("recommended"));
    marks.extend((summary.knee == Some(place)).then_some("knee"));
    vec![
        trial.pace.clone(),
        trial.pace_burst.clone(),
        format_count(trial.households),
        signed(trial.harm.mean),
        interval(&trial.harm),
        signed(trial.gain.mean),
        interval(&trial.gain),
        signed(trial.score),
        marks.join(", "),
    ]
}

fn interval(estimate: &Estimate) -> String {
    or_dash(estimate.interval, |(low, high)| {
        format!("{} to {}", signed(low), signed(high))
    })
}
