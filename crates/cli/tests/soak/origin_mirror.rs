//! `weir origin --mirror`: two storages hold the same, and one of them dies while a film plays.

use weir_rig::film::{PICTURES, VIDEO, ffmpeg, frames};
use weir_rig::isolated;
use weir_rig::origin::{get, metrics, start, stop, value};

/// Bytes of media that an origin has sent as parts of titles, or as files.
#[track_caller]
fn sent(url: &str, kind: &str) -> u64 {
    value(
        &metrics(url),
        &format!("weir_origin_sent_bytes_total{{kind=\"{kind}\"}}"),
    )
}

#[test]
fn playing_goes_on_from_the_mirror_when_a_storage_is_killed() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    std::fs::create_dir_all(&root).expect("a folder");
    let film = format!("{root}/film.mp4");
    ffmpeg(&format!("{PICTURES} {VIDEO} -b:v 600k {film}"));
    // Plain HTTP servers, to the one that is tested.
    let (first, preferred) = start(&format!("{root} --files"));
    let (second, mirror) = start(&format!("{root} --files"));
    let (origin, url) = start(&format!("{preferred} --mirror {mirror} --segment 2s"));

    let at = |name: &str| format!("{url}film.mp4/{name}");
    let (status, playlist) = get(&[at("video/v1/playlist.m3u8")]).remove(0);
    assert_eq!(status, 200, "{playlist}");
    let names = playlist.lines().filter(|line| line.ends_with(".m4s"));
    let segments: Vec<String> = names.map(|name| at(&format!("video/v1/{name}"))).collect();
    assert_eq!(segments.len(), 5);
    let all_come = |segments: &[String]| get(segments).iter().all(|(status, _)| *status == 200);
    assert!(all_come(&segments[..2]));
    assert_eq!(sent(&mirror, "file"), 0);

    drop(first);
    assert!(all_come(&segments[2..]));
    assert!(sent(&mirror, "file") > 0);
    assert_eq!(frames(&at("master.m3u8"), "v:0"), frames(&film, "v:0"));
    stop(origin);
    stop(second);
}
