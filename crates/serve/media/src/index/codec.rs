//! What a sample entry says about its media: codec string, picture size, channels. It reads the configuration boxes of
//! the codecs and nothing of the samples; codec strings are those of RFC 6381 and of each codec's own binding.

use weir_units::FrameRate;

use crate::bmff::{BmffError, Boxes, Mp4Box};

use super::channels;
use super::error::IndexError;
use super::protection::{SourceProtection, unprotected_entry};

/// What is known of a video track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoInfo {
    /// Pixels in a line.
    pub width: u16,
    /// Lines.
    pub height: u16,
    /// Width of a pixel to its height.
    pub pixel_aspect: (u32, u32),
    /// Frames a second; the average where they do not come evenly, none if there are too few to tell.
    pub frame_rate: Option<FrameRate>,
}

/// What is known of an audio track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioInfo {
    /// Samples of sound a second.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u32,
    /// Which loudspeakers they are for: ChannelConfiguration of ISO/IEC 23003-3; none if that has no index for them, or
    /// the file does not tell.
    pub channel_configuration: Option<u8>,
}

/// What is known of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaInfo {
    /// Of a video track.
    Video(VideoInfo),
    /// Of an audio track.
    Audio(AudioInfo),
}

/// Fields of a VisualSampleEntry before its boxes (ISO/IEC 14496-12, 12.1.3).
const VISUAL_FIELDS: usize = 78;
/// Fields of an AudioSampleEntry before its boxes (12.2.3).
const AUDIO_FIELDS: usize = 28;

/// Reads the sample entry that these bytes are, the whole box: the codec string, and the properties of picture or sound.
///
/// # Errors
///
/// Boxes that do not add up, codecs that are not known here, and encrypted media.
pub(super) fn read_entry(bytes: &[u8], place: &str) -> Result<(String, MediaInfo), IndexError> {
    let entry = Boxes::new(bytes, 0)
        .next()
        .ok_or_else(|| IndexError::missing(b"stsd", place))??;
    match &entry.kind.0 {
        b"avc1" | b"avc3" | b"hvc1" | b"hev1" | b"av01" => read_video(&entry, place),
        b"mp4a" | b"Opus" | b"ac-3" | b"ec-3" => read_audio(&entry, place),
        _ => Err(IndexError::unsupported(
            place,
            format!("its codec is {}", entry.kind),
        )),
    }
}

/// The sample entry as it was before its samples were encrypted, and how they were; nothing of clear ones.
pub(super) fn read_protected(
    entry: &Mp4Box<'_>,
    place: &str,
) -> Result<Option<(Vec<u8>, SourceProtection)>, IndexError> {
    let fields = match &entry.kind.0 {
        b"encv" => VISUAL_FIELDS,
        b"enca" => AUDIO_FIELDS,
        _ => return Ok(None),
    };
    unprotected_entry(entry, fields, place).map(Some)
}

fn read_video(entry: &Mp4Box<'_>, place: &str) -> Result<(String, MediaInfo), IndexError> {
    let mut fields = entry.fields();
    fields.bytes(24)?;
    let width = fields.u16()?;
    let height = fields.u16()?;
    fields.bytes(VISUAL_FIELDS - 28)?;
    let boxes = || entry.children_behind(VISUAL_FIELDS);
    let configuration = |kind: &[u8; 4]| {
        let found = boxes().find_kind(kind)?;
        found.ok_or_else(|| IndexError::missing(kind, format!("the sample entry of {place}")))
    };
    let name = String::from_utf8_lossy(&entry.kind.0).into_owned();
    let codec = match &entry.kind.0 {
        b"avc1" | b"avc3" => avc(&name, &configuration(b"avcC")?)?,
        b"hvc1" | b"hev1" => hevc(&name, &configuration(b"hvcC")?)?,
        _ => av1(&name, &configuration(b"av1C")?)?,
    };
    let pixel_aspect = match boxes().find_kind(b"pasp")? {
        Some(found) => {
            let mut fields = found.fields();
            (fields.u32()?, fields.u32()?)
        }
        None => (1, 1),
    };
    if width == 0 || height == 0 {
        return Err(IndexError::broken(place, "its width or height is zero"));
    }
    let video = VideoInfo {
        width,
        height,
        pixel_aspect: if pixel_aspect.0 == 0 || pixel_aspect.1 == 0 {
            (1, 1)
        } else {
            pixel_aspect
        },
        frame_rate: None,
    };
    Ok((codec, MediaInfo::Video(video)))
}

