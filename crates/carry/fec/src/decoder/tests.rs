//! The decoder on hand-made cases; `tests/suite/oracle.rs` compares it with plain elimination.

use super::{Decoder, DecoderConfig, DecoderConfigError, RepairArrival, SourceArrival};
use crate::adui::Adu;
use crate::code_rate::CodeRate;
use crate::coefficients::Density;
use crate::encoder::{Encoder, EncoderConfig};
use crate::payload_id::RepairPayloadId;

/// What a sender puts on the wire.
#[derive(Clone, Debug)]
enum Sent {
    Source(u32, Vec<u8>),
    Repair(RepairPayloadId, Vec<u8>),
}

fn payload(number: u32) -> Vec<u8> {
    let length = 1 + number as usize % 7;
    number
        .to_be_bytes()
        .iter()
        .copied()
        .cycle()
        .take(length)
        .collect()
}

fn stream(rate: (u16, u16), first_esi: u32, count: u32) -> Vec<Sent> {
    let rate = CodeRate::new(rate.0, rate.1).unwrap();
    let mut encoder = Encoder::new(EncoderConfig {
        first_esi,
        ..EncoderConfig::new(rate, 16)
    });
    let mut sent = Vec::new();
    for number in 0..count {
        let payload = payload(number);
        let adu = Adu {
            flow: 3,
            payload: &payload,
        };
        let repair = encoder.push(adu).unwrap();
        let repair = repair.map(|repair| Sent::Repair(repair.id, repair.symbol.to_vec()));
        sent.push(Sent::Source(first_esi.wrapping_add(number), payload));
        sent.extend(repair);
    }
    sent
}

fn decoder(window: u16, deadline: u16) -> Decoder {
    Decoder::new(DecoderConfig::new(window, deadline, 16)).unwrap()
}

fn source(decoder: &mut Decoder, esi: u32, payload: &[u8]) -> SourceArrival {
    decoder.source(esi, Adu { flow: 3, payload })
}

/// Passes the packets to the decoder and returns the ESIs of the recovered ones, after a comparison of their bytes.
fn feed<'a>(decoder: &mut Decoder, first_esi: u32, sent: impl IntoIterator<Item = &'a Sent>) -> Vec<u32> {
    let mut recovered = Vec::new();
    for packet in sent {
        match packet {
            Sent::Source(esi, payload) => {
                source(decoder, *esi, payload);
            }
            Sent::Repair(id, symbol) => {
                decoder.repair(*id, symbol);
            }
        }
        while let Some(packet) = decoder.poll_recovered() {
            let number = packet.esi.wrapping_sub(first_esi);
            assert_eq!((packet.adu.flow, packet.adu.payload), (3, &payload(number)[..]));
            recovered.push(number);
        }
    }
    recovered
}

/// The stream without some of its sources, and without repairs that end at some of them.
fn without<'a>(sent: &'a [Sent], first_esi: u32, lost: &'a [u32], repairs: &'a [u32]) -> Vec<&'a Sent> {
    sent.iter()
        .filter(|packet| match packet {
            Sent::Source(esi, _) => !lost.contains(&esi.wrapping_sub(first_esi)),
            Sent::Repair(id, _) => {
                let end = id.first_esi().wrapping_add(id.sources().into());
                !repairs.contains(&end.wrapping_sub(first_esi))
            }
        })
        .collect()
}

#[test]
fn one_loss_comes_back_with_the_next_repair() {
    let sent = stream((4, 16), 0, 40);
    let mut decoder = decoder(16, 64);
    assert_eq!(feed(&mut decoder, 0, without(&sent, 0, &[17], &[])), [17]);
    let counters = decoder.counters();
    assert_eq!((counters.sources, counters.recovered), (39, 1));
    assert_eq!((counters.repairs_kept, counters.repairs_not_needed), (1, 9));
    assert_eq!(decoder.pending(), 0);
}

#[test]
fn as_many_losses_as_repairs() {
    let sent = stream((4, 16), 0, 40);
    let mut decoder = decoder(16, 64);
    let lost = [17, 18, 22, 24];
    assert_eq!(feed(&mut decoder, 0, without(&sent, 0, &lost, &[])), lost);
    assert_eq!(decoder.pending(), 0);
}

