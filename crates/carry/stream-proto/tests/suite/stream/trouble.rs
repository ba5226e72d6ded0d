//! Garbage, replays and forgeries, late receivers, silent receivers, paths that do not carry the rate.

use std::cell::RefCell;
use std::rc::Rc;

use weir_protect::Sealer;
use weir_stream_proto::{
    BreakerLimits, Broken, Receiver, ReceiverEvent, Sender, SenderConfig, SenderEvent, SenderIndex,
};
use weir_wire::{
    FlowId, MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MediaData, MediaFeedback, MediaFraming, UdpKey,
    UnixNanos,
};

use super::world::{
    FRAME_BYTES, MS, PACKETS, PAYLOAD, SECOND, SESSION, Setup, World, code, picture, receiver_config, run,
    sender_config, terms,
};

#[test]
fn garbage_replays_and_forgeries_change_nothing_but_a_counter() {
    let honest = || Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"0.1%\"",
        fec: code(12, 96),
        arq: true,
        for_ns: 2 * SECOND,
        ..Setup::default()
    };
    let plain = run(honest());
    plain.assert_whole();

    let mut attacked = World::new(honest());
    let added = Rc::new(RefCell::new((0u64, 0u64)));
    let count = added.clone();
    let mut old: Vec<Vec<u8>> = Vec::new();
    attacked.stations[0].meddle = Box::new(move |datagrams| {
        let own = datagrams[0].clone();
        let mut counts = count.borrow_mut();
        // One bit of the header changed; cut short; signed with another key; nothing at all; one of before.
        let mut forged = own.clone();
        forged[own.len() % 40] ^= 4;
        let data = MediaData {
            session: SESSION,
            symbol: weir_wire::Sequence(old.len() as u32 * 7),
            flow: FlowId(3),
            ..MediaData::default()
        };
        let mut foreign = vec![0; MEDIA_HEADER_LENGTH + PAYLOAD as usize];
        let mut header = [0; MEDIA_HEADER_LENGTH];
        data.encode(&UdpKey::new(*b"another key here"), &mut header);
        foreign[..MEDIA_HEADER_LENGTH].copy_from_slice(&header);
        datagrams.extend([forged, own[..40].to_vec(), foreign, Vec::new(), own.clone()]);
        counts.0 += 4;
        counts.1 += 1;
        if old.len() > 100 {
            datagrams.push(old[old.len() - 100].clone());
            counts.1 += 1;
        }
        old.push(own);
    });
    let attacked = attacked.run();
    attacked.assert_whole();
    let (rejected, replayed) = *added.borrow();
    let (with, without) = (attacked.seen(0), plain.seen(0));
    assert_eq!(with.rejected, rejected);
    assert_eq!(with.duplicates, without.duplicates + replayed);
    let rest = |mut counters: weir_stats::ArrivalCounters| {
        (counters.rejected, counters.duplicates) = (0, 0);
        counters
    };
    assert_eq!(rest(with), rest(without));
    assert_eq!(attacked.sender().counters(), plain.sender().counters());
}

/// One second of a stream straight into a receiver, from the given packet on.
fn straight(from: usize, config: SenderConfig) -> (Receiver, SenderIndex, Vec<u64>) {
    let mut sender = Sender::new(config, 0);
    let setup = Setup::default();
    let mut receiver = Receiver::new(receiver_config(&setup)).expect("a receiver");
    let index = receiver.add_sender(0, terms(&setup, 0)).expect("a sender");
    let (mut out, mut given, mut number) = (Vec::new(), Vec::new(), 0);
    let mut packets = 0;
    for now in (0..SECOND).step_by(MS as usize / 10) {
        while sender.wants_frame(0) {
            let bytes = picture(u64::from(number));
            let framing = MediaFraming {
                frame: number,
                frame_length: bytes.len() as u32,
                format: 1,
                ..MediaFraming::default()
            };
            if number % 100 == 0 {
                let description = MediaFraming {
                    flags: MediaFraming::DESCRIPTION,
                    format: 1,
                    ..MediaFraming::default()
                };
                sender.push_notice(now, description, b"what it is".to_vec());
            }
            sender.push_frame(now, framing, bytes);
            number += 1;
        }
        sender.wake(now, UnixNanos(now + 5), &mut out);
        for transmit in &out {
            packets += 1;
            if packets > from {
                receiver.receive(
                    now,
                    index,
                    &mut [transmit.header(), sender.body(transmit)].concat(),
                );
            }
        }
        let mut feedback = [0; MAX_FEEDBACK_LENGTH];
        if let Some((_, length)) = receiver.poll_feedback(now, index, &mut feedback) {
            sender
                .receive(now, UnixNanos(now + 5), &mut feedback[..length])
                .expect("feedback");
        }
        while let Some(frame) = receiver.poll_frame(now) {
            if let weir_stream_proto::OutputFrame::Frame(frame) = frame
                && frame.missing.is_empty()
            {
                given.push(frame.number);
            }
        }
    }
    (receiver, index, given)
}

