//! A test pattern: colour bars and a ramp that move, with the frame's number burnt in for people (digits) and for
//! programs (a code of black and white cells). Every frame is a function of its format and number alone. It must not know
//! when frames are due.
//!
//! From top to bottom: the code; the eight bars of SMPTE EG 1 at 75 %, with the number in the middle; a ramp of every
//! level of brightness, so that no bit of a sample is always zero; the code again. Bars go left and the ramp right by six
//! pixels a frame. Colours are those of BT.709 whatever the size.

mod code;
mod digits;

use super::blank::check_length;
use super::colour::{Colour, Pixel};
use super::row::{Row, WINDOW_STEP};
use super::{PatternError, VideoFormat};

pub use code::read_frame_number;

/// The smallest width and height.
const LEAST: u32 = 64;

/// White, yellow, cyan, green, magenta, red, blue, black.
const BARS: [Colour; 8] = {
    const ON: f64 = 0.75;
    [
        Colour([ON, ON, ON]),
        Colour([ON, ON, 0.0]),
        Colour([0.0, ON, ON]),
        Colour([0.0, ON, 0.0]),
        Colour([ON, 0.0, ON]),
        Colour([ON, 0.0, 0.0]),
        Colour([0.0, 0.0, ON]),
        Colour::BLACK,
    ]
};

/// Where the parts of the picture are, in lines. All begin at even ones, where 4:2:0 has its chroma.
#[derive(Clone, Copy, Debug)]
struct Parts {
    bars: usize,
    ramp: usize,
    /// The second code, which goes to the end.
    code: usize,
    height: usize,
}

impl Parts {
    fn of(format: VideoFormat) -> Parts {
        let height = format.height() as usize;
        let bars = code::height(format);
        let code = code::second_line(format);
        Parts {
            bars,
            ramp: code - (height / 8) / 2 * 2,
            code,
            height,
        }
    }
}

/// Renders frames of the pattern. What does not change is rendered once; a frame then is copies of lines, and a few lines
/// for its number.
#[derive(Clone, Debug)]
pub struct TestPattern {
    format: VideoFormat,
    parts: Parts,
    black: Pixel,
    white: Pixel,
    /// One line of the bars, one period longer than the picture is wide.
    bars: Vec<Pixel>,
    bars_row: Row,
    bars_period: usize,
    ramp_row: Row,
    ramp_period: usize,
    /// The line being made.
    line: Vec<Pixel>,
    row: Row,
}

impl TestPattern {
    /// The pattern in a format.
    ///
    /// # Errors
    ///
    /// Pictures of less than 64 x 64, where the frame's number has no room.
    pub fn new(format: VideoFormat) -> Result<TestPattern, PatternError> {
        if format.width() < LEAST || format.height() < LEAST {
            return Err(PatternError::TooSmall {
                width: format.width(),
                height: format.height(),
                least: LEAST,
            });
        }
        let pixels = format.pixels();
        let width = format.width() as usize;
        // A window may be read up to the end of its last group.
        let groups = width.next_multiple_of(WINDOW_STEP);
        let bar = (width / BARS.len() / WINDOW_STEP).max(1) * WINDOW_STEP;
        let bars_period = BARS.len() * bar;
        let colours = BARS.map(|colour| colour.pixel(pixels));
        let bars: Vec<Pixel> = (0..groups + bars_period)
            .map(|x| colours[x / bar % BARS.len()])
            .collect();
        let ramp_period = groups;
        let ramp: Vec<Pixel> = (0..groups + ramp_period)
            .map(|x| Colour::grey((x % ramp_period) as f64 / (ramp_period - 1) as f64).pixel(pixels))
            .collect();
        let mut pattern = TestPattern {
            format,
            parts: Parts::of(format),
            black: Colour::BLACK.pixel(pixels),
            white: Colour::WHITE.pixel(pixels),
            bars,
            bars_row: Row::new(pixels),
            bars_period,
            ramp_row: Row::new(pixels),
            ramp_period,
            line: Vec::with_capacity(width),
            row: Row::new(pixels),
        };
        pattern.bars_row.encode(&pattern.bars);
        pattern.ramp_row.encode(&ramp);
        Ok(pattern)
    }

    /// The format of its frames.
    pub fn format(&self) -> VideoFormat {
        self.format
    }

    /// Renders frame `number`, all bytes of it. Numbers need not follow each other. Allocates nothing from the second
    /// frame on.
    ///
    /// # Errors
    ///
    /// A buffer that has not the length of a frame.
    pub fn render(&mut self, number: u64, frame: &mut [u8]) -> Result<(), PatternError> {
        check_length(self.format, frame)?;
        let Parts {
            bars,
            ramp,
            code,
            height,
        } = self.parts;
        let bars_at = moved(number, self.bars_period);
        let ramp_at = match moved(number, self.ramp_period) {
            0 => 0,
            way => self.ramp_period - way,
        };
        self.bars_row.write(self.format, frame, bars..ramp, bars_at);
        self.ramp_row.write(self.format, frame, ramp..code, ramp_at);
        self.render_digits(number, frame, bars_at);
        self.render_code(number, frame, 0..bars);
        self.render_code(number, frame, code..height);
        Ok(())
    }

    /// The code in these lines; its last cells go on to the end of them.
    fn render_code(&mut self, number: u64, frame: &mut [u8], lines: std::ops::Range<usize>) {
        let cell_height = code::cell_height(self.format);
        for (index, word) in code::words(number).into_iter().enumerate() {
            let start = lines.start + index * cell_height;
            let end = if index + 1 == code::ROWS {
                lines.end
            } else {
                start + cell_height
            };
            self.line.clear();
            let cells = (0..self.format.width() as usize).map(|x| {
                if code::is_white(self.format, word, x) {
                    self.white
                } else {
                    self.black
                }
            });
            self.line.extend(cells);
            self.row.encode(&self.line);
            self.row.write(self.format, frame, start..end, 0);
        }
    }

    /// The number in white on a black box, in front of the bars.
    fn render_digits(&mut self, number: u64, frame: &mut [u8], bars_at: usize) {
        let width = self.format.width() as usize;
        let (digits, count) = digits::of(number, width);
        let digits = &digits[..count];
        let columns = digits::columns(count);
        let room = self.parts.ramp - self.parts.bars;
        let scale = (width * 3 / 4 / columns).min(room * 2 / 3 / digits::LINES).max(1);
        // The edges of the box lie where chroma does.
        let box_width = (columns * scale).next_multiple_of(2);
        let left = (width - box_width) / 2 / 2 * 2;
        let top = (self.parts.bars + (room - digits::LINES * scale) / 2) / 2 * 2;
        for line in 0..digits::LINES {
            self.line.clear();
            self.line.extend(&self.bars[bars_at..bars_at + width]);
            for (x, pixel) in self.line[left..left + box_width].iter_mut().enumerate() {
                let white = digits::is_white(digits, x / scale, line);
                *pixel = if white { self.white } else { self.black };
            }
            self.row.encode(&self.line);
            let start = top + line * scale;
            self.row.write(self.format, frame, start..start + scale, 0);
        }
    }
}

/// How far something of this period has moved at this frame.
fn moved(number: u64, period: usize) -> usize {
    let steps = (period / WINDOW_STEP) as u64;
    (number % steps) as usize * WINDOW_STEP
}

#[cfg(test)]
mod tests;
