//! Manifests and segments as players see them: ffmpeg plays the MPD and the playlists, and Python's XML parser and a
//! few lines of its own read the same times out of the MPD that the segments have.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::sources::{
    AAC, AC3, AUDIO, AV1, H264, H265, OPUS, VIDEO, hashes, index, make, run, segment as cut,
};
use serde_json::Value;
use weir_media::index::{FileIndex, TrackIndex, TrackKind};
use weir_media::package::{SingleFile, init_segment};
use weir_media::presentation::{Presentation, Rendition, Resource, Subtitles};
use weir_media::segments::SegmentPlan;
use weir_media::{dash, hls};

/// A title of two rungs and two languages, in files of their own.
struct Title {
    folder: tempfile::TempDir,
    sources: Vec<(PathBuf, FileIndex)>,
    presentation: Presentation,
}

const LABEL: &str = "Ton & \"Bild\" <1>";

fn title() -> Title {
    let folder = tempfile::tempdir().unwrap();
    let made: Vec<PathBuf> = [
        ("small.mp4", format!("{VIDEO} {H264} -vf scale=160:90")),
        ("large.mp4", format!("{VIDEO} {H264}")),
        ("en.mp4", format!("{AUDIO} {AAC} -metadata:s:a:0 language=eng")),
        (
            "de.mp4",
            format!("{AUDIO} {AAC} -metadata:s:a:0 language=deu -movflags +frag_keyframe+empty_moov"),
        ),
    ]
    .iter()
    .map(|(name, arguments)| make(folder.path(), name, arguments))
    .collect();
    let sources: Vec<(PathBuf, FileIndex)> = made
        .into_iter()
        .map(|path| {
            let (file, _) = index(&path);
            (path, file)
        })
        .collect();
    let tracks: Vec<&TrackIndex> = sources.iter().map(|(_, file)| &file.tracks[0]).collect();
    let plan = SegmentPlan::new(&tracks[..2], &tracks[2..], Duration::from_secs(4)).unwrap();
    let segments = plan.video.into_iter().chain(plan.other);
    let mut renditions: Vec<Rendition> = ["small", "large", "en", "de"]
        .into_iter()
        .zip(&tracks)
        .zip(segments)
        .map(|((name, track), segments)| Rendition::new(name, track.info().clone(), Arc::new(segments)))
        .collect();
    renditions[2].default = true;
    renditions[3].label = Some(LABEL.to_owned());
    renditions[3].roles = vec!["dub".to_owned()];
    let subtitles = Subtitles {
        name: "fr".to_owned(),
        language: Some("fr".to_owned()),
        label: None,
        roles: Vec::new(),
        default: false,
    };
    let presentation = Presentation::new(renditions, vec![subtitles]).unwrap();
    Title {
        folder,
        sources,
        presentation,
    }
}