/// `avc1.64001F`: profile, constraints and level as they stand in the configuration (ISO/IEC 14496-15, 5.3.3.1; RFC 6381,
/// 3.3).
fn avc(name: &str, configuration: &Mp4Box<'_>) -> Result<String, BmffError> {
    let mut fields = configuration.fields();
    fields.u8()?;
    let (profile, constraints, level) = (fields.u8()?, fields.u8()?, fields.u8()?);
    Ok(format!("{name}.{profile:02X}{constraints:02X}{level:02X}"))
}

/// `hvc1.1.6.L93.B0`: profile space and profile, compatibility flags with their bits reversed, tier and level, then
/// constraint bytes without the zeros at their end (ISO/IEC 14496-15, annex E.3).
fn hevc(name: &str, configuration: &Mp4Box<'_>) -> Result<String, BmffError> {
    let mut fields = configuration.fields();
    fields.u8()?;
    let profile = fields.u8()?;
    let compatibility = fields.u32()?;
    let constraints = fields.bytes(6)?;
    let level = fields.u8()?;
    let space = match profile >> 6 {
        1 => "A",
        2 => "B",
        3 => "C",
        _ => "",
    };
    let tier = if profile & 0x20 == 0 { 'L' } else { 'H' };
    let mut codec = format!(
        "{name}.{space}{}.{:X}.{tier}{level}",
        profile & 0x1f,
        compatibility.reverse_bits()
    );
    let kept = constraints
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    for byte in constraints.iter().take(kept) {
        codec.push_str(&format!(".{byte:X}"));
    }
    Ok(codec)
}

/// `av01.0.04M.08`: profile, level, tier and bit depth (AV1 in ISOBMFF, section 5); what follows in the long form would
/// have to be read from the sequence header, and may be left out.
fn av1(name: &str, configuration: &Mp4Box<'_>) -> Result<String, BmffError> {
    let mut fields = configuration.fields();
    fields.u8()?;
    let (first, second) = (fields.u8()?, fields.u8()?);
    let (profile, level) = (first >> 5, first & 0x1f);
    let tier = if second & 0x80 == 0 { 'M' } else { 'H' };
    let depth = match (second & 0x40 != 0, second & 0x20 != 0) {
        (false, _) => 8,
        (true, true) if profile == 2 => 12,
        (true, _) => 10,
    };
    Ok(format!("{name}.{profile}.{level:02}{tier}.{depth:02}"))
}

