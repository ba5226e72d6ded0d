//! Arguments of `weir lab neighbour`.

use std::net::SocketAddr;

use clap::{Args, Subcommand, ValueEnum, value_parser};

use crate::units::{ByteCount, Rate, TimeSpan};

/// Subcommands of `weir lab neighbour`.
#[derive(Clone, Debug, Subcommand)]
pub enum NeighbourCommand {
    /// Serve all kinds of neighbours.
    ///
    /// Listens on one port for datagrams and for connections, and sends what clients ask for, within limits. Datagrams go
    /// only to clients that have shown to receive what is sent to their address. It knows no tokens that users hand out:
    /// let it listen where only your own hosts can reach it. It runs until it is interrupted.
    Serve(NeighbourServeArgs),
    /// Receive one direction of a call.
    ///
    /// A packet of G.711 every 20 ms, 80 kbit/s with its headers: one-way delay, jitter, loss, and how people would rate
    /// the call (E-model, ITU-T G.107).
    #[command(after_help = "\
Example:
    $ weir lab neighbour voip far:7000 --for 20s")]
    Voip {
        /// Where and when.
        #[command(flatten)]
        common: NeighbourArgs,
    },
    /// Receive evenly spaced datagrams.
    ///
    /// Datagrams of one length at an even rate, as a sensor or a live stream sends them: one-way delay, jitter, loss.
    #[command(after_help = "\
Example:
    $ weir lab neighbour udp far:7000 --rate 5Mbit/s --length 1200")]
    Udp {
        /// Where and when.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Rate of UDP payload.
        #[arg(long, value_name = "RATE", default_value = "5Mbit/s")]
        rate: Rate,
        /// UDP payload of each datagram, in bytes.
        #[arg(long, value_name = "N", default_value_t = 1200, value_parser = value_parser!(u16).range(64..=9000))]
        length: u16,
    },
    /// Play a cloud game.
    ///
    /// Video down, each frame a burst of datagrams, and the player's inputs up, 125 a second: how long frames take, which
    /// are late or incomplete, the longest freeze, and how long an input takes to be answered by a frame.
    #[command(after_help = "\
Example:
    $ weir lab neighbour game far:7000 --rate 15Mbit/s --frames-per-second 60")]
    Game {
        /// Where and when.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Mean rate of the video.
        #[arg(long, value_name = "RATE", default_value = "15Mbit/s")]
        rate: Rate,
        /// Frames in a second.
        #[arg(long, value_name = "N", default_value_t = 60, value_parser = value_parser!(u16).range(1..=240))]
        frames_per_second: u16,
        /// UDP payload of each datagram but the last of a frame, in bytes.
        #[arg(long, value_name = "N", default_value_t = 1200, value_parser = value_parser!(u16).range(64..=9000))]
        length: u16,
    },
    /// Download as fast as TCP goes.
    ///
    /// On one connection or several, with the congestion control that is asked for: bytes, rate, and what the sender's
    /// kernel says of its RTT, its window, and what it sent again.
    #[command(after_help = "\
Example:
    $ weir lab neighbour bulk far:7000 --congestion reno --streams 3")]
    Bulk {
        /// Where and when.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Congestion control of the sender [default: the one of its host].
        #[arg(long, value_name = "NAME")]
        congestion: Option<CongestionName>,
        /// Connections at once.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=64))]
        streams: u16,
    },
    /// Download the same again and again, on one HTTP connection.
    ///
    /// One request after the other, with or without a pause in between: how long each takes to its first and to its last
    /// byte.
    #[command(after_help = "\
Example:
    $ weir lab neighbour http far:7000 --bytes 3MB --pause 1s")]
    Http {
        /// Where and when.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Length of each download; at most 1 GB.
        #[arg(long, value_name = "SIZE", default_value = "3MB", value_parser = ByteCount::positive)]
        bytes: ByteCount,
        /// Between the end of one and the next request; at most 60s.
        #[arg(long, value_name = "TIME", default_value = "0s")]
        pause: TimeSpan,
        /// Congestion control of the sender [default: the one of its host].
        #[arg(long, value_name = "NAME")]
        congestion: Option<CongestionName>,
    },
}

/// What every neighbour is told.
#[derive(Clone, Debug, Args)]
pub struct NeighbourArgs {
    /// Where 'weir lab neighbour serve' listens.
    #[arg(value_name = "HOST:PORT")]
    pub server: String,
    /// For how long; the server allows 1h at most.
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = TimeSpan::positive)]
    pub duration: TimeSpan,
    /// When to start, in Unix nanoseconds [default: at once].
    #[arg(long, value_name = "UNIX_NS")]
    pub start_at: Option<u64>,
}

/// Arguments of `weir lab neighbour serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab neighbour serve --listen 198.18.0.2:7000")]
pub struct NeighbourServeArgs {
    /// Address and port to listen on, for UDP and TCP; port 0 takes any that is free.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// Highest rate of datagrams to one client.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "200Mbit/s",
        help_heading = "Limits"
    )]
    pub max_rate: Rate,
    /// Longest time for one client; at most 1h.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub max_for: TimeSpan,
    /// Clients of datagrams, and connections, at the same time.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u16).range(1..=1024), help_heading = "Limits")]
    pub max_sessions: u16,
}

/// Names of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CongestionName {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Bottleneck bandwidth and round-trip time.
    Bbr,
}
