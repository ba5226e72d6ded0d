//! Machines by name, each wanted in one way or in several: where, and of which type. All are launched together, and of each name
//! one is used at a time. It must not know what runs on them.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::MeshError;
use crate::cloud::record::PlaceRecord;
use crate::cloud::{Launch, Zone, host_name, is_setting};
use crate::fault::shown;
use crate::filter::End;
use crate::place::{PlaceName, Places};
use crate::price::Prices;
use crate::regions::MOST_OF_A_REGION;

/// Most combinations of ways.
const MOST_CHOICES: usize = 1_000;

/// A way to have a machine, written as `c5.large@aws:eu-west-1`; without a type, it is the one of its cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    text: String,
    end: End,
    kind: Option<String>,
}

/// A machine by its name, and the ways in which it is wanted, written as `origin=c5.large@aws:eu-west-1,c5.xlarge@aws:eu-west-1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    ways: Vec<Way>,
}

impl FromStr for Way {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Self, MeshError> {
        let (kind, place) = match text.split_once('@') {
            Some((kind, place)) => (Some(kind), place),
            None => (None, text),
        };
        if kind.is_some_and(|kind| !is_setting(kind)) {
            return Err(bad_form(text));
        }
        Ok(Way {
            text: text.to_owned(),
            end: place.parse()?,
            kind: kind.map(str::to_owned),
        })
    }
}

impl FromStr for Wanted {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Self, MeshError> {
        let (name, ways) = text.split_once('=').ok_or_else(|| bad_form(text))?;
        let ways: Vec<Way> = ways.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let is_twice = (1..ways.len()).any(|at| ways[..at].contains(&ways[at]));
        if !crate::place::is_word(name) || is_twice {
            return Err(bad_form(text));
        }
        Ok(Wanted {
            name: name.to_owned(),
            ways,
        })
    }
}

fn bad_form(text: &str) -> MeshError {
    MeshError::BadForm {
        text: shown(text),
        what: "machine to launch",
        form: "write a name and one or several machines, each once, as in origin=c5.large@aws:eu-west-1,c5.xlarge@aws:eu-west-1",
    }
}

/// A machine of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The name under which it is used.
    pub name: String,
    /// The way that it is, as it was written.
    pub way: String,
    /// Its name in the launch and its hosts file.
    pub host: String,
    /// What an hour costs, US dollars; none where it is not known.
    pub usd_per_hour: Option<f64>,
    place: PlaceName,
}

/// All machines of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// Those of each name, in the order in which they were written.
    names: Vec<Vec<Machine>>,
}

impl Fleet {
    /// The machines that are wanted, in a launch that knows zone and type of each from here on.
    ///
    /// # Errors
    /// For a place that is not known, a name that is there twice, more than 16 machines of a region, or more than 1,000
    /// combinations.
    pub fn of(
        wanted: &[Wanted],
        launch: &mut Launch,
        prices: &Prices,
        of_user: bool,
    ) -> Result<Fleet, MeshError> {
        let too_many = |what: String| MeshError::Fleet { what };
        if (1..wanted.len()).any(|at| wanted[..at].iter().any(|other| other.name == wanted[at].name)) {
            return Err(too_many(
                "a machine of one name is given twice: write all its ways in one".to_owned(),
            ));
        }
        let choices = wanted.iter().map(|wanted| wanted.ways.len());
        if choices.fold(1_usize, usize::saturating_mul) > MOST_CHOICES {
            return Err(too_many(format!(
                "there are more than {MOST_CHOICES} combinations of machines"
            )));
        }
        let mut names = Vec::new();
        for wanted in wanted {
            let machine = |way: &Way| machine(&wanted.name, way, launch, prices, of_user);
            names.push(
                wanted
                    .ways
                    .iter()
                    .map(machine)
                    .collect::<Result<Vec<Machine>, MeshError>>()?,
            );
        }
        launch.least = names.iter().map(Vec::len).sum();
        Ok(Fleet { names })
    }

    /// The places of the launch.
    #[must_use]
    pub fn places(&self) -> Vec<PlaceRecord> {
        let mut places: BTreeMap<&PlaceName, Vec<Option<f64>>> = BTreeMap::new();
        for machine in self.names.iter().flatten() {
            places
                .entry(&machine.place)
                .or_default()
                .push(machine.usd_per_hour);
        }
        let record = |(place, prices): (&PlaceName, Vec<Option<f64>>)| {
            let machines = prices.len();
            let all: Option<f64> = prices.into_iter().sum();
            // At most the maximum of a region.
            let count = u32::try_from(machines).unwrap_or(u32::MAX);
            PlaceRecord::new(place.clone(), count, all.map(|usd| usd / machines as f64))
        };
        places.into_iter().map(record).collect()
    }

