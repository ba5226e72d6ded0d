//! The decoder against plain elimination: under any loss, reordering and duplication it recovers exactly the sources that
//! all equations together determine, each once.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use weir_fec::{
    Adu, CodeRate, Coefficients, Decoder, DecoderConfig, Density, Encoder, EncoderConfig, RepairPayloadId,
    gf256,
};

/// Gauss-Jordan elimination over all arrived repairs, with the newest source as first pivot and no memory limit. Returns
/// the missing sources that are determined.
fn determined(missing: &BTreeSet<u32>, repairs: &[RepairPayloadId]) -> BTreeSet<u32> {
    let mut rows: Vec<BTreeMap<u32, u8>> = Vec::new();
    for id in repairs {
        let mut coefficients = Coefficients::new(id.key(), id.density());
        let mut row: BTreeMap<u32, u8> = (0..u32::from(id.sources()))
            .map(|index| (id.first_esi() + index, coefficients.draw()))
            .filter(|(esi, coefficient)| missing.contains(esi) && *coefficient != 0)
            .collect();
        for other in &rows {
            eliminate(&mut row, other);
        }
        let Some((_, coefficient)) = row.last_key_value() else {
            continue;
        };
        let inverse = gf256::inverse(*coefficient).unwrap();
        row.values_mut()
            .for_each(|value| *value = gf256::multiply(*value, inverse));
        for other in &mut rows {
            eliminate(other, &row);
        }
        rows.push(row);
    }
    let single = rows.iter().filter(|row| row.len() == 1);
    single.filter_map(|row| row.keys().next().copied()).collect()
}

/// Eliminates the last source of `pivot` from `row`.
fn eliminate(row: &mut BTreeMap<u32, u8>, pivot: &BTreeMap<u32, u8>) {
    let Some(factor) = pivot.last_key_value().and_then(|(esi, _)| row.get(esi).copied()) else {
        return;
    };
    for (esi, coefficient) in pivot {
        let sum = row.entry(*esi).or_default();
        *sum ^= gf256::multiply(factor, *coefficient);
        if *sum == 0 {
            row.remove(esi);
        }
    }
}

#[derive(Clone, Debug)]
enum Sent {
    Source(u32),
    Repair(RepairPayloadId, Vec<u8>),
    End,
}

fn payload(number: u32, seed: u8) -> Vec<u8> {
    let length = (number.wrapping_mul(2_654_435_761) >> 20) % 23;
    (0..length)
        .map(|at| (number * 31 + at * 7) as u8 ^ seed)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn recovers_what_is_determined(
        (sources, more, density) in (1_u16..7, 0_u16..24, 0_u8..=15),
        count in 1_u32..120,
        lost in proptest::collection::vec(0.0_f64..1.0, 300),
        delays in proptest::collection::vec(0_usize..12, 300),
        loss in prop_oneof![Just(0.05), Just(0.2), Just(0.5)],
        seed: u8,
        most_equations in prop_oneof![Just(300_u16), 1_u16..6],
        patience in prop_oneof![Just(0_u16), 1_u16..40],
        history in prop_oneof![Just(200_u16), Just(64)],
    ) {
        let rate = CodeRate::new(sources, sources + more).unwrap();
        let mut encoder = Encoder::new(EncoderConfig {
            density: Density::new(density).unwrap(),
            first_key: u16::from(seed) << 8,
            ..EncoderConfig::new(rate, 24)
        });
        let mut sent = Vec::new();
        for number in 0..count {
            let payload = payload(number, seed);
            let repair = encoder.push(Adu { flow: seed, payload: &payload }).unwrap();
            let repair = repair.map(|repair| Sent::Repair(repair.id, repair.symbol.to_vec()));
            sent.push(Sent::Source(number));
            sent.extend(repair);
        }
        // Each packet may be lost, and is delayed by some places.
        let mut arriving: Vec<(usize, &Sent)> = (0..)
            .zip(&sent)
            .filter(|(at, _)| lost[*at % lost.len()] >= loss)
            .map(|(at, packet)| (at + delays[at % delays.len()], packet))
            .collect();
        arriving.sort_by_key(|(at, _)| *at);
        let mut decoder = Decoder::new(DecoderConfig {
            equations: most_equations,
            history,
            patience,
            ..DecoderConfig::new(rate.window(), 0, 24)
        }).unwrap();
        let mut missing: BTreeSet<u32> = (0..count).collect();
        let (mut repairs, mut recovered) = (Vec::new(), BTreeSet::new());
        arriving.push((usize::MAX, &Sent::End));
        for (_, packet) in arriving {
            match packet {
                Sent::Source(esi) => {
                    decoder.source(*esi, Adu { flow: seed, payload: &payload(*esi, seed) });
                    missing.remove(esi);
                }
                Sent::Repair(id, symbol) => {
                    decoder.repair(*id, symbol);
                    repairs.push(*id);
                }
                Sent::End => decoder.presume_lost(count),
            }
            while let Some(packet) = decoder.poll_recovered() {
                prop_assert_eq!(packet.adu.flow, seed);
                prop_assert_eq!(packet.adu.payload, &payload(packet.esi, seed)[..]);
                prop_assert!(recovered.insert(packet.esi), "recovered twice");
                prop_assert!(missing.contains(&packet.esi), "recovered after it came");
            }
        }
        recovered.retain(|esi| missing.contains(esi));
        let expected = determined(&missing, &repairs);
        if most_equations == 300 && history == 200 {
            prop_assert_eq!(recovered, expected);
        } else {
            prop_assert!(recovered.is_subset(&expected));
        }
        prop_assert_eq!(decoder.counters().inconsistent, 0);
    }
}
