//! A population: lines, servers, titles, viewers and their neighbours as distributions, and the paces to compare. A mistake in
//! a file is reported in one line, with the key and what is allowed. It must not know how households are played.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use toml::{Table, Value};
use weir_lab::scenario_file::{ScenarioError, Wrong, check_name, counted, ladder, read, read_named, wrong};
use weir_link::{LinkSpec, Profile};
use weir_pacing::{Burst, MAX_FACTOR, PaceBounds};
use weir_player::{ABR_WORDS, AbrChoice, PacePolicy};
use weir_tcp::{Algorithm, EcnUse};
use weir_units::Rate;

use crate::draw::{Choice, Spread};
use crate::measured_path::{MeasuredPath, RateStep, steps_text};
use crate::spread_text::{DOWNLOAD, LINE_RATE, LINE_TIME, PAUSE, SESSION, choice, word};
use crate::written::{DeviceText, MediaText, NeighbourText, PopulationText, PublishedText, VariantText};

/// Most households of a run: a run of more is a slip.
pub const MOST_HOUSEHOLDS: u64 = 10_000_000;
const MOST_DEVICES: usize = 32;
const MOST_NEIGHBOURS: usize = 16;
const MOST_VARIANTS: usize = 16;
const MOST_PUBLISHED: usize = 64;
const MOST_TEXT: usize = 400;
/// Share of the rate towards the home that a line has from the home, if the file has none: as on cable and DSL.
const USUAL_UP_SHARE: f64 = 0.1;
/// Largest coefficient of variation of segment lengths.
const MOST_VARIATION: f64 = 2.0;

/// Rates of lines towards the home.
#[derive(Clone, Debug, PartialEq)]
pub enum LineRates {
    /// Bits per second, which stay.
    Drawn(Spread),
    /// Those of a path that was measured, each as likely as the others.
    Measured(Vec<MeasuredPath>),
}

/// Lines to households.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Towards the home.
    pub rate: LineRates,
    /// From the home, bits per second; none: a tenth of the other.
    pub up_rate: Option<Spread>,
    /// Round-trip time with empty queues, nanoseconds.
    pub rtt: Spread,
    /// The queue of each direction, as in a link file.
    pub queue: Choice<Value>,
    /// Maximum of a uniform random delay of each direction, nanoseconds.
    pub jitter: Option<Spread>,
    /// Loss towards the home, as in a link file.
    pub loss: Option<Choice<Value>>,
}

/// A congestion control, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// `reno`, `cubic`, `bbr`, `l4s`, `reno-ecn` or `cubic-ecn`.
    pub name: &'static str,
    /// The control.
    pub algorithm: Algorithm,
    /// Whether its packets may be marked.
    pub ecn: EcnUse,
}

/// What there is, and how it is written.
pub const CONGESTION: [Congestion; 6] = [
    Congestion::new("reno", Algorithm::NewReno, EcnUse::Off),
    Congestion::new("cubic", Algorithm::Cubic, EcnUse::Off),
    Congestion::new("bbr", Algorithm::Bbr, EcnUse::Off),
    Congestion::new("l4s", Algorithm::Scalable, EcnUse::Accurate),
    Congestion::new("reno-ecn", Algorithm::NewReno, EcnUse::Classic),
    Congestion::new("cubic-ecn", Algorithm::Cubic, EcnUse::Classic),
];

impl Congestion {
    const fn new(name: &'static str, algorithm: Algorithm, ecn: EcnUse) -> Self {
        Congestion { name, algorithm, ecn }
    }
}

/// What a server makes of the pace that a player asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grants {
    /// It sends as it is asked to.
    Obeys,
    /// It bounds it as `weir origin --pace` does.
    Bounds {
        /// Its `--pace-factor`.
        factor: f64,
    },
}

