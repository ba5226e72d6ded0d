//! Which loudspeakers the channels of a track are for, as the index ChannelConfiguration (ISO/IEC 23003-3, 5.3.2; the
//! same numbers in ISO/IEC 23091-3), which is what an MPD tells. Layouts without an index have none. It must not know
//! how a codec writes them down.

/// What may be assumed of a number of channels whose layout the file does not tell: none for 8, which have several.
pub(super) fn of_count(channels: u32) -> Option<u8> {
    match channels {
        1..=6 => u8::try_from(channels).ok(),
        7 => Some(11),
        _ => None,
    }
}

/// AAC's channelConfiguration (ISO/IEC 14496-3, 1.6.3.5), above zero: its indices are the same.
pub(super) fn of_aac(configuration: u32) -> Option<u8> {
    match configuration {
        1..=7 | 11 | 12 => u8::try_from(configuration).ok(),
        _ => None,
    }
}

/// Channel mapping families 0 and 1 of Opus (RFC 7845, 5.1.1): those of Vorbis.
pub(super) fn of_opus(family: u8, channels: u8) -> Option<u8> {
    match (family, channels) {
        (0, 1 | 2) => Some(channels),
        // Two in front and two behind.
        (1, 4) => Some(10),
        (1, 1..=6) => Some(channels),
        (1, 7) => Some(11),
        (1, 8) => Some(12),
        _ => None,
    }
}

/// An audio coding mode of AC-3 (ETSI TS 102 366, 4.4.2.3), whether it has a channel of low frequencies, and the
/// locations that dependent substreams of E-AC-3 add (annex F.6), nine bits from Lc/Rc down to LFE2.
pub(super) fn of_dolby(mode: u32, low_frequencies: u32, locations: u32) -> Option<u8> {
    const LEFT_AND_RIGHT_CENTRE: u32 = 1 << 8;
    const LEFT_AND_RIGHT_REAR: u32 = 1 << 7;
    const CENTRE_REAR: u32 = 1 << 6;
    match (mode, low_frequencies, locations) {
        (0, 0, 0) => Some(8),
        (1, 0, 0) => Some(1),
        (2, 0, 0) => Some(2),
        (3, 0, 0) => Some(3),
        (4, 0, 0) => Some(9),
        (5, 0, 0) => Some(4),
        (6, 0, 0) => Some(10),
        (7, 0, 0) => Some(5),
        (7, 1, 0) => Some(6),
        (7, 1, LEFT_AND_RIGHT_CENTRE) => Some(7),
        (7, 1, LEFT_AND_RIGHT_REAR) => Some(12),
        (7, 1, CENTRE_REAR) => Some(11),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_the_indices_of_the_table() {
        // ISO/IEC 23003-3, table of channel configurations: 7 is 5/2.1, 8 is 1+1, 9 is 2/1, 10 is 2/2, 11 is 3/0/3.1 and
        // 12 is 3/4.1.
        assert_eq!(
            [1, 2, 6, 7, 8].map(of_count),
            [Some(1), Some(2), Some(6), Some(11), None]
        );
        assert_eq!(
            [0, 6, 7, 8, 11, 12, 13].map(of_aac),
            [None, Some(6), Some(7), None, Some(11), Some(12), None]
        );
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|channels| of_opus(1, channels)),
            [1, 2, 3, 10, 5, 6, 11, 12, 0].map(|index| (index > 0).then_some(index))
        );
        assert_eq!((of_opus(0, 2), of_opus(255, 8)), (Some(2), None));
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|mode| of_dolby(mode, 0, 0)),
            [8, 1, 2, 3, 9, 4, 10, 5].map(Some)
        );
        assert_eq!((of_dolby(7, 1, 0), of_dolby(2, 1, 0)), (Some(6), None));
        assert_eq!(
            [0x100, 0x80, 0x40, 0x20, 0xc0].map(|locations| of_dolby(7, 1, locations)),
            [Some(7), Some(12), Some(11), None, None]
        );
    }
}
