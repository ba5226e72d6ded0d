//! When the packets of a frame are due: spread evenly over the time of a frame, so that no queue on the way sees them
//! all at once. It must not know what a packet is.

/// How fast frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A frame takes so many nanoseconds, and none begins before the one before it has ended: for sources that could
    /// give frames faster, such as files.
    Rate {
        /// Of a frame.
        frame_ns: u64,
    },
    /// Frames begin as they are given, and take a little less than the time of a frame, so that a source with a clock
    /// of its own is never waited for.
    AsGiven {
        /// Of a frame, nearly.
        frame_ns: u64,
    },
}

/// How much less, in parts of 64.
const LESS: u64 = 4;

impl Pace {
    /// The time of a frame, nanoseconds.
    pub fn frame_ns(self) -> u64 {
        match self {
            Pace::Rate { frame_ns } | Pace::AsGiven { frame_ns } => frame_ns,
        }
    }

    /// How long a frame's packets take, nanoseconds.
    pub fn spread_ns(self) -> u64 {
        match self {
            Pace::Rate { frame_ns } => frame_ns,
            Pace::AsGiven { frame_ns } => frame_ns - frame_ns * LESS / 64,
        }
    }

    /// When a frame begins that is given now, after one that began at `before_ns`.
    pub fn start_ns(self, now_ns: u64, before_ns: Option<u64>) -> u64 {
        match before_ns {
            Some(before) => now_ns.max(before + self.spread_ns()),
            None => now_ns,
        }
    }

    /// When the `index`-th of `count` packets is due, in a frame that begins at `start_ns`.
    pub fn due_ns(self, start_ns: u64, index: u32, count: u32) -> u64 {
        let within = u128::from(self.spread_ns()) * u128::from(index) / u128::from(count.max(1));
        start_ns + within as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_file_follow_each_other_and_those_of_a_camera_keep_its_time() {
        let file = Pace::Rate { frame_ns: 16_000_000 };
        assert_eq!(file.start_ns(5, None), 5);
        assert_eq!(file.start_ns(6, Some(5)), 16_000_005);
        assert_eq!(file.due_ns(5, 320, 640), 8_000_005);
        let camera = Pace::AsGiven { frame_ns: 16_000_000 };
        assert_eq!(camera.due_ns(0, 640, 640), 15_000_000);
        // Given a little earlier than the nominal time: not held up.
        assert_eq!(camera.start_ns(15_990_000, Some(0)), 15_990_000);
    }
}
