//! The sample tables of a track that is not fragmented (ISO/IEC 14496-12, 8.6 and 8.7), walked together once: times,
//! offsets, sizes, chunks and sync samples, each still packed as it stands in the file.

use crate::bmff::Mp4Box;

use super::error::IndexError;
use super::samples::{Refusal, Sample, SampleTableBuilder};

/// Runs of equal values (`stts`, `ctts`): a count and a value each.
struct Runs<'a> {
    entries: &'a [u8],
    left: u32,
    value: u32,
}

impl<'a> Runs<'a> {
    fn read(table: &Mp4Box<'a>) -> Result<Self, IndexError> {
        Ok(Runs {
            entries: table.entries(8)?,
            left: 0,
            value: 0,
        })
    }

    /// The value of the next sample; none if the runs are over.
    fn next(&mut self) -> Option<u32> {
        while self.left == 0 {
            let (count, rest) = self.entries.split_first_chunk()?;
            let (value, rest) = rest.split_first_chunk()?;
            self.left = u32::from_be_bytes(*count);
            self.value = u32::from_be_bytes(*value);
            self.entries = rest;
        }
        self.left -= 1;
        Some(self.value)
    }
}

/// Sizes of samples (`stsz`, `stz2`).
enum Sizes<'a> {
    Constant(u32),
    /// Bits of each, and where they are.
    Packed(u8, &'a [u8]),
}

impl Sizes<'_> {
    fn get(&self, number: u32) -> Option<u32> {
        let number = number as usize;
        match self {
            Sizes::Constant(size) => Some(*size),
            Sizes::Packed(4, bytes) => {
                let pair = u32::from(*bytes.get(number / 2)?);
                Some(if number.is_multiple_of(2) {
                    pair >> 4
                } else {
                    pair & 15
                })
            }
            Sizes::Packed(bits, bytes) => {
                let width = usize::from(bits / 8);
                let entry = bytes.get(number * width..(number + 1) * width)?;
                Some(entry.iter().fold(0, |size, byte| size << 8 | u32::from(*byte)))
            }
        }
    }
}

fn read_sizes<'a>(stbl: &Mp4Box<'a>, place: &str) -> Result<(u32, Sizes<'a>), IndexError> {
    if let Some(table) = stbl.child(b"stsz")? {
        let mut fields = table.fields();
        fields.version_and_flags()?;
        let (size, count) = (fields.u32()?, fields.u32()?);
        if size != 0 {
            return Ok((count, Sizes::Constant(size)));
        }
        return Ok((count, Sizes::Packed(32, fields.table(count, 4)?)));
    }
    let table = stbl
        .child(b"stz2")?
        .ok_or_else(|| IndexError::missing(b"stsz", place))?;
    let mut fields = table.fields();
    fields.version_and_flags()?;
    let bits = (fields.u32()? & 0xff) as u8;
    let count = fields.u32()?;
    let sizes = match bits {
        4 => fields.table(count.div_ceil(2), 1)?,
        8 | 16 => fields.table(count, usize::from(bits / 8))?,
        _ => {
            let what = format!("its sample sizes have {bits} bits instead of 4, 8 or 16");
            return Err(IndexError::broken(place, what));
        }
    };
    Ok((count, Sizes::Packed(bits, sizes)))
}

/// Where chunks begin (`stco`, `co64`).
struct Chunks<'a> {
    entry_bytes: usize,
    entries: &'a [u8],
}

impl<'a> Chunks<'a> {
    fn read(stbl: &Mp4Box<'a>, place: &str) -> Result<Self, IndexError> {
        let (table, entry_bytes) = match (stbl.child(b"stco")?, stbl.child(b"co64")?) {
            (Some(table), _) => (table, 4),
            (None, Some(table)) => (table, 8),
            (None, None) => return Err(IndexError::missing(b"stco", place)),
        };
        Ok(Chunks {
            entry_bytes,
            entries: table.entries(entry_bytes)?,
        })
    }

    fn positions(&self) -> impl Iterator<Item = u64> + use<'a> {
        let entries = self.entries;
        entries.chunks_exact(self.entry_bytes).map(|entry| {
            entry
                .iter()
                .fold(0, |position, byte| position << 8 | u64::from(*byte))
        })
    }
}

/// How many samples the chunks have (`stsc`).
pub(super) struct ChunkRuns<'a> {
    entries: &'a [u8],
}

impl<'a> ChunkRuns<'a> {
    /// Of this `stbl`.
    pub(super) fn read(stbl: &Mp4Box<'a>, place: &str) -> Result<Self, IndexError> {
        let table = stbl
            .child(b"stsc")?
            .ok_or_else(|| IndexError::missing(b"stsc", place))?;
        Ok(ChunkRuns {
            entries: table.entries(12)?,
        })
    }

