//! Distances on the earth, and how soon light can be there and back. It must not know places.

use serde::{Deserialize, Serialize};

use crate::MeshError;

/// Mean radius of the earth, metres (IUGG, R1).
pub const EARTH_RADIUS_M: f64 = 6_371_008.8;
/// Speed of light in a vacuum, metres per second (SI, exact).
const LIGHT_MPS: f64 = 299_792_458.0;
/// Speed of light in fibre over that in a vacuum. Glass with a group index of 1.468 gives 0.681; two thirds is what the
/// field calculates with, and a floor must not be too high.
pub const FIBRE_SHARE: f64 = 2.0 / 3.0;
/// Most metres that a distance option may name: half the way around the earth is 20,015 km.
const MOST_KM: f64 = 20_100.0;

/// A point on the earth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinates {
    /// Degrees north, -90 to 90.
    pub latitude: f64,
    /// Degrees east, -180 to 180.
    pub longitude: f64,
}

impl Coordinates {
    /// A point; none where a number is out of its range.
    pub fn new(latitude: f64, longitude: f64) -> Option<Coordinates> {
        ((-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude))
            .then_some(Coordinates { latitude, longitude })
    }

    /// Great-circle distance on a sphere of the earth's mean radius (haversine), metres. The earth's flattening makes it
    /// wrong by up to 0.6 %.
    pub fn distance_m(self, other: Coordinates) -> f64 {
        let (latitude, other_latitude) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half = |difference: f64| (difference / 2.0).sin().powi(2);
        let haversine = half(other_latitude - latitude)
            + latitude.cos() * other_latitude.cos() * half((other.longitude - self.longitude).to_radians());
        2.0 * EARTH_RADIUS_M * haversine.clamp(0.0, 1.0).sqrt().asin()
    }
}

impl std::str::FromStr for Coordinates {
    type Err = MeshError;

    /// Reads `LATITUDE,LONGITUDE` in degrees.
    fn from_str(text: &str) -> Result<Coordinates, MeshError> {
        let read = || {
            let (latitude, longitude) = text.split_once(',')?;
            Coordinates::new(latitude.trim().parse().ok()?, longitude.trim().parse().ok()?)
        };
        read().ok_or_else(|| MeshError::BadForm {
            text: crate::fault::shown(text),
            what: "point on the earth",
            form: "degrees north and east, as in 52.37,4.90",
        })
    }
}

/// The least RTT over a distance: light in fibre laid along the great circle, with no detour and no equipment. It is
/// 10.0 ms for each 1,000 km; real routes are longer (their stretch is what is measured above this floor).
pub fn fibre_floor_ns(distance_m: f64) -> u64 {
    (2.0 * distance_m / (LIGHT_MPS * FIBRE_SHARE) * 1e9) as u64
}

/// Whether an RTT over this distance cannot be: a place is wrong. Places are known to some tens of kilometres only, so a
/// hundred are allowed for.
pub fn faster_than_light(distance_m: f64, rtt_ns: u64) -> bool {
    const PLACE_ERROR_M: f64 = 100_000.0;
    rtt_ns < fibre_floor_ns((distance_m - PLACE_ERROR_M).max(0.0))
}

/// A distance as people write it: `500km`, `2000000m`, `300mi`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Metres(pub f64);

impl std::str::FromStr for Metres {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Metres, MeshError> {
        let read = || {
            let split = text.find(|c: char| c.is_ascii_alphabetic())?;
            let (number, unit) = text.split_at(split);
            let factor = match unit {
                "m" => 1.0,
                "km" => 1e3,
                "mi" => 1_609.344,
                _ => return None,
            };
            let metres = number.trim().parse::<f64>().ok()? * factor;
            (0.0..=MOST_KM * 1e3).contains(&metres).then_some(Metres(metres))
        };
        read().ok_or_else(|| MeshError::BadForm {
            text: crate::fault::shown(text),
            what: "distance",
            form: "a number with its unit, as in 500km, 300mi or 20000m, at most 20100km",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(latitude: f64, longitude: f64) -> Coordinates {
        Coordinates::new(latitude, longitude).unwrap()
    }

    #[test]
    fn distances_are_those_of_published_examples() {
        // A quarter and half of the way around a sphere of that radius.
        let quarter = std::f64::consts::FRAC_PI_2 * EARTH_RADIUS_M;
        for (one, other, metres) in [
            (at(0.0, 0.0), at(0.0, 90.0), quarter),
            (at(90.0, 0.0), at(-90.0, 0.0), 2.0 * quarter),
            (at(0.0, 179.0), at(0.0, -179.0), quarter / 45.0),
            // Lyon and Paris: the example of the haversine package (PyPI), 392.2172595594006 km.
            (at(45.7597, 4.8422), at(48.8567, 2.3508), 392_217.259_559_4),
        ] {
            assert!((one.distance_m(other) - metres).abs() < 0.1, "{one:?} {other:?}");
        }
        assert_eq!(at(10.0, 20.0).distance_m(at(10.0, 20.0)), 0.0);
    }

    #[test]
    fn the_floor_is_ten_milliseconds_for_each_thousand_kilometres() {
        assert_eq!(fibre_floor_ns(1e6), 10_006_922);
        assert!(faster_than_light(2e6, 18_000_000));
        assert!(
            !faster_than_light(2e6, 19_500_000),
            "within what places are known to"
        );
        assert!(!faster_than_light(50_000.0, 100_000));
    }

    #[test]
    fn what_is_no_distance_or_point_is_refused() {
        assert_eq!("500km".parse(), Ok(Metres(5e5)));
        assert_eq!("1mi".parse(), Ok(Metres(1_609.344)));
        for bad in ["", "500", "km", "-1km", "1e9km", "500 miles", "NaNkm"] {
            assert!(bad.parse::<Metres>().is_err(), "{bad}");
        }
        assert_eq!("-23.5, 4".parse(), Ok(at(-23.5, 4.0)));
        for bad in ["", "1", "91,0", "0,181", "a,b", "1,2,3", "NaN,0"] {
            assert!(bad.parse::<Coordinates>().is_err(), "{bad}");
        }
    }
}
