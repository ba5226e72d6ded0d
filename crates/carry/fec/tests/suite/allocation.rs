//! Neither end allocates for a packet, with loss or without.

use weir_fec::{Adu, CodeRate, Decoder, DecoderConfig, Encoder, EncoderConfig};

const PACKETS: u32 = 20_000;

/// Sends a stream through both ends. One packet of 30 is lost, and one repair of 25.
fn run(encoder: &mut Encoder, decoder: &mut Decoder, payload: &[u8]) -> u32 {
    let mut recovered = 0;
    for number in 0..PACKETS {
        let esi = encoder.next_esi();
        let adu = Adu { flow: 0, payload };
        let repair = encoder.push(adu).unwrap();
        if let Some(repair) = repair.filter(|repair| repair.id.key() % 25 != 0) {
            decoder.repair(repair.id, repair.symbol);
        }
        if number * 7_919 % 30 != 0 {
            decoder.source(esi, adu);
        }
        while decoder.poll_recovered().is_some() {
            recovered += 1;
        }
        decoder.advance(esi.wrapping_sub(200));
    }
    recovered
}

#[test]
fn no_allocation_for_packets() {
    let mut encoder = Encoder::new(EncoderConfig::new(CodeRate::new(12, 96).unwrap(), 1_400));
    let mut decoder = Decoder::new(DecoderConfig::new(96, 200, 1_400)).unwrap();
    let payload = vec![0x5a; 1_400];
    // Another rate that needs no more buffers allocates nothing, either.
    let info = allocation_counter::measure(|| {
        assert!(run(&mut encoder, &mut decoder, &payload) > 600);
        encoder.set_rate(CodeRate::new(6, 48).unwrap());
        assert!(run(&mut encoder, &mut decoder, &payload) > 600);
        while encoder.flush().is_some() {}
    });
    assert_eq!(info.count_total, 0);
}
