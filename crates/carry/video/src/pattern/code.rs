//! A frame's number as cells of black and white: three rows of 32, the upper and lower half of the number and a CRC-32 of
//! both, highest bit left. It stands at the top and at the bottom, and is read only if both agree: a frame of which a
//! part is missing, blank, or of another frame reads as none. It knows no digits.
//!
//! What lies between the two codes is not checked by them. Whoever has to know that a frame is whole renders its number
//! again and compares.

use crate::VideoFormat;
use crate::colour::brightness_range;
use crate::row::Brightness;

/// Rows of cells.
pub(super) const ROWS: usize = 3;
/// Cells in a row.
const COLUMNS: usize = 32;

/// Width of a cell; what is right of the last one is black.
fn cell_width(format: VideoFormat) -> usize {
    format.width() as usize / COLUMNS
}

/// Height of a cell, even for the chroma of 4:2:0.
pub(super) fn cell_height(format: VideoFormat) -> usize {
    (format.height() as usize / 96 * 2).max(2)
}

/// Lines of a code.
pub(super) fn height(format: VideoFormat) -> usize {
    ROWS * cell_height(format)
}

/// The first line of the second code.
pub(super) fn second_line(format: VideoFormat) -> usize {
    (format.height() as usize - height(format)) / 2 * 2
}

/// The three rows of a number.
pub(super) fn words(number: u64) -> [u32; ROWS] {
    [(number >> 32) as u32, number as u32, crc32(&number.to_be_bytes())]
}

/// Whether a row has white in this column of pixels.
pub(super) fn is_white(format: VideoFormat, word: u32, x: usize) -> bool {
    let column = x / cell_width(format);
    column < COLUMNS && word >> (COLUMNS - 1 - column) & 1 == 1
}

/// The number of a frame of [`TestPattern`](crate::TestPattern), if both its codes are there, agree and have a right
/// check: never from a blank frame, nor from one whose codes are damaged or of two frames. None too if `frame` has not
/// the length of a frame, or the format is too small for the pattern.
pub fn read_frame_number(format: VideoFormat, frame: &[u8]) -> Option<u64> {
    if format.width() < super::LEAST || format.height() < super::LEAST {
        return None;
    }
    let picture = Brightness::of(format, frame)?;
    let first = read_code(format, &picture, 0)?;
    let second = read_code(format, &picture, second_line(format))?;
    (first == second).then_some(first)
}

fn read_code(format: VideoFormat, picture: &Brightness, top: usize) -> Option<u64> {
    let mut read = [0_u32; ROWS];
    for (row, word) in read.iter_mut().enumerate() {
        for column in 0..COLUMNS {
            let white = read_cell(format, picture, column, top + row * cell_height(format))?;
            *word = *word << 1 | u32::from(white);
        }
    }
    let number = u64::from(read[0]) << 32 | u64::from(read[1]);
    (words(number) == read).then_some(number)
}

/// Whether a cell is white; none unless nine places in it are clearly the same.
fn read_cell(format: VideoFormat, picture: &Brightness, column: usize, top: usize) -> Option<bool> {
    let (width, height) = (cell_width(format), cell_height(format));
    let (black, white) = brightness_range(format.pixels());
    // As far as a quarter of the way to the other; conversions and filters may shift levels a little.
    let tolerance = (white - black) / 4;
    let mut found = None;
    for quarter_y in 1..=3 {
        for quarter_x in 1..=3 {
            let x = column * width + width * quarter_x / 4;
            let sample = picture.at(x, top + height * quarter_y / 4);
            let is_white = if sample <= black + tolerance {
                false
            } else if sample >= white - tolerance {
                true
            } else {
                return None;
            };
            if *found.get_or_insert(is_white) != is_white {
                return None;
            }
        }
    }
    found
}

/// CRC-32 of ISO-HDLC, the one of Ethernet and zip.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1;
            crc = (crc >> 1) ^ (carry * 0xedb8_8320);
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_crc_32() {
        // The check value of the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
