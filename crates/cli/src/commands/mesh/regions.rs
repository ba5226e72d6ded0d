//! `weir mesh regions`: the regions of the clouds and their coordinates.

use crate::args::{GlobalOptions, RegionsArgs};
use serde::Serialize;
use weir_mesh::distance::{Coordinates, fibre_floor_ns};
use weir_mesh::place::{Place, Places, cloud};

use super::super::Failure;
use super::super::output::print;
use super::super::run_store::json;
use super::super::tables;

/// A line of the output.
#[derive(Serialize)]
struct Line<'p> {
    cloud: &'p str,
    region: &'p str,
    title: &'p str,
    city: &'p str,
    country: &'p str,
    area: &'p str,
    latitude: f64,
    longitude: f64,
    source: &'p str,
    others: &'p [String],
    distance_m: Option<u64>,
    fibre_floor_ns: Option<u64>,
}

/// Lists the regions.
pub fn run(args: &RegionsArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let clouds = args
        .cloud
        .iter()
        .map(|name| cloud(name))
        .collect::<Result<Vec<&str>, _>>()?;
    let point = args.near.as_deref().map(str::parse::<Coordinates>).transpose()?;
    let places = Places::known();
    let found: Vec<(&Place, Option<f64>)> = match point {
        Some(point) => places
            .near(point, &clouds)
            .into_iter()
            .map(|(place, metres)| (place, Some(metres)))
            .collect(),
        None => places
            .iter()
            .filter(|place| clouds.is_empty() || clouds.contains(&place.name.cloud.as_str()))
            .map(|place| (place, None))
            .collect(),
    };
    if !global.json {
        return print(&tables::mesh_regions(&found));
    }
    let lines: Vec<String> = found
        .iter()
        .filter_map(|(place, metres)| {
            let point = place.coordinates?;
            let line = Line {
                cloud: &place.name.cloud,
                region: &place.name.region,
                title: &place.title,
                city: &place.city,
                country: &place.country,
                area: &place.area,
                latitude: point.latitude,
                longitude: point.longitude,
                source: &place.source,
                others: &place.others,
                distance_m: metres.map(|metres| metres.round() as u64),
                fibre_floor_ns: metres.map(fibre_floor_ns),
            };
            Some(format!("{}\n", json(&line)))
        })
        .collect();
    print(&lines.concat())
}
