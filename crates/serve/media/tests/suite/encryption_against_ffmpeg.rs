//! What is encrypted is decrypted by ffmpeg to what it was, and slice data begins where ffmpeg's own reader of slice headers
//! says that it does.

use std::path::Path;

use crate::encrypted::{AV1_SOURCES, KEY, SOURCES, encrypt, key_hex, nal_units};
use crate::sources::{AAC, AUDIO, frames_and_packets, hashes, make, run};
use weir_media::encryption::{ContentKey, Scheme, VideoFormat, encrypt_whole};
use weir_media::package::init_segment;
use weir_rig::film::kept;

/// Decrypted, all frames are those of the source; the scheme and the key matter for that.
fn check_decrypted(folder: &Path, source: &Path) {
    // Packets too, so that nothing that a decoder passes over is lost.
    let clear = frames_and_packets(source, "-ignore_editlist 1", "0:0");
    assert!(clear.0.len() > 20);
    for scheme in [Scheme::Cenc, Scheme::Cbcs] {
        check_scheme(folder, source, scheme, &clear);
    }
}

fn check_scheme(folder: &Path, source: &Path, scheme: Scheme, clear: &(Vec<String>, Vec<String>)) {
    let made = encrypt(folder, source, scheme);
    // Fragment by fragment, as players get them: in a file that it can seek in, ffmpeg 5.1 takes what it has read of the
    // second fragment for the first.
    let options = format!("-seekable 0 -ignore_editlist 1 -decryption_key {}", key_hex(&KEY));
    for path in [&made.path, &made.single_file] {
        assert_eq!(frames_and_packets(path, &options, "0:0"), *clear, "{path:?}");
    }
    let packets = &clear.1;
    let other = hashes(&made.path, "-ignore_editlist 1", "0:0", "-c copy");
    let same = other
        .iter()
        .zip(packets)
        .filter(|(one, other)| one == other)
        .count();
    // In AV1 there are packets that only show a frame, and have nothing to protect.
    assert!(
        same * 2 < packets.len(),
        "{same} of {} packets are clear",
        packets.len()
    );
}

#[test]
fn what_is_encrypted_is_decrypted_to_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let sound = format!("{AUDIO} {AAC}");
    let sources = SOURCES.into_iter().chain(AV1_SOURCES);
    for (name, arguments) in sources.chain([("sound", sound.as_str())]) {
        let source = kept(&format!("{name}.mp4"), arguments);
        check_decrypted(folder.path(), &source);
    }
}

/// What the bitstream filter `trace_headers` reads: lines without what stands before them.
fn trace(source: &Path) -> Vec<String> {
    let arguments = format!(
        "-nostdin -v trace -i {} -map 0:0 -c copy -bsf:v trace_headers -f null -",
        source.display()
    );
    let output = std::process::Command::new("ffmpeg")
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines()
        .filter_map(|line| line.strip_prefix("[trace_headers @ "))
        .map(|line| line.split_once("] ").unwrap().1.to_owned())
        .collect()
}

/// Slice headers: for each slice the bits up to its data.
fn traced_headers(source: &Path) -> Vec<usize> {
    let mut headers = Vec::new();
    let mut in_slice = false;
    for line in trace(source) {
        let mut words = line.split_whitespace();
        let Some(Ok(position)) = words.next().map(str::parse::<usize>) else {
            in_slice = matches!(line.as_str(), "Slice Header" | "Slice Segment Header");
            if in_slice {
                headers.push(0);
            }
            continue;
        };
        // `POSITION NAME BITS = VALUE`
        let bits = words.clone().rev().nth(2).unwrap();
        if in_slice && bits.bytes().all(|bit| matches!(bit, b'0' | b'1')) {
            *headers.last_mut().unwrap() = position + bits.len();
        }
    }
    headers
}

/// Bytes of a NAL unit that hold so many bits, those against start codes not counted in the bits.
fn bytes_of_bits(nal: &[u8], bits: usize) -> usize {
    let mut wanted = bits.div_ceil(8);
    let mut length = 0;
    while wanted > 0 {
        let is_inserted = length >= 2 && nal[length] == 3 && nal[length - 2..length] == [0, 0];
        length += 1;
        if !is_inserted {
            wanted -= 1;
        }
    }
    length
}

#[test]
fn slice_data_begins_where_ffmpeg_says() {
    for (name, arguments) in SOURCES {
        let source = kept(&format!("{name}.mp4"), arguments);
        let bytes = std::fs::read(&source).unwrap();
        let (file, _) = crate::sources::index(&source);
        let track = &file.tracks[0];
        let mut traced = traced_headers(&source).into_iter();
        let entry = &track.head().sample_entry;
        let mut format = VideoFormat::of_sample_entry(entry, name).unwrap().unwrap();
        let is_h265 = name.starts_with("h265");
        let mut slices = 0;
        for sample in track.samples().iter() {
            let sample = &bytes[sample.position as usize..sample.end() as usize];
            let subsamples = format.subsamples(sample, Scheme::Cbcs).unwrap();
            let told: Vec<usize> = subsamples
                .iter()
                .filter(|subsample| subsample.protected > 0)
                .map(|subsample| subsample.protected as usize)
                .collect();
            let expected: Vec<usize> = nal_units(sample)
                .filter(|nal| match is_h265 {
                    true => nal[0] >> 1 & 0x3f < 32,
                    false => matches!(nal[0] & 0x1f, 1 | 5),
                })
                .map(|nal| nal.len() - bytes_of_bits(nal, traced.next().unwrap()))
                .filter(|length| *length > 0)
                .collect();
            assert_eq!(told, expected, "{name}");
            slices += told.len();
        }
        assert!(slices > 20, "{name}: {slices}");
        assert_eq!(traced.next(), None, "{name}");
    }
}

