//! Every form of manifest that is understood, packaged by ffmpeg, served by nginx, and played: the account is nginx's own
//! log to the request and the byte, and the log names what only that form asks for.

use std::path::Path;

use crate::served::{Line, Nginx, compare, eight, ffmpeg, play};
use tempfile::TempDir;
use weir_load::engine::Config;
use weir_load::viewer::Play;

/// A folder with a title that ffmpeg has made as `arguments` say.
fn title(arguments: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    ffmpeg(folder.path(), arguments);
    folder
}

fn text(folder: &TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap()
}

/// Plays it as fast as answers come and in real time.
#[track_caller]
fn both(folder: &TempDir, name: &str, change: impl Fn(&mut Config)) -> Vec<Line> {
    let mut lines = compare(folder.path(), "", "", &change, name, Play::Loop);
    lines.extend(compare(folder.path(), "", "", &change, name, Play::RealTime));
    lines
}

fn asked(lines: &[Line], part: &str) -> bool {
    lines.iter().any(|line| line.path.contains(part))
}

/// Whether all media were asked for by ranges of bytes.
fn by_ranges(lines: &[Line]) -> bool {
    let mut media = lines
        .iter()
        .filter(|line| !line.path.ends_with(".mpd") && !line.path.ends_with(".m3u8"));
    media.all(|line| line.status == 206)
}

#[test]
fn dash_with_numbers_and_no_timeline() {
    let folder = title("-f dash -seg_duration 2 -use_timeline 0 -use_template 1 list.mpd");
    let manifest = text(&folder, "list.mpd");
    assert!(manifest.contains("$Number") && !manifest.contains("<SegmentTimeline"));
    let lines = both(&folder, "list.mpd", |_| ());
    assert!(asked(&lines, "chunk-stream1-00003.m4s"));
}

#[test]
fn dash_with_lists_of_segments() {
    let files = title("-f dash -seg_duration 2 -use_timeline 0 -use_template 0 list.mpd");
    let manifest = text(&files, "list.mpd");
    assert!(manifest.contains("<SegmentURL media="), "{manifest}");
    assert!(asked(
        &both(&files, "list.mpd", |_| ()),
        "chunk-stream0-00003.m4s"
    ));
    // All segments in one file, by ranges.
    let ranges = title("-f dash -seg_duration 2 -use_timeline 0 -use_template 0 -single_file 1 list.mpd");
    let manifest = text(&ranges, "list.mpd");
    assert!(manifest.contains("mediaRange="), "{manifest}");
    assert!(by_ranges(&both(&ranges, "list.mpd", |_| ())));
}

/// First and last byte of the segment index of a file.
fn index_range(path: &Path) -> (usize, usize) {
    let bytes = std::fs::read(path).unwrap();
    let mut at = 0;
    loop {
        let length = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        if &bytes[at + 4..at + 8] == b"sidx" {
            return (at, at + length - 1);
        }
        at += length;
    }
}

#[test]
fn dash_with_an_index_in_the_file() {
    let movie = "-movflags +dash+global_sidx+frag_keyframe -frag_duration 2000000 -f mp4";
    let folder = title(&format!("-an {movie} pictures.mp4"));
    let (first, last) = index_range(&folder.path().join("pictures.mp4"));
    let manifest = format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT6S\"><Period><AdaptationSet \
         mimeType=\"video/mp4\"><Representation id=\"v\" bandwidth=\"300000\"><BaseURL>pictures.mp4</BaseURL><SegmentBase \
         indexRange=\"{first}-{last}\"><Initialization range=\"0-{}\"/></SegmentBase></Representation></AdaptationSet>\
         </Period></MPD>",
        first - 1
    );
    std::fs::write(folder.path().join("list.mpd"), manifest).unwrap();
    assert!(by_ranges(&both(&folder, "list.mpd", |_| ())));
}

#[test]
fn dash_of_several_periods() {
    let folder = TempDir::new().unwrap();
    let mut periods = String::new();
    let mut head = String::new();
    for name in ["first", "second"] {
        let at = folder.path().join(name);
        std::fs::create_dir(&at).unwrap();
        ffmpeg(
            &at,
            "-f dash -seg_duration 2 -use_timeline 0 -use_template 1 list.mpd",
        );
        let manifest = std::fs::read_to_string(at.join("list.mpd")).unwrap();
        let (before, rest) = manifest.split_once("<Period").unwrap();
        let (_, rest) = rest.split_once('>').unwrap();
        let (period, _) = rest.split_once("</Period>").unwrap();
        periods.push_str(&format!(
            "<Period id=\"{name}\" duration=\"PT6S\"><BaseURL>{name}/</BaseURL>{period}</Period>"
        ));
        head = before.replace("PT6.0S", "PT12S");
    }
    std::fs::write(folder.path().join("list.mpd"), format!("{head}{periods}</MPD>")).unwrap();
    // Looked into: the media of both periods begin at 0.
    let lines = both(&folder, "list.mpd", |_| ());
    assert!(asked(&lines, "/first/chunk-stream0-00003.m4s"));
    assert!(asked(&lines, "/second/chunk-stream1-00003.m4s"));
}

