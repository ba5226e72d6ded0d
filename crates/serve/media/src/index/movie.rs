//! The `moov` box (ISO/IEC 14496-12, 8.2): its tracks as drafts, whose samples may still grow by movie fragments. It
//! must not know how the bytes of the box came here.

use crate::bmff::{Boxes, FourCc, Mp4Box};

use super::codec::{read_entry, read_protected};
use super::edits::presentation_shift;
use super::error::IndexError;
use super::protection::ProtectionTable;
use super::samples::SampleTableBuilder;
use super::tables::{ChunkRuns, read_samples};
use super::track::{Display, FileIndex, PassedOver, TrackHead, TrackIndex, TrackKind};

/// Defaults of a track's fragments (`trex`, 8.8.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Defaults {
    pub description: u32,
    pub duration: u32,
    pub size: u32,
    pub flags: u32,
}

/// A track whose samples are being collected.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub head: TrackHead,
    pub samples: SampleTableBuilder,
    pub defaults: Defaults,
    /// Of a track that comes encrypted.
    pub protection: Option<ProtectionTable>,
}

/// A movie whose fragments are being collected.
#[derive(Clone, Debug)]
pub(super) struct Movie {
    pub drafts: Vec<Draft>,
    pub passed_over: Vec<PassedOver>,
    /// Whether fragments may follow (`mvex`).
    pub fragmented: bool,
    pub media: Option<String>,
}

/// What a movie is read with.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovieLimits {
    pub tracks: usize,
    pub samples: u32,
    pub file_length: u64,
}

/// The place of a track in an error.
pub(super) fn place(track_id: u32) -> String {
    format!("track {track_id}")
}

/// A track, or why it is passed over.
enum Read {
    Track(Box<Draft>, Option<String>),
    PassedOver(PassedOver),
}

impl Movie {
    /// Reads a `moov` box.
    pub(super) fn read(moov: &Mp4Box<'_>, limits: MovieLimits) -> Result<Movie, IndexError> {
        let timescale = match moov.child(b"mvhd")? {
            Some(header) => {
                let mut fields = header.fields();
                let (version, _) = fields.version_and_flags()?;
                fields.bytes(if version == 1 { 16 } else { 8 })?;
                fields.u32()?
            }
            None => return Err(IndexError::missing(b"mvhd", "'moov'")),
        };
        let extends = moov.child(b"mvex")?;
        let mut movie = Movie {
            drafts: Vec::new(),
            passed_over: Vec::new(),
            fragmented: extends.is_some(),
            media: None,
        };
        let mut elsewhere = Vec::new();
        for trak in moov.children_of(b"trak") {
            let trak = trak?;
            if movie.drafts.len() + movie.passed_over.len() == limits.tracks {
                return Err(IndexError::TooLarge {
                    what: "tracks".to_owned(),
                    value: limits.tracks as u64 + 1,
                    limit: limits.tracks as u64,
                });
            }
            match read_track(&trak, timescale, extends.as_ref(), limits)? {
                Read::Track(draft, media) => {
                    movie.add(*draft)?;
                    elsewhere.push(media);
                }
                Read::PassedOver(track) => movie.passed_over.push(track),
            }
        }
        if elsewhere.windows(2).any(|pair| pair[0] != pair[1]) {
            let what = "its tracks reference media in different files";
            return Err(IndexError::unsupported("'moov'", what));
        }
        movie.media = elsewhere.into_iter().next().flatten();
        Ok(movie)
    }

    fn add(&mut self, draft: Draft) -> Result<(), IndexError> {
        let id = draft.head.track_id;
        if self.drafts.iter().any(|other| other.head.track_id == id) {
            return Err(IndexError::broken(
                "'moov'",
                format!("it has two tracks numbered {id}"),
            ));
        }
        self.drafts.push(draft);
        Ok(())
    }

    /// The index of what has been collected.
    pub(super) fn finish(self, file_length: u64) -> Result<FileIndex, IndexError> {
        let mut passed_over = self.passed_over;
        let mut tracks = Vec::new();
        for draft in self.drafts {
            let track_id = draft.head.track_id;
            if draft.samples.len() == 0 {
                let why = "it has no samples".to_owned();
                passed_over.push(PassedOver { track_id, why });
                continue;
            }
            let samples = draft.samples.finish().ok_or(IndexError::TooLarge {
                what: format!("bytes of the sample table of {}", place(track_id)),
                value: 1 << 32,
                limit: u64::from(u32::MAX),
            })?;
            tracks.push(TrackIndex::new(draft.head, samples, draft.protection)?);
        }
        if tracks.is_empty() {
            let why = passed_over.first().map_or(String::new(), |track| {
                format!(": track {}: {}", track.track_id, track.why)
            });
            return Err(IndexError::NoTracks { why });
        }
        Ok(FileIndex {
            file_length,
            media: self.media,
            tracks,
            passed_over,
        })
    }
}

