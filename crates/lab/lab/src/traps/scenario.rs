//! A trap: what it is in words, a link that changes in steps, a title, a player, ways of pacing, and what is claimed of them. A
//! mistake in a file is reported in one line, with the key and what is allowed. It must not know how sessions are played.

use std::fmt;
use std::time::Duration;

use weir_link::headline;
use weir_player::virtual_time::{Step, SteppedLink};
use weir_player::{ABR_WORDS, AbrChoice, AbrRule, PacePolicy};
use weir_units::{Rate, TimeSpan};

use super::figures::Figure;
use super::written::{ClaimText, PlayerText, StepText, TrapText, VariantText};
use crate::scenario_file::{
    ScenarioError, Written, Wrong, check_name, counted, ladder, read, read_named, wrong,
};

const SECOND_NS: u64 = 1_000_000_000;
/// Most of each list in a file.
const MOST_STEPS: usize = 1_000;
const MOST_VARIANTS: usize = 16;
const MOST_CLAIMS: usize = 32;
/// Longest text about a trap, and what is shown of its first line, characters.
const LONGEST_TRAP: usize = 2_000;
const LONGEST_HEADLINE: usize = 200;
/// Longest title, and longest buffer.
const LONGEST_MEDIA_NS: u64 = 3_600 * SECOND_NS;
/// Shortest and longest step of a link. A session of many shorter ones would take long to play.
const SHORTEST_STEP_NS: u64 = SECOND_NS / 10;
const LONGEST_STEP_NS: u64 = 86_400 * SECOND_NS;
const LONGEST_RTT_NS: u64 = 10 * SECOND_NS;
/// Fastest link and highest rung, bits a second.
const FASTEST_LINK: u64 = 100_000_000_000;
const HIGHEST_RUNG: u64 = 1_000_000_000;
/// Largest multiple in a claim.
const MOST_TIMES: f64 = 1_000.0;

/// What is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Bit rates of the rungs, the lowest first.
    pub rungs: Vec<Rate>,
    /// Length of each segment.
    pub segment: TimeSpan,
    /// How many segments there are.
    pub segments: usize,
}

/// How rungs are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The first rung, always.
    Fixed,
    /// The highest rung that this share of the throughput carries.
    Share(f64),
    /// As on the command line of a player.
    Choice(AbrChoice),
}

impl Rule {
    /// For the model of the player: with this first rung, and a buffer of this size.
    pub(super) fn abr(self, first_rung: usize, buffer: Duration) -> AbrRule {
        match self {
            Rule::Fixed => AbrRule::Fixed(first_rung),
            Rule::Share(share) => AbrRule::ThroughputShare(share),
            Rule::Choice(choice) => choice.rule(buffer),
        }
    }

    fn read(key: &str, text: &str) -> Result<Self, Wrong> {
        let share = text.strip_prefix("share:").map(str::parse::<f64>);
        match (text, share) {
            ("fixed", _) => Ok(Rule::Fixed),
            (_, Some(Ok(share))) if share > 0.0 && share <= 1.0 => Ok(Rule::Share(share)),
            (_, Some(_)) => wrong(key, "share:S with S above 0 and at most 1"),
            (word, None) => word.parse().map(Rule::Choice).or_else(|_| {
                let shown: String = word.chars().take(40).collect();
                wrong(
                    key,
                    format!("'{shown}' is no rule for choosing rungs; there are fixed, share:S, {ABR_WORDS}"),
                )
            }),
        }
    }
}

/// As it is written.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Fixed => f.write_str("fixed"),
            Rule::Share(share) => write!(f, "share:{share}"),
            Rule::Choice(choice) => choice.fmt(f),
        }
    }
}

/// What a server makes of the pace that it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// It does as it is asked.
    Obeys,
    /// It bounds it as `weir origin --pace` does if nothing else is said.
    Bounds,
}

impl Server {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Server::Obeys => "obeys",
            Server::Bounds => "bounds",
        }
    }
}

