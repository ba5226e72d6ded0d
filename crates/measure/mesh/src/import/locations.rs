//! The coordinates that `intercloud-throughput` calculates with, to repeat its figures: `region_data/locations.csv`.

use crate::MeshError;
use crate::distance::Coordinates;
use crate::fault::shown;
use crate::place::{Place, PlaceName, Places, cloud};

/// Longitude of São Paulo. That table has 2.12 for `southamerica-east1`, a median of sources of which some forgot the
/// sign.
const SAO_PAULO: f64 = -46.63;
/// Most rows.
const MOST: usize = 10_000;

/// Reads its columns `cloud`, `region`, `latitude` and `longitude`, and mends the one longitude that is known to be
/// wrong. Also gives what was mended, in words.
///
/// # Errors
/// When the file has no such columns, or a row that cannot be.
pub fn read_locations(file: &str, bytes: &[u8]) -> Result<(Places, Vec<String>), MeshError> {
    let unreadable = |error: csv::Error| MeshError::file(file, format!("cannot read it: {error}"));
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(unreadable)?.clone();
    let columns = ["cloud", "region", "latitude", "longitude"];
    let mut index = [0; 4];
    for (place, name) in index.iter_mut().zip(columns) {
        *place = header
            .iter()
            .position(|column| column.trim() == name)
            .ok_or_else(|| MeshError::file(file, format!("missing column '{name}'")))?;
    }
    let (mut places, mut notes) = (Places::default(), Vec::new());
    for row in reader.records().take(MOST) {
        let row = row.map_err(unreadable)?;
        let line = row.position().map_or(0, csv::Position::line);
        let [cloud_name, region, latitude, longitude] = index.map(|at| row.get(at).unwrap_or("").trim());
        let read = || {
            let name = PlaceName::parse(&format!("{}:{region}", cloud(cloud_name).ok()?)).ok()?;
            let mended = name.region == "southamerica-east1" && longitude == "2.12";
            let longitude = if mended {
                SAO_PAULO
            } else {
                longitude.parse().ok()?
            };
            Some((name, Coordinates::new(latitude.parse().ok()?, longitude)?, mended))
        };
        let (name, point, mended) = read().ok_or_else(|| {
            let row = format!("{cloud_name},{region},{latitude},{longitude}");
            MeshError::file(file, format!("line {line}: '{}' is not a place", shown(&row)))
        })?;
        if mended {
            notes.push(format!(
                "the longitude of {name} is 2.12 in {file}; corrected to {SAO_PAULO}"
            ));
        }
        let mut place = Place::own(name, Some(point));
        place.source = "intercloud".into();
        places.add(place);
    }
    Ok((places, notes))
}
