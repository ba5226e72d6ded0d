//! Repairs against sums written out, windows and their changes, the end of a stream.

use super::{Encoder, EncoderConfig, EncoderError};
use crate::adui::Adu;
use crate::code_rate::CodeRate;
use crate::coefficients::{Coefficients, Density};
use crate::gf256;
use crate::payload_id::RepairPayloadId;
use proptest::prelude::*;

fn rate(sources: u16, window: u16) -> CodeRate {
    CodeRate::new(sources, window).unwrap()
}

/// The repair that an identifier describes, over all payloads of the stream, as a plain sum.
fn sum(id: RepairPayloadId, first_esi: u32, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut coefficients = Coefficients::new(id.key(), id.density());
    let first = id.first_esi().wrapping_sub(first_esi) as usize;
    let mut symbol = Vec::new();
    for payload in &payloads[first..first + usize::from(id.sources())] {
        let coefficient = coefficients.draw();
        let source = [&[7][..], &(payload.len() as u16).to_be_bytes(), payload].concat();
        symbol.resize(symbol.len().max(source.len()), 0);
        for (to, from) in symbol.iter_mut().zip(source) {
            *to ^= gf256::multiply(coefficient, from);
        }
    }
    symbol
}

fn adu(payload: &[u8]) -> Adu<'_> {
    Adu { flow: 7, payload }
}

/// Sends packets with these numbers. Gives the number after which each repair is due, its first ESI and its sources.
fn push(encoder: &mut Encoder, numbers: impl IntoIterator<Item = u16>) -> Vec<(u16, u32, u16)> {
    let due = |number: u16| {
        let repair = encoder.push(adu(&number.to_be_bytes())).unwrap()?;
        Some((number, repair.id.first_esi(), repair.id.sources()))
    };
    numbers.into_iter().filter_map(due).collect()
}