/// A way of streaming.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// What the player asks for.
    pub pace: PacePolicy,
    /// What the server makes of it.
    pub server: Server,
    /// How rungs are chosen.
    pub rule: Rule,
    /// The first rung, by its place in the ladder.
    pub first_rung: usize,
}

/// On which side of a limit a figure is claimed to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Less than this multiple of the other's.
    Below(f64),
    /// More than this multiple of the other's.
    Above(f64),
}

/// What is claimed of a variant, beside another.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Of which variant, by its place.
    pub variant: usize,
    /// Which figure.
    pub figure: Figure,
    /// Where it is.
    pub bound: Bound,
    /// Beside which variant, by its place.
    pub of: usize,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it is, in one line: the first line of its text, if that is a comment; else nothing.
    pub headline: String,
    /// What the trap is, in words: one paragraph without line breaks.
    pub trap: String,
    /// The link, which begins again after its last step.
    pub link: SteppedLink,
    /// What is played.
    pub media: Media,
    /// Most media in the player's buffer.
    pub buffer: TimeSpan,
    /// Media in the buffer before playback starts.
    pub start_buffer: TimeSpan,
    /// Ways of streaming.
    pub variants: Vec<Variant>,
    /// The trap shows where all of these hold.
    pub claims: Vec<Claim>,
}

impl Scenario {
    /// Reads a trap; `origin` stands before each error and becomes its name.
    ///
    /// # Errors
    /// See [`ScenarioError`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScenarioError> {
        let written: TrapText = read(text, origin)?;
        let scenario = resolve(&written, origin).map_err(|wrong| wrong.within(origin))?;
        let first = if text.starts_with('#') { headline(text) } else { "" };
        let plain = first.chars().filter(|c| !c.is_control());
        Ok(Scenario {
            headline: plain.take(LONGEST_HEADLINE).collect(),
            ..scenario
        })
    }
}

fn resolve(written: &TrapText, name: &str) -> Result<Scenario, Wrong> {
    let media = media(written)?;
    let (buffer, start_buffer) = buffers(&written.player, media.segment)?;
    let variant = |text: &VariantText| variant(text, &written.player, &media);
    let variants = read_named("variant", &written.variant, MOST_VARIANTS, variant, |known| {
        &known.name
    })?;
    counted("claim", written.claim.len(), MOST_CLAIMS)?;
    let claims = written.claim.iter().map(|text| claim(text, &variants));
    Ok(Scenario {
        name: name.to_owned(),
        headline: String::new(),
        trap: trap(&written.trap)?,
        link: link(&written.step)?,
        claims: claims.collect::<Result<_, _>>()?,
        media,
        buffer,
        start_buffer,
        variants,
    })
}

/// One paragraph of what is written over several lines.
fn trap(text: &str) -> Result<String, Wrong> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let paragraph = words.join(" ");
    let length = paragraph.chars().count();
    if !(1..=LONGEST_TRAP).contains(&length) || paragraph.chars().any(char::is_control) {
        return wrong(
            "trap",
            format!("what the trap is, in 1 to {LONGEST_TRAP} characters without control characters"),
        );
    }
    Ok(paragraph)
}

fn media(written: &TrapText) -> Result<Media, Wrong> {
    let (rungs, segment) = ladder(&written.media.rungs, written.media.segment)?;
    if rungs.last().is_some_and(|top| top.0 > HIGHEST_RUNG) {
        return wrong("media.rungs", "at most 1Gbit/s");
    }
    let duration = written.media.duration.0.0;
    if duration < segment.0 || duration > LONGEST_MEDIA_NS {
        return wrong("media.for", "at least a segment, and at most 1h");
    }
    Ok(Media {
        rungs,
        segment,
        // At most 7,200: a segment lasts half a second at least.
        segments: duration.div_ceil(segment.0) as usize,
    })
}

fn buffers(player: &PlayerText, segment: TimeSpan) -> Result<(TimeSpan, TimeSpan), Wrong> {
    let buffer = player.buffer.0;
    if !(segment.0..=LONGEST_MEDIA_NS).contains(&buffer.0) {
        return wrong("player.buffer", "at least a segment, and at most 1h");
    }
    let start = player.start_buffer.map_or(TimeSpan(0), |start| start.0);
    // A segment is asked for only where it fits whole.
    if start.0 > buffer.0 / segment.0 * segment.0 {
        return wrong(
            "player.start-buffer",
            "no more than the whole segments that the buffer holds; playback would never start",
        );
    }
    Ok((buffer, start))
}

