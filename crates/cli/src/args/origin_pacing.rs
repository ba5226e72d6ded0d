//! Pacing arguments of `weir origin`.

use clap::Args;
use weir_pacing::{Burst, MAX_FACTOR};

use crate::units::{Rate, TimeSpan};

/// Pacing of responses.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pacing")]
pub struct PacingArgs {
    /// Send media at most at the rate that the player requests, by CMCD rtp or the header Pacing-Rate-KBps.
    #[arg(long)]
    pub pace: bool,
    /// Minimum pace rate, as a multiple of the player's top rung (CMCD tb).
    #[arg(long, value_name = "TIMES", default_value_t = 2.0, value_parser = pace_factor, requires = "pace")]
    pub pace_factor: f64,
    /// Minimum pace rate.
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s", requires = "pace")]
    pub pace_floor: Rate,
    /// Maximum pace rate, where a player requests more; --pace-factor, --pace-floor and --pace-time take precedence.
    #[arg(long, value_name = "RATE", requires = "pace")]
    pub pace_ceiling: Option<Rate>,
    /// Do not pace players with less than this in their buffer, or with less than two segments.
    #[arg(long, value_name = "TIME", default_value = "4s", requires = "pace")]
    pub pace_low_buffer: TimeSpan,
    /// Maximum duration of a response due to pacing.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = TimeSpan::positive, requires = "pace")]
    pub pace_time: TimeSpan,
    /// Maximum burst of a paced connection, from 1 to 64 packets; kernel: chosen by the kernel; auto: the same, but
    /// where the kernel chooses 64 KB (RTT below 2 ms), one millisecond at the pace rate, at least 4 packets.
    #[arg(long, value_name = "PACKETS", default_value_t = Burst::Auto, requires = "pace")]
    pub pace_burst: Burst,
}

/// Parses a multiple of the top rung.
fn pace_factor(text: &str) -> Result<f64, String> {
    let factor = text.trim().parse::<f64>().ok();
    factor
        .filter(|factor| (1.0..=MAX_FACTOR).contains(factor))
        .ok_or_else(|| format!("the factor is from 1 to {MAX_FACTOR}; write a number such as 2 or 2.5"))
}
