//! A scenario: a link, a title and its player, its variants of pacing, and the neighbours on the line. A mistake in a
//! file is reported in one line, with the key and what is allowed. It must not know how a scenario is run.

use std::path::Path;

use weir_link::{LinkSpec, Profile};
use weir_neighbour::{BulkRequest, HttpRequest, Kind, Traffic};
use weir_net::tcp::CongestionControl;
use weir_pacing::{MAX_FACTOR, PaceBounds, Pacing};
use weir_player::{AbrChoice, PacePolicy};
use weir_units::{Rate, TimeSpan};

use super::figures::MEDIA_FIGURES;
use super::written::{CaseText, FigureText, NeighbourText, ScenarioText, VariantText};
use crate::scenario_file::{ScenarioError, Wrong, check_name, counted, ladder, read, read_named, wrong};

/// Most repeats.
pub const MOST_REPEATS: u32 = 50;
/// Longest time of a trial, warm-up included.
const LONGEST_TRIAL_NS: u64 = 3_600 * 1_000_000_000;
/// Most of each list in a file.
const MOST_VARIANTS: usize = 8;
const MOST_CASES: usize = 16;
const MOST_NEIGHBOURS: usize = 8;
const MOST_FIGURES: usize = 32;
/// Most bytes of the files of a title.
const MOST_TITLE_BYTES: u64 = 512 << 20;
const DEFAULT_REPEATS: u32 = 5;

/// What is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Bit rates of the rungs, the lowest first.
    pub rungs: Vec<Rate>,
    /// Length of each segment.
    pub segment: TimeSpan,
}

impl Media {
    /// Bytes of a segment of a rung: all are alike.
    pub fn segment_bytes(&self, rung: usize) -> u64 {
        let rate = self.rungs.get(rung).map_or(0, |rate| rate.0);
        let bits = u128::from(rate) * u128::from(self.segment.0) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

/// Who plays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    /// How rungs are chosen.
    pub abr: AbrChoice,
    /// Most media in the buffer.
    pub buffer: TimeSpan,
}

/// Who serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// `weir origin --pace`.
    Weir,
    /// nginx, with a `limit_rate` in bits a second if there is one.
    Nginx(Option<Rate>),
}

/// A way of streaming.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// Who serves.
    pub server: Server,
    /// What the player asks for.
    pub pace: PacePolicy,
    /// Least packets that the server's kernel sends at once; its own choice if none.
    pub burst: Option<u32>,
    /// What Weir's origin makes of a pace.
    pub origin: Pacing,
}

/// What a neighbour does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NeighbourKind {
    /// One that `weir lab neighbour` serves.
    Traffic(Kind),
    /// A second video session of the same title, unpaced, begun anew after each session.
    Video {
        /// How long each session is.
        session: TimeSpan,
    },
}

/// Who else uses the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// What its figures are called by.
    pub name: String,
    /// What it does.
    pub kind: NeighbourKind,
}

/// The way in which a figure is expected to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Down.
    Lower,
    /// Up.
    Higher,
}

/// A figure to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureWanted {
    /// Its name, as in `voip.owd.p95`.
    pub of: String,
    /// How pacing is expected to move it.
    pub expect: Option<Way>,
    /// By how much it moved it in the paper, percent.
    pub paper_percent: Option<f64>,
}

/// Neighbours that are there at the same time, and what is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// Who is there.
    pub neighbours: Vec<Neighbour>,
    /// What is compared.
    pub figures: Vec<FigureWanted>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// The link; the title comes from its far end.
    pub link: LinkSpec,
    /// Congestion controls, each of which is measured apart.
    pub congestion: Vec<CongestionControl>,
    /// How often each variant is measured.
    pub repeats: u32,
    /// How long the player plays before anything counts.
    pub warm_up: TimeSpan,
    /// How long is measured then.
    pub duration: TimeSpan,
    /// What is played.
    pub media: Media,
    /// Who plays it.
    pub player: Player,
    /// Ways of streaming; the first is what others are compared with.
    pub variants: Vec<Variant>,
    /// Sets of neighbours, each of which is measured apart.
    pub cases: Vec<Case>,
}

impl Scenario {
    /// Reads a scenario; `origin` stands before each error and becomes its name. Trace files of its link begin at `base`.
    ///
    /// # Errors
    /// See [`ScenarioError`].
    pub fn parse(text: &str, origin: &str, base: &Path) -> Result<Self, ScenarioError> {
        let read: ScenarioText = read(text, origin)?;
        let link = Profile::from_table(read.link.clone(), "link", base)
            .and_then(|profile| profile.spec())
            .map(|link| LinkSpec {
                name: origin.to_owned(),
                ..link
            })
            .map_err(|error| ScenarioError::Link {
                origin: origin.to_owned(),
                error,
            })?;
        resolve(read, origin, link).map_err(|wrong| wrong.within(origin))
    }
}

