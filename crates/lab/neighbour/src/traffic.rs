//! What a client can ask to be sent as datagrams, when each of them is due, and how it ended. It must
//! not know packets or sockets.

use weir_units::Rate;

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;
/// UDP payload of a packet of a call: 160 bytes of G.711 and 12 of RTP. With the headers of UDP and IPv4 it has 200 bytes,
/// 80 kbit/s.
pub(crate) const VOICE_LENGTH: u16 = 172;
/// A packet of a call holds so much speech, nanoseconds.
pub(crate) const VOICE_INTERVAL_NS: u64 = 20_000_000;
/// Between the inputs of a player, nanoseconds: 125 a second, as USB devices report.
pub(crate) const INPUT_INTERVAL_NS: u64 = 8_000_000;

/// One kind of traffic in datagrams, from the server to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// One direction of a call in G.711: a packet every 20 ms.
    Voice,
    /// Datagrams of one length, evenly spaced.
    Even {
        /// UDP payload, bits per second.
        rate: Rate,
        /// UDP payload of each datagram, bytes: 64 to 9000.
        length: u16,
    },
    /// A cloud game: each frame a burst of datagrams.
    Game {
        /// UDP payload in the mean, bits per second.
        rate: Rate,
        /// Frames per second: 1 to 240.
        frames_per_second: u16,
        /// UDP payload of each datagram but the last of a frame, bytes: 64 to 9000.
        length: u16,
    },
}

/// A whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What.
    pub traffic: Traffic,
    /// For how long, nanoseconds; more than 0.
    pub duration_ns: u64,
}

/// How the traffic ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Datagrams sent, if the sender said so.
    pub packets_sent: Option<u64>,
    /// Frames sent, if the sender said so.
    pub frames_sent: Option<u64>,
    /// Datagrams that the sender's host did not take.
    pub refused_by_sender: u64,
    /// Datagrams that this host dropped.
    pub dropped_here: u64,
    /// How long it lasted, nanoseconds.
    pub elapsed_ns: u64,
    /// When it began by the clock of this host, for want of better; Unix nanoseconds.
    pub started_unix_ns: u64,
    /// It was ended before its time.
    pub interrupted: bool,
}

impl Traffic {
    /// Shortest datagram, bytes: it holds every header.
    pub const LEAST_LENGTH: u16 = 64;
    /// Longest datagram, bytes.
    pub const MOST_LENGTH: u16 = 9_000;
    /// Most frames per second.
    pub const MOST_FRAME_RATE: u16 = 240;
    /// Rate of evenly spaced datagrams, unless given.
    pub const EVEN_RATE: Rate = Rate(5_000_000);
    /// Rate of a game, unless given.
    pub const GAME_RATE: Rate = Rate(15_000_000);
    /// Frames per second of a game, unless given.
    pub const GAME_FRAME_RATE: u16 = 60;
    /// Length of datagrams, unless given.
    pub const LENGTH: u16 = 1_200;
    /// Most packets of one frame.
    pub const MOST_PARTS: u16 = 4_096;

    /// The name of its kind.
    pub fn name(self) -> &'static str {
        match self {
            Traffic::Voice => "voip",
            Traffic::Even { .. } => "udp",
            Traffic::Game { .. } => "game",
        }
    }

    /// UDP payload, bits per second.
    pub fn rate(self) -> u64 {
        match self {
            Traffic::Voice => u64::from(VOICE_LENGTH) * 8 * SECOND_NS / VOICE_INTERVAL_NS,
            Traffic::Even { rate, .. } | Traffic::Game { rate, .. } => rate.0,
        }
    }

    /// Its values are within the ranges of their fields.
    pub fn is_sound(self) -> bool {
        let fits = |length| (Traffic::LEAST_LENGTH..=Traffic::MOST_LENGTH).contains(&length);
        match self {
            Traffic::Voice => true,
            Traffic::Even { rate, length } => rate.0 > 0 && fits(length),
            Traffic::Game {
                rate,
                frames_per_second,
                length,
            } => {
                // A key frame has twice the mean, another up to 1.3 times: see `FrameSizes`.
                let largest = rate.0 / 4 / u64::from(frames_per_second.max(1));
                rate.0 > 0
                    && fits(length)
                    && (1..=Traffic::MOST_FRAME_RATE).contains(&frames_per_second)
                    && largest.div_ceil(u64::from(length)) < u64::from(Traffic::MOST_PARTS)
            }
        }
    }

    /// When the `index`-th packet (of a game: frame) is due, nanoseconds after the start.
    pub(crate) fn due_ns(self, index: u64) -> u64 {
        let ns = |each: u128, per: u64| {
            let due = u128::from(index) * each / u128::from(per.max(1));
            u64::try_from(due).unwrap_or(u64::MAX)
        };
        match self {
            Traffic::Voice => ns(u128::from(VOICE_INTERVAL_NS), 1),
            Traffic::Even { rate, length } => ns(u128::from(length) * 8 * u128::from(SECOND_NS), rate.0),
            Traffic::Game {
                frames_per_second, ..
            } => ns(u128::from(SECOND_NS), u64::from(frames_per_second)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_due_at_the_rate() {
        assert_eq!(Traffic::Voice.due_ns(50), SECOND_NS);
        // G.711 has 64 kbit/s; RTP, UDP and IPv4 add 40 bytes to each of 50 packets: 80 kbit/s.
        assert_eq!(Traffic::Voice.rate() + 50 * 28 * 8, 80_000);
        let even = Traffic::Even {
            rate: Rate(5_000_000),
            length: 1_200,
        };
        assert_eq!(even.due_ns(1), 1_920_000);
        // No drift: 1,562,500 packets are 3,000 s to the nanosecond.
        assert_eq!(even.due_ns(1_562_500), 3_000 * SECOND_NS);
        let game = Traffic::Game {
            rate: Rate(15_000_000),
            frames_per_second: 60,
            length: 1_200,
        };
        assert_eq!(game.due_ns(1), 16_666_666);
        assert_eq!(game.due_ns(60), SECOND_NS);
    }

    #[test]
    fn what_no_header_fits_or_no_frame_can_hold_is_not_sound() {
        let even = |rate, length| Traffic::Even {
            rate: Rate(rate),
            length,
        };
        assert!(even(1, 64).is_sound() && even(u64::MAX, 9_000).is_sound());
        assert!(!even(1, 63).is_sound() && !even(1, 9_001).is_sound() && !even(0, 64).is_sound());
        let game = |rate, frames_per_second| Traffic::Game {
            rate: Rate(rate),
            frames_per_second,
            length: 1_200,
        };
        assert!(game(15_000_000, 60).is_sound() && game(30_000_000, 240).is_sound());
        assert!(!game(15_000_000, 0).is_sound() && !game(15_000_000, 241).is_sound());
        assert!(!game(1_000_000_000_000, 60).is_sound());
    }
}
