//! A stream of 1080p59.94 in 10-bit 4:2:2 (2.49 Gbit/s, 8,100 bytes a packet) across emulated links for some minutes, in
//! virtual time: the residual loss after FEC, ARQ and a second sender. Packets carry 60 bytes in place of
//! 8,100, so that it is quick; every frame is compared with what was sent.
//!
//!     cargo run --release -p weir-transport --example simulate -- MINUTES none|arq|12/96|12/96+arq|adaptive|adaptive+arq
//!         [dark] [LOSS] [--senders N] [--kill SECONDS]

#[path = "../tests/suite/stream/world.rs"]
#[allow(dead_code)]
mod world;

use std::error::Error;
use std::time::Instant;

use weir_transport::{AdaptiveLimits, Fec};
use world::{FRAME_NS, MS, Plan, SECOND, Setup, World};

const USAGE: &str = "usage: simulate MINUTES none|arq|12/96|12/96+arq|adaptive|adaptive+arq [dark] [LOSS] [--senders N] \
                     [--kill SECONDS]";

/// The parameters of a simulation.
struct Words {
    minutes: u64,
    repair: String,
    dark: bool,
    loss: String,
    senders: usize,
    kill_ns: Option<u64>,
}

impl Words {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut read = Words {
            minutes: words.next().ok_or(USAGE)?.parse()?,
            repair: words.next().ok_or(USAGE)?,
            dark: false,
            loss: "0.04%".to_owned(),
            senders: 1,
            kill_ns: None,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "dark" => read.dark = true,
                "--senders" => read.senders = words.next().ok_or(USAGE)?.parse()?,
                "--kill" => {
                    let seconds: f64 = words.next().ok_or(USAGE)?.parse()?;
                    read.kill_ns = Some((seconds * SECOND as f64) as u64);
                }
                loss if loss.ends_with('%') => read.loss = word,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(read)
    }

    fn fec(&self) -> Result<Option<Fec>, Box<dyn Error>> {
        Ok(match self.repair.trim_end_matches("+arq") {
            "none" | "arq" => None,
            // The packets of half the latency.
            "adaptive" => Some(Fec::Adaptive(AdaptiveLimits {
                window: 384,
                most_overhead: 0.25,
            })),
            code => Some(Fec::Fixed(code.parse()?)),
        })
    }

    fn setup(&self) -> Result<Setup, Box<dyn Error>> {
        let mut stations = vec![Plan::default(); self.senders];
        let first = stations.first_mut().ok_or(USAGE)?;
        first.dark = self.dark.then_some((5, SECOND, 2 * SECOND));
        // Within a frame.
        first.killed_ns = self.kill_ns.map(|at| at + FRAME_NS / 2);
        first.removed_ns = self.kill_ns.map(|at| at + SECOND);
        Ok(Setup {
            link: format!("rtt = \"1ms\"\nforward.loss = \"{}\"", self.loss).leak(),
            fec: self.fec()?,
            arq: self.repair.ends_with("arq"),
            latency_ns: 20 * MS,
            stations,
            for_ns: self.minutes * 60 * SECOND,
            seed: 2026,
            ..Setup::default()
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words = Words::read(std::env::args().skip(1))?;
    let began = Instant::now();
    let world = World::new(words.setup()?).run();
    let took = began.elapsed().as_secs_f64();
    println!(
        "{} min, {} sender{}, {}, loss {}{}{}: frames {} whole, {} damaged, {} lost",
        words.minutes,
        words.senders,
        if words.senders == 1 { "" } else { "s" },
        words.repair,
        words.loss,
        if words.dark {
            ", one flow dark for a second"
        } else {
            ""
        },
        if words.kill_ns.is_some() {
            ", one sender killed"
        } else {
            ""
        },
        world.whole,
        world.damaged,
        world.lost
    );
    let mut packets = 0;
    for (at, station) in world.stations.iter().enumerate() {
        let (sent, seen) = (station.sender.counters(), world.seen(at));
        packets += sent.sources + sent.repairs;
        println!(
            "sender {at}: {} sources, {} repairs ({:.2} %), {} retransmitted; {} lost, {} repaired by FEC, {} by \
             retransmission, {} there by another sender, {} by none",
            sent.sources,
            sent.repairs,
            sent.repairs as f64 / sent.sources.max(1) as f64 * 100.0,
            sent.retransmitted,
            seen.lost,
            seen.recovered,
            seen.retransmitted,
            seen.elsewhere,
            seen.unrepaired
        );
    }
    println!(
        "longest from a frame's first packet to its output: {:.2} ms, of which {:.2} ms to send it; {:.1} million packets/s",
        world.longest_ns as f64 / 1e6,
        FRAME_NS as f64 / 1e6,
        packets as f64 / took / 1e6
    );
    Ok(())
}
