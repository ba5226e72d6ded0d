//! Which slow test tells whether long packets are lost by their length, where a limit takes more of shorter ones: the tests of the
//! sweep show no length at which loss begins then. Pure; it must not know which steps there are.

use std::collections::BTreeSet;

use super::cliff::CLOSE;
use crate::flows::DirectionSummary;

/// A limit takes the rest where a test loses more than this multiple of what a slow one of longer packets does, and so much more.
const HIDDEN: f64 = 1.1;
const SLACK: f64 = 0.005;
/// A length loses as much as a longer one if it is at least this share.
const SAME: f64 = 0.7;
/// It loses less if chance makes no such difference, in standard deviations of single losses.
const DEVIATIONS: f64 = 4.0;
/// A length of the sweep loses nothing to a limit if its loss differs by at most this share from that of a slow test.
const ALIKE: f64 = 0.05;
/// A limit that lets through this share of the packets per second that a test would send takes none of them.
const ROOM: f64 = 1.02;

/// Tests that are compared, all with the same flows.
pub(super) struct HiddenCliff<'r> {
    /// The slowest test of the longest payload, which loses.
    pub slowest: &'r DirectionSummary,
    /// Those of shorter payloads at the media's rate.
    pub sweep: Vec<&'r DirectionSummary>,
    /// Those of shorter payloads at lower rates.
    pub slow: Vec<&'r DirectionSummary>,
}

impl HiddenCliff<'_> {
    /// The length of the next test, and whether it is one at the media's rate; none where lengths hide nothing, or all is known. First from the
    /// longest length that may lose to a limit down to one that passes, then up and in the middle of the gap in which loss begins. Last, the
    /// longest that passes is sent at the media's rate, if that may pass.
    pub fn next(&self) -> Option<(u32, bool)> {
        let loss = self.slowest.loss;
        let of_chance = |row: &DirectionSummary| loss / row.sent.max(1) as f64;
        let loses = |row: &DirectionSummary| {
            let chance = (of_chance(row) + of_chance(self.slowest)).sqrt();
            row.loss >= SAME * loss || loss - row.loss <= DEVIATIONS * chance
        };
        let hidden = |row: &DirectionSummary| row.loss > HIDDEN * loss + SLACK;
        if !self.sweep.iter().all(|row| loses(row)) || !self.sweep.iter().any(|row| hidden(row)) {
            return None;
        }
        let slow: BTreeSet<u32> = self.slow.iter().map(|row| row.length).collect();
        let passing = self.slow.iter().filter(|row| !loses(row)).map(|row| row.length);
        let Some(passes) = passing.max() else {
            let untried = self
                .sweep
                .iter()
                .filter(|row| hidden(row) && slow.iter().all(|tried| row.length < *tried));
            return untried.map(|row| (row.length, false)).max();
        };
        let known_to_lose = |row: &DirectionSummary| (row.loss / loss - 1.0).abs() <= ALIKE;
        let unclear = self
            .sweep
            .iter()
            .filter(|row| !known_to_lose(row) && !slow.contains(&row.length))
            .map(|row| row.length);
        let lost = self
            .sweep
            .iter()
            .filter(|row| known_to_lose(row))
            .chain(&self.slow);
        let lost = lost.map(|row| row.length).chain([self.slowest.length]);
        let lost = lost.filter(|length| *length > passes).min()?;
        if let Some(length) = unclear.filter(|length| (passes..lost).contains(length)).min() {
            return Some((length, false));
        }
        if lost - passes > CLOSE {
            return Some((lost.midpoint(passes), false));
        }
        self.may_pass(passes).then_some((passes, true))
    }

    /// No test of the sweep shows that the media in packets of this length are more packets per second than pass.
    fn may_pass(&self, length: u32) -> bool {
        let asked = |row: &DirectionSummary| row.asked.map_or(0.0, |rate| rate.0 as f64);
        let packets = |row: &DirectionSummary| asked(row) / 8.0 / f64::from(row.length.max(1));
        let passed = self
            .sweep
            .iter()
            .map(|row| packets(row) * (1.0 - row.loss))
            .fold(0.0, f64::max);
        let media = self.sweep.iter().map(|row| asked(row)).fold(0.0, f64::max);
        media / 8.0 / f64::from(length.max(1)) <= ROOM * passed
    }
}
