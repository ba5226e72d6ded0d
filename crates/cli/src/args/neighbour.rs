//! Arguments of `weir lab neighbour`.

use std::net::SocketAddr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, value_parser};
use weir_neighbour::{BulkRequest, HttpRequest, Kind, Traffic};
use weir_net::tcp::CongestionControl;

use crate::units::{ByteCount, Rate, TimeSpan};

/// Subcommands of `weir lab neighbour`.
#[derive(Clone, Debug, Subcommand)]
pub enum NeighbourCommand {
    /// Serve all kinds of neighbours.
    ///
    /// Listens on one port for UDP and TCP, and sends the traffic that clients request, within limits. Sends datagrams
    /// only to clients that have proved that they receive at their address. There is no user token: listen only where
    /// your own hosts can connect. Runs until interrupted.
    Serve(NeighbourServeArgs),
    /// Receive one direction of a call.
    ///
    /// One G.711 packet every 20 ms, 80 kbit/s with headers. Reports one-way delay, jitter, loss, and the estimated
    /// quality of the call (E-model, ITU-T G.107).
    #[command(after_help = "\
Example:
    $ weir lab neighbour voip far:7000 --for 20s")]
    Voip {
        /// Server and time.
        #[command(flatten)]
        common: NeighbourArgs,
    },
    /// Receive evenly spaced datagrams.
    ///
    /// Datagrams of one length at a constant rate, like a sensor or a live stream. Reports one-way delay, jitter and
    /// loss.
    #[command(after_help = "\
Example:
    $ weir lab neighbour udp far:7000 --rate 5Mbit/s --length 1200")]
    Udp {
        /// Server and time.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Rate of the UDP payload.
        #[arg(long, value_name = "RATE", default_value_t = Traffic::EVEN_RATE)]
        rate: Rate,
        /// UDP payload of each datagram, in bytes.
        #[arg(long, value_name = "N", default_value_t = Traffic::LENGTH, value_parser = value_parser!(u16).range(64..=9000))]
        length: u16,
    },
    /// Play a cloud game.
    ///
    /// Receives video, each frame a burst of datagrams, and sends the player's inputs, 125 per second. Reports the
    /// delay of frames, late and incomplete frames, the longest freeze, and the time from an input to the frame that
    /// shows it.
    #[command(after_help = "\
Example:
    $ weir lab neighbour game far:7000 --rate 15Mbit/s --frames-per-second 60")]
    Game {
        /// Server and time.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Mean rate of the video.
        #[arg(long, value_name = "RATE", default_value_t = Traffic::GAME_RATE)]
        rate: Rate,
        /// Frame rate, in frames per second.
        #[arg(long, value_name = "N", default_value_t = Traffic::GAME_FRAME_RATE, value_parser = value_parser!(u16).range(1..=240))]
        frames_per_second: u16,
        /// UDP payload of each datagram, except the last of a frame, in bytes.
        #[arg(long, value_name = "N", default_value_t = Traffic::LENGTH, value_parser = value_parser!(u16).range(64..=9000))]
        length: u16,
    },
    /// Download as fast as TCP allows.
    ///
    /// Uses one or several connections and the given congestion control. Reports bytes and rate, and RTT, window and
    /// retransmissions from the sender's kernel.
    #[command(after_help = "\
Example:
    $ weir lab neighbour bulk far:7000 --congestion reno --streams 3")]
    Bulk {
        /// Server and time.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Congestion control of the sender [default: that of its host].
        #[arg(long, value_name = "NAME", value_parser = congestion())]
        congestion: Option<CongestionControl>,
        /// Number of parallel connections.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=64))]
        streams: u16,
    },
    /// Repeat a download on one HTTP connection.
    ///
    /// Sends one request after the other, with an optional pause between them. Reports the time to first byte and to
    /// last byte of each.
    #[command(after_help = "\
Example:
    $ weir lab neighbour http far:7000 --bytes 3MB --pause 1s")]
    Http {
        /// Server and time.
        #[command(flatten)]
        common: NeighbourArgs,
        /// Size of each download, at most 1 GB.
        #[arg(long, value_name = "SIZE", default_value_t = Kind::HTTP_BYTES, value_parser = ByteCount::positive)]
        bytes: ByteCount,
        /// Pause between the end of a download and the next request, at most 60s.
        #[arg(long, value_name = "TIME", default_value = "0s")]
        pause: TimeSpan,
        /// Congestion control of the sender [default: that of its host].
        #[arg(long, value_name = "NAME", value_parser = congestion())]
        congestion: Option<CongestionControl>,
    },
}

impl NeighbourCommand {
    /// What is measured and against which server.
    ///
    /// # Errors
    /// The arguments of the server itself.
    pub fn measured(&self) -> Result<(Kind, &NeighbourArgs), &NeighbourServeArgs> {
        Ok(match self {
            NeighbourCommand::Serve(args) => return Err(args),
            NeighbourCommand::Voip { common } => (Kind::Datagrams(Traffic::Voice), common),
            NeighbourCommand::Udp { common, rate, length } => {
                let (rate, length) = (*rate, *length);
                (Kind::Datagrams(Traffic::Even { rate, length }), common)
            }
            NeighbourCommand::Game {
                common,
                rate,
                frames_per_second,
                length,
            } => {
                let traffic = Traffic::Game {
                    rate: *rate,
                    frames_per_second: *frames_per_second,
                    length: *length,
                };
                (Kind::Datagrams(traffic), common)
            }
            NeighbourCommand::Bulk {
                common,
                congestion,
                streams,
            } => {
                let (streams, congestion) = (*streams, *congestion);
                (Kind::Bulk(BulkRequest { streams, congestion }), common)
            }
            NeighbourCommand::Http {
                common,
                bytes,
                pause,
                congestion,
            } => {
                let http = HttpRequest {
                    bytes: *bytes,
                    pause: *pause,
                    congestion: *congestion,
                };
                (Kind::Http(http), common)
            }
        })
    }
}

/// Options of every neighbour.
#[derive(Clone, Debug, Args)]
pub struct NeighbourArgs {
    /// Address of 'weir lab neighbour serve'.
    #[arg(value_name = "HOST:PORT")]
    pub server: String,
    /// Duration of the traffic; the server allows at most 1h.
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = TimeSpan::positive)]
    pub duration: TimeSpan,
    /// Start time, in Unix nanoseconds [default: now].
    #[arg(long, value_name = "UNIX_NS")]
    pub start_at: Option<u64>,
}

/// Arguments of `weir lab neighbour serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir lab neighbour serve --listen 198.18.0.2:7000")]
pub struct NeighbourServeArgs {
    /// Address and port to listen on, for UDP and TCP; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// Maximum rate of datagrams to one client.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "200Mbit/s",
        help_heading = "Limits"
    )]
    pub max_rate: Rate,
    /// Maximum duration for one client, up to 1h.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub max_for: TimeSpan,
    /// Maximum number of concurrent UDP sessions, and of concurrent connections.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u16).range(1..=1024), help_heading = "Limits")]
    pub max_sessions: u16,
}

/// Takes the names of congestion controls.
fn congestion() -> impl TypedValueParser<Value = CongestionControl> {
    let sources = ["RFC 5681", "RFC 9438", "Bottleneck bandwidth and round-trip time"];
    let known = CongestionControl::ALL.into_iter().zip(sources);
    PossibleValuesParser::new(known.map(|(known, source)| PossibleValue::new(known.name()).help(source)))
        .try_map(|name| CongestionControl::named(&name).ok_or("unknown congestion control"))
}