/// The only repair received for 11 and 12 covers both. Later ones are not affected.
#[test]
fn what_has_left_the_window_is_lost() {
    let sent = stream((4, 8), 0, 60);
    let mut decoder = decoder(8, 64);
    let sent = without(&sent, 0, &[11, 12, 30], &[12, 20]);
    assert_eq!(feed(&mut decoder, 0, sent), [30]);
}

/// ESIs count on from 2^32 - 1 to 0, in sources, windows and deadlines.
#[test]
fn esis_wrap() {
    let first = u32::MAX - 19;
    let sent = stream((4, 16), first, 60);
    let mut decoder = decoder(16, 64);
    let lost = [17, 19, 20, 21, 22];
    assert_eq!(feed(&mut decoder, first, without(&sent, first, &lost, &[])), lost);
    decoder.advance(first.wrapping_add(58));
    assert!(decoder.has(first.wrapping_add(21)) && decoder.has(1));
    assert_eq!(feed(&mut decoder, first, &sent), []);
    assert_eq!(decoder.counters().duplicates, 60);
}

/// A retransmission of one of two lost packets makes the other one known.
#[test]
fn a_late_source_solves_what_waits() {
    let sent = stream((4, 8), 0, 8);
    let mut decoder = decoder(8, 64);
    assert_eq!(feed(&mut decoder, 0, without(&sent, 0, &[1, 2, 3], &[])), []);
    assert_eq!(decoder.pending(), 2);
    assert_eq!(source(&mut decoder, 2, &payload(2)), SourceArrival::New);
    let recovered = [(); 2].map(|()| decoder.poll_recovered().map(|packet| packet.esi));
    assert_eq!(recovered, [Some(1), Some(3)]);
    assert!(decoder.poll_recovered().is_none());
    assert_eq!(source(&mut decoder, 1, &payload(1)), SourceArrival::Duplicate);
}

#[test]
fn repairs_before_their_sources() {
    let sent = stream((4, 8), 0, 16);
    let mut decoder = decoder(8, 64);
    let (repairs, sources): (Vec<_>, Vec<_>) =
        sent.iter().partition(|packet| matches!(packet, Sent::Repair(..)));
    assert_eq!(feed(&mut decoder, 0, repairs), []);
    assert_eq!(decoder.pending(), 4);
    // With four equations for sixteen packets, the last four are recovered before they come.
    let mut recovered = feed(&mut decoder, 0, sources);
    recovered.sort_unstable();
    assert_eq!(recovered.len(), 4);
    assert_eq!(decoder.counters().duplicates, 4);
    assert_eq!(decoder.pending(), 0);
}

/// With patience a source that is late is not reconstructed, and one that is lost is when the others have passed.
#[test]
fn patience() {
    let mut config = DecoderConfig::new(8, 64, 16);
    config.patience = 6;
    let mut decoder = Decoder::new(config).unwrap();
    let sent = stream((4, 8), 0, 24);
    // 2 is overtaken by the repair and three more; 9 is lost; so is 22, and no packet follows the stream.
    let mut order = without(&sent, 0, &[2, 9, 22], &[]);
    order.insert(8, &sent[2]);
    let (before, after) = order.split_at(14);
    assert_eq!(feed(&mut decoder, 0, before.iter().copied()), []);
    assert_eq!(decoder.pending(), 1);
    assert!(matches!(after[0], Sent::Source(12, _)));
    let mut recovered_at = Vec::new();
    for packet in after {
        if let Sent::Source(esi, _) = packet
            && feed(&mut decoder, 0, [*packet]) == [9]
        {
            recovered_at.push(*esi);
        } else if let Sent::Repair(..) = packet {
            assert_eq!(feed(&mut decoder, 0, [*packet]), []);
        }
    }
    assert_eq!(recovered_at, [15]);
    assert_eq!(decoder.counters().recovered, 1);
    decoder.presume_lost(24);
    assert_eq!(decoder.poll_recovered().map(|packet| packet.esi), Some(22));
}

