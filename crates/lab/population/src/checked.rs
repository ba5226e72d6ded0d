//! The pace that a search chose, for one household that stands for the others: as a scenario of the pacing lab, which measures
//! it on a link in real time, and as the model plays it. It must not know how the lab measures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use weir_lab::pacing::{
    Case, FigureWanted, Media, Neighbour as LabNeighbour, NeighbourKind as LabKind, Player, Scenario, Server,
    Summary, Variant as LabVariant,
};
use weir_lab::scenario_file::{ScenarioError, Wrong, wrong};
use weir_link::LinkSpec;
use weir_neighbour::{HttpRequest, Kind, Traffic};
use weir_net::tcp::CongestionControl;
use weir_pacing::{PaceBounds, Pacing};
use weir_player::PacePolicy;
use weir_stats::median;
use weir_units::{ByteCount, TimeSpan};

use crate::PopulationError;
use crate::compared::Collected;
use crate::draw::{Choice, Draws, Purpose, Spread};
use crate::file::{Line, LineRates, Lines, Neighbour, NeighbourKind, Population, Variant};
use crate::household::Household;
use crate::session::play;

/// Draws whose median stands for a distribution.
const DRAWN: u64 = 1_001;
/// Playing before anything counts, and then.
const WARM_UP: TimeSpan = TimeSpan(20_000_000_000);
const MEASURED: TimeSpan = TimeSpan(40_000_000_000);
/// Households of the model, whose random numbers differ.
const MODELLED: u64 = 5;
const UNPACED: &str = "unpaced";
const CHOSEN: &str = "chosen";
/// Figures of the stream that both have.
const MEDIA: [&str; 5] = [
    "media.throughput",
    "media.capacity",
    "media.rtt.mean",
    "media.retransmitted_share",
    "media.bitrate",
];

/// What to measure, and what the model says.
#[derive(Clone, Debug)]
pub struct Check {
    /// For the pacing lab.
    pub scenario: Scenario,
    population: Population,
}

/// A figure of a variant, as both have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedFigure {
    /// Its name, as in `call.owd.p95`.
    pub figure: String,
    /// `unpaced` or `chosen`.
    pub variant: String,
    /// Median over the trials in real time; none if it was not measured.
    pub measured: Option<f64>,
    /// Median over the sessions of the model; none if it has none.
    pub modelled: Option<f64>,
}

impl Check {
    /// The household: line, device, downloads with the medians of their distributions, and the likeliest choices; a line
    /// without jitter and loss of its own, segments of one length.
    ///
    /// # Errors
    /// A population whose likeliest congestion control the kernel does not have.
    pub fn new(population: &Population, chosen: &Variant, repeats: u32) -> Result<Self, ScenarioError> {
        let made = typical(population, chosen).and_then(|population| {
            let scenario = scenario(&population, repeats)?;
            Ok(Check { scenario, population })
        });
        made.map_err(|wrong| wrong.within(&population.name))
    }

    /// What the lab measured beside what the model says.
    ///
    /// # Errors
    /// A household that cannot be played.
    pub fn beside(&self, measured: &Summary<'_>) -> Result<Vec<CheckedFigure>, PopulationError> {
        let mut collected = Collected::new(&self.population);
        for number in 0..MODELLED {
            let household = Household::draw(&self.population, 1, number)?;
            for variant in &self.population.variants {
                let played = play(&household, variant, self.population.grants, 0)?;
                collected.session(&played.session);
                played.neighbours.iter().for_each(|row| collected.neighbour(row));
            }
        }
        let summary = collected.summary(&self.population);
        let modelled: BTreeMap<(&str, &str), f64> = summary
            .figures
            .iter()
            .flat_map(|row| row.variants.iter().map(move |of| (row, of)))
            .map(|(row, of)| ((row.figure.as_str(), of.variant.as_str()), of.spread.p50))
            .collect();
        let rows = measured.comparisons.iter().flat_map(|compared| &compared.figures);
        let figures = rows.flat_map(|row| {
            [UNPACED, CHOSEN].map(|name| CheckedFigure {
                figure: row.figure.clone(),
                variant: name.to_owned(),
                measured: row
                    .variants
                    .iter()
                    .find(|found| found.variant == name)
                    .map(|found| found.spread.median),
                modelled: modelled.get(&(row.figure.as_str(), name)).copied(),
            })
        });
        Ok(figures.collect())
    }
}

fn middle(spread: &Spread) -> Spread {
    let drawn = (0..DRAWN).map(|number| spread.draw(&mut Draws::of(1, number, Purpose::Line)));
    Spread::Always(median(drawn.collect()))
}

