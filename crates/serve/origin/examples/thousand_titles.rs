//! How much memory titles take: an origin that serves 1,000 of 80 minutes, each with a video track with B-frames and
//! two audio tracks in files of their own, keeps them all, and says what it grew by.
//!
//! `thousand_titles [COUNT]` generates the files (headers with random sizes, and no media), requests the MPD of each
//! title twice and prints a line. It fails if a title was examined twice, or if 1,000 of them would need more than 1
//! GiB.

use std::error::Error;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_media::bmff::BoxWriter;
use weir_origin::{Config, Kind, Server, Tier};

const MINUTES: u32 = 80;
/// What a thousand titles may take.
const LIMIT: u64 = 1 << 30;

/// Repeatable noise from 0 up to a limit.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// A track that is a file.
struct Track {
    handler: &'static [u8; 4],
    timescale: u32,
    /// Of each sample.
    duration: u32,
    entry: Vec<u8>,
    sizes: Vec<u32>,
    offsets: Vec<u32>,
    /// From one sync sample to the next.
    group: usize,
}

/// 25 pictures a second at about 4 Mbit/s: a sync sample every two seconds, three B-frames between others.
fn video() -> Track {
    let mut noise = Noise(1);
    let samples = (MINUTES * 60 * 25) as usize;
    let place = |number: usize| number % 50;
    let sizes = (0..samples).map(|number| match place(number) {
        0 => 90_000 + noise.below(60_000),
        place if place % 4 == 1 => 25_000 + noise.below(25_000),
        _ => 6_000 + noise.below(14_000),
    });
    let sizes = sizes.collect();
    // A P-frame is decoded before the three B-frames that are shown before it, of which the middle one is decoded
    // first.
    let offsets = (0..samples).map(|number| match place(number) {
        0 => 1024,
        place => [512, 2560, 1024, 0][place % 4],
    });
    let mut entry = BoxWriter::new();
    entry.nest(b"avc1", |avc1| {
        avc1.zeros(6);
        avc1.u16(1);
        avc1.zeros(16);
        avc1.u16(1920);
        avc1.u16(1080);
        avc1.zeros(50);
        avc1.nest(b"avcC", |configuration| {
            configuration.bytes(&[1, 100, 0, 40, 255, 224, 0])
        });
    });
    Track {
        handler: b"vide",
        timescale: 12_800,
        duration: 512,
        entry: entry.into_bytes(),
        sizes,
        offsets: offsets.collect(),
        group: 50,
    }
}

/// AAC at about 128 kbit/s.
fn audio(seed: u64) -> Track {
    let mut noise = Noise(seed);
    let samples = MINUTES * 60 * 48_000 / 1024;
    let mut entry = BoxWriter::new();
    entry.nest(b"mp4a", |mp4a| {
        mp4a.zeros(6);
        mp4a.u16(1);
        mp4a.zeros(8);
        mp4a.u16(2);
        mp4a.u16(16);
        mp4a.zeros(4);
        mp4a.u32(48_000 << 16);
        mp4a.nest_full(b"esds", 0, 0, |esds| {
            esds.bytes(&[3, 25, 0, 1, 0, 4, 17, 0x40, 0x15]);
            esds.zeros(11);
            esds.bytes(&[5, 2, 0x11, 0x90, 6, 1, 2]);
        });
    });
    Track {
        handler: b"soun",
        timescale: 48_000,
        duration: 1024,
        entry: entry.into_bytes(),
        sizes: (0..samples).map(|_| 290 + noise.below(100)).collect(),
        offsets: Vec::new(),
        group: 1,
    }
}

impl Track {
    fn write_tables(&self, stbl: &mut BoxWriter, media_at: u32) {
        let count = self.sizes.len() as u32;
        stbl.nest_full(b"stsd", 0, 0, |stsd| {
            stsd.u32(1);
            stsd.bytes(&self.entry);
        });
        stbl.nest_full(b"stts", 0, 0, |stts| {
            [1, count, self.duration]
                .iter()
                .for_each(|value| stts.u32(*value))
        });
        if !self.offsets.is_empty() {
            stbl.nest_full(b"ctts", 0, 0, |ctts| {
                ctts.u32(count);
                for offset in &self.offsets {
                    ctts.u32(1);
                    ctts.u32(*offset);
                }
            });
        }
        if self.group > 1 {
            stbl.nest_full(b"stss", 0, 0, |stss| {
                let sync = (0..self.sizes.len()).step_by(self.group);
                stss.u32(sync.len() as u32);
                sync.for_each(|number| stss.u32(number as u32 + 1));
            });
        }
        stbl.nest_full(b"stsc", 0, 0, |stsc| {
            [1, 1, count, 1].iter().for_each(|value| stsc.u32(*value))
        });
        stbl.nest_full(b"stsz", 0, 0, |stsz| {
            stsz.u32(0);
            stsz.u32(count);
            self.sizes.iter().for_each(|size| stsz.u32(*size));
        });
        stbl.nest_full(b"stco", 0, 0, |stco| {
            stco.u32(1);
            stco.u32(media_at);
        });
    }

