//! Every finding's query, run on the database that the finding was made from: it has to give the numbers that the
//! finding states. The databases are those of simulated surveys of networks with known faults.

use std::collections::BTreeSet;

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;
use weir_diagnose::{Finding, FindingName};
use weir_simulate::networks::{Kind, Network, draw};
use weir_simulate::observe;

/// Networks of each kind of which the one with the least to simulate is taken.
const DRAWN: u64 = 8;

fn smallest(kind: Kind) -> Network {
    let rate = |network: &Network| network.plan.format.rate().0;
    (0..DRAWN)
        .map(|number| draw(kind, 99, number))
        .min_by_key(rate)
        .unwrap()
}

/// Columns by name, each with its value of every row.
fn columns(connection: &Connection, sql: &str) -> Vec<(String, Vec<Cell>)> {
    let mut statement = connection
        .prepare(sql)
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let rows: Vec<Vec<Cell>> = statement
        .query_map([], |row| (0..names.len()).map(|index| row.get(index)).collect())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let of = |index: usize| rows.iter().map(|row: &Vec<Cell>| row[index].clone()).collect();
    names
        .into_iter()
        .enumerate()
        .map(|(index, name)| (name, of(index)))
        .collect()
}

fn same(cell: &Cell, stated: &Value) -> bool {
    match cell {
        Cell::Null => stated.is_null(),
        Cell::Integer(number) => stated.as_i64() == Some(*number) || stated.as_f64() == Some(*number as f64),
        Cell::Real(number) => stated
            .as_f64()
            .is_some_and(|stated| (stated - number).abs() <= 1e-9 * number.abs()),
        Cell::Text(text) => stated.as_str() == Some(text),
        Cell::Blob(_) => false,
    }
}

/// How many of the query's columns are evidence of the finding; panics where one says something else.
fn agreeing(connection: &Connection, finding: &Finding) -> usize {
    let mut agreeing = 0;
    for (name, cells) in columns(connection, &finding.query) {
        let Some(evidence) = finding.evidence.iter().find(|evidence| evidence.what == name) else {
            continue;
        };
        let stated = match &evidence.value {
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        let equal =
            stated.len() == cells.len() && cells.iter().zip(&stated).all(|(cell, stated)| same(cell, stated));
        assert!(
            equal,
            "{name} of {}: {cells:?} and {stated:?}\n{}",
            finding.name, finding.query
        );
        agreeing += 1;
    }
    agreeing
}

#[test]
fn every_query_yields_the_numbers_that_its_finding_states() {
    let mut seen: BTreeSet<FindingName> = BTreeSet::new();
    for kind in [
        Kind::Routes,
        Kind::RouteLoss,
        Kind::Outage,
        Kind::BurstLoss,
        Kind::FiveTupleIgnored,
        Kind::FlowRateCap,
        Kind::PacketRateCap,
        Kind::Congestion,
        Kind::PayloadCliff,
        Kind::PerPacketRoutes,
        Kind::SharedBursts,
        Kind::SocketLoss,
        Kind::LateSender,
        Kind::RttChange,
        Kind::SlowRoute,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("weir.db");
        let Ok(observed) = observe(&smallest(kind), &database) else {
            panic!("{kind:?} could not be simulated");
        };
        let connection = Connection::open(&database).unwrap();
        for finding in &observed.diagnosis.findings {
            assert!(
                agreeing(&connection, finding) > 0,
                "{kind:?}: nothing of {finding:#?} in its query's columns"
            );
            seen.insert(finding.name);
        }
    }
    let unseen: Vec<&str> = [
        FindingName::Routes,
        FindingName::RouteLoss,
        FindingName::Outage,
        FindingName::LossProcess,
        FindingName::FiveTupleIgnored,
        FindingName::FlowRateCap,
        FindingName::PacketRateCap,
        FindingName::Congestion,
        FindingName::PayloadCliff,
        FindingName::Reversals,
        FindingName::CorrelatedLoss,
        FindingName::HostLoss,
        FindingName::LateSender,
        FindingName::RttLevel,
        FindingName::RttChange,
        FindingName::WindowGrowth,
        FindingName::LengthGrowth,
    ]
    .iter()
    .filter(|name| !seen.contains(name))
    .map(|name| name.as_str())
    .collect();
    assert!(unseen.is_empty(), "no network showed {unseen:?}");
}
