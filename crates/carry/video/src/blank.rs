//! A blank frame, for where there is none to repeat: video black in the levels of its format. Zero bytes are not black
//! but green in YUV. When a frame is concealed, and how many were, is the caller's.

use super::colour::Colour;
use super::row::Row;
use super::{PatternError, VideoFormat};

/// Makes `frame` black, and opaque where the format has opacity.
///
/// # Errors
///
/// A buffer that has not the length of a frame.
pub fn fill_blank(format: VideoFormat, frame: &mut [u8]) -> Result<(), PatternError> {
    check_length(format, frame)?;
    let black = Colour::BLACK.pixel(format.pixels());
    let mut row = Row::new(format.pixels());
    row.encode(&vec![black; format.width() as usize]);
    row.write(format, frame, 0..format.height() as usize, 0);
    Ok(())
}

pub(super) fn check_length(format: VideoFormat, frame: &[u8]) -> Result<(), PatternError> {
    if frame.len() == format.frame_bytes() {
        return Ok(());
    }
    Err(PatternError::Length {
        given: frame.len(),
        frame_bytes: format.frame_bytes(),
    })
}