#[test]
fn hls_with_transport_streams() {
    let files = title("-f hls -hls_time 2 -hls_playlist_type vod -hls_segment_filename s%d.ts list.m3u8");
    assert!(asked(&both(&files, "list.m3u8", |_| ()), "/s2.ts"));
    let ranges = title(
        "-f hls -hls_time 2 -hls_playlist_type vod -hls_flags single_file -hls_segment_filename s.ts list.m3u8",
    );
    assert!(text(&ranges, "list.m3u8").contains("#EXT-X-BYTERANGE"));
    assert!(by_ranges(&both(&ranges, "list.m3u8", |_| ())));
}

#[test]
fn hls_with_a_discontinuity() {
    let folder = TempDir::new().unwrap();
    let mut parts = Vec::new();
    for name in ["first", "second"] {
        let at = folder.path().join(name);
        std::fs::create_dir(&at).unwrap();
        ffmpeg(
            &at,
            "-f hls -hls_time 2 -hls_playlist_type vod -hls_segment_type fmp4 list.m3u8",
        );
        let list = std::fs::read_to_string(at.join("list.m3u8")).unwrap();
        let list = list.replace("init.mp4", &format!("{name}/init.mp4"));
        let list = list.replace("\nlist", &format!("\n{name}/list"));
        parts.push(list.replace("#EXT-X-ENDLIST\n", ""));
    }
    let (_, second) = parts[1].split_once("#EXT-X-MAP").unwrap();
    let joined = |tag: &str| format!("{}{tag}#EXT-X-MAP{second}#EXT-X-ENDLIST\n", parts[0]);
    std::fs::write(folder.path().join("list.m3u8"), joined("#EXT-X-DISCONTINUITY\n")).unwrap();
    assert!(asked(&both(&folder, "list.m3u8", |_| ()), "/second/list2.m4s"));
    // Where nothing is said of it, media that begin at 0 again do not go on.
    std::fs::write(folder.path().join("list.m3u8"), joined("")).unwrap();
    for how in [Play::Loop, Play::RealTime] {
        let nginx = Nginx::start(folder.path(), "", "");
        let summary = play(&eight(
            &format!("http://127.0.0.1:{}/list.m3u8", nginx.port.number),
            how,
        ));
        let again = nginx
            .log()
            .iter()
            .filter(|line| line.path == "/second/list0.m4s")
            .count();
        let causes: Vec<&str> = summary.all.failures.keys().map(String::as_str).collect();
        assert_eq!(causes, ["bad_media"], "{how:?}");
        // A player asks once more for what has failed, and finds that it does not come before itself.
        match how {
            Play::Loop => assert_eq!(summary.all.failed, again as u64),
            _ => assert!((1..=again as u64).contains(&summary.all.failed), "{again} times"),
        }
    }
}

#[test]
fn hls_with_keys() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    std::fs::write(at.join("aes.key"), [7; 16]).unwrap();
    let key = format!("aes.key\n{}/aes.key\n", at.display());
    std::fs::write(at.join("info"), key).unwrap();
    ffmpeg(
        at,
        "-f hls -hls_time 2 -hls_playlist_type vod -hls_key_info_file info -hls_segment_filename s%d.ts list.m3u8",
    );
    assert!(text(&folder, "list.m3u8").contains("METHOD=AES-128"));
    // What is encrypted cannot be looked into.
    let lines = both(&folder, "list.m3u8", |config| config.behaviour.verify = false);
    let keys = lines.iter().filter(|line| line.path == "/aes.key").count();
    let lists = lines.iter().filter(|line| line.path == "/list.m3u8").count();
    // One key for all segments, fetched once a round.
    assert!(keys > 8 && keys <= lists, "{keys} keys, {lists} playlists");
    assert!(
        lines
            .iter()
            .all(|line| line.path != "/aes.key" || line.body == 16)
    );
}
