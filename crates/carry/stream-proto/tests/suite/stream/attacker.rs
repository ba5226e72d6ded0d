//! An attacker on the path of a protected stream, both ways: records, replays, truncates, reorders, alters, injects, and
//! splices sessions. Nothing of it is accepted, and the stream does not suffer.

use std::cell::RefCell;
use std::rc::Rc;

use weir_protect::{Protection, Secret, StreamSecrets};
use weir_stats::ArrivalCounters;
use weir_stream_proto::{Receiver, Sender};
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, UnixNanos};

use super::world::{
    FRAME_BYTES, MS, PAYLOAD, SECOND, Setup, World, code, picture, receiver_config, run, secrets,
    sender_config, terms,
};

const PROTECTED: [Protection; 4] = [
    Protection::Auth,
    Protection::Aes128Gcm,
    Protection::Aes256Gcm,
    Protection::ChaCha20Poly1305,
];

/// Datagrams of a sender until `until_ns`, in their order.
fn sent(sender: &mut Sender, until_ns: u64) -> Vec<Vec<u8>> {
    let (mut all, mut out, mut number) = (Vec::new(), Vec::new(), 0);
    for now in (0..until_ns).step_by(20_000) {
        if sender.wants_frame(FRAME_BYTES as usize) {
            let framing = MediaFraming {
                frame: number,
                frame_length: FRAME_BYTES,
                ..MediaFraming::default()
            };
            sender.push_frame(now, framing, picture(number.into()));
            number += 1;
        }
        sender.wake(now, UnixNanos(SECOND + now), &mut out);
        all.extend(out.iter().map(|it| [it.header(), sender.body(it)].concat()));
    }
    all
}

fn setup(protection: Protection) -> Setup {
    Setup {
        protection,
        fec: code(4, 16),
        arq: true,
        packets_per_epoch: 500,
        ..Setup::default()
    }
}

/// What a receiver that has had these datagrams counts.
fn after(setup: &Setup, datagrams: &[Vec<u8>]) -> (Receiver, ArrivalCounters) {
    let mut receiver = Receiver::new(receiver_config(setup)).expect("a receiver");
    let index = receiver.add_sender(0, terms(setup, 0)).expect("a sender");
    for datagram in datagrams {
        receiver.receive(MS, index, &mut datagram.clone());
    }
    let counters = receiver.counters(index);
    (receiver, counters)
}

/// Every bit of a source packet and of a repair packet: header, seal, tag and payload.
#[test]
fn no_altered_bit_is_accepted() {
    for protection in PROTECTED {
        let setup = setup(protection);
        let datagrams = sent(&mut Sender::new(sender_config(&setup, 0), 0), MS);
        let kinds = [8, 9].map(|kind| {
            let found = datagrams.iter().find(|datagram| datagram[3] == kind);
            found.expect("sources and repairs").clone()
        });
        for datagram in kinds {
            let (mut receiver, _) = after(&setup, &[]);
            let index = receiver.senders().next().expect("a sender");
            for bit in 0..datagram.len() * 8 {
                let mut altered = datagram.clone();
                altered[bit / 8] ^= 1 << (bit % 8);
                receiver.receive(MS, index, &mut altered);
            }
            for length in 0..datagram.len() {
                receiver.receive(MS, index, &mut datagram[..length].to_vec());
            }
            let mut longer = datagram.clone();
            longer.push(0);
            receiver.receive(MS, index, &mut longer);
            let refused = datagram.len() as u64 * 9 + 1;
            let expected = ArrivalCounters {
                rejected: refused,
                ..ArrivalCounters::default()
            };
            assert_eq!(receiver.counters(index), expected, "{protection}");
            let mut feedback = [0; MAX_FEEDBACK_LENGTH];
            assert_eq!(
                receiver.poll_feedback(2 * MS, index, &mut feedback),
                None,
                "no answer"
            );
            receiver.receive(MS, index, &mut datagram.clone());
            let seen = receiver.counters(index);
            assert_eq!((seen.received + seen.repairs, seen.rejected), (1, refused));
        }
    }
}

/// Feedback, whose requests decide what is sent again.
#[test]
fn no_altered_bit_of_feedback_is_accepted() {
    for protection in PROTECTED {
        let setup = setup(protection);
        let mut sender = Sender::new(sender_config(&setup, 0), 0);
        let mut datagrams = sent(&mut sender, 4 * MS);
        // Some are missing, so that it has all its parts.
        datagrams.retain(|datagram| datagram[15] % 7 != 3);
        let (mut receiver, _) = after(&setup, &datagrams);
        let index = receiver.senders().next().expect("a sender");
        let mut buffer = [0; MAX_FEEDBACK_LENGTH];
        let polled = receiver.poll_feedback(10 * MS, index, &mut buffer);
        let (_, length) = polled.expect("feedback");
        let feedback = &buffer[..length];
        let before = sender.counters();
        let mut refused = 0;
        let mut give = |sender: &mut Sender, mut altered: Vec<u8>| {
            assert!(sender.receive(10 * MS, UnixNanos(SECOND), &mut altered).is_err());
            refused += 1;
        };
        for bit in 0..length * 8 {
            let mut altered = feedback.to_vec();
            altered[bit / 8] ^= 1 << (bit % 8);
            give(&mut sender, altered);
        }
        for length in 0..length {
            give(&mut sender, feedback[..length].to_vec());
        }
        // The sender's own packets, reflected.
        for datagram in &datagrams[..20] {
            give(&mut sender, datagram.clone());
        }
        assert_eq!(sender.counters().rejected, before.rejected + refused);
        assert_eq!(sender.rtt_ns(), None);
        let mut own = feedback.to_vec();
        assert_eq!(
            sender
                .receive(10 * MS, UnixNanos(SECOND), &mut own)
                .map_err(|it| it.to_string()),
            Ok(())
        );
        assert!(sender.next_wake() == Some(0), "it sends again what is missing");
    }
}