fn write(folder: &Path, resource: &Resource, bytes: &[u8]) -> PathBuf {
    let path = folder.join(resource.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// Writes everything that a player may ask for; the paths of MPD and multivariant playlist.
fn write_all(title: &Title, presentation: &Presentation) -> (PathBuf, PathBuf) {
    let put = |resource: Resource, bytes: &[u8]| write(title.folder.path(), &resource, bytes);
    for rendition in presentation.renditions() {
        let place = ["small", "large", "en", "de"]
            .iter()
            .position(|name| *name == rendition.name)
            .unwrap();
        let (path, file) = &title.sources[place];
        let source = fs::read(path).unwrap();
        let track = &file.tracks[0];
        let (kind, name) = (rendition.info.kind, &rendition.name);
        put(Resource::InitSegment(kind, name.clone()), &init_segment(track));
        for (number, segment) in rendition.segments.segments.iter().enumerate() {
            let bytes = cut(track, segment.samples.clone(), number as u32 + 1, &source);
            put(Resource::MediaSegment(kind, name.clone(), segment.start), &bytes);
        }
        let playlist = hls::media_playlist(rendition);
        put(Resource::MediaPlaylist(kind, name.clone()), playlist.as_bytes());
        if kind == TrackKind::Video {
            let playlist = hls::i_frame_playlist(rendition, track).unwrap();
            put(Resource::IFramePlaylist(name.clone()), playlist.as_bytes());
        }
    }
    for Subtitles { name, .. } in presentation.subtitles() {
        let playlist = hls::subtitle_playlist(presentation);
        put(Resource::SubtitlePlaylist(name.clone()), playlist.as_bytes());
        let text = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nBonjour\n";
        put(Resource::SubtitleText(name.clone()), text.as_bytes());
    }
    let mpd = put(Resource::Mpd, dash::mpd(presentation).as_bytes());
    let text = hls::multivariant_playlist(presentation);
    (mpd, put(Resource::MultivariantPlaylist, text.as_bytes()))
}

/// Reads an MPD with Python's XML parser: for each Representation its attributes, those of its set, and its timeline.
const READ_MPD: &str = r#"
import json, sys, xml.etree.ElementTree as tree
NS = "{urn:mpeg:dash:schema:mpd:2011}"
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == NS + "MPD", root.tag
found = {"mpd": dict(root.attrib), "representations": []}
for aset in root.iter(NS + "AdaptationSet"):
    label = aset.find(NS + "Label")
    roles = [role.get("value") for role in aset.findall(NS + "Role")]
    for rep in aset.findall(NS + "Representation"):
        template = rep.find(NS + "SegmentTemplate")
        template = aset.find(NS + "SegmentTemplate") if template is None else template
        entry = {"set": dict(aset.attrib), "label": None if label is None else label.text, "roles": roles,
                 "attributes": dict(rep.attrib), "base": rep.findtext(NS + "BaseURL")}
        if template is not None:
            times, now = [], None
            for s in template.find(NS + "SegmentTimeline"):
                now = int(s.get("t")) if s.get("t") is not None else now
                for _ in range(int(s.get("r", 0)) + 1):
                    times.append([now, int(s.get("d"))])
                    now += int(s.get("d"))
            entry["times"] = times
            entry["template"] = dict(template.attrib)
        found["representations"].append(entry)
json.dump(found, sys.stdout)
"#;

fn read_mpd(path: &Path) -> Value {
    serde_json::from_slice(&run("python3", ["-c", READ_MPD, path.to_str().unwrap()])).unwrap()
}

fn same_frames(played: &Path, options: &str, stream: &str, source: &Path) {
    let found = hashes(played, options, stream, "-vsync passthrough");
    let expected = hashes(source, "", "0:0", "-vsync passthrough");
    assert_eq!(found.len(), expected.len(), "{played:?} {stream}");
    assert!(found == expected, "{played:?} {stream}: other frames");
}

#[test]
fn ffmpeg_plays_the_mpd_and_the_playlists_with_the_frames_of_the_source() {
    let title = title();
    let (mpd, master) = write_all(&title, &title.presentation);
    let large = &title.sources[1].0;
    same_frames(&mpd, "-allowed_extensions ALL", "0:v:1", large);
    same_frames(&mpd, "-allowed_extensions ALL", "0:v:0", &title.sources[0].0);
    same_frames(&master, "-allowed_extensions ALL", "0:v:1", large);
    let folder = title.folder.path();
    for (name, kind, place) in [("large", TrackKind::Video, 1), ("en", TrackKind::Audio, 2)] {
        let playlist = folder.join(Resource::MediaPlaylist(kind, name.to_owned()).path());
        let found = hashes(&playlist, "-allowed_extensions ALL", "0:0", "-c copy");
        let expected = hashes(&title.sources[place].0, "-ignore_editlist 1", "0:0", "-c copy");
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn byte_ranges_of_sync_samples_hold_one_picture_that_can_be_decoded() {
    let title = title();
    write_all(&title, &title.presentation);
    let folder = title.folder.path().join("video/large");
    let playlist = fs::read_to_string(folder.join("iframes.m3u8")).unwrap();
    assert!(playlist.contains("\n#EXT-X-I-FRAMES-ONLY\n"));
    let frames = hashes(&title.sources[1].0, "", "0:0", "-vsync passthrough");
    let mut lines = playlist.lines();
    let mut found = 0;
    while let Some(line) = lines.next() {
        let Some(range) = line.strip_prefix("#EXT-X-BYTERANGE:") else {
            continue;
        };
        let length: usize = range.strip_suffix("@0").unwrap().parse().unwrap();
        let segment = fs::read(folder.join(lines.next().unwrap())).unwrap();
        assert!(length < segment.len());
        let init = fs::read(folder.join("init.mp4")).unwrap();
        let path = folder.join("sync.mp4");
        fs::write(&path, [&init[..], &segment[..length]].concat()).unwrap();
        // What is left of the segment is not there, which ffmpeg remarks upon.
        let shown = hashes(&path, "-v quiet", "0:0", "-frames:v 1");
        // At 0, 4 and 8 s.
        assert_eq!(shown, frames[found * 100..=found * 100]);
        found += 1;
    }
    assert_eq!(found, 3);
}

/// Reads a segment index at a place in a file: earliest presentation time and, for each reference, size and duration.
const READ_SIDX: &str = r#"
import json, struct, sys
data = open(sys.argv[1], "rb").read()[int(sys.argv[2]):int(sys.argv[3]) + 1]
length, kind, version = struct.unpack(">I4sB", data[:9])
assert (length, kind, version) == (len(data), b"sidx", 1)
start, first_offset, _, count = struct.unpack(">QQHH", data[20:40])
assert first_offset == 0 and len(data) == 40 + 12 * count
references = [struct.unpack(">III", data[40 + 12 * n:52 + 12 * n]) for n in range(count)]
json.dump([start, [[size, duration] for size, duration, _ in references]], sys.stdout)
"#;

#[test]
fn single_files_of_the_on_demand_profile_are_indexed_and_play() {
    let title = title();
    let folder = title.folder.path();
    let mut ranges = Vec::new();
    for (rendition, (path, file)) in title.presentation.renditions().iter().zip(&title.sources) {
        let source = fs::read(path).unwrap();
        let track = &file.tracks[0];
        let single = SingleFile::new(track, &rendition.segments).unwrap();
        let mut bytes = single.head.clone();
        for (number, segment) in rendition.segments.segments.iter().enumerate() {
            assert_eq!(single.offsets[number], bytes.len() as u64);
            bytes.extend(cut(track, segment.samples.clone(), number as u32 + 1, &source));
        }
        assert_eq!(single.length(), bytes.len() as u64);
        let resource = Resource::SingleFile(rendition.info.kind, rendition.name.clone());
        assert_eq!(Resource::parse(&resource.path()).as_ref(), Some(&resource));
        let path = write(folder, &resource, &bytes);
        ranges.push(dash::IndexRange {
            init_length: single.init_length,
            head_length: single.head.len() as u64,
        });
        let (from, to) = (
            single.init_length.to_string(),
            (single.head.len() - 1).to_string(),
        );
        let read = run("python3", ["-c", READ_SIDX, path.to_str().unwrap(), &from, &to]);
        let read: Value = serde_json::from_slice(&read).unwrap();
        let expected: Vec<[u64; 2]> = rendition
            .segments
            .segments
            .iter()
            .zip(single.offsets.windows(2))
            .map(|(segment, offsets)| [offsets[1] - offsets[0], segment.duration])
            .collect();
        assert_eq!(read, serde_json::json!([0, expected]));
    }
    same_frames(
        &folder.join("video/large/track.mp4"),
        "",
        "0:0",
        &title.sources[1].0,
    );
    let text = dash::on_demand_mpd(&title.presentation, &ranges);
    let mpd = write(folder, &Resource::OnDemandMpd, text.as_bytes());
    write(folder, &Resource::SubtitleText("fr".to_owned()), b"WEBVTT\n");
    same_frames(&mpd, "-allowed_extensions ALL", "0:v:1", &title.sources[1].0);
    let read = read_mpd(&mpd);
    assert_eq!(
        read["mpd"]["profiles"],
        "urn:mpeg:dash:profile:isoff-on-demand:2011"
    );
    assert_eq!(read["representations"][1]["base"], "video/large/track.mp4");
    let index = format!(
        "indexRange=\"{}-{}\"",
        ranges[1].init_length,
        ranges[1].head_length - 1
    );
    assert!(text.contains(&index), "{text}");
}

#[test]
fn the_mpd_says_what_the_segments_are() {
    let title = title();
    let (mpd, _) = write_all(&title, &title.presentation);
    let read = read_mpd(&mpd);
    assert_eq!(read["mpd"]["type"], "static");
    // AAC's last frame ends behind the last picture.
    let duration = read["mpd"]["mediaPresentationDuration"].as_str().unwrap();
    assert!(duration.starts_with("PT10"), "{duration}");
    let representations = read["representations"].as_array().unwrap();
    let names: Vec<&str> = representations
        .iter()
        .map(|entry| entry["attributes"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["small", "large", "en", "de", "subtitles-fr"]);
    let sets: Vec<&str> = representations
        .iter()
        .map(|entry| entry["set"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(sets, ["0", "0", "1", "2", "3"]);
    assert_eq!(representations[3]["label"], LABEL);
    assert_eq!(representations[3]["roles"][0], "dub");
    assert_eq!(representations[2]["roles"][0], "main");
    assert_eq!(representations[2]["set"]["lang"], "en");
    assert_eq!(representations[3]["set"]["lang"], "de");
    assert_eq!(representations[1]["attributes"]["frameRate"], "25");
    assert_eq!(representations[1]["attributes"]["width"], "320");
    assert_eq!(representations[4]["base"], "subtitles/fr/text.vtt");
    let timescale: u64 = representations[1]["template"]["timescale"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let expected: Vec<Value> = [0, 4, 8]
        .map(|start| {
            let length = if start == 8 { 2 } else { 4 };
            Value::from(vec![start * timescale, length * timescale])
        })
        .to_vec();
    assert_eq!(representations[1]["times"], Value::from(expected));
    for entry in &representations[..4] {
        let mut end = 0;
        for time in entry["times"].as_array().unwrap() {
            assert_eq!(time[0].as_u64().unwrap(), end, "{entry}");
            end += time[1].as_u64().unwrap();
        }
        let bandwidth: u64 = entry["attributes"]["bandwidth"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let timescale: u64 = entry["template"]["timescale"].as_str().unwrap().parse().unwrap();
        // No segment is larger than its bandwidth says.
        let template = entry["template"]["media"].as_str().unwrap();
        for time in entry["times"].as_array().unwrap() {
            let path = template
                .replace("$RepresentationID$", entry["attributes"]["id"].as_str().unwrap())
                .replace("$Time$", &time[0].to_string());
            let bytes = fs::metadata(title.folder.path().join(path)).unwrap().len();
            let duration = time[1].as_u64().unwrap() as f64 / timescale as f64;
            if duration > 2.5 {
                assert!(bytes as f64 * 8.0 / duration <= bandwidth as f64, "{entry}");
            }
        }
    }
}

#[test]
fn the_multivariant_playlist_has_variants_groups_and_languages() {
    let title = title();
    let text = hls::multivariant_playlist(&title.presentation);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    );
    let with = |start: &str| -> Vec<&str> {
        lines
            .iter()
            .copied()
            .filter(|line| line.starts_with(start))
            .collect()
    };
    let audio = with("#EXT-X-MEDIA:TYPE=AUDIO");
    assert_eq!(
        audio,
        [
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio0\",NAME=\"en\",LANGUAGE=\"en\",DEFAULT=YES,AUTOSELECT=YES,\
             CHANNELS=\"2\",URI=\"audio/en/playlist.m3u8\"",
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio0\",NAME=\"Ton & 'Bild' <1>\",LANGUAGE=\"de\",DEFAULT=NO,\
             AUTOSELECT=YES,CHANNELS=\"2\",URI=\"audio/de/playlist.m3u8\"",
        ]
    );
    assert_eq!(with("#EXT-X-MEDIA:TYPE=SUBTITLES").len(), 1);
    let variants = with("#EXT-X-STREAM-INF");
    assert_eq!(variants.len(), 2);
    assert!(
        variants[1]
            .contains(",RESOLUTION=320x180,FRAME-RATE=25.000,AUDIO=\"audio0\",SUBTITLES=\"subtitles\"")
    );
    assert!(variants[1].contains(",mp4a.40.2\""), "{}", variants[1]);
    assert_eq!(with("#EXT-X-I-FRAME-STREAM-INF").len(), 2);
    assert!(lines.contains(&"video/large/playlist.m3u8"));

    let media = hls::media_playlist(&title.presentation.renditions()[0]);
    let timescale = title.presentation.renditions()[0].info.timescale;
    let expected = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n\
         #EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:4.000000,\n0.m4s\n#EXTINF:4.000000,\n{}.m4s\n#EXTINF:2.000000,\n{}.m4s\n\
         #EXT-X-ENDLIST\n",
        4 * timescale,
        8 * timescale
    );
    assert_eq!(media, expected);
}

#[test]
fn both_manifests_name_other_codecs_as_ffprobe_sees_them() {
    let folder = tempfile::tempdir().unwrap();
    // Profile, level and the like are checked against specifications where they are parsed; ffprobe reports the codec
    // and the loudspeakers, followed here by their index in ISO/IEC 23003-3.
    for (arguments, start, shown, loudspeakers) in [
        (format!("{VIDEO} -t 2 {H265}"), "hvc1.", "hevc", None),
        (format!("{VIDEO} -t 2 {AV1}"), "av01.", "av1", None),
        (format!("{AUDIO} {OPUS}"), "opus", "opus", Some(("stereo", 2))),
        (
            format!("{AUDIO} -c:a libopus -b:a 384k -mapping_family 1 -ac 8"),
            "opus",
            "opus",
            Some(("7.1", 12)),
        ),
        (format!("{AUDIO} {AC3}"), "ac-3", "ac3", Some(("stereo", 2))),
        (
            format!("{AUDIO} -c:a eac3 -b:a 384k -ac 6"),
            "ec-3",
            "eac3",
            Some(("5.1(side)", 6)),
        ),
    ] {
        let path = make(
            folder.path(),
            &format!("{shown}-{}.mp4", arguments.len()),
            &arguments,
        );
        let probed = "-v error -of json -show_streams".split(' ').map(str::to_owned);
        let probed = run("ffprobe", probed.chain([path.to_str().unwrap().to_owned()]));
        let probed: Value = serde_json::from_slice(&probed).unwrap();
        let stream = &probed["streams"][0];
        assert_eq!(stream["codec_name"], shown);
        let (file, _) = index(&path);
        let track = &file.tracks[0];
        let (videos, others): (Vec<_>, Vec<_>) = [track]
            .into_iter()
            .partition(|track| track.info().kind == TrackKind::Video);
        let plan = SegmentPlan::new(&videos, &others, Duration::from_secs(4)).unwrap();
        let segments = plan.video.into_iter().chain(plan.other).next().unwrap();
        let rendition = Rendition::new("one", track.info().clone(), Arc::new(segments));
        let presentation = Presentation::new(vec![rendition], Vec::new()).unwrap();
        let mpd = dash::mpd(&presentation);
        let file = folder.path().join("manifest.mpd");
        fs::write(&file, &mpd).unwrap();
        let read = read_mpd(&file);
        let attributes = &read["representations"][0]["attributes"];
        let codec = attributes["codecs"].as_str().unwrap();
        assert!(codec.starts_with(start), "{codec}");
        let master = hls::multivariant_playlist(&presentation);
        assert!(master.contains(&format!("CODECS=\"{codec}\"")), "{master}");
        match loudspeakers {
            None => {
                assert_eq!(attributes["width"], stream["width"].to_string());
                assert_eq!(attributes["height"], stream["height"].to_string());
            }
            Some((layout, configuration)) => {
                assert_eq!(stream["channel_layout"], layout);
                assert_eq!(attributes["audioSamplingRate"], stream["sample_rate"]);
                let told = format!(
                    "<AudioChannelConfiguration schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" \
                     value=\"{configuration}\"/>"
                );
                assert!(mpd.contains(&told), "{mpd}");
            }
        }
    }
}

#[test]
fn cuts_narrow_what_is_offered() {
    let title = title();
    // From 5 s to 7 s lies within the second segment.
    let cut = title.presentation.clip(5_000_000_000, 7_000_000_000).unwrap();
    let timescale = u64::from(cut.renditions()[0].info.timescale);
    assert_eq!(cut.start_in(1), 4);
    for rendition in cut.renditions() {
        assert_eq!(rendition.segments.segments.len(), 1, "{}", rendition.name);
    }
    assert_eq!(cut.renditions()[0].segments.segments[0].start, 4 * timescale);
    let (mpd, _) = write_all(&title, &cut.clone().with_query("start=5&end=7"));
    let read = read_mpd(&mpd);
    let template = &read["representations"][0]["template"];
    assert_eq!(template["presentationTimeOffset"], (4 * timescale).to_string());
    assert!(
        read["mpd"]["mediaPresentationDuration"]
            .as_str()
            .unwrap()
            .starts_with("PT4")
    );
    // Its subtitles are those of the part.
    assert_eq!(cut.span().unwrap().start, 4_000_000_000);
    assert_eq!(title.presentation.span(), None);
    assert_eq!(
        read["representations"][4]["base"],
        "subtitles/fr/text.vtt?start=5&end=7"
    );
    let text = hls::multivariant_playlist(&cut.with_query("start=5&end=7"));
    assert!(
        text.contains("\nvideo/small/playlist.m3u8?start=5&end=7\n"),
        "{text}"
    );
    assert!(title.presentation.clip(2, 2).is_err());
    assert!(title.presentation.clip(60_000_000_000, 61_000_000_000).is_err());
}
