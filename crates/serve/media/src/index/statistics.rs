//! What follows from the samples of a track together: bitrates, frame rate, first and last composition time.

use weir_units::FrameRate;

use super::samples::SampleTable;

/// Figures of a whole track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Bits a second.
    pub average_bitrate: u64,
    /// Bits in the densest whole second of decode time.
    pub peak_bitrate: u64,
    /// Frames a second; the average where durations differ.
    pub frame_rate: Option<FrameRate>,
    /// First composition time, before any edit.
    pub composition_start: i64,
    /// When the sample that is shown last ends.
    pub composition_end: i64,
}

/// Rates that video has. An average that is as near to one of them as the rounding of times makes it is that rate.
const USUAL: [(u32, u32); 11] = [
    (24_000, 1001),
    (24, 1),
    (25, 1),
    (30_000, 1001),
    (30, 1),
    (48, 1),
    (50, 1),
    (60_000, 1001),
    (60, 1),
    (100, 1),
    (120, 1),
];

impl Statistics {
    /// Reads every sample once. `timescale` is above zero.
    pub(super) fn of(samples: &SampleTable, timescale: u32) -> Self {
        let mut bytes = 0_u64;
        let mut first_decode_time = None;
        let mut second = (0_u64, 0_u64);
        let mut densest = 0_u64;
        let mut durations = Durations::default();
        let (mut composition_start, mut composition_end) = (i64::MAX, i64::MIN);
        for sample in samples.iter() {
            let start = *first_decode_time.get_or_insert(sample.decode_time);
            bytes += u64::from(sample.size);
            let this_second = (sample.decode_time - start) / u64::from(timescale);
            if this_second != second.0 {
                second = (this_second, 0);
            }
            second.1 += u64::from(sample.size);
            densest = densest.max(second.1);
            durations.add(sample.duration);
            let shown = sample.composition_time();
            composition_start = composition_start.min(shown);
            composition_end = composition_end.max(shown.saturating_add(i64::from(sample.duration)));
        }
        let length = samples.decode_end() - first_decode_time.unwrap_or(0);
        let bits = u128::from(bytes) * 8 * u128::from(timescale);
        let average_bitrate = bits.checked_div(u128::from(length)).unwrap_or(0);
        let average_bitrate = u64::try_from(average_bitrate).unwrap_or(u64::MAX);
        Statistics {
            average_bitrate,
            peak_bitrate: average_bitrate.max(densest.saturating_mul(8)),
            frame_rate: durations.frame_rate(samples.len(), length, timescale),
            composition_start,
            composition_end,
        }
    }
}

/// Whether all samples last equally long; the last one may differ, since nothing follows it.
#[derive(Default)]
struct Durations {
    first: Option<u32>,
    last: u32,
    differing: u32,
}

impl Durations {
    fn add(&mut self, duration: u32) {
        let first = *self.first.get_or_insert(duration);
        self.differing += u32::from(duration != first);
        self.last = duration;
    }

    fn frame_rate(&self, samples: u32, length: u64, timescale: u32) -> Option<FrameRate> {
        let first = self.first?;
        let last_differs = self.last != first;
        if self.differing == u32::from(last_differs) {
            return FrameRate::new(timescale, first);
        }
        if length == 0 {
            return None;
        }
        let average = f64::from(samples) * f64::from(timescale) / length as f64;
        let usual = USUAL.iter().find(|(frames, seconds)| {
            (average * f64::from(*seconds) / f64::from(*frames) - 1.0).abs() < 2e-4
        });
        match usual {
            Some((frames, seconds)) => FrameRate::new(*frames, *seconds),
            None if average < f64::from(u32::MAX) / 1000.0 => {
                FrameRate::new((average * 1000.0).round() as u32, 1000)
            }
            None => None,
        }
    }
}
