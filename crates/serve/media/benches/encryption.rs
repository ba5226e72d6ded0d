//! Bits a second of encrypted segments, as they are made for each request: reading of slice headers, headers, cipher.
//! The pictures are made by ffmpeg.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../tests/suite/sources/mod.rs"]
mod sources;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use weir_media::encryption::{
    Announcement, ContentKey, KeyId, Protection, Scheme, TrackEncryptor, TrackNonce,
};
use weir_media::index::TrackIndex;
use weir_media::package::media_segment;

fn protection(scheme: Scheme) -> Protection {
    Protection {
        announcement: Arc::new(Announcement {
            scheme,
            key_id: KeyId([1; 16]),
            iv: [2; 16],
            systems: Vec::new(),
            licence_url: None,
            key_url: None,
        }),
        key: ContentKey::new([3; 16]),
    }
}

/// A file that ffmpeg makes, as one segment.
fn measure(criterion: &mut Criterion, name: &str, arguments: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = sources::make(folder.path(), "source.mp4", arguments);
    let source = std::fs::read(&path).unwrap();
    let (file, _) = sources::index(&path);
    let track: &TrackIndex = &file.tracks[0];
    let samples = 0..track.samples().len();
    let segment = media_segment(track, samples.clone(), 1).unwrap();
    let payload: Vec<u8> = segment
        .pieces
        .iter()
        .flat_map(|piece| source[piece.start as usize..piece.end as usize].to_vec())
        .collect();
    let mut group = criterion.benchmark_group(format!("encrypt {name}"));
    group.throughput(Throughput::Bits(8 * payload.len() as u64));
    for scheme in [Scheme::Cenc, Scheme::Cbcs, Scheme::Aes128] {
        let protection = protection(scheme);
        group.bench_function(scheme.name(), |bencher| {
            bencher.iter_batched(
                || payload.clone(),
                |payload| {
                    let encryptor =
                        TrackEncryptor::new(track, &protection, TrackNonce::from_hash(7)).unwrap();
                    black_box(encryptor.media_segment(samples.clone(), 1, payload).unwrap())
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn segments(criterion: &mut Criterion) {
    let noise =
        "-f lavfi -i testsrc2=size=1920x1080:rate=25:duration=2,noise=alls=20:allf=t -pix_fmt yuv420p";
    measure(
        criterion,
        "H.264",
        &format!("{noise} -c:v libx264 -preset ultrafast -b:v 8M -maxrate 8M -bufsize 8M"),
    );
    measure(
        criterion,
        "H.265",
        &format!("{noise} -c:v libx265 -preset ultrafast -b:v 8M -tag:v hvc1 -x265-params log-level=error"),
    );
    measure(
        criterion,
        "AAC",
        "-f lavfi -i anoisesrc=sample_rate=48000:duration=2 -c:a aac -b:a 128k",
    );
}

criterion_group!(benches, segments);
criterion_main!(benches);
