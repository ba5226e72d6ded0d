//! A cloud game: how long the frames of a video encoder are, and the account of frames and inputs at the player's end.
//! It takes headers and times; it must not know sockets.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use crate::account::{Arrivals, bins, difference};
use crate::distribution::Timing;
use crate::packet::Frame;
use crate::report::{GameFigures, GameSample, Report, rate_of, sample_index, share};
use crate::traffic::{Asked, Ending, Traffic};
use crate::{LONGEST_NS, SAMPLE_NS};

/// Seconds from one key frame to the next.
const KEY_EVERY_S: u64 = 2;
/// A key frame has this many times the mean: encoders of games bound it so that it does not take long.
const KEY_TIMES: f64 = 2.0;
/// Other frames differ from theirs by up to this share, evenly.
const SPREAD: f64 = 0.3;
/// Frames whose parts may still come: so long ago, in frames.
const REMEMBERED: u32 = 1_024;
/// Inputs that are remembered: no run has more.
const MOST_INPUTS: usize = 1 << 20;

/// Lengths of frames as an encoder with a constant rate makes them: a key frame every two seconds with twice the mean,
/// the others evenly within 30 % of theirs. The same for every game.
#[derive(Clone, Debug)]
pub struct FrameSizes {
    random: Xoshiro256PlusPlus,
    key_every: u64,
    key_bytes: f64,
    other_bytes: f64,
    next: u64,
}

impl FrameSizes {
    /// For a game of `rate` bits per second and `frames_per_second` frames.
    pub fn new(rate: u64, frames_per_second: u16) -> Self {
        let key_every = KEY_EVERY_S * u64::from(frames_per_second.max(1));
        let mean = rate as f64 / 8.0 / f64::from(frames_per_second.max(1));
        let others = (key_every as f64 - KEY_TIMES) / (key_every as f64 - 1.0).max(1.0);
        FrameSizes {
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            key_every,
            key_bytes: KEY_TIMES * mean,
            other_bytes: others * mean,
            next: 0,
        }
    }

    /// Bytes of the next frame; at least 1.
    pub fn next_length(&mut self) -> u64 {
        let is_key = self.next.is_multiple_of(self.key_every);
        self.next += 1;
        // 32 bits are enough for a length, and a double holds them all.
        let even = (self.random.next_u64() >> 32) as f64 / f64::from(u32::MAX);
        let bytes = match is_key {
            true => self.key_bytes,
            false => self.other_bytes * (1.0 - SPREAD + 2.0 * SPREAD * even),
        };
        (bytes.round() as u64).max(1)
    }
}

/// A frame of which something has come.
#[derive(Debug)]
struct Incoming {
    parts: u16,
    missing: u16,
    came: Vec<u64>,
    bytes: u64,
}

/// A whole frame.
#[derive(Clone, Copy, Debug)]
struct Whole {
    offset_ns: u64,
    completion_ns: i64,
    bytes: u64,
}

/// The account of a game at the player's end.
#[derive(Debug)]
pub struct GameAccount {
    asked: Asked,
    interval_ns: u64,
    arrivals: Arrivals,
    incoming: BTreeMap<u32, Incoming>,
    whole: Vec<Whole>,
    newest_frame: Option<u32>,
    completion: Timing,
    input_to_frame: Timing,
    /// When each input was sent, the first is number 1.
    inputs_unix_ns: Vec<u64>,
    answered: usize,
    shown: Shown,
    bytes: u64,
    started_unix_ns: Option<u64>,
    newest_unix_ns: u64,
}

/// What is on the screen: whole frames, never an older one than before.
#[derive(Debug, Default)]
struct Shown {
    frame: Option<u32>,
    first_unix_ns: u64,
    since_unix_ns: u64,
    longest_ns: u64,
}

