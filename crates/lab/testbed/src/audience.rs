//! How many viewers the output of an origin serves: what each of them plays, what caches between them and the origin answer,
//! and what machines for that cost. Arithmetic; it must not know clouds, whose prices are given to it.

use std::cmp::Ordering;

use serde::Serialize;

/// Titles whose popularity follows Zipf's law, and the caches in front of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Catalogue {
    /// Titles of equal length, from 1 to [`Catalogue::MOST_TITLES`].
    pub titles: u32,
    /// Exponent of the popularity: title number n is asked for n^-zipf times as often as the first. From 0 to 3.
    pub zipf: f64,
    /// Titles that a cache holds, all of its bytes taken together; below `titles`.
    pub cached: u32,
}

impl Catalogue {
    /// Titles at most.
    pub const MOST_TITLES: u32 = 1_000_000;

    /// Share of the requests that a cache answers which drops what was used least recently, once it is full: Che's
    /// approximation (Che et al.: Hierarchical Web caching systems, 2002; its accuracy: Fricker et al., 2012). Requests are independent of each other.
    #[must_use]
    pub fn hit_ratio(&self) -> f64 {
        let weights: Vec<f64> = (1..=self.titles)
            .map(|number| f64::from(number).powf(-self.zipf))
            .collect();
        let cached = f64::from(self.cached);
        let held = |time: f64| -> f64 { weights.iter().map(|weight| -(-weight * time).exp_m1()).sum() };
        // The time that a title stays without a request; in it so many titles are asked for as the cache holds.
        let (mut low, mut high) = (0.0, 1.0);
        while held(high) < cached && high < f64::MAX / 2.0 {
            high *= 2.0;
        }
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            match held(middle).total_cmp(&cached) {
                Ordering::Less => low = middle,
                _ => high = middle,
            }
        }
        let hits: f64 = weights
            .iter()
            .map(|weight| weight * -(-weight * high).exp_m1())
            .sum();
        hits / weights.iter().sum::<f64>()
    }
}

/// Halvings of an interval: to one part in 10^12.
const BISECTIONS: u32 = 40;

/// What an origin's output is worth in viewers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Audience {
    /// Rate that leaves the origin, bit/s; above 0.
    pub out_bps: f64,
    /// Rate that a viewer plays, bit/s; above 0.
    pub viewer_bps: f64,
    /// Share of the bytes that caches answer, from 0 to below 1.
    pub hit_ratio: f64,
    /// Share of the audience that plays at the same moment, above 0 to 1.
    pub at_once: f64,
}

impl Audience {
    /// Rate that one viewer causes at the origin, bit/s.
    #[must_use]
    pub fn caused_bps(&self) -> f64 {
        self.viewer_bps * (1.0 - self.hit_ratio)
    }

    /// Viewers who play at the same moment.
    #[must_use]
    pub fn viewers_at_once(&self) -> f64 {
        self.out_bps / self.caused_bps()
    }

    /// The whole audience.
    #[must_use]
    pub fn viewers(&self) -> f64 {
        self.viewers_at_once() / self.at_once
    }

    /// Share of the bytes that caches have to answer for so many viewers; none if they could play from the origin alone.
    #[must_use]
    pub fn hit_ratio_for(&self, viewers: f64) -> Option<f64> {
        let needed = 1.0 - self.out_bps / (viewers * self.at_once * self.viewer_bps);
        (needed > 0.0).then_some(needed)
    }

    /// What machines that hold the output cost, the cheapest first; of each kind as many as it takes.
    #[must_use]
    pub fn costs(&self, machines: &[Machine]) -> Vec<Cost> {
        let mut costs: Vec<Cost> = machines
            .iter()
            .filter(|machine| machine.holds_bps > 0.0)
            .map(|machine| {
                let count = (self.out_bps / machine.holds_bps).ceil();
                let usd_hour = count * machine.usd_each_hour;
                Cost {
                    machine: machine.clone(),
                    count: count as u64,
                    usd_hour,
                    usd_gbit_hour: usd_hour / (self.out_bps / 1e9),
                    usd_thousand_viewers_hour: usd_hour / (self.viewers_at_once() / 1e3),
                }
            })
            .collect();
        costs.sort_by(|one, other| one.usd_hour.total_cmp(&other.usd_hour));
        costs
    }
}

/// What an output reaches, and what that costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// The output and its audience.
    #[serde(flatten)]
    pub audience: Audience,
    /// What the hit ratio is of, if it was not given.
    pub catalogue: Option<Catalogue>,
    /// Viewers who play at the same moment.
    pub viewers_at_once: f64,
    /// The whole audience.
    pub viewers: f64,
    /// A number of viewers that was asked for.
    pub wanted: Option<Wanted>,
    /// Machines that hold the output, the cheapest first.
    pub costs: Vec<Cost>,
}

impl Reach {
    /// Of an audience; with `wanted`, also what that many viewers need.
    #[must_use]
    pub fn new(
        audience: Audience,
        catalogue: Option<Catalogue>,
        wanted: Option<u64>,
        machines: &[Machine],
    ) -> Self {
        let wanted = wanted.map(|viewers| Wanted {
            viewers,
            hit_ratio: audience.hit_ratio_for(viewers as f64).unwrap_or(0.0),
        });
        Self {
            catalogue,
            viewers_at_once: audience.viewers_at_once(),
            viewers: audience.viewers(),
            wanted,
            costs: audience.costs(machines),
            audience,
        }
    }
}