    /// Each combination of one machine of each name.
    #[must_use]
    pub fn choices(&self) -> Vec<Vec<&Machine>> {
        let mut choices: Vec<Vec<&Machine>> = vec![Vec::new()];
        for machines in &self.names {
            let mut longer = Vec::with_capacity(choices.len() * machines.len());
            for choice in &choices {
                longer.extend(machines.iter().map(|machine| [&choice[..], &[machine]].concat()));
            }
            choices = longer;
        }
        choices
    }

    /// Whether machines of this name come in several ways.
    #[must_use]
    pub fn is_varied(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|machines| machines.len() > 1 && machines[0].name == name)
    }
}

/// The machine that is wanted in this way, the next one of its place.
fn machine(
    name: &str,
    way: &Way,
    launch: &mut Launch,
    prices: &Prices,
    of_user: bool,
) -> Result<Machine, MeshError> {
    let places = Places::known();
    let known = places.get(&way.end.place);
    let known = known.ok_or_else(|| places.unknown(&way.end.place.to_string()))?;
    let place = &known.name;
    let zones = launch.zones.entry(place.clone()).or_default();
    zones.push(Zone::of(way.end.zone.as_deref().unwrap_or_default()));
    let number = zones.len();
    if number > usize::from(MOST_OF_A_REGION) {
        return Err(MeshError::Fleet {
            what: format!("{place}: there is room for {MOST_OF_A_REGION} machines in a region"),
        });
    }
    launch
        .types
        .entry(place.clone())
        .or_default()
        .push(way.kind.clone());
    let kind = way
        .kind
        .as_ref()
        .or_else(|| launch.machine_types.get(&place.cloud));
    Ok(Machine {
        name: name.to_owned(),
        way: way.text.clone(),
        host: host_name(place, number),
        usd_per_hour: prices.machine_hour(known, kind.map(String::as_str), of_user),
        place: place.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(wanted: &[&str]) -> Result<(Fleet, Launch), MeshError> {
        let wanted: Vec<Wanted> = wanted.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let mut launch = Launch::default();
        let fleet = Fleet::of(&wanted, &mut launch, &Prices::known().unwrap(), false)?;
        Ok((fleet, launch))
    }

    #[test]
    fn all_ways_are_launched_and_each_combination_has_one_of_each_name() {
        let (fleet, launch) = fleet(&[
            "storage=aws:eu-west-1",
            "origin=c5.large@aws:eu-west-1,c5.xlarge@aws:eu-west-1b,e2-standard-2@gcp:europe-west3",
        ])
        .unwrap();
        let ireland = PlaceName::new("aws", "eu-west-1");
        assert_eq!(
            launch.zones[&ireland],
            [Zone::Any, Zone::Any, Zone::Named("eu-west-1b".to_owned())]
        );
        let kinds: Vec<Option<&str>> = launch.types[&ireland].iter().map(Option::as_deref).collect();
        assert_eq!(kinds, [None, Some("c5.large"), Some("c5.xlarge")]);
        let choices: Vec<Vec<&str>> = fleet
            .choices()
            .iter()
            .map(|choice| choice.iter().map(|machine| machine.host.as_str()).collect())
            .collect();
        assert_eq!(
            choices,
            [
                ["aws-eu-west-1", "aws-eu-west-1-2"],
                ["aws-eu-west-1", "aws-eu-west-1-3"],
                ["aws-eu-west-1", "gcp-europe-west3"]
            ]
        );
        // The names of a launch's own modules are the same.
        assert_eq!(launch.host_names(&ireland)[2], "aws-eu-west-1-3");
        assert!(fleet.is_varied("origin") && !fleet.is_varied("storage"));
        let places = fleet.places();
        let counts: Vec<u32> = places.iter().map(|place| place.machines).collect();
        assert_eq!((counts, launch.least), (vec![3, 1], 4));
        // Of the tables: 0.085 twice and 0.17 USD, on average.
        let usd = places[0].usd_per_hour.unwrap();
        assert!((usd - 0.34 / 3.0).abs() < 1e-9, "{usd}");
    }

    #[test]
    fn what_cannot_be_launched_is_said_in_a_line() {
        let many = format!("a={}", ["aws:eu-west-1"; 2].join(","));
        let places: Vec<String> = (1..=17).map(|zone| format!("aws:eu-west-1/{zone}")).collect();
        let too_many = format!("a={}", places.join(","));
        for (wanted, part) in [
            (vec!["aws:eu-west-1"], "machine to launch"),
            (vec!["a="], "aws:us-east-1"),
            (vec!["a b=aws:eu-west-1"], "machine to launch"),
            (vec!["a=c5 large@aws:eu-west-1"], "machine to launch"),
            (vec![&many], "each once"),
            (vec!["a=aws:nowhere-1"], "aws:nowhere-1"),
            (vec!["a=aws:eu-west-1", "a=aws:us-east-1"], "given twice"),
            (vec![&too_many], "room for 16 machines"),
        ] {
            let said = fleet(&wanted).expect_err("refused").to_string();
            assert!(said.contains(part) && said.lines().count() == 1, "{said}");
        }
    }
}