#[test]
fn every_twelfth_over_the_last_ninety_six() {
    let mut encoder = Encoder::new(EncoderConfig::new(rate(12, 96), 10));
    let mut seen = Vec::new();
    for number in 1..=240_u16 {
        assert_eq!(encoder.next_esi(), u32::from(number) - 1);
        if let Some(repair) = encoder.push(adu(&number.to_be_bytes())).unwrap() {
            seen.push((number, repair.id.sources(), repair.id.first_esi()));
        }
    }
    let expected: Vec<_> = (1..=20)
        .map(|repair| {
            let number = repair * 12;
            let sources = number.min(96);
            (number, sources, u32::from(number - sources))
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn windows_that_are_no_multiple() {
    let mut encoder = Encoder::new(EncoderConfig::new(rate(5, 12), 10));
    let expected = [
        (5, 0, 5),
        (10, 0, 10),
        (15, 3, 12),
        (20, 8, 12),
        (25, 13, 12),
        (30, 18, 12),
    ];
    assert_eq!(push(&mut encoder, 1..=30), expected);
}

#[test]
fn a_packet_that_is_too_long_is_no_part_of_the_stream() {
    let mut encoder = Encoder::new(EncoderConfig::new(rate(2, 4), 3));
    let refused = encoder.push(adu(&[1, 2, 3, 4]));
    assert_eq!(refused, Err(EncoderError::TooLong { length: 4, most: 3 }));
    assert_eq!(encoder.next_esi(), 0);
    assert!(encoder.push(adu(&[1, 2, 3])).unwrap().is_none());
}

/// The last repairs: those that would have covered further packets.
#[test]
fn the_end_of_a_stream() {
    let mut encoder = Encoder::new(EncoderConfig::new(rate(4, 8), 3));
    assert!(encoder.flush().is_none());
    push(&mut encoder, 0..10);
    let flushed = |encoder: &mut Encoder| {
        encoder
            .flush()
            .map(|repair| (repair.id.first_esi(), repair.id.sources()))
    };
    assert_eq!(flushed(&mut encoder), Some((4, 6)));
    assert_eq!(flushed(&mut encoder), Some((8, 2)));
    assert_eq!(flushed(&mut encoder), None);
    // Continues as from the start.
    assert_eq!(push(&mut encoder, 10..19), [(13, 10, 4), (17, 10, 8)]);
}

#[test]
fn another_rate_begins_after_the_next_repair() {
    let mut encoder = Encoder::new(EncoderConfig::new(rate(12, 48), 2));
    let mut seen = push(&mut encoder, 1..100);
    encoder.set_rate(rate(6, 24));
    seen.extend(push(&mut encoder, 100..150));
    encoder.set_rate(rate(20, 80));
    seen.extend(push(&mut encoder, 150..=200));
    let after = |from: u16, to: u16| -> Vec<_> {
        let inside = seen.iter().filter(|(number, ..)| (from..=to).contains(number));
        inside.copied().collect()
    };
    assert_eq!(after(90, 108), [(96, 48, 48), (108, 60, 48)]);
    // Of the open repairs, over packets from 72, 84 and 96 on, those that still fit into windows of 24.
    assert_eq!(after(109, 126), [(114, 96, 18), (120, 108, 12), (126, 108, 18)]);
    assert_eq!(
        after(127, 150),
        [(132, 108, 24), (138, 114, 24), (144, 120, 24), (150, 126, 24)]
    );
    assert_eq!(after(151, 200), [(170, 132, 38), (190, 138, 52)]);
    assert_eq!(encoder.rate(), rate(20, 80));
}

/// Whatever the rates, each packet is in a repair that is due at most n packets after it.
#[test]
fn no_packet_is_left_out_when_the_rate_changes() {
    let rates = [(1, 1), (12, 96), (6, 48), (64, 128), (3, 100), (7, 7)];
    for before in rates {
        for after in rates {
            let mut encoder = Encoder::new(EncoderConfig::new(rate(before.0, before.1), 2));
            let mut covered = vec![false; 1_000];
            for number in 0..1_000_u16 {
                if number == 411 {
                    encoder.set_rate(rate(after.0, after.1));
                }
                if let Some(repair) = encoder.push(adu(&number.to_be_bytes())).unwrap() {
                    assert!(repair.id.sources() <= before.1.max(after.1));
                    let first = repair.id.first_esi() as usize;
                    covered[first..first + usize::from(repair.id.sources())].fill(true);
                }
            }
            let last = covered.iter().rposition(|covered| *covered).unwrap();
            assert!(
                covered[..last].iter().all(|covered| *covered),
                "{before:?} {after:?}"
            );
            assert!(last + usize::from(after.0) >= 999);
        }
    }
}

proptest! {
    #[test]
    fn repairs_are_the_sums_that_they_say(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..80),
        (sources, more) in (1_u16..9, 0_u16..30),
        density in 0_u8..=15,
        first_esi in prop_oneof![Just(0), Just(u32::MAX - 20), any::<u32>()],
        first_key: u16,
        (change_at, other) in (0_usize..80, 1_u16..9),
    ) {
        let mut encoder = Encoder::new(EncoderConfig {
            density: Density::new(density).unwrap(),
            first_esi,
            first_key,
            ..EncoderConfig::new(rate(sources, sources + more), 40)
        });
        let mut key = first_key;
        for (at, payload) in payloads.iter().enumerate() {
            if at == change_at {
                encoder.set_rate(rate(other, other + more));
            }
            if let Some(repair) = encoder.push(adu(payload)).unwrap() {
                prop_assert_eq!(repair.symbol, &sum(repair.id, first_esi, &payloads)[..]);
                // Keys may be left out when the rate changes, but do not repeat.
                prop_assert!(repair.id.key().wrapping_sub(key) < 100);
                key = repair.id.key().wrapping_add(1);
            }
        }
        while let Some(repair) = encoder.flush() {
            prop_assert_eq!(repair.symbol, &sum(repair.id, first_esi, &payloads)[..]);
        }
    }
}