/// What is played.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Bit rates of the rungs, the lowest first.
    pub rungs: Vec<Rate>,
    /// Length of each segment.
    pub segment: Duration,
    /// Coefficient of variation of the lengths of segments of a rung, bytes.
    pub variation: f64,
    /// Correlation of the logarithms of consecutive ones.
    pub correlation: f64,
    /// Bytes by rung of each segment of a film, which begins again after its end; none: the variation above.
    pub sizes: Vec<Vec<u64>>,
}

/// A kind of device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Highest rung that it asks for.
    pub top: Option<Rate>,
    /// How it chooses rungs.
    pub abr: Choice<AbrChoice>,
    /// Most media in its buffer.
    pub buffer: Duration,
    /// Media in its buffer before playback starts.
    pub start_buffer: Duration,
}

/// Who else uses a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// What its figures are called by.
    pub name: String,
    /// Share of the households that have it, 0 to 1.
    pub share: f64,
    /// What it does.
    pub kind: NeighbourKind,
}

/// What a neighbour does.
#[derive(Clone, Debug, PartialEq)]
pub enum NeighbourKind {
    /// One direction of a call towards the home.
    Call,
    /// Downloads on one connection.
    Downloads {
        /// Bytes of each.
        bytes: Spread,
        /// From the end of one to the next, nanoseconds.
        pause: Spread,
    },
}

/// A way of streaming.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What players ask for.
    pub pace: PacePolicy,
    /// The queue of each direction, instead of the household's.
    pub queue: Option<Value>,
    /// The congestion control of all servers, instead of the household's.
    pub congestion: Option<Congestion>,
    /// The factor of servers that bound a pace, instead of the population's.
    pub pace_factor: Option<f64>,
    /// The burst of a paced connection.
    pub pace_burst: Burst,
}

impl Variant {
    /// A pace, and all else as the household has it.
    #[must_use]
    pub fn new(name: String, pace: PacePolicy) -> Self {
        Variant {
            name,
            pace,
            queue: None,
            congestion: None,
            pace_factor: None,
            pace_burst: Burst::Auto,
        }
    }
}

/// A change that somebody published, to stand beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// The figure.
    pub figure: String,
    /// From and to, relative: -0.85 is 85 % less.
    pub change: (f64, f64),
    /// Who published it.
    pub source: String,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// Name of the file.
    pub name: String,
    /// Households, if the command line does not say.
    pub households: u64,
    /// Lines.
    pub lines: Lines,
    /// Congestion control of all servers of a household.
    pub congestion: Choice<Congestion>,
    /// What servers make of a pace.
    pub grants: Grants,
    /// Length of the title that each viewer plays, nanoseconds.
    pub session: Spread,
    /// Titles.
    pub media: Media,
    /// Devices of viewers.
    pub devices: Choice<Device>,
    /// Neighbours.
    pub neighbours: Vec<Neighbour>,
    /// Ways of streaming; the first is what others are compared with.
    pub variants: Vec<Variant>,
    /// Published changes.
    pub published: Vec<Published>,
    /// Text of the file, to stand beside results.
    pub inputs: String,
}

impl Population {
    /// What was published of a figure.
    pub(crate) fn published_of(&self, figure: &str) -> Option<Published> {
        self.published
            .iter()
            .find(|published| published.figure == figure)
            .cloned()
    }

    /// Reads a population; `origin` stands before each error and becomes its name.
    ///
    /// # Errors
    /// See [`ScenarioError`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScenarioError> {
        let written: PopulationText = read(text, origin)?;
        resolve(written, origin, text.to_owned()).map_err(|wrong| wrong.within(origin))
    }
}