    /// First chunk, counted from 1, samples in each, sample description.
    fn entries(&self) -> impl Iterator<Item = [u32; 3]> + use<'a> {
        self.entries.chunks_exact(12).map(|entry| {
            let mut words = entry.chunks_exact(4).map(|word| {
                word.iter()
                    .fold(0_u32, |value, byte| value << 8 | u32::from(*byte))
            });
            [(); 3].map(|()| words.next().unwrap_or(0))
        })
    }

    /// The one sample description that all chunks use; none if there are no chunks.
    pub(super) fn description(&self, place: &str) -> Result<Option<u32>, IndexError> {
        let mut used = None;
        for [_, _, description] in self.entries() {
            if used.is_some_and(|used| used != description) {
                let what = "its samples use several sample descriptions";
                return Err(IndexError::unsupported(place, what));
            }
            used = Some(description);
        }
        Ok(used)
    }
}

/// Which samples are sync samples (`stss`); all of them without that table.
struct SyncSamples<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> SyncSamples<'a> {
    fn read(stbl: &Mp4Box<'a>) -> Result<Self, IndexError> {
        let table = stbl.child(b"stss")?;
        let rest = table.map(|table| table.entries(4)).transpose()?;
        Ok(SyncSamples { rest })
    }

    /// Whether the sample is one; samples are asked for in order.
    fn contains(&mut self, number: u32) -> bool {
        let Some(rest) = &mut self.rest else {
            return true;
        };
        while let Some((entry, behind)) = rest.split_first_chunk() {
            // The table counts from 1.
            let entry = u32::from_be_bytes(*entry);
            if entry > number + 1 {
                return false;
            }
            *rest = behind;
            if entry == number + 1 {
                return true;
            }
        }
        false
    }
}

/// Hands all samples of this `stbl` to `into`.
pub(super) fn read_samples(
    stbl: &Mp4Box<'_>,
    place: &str,
    into: &mut SampleTableBuilder,
) -> Result<(), IndexError> {
    let (count, sizes) = read_sizes(stbl, place)?;
    if count == 0 {
        return Ok(());
    }
    let durations = stbl
        .child(b"stts")?
        .ok_or_else(|| IndexError::missing(b"stts", place))?;
    let mut durations = Runs::read(&durations)?;
    let mut offsets = stbl.child(b"ctts")?.map(|table| Runs::read(&table)).transpose()?;
    let mut sync = SyncSamples::read(stbl)?;
    let short = |kind: &str, number: u32| {
        IndexError::broken(
            place,
            format!("'{kind}' describes {number} of its {count} samples"),
        )
    };
    let mut number = 0;
    for (position, in_chunk) in chunks(stbl, place)? {
        let mut position = position;
        for _ in 0..in_chunk.min(count - number) {
            let size = sizes.get(number).ok_or_else(|| short("stsz", number))?;
            let duration = durations.next().ok_or_else(|| short("stts", number))?;
            let offset = match &mut offsets {
                Some(offsets) => offsets.next().ok_or_else(|| short("ctts", number))?,
                None => 0,
            };
            let sample = Sample {
                position,
                size,
                duration,
                // Version 0 has no sign, but writers have put negative offsets there all the same, and offsets above
                // 2^31 make no sense.
                composition_offset: offset.cast_signed(),
                sync: sync.contains(number),
                ..Sample::default()
            };
            into.push(sample)
                .map_err(|refusal| refused(refusal, place, into))?;
            position = sample.end();
            number += 1;
        }
        if number == count {
            return Ok(());
        }
    }
    Err(short("stsc", number))
}

/// Position and number of samples of each chunk.
fn chunks<'a>(
    stbl: &Mp4Box<'a>,
    place: &str,
) -> Result<impl Iterator<Item = (u64, u32)> + use<'a>, IndexError> {
    let positions = Chunks::read(stbl, place)?.positions();
    let mut runs = ChunkRuns::read(stbl, place)?.entries().peekable();
    let mut in_chunk = 0;
    let chunks = positions.zip(1_u32..).map(move |(position, chunk)| {
        while let Some([_, samples, _]) = runs.next_if(|[first, _, _]| *first <= chunk) {
            in_chunk = samples;
        }
        (position, in_chunk)
    });
    Ok(chunks)
}

/// Why a sample was not taken, as an error of the file.
pub(super) fn refused(refusal: Refusal, place: &str, samples: &SampleTableBuilder) -> IndexError {
    let what = match refusal {
        Refusal::TooMany => {
            return IndexError::TooLarge {
                what: format!("samples of {place}"),
                value: u64::from(samples.len()) + 1,
                limit: u64::from(samples.len()),
            };
        }
        Refusal::Outside {
            number,
            position,
            size,
        } => {
            format!("sample {number}, {size} bytes at byte {position}, extends beyond the end of the file")
        }
        Refusal::Time { number } => format!("the time of sample {number} is too large"),
        Refusal::Backwards { number, time } => {
            format!("sample {number} is decoded at {time}, before the previous sample")
        }
    };
    IndexError::broken(place, what)
}
