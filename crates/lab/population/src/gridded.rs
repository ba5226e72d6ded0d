//! What a grid came to: each figure of each cell, and what queue, pace and both together change. It must not know how cells
//! are played or drawn.

use std::collections::HashMap;

use serde::Serialize;

use crate::compared::{Change, Collected, Spread, Values, change, spread};
use crate::file::{NeighbourKind, Population, Published};
use crate::grid::{Cell, Grid};

/// Figures of sessions that a grid has; of neighbours it has all.
const SESSION: [&str; 9] = [
    "media.throughput",
    "media.retransmitted_share",
    "media.rtt.mean",
    "media.startup_ns",
    "media.stalled_share",
    "media.bitrate",
    "media.sojourn.p99",
    "media.marked_share",
    "queue.mean_ns",
];

/// A figure of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridCell {
    /// The queue.
    pub queue: String,
    /// The congestion control.
    pub congestion: String,
    /// The pace.
    pub pace: String,
    /// The figure over the households.
    pub spread: Spread,
    /// Since the first queue with the first pace, and the same congestion control; none for that cell.
    pub change: Option<Change>,
    /// Since the first pace, with the same queue and congestion control; none for that pace.
    pub change_by_pace: Option<Change>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridFigure {
    /// Its name, as in `call.owd.p95`.
    pub figure: String,
    /// Cells that have it, by congestion control, queue and pace.
    pub cells: Vec<GridCell>,
    /// Published change by a pace, with its source.
    pub published: Option<Published>,
}

/// A cell, and its change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// The queue.
    pub queue: String,
    /// The pace.
    pub pace: String,
    /// Since the first queue with the first pace.
    pub change: Change,
}

/// What a neighbour gains with a congestion control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The neighbour's figure: less is better.
    pub figure: String,
    /// The congestion control.
    pub congestion: String,
    /// Its mean with the first queue and the first pace.
    pub base: f64,
    /// The pace that gains most in the first queue.
    pub pace: Option<Best>,
    /// The queue that gains most with the first pace.
    pub queue: Option<Best>,
    /// The combination that gains most.
    pub both: Option<Best>,
    /// What the best pace for that queue changes in it, since the first pace.
    pub pace_in_queue: Option<Best>,
}

/// What a grid came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridSummary {
    /// Name of the file.
    pub population: String,
    /// Households that were played in all cells.
    pub households: u64,
    /// Sessions that were not played to their end.
    pub unfinished: u64,
    /// The axes.
    pub grid: Grid,
    /// What each neighbour gains, by congestion control.
    pub gains: Vec<Gain>,
    /// Figures.
    pub figures: Vec<GridFigure>,
    /// Text of the file.
    pub inputs: String,
}

impl GridSummary {
    /// The summary of what was taken up; `population` comes from [`Grid::over`].
    #[must_use]
    pub fn new(grid: &Grid, population: &Population, collected: &Collected) -> Self {
        let known: Vec<(String, &Values)> = collected.figures().collect();
        let shared = of_media(&known);
        let shared = shared.iter().map(|(name, values)| (name.clone(), values));
        let known: Vec<(String, &Values)> = known.iter().cloned().chain(shared).collect();
        let is_kept = |name: &str| !name.starts_with("media.") && !name.starts_with("queue.");
        let kept = known
            .iter()
            .filter(|(name, _)| SESSION.contains(&name.as_str()) || is_kept(name));
        let figures: Vec<GridFigure> = kept
            .map(|(name, values)| GridFigure {
                figure: name.clone(),
                cells: cells(grid, values),
                published: population.published_of(name),
            })
            .collect();
        GridSummary {
            population: population.name.clone(),
            households: collected.households(),
            unfinished: collected.unfinished(),
            gains: gains(grid, population, &figures),
            figures,
            grid: grid.clone(),
            inputs: population.inputs.clone(),
        }
    }
}