fn resolve(text: PopulationText, name: &str, inputs: String) -> Result<Population, Wrong> {
    if !(1..=MOST_HOUSEHOLDS).contains(&text.households) {
        return wrong("households", format!("a number from 1 to {MOST_HOUSEHOLDS}"));
    }
    let line = &text.line;
    let lines = Lines {
        rate: LINE_RATE.spread("line.rate", &line.rate).map(LineRates::Drawn)?,
        up_rate: optional(line.up_rate.as_ref(), |value| {
            LINE_RATE.spread("line.up-rate", value)
        })?,
        rtt: LINE_TIME.spread("line.rtt", &line.rtt)?,
        queue: choice("line.queue", &line.queue, &|value| Ok(value.clone()))?,
        jitter: optional(line.jitter.as_ref(), |value| {
            LINE_TIME.spread("line.jitter", value)
        })?,
        loss: optional(line.loss.as_ref(), |value| {
            choice("line.loss", value, &|value| Ok(value.clone()))
        })?,
    };
    lines.check(lines.queue.values())?;
    let variants = read_named("variant", &text.variant, MOST_VARIANTS, variant, |known| {
        &known.name
    })?;
    lines.check(variants.iter().filter_map(|variant| variant.queue.as_ref()))?;
    let neighbours = match text.neighbour.as_slice() {
        [] => Vec::new(),
        some => read_named("neighbour", some, MOST_NEIGHBOURS, neighbour, |known| &known.name)?,
    };
    if text.published.len() > MOST_PUBLISHED {
        return wrong("published", format!("at most {MOST_PUBLISHED}"));
    }
    let media = media(&text.media)?;
    let devices = devices(&text.device, &media)?;
    Ok(Population {
        name: name.to_owned(),
        households: text.households,
        congestion: choice("server.congestion", &text.server.congestion, &|value| {
            congestion("server.congestion", value)
        })?,
        grants: grants(text.server.grants.as_deref())?,
        session: SESSION.spread("session.length", &text.session.length)?,
        media,
        devices,
        lines,
        neighbours,
        variants,
        published: text.published.iter().map(published).collect::<Result<_, _>>()?,
        inputs,
    })
}

fn published(text: &PublishedText) -> Result<Published, Wrong> {
    let [from, to] = text.percent;
    if text.figure.len() > MOST_TEXT
        || text.source.len() > MOST_TEXT
        || !from.is_finite()
        || !to.is_finite()
        || from > to
    {
        return wrong(
            "published",
            format!("percent ascends, and texts have at most {MOST_TEXT} bytes"),
        );
    }
    Ok(Published {
        figure: text.figure.clone(),
        change: (from / 100.0, to / 100.0),
        source: text.source.clone(),
    })
}

fn optional<T>(value: Option<&Value>, read: impl Fn(&Value) -> Result<T, Wrong>) -> Result<Option<T>, Wrong> {
    value.map(read).transpose()
}

/// A line that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Towards the home and from it, bits per second; of a measured path the mean.
    pub rates: (u64, u64),
    /// Rates towards the home that follow each other, and begin again; none: always the same.
    pub(crate) steps: Vec<RateStep>,
    /// With empty queues, nanoseconds.
    pub rtt_ns: u64,
    /// Maximum of the random delay of each direction, nanoseconds; 0 for none.
    pub jitter_ns: u64,
    /// The queue of each direction.
    pub queue: Value,
    /// Loss towards the home.
    pub loss: Option<Value>,
}

impl Line {
    /// As a link from the servers, which are near, to the home.
    pub(crate) fn link(&self, seed: u64) -> Result<LinkSpec, String> {
        let mut table = Table::new();
        let mut reverse = Table::new();
        let text = |value: u64, unit: &str| Value::String(format!("{value}{unit}"));
        let rate = match self.steps[..] {
            [] => text(self.rates.0, "bit/s"),
            _ => {
                let steps = ("steps".to_owned(), steps_text(&self.steps));
                Value::Table([steps].into_iter().collect())
            }
        };
        table.insert("rate".to_owned(), rate);
        table.insert("rtt".to_owned(), text(self.rtt_ns, "ns"));
        table.insert("queue".to_owned(), managed(&self.queue));
        if self.jitter_ns > 0 {
            table.insert("jitter".to_owned(), text(self.jitter_ns, "ns"));
        }
        if let Some(loss) = &self.loss {
            let mut forward = Table::new();
            forward.insert("loss".to_owned(), loss.clone());
            table.insert("forward".to_owned(), Value::Table(forward));
        }
        reverse.insert("rate".to_owned(), text(self.rates.1, "bit/s"));
        table.insert("reverse".to_owned(), Value::Table(reverse));
        let link = Profile::from_table(table, "line", Path::new("."))
            .and_then(|profile| profile.spec())
            .map_err(|error| error.to_string())?;
        Ok(LinkSpec { seed, ..link })
    }
}

