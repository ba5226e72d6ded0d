//! Whether a segment is what it should be: MP4 boxes that fill its bytes exactly, fragments with their media behind
//! them, and decode times that go on where the segment before ended; or packets of a transport stream. It is given
//! bytes as they come and keeps the headers only.

use std::collections::BTreeMap;

use weir_media::bmff::{BmffError, BoxHeader, Boxes, Mp4Box};

/// Most bytes of a box whose inside matters (`moov`, `moof`); media are not kept.
const MOST_KEPT: u64 = 4 << 20;
/// Bytes of a packet of a transport stream (ISO/IEC 13818-1, 2.4.3.2).
const TS_PACKET: u64 = 188;
const TS_SYNC: u8 = 0x47;

/// Defaults of each track, from the initialization segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// The duration that samples have if nothing else is said.
    durations: BTreeMap<u32, u32>,
    /// Ticks a second.
    timescales: BTreeMap<u32, u32>,
}

impl Defaults {
    /// Whether tracks count in the same ticks.
    pub fn has_clocks_of(&self, other: &Defaults) -> bool {
        self.timescales == other.timescales
    }
}

/// When each track's media begin and end in a segment, in its timescale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(BTreeMap<u32, (u64, u64)>);

impl Spans {
    /// Whether `self` goes on where `before` ended, track by track.
    pub fn follows(&self, before: &Spans) -> bool {
        let goes_on = |(track, (start, _)): (&u32, &(u64, u64))| match before.0.get(track) {
            Some((_, end)) => start == end,
            None => true,
        };
        self.0.iter().all(goes_on)
    }
}

/// What a segment turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An initialization segment.
    Init(Defaults),
    /// A media segment of MP4.
    Media(Spans),
    /// A transport stream, text, or another format that is not looked into.
    Other,
    /// Damaged.
    Damaged,
}

#[derive(Debug, Default)]
enum State {
    /// The beginning, until it is clear what this is.
    #[default]
    Begin,
    /// Before or in a box that is kept.
    Box,
    /// In a skipped box, with the number of bytes left.
    Skip(u64),
    /// In a transport stream.
    Packets,
    Other,
    Damaged,
}

/// Looks at one segment.
#[derive(Debug, Default)]
pub struct Verifier {
    defaults: Defaults,
    state: State,
    at: u64,
    kept: Vec<u8>,
    found_init: Option<Defaults>,
    spans: Spans,
    fragments: u32,
    /// A fragment whose media have not come yet.
    open_fragment: bool,
}

impl Verifier {
    /// With what the initialization segment said.
    pub fn new(defaults: &Defaults) -> Self {
        Verifier {
            defaults: defaults.clone(),
            ..Verifier::default()
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.state {
                State::Begin => bytes = self.begin(bytes),
                State::Box => bytes = self.in_box(bytes),
                State::Skip(left) => {
                    let count = left.min(bytes.len() as u64);
                    self.at += count;
                    bytes = &bytes[count as usize..];
                    self.state = if count == left {
                        State::Box
                    } else {
                        State::Skip(left - count)
                    };
                }
                State::Packets => {
                    // Every packet begins with the same byte.
                    let first = (TS_PACKET - self.at % TS_PACKET) % TS_PACKET;
                    let starts = bytes.iter().skip(first as usize).step_by(TS_PACKET as usize);
                    let whole = starts.clone().all(|byte| *byte == TS_SYNC);
                    self.at += bytes.len() as u64;
                    if !whole {
                        self.state = State::Damaged;
                    }
                    return;
                }
                State::Other | State::Damaged => return,
            }
        }
    }

    /// The segment has ended.
    pub fn finish(self) -> Verdict {
        match self.state {
            State::Box if self.kept.is_empty() && self.fragments > 0 && !self.open_fragment => {
                Verdict::Media(self.spans)
            }
            State::Box if self.kept.is_empty() && self.fragments == 0 => match self.found_init {
                Some(defaults) => Verdict::Init(defaults),
                None => Verdict::Damaged,
            },
            State::Packets if self.at > 0 && self.at.is_multiple_of(TS_PACKET) => Verdict::Other,
            State::Other => Verdict::Other,
            _ => Verdict::Damaged,
        }
    }