fn read_audio(entry: &Mp4Box<'_>, place: &str) -> Result<(String, MediaInfo), IndexError> {
    let mut fields = entry.fields();
    fields.bytes(8)?;
    let version = fields.u16()?;
    fields.bytes(6)?;
    let channels = u32::from(fields.u16()?);
    fields.bytes(6)?;
    let sample_rate = fields.u32()? >> 16;
    // QuickTime's later versions of the entry have more fields; ISO files say version 1 only with an 'srat' box, in a
    // sample description of version 1, and keep the fields of version 0.
    let skipped = match version {
        1 if entry.children_behind(AUDIO_FIELDS).all(|child| child.is_ok()) => AUDIO_FIELDS,
        1 => AUDIO_FIELDS + 16,
        2 => AUDIO_FIELDS + 36,
        _ => AUDIO_FIELDS,
    };
    let boxes = || entry.children_behind(skipped);
    let configuration = |kind: &[u8; 4]| {
        let found = match boxes().find_kind(kind)? {
            Some(found) => Some(found),
            // QuickTime keeps it one level deeper.
            None => match boxes().find_kind(b"wave")? {
                Some(wave) => wave.child(kind)?,
                None => None,
            },
        };
        found.ok_or_else(|| IndexError::missing(kind, format!("the sample entry of {place}")))
    };
    let outer = AudioInfo {
        sample_rate,
        channels,
        channel_configuration: channels::of_count(channels),
    };
    let (codec, audio) = match &entry.kind.0 {
        b"mp4a" => mpeg4_audio(&configuration(b"esds")?, outer)?,
        b"Opus" => opus(&configuration(b"dOps")?)?,
        b"ac-3" => ac3(&configuration(b"dac3")?, outer)?,
        _ => ec3(&configuration(b"dec3")?, outer)?,
    };
    if audio.sample_rate == 0 || audio.channels == 0 {
        return Err(IndexError::broken(place, "it has no sample rate or no channels"));
    }
    Ok((codec, MediaInfo::Audio(audio)))
}

/// Takes a descriptor of MPEG-4 systems off the front (ISO/IEC 14496-1, 8.3.3): its tag and content.
fn descriptor<'b>(bytes: &mut &'b [u8]) -> Option<(u8, &'b [u8])> {
    let (tag, mut rest) = bytes.split_first()?;
    let mut length = 0_usize;
    // The length has at most four bytes of seven bits.
    for _ in 0..4 {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        length = length << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (content, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((*tag, content))
}

/// The object type indication and what is specific to the decoder, out of an ES_Descriptor (ISO/IEC 14496-1, 7.2.6.5
/// and 7.2.6.6).
fn decoder_configuration(mut bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (tag, mut content) = descriptor(&mut bytes)?;
    if tag != 3 {
        return None;
    }
    let (head, rest) = content.split_first_chunk::<3>()?;
    let flags = head[2];
    content = rest;
    if flags & 0x80 != 0 {
        content = content.get(2..)?;
    }
    if flags & 0x40 != 0 {
        let (length, rest) = content.split_first()?;
        content = rest.get(usize::from(*length)..)?;
    }
    if flags & 0x20 != 0 {
        content = content.get(2..)?;
    }
    let (tag, decoder) = descriptor(&mut content)?;
    if tag != 4 {
        return None;
    }
    let object_type = *decoder.first()?;
    let mut specific = decoder.get(13..)?;
    match descriptor(&mut specific) {
        Some((5, specific)) => Some((object_type, specific)),
        _ => Some((object_type, &[])),
    }
}

/// Sampling frequencies by their index (ISO/IEC 14496-3, 1.6.3.4).
const FREQUENCIES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/// Bits from the most significant one on; zeros behind the end.
struct Bits<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> u32 {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8).copied().unwrap_or(0);
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        value
    }

    fn object_type(&mut self) -> u32 {
        match self.take(5) {
            31 => 32 + self.take(6),
            kind => kind,
        }
    }

    fn frequency(&mut self) -> Option<u32> {
        match self.take(4) {
            15 => Some(self.take(24)),
            index => FREQUENCIES.get(index as usize).copied(),
        }
    }
}