fn resolve(read: ScenarioText, name: &str, link: LinkSpec) -> Result<Scenario, Wrong> {
    let media = media(&read)?;
    let (warm_up, duration) = (read.warm_up.0, read.duration.0);
    if duration.0 == 0 || warm_up.0.saturating_add(duration.0) > LONGEST_TRIAL_NS {
        return wrong("for", "more than nothing, and with warm-up at most an hour");
    }
    let repeats = read.repeats.unwrap_or(DEFAULT_REPEATS);
    if !(1..=MOST_REPEATS).contains(&repeats) {
        return wrong("repeats", format!("{repeats} is not from 1 to {MOST_REPEATS}"));
    }
    let variants = read_named("variant", &read.variant, MOST_VARIANTS, variant, |known| {
        &known.name
    })?;
    let cases = read_named("case", &read.case, MOST_CASES, case, |known| &known.name)?;
    if read.player.buffer.0.0 < media.segment.0 {
        return wrong("player.buffer", "shorter than a segment; it holds at least one");
    }
    Ok(Scenario {
        name: name.to_owned(),
        link,
        congestion: congestion(&read.congestion)?,
        repeats,
        warm_up,
        duration,
        media,
        player: Player {
            abr: read.player.abr.0,
            buffer: read.player.buffer.0,
        },
        variants,
        cases,
    })
}

fn congestion(names: &[String]) -> Result<Vec<CongestionControl>, Wrong> {
    counted("congestion", names.len(), 3)?;
    let mut found = Vec::new();
    for name in names {
        match CongestionControl::named(name) {
            Some(known) if !found.contains(&known) => found.push(known),
            Some(_) => return wrong("congestion", format!("'{name}' stands there twice")),
            None => return wrong("congestion", format!("'{name}' is none of reno, cubic, bbr")),
        }
    }
    Ok(found)
}

fn media(read: &ScenarioText) -> Result<Media, Wrong> {
    let (rungs, segment) = ladder(&read.media.rungs, read.media.segment)?;
    let media = Media { rungs, segment };
    let bytes: u64 = (0..media.rungs.len())
        .map(|rung| media.segment_bytes(rung))
        .fold(0, u64::saturating_add);
    if bytes > MOST_TITLE_BYTES {
        return wrong("media", "a segment of every rung takes at most 512 MiB together");
    }
    if media.segment_bytes(0) < 1_000 {
        return wrong("media.rungs", "a segment of the lowest has at least 1,000 bytes");
    }
    Ok(media)
}

fn variant(text: &VariantText) -> Result<Variant, Wrong> {
    check_name("variant.name", &text.name)?;
    let key = |key: &str| format!("variant.{key} of '{}'", text.name);
    let server = match (text.server.as_deref(), &text.limit_rate) {
        (None | Some("weir"), None) => Server::Weir,
        (None | Some("weir"), Some(_)) => return wrong(key("limit-rate"), "only with server = \"nginx\""),
        (Some("nginx"), limit) => Server::Nginx(limit.as_ref().map(|rate| rate.0)),
        (Some(other), _) => return wrong(key("server"), format!("'{other}' is neither weir nor nginx")),
    };
    if text.burst.is_some_and(|burst| !(1..=44).contains(&burst)) {
        return wrong(
            key("burst"),
            "from 1 to 44 packets, which is what the kernel sends at once",
        );
    }
    let Some(origin) = origin(text) else {
        return wrong(key("pace-factor"), format!("a number from 1 to {MAX_FACTOR}"));
    };
    Ok(Variant {
        name: text.name.clone(),
        server,
        pace: text.pace.map_or(PacePolicy::None, |pace| pace.0),
        burst: text.burst,
        origin,
    })
}

fn origin(text: &VariantText) -> Option<Pacing> {
    let usual = Pacing::default();
    let factor = text.pace_factor.unwrap_or(usual.bounds.factor);
    let bounds = PaceBounds {
        factor,
        ..usual.bounds
    };
    (1.0..=MAX_FACTOR).contains(&factor).then(|| Pacing {
        bounds,
        burst: text.pace_burst.map_or(usual.burst, |burst| burst.0),
    })
}