/// Recorded in one session and sent into another: of the same token and identifiers, but with its own keys.
#[test]
fn recordings_of_other_sessions_and_directions_are_refused() {
    for protection in PROTECTED {
        let setup = setup(protection);
        let old = sent(&mut Sender::new(sender_config(&setup, 0), 0), 5 * MS);
        let (_, seen) = after(&setup, &old);
        assert!(seen.received > 100 && seen.rejected == 0, "{seen:?}");
        let mut receiver = Receiver::new(receiver_config(&setup)).expect("a receiver");
        let new = StreamSecrets {
            receiving: Secret::new([77; 32]),
            ..secrets(&setup, 0).of_other_end()
        };
        let terms = weir_stream_proto::SenderTerms {
            secrets: new,
            ..terms(&setup, 0)
        };
        let index = receiver.add_sender(0, terms).expect("a sender");
        for datagram in &old {
            receiver.receive(MS, index, &mut datagram.clone());
        }
        let expected = ArrivalCounters {
            rejected: old.len() as u64,
            ..ArrivalCounters::default()
        };
        assert_eq!(receiver.counters(index), expected, "{protection}");
    }
}

/// Parts of two authentic packets, put together.
#[test]
fn spliced_packets_are_refused() {
    for protection in PROTECTED {
        let setup = setup(protection);
        let datagrams = sent(&mut Sender::new(sender_config(&setup, 0), 0), 3 * MS);
        let sources: Vec<_> = datagrams
            .iter()
            .filter(|it| it[3] == 8 && it.len() == 80 + PAYLOAD as usize)
            .collect();
        let mut spliced = Vec::new();
        for pair in sources.windows(2) {
            for cut in [12, 24, 32, 56, 72, 80, 100] {
                spliced.push([&pair[0][..cut], &pair[1][cut..]].concat());
                spliced.push([&pair[1][..cut], &pair[0][cut..]].concat());
            }
            // A header with the seal and the payload of another.
            spliced.push([&pair[0][..56], &pair[1][56..72], &pair[0][72..80], &pair[1][80..]].concat());
        }
        // Some parts are the same in both.
        spliced.retain(|spliced| !sources.contains(&spliced));
        assert!(spliced.len() > 1_000, "{}", spliced.len());
        let (_, seen) = after(&setup, &spliced);
        let expected = ArrivalCounters {
            rejected: spliced.len() as u64,
            ..ArrivalCounters::default()
        };
        assert_eq!(seen, expected, "{protection}");
    }
}

/// Counts of what was added to a running stream.
#[derive(Default)]
struct Added {
    forged: u64,
    replayed: u64,
}

/// A whole stream with loss, repairs and retransmissions, over many key epochs, beside an attacker with a recording.
#[test]
fn a_stream_under_attack_is_as_without_and_renews_its_keys() {
    for protection in PROTECTED {
        let honest = || Setup {
            link: "rtt = \"1ms\"\nforward.loss = \"0.5%\"",
            fec: code(12, 96),
            for_ns: 2 * SECOND,
            packets_per_epoch: 4_000,
            ..setup(protection)
        };
        let plain = run(honest());
        plain.assert_whole();
        assert!(
            plain.sender().key_renewals() > 15,
            "{}",
            plain.sender().key_renewals()
        );

        // Forged packets may be ahead of those that they imitate, and must not take their place.
        for ahead in [false, true] {
            let mut attacked = World::new(honest());
            let added = attack(&mut attacked, ahead);
            let attacked = attacked.run();
            attacked.assert_whole();
            let added = added.borrow();
            let (with, without) = (attacked.seen(0), plain.seen(0));
            assert_eq!(attacked.given, plain.given);
            if ahead {
                // Whatever arrives lets the receiver look for missing packets, so that a repair may be earlier.
                assert_eq!(with.rejected, added.forged, "{protection}");
                assert!(with.duplicates.abs_diff(added.replayed) < 5, "{with:?}");
                continue;
            }
            // After the packet, one with its header and another payload is a replay.
            assert_eq!(
                with.rejected + with.duplicates,
                without.duplicates + added.forged + added.replayed,
                "{protection}"
            );
            let rest = |counters: ArrivalCounters| ArrivalCounters {
                rejected: 0,
                duplicates: 0,
                ..counters
            };
            assert_eq!(rest(with), rest(without));
            assert_eq!(attacked.sender().counters(), plain.sender().counters());
        }
    }
}

