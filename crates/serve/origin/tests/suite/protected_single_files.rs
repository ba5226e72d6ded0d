//! DASH's on-demand profile of titles that are protected: single files whose layout is known before they are read, decrypted
//! by ffmpeg, and by ranges.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use crate::protected::{KEY, KEY_ID, films, get, noise, rule, text, with_keys, write_slices};
use crate::served::{Served, config, run};
use weir_origin::{Config, Kind};

/// Hashes of the frames of a file's only stream of that kind, decoded.
fn frames(path: &Path, options: &str, stream: &str) -> String {
    let arguments = format!(
        "-nostdin -v error -ignore_editlist 1 {options} -i {} -map 0:{stream} -f framehash -hash md5 -",
        path.display()
    );
    let printed = text(run("ffmpeg", &arguments));
    let hashes = printed.lines().filter(|line| !line.starts_with('#'));
    // Without times, which are as the segments have them.
    let hashes = hashes.map(|line| line.rsplit(',').next().unwrap().trim().to_owned());
    hashes.collect::<Vec<_>>().join("\n")
}

#[test]
fn single_files_are_decrypted_to_what_they_were() {
    let films = films();
    let film = films.path().join("sita/film.mp4");
    for scheme in ["cenc", "cbcs"] {
        let served = Served::start(&with_keys(films.path(), &rule("sita", scheme), None, false));
        let manifest = text(get(&served, "/sita/on-demand.mpd"));
        for said in [
            "profile:isoff-on-demand:2011",
            "indexRange=",
            "video/v1/track.mp4",
        ] {
            assert!(manifest.contains(said), "{manifest}");
        }
        assert!(
            manifest.contains(&format!("cenc:default_KID=\"{KEY_ID}\"")),
            "{manifest}"
        );
        for (track, stream) in [("video/v1", "v"), ("audio/a1", "a")] {
            let file = films.path().join(format!("{scheme}-{stream}"));
            fs::write(&file, get(&served, &format!("/sita/{track}/track.mp4"))).unwrap();
            let options = format!("-seekable 0 -decryption_key {KEY}");
            let found = frames(&file, &options, stream);
            assert!(found.lines().count() > 150);
            assert!(found == frames(&film, "", stream), "{scheme} {track}");
        }
    }
}

#[test]
fn a_range_of_a_single_file_is_the_same_bytes_and_reads_its_segments_only() {
    let films = films();
    for scheme in ["cenc", "cbcs"] {
        let served = Served::start(&with_keys(films.path(), &rule("sita", scheme), None, false));
        served.python(
            r#"
import re, struct
manifest = ask("GET", "/sita/on-demand.mpd")[2].decode()
def media_reads():
    lines = ask("GET", "/metrics")[2].decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith('weir_origin_storage_reads_total{kind="media"}'))
for track in ["video/v1", "audio/a1"]:
    path = f"/sita/{track}/track.mp4"
    status, headers, whole = ask("GET", path)
    assert status == 200 and headers["content-length"] == str(len(whole))
    before = media_reads()
    assert ask("HEAD", path)[1]["content-length"] == str(len(whole))
    assert media_reads() == before, "the length is known without reading"
    first, last = map(int, re.search(re.escape(f"{track}/track.mp4") + r'.*?indexRange="(\d+)-(\d+)"', manifest, re.S).groups())
    index = whole[first:last + 1]
    assert index[4:8] == b"sidx"
    count = struct.unpack(">H", index[38:40])[0]
    assert count == 2
    start = last + 1
    for number in range(count):
        length = struct.unpack(">I", index[40 + 12 * number:44 + 12 * number])[0]
        segment = whole[start:start + length]
        assert segment[4:8] == b"styp" and b"moof" in segment[:60], segment[:60]
        before = media_reads()
        for from_, to in [(start, start + length - 1), (start + 100, start + 2000), (start + length - 10, start + length - 1)]:
            status, headers, body = ask("GET", path, {"Range": f"bytes={from_}-{to}"})
            assert (status, headers["content-range"]) == (206, f"bytes {from_}-{to}/{len(whole)}")
            assert body == whole[from_:to + 1]
        assert before < media_reads() <= before + 3, "each range reads its segment once"
        start += length
    assert start == len(whole)
    status, _, body = ask("GET", path, {"Range": f"bytes={first - 100}-{len(whole) - 50}"})
    assert (status, body == whole[first - 100:len(whole) - 49]) == (206, True)
"#,
        );
    }
}

#[test]
fn a_single_file_is_encrypted_as_it_is_taken() {
    let folder = noise(50);
    let settings = Config {
        segment: Duration::from_secs(2),
        ..with_keys(folder.path(), &rule("sita", "cenc"), None, false)
    };
    let served = Served::start(&settings);
    let mut stream = served.connect();
    let request = "GET /sita/video/v1/track.mp4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 1024];
    stream.read_exact(&mut head).unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200"));
    // Of two segments the first is more than there is room for on the way.
    assert_eq!(served.metrics.reads(Kind::Media), 1);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(served.metrics.reads(Kind::Media), 2);
}

#[test]
fn pictures_of_too_many_slices_are_refused_and_nothing_is_sent() {
    let films = films();
    write_slices(&films, 20);
    let served = Served::start(&with_keys(films.path(), &rule("sita", "cenc"), None, false));
    // Segments of their own have the room that they need.
    get(&served, "/sita/video/v1/0.m4s");
    let sent = served.metrics.bytes_out(Kind::Media);
    served.python(
        r#"
import re
manifest = ask("GET", "/sita/on-demand.mpd")[2].decode()
last = int(re.search(r'indexRange="\d+-(\d+)"', manifest).group(1))
status, _, body = ask("GET", "/sita/video/v1/track.mp4", {"Range": f"bytes={last + 1}-{last + 1000}"})
assert status == 501 and b"not_encrypted" in body and b"twelve slices" in body, (status, body)
"#,
    );
    assert_eq!(served.metrics.bytes_out(Kind::Media), sent);
}

#[test]
fn what_dash_has_no_name_for_has_no_single_files() {
    let films = films();
    let served = Served::start(&with_keys(films.path(), &rule("sita", "aes-128"), None, true));
    for part in ["on-demand.mpd", "video/v1/track.mp4"] {
        assert_eq!(served.get(&format!("/sita/{part}")).0, 404, "{part}");
    }
    let clear = Served::start(&config(films.path().to_str().unwrap()));
    get(&clear, "/sita/video/v1/track.mp4");
}
