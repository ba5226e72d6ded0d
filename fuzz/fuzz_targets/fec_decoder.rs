//! Any input to a decoder: it stays within its memory, counts every packet once, and returns no source twice and none
//! that was received.
//!
//! The input is three bytes of configuration, then packets: a byte of kind, the identifier or ESI, a byte of length and
//! its bytes.

use std::collections::HashSet;

use crate::checks::take;
use weir_fec::{
    Adu, Decoder, DecoderConfig, DecoderCounters, Engine, Kernel, RepairArrival, RepairPayloadId,
    SourceArrival, SourcePayloadId,
};

const MOST_PAYLOAD: usize = 40;

fn sized<'a>(input: &mut &'a [u8]) -> &'a [u8] {
    let length = take(input, 1).first().copied().unwrap_or(0);
    take(input, length.into())
}

fn seen(counters: &DecoderCounters) -> (u64, u64) {
    let sources = counters.sources + counters.duplicates + counters.old + counters.far + counters.malformed;
    let repairs = counters.repairs_not_needed
        + counters.repairs_redundant
        + counters.repairs_kept
        + counters.repairs_old
        + counters.repairs_far
        + counters.repairs_malformed;
    (sources, repairs)
}

pub fn run(input: &[u8]) {
    let Some(([window, deadline, equations], mut rest)) = input.split_first_chunk() else {
        return;
    };
    let config = DecoderConfig {
        equations: u16::from(*equations),
        patience: u16::from(*deadline / 16),
        // The portable kernel is the one that the sanitizer sees completely.
        engine: Engine::with(Kernel::Portable).unwrap_or_default(),
        ..DecoderConfig::new((*window).into(), (*deadline).into(), MOST_PAYLOAD)
    };
    let Ok(mut decoder) = Decoder::new(config) else {
        return;
    };
    let (mut sources, mut repairs) = (0, 0);
    let mut given = HashSet::new();
    while !rest.is_empty() {
        let kind = take(&mut rest, 1)[0];
        match kind % 4 {
            0 => {
                let Ok(SourcePayloadId { esi }) = SourcePayloadId::decode(take(&mut rest, 4)) else {
                    return;
                };
                let known = decoder.has(esi);
                let flow = kind >> 2;
                let jumps = decoder.counters().far;
                let payload = sized(&mut rest);
                let arrival = decoder.source(esi, Adu { flow, payload });
                assert_eq!(arrival == SourceArrival::TooLong, payload.len() > MOST_PAYLOAD);
                assert!(!known || matches!(arrival, SourceArrival::Duplicate | SourceArrival::TooLong));
                if arrival == SourceArrival::New {
                    assert!(decoder.has(esi));
                }
                sources += 1;
                if jumps > 0 {
                    // ESIs may have wrapped.
                    given.clear();
                }
            }
            1 => {
                let Ok(id) = RepairPayloadId::decode(take(&mut rest, 8)) else {
                    continue;
                };
                let symbol = sized(&mut rest);
                let arrival = decoder.repair(id, symbol);
                if arrival != RepairArrival::Malformed {
                    assert!(id.sources() <= u16::from(*window) && symbol.len() <= MOST_PAYLOAD + 3);
                }
                repairs += 1;
            }
            2 => match SourcePayloadId::decode(take(&mut rest, 4)) {
                Ok(SourcePayloadId { esi }) if kind & 4 == 0 => decoder.advance(esi),
                Ok(SourcePayloadId { esi }) => decoder.presume_lost(esi),
                Err(_) => return,
            },
            _ => {
                while let Some(packet) = decoder.poll_recovered() {
                    assert!(packet.adu.payload.len() <= MOST_PAYLOAD);
                    assert!(given.insert(packet.esi), "{} twice", packet.esi);
                }
            }
        }
        assert!(decoder.pending() <= usize::from(*equations));
        assert_eq!(seen(&decoder.counters()), (sources, repairs));
    }
}