    fn movie(&self, media_at: u32) -> Vec<u8> {
        let mut writer = BoxWriter::new();
        writer.nest(b"ftyp", |ftyp| ftyp.bytes(b"iso6\0\0\0\0iso6"));
        writer.nest(b"moov", |moov| {
            moov.nest_full(b"mvhd", 0, 0, |mvhd| {
                mvhd.zeros(8);
                mvhd.u32(self.timescale);
                mvhd.zeros(84);
            });
            moov.nest(b"trak", |trak| {
                trak.nest_full(b"tkhd", 0, 3, |tkhd| {
                    tkhd.zeros(8);
                    tkhd.u32(1);
                    tkhd.zeros(68);
                });
                trak.nest(b"mdia", |mdia| {
                    mdia.nest_full(b"mdhd", 0, 0, |mdhd| {
                        mdhd.zeros(8);
                        mdhd.u32(self.timescale);
                        mdhd.zeros(8);
                    });
                    mdia.nest_full(b"hdlr", 0, 0, |hdlr| {
                        hdlr.zeros(4);
                        hdlr.bytes(self.handler);
                        hdlr.zeros(13);
                    });
                    mdia.nest(b"minf", |minf| {
                        minf.nest(b"stbl", |stbl| self.write_tables(stbl, media_at))
                    });
                });
            });
        });
        writer.into_bytes()
    }

    /// Writes headers; where the media would be, there is a hole.
    fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let head = self.movie(0).len() as u32 + 16;
        let mut writer = BoxWriter::new();
        writer.bytes(&self.movie(head));
        let media: u64 = self.sizes.iter().map(|size| u64::from(*size)).sum();
        writer.u32(1);
        writer.bytes(b"mdat");
        writer.u64(media + 16);
        let mut file = File::create(path)?;
        file.write_all(&writer.into_bytes())?;
        file.set_len(u64::from(head) + media)?;
        Ok(())
    }
}

/// Titles that are folders of links to the same three files: what is kept of a file is kept for each path.
fn make_titles(root: &Path, count: u32) -> Result<(), Box<dyn Error>> {
    let files = [("video.mp4", video()), ("en.mp4", audio(2)), ("de.mp4", audio(3))];
    fs::create_dir(root.join("files"))?;
    for (name, track) in &files {
        track.write(&root.join("files").join(name))?;
    }
    for number in 0..count {
        let folder = root.join(format!("title-{number}"));
        fs::create_dir(&folder)?;
        for (name, _) in &files {
            std::os::unix::fs::symlink(root.join("files").join(name), folder.join(name))?;
        }
    }
    Ok(())
}

/// Bytes of memory that this process has.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kibibytes.ok_or("no VmRSS in /proc/self/status")? << 10)
}

fn get(address: SocketAddr, path: &str) -> Result<usize, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if !answer.starts_with(b"HTTP/1.1 200 ") {
        return Err(String::from_utf8_lossy(&answer).into());
    }
    Ok(answer.len())
}

fn config(root: &Path) -> Result<Config, Box<dyn Error>> {
    let place = root.to_str().ok_or("a name")?.parse()?;
    Ok(Config {
        listen: "127.0.0.1:0".parse()?,
        threads: Some(2),
        // Its own count is a cautious guess; what is judged is what the process grew by.
        memory_cache: 2 * LIMIT,
        fresh: Duration::from_secs(3600),
        ..Config::new(place)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let count: u32 = std::env::args().nth(1).map_or(Ok(1000), |count| count.parse())?;
    let root = tempfile::tempdir()?;
    make_titles(root.path(), count)?;
    let server = Server::bind(&config(root.path())?)?;
    let (address, metrics) = (server.address(), server.metrics());
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let served = std::thread::spawn(move || server.run(move || asked.load(Ordering::SeqCst)));
    let before = resident()?;
    let began = Instant::now();
    for number in 0..count {
        get(address, &format!("/title-{number}/manifest.mpd"))?;
    }
    let took = began.elapsed();
    for number in 0..count {
        get(address, &format!("/title-{number}/manifest.mpd"))?;
    }
    let grown = resident()?.saturating_sub(before);
    let of_thousand = grown * 1000 / u64::from(count.max(1));
    println!(
        "{count} titles of {MINUTES} minutes: {} MiB, {} KiB each; indexed in {:.1} s",
        grown >> 20,
        (grown >> 10) / u64::from(count.max(1)),
        took.as_secs_f64()
    );
    stop.store(true, Ordering::SeqCst);
    served.join().map_err(|_| "the server failed")??;
    let kept = metrics.lookups(Kind::Index, Tier::Memory);
    if kept < u64::from(count) {
        return Err(format!("only {kept} of {count} titles were kept").into());
    }
    if of_thousand > LIMIT {
        return Err(format!("1000 titles would take {} MiB", of_thousand >> 20).into());
    }
    Ok(())
}
