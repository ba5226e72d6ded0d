//! Arguments of `weir load` that are for players, `--play real-time`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use weir_player::{AbrChoice, PacePolicy};

use crate::units::TimeSpan;

/// How players play.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Players (--play real-time)")]
pub struct PlayerArgs {
    /// How rungs are chosen with --rung abr: throughput, bba, bola, bola-e, hyb or dynamic [default: throughput].
    #[arg(long, value_name = "RULE")]
    pub abr: Option<AbrChoice>,
    /// Most media in a player's buffer [default: 25s].
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive)]
    pub buffer: Option<TimeSpan>,
    /// How fast the server is asked to send, by CMCD's rtp.
    ///
    /// none; rung:N or top:N, so many times the bitrate of the chosen or of the top rung; sammy or sammy:C0,C1, between
    /// C0 and C1 times the top rung as the buffer fills; hyb or hyb:MARGIN, what the rule HYB needs; dashjs, as dash.js
    /// does. Whether the server does so is its own affair: 'weir origin --pace' does.
    #[arg(long, value_name = "POLICY")]
    pub pace: Option<PacePolicy>,
    /// Tell the server by CMCD of this version what the player does [default with --pace: 2].
    #[arg(long, value_name = "1|2", value_parser = value_parser!(u8).range(1..=2))]
    pub cmcd: Option<u8>,
    /// Write a line of JSON for each segment to this file.
    #[arg(long, value_name = "FILE")]
    pub segment_log: Option<PathBuf>,
}
