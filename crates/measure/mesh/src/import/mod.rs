//! Results of other tools as rows of [`MeshTest`]. It knows their files, not where rows are kept.

mod export;
mod intercloud;
mod iperf3;
mod locations;
mod when;

use weir_record::{MeshEnd, MeshTest};

use crate::MeshError;
use crate::distance::faster_than_light;
use crate::place::{PlaceName, Places};

pub use csv::{Error as CsvError, ErrorKind as CsvErrorKind};
pub use export::{export_csv, rtt_ns};
pub use locations::read_locations;

/// Longest file that is read, bytes. The published results have 200 KB, an iperf3 test of an hour with 64 streams some
/// 100 MB.
pub const MOST_BYTES: u64 = 256 << 20;
/// Most tests of one file.
const MOST_TESTS: usize = 1_000_000;

/// How to read a file.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Leave `bitrate_Bps` as the published charts took it: bits per second.
    pub as_published: bool,
    /// The two places, for files that do not name them.
    pub pair: Option<(PlaceName, PlaceName)>,
}

/// What a file held.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The program that wrote it.
    pub source: &'static str,
    /// Its tests.
    pub tests: Vec<MeshTest>,
    /// What was corrected or is odd, a sentence each.
    pub notes: Vec<String>,
}

/// Reads a file of either tool; its first character tells which.
///
/// # Errors
/// When it is neither, or has a line that cannot be, with the line.
pub fn import(
    file: &str,
    bytes: &[u8],
    places: &Places,
    options: &ImportOptions,
) -> Result<Imported, MeshError> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let mut imported = match first {
        None => return Err(MeshError::file(file, "it is empty")),
        Some(b'{') => iperf3::read(file, bytes, options)?,
        Some(_) => intercloud::read(file, bytes, options)?,
    };
    locate(&mut imported, places);
    Ok(imported)
}

/// Gives tests the coordinates of their places, the distance, and the mark of those that beat light.
fn locate(imported: &mut Imported, places: &Places) {
    let mut unknown = std::collections::BTreeSet::new();
    let mut impossible = 0;
    for test in &mut imported.tests {
        for end in [&mut test.from, &mut test.to] {
            let name = PlaceName::new(&end.cloud, &end.region);
            match places.get(&name).and_then(|place| place.coordinates) {
                Some(point) => (end.latitude, end.longitude) = (Some(point.latitude), Some(point.longitude)),
                None => {
                    unknown.insert(name.to_string());
                }
            }
        }
        mark(test);
        impossible += usize::from(test.faster_than_light);
    }
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.into_iter().take(10).collect();
        imported.notes.push(format!(
            "the coordinates of {} are unknown: their tests are kept without a distance",
            names.join(", ")
        ));
    }
    if impossible > 0 {
        imported.notes.push(format!(
            "{impossible} test(s) have an RTT below that of light in fibre, so the coordinates of a place are wrong; \
             they are marked"
        ));
    }
}

/// Sets the distance and the mark from the coordinates and the RTT.
pub fn mark(test: &mut MeshTest) {
    let point = |end: &MeshEnd| crate::distance::Coordinates::new(end.latitude?, end.longitude?);
    let distance = point(&test.from)
        .zip(point(&test.to))
        .map(|(from, to)| from.distance_m(to));
    test.distance_m = distance.map(|metres| metres.round() as u64);
    let rtt = test.rtt_min_ns.or(rtt_ns(test));
    test.faster_than_light = distance
        .zip(rtt)
        .is_some_and(|(distance, rtt)| faster_than_light(distance, rtt));
}
