//! Pacing: the packets of a frame are spread evenly over the duration of a frame, so that no queue on the path sees them
//! all at once. It must not know what a packet is.

/// Pacing of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A frame takes `frame_ns`, and none starts before the previous one has ended: for sources that could
    /// give frames faster, such as files.
    Rate {
        /// Duration of a frame.
        frame_ns: u64,
    },
    /// Frames start when they are passed in, and take slightly less than the duration of a frame, so that a source with
    /// a clock of its own is never delayed.
    AsGiven {
        /// Approximate duration of a frame.
        frame_ns: u64,
    },
}

/// Usual burst of a flow, bytes, and in packets at most.
const BURST_BYTES: u32 = 33_000;
const MOST_BURST: u32 = 32;
/// Time that the bursts of all flows stand for at most, nanoseconds: shallow queues and the buckets of policers drop longer ones, and a
/// receiver notices a loss when the flows go on.
const BURST_NS: f64 = 2e6;

/// Packets of this UDP payload that each of so many flows sends back to back, unless the user says otherwise, at this rate of all
/// of them, bits per second.
pub fn usual_burst(length: u32, flows: u16, rate: f64) -> u32 {
    let bytes_of_flow = rate / 8.0 * BURST_NS / 1e9 / f64::from(flows.max(1));
    let bytes = bytes_of_flow.min(BURST_BYTES.into()) as u32;
    (bytes / length.max(1)).clamp(1, MOST_BURST)
}

/// Reduction of the duration, in 1/64.
const LESS: u64 = 4;
/// Maximum lateness that later frames make up for, nanoseconds.
const MOST_BEHIND_NS: u64 = 1_000_000_000;

/// The send time of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Its start.
    pub start_ns: u64,
    /// Duration of its packets.
    pub spread_ns: u64,
    /// Its start if no earlier frame had been delayed.
    on_time_ns: u64,
}

impl Slot {
    /// A slot for immediate sending.
    pub(crate) fn at_once(now_ns: u64) -> Self {
        Slot {
            start_ns: now_ns,
            spread_ns: 0,
            on_time_ns: now_ns,
        }
    }

    /// When the `index`-th of `count` packets is due.
    pub(crate) fn due_ns(&self, index: u32, count: u32) -> u64 {
        let within = u128::from(self.spread_ns) * u128::from(index) / u128::from(count.max(1));
        self.start_ns + within as u64
    }
}

impl Pace {
    /// The duration of a frame, nanoseconds.
    pub fn frame_ns(self) -> u64 {
        match self {
            Pace::Rate { frame_ns } | Pace::AsGiven { frame_ns } => frame_ns,
        }
    }

    /// When a frame is sent that is given now, after one that was sent at `before`. At a rate, one that is late because
    /// it was given late takes a little less time, and so do those after it until they are on time again: an hour of
    /// video takes an hour.
    pub(crate) fn slot(self, now_ns: u64, before: Option<Slot>) -> Slot {
        let free_ns = before.map_or(0, |before| before.start_ns + before.spread_ns);
        let fast = |frame_ns: u64| frame_ns - frame_ns * LESS / 64;
        match self {
            Pace::AsGiven { frame_ns } => Slot {
                start_ns: now_ns.max(free_ns),
                spread_ns: fast(frame_ns),
                on_time_ns: now_ns,
            },
            Pace::Rate { frame_ns } => {
                let on_time_ns = before.map_or(now_ns, |before| before.on_time_ns + frame_ns);
                let start_ns = now_ns.max(free_ns).max(on_time_ns);
                let behind_ns = start_ns - on_time_ns;
                if behind_ns > MOST_BEHIND_NS {
                    return Slot {
                        start_ns,
                        spread_ns: frame_ns,
                        on_time_ns: start_ns,
                    };
                }
                Slot {
                    start_ns,
                    spread_ns: fast(frame_ns).max(frame_ns.saturating_sub(behind_ns)),
                    on_time_ns,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_NS: u64 = 16_000_000;

    #[test]
    fn bursts_are_of_33_kilobytes_a_flow_and_of_2_milliseconds_of_all_flows() {
        assert_eq!(usual_burst(1_400, 8, 2.5e9), 23);
        assert_eq!(usual_burst(8_972, 8, 2.5e9), 3);
        assert_eq!(usual_burst(200, 8, 2.5e9), MOST_BURST);
        // 2 ms of 200 Mbit/s are 50,000 bytes.
        assert_eq!(usual_burst(1_400, 1, 2e8), 23);
        assert_eq!(usual_burst(1_400, 8, 2e8), 4);
        assert_eq!(usual_burst(8_972, 8, 5e7), 1);
        assert_eq!(usual_burst(0, 0, 0.0), 1);
    }

    #[test]
    fn frames_of_a_camera_keep_its_time() {
        let camera = Pace::AsGiven { frame_ns: FRAME_NS };
        let first = camera.slot(5, None);
        assert_eq!((first.start_ns, first.due_ns(320, 640)), (5, 7_500_005));
        // Given a little earlier than the nominal time: not held up.
        assert_eq!(camera.slot(15_990_000, Some(first)).start_ns, 15_990_000);
        assert_eq!(camera.slot(6, Some(first)).start_ns, 15_000_005);
    }

    #[test]
    fn frames_of_a_file_follow_each_other_and_what_was_late_is_made_up_for() {
        let file = Pace::Rate { frame_ns: FRAME_NS };
        let first = file.slot(5, None);
        assert_eq!((first.start_ns, first.due_ns(320, 640)), (5, 8_000_005));
        let second = file.slot(6, Some(first));
        assert_eq!((second.start_ns, second.spread_ns), (16_000_005, FRAME_NS));
        // 3 ms late: the next ones take 15 ms until that is made up for.
        let mut frame = file.slot(35_000_005, Some(second));
        let mut begun = vec![frame.start_ns];
        for _ in 0..4 {
            frame = file.slot(40_000_000, Some(frame));
            begun.push(frame.start_ns);
        }
        assert_eq!(
            begun,
            [35_000_005, 50_000_005, 65_000_005, 80_000_005, 96_000_005]
        );
        // A stop of this length is not made up for.
        let late = file.slot(2_000_000_000, Some(frame));
        assert_eq!((late.start_ns, late.spread_ns), (2_000_000_000, FRAME_NS));
        assert_eq!(file.slot(0, Some(late)).start_ns, 2_016_000_000);
    }
}
