//! What a media file holds, in as little memory as it takes: for each track its samples (where they lie, when they are
//! decoded and shown, which are sync samples) and what its sample entry says. It must not know where the file is kept,
//! nor how it is served: it says which bytes to read next, is given them, and in the end gives the index.
//!
//! ```no_run
//! use weir_media::index::{IndexBuilder, Step};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let film = std::fs::read("film.mp4")?;
//! let mut builder = IndexBuilder::new(film.len() as u64);
//! let index = loop {
//!     match builder.step()? {
//!         Step::Read(range) => builder.give(range.start, &film[range.start as usize..range.end as usize]),
//!         Step::Done(index) => break index,
//!     }
//! };
//! for track in &index.tracks {
//!     println!("{} {} samples", track.info().codec, track.samples().len());
//! }
//! # Ok(())
//! # }
//! ```

mod ahead;
mod builder;
mod channels;
mod codec;
mod columns;
mod edits;
mod error;
pub(crate) mod fragment;
mod movie;
mod protection;
mod samples;
mod statistics;
mod stored;
mod tables;
mod track;

pub use builder::{IndexBuilder, Limits, Step};
pub use codec::{AudioInfo, MediaInfo, VideoInfo};
pub use error::IndexError;
pub use protection::{ProtectionTable, SampleProtection, SourceProtection, SourceScheme};
pub use samples::{Sample, SampleTable, Samples};
pub use stored::{INDEX_VERSION, StoredIndexError};
pub use track::{Display, FileIndex, PassedOver, TrackHead, TrackIndex, TrackInfo, TrackKind};
