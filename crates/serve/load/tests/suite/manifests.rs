//! Manifests against what ffmpeg wrote beside them, and by hand after ISO/IEC 23009-1 and RFC 8216.

use std::collections::BTreeMap;
use std::path::Path;

use crate::served::encode;
use tempfile::TempDir;
use url::Url;
use weir_load::manifest::{
    self, ManifestError, Media, MediaKind, Presentation, Segments, UrlRange, dash, hls, subsegments,
};

const BASE: &str = "http://host.example/films/one/manifest";

fn base() -> Url {
    Url::parse(BASE).unwrap()
}

/// Six seconds of pictures and sound, written by one of ffmpeg's muxers into a folder.
#[track_caller]
fn made_by_ffmpeg(options: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    encode(folder.path(), options);
    folder
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The segments of all rungs, with playlists read from the folder.
fn all_segments(folder: &Path, presentation: &Presentation) -> Vec<(MediaKind, Segments)> {
    let mut all = Vec::new();
    for set in presentation.periods.iter().flat_map(|period| &period.sets) {
        for rung in &set.rungs {
            let segments = match &rung.media {
                Media::Known(segments) => Segments::clone(segments),
                Media::Playlist(place) => {
                    let text = read(folder, name(place));
                    let base = Url::parse(&place.url()).unwrap();
                    hls::media_playlist(&text, &base).unwrap().segments
                }
                Media::Indexed { .. } => panic!("an index"),
            };
            all.push((set.kind, segments));
        }
    }
    all
}

fn name(place: &UrlRange) -> &str {
    place
        .target
        .strip_prefix("/films/one/")
        .expect("a file beside the manifest")
}

/// Every media file that ffmpeg wrote is listed, byte for byte, once.
#[track_caller]
fn assert_covers(folder: &Path, all: &[(MediaKind, Segments)], except: &[&str]) {
    let mut listed: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for (_, segments) in all {
        let media = segments.list.iter().map(|segment| &segment.place);
        for place in segments.inits.iter().chain(media) {
            let size = std::fs::metadata(folder.join(name(place))).unwrap().len();
            let range = place.range.unwrap_or((0, size - 1));
            listed.entry(name(place).to_owned()).or_default().push(range);
        }
        for key in &segments.keys {
            assert!(folder.join(name(key)).exists(), "{key:?}");
        }
    }
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let found = file.file_name().into_string().unwrap();
        if except.iter().any(|end| found.ends_with(end)) {
            continue;
        }
        let mut ranges = listed
            .remove(&found)
            .unwrap_or_else(|| panic!("{found} is not listed"));
        ranges.sort_unstable();
        let mut next = 0;
        for (first, last) in ranges {
            assert_eq!(first, next, "in {found}");
            next = last + 1;
        }
        assert_eq!(next, file.metadata().unwrap().len(), "of {found}");
    }
    assert_eq!(listed, BTreeMap::new(), "files that are not there");
}

/// Segments follow each other and play six seconds in all.
#[track_caller]
fn assert_six_seconds(all: &[(MediaKind, Segments)]) {
    for (kind, segments) in all {
        let list = &segments.list;
        assert!(list.len() >= 3, "{} segments of {kind:?}", list.len());
        let total: u64 = list.iter().map(|segment| segment.duration_ns).sum();
        assert!(
            (5_900_000_000..=6_200_000_000).contains(&total),
            "{total} ns of {kind:?}"
        );
        for pair in list.windows(2) {
            let end = pair[0].start_ns + pair[0].duration_ns;
            assert!(end.abs_diff(pair[1].start_ns) < 60_000_000, "{pair:?}");
        }
    }
}

#[test]
fn dash_as_ffmpeg_writes_it() {
    let forms = [
        "-use_template 1 -use_timeline 1",
        "-use_template 1 -use_timeline 0",
        "-use_template 0",
        "-single_file 1",
    ];
    for form in forms {
        let folder = made_by_ffmpeg(&format!(
            "-map 0:v -b:v:0 100k -map 0:v -b:v:1 200k -map 1:a -f dash -seg_duration 2 {form} out.mpd"
        ));
        let presentation = manifest::read(&read(folder.path(), "out.mpd"), &base()).unwrap();
        let all = all_segments(folder.path(), &presentation);
        assert_eq!(all.len(), 3, "{form}");
        assert!(!presentation.live);
        let video = presentation.periods[0].first(MediaKind::Video).unwrap();
        assert!(video.rungs.is_sorted_by_key(|rung| rung.bandwidth));
        // ffmpeg writes a last segment of sound behind the end of the period, where nothing but a timeline leads.
        let behind = if form.ends_with("timeline 0") {
            "stream2-00004.m4s"
        } else {
            ".mpd"
        };
        assert_covers(folder.path(), &all, &[".mpd", behind]);
        // Only a timeline says how long each segment really is.
        if form.ends_with("timeline 1") {
            assert_six_seconds(&all);
        }
        let even = |segments: &Segments| {
            segments
                .list
                .iter()
                .all(|segment| segment.duration_ns == 2_000_000_000)
        };
        assert!(
            form.ends_with("timeline 1") || all.iter().all(|(_, segments)| even(segments)),
            "{form}"
        );
    }
}

