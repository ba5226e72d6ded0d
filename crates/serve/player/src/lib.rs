//! A model of an adaptive streaming player: playout buffers, start-up, stalls and seeks, the choice of rungs and of
//! pace rates, and what the viewer got of it.
//!
//! [`Player`] is a state machine. It receives events with their times ([`Event`]) and returns actions ([`Action`]):
//! request this segment at that pace, wait, done. Times count from a moment of the caller's choice and never decrease.
//! It must not know HTTP, sockets or clocks; the same seed and the same events give the same actions.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use weir_player::{Action, Event, Manifest, MediaKind, Player, Rung, Settings, Track};
//! use weir_units::Rate;
//!
//! # fn main() -> Result<(), weir_player::ManifestError> {
//! let rungs = [1_000_000, 3_000_000].map(|bitrate| Rung { bitrate: Rate(bitrate), segment_bytes: vec![] });
//! let track = Track::new(MediaKind::Video, &[Duration::from_secs(4); 10], rungs.to_vec())?;
//! let mut player = Player::new(Settings::default(), Duration::ZERO);
//! player.handle(Duration::ZERO, Event::Manifest(Arc::new(Manifest::new(vec![track])?)));
//! let mut now = Duration::ZERO;
//! loop {
//!     match player.poll(now) {
//!         Action::Fetch(request) => {
//!             // A network of 8 Mbit/s and 50 ms.
//!             now += Duration::from_millis(50);
//!             player.handle(now, Event::Bytes { request: request.id, bytes: 0 });
//!             now += Duration::from_micros(request.expected_bytes);
//!             player.handle(now, Event::Bytes { request: request.id, bytes: request.expected_bytes });
//!             player.handle(now, Event::Complete { request: request.id });
//!         }
//!         Action::Wait { until: Some(until) } => now = until,
//!         Action::Wait { until: None } | Action::Cancel(_) => {}
//!         Action::Finished(_) => break,
//!     }
//! }
//! let figures = player.figures(now);
//! assert_eq!((figures.played, figures.stalls), (Duration::from_secs(40), 0));
//! # Ok(())
//! # }
//! ```

mod abr;
mod capacity;
mod lane;
mod manifest;
mod pacing;
mod player;
mod quality;
pub mod recorded;
mod settings;
mod throughput;
pub mod virtual_time;
mod words;

pub use abr::AbrRule;
pub use capacity::Arrivals;
pub use lane::RequestId;
pub use manifest::{
    LONGEST_SEGMENT, MAX_RUNGS, MAX_SEGMENTS, Manifest, ManifestError, MediaKind, Rung, Track,
};
pub use pacing::{InitialThroughputs, PacePolicy};
pub use player::{Action, Event, Outcome, Player, Request};
pub use quality::Figures;
pub use settings::{CmcdSettings, FirstRung, LONGEST_RETRY_WAIT, Settings};
pub use words::{ABR_WORDS, AbrChoice, PACE_WORDS, WordError};