fn read_track(
    trak: &Mp4Box<'_>,
    movie_timescale: u32,
    extends: Option<&Mp4Box<'_>>,
    limits: MovieLimits,
) -> Result<Read, IndexError> {
    let (track_id, display) = read_track_header(&need_box(trak, b"tkhd")?)?;
    let place = place(track_id);
    let passed_over = |why: String| Ok(Read::PassedOver(PassedOver { track_id, why }));
    let mdia = need_box(trak, b"mdia")?;
    let handler = read_handler(&need_box(&mdia, b"hdlr")?)?;
    let kind = match &handler.0 {
        b"vide" => TrackKind::Video,
        b"soun" => TrackKind::Audio,
        _ => return passed_over(format!("its handler is {handler}")),
    };
    let (timescale, language) = read_media_header(&mdia)?;
    let minf = need_box(&mdia, b"minf")?;
    let stbl = need_box(&minf, b"stbl")?;
    let defaults = read_defaults(extends, track_id)?;
    let description = ChunkRuns::read(&stbl, &place)?
        .description(&place)?
        .unwrap_or(defaults.description.max(1));
    let entry = sample_entry(&need_box(&stbl, b"stsd")?, description, &place)?;
    let protected = match read_protected(&entry, &place) {
        Err(IndexError::Unsupported { what, .. }) => return passed_over(what),
        other => other?,
    };
    let (clear_entry, protection) = protected.unzip();
    let clear_entry = clear_entry.unwrap_or_else(|| entry.whole.to_vec());
    match read_entry(&clear_entry, &place) {
        Err(IndexError::Unsupported { what, .. }) => return passed_over(what),
        other => other?,
    };
    let media = media_elsewhere(&minf, &entry, &place)?;
    let presentation_shift = match trak.child(b"edts")? {
        Some(edts) => presentation_shift(&edts, movie_timescale, timescale, &place)?,
        None => 0,
    };
    let end = if media.is_some() {
        u64::MAX
    } else {
        limits.file_length
    };
    let mut samples = SampleTableBuilder::new(limits.samples, end);
    read_samples(&stbl, &place, &mut samples)?;
    let mut protection = protection.map(ProtectionTable::new);
    if let Some(table) = &mut protection {
        match table.read(&stbl, samples.len() as usize, &place) {
            Err(IndexError::Unsupported { what, .. }) => return passed_over(what),
            other => other?,
        }
    }
    let head = TrackHead {
        track_id,
        kind,
        timescale,
        language,
        presentation_shift,
        display,
        sample_entry: clear_entry,
    };
    let draft = Draft {
        head,
        samples,
        defaults: Defaults {
            description,
            ..defaults
        },
        protection,
    };
    Ok(Read::Track(Box::new(draft), media))
}

/// The child that has to be there.
fn need_box<'a>(within: &Mp4Box<'a>, kind: &[u8; 4]) -> Result<Mp4Box<'a>, IndexError> {
    within
        .child(kind)?
        .ok_or_else(|| IndexError::missing(kind, format!("the {} box at byte {}", within.kind, within.at)))
}

/// Identifier, matrix and size (`tkhd`, 8.3.2).
fn read_track_header(header: &Mp4Box<'_>) -> Result<(u32, Display), IndexError> {
    let mut fields = header.fields();
    let (version, _) = fields.version_and_flags()?;
    let long = version == 1;
    fields.bytes(if long { 16 } else { 8 })?;
    let track_id = fields.u32()?;
    fields.bytes(if long { 12 } else { 8 })?;
    // Reserved, layer, alternate group, volume, reserved.
    fields.bytes(8 + 8)?;
    let mut matrix = [0; 36];
    matrix.copy_from_slice(fields.bytes(36)?);
    let display = Display {
        matrix,
        width: fields.u32()?,
        height: fields.u32()?,
    };
    Ok((track_id, display))
}

/// What the track is (`hdlr`, 8.4.3).
fn read_handler(handler: &Mp4Box<'_>) -> Result<FourCc, IndexError> {
    let mut fields = handler.fields();
    fields.version_and_flags()?;
    fields.u32()?;
    Ok(fields.four_cc()?)
}

