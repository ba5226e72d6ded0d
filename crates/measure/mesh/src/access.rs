//! Which regions an account of a cloud has: most at once, some after opting in, and some never, since they are for accounts of
//! their own. It must not know what regions are for.

use crate::place::PlaceName;

/// Regions of AWS that are off until an account opts in (AWS, "Enable or disable AWS Regions in your account"). The list is
/// from memory of that page, of 2025, and was not read there: <https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html>.
const OPT_IN: [&str; 17] = [
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-south-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-west-1",
    "eu-central-2",
    "eu-south-1",
    "eu-south-2",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
];

/// Beginnings of the names of regions that need accounts of their own: governments', and those in China.
const SEPARATE: [(&str, &str); 4] = [
    ("aws", "us-gov-"),
    ("aws", "cn-"),
    ("azure", "usgov"),
    ("azure", "china"),
];

/// Who has a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every account.
    Everyone,
    /// Accounts that opted in.
    OptIn,
    /// Accounts of their own.
    Separate,
}

impl Access {
    /// Of a region.
    #[must_use]
    pub fn to(place: &PlaceName) -> Access {
        let is_separate =
            |(cloud, start): &(&str, &str)| place.cloud == *cloud && place.region.starts_with(start);
        if SEPARATE.iter().any(is_separate) {
            return Access::Separate;
        }
        if place.cloud == "aws" && OPT_IN.contains(&place.region.as_str()) {
            return Access::OptIn;
        }
        Access::Everyone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Places;

    #[test]
    fn the_regions_of_the_table_are_everyones_or_of_the_lists() {
        let of = |access: Access| {
            let places = Places::known().iter();
            places.filter(|place| Access::to(&place.name) == access).count()
        };
        // The table of places does not have all of them: the newest is missing.
        assert_eq!(of(Access::OptIn), OPT_IN.len() - 1);
        // Two of GovCloud, two of AWS in China, five of Azure in China.
        assert_eq!((of(Access::Separate), of(Access::Everyone)), (9, 147));
    }
}
