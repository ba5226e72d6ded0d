//! Plans by name: the pairs, the parts of a test, and what such a plan cannot show. It must not know hosts, nor the user's other
//! options.

use serde::Serialize;

use crate::cloud::Launch;
use crate::cloud::network::{Mtu, Placement};
use crate::estimate::TestShape;
use crate::filter::{Apart, Filters};

const SECOND_NS: u64 = 1_000_000_000;

/// A plan by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Throughput and RTT between all regions of AWS and Google Cloud that accounts have without opting in.
    Article,
    /// Two machines side by side in one region of each cloud, at 2.5 Gbit/s.
    Placement,
    /// A compressed contribution feed between two regions of each cloud.
    Media,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 3] = [Preset::Article, Preset::Placement, Preset::Media];

    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Preset::Article => "article",
            Preset::Placement => "placement",
            Preset::Media => "media",
        }
    }

    /// Which pairs.
    #[must_use]
    pub fn filters(self) -> Filters {
        let clouds = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match self {
            Preset::Article => Filters {
                clouds: clouds(&["aws", "gcp"]),
                ..Filters::default()
            },
            Preset::Placement => Filters {
                apart: Apart::Hosts,
                max_regions: Some(4),
                max_distance: Some(crate::distance::Metres(0.0)),
                ..Filters::default()
            },
            Preset::Media => Filters {
                max_regions: Some(8),
                ..Filters::default()
            },
        }
    }

    /// Machines in each region.
    #[must_use]
    pub fn machines(self) -> u16 {
        match self {
            Preset::Article | Preset::Media => 1,
            Preset::Placement => 2,
        }
    }

    /// Parts of a test.
    #[must_use]
    pub fn shape(self) -> TestShape {
        match self {
            Preset::Article => TestShape {
                rtt_ns: 3 * SECOND_NS,
                tcp_ns: 10 * SECOND_NS,
                streams: 1,
                udp_ns: 0,
                udp_bps: 20_000_000,
                max_bytes: 10_000_000,
                survey: false,
                window_bytes: None,
            },
            Preset::Placement => TestShape {
                rtt_ns: 10 * SECOND_NS,
                tcp_ns: 5 * SECOND_NS,
                streams: 8,
                udp_ns: 10 * SECOND_NS,
                udp_bps: 2_500_000_000,
                max_bytes: 12_000_000_000,
                survey: false,
                window_bytes: None,
            },
            Preset::Media => TestShape {
                rtt_ns: 10 * SECOND_NS,
                tcp_ns: 5 * SECOND_NS,
                streams: 8,
                udp_ns: 60 * SECOND_NS,
                udp_bps: 50_000_000,
                max_bytes: 2_000_000_000,
                survey: false,
                window_bytes: None,
            },
        }
    }

    /// What its machines need: side by side and with the longest packets, for the placement.
    pub fn order(self, launch: &mut Launch) {
        if self == Preset::Placement {
            launch.placement = Placement::Close;
            launch.mtu.get_or_insert(Mtu::Largest);
        }
    }

    /// What a run of it does not tell.
    #[must_use]
    pub fn cannot_show(self) -> &'static [&'static str] {
        match self {
            Preset::Article => &[
                "the rate that a long connection reaches: 10 MB end while TCP still grows, above all between far regions",
                "the spread by time of day: each pair is tested once",
                "paths over private networks between regions: add --peering",
            ],
            Preset::Placement => &[
                "what larger machines reach: those of the default types hold 0.75 to 4 Gbit/s, as far as that is published; name others with --machine-type",
                "the public path between the machines, unless with --addresses both",
            ],
            Preset::Media => &[
                "uncompressed video: 50 Mbit/s is a compressed feed; give a hosts file and --survey --udp-rate for more",
                "what happens over hours: the feed lasts a minute",
                "paths over private networks between regions: add --peering",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Limits;
    use crate::made::{Made, Wish};
    use crate::price::Prices;
    use crate::select::Tested;

    fn made(preset: Preset) -> Made {
        Made::of(Wish {
            hosts: None,
            machines: preset.machines(),
            filters: preset.filters(),
            shape: preset.shape(),
            limits: Limits::default(),
            expected_bps: 1_000_000_000,
            prices: &Prices::known().unwrap(),
            tested: &Tested::new(),
            preset: Some(preset),
        })
        .unwrap()
    }

    #[test]
    fn the_article_tests_all_default_regions_of_both_clouds_for_less_than_20_dollars() {
        let plan = made(Preset::Article).plan;
        // 17 of AWS, 39 of Google, each to each.
        assert_eq!((plan.estimate.hosts, plan.estimate.tests), (56, 56 * 55));
        let usd = plan.estimate.egress_usd + plan.estimate.hosts_usd;
        assert!((0.5..20.0).contains(&usd), "{usd}");
    }

    #[test]
    fn placement_tests_two_machines_in_each_cloud_and_nothing_between_regions() {
        let made = made(Preset::Placement);
        assert_eq!((made.plan.estimate.hosts, made.plan.estimate.tests), (8, 8));
        for (from, to) in &made.plan.pairs {
            assert_eq!(made.nodes[*from].place.name, made.nodes[*to].place.name);
        }
        // All of it, at the rate that is tested.
        assert!(made.shape.cuts(2_500_000_000).is_empty());
    }

    #[test]
    fn media_lasts_as_long_as_it_says() {
        let made = made(Preset::Media);
        assert_eq!((made.plan.estimate.hosts, made.plan.estimate.tests), (8, 56));
        assert!(made.shape.cuts(1_000_000_000).is_empty());
    }
}
