//! Titles with keys.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use weir_origin::{Config, KeySettings};

use crate::served::{Served, config, make_film};

pub const KEY: &str = "00112233445566778899aabbccddeeff";
pub const KEY_ID: &str = "10000000-2000-3000-4000-500000000000";

/// What ffmpeg makes of this source, as `sita/film.mp4`.
fn film(source: &str, further: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("sita")).unwrap();
    make_film(&folder.path().join("sita/film.mp4"), source, further);
    folder
}

/// Writes pictures of so many slices over `sita/film.mp4`.
pub fn write_slices(folder: &TempDir, count: u32) {
    let source = "testsrc2=size=160x720:rate=25:duration=1";
    let further = format!("-g 25 -x264-params slices={count}");
    make_film(&folder.path().join("sita/film.mp4"), source, &further);
}

/// Eight seconds of pictures and sound as `sita/film.mp4`.
pub fn films() -> TempDir {
    let sound = "-f lavfi -i sine=sample_rate=48000:duration=8";
    film(
        &format!("testsrc2=size=160x90:rate=25:duration=8 {sound}"),
        "-g 25 -c:a aac",
    )
}

/// Four seconds of noise without loss, tens of megabytes, as `sita/film.mp4`; a sync sample every so many of 100
/// pictures.
pub fn noise(every: u32) -> TempDir {
    film(
        "color=gray:size=640x480:rate=25:duration=4,noise=alls=100:allf=t",
        &format!("-qp 0 -g {every}"),
    )
}

/// An origin of this folder with a file of such keys.
pub fn with_keys(folder: &Path, keys: &str, server: Option<String>, serve: bool) -> Config {
    let file = folder.join("keys.toml");
    fs::write(&file, keys).unwrap();
    Config {
        keys: KeySettings {
            file: Some(file),
            server,
            serve,
        },
        ..config(folder.to_str().unwrap())
    }
}

/// The entry of one title in a key file.
pub fn rule(path: &str, scheme: &str) -> String {
    format!("[[title]]\npath = '{path}'\nscheme = '{scheme}'\nkey_id = '{KEY_ID}'\nkey = '{KEY}'\n")
}

/// What was answered, as text.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// What is there.
#[track_caller]
pub fn get(served: &Served, path: &str) -> Vec<u8> {
    let (status, body) = served.get(path);
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
    body
}
