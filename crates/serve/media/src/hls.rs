//! Playlists of HLS (RFC 8216, and its second edition draft-pantos-hls-rfc8216bis): multivariant, media, sync samples and
//! subtitles, of version 7 with fragmented MP4. It writes what a presentation describes, and must not know where that came
//! from or who asks for it.

mod keys;

use std::collections::HashSet;

use crate::encryption::Announcement;
use crate::index::{TrackIndex, TrackKind};
use crate::manifest_text::{push, quoted};
use crate::package::{PackageError, media_segment};
use crate::presentation::{Presentation, Rendition, Resource, segments};

use keys::{KEY, SESSION_KEY, write_keys};

/// The media type of a playlist.
pub const PLAYLIST_TYPE: &str = "application/vnd.apple.mpegurl";

const HEAD: &str = "#EXTM3U\n#EXT-X-VERSION:7\n";
const SUBTITLES: &str = "subtitles";

/// Audio renditions that a variant can be played with: one codec and number of channels, and of each language and label
/// one.
struct AudioGroup<'p> {
    id: String,
    members: Vec<&'p Rendition>,
}

impl AudioGroup<'_> {
    fn takes(&self, rendition: &Rendition) -> bool {
        let alike = self.members.first().is_none_or(|first| {
            first.info.codec == rendition.info.codec && first.info.media == rendition.info.media
        });
        let is_new = |member: &&Rendition| {
            (&member.language, &member.label, &member.roles)
                != (&rendition.language, &rendition.label, &rendition.roles)
        };
        alike && self.members.iter().all(is_new)
    }

    fn peak(&self) -> u64 {
        let peaks = self.members.iter().map(|member| member.segments.peak_bitrate());
        peaks.max().unwrap_or(0)
    }

    fn average(&self) -> u64 {
        let averages = self
            .members
            .iter()
            .map(|member| member.segments.average_bitrate());
        averages.max().unwrap_or(0)
    }

    fn codec(&self) -> Option<&str> {
        self.members.first().map(|member| member.info.codec.as_str())
    }
}

fn audio_groups(presentation: &Presentation) -> Vec<AudioGroup<'_>> {
    let mut groups: Vec<AudioGroup<'_>> = Vec::new();
    for rendition in presentation.of_kind(TrackKind::Audio) {
        match groups.iter_mut().find(|group| group.takes(rendition)) {
            Some(group) => group.members.push(rendition),
            None => groups.push(AudioGroup {
                id: format!("audio{}", groups.len()),
                members: vec![rendition],
            }),
        }
    }
    groups
}

/// The multivariant playlist: each video track with each group of audio. A presentation without video has its first audio
/// group's first track as the variant.
pub fn multivariant_playlist(presentation: &Presentation) -> String {
    let mut text = String::from(HEAD);
    text.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
    write_session_keys(&mut text, presentation);
    let groups = audio_groups(presentation);
    let has_video = presentation.of_kind(TrackKind::Video).next().is_some();
    for group in &groups {
        write_audio_group(&mut text, presentation, group);
    }
    write_subtitle_group(&mut text, presentation);
    for video in presentation.of_kind(TrackKind::Video) {
        if groups.is_empty() {
            write_variant(&mut text, presentation, video, None);
        }
        for group in &groups {
            write_variant(&mut text, presentation, video, Some(group));
        }
    }
    if !has_video {
        for group in &groups {
            write_audio_variant(&mut text, presentation, group);
        }
    }
    for video in presentation.of_kind(TrackKind::Video) {
        write_i_frame_variant(&mut text, presentation, video);
    }
    text
}

/// The keys of all tracks, each once.
fn write_session_keys(text: &mut String, presentation: &Presentation) {
    let mut written: Vec<&Announcement> = Vec::new();
    for rendition in presentation.renditions() {
        if let Some(announcement) = rendition.protection.as_deref()
            && !written.contains(&announcement)
        {
            write_keys(text, SESSION_KEY, announcement);
            written.push(announcement);
        }
    }
}

fn playlist_address(presentation: &Presentation, rendition: &Rendition) -> String {
    let resource = Resource::MediaPlaylist(rendition.info.kind, rendition.name.clone());
    resource.path() + presentation.query()
}

/// Names for a menu, each different from the others: label, language or name of the track.
fn menu_name(taken: &mut HashSet<String>, label: Option<&str>, language: Option<&str>, name: &str) -> String {
    let wanted = label.or(language).unwrap_or(name).to_owned();
    let given = if taken.contains(&wanted) {
        format!("{wanted} ({name})")
    } else {
        wanted
    };
    taken.insert(given.clone());
    given
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}

