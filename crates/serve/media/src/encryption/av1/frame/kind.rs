//! The kinds of frames.

/// `frame_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Key,
    Inter,
    IntraOnly,
    Switch,
}

impl FrameKind {
    pub(super) fn is_intra(self) -> bool {
        matches!(self, FrameKind::Key | FrameKind::IntraOnly)
    }
}
