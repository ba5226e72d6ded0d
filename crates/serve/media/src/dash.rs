//! The MPDs of DASH (ISO/IEC 23009-1), both static: of profile `isoff-live` with a SegmentTemplate and SegmentTimeline for
//! each track, and of profile `isoff-on-demand` with the tracks as single files. It writes what a presentation describes, and must not know where that came from or who asks for it.

mod protection;

use crate::index::{AudioInfo, MediaInfo, TrackKind};
use crate::manifest_text::{escaped, push};
use crate::presentation::{Presentation, Rendition, Resource, Subtitles, segments};

use protection::write_protection;

/// The media type of an MPD.
pub const MPD_TYPE: &str = "application/dash+xml";

/// Where initialization segment and segment index of a track lie in its single file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRange {
    /// Bytes of the initialization segment, with which the file begins; above zero.
    pub init_length: u64,
    /// Bytes of both; more than that of the first.
    pub head_length: u64,
}

/// How the MPD says where segments are.
#[derive(Clone, Copy)]
enum Addressing<'r> {
    /// Each has its address.
    Template,
    /// They are ranges of single files, which these are in the order of the renditions.
    SingleFiles(&'r [IndexRange]),
}

/// The MPD of a presentation, profile `isoff-live`. Times in it are exact: those of the segments, in the timescale of their
/// track.
pub fn mpd(presentation: &Presentation) -> String {
    write_mpd(presentation, Addressing::Template)
}

/// The MPD of a presentation, profile `isoff-on-demand`: players read the segment index of each track's single file and ask
/// for ranges. `ranges` has as many entries as the presentation has renditions, in their order, and is of files that have
/// the segments of this presentation and no others.
pub fn on_demand_mpd(presentation: &Presentation, ranges: &[IndexRange]) -> String {
    write_mpd(presentation, Addressing::SingleFiles(ranges))
}

fn write_mpd(presentation: &Presentation, addressing: Addressing<'_>) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let duration = xs_duration(presentation.duration_nanoseconds());
    let buffer = xs_duration(presentation.longest_segment_nanoseconds());
    let profile = match addressing {
        Addressing::Template => "isoff-live",
        Addressing::SingleFiles(_) => "isoff-on-demand",
    };
    push!(
        text,
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:{profile}:2011\" \
             type=\"static\" mediaPresentationDuration=\"{duration}\" minBufferTime=\"{buffer}\">\n  \
             <Period id=\"0\" start=\"PT0S\" duration=\"{duration}\">\n"
    );
    let sets = adaptation_sets(presentation);
    for (number, set) in sets.iter().enumerate() {
        write_set(&mut text, presentation, number, set, addressing);
    }
    for (number, subtitles) in presentation.subtitles().iter().enumerate() {
        write_subtitles(&mut text, presentation, sets.len() + number, subtitles);
    }
    text.push_str("  </Period>\n</MPD>\n");
    text
}

/// Nanoseconds as xs:duration, without zeros at the end.
fn xs_duration(nanoseconds: u64) -> String {
    let mut text = format!(
        "PT{}.{:09}",
        nanoseconds / 1_000_000_000,
        nanoseconds % 1_000_000_000
    );
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    text.push('S');
    text
}

/// Renditions between which a player may switch: of one kind, language, codec, label and roles.
fn adaptation_sets(presentation: &Presentation) -> Vec<Vec<&Rendition>> {
    let mut sets: Vec<Vec<&Rendition>> = Vec::new();
    for kind in [TrackKind::Video, TrackKind::Audio] {
        for rendition in presentation.of_kind(kind) {
            let fits =
                |set: &&mut Vec<&Rendition>| set.first().is_some_and(|first| switches(first, rendition));
            match sets.iter_mut().find(fits) {
                Some(set) => set.push(rendition),
                None => sets.push(vec![rendition]),
            }
        }
    }
    sets
}

fn switches(one: &Rendition, other: &Rendition) -> bool {
    one.info.kind == other.info.kind
        && one.language == other.language
        && family(one) == family(other)
        && one.label == other.label
        && one.roles == other.roles
        && channels(one) == channels(other)
        && one.protection == other.protection
}

/// What a decoder has to be able to in order to switch: the codec without profile and level for video, all of it for
/// audio.
fn family(rendition: &Rendition) -> &str {
    let codec = rendition.info.codec.as_str();
    match rendition.info.kind {
        TrackKind::Video => codec.split('.').next().unwrap_or(codec),
        TrackKind::Audio => codec,
    }
}

