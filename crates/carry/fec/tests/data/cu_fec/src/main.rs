//! Prints ../cu_fec.txt: the repairs of cu-fec 1.3.0, another implementation of RFC 8681, for some streams, and the lost
//! packets that it recovers. `cargo run > ../cu_fec.txt` in this folder; the lines are those of ../make_vectors.py, with
//! symbols of one size.

use cu_fec::{
    DensityThreshold, EncodingSymbolId, Field, RepairParameters, RlcConfig, RlcDecoder, RlcEncoder,
    generate_coding_coefficients,
};

const SYMBOL: usize = 24;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reproducible pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn list(numbers: &[usize]) -> String {
    let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(",") }
}

fn stream(name: &str, n: usize, w: usize, dt: u8, first_esi: u32, first_key: u16, count: usize) {
    println!("stream {name} {n} {w} {dt} {first_esi} {first_key}");
    let density = DensityThreshold::new(dt).unwrap();
    let config = RlcConfig::new(SYMBOL, w, Field::Gf256).unwrap();
    let mut encoder = RlcEncoder::<SYMBOL, 128>::new(config, EncodingSymbolId::new(first_esi)).unwrap();
    let mut numbers = Numbers(u64::from(first_key) + 1);
    // In the order in which they would be sent: a source's symbol, or a repair.
    let mut sent = Vec::new();
    let mut key = first_key;
    for number in 0..count {
        let length = numbers.next(SYMBOL as u64 - 2) as usize;
        let mut symbol = [0; SYMBOL];
        symbol[0] = numbers.next(256) as u8;
        symbol[2] = length as u8;
        symbol[3..3 + length].fill_with(|| numbers.next(256) as u8);
        let payload = if length == 0 { "-".to_owned() } else { hex(&symbol[3..3 + length]) };
        println!("source {} {payload}", symbol[0]);
        encoder.push_source(&symbol).unwrap();
        sent.push((number, symbol, None));
        if (number + 1) % n == 0 {
            let mut repair = [0; SYMBOL];
            let id = encoder.encode_repair(RepairParameters::new(key, density), &mut repair).unwrap();
            key = key.wrapping_add(1);
            sent.push(((number + 1) / n - 1, repair, Some(id)));
        }
    }
    for (_, symbol, id) in &sent {
        if let Some(id) = id {
            println!("repair {} {}", hex(&id.to_bytes()), hex(symbol));
        }
    }
    for _ in 0..6 {
        let mut decoder = Box::new(RlcDecoder::<SYMBOL, 128, 64>::new(config, 64).unwrap());
        let (mut lost, mut lost_repairs) = (Vec::new(), Vec::new());
        let mut found = std::collections::BTreeSet::new();
        for (number, symbol, id) in &sent {
            let gone = numbers.next(100) < 12;
            let esi = EncodingSymbolId::new(first_esi.wrapping_add(*number as u32));
            match id {
                None if gone => lost.push(*number),
                None => drop(decoder.receive_source(esi, symbol).unwrap()),
                Some(_) if gone => lost_repairs.push(*number),
                // It remembers only one window: older packets are refused.
                Some(id) => drop(decoder.receive_repair(*id, symbol)),
            }
            found.extend(lost.iter().copied().filter(|number| {
                decoder.symbol(EncodingSymbolId::new(first_esi.wrapping_add(*number as u32))).is_some()
            }));
        }
        let found: Vec<usize> = found.into_iter().collect();
        println!("lost {} {} {}", list(&lost), list(&lost_repairs), list(&found));
    }
}

fn main() {
    for dt in 0..16 {
        for key in [0, 1, 77, 40_000, 65_535] {
            let mut coefficients = [0; 64];
            let density = DensityThreshold::new(dt).unwrap();
            generate_coding_coefficients(Field::Gf256, key, density, &mut coefficients);
            println!("coefficients {key} {dt} {}", hex(&coefficients));
        }
    }
    stream("plain", 4, 16, 15, 0, 0, 60);
    stream("dense", 12, 96, 15, 7, 100, 240);
    stream("sparse", 3, 20, 5, 1_000, 65_530, 60);
    stream("wrapping", 5, 12, 15, u32::MAX - 25, 65_534, 60);
}
