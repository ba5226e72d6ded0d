//! What makes one player differ from another: how much it buffers, which rule chooses rungs, which policy chooses pace
//! rates, what it tells servers.

use std::time::Duration;

use weir_media::cmcd;
use weir_units::Rate;

use crate::abr::AbrRule;
use crate::pacing::PacePolicy;

/// The rung of the first segments, before anything is known of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FirstRung {
    /// The lowest.
    Lowest,
    /// This one, counted from 0; the highest where there are fewer.
    Rung(usize),
    /// The highest whose bitrate is at most `share` of `rate`: with the throughput of the initial phases of earlier
    /// sessions ([`crate::InitialThroughputs`]), this is how Sammy begins.
    FromThroughput {
        /// What earlier sessions saw.
        rate: Rate,
        /// 0 to 1.
        share: f64,
    },
}

/// The keys of CMCD that a player sends, and in which version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CmcdSettings {
    /// 1 or 2.
    pub version: cmcd::Version,
    /// The format of the stream (`sf`).
    pub format: cmcd::StreamingFormat,
    /// A name of what is played (`cid`), at most [`cmcd::MAX_ID_BYTES`].
    pub content_id: Option<String>,
}

/// Settings of one player.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How rungs are chosen.
    pub abr: AbrRule,
    /// How pace rates are chosen.
    pub pace: PacePolicy,
    /// Whether rules see what the path would carry in place of the throughput of paced answers.
    pub capacity: bool,
    /// The first rung.
    pub first_rung: FirstRung,
    /// Most media in the buffer: a segment is asked for only when it fits.
    pub max_buffer: Duration,
    /// Media in each buffer before playback starts, and after a seek. At least one segment.
    pub start_buffer: Duration,
    /// Media in each buffer before playback goes on after a stall. At least one segment.
    pub resume_buffer: Duration,
    /// How often a segment is asked for before the player gives up.
    pub attempts: u32,
    /// The wait after the first failure of a segment; it doubles with each further one, up to [`LONGEST_RETRY_WAIT`],
    /// and differs by up to half from player to player, by the seed.
    pub retry_wait: Duration,
    /// CMCD sent to servers; none sends no CMCD.
    pub cmcd: Option<CmcdSettings>,
    /// What random choices (session id, waits before retries) follow from. Same seed, same events: same actions.
    pub seed: u64,
}

/// The longest wait before a retry, before it is varied.
pub const LONGEST_RETRY_WAIT: Duration = Duration::from_secs(30);

impl Default for Settings {
    /// The throughput rule, unpaced, from the lowest rung, 25 s of buffer, playback from the first segment.
    fn default() -> Settings {
        Settings {
            abr: AbrRule::Throughput,
            pace: PacePolicy::None,
            capacity: true,
            first_rung: FirstRung::Lowest,
            max_buffer: Duration::from_secs(25),
            start_buffer: Duration::ZERO,
            resume_buffer: Duration::ZERO,
            attempts: 4,
            retry_wait: Duration::from_millis(500),
            cmcd: None,
            seed: 0,
        }
    }
}