fn channels(rendition: &Rendition) -> Option<u32> {
    rendition.info.audio().map(|audio| audio.channels)
}

fn write_set(
    text: &mut String,
    presentation: &Presentation,
    number: usize,
    set: &[&Rendition],
    addressing: Addressing<'_>,
) {
    let Some(first) = set.first() else {
        return;
    };
    let kind = first.folder();
    // Segments of a single file are its subsegments.
    let aligned = match addressing {
        Addressing::Template => "segmentAlignment=\"true\" startWithSAP=\"1\"",
        Addressing::SingleFiles(_) => "subsegmentAlignment=\"true\" subsegmentStartsWithSAP=\"1\"",
    };
    push!(
        text,
        "    <AdaptationSet id=\"{number}\" contentType=\"{kind}\" mimeType=\"{kind}/mp4\" {aligned}"
    );
    if let Some(language) = &first.language {
        push!(text, " lang=\"{}\"", escaped(language));
    }
    text.push_str(">\n");
    if let Some(announcement) = &first.protection {
        write_protection(text, announcement);
    }
    write_label_and_roles(text, first.label.as_deref(), &first.roles, first.default);
    // One timeline for all of them where it is the same, which makes the MPD of a long title several times shorter.
    let is_shared = matches!(addressing, Addressing::Template)
        && set.iter().all(|rendition| same_timeline(rendition, first));
    if is_shared {
        write_template(text, presentation, first, 6);
    }
    for rendition in set {
        let of_its_own = (!is_shared).then_some(addressing);
        write_representation(text, presentation, rendition, of_its_own);
    }
    text.push_str("    </AdaptationSet>\n");
}

fn same_timeline(one: &Rendition, other: &Rendition) -> bool {
    one.segments.timescale == other.segments.timescale
        && one.segments.segments.len() == other.segments.segments.len()
        && segments(one)
            .zip(segments(other))
            .all(|(one, other)| (one.start, one.duration) == (other.start, other.duration))
}

fn write_label_and_roles(text: &mut String, label: Option<&str>, roles: &[String], default: bool) {
    if let Some(label) = label {
        push!(text, "      <Label>{}</Label>\n", escaped(label));
    }
    let main = default && !roles.iter().any(|role| role == "main");
    for role in roles.iter().map(String::as_str).chain(main.then_some("main")) {
        push!(
            text,
            "      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"{}\"/>\n",
            escaped(role)
        );
    }
}

fn write_template(text: &mut String, presentation: &Presentation, rendition: &Rendition, indent: usize) {
    let kind = rendition.folder();
    let timescale = rendition.segments.timescale;
    push!(
        text,
        "{:indent$}<SegmentTemplate timescale=\"{timescale}\" \
             initialization=\"{kind}/$RepresentationID$/init.mp4\" media=\"{kind}/$RepresentationID$/$Time$.m4s\"",
        ""
    );
    let offset = presentation.start_in(timescale);
    if offset > 0 {
        push!(text, " presentationTimeOffset=\"{offset}\"");
    }
    push!(text, ">\n{:indent$}  <SegmentTimeline>\n", "");
    write_timeline(text, rendition, indent + 4);
    push!(
        text,
        "{0:indent$}  </SegmentTimeline>\n{0:indent$}</SegmentTemplate>\n",
        ""
    );
}

/// Segments of equal duration in a row are one entry.
fn write_timeline(text: &mut String, rendition: &Rendition, indent: usize) {
    let mut rest = segments(rendition).peekable();
    let mut is_first = true;
    while let Some(segment) = rest.next() {
        let mut repeated = 0_u32;
        while rest.next_if(|next| next.duration == segment.duration).is_some() {
            repeated += 1;
        }
        push!(text, "{:indent$}<S", "");
        if is_first {
            push!(text, " t=\"{}\"", segment.start);
            is_first = false;
        }
        push!(text, " d=\"{}\"", segment.duration);
        if repeated > 0 {
            push!(text, " r=\"{repeated}\"");
        }
        text.push_str("/>\n");
    }
}

