//! Edit lists (ISO/IEC 14496-12, 8.6.6): a delay before the media and the media time at which it begins, which together
//! shift composition times to presentation times. Lists that do more, such as playing two parts one after the other, are
//! refused: served as they stand they would play something else than what they say.

use crate::bmff::Mp4Box;

use super::error::IndexError;
use super::samples::MOST_TIME;

/// What the edit list in `edts` adds to composition times, in units of `media_timescale`. The length of the media edit is
/// not looked at: what lies behind its end (mostly padding of the encoder) is played.
pub(super) fn presentation_shift(
    edts: &Mp4Box<'_>,
    movie_timescale: u32,
    media_timescale: u32,
    place: &str,
) -> Result<i64, IndexError> {
    let Some(list) = edts.child(b"elst")? else {
        return Ok(0);
    };
    let mut fields = list.fields();
    let (version, _) = fields.version_and_flags()?;
    let mut delay = 0_u64;
    let mut media_time = None;
    for _ in 0..fields.u32()? {
        let duration = fields.by_version(version)?;
        let time = match version {
            1 => fields.u64()?.cast_signed(),
            _ => i64::from(fields.u32()?.cast_signed()),
        };
        let rate = fields.u32()?;
        match (time, media_time) {
            (-1, None) => delay = delay.saturating_add(duration),
            (0.., None) if rate == 0x0001_0000 => media_time = Some(time),
            (0.., None) => return Err(IndexError::unsupported(place, "its edit list changes the speed")),
            (0.., Some(_)) => {
                return Err(IndexError::unsupported(
                    place,
                    "its edit list plays several parts one after the other",
                ));
            }
            // A pause behind the media shows nothing.
            (-1, Some(_)) => {}
            _ => return Err(IndexError::broken(place, "its edit list begins before the media")),
        }
    }
    let media_time = media_time.unwrap_or(0);
    if media_time.unsigned_abs() >= MOST_TIME || delay >= MOST_TIME {
        return Err(IndexError::broken(
            place,
            "the times of its edit list are too large",
        ));
    }
    Ok(rescale(delay, movie_timescale, media_timescale) - media_time)
}

/// Rounded to the nearest unit; nothing where the timescale of the movie is zero, which means no time.
fn rescale(time: u64, from: u32, to: u32) -> i64 {
    let scaled = u128::from(time) * u128::from(to) + u128::from(from / 2);
    let scaled = scaled.checked_div(u128::from(from)).unwrap_or(0);
    i64::try_from(scaled).map_or(MOST_TIME.cast_signed(), |time| time.min(MOST_TIME.cast_signed()))
}
