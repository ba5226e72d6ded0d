//! Encrypted files beside those that shaka-packager makes of the same source: which bytes of each sample stay clear,
//! and what the boxes say; and it decrypts ours. `scripts/install_prerequisites.sh test` installs it.

use std::path::{Path, PathBuf};

use crate::encrypted::{AV1_SOURCES, IV, KEY, KEY_ID, SOURCES, encrypt, key_hex};
use crate::sources::{AAC, AUDIO, hashes, index, make, run};
use weir_media::bmff::{Boxes, Mp4Box};
use weir_media::encryption::Scheme;
use weir_media::index::FileIndex;
use weir_rig::film::kept;

fn packager() -> String {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/packager/node_modules/shaka-packager/bin"
    );
    let program = format!("{folder}/packager-linux-{machine}");
    assert!(
        Path::new(&program).exists(),
        "{program} is not there: run scripts/install_prerequisites.sh test"
    );
    program
}

fn package(stream: &str, input: &Path, output: &Path, options: &str) {
    let keys = format!("--keys label=:key_id={}:key={}", key_hex(&KEY_ID), key_hex(&KEY));
    let all = format!(
        "in={},stream={stream},output={} --segment_duration 2 {keys} {options}",
        input.display(),
        output.display()
    );
    run(&packager(), all.split_whitespace());
}

/// Clear and protected bytes, in turn.
type Layout = Vec<(u16, u32)>;

/// The encryption boxes of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Declared {
    /// Original format, scheme and version.
    format: Vec<Vec<u8>>,
    /// The content of `tenc`.
    defaults: Vec<u8>,
    /// Initialization vector and layout of each sample in decoding order; empty without such a box.
    samples: Vec<(Vec<u8>, Layout)>,
}

fn inside<'b>(found: Mp4Box<'b>, path: &[&[u8; 4]]) -> Option<Mp4Box<'b>> {
    path.iter()
        .try_fold(found, |found, kind| found.child(kind).unwrap())
}

fn read(path: &Path) -> Declared {
    let bytes = std::fs::read(path).unwrap();
    let mut told = Declared::default();
    for found in Boxes::new(&bytes, 0).map(Result::unwrap) {
        match &found.kind.0 {
            b"moov" => read_entry(found, &mut told),
            b"moof" => read_fragment(
                found.child(b"traf").unwrap().unwrap(),
                &bytes,
                found.at,
                &mut told,
            ),
            _ => {}
        }
    }
    told
}

fn read_entry(moov: Mp4Box<'_>, told: &mut Declared) {
    let description = inside(moov, &[b"trak", b"mdia", b"minf", b"stbl", b"stsd"]).unwrap();
    let entry = description.children_behind(8).next().unwrap().unwrap();
    let fields = match &entry.kind.0 {
        b"encv" => 78,
        b"enca" => 28,
        other => panic!("{other:?}"),
    };
    let protection = entry.children_behind(fields).find_kind(b"sinf").unwrap().unwrap();
    for kind in [b"frma", b"schm"] {
        told.format
            .push(inside(protection, &[kind]).unwrap().content.to_vec());
    }
    told.defaults = inside(protection, &[b"schi", b"tenc"]).unwrap().content.to_vec();
}