#[test]
fn a_receiver_that_comes_late_takes_the_stream_from_where_it_is() {
    let config = sender_config(&Setup::default(), 0);
    let (mut early, first_of_early, all) = straight(0, config.clone());
    assert!(all.len() > 500 && all.iter().copied().eq(0..all.len() as u64));
    let (late, index, rest) = straight(20_000, config);
    // Its frame, and perhaps the next one, are incomplete.
    let first = rest[0];
    assert!((313..316).contains(&first), "{first}");
    assert!(rest.iter().copied().eq(first..all.len() as u64));
    assert_eq!(
        (late.counters(index).rejected, early.counters(first_of_early).lost),
        (0, 0)
    );
    let described = ReceiverEvent::Format {
        sender: first_of_early,
        format: 1,
        description: b"what it is".to_vec(),
    };
    assert_eq!(early.poll_event(), Some(described));
    assert_eq!(early.poll_event(), None, "told once, however often it is sent");
}

#[test]
fn a_receiver_that_falls_silent_stops_the_sender() {
    let mut sender = Sender::new(sender_config(&Setup::default(), 0), 0);
    let mut out = Vec::new();
    let mut last = 0;
    for now in (0..10 * SECOND).step_by(MS as usize) {
        if sender.wants_frame(0) {
            let framing = MediaFraming {
                frame_length: PAYLOAD,
                ..MediaFraming::default()
            };
            sender.push_frame(now, framing, vec![0; PAYLOAD as usize]);
        }
        sender.wake(now, UnixNanos(now), &mut out);
        if !out.is_empty() {
            last = now;
        }
    }
    let silence_ns = BreakerLimits::default().silence_ns;
    assert_eq!(
        sender.poll_event(),
        Some(SenderEvent::Stopped(Broken::Silence { silence_ns }))
    );
    assert!(last < silence_ns && last > silence_ns - 100 * MS, "{last}");
    assert_eq!((sender.next_wake(), sender.wants_frame(0)), (None, false));
}

#[test]
fn a_path_that_loses_too_much_stops_the_sender() {
    let world = World::new(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"20%\"",
        fec: code(2, 40),
        for_ns: 8 * SECOND,
        ..Setup::default()
    });
    let world = world.run();
    let stopped = world.stations[0]
        .events
        .iter()
        .find_map(|(at, event)| match event {
            SenderEvent::Stopped(Broken::Loss { loss, .. }) => Some((*at, *loss)),
            _ => None,
        });
    let (at, loss) = stopped.expect("the sender stops");
    assert!((3 * SECOND..5 * SECOND).contains(&at), "{at}");
    assert!((0.17..0.23).contains(&loss), "{loss}");
}

#[test]
fn feedback_is_taken_once_and_only_from_the_receiver() {
    let setup = Setup::default();
    let mut sender = Sender::new(sender_config(&setup, 0), 0);
    let give = |sender: &mut Sender, number, session: usize| {
        let feedback = MediaFeedback {
            session: SESSION,
            number,
            ..MediaFeedback::default()
        };
        let mut bytes = [0; MAX_FEEDBACK_LENGTH];
        let mut sealer = Sealer::new(&terms(&setup, session).secrets);
        let length = feedback.encode(&mut sealer, &[], &[], &mut bytes);
        let length = length.expect("a new sealer");
        sender.receive(1, UnixNanos(1), &mut bytes[..length]).is_ok()
    };
    assert!(give(&mut sender, 4, 0));
    assert!(
        give(&mut sender, 4, 0) && give(&mut sender, 3, 0),
        "old, and of no effect"
    );
    assert_eq!(sender.counters().rejected, 2);
    assert!(!give(&mut sender, 5, 1), "sealed with the key of another session");
    assert_eq!(sender.counters().rejected, 3);
    assert!(give(&mut sender, 5, 0));
    assert_eq!(sender.counters().rejected, 3);
}

/// Buffers go round: as many come back as frames went in, and none more, however often the format is described.
#[test]
fn buffers_of_frames_come_back_and_no_others() {
    let mut world = run(Setup {
        format_from: Some(1_000),
        ..Setup::default()
    });
    world.assert_whole();
    let frames = u64::from(world.frames());
    let station = &mut world.stations[0];
    let sources = station.sender.counters().sources;
    assert!(
        sources > frames * u64::from(PACKETS) + 10,
        "notices were sent too"
    );
    let back: Vec<Vec<u8>> = std::iter::from_fn(|| station.sender.spare_buffer()).collect();
    assert!(back.iter().all(|buffer| buffer.len() == FRAME_BYTES as usize));
    assert_eq!(back.len() as u64, frames);
}