/// Adds forged packets to each one, and replays of it and of earlier ones.
fn attack(world: &mut World, ahead: bool) -> Rc<RefCell<Added>> {
    let added: Rc<RefCell<Added>> = Rc::default();
    let (count, mut old) = (added.clone(), Vec::<Vec<u8>>::new());
    world.stations[0].meddle = Box::new(move |datagrams| {
        let own = datagrams[0].clone();
        let mut count = count.borrow_mut();
        let mut altered = own.clone();
        let at = old.len() % own.len();
        altered[at] ^= 0x10;
        let mut far = own.clone();
        far[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        let forged = [altered, far, own[..own.len() - 1].to_vec()];
        datagrams.clear();
        let place = if ahead { 3 } else { 0 };
        datagrams.extend(forged);
        datagrams.insert(place, own.clone());
        datagrams.push(own.clone());
        count.forged += 3;
        count.replayed += 1;
        // Of the former key epoch, and of the present one.
        for back in [5_000, 400] {
            if let Some(recorded) = old.len().checked_sub(back) {
                datagrams.push(old[recorded].clone());
                count.replayed += 1;
            }
        }
        // One whose key is gone.
        if let Some(ancient) = old.len().checked_sub(30_000) {
            datagrams.push(old[ancient].clone());
            count.forged += 1;
        }
        old.push(own);
    });
    added
}

/// Every protection carries the same frames with the same packets.
#[test]
fn protections_differ_in_nothing_but_bytes() {
    let of = |protection| {
        run(Setup {
            link: "rtt = \"1ms\"\nforward.loss = \"0.5%\"",
            for_ns: SECOND,
            ..setup(protection)
        })
    };
    let off = of(Protection::Off);
    off.assert_whole();
    assert_eq!(off.sender().key_renewals(), 0);
    for protection in PROTECTED {
        let world = of(protection);
        assert_eq!(world.seen(0), off.seen(0), "{protection}");
        assert_eq!(world.given, off.given, "{protection}");
    }
}

/// A constant picture: what is on the network shows nothing of it, and without encryption all of it.
#[test]
fn a_constant_picture_is_nowhere_on_the_network() {
    for protection in Protection::ALL {
        let setup = setup(protection);
        let mut sender = Sender::new(sender_config(&setup, 0), 0);
        let (mut shown, mut out) = (0, Vec::new());
        for number in 0..20 {
            let framing = MediaFraming {
                frame: number,
                frame_length: FRAME_BYTES,
                ..MediaFraming::default()
            };
            let now = u64::from(number) * setup.frame_ns();
            sender.push_frame(now, framing, vec![0xab; FRAME_BYTES as usize]);
            for step in 0..100 {
                let now = now + step * setup.frame_ns() / 100;
                sender.wake(now, UnixNanos(SECOND + now), &mut out);
                for transmit in &out {
                    let datagram = [transmit.header(), sender.body(transmit)].concat();
                    shown += usize::from(datagram.windows(16).any(|bytes| bytes == [0xab; 16]));
                }
            }
        }
        assert_eq!(shown == 0, protection.encrypts(), "{protection}: {shown}");
    }
}

/// A receiver that asks for what was not sent yet gets nothing, above all not a plaintext.
#[test]
fn packets_that_are_not_sent_yet_are_not_retransmitted() {
    let setup = setup(Protection::Aes128Gcm);
    let mut sender = Sender::new(sender_config(&setup, 0), 0);
    let framing = MediaFraming {
        frame_length: FRAME_BYTES,
        ..MediaFraming::default()
    };
    sender.push_frame(0, framing, vec![0xab; FRAME_BYTES as usize]);
    let mut out = Vec::new();
    sender.wake(0, UnixNanos(SECOND), &mut out);
    let first = out.len() as u64;
    let feedback = weir_wire::MediaFeedback {
        session: super::world::session(0),
        ..weir_wire::MediaFeedback::default()
    };
    let all = weir_wire::MissingRange {
        first: weir_wire::Sequence(0),
        count: u16::MAX,
    };
    let mut bytes = [0; MAX_FEEDBACK_LENGTH];
    let mut sealer = weir_protect::Sealer::new(&terms(&setup, 0).secrets);
    let length = feedback
        .encode(&mut sealer, &[], &[all], &mut bytes)
        .expect("new");
    sender
        .receive(1, UnixNanos(SECOND + 1), &mut bytes[..length])
        .expect("feedback");
    let mut again = 0;
    for now in 1..20 {
        sender.wake(now, UnixNanos(SECOND + now), &mut out);
        again += out.len() as u64;
        for transmit in &out {
            assert!(sender.body(transmit)[..16] != [0xab; 16]);
        }
    }
    assert!(again >= 1 && again <= first, "{again} of {first}");
    assert!(sender.counters().refused >= u64::from(super::world::PACKETS) - first);
}
