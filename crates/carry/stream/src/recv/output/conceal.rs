//! Concealment of missing parts of frames. It must not know why they are missing, or count them.

use weir_stream_proto::Frame;
use weir_video::{VideoFormat, fill_blank};

/// How to conceal missing parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conceal {
    /// The same part of the frame before.
    #[default]
    Repeat,
    /// Black.
    Blank,
}

pub(super) struct Concealer {
    how: Conceal,
    /// The frame that was shown last.
    last: Option<(VideoFormat, Frame)>,
    blank: Option<(VideoFormat, Vec<u8>)>,
}

impl Concealer {
    pub(super) fn new(how: Conceal) -> Self {
        Concealer {
            how,
            last: None,
            blank: None,
        }
    }

    /// Fills the missing parts of a frame.
    pub(super) fn mend(&mut self, format: VideoFormat, frame: &mut Frame) {
        if frame.missing.is_empty() {
            return;
        }
        let instead = match (&self.last, self.how) {
            (Some((same, last)), Conceal::Repeat) if *same == format => &last.bytes,
            _ => blank(&mut self.blank, format),
        };
        for piece in &frame.missing {
            let range = piece.start as usize..piece.end as usize;
            frame.bytes[range.clone()].copy_from_slice(&instead[range]);
        }
    }

    /// Keeps a frame that was shown, and returns the previous one.
    pub(super) fn keep(&mut self, format: VideoFormat, frame: Frame) -> Option<Frame> {
        self.last.replace((format, frame)).map(|(_, before)| before)
    }

    /// Replacement for a frame of which no packet arrived; none before the first frame.
    pub(super) fn instead(&mut self) -> Option<(VideoFormat, &[u8])> {
        let (format, last) = self.last.as_ref()?;
        Some(match self.how {
            Conceal::Repeat => (*format, &last.bytes),
            Conceal::Blank => (*format, blank(&mut self.blank, *format)),
        })
    }
}

fn blank(kept: &mut Option<(VideoFormat, Vec<u8>)>, format: VideoFormat) -> &[u8] {
    if kept.as_ref().is_none_or(|(of, _)| *of != format) {
        let mut bytes = vec![0; format.frame_bytes()];
        // The only error is a wrong length, and the buffer has the requested one.
        fill_blank(format, &mut bytes).ok();
        *kept = Some((format, bytes));
    }
    kept.as_ref().map_or(&[], |(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use weir_stream_proto::MissingPiece;

    use super::*;

    fn frame(fill: u8, missing: Vec<MissingPiece>) -> Frame {
        Frame {
            bytes: vec![fill; 64 * 64 * 3 / 2],
            missing,
            ..Frame::default()
        }
    }

    #[test]
    fn what_is_missing_comes_from_the_frame_before_or_is_black() {
        let format: VideoFormat = "64x64@25:yuv420p".parse().expect("a format");
        let hole = || vec![MissingPiece { start: 100, end: 200 }];
        for (how, instead) in [(Conceal::Repeat, 7), (Conceal::Blank, 16)] {
            let mut concealer = Concealer::new(how);
            assert!(concealer.instead().is_none());
            // Nothing to repeat yet: black.
            let mut first = frame(9, hole());
            concealer.mend(format, &mut first);
            assert_eq!((first.bytes[99], first.bytes[100], first.bytes[199]), (9, 16, 16));
            assert!(concealer.keep(format, frame(7, vec![])).is_none());
            let mut second = frame(9, hole());
            concealer.mend(format, &mut second);
            assert_eq!(
                (second.bytes[99], second.bytes[100], second.bytes[200]),
                (9, instead, 9)
            );
            let (_, shown) = concealer.instead().expect("something");
            assert_eq!(shown[0], instead);
        }
    }
}