/// `mp4a.40.2`: the object type indication, and for MPEG-4 audio its own object type (RFC 6381, 3.3). The rate and
/// channels of the decoder count, since those of the sample entry are often left at a default.
fn mpeg4_audio(configuration: &Mp4Box<'_>, outer: AudioInfo) -> Result<(String, AudioInfo), IndexError> {
    let mut fields = configuration.fields();
    fields.version_and_flags()?;
    let (indication, specific) = decoder_configuration(fields.rest()).ok_or(BmffError::Truncated {
        kind: configuration.kind,
        at: configuration.at,
    })?;
    if indication != 0x40 || specific.is_empty() {
        return Ok((format!("mp4a.{indication:02X}"), outer));
    }
    let mut bits = Bits {
        bytes: specific,
        at: 0,
    };
    let object_type = bits.object_type();
    let mut frequency = bits.frequency();
    let configuration = bits.take(4);
    let (channels, layout) = match configuration {
        0 => (outer.channels, outer.channel_configuration),
        7 | 12 | 14 => (8, channels::of_aac(configuration)),
        11 => (7, channels::of_aac(configuration)),
        channels => (channels, channels::of_aac(configuration)),
    };
    // Parametric stereo, of one channel.
    let (channels, layout) = if object_type == 29 {
        (2, channels::of_count(2))
    } else {
        (channels, layout)
    };
    // With explicit SBR signalling, the second frequency is the output's.
    if matches!(object_type, 5 | 29) {
        frequency = bits.frequency();
    }
    let audio = AudioInfo {
        sample_rate: frequency
            .filter(|frequency| *frequency > 0)
            .unwrap_or(outer.sample_rate),
        channels,
        channel_configuration: layout,
    };
    Ok((format!("mp4a.40.{object_type}"), audio))
}

/// Opus in ISOBMFF, 4.3.2: always decoded at 48 kHz, whatever the rate of its source was.
fn opus(configuration: &Mp4Box<'_>) -> Result<(String, AudioInfo), IndexError> {
    let mut fields = configuration.fields();
    fields.u8()?;
    let channels = fields.u8()?;
    // Pre-skip, the rate of its source, and the gain.
    fields.bytes(2 + 4 + 2)?;
    let family = fields.u8()?;
    let audio = AudioInfo {
        sample_rate: 48_000,
        channels: u32::from(channels),
        channel_configuration: channels::of_opus(family, channels),
    };
    Ok(("opus".to_owned(), audio))
}

/// Channels of an audio coding mode (ETSI TS 102 366, 4.4.2.3), with that of low frequencies.
fn dolby_channels(mode: u32, low_frequencies: u32) -> u32 {
    let full = match mode {
        1 => 1,
        0 | 2 => 2,
        3 | 4 => 3,
        5 | 6 => 4,
        _ => 5,
    };
    full + low_frequencies
}

/// ETSI TS 102 366, annex F.4.
fn ac3(configuration: &Mp4Box<'_>, outer: AudioInfo) -> Result<(String, AudioInfo), IndexError> {
    let mut bits = Bits {
        bytes: configuration.fields().bytes(3)?,
        at: 0,
    };
    let rate = bits.take(2);
    bits.take(8);
    let (mode, low) = (bits.take(3), bits.take(1));
    let audio = AudioInfo {
        sample_rate: dolby_rate(rate).unwrap_or(outer.sample_rate),
        channels: dolby_channels(mode, low),
        channel_configuration: channels::of_dolby(mode, low, 0),
    };
    Ok(("ac-3".to_owned(), audio))
}

/// ETSI TS 102 366, annex F.6: the first independent substream, with the pairs and single channels that dependent
/// substreams add.
fn ec3(configuration: &Mp4Box<'_>, outer: AudioInfo) -> Result<(String, AudioInfo), IndexError> {
    let bytes = configuration.fields().rest();
    configuration.fields().bytes(5)?;
    let mut bits = Bits { bytes, at: 16 };
    let rate = bits.take(2);
    // bsid, reserved, asvc, bsmod
    bits.take(5 + 1 + 1 + 3);
    let (mode, low) = (bits.take(3), bits.take(1));
    bits.take(3);
    let mut channels = dolby_channels(mode, low);
    let mut locations = 0;
    if bits.take(4) > 0 {
        locations = bits.take(9);
        // From the top bit: Lc/Rc, Lrs/Rrs, Cs, Ts, Lsd/Rsd, Lw/Rw, Lvh/Rvh, Cvh, LFE2.
        for (place, added) in [2, 2, 1, 1, 2, 2, 2, 1, 1].into_iter().enumerate() {
            channels += added * (locations >> (8 - place) & 1);
        }
    }
    let audio = AudioInfo {
        sample_rate: dolby_rate(rate).unwrap_or(outer.sample_rate),
        channels,
        channel_configuration: channels::of_dolby(mode, low, locations),
    };
    Ok(("ec-3".to_owned(), audio))
}

