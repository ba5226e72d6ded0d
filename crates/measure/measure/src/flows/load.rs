//! How many packet threads a multi-flow test needs, from what a thread was measured to need. It must not know threads or
//! sockets.

use weir_units::Rate;

use super::FlowsPlan;
use crate::Limits;
use crate::threads::{Threads, threads_needed};

/// CPU time that a sending thread needs for a byte and for a packet, nanoseconds: .13 of a core for 2.49 Gbit/s in packets of
/// 8,972 bytes and .25 in packets of 1,400 (`benches/e2e/README.md`). A receiving thread needs less.
const BYTE_NS: f64 = 0.35;
const PACKET_NS: f64 = 640.0;
/// The same for a packet that is a message of its own, nanoseconds, in addition: .23 of a core for the first of these.
const MESSAGE_NS: f64 = 2_900.0;

impl FlowsPlan {
    /// Packet threads at each end: those that the plan names, or as many as its rate needs on hosts with so many `cores`, within
    /// the `limits`. A test that is not paced counts with their rate.
    pub fn threads_on(&self, cores: u32, limits: &Limits) -> u16 {
        match self.threads {
            Threads::Exactly(count) => count,
            Threads::Auto => {
                let most = self.flows.min(limits.max_threads).max(1);
                threads_needed(self.busy(limits.max_rate), cores).min(most)
            }
        }
    }

    /// Cores that one sending thread would need.
    fn busy(&self, ceiling: Rate) -> f64 {
        let bytes_per_second = self.rate().unwrap_or(ceiling).0 as f64 / 8.0;
        let packets_per_second = bytes_per_second / f64::from(self.length.max(1));
        let packet_ns = PACKET_NS + if self.segment { 0.0 } else { MESSAGE_NS };
        (bytes_per_second * BYTE_NS + packets_per_second * packet_ns) / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VideoFormat;

    /// Rates that one thread was measured to carry, and those beyond it.
    #[test]
    fn one_thread_is_enough_for_what_it_was_measured_to_carry() {
        for (format, length, segment, threads) in [
            // 2.49 Gbit/s.
            ("1080p59.94-422-10", 8_972, true, 1),
            ("1080p59.94-422-10", 1_400, true, 1),
            ("1080p59.94-422-10", 1_400, false, 1),
            // 9.95 and 31.8 Gbit/s.
            ("2160p59.94-422-10", 8_972, true, 1),
            ("2160p59.94-422-10", 8_972, false, 2),
            ("2160p59.94-422-10", 1_400, true, 2),
            ("2160p59.94-4444-16", 8_972, true, 2),
        ] {
            let plan = FlowsPlan {
                format: VideoFormat::named(format).expect("a known format"),
                length,
                segment,
                threads: Threads::Auto,
                ..FlowsPlan::default()
            };
            let on = |cores| plan.threads_on(cores, &Limits::default());
            assert_eq!((on(16), on(2)), (threads, 1), "{format} in {length}, {segment}");
            let one_flow = FlowsPlan { flows: 1, ..plan };
            assert_eq!(one_flow.threads_on(16, &Limits::default()), 1);
        }
    }
}