fn typical(population: &Population, chosen: &Variant) -> Result<Population, Wrong> {
    let rate = match &population.lines.rate {
        LineRates::Drawn(spread) => middle(spread),
        LineRates::Measured(paths) => {
            Spread::Always(median(paths.iter().map(|path| path.mean() as f64).collect()))
        }
    };
    let mut devices = population.devices.likeliest().clone();
    devices.abr = Choice::only(*devices.abr.likeliest());
    let neighbours = population.neighbours.iter().map(|neighbour| Neighbour {
        name: neighbour.name.clone(),
        share: 1.0,
        kind: match &neighbour.kind {
            NeighbourKind::Call => NeighbourKind::Call,
            NeighbourKind::Downloads { bytes, pause } => NeighbourKind::Downloads {
                bytes: middle(bytes),
                pause: middle(pause),
            },
        },
    });
    let named = |name: &str, variant: Variant| Variant {
        name: name.to_owned(),
        ..variant
    };
    let congestion = *population.congestion.likeliest();
    if CongestionControl::named(congestion.name).is_none() {
        return wrong(
            "server.congestion",
            format!(
                "the kernel does not have '{}', the likeliest one",
                congestion.name
            ),
        );
    }
    let mut media = population.media.clone();
    (media.variation, media.sizes) = (0.0, Vec::new());
    Ok(Population {
        lines: Lines {
            rate: LineRates::Drawn(rate),
            up_rate: population.lines.up_rate.as_ref().map(middle),
            rtt: middle(&population.lines.rtt),
            queue: Choice::only(population.lines.queue.likeliest().clone()),
            jitter: None,
            loss: None,
        },
        congestion: Choice::only(congestion),
        session: Spread::Always((WARM_UP.0 + MEASURED.0) as f64),
        media,
        devices: Choice::only(devices),
        neighbours: neighbours.collect(),
        variants: vec![
            named(UNPACED, Variant::new(String::new(), PacePolicy::None)),
            named(CHOSEN, chosen.clone()),
        ],
        ..population.clone()
    })
}

fn scenario(population: &Population, repeats: u32) -> Result<Scenario, Wrong> {
    let lines = &population.lines;
    let value = |spread: &Spread| spread.bounds().0 as u64;
    let rate = match &lines.rate {
        LineRates::Drawn(spread) => value(spread),
        LineRates::Measured(_) => 0,
    };
    let up = lines.up_rate.as_ref().map(value);
    let line = Line {
        rates: (rate, up.unwrap_or_else(|| Lines::usual_up(rate))),
        steps: Vec::new(),
        rtt_ns: value(&lines.rtt),
        jitter_ns: 0,
        queue: lines.queue.likeliest().clone(),
        loss: None,
    };
    let link = match line.link(1) {
        Ok(link) => link,
        Err(problem) => return wrong("line", problem),
    };
    let device = population.devices.likeliest();
    let rungs = population.media.rungs.iter().copied();
    let congestion = CongestionControl::named(population.congestion.likeliest().name);
    Ok(Scenario {
        name: population.name.clone(),
        // The lab's title comes from its far end, that of a household from the near one.
        link: LinkSpec {
            forward: link.reverse.clone(),
            reverse: link.forward.clone(),
            ..link
        },
        congestion: congestion.into_iter().collect(),
        repeats,
        warm_up: WARM_UP,
        duration: MEASURED,
        media: Media {
            rungs: rungs
                .filter(|rung| device.top.is_none_or(|top| *rung <= top))
                .collect(),
            segment: whole(population.media.segment),
        },
        player: Player {
            abr: *device.abr.likeliest(),
            buffer: whole(device.buffer),
        },
        variants: population.variants.iter().map(lab_variant).collect(),
        cases: vec![case(population)],
    })
}

fn whole(time: Duration) -> TimeSpan {
    TimeSpan(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn lab_variant(variant: &Variant) -> LabVariant {
    let usual = PaceBounds::default();
    LabVariant {
        name: variant.name.clone(),
        server: Server::Weir,
        pace: variant.pace,
        burst: None,
        origin: Pacing {
            bounds: PaceBounds {
                factor: variant.pace_factor.unwrap_or(usual.factor),
                ..usual
            },
            burst: variant.pace_burst,
        },
    }
}

fn case(population: &Population) -> Case {
    let mut figures: Vec<String> = MEDIA.map(str::to_owned).to_vec();
    let mut neighbours = Vec::new();
    for neighbour in &population.neighbours {
        let name = neighbour.name.clone();
        let (kind, figure) = match &neighbour.kind {
            NeighbourKind::Call => (Kind::Datagrams(Traffic::Voice), "owd.p95"),
            NeighbourKind::Downloads { bytes, pause } => {
                let http = HttpRequest {
                    bytes: ByteCount(bytes.bounds().0 as u64),
                    pause: TimeSpan(pause.bounds().0 as u64),
                    congestion: None,
                };
                (Kind::Http(http), "completion.p50")
            }
        };
        figures.push(format!("{name}.{figure}"));
        neighbours.push(LabNeighbour {
            name,
            kind: LabKind::Traffic(kind),
        });
    }
    let wanted = |of| FigureWanted {
        of,
        expect: None,
        paper_percent: None,
    };
    Case {
        name: "household".to_owned(),
        neighbours,
        figures: figures.into_iter().map(wanted).collect(),
    }
}
