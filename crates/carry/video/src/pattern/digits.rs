//! The frame's number for people: digits of 5 x 7 dots with a dot of space around each. It knows no pixels.

/// Most digits of a number.
const MOST: usize = 20;
/// Fewer are filled up with zeros, so that the box keeps its width.
const LEAST: usize = 8;
/// Dots of a digit across, with the space right of it.
const PITCH: usize = 6;
/// Lines of dots, with a line of space above and below.
pub(super) const LINES: usize = 9;

/// One byte for each line from the top, the left dot in bit 4.
const FONT: [[u8; 7]; 10] = [
    [0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e],
    [0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e],
    [0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f],
    [0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e],
    [0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02],
    [0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e],
    [0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e],
    [0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
    [0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e],
    [0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c],
];

/// Dots across for so many digits, with one of space at the left.
pub(super) fn columns(digits: usize) -> usize {
    digits * PITCH + 1
}

/// The digits of a number, highest first, and how many there are. Where the picture has no room for all at one pixel a dot,
/// the highest are left out.
pub(super) fn of(number: u64, width: usize) -> ([u8; MOST], usize) {
    let needed = number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let room = width.saturating_sub(2) / PITCH;
    let count = needed.max(LEAST).min(room).min(MOST);
    let mut digits = [0; MOST];
    let mut rest = number;
    for digit in digits[..count].iter_mut().rev() {
        *digit = (rest % 10) as u8;
        rest /= 10;
    }
    (digits, count)
}

/// Whether a dot is white.
pub(super) fn is_white(digits: &[u8], column: usize, line: usize) -> bool {
    let (Some(column), Some(line)) = (column.checked_sub(1), line.checked_sub(1)) else {
        return false;
    };
    let (Some(digit), dot) = (digits.get(column / PITCH), column % PITCH) else {
        return false;
    };
    let bits = FONT[usize::from(*digit)].get(line).copied().unwrap_or(0);
    dot < PITCH - 1 && bits >> (PITCH - 2 - dot) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_number() {
        let text = |number, width| {
            let (digits, count) = of(number, width);
            digits[..count]
                .iter()
                .map(ToString::to_string)
                .collect::<String>()
        };
        assert_eq!(text(0, 1920), "00000000");
        assert_eq!(text(1_234, 1920), "00001234");
        assert_eq!(text(9_876_543_210, 1920), "9876543210");
        assert_eq!(text(u64::MAX, 1920), u64::MAX.to_string());
        assert_eq!(text(u64::MAX, 64), "3709551615");
    }

    #[test]
    fn a_seven_looks_like_one() {
        let drawn: Vec<String> = (0..LINES)
            .map(|line| {
                let dot = |column| if is_white(&[7], column, line) { '#' } else { '.' };
                (0..columns(1)).map(dot).collect()
            })
            .collect();
        assert_eq!(
            drawn,
            [
                ".......", ".#####.", ".....#.", "....#..", "...#...", "..#....", "..#....", "..#....",
                "......."
            ]
        );
    }
}