    fn begin<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let missing = 8_usize.saturating_sub(self.kept.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(missing);
        self.kept.extend_from_slice(head);
        if self.kept.first() == Some(&TS_SYNC) {
            self.state = State::Packets;
            let kept = std::mem::take(&mut self.kept);
            self.push(&kept);
            return rest;
        }
        if self.kept.len() < 8 {
            return rest;
        }
        const FIRST: [&[u8]; 8] = [
            b"ftyp", b"styp", b"moof", b"moov", b"sidx", b"emsg", b"prft", b"free",
        ];
        if !FIRST.contains(&&self.kept[4..8]) {
            self.state = State::Other;
            return rest;
        }
        self.state = State::Box;
        self.settle(rest)
    }

    /// Takes bytes of a box until its header is known, then all of it or none.
    fn in_box<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let header = match BoxHeader::parse(&self.kept, self.at) {
            Ok(Some(header)) => header,
            Ok(None) => {
                let room = BoxHeader::MOST_BYTES as usize - self.kept.len();
                // One byte more may be enough: headers have two lengths.
                let count = room.min(bytes.len()).min(if self.kept.len() < 8 {
                    8 - self.kept.len()
                } else {
                    1
                });
                if count == 0 {
                    self.state = State::Damaged;
                    return &[];
                }
                let (head, rest) = bytes.split_at(count);
                self.kept.extend_from_slice(head);
                return self.settle(rest);
            }
            Err(_) => {
                self.state = State::Damaged;
                return &[];
            }
        };
        let length = header.length.unwrap_or(u64::MAX);
        let missing = length
            .saturating_sub(self.kept.len() as u64)
            .min(bytes.len() as u64) as usize;
        let (head, rest) = bytes.split_at(missing);
        self.kept.extend_from_slice(head);
        self.settle(rest)
    }

    /// Looks whether what is kept is enough to go on.
    fn settle<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let header = match BoxHeader::parse(&self.kept, self.at) {
            Ok(Some(header)) => header,
            Ok(None) => return rest,
            Err(_) => {
                self.state = State::Damaged;
                return &[];
            }
        };
        let matters = matches!(&header.kind.0, b"moov" | b"moof");
        let length = header.length.unwrap_or(u64::MAX);
        if matters && length > MOST_KEPT {
            self.state = State::Damaged;
            return &[];
        }
        if !matters {
            if header.kind.0 == *b"mdat" {
                self.open_fragment = false;
            }
            let have = self.kept.len() as u64;
            self.at += have;
            self.kept.clear();
            self.state = match length - have {
                0 => State::Box,
                left => State::Skip(left),
            };
            return rest;
        }
        if (self.kept.len() as u64) < length {
            return rest;
        }
        let whole = std::mem::take(&mut self.kept);
        if self.look(&whole).is_err() {
            self.state = State::Damaged;
            return &[];
        }
        self.at += whole.len() as u64;
        rest
    }

    fn look(&mut self, bytes: &[u8]) -> Result<(), BmffError> {
        for found in Boxes::new(bytes, self.at) {
            let found = found?;
            match &found.kind.0 {
                b"moov" => self.found_init = Some(defaults(&found)?),
                _ => self.fragment(&found)?,
            }
        }
        Ok(())
    }

    /// A movie fragment (ISO/IEC 14496-12, 8.8): for each track, from its `tfdt` on, the durations of its samples.
    fn fragment(&mut self, moof: &Mp4Box<'_>) -> Result<(), BmffError> {
        self.fragments += 1;
        self.open_fragment = true;
        for traf in moof.children_of(b"traf") {
            let Some((track, start, length)) = track_fragment(&traf?, &self.defaults)? else {
                continue;
            };
            let end = start.saturating_add(length);
            match self.spans.0.get_mut(&track) {
                None => drop(self.spans.0.insert(track, (start, end))),
                Some(span) if span.1 == start => span.1 = end,
                // A gap within the segment.
                Some(_) => self.state = State::Damaged,
            }
        }
        Ok(())
    }
}

