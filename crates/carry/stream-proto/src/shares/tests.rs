use super::*;

const MS: u64 = 1_000_000;

fn frame(sender: u16, number: u64, sender_number: u32) -> OutputFrame {
    OutputFrame::Frame(Frame {
        number,
        sender: SenderIndex(sender),
        sender_number,
        deadline_ns: number * 10 * MS,
        ..Frame::default()
    })
}

/// A joiner of two shares, and the keys of each.
struct Two {
    joiner: Joiner,
    keys: [FrameKeys; 2],
}

impl Two {
    fn new() -> Self {
        let mut two = Two {
            joiner: Joiner::new(2),
            keys: Default::default(),
        };
        two.join(0, true);
        two
    }

    fn join(&mut self, sender: u16, alone: bool) {
        for keys in &mut self.keys {
            keys.join(SenderIndex(sender), alone);
        }
    }

    fn push(&mut self, now_ns: u64, share: u16, given: OutputFrame) {
        let key = self.keys[usize::from(share)].next(&given);
        self.joiner.push(now_ns, share, key, given);
    }

    /// The sender's numbers of the parts of each frame that is joined by now.
    fn poll(&mut self, now_ns: u64) -> Vec<[Option<u32>; 2]> {
        let number = |part: &Option<Frame>| part.as_ref().map(|part| part.sender_number);
        std::iter::from_fn(|| self.joiner.poll(now_ns))
            .map(|joined| [number(&joined.parts[0]), number(&joined.parts[1])])
            .collect()
    }
}

#[test]
fn parts_are_whole_packets_and_cover_the_frame() {
    for (count, payload, bytes) in [
        (1, 100, 250),
        (2, 100, 250),
        (3, 7, 1_000),
        (16, 1_400, 8_294_400),
    ] {
        let shares = Shares::new(count, payload).expect("shares");
        let parts: Vec<_> = (0..count).map(|share| shares.part(share, bytes)).collect();
        assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, bytes));
        for pair in parts.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
            assert!(pair[0].end.is_multiple_of(payload as usize));
        }
        let packets = |part: &Range<usize>| part.len().div_ceil(payload as usize);
        let all: Vec<usize> = parts.iter().map(packets).collect();
        assert_eq!(all.iter().sum::<usize>(), bytes.div_ceil(payload as usize));
        let (least, most) = (all.iter().min(), all.iter().max());
        assert!(
            most.zip(least).is_some_and(|(most, least)| most - least <= 1),
            "{all:?}"
        );
    }
    // 250 bytes are 3 packets: one for the first share, two for the second.
    let two = Shares::new(2, 100).expect("shares");
    assert_eq!((two.part(0, 250), two.part(1, 250)), (0..100, 100..250));
    assert_eq!((two.part(0, 50), two.part(1, 50)), (0..0, 0..50));
    assert_eq!((two.flows(0, 9), two.flows(1, 9)), (0..4, 4..9));
    let wrong = [(0, 100), (MAX_SHARES + 1, 100), (2, 0)];
    assert!(
        wrong
            .iter()
            .all(|(count, payload)| Shares::new(*count, *payload).is_none())
    );
}

#[test]
fn a_frame_is_joined_when_its_last_part_arrives() {
    let mut two = Two::new();
    two.push(0, 0, frame(0, 7, 7));
    two.push(0, 0, frame(0, 8, 8));
    assert!(two.poll(0).is_empty());
    two.push(0, 1, frame(0, 7, 7));
    assert_eq!(two.poll(0), [[Some(7), Some(7)]]);
    two.push(0, 1, frame(0, 8, 8));
    assert_eq!(two.poll(0), [[Some(8), Some(8)]]);
    assert_eq!(two.joiner.next_wake(), None);
}

#[test]
fn a_share_that_lost_a_frame_lacks_it_and_no_other() {
    let mut two = Two::new();
    for number in 0..4 {
        two.push(0, 0, frame(0, number, number as u32));
        // Dropped by the receiver before the joiner, and lost by the network.
        match number {
            1 => {}
            2 => two.push(0, 1, OutputFrame::Nothing(2)),
            _ => two.push(0, 1, frame(0, number, number as u32)),
        }
    }
    let numbers = [
        [Some(0), Some(0)],
        [Some(1), None],
        [Some(2), None],
        [Some(3), Some(3)],
    ];
    assert_eq!(two.poll(0), numbers);
}

#[test]
fn frames_lost_before_the_first_that_arrives_have_keys_of_their_session() {
    let mut two = Two::new();
    two.push(0, 0, OutputFrame::Nothing(4));
    two.push(0, 0, frame(0, 5, 5));
    for number in [4, 5] {
        two.push(0, 1, frame(0, number, number as u32));
    }
    assert_eq!(two.poll(0), [[None, Some(4)], [Some(5), Some(5)]]);
}

