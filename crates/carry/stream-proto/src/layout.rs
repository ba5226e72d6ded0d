//! Maps symbols of one sender to packets of frames, as learned from the received packets: the packets of a frame are
//! consecutive symbols. It must not know which of them arrived.

use std::collections::VecDeque;

/// Frames that are remembered.
const REMEMBERED: usize = 256;

/// The symbols of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u64,
    packets: u32,
    frame: u64,
}

impl Run {
    fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }
}

/// The meaning of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The packet of this index in this frame.
    Packet {
        /// Number of the frame.
        frame: u64,
        /// Index of the packet in the frame.
        index: u32,
    },
    /// A packet of a frame before this one, or a notice.
    Before(u64),
    /// Unknown.
    Unknown,
}

/// The frames of one sender, by symbols.
#[derive(Debug)]
pub(crate) struct Layout {
    /// In the order of symbols, none overlapping.
    runs: VecDeque<Run>,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            runs: VecDeque::with_capacity(REMEMBERED),
        }
    }
}

impl Layout {
    /// Learns from a packet: it is the `index`-th of a frame of `packets`.
    pub(crate) fn note(&mut self, symbol: u64, frame: u64, index: u32, packets: u32) {
        // Most packets are of the newest frame or of one shortly before it.
        if self.runs.iter().rev().take(4).any(|run| run.frame == frame) {
            return;
        }
        let Some(first) = symbol.checked_sub(u64::from(index)) else {
            return;
        };
        let run = Run {
            first,
            packets,
            frame,
        };
        let place = self.runs.partition_point(|other| other.first < first);
        let free_before = place
            .checked_sub(1)
            .is_none_or(|before| self.runs[before].end() <= first);
        let free_behind = self
            .runs
            .get(place)
            .is_none_or(|behind| run.end() <= behind.first);
        // Contradictions are ignored: a correct sender sends none.
        if free_before && free_behind {
            self.insert(place, run);
        }
    }

    fn insert(&mut self, mut place: usize, run: Run) {
        if self.runs.len() == REMEMBERED {
            if place == 0 {
                return;
            }
            self.runs.pop_front();
            place -= 1;
        }
        self.runs.insert(place, run);
    }

    /// The meaning of a symbol. Between two known frames it follows from the count of symbols, if that fits frames of
    /// equal length.
    pub(crate) fn find(&self, symbol: u64) -> Position {
        let behind = self.runs.partition_point(|run| run.first <= symbol);
        let before = behind.checked_sub(1).map(|place| self.runs[place]);
        if let Some(run) = before.filter(|run| symbol < run.end()) {
            return Position::Packet {
                frame: run.frame,
                index: (symbol - run.first) as u32,
            };
        }
        let Some(behind) = self.runs.get(behind) else {
            return Position::Unknown;
        };
        let between = before.and_then(|before| {
            let frames = behind.frame.checked_sub(before.frame + 1)?;
            let fits = behind.first - before.end() == frames.checked_mul(before.packets.into())?;
            let ahead = symbol - before.end();
            fits.then(|| Position::Packet {
                frame: before.frame + 1 + ahead / u64::from(before.packets),
                index: (ahead % u64::from(before.packets)) as u32,
            })
        });
        between.unwrap_or(Position::Before(behind.frame))
    }

    /// Renumbers all frames: adds `by`, modulo 2^64.
    pub(crate) fn renumber(&mut self, by: u64) {
        for run in &mut self.runs {
            run.frame = run.frame.wrapping_add(by);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(frame: u64, index: u32) -> Position {
        Position::Packet { frame, index }
    }

    #[test]
    fn a_symbol_is_told_by_any_packet_of_its_frame_or_by_the_frames_around() {
        let mut layout = Layout::default();
        assert_eq!(layout.find(5), Position::Unknown);
        layout.note(12, 3, 2, 10);
        layout.note(19, 3, 9, 10);
        assert_eq!(layout.find(9), Position::Before(3));
        assert_eq!((layout.find(10), layout.find(19)), (packet(3, 0), packet(3, 9)));
        assert_eq!(layout.find(20), Position::Unknown);
        layout.note(55, 7, 5, 10);
        assert_eq!((layout.find(20), layout.find(49)), (packet(4, 0), packet(6, 9)));
        layout.note(39, 5, 9, 10);
        assert_eq!((layout.find(30), layout.find(25)), (packet(5, 0), packet(4, 5)));
        // A description between frames 7 and 9: symbols do not identify their frames.
        layout.note(71, 9, 0, 10);
        assert_eq!(layout.find(65), Position::Before(9));
        layout.renumber(100);
        assert_eq!(layout.find(71), packet(109, 0));
    }

    #[test]
    fn contradictions_are_not_learned_and_memory_is_bounded() {
        let mut layout = Layout::default();
        layout.note(100, 3, 0, 10);
        for (symbol, frame, index) in [(105, 4, 0), (95, 2, 0), (3, 9, 4)] {
            layout.note(symbol, frame, index, 10);
        }
        assert_eq!(
            (layout.find(105), layout.find(95)),
            (packet(3, 5), Position::Before(3))
        );
        for frame in 4..10_000 {
            layout.note(100 + frame * 10, frame, 0, 10);
        }
        assert_eq!(layout.runs.len(), REMEMBERED);
        layout.note(50, 1, 0, 10);
        assert_eq!(layout.find(50), Position::Before(10_000 - REMEMBERED as u64));
    }
}
