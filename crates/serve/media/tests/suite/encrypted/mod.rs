//! Encrypted files for tests, and what their boxes say, read from the bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::sources::{index, pieces};
use weir_media::encryption::{
    Announcement, ContentKey, KeyId, Protection, Pssh, Scheme, TrackEncryptor, TrackNonce,
};
use weir_media::index::TrackKind;
use weir_media::package::media_segment;
use weir_media::segments::SegmentPlan;

pub const KEY: [u8; 16] = *b"0123456789abcdef";
pub const KEY_ID: [u8; 16] = *b"the key's number";
pub const IV: [u8; 16] = *b"initial vectors!";

/// Video that has what slice headers may have, by name and as ffmpeg makes it.
pub const SOURCES: [(&str, &str); 9] = [
    (
        "h264",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=3,fade=out:25:50 -c:v libx264 -preset slow -bf 3 -g 50 -refs 4 \
         -x264-params weightp=2:weightb=1:open-gop=1 -pix_fmt yuv420p",
    ),
    (
        "h264-cavlc-slices",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=3 -c:v libx264 -profile:v baseline -g 25 -x264-params slices=5 \
         -pix_fmt yuv420p",
    ),
    (
        "h264-fields",
        "-f lavfi -i testsrc2=size=320x192:rate=25:duration=3 -c:v libx264 -g 25 -flags +ildct+ilme -x264-params tff=1 \
         -pix_fmt yuv420p",
    ),
    (
        "h264-chroma-444",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=3 -c:v libx264 -g 25 -bf 2 -pix_fmt yuv444p -x264-params \
         cqm=jvt",
    ),
    (
        "h264-no-deblocking-idr-only",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=2 -c:v libx264 -g 1 -x264-params no-deblock=1 -pix_fmt yuv420p",
    ),
    (
        "h265",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=3,fade=out:25:50 -c:v libx265 -tag:v hvc1 -pix_fmt yuv420p \
         -x265-params log-level=error:keyint=50:bframes=4:ref=4:weightp=1:weightb=1:open-gop=1",
    ),
    (
        "h265-slices",
        "-f lavfi -i testsrc2=size=320x320:rate=25:duration=2 -c:v libx265 -tag:v hvc1 -pix_fmt yuv420p -x265-params \
         log-level=error:keyint=25:slices=3:ctu=16:min-cu-size=8:scaling-list=default:wpp=1",
    ),
    (
        "h265-ten-bits",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=2 -c:v libx265 -tag:v hvc1 -pix_fmt yuv422p10le -x265-params \
         log-level=error:keyint=25:sao=0:deblock=0:wpp=0:cutree=0",
    ),
    (
        "h265-temporal-layers",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=2 -c:v libx265 -tag:v hvc1 -pix_fmt yuv420p -x265-params \
         log-level=error:keyint=25:temporal-layers=2:bframes=3:b-pyramid=1:amp=1:rect=1:no-deblock=1",
    ),
];

