//! How viewers that play in real time do it: their players' settings. It must not know what a player makes of them.

use std::time::Duration;

use weir_media::cmcd::{StreamingFormat, Version};
use weir_player::{AbrChoice, AbrRule, CmcdSettings, FirstRung, PacePolicy, Settings};

use crate::manifest::UrlRange;

/// Settings of all players alike.
#[derive(Clone, Debug, PartialEq)]
pub struct RealTime {
    /// How rungs are chosen, where that is left to the player.
    pub abr: AbrChoice,
    /// Policy of the pace rate that CMCD requests from servers.
    pub pace: PacePolicy,
    /// Most media in the buffer.
    pub max_buffer: Duration,
    /// Version of the CMCD that is sent; none sends no CMCD.
    pub cmcd: Option<Version>,
    /// Whether to report every segment.
    pub tell_segments: bool,
}

impl Default for RealTime {
    /// The throughput rule, 25 s of buffer, and nothing to tell.
    fn default() -> Self {
        RealTime {
            abr: AbrChoice::Throughput,
            pace: PacePolicy::None,
            max_buffer: Duration::from_secs(25),
            cmcd: None,
            tell_segments: false,
        }
    }
}

impl RealTime {
    /// Settings of one player; `fixed` is its rung if it is not to choose, `title` what it plays.
    pub(super) fn settings(&self, fixed: Option<usize>, title: &UrlRange, seed: u64) -> Settings {
        let (abr, first_rung) = match fixed {
            Some(rung) => (AbrRule::Fixed(rung), FirstRung::Rung(rung)),
            None => (self.abr.rule(self.max_buffer), FirstRung::Lowest),
        };
        let cmcd = self.cmcd.map(|version| CmcdSettings {
            version,
            format: format_of(title),
            content_id: None,
        });
        Settings {
            abr,
            pace: self.pace,
            first_rung,
            max_buffer: self.max_buffer,
            cmcd,
            seed,
            ..Settings::default()
        }
    }
}

/// Playlists are known by their names (RFC 8216, 4); what else viewers play is DASH.
fn format_of(title: &UrlRange) -> StreamingFormat {
    let path = title.target.split('?').next().unwrap_or_default();
    if path.ends_with(".m3u8") || path.ends_with(".m3u") {
        StreamingFormat::Hls
    } else {
        StreamingFormat::Dash
    }
}
