//! The rate of a body, of what is written to TCP for it, and of the packets that carry that. It must not know who asked for
//! a rate.

use weir_units::Rate;

/// Bytes of an answer that one frame of HTTP/2 carries (RFC 9113, 4.2), and of plain text one record of TLS (RFC 8446, 5.1).
const CARRIED: u64 = 16_384;
/// The header of a frame (RFC 9113, 4.1).
const FRAME: u64 = 9;
/// What a record adds: header, type and tag of TLS 1.3; with the nonce in place of the type, TLS 1.2 adds 7 more.
const RECORD: u64 = 22;
/// Of TCP, with timestamps.
const TCP: u64 = 32;
/// Of IPv4 and of IPv6.
const IP: [u64; 2] = [20, 40];
/// Of Ethernet, as the kernel counts it: without check sum, preamble and gap.
const ETHERNET: u64 = 14;

/// What is written to a socket, bytes each second: what the kernel holds back by `SO_MAX_PACING_RATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TcpRate(pub u64);

/// What carries a body on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Bodies are in frames.
    pub http2: bool,
    /// All is in records.
    pub tls: bool,
    /// Packets are those of IPv6.
    pub ipv6: bool,
}

impl Framing {
    /// At which a socket must be written to for a body to arrive at `body`: body × (1 + (9·h + 22·t·(1 + h)) / 16,384),
    /// with h and t 1 for HTTP/2 and TLS and else 0. A frame with its header takes two records.
    pub fn tcp_rate(self, body: Rate) -> TcpRate {
        let (h, t) = (u64::from(self.http2), u64::from(self.tls));
        let added = FRAME * h + RECORD * t * (1 + h);
        let nanobits = u128::from(body.0) * u128::from(CARRIED + added);
        let bytes = nanobits.div_ceil(u128::from(CARRIED) * 8);
        TcpRate(u64::try_from(bytes).unwrap_or(u64::MAX - 1).max(1))
    }

    /// What packets take of the link for it: tcp × (mss + headers) / mss, with Ethernet's header, in packets that are full.
    pub fn wire_rate(self, tcp: TcpRate, mss: u32) -> Rate {
        let mss = u128::from(mss.max(1));
        let headers = u128::from(TCP + IP[usize::from(self.ipv6)] + ETHERNET);
        let bits = u128::from(tcp.0) * 8 * (mss + headers) / mss;
        Rate(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_formulas() {
        let body = Rate(16_384 * 8 * 100);
        for (http2, tls, added) in [
            (false, false, 0),
            (true, false, 9),
            (false, true, 22),
            (true, true, 53),
        ] {
            let ipv6 = false;
            let framing = Framing { http2, tls, ipv6 };
            assert_eq!(
                framing.tcp_rate(body),
                TcpRate((16_384 + added) * 100),
                "{framing:?}"
            );
        }
        let plain = Framing::default();
        assert_eq!(plain.tcp_rate(Rate(1)), TcpRate(1));
        assert!(plain.tcp_rate(Rate(u64::MAX)) < TcpRate(u64::MAX));
    }

    /// 12 Mbit/s of payload in packets of an Ethernet with an MTU of 1,500 are 4.6 % more on the wire: (1448 + 66) / 1448.
    #[test]
    fn the_wire_takes_what_was_measured() {
        let tcp = TcpRate(1_500_000);
        let wire = Framing::default().wire_rate(tcp, 1448).0 as f64;
        assert!((wire / 12e6 - 1.0456).abs() < 0.0001, "{wire}");
        let ipv6 = Framing {
            ipv6: true,
            ..Framing::default()
        };
        let wire = ipv6.wire_rate(tcp, 1428).0 as f64;
        assert!((wire / 12e6 - 1514.0 / 1428.0).abs() < 0.0001, "{wire}");
    }
}
