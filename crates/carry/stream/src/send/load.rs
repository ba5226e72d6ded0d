//! How many packet threads a stream needs, from what a thread was measured to need. It must not know threads or sockets.

use weir_measure::threads_needed;
use weir_protect::Protection;

/// CPU time that a sending thread needs for a byte and for a packet, nanoseconds: .63 of a core for 7.95 Gbit/s in packets of
/// 8.9 kB (`benches/e2e/README.md`), of which a packet of any length takes a part.
const BYTE_NS: f64 = 0.6;
const PACKET_NS: f64 = 300.0;
/// For a byte that a repair packet covers, nanoseconds: .3 of a core for 8 Gbit/s, 10 repair packets per 100 over 100.
const REPAIR_NS: f64 = 0.03;

/// What a stream sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub frame_bytes: u64,
    /// Payload of a packet, bytes.
    pub payload: u32,
    pub frame_ns: u64,
    pub protection: Protection,
    /// Repair packets that cover a source packet.
    pub repairs: f64,
}

impl Load {
    /// Source packets per second, approximately.
    pub(super) fn packets_per_second(&self) -> f64 {
        let packets = self.frame_bytes.div_ceil(u64::from(self.payload.max(1)));
        packets as f64 * 1e9 / self.frame_ns.max(1) as f64
    }

    /// Threads that it needs on hosts with so many `cores`.
    pub(super) fn threads(&self, cores: u32) -> u16 {
        let bytes_per_second = self.frame_bytes as f64 * 1e9 / self.frame_ns.max(1) as f64;
        let byte_ns = BYTE_NS + seal_ns(self.protection) + REPAIR_NS * self.repairs;
        let busy = (self.packets_per_second() * PACKET_NS + bytes_per_second * byte_ns) / 1e9;
        threads_needed(busy, cores)
    }
}

/// CPU time for the protection of a byte, nanoseconds, from the same page.
fn seal_ns(protection: Protection) -> f64 {
    match protection {
        Protection::Off => 0.0,
        Protection::Aes128Gcm => 0.12,
        Protection::Aes256Gcm => 0.13,
        Protection::ChaCha20Poly1305 => 0.4,
        Protection::Auth => 0.54,
    }
}

#[cfg(test)]
mod tests {
    use weir_video::VideoFormat;

    use super::*;

    fn load(format: &str, payload: u32, protection: Protection, repairs: f64) -> Load {
        let format: VideoFormat = format.parse().expect("a format");
        Load {
            frame_bytes: format.frame_bytes() as u64,
            payload,
            frame_ns: 1_001_000_000 / 60,
            protection,
            repairs,
        }
    }

    /// Rates that one thread was measured to carry, and those beyond it.
    #[test]
    fn one_thread_is_enough_for_what_it_was_measured_to_carry() {
        use Protection::{Aes128Gcm, ChaCha20Poly1305, Off};
        for (format, payload, protection, repairs, threads) in [
            // 2.49, 7.96 and 9.95 Gbit/s.
            ("1080p59.94-422-10", 8_900, Aes128Gcm, 10.0, 1),
            ("1080p59.94-422-10", 1_400, Aes128Gcm, 0.0, 1),
            ("1080p59.94-4444-16", 8_900, Aes128Gcm, 0.0, 1),
            ("2160p59.94-422-10", 8_900, Off, 0.0, 1),
            ("2160p59.94-422-10", 1_400, Aes128Gcm, 8.0, 2),
            ("2160p59.94-422-10", 1_400, ChaCha20Poly1305, 8.0, 3),
            // 31.8 Gbit/s.
            ("2160p59.94-4444-16", 8_900, Off, 0.0, 3),
            ("2160p59.94-4444-16", 8_900, Aes128Gcm, 0.0, 4),
        ] {
            let load = load(format, payload, protection, repairs);
            assert_eq!(load.threads(16), threads, "{format} in {payload}, {protection:?}");
        }
    }
}