impl Shown {
    fn show(&mut self, frame: u32, now_unix_ns: u64) {
        if self.frame.is_some_and(|shown| shown >= frame) {
            return;
        }
        match self.frame.replace(frame) {
            None => self.first_unix_ns = now_unix_ns,
            Some(_) => {
                self.longest_ns = self
                    .longest_ns
                    .max(now_unix_ns.saturating_sub(self.since_unix_ns))
            }
        }
        self.since_unix_ns = now_unix_ns;
    }

    /// The longest time without a new picture, from when the first was due until the last was.
    fn longest_between(&self, first_due_unix_ns: u64, last_due_unix_ns: u64) -> u64 {
        if self.frame.is_none() {
            return last_due_unix_ns.saturating_sub(first_due_unix_ns);
        }
        let before = self.first_unix_ns.saturating_sub(first_due_unix_ns);
        let after = last_due_unix_ns.saturating_sub(self.since_unix_ns);
        self.longest_ns.max(before).max(after)
    }
}

impl GameAccount {
    /// Of what was asked for.
    pub fn new(asked: Asked) -> Self {
        GameAccount {
            asked,
            interval_ns: asked.traffic.due_ns(1),
            arrivals: Arrivals::new(),
            incoming: BTreeMap::new(),
            whole: Vec::new(),
            newest_frame: None,
            completion: Timing::new(),
            input_to_frame: Timing::new(),
            inputs_unix_ns: Vec::new(),
            answered: 0,
            shown: Shown::default(),
            bytes: 0,
            started_unix_ns: None,
            newest_unix_ns: 0,
        }
    }

    /// An input leaves at `now_unix_ns`; gives its number, from 1.
    pub fn send_input(&mut self, now_unix_ns: u64) -> u32 {
        if self.inputs_unix_ns.len() < MOST_INPUTS {
            self.inputs_unix_ns.push(now_unix_ns);
        }
        self.inputs_unix_ns.len() as u32
    }

    /// Takes a datagram of `length` bytes of UDP payload that came at `received_unix_ns`.
    pub fn take(&mut self, frame: &Frame, length: usize, received_unix_ns: u64) {
        let is_of_this_game = u64::from(frame.frame) < self.most_frames()
            && u64::from(frame.data.sequence) < self.most_frames() * u64::from(Traffic::MOST_PARTS);
        if !is_of_this_game || !self.arrivals.take(frame.data.sequence, received_unix_ns) {
            return;
        }
        self.started_unix_ns = self.started_unix_ns.or(Some(frame.data.started_unix_ns));
        self.newest_unix_ns = self.newest_unix_ns.max(received_unix_ns);
        self.bytes += length as u64;
        if self.newest_frame.is_none_or(|newest| newest < frame.frame) {
            self.newest_frame = Some(frame.frame);
            self.incoming = self.incoming.split_off(&frame.frame.saturating_sub(REMEMBERED));
        }
        if self.add_part(frame, length) {
            self.complete(frame, received_unix_ns);
        }
    }

    fn most_frames(&self) -> u64 {
        self.asked.duration_ns.min(LONGEST_NS) / self.interval_ns.max(1) + 1
    }

    /// Adds a part; true if the frame is whole now.
    fn add_part(&mut self, frame: &Frame, length: usize) -> bool {
        let incoming = self.incoming.entry(frame.frame).or_insert_with(|| Incoming {
            parts: frame.parts,
            missing: frame.parts,
            came: vec![0; usize::from(frame.parts).div_ceil(64)],
            bytes: 0,
        });
        if incoming.parts != frame.parts || incoming.missing == 0 {
            return false;
        }
        let (word, bit) = (usize::from(frame.part / 64), 1_u64 << (frame.part % 64));
        if incoming.came[word] & bit != 0 {
            return false;
        }
        incoming.came[word] |= bit;
        incoming.missing -= 1;
        incoming.bytes += length as u64;
        incoming.missing == 0
    }