/// Timescales (8.3.2, 8.4.2) and `trex` boxes (8.8.3).
fn defaults(moov: &Mp4Box<'_>) -> Result<Defaults, BmffError> {
    let mut timescales = BTreeMap::new();
    for trak in moov.children_of(b"trak") {
        timescales.extend(timescale(&trak?)?);
    }
    let mut durations = BTreeMap::new();
    if let Some(mvex) = moov.child(b"mvex")? {
        for trex in mvex.children_of(b"trex") {
            let mut fields = trex?.fields();
            fields.version_and_flags()?;
            let track = fields.u32()?;
            let _description = fields.u32()?;
            durations.insert(track, fields.u32()?);
        }
    }
    Ok(Defaults {
        durations,
        timescales,
    })
}

/// Track and timescale of a `trak`; none where a header is missing.
fn timescale(trak: &Mp4Box<'_>) -> Result<Option<(u32, u32)>, BmffError> {
    let (Some(tkhd), Some(mdia)) = (trak.child(b"tkhd")?, trak.child(b"mdia")?) else {
        return Ok(None);
    };
    let Some(mdhd) = mdia.child(b"mdhd")? else {
        return Ok(None);
    };
    // In both, times of creation and modification come first.
    let behind_times = |header: &Mp4Box<'_>| {
        let mut fields = header.fields();
        let (version, _) = fields.version_and_flags()?;
        fields.by_version(version)?;
        fields.by_version(version)?;
        fields.u32()
    };
    Ok(Some((behind_times(&tkhd)?, behind_times(&mdhd)?)))
}

/// Track, decode time and duration of a `traf`; none where it has no `tfdt`, or where only an initialization segment
/// that nobody has fetched says how long samples are.
fn track_fragment(traf: &Mp4Box<'_>, defaults: &Defaults) -> Result<Option<(u32, u64, u64)>, BmffError> {
    let (Some(tfhd), Some(tfdt)) = (traf.child(b"tfhd")?, traf.child(b"tfdt")?) else {
        return Ok(None);
    };
    let mut fields = tfhd.fields();
    let (_, flags) = fields.version_and_flags()?;
    let track = fields.u32()?;
    // base-data-offset and sample-description-index come before the duration (8.8.7).
    if flags & 0x1 != 0 {
        fields.u64()?;
    }
    if flags & 0x2 != 0 {
        fields.u32()?;
    }
    let default = match flags & 0x8 != 0 {
        true => Some(fields.u32()?),
        false => defaults.durations.get(&track).copied(),
    };
    let mut fields = tfdt.fields();
    let (version, _) = fields.version_and_flags()?;
    let start = fields.by_version(version)?;
    let mut length = 0_u64;
    for trun in traf.children_of(b"trun") {
        let Some(run) = run_length(&trun?, default)? else {
            return Ok(None);
        };
        length = length.saturating_add(run);
    }
    Ok(Some((track, start, length)))
}

/// The duration of the samples of a `trun` (8.8.8); none if it is not known.
fn run_length(trun: &Mp4Box<'_>, default: Option<u32>) -> Result<Option<u64>, BmffError> {
    let mut fields = trun.fields();
    let (_, flags) = fields.version_and_flags()?;
    let count = fields.u32()?;
    if flags & 0x1 != 0 {
        fields.u32()?;
    }
    if flags & 0x4 != 0 {
        fields.u32()?;
    }
    if flags & 0x100 == 0 {
        return Ok(default.map(|default| u64::from(count) * u64::from(default)));
    }
    let words = (flags & 0xf00).count_ones() as usize;
    let table = fields.table(count, 4 * words)?;
    let durations = table
        .chunks_exact(4 * words)
        .filter_map(|entry| entry.first_chunk::<4>());
    Ok(Some(
        durations.map(|bytes| u64::from(u32::from_be_bytes(*bytes))).sum(),
    ))
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
