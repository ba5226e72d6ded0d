//! What is kept of frames for those that refer to them.

use super::filters::Segments;
use super::kind::FrameKind;
use super::motion::Motions;

/// Frames that a decoder keeps to refer to.
pub(super) const SLOTS: usize = 8;

/// Sizes in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// As it is shown, when superresolution has widened it.
    pub(super) full_width: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// What is kept of a frame for those that refer to it.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) kind: FrameKind,
    pub(super) size: Size,
    pub(super) order_hint: u32,
    pub(super) motions: Motions,
    pub(super) segments: Segments,
}
