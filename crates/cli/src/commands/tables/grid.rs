//! A grid of queues, congestion controls and paces as text: what neighbours gain, then a table per figure.

use weir_population::{Best, Change, Gain, GridCell, GridFigure, GridSummary};

use super::population::signed;
use super::{or_dash, pacing_figure, table, titled};
use weir_units::count_of;

/// What neighbours gain, and their figures in each cell; with `all`, every figure and the text of the file.
pub fn grid(summary: &GridSummary, all: bool) -> String {
    let mut text = gains(summary);
    let is_of_neighbour = |figure: &&GridFigure| {
        let is_gained = summary.gains.iter().any(|gain| gain.figure == figure.figure);
        is_gained || figure.figure.ends_with(".sojourn_share")
    };
    for figure in summary
        .figures
        .iter()
        .filter(|figure| all || is_of_neighbour(figure))
    {
        text.push_str(&cells(summary, figure));
    }
    if all {
        text.push_str(&format!("\ninputs\n{}\n", summary.inputs.trim_end()));
    } else {
        text.push_str("The result holds for its inputs: --verbose prints them, and all figures.\n");
    }
    text
}

fn gains(summary: &GridSummary) -> String {
    let (queue, pace) = (&summary.grid.queues[0], &summary.grid.paces[0]);
    let mut shown = table(&[
        "neighbour",
        "congestion",
        "base",
        "pace alone",
        "queue alone",
        "both",
        "pace in that queue",
        "95 % interval",
    ]);
    for gain in &summary.gains {
        shown.add_row(gain_cells(gain));
    }
    let title = format!(
        "{}, {}: the largest change of the neighbours' mean since {queue} with pace {pace}",
        summary.population,
        count_of(summary.households, "household")
    );
    titled(&title, &shown)
}

fn gain_cells(gain: &Gain) -> Vec<String> {
    let with = |best: &Option<Best>, name: fn(&Best) -> String| {
        or_dash(best.as_ref(), |best| {
            format!("{}: {}", name(best), or_dash(best.change.mean, signed))
        })
    };
    let pace = |best: &Best| best.pace.clone();
    vec![
        gain.figure.clone(),
        gain.congestion.clone(),
        pacing_figure(&gain.figure, gain.base),
        with(&gain.pace, pace),
        with(&gain.queue, |best| best.queue.clone()),
        with(&gain.both, |best| format!("{}, {}", best.queue, best.pace)),
        with(&gain.pace_in_queue, pace),
        gain.pace_in_queue
            .as_ref()
            .map_or("-".to_owned(), |best| interval(&best.change)),
    ]
}

fn interval(change: &Change) -> String {
    or_dash(change.mean_interval, |(low, high)| {
        format!("{} to {}", signed(low), signed(high))
    })
}

/// A row per congestion control and queue, a column per pace.
fn cells(summary: &GridSummary, figure: &GridFigure) -> String {
    let mut header = vec!["congestion", "queue"];
    header.extend(summary.grid.paces.iter().map(String::as_str));
    let mut shown = table(&header);
    for congestion in &summary.grid.congestion {
        for queue in &summary.grid.queues {
            let mut row = vec![congestion.clone(), queue.clone()];
            row.extend(summary.grid.paces.iter().map(|pace| {
                let is_it = |cell: &&GridCell| {
                    (&cell.congestion, &cell.queue, &cell.pace) == (congestion, queue, pace)
                };
                or_dash(figure.cells.iter().find(is_it), |cell| mean(&figure.figure, cell))
            }));
            shown.add_row(row);
        }
    }
    titled(&figure.figure, &shown)
}

/// The mean, and its change since the base.
fn mean(figure: &str, cell: &GridCell) -> String {
    let mean = pacing_figure(figure, cell.spread.mean);
    match cell.change.as_ref().and_then(|change| change.mean) {
        None => mean,
        Some(change) => format!("{mean} {}", signed(change)),
    }
}