/// For each packet of AV1, of each OBU with tile data the bytes of that.
fn traced_tile_data(source: &Path) -> Vec<Vec<usize>> {
    let mut packets: Vec<Vec<usize>> = Vec::new();
    let (mut kind, mut size, mut header, mut end) = (0, 0, 0, 0);
    let close = |packets: &mut Vec<Vec<usize>>, kind: usize, whole: usize, bits: usize| {
        if let Some(packet) = packets.last_mut()
            && matches!(kind, 4 | 6)
        {
            packet.push(whole - bits.div_ceil(8));
        }
    };
    for line in trace(source) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "OBU" || words[0] == "Packet:" {
            close(&mut packets, kind, header + size, end);
            (kind, size, header, end) = (0, 0, 1, 0);
            if words[0] == "Packet:" {
                packets.push(Vec::new());
            }
            continue;
        }
        let Ok(position) = words[0].parse::<usize>() else {
            continue;
        };
        let value = || words[words.len() - 1].parse::<usize>().unwrap();
        match words[1] {
            "obu_type" => kind = value(),
            "obu_size" => {
                size = value();
                continue;
            }
            "temporal_id" => header += 1,
            name if name.starts_with("leb128_byte") => header += 1,
            _ => {}
        }
        // Of numbers that are made of several others the bits are not repeated.
        let bits = words[words.len() - 3];
        if bits.bytes().all(|bit| matches!(bit, b'0' | b'1')) {
            end = end.max(position + bits.len());
        }
    }
    close(&mut packets, kind, header + size, end);
    packets
}

#[test]
fn tile_data_begins_where_ffmpeg_says() {
    // Of frames with several tiles ffmpeg does not tell where they begin.
    for (name, arguments) in AV1_SOURCES.into_iter().filter(|(name, _)| *name != "av1-tiles") {
        let source = kept(&format!("{name}.mp4"), arguments);
        let bytes = std::fs::read(&source).unwrap();
        let (file, _) = crate::sources::index(&source);
        let track = &file.tracks[0];
        let entry = &track.head().sample_entry;
        let mut format = VideoFormat::of_sample_entry(entry, name).unwrap().unwrap();
        let traced = traced_tile_data(&source);
        assert_eq!(traced.len(), track.samples().len() as usize, "{name}");
        let mut frames = 0;
        for (sample, traced) in track.samples().iter().zip(traced) {
            let sample = &bytes[sample.position as usize..sample.end() as usize];
            // With counters whole blocks are protected.
            for (scheme, block) in [(Scheme::Cenc, 16), (Scheme::Cbcs, 1)] {
                let mut format = format.clone();
                let subsamples = format.subsamples(sample, scheme).unwrap();
                let told: Vec<usize> = subsamples
                    .iter()
                    .map(|subsample| subsample.protected as usize)
                    .filter(|protected| *protected > 0)
                    .collect();
                let blocks = traced.iter().map(|length| length / block * block);
                let expected: Vec<usize> = blocks.filter(|length| *length > 0).collect();
                assert_eq!(told, expected, "{name} {scheme}");
            }
            format.subsamples(sample, Scheme::Cbcs).unwrap();
            frames += traced.len();
        }
        assert!(frames >= 20, "{name}: {frames}");
    }
}

#[test]
fn whole_segments_are_decrypted_by_openssl() {
    let folder = tempfile::tempdir().unwrap();
    let source = make(folder.path(), "sound.mp4", &format!("{AUDIO} {AAC}"));
    let (file, _) = crate::sources::index(&source);
    let made = encrypt(folder.path(), &source, Scheme::Aes128);
    let clear = init_segment(&file.tracks[0]);
    let iv = [9; 16];
    let path = folder.path().join("init");
    let encrypted = encrypt_whole(&ContentKey::new(KEY), &iv, clear.clone());
    assert_eq!(
        made.parts[0],
        encrypt_whole(&ContentKey::new(KEY), &crate::encrypted::IV, clear.clone())
    );
    std::fs::write(&path, encrypted).unwrap();
    let arguments = format!(
        "enc -d -aes-128-cbc -K {} -iv {} -in {}",
        key_hex(&KEY),
        key_hex(&iv),
        path.display()
    );
    assert_eq!(run("openssl", arguments.split(' ')), clear);
}
