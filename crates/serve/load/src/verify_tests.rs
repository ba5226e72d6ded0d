//! Segments written out box by box after ISO/IEC 14496-12, whole and damaged, in pieces of every size.

use super::*;

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32 + 8).to_be_bytes();
    [length.as_slice(), kind, content].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A fragment of track 1 from `start` on, with the durations of its samples.
fn segment(start: u32, durations: &[u32]) -> Vec<u8> {
    let tfhd = boxed(b"tfhd", &words(&[0x02_0000, 1]));
    let tfdt = boxed(b"tfdt", &words(&[0, start]));
    let count = durations.len() as u32;
    let trun = boxed(b"trun", &[words(&[0x100, count]), words(durations)].concat());
    let traf = boxed(b"traf", &[tfhd, tfdt, trun].concat());
    let moof = boxed(b"moof", &[boxed(b"mfhd", &words(&[0, 1])), traf].concat());
    [boxed(b"styp", b"msdh\0\0\0\0"), moof, boxed(b"mdat", &[7; 100])].concat()
}

fn init(default: u32) -> Vec<u8> {
    let trex = boxed(b"trex", &words(&[0, 1, 1, default, 0, 0]));
    [
        boxed(b"ftyp", b"iso6\0\0\0\0"),
        boxed(b"moov", &boxed(b"mvex", &trex)),
    ]
    .concat()
}

#[track_caller]
fn verdict(bytes: &[u8], defaults: &Defaults) -> Verdict {
    let in_pieces = |step: usize| {
        let mut verifier = Verifier::new(defaults);
        bytes.chunks(step).for_each(|piece| verifier.push(piece));
        verifier.finish()
    };
    let whole = in_pieces(bytes.len().max(1));
    for step in 1..20 {
        assert_eq!(in_pieces(step), whole, "in pieces of {step}");
    }
    whole
}

fn spans(start: u64, end: u64) -> Spans {
    Spans([(1, (start, end))].into())
}

/// Headers of a track and of its media with times of creation and modification as long as the version has them.
fn timed(version: u32, timescale: u32) -> Vec<u8> {
    let times = vec![0; if version == 1 { 4 } else { 2 }];
    let header = |kind: &[u8; 4], number: u32| {
        let fields = [&[version << 24][..], &times, &[number, 0, 0]].concat();
        boxed(kind, &words(&fields))
    };
    let mdia = boxed(b"mdia", &header(b"mdhd", timescale));
    let trak = boxed(b"trak", &[header(b"tkhd", 1), mdia].concat());
    [boxed(b"ftyp", b"iso6\0\0\0\0"), boxed(b"moov", &trak)].concat()
}

#[test]
fn tracks_that_count_in_the_same_ticks() {
    let clock = |version, timescale| match verdict(&timed(version, timescale), &Defaults::default()) {
        Verdict::Init(defaults) => defaults,
        other => panic!("{other:?}"),
    };
    assert!(clock(0, 12_800).has_clocks_of(&clock(1, 12_800)));
    assert!(!clock(0, 12_800).has_clocks_of(&clock(0, 90_000)));
    assert!(!clock(1, 12_800).has_clocks_of(&Defaults::default()));
}

#[test]
fn segments_that_go_on() {
    let none = Defaults::default();
    let first = verdict(&segment(0, &[512, 512]), &none);
    assert_eq!(first, Verdict::Media(spans(0, 1024)));
    assert!(spans(1024, 2048).follows(&spans(0, 1024)));
    assert!(!spans(1025, 2048).follows(&spans(0, 1024)));
    let two = [segment(0, &[512]), segment(512, &[100])].concat();
    assert_eq!(verdict(&two, &none), Verdict::Media(spans(0, 612)));
    let gap = [segment(0, &[512]), segment(513, &[100])].concat();
    assert_eq!(verdict(&gap, &none), Verdict::Damaged);
}

#[test]
fn durations_of_the_movie_stand_in_for_missing_ones() {
    let Verdict::Init(defaults) = verdict(&init(300), &Defaults::default()) else {
        panic!("no initialization segment");
    };
    let tfhd = boxed(b"tfhd", &words(&[0, 1]));
    let tfdt = boxed(
        b"tfdt",
        &[words(&[0x0100_0000]), 9_u64.to_be_bytes().to_vec()].concat(),
    );
    let trun = boxed(b"trun", &words(&[0, 4]));
    let moof = boxed(b"moof", &boxed(b"traf", &[tfhd, tfdt, trun].concat()));
    let segment = [moof, boxed(b"mdat", b"")].concat();
    assert_eq!(verdict(&segment, &defaults), Verdict::Media(spans(9, 1209)));
}

#[test]
fn what_is_cut_off_is_damaged() {
    let whole = segment(0, &[512]);
    for length in 1..whole.len() {
        // Without its media, too; the type box alone is no segment either.
        assert_eq!(
            verdict(&whole[..length], &Defaults::default()),
            Verdict::Damaged,
            "{length} bytes"
        );
    }
    assert_eq!(verdict(b"", &Defaults::default()), Verdict::Damaged);
    let longer = [whole, b"\0\0\0\x04moof".to_vec()].concat();
    assert_eq!(verdict(&longer, &Defaults::default()), Verdict::Damaged);
}

#[test]
fn transport_streams_and_text() {
    let packet = [&[TS_SYNC], [0; 187].as_slice()].concat();
    assert_eq!(verdict(&packet.repeat(5), &Defaults::default()), Verdict::Other);
    assert_eq!(
        verdict(&packet.repeat(5)[..900], &Defaults::default()),
        Verdict::Damaged
    );
    let mut broken = packet.repeat(5);
    broken[376] = 0;
    assert_eq!(verdict(&broken, &Defaults::default()), Verdict::Damaged);
    assert_eq!(
        verdict(b"WEBVTT\n\n00:01.000 --> 00:02.000\nA", &Defaults::default()),
        Verdict::Other
    );
}
