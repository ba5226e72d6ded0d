//! Titles with keys, and programs that make and decrypt them.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use weir_origin::{Config, KeySettings};

use crate::served::{Served, config};

pub const KEY: &str = "00112233445566778899aabbccddeeff";
pub const KEY_ID: &str = "10000000-2000-3000-4000-500000000000";

/// What a program printed.
#[track_caller]
pub fn run(program: &str, arguments: &str) -> Vec<u8> {
    let done = Command::new(program)
        .args(arguments.split_whitespace())
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments}: {told}");
    done.stdout
}

/// What ffmpeg makes of these options, as `sita/film.mp4`.
fn film(options: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("sita")).unwrap();
    let file = folder.path().join("sita/film.mp4");
    run(
        "ffmpeg",
        &format!("-nostdin -loglevel error {options} {}", file.display()),
    );
    folder
}

/// Eight seconds of pictures and sound as `sita/film.mp4`.
pub fn films() -> TempDir {
    film(
        "-f lavfi -i testsrc2=size=160x90:rate=25:duration=8 -f lavfi -i sine=sample_rate=48000:duration=8 \
         -c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p -c:a aac",
    )
}

/// Four seconds of noise without loss, tens of megabytes, as `sita/film.mp4`; a sync sample every so many of 100
/// pictures.
pub fn noise(every: u32) -> TempDir {
    film(&format!(
        "-f lavfi -i color=gray:size=640x480:rate=25:duration=4,noise=alls=100:allf=t \
         -c:v libx264 -preset ultrafast -qp 0 -g {every} -pix_fmt yuv420p"
    ))
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