#[test]
fn nothing_is_recovered_after_its_deadline() {
    let sent = stream((4, 16), 0, 16);
    let mut decoder = decoder(16, 64);
    assert_eq!(
        feed(&mut decoder, 0, without(&sent[..19], 0, &[3, 4, 14], &[4, 8, 12])),
        []
    );
    decoder.advance(4);
    // 3 has expired, but its repairs still recover the others.
    let more = stream((4, 16), 0, 24);
    assert_eq!(feed(&mut decoder, 0, without(&more[19..], 0, &[], &[])), [4, 14]);
}

#[test]
fn recovered_and_not_asked_for_in_time() {
    let sent = stream((4, 8), 0, 8);
    let mut decoder = decoder(8, 64);
    for packet in without(&sent, 0, &[1], &[]) {
        match packet {
            Sent::Source(esi, payload) => source(&mut decoder, *esi, payload) as usize,
            Sent::Repair(id, symbol) => decoder.repair(*id, symbol) as usize,
        };
    }
    decoder.advance(2);
    assert!(decoder.poll_recovered().is_none());
    assert_eq!(decoder.counters().recovered_late, 1);
}

#[test]
fn garbage_is_counted_and_changes_nothing() {
    let sent = stream((4, 8), 1_000, 40);
    let mut decoder = decoder(8, 56);
    assert_eq!(
        feed(&mut decoder, 1_000, without(&sent[..20], 1_000, &[6, 7], &[8])),
        []
    );
    let id = |key, sources, first| RepairPayloadId::new(key, Density::FULL, sources, first).unwrap();
    // A window that no encoder of this stream has, and lengths that no symbol has.
    assert_eq!(decoder.repair(id(1, 9, 1_000), &[0; 8]), RepairArrival::Malformed);
    assert_eq!(decoder.repair(id(1, 8, 1_000), &[0; 2]), RepairArrival::Malformed);
    assert_eq!(
        decoder.repair(id(1, 8, 1_000), &[0; 20]),
        RepairArrival::Malformed
    );
    assert_eq!(source(&mut decoder, 1_016, &[0; 17]), SourceArrival::TooLong);
    // Far ahead and far behind, also beyond half of all ESIs.
    assert_eq!(decoder.repair(id(1, 8, 2_000), &[0; 8]), RepairArrival::Far);
    assert_eq!(decoder.repair(id(1, 8, 0), &[0; 8]), RepairArrival::Old);
    assert_eq!(decoder.repair(id(1, 8, 0x8000_0000), &[0; 8]), RepairArrival::Far);
    assert_eq!(decoder.repair(id(1, 8, 0x9000_0000), &[0; 8]), RepairArrival::Old);
    assert_eq!(source(&mut decoder, 2_000, &[1]), SourceArrival::Far);
    assert_eq!(source(&mut decoder, 3_000, &[1]), SourceArrival::Far);
    assert_eq!(source(&mut decoder, 10, &[1]), SourceArrival::Old);
    assert_eq!(source(&mut decoder, 1_005, &[1]), SourceArrival::Duplicate);
    assert_eq!(decoder.pending(), 1);
    let counters = decoder.counters();
    assert_eq!((counters.repairs_malformed, counters.malformed), (3, 1));
    assert_eq!((counters.repairs_far, counters.repairs_old), (2, 2));
    assert_eq!((counters.far, counters.old, counters.duplicates), (2, 1, 1));
    // And the stream goes on.
    let rest = without(&sent[20..], 1_000, &[30], &[]);
    assert_eq!(feed(&mut decoder, 1_000, rest), [30]);
}

/// A forged repair reconstructs an invalid packet.
#[test]
fn a_forged_repair_is_found_by_its_header() {
    let sent = stream((4, 8), 0, 8);
    let mut decoder = decoder(8, 64);
    feed(&mut decoder, 0, without(&sent[..4], 0, &[2], &[]));
    let forged = RepairPayloadId::new(9, Density::FULL, 3, 0).unwrap();
    assert_eq!(decoder.repair(forged, &[0xaa; 12]), RepairArrival::Kept);
    assert!(decoder.poll_recovered().is_none());
    assert_eq!(decoder.counters().inconsistent, 1);
    assert!(!decoder.has(2));
    assert_eq!(feed(&mut decoder, 0, &sent[4..5]), [2]);
}

