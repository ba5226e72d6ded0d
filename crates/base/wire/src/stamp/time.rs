//! Timestamps and the error estimate of STAMP. It must not know the time.

use crate::UnixNanos;

/// Seconds from the start of NTP's era 0 (1900-01-01) to 1970-01-01 (RFC 5905 section 6, figure 4).
const UNIX_EPOCH: u64 = 2_208_988_800;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// NTP's 64-bit timestamp (RFC 5905 section 6): the upper 32 bits are seconds, the lower 32 a fraction of a
/// second in units of 2^-32 s (0.23 ns).
///
/// The seconds wrap on 2036-02-07, when era 1 starts; a timestamp does not say its era. Unix time starts inside era 0,
/// so seconds from 2 208 988 800 on count as era 0 (1970 to 2036) and smaller ones as era 1 (2036 to 2106). Times
/// before 1970 are read wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NtpTimestamp(pub u64);

impl NtpTimestamp {
    /// The timestamp of a Unix time, rounded down to 2^-32 s. Times after 2106 wrap.
    #[must_use]
    pub const fn from_unix(time: UnixNanos) -> Self {
        let seconds = (time.0 / NANOS_PER_SECOND + UNIX_EPOCH) as u32 as u64;
        let fraction = ((time.0 % NANOS_PER_SECOND) << 32) / NANOS_PER_SECOND;
        Self(seconds << 32 | fraction)
    }

    /// The Unix time, rounded to the nearest nanosecond: the inverse of [`from_unix`](Self::from_unix) until 2106.
    #[must_use]
    pub const fn to_unix(self) -> UnixNanos {
        let seconds = ((self.0 >> 32) as u32).wrapping_sub(UNIX_EPOCH as u32) as u64;
        let fraction = self.0 & 0xffff_ffff;
        let nanos = (fraction * NANOS_PER_SECOND + (1 << 31)) >> 32;
        UnixNanos(seconds * NANOS_PER_SECOND + nanos)
    }

    /// The time in a field in truncated PTPv2 form (IEEE 1588-2008; RFC 8186 section 2.1): 32 bits of seconds since 1970
    /// and 32 bits of nanoseconds, in the sender's timescale. For PTP that is usually TAI, 37 s ahead of UTC.
    #[must_use]
    pub const fn from_ptp(self) -> UnixNanos {
        UnixNanos((self.0 >> 32) * NANOS_PER_SECOND + (self.0 & 0xffff_ffff))
    }
}

/// Error estimate of a clock (RFC 4656 section 4.1.2; the Z bit is RFC 8186 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorEstimate {
    /// S: the clock is synchronised to UTC by an external source.
    pub synchronized: bool,
    /// Z: timestamps are in truncated PTPv2 form instead of NTP's; [`ErrorEstimate::time_of`] handles both. Weir never
    /// sends it.
    pub ptp: bool,
    /// Exponent, 0 to 63.
    pub scale: u8,
    /// Factor, 1 to 255. RFC 4656 forbids 0, but some senders send it: then the error is unknown.
    pub multiplier: u8,
}

impl ErrorEstimate {
    /// The smallest estimate of at least `error_ns` nanoseconds. The largest value of the field, about 4 * 10^18 s,
    /// exceeds any `u64` of nanoseconds.
    #[must_use]
    pub fn from_nanos(error_ns: u64, synchronized: bool) -> Self {
        let fraction_units = ((u128::from(error_ns) << 32).div_ceil(u128::from(NANOS_PER_SECOND))).max(1);
        // fraction_units < 2^67, so the loop ends before scale is 60.
        let mut scale = 0u8;
        while fraction_units.div_ceil(1 << scale) > 255 {
            scale += 1;
        }
        Self {
            synchronized,
            ptp: false,
            scale,
            multiplier: fraction_units.div_ceil(1 << scale) as u8,
        }
    }

    /// The time in the timestamp that this estimate belongs to.
    #[must_use]
    pub const fn time_of(self, stamp: NtpTimestamp) -> UnixNanos {
        if self.ptp {
            stamp.from_ptp()
        } else {
            stamp.to_unix()
        }
    }

    /// The error in seconds: multiplier * 2^(scale - 32); `None` for a multiplier of 0.
    #[must_use]
    pub fn seconds(self) -> Option<f64> {
        (self.multiplier != 0)
            .then(|| f64::from(self.multiplier) * f64::from(i32::from(self.scale) - 32).exp2())
    }

    /// Decodes the field.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self {
            synchronized: bits & 0x8000 != 0,
            ptp: bits & 0x4000 != 0,
            scale: (bits >> 8) as u8 & 0x3f,
            multiplier: bits as u8,
        }
    }

    /// Encodes the field; a scale above 63 is sent as 63.
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        let scale = if self.scale > 63 { 63 } else { self.scale };
        (self.synchronized as u16) << 15
            | (self.ptp as u16) << 14
            | (scale as u16) << 8
            | self.multiplier as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        assert_eq!(NtpTimestamp::from_unix(UnixNanos(0)).0, 0x83aa_7e80_0000_0000);
        assert_eq!(
            NtpTimestamp::from_unix(UnixNanos(500_000_000)).0,
            0x83aa_7e80_8000_0000
        );
        // 2036-02-07 06:28:16 UTC (RFC 5905 figure 4), the first second of era 1.
        let rollover = UnixNanos(2_085_978_496 * NANOS_PER_SECOND);
        assert_eq!(NtpTimestamp::from_unix(rollover), NtpTimestamp(0));
        assert_eq!(NtpTimestamp(0).to_unix(), rollover);
        assert_eq!(NtpTimestamp(u64::MAX).to_unix(), rollover);
        assert_eq!(
            NtpTimestamp(0xffff_ffff_0000_0000).to_unix().0,
            rollover.0 - NANOS_PER_SECOND
        );
    }

    #[test]
    fn known_estimates() {
        // 2^-32 s * 2^32 * 1 = 1 s.
        let second = ErrorEstimate {
            synchronized: true,
            ptp: false,
            scale: 32,
            multiplier: 1,
        };
        assert_eq!(second.to_bits(), 0xa001);
        assert_eq!(second.seconds(), Some(1.0));
        assert_eq!(ErrorEstimate::from_bits(0x4000).seconds(), None);
        assert_eq!(ErrorEstimate::from_nanos(0, false).to_bits(), 1);
    }

    proptest! {
        #[test]
        fn unix_times_round_trip(nanos in 0..(1u64 << 32) * NANOS_PER_SECOND) {
            prop_assert_eq!(NtpTimestamp::from_unix(UnixNanos(nanos)).to_unix(), UnixNanos(nanos));
        }

        #[test]
        fn estimate_bits_round_trip(bits: u16) {
            prop_assert_eq!(ErrorEstimate::from_bits(bits).to_bits(), bits);
        }

        #[test]
        fn estimates_are_not_below_the_error(shift in 0u32..64, nanos: u64) {
            let nanos = nanos >> shift;
            let seconds = ErrorEstimate::from_nanos(nanos, true).seconds().unwrap();
            let wanted = nanos as f64 / NANOS_PER_SECOND as f64;
            prop_assert!(seconds >= wanted * (1.0 - 1e-12), "{seconds} for {wanted}");
            prop_assert!(seconds <= wanted * 1.01 + 0.3e-9, "{seconds} for {wanted}");
        }
    }
}
