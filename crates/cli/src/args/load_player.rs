//! Player arguments of `weir load`, for `--play real-time`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use weir_player::{AbrChoice, PacePolicy};

use crate::units::TimeSpan;

/// Player options.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Players (--play real-time)")]
pub struct PlayerArgs {
    /// ABR rule for --rung abr: throughput, bba, bola, bola-e, hyb or dynamic [default: throughput].
    #[arg(long, value_name = "RULE")]
    pub abr: Option<AbrChoice>,
    /// Maximum playout buffer of a player [default: 25s].
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive)]
    pub buffer: Option<TimeSpan>,
    /// Pace rate to request from the server, by CMCD rtp.
    ///
    /// none; rung:N or top:N, N times the bitrate of the chosen or of the top rung; sammy or sammy:C0,C1, between C0
    /// and C1 times the top rung as the buffer fills; hyb or hyb:MARGIN, the rate that the rule HYB needs; dashjs, as
    /// dash.js does. The server must support it: 'weir origin --pace' does.
    #[arg(long, value_name = "POLICY")]
    pub pace: Option<PacePolicy>,
    /// Send CMCD of this version [default with --pace: 2].
    #[arg(long, value_name = "1|2", value_parser = value_parser!(u8).range(1..=2))]
    pub cmcd: Option<u8>,
    /// Segment log with one JSON line per segment.
    #[arg(long, value_name = "FILE")]
    pub segment_log: Option<PathBuf>,
}