fn case(text: &CaseText) -> Result<Case, Wrong> {
    check_name("case.name", &text.name)?;
    let key = |key: &str| format!("case.{key} of '{}'", text.name);
    if text.neighbours.len() > MOST_NEIGHBOURS {
        return wrong(key("neighbours"), format!("at most {MOST_NEIGHBOURS}"));
    }
    let mut neighbours: Vec<Neighbour> = Vec::new();
    for text in &text.neighbours {
        let found = neighbour(text, &key("neighbours"))?;
        let mut known = neighbours.iter().map(|known| &known.name);
        if ["media", "queue"].contains(&found.name.as_str()) || known.any(|known| *known == found.name) {
            let problem = format!(
                "the name '{}' is taken; give it another with name = \"...\"",
                found.name
            );
            return wrong(key("neighbours"), problem);
        }
        neighbours.push(found);
    }
    counted(&key("figures"), text.figures.len(), MOST_FIGURES)?;
    let figures = text
        .figures
        .iter()
        .map(|figure| wanted(figure, &neighbours, &key("figures")));
    Ok(Case {
        name: text.name.clone(),
        figures: figures.collect::<Result<_, _>>()?,
        neighbours,
    })
}

fn wanted(text: &FigureText, neighbours: &[Neighbour], key: &str) -> Result<FigureWanted, Wrong> {
    let first = text.of.split('.').next().unwrap_or_default();
    let of_media = ["media", "queue"].contains(&first);
    if of_media && !MEDIA_FIGURES.contains(&text.of.as_str()) {
        let problem = format!(
            "there is no figure '{}'; there are {}",
            text.of,
            MEDIA_FIGURES.join(", ")
        );
        return wrong(key, problem);
    }
    if !of_media && !neighbours.iter().any(|neighbour| neighbour.name == first) {
        return wrong(
            key,
            format!(
                "'{}' begins with neither media, queue nor a neighbour's name",
                text.of
            ),
        );
    }
    let expect = match text.expect.as_deref() {
        None => None,
        Some("lower") => Some(Way::Lower),
        Some("higher") => Some(Way::Higher),
        Some(other) => return wrong(key, format!("expect = '{other}' is neither lower nor higher")),
    };
    Ok(FigureWanted {
        of: text.of.clone(),
        expect,
        paper_percent: text.paper,
    })
}

fn neighbour(text: &NeighbourText, key: &str) -> Result<Neighbour, Wrong> {
    let given = [
        ("rate", text.rate.is_some()),
        ("length", text.length.is_some()),
        ("streams", text.streams.is_some()),
        ("bytes", text.bytes.is_some()),
        ("pause", text.pause.is_some()),
        ("frames-per-second", text.frames_per_second.is_some()),
        ("session", text.session.is_some()),
    ];
    let rate = |usual| text.rate.as_ref().map_or(usual, |rate| rate.0);
    let length = text.length.unwrap_or(Traffic::LENGTH);
    let (kind, known): (Option<Kind>, &[&str]) = match text.kind.as_str() {
        "voip" => (Some(Kind::Datagrams(Traffic::Voice)), &[]),
        "udp" => {
            let rate = rate(Traffic::EVEN_RATE);
            let even = Kind::Datagrams(Traffic::Even { rate, length });
            (Some(even), &["rate", "length"])
        }
        "bulk" => {
            let bulk = BulkRequest {
                streams: text.streams.unwrap_or(1),
                congestion: None,
            };
            (Some(Kind::Bulk(bulk)), &["streams"])
        }
        "http" => {
            let http = HttpRequest {
                bytes: text.bytes.as_ref().map_or(Kind::HTTP_BYTES, |bytes| bytes.0),
                pause: text.pause.as_ref().map_or(TimeSpan(0), |pause| pause.0),
                congestion: None,
            };
            (Some(Kind::Http(http)), &["bytes", "pause"])
        }
        "game" => {
            let game = Traffic::Game {
                rate: rate(Traffic::GAME_RATE),
                frames_per_second: text.frames_per_second.unwrap_or(Traffic::GAME_FRAME_RATE),
                length,
            };
            (Some(Kind::Datagrams(game)), &["rate", "frames-per-second"])
        }
        "video" => (None, &["session"]),
        other => {
            let problem = format!("'{other}' is no kind; there are voip, udp, bulk, http, game, video");
            return wrong(key, problem);
        }
    };
    let name = text.name.as_ref().unwrap_or(&text.kind).clone();
    check_name(key, &name)?;
    if let Some((option, _)) = given
        .iter()
        .find(|(option, given)| *given && !known.contains(option))
    {
        let allowed = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        let problem = format!("'{option}' is no option of {}; it has {allowed}", text.kind);
        return wrong(key, problem);
    }
    let kind = match (kind, &text.session) {
        (Some(kind), _) => match kind.check() {
            Ok(()) => NeighbourKind::Traffic(kind),
            Err(error) => return wrong(key, error.to_string()),
        },
        (None, Some(session)) if session.0.0 > 0 => NeighbourKind::Video { session: session.0 },
        (None, _) => {
            return wrong(
                key,
                "a video needs session = \"...\", how long each of its sessions is",
            );
        }
    };
    Ok(Neighbour { name, kind })
}

#[cfg(test)]
mod tests;
