//! What a media file holds, in as little memory as it takes: for each track its samples (where they lie, when they are
//! decoded and shown, which are sync samples) and what its sample entry says. It must not know where the file is kept,
//! nor how it is served: it says which bytes to read next, is given them, and in the end gives the index.
//!
//! ```no_run
//! # fn read(range: std::ops::Range<u64>) -> Vec<u8> { unimplemented!() }
//! # let file_length = 0;
//! use weir_media::index::{IndexBuilder, Step};
//!
//! let mut builder = IndexBuilder::new(file_length);
//! let index = loop {
//!     match builder.step()? {
//!         Step::Read(range) => builder.give(range.start, &read(range.clone())),
//!         Step::Done(index) => break index,
//!     }
//! };
//! for track in &index.tracks {
//!     println!("{} {} samples", track.info().codec, track.samples().len());
//! }
//! # Ok::<(), weir_media::index::IndexError>(())
//! ```

mod builder;
mod codec;
mod columns;
mod edits;
mod error;
mod fragment;
mod movie;
mod samples;
mod statistics;
mod stored;
mod tables;
mod track;

pub use builder::{IndexBuilder, Limits, Step};
pub use error::IndexError;
pub use samples::{Sample, SampleTable, Samples};
pub use stored::{INDEX_VERSION, StoredIndexError};
pub use track::{
    AudioInfo, Display, FileIndex, MediaInfo, PassedOver, TrackHead, TrackIndex, TrackInfo, TrackKind,
    VideoInfo,
};