/// What renditions of sound and of subtitles begin with.
fn write_rendition(text: &mut String, kind: &str, group: &str, name: &str, language: Option<&str>) {
    push!(
        text,
        "#EXT-X-MEDIA:TYPE={kind},GROUP-ID={},NAME={}",
        quoted(group),
        quoted(name)
    );
    if let Some(language) = language {
        push!(text, ",LANGUAGE={}", quoted(language));
    }
}

fn write_audio_group(text: &mut String, presentation: &Presentation, group: &AudioGroup<'_>) {
    let mut taken = HashSet::new();
    let default = group
        .members
        .iter()
        .position(|member| member.default)
        .unwrap_or(0);
    for (place, member) in group.members.iter().enumerate() {
        let language = member.language.as_deref();
        let name = menu_name(&mut taken, member.label.as_deref(), language, &member.name);
        write_rendition(text, "AUDIO", &group.id, &name, language);
        push!(text, ",DEFAULT={},AUTOSELECT=YES", yes_or_no(place == default));
        if member.roles.iter().any(|role| role == "description") {
            text.push_str(",CHARACTERISTICS=\"public.accessibility.describes-video\"");
        }
        if let Some(audio) = member.info.audio() {
            push!(text, ",CHANNELS=\"{}\"", audio.channels);
        }
        let address = playlist_address(presentation, member);
        push!(text, ",URI={}\n", quoted(&address));
    }
}

fn write_subtitle_group(text: &mut String, presentation: &Presentation) {
    let mut taken = HashSet::new();
    for subtitles in presentation.subtitles() {
        let language = subtitles.language.as_deref();
        let name = menu_name(&mut taken, subtitles.label.as_deref(), language, &subtitles.name);
        write_rendition(text, "SUBTITLES", SUBTITLES, &name, language);
        let forced = subtitles.roles.iter().any(|role| role == "forced-subtitle");
        let address = Resource::SubtitlePlaylist(subtitles.name.clone()).path() + presentation.query();
        push!(
            text,
            ",DEFAULT={},AUTOSELECT=YES,FORCED={},URI={}\n",
            yes_or_no(subtitles.default),
            yes_or_no(forced),
            quoted(&address)
        );
    }
}

/// What variants with pictures have in common: picture size, after codecs.
fn write_resolution(text: &mut String, video: &Rendition) {
    if let Some(picture) = video.info.video() {
        push!(text, ",RESOLUTION={}x{}", picture.width, picture.height);
    }
}

fn write_variant(
    text: &mut String,
    presentation: &Presentation,
    video: &Rendition,
    audio: Option<&AudioGroup<'_>>,
) {
    let (audio_peak, audio_average) = audio.map_or((0, 0), |group| (group.peak(), group.average()));
    let peak = video.segments.peak_bitrate().saturating_add(audio_peak);
    let average = video.segments.average_bitrate().saturating_add(audio_average);
    let codecs: Vec<&str> = [Some(video.info.codec.as_str()), audio.and_then(AudioGroup::codec)]
        .into_iter()
        .flatten()
        .collect();
    push!(
        text,
        "#EXT-X-STREAM-INF:BANDWIDTH={peak},AVERAGE-BANDWIDTH={average},CODECS={}",
        quoted(&codecs.join(","))
    );
    write_resolution(text, video);
    if let Some(rate) = video.info.video().and_then(|picture| picture.frame_rate) {
        let rate = f64::from(rate.numerator) / f64::from(rate.denominator);
        push!(text, ",FRAME-RATE={rate:.3}");
    }
    if let Some(group) = audio {
        push!(text, ",AUDIO={}", quoted(&group.id));
    }
    write_subtitle_reference(text, presentation);
    push!(text, "\n{}\n", playlist_address(presentation, video));
}

fn write_subtitle_reference(text: &mut String, presentation: &Presentation) {
    if !presentation.subtitles().is_empty() {
        push!(text, ",SUBTITLES={}", quoted(SUBTITLES));
    }
}

fn write_audio_variant(text: &mut String, presentation: &Presentation, group: &AudioGroup<'_>) {
    let Some(first) = group.members.first() else {
        return;
    };
    push!(
        text,
        "#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},CODECS={},AUDIO={}",
        group.peak(),
        group.average(),
        quoted(&first.info.codec),
        quoted(&group.id)
    );
    write_subtitle_reference(text, presentation);
    push!(text, "\n{}\n", playlist_address(presentation, first));
}

