//! What a byte and an hour cost: a dated table, of which each row has its source, and which a file of the user's can
//! override. Everything from it is an estimate: free allowances, tiers and agreements are not in it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::MeshError;
use crate::fault::shown;
use crate::instances::{Read, instance};
use crate::place::{CLOUDS, Place, PlaceName, Places, cloud};

const TABLE: &str = include_str!("../data/prices.csv");
/// Most rows of a table.
const MOST: usize = 10_000;
/// Most that anything costs, USD; more is a mistake in a table.
const MOST_USD: f64 = 10_000.0;

/// Sites of the providers.
const PROVIDERS: [&str; 5] = [
    "aws.amazon.com",
    "cloud.google.com",
    "azure.microsoft.com",
    "learn.microsoft.com",
    "oracle.com",
];
/// Source of a price whose row names none.
const USERS: &str = "user";
/// What a price is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A gigabyte (10^9 bytes) to another zone of the region, both ends' charges together.
    ZoneGb,
    /// A gigabyte to a region of the same cloud in the same part of the world.
    SameAreaGb,
    /// A gigabyte to a region of the same cloud elsewhere.
    OtherAreaGb,
    /// A gigabyte to anywhere else.
    InternetGb,
    /// An hour of the smallest machine that is not burstable: c5.large, e2-standard-2, D2s_v5, E4.Flex with one
    /// core.
    VmHour,
}

impl What {
    const ALL: [(What, &'static str); 5] = [
        (What::ZoneGb, "zone-gb"),
        (What::SameAreaGb, "same-area-gb"),
        (What::OtherAreaGb, "other-area-gb"),
        (What::InternetGb, "internet-gb"),
        (What::VmHour, "vm-hour"),
    ];
}

/// A price with its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Price {
    /// US dollars.
    pub usd: f64,
    /// Month of the source, `YYYY-MM`.
    pub date: String,
    /// Read at the source for this table; else it is from memory of that page and to be checked there.
    pub checked: bool,
    /// Where it is published, or `user`.
    pub source: String,
}

impl Price {
    /// Where it was read.
    pub fn read(&self) -> Read {
        let of_provider = PROVIDERS.iter().any(|site| {
            let page = self.source.strip_prefix("https://").unwrap_or_default();
            page.split('/')
                .next()
                .is_some_and(|host| host == *site || host.ends_with(&format!(".{site}")))
        });
        match (self.checked, of_provider || self.is_users()) {
            (false, _) => Read::Memory,
            (true, true) => Read::Provider,
            (true, false) => Read::ThirdParty,
        }
    }

    /// Whether a table of the user's says it.
    pub fn is_users(&self) -> bool {
        self.source == USERS
    }
}

/// What a gigabyte to the internet costs in a cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct InternetPrice<'p> {
    /// One of [`CLOUDS`](crate::place::CLOUDS).
    pub cloud: String,
    /// The region; none for the price of the cloud's regions that have none of their own.
    pub region: Option<String>,
    /// The price, US dollars per gigabyte (10^9 bytes).
    pub price: &'p Price,
}

impl InternetPrice<'_> {
    /// The cloud as its provider calls it, with the region: `AWS us-east-1`.
    pub fn title(&self) -> String {
        let cloud = match self.cloud.as_str() {
            "aws" => "AWS",
            "gcp" => "Google Cloud",
            "azure" => "Azure",
            "oracle" => "Oracle Cloud",
            other => other,
        };
        match &self.region {
            Some(region) => format!("{cloud} {region}"),
            None => cloud.to_owned(),
        }
    }
}

/// Prices by cloud, part of the world (`*`: all others) or region, and what they are for.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<(String, String, What), Price>);

impl Prices {
    /// The table that comes with Weir.
    ///
    /// # Errors
    /// Never, as a test shows.
    pub fn known() -> Result<Prices, MeshError> {
        let mut prices = Prices::default();
        prices.override_with("prices.csv", TABLE)?;
        Ok(prices)
    }