/// The queue as one that keeps accounts: a plain one, which is tail drop, does not.
fn managed(queue: &Value) -> Value {
    let Value::String(limit) = queue else {
        return queue.clone();
    };
    let mut table = Table::new();
    table.insert("kind".to_owned(), Value::String("tail-drop".to_owned()));
    table.insert("limit".to_owned(), Value::String(limit.clone()));
    Value::Table(table)
}

impl LineRates {
    /// The lowest and the highest one; of measured paths the means.
    fn bounds(&self) -> (f64, f64) {
        match self {
            Self::Drawn(spread) => spread.bounds(),
            Self::Measured(paths) => {
                let means = paths.iter().map(|path| path.mean() as f64);
                means.fold((f64::INFINITY, 0.0), |(least, most), mean| {
                    (least.min(mean), most.max(mean))
                })
            }
        }
    }
}

impl Lines {
    /// The share of [`Self::rate`] that is [`Self::up_rate`] if the file has none.
    pub(crate) fn usual_up(rate: u64) -> u64 {
        (rate as f64 * USUAL_UP_SHARE) as u64
    }

    /// Refuses what is no line of a link file: each of these queues and each loss, with the extremes of the other keys.
    pub(crate) fn check<'a>(&self, queues: impl Iterator<Item = &'a Value>) -> Result<(), Wrong> {
        let (slowest, fastest) = self.rate.bounds();
        let losses: Vec<Option<&Value>> = match &self.loss {
            None => vec![None],
            Some(losses) => losses.values().map(Some).collect(),
        };
        for (rate, queue) in queues.flat_map(|queue| [slowest, fastest].map(|rate| (rate, queue))) {
            for loss in &losses {
                let line = Line {
                    rates: (rate as u64, Self::usual_up(rate as u64)),
                    steps: Vec::new(),
                    rtt_ns: self.rtt.bounds().0 as u64,
                    jitter_ns: self.jitter.as_ref().map_or(0, |jitter| jitter.bounds().1 as u64),
                    queue: queue.clone(),
                    loss: loss.cloned(),
                };
                if let Err(problem) = line.link(0) {
                    return wrong("line", problem.trim_start_matches("line: "));
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn congestion(key: &str, value: &Value) -> Result<Congestion, Wrong> {
    let found = CONGESTION
        .into_iter()
        .find(|known| value.as_str() == Some(known.name));
    match found {
        Some(found) => Ok(found),
        None => wrong(
            key,
            format!(
                "unknown congestion control '{}'; use {}",
                word(value),
                CONGESTION.map(|known| known.name).join(", ")
            ),
        ),
    }
}

fn grants(word: Option<&str>) -> Result<Grants, Wrong> {
    match word {
        None | Some("bounds") => Ok(Grants::Bounds {
            factor: PaceBounds::default().factor,
        }),
        Some("obeys") => Ok(Grants::Obeys),
        Some(_) => wrong("server.grants", "bounds or obeys"),
    }
}

fn media(text: &MediaText) -> Result<Media, Wrong> {
    let (rungs, segment) = ladder(&text.rungs, text.segment)?;
    if !(0.0..=MOST_VARIATION).contains(&text.variation) {
        return wrong("media.variation", format!("a number from 0 to {MOST_VARIATION}"));
    }
    if !(0.0..1.0).contains(&text.correlation) {
        return wrong("media.correlation", "a number from 0 to below 1");
    }
    Ok(Media {
        rungs,
        segment: Duration::from_nanos(segment.0),
        variation: text.variation,
        correlation: text.correlation,
        sizes: Vec::new(),
    })
}

fn devices(texts: &[DeviceText], media: &Media) -> Result<Choice<Device>, Wrong> {
    counted("device", texts.len(), MOST_DEVICES)?;
    let read = |text: &DeviceText| device(text, media);
    let devices = read_named("device", texts, MOST_DEVICES, read, |device| &device.name)?;
    let shares = texts.iter().map(|text| text.share).zip(devices).collect();
    Choice::new(shares).or_else(|bad| wrong("device.share", bad.to_string()))
}

fn device(text: &DeviceText, media: &Media) -> Result<Device, Wrong> {
    check_name("device.name", &text.name)?;
    let top = text.top.map(|top| top.0);
    if top.is_some_and(|top| top < media.rungs[0]) {
        return wrong(
            "device.top",
            "below the lowest rung, so that there is nothing to play",
        );
    }
    let buffer = Duration::from_nanos(text.buffer.0.0);
    let start_buffer = Duration::from_nanos(text.start_buffer.map_or(0, |start| start.0.0));
    if buffer < media.segment || buffer > Duration::from_secs(3_600) || start_buffer > buffer {
        return wrong(
            "device.buffer",
            "from a segment to 1h, and at least the start-buffer",
        );
    }
    let rule = |value: &Value| match value.as_str().map(str::parse) {
        Some(Ok(rule)) => Ok(rule),
        _ => wrong(
            "device.abr",
            format!("unknown ABR rule '{}'; use one of {ABR_WORDS}", word(value)),
        ),
    };
    Ok(Device {
        name: text.name.clone(),
        top,
        abr: choice("device.abr", &text.abr, &rule)?,
        buffer,
        start_buffer,
    })
}

fn neighbour(text: &NeighbourText) -> Result<Neighbour, Wrong> {
    check_name("neighbour.name", &text.name)?;
    if !(0.0..=1.0).contains(&text.share) {
        return wrong("neighbour.share", "a share of the households, from 0 to 1");
    }
    let kind = match (text.kind.as_str(), &text.bytes, &text.pause) {
        ("call", None, None) => NeighbourKind::Call,
        ("call", ..) => return wrong("neighbour.bytes", "a call has neither bytes nor pause"),
        ("downloads", Some(bytes), Some(pause)) => NeighbourKind::Downloads {
            bytes: DOWNLOAD.spread("neighbour.bytes", bytes)?,
            pause: PAUSE.spread("neighbour.pause", pause)?,
        },
        ("downloads", ..) => return wrong("neighbour.bytes", "downloads have bytes and pause"),
        _ => return wrong("neighbour.kind", "call or downloads"),
    };
    Ok(Neighbour {
        name: text.name.clone(),
        share: text.share,
        kind,
    })
}

fn variant(text: &VariantText) -> Result<Variant, Wrong> {
    check_name("variant.name", &text.name)?;
    if text
        .pace_factor
        .is_some_and(|factor| !(1.0..=MAX_FACTOR).contains(&factor))
    {
        return wrong("variant.pace-factor", format!("a number from 1 to {MAX_FACTOR}"));
    }
    Ok(Variant {
        queue: text.queue.clone(),
        congestion: optional(text.congestion.as_ref(), |value| {
            congestion("variant.congestion", value)
        })?,
        pace_factor: text.pace_factor,
        pace_burst: text.pace_burst.map_or(Burst::Auto, |burst| burst.0),
        ..Variant::new(
            text.name.clone(),
            text.pace.map_or(PacePolicy::None, |pace| pace.0),
        )
    })
}
