//! Where frames go, and in which form.

use std::path::PathBuf;

use weir_video::PixelFormat;

use super::conceal::Conceal;

/// Destination of the frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    Standard,
    /// A file, or a FIFO.
    Path(PathBuf),
    /// No output: frames are only counted, and verified if requested.
    Nowhere,
}

/// File format of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Raw frames, no headers.
    #[default]
    Raw,
    /// Y4M.
    Y4m,
}

/// What to do with frames.
#[derive(Clone, Debug)]
pub struct OutputPlan {
    /// Destination.
    pub target: Target,
    /// File format.
    pub form: Form,
    /// Packing; as sent if none.
    pub packing: Option<PixelFormat>,
    /// Replacement for missing parts.
    pub conceal: Conceal,
    /// Whether to compare frames with the sender's hashes.
    pub verify: bool,
    /// Stop after this many frames, including concealed ones.
    pub most_frames: Option<u64>,
    /// The latency budget, for the record, nanoseconds.
    pub budget_ns: u64,
}