    /// Takes the rows of a table of the same form: `cloud,area,what,usd` and, if there are, `date,checked,source`. An
    /// area may be a region.
    ///
    /// # Errors
    /// When a row cannot be read, with its line.
    pub fn override_with(&mut self, file: &str, table: &str) -> Result<(), MeshError> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .comment(Some(b'#'))
            .from_reader(table.as_bytes());
        for row in reader.records().take(MOST) {
            let row = row.map_err(|error| MeshError::file(file, format!("cannot read a line: {error}")))?;
            let line = row.position().map_or(0, csv::Position::line);
            let (key, price) = row_of(&row).ok_or_else(|| {
                let text: Vec<&str> = row.iter().collect();
                let problem = format!(
                    "line {line}: '{}' is not a price: write CLOUD,AREA,WHAT,USD, as in aws,eu,internet-gb,0.09 (WHAT is \
                     zone-gb, same-area-gb, other-area-gb, internet-gb or vm-hour)",
                    shown(&text.join(","))
                );
                MeshError::file(file, problem)
            })?;
            self.0.insert(key, price);
        }
        Ok(())
    }

    /// What something costs in a cloud's regions that have no price of their own.
    pub fn usual(&self, cloud: &str, what: What) -> Option<&Price> {
        self.0.get(&(cloud.to_owned(), "*".to_owned(), what))
    }

    /// How many prices there are, and how many of them nobody read at the provider.
    pub fn unchecked(&self) -> (usize, usize) {
        let unread = |price: &&Price| price.read() != Read::Provider;
        let unchecked = self.0.values().filter(unread).count();
        (self.0.len(), unchecked)
    }

    /// What something costs at a place; none where no row has it.
    pub fn of(&self, place: &Place, what: What) -> Option<&Price> {
        let PlaceName { cloud, region } = &place.name;
        [region.as_str(), place.area.as_str(), "*"]
            .into_iter()
            .find_map(|area| self.0.get(&(cloud.clone(), area.to_owned(), what)))
    }

    /// What an hour of a machine costs, US dollars; none where it is not known. `kind` is its type, none for the default one of
    /// its cloud. Machines `of_user` are made by a program of the user's, who gives their prices.
    #[must_use]
    pub fn machine_hour(&self, place: &Place, kind: Option<&str>, of_user: bool) -> Option<f64> {
        let price = self.of(place, What::VmHour)?;
        match kind {
            _ if price.is_users() => Some(price.usd),
            _ if of_user => None,
            // The table of prices has the default types only.
            Some(kind) => instance(&place.name.cloud, kind).map(|known| known.usd_hour),
            None => Some(price.usd),
        }
    }

    /// What a gigabyte to the internet costs at `CLOUD:REGION`, or at `CLOUD` in its regions that have no price of their
    /// own.
    ///
    /// # Errors
    /// When there is no such price, with the clouds or the cloud's regions that have one.
    pub fn internet(&self, text: &str) -> Result<InternetPrice<'_>, MeshError> {
        let none = |known: String| MeshError::NoPrice {
            name: shown(text),
            known,
        };
        let (name, region) = match text.split_once(':') {
            Some((name, region)) => (name, Some(region)),
            None => (text, None),
        };
        let all = |cloud: &str| self.0.get(&(cloud.to_owned(), "*".to_owned(), What::InternetGb));
        let Ok(cloud) = cloud(name) else {
            let clouds: Vec<&str> = CLOUDS.into_iter().filter(|cloud| all(cloud).is_some()).collect();
            return Err(none(format!("the clouds with one are {}", clouds.join(", "))));
        };
        let price = match region {
            None => all(cloud),
            Some(region) => Places::known()
                .get(&PlaceName::new(cloud, region))
                .and_then(|place| self.of(place, What::InternetGb)),
        };
        let price = price.ok_or_else(|| none(self.regions_with_a_price(cloud)))?;
        Ok(InternetPrice {
            cloud: cloud.to_owned(),
            region: region.map(str::to_owned),
            price,
        })
    }

    fn regions_with_a_price(&self, cloud: &str) -> String {
        let regions: Vec<&str> = Places::known()
            .iter()
            .filter(|place| place.name.cloud == cloud && self.of(place, What::InternetGb).is_some())
            .map(|place| place.name.region.as_str())
            .collect();
        format!("the regions of {cloud} with one are {}", regions.join(", "))
    }

    /// What a gigabyte from one place to another costs the sender.
    pub fn egress(&self, from: &Place, to: &Place) -> Option<&Price> {
        let what = if from.name.cloud != to.name.cloud || from.name.cloud.is_empty() {
            What::InternetGb
        } else if from.name.region == to.name.region {
            What::ZoneGb
        } else if from.area == to.area {
            What::SameAreaGb
        } else {
            What::OtherAreaGb
        };
        self.of(from, what)
    }
}

