//! A trap, played: every variant in virtual time, what each viewer got, and which claims hold. It must not know how files are
//! written or results drawn.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use weir_media::cmcd::{StreamingFormat, Version};
use weir_pacing::{PaceBounds, PaceRequest};
use weir_player::virtual_time::{Fetch, Session, play_from};
use weir_player::{
    CmcdSettings, Event, FirstRung, Manifest, ManifestError, MediaKind, Outcome, Player, Request, Rung,
    Settings, Track,
};
use weir_units::Rate;

use super::figures::{SessionFigures, nanoseconds};
use super::scenario::{Bound, Claim, Media, Scenario, Server, Variant};

/// A session ends unfinished after this multiple of the length of its media.
const MOST_LENGTHS: u32 = 10;

/// One segment, as it was fetched. Times are nanoseconds since the session began, rates bits a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Counted from 0.
    pub segment: usize,
    /// Of its rung.
    pub bitrate: u64,
    /// What pace the player asked for.
    pub pace: Option<u64>,
    /// Media in the buffer at the request.
    pub buffer_ns: u64,
    /// When it was asked for.
    pub asked_ns: u64,
    /// When its last byte arrived.
    pub done_ns: u64,
}

/// What became of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantPlayed {
    /// Its name.
    pub variant: String,
    /// What the player asked for, as it is written.
    pub pace: String,
    /// What the server made of it: `obeys` or `bounds`.
    pub server: &'static str,
    /// How rungs were chosen, as it is written.
    pub abr: String,
    /// Bit rate of the first rung.
    pub first_rung: u64,
    /// Whether all of the title was played; it ends after ten times its length.
    pub finished: bool,
    /// What the viewer got.
    pub figures: SessionFigures,
    /// Every segment.
    pub segments: Vec<Segment>,
}

/// A claim, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimChecked {
    /// Of which variant.
    pub variant: String,
    /// Which figure.
    pub figure: &'static str,
    /// `below` or `above`.
    pub is: &'static str,
    /// As a multiple of the figure of `of`.
    pub times: f64,
    /// Beside which variant.
    pub of: String,
    /// The figure of `variant`.
    pub value: Option<f64>,
    /// The figure of `of`.
    pub beside: Option<f64>,
    /// Whether it holds; it does not where a figure is missing.
    pub holds: bool,
}

/// A trap, and whether it showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// Name or file.
    pub scenario: String,
    /// What it is, in one line; empty where its text has no first line that is a comment.
    pub headline: String,
    /// What the trap is, in words.
    pub trap: String,
    /// Whether all claims hold.
    pub shown: bool,
    /// The claims.
    pub claims: Vec<ClaimChecked>,
    /// Every variant.
    pub variants: Vec<VariantPlayed>,
}

/// Plays all variants. The same scenario gives the same result, byte by byte.
///
/// # Errors
/// Where the title is none that can be played, which no scenario that was read has.
pub fn play(scenario: &Scenario) -> Result<Shown, ManifestError> {
    let manifest = manifest(&scenario.media)?;
    let variants: Vec<VariantPlayed> = scenario
        .variants
        .iter()
        .map(|variant| played(scenario, variant, &manifest))
        .collect();
    let claims: Vec<ClaimChecked> = scenario
        .claims
        .iter()
        .filter_map(|claim| checked(claim, &variants))
        .collect();
    Ok(Shown {
        scenario: scenario.name.clone(),
        headline: scenario.headline.clone(),
        trap: scenario.trap.clone(),
        shown: claims.iter().all(|claim| claim.holds),
        claims,
        variants,
    })
}

fn manifest(media: &Media) -> Result<Arc<Manifest>, ManifestError> {
    let rungs = media.rungs.iter().map(|bitrate| Rung {
        bitrate: *bitrate,
        segment_bytes: vec![],
    });
    let durations = vec![Duration::from_nanos(media.segment.0); media.segments];
    let track = Track::new(MediaKind::Video, &durations, rungs.collect())?;
    Ok(Arc::new(Manifest::new(vec![track])?))
}

fn played(scenario: &Scenario, variant: &Variant, manifest: &Arc<Manifest>) -> VariantPlayed {
    let player = Player::new(settings(scenario, variant), Duration::ZERO);
    let script = [(Duration::ZERO, Event::Manifest(Arc::clone(manifest)))];
    let server: &dyn Fn(&Request) -> Option<Rate> = match variant.server {
        Server::Obeys => &|request| request.pace,
        Server::Bounds => &bounded,
    };
    let latest = manifest.duration() * MOST_LENGTHS;
    let session = play_from(server, player, &scenario.link, &script, latest);
    let bitrates: Vec<u64> = scenario.media.rungs.iter().map(|rate| rate.0).collect();
    VariantPlayed {
        variant: variant.name.clone(),
        pace: variant.pace.to_string(),
        server: variant.server.name(),
        abr: variant.rule.to_string(),
        first_rung: bitrates.get(variant.first_rung).copied().unwrap_or(0),
        finished: session.outcome == Some(Outcome::Played),
        figures: SessionFigures::of(&session, &bitrates),
        segments: segments(&session, &bitrates),
    }
}

fn settings(scenario: &Scenario, variant: &Variant) -> Settings {
    let buffer = Duration::from_nanos(scenario.buffer.0);
    Settings {
        abr: variant.rule.abr(variant.first_rung, buffer),
        pace: variant.pace,
        first_rung: FirstRung::Rung(variant.first_rung),
        max_buffer: buffer,
        start_buffer: Duration::from_nanos(scenario.start_buffer.0),
        cmcd: Some(CmcdSettings {
            version: Version::V2,
            format: StreamingFormat::Dash,
            content_id: None,
        }),
        ..Settings::default()
    }
}

/// What a server makes of a request that bounds it as `weir origin --pace` does if nothing else is said. It knows of the
/// player what CMCD tells it.
fn bounded(request: &Request) -> Option<Rate> {
    let query = format!("CMCD={}", request.cmcd.as_ref()?.query());
    let asked = PaceRequest::read(std::iter::empty(), &query);
    PaceBounds::default().decide(&asked, 0).rate
}

fn segments(session: &Session, bitrates: &[u64]) -> Vec<Segment> {
    let segment = |fetch: &Fetch| Segment {
        segment: fetch.segment,
        bitrate: bitrates.get(fetch.rung).copied().unwrap_or(0),
        pace: fetch.pace.map(|pace| pace.0),
        buffer_ns: nanoseconds(fetch.buffer),
        asked_ns: nanoseconds(fetch.asked),
        done_ns: nanoseconds(fetch.done),
    };
    session.fetches.iter().map(segment).collect()
}

fn checked(claim: &Claim, variants: &[VariantPlayed]) -> Option<ClaimChecked> {
    let (variant, of) = (variants.get(claim.variant)?, variants.get(claim.of)?);
    let value = claim.figure.value(&variant.figures);
    let beside = claim.figure.value(&of.figures);
    let (is, times) = match claim.bound {
        Bound::Below(times) => ("below", times),
        Bound::Above(times) => ("above", times),
    };
    let holds = value
        .zip(beside)
        .is_some_and(|(value, beside)| match claim.bound {
            Bound::Below(_) => value < times * beside,
            Bound::Above(_) => value > times * beside,
        });
    Some(ClaimChecked {
        variant: variant.variant.clone(),
        figure: claim.figure.name(),
        is,
        times,
        of: of.variant.clone(),
        value,
        beside,
        holds,
    })
}
