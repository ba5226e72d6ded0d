//! Streams through both ends of the code under simulated loss, for the test of the residual loss and the example that
//! prints it. It does not know the expected residual loss.

// The example and the tests use different parts.
#![allow(dead_code)]

use std::error::Error;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use weir_fec::{Adu, CodeRate, Decoder, DecoderConfig, Encoder, EncoderConfig};

/// Number of parts of a run, from which its variance is taken.
const PARTS: usize = 200;

/// Loss models.
pub enum Loss {
    /// Each packet, source or repair, is lost with this probability, independently of the others.
    Independent(f64),
    /// Packets go over `flows` flows, one per flow in each round, in a new order each round. One flow is dark, and the
    /// other flows have this loss rate.
    DarkFlow { flows: usize, others: f64 },
}

pub struct Run {
    pub rate: CodeRate,
    /// A source is too late if the repair that would recover it follows this many sources later, or more.
    pub deadline: u16,
    pub loss: Loss,
    pub sources: u64,
    pub seed: u64,
}

/// The residual loss rate, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug)]
pub struct Residual {
    pub sources: u64,
    pub unrecovered: u64,
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

struct Channel {
    loss: Loss,
    random: Xoshiro256PlusPlus,
    /// The rest of the round, the flow of the next packet last.
    round: Vec<usize>,
}

impl Channel {
    fn happens(&mut self, probability: f64) -> bool {
        // 53 random bits as a number from 0 to 1.
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 <= probability
    }

    fn takes_next(&mut self) -> bool {
        match self.loss {
            Loss::Independent(loss) => self.happens(loss),
            Loss::DarkFlow { flows, others } => {
                if self.round.is_empty() {
                    self.round = (0..flows).collect();
                    for end in (1..flows).rev() {
                        let other = self.random.next_u64() as usize % (end + 1);
                        self.round.swap(end, other);
                    }
                }
                self.round.pop() == Some(0) || self.happens(others)
            }
        }
    }
}

/// Sends the stream and counts the residual loss.
///
/// # Errors
/// Errors of the encoder and the decoder.
pub fn run(run: Run) -> Result<Residual, Box<dyn Error>> {
    let rate = run.rate;
    let mut encoder = Encoder::new(EncoderConfig::new(rate, 1));
    let config = DecoderConfig {
        equations: 512,
        ..DecoderConfig::new(rate.window(), run.deadline + 2 * rate.window(), 1)
    };
    let mut decoder = Decoder::new(config)?;
    let mut channel = Channel {
        loss: run.loss,
        random: Xoshiro256PlusPlus::seed_from_u64(run.seed),
        round: Vec::new(),
    };
    // The last ones are sent only so that those before them expire.
    let counted = run.sources;
    let mut missing = [0_i64; PARTS];
    let part = |number: u64| (u128::from(number) * PARTS as u128 / u128::from(counted)) as usize;
    for number in 0..counted + 4 * u64::from(run.deadline) {
        let esi = encoder.next_esi();
        let payload = [number as u8];
        let adu = Adu {
            flow: 0,
            payload: &payload,
        };
        let repair = encoder.push(adu)?;
        if !channel.takes_next() {
            decoder.source(esi, adu);
        } else if number < counted {
            missing[part(number)] += 1;
        }
        let Some(repair) = repair else {
            continue;
        };
        decoder.advance((esi + 1).saturating_sub(u32::from(run.deadline)));
        if !channel.takes_next() {
            decoder.repair(repair.id, repair.symbol);
        }
        while let Some(packet) = decoder.poll_recovered() {
            assert_eq!(packet.adu.payload, [packet.esi as u8]);
            if u64::from(packet.esi) < counted {
                missing[part(u64::from(packet.esi))] -= 1;
            }
        }
    }
    Ok(summary(counted, &missing))
}

/// Losses are clustered, so their variance is taken from the parts of the run. Where too few occurred for that, the bound
/// is the one of a Poisson count of clusters, each as large as those seen, or of size one.
fn summary(sources: u64, missing: &[i64]) -> Residual {
    let parts = missing.len() as f64;
    let total: i64 = missing.iter().sum();
    let mean = total as f64 / parts;
    let squares: f64 = missing.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    let error = (squares / (parts - 1.0) * parts).sqrt();
    let hit = missing.iter().filter(|count| **count > 0).count();
    let each = total as f64 / sources as f64;
    let scale = 1.0 / sources as f64;
    let (low, high) = match hit {
        // 95 % for a count of none, and Student's quantile for some.
        0 => (0.0, 3.0 * scale),
        1..=9 => (0.0, (total as f64 + 3.0 * error + 3.0) * scale),
        _ => (each - 1.972 * error * scale, each + 1.972 * error * scale),
    };
    Residual {
        sources,
        unrecovered: total as u64,
        share: each,
        low: low.max(0.0),
        high,
    }
}