    fn complete(&mut self, frame: &Frame, now_unix_ns: u64) {
        let completion_ns = difference(now_unix_ns, frame.frame_sent_unix_ns);
        self.completion.record(completion_ns);
        self.whole.push(Whole {
            offset_ns: self.asked.traffic.due_ns(frame.frame.into()),
            completion_ns,
            bytes: self.incoming.get(&frame.frame).map_or(0, |whole| whole.bytes),
        });
        self.shown.show(frame.frame, now_unix_ns);
        let answers = (frame.newest_input as usize).min(self.inputs_unix_ns.len());
        for sent_unix_ns in self.inputs_unix_ns.iter().take(answers).skip(self.answered) {
            self.input_to_frame.record(difference(now_unix_ns, *sent_unix_ns));
        }
        self.answered = self.answered.max(answers);
    }

    /// The report.
    pub fn finish(mut self, ending: &Ending) -> Report<GameSample, GameFigures> {
        let arrivals = std::mem::replace(&mut self.arrivals, Arrivals::new());
        let (packets_sent, totals, _) = arrivals.finish(ending.packets_sent);
        let seen = self.newest_frame.map_or(0, |newest| u64::from(newest) + 1);
        let frames_sent = ending
            .frames_sent
            .map_or(seen, |sent| sent.min(self.most_frames()).max(seen));
        let base_ns = self.completion.times().map_or(0, |times| times.min);
        let late_ns = base_ns.saturating_add(self.interval_ns as i64);
        let frames_complete = self.whole.len() as u64;
        let incomplete = frames_sent.saturating_sub(frames_complete);
        let late = self
            .whole
            .iter()
            .filter(|whole| whole.completion_ns > late_ns)
            .count() as u64;
        let samples = self.samples(ending, frames_sent, late_ns);
        let completion = self.completion.times();
        let figures = GameFigures {
            frames_sent,
            sent_is_known: ending.frames_sent.is_some(),
            frames_complete,
            incomplete,
            incomplete_share: share(incomplete, frames_sent),
            late,
            late_share: share(late, frames_sent),
            frame_interval_ns: self.interval_ns,
            completion,
            completion_above_min: completion.map(|times| times.above_min()),
            longest_freeze_ns: self.longest_freeze_ns(ending, frames_sent, base_ns),
            inputs_sent: self.inputs_unix_ns.len() as u64,
            inputs_answered: self.answered as u64,
            input_to_frame: self.input_to_frame.times(),
            packets_sent,
            packets_received: totals.received,
            lost: totals.lost,
            loss: share(totals.lost, packets_sent),
            bytes: self.bytes,
            rate: rate_of(self.bytes, ending.elapsed_ns),
            refused_by_sender: ending.refused_by_sender,
            dropped_here: ending.dropped_here,
        };
        Report {
            kind: "game",
            seconds: ending.elapsed_ns as f64 / 1e9,
            started_unix_ns: self.started_unix_ns.unwrap_or(ending.started_unix_ns),
            interrupted: ending.interrupted,
            samples,
            figures,
            distribution: Some(self.completion.into_distribution("frame_completion")),
        }
    }

    /// From when the first frame should have been there until the last should have been.
    fn longest_freeze_ns(&self, ending: &Ending, frames_sent: u64, base_ns: i64) -> u64 {
        let started_unix_ns = self.started_unix_ns.unwrap_or(ending.started_unix_ns);
        let first = started_unix_ns.saturating_add_signed(base_ns);
        let last_due_ns = self.asked.traffic.due_ns(frames_sent.saturating_sub(1));
        self.shown
            .longest_between(first, first.saturating_add(last_due_ns))
    }

