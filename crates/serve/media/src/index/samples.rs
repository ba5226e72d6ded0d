//! The samples of a track in little memory: blocks of 128, each with its first decode time and file position, and columns
//! of sizes, durations, composition offsets and sync flags that are packed by bits. It must not know how a file says these
//! things, nor what is in a sample.
//!
//! Instead of a position each sample has a flag, whether it begins elsewhere than where the one before it ends, and those
//! that do have the gap. That serves files of one track and files that interleave their tracks sample by sample alike.

use std::ops::Range;

use super::columns::{BLOCK, pack, unpack};

/// One sample of a track: an access unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Its place in decoding order, from 0.
    pub number: u32,
    /// Where it begins in the file.
    pub position: u64,
    /// Bytes.
    pub size: u32,
    /// When it is decoded, in units of the track's timescale, on the media's own timeline.
    pub decode_time: u64,
    /// From its decode time to that of the next one, in the same units.
    pub duration: u32,
    /// From its decode time to its composition time, in the same units.
    pub composition_offset: i32,
    /// Whether decoding can begin with it.
    pub sync: bool,
}

impl Sample {
    /// Where the byte behind it is in the file.
    pub fn end(&self) -> u64 {
        self.position.saturating_add(u64::from(self.size))
    }

    /// When it is shown on the media's own timeline, before any edit, in units of the track's timescale.
    pub fn composition_time(&self) -> i64 {
        self.decode_time
            .cast_signed()
            .saturating_add(i64::from(self.composition_offset))
    }
}

/// Decode times and positions stay below this, so that sums and signed differences of them cannot overflow.
pub(super) const MOST_TIME: u64 = 1 << 60;

/// The samples of one track in decoding order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleTable {
    count: u32,
    decode_end: u64,
    /// For each block: decode time of its first sample, position of its first sample, where its columns begin.
    decode_times: Box<[u64]>,
    positions: Box<[u64]>,
    starts: Box<[u32]>,
    columns: Box<[u8]>,
}

impl SampleTable {
    /// How many samples there are.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The decode time at which the last sample ends, in units of the track's timescale.
    pub fn decode_end(&self) -> u64 {
        self.decode_end
    }

    /// Bytes of memory behind this table.
    pub fn memory_bytes(&self) -> usize {
        let blocks = self.starts.len();
        blocks * (2 * size_of::<u64>() + size_of::<u32>()) + self.columns.len()
    }

    /// The sample of this number, from 0; unpacks one block.
    pub fn get(&self, number: u32) -> Option<Sample> {
        self.range(number..number.saturating_add(1)).next()
    }

