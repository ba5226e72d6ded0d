//! `docs/clouds.md`: what is known of each cloud's network, from the tables of this crate. It must not know a fact itself.

use serde::Deserialize;

use crate::MeshError;
use crate::instances::{Instance, Read, read_instances};
use crate::price::{Prices, What};

const VITALS: &str = include_str!("../data/vitals.csv");
/// Gigabytes of an hour at 1 Gbit/s.
const GB_OF_A_GBIT_HOUR: f64 = 450.0;

const INTRODUCTION: &str = "\
# Clouds

What the networks of four clouds are like, and what they cost. This page is written from the tables in `crates/measure/mesh/data`
(`vitals.csv`, `instances.csv`, `prices.csv`) by `cargo run -p weir-mesh --example clouds`; a test compares both.

Each value has the page of its source and the month in which that was published or read. `unverified` marks what is from memory
of that page and was not read there, `third party` what was read elsewhere: check these at the provider before you rely on them.
Prices are list prices in US dollars, without free allowances, tiers and agreements.

An hour of 1 Gbit/s is 450 GB: its traffic costs far more than its machine.
";

/// A fact about a cloud.
#[derive(Debug, Deserialize)]
struct Vital {
    cloud: String,
    what: String,
    value: String,
    date: String,
    read: Read,
    source: String,
}

/// The page.
///
/// # Errors
/// Never, as a test shows.
pub fn clouds_page() -> Result<String, MeshError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(VITALS.as_bytes());
    let vitals = reader.deserialize().collect::<Result<Vec<Vital>, csv::Error>>();
    let vitals = vitals.map_err(|error| MeshError::file("vitals.csv", error.to_string()))?;
    let (instances, prices) = (read_instances()?, Prices::known()?);
    let mut page = INTRODUCTION.to_owned();
    for (cloud, title) in [
        ("aws", "AWS"),
        ("gcp", "Google Cloud"),
        ("azure", "Azure"),
        ("oracle", "Oracle Cloud"),
    ] {
        page.push_str(&format!("\n## {title}\n\n| | | source |\n| --- | --- | --- |\n"));
        for Vital {
            what,
            value,
            date,
            read,
            source,
            ..
        } in vitals.iter().filter(|vital| vital.cloud == cloud)
        {
            page.push_str(&format!(
                "| {what} | {value}{} | {date}, <{source}> |\n",
                read.mark()
            ));
        }
        prices_of(cloud, &prices, &mut page);
        page.push_str("\n| instance | baseline | burst | an hour | an hour of each Gbit/s held | source of the rates |\n");
        page.push_str("| --- | --- | --- | --- | --- | --- |\n");
        let of_cloud = instances.iter().filter(|instance| instance.cloud == cloud);
        of_cloud.for_each(|instance| page.push_str(&row(instance)));
    }
    Ok(page)
}

fn prices_of(cloud: &str, prices: &Prices, page: &mut String) {
    for (what, words) in [
        (What::InternetGb, "a GB to the internet"),
        (What::OtherAreaGb, "a GB to a region elsewhere"),
        (What::SameAreaGb, "a GB to a region nearby"),
        (What::ZoneGb, "a GB to another zone"),
    ] {
        let Some(price) = prices.usual(cloud, what) else {
            continue;
        };
        page.push_str(&format!(
            "| {words} | {} USD{}; 1 Gbit/s for an hour {:.2} USD | {}, <{}> |\n",
            price.usd,
            price.read().mark(),
            price.usd * GB_OF_A_GBIT_HOUR,
            price.date,
            price.source
        ));
    }
}

fn row(instance: &Instance) -> String {
    let rate = |mbps: Option<u64>| match mbps {
        None => "not published".to_owned(),
        Some(mbps) => format!("{} Gbit/s{}", mbps as f64 / 1e3, instance.read.mark()),
    };
    let usd_mark = instance.usd_read.mark();
    let held = instance.usd_per_gbit().map_or("-".to_owned(), |usd| {
        let mark = instance.read.max(instance.usd_read).mark();
        format!("{usd:.3} USD{mark}")
    });
    format!(
        "| `{}` | {} | {} | {} USD{usd_mark} | {held} | {}, <{}> |\n",
        instance.name,
        rate(instance.baseline_mbps),
        rate(instance.burst_mbps),
        instance.usd_hour,
        instance.date,
        instance.source
    )
}
