//! How fast one core seals and opens packets in place, for each protection:
//! `cargo run --release -p weir-protect --example throughput`.

use std::hint::black_box;
use std::time::Instant;

use weir_protect::{Lane, Opener, Protection, Sealer, Secret, StreamSecrets};

const PACKETS: u64 = 1_000;
const ROUNDS: u64 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("protection          bytes   seal GB/s   open GB/s   seal ns   open ns");
    for protection in Protection::ALL {
        for length in [1_400, 8_100] {
            let (seal_ns, open_ns) = measure(protection, length)?;
            println!(
                "{:18} {length:6} {:11.2} {:11.2} {seal_ns:9.0} {open_ns:9.0}",
                protection.name(),
                length as f64 / seal_ns,
                length as f64 / open_ns
            );
        }
    }
    Ok(())
}

/// Nanoseconds per packet of sealing and of opening: the fastest of all rounds.
fn measure(protection: Protection, length: usize) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let secrets = StreamSecrets::new(protection, Secret::new([1; 32]), Secret::new([2; 32]));
    let (mut sealer, mut opener) = (Sealer::new(&secrets), Opener::new(&secrets.of_other_end()));
    let mut packets = vec![vec![7; length]; PACKETS as usize];
    let mut tags = Vec::new();
    let mut best = (f64::MAX, f64::MAX);
    for round in 0..ROUNDS {
        tags.clear();
        let began = Instant::now();
        for (number, packet) in (round * PACKETS..).zip(&mut packets) {
            tags.push(sealer.seal(Lane::Source, number, &[0; 64], packet)?);
        }
        let sealed = Instant::now();
        for ((number, packet), sealed) in (round * PACKETS..).zip(&mut packets).zip(&tags) {
            opener.open(sealed.epoch, (Lane::Source, number), &[0; 64], sealed.tag, packet)?;
        }
        let each = |time: std::time::Duration| time.as_nanos() as f64 / PACKETS as f64;
        best.0 = best.0.min(each(sealed - began));
        best.1 = best.1.min(each(sealed.elapsed()));
        black_box(&packets);
    }
    Ok(best)
}