#[test]
fn hls_as_ffmpeg_writes_it() {
    let key = TempDir::new().unwrap();
    let information = key.path().join("key_information");
    std::fs::write(key.path().join("film.key"), [7; 16]).unwrap();
    std::fs::write(
        &information,
        format!("film.key\n{}\n", key.path().join("film.key").display()),
    )
    .unwrap();
    let encrypted = format!("-hls_key_info_file {}", information.display());
    let forms = [
        "-hls_segment_filename %v_%d.ts",
        "-hls_segment_type fmp4 -hls_fmp4_init_filename init_%v.mp4 -hls_segment_filename %v_%d.m4s",
        "-hls_flags single_file -hls_segment_filename %v.ts",
        "-hls_flags single_file -hls_segment_type fmp4 -hls_segment_filename %v.mp4",
        &format!("{encrypted} -hls_segment_filename %v_%d.ts"),
    ];
    for form in forms {
        let folder = made_by_ffmpeg(&format!(
            "-map 0:v -map 1:a -b:v 200k -f hls -hls_time 2 -hls_playlist_type vod -master_pl_name master.m3u8 \
             -var_stream_map v:0,agroup:sound,name:v~a:0,agroup:sound,name:a {form} %v.m3u8"
        ));
        std::fs::write(folder.path().join("film.key"), [7; 16]).unwrap();
        let presentation = manifest::read(&read(folder.path(), "master.m3u8"), &base()).unwrap();
        let kinds: Vec<MediaKind> = presentation.periods[0].sets.iter().map(|set| set.kind).collect();
        assert_eq!(kinds, [MediaKind::Video, MediaKind::Audio], "{form}");
        let all = all_segments(folder.path(), &presentation);
        assert_covers(folder.path(), &all, &[".m3u8", ".key"]);
        assert_six_seconds(&all);
        let keys = form.contains("key_info");
        assert!(
            all.iter().all(|(_, segments)| segments.keys.is_empty() != keys),
            "{form}"
        );
    }
}

#[test]
fn an_index_as_ffmpeg_writes_it() {
    let folder =
        made_by_ffmpeg("-map 0:v -movflags frag_keyframe+empty_moov+default_base_moof+global_sidx out.mp4");
    let file = read(folder.path(), "out.mp4");
    let at = file.windows(4).position(|window| window == b"sidx").unwrap() - 4;
    let length = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let mpd = format!(
        "<MPD mediaPresentationDuration=\"PT6S\"><Period><AdaptationSet contentType=\"video\">\
         <Representation id=\"1\" bandwidth=\"1\"><BaseURL>out.mp4</BaseURL><SegmentBase indexRange=\"{at}-{}\">\
         <Initialization range=\"0-{}\"/></SegmentBase></Representation></AdaptationSet></Period></MPD>",
        at + length - 1,
        at - 1
    );
    let presentation = dash::presentation(&mpd, &base()).unwrap();
    let Media::Indexed { index, init } = &presentation.periods[0].sets[0].rungs[0].media else {
        panic!("no index");
    };
    let segments = subsegments(&file[at..at + length], index, init.as_ref()).unwrap();
    assert_eq!(segments.list.len(), 3);
    assert_eq!(segments.inits, [init.clone().unwrap()]);
    for segment in &segments.list {
        let (first, last) = segment.place.range.unwrap();
        assert_eq!(&file[first as usize + 4..first as usize + 8], b"moof");
        assert!((last as usize) < file.len());
        assert_eq!(segment.duration_ns, 2_000_000_000);
    }
    for cut in 0..length {
        assert!(subsegments(&file[at..at + cut], index, None).is_err());
    }
}

fn addresses(segments: &Segments) -> Vec<String> {
    segments.list.iter().map(|segment| segment.place.url()).collect()
}