/// Reads `senc`, and that `saiz` and `saio` say the same.
fn read_fragment(traf: Mp4Box<'_>, file: &[u8], moof_at: u64, told: &mut Declared) {
    let Some(sizes) = traf.child(b"saiz").unwrap() else {
        assert!(traf.child(b"saio").unwrap().is_none());
        // With a constant initialization vector, samples without subsamples need no data. We then write no box, which
        // the specification leaves open; shaka-packager writes one that only counts them.
        let empty = traf.child(b"senc").unwrap();
        assert!(empty.is_none_or(|empty| empty.content.len() == 8));
        return;
    };
    let information = traf.child(b"senc").unwrap().unwrap();
    let mut offsets = traf.child(b"saio").unwrap().unwrap().fields();
    assert_eq!(offsets.version_and_flags(), Ok((0, 0)));
    assert_eq!(offsets.u32(), Ok(1));
    let offset = u64::from(offsets.u32().unwrap());
    assert_eq!(moof_at + offset, information.content_at + 8);
    assert!(offset < file.len() as u64);
    let mut sizes = sizes.fields();
    sizes.version_and_flags().unwrap();
    let same = sizes.u8().unwrap();
    let count = sizes.u32().unwrap();
    let mut fields = information.fields();
    let (_, flags) = fields.version_and_flags().unwrap();
    assert_eq!(fields.u32(), Ok(count));
    let iv_bytes = usize::from(told.defaults[7]);
    for _ in 0..count {
        let before = fields.rest().len();
        let iv = fields.bytes(iv_bytes).unwrap().to_vec();
        let entries = if flags & 2 == 0 { 0 } else { fields.u16().unwrap() };
        let layout: Layout = (0..entries)
            .map(|_| (fields.u16().unwrap(), fields.u32().unwrap()))
            .collect();
        let size = if same == 0 { sizes.u8().unwrap() } else { same };
        assert_eq!(before - fields.rest().len(), usize::from(size));
        told.samples.push((iv, layout));
    }
    assert!(fields.rest().is_empty() && sizes.rest().is_empty());
}

fn packets(path: &Path) -> Vec<String> {
    hashes(path, "-ignore_editlist 1", "0:0", "-c copy")
}

/// Both schemes.
fn check(folder: &Path, source: &Path, stream: &str) {
    let clear = packets(source);
    for scheme in [Scheme::Cenc, Scheme::Cbcs] {
        check_scheme(folder, source, stream, scheme, &clear);
    }
}

fn check_scheme(folder: &Path, source: &Path, stream: &str, scheme: Scheme, expected: &[String]) {
    let ours = encrypt(folder, source, scheme);
    let iv = match scheme {
        // That of our first sample; it goes on counting from there.
        Scheme::Cenc => "3456789abc000000".to_owned(),
        _ => key_hex(&IV),
    };
    let theirs: PathBuf = folder.join("theirs.mp4");
    let options =
        format!("--enable_raw_key_encryption --protection_scheme {scheme} --clear_lead 0 --iv {iv}");
    package(stream, source, &theirs, &options);
    let (ours_told, theirs_told) = (read(&ours.path), read(&theirs));
    assert_eq!(ours_told.format, theirs_told.format, "{source:?} {scheme}");
    assert_eq!(ours_told.defaults, theirs_told.defaults, "{source:?} {scheme}");
    assert_eq!(
        ours_told.samples.len(),
        theirs_told.samples.len(),
        "{source:?} {scheme}"
    );
    let pairs = ours_told.samples.iter().zip(&theirs_told.samples);
    for (number, (ours, theirs)) in pairs.enumerate() {
        assert_eq!(ours, theirs, "{source:?} {scheme} sample {number}");
    }
    let (indexed, _) = index(&theirs);
    assert!(indexed.tracks.iter().all(|track| track.protection().is_some()));
    assert_eq!(FileIndex::from_bytes(&indexed.to_bytes()), Ok(indexed));
    let clear = folder.join("clear.mp4");
    package(stream, &ours.path, &clear, "--enable_raw_key_decryption");
    assert_eq!(packets(&clear), expected, "{source:?} {scheme}");
}

#[test]
fn the_same_bytes_of_video_stay_clear_and_it_is_decrypted() {
    let folder = tempfile::tempdir().unwrap();
    for (name, arguments) in SOURCES.into_iter().chain(AV1_SOURCES) {
        let source = kept(&format!("{name}.mp4"), arguments);
        check(folder.path(), &source, "video");
    }
}

#[test]
fn sound_is_encrypted_and_decrypted_alike() {
    let folder = tempfile::tempdir().unwrap();
    let source = make(folder.path(), "sound.mp4", &format!("{AUDIO} {AAC}"));
    check(folder.path(), &source, "audio");
}