/// Of each neighbour, the 99th percentile of its packets' waiting times as a share of that of the media's packets: 0 where the
/// queue isolates them, about 1 where they share it.
fn of_media(known: &[(String, &Values)]) -> Vec<(String, Values)> {
    let figure = "sojourn.p99";
    let media = known.iter().find(|(name, _)| *name == format!("media.{figure}"));
    let Some((_, media)) = media else {
        return Vec::new();
    };
    let neighbours = known.iter().filter(|(name, _)| !name.starts_with("media."));
    let shares = neighbours.filter_map(|(name, values)| {
        let neighbour = name.strip_suffix(figure)?;
        let share = |(own, media): (&HashMap<u64, f64>, &HashMap<u64, f64>)| {
            let share = |(household, time): (&u64, &f64)| {
                let of = media.get(household).filter(|of| **of > 0.0)?;
                Some((*household, time / of))
            };
            own.iter().filter_map(share).collect()
        };
        let shares = values.iter().zip(media.iter()).map(share).collect();
        Some((format!("{neighbour}sojourn_share"), shares))
    });
    shares.collect()
}

fn cells(grid: &Grid, values: &Values) -> Vec<GridCell> {
    let all: Vec<Cell<'_>> = grid.cells().collect();
    let paces = grid.paces.len();
    let of_control = paces * grid.queues.len();
    let since =
        |place: usize, first: usize| (place != first).then(|| change(&values[first], &values[place]))?;
    let cell = |(place, cell): (usize, &Cell<'_>)| {
        Some(GridCell {
            queue: cell.queue.to_owned(),
            congestion: cell.congestion.to_owned(),
            pace: cell.pace.to_owned(),
            spread: spread(values[place].values().copied().collect())?,
            change: since(place, place - place % of_control),
            change_by_pace: since(place, place - place % paces),
        })
    };
    all.iter().enumerate().filter_map(cell).collect()
}

/// The figure of a neighbour for which less is better.
fn figure_of(population: &Population) -> impl Iterator<Item = String> {
    population.neighbours.iter().map(|neighbour| {
        let figure = match neighbour.kind {
            NeighbourKind::Call => "owd.p95",
            NeighbourKind::Downloads { .. } => "completion.mean",
        };
        format!("{}.{figure}", neighbour.name)
    })
}

fn gains(grid: &Grid, population: &Population, figures: &[GridFigure]) -> Vec<Gain> {
    let figures: Vec<&GridFigure> = figure_of(population)
        .filter_map(|name| figures.iter().find(|figure| figure.figure == name))
        .collect();
    let of_control = |congestion: &String| {
        let gains = figures.iter().filter_map(|figure| gain(grid, figure, congestion));
        gains.collect::<Vec<_>>()
    };
    grid.congestion.iter().flat_map(of_control).collect()
}

fn gain(grid: &Grid, figure: &GridFigure, congestion: &str) -> Option<Gain> {
    let (first_queue, first_pace) = (&grid.queues[0], &grid.paces[0]);
    let cells: Vec<&GridCell> = figure
        .cells
        .iter()
        .filter(|cell| cell.congestion == congestion)
        .collect();
    let base = cells
        .iter()
        .find(|cell| cell.queue == *first_queue && cell.pace == *first_pace)?;
    let since_base = |cell: &GridCell| cell.change.clone();
    let queue = best(&cells, |cell| cell.pace == *first_pace, since_base);
    let pace_in_queue = queue.as_ref().and_then(|best_queue| {
        let is_paced = |cell: &GridCell| cell.queue == best_queue.queue;
        best(&cells, is_paced, |cell| cell.change_by_pace.clone())
    });
    Some(Gain {
        figure: figure.figure.clone(),
        congestion: congestion.to_owned(),
        base: base.spread.mean,
        pace: best(&cells, |cell| cell.queue == *first_queue, since_base),
        both: best(
            &cells,
            |cell| cell.queue != *first_queue && cell.pace != *first_pace,
            since_base,
        ),
        queue,
        pace_in_queue,
    })
}

/// Of the cells that count, the one whose mean falls most.
fn best(
    cells: &[&GridCell],
    counts: impl Fn(&GridCell) -> bool,
    changed: impl Fn(&GridCell) -> Option<Change>,
) -> Option<Best> {
    let known = cells.iter().filter(|cell| counts(cell)).filter_map(|cell| {
        let change = changed(cell)?;
        Some((change.mean?, cell, change))
    });
    let (_, cell, change) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Best {
        queue: cell.queue.clone(),
        pace: cell.pace.clone(),
        change,
    })
}