fn first_known(presentation: &Presentation) -> &Segments {
    match &presentation.periods[0].sets[0].rungs[0].media {
        Media::Known(segments) => segments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn templates_of_the_standard() {
    let mpd = |template: &str| {
        format!(
            "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
             mediaPresentationDuration=\"PT10S\"><BaseURL>https://cdn.example:8443/a/</BaseURL><Period>\
             <AdaptationSet mimeType=\"video/mp4\"><BaseURL>b/</BaseURL>{template}\
             <Representation id=\"v&amp;1\" bandwidth=\"500\"/></AdaptationSet></Period></MPD>"
        )
    };
    let read = |template: &str| {
        let presentation = dash::presentation(&mpd(template), &base()).unwrap();
        addresses(first_known(&presentation))
    };
    let here = "https://cdn.example:8443/a/b/";
    let numbered = read(
        "<SegmentTemplate duration=\"4\" media=\"$RepresentationID$-$Number%05d$-$$.m4s?x=$Bandwidth$\"/>",
    );
    assert_eq!(numbered[0], format!("{here}v&1-00001-$.m4s?x=500"));
    // 10 s in segments of 4 s: three, the last of them shorter.
    assert_eq!(numbered.len(), 3);
    // Times, a repetition, a gap, and a repetition until the end of the period.
    let timeline = "<SegmentTemplate timescale=\"10\" media=\"$Time$\"><SegmentTimeline><S t=\"0\" d=\"20\" r=\"1\"/>\
        <S d=\"10\"/><S t=\"60\" d=\"20\" r=\"-1\"/></SegmentTimeline></SegmentTemplate>";
    let times: Vec<String> = read(timeline)
        .iter()
        .map(|url| url[here.len()..].to_owned())
        .collect();
    assert_eq!(times, ["0", "20", "40", "60", "80"]);
    let limited =
        read("<SegmentTemplate duration=\"1\" startNumber=\"7\" endNumber=\"9\" media=\"$Number$\"/>");
    assert_eq!(limited.len(), 3);
}

#[test]
fn several_periods_and_what_they_inherit() {
    let text = "<MPD mediaPresentationDuration=\"PT20S\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">\
        <Period duration=\"PT6S\"><AdaptationSet contentType=\"audio\" lang=\"de\">\
        <SegmentTemplate timescale=\"1000\" media=\"1/$Number$\" initialization=\"1/init\" duration=\"2000\"/>\
        <Representation id=\"a\" bandwidth=\"2\"><SegmentTemplate startNumber=\"5\"/></Representation>\
        </AdaptationSet></Period>\
        <Period xlink:href=\"elsewhere\" start=\"PT6S\"><AdaptationSet><ContentComponent contentType=\"audio\"/>\
        <SegmentList duration=\"7\"><Initialization sourceURL=\"2/init\"/><SegmentURL media=\"2/a\"/>\
        <SegmentURL media=\"2/b\" mediaRange=\"10-19\"/></SegmentList>\
        <Representation id=\"b\" bandwidth=\"1\"/></AdaptationSet>\
        <AdaptationSet mimeType=\"image/jpeg\"><Representation id=\"t\" bandwidth=\"1\"/></AdaptationSet></Period></MPD>";
    let presentation = dash::presentation(text, &base()).unwrap();
    assert_eq!(presentation.periods.len(), 2);
    assert_eq!(presentation.periods[1].sets.len(), 1);
    let first = first_known(&presentation);
    let here = "http://host.example/films/one/";
    assert_eq!(
        addresses(first),
        [5, 6, 7].map(|number| format!("{here}1/{number}"))
    );
    assert_eq!(first.inits[0].url(), format!("{here}1/init"));
    let Media::Known(second) = &presentation.periods[1].sets[0].rungs[0].media else {
        panic!("no list");
    };
    assert_eq!(addresses(second), [format!("{here}2/a"), format!("{here}2/b")]);
    assert_eq!(second.list[1].place.range, Some((10, 19)));
    assert_eq!(
        (second.list[1].start_ns, second.list[1].duration_ns),
        (7_000_000_000, 7_000_000_000)
    );
}

#[test]
fn what_cannot_be_played_is_refused() {
    let set = |content: &str| {
        format!(
            "<MPD mediaPresentationDuration=\"PT10S\"><Period><AdaptationSet mimeType=\"video/mp4\">\
             <Representation id=\"1\" bandwidth=\"1\">{content}</Representation></AdaptationSet></Period></MPD>"
        )
    };
    let refused = |text: &str| {
        manifest::read(text.as_bytes(), &base())
            .expect_err(text)
            .to_string()
    };
    assert!(refused("<MPD").starts_with("the MPD is not XML"));
    assert!(refused("<a>&lol;</a>").starts_with("the MPD is not XML"));
    assert_eq!(refused("<html/>"), "the manifest has no MPD element");
    assert_eq!(
        refused("<MPD/>"),
        "the manifest has no period with audio or video"
    );
    assert_eq!(
        refused(&set("<SegmentTemplate duration=\"1\"/>")),
        "the manifest has no media template"
    );
    assert_eq!(
        refused(&set("<SegmentTemplate media=\"$Number$\"/>")),
        "the manifest has no SegmentTimeline or segment duration"
    );
    assert_eq!(
        refused(&set("<SegmentTemplate duration=\"1\" media=\"$Numb$\"/>")),
        "'$Numb$' is not a valid value of a template"
    );
    assert_eq!(
        refused(&set(
            "<SegmentTemplate duration=\"1\" timescale=\"1000000000\" media=\"$Number$\"/>"
        )),
        "the manifest has too many segments"
    );
    assert_eq!(
        refused(&set("<BaseURL>ftp://x/</BaseURL>")),
        "'ftp://x/' is not an http or https URL"
    );
    assert_eq!(refused("hello"), "it is neither an MPD nor an HLS playlist");
    assert_eq!(refused("#EXTM3U\n"), "the manifest has no segments");
    assert_eq!(
        refused("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"),
        "the manifest has no variant with a URI"
    );
    assert_eq!(
        refused("#EXTM3U\nno.ts\n"),
        "the manifest has no EXTINF before a segment"
    );
    assert_eq!(
        refused("#EXTM3U\n#EXTINF:-1,\nno.ts\n"),
        "'-1,' is not a valid value of EXTINF"
    );
    let deep = format!("<MPD>{}", "<a>".repeat(100));
    assert_eq!(refused(&deep), "the manifest has too many nested elements");
    assert_eq!(
        manifest::read(&vec![b' '; manifest::MOST_BYTES + 1], &base()),
        Err(ManifestError::TooLong)
    );
}

#[test]
fn playlists_of_the_rfc() {
    // RFC 8216, 8.4 and 8.5, shortened, with renditions of sound that one variant has twice.
    let text = b"#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"aac\",NAME=\"English\",LANGUAGE=\"en\",URI=\"main/en.m3u8\"\n\
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subs\",NAME=\"Deutsch\",LANGUAGE=\"de\",URI=\"de.m3u8\"\n\
        #EXT-X-STREAM-INF:BANDWIDTH=7680000,CODECS=\"avc1\",AUDIO=\"aac\"\nhi.m3u8\n\
        #EXT-X-STREAM-INF:BANDWIDTH=1280000,CODECS=\"avc1\",AUDIO=\"aac\"\nlow.m3u8\n\
        #EXT-X-STREAM-INF:BANDWIDTH=1280000,CODECS=\"avc1\",AUDIO=\"aac\"\nlow.m3u8\n\
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=86000,URI=\"iframe.m3u8\"\n";
    let presentation = manifest::read(text, &base()).unwrap();
    let sets = &presentation.periods[0].sets;
    let found: Vec<_> = sets.iter().map(|set| (set.kind, set.rungs.len())).collect();
    assert_eq!(
        found,
        [
            (MediaKind::Video, 2),
            (MediaKind::Audio, 1),
            (MediaKind::Subtitle, 1)
        ]
    );
    assert_eq!(sets[0].rungs[0].bandwidth, 1_280_000);
    // 4.3.2.2, 4.3.2.4, 4.3.2.5: ranges that go on, keys that change and end, an initialization segment in a range.
    let text =
        b"#EXTM3U\n#EXT-X-MAP:URI=\"all.mp4\",BYTERANGE=\"700@0\"\n#EXT-X-KEY:METHOD=AES-128,URI=\"k1\"\n\
        #EXTINF:2.5,\n#EXT-X-BYTERANGE:100@700\nall.mp4\n#EXTINF:2.5,\n#EXT-X-BYTERANGE:50\nall.mp4\n\
        #EXT-X-KEY:METHOD=NONE\n#EXTINF:2,\nlast.mp4\n#EXT-X-ENDLIST\n";
    let playlist = hls::media_playlist(text, &base()).unwrap();
    let list = &playlist.segments.list;
    let ranges: Vec<_> = list.iter().map(|segment| segment.place.range).collect();
    assert_eq!(ranges, [Some((700, 799)), Some((800, 849)), None]);
    assert_eq!(
        list.iter().map(|segment| segment.key).collect::<Vec<_>>(),
        [Some(0), Some(0), None]
    );
    assert_eq!(playlist.segments.inits[0].range, Some((0, 699)));
    assert_eq!((list[2].start_ns, playlist.live), (5_000_000_000, false));
    assert!(hls::media_playlist(b"#EXTM3U\n#EXTINF:1,\n#EXT-X-BYTERANGE:5\na\n", &base()).is_err());
    // 4.3.2.3 is of the segment that follows; 4.3.3.3 is of the playlist.
    let text = b"#EXTM3U\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXTINF:1,\na\n#EXT-X-DISCONTINUITY\n#EXTINF:1,\nb\n#EXTINF:1,\nc\n";
    let list = hls::media_playlist(text, &base()).unwrap().segments.list;
    let anew: Vec<bool> = list.iter().map(|segment| segment.starts_anew).collect();
    assert_eq!(anew, [false, true, false]);
}