fn link(steps: &[StepText]) -> Result<SteppedLink, Wrong> {
    counted("step", steps.len(), MOST_STEPS)?;
    let steps = steps.iter().map(step).collect::<Result<_, _>>()?;
    SteppedLink::new(steps).or_else(|dead| wrong("step", dead.to_string()))
}

fn step(text: &StepText) -> Result<Step, Wrong> {
    let (duration, rate, rtt) = (text.duration.0.0, text.rate.0.0, text.rtt.0.0);
    if !(SHORTEST_STEP_NS..=LONGEST_STEP_NS).contains(&duration) {
        return wrong("step.for", "from 100ms to 24h");
    }
    if rate > FASTEST_LINK {
        return wrong("step.rate", "at most 100Gbit/s; \"0\" is an outage");
    }
    if rtt > LONGEST_RTT_NS {
        return wrong("step.rtt", "at most 10s");
    }
    Ok(Step {
        duration: Duration::from_nanos(duration),
        rate,
        latency: Duration::from_nanos(rtt),
    })
}

/// What a variant does not say is as the player has it.
fn variant(text: &VariantText, player: &PlayerText, media: &Media) -> Result<Variant, Wrong> {
    check_name("variant.name", &text.name)?;
    let key = |key: &str| format!("variant.{key} of '{}'", text.name);
    let server = match text.server.as_deref() {
        None | Some("obeys") => Server::Obeys,
        Some("bounds") => Server::Bounds,
        Some(_) => return wrong(key("server"), "obeys or bounds"),
    };
    let rule = match &text.abr {
        Some(own) => Rule::read(&key("abr"), own)?,
        None => Rule::read("player.abr", &player.abr)?,
    };
    let first_rung = match &text.first_rung {
        Some(own) => rung(&key("first-rung"), *own, media)?,
        None => player
            .first_rung
            .map_or(Ok(0), |rate| rung("player.first-rung", rate, media))?,
    };
    Ok(Variant {
        name: text.name.clone(),
        pace: text.pace.map_or(PacePolicy::None, |pace| pace.0),
        server,
        rule,
        first_rung,
    })
}

fn rung(key: &str, rate: Written<Rate>, media: &Media) -> Result<usize, Wrong> {
    let place = media.rungs.iter().position(|known| *known == rate.0);
    place.map_or_else(|| wrong(key, format!("{} is not among media.rungs", rate.0)), Ok)
}

fn claim(text: &ClaimText, variants: &[Variant]) -> Result<Claim, Wrong> {
    let place = |key: &str, name: &str| {
        let known = || variants.iter().map(|variant| variant.name.as_str());
        known().position(|known| known == name).map_or_else(
            || {
                let known: Vec<&str> = known().collect();
                wrong(key, format!("no such variant; there are {}", known.join(", ")))
            },
            Ok,
        )
    };
    let variant = place("claim.variant", &text.variant)?;
    let of = place("claim.of", &text.of)?;
    let Some(figure) = Figure::named(&text.figure) else {
        let known = Figure::ALL.map(Figure::name).join(", ");
        return wrong("claim.figure", format!("no such figure; there are {known}"));
    };
    let bound = match (text.below, text.above) {
        (Some(times), None) => Bound::Below(times),
        (None, Some(times)) => Bound::Above(times),
        _ => {
            return wrong(
                "claim",
                "either below or above, times the figure of another variant",
            );
        }
    };
    let (Bound::Below(times) | Bound::Above(times)) = bound;
    if !(0.0..=MOST_TIMES).contains(&times) {
        return wrong("claim.below and claim.above", "from 0 to 1000 times");
    }
    Ok(Claim {
        variant,
        figure,
        bound,
        of,
    })
}

#[cfg(test)]
mod tests;