/// Timescale and language: that of `elng` (8.4.6) where there is one, else that of `mdhd` (8.4.2).
fn read_media_header(mdia: &Mp4Box<'_>) -> Result<(u32, String), IndexError> {
    let header = need_box(mdia, b"mdhd")?;
    let mut fields = header.fields();
    let (version, _) = fields.version_and_flags()?;
    fields.bytes(if version == 1 { 16 } else { 8 })?;
    let timescale = fields.u32()?;
    fields.by_version(version)?;
    let packed = fields.u16()?;
    if timescale == 0 {
        let place = format!("the 'mdhd' box at byte {}", header.at);
        return Err(IndexError::broken(place, "its timescale is zero"));
    }
    let extended = match mdia.child(b"elng")? {
        Some(elng) => {
            let mut fields = elng.fields();
            fields.version_and_flags()?;
            text(fields.rest()).filter(|language| is_language(language))
        }
        None => None,
    };
    Ok((timescale, extended.unwrap_or_else(|| packed_language(packed))))
}

/// Three letters of five bits each, above 0x60 (ISO 639-2/T). Values below 0x400 are QuickTime's old codes.
fn packed_language(packed: u16) -> String {
    let letters: String = [10, 5, 0]
        .map(|shift| char::from(((packed >> shift & 0x1f) as u8) + 0x60))
        .iter()
        .collect();
    if letters.bytes().all(|letter| letter.is_ascii_lowercase()) {
        letters
    } else {
        "und".to_owned()
    }
}

/// Letters, digits and hyphens, as BCP 47 writes languages.
pub(super) fn is_language(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=35).contains(&text.len()) && text.bytes().all(allowed)
}

/// Text up to its zero, if it is UTF-8.
fn text(bytes: &[u8]) -> Option<String> {
    let text = bytes.split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

/// The sample entry of this number, counted from 1.
fn sample_entry<'a>(stsd: &Mp4Box<'a>, number: u32, place: &str) -> Result<Mp4Box<'a>, IndexError> {
    let mut fields = stsd.fields();
    fields.version_and_flags()?;
    let count = fields.u32()?;
    let wrong = || {
        let what = format!("its samples use sample description {number} of {count}");
        IndexError::broken(place, what)
    };
    let behind = Boxes::new(fields.rest(), stsd.content_at + 8);
    let skipped = number.checked_sub(1).ok_or_else(wrong)? as usize;
    let entry = behind.take(count as usize).nth(skipped).ok_or_else(wrong)??;
    Ok(entry)
}

/// Where the media of this sample entry are, if not in this file (`dref`, 8.7.2).
fn media_elsewhere(minf: &Mp4Box<'_>, entry: &Mp4Box<'_>, place: &str) -> Result<Option<String>, IndexError> {
    let Some(dref) = minf
        .child(b"dinf")?
        .map(|dinf| dinf.child(b"dref"))
        .transpose()?
        .flatten()
    else {
        return Ok(None);
    };
    let mut fields = entry.fields();
    fields.bytes(6)?;
    let number = usize::from(fields.u16()?);
    let Some(skipped) = number.checked_sub(1) else {
        return Ok(None);
    };
    let reference = dref
        .children_behind(8)
        .nth(skipped)
        .ok_or_else(|| IndexError::broken(place, format!("it uses the missing data reference {number}")))??;
    let mut fields = reference.fields();
    let (_, flags) = fields.version_and_flags()?;
    if flags & 1 != 0 {
        return Ok(None);
    }
    if reference.kind.0 != *b"url " {
        let what = format!("its media data is referenced by {}", reference.kind);
        return Err(IndexError::unsupported(place, what));
    }
    match text(fields.rest()) {
        Some(location) if location.is_empty() => Ok(None),
        Some(location) if location.len() <= 4096 && !location.contains(char::is_control) => {
            Ok(Some(location))
        }
        _ => Err(IndexError::broken(
            place,
            "the URL of its media is not text, or too long",
        )),
    }
}

/// The defaults of this track, zeros where there are none.
fn read_defaults(extends: Option<&Mp4Box<'_>>, track_id: u32) -> Result<Defaults, IndexError> {
    let Some(extends) = extends else {
        return Ok(Defaults::default());
    };
    for child in extends.children_of(b"trex") {
        let mut fields = child?.fields();
        fields.version_and_flags()?;
        if fields.u32()? == track_id {
            return Ok(Defaults {
                description: fields.u32()?,
                duration: fields.u32()?,
                size: fields.u32()?,
                flags: fields.u32()?,
            });
        }
    }
    Ok(Defaults::default())
}
