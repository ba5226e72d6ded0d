//! What the index of an MP4 file knows, and how little it takes: `mp4_index FILE [STORED]` prints a line for each track,
//! with the reads that were needed, and writes the stored index to STORED.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use weir_media::index::{FileIndex, IndexBuilder, Step, TrackIndex};
use weir_media::segments::SegmentPlan;

fn read_index(path: &str) -> Result<(FileIndex, u32, u64), Box<dyn Error>> {
    let mut file = File::open(path)?;
    let mut builder = IndexBuilder::new(file.metadata()?.len());
    let (mut reads, mut bytes) = (0, 0);
    loop {
        match builder.step()? {
            Step::Done(index) => return Ok((index, reads, bytes)),
            Step::Read(range) => {
                let mut buffer = vec![0; usize::try_from(range.end - range.start)?];
                file.seek(SeekFrom::Start(range.start))?;
                file.read_exact(&mut buffer)?;
                builder.give(range.start, &buffer);
                reads += 1;
                bytes += buffer.len() as u64;
            }
        }
    }
}

fn print_track(track: &TrackIndex) -> Result<(), Box<dyn Error>> {
    let info = track.info();
    let samples = track.samples().len();
    let bytes = track.memory_bytes();
    let plan = match info.video() {
        Some(_) => SegmentPlan::new(&[track], &[], Duration::from_secs(4))?.video,
        None => SegmentPlan::new(&[], &[track], Duration::from_secs(4))?.other,
    };
    let segments: usize = plan.iter().map(|track| track.segments.len()).sum();
    println!(
        "track {}: {} {} {} bit/s, {samples} samples in {bytes} bytes ({:.2} each), {segments} segments of 4 s",
        track.head().track_id,
        info.codec,
        info.language,
        info.average_bitrate,
        bytes as f64 / f64::from(samples),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: mp4_index FILE [STORED]")?;
    let (index, reads, bytes) = read_index(&path)?;
    println!("{path}: {reads} reads, {bytes} bytes");
    for track in &index.tracks {
        print_track(track)?;
    }
    for track in &index.passed_over {
        println!("track {}: passed over: {}", track.track_id, track.why);
    }
    if let Some(stored) = arguments.next() {
        fs::write(stored, index.to_bytes())?;
    }
    Ok(())
}
