//! A stream of 1080p59.94 in 10-bit 4:2:2 (2.49 Gbit/s, 8,100 bytes a packet) across an emulated link for some minutes, in
//! virtual time: what the code and retransmission leave of the loss. Packets carry 60 bytes in place of 8,100, so that it
//! is quick; every frame is compared with what was sent.
//!
//!     cargo run --release -p weir-transport --example simulate -- MINUTES none|arq|12/96|12/96+arq [dark] [LOSS]

#[path = "../tests/stream/world.rs"]
#[allow(dead_code)]
mod world;

use std::time::Instant;

use weir_transport::Fec;
use world::{FRAME_NS, MS, Plan, SECOND, Setup, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: simulate MINUTES none|arq|12/96|12/96+arq [dark] [LOSS]";
    let mut words = std::env::args().skip(1);
    let minutes: u64 = words.next().ok_or(usage)?.parse()?;
    let repair = words.next().ok_or(usage)?;
    let rest: Vec<String> = words.collect();
    let dark = rest.iter().any(|word| word == "dark");
    let loss = rest.iter().find(|word| word.ends_with('%'));
    let loss = loss.map_or("0.04%", String::as_str);
    let fec = match repair.trim_end_matches("+arq") {
        "none" | "arq" => None,
        code => Some(Fec::Fixed(code.parse()?)),
    };
    let setup = Setup {
        link: format!("rtt = \"1ms\"\nforward.loss = \"{loss}\"").leak(),
        fec,
        arq: repair.ends_with("arq"),
        latency_ns: 20 * MS,
        stations: vec![Plan {
            dark: dark.then_some((5, SECOND, 2 * SECOND)),
            ..Plan::default()
        }],
        for_ns: minutes * 60 * SECOND,
        seed: 2026,
        ..Setup::default()
    };
    let began = Instant::now();
    let world = World::new(setup).run();
    let took = began.elapsed().as_secs_f64();
    let (sent, seen) = (world.sender().counters(), world.seen(0));
    println!(
        "{minutes} min, {repair}, loss {loss}{}: frames {} whole, {} damaged, {} lost",
        if dark { ", one flow dark for a second" } else { "" },
        world.whole,
        world.damaged,
        world.lost
    );
    println!(
        "packets: {} sources, {} repairs, {} sent again; {} lost, {} given back by the code, {} by retransmission, {} by \
         neither",
        sent.sources,
        sent.repairs,
        sent.retransmitted,
        seen.lost,
        seen.recovered,
        seen.retransmitted,
        seen.unrepaired
    );
    println!(
        "longest from a frame's first packet to its output: {:.2} ms, of which {:.2} ms to send it; {:.1} million packets/s",
        world.longest_ns as f64 / 1e6,
        FRAME_NS as f64 / 1e6,
        (sent.sources + sent.repairs) as f64 / took / 1e6
    );
    Ok(())
}