    /// All samples in decoding order.
    pub fn iter(&self) -> Samples<'_> {
        self.range(0..self.count)
    }

    /// Samples of these numbers, as far as there are any; unpacks only the blocks that they are in.
    pub fn range(&self, numbers: Range<u32>) -> Samples<'_> {
        Samples {
            table: self,
            next: numbers.start,
            end: numbers.end.min(self.count),
            block: Vec::new(),
            block_start: 0,
        }
    }

    /// The last sample that is decoded at or before this time, or the first one.
    pub fn at_decode_time(&self, time: u64) -> Option<Sample> {
        let block = self
            .decode_times
            .partition_point(|start| *start <= time)
            .saturating_sub(1);
        let first = u32::try_from(block * BLOCK).ok()?;
        let mut found = None;
        for sample in self.range(first..first.saturating_add(BLOCK as u32)) {
            if found.is_some() && sample.decode_time > time {
                break;
            }
            found = Some(sample);
        }
        found
    }

    fn unpack_block(&self, block: usize, into: &mut Vec<Sample>) -> Option<()> {
        let first = block * BLOCK;
        let count = (self.count as usize).checked_sub(first)?.min(BLOCK);
        let mut packed = self.columns.get(*self.starts.get(block)? as usize..)?;
        let mut columns = [[0_i64; BLOCK]; COLUMNS];
        for column in &mut columns {
            unpack(&mut packed, column.get_mut(..count)?)?;
        }
        let [sizes, durations, offsets, sync, breaks] = columns;
        let broken = breaks.iter().filter(|broken| **broken != 0).count();
        let mut gaps = [0_i64; BLOCK];
        if broken > 0 {
            unpack(&mut packed, gaps.get_mut(..broken)?)?;
        }
        let mut gaps = gaps.into_iter();
        let mut decode_time = *self.decode_times.get(block)?;
        let mut position = *self.positions.get(block)?;
        into.clear();
        for place in 0..count {
            if *breaks.get(place)? != 0 {
                position = position.checked_add_signed(gaps.next()?)?;
            }
            let sample = Sample {
                number: u32::try_from(first + place).ok()?,
                position,
                size: u32::try_from(*sizes.get(place)?).ok()?,
                decode_time,
                duration: u32::try_from(*durations.get(place)?).ok()?,
                composition_offset: i32::try_from(*offsets.get(place)?).ok()?,
                sync: *sync.get(place)? == 1,
            };
            position = sample.end();
            decode_time += u64::from(sample.duration);
            if position >= MOST_TIME || decode_time >= MOST_TIME {
                return None;
            }
            into.push(sample);
        }
        Some(())
    }

    /// Blocks that so many samples are in.
    pub(super) fn blocks_of(count: u32) -> usize {
        (count as usize).div_ceil(BLOCK)
    }

    /// The blocks as they are stored: for each the first decode time, the first position and the place of its columns,
    /// then all columns.
    pub(super) fn parts(&self) -> (impl Iterator<Item = (u64, u64, u32)>, &[u8]) {
        let directory = self
            .decode_times
            .iter()
            .zip(&self.positions)
            .zip(&self.starts)
            .map(|((decode_time, position), start)| (*decode_time, *position, *start));
        (directory, &self.columns)
    }

    /// A table of what [`Self::parts`] gave, with every block read once: none if a block cannot be read, if one does not
    /// begin when the one before it ends, or if a sample lies behind `end`.
    pub(super) fn from_parts(
        count: u32,
        directory: &[(u64, u64, u32)],
        columns: &[u8],
        end: u64,
    ) -> Option<Self> {
        if directory.len() != Self::blocks_of(count) {
            return None;
        }
        let mut table = SampleTable {
            count,
            decode_end: 0,
            decode_times: directory.iter().map(|block| block.0).collect(),
            positions: directory.iter().map(|block| block.1).collect(),
            starts: directory.iter().map(|block| block.2).collect(),
            columns: columns.into(),
        };
        let mut samples = Vec::with_capacity(BLOCK);
        for block in 0..directory.len() {
            let (decode_time, position, _) = *directory.get(block)?;
            let follows = block == 0 || decode_time == table.decode_end;
            if !follows || decode_time >= MOST_TIME || position >= MOST_TIME {
                return None;
            }
            table.unpack_block(block, &mut samples)?;
            if samples.iter().any(|sample| sample.end() > end) {
                return None;
            }
            let last = samples.last()?;
            table.decode_end = last.decode_time + u64::from(last.duration);
        }
        Some(table)
    }
}

const COLUMNS: usize = 5;

/// Samples in decoding order, unpacked block by block.
#[derive(Clone, Debug)]
pub struct Samples<'t> {
    table: &'t SampleTable,
    next: u32,
    end: u32,
    block: Vec<Sample>,
    block_start: u32,
}

impl Iterator for Samples<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        if self.next >= self.end {
            return None;
        }
        let block = self.next as usize / BLOCK;
        let block_start = (block * BLOCK) as u32;
        if self.block.is_empty() || self.block_start != block_start {
            self.block_start = block_start;
            self.table.unpack_block(block, &mut self.block)?;
        }
        let sample = *self.block.get((self.next - block_start) as usize)?;
        self.next += 1;
        Some(sample)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.saturating_sub(self.next) as usize;
        (left, Some(left))
    }
}

/// Why a sample cannot follow those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// More samples than are taken.
    TooMany,
    /// It goes beyond the end of the file.
    Outside { number: u32, position: u64, size: u32 },
    /// Times above 2^60.
    Time { number: u32 },
    /// It would be decoded before the one before it.
    Backwards { number: u32, time: u64 },
}

/// Takes samples in decoding order and packs them as it goes.
#[derive(Clone, Debug, Default)]
pub(super) struct SampleTableBuilder {
    most_samples: u32,
    /// Samples end here at the latest.
    end: u64,
    count: u32,
    next_decode_time: u64,
    /// Samples of the block that is being filled. The last one stays here until another follows, since its duration may
    /// still change.
    pending: Vec<Sample>,
    /// Where the block before the pending one ends in the file.
    block_position: u64,
    decode_times: Vec<u64>,
    positions: Vec<u64>,
    starts: Vec<u32>,
    columns: Vec<u8>,
}