fn dolby_rate(code: u32) -> Option<u32> {
    [48_000, 44_100, 32_000].get(code as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bmff::BoxWriter;

    fn entry(kind: &[u8; 4], fields: &[u8], configuration: (&[u8; 4], &[u8])) -> Vec<u8> {
        let mut writer = BoxWriter::new();
        writer.nest(kind, |entry| {
            entry.bytes(fields);
            entry.nest(configuration.0, |inside| inside.bytes(configuration.1));
        });
        writer.into_bytes()
    }

    fn video(kind: &[u8; 4], name: &[u8; 4], configuration: &[u8]) -> String {
        let mut fields = [0; VISUAL_FIELDS];
        fields[25] = 64;
        fields[27] = 36;
        match read_entry(&entry(kind, &fields, (name, configuration)), "track 1") {
            Ok((codec, MediaInfo::Video(_))) => codec,
            other => panic!("{other:?}"),
        }
    }

    fn audio(kind: &[u8; 4], name: &[u8; 4], configuration: &[u8]) -> (String, u32, u32, Option<u8>) {
        let mut fields = [0; AUDIO_FIELDS];
        fields[17] = 2;
        fields[24..26].copy_from_slice(&44_100_u16.to_be_bytes());
        match read_entry(&entry(kind, &fields, (name, configuration)), "track 1") {
            Ok((codec, MediaInfo::Audio(audio))) => (
                codec,
                audio.sample_rate,
                audio.channels,
                audio.channel_configuration,
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn video_codecs_are_named_as_their_specifications_do() {
        // RFC 6381, 3.3: profile, constraints and level in hexadecimal digits.
        assert_eq!(
            video(b"avc1", b"avcC", &[1, 0x42, 0xe0, 0x1e, 0xff]),
            "avc1.42E01E"
        );
        assert_eq!(video(b"avc3", b"avcC", &[1, 0x64, 0x00, 0x28]), "avc3.640028");
        // The examples of ISO/IEC 14496-15, annex E.3: Main profile, progressive, level 3.1; and a High tier of level
        // 5.1 in profile space A.
        let main = [1, 0x01, 0x60, 0, 0, 0, 0xb0, 0, 0, 0, 0, 0, 93];
        assert_eq!(video(b"hvc1", b"hvcC", &main), "hvc1.1.6.L93.B0");
        let high = [1, 0x64, 0x08, 0, 0, 0, 0xb0, 0x23, 0, 0, 0, 0, 153];
        assert_eq!(video(b"hev1", b"hvcC", &high), "hev1.A4.10.H153.B0.23");
        // The AV1 binding, section 5: profile 0, level 3.0 (index 4), Main tier, 10 bits; and profile 2 with 12 bits.
        assert_eq!(video(b"av01", b"av1C", &[0x81, 0x04, 0x40, 0]), "av01.0.04M.10");
        assert_eq!(video(b"av01", b"av1C", &[0x81, 0x4d, 0xe0, 0]), "av01.2.13H.12");
    }

    /// An `esds` whose decoder has this configuration.
    fn esds(object_type: u8, specific: &[u8]) -> Vec<u8> {
        let mut decoder = vec![object_type, 0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        decoder.extend([5, specific.len() as u8]);
        decoder.extend(specific);
        let mut stream = vec![0, 1, 0];
        // A length in four bytes, as many writers have it.
        stream.extend([4, 0x80, 0x80, 0x80, decoder.len() as u8]);
        stream.extend(decoder);
        let mut content = vec![0, 0, 0, 0, 3, stream.len() as u8];
        content.extend(stream);
        content
    }

    #[test]
    fn audio_codecs_have_the_rate_and_channels_of_their_decoders() {
        let mpeg4 = |object_type, specific: &[u8]| audio(b"mp4a", b"esds", &esds(object_type, specific));
        for (object_type, specific, codec, rate, channels, layout) in [
            // AAC-LC, 48 kHz, stereo: 00010 0011 0010 000.
            (0x40, &[0x11, 0x90][..], "mp4a.40.2", 48_000, 2, 2),
            // The same with 5.1 channels at 44.1 kHz: 00010 0100 0110 000.
            (0x40, &[0x12, 0x30], "mp4a.40.2", 44_100, 6, 6),
            // 7.1 with all in front, and with two behind: 00010 0011 0111 000 and 00010 0011 1100 000.
            (0x40, &[0x11, 0xb8], "mp4a.40.2", 48_000, 8, 7),
            (0x40, &[0x11, 0xe0], "mp4a.40.2", 48_000, 8, 12),
            // HE-AAC told in the open: 00101 0110 0010 0011 00010 00, SBR doubles 24 kHz to 48 kHz.
            (0x40, &[0x2b, 0x11, 0x88, 0x00], "mp4a.40.5", 48_000, 2, 2),
            // xHE-AAC has object type 42: 11111 001010, 48 kHz, stereo.
            (0x40, &[0xf9, 0x46, 0x40], "mp4a.40.42", 48_000, 2, 2),
            (0x6b, &[], "mp4a.6B", 44_100, 2, 2),
        ] {
            let expected = (codec.to_owned(), rate, channels, Some(layout));
            assert_eq!(mpeg4(object_type, specific), expected, "{specific:?}");
        }
        assert_eq!(
            audio(b"Opus", b"dOps", &[0, 6, 1, 56, 0, 0, 0xbb, 0x80, 0, 0, 1]),
            ("opus".to_owned(), 48_000, 6, Some(6))
        );
        // 48 kHz, bsid 8, 3/2 channels and the one of low frequencies: 00 01000 000 111 1 01111 00000.
        assert_eq!(
            audio(b"ac-3", b"dac3", &[0x10, 0x3d, 0xe0]),
            ("ac-3".to_owned(), 48_000, 6, Some(6))
        );
        // One independent substream, 48 kHz, bsid 16, 3/2 and low frequencies, one dependent with Lrs/Rrs: 7.1 in all.
        assert_eq!(
            audio(b"ec-3", b"dec3", &[0x10, 0, 0x20, 0x0f, 0x02, 0x80]),
            ("ec-3".to_owned(), 48_000, 8, Some(12))
        );
    }

    #[test]
    fn what_cannot_be_served_is_refused_in_a_line() {
        let refused = |bytes: &[u8]| read_entry(bytes, "track 1").unwrap_err().to_string();
        let fields = [0; VISUAL_FIELDS];
        assert_eq!(
            read_protected(
                &super::Boxes::new(&entry(b"encv", &fields, (b"sinf", &[])), 0)
                    .next()
                    .unwrap()
                    .unwrap(),
                "track 1"
            )
            .unwrap_err()
            .to_string(),
            "missing 'frma' box in the sample entry of track 1"
        );
        assert_eq!(
            refused(&entry(b"vp09", &fields, (b"vpcC", &[]))),
            "track 1: its codec is 'vp09'; this is not supported"
        );
        assert_eq!(
            refused(&entry(b"avc1", &fields, (b"hvcC", &[]))),
            "missing 'avcC' box in the sample entry of track 1"
        );
        assert_eq!(
            refused(&entry(b"avc1", &fields, (b"avcC", &[1, 2]))),
            "box 'avcC' at byte 86 ends in the middle of its fields"
        );
    }
}
