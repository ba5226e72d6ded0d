use super::*;

fn frames() -> Frames {
    Frames::new(FrameLimits {
        payload: 100,
        frames: 4,
        frame_bytes: 1_000,
    })
}

fn part(frame: u32, offset: u32) -> MediaFraming {
    MediaFraming {
        frame,
        offset,
        frame_length: 250,
        timestamp_ns: u64::from(frame) * 10,
        ..MediaFraming::default()
    }
}

/// The bytes of a frame's part, by where they are.
fn bytes(framing: &MediaFraming) -> Vec<u8> {
    let end = framing.frame_length.min(framing.offset + 100);
    (framing.offset..end)
        .map(|at| (at as u8) ^ (framing.frame as u8))
        .collect()
}

fn stamp(deadline_ns: u64) -> Stamp {
    Stamp {
        now_ns: 5,
        sent_ns: deadline_ns - 100,
        deadline_ns,
        expected_ns: 0,
        original: true,
        sender: SenderIndex(0),
        mark: 1,
    }
}

fn place(frames: &mut Frames, frame: u32, offset: u32, deadline_ns: u64) -> Placed {
    let framing = part(frame, offset);
    frames.begin(0);
    frames.place(frame.into(), &framing, &bytes(&framing), &stamp(deadline_ns))
}

#[test]
fn frames_come_whole_and_in_order_whatever_the_order_of_packets() {
    let mut frames = frames();
    for (frame, offset) in [(1, 200), (0, 100), (1, 0), (0, 200)] {
        assert_eq!(place(&mut frames, frame, offset, 1_000), Placed::New);
    }
    assert_eq!(place(&mut frames, 0, 100, 1_000), Placed::Duplicate);
    assert_eq!(place(&mut frames, 1, 100, 1_000), Placed::Whole);
    assert_eq!(frames.take(999), None, "the second is complete, the first is not");
    assert_eq!(place(&mut frames, 0, 0, 1_000), Placed::Whole);
    for number in 0..2u64 {
        let Some(OutputFrame::Frame(frame)) = frames.take(999) else {
            panic!("a frame");
        };
        assert_eq!(
            (frame.number, frame.timestamp_ns, frame.missing),
            (number, number * 10, vec![])
        );
        let expected: Vec<u8> = (0..250u32).map(|at| (at as u8) ^ (number as u8)).collect();
        assert_eq!(frame.bytes, expected);
        frames.recycle(frame.bytes);
    }
    assert_eq!(frames.take(u64::MAX), None);
    assert_eq!(place(&mut frames, 1, 0, 1_000), Placed::Merged, "it was there");
}

#[test]
fn at_the_deadline_a_frame_goes_with_what_is_missing_and_one_without_packets_as_nothing() {
    let mut frames = frames();
    assert_eq!(place(&mut frames, 0, 100, 1_000), Placed::New);
    assert_eq!(place(&mut frames, 2, 0, 2_000), Placed::New);
    assert_eq!(frames.next_deadline(), Some(1_000));
    assert_eq!(frames.take(999), None);
    let Some(OutputFrame::Frame(frame)) = frames.take(1_000) else {
        panic!("a frame");
    };
    let piece = |start, end| Piece { start, end };
    assert_eq!(frame.missing, [piece(0, 100), piece(200, 250)]);
    assert_eq!(frames.take(1_999), None);
    assert_eq!(frames.take(2_000), Some(OutputFrame::Nothing(1)));
    let Some(OutputFrame::Frame(frame)) = frames.take(2_000) else {
        panic!("a frame");
    };
    assert_eq!((frame.number, frame.missing), (2, vec![piece(100, 250)]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut frames = frames();
    assert_eq!(place(&mut frames, 0, 0, 1_000), Placed::New);
    let whole = part(0, 100);
    let payload = [0; 100];
    for wrong in [
        MediaFraming { offset: 50, ..whole },
        MediaFraming { offset: 300, ..whole },
        MediaFraming { offset: 200, ..whole },
        MediaFraming {
            frame_length: 1_001,
            ..whole
        },
        MediaFraming {
            frame_length: 260,
            ..whole
        },
        MediaFraming { format: 9, ..whole },
    ] {
        assert_eq!(
            frames.place(0, &wrong, &payload, &stamp(1_000)),
            Placed::Malformed,
            "{wrong:?}"
        );
    }
    assert_eq!(
        frames.place(0, &whole, &payload[1..], &stamp(1_000)),
        Placed::Malformed
    );
    assert_eq!(place(&mut frames, 4, 0, 1_000), Placed::NoRoom);
}

#[test]
fn after_a_jump_what_was_there_goes_out_and_what_lies_between_as_nothing() {
    let mut frames = frames();
    assert_eq!(place(&mut frames, 1, 0, 1_000), Placed::New);
    assert!(frames.jump(5) && !frames.jump(9), "one at a time");
    assert_eq!(place(&mut frames, 5, 0, 2_000), Placed::New);
    let numbers = std::iter::from_fn(|| frames.take(500)).map(|given| match given {
        OutputFrame::Nothing(number) => (number, false),
        OutputFrame::Frame(frame) => (frame.number, true),
    });
    let expected = [(0, false), (1, true), (2, false), (3, false), (4, false)];
    assert_eq!(numbers.collect::<Vec<_>>(), expected);
    assert_eq!((frames.head(), frames.next_deadline()), (Some(5), Some(2_000)));
}

#[test]
fn no_packet_of_a_frame_makes_its_deadline_later_than_that_of_the_frame_after_it() {
    let mut frames = frames();
    place(&mut frames, 0, 0, 1_000);
    place(&mut frames, 0, 100, 1_400);
    assert_eq!(frames.next_deadline(), Some(1_400));
    place(&mut frames, 1, 0, 1_500);
    place(&mut frames, 0, 100, 9_000);
    assert_eq!(frames.next_deadline(), Some(1_500));
}

#[test]
fn a_frame_is_given_up_when_the_frames_before_had_ended_or_the_next_one_begins() {
    let mut frames = frames();
    frames.begin(0);
    for (frame, deadline_ns) in [(0, 1_000), (1, 1_600)] {
        let framing = part(frame, 0);
        let stamp = Stamp {
            expected_ns: 5_000,
            ..stamp(deadline_ns)
        };
        assert_eq!(frames.next_deadline().unwrap_or(5_000), 5_000);
        frames.place(frame.into(), &framing, &bytes(&framing), &stamp);
    }
    assert_eq!(frames.next_deadline(), Some(1_600));
    frames.take(1_600);
    assert_eq!(frames.next_deadline(), Some(5_000));
}

#[test]
fn frames_before_the_end_of_which_nothing_came_are_told() {
    let mut frames = frames();
    place(&mut frames, 0, 0, 1_000);
    frames.end(3, 1_200);
    assert!(matches!(frames.take(1_000), Some(OutputFrame::Frame(_))));
    assert_eq!((frames.take(1_199), frames.next_deadline()), (None, Some(1_200)));
    assert_eq!(frames.take(1_200), Some(OutputFrame::Nothing(1)));
    assert_eq!(frames.take(1_200), Some(OutputFrame::Nothing(2)));
    assert_eq!((frames.take(u64::MAX), frames.next_deadline()), (None, None));
}