/// `addressing` is how its own segments are addressed; none if the set says it for all.
fn write_representation(
    text: &mut String,
    presentation: &Presentation,
    rendition: &Rendition,
    addressing: Option<Addressing<'_>>,
) {
    let info = &rendition.info;
    push!(
        text,
        "      <Representation id=\"{}\" codecs=\"{}\" bandwidth=\"{}\"",
        escaped(&rendition.name),
        escaped(&info.codec),
        rendition.segments.peak_bitrate()
    );
    let mut configuration = String::new();
    match &info.media {
        MediaInfo::Video(video) => {
            let (x, y) = video.pixel_aspect;
            push!(
                text,
                " width=\"{}\" height=\"{}\" sar=\"{x}:{y}\"",
                video.width,
                video.height
            );
            if let Some(rate) = video.frame_rate {
                match rate.denominator {
                    1 => push!(text, " frameRate=\"{}\"", rate.numerator),
                    below => push!(text, " frameRate=\"{}/{below}\"", rate.numerator),
                }
            }
        }
        MediaInfo::Audio(audio) => {
            push!(text, " audioSamplingRate=\"{}\"", audio.sample_rate);
            configuration = channel_configuration(audio);
        }
    }
    if addressing.is_none() && configuration.is_empty() {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    text.push_str(&configuration);
    match addressing {
        None => {}
        Some(Addressing::Template) => write_template(text, presentation, rendition, 8),
        Some(Addressing::SingleFiles(ranges)) => write_single_file(text, presentation, rendition, ranges),
    }
    text.push_str("      </Representation>\n");
}

/// The element says loudspeakers by an index, not how many channels there are; it is left out where there is no index.
fn channel_configuration(audio: &AudioInfo) -> String {
    audio.channel_configuration.map_or_else(String::new, |index| {
        format!(
            "        <AudioChannelConfiguration \
             schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" value=\"{index}\"/>\n"
        )
    })
}

fn write_single_file(
    text: &mut String,
    presentation: &Presentation,
    rendition: &Rendition,
    ranges: &[IndexRange],
) {
    let mut all = presentation.renditions().iter().zip(ranges);
    let Some((_, range)) = all.find(|(other, _)| std::ptr::eq(*other, rendition)) else {
        return;
    };
    let address = Resource::SingleFile(rendition.info.kind, rendition.name.clone()).path();
    push!(
        text,
        "        <BaseURL>{}</BaseURL>\n        <SegmentBase timescale=\"{}\" indexRange=\"{}-{}\"",
        escaped(&address),
        rendition.segments.timescale,
        range.init_length,
        range.head_length.saturating_sub(1)
    );
    let offset = presentation.start_in(rendition.segments.timescale);
    if offset > 0 {
        push!(text, " presentationTimeOffset=\"{offset}\"");
    }
    push!(
        text,
        ">\n          <Initialization range=\"0-{}\"/>\n        </SegmentBase>\n",
        range.init_length.saturating_sub(1)
    );
}

fn write_subtitles(text: &mut String, presentation: &Presentation, number: usize, subtitles: &Subtitles) {
    push!(
        text,
        "    <AdaptationSet id=\"{number}\" contentType=\"text\" mimeType=\"text/vtt\""
    );
    if let Some(language) = &subtitles.language {
        push!(text, " lang=\"{}\"", escaped(language));
    }
    text.push_str(">\n");
    let usual = ["subtitle".to_owned()];
    let roles = if subtitles.roles.is_empty() {
        &usual[..]
    } else {
        &subtitles.roles
    };
    write_label_and_roles(text, subtitles.label.as_deref(), roles, subtitles.default);
    let address = Resource::SubtitleText(subtitles.name.clone()).path() + presentation.text_query();
    push!(
        text,
        "      <Representation id=\"subtitles-{}\" bandwidth=\"1000\">\n        \
             <BaseURL>{}</BaseURL>\n      </Representation>\n    </AdaptationSet>\n",
        escaped(&subtitles.name),
        escaped(&address)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_and_eight_channels_are_told_by_their_layout() {
        for (channels, index) in [(6, 6), (7, 11), (8, 7), (8, 12)] {
            let audio = AudioInfo {
                sample_rate: 48_000,
                channels,
                channel_configuration: Some(index),
            };
            let element = channel_configuration(&audio);
            assert!(element.ends_with(&format!(" value=\"{index}\"/>\n")), "{element}");
        }
        let unknown = AudioInfo {
            sample_rate: 48_000,
            channels: 8,
            channel_configuration: None,
        };
        assert_eq!(channel_configuration(&unknown), "");
    }

    #[test]
    fn durations_are_those_of_xml_schema() {
        assert_eq!(xs_duration(0), "PT0S");
        assert_eq!(xs_duration(4_004_000_000), "PT4.004S");
        assert_eq!(xs_duration(4_800_000_000_000), "PT4800S");
        assert_eq!(xs_duration(1), "PT0.000000001S");
        assert_eq!(xs_duration(10_000_000_000), "PT10S");
    }
}
