//! Bytes a second of what each frame of 1080p goes through: packing, unpacking, the test pattern and reading its number.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_video::{PixelFormat, Repacker, TestPattern, VideoFormat, fill_blank, read_frame_number};

fn hd(pixels: PixelFormat) -> VideoFormat {
    format!("1920x1080@59.94:{pixels}").parse().expect("a format")
}

fn rendered(pixels: PixelFormat) -> Vec<u8> {
    let format = hd(pixels);
    let mut frame = vec![0; format.frame_bytes()];
    let mut pattern = TestPattern::new(format).expect("a pattern");
    pattern.render(7, &mut frame).expect("a frame");
    frame
}

const WAYS: [(PixelFormat, PixelFormat); 9] = [
    (PixelFormat::Yuv422p10le, PixelFormat::St2110),
    (PixelFormat::St2110, PixelFormat::Yuv422p10le),
    (PixelFormat::Yuv422p10le, PixelFormat::V210),
    (PixelFormat::V210, PixelFormat::Yuv422p10le),
    (PixelFormat::V210, PixelFormat::St2110),
    (PixelFormat::St2110, PixelFormat::V210),
    (PixelFormat::Yuv422p, PixelFormat::Uyvy422),
    (PixelFormat::Uyvy422, PixelFormat::Yuv422p),
    // What memory allows at most.
    (PixelFormat::Yuv422p10le, PixelFormat::Yuv422p10le),
];

const RENDERED: [PixelFormat; 4] = [
    PixelFormat::St2110,
    PixelFormat::V210,
    PixelFormat::Yuv422p10le,
    PixelFormat::Rgba64le,
];

/// Bytes read, since 1080p59.94 has 497 MB of them a second as planar 10-bit 4:2:2.
fn repacking(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("repack 1080p");
    for (from, to) in WAYS {
        let input = rendered(from);
        let repacker = Repacker::new(hd(from), to).expect("a way");
        let mut output = vec![0; repacker.to().frame_bytes()];
        group.throughput(Throughput::Bytes(input.len() as u64));
        group.bench_function(format!("{from} to {to}"), |bencher| {
            bencher.iter(|| repacker.run(black_box(&input), &mut output));
        });
    }
    group.finish();
}

fn pattern(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("test pattern 1080p");
    for pixels in RENDERED {
        let format = hd(pixels);
        let mut frame = rendered(pixels);
        let mut pattern = TestPattern::new(format).expect("a pattern");
        let mut number = 0;
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(format!("render {pixels}"), |bencher| {
            bencher.iter(|| {
                number += 1;
                pattern.render(number, &mut frame)
            });
        });
        group.bench_function(format!("read number {pixels}"), |bencher| {
            bencher.iter(|| read_frame_number(format, black_box(&frame)));
        });
        group.bench_function(format!("blank {pixels}"), |bencher| {
            bencher.iter(|| fill_blank(format, &mut frame));
        });
    }
    group.finish();
}

/// Criterion prints bytes a second; this prints the figure that a sender is planned with.
fn share_of_a_core(_: &mut Criterion) {
    for (from, to) in WAYS {
        let input = rendered(from);
        let repacker = Repacker::new(hd(from), to).expect("a way");
        let mut output = vec![0; repacker.to().frame_bytes()];
        print_share(&format!("{from} to {to}"), || {
            repacker.run(black_box(&input), &mut output).expect("a frame");
        });
    }
    for pixels in RENDERED {
        let mut frame = rendered(pixels);
        let mut pattern = TestPattern::new(hd(pixels)).expect("a pattern");
        let mut number = 0;
        print_share(&format!("rendering {pixels}"), || {
            number += 1;
            pattern.render(number, &mut frame).expect("a frame");
        });
    }
}

/// The best of many frames: whatever else the machine does only adds to it.
fn print_share(name: &str, mut frame: impl FnMut()) {
    let times = (0..200).map(|_| {
        let start = Instant::now();
        frame();
        start.elapsed()
    });
    let best = times.min().unwrap_or(Duration::MAX).as_secs_f64();
    println!(
        "{name:<26} {:.2} ms a frame, {:4.1} % of a core at 1080p59.94",
        best * 1e3,
        best * 100.0 * 60_000.0 / 1_001.0
    );
}

criterion_group!(benches, repacking, pattern, share_of_a_core);
criterion_main!(benches);
