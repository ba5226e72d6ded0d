//! Movie fragments (`moof`, ISO/IEC 14496-12, 8.8): each adds samples to the tracks of a movie. Defaults come from the
//! run, the track fragment, then the movie, in this order.

use crate::bmff::{Fields, Mp4Box};

use super::error::IndexError;
use super::movie::{Draft, Movie, place};
use super::samples::Sample;
use super::tables::refused;

/// Flags of `tfhd` (8.8.7).
pub(crate) mod header_flag {
    pub const BASE_DATA_OFFSET: u32 = 0x1;
    pub const DESCRIPTION: u32 = 0x2;
    pub const DURATION: u32 = 0x8;
    pub const SIZE: u32 = 0x10;
    pub const FLAGS: u32 = 0x20;
    pub const BASE_IS_MOOF: u32 = 0x2_0000;
}

/// Flags of `trun` (8.8.8).
pub(crate) mod run_flag {
    pub const DATA_OFFSET: u32 = 0x1;
    pub const FIRST_FLAGS: u32 = 0x4;
    pub const DURATION: u32 = 0x100;
    pub const SIZE: u32 = 0x200;
    pub const FLAGS: u32 = 0x400;
    pub const OFFSET: u32 = 0x800;
}

/// `sample_is_non_sync_sample` in the flags of a sample (8.8.3.1).
const NON_SYNC: u32 = 0x1_0000;

/// What the header of a track fragment says.
struct Header {
    track_id: u32,
    base: Option<u64>,
    base_is_moof: bool,
    description: Option<u32>,
    duration: Option<u32>,
    size: Option<u32>,
    flags: Option<u32>,
}

impl Header {
    fn read(traf: &Mp4Box<'_>) -> Result<Self, IndexError> {
        let header = traf
            .child(b"tfhd")?
            .ok_or_else(|| IndexError::missing(b"tfhd", format!("the 'traf' box at byte {}", traf.at)))?;
        let mut fields = header.fields();
        let (_, flags) = fields.version_and_flags()?;
        let has = |flag: u32| flags & flag != 0;
        Ok(Header {
            track_id: fields.u32()?,
            base: optional(has(header_flag::BASE_DATA_OFFSET), || fields.u64())?,
            base_is_moof: has(header_flag::BASE_IS_MOOF),
            description: optional(has(header_flag::DESCRIPTION), || fields.u32())?,
            duration: optional(has(header_flag::DURATION), || fields.u32())?,
            size: optional(has(header_flag::SIZE), || fields.u32())?,
            flags: optional(has(header_flag::FLAGS), || fields.u32())?,
        })
    }
}

fn optional<T, E>(there: bool, read: impl FnOnce() -> Result<T, E>) -> Result<Option<T>, E> {
    if there { read().map(Some) } else { Ok(None) }
}

/// Adds the samples of this fragment to the movie.
pub(super) fn read_fragment(moof: &Mp4Box<'_>, movie: &mut Movie) -> Result<(), IndexError> {
    // Without a base of its own a track fragment begins where the one before it in the same `moof` ends (8.8.7).
    let mut follows = Some(moof.at);
    for traf in moof.children_of(b"traf") {
        let traf = traf?;
        let header = Header::read(&traf)?;
        let base = match header.base {
            Some(base) => Some(base),
            None if header.base_is_moof => Some(moof.at),
            None => follows,
        };
        let wanted = |draft: &&mut Draft| draft.head.track_id == header.track_id;
        if let Some(draft) = movie.drafts.iter_mut().find(wanted) {
            let place = place(header.track_id);
            let base = base.ok_or_else(|| {
                let what = "its fragments follow those of an unsupported track";
                IndexError::unsupported(place.as_str(), what)
            })?;
            follows = Some(read_runs(&traf, &header, base, draft, &place)?);
        } else {
            follows = None;
        }
    }
    Ok(())
}

/// Reads all runs of a track fragment; where the last one ends.
fn read_runs(
    traf: &Mp4Box<'_>,
    header: &Header,
    base: u64,
    draft: &mut Draft,
    place: &str,
) -> Result<u64, IndexError> {
    if header
        .description
        .is_some_and(|number| number != draft.defaults.description)
    {
        let what = "its fragments use several sample descriptions";
        return Err(IndexError::unsupported(place, what));
    }
    if let Some(time) = traf.child(b"tfdt")? {
        let mut fields = time.fields();
        let (version, _) = fields.version_and_flags()?;
        let set = draft.samples.set_decode_time(fields.by_version(version)?);
        set.map_err(|refusal| refused(refusal, place, &draft.samples))?;
    }
    let before = draft.samples.len();
    let mut position = base;
    for run in traf.children_of(b"trun") {
        position = read_run(&run?, header, base, position, draft, place)?;
    }
    if let Some(protection) = &mut draft.protection {
        protection.read(traf, (draft.samples.len() - before) as usize, place)?;
    }
    Ok(position)
}

/// Reads one run, which begins at `position` if it does not say otherwise; where it ends.
fn read_run(
    run: &Mp4Box<'_>,
    header: &Header,
    base: u64,
    mut position: u64,
    draft: &mut Draft,
    place: &str,
) -> Result<u64, IndexError> {
    let mut fields = run.fields();
    let (_, flags) = fields.version_and_flags()?;
    let has = |flag: u32| flags & flag != 0;
    let count = fields.u32()?;
    if has(run_flag::DATA_OFFSET) {
        let offset = fields.u32()?.cast_signed();
        position = base.checked_add_signed(i64::from(offset)).ok_or_else(|| {
            IndexError::broken(
                place,
                format!("the run at byte {} begins before the file", run.at),
            )
        })?;
    }
    let mut first_flags = optional(has(run_flag::FIRST_FLAGS), || fields.u32())?;
    let defaults = draft.defaults;
    let default_flags = header.flags.unwrap_or(defaults.flags);
    let default_duration = header.duration.unwrap_or(defaults.duration);
    let default_size = header.size.unwrap_or(defaults.size);
    let optional_fields = [
        run_flag::DURATION,
        run_flag::SIZE,
        run_flag::FLAGS,
        run_flag::OFFSET,
    ];
    let entry_bytes = 4 * optional_fields.into_iter().filter(|flag| has(*flag)).count();
    let mut entries: Fields<'_> = fields.clone();
    fields.table(count, entry_bytes)?;
    for _ in 0..count {
        let mut field = |flag: u32, default: u32| if has(flag) { entries.u32() } else { Ok(default) };
        let duration = field(run_flag::DURATION, default_duration)?;
        let size = field(run_flag::SIZE, default_size)?;
        let flags = field(run_flag::FLAGS, default_flags)?;
        // Version 0 has no sign; see the same place in the tables.
        let composition_offset = field(run_flag::OFFSET, 0)?.cast_signed();
        let flags = first_flags.take().unwrap_or(flags);
        let sample = Sample {
            position,
            size,
            duration,
            composition_offset,
            sync: flags & NON_SYNC == 0,
            ..Sample::default()
        };
        let pushed = draft.samples.push(sample);
        pushed.map_err(|refusal| refused(refusal, place, &draft.samples))?;
        position = sample.end();
    }
    Ok(position)
}