impl SampleTableBuilder {
    /// Takes at most so many samples, all of which lie before `end` in the file.
    pub(super) fn new(most_samples: u32, end: u64) -> Self {
        SampleTableBuilder {
            most_samples,
            end: end.min(MOST_TIME - 1),
            ..SampleTableBuilder::default()
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    /// The next sample is decoded at this time: the one before it lasts until then.
    pub(super) fn set_decode_time(&mut self, time: u64) -> Result<(), Refusal> {
        let number = self.count;
        if time >= MOST_TIME {
            return Err(Refusal::Time { number });
        }
        if let Some(last) = self.pending.last_mut() {
            let duration = time
                .checked_sub(last.decode_time)
                .ok_or(Refusal::Backwards { number, time })?;
            last.duration = u32::try_from(duration).map_err(|_| Refusal::Time { number })?;
        }
        self.next_decode_time = time;
        Ok(())
    }

    /// Adds a sample; its number and decode time follow from those before it, whatever it says.
    pub(super) fn push(&mut self, sample: Sample) -> Result<(), Refusal> {
        let number = self.count;
        if number >= self.most_samples {
            return Err(Refusal::TooMany);
        }
        let sample = Sample {
            number,
            decode_time: self.next_decode_time,
            ..sample
        };
        if sample.end() > self.end {
            return Err(Refusal::Outside {
                number,
                position: sample.position,
                size: sample.size,
            });
        }
        let next = self.next_decode_time + u64::from(sample.duration);
        if next >= MOST_TIME {
            return Err(Refusal::Time { number });
        }
        if self.pending.len() == BLOCK && !self.flush() {
            return Err(Refusal::TooMany);
        }
        self.next_decode_time = next;
        self.pending.push(sample);
        self.count += 1;
        Ok(())
    }

    /// Packs the pending block; whether there was room for it.
    fn flush(&mut self) -> bool {
        let Some(first) = self.pending.first() else {
            return true;
        };
        let Ok(start) = u32::try_from(self.columns.len()) else {
            return false;
        };
        self.decode_times.push(first.decode_time);
        self.positions.push(self.block_position);
        self.starts.push(start);
        let columns: [fn(&Sample) -> i64; 4] = [
            |sample| sample.size.into(),
            |sample| sample.duration.into(),
            |sample| sample.composition_offset.into(),
            |sample| sample.sync.into(),
        ];
        for of in columns {
            let values: Vec<i64> = self.pending.iter().map(of).collect();
            pack(&values, &mut self.columns);
        }
        let mut end = self.block_position;
        let gaps: Vec<i64> = self
            .pending
            .iter()
            .map(|sample| {
                let gap = sample.position.cast_signed() - end.cast_signed();
                end = sample.end();
                gap
            })
            .collect();
        let breaks: Vec<i64> = gaps.iter().map(|gap| (*gap != 0).into()).collect();
        pack(&breaks, &mut self.columns);
        let gaps: Vec<i64> = gaps.into_iter().filter(|gap| *gap != 0).collect();
        if !gaps.is_empty() {
            pack(&gaps, &mut self.columns);
        }
        self.block_position = end;
        self.pending.clear();
        true
    }

    /// The table of all samples that came; none if it would be larger than 4 GiB.
    pub(super) fn finish(mut self) -> Option<SampleTable> {
        if !self.flush() {
            return None;
        }
        Some(SampleTable {
            count: self.count,
            decode_end: self.next_decode_time,
            decode_times: self.decode_times.into(),
            positions: self.positions.into(),
            starts: self.starts.into(),
            columns: self.columns.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(samples: &[Sample]) -> SampleTable {
        let mut builder = SampleTableBuilder::new(u32::MAX, u64::MAX);
        for sample in samples {
            builder.push(*sample).unwrap();
        }
        builder.finish().unwrap()
    }

    /// Numbers and decode times as they follow from the order.
    fn expected(samples: &[Sample]) -> Vec<Sample> {
        let mut decode_time = 0;
        let mut expected = samples.to_vec();
        for (number, sample) in (0..).zip(&mut expected) {
            sample.number = number;
            sample.decode_time = decode_time;
            decode_time += u64::from(sample.duration);
        }
        expected
    }

    fn any_sample() -> impl Strategy<Value = Sample> {
        let size = prop_oneof![0..500_u32, any::<u32>()];
        let duration = prop_oneof![Just(512_u32), 0..2000_u32, any::<u32>()];
        let offset = prop_oneof![Just(0_i32), -2000..2000_i32, any::<i32>()];
        (size, duration, offset, any::<bool>(), 0..1_u64 << 40).prop_map(
            |(size, duration, composition_offset, sync, position)| Sample {
                size,
                duration,
                composition_offset,
                sync,
                position,
                ..Sample::default()
            },
        )
    }

    proptest! {
        #[test]
        fn samples_come_out_as_they_went_in(
            samples in prop::collection::vec(any_sample(), 1..600),
            from in 0..600_u32,
            length in 0..300_u32,
        ) {
            let table = table(&samples);
            let expected = expected(&samples);
            prop_assert_eq!(table.iter().collect::<Vec<_>>(), expected.clone());
            let end = (from + length).min(table.len());
            let part: Vec<Sample> = table.range(from..from + length).collect();
            prop_assert_eq!(part, expected.get(from as usize..end as usize).unwrap_or_default());
            let directory: Vec<_> = table.parts().0.collect();
            let again = SampleTable::from_parts(table.len(), &directory, table.parts().1, u64::MAX);
            prop_assert_eq!(again, Some(table));
        }

        #[test]
        fn the_sample_at_a_time_is_the_last_that_has_begun(
            durations in prop::collection::vec(prop_oneof![Just(0_u32), 1..2000_u32], 1..600),
            time in 0..300_000_u64,
        ) {
            let samples: Vec<Sample> = durations
                .iter()
                .map(|duration| Sample { duration: *duration, ..Sample::default() })
                .collect();
            let expected = expected(&samples);
            let last = expected.iter().rev().find(|sample| sample.decode_time <= time);
            prop_assert_eq!(table(&samples).at_decode_time(time), last.copied());
        }
    }

    /// Repeatable noise from 0 up to a limit.
    struct Noise(u64);

    impl Noise {
        fn below(&mut self, limit: u32) -> u32 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % u64::from(limit)) as u32
        }
    }

    /// 80 minutes of 25 pictures a second at about 4 Mbit/s: a sync sample every two seconds, two B-frames between others.
    fn video() -> Vec<Sample> {
        let mut noise = Noise(1);
        let offsets = [1024, 2560, 1024, 0];
        (0..120_000_usize)
            .map(|number| {
                let (size, offset) = match number % 50 {
                    0 => (90_000 + noise.below(60_000), 1024),
                    place if place % 3 == 1 => (25_000 + noise.below(25_000), 2560),
                    _ => (6_000 + noise.below(12_000), offsets[number % 2 * 3]),
                };
                Sample {
                    size,
                    duration: 512,
                    composition_offset: offset,
                    sync: number % 50 == 0,
                    ..Sample::default()
                }
            })
            .collect()
    }

    /// 80 minutes of AAC at about 128 kbit/s.
    fn audio() -> Vec<Sample> {
        let mut noise = Noise(2);
        (0..225_000)
            .map(|_| Sample {
                size: 290 + noise.below(100),
                duration: 1024,
                sync: true,
                ..Sample::default()
            })
            .collect()
    }

    /// Puts samples behind each other, with this many bytes of other tracks before each run of `run` samples.
    fn place(samples: &mut [Sample], run: usize, gap: u32) {
        let mut noise = Noise(3);
        let mut position = 48;
        for (number, sample) in samples.iter_mut().enumerate() {
            if gap > 0 && number % run == 0 {
                position += u64::from(gap + noise.below(gap / 4));
            }
            sample.position = position;
            position = sample.end();
        }
    }

    #[test]
    fn a_thousand_titles_of_eighty_minutes_stay_within_a_gibibyte() {
        let (mut video, mut audio) = (video(), audio());
        let samples = (video.len() + audio.len()) as f64;
        let mut measure = |what: &str, video_run: usize, gaps: (u32, u32), audio_run: usize| {
            place(&mut video, video_run, gaps.0);
            place(&mut audio, audio_run, gaps.1);
            let bytes = table(&video).memory_bytes() + table(&audio).memory_bytes();
            println!(
                "{what}: {bytes} bytes for a title, {:.3} for a sample; video {:.3}, audio {:.3}",
                bytes as f64 / samples,
                table(&video).memory_bytes() as f64 / video.len() as f64,
                table(&audio).memory_bytes() as f64 / audio.len() as f64,
            );
            bytes
        };
        let alone = measure("tracks in files of their own", 1, (0, 0), 1);
        let chunks = measure("chunks of half a second", 12, (8_000, 250_000), 23);
        let finest = measure("interleaved frame by frame", 1, (640, 40_000), 2);
        assert!((alone as f64) < 1.7 * samples, "{alone}");
        for bytes in [alone, chunks, finest] {
            assert!(bytes * 1000 < 1 << 30, "{bytes}");
        }
    }
}