#[test]
fn a_dark_share_is_waited_for_until_the_deadline_and_a_little_more() {
    let mut two = Two::new();
    two.push(MS, 0, frame(0, 5, 5));
    let until_ns = 50 * MS + LATE_NS;
    assert_eq!(two.joiner.next_wake(), Some(until_ns));
    assert!(two.poll(until_ns - 1).is_empty());
    assert_eq!(two.poll(until_ns), [[Some(5), None]]);
    // Its part comes later, and goes back.
    two.push(until_ns + 1, 1, frame(0, 5, 5));
    assert!(two.poll(u64::MAX).is_empty());
    let late = two.joiner.poll_late().expect("the part");
    assert_eq!((late.0, late.1.sender_number), (1, 5));
    // It is back.
    for share in [1, 0] {
        two.push(until_ns + 2, share, frame(0, 6, 6));
    }
    assert_eq!(two.poll(until_ns + 2), [[Some(6), Some(6)]]);
}

/// The sender begins again at 0, with a new session. One share has received more of the old one than the other, so that
/// their outputs continue with other numbers.
#[test]
fn shares_agree_after_a_restart_of_the_sender() {
    let mut two = Two::new();
    for number in 100..103 {
        two.push(0, 0, frame(0, number, number as u32));
    }
    two.push(0, 1, frame(0, 100, 100));
    two.join(1, true);
    for number in 0..2 {
        two.push(0, 0, frame(1, 103 + number, number as u32));
        two.push(0, 1, frame(1, 101 + number, number as u32));
    }
    let numbers = [
        [Some(100), Some(100)],
        [Some(101), None],
        [Some(102), None],
        [Some(0), Some(0)],
        [Some(1), Some(1)],
    ];
    assert_eq!(two.poll(0), numbers);
}

/// As a restart, but the session goes on: another sender was there.
#[test]
fn shares_agree_after_numbers_that_begin_again_and_after_those_that_wrap() {
    let mut two = Two::new();
    two.join(1, false);
    for share in [0, 1] {
        two.push(0, share, frame(0, 50, 50));
        two.push(0, share, frame(1, 51 + u64::from(share), 3));
        two.push(0, share, frame(1, 52 + u64::from(share), u32::MAX));
        two.push(0, share, frame(1, 53 + u64::from(share), 0));
        two.push(0, share, OutputFrame::Nothing(54 + u64::from(share)));
        two.push(0, share, frame(1, 55 + u64::from(share), 2));
    }
    let numbers = [Some(50), Some(3), Some(u32::MAX), Some(0), None, Some(2)];
    assert_eq!(two.poll(0), numbers.map(|number| [number, number]));
}

#[test]
fn a_share_that_is_dark_during_a_restart_is_joined_afterwards() {
    let mut two = Two::new();
    for share in [0, 1] {
        two.push(0, share, frame(0, 50, 50));
    }
    two.join(1, true);
    two.push(0, 0, frame(1, 51, 0));
    two.push(0, 0, frame(1, 52, 1));
    two.push(0, 1, frame(1, 51, 1));
    let numbers = [[Some(50), Some(50)], [Some(1), Some(1)]];
    assert_eq!(two.poll(0), numbers);
    let before = two.joiner.poll_late().expect("the part of a frame before");
    assert_eq!((before.0, before.1.sender_number), (0, 0));
}

/// Two senders merged: the first packets to arrive in one share are one's, and in the other the other's.
#[test]
fn a_session_begins_with_the_first_frame_that_all_shares_have() {
    for earlier in [0, 1] {
        let mut two = Two::new();
        two.join(1, false);
        for number in 6..9 {
            two.push(0, earlier, frame(0, number, number as u32));
        }
        assert!(two.poll(0).is_empty(), "the other share may have it");
        for number in 8..10 {
            two.push(0, 1 - earlier, frame(1, number, number as u32));
        }
        assert_eq!(two.poll(0), [[Some(8), Some(8)]]);
        let before = std::iter::from_fn(|| two.joiner.poll_late());
        let before: Vec<_> = before.map(|(share, part)| (share, part.sender_number)).collect();
        assert_eq!(before, [(earlier, 6), (earlier, 7)]);
        // From there on, what a share lacks is missing.
        two.push(0, earlier, frame(0, 10, 10));
        two.push(0, 1 - earlier, frame(0, 10, 10));
        let expected = match earlier {
            0 => [[None, Some(9)], [Some(10), Some(10)]],
            _ => [[Some(9), None], [Some(10), Some(10)]],
        };
        assert_eq!(two.poll(0), expected);
    }
}
