//! Whether machines are where and what they were ordered to be: a hosts file beside what the cloud's metadata service told the
//! machine itself. It must not know how either was asked.

use serde::Serialize;
use weir_record::CloudFacts;

use crate::hosts::Host;
use crate::place::cloud;

/// Something that is not as it was ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misplaced {
    /// What it is about, in words.
    pub what: &'static str,
    /// What the hosts file says.
    pub ordered: String,
    /// What the cloud says.
    pub told: String,
}

impl std::fmt::Display for Misplaced {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Misplaced { what, ordered, told } = self;
        write!(out, "its {what} is {told} and not {ordered}")
    }
}

/// What of a host is not as ordered. What its cloud does not tell is taken as ordered.
#[must_use]
pub fn misplaced(host: &Host, told: &CloudFacts) -> Vec<Misplaced> {
    let Some(told_cloud) = &told.cloud else {
        return Vec::new();
    };
    let name = cloud(told_cloud).unwrap_or(told_cloud);
    let one = |what, ordered: &str, told: &str| {
        vec![Misplaced {
            what,
            ordered: ordered.to_owned(),
            told: told.to_owned(),
        }]
    };
    if host.place.cloud != name {
        let ordered = if host.place.cloud.is_empty() {
            return Vec::new();
        } else {
            &host.place.cloud
        };
        return one("cloud", ordered, name);
    }
    let same = |ordered: &str, told: &str| ordered.eq_ignore_ascii_case(told);
    // Oracle's zones have a prefix of the tenancy's: abCD:UK-LONDON-1-AD-1.
    let is_zone = |told: &str| {
        let ends = told
            .to_ascii_lowercase()
            .ends_with(&format!("-{}", host.zone.to_ascii_lowercase()));
        same(&host.zone, told) || (name == "oracle" && ends)
    };
    let is_told_zone = [&told.zone, &told.zone_id]
        .into_iter()
        .flatten()
        .any(|zone| is_zone(zone));
    // AWS has no such answer for an instance without a group.
    let group = told
        .placement_group
        .as_deref()
        .or((name == "aws").then_some("none"));
    let placed = &host.placed;
    let zone = told.zone.as_deref().filter(|_| !is_told_zone);
    let mut found = Vec::new();
    for (what, ordered, told) in [
        ("region", &host.place.region, told.region.as_deref()),
        ("zone", &host.zone, zone),
        (
            "instance type",
            &placed.instance_type,
            told.instance_type.as_deref(),
        ),
        ("placement group", &placed.placement_group, group),
        ("fault domain", &placed.fault_domain, told.fault_domain.as_deref()),
    ] {
        if let Some(told) = told.filter(|told| !ordered.is_empty() && !same(ordered, told)) {
            found.extend(one(what, ordered, told));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::read_hosts;
    use crate::place::Places;

    fn host(keys: &str) -> Host {
        let file = format!("hosts:\n  - {{name: a, {keys}}}\n");
        read_hosts("hosts.yaml", file.as_bytes(), Places::known())
            .unwrap()
            .remove(0)
    }

    fn told(pairs: &[(&str, &str)]) -> CloudFacts {
        let object: serde_json::Map<String, serde_json::Value> = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect();
        serde_json::from_value(object.into()).unwrap()
    }

    fn said(host: &Host, told: &CloudFacts) -> Vec<String> {
        misplaced(host, told).iter().map(Misplaced::to_string).collect()
    }

    #[test]
    fn what_is_as_ordered_is_not_said_however_a_cloud_names_it() {
        let aws = told(&[
            ("cloud", "aws"),
            ("region", "us-east-1"),
            ("zone", "us-east-1a"),
            ("zone_id", "use1-az4"),
            ("instance_type", "c5.large"),
            ("placement_group", "weir-ab12"),
        ]);
        let all =
            "place: 'aws:us-east-1', zone: us-east-1a, instance-type: c5.large, placement-group: weir-ab12";
        for keys in [
            all,
            "place: 'aws:us-east-1', zone: use1-az4",
            "place: 'aws:us-east-1'",
        ] {
            assert_eq!(said(&host(keys), &aws), [""; 0], "{keys}");
        }
        let oracle = told(&[
            ("cloud", "oracle"),
            ("region", "uk-london-1"),
            ("zone", "abCD:UK-LONDON-1-AD-1"),
            ("fault_domain", "FAULT-DOMAIN-2"),
        ]);
        let keys = "place: 'oracle:uk-london-1', zone: AD-1, fault-domain: FAULT-DOMAIN-2";
        assert_eq!(said(&host(keys), &oracle), [""; 0]);
        // Google's name for itself is another than the mesh's.
        let google = told(&[
            ("cloud", "google"),
            ("zone", "europe-west1-b"),
            ("region", "europe-west1"),
        ]);
        assert_eq!(
            said(&host("place: 'gcp:europe-west1', zone: europe-west1-b"), &google),
            [""; 0]
        );
    }

    #[test]
    fn what_is_not_as_ordered_is_said_once_each() {
        let wrong = told(&[
            ("cloud", "aws"),
            ("region", "us-east-2"),
            ("zone", "us-east-2c"),
            ("instance_type", "t3.micro"),
        ]);
        let ordered = host(
            "place: 'aws:us-east-1', zone: us-east-1a, instance-type: c5.large, placement-group: weir-ab12",
        );
        assert_eq!(
            said(&ordered, &wrong),
            [
                "its region is us-east-2 and not us-east-1",
                "its zone is us-east-2c and not us-east-1a",
                "its instance type is t3.micro and not c5.large",
                "its placement group is none and not weir-ab12",
            ]
        );
        // Another cloud has other regions: nothing else is compared.
        let azure = told(&[("cloud", "azure"), ("region", "westeurope")]);
        assert_eq!(said(&ordered, &azure), ["its cloud is azure and not aws"]);
        let fault = told(&[("cloud", "oracle"), ("fault_domain", "FAULT-DOMAIN-1")]);
        let keys = "place: 'oracle:uk-london-1', fault-domain: FAULT-DOMAIN-2";
        assert_eq!(said(&host(keys), &fault).len(), 1);
    }

    #[test]
    fn a_host_that_nobody_told_anything_is_taken_as_it_is() {
        let ordered = host("place: 'aws:us-east-1', zone: us-east-1a, placement-group: weir-ab12");
        assert_eq!(said(&ordered, &CloudFacts::default()), [""; 0]);
        // A place of one's own may be anywhere.
        let own = host("latitude: 52.5, longitude: 13.4");
        assert_eq!(said(&own, &told(&[("cloud", "azure")])), [""; 0]);
    }
}