fn row_of(row: &csv::StringRecord) -> Option<((String, String, What), Price)> {
    let cell = |index: usize| row.get(index).map(str::trim);
    let what = What::ALL.iter().find(|(_, word)| Some(*word) == cell(2))?.0;
    let usd: f64 = cell(3)?.parse().ok()?;
    let key = (cloud(cell(0)?).ok()?.to_owned(), cell(1)?.to_owned(), what);
    let optional = |index: usize, without: &str| cell(index).unwrap_or(without).to_owned();
    (0.0..=MOST_USD).contains(&usd).then(|| {
        (
            key,
            Price {
                usd,
                date: optional(4, ""),
                checked: cell(5).is_none_or(|word| word == "yes"),
                source: optional(6, USERS),
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> &'static Place {
        Places::known().find(name).unwrap()
    }

    #[test]
    fn every_cloud_has_a_price_for_everything_everywhere_with_date_and_source() {
        let prices = Prices::known().unwrap();
        for place in Places::known().iter() {
            for (what, word) in What::ALL {
                let price = prices
                    .of(place, what)
                    .unwrap_or_else(|| panic!("{} has no {word}", place.name));
                assert!(
                    price.source.starts_with("https://") && price.date.len() == 7,
                    "{price:?}"
                );
            }
        }
        assert_eq!(CLOUDS.len(), 4);
    }

    #[test]
    fn egress_is_by_where_it_goes_and_a_user_may_set_it() {
        let mut prices = Prices::known().unwrap();
        let usd = |prices: &Prices, from: &str, to: &str| prices.egress(place(from), place(to)).unwrap().usd;
        assert_eq!(usd(&prices, "aws:eu-west-1", "gcp:europe-west1"), 0.09);
        assert_eq!(usd(&prices, "aws:eu-west-1", "aws:eu-west-2"), 0.02);
        assert_eq!(usd(&prices, "aws:sa-east-1", "aws:us-east-1"), 0.138);
        let own = "cloud,area,what,usd\n# ours\nAWS,eu,internet-gb,0.05\naws,eu-west-1,internet-gb,0.01\n";
        prices.override_with("own.csv", own).unwrap();
        assert_eq!(usd(&prices, "aws:eu-west-1", "gcp:europe-west1"), 0.01);
        assert_eq!(usd(&prices, "aws:eu-west-2", "gcp:europe-west1"), 0.05);
        // A row of the user's replaces one of ours; these two were new or checked before.
        let (all, unchecked) = prices.unchecked();
        let known = Prices::known().unwrap().unchecked();
        assert_eq!((all - known.0, unchecked), (2, known.1));
        // By the sites of the table: three rows were read at Google's own page.
        let read = ",yes,https://cloud.google.com/vpc/network-pricing";
        let at_provider = TABLE.lines().filter(|line| line.ends_with(read)).count();
        assert_eq!((at_provider, known.1), (2, known.0 - 2));
        let nowhere = Place::own(PlaceName::new("", "cellar"), None);
        assert_eq!(prices.egress(&nowhere, place("aws:eu-west-1")), None);
    }

    #[test]
    fn the_internet_price_of_a_cloud_or_a_region_or_those_that_have_one() {
        let prices = Prices::known().unwrap();
        let of = |text: &str| {
            let found = prices.internet(text).unwrap();
            (found.title(), found.price.usd)
        };
        assert_eq!(of("aws"), ("AWS".to_owned(), 0.09));
        assert_eq!(of("amazon:us-east-1"), ("AWS us-east-1".to_owned(), 0.09));
        // A region of its own, and one of a part of the world.
        assert_eq!(of("aws:ap-south-1"), ("AWS ap-south-1".to_owned(), 0.1093));
        assert_eq!(
            of("google:australia-southeast1"),
            ("Google Cloud australia-southeast1".to_owned(), 0.19)
        );
        assert_eq!(of("Azure"), ("Azure".to_owned(), 0.087));
        assert_eq!(
            of("oci:eu-frankfurt-1"),
            ("Oracle Cloud eu-frankfurt-1".to_owned(), 0.0085)
        );
        let refused = |text: &str| prices.internet(text).unwrap_err().to_string();
        assert_eq!(
            refused("cellar"),
            "no price of egress for 'cellar'; the clouds with one are aws, gcp, azure, oracle"
        );
        let region = refused("aws:mars-1");
        assert!(
            region.starts_with(
                "no price of egress for 'aws:mars-1'; the regions of aws with one are af-south-1, "
            ) && region.contains(", us-east-1, "),
            "{region}"
        );
        assert!(refused("\u{1b}[31m").starts_with("no price of egress for '\\u{1b}[31m'"));
        assert!(refused("aws:").contains("us-east-1"));
        assert!(Prices::default().internet("aws").is_err());
    }

    #[test]
    fn a_row_that_is_no_price_is_named() {
        for bad in [
            "aws,eu,internet,0.1",
            "awz,eu,vm-hour,1",
            "aws,eu,vm-hour,-1",
            "aws,eu,vm-hour,NaN",
            "aws",
        ] {
            let table = format!("cloud,area,what,usd\n{bad}\n");
            let error = Prices::default()
                .override_with("own.csv", &table)
                .unwrap_err()
                .to_string();
            assert!(error.contains("own.csv: line 2"), "{error}");
        }
    }
}