/// After an outage longer than all that is remembered the stream goes on, at the second packet.
#[test]
fn an_outage() {
    let sent = stream((4, 8), 0, 4_000);
    let mut decoder = decoder(8, 56);
    feed(&mut decoder, 0, without(&sent[..100], 0, &[70, 71, 72], &[]));
    let after = without(&sent[2_000..2_100], 0, &[1_650], &[]);
    assert_eq!(feed(&mut decoder, 0, after), [1_600, 1_650]);
    assert_eq!(decoder.counters().far, 1);
    assert_eq!(decoder.pending(), 0);
}

/// The first packet is garbage, from anywhere: the stream begins with the second and is known from the third.
#[test]
fn garbage_comes_first() {
    let sent = stream((4, 8), 5_000, 40);
    for garbage in [0, 4_000, 9_000, 0x8000_0000, u32::MAX] {
        let mut decoder = decoder(8, 56);
        source(&mut decoder, garbage, &[1]);
        let rest = without(&sent, 5_000, &[9], &[]);
        assert_eq!(feed(&mut decoder, 5_000, rest), [9], "{garbage}");
        let forged = RepairPayloadId::new(1, Density::FULL, 8, garbage).unwrap();
        let mut decoder = self::decoder(8, 56);
        decoder.repair(forged, &[0xaa; 9]);
        let rest = without(&sent, 5_000, &[9], &[]);
        assert_eq!(feed(&mut decoder, 5_000, rest), [9], "{garbage}");
    }
}

/// A repair for a single packet, before anything else, gives it once it is known that the stream is there.
#[test]
fn the_first_packet_is_recovered() {
    let sent = stream((1, 1), 70, 3);
    let mut decoder = decoder(1, 60);
    assert_eq!(feed(&mut decoder, 70, &sent[1..2]), []);
    assert_eq!(feed(&mut decoder, 70, &sent[2..3]), [0]);
    assert_eq!(source(&mut decoder, 70, &payload(0)), SourceArrival::Duplicate);
}

/// However many equations come, no more are kept than there is room for, and the newest of them.
#[test]
fn equations_are_bounded() {
    let sent = stream((1, 16), 0, 400);
    let config = DecoderConfig {
        equations: 5,
        ..DecoderConfig::new(16, 1_000, 16)
    };
    let mut decoder = Decoder::new(config).unwrap();
    let mut recovered = Vec::new();
    for packet in &sent {
        // All sources are lost up to 300, and every second repair.
        let arrives = match packet {
            Sent::Source(esi, _) => *esi >= 300,
            Sent::Repair(id, _) => id.first_esi() >= 300 || id.first_esi() % 2 == 1,
        };
        if !arrives {
            continue;
        }
        recovered.extend(feed(&mut decoder, 0, [packet]));
        assert!(decoder.pending() <= 5);
    }
    assert!(decoder.counters().equations_dropped > 100);
    assert!(recovered.iter().all(|number| *number > 290), "{recovered:?}");
}

/// Recovered sources that are not polled do not fill the memory.
#[test]
fn nobody_polls() {
    let sent = stream((1, 4), 0, 5_000);
    let mut decoder = decoder(4, 60);
    for packet in &sent {
        if let Sent::Repair(id, symbol) = packet {
            decoder.repair(*id, symbol);
        }
    }
    assert_eq!(decoder.counters().recovered_late, 5_000 - 64);
    let mut left = 0;
    while decoder.poll_recovered().is_some() {
        left += 1;
    }
    assert_eq!(left, 64);
}

#[test]
fn configurations_that_cannot_be() {
    type Change = fn(&mut DecoderConfig);
    let refused = |change: Change| {
        let mut config = DecoderConfig::new(96, 640, 1_400);
        change(&mut config);
        Decoder::new(config).unwrap_err()
    };
    let history = |history| DecoderConfigError::History { history, window: 96 };
    let table: [(Change, DecoderConfigError); 6] = [
        (|config| config.window = 0, DecoderConfigError::Window(0)),
        (|config| config.window = 4_096, DecoderConfigError::Window(4_096)),
        (|config| config.history = 95, history(95)),
        (|config| config.history = 32_769, history(32_769)),
        (|config| config.equations = 0, DecoderConfigError::Equations(0)),
        (
            |config| config.max_payload = 65_536,
            DecoderConfigError::Payload(65_536),
        ),
    ];
    for (change, error) in table {
        assert_eq!(refused(change), error);
    }
}
