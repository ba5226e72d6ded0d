//! How many packets of a paced connection leave back to back. It must not know sockets.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::TcpRate;

/// Most packets that can be asked for.
const MOST: u32 = 64;
/// Packets that are always allowed.
const LEAST: u32 = 4;
/// What the kernel sends at once at most, bytes (`gso_max_size`).
const KERNELS_MOST: u64 = 65_536;

/// A bound of what a paced connection sends back to back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Burst {
    /// As the kernel chooses, and where it would send more than four packets beyond what the rate gives in a
    /// millisecond, which it does on the shortest round trips, no longer than that millisecond, and at least four
    /// packets.
    #[default]
    Auto,
    /// As the kernel chooses by rate and round-trip time.
    Kernel,
    /// A number of packets, 1 to 64.
    Packets(u32),
}

/// What `auto`, `kernel` or a number was expected for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write auto, kernel or a number of packets from 1 to {MOST}")]
pub struct BadBurst;

impl Burst {
    /// Packets of `mss` bytes to write at once at most at that rate; none leaves it to the kernel.
    ///
    /// The kernel sends what the rate gives in 1/1,024 s, and adds 64 KB halved once for every 512 us of its shortest
    /// round trip (`tcp_tso_autosize` of Linux 5.18 and later). Of a round trip that is not known, it adds nothing.
    pub fn packets(self, rate: TcpRate, mss: u32, min_rtt: Option<Duration>) -> Option<u32> {
        match self {
            Burst::Kernel => return None,
            Burst::Packets(packets) => return Some(packets),
            Burst::Auto => {}
        }
        let halvings = u32::try_from(min_rtt?.as_micros() >> 9).ok()?;
        let added = KERNELS_MOST.checked_shr(halvings).unwrap_or(0);
        let in_a_millisecond = rate.0 >> 10;
        let mss = u64::from(mss.max(1));
        let is_long = added > u64::from(LEAST) * mss && in_a_millisecond < KERNELS_MOST;
        let packets = u32::try_from(in_a_millisecond / mss).ok()?;
        is_long.then(|| packets.max(LEAST))
    }
}

impl FromStr for Burst {
    type Err = BadBurst;

    fn from_str(text: &str) -> Result<Self, BadBurst> {
        match text.trim() {
            "auto" => Ok(Burst::Auto),
            "kernel" => Ok(Burst::Kernel),
            number => match number.parse() {
                Ok(packets) if (1..=MOST).contains(&packets) => Ok(Burst::Packets(packets)),
                _ => Err(BadBurst),
            },
        }
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Burst::Auto => f.write_str("auto"),
            Burst::Kernel => f.write_str("kernel"),
            Burst::Packets(packets) => packets.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(mbit: u64, rtt_us: u64) -> Option<u32> {
        let rate = TcpRate(mbit * 125_000);
        Burst::Auto.packets(rate, 1448, Some(Duration::from_micros(rtt_us)))
    }

    #[test]
    fn a_burst_is_bounded_where_the_kernels_is_long() {
        // 64 KB at 1 Mbit/s are half a second.
        assert_eq!(auto(1, 50), Some(4));
        assert_eq!(auto(40, 50), Some(4));
        // A millisecond of 100 Mbit/s is 12.5 kB, of 500 Mbit/s 62.5 kB; of a gigabit more than the kernel sends at
        // once.
        assert_eq!(auto(100, 50), Some(8));
        assert_eq!(auto(500, 50), Some(42));
        assert_eq!(auto(1000, 50), None);
        // 64 KB halved three times are 8 KB, four times less than four packets.
        assert_eq!(auto(8, 2047), Some(4));
        assert_eq!(auto(8, 2048), None);
        assert_eq!(auto(8, 1_000_000), None);
        assert_eq!(auto(500, 5_000), None);
    }

    #[test]
    fn what_is_not_known_and_what_is_said_is_left_as_it_is() {
        let rate = TcpRate(125_000);
        let near = Some(Duration::from_micros(50));
        assert_eq!(Burst::Auto.packets(rate, 1448, None), None);
        assert_eq!(Burst::Kernel.packets(rate, 1448, near), None);
        assert_eq!(Burst::Packets(10).packets(rate, 1448, None), Some(10));
        // A packet on loopback is as long as a burst.
        assert_eq!(Burst::Auto.packets(rate, 65_483, near), None);
    }

    #[test]
    fn bursts_are_read_as_they_are_written() {
        for (text, burst) in [
            ("auto", Ok(Burst::Auto)),
            ("kernel", Ok(Burst::Kernel)),
            ("64", Ok(Burst::Packets(64))),
            ("0", Err(BadBurst)),
            ("65", Err(BadBurst)),
            ("", Err(BadBurst)),
        ] {
            assert_eq!(text.parse(), burst, "{text}");
            if let Ok(burst) = burst {
                assert_eq!(burst.to_string(), text);
            }
        }
    }
}