/// An audience that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wanted {
    /// Viewers.
    pub viewers: u64,
    /// Share of the bytes that caches have to answer; 0 if the origin serves them alone.
    pub hit_ratio: f64,
}

/// A kind of machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Rate that it holds, bit/s.
    pub holds_bps: f64,
    /// Price of an hour of one, US dollars, without traffic.
    pub usd_each_hour: f64,
    /// Whether the rate was read at the provider.
    pub rate_read: bool,
    /// Whether the price was read at the provider.
    pub price_read: bool,
    /// Month of the source, `YYYY-MM`.
    pub date: String,
}

/// What machines of a kind cost that hold an output together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The kind.
    #[serde(flatten)]
    pub machine: Machine,
    /// Machines.
    pub count: u64,
    /// All of them for an hour, US dollars.
    pub usd_hour: f64,
    /// Of that, for each Gbit/s of output.
    pub usd_gbit_hour: f64,
    /// Of that, for a thousand viewers at once.
    pub usd_thousand_viewers_hour: f64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A cache as it is, asked by a generator of random numbers (Knuth's MMIX).
    fn simulated(catalogue: Catalogue, requests: u64) -> f64 {
        let weights: Vec<f64> = (1..=catalogue.titles)
            .map(|number| f64::from(number).powf(-catalogue.zipf))
            .collect();
        let mut below = Vec::new();
        for weight in weights {
            below.push(below.last().copied().unwrap_or(0.0) + weight);
        }
        let (mut last_use, mut by_use) = (BTreeMap::new(), BTreeMap::new());
        let (mut state, mut hits) = (7_u64, 0_u64);
        for now in 0..2 * requests {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let drawn = (state >> 11) as f64 / (1_u64 << 53) as f64 * below[below.len() - 1];
            let title = below.partition_point(|sum| *sum < drawn);
            match last_use.insert(title, now) {
                // The first half fills the cache.
                Some(before) => {
                    by_use.remove(&before);
                    hits += u64::from(now >= requests);
                }
                None if by_use.len() == catalogue.cached as usize => {
                    let (_, oldest) = by_use.pop_first().unwrap();
                    last_use.remove(&oldest);
                }
                None => {}
            }
            by_use.insert(now, title);
        }
        hits as f64 / requests as f64
    }

    #[test]
    fn hit_ratios_are_those_of_a_simulated_cache() {
        for (titles, zipf, cached) in [
            (1000, 0.8, 100),
            (1000, 1.2, 30),
            (500, 0.0, 125),
            (2000, 0.6, 1500),
        ] {
            let catalogue = Catalogue { titles, zipf, cached };
            let (computed, simulated) = (catalogue.hit_ratio(), simulated(catalogue, 200_000));
            assert!(
                (computed - simulated).abs() < 0.005,
                "{catalogue:?}: {computed} {simulated}"
            );
        }
    }

    /// "With an average outgoing throughput of 2.6 Gbps [...] 3.3 million viewers": at the 3,894 + 132 kbit/s of that
    /// experiment and all at once, caches answer all but one byte in 5,110.
    #[test]
    fn the_published_audience_needs_the_hit_ratio_that_it_needs() {
        let mut published = Audience {
            out_bps: 2.6e9,
            viewer_bps: 4.026e6,
            hit_ratio: 0.0,
            at_once: 1.0,
        };
        let needed = published.hit_ratio_for(3.3e6).unwrap();
        assert!((1.0 / (1.0 - needed) - 5110.0).abs() < 1.0, "{needed}");
        published.hit_ratio = needed;
        assert!((published.viewers() - 3.3e6).abs() < 1.0);
        published.at_once = 0.1;
        assert!((published.viewers() - 33e6).abs() < 10.0);
        assert_eq!(published.hit_ratio_for(6000.0), None);
    }

    #[test]
    fn machines_are_counted_whole_and_the_cheapest_comes_first() {
        let machine = |name: &str, gbps: f64, usd_hour: f64| Machine {
            name: name.to_owned(),
            holds_bps: gbps * 1e9,
            usd_each_hour: usd_hour,
            rate_read: true,
            price_read: false,
            date: "2026-01".to_owned(),
        };
        let audience = Audience {
            out_bps: 2.6e9,
            viewer_bps: 4e6,
            hit_ratio: 0.9,
            at_once: 1.0,
        };
        let costs = audience.costs(&[
            machine("large", 10.0, 0.5),
            machine("small", 0.75, 0.1),
            machine("unknown", 0.0, 0.01),
        ]);
        let told: Vec<(&str, u64)> = costs
            .iter()
            .map(|cost| (cost.machine.name.as_str(), cost.count))
            .collect();
        assert_eq!(told, [("small", 4), ("large", 1)]);
        assert!((costs[0].usd_gbit_hour - 0.4 / 2.6).abs() < 1e-12);
        // 2.6 Gbit/s at 400 kbit/s are 6,500 viewers.
        assert!((costs[0].usd_thousand_viewers_hour - 0.4 / 6.5).abs() < 1e-12);
    }
}
