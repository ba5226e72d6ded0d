//! What the instances of a test are sold with, beside the rate that it held. It must not know how either was found out.

use weir_mesh::instances::{Instance, instance};
use weir_results::Direction;
use weir_units::{format_percent, format_rate};

use crate::finding::Evidence;
use crate::measured::{InstanceType, Measured};

/// The instances of a test, the sending one first, and the rate that it held.
pub(crate) struct Sold<'m> {
    ends: Vec<(&'static str, &'m InstanceType)>,
    held: f64,
}

impl<'m> Sold<'m> {
    /// Of a test of this direction, which held so many bits per second.
    pub fn of(measured: &'m Measured, direction: Direction, held: f64) -> Self {
        let (sending, receiving) = match direction {
            Direction::Forward => (&measured.local, &measured.remote),
            Direction::Reverse => (&measured.remote, &measured.local),
        };
        let ends = [("sending", sending), ("receiving", receiving)].into_iter();
        let ends = ends.filter_map(|(role, end)| Some((role, end.instance.as_ref()?)));
        Sold {
            ends: ends.collect(),
            held,
        }
    }

    fn known(&self) -> impl Iterator<Item = (&'static str, &'m InstanceType, Option<&'static Instance>)> {
        self.ends
            .iter()
            .map(|(role, end)| (*role, *end, instance(&end.cloud, &end.name)))
    }

    /// A sentence for each instance, each with a space in front; nothing where no cloud said a type.
    pub fn sentences(&self) -> String {
        self.known()
            .map(|(role, end, known)| {
                let words = known.map_or_else(
                    || {
                        "is not in Weir's table of instances, so that its bandwidth is not compared"
                            .to_owned()
                    },
                    |known| self.beside(known),
                );
                format!(" The {role} instance, {} {}, {words}.", end.cloud, end.name)
            })
            .collect()
    }

    fn beside(&self, known: &Instance) -> String {
        let rate = |mbps: u64| format_rate(mbps.saturating_mul(1_000_000));
        let mark = known.read.mark();
        let burst = known
            .burst_mbps
            .map_or_else(String::new, |mbps| format!(" and bursts of {}{mark}", rate(mbps)));
        let Some(mbps) = known.baseline_mbps.filter(|mbps| *mbps > 0) else {
            let most = known
                .burst_mbps
                .map_or_else(String::new, |mbps| format!(" up to {}{mark}", rate(mbps)));
            return format!("is sold with{most}, and no baseline is published");
        };
        let share = format_percent(self.held / (mbps as f64 * 1e6));
        let price = known.usd_per_gbit().map_or_else(String::new, |usd| {
            let mark = known.read.max(known.usd_read).mark();
            format!("; a sustained Gbit/s of this type costs {usd:.3} USD an hour{mark}, without traffic")
        });
        format!(
            "is sold with a baseline of {}{mark}{burst}: {share} of the baseline was held{price}",
            rate(mbps)
        )
    }

    /// The rates, as far as the table has them.
    pub fn evidence(&self) -> Vec<Evidence> {
        let of = |(role, _, known): (&str, _, Option<&Instance>)| {
            let rates = [("baseline", known?.baseline_mbps), ("burst", known?.burst_mbps)];
            let rate = |(what, mbps): (&str, Option<u64>)| {
                let bps = mbps?.saturating_mul(1_000_000);
                Some(Evidence::in_unit(
                    format!("{what} of the {role} instance"),
                    bps,
                    "bit/s",
                ))
            };
            Some(rates.into_iter().filter_map(rate).collect::<Vec<_>>())
        };
        self.known().filter_map(of).flatten().collect()
    }
}