    fn samples(&self, ending: &Ending, frames_sent: u64, late_ns: i64) -> Vec<GameSample> {
        let mut samples = bins(self.asked.duration_ns.min(ending.elapsed_ns), |at_ns| {
            GameSample {
                at_ns,
                ..GameSample::default()
            }
        });
        for frame in 0..frames_sent {
            let index = sample_index(self.asked.traffic.due_ns(frame), self.asked.duration_ns);
            if let Some(sample) = index.and_then(|index| samples.get_mut(index)) {
                sample.incomplete += 1;
            }
        }
        let mut sums = vec![0_i128; samples.len()];
        for whole in &self.whole {
            let index = (whole.offset_ns / SAMPLE_NS) as usize;
            let Some(sample) = samples.get_mut(index) else {
                continue;
            };
            sample.incomplete = sample.incomplete.saturating_sub(1);
            sample.frames += 1;
            sample.late += u64::from(whole.completion_ns > late_ns);
            sample.bytes += whole.bytes;
            sums[index] += i128::from(whole.completion_ns);
            let most = sample.completion_max_ns.unwrap_or(i64::MIN);
            sample.completion_max_ns = Some(most.max(whole.completion_ns));
        }
        for (sample, sum) in samples.iter_mut().zip(sums) {
            sample.completion_mean_ns = (sample.frames > 0).then(|| sum as f64 / sample.frames as f64);
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Data;
    use weir_units::Rate;

    const MS: u64 = 1_000_000;
    const START: u64 = 1_000_000_000_000;

    #[test]
    fn frames_keep_the_rate_and_key_frames_are_twice_as_long() {
        let mut sizes = FrameSizes::new(15_000_000, 60);
        let lengths: Vec<u64> = (0..120 * 60).map(|_| sizes.next_length()).collect();
        let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
        assert!((mean / 31_250.0 - 1.0).abs() < 0.01, "{mean}");
        assert_eq!((lengths[0], lengths[120], lengths[240]), (62_500, 62_500, 62_500));
        let others = || lengths.iter().filter(|length| **length != 62_500);
        assert!(others().all(|length| (21_000..41_000).contains(length)));
        assert!(others().any(|length| *length < 23_000) && others().any(|length| *length > 39_000));
        // One frame a second, or a rate so low that frames are empty, is still something to send.
        assert!(FrameSizes::new(1, 1).next_length() >= 1);
    }

    fn game(ms: u64) -> GameAccount {
        GameAccount::new(Asked {
            traffic: Traffic::Game {
                rate: Rate(1_000_000),
                frames_per_second: 50,
                length: 1_000,
            },
            duration_ns: ms * MS,
        })
    }

    /// A part of a frame of two, each frame 20 ms after the one before, that takes so long.
    fn take(account: &mut GameAccount, frame: u32, part: u16, took_ms: u64, newest_input: u32) {
        let frame_sent_unix_ns = START + u64::from(frame) * 20 * MS;
        let data = Data {
            nonce: 1,
            started_unix_ns: START,
            sent_unix_ns: frame_sent_unix_ns,
            sequence: frame * 2 + u32::from(part),
        };
        let frame = Frame {
            data,
            frame,
            part,
            parts: 2,
            frame_sent_unix_ns,
            newest_input,
        };
        account.take(&frame, 1_000, frame_sent_unix_ns + took_ms * MS);
    }

    fn ended(frames_sent: u64) -> Ending {
        Ending {
            packets_sent: Some(2 * frames_sent),
            frames_sent: Some(frames_sent),
            elapsed_ns: 200 * MS,
            ..Ending::default()
        }
    }

    #[test]
    fn frames_by_hand() {
        // Of ten frames, 2 misses a part, 5 is late by 21 ms and 6 by 20 ms, which is not late yet; 9 never comes.
        let mut account = game(200);
        for (frame, took) in [
            (0, 10),
            (1, 12),
            (3, 10),
            (4, 10),
            (5, 31),
            (6, 30),
            (7, 10),
            (8, 10),
        ] {
            take(&mut account, frame, 1, took - 5, 0);
            take(&mut account, frame, 0, took, 0);
            // A copy changes nothing.
            take(&mut account, frame, 0, took + 1, 0);
        }
        take(&mut account, 2, 0, 10, 0);
        let report = account.finish(&ended(10));
        let figures = &report.figures;
        assert_eq!(
            (figures.frames_sent, figures.frames_complete, figures.incomplete),
            (10, 8, 2)
        );
        assert_eq!(
            (figures.late, figures.late_share, figures.incomplete_share),
            (1, 0.1, 0.2)
        );
        assert_eq!(figures.frame_interval_ns, 20 * MS);
        assert_eq!(
            (figures.packets_sent, figures.packets_received, figures.lost),
            (20, 17, 3)
        );
        let completion = figures.completion.unwrap();
        assert_eq!((completion.min, completion.max), (10_000_000, 31_000_000));
        // Shown: 1 at 32 ms, 3 at 70, 4 at 90, 5 at 131, 6 and 7 at 150, 8 at 170; the end is 9's time, 190.
        assert_eq!(figures.longest_freeze_ns, 41 * MS);
        let [first, second] = &report.samples[..] else {
            panic!("{report:?}")
        };
        assert_eq!(
            (first.frames, first.late, first.incomplete, first.bytes),
            (4, 0, 1, 8_000)
        );
        assert_eq!((second.frames, second.late, second.incomplete), (4, 1, 1));
        assert_eq!(second.completion_max_ns, Some(31_000_000));
        assert_eq!(first.completion_mean_ns, Some(10.5e6));
    }

    #[test]
    fn a_picture_that_stays_to_the_end_is_a_freeze() {
        let mut account = game(200);
        take(&mut account, 0, 0, 10, 0);
        take(&mut account, 0, 1, 10, 0);
        let report = account.finish(&ended(10));
        assert_eq!(report.figures.longest_freeze_ns, 180 * MS);
        assert_eq!(report.figures.incomplete, 9);
        assert_eq!(game(200).finish(&ended(0)).figures.longest_freeze_ns, 0);
    }

    #[test]
    fn a_screen_that_stays_dark_is_a_freeze_too() {
        // The first whole frame is the third, 40 ms later than the first should have been.
        let mut account = game(200);
        take(&mut account, 0, 0, 10, 0);
        for frame in 2..10 {
            take(&mut account, frame, 0, 10, 0);
            take(&mut account, frame, 1, 10, 0);
        }
        assert_eq!(account.finish(&ended(10)).figures.longest_freeze_ns, 40 * MS);
        let mut account = game(200);
        take(&mut account, 0, 0, 10, 0);
        assert_eq!(account.finish(&ended(10)).figures.longest_freeze_ns, 180 * MS);
    }

    #[test]
    fn an_input_is_answered_by_the_first_whole_frame_that_knows_it() {
        let mut account = game(200);
        for ms in [0, 8, 16, 24] {
            account.send_input(START + ms * MS);
        }
        // Frame 1 left at 20 ms and knows inputs 1 and 2, but misses a part. Frame 2, at 40 ms, knows all.
        take(&mut account, 1, 0, 10, 2);
        take(&mut account, 2, 0, 10, 4);
        take(&mut account, 2, 1, 11, 4);
        // Late: no second answer.
        take(&mut account, 1, 1, 40, 2);
        let figures = account.finish(&ended(3)).figures;
        assert_eq!((figures.inputs_sent, figures.inputs_answered), (4, 4));
        let latency = figures.input_to_frame.unwrap();
        assert_eq!(
            (latency.count, latency.min, latency.max),
            (4, 27_000_000, 51_000_000)
        );
    }

    #[test]
    fn what_no_game_of_this_length_has_is_not_believed() {
        let mut account = game(200);
        take(&mut account, 11, 0, 10, 0);
        take(&mut account, 1, 0, 10, 9_999);
        take(&mut account, 1, 1, 10, 9_999);
        let mut wild = ended(10);
        wild.frames_sent = Some(u64::MAX);
        let figures = account.finish(&wild).figures;
        assert_eq!(
            (
                figures.frames_complete,
                figures.frames_sent,
                figures.inputs_answered
            ),
            (1, 11, 0)
        );
    }
}
