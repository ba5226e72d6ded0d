//! Arguments of `weir origin` that say how fast answers are sent.

use clap::Args;
use weir_media::pace_bounds::MAX_FACTOR;
use weir_origin::Burst;

use crate::units::{Rate, TimeSpan};

/// How fast answers are sent.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pacing")]
pub struct PacingArgs {
    /// Send media no faster than players ask for, by rtp of CMCD or the header Pacing-Rate-KBps.
    #[arg(long)]
    pub pace: bool,
    /// No slower than so many times the top rung that a player tells (tb).
    #[arg(long, value_name = "TIMES", default_value_t = 2.0, value_parser = pace_factor, requires = "pace")]
    pub pace_factor: f64,
    /// No slower than this.
    #[arg(long, value_name = "RATE", default_value = "1Mbit/s", requires = "pace")]
    pub pace_floor: Rate,
    /// No faster than this where a player asks for more, unless the bounds above or the time below need it.
    #[arg(long, value_name = "RATE", requires = "pace")]
    pub pace_ceiling: Option<Rate>,
    /// As fast as the network carries it for players with less in their buffer, or less than two segments.
    #[arg(long, value_name = "TIME", default_value = "4s", requires = "pace")]
    pub pace_low_buffer: TimeSpan,
    /// No answer takes longer than this because of its pace.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = TimeSpan::positive, requires = "pace")]
    pub pace_time: TimeSpan,
    /// Packets that a paced connection sends back to back at most, from 1 to 64; kernel: as the kernel chooses; auto: the
    /// same, but where that is 64 KB (round trips below 2 ms) what the rate gives in a millisecond, and at least 4 packets.
    #[arg(long, value_name = "PACKETS", default_value_t = Burst::Auto, requires = "pace")]
    pub pace_burst: Burst,
}

/// Reads a multiple of the top rung.
fn pace_factor(text: &str) -> Result<f64, String> {
    let factor = text.trim().parse::<f64>().ok();
    factor
        .filter(|factor| (1.0..=MAX_FACTOR).contains(factor))
        .ok_or_else(|| {
            format!("the top rung is taken 1 to {MAX_FACTOR} times; write a number such as 2 or 2.5")
        })
}