/// The same of AV1: of three encoders, with what frame headers may have.
pub const AV1_SOURCES: [(&str, &str); 10] = [
    (
        "av1",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=2,fade=out:25:25 -c:v libaom-av1 -cpu-used 6 -g 25",
    ),
    (
        "av1-tiles",
        "-f lavfi -i testsrc2=size=320x320:rate=25:duration=1 -c:v libaom-av1 -cpu-used 8 -g 25 -tile-columns 2 -tile-rows 1",
    ),
    (
        "av1-lossless",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -c:v libaom-av1 -cpu-used 8 -g 25 -aom-params lossless=1",
    ),
    (
        "av1-grain",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1,noise=alls=20:allf=t -c:v libaom-av1 -cpu-used 8 -g 25 \
         -aom-params film-grain-test=2:enable-restoration=1:enable-dual-filter=1",
    ),
    (
        "av1-444-ten-bits",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -pix_fmt yuv444p10le -c:v libaom-av1 -cpu-used 8 -g 25 \
         -aom-params enable-qm=1:aq-mode=1:deltaq-mode=1",
    ),
    (
        "av1-monochrome",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -pix_fmt gray -c:v libaom-av1 -cpu-used 8 -g 25",
    ),
    (
        "av1-superresolution",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -pix_fmt yuv420p -c:v libsvtav1 -preset 8 -g 25 -svtav1-params \
         superres-mode=1:superres-denom=12:superres-kf-denom=12",
    ),
    (
        "av1-error-resilient",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -c:v libaom-av1 -cpu-used 8 -g 25 -error-resilience default",
    ),
    (
        "av1-zoom",
        "-f lavfi -i mandelbrot=size=320x180:rate=25,trim=duration=1 -c:v libaom-av1 -cpu-used 2 -g 25 -pix_fmt yuv420p",
    ),
    (
        "av1-svt",
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=2 -c:v libsvtav1 -preset 8 -g 25 -pix_fmt yuv420p",
    ),
];

pub fn key_hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

/// An encrypted file.
pub struct Encrypted {
    pub path: PathBuf,
    /// Initialization segment and media segments.
    pub parts: Vec<Vec<u8>>,
    /// The same track as a single file with a segment index, whose layout was known before the samples were.
    pub single_file: PathBuf,
}

/// The first track of a file, encrypted.
pub fn encrypt(folder: &Path, source: &Path, scheme: Scheme) -> Encrypted {
    let bytes = fs::read(source).unwrap();
    let (file, _) = index(source);
    let track = &file.tracks[0];
    let plan = match track.info().kind {
        TrackKind::Video => SegmentPlan::new(&[track], &[], Duration::from_secs(2)),
        TrackKind::Audio => SegmentPlan::new(&[], &[track], Duration::from_secs(2)),
    };
    let plan = plan.unwrap();
    let protection = Protection {
        announcement: Arc::new(Announcement {
            scheme,
            key_id: KeyId(KEY_ID),
            iv: IV,
            systems: vec![Pssh::common(KeyId(KEY_ID))],
            licence_url: None,
            key_url: None,
        }),
        key: ContentKey::new(KEY),
    };
    let encryptor = TrackEncryptor::new(track, &protection, TrackNonce::from_hash(0x1234_5678_9abc)).unwrap();
    let mut parts = vec![encryptor.init_segment().unwrap()];
    let planned = plan.video.iter().chain(&plan.other).next().unwrap();
    let layout = encryptor.single_file(planned).unwrap();
    let mut single_file = layout.head.clone();
    for (segments, sequence) in planned.segments.iter().zip(1..) {
        let clear = media_segment(track, segments.samples.clone(), sequence).unwrap();
        let payload = pieces(&bytes, &clear.pieces);
        let encrypt = || {
            let made = encryptor.media_segment(segments.samples.clone(), sequence, payload.clone());
            made.unwrap()
        };
        parts.push(encrypt());
        // The same each time.
        assert_eq!(Some(&encrypt()), parts.last());
        assert_eq!(layout.offsets[sequence as usize - 1], single_file.len() as u64);
        let segment = encryptor.segment_of_single_file(segments.samples.clone(), sequence, payload);
        single_file.extend(segment.unwrap());
    }
    assert_eq!(layout.length(), single_file.len() as u64);
    let name = source.file_stem().unwrap().to_str().unwrap();
    let path = folder.join(format!("{name}-{scheme}.mp4"));
    fs::write(&path, parts.concat()).unwrap();
    let whole = folder.join(format!("{name}-{scheme}-single.mp4"));
    fs::write(&whole, single_file).unwrap();
    Encrypted {
        path,
        parts,
        single_file: whole,
    }
}

/// The NAL units of a sample, whose lengths have four bytes.
pub fn nal_units(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = sample;
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (nal, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        rest = behind;
        Some(nal)
    })
}
