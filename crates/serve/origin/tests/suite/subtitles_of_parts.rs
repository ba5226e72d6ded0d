//! Subtitles of parts of titles, cut by a query and by a manifest: what manifests name is there, and counts from the part's
//! beginning. The media are made by ffmpeg.

use std::fs;
use std::path::Path;

use crate::protected::{films, rule, with_keys};
use crate::served::Served;

const WHOLE: &str = "WEBVTT\n\n00:01.000 --> 00:02.000\nEins\n\n00:03.500 --> 00:05.000\nVier\n\n00:07.000 --> 00:07.500\nSieben\n";
/// What is shown from 4 s to 8 s.
const PART: &str = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:360000,LOCAL:00:00:00.000\n\n\
    00:00:00.000 --> 00:00:01.000\nVier\n\n00:00:03.000 --> 00:00:03.500\nSieben\n";

#[track_caller]
fn get(served: &Served, path: &str) -> String {
    let (status, body) = served.get(path);
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn write_subtitles(folder: &Path) {
    fs::write(folder.join("sita/de.vtt"), WHOLE).unwrap();
    let clipped = "[[track]]\nfile = 'film.mp4'\n[[subtitles]]\nfile = 'de.vtt'\nlanguage = 'de'\n\
        [clip]\nstart = '4s'\nend = '8s'\n";
    fs::create_dir(folder.join("clipped")).unwrap();
    for name in ["film.mp4", "de.vtt"] {
        fs::copy(folder.join("sita").join(name), folder.join("clipped").join(name)).unwrap();
    }
    fs::write(folder.join("clipped/title.toml"), clipped).unwrap();
}

fn check(served: &Served) {
    // The file as it is, for the whole and for whom the query says nothing of time.
    for query in ["", "?token=1", "?filter=height%3C=90"] {
        assert_eq!(get(served, &format!("/sita/subtitles/s1/text.vtt{query}")), WHOLE);
    }
    let whole = get(served, "/sita/manifest.mpd?filter=language=de");
    assert!(
        whole.contains("<BaseURL>subtitles/s1/text.vtt</BaseURL>"),
        "{whole}"
    );
    for (title, query) in [("sita", "?start=4.5&end=8"), ("clipped", "")] {
        let mpd = get(served, &format!("/{title}/manifest.mpd{query}"));
        let address = format!("subtitles/s1/text.vtt{}", query.replace('&', "&amp;"));
        assert!(mpd.contains(&format!("<BaseURL>{address}</BaseURL>")), "{mpd}");
        let master = get(served, &format!("/{title}/master.m3u8{query}"));
        let address = format!("subtitles/s1/playlist.m3u8{query}");
        assert!(master.contains(&format!("URI=\"{address}\"")), "{master}");
        let playlist = get(served, &format!("/{title}/{address}"));
        assert!(playlist.contains(&format!(",\ntext.vtt{query}\n")), "{playlist}");
        assert_eq!(
            get(served, &format!("/{title}/subtitles/s1/text.vtt{query}")),
            PART
        );
    }
    assert_eq!(served.get("/sita/subtitles/s1/text.vtt?start=9").0, 400);
    assert_eq!(served.get("/sita/subtitles/s2/text.vtt?start=4").0, 404);
}

#[test]
fn subtitles_of_a_part_are_those_that_are_shown_in_it() {
    let films = films();
    write_subtitles(films.path());
    check(&Served::folder(films.path()));
    let keys = rule("sita", "cenc") + &rule("clipped", "cenc");
    check(&Served::start(&with_keys(films.path(), &keys, None, false)));
}

#[test]
fn each_part_has_its_length_ranges_and_etag() {
    let films = films();
    write_subtitles(films.path());
    Served::folder(films.path()).python(
        r#"
path = "/sita/subtitles/s1/text.vtt"
etags = set()
for query in ["", "?start=4&end=8", "?start=4"]:
    status, headers, whole = ask("GET", path + query)
    assert status == 200 and headers["content-length"] == str(len(whole)), headers
    assert headers["content-type"] == "text/vtt; charset=utf-8", headers
    assert ask("HEAD", path + query)[1]["content-length"] == str(len(whole))
    status, ranged, body = ask("GET", path + query, {"Range": "bytes=7-20"})
    assert (status, body) == (206, whole[7:21]), (status, ranged)
    assert ask("GET", path + query, {"If-None-Match": headers["etag"]})[0] == 304
    etags.add(headers["etag"])
assert len(etags) == 3, etags
"#,
    );
}
