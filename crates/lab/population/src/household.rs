//! A household, drawn from a population by a seed and its number: its line, its viewer, its title, its neighbours. The same
//! for every variant of pacing. It must not know how it is played.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use weir_link::LinkSpec;
use weir_media::cmcd::{StreamingFormat, Version};
use weir_player::{CmcdSettings, Manifest, MediaKind, Rung, Settings, Track};
use weir_units::Rate;

use crate::PopulationError;
use crate::draw::{Draws, Purpose};
use crate::file::{Congestion, Line, LineRates, Lines, Media, NeighbourKind, Population, Variant};

/// Bounds of the length of a segment, as a multiple of its rung's mean.
const SIZES: (f64, f64) = (0.1, 5.0);

/// A neighbour that this household has.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    /// Its place in the file.
    pub place: usize,
    pub name: String,
    pub kind: NeighbourKind,
    /// When it begins, nanoseconds.
    pub from_ns: u64,
    pub draws: Draws,
}

/// A household.
#[derive(Clone, Debug)]
pub struct Household {
    /// Its number, from 0.
    pub number: u64,
    /// Its line.
    pub line: Line,
    /// Congestion control of all servers.
    pub congestion: Congestion,
    /// Name of the viewer's device.
    pub device: String,
    /// How the viewer's device chooses rungs, as it is written.
    pub abr: String,
    /// How long its viewer watches, whole segments.
    pub length: Duration,
    pub(crate) link: LinkSpec,
    /// Without a pace.
    pub(crate) settings: Settings,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) neighbours: Vec<Present>,
    /// For the choices of congestion controls.
    pub(crate) seed: u64,
}

impl Household {
    /// Draws a household.
    ///
    /// # Errors
    /// A line that the link language refuses, although those at the ends of the distributions were none.
    pub fn draw(population: &Population, seed: u64, number: u64) -> Result<Self, PopulationError> {
        let draws = |purpose| Draws::of(seed, number, purpose);
        let line = line(&population.lines, &mut draws(Purpose::Line));
        let link = linked(&line, draws(Purpose::Link).bits(), number)?;
        let mut viewer = draws(Purpose::Viewer);
        let congestion = *population.congestion.draw(&mut viewer);
        let device = population.devices.draw(&mut viewer);
        let abr = *device.abr.draw(&mut viewer);
        let segment = population.media.segment;
        let watched = Duration::from_nanos(population.session.draw(&mut viewer) as u64);
        let segments = (watched.as_nanos() / segment.as_nanos()).max(1) as usize;
        let rungs: Vec<Rate> = population
            .media
            .rungs
            .iter()
            .copied()
            .filter(|rung| device.top.is_none_or(|top| *rung <= top))
            .collect();
        let manifest = title(&population.media, &rungs, segments, &mut draws(Purpose::Title))?;
        let neighbours = population.neighbours.iter().enumerate();
        let present = neighbours.filter_map(|(place, neighbour)| {
            let mut draws = draws(Purpose::Neighbour(place));
            let is_there = draws.uniform() < neighbour.share;
            let from_ns = match &neighbour.kind {
                NeighbourKind::Call => 0,
                NeighbourKind::Downloads { pause, .. } => (draws.uniform() * pause.draw(&mut draws)) as u64,
            };
            is_there.then(|| Present {
                place,
                name: neighbour.name.clone(),
                kind: neighbour.kind.clone(),
                from_ns,
                draws,
            })
        });
        Ok(Household {
            number,
            congestion,
            device: device.name.clone(),
            abr: abr.to_string(),
            length: segment * segments as u32,
            settings: Settings {
                abr: abr.rule(device.buffer),
                max_buffer: device.buffer,
                start_buffer: device.start_buffer,
                cmcd: Some(CmcdSettings {
                    version: Version::V2,
                    format: StreamingFormat::Dash,
                    content_id: None,
                }),
                seed: viewer.bits(),
                ..Settings::default()
            },
            manifest,
            neighbours: present.collect(),
            seed: draws(Purpose::Control).bits(),
            line,
            link,
        })
    }
}

impl Household {
    /// The household with the queue and the congestion control of a variant, where that has its own, and the same random
    /// numbers.
    pub(crate) fn with(&self, variant: &Variant) -> Result<Cow<'_, Self>, PopulationError> {
        let mut changed = Cow::Borrowed(self);
        if let Some(congestion) = variant.congestion {
            changed.to_mut().congestion = congestion;
        }
        if let Some(queue) = &variant.queue {
            let changed = changed.to_mut();
            changed.line.queue = queue.clone();
            changed.link = linked(&changed.line, self.link.seed, self.number)?;
        }
        Ok(changed)
    }
}

fn linked(line: &Line, seed: u64, household: u64) -> Result<LinkSpec, PopulationError> {
    line.link(seed)
        .map_err(|problem| PopulationError::Line { household, problem })
}

fn line(lines: &Lines, draws: &mut Draws) -> Line {
    let (rate, steps, own_rtt_ns) = match &lines.rate {
        LineRates::Drawn(spread) => (spread.draw(draws) as u64, Vec::new(), None),
        LineRates::Measured(paths) => {
            let place = (draws.uniform() * paths.len() as f64) as usize;
            let path = &paths[place.min(paths.len() - 1)];
            (path.mean(), path.rotated(draws), path.rtt_ns)
        }
    };
    let drawn_rtt_ns = lines.rtt.draw(draws) as u64;
    let rtt_ns = own_rtt_ns.unwrap_or(drawn_rtt_ns);
    let queue = lines.queue.draw(draws).clone();
    let up = lines.up_rate.as_ref().map(|up| up.draw(draws) as u64);
    Line {
        rates: (rate, up.unwrap_or_else(|| Lines::usual_up(rate))),
        steps,
        rtt_ns,
        jitter_ns: lines
            .jitter
            .as_ref()
            .map_or(0, |jitter| jitter.draw(draws) as u64),
        queue,
        loss: lines.loss.as_ref().map(|loss| loss.draw(draws).clone()),
    }
}

/// A title: the film, or one whose rungs are all longer or shorter than their means by the same factor in a segment, as scenes
/// are.
fn title(
    media: &Media,
    rungs: &[Rate],
    segments: usize,
    draws: &mut Draws,
) -> Result<Arc<Manifest>, PopulationError> {
    // Of a log-normal distribution with mean 1 and this coefficient of variation.
    let variance = (1.0 + media.variation * media.variation).ln();
    let mut state = draws.normal();
    let keep = media.correlation;
    let factors: Vec<f64> = (0..segments)
        .map(|_| {
            let factor = (variance.sqrt() * state - variance / 2.0).exp();
            state = keep * state + (1.0 - keep * keep).sqrt() * draws.normal();
            factor.clamp(SIZES.0, SIZES.1)
        })
        .collect();
    let seconds = media.segment.as_secs_f64();
    let of_film = |rung: usize| {
        media
            .sizes
            .iter()
            .cycle()
            .take(segments)
            .map(move |sizes| sizes[rung])
    };
    let rungs = rungs.iter().enumerate().map(|(number, rung)| Rung {
        bitrate: *rung,
        segment_bytes: match media.sizes[..] {
            [] => factors
                .iter()
                .map(|factor| (rung.0 as f64 * seconds / 8.0 * factor) as u64)
                .collect(),
            _ => of_film(number).collect(),
        },
    });
    let track = Track::new(MediaKind::Video, &vec![media.segment; segments], rungs.collect())?;
    Ok(Arc::new(Manifest::new(vec![track])?))
}