fn write_i_frame_variant(text: &mut String, presentation: &Presentation, video: &Rendition) {
    // The size of sync samples is not known here; that of all samples is more than enough for them.
    push!(
        text,
        "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH={},CODECS={}",
        video.segments.peak_bitrate(),
        quoted(&video.info.codec)
    );
    write_resolution(text, video);
    let address = Resource::IFramePlaylist(video.name.clone()).path() + presentation.query();
    push!(text, ",URI={}\n", quoted(&address));
}

/// A time in these parts of a second, rounded to the nearest.
fn rounded(time: u64, timescale: u32, parts: u32) -> u128 {
    let timescale = u128::from(timescale.max(1));
    (u128::from(time) * u128::from(parts) + timescale / 2) / timescale
}

/// Seconds with six decimals from one time to another. Both are rounded, not their difference, so that the sum of all
/// durations stays that of the whole however many there are.
fn seconds(start: u64, end: u64, timescale: u32) -> String {
    let microseconds = |time: u64| rounded(time, timescale, 1_000_000);
    let length = microseconds(end).saturating_sub(microseconds(start));
    format!("{}.{:06}", length / 1_000_000, length % 1_000_000)
}

/// The least whole number of seconds that no segment is longer than when it is rounded (RFC 8216, 4.3.3.1).
fn target_duration(rendition: &Rendition) -> u128 {
    rounded(rendition.segments.longest(), rendition.segments.timescale, 1).max(1)
}

/// How the playlist of a track begins: what it is of, the keys, which count for the initialization segment too where it is
/// encrypted, and that segment.
fn track_head(rendition: &Rendition, of: &str) -> String {
    let target = target_duration(rendition);
    let mut text = format!(
        "{HEAD}#EXT-X-TARGETDURATION:{target}\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n{of}"
    );
    if let Some(announcement) = &rendition.protection {
        write_keys(&mut text, KEY, announcement);
    }
    text.push_str("#EXT-X-MAP:URI=\"init.mp4\"\n");
    text
}

/// The media playlist of a track. Addresses in it are relative to its own.
pub fn media_playlist(rendition: &Rendition) -> String {
    let mut text = track_head(rendition, "");
    for segment in segments(rendition) {
        let length = seconds(segment.start, segment.end(), rendition.segments.timescale);
        push!(text, "#EXTINF:{length},\n{}.m4s\n", segment.start);
    }
    text.push_str("#EXT-X-ENDLIST\n");
    text
}

/// The playlist of a video track's sync samples (RFC 8216, 4.3.3.6): the first sample of each segment, as the byte range
/// of the segment that has its headers and that sample. Of an encrypted segment nobody knows that range before the segment
/// is made, and none could be decrypted where it is encrypted as a whole: there the sample is a segment of its own. `track` is the index of this rendition's track.
///
/// # Errors
///
/// Segments that the track does not have.
pub fn i_frame_playlist(rendition: &Rendition, track: &TrackIndex) -> Result<String, PackageError> {
    let mut text = track_head(rendition, "#EXT-X-I-FRAMES-ONLY\n");
    for segment in segments(rendition) {
        let length = seconds(segment.start, segment.end(), rendition.segments.timescale);
        if rendition.protection.is_some() {
            push!(text, "#EXTINF:{length},\nsync-{}.m4s\n", segment.start);
            continue;
        }
        let headers = media_segment(track, segment.samples.clone(), 1)?.header.len() as u64;
        let first = track.samples().get(segment.samples.start);
        let range = headers + first.map_or(0, |sample| u64::from(sample.size));
        push!(
            text,
            "#EXTINF:{length},\n#EXT-X-BYTERANGE:{range}@0\n{}.m4s\n",
            segment.start
        );
    }
    text.push_str("#EXT-X-ENDLIST\n");
    Ok(text)
}

/// The playlist of subtitles: all of them as one segment as long as the presentation.
pub fn subtitle_playlist(presentation: &Presentation) -> String {
    let duration = presentation.duration_nanoseconds();
    let microseconds = duration / 1000;
    format!(
        "{HEAD}#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n\
         #EXTINF:{}.{:06},\ntext.vtt{}\n#EXT-X-ENDLIST\n",
        duration.div_ceil(1_000_000_000).max(1),
        microseconds / 1_000_000,
        microseconds % 1_000_000,
        presentation.text_query()
    )
}
